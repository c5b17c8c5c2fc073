"""From elements with laws of their own to the flat arrays of core/bind/elements.cpp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .compile_signals import SignalGraph, Wire
from .connections.calculus import extracted
from .connections.elements import MEASURES, Element
from .connections.expressions import OPERATIONS, Program
from .connections.program_parts import inputs_of
from .connections.signals import Reaction, Sensor
from .connections.tables import Table
from .errors import ModelError, TopologyError, UserFunctionError

if TYPE_CHECKING:
    from .bodies.markers import Marker
    from .compile_forces import ForceTables
    from .connections.connection import Connection
    from .connections.energetic import ForceConnection
    from .model import Model

__all__ = ["ElementTables", "flatten_elements", "guarded_law"]

# core/model.hpp: Source
_LAW, _PORT, _STATE, _SIGNAL, _FEEDBACK = range(5)


@dataclass
class ElementTables:
    """What the core needs, row by row, and what Python keeps of it.

    Attributes
    ----------
    functions : list
        Laws that are functions: addresses of compiled ones, or Python functions, in the order of the core.
    function_sizes : list of (int, int)
        How many numbers each takes and gives.
    state_names : list of str
    starts : list of float
        Start values of the states.
    """

    port_numbers: list[NDArray[np.float64]] = field(default_factory=list)
    port_integers: list[list[int]] = field(default_factory=list)
    elements: list[list[int]] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    feedback_numbers: list[NDArray[np.float64]] = field(default_factory=list)
    feedback_integers: list[list[int]] = field(default_factory=list)
    programs: list[list[int]] = field(default_factory=list)
    instructions: list[tuple[int, ...]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)
    function_sizes: list[tuple[int, int]] = field(default_factory=list)
    state_names: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    signals: dict[str, int] = field(default_factory=dict)

    def arrays(self) -> tuple[Any, ...]:
        """Return the arguments of ``_core.Model._set_elements``."""
        rows, numbers, first = [], [np.zeros(0)], 0
        for table in self.tables:
            row, mine = table.numbers(first)
            rows.append(row)
            numbers.append(mine)
            first += len(mine)
        return (
            np.array(self.port_numbers, dtype=float).reshape(-1, 24),
            np.array(self.port_integers, dtype=np.int32).reshape(-1, 5),
            np.array(self.elements, dtype=np.int32).reshape(-1, 13),
            np.array(self.inputs, dtype=np.int32).reshape(-1, 3),
            np.array(self.feedback_numbers, dtype=float).reshape(-1, 12),
            np.array(self.feedback_integers, dtype=np.int32).reshape(-1, 5),
            np.array(self.programs, dtype=np.int32).reshape(-1, 4),
            np.array(self.instructions, dtype=np.int32).reshape(-1, 5),
            np.array(self.constants, dtype=float),
            np.array(self.outputs, dtype=np.int32),
            np.concatenate(numbers),
            np.array(rows, dtype=np.int32).reshape(-1, 7),
        )

    def add_program(self, program: Program) -> int:
        """Return the number of a program."""
        constants, tables, first = len(self.constants), len(self.tables), len(self.instructions)
        shifts = {OPERATIONS.index("constant"): constants, OPERATIONS.index("lookup"): tables}
        for code, a, *rest in program.instructions:
            self.instructions.append((code, a + shifts.get(code, 0), *rest))
        self.constants += program.constants
        self.tables += program.tables
        self.programs.append([first, len(program.instructions), len(self.outputs), len(program.outputs)])
        self.outputs += program.outputs
        return len(self.programs) - 1

    def add_function(self, name: str, element: Element) -> int:
        """Return the number of an element's function."""
        function: Any = element.function
        if hasattr(function, "address"):
            self.functions.append(int(function.address))
        else:
            self.functions.append(guarded_law(name, function, element.gives, bool(element.signals)))
        self.function_sizes.append((len(element.takes), element.gives))
        return len(self.functions) - 1

    def add_port(self, measure: str, numbers: NDArray[np.float64], integers: Sequence[int]) -> int:
        """Return the number of a port."""
        self.port_numbers.append(numbers)
        self.port_integers.append([list(MEASURES).index(measure), *integers])
        return len(self.port_integers) - 1


def guarded_law(name: str, function: Callable[..., Any], gives: int, signals: bool = False) -> Callable[..., Any]:
    """Return a law in Python that names its element and the time if it fails or gives what is no answer."""
    alone = gives == 2
    allowed = (gives,) if signals else (gives - 1, gives)

    def checked(t: float, given: Any) -> tuple[float, ...]:
        try:
            numbers = given if given.__class__ is tuple else tuple(np.ravel(given).tolist())
            if len(numbers) in allowed and isfinite(sum(numbers)):
                return numbers
        except (TypeError, ValueError):
            pass
        count = f"{gives - 1} finite number{'s' * (not alone)}, and the energy if it stores any"
        if signals:
            count = f"the energy and the signals, {gives} finite numbers"
        raise UserFunctionError(
            f"the law of element {name!r} returned {given!r} at t = {t:.6g} s; it gives forces and rates of states, "
            + count
        )

    def law(*inputs: float) -> Any:
        try:
            given = function(*inputs)
        except Exception as error:
            raise UserFunctionError(
                f"the law of element {name!r} failed at t = {inputs[0]:.6g} s: {error!r}"
            ) from error
        if alone and given.__class__ is float and given - given == 0.0:
            return given
        return checked(inputs[0], given)

    return law


def flatten_elements(model: Model, forces: ForceTables) -> ElementTables:
    """Return the tables of a model's elements with laws of their own; parameters and laws join those of the forces."""
    tables = ElementTables()
    mine = [c for c in model.system.forces.values() if isinstance(c.element, Element)]
    for connection in mine:
        element = connection.element
        assert isinstance(element, Element)
        tables.state_names += [f"{connection.name}.{state}" for state in element.states]
        tables.starts += list(element.starts.values())
    rows = [_Row(tables, forces, model, connection) for connection in mine]
    by_name = {row.name: row for row in rows}
    graph = SignalGraph(model, mine)
    for name, signal in graph.order():
        if signal:
            by_name[name].add_signal(signal, graph)
        else:
            by_name[name].add(graph)
    for row in rows:
        row.add(graph)
    return tables


class _Row:
    """One element on its way into the tables."""

    def __init__(self, tables: ElementTables, forces: ForceTables, model: Model, connection: ForceConnection) -> None:
        element = connection.element
        assert isinstance(element, Element)
        self.tables, self.forces, self.model = tables, forces, model
        self.connection, self.element, self.name = connection, element, connection.name
        self.parameter = forces.add_parameters(self.name, tuple(element.parameters), element.parameters.values())
        self.ports = [self._port(k, measure) for k, measure in enumerate(element.each_measure)]
        self.done = False

    def _port(self, k: int, measure: str) -> int:
        where = self.connection
        if measure == "hinge":
            return self._hinge_port(*where.places[k])
        return self.tables.add_port(measure, *_marker_port(self.model, where.ends[0], where.ends[k + 1]))

    def _hinge_port(self, hinge: Connection, coordinate: int) -> int:
        return self.tables.add_port("hinge", *_hinge_port(self.model, self.element, self.name, hinge, coordinate))

    def add(self, graph: SignalGraph) -> None:
        """Add the element itself, if that has not happened yet."""
        if self.done:
            return
        self.done = True
        element, tables = self.element, self.tables
        sources = [self._input(graph.wires[self.name][name]) for name in element.sources]
        first = len(tables.inputs)
        tables.inputs += sources
        signals = 0
        if element.program is None:
            signals = len(element.signals)
            program, function = -1, tables.add_function(self.name, element)
        else:
            program, function = tables.add_program(_without_signals(element)), -1
        state = tables.state_names.index(f"{self.name}.{next(iter(element.states))}") if element.states else 0
        port = self.ports[0] if self.ports else 0
        tables.elements.append([
            *(port, len(self.ports), program, function, self.parameter, len(element.parameters)),
            *(state, len(element.states), first, len(sources), signals, len(element.unknowns), int(element.active)),
        ])  # fmt: skip
        for name in list(element.signals)[:signals]:
            tables.signals[f"{self.name}.{name}"] = len(tables.signals)

    def add_signal(self, signal: str, graph: SignalGraph) -> None:
        """Add a row that computes one signal, from what it depends on."""
        element, tables = self.element, self.tables
        assert element.program is not None
        program, takes = element.program, element.takes
        n, gives, m = len(element.unknowns), element.gives, element.measures
        place = program.outputs[m + len(element.states) + 1 + list(element.signals).index(signal)]
        needed = inputs_of(program, [place])
        solves = any(k >= len(takes) for k in needed)
        rest = program.outputs[gives:] if solves else []
        needed = inputs_of(program, [place, *rest])
        parameters = range(1 + 2 * m + len(element.states), 1 + 2 * m + len(element.states) + len(element.parameters))
        further = [k for k in sorted(needed) if 0 < k < len(takes) and k not in parameters]
        names = ("t", *element.parameters, *(takes[k] for k in further), *(element.unknowns if solves else ()))
        into = Program(names)
        places = {name: into.emit("input", k) for k, name in enumerate(names)}
        inputs = {k: places[takes[k]] for k in needed if k < len(takes)}
        inputs.update({len(takes) + k: places[name] for k, name in enumerate(element.unknowns) if solves})
        into.outputs = [into.constant(0.0), *extracted(program, into, [place, *rest], inputs)]
        first = len(tables.inputs)
        tables.inputs += [self._take(k, graph) for k in further]
        tables.elements.append([
            *(0, 0, tables.add_program(into), -1, self.parameter, len(element.parameters)),
            *(0, 0, first, len(further), 1, n if solves else 0, 0),
        ])  # fmt: skip
        tables.signals[f"{self.name}.{signal}"] = len(tables.signals)

    def _take(self, k: int, graph: SignalGraph) -> list[int]:
        """Return where a signal's row finds what the element takes at place k: a measure, a rate, a state, an input."""
        element = self.element
        m = element.measures
        if k <= 2 * m:
            part, rate = (k - 1) % m, k > m
            for port, measure in zip(self.ports, element.each_measure, strict=True):
                size = len(MEASURES[measure][0])
                if part < size:
                    return [_PORT, port, part + rate * size]
                part -= size
        if k <= 2 * m + len(element.states):
            return [_STATE, self.tables.state_names.index(f"{self.name}.{element.takes[k]}"), 0]
        return self._input(graph.wires[self.name][element.takes[k]])

    def _input(self, wire: Wire) -> list[int]:
        """Return source, place and part of an input."""
        source, model, tables = wire.source, self.model, self.tables
        if wire.signal:
            return [_SIGNAL, tables.signals[wire.signal], 0]
        if wire.state:
            return [_STATE, tables.state_names.index(wire.state), 0]
        if wire.place is not None:
            return [_PORT, self._hinge_port(*wire.place), wire.rate]
        if isinstance(source, Sensor):
            port = tables.add_port(source.measure, *_marker_port(model, source.first, source.second))
            return [_PORT, port, source.part]
        if isinstance(source, Reaction):
            return [_FEEDBACK, _feedback(tables, model, self.name, source), 0]
        return [_LAW, self.forces.add_law(source if wire.hosted is None else wire.hosted), 0]  # type: ignore[arg-type]


def _without_signals(element: Element) -> Program:
    """Return the program of an element without its signals, which have rows of their own."""
    program, n = element.program, len(element.signals)
    assert program is not None
    if not n:
        return program
    first = element.gives - n
    inputs = {k: k for k in range(len(program.inputs))}
    into = Program(program.inputs)
    for k in inputs:
        into.emit("input", k)
    into.outputs = extracted(program, into, [*program.outputs[:first], *program.outputs[element.gives :]], inputs)
    return into


def _hinge_port(
    model: Model, element: Element, name: str, hinge: Connection, coordinate: int
) -> tuple[NDArray[np.float64], list[int]]:
    if hinge.name not in model.hinge_names:
        raise TopologyError(
            f"{element.kind} {name!r}: every hinge of its loop is driven, coupled or bears a force element, so "
            f"that {hinge.name!r} has to be cut and has no coordinate; leave one hinge of each loop free"
        )
    place = [model.v_slice(hinge.name).start + coordinate, model.q_slice(hinge.name).start + coordinate]
    return np.zeros(24), [0, 0, *place]


def _marker_port(model: Model, first: Marker, second: Marker) -> tuple[NDArray[np.float64], list[int]]:
    from .compile_forces import ends_in_kernel_frames

    frames, bodies = ends_in_kernel_frames(model, first, second)
    return np.concatenate(frames), [*bodies, -1, -1]


def _feedback(tables: ElementTables, model: Model, name: str, reaction: Reaction) -> int:
    """Return the number of a transmitted load."""
    chords = [chord.name for chord in model.forest.chords]
    if reaction.connection in chords:
        chord, carried, on_carried = chords.index(reaction.connection), 0, 0
        marker = model.forest.chords[chord].second
    elif reaction.connection in model.hinge_names:
        carried = model.hinge_names.index(reaction.connection) + 1
        hinge = model.forest.hinges[carried - 1]
        chord, on_carried = -1, int(not hinge.reversed)
        marker = hinge.inboard if hinge.reversed else hinge.outboard
    else:
        known = ", ".join(map(repr, (*model.hinge_names, *chords)))
        raise ModelError(f"element {name!r}", "Reaction", reaction.connection, f"name a connection: {known}")
    body, R, p = model.frames.place(marker)
    place = int(model.frames.places.carrier[carried])
    integers = [chord, place, on_carried, body, reaction.number]
    if integers not in tables.feedback_integers:
        tables.feedback_integers.append(integers)
        tables.feedback_numbers.append(np.concatenate([R.ravel(), p]))
    return tables.feedback_integers.index(integers)
