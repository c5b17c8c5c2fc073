"""Switching times of formulas that depend on time only: levels, kinks, integers, table knots.

A switch is an operation that is smooth except where its argument passes certain levels: a comparison, an absolute
value, a minimum or maximum, a rounding, a table. Arguments that depend on time only are sampled over the run. The
samples include all discontinuity times found before and, for periodic functions, the quarter periods. Where a level
lies between two values, bisection locates the time to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .dependencies import extract_subprogram, inputs_of
from .expressions import OPERATIONS, Program

__all__ = ["Switch", "merge_close_times", "switch_times", "switches_of"]

TimeFunction = Callable[[Array], Array]

N_SAMPLES = 256  # minimum number of intervals of a run in which arguments are sampled
MAX_SWITCHES = 100_000  # switching times of one switch in a run; beyond this number the error control handles them
SIDE_OFFSET = 4e-15  # relative offset to either side of a node


@dataclass(frozen=True)
class _Levels:
    """Levels that an argument may cross, and the number of levels at or below a value."""

    below: TimeFunction
    level: TimeFunction


ZERO_LEVEL = _Levels(lambda g: np.where(g >= 0, 1.0, 0.0), lambda k: 0.0 * k)
_WHOLE = _Levels(np.floor, lambda k: k)
_QUARTERS = _Levels(lambda g: np.floor(g / (np.pi / 2)), lambda k: k * (np.pi / 2))


@dataclass(frozen=True)
class Switch:
    """Time-dependent argument, one result or the difference of two, and its switching levels."""

    program: Program
    arguments: tuple[int, ...]
    levels: _Levels

    @property
    def inputs(self) -> set[int]:
        """Numbers of the inputs on which the argument depends."""
        return inputs_of(self.program, self.arguments)


def switches_of(program: Program, moving: Collection[int], known: Collection[int]) -> list[Switch]:
    """Return the switches that depend on time, in order.

    Parameters
    ----------
    program : Program
    moving : numbers of inputs that follow time
    known : of inputs that are constant
    """
    wanted, found = {*moving, *known}, []
    for instruction in program.instructions:
        for arguments, levels in _switches(program, instruction):
            used = inputs_of(program, arguments)
            if used & set(moving) and used <= wanted:
                found.append(Switch(program, arguments, levels))
    return found if any(switch.levels is not _QUARTERS for switch in found) else []


def switch_times(
    switches: Sequence[Switch], inputs: Mapping[int, TimeFunction | float], breaks: Array, t_start: float, t_end: float
) -> Array:
    """Return the times in an interval at which switches are passed.

    Parameters
    ----------
    switches : sequence of Switch
        Switches of one program, from `switches_of`.
    inputs : dict of int to function or float
        By number: from times (n,) to values, or a constant.
    breaks : (k,) s
        Discontinuity times of the functions.
    """
    found = np.zeros(0)
    beyond = 3e-13 * max(abs(t_start), abs(t_end))  # margin for switches at the two ends
    evenly = np.linspace(t_start, t_end, N_SAMPLES + 1)
    nodes = np.union1d(np.concatenate([[t_start - beyond], evenly, [t_end + beyond]]), breaks)
    for switch in switches:
        passed = _passed(_argument(switch, inputs), switch.levels, nodes)
        nodes = merge_close_times(np.concatenate([nodes, passed]))
        if switch.levels is not _QUARTERS:
            found = np.concatenate([found, passed])
    return merge_close_times(np.clip(found, t_start, t_end))


def _switches(program: Program, instruction: tuple[int, int, int, int, int]) -> list[tuple[tuple[int, ...], _Levels]]:
    """Return the arguments of an operation, one or the difference of two, and its switching levels."""
    code, a, b, c, d = instruction
    match OPERATIONS[code]:
        case "less" | "smaller" | "larger":
            return [((a, b), ZERO_LEVEL)]
        case "absolute":
            return [((a,), ZERO_LEVEL)]
        case "floor":
            return [((a,), _WHOLE)]
        case "sine" | "cosine":
            return [((a,), _QUARTERS)]
        case "lookup":
            table = program.tables[a]
            return [((place,), _knots(axis)) for place, axis in zip((b, c, d), table.axes, strict=False)]
    return []


def _knots(axis: Array) -> _Levels:
    last = len(axis) - 1
    return _Levels(
        lambda g: np.searchsorted(axis, g, side="right").astype(float),
        lambda k: axis[np.clip(k.astype(int) - 1, 0, last)],
    )


def _argument(switch: Switch, known: Mapping[int, TimeFunction | float]) -> TimeFunction:
    part = extract_subprogram(switch.program, switch.arguments)

    def at(given: TimeFunction | float, t: Array) -> Array | float:
        return given(t) if callable(given) else given

    def values(t: Array) -> Array:
        inputs = [at(known.get(k, np.nan), t) for k in range(len(part.inputs))]
        columns = [np.broadcast_to(column, t.shape) for column in part.evaluate(inputs)]
        return columns[0] - columns[1] if len(columns) == 2 else columns[0]

    return values


def _passed(argument: TimeFunction, levels: _Levels, nodes: Array) -> Array:
    """Return the times at which an argument passes a level, from its values on both sides of nodes."""
    side = SIDE_OFFSET * np.maximum(np.abs(nodes), 1e-3 * np.abs(nodes).max())
    places = np.column_stack([nodes[:-1] + side[:-1], nodes[1:] - side[1:]]).ravel()
    with np.errstate(invalid="ignore"):
        count = levels.below(argument(places))
    low, high = np.minimum(count[:-1], count[1:]), np.maximum(count[:-1], count[1:])
    number = np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
    if not 0 < number.sum() <= MAX_SWITCHES:
        return np.zeros(0)
    rows = np.repeat(np.arange(len(number)), number.astype(int))
    within = np.arange(len(rows)) - np.repeat(np.cumsum(number.astype(int)) - number.astype(int), number.astype(int))
    return _bisected(argument, levels.level(low[rows] + 1.0 + within), places[rows], places[rows + 1])


def _bisected(argument: TimeFunction, level: Array, a: Array, b: Array) -> Array:
    """Return the times between a and b (n,) at which an argument reaches levels (n,), by bisection."""
    above = argument(a) >= level
    while True:
        middle = 0.5 * (a + b)
        if ((middle <= a) | (middle >= b)).all():
            break
        same = (argument(middle) >= level) == above
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    nearer = np.abs(argument(a) - level) < np.abs(argument(b) - level)
    return np.where(nearer, a, b)


def merge_close_times(times: Array) -> Array:
    """Return sorted times; times equal up to rounding are merged."""
    if len(times) < 2:
        return times
    times = np.unique(times)
    return times[np.append(True, np.diff(times) > 1e-13 * np.abs(times[1:]))]
