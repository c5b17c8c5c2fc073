"""Events located by the core: tables of their outputs for it, and the occurrences that it reports.

The core locates events whose outputs it has itself: parts of the state, coordinates of cut joints, motions of points,
parts of a report, and formulas of these. `find_crossings` locates the others.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ... import _core
from ...arrays import Array
from ...connections.formulas.expressions import Program
from ...model import Conditions, Model
from ...model.argument_errors import checked_marker
from ...model.conditions import checked_parameter, parameter_place
from ...result import Output
from ...result.outputs.formula_output import FormulaOutput
from ...result.outputs.output import Source
from .actions import Action, Bounce, Lock, Release, Set, Stop, Switch, coordinate_dof
from .discontinuity_times import discontinuity_sources
from .events import Event, EventFunctions

__all__ = ["action_text", "after_action", "core_event_table", "is_applied_in_core"]

ACTIONS = ("bounce coordinate", "bounce point", "lock", "release", "set", "open", "close")  # numbers of the core
MAX_ACTIONS = 8  # of an event in the core

# parts of sources, by the numbers of the core
CHANNELS = (
    "t",
    "q",
    "v",
    "x",
    "cut_q",
    "cut_v",
    "position",
    "velocity",
    "a",
    "tau",
    "lam",
    "loads",
    "signals",
    "forces",
    "energy",
)


def core_event_table(
    functions: EventFunctions, model: Model, *, ends: bool = False, kept: Collection[int] = ()
) -> dict[str, Any] | None:
    """Return the given events for `Integrator.set_events`; None if the core cannot evaluate the output of one of them.

    Parameters
    ----------
    functions : EventFunctions
    model : Model
        With the parameters of the run.
    ends : bool
        Whether the core ends the run at terminal events, as in batches.
    kept : collection of int
        Indices of parameters that the core does not set.
    """
    given = list(zip(functions.events, functions.outputs, functions.actions, strict=False))[: functions.given_count]
    if not all(_is_in_core(output) for _, output, _ in given):
        return None
    table = _EventTable(model, ends, kept)
    for event, output, actions in given:
        table.add(event, output, actions)
    return table.arrays()


def is_applied_in_core(table: dict[str, Any]) -> bool:
    """Return whether the core applies the actions of all events of a table, or only records the events."""
    active = table["functions"].reshape(-1, 5)[:, 3] != 0
    return bool((table["action_counts"][active] >= 0).all())


def after_action(action: Action, conditions: Conditions) -> Conditions:
    """Return the conditions after an action that the core has applied."""
    match action:
        case Lock() | Release():
            return conditions.with_lock(action.joint, isinstance(action, Lock))
        case Switch():
            return conditions.with_constraint(action.connection, action.on)
        case Set():
            return conditions.with_parameter(action.parameter, action.value)
        case Bounce() | Stop():
            return conditions


def action_text(action: Action) -> str:
    """Return what an action that the core has applied did, as `EventContext` says it."""
    match action:
        case Lock():
            return f"lock {action.joint}"
        case Release():
            return f"release {action.joint}"
        case Switch():
            return f"switch {action.connection} {'on' if action.on else 'off'}"
        case Set():
            return f"{action.parameter} = {action.value:.6g}"
        case Bounce():
            return "bounce"
        case Stop():
            return "stop"


def _is_in_core(output: Output) -> bool:
    if isinstance(output, FormulaOutput):
        return all(_is_in_core(each) for each in output.inputs)
    if output.base is not None:
        return _is_in_core(output.base)
    return output.shape == () and output.source is not None


class _EventTable:
    """Channels, programs and event functions of a run."""

    def __init__(self, model: Model, ends: bool, kept: Collection[int]) -> None:
        self.model, self.ends_runs, self.kept = model, ends, kept
        self.ends: list[bool] = []
        self.channels: dict[tuple[int, int, int], int] = {}
        self.points: dict[Any, int] = {}
        self.point_list: list[_core.Points] = []
        self.functions: list[tuple[int, int, int, int, int]] = []
        self.thresholds: list[float] = []
        self.formulas: list[Output] = []
        self.action_counts: list[int] = []
        self.actions: list[tuple[int, int, int]] = []
        self.action_numbers: list[tuple[float, float, float, float]] = []

    def add(self, event: Event, output: Output, actions: tuple[Action, ...]) -> None:
        """Add an event."""
        simple = output.source is not None and output.base is None and not output.source.combined
        channel = self._of_source(output.source)[0] if simple and output.source is not None else -1
        if channel < 0:
            self.formulas.append(output)
            self._note_channels(output)
        flags = int(event.active), int(output.is_turn)
        self.functions.append((channel, len(self.formulas) - 1, event.direction, *flags))
        self.thresholds.append(event.value)
        changes = [action for action in actions if not isinstance(action, Stop)]
        ends = event.terminal or len(changes) < len(actions)
        rows = [self._of_action(action) for action in changes]
        known = [row for row in rows if row is not None]
        outside = (ends and not self.ends_runs) or callable(event.action) or not (actions or ends)
        outside = outside or len(known) < len(rows) or len(rows) > MAX_ACTIONS
        self.ends.append(ends)
        self.action_counts.append(-1 if outside else len(rows))
        if not outside:
            self.actions += [indices for indices, _ in known]
            self.action_numbers += [numbers for _, numbers in known]

    def _of_action(self, action: Action) -> tuple[tuple[int, int, int], tuple[float, float, float, float]] | None:
        """Return kind and indices of an action in the core, and its numbers; None if the core does not apply it."""
        none = (0.0, 0.0, 0.0)
        model = self.model
        if isinstance(action, Bounce) and action.normal is None:
            place = coordinate_dof(model, action.item, "bounce")
            return (ACTIONS.index("bounce coordinate"), place, 0), (action.restitution, *none)
        if isinstance(action, Bounce):
            normal = np.array(action.normal, dtype=float)
            x, y, z = (normal / np.linalg.norm(normal)).tolist()
            point = self._point(checked_marker(model, "bounce", action.item))
            return (ACTIONS.index("bounce point"), point, 0), (action.restitution, x, y, z)
        if isinstance(action, (Lock, Release)):
            span = model.v_slice(action.joint)
            kind = "lock" if isinstance(action, Lock) else "release"
            fits = 0 < span.stop - span.start <= 6
            return ((ACTIONS.index(kind), span.start, span.stop), (0.0, *none)) if fits else None
        if isinstance(action, Switch):
            kind = "close" if action.on else "open"
            return (ACTIONS.index(kind), model.closure_names.index(action.connection), 0), (0.0, *none)
        if isinstance(action, Set):
            place = parameter_place(model, action.parameter, "set")
            own = place < model.n_element_parameters and action.parameter not in model.family.compiled.numbers.named
            if own and place not in discontinuity_sources(model).uses and place not in self.kept:
                value = checked_parameter(model, action.parameter, action.value, "set")
                return (ACTIONS.index("set"), place, 0), (value, *none)
        return None

    def _point(self, marker: Any) -> int:
        """Return the number of a point."""
        if marker not in self.points:
            self.points[marker] = len(self.point_list)
            self.point_list.append(self.model.points([checked_marker(self.model, "event", marker)]))
        return self.points[marker]

    def _of_source(self, source: Source) -> list[int]:
        """Return the channels of a source."""
        kind = CHANNELS.index(source.part)
        if source.marker is None:
            keys = [(kind, index, 0) for index in source.indices]
        else:
            keys = [(kind, self._point(source.marker), index) for index in source.indices]
        return [self.channels.setdefault(key, len(self.channels)) for key in keys]

    def _note_channels(self, output: Output) -> None:
        if isinstance(output, FormulaOutput):
            for each in output.inputs:
                self._note_channels(each)
        elif output.base is not None:
            self._note_channels(output.base)
        elif output.source is not None:
            self._of_source(output.source)

    def _emit(self, program: Program, output: Output) -> int:
        """Add an output to a program; return the index of its result."""
        if isinstance(output, FormulaOutput):
            return self._graft(program, output)
        if output.base is not None:
            return program.emit("multiply", program.constant(output.factor), self._emit(program, output.base))
        assert output.source is not None
        parts = [program.emit("input", channel) for channel in self._of_source(output.source)]
        if output.source.combined == "norm":
            parts = [program.emit("multiply", part, part) for part in parts]
        result = parts[0]
        for part in parts[1:]:
            result = program.emit("add", result, part)
        return program.emit("root", result) if output.source.combined == "norm" else result

    def _graft(self, program: Program, formula: FormulaOutput) -> int:
        """Add the program of a formula to another one; return the index of its result."""
        own = formula.program
        assert own is not None
        names = {number: name for name, number in _core.enumerations["operation"].items()}
        places: list[int] = []
        for code, a, *others in own.instructions:
            name = names[code]
            if name == "constant":
                places.append(program.constant(own.constants[a]))
            elif name == "input":
                places.append(self._emit(program, formula.inputs[a]))
            else:
                places.append(program.emit(name, *(places[k] for k in (a, *others))))
        return places[own.outputs[0]]

    def arrays(self) -> dict[str, Any]:
        """Return the table for the core."""
        channels = list(self.channels)
        inputs = tuple(f"_{k}" for k in range(len(channels)))
        instructions: list[tuple[int, ...]] = []
        constants: list[float] = []
        counts, outputs = [], []
        for formula in self.formulas:
            program = Program(inputs)
            outputs.append(self._emit(program, formula))
            constant = _core.enumerations["operation"]["constant"]
            shift = len(constants)
            instructions += [(c, a + shift * (c == constant), *others) for c, a, *others in program.instructions]
            constants += program.constants
            counts.append(len(program.instructions))
        return {
            "channels": _whole(channels),
            "functions": _whole(self.functions),
            "thresholds": np.array(self.thresholds, dtype=float),
            "ends": _whole(self.ends),
            "points": self.point_list,
            "programs": _whole(counts),
            "instructions": _whole(instructions),
            "constants": np.array(constants, dtype=float),
            "outputs": _whole(outputs),
            "action_counts": _whole(self.action_counts),
            "actions": _whole(self.actions),
            "action_numbers": np.array(self.action_numbers, dtype=float),
        }


def _whole(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=np.int64)
