"""Switching functions of formulas: expressions whose sign selects a branch during motion.

Each comparison, absolute value, minimum, maximum and rounding has one, and each table one for every variable. Switches
that depend on time and parameters only are located beforehand instead (see `switching_times`), except functions of time
such as ``exp(-t*t)`` that may cross zero and return between two samples there. Operations that compare the same two
numbers share one switching function. Where a root, a logarithm or a power below one is taken of a number that reaches
zero at the switch, no branch is held (`FOLLOW`): a step that ended there would end where the formula has no slope.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .dependencies import inputs_of, operands, required_instructions
from .expressions import OPERATIONS, Program

__all__ = ["FOLLOW", "thresholds_of"]

FOLLOW = 1 << 20  # added to the number of a switching function that is monitored, but whose branch is not held
_DECIDING = ("less", "smaller", "larger", "absolute", "floor")
_ROOTS = ("root", "logarithm")
_TIME = 0  # number of the input that is time
_NARROW = ("exponential", "logarithm", "hyperbolic_tangent", "arctangent", "arctangent2", "power", "root")
REGULARIZED_ROOT_TOL = 1e-12  # constant in a sum that keeps the argument of a root away from zero


def thresholds_of(
    program: Program,
    outputs: Sequence[int],
    fixed: Collection[int],
    never: Collection[int] = (),
    follow: bool = False,
) -> dict[int, int]:
    """Return the switching functions of operations, by index.

    Numbers count from 1, negative for the opposite sign; a table has one for each variable, consecutively. `FOLLOW` is
    added to the magnitude of those whose branch is not held.

    Parameters
    ----------
    program : Program
    outputs : indices of results that matter
    fixed : numbers of inputs that are constant, or known for all times
    never : of inputs that a switching function must not depend on, because they depend on the branch themselves
    follow : no branch is held

    Examples
    --------
    >>> from dalembert.connections.formulas.expressions import compile_expressions
    >>> program = compile_expressions(["abs(s) + sign(s)*max(k, t)"], ["t", "s", "k"], item="law")
    >>> thresholds_of(program, program.outputs, fixed={0, 2})
    {3: 1, 7: -1, 8: 1}
    """
    places: dict[int, int] = {}
    surfaces: dict[tuple[int, ...], int] = {}
    known, barred, steep = set(fixed), set(never), _steep(program, outputs, set(fixed))
    count = 0
    for place in sorted(required_instructions(program, outputs)):
        code, a, b, c, d = program.instructions[place]
        name = OPERATIONS[code]
        if name == "lookup":
            arguments = (b, c, d)[: program.tables[a].variables]
        elif name in _DECIDING:
            arguments = (a, b) if name in ("less", "smaller", "larger") else (a,)
        else:
            continue
        used = inputs_of(program, arguments)
        if (used <= known and not _may_hide(program, arguments, used)) or used & barred:
            continue
        if name == "lookup":
            places[place] = count + 1 + (FOLLOW if follow else 0)
            count += len(arguments)
            continue
        pair = _pair(program, name, a, b)
        if pair not in surfaces and (name == "floor" or pair[::-1] not in surfaces):
            count += 1
            surfaces[pair] = count
        sign = 1 if pair in surfaces else -1
        number = surfaces[pair[::sign]]
        places[place] = sign * (number + (FOLLOW if follow or pair in steep or pair[::-1] in steep else 0))
    return places


def _may_hide(program: Program, arguments: Sequence[int], used: Collection[int]) -> bool:
    """Return whether a function of time may cross zero and return between the sample times of `switching_times`."""
    if _TIME not in used:
        return False
    for code, _, b, _, _ in (program.instructions[place] for place in required_instructions(program, arguments)):
        name = OPERATIONS[code]
        if name in _NARROW or (name == "divide" and _TIME in inputs_of(program, [b])):
            return True
    return False


def _steep(program: Program, outputs: Sequence[int], fixed: set[int]) -> set[tuple[int, ...]]:
    """Return the pairs that select the argument of roots, logarithms and powers below one, where it may be zero.

    A sum with a parameter or a constant, as ``sqrt(u*u + e*e)``, is assumed not to reach zero.
    """
    found: set[tuple[int, ...]] = set()
    for place in required_instructions(program, outputs):
        code, a, b, _, _ = program.instructions[place]
        name = OPERATIONS[code]
        exponent = program.value_of(b) if name == "power" else None
        if name not in _ROOTS and not (exponent is not None and exponent < 1.0):
            continue
        waiting, seen = [a], set[int]()
        while waiting:
            under = waiting.pop()
            if under in seen or _is_regular(program, under, fixed):
                continue
            seen.add(under)
            code, first, second, _, _ = program.instructions[under]
            if OPERATIONS[code] in _DECIDING:
                found.add(_pair(program, OPERATIONS[code], first, second))
            waiting.extend(operands(program.instructions[under]))
    return found


def _is_regular(program: Program, place: int, fixed: set[int]) -> bool:
    """Return whether a result is a sum with a parameter or a constant that is not tiny."""
    code, a, b, _, _ = program.instructions[place]
    if OPERATIONS[code] != "add":
        return False
    for part in (a, b):
        value, used = program.value_of(part), inputs_of(program, [part])
        if (value is not None and value > REGULARIZED_ROOT_TOL) or (value is None and used and used <= fixed - {_TIME}):
            return True
    return False


def _pair(program: Program, name: str, a: int, b: int) -> tuple[int, ...]:
    """Return the indices whose difference selects the branch; -1 stands for zero."""
    if name == "floor":
        return (a,)
    second = -1 if name == "absolute" or program.value_of(b) == 0.0 else b
    return (-1 if name != "absolute" and program.value_of(a) == 0.0 else a), second
