"""Events located by the core: tables of their outputs for it, and the occurrences that it reports.

The core locates events whose outputs it has itself: parts of the state, coordinates of cut joints, motions of points,
parts of a report, and formulas of these. `find_crossings` locates the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import _core
from ...arrays import Array
from ...connections.formulas.expressions import Program
from ...model import Model
from ...result import Output
from ...result.outputs.formula_output import FormulaOutput
from ...result.outputs.output import Source
from .events import Event, EventFunctions

__all__ = ["core_event_table"]

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


def core_event_table(functions: EventFunctions, model: Model) -> dict[str, Any] | None:
    """Return the given events for `Integrator.set_events`; None if the core cannot evaluate the output of one of them.

    Parameters
    ----------
    functions : EventFunctions
    model : Model
        With the parameters of the run.
    """
    given = list(zip(functions.events, functions.outputs, strict=False))[: functions.given_count]
    if not all(_is_in_core(output) for _, output in given):
        return None
    table = _EventTable(model)
    for event, output in given:
        table.add(event, output)
    return table.arrays()


def _is_in_core(output: Output) -> bool:
    if isinstance(output, FormulaOutput):
        return all(_is_in_core(each) for each in output.inputs)
    if output.base is not None:
        return _is_in_core(output.base)
    return output.shape == () and output.source is not None


class _EventTable:
    """Channels, programs and event functions of a run."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.channels: dict[tuple[int, int, int], int] = {}
        self.points: dict[Any, int] = {}
        self.point_list: list[_core.Points] = []
        self.functions: list[tuple[int, int, int, int, int]] = []
        self.thresholds: list[float] = []
        self.formulas: list[Output] = []

    def add(self, event: Event, output: Output) -> None:
        """Add an event."""
        simple = output.source is not None and output.base is None and not output.source.combined
        channel = self._of_source(output.source)[0] if simple and output.source is not None else -1
        if channel < 0:
            self.formulas.append(output)
            self._note_channels(output)
        flags = int(event.active), int(output.is_turn)
        self.functions.append((channel, len(self.formulas) - 1, event.direction, *flags))
        self.thresholds.append(event.value)

    def _of_source(self, source: Source) -> list[int]:
        """Return the channels of a source."""
        kind = CHANNELS.index(source.part)
        if source.marker is None:
            keys = [(kind, index, 0) for index in source.indices]
        else:
            if source.marker not in self.points:
                self.points[source.marker] = len(self.point_list)
                self.point_list.append(self.model.points([self.model.checked_marker("event", source.marker)]))
            keys = [(kind, self.points[source.marker], index) for index in source.indices]
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
        instructions: list[tuple[int, int, int, int, int]] = []
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
            "points": self.point_list,
            "programs": _whole(counts),
            "instructions": _whole(instructions),
            "constants": np.array(constants, dtype=float),
            "outputs": _whole(outputs),
        }


def _whole(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=np.int64)
