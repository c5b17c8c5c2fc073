"""Rows of the core for elements: ports, laws, inputs, signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.elements.built_in import ForceConnection
from ..connections.elements.element import MEASURES, Element
from ..connections.elements.signals import Delay, Reaction, Sensor
from ..connections.formulas.dependencies import extract_subprogram, inputs_of
from ..connections.formulas.expressions import Program
from ..connections.formulas.program_algebra import extracted
from ..connections.formulas.switching_functions import thresholds_of
from ..connections.formulas.tables import Table
from ..connections.joints import Joint
from ..errors import ModelError
from ..system.topology import Forest
from .contact_elements import add_contact_elements
from .contacts import ContactTables
from .element_tables import ElementTables
from .frames import FrameMap
from .joint_elements import add_joint_elements
from .names import Names
from .schema import number
from .signal_graph import SignalGraph, SignalSource
from .time_laws import LawTables

__all__ = ["CompileContext", "flatten_elements"]


@dataclass(frozen=True, eq=False)
class CompileContext:
    """Data for the ports of elements."""

    forest: Forest
    frames: FrameMap
    names: Names
    tables: ElementTables

    def at_joint(self, joint: Connection, part: int, *, actuated: bool = False) -> int:
        """Return the number of a new port at a velocity of a joint, and at its coordinate if it has one."""
        element = joint.element
        assert isinstance(element, Joint)
        actuator = self.actuator(joint, part) if actuated else 0
        if joint.name in self.names.cut_v:
            loop_constraint = self.names.loop_constraints.index(joint.name)
            return self.tables.add_joint_port(
                actuator=actuator, dof=-1, coordinate=-1, loop_constraint=loop_constraint, part=part
            )
        coordinate = self.names.q[joint.name].start + part if element.nq == element.nv else -1
        dof = self.names.v[joint.name].start + part
        return self.tables.add_joint_port(actuator=actuator, dof=dof, coordinate=coordinate, loop_constraint=-1)

    def actuator(self, joint: Connection, part: int) -> int:
        """Return the number, from 1, of the actuator bound at a velocity of a joint; 0: none."""
        element, tables = joint.element, self.tables
        assert isinstance(element, Joint)
        if element.max_effort is None:
            return 0
        if (joint.name, part) not in tables.actuated:
            port = self.at_joint(joint, part)
            tables.actuated[joint.name, part] = tables.actuators.add(bound=float(element.max_effort[part]), port=port)
        return tables.actuated[joint.name, part] + 1

    def between(self, measure: str, first: Marker, second: Marker) -> int:
        """Return the number of a new port between two markers."""
        kind, ends = number("measure", measure), self.frames.ends(first, second)
        port = self.tables.ports.add(measure=kind, **ends, dof=-1, coordinate=-1, loop_constraint=-1)
        self.tables.port_ends[port] = first, second
        return port

    def ports_of(self, connection: ForceConnection) -> list[int]:
        """Return the numbers of new ports, one for each measure of an element."""
        measures = connection.element.each_measure
        if measures[:1] == ("joint",):
            return [self.at_joint(*place, actuated=connection.actuates) for place in connection.joint_coordinates]
        if len(connection.ends) == 1:  # a load: its opposite goes to ground
            return [self.between(measures[0], self.forest.system.ground.origin, connection.ends[0])]
        return [
            self.between(measure, connection.ends[0], end)
            for measure, end in zip(measures, connection.ends[1:], strict=True)
        ]


def flatten_elements(
    forest: Forest,
    frames: FrameMap,
    names: Names,
    laws: LawTables,
    looked_up: Sequence[Table] = (),
    contacts: ContactTables | None = None,
) -> ElementTables:
    """Return the tables of all elements: built-in ones, joint dampers, user-written laws.

    looked_up : tables of numbers that other programs have taken before
    contacts : of the system; pairs with compliant materials become elements
    """
    tables = ElementTables(laws)
    tables.programs.tables += looked_up
    site = CompileContext(forest, frames, names, tables)
    for joint in forest.joints:  # ports at which a control may act
        if joint.connection is not None:
            for part in range(joint.element.nv):
                site.actuator(joint.connection, part)
    connections = list(forest.system.forces.values())
    for connection in connections:
        if connection.element.law_form:
            _add_plain(site, connection)
    for joint in forest.joints:
        if joint.connection is not None:
            add_joint_elements(site, joint.connection)
    for loop_constraint in forest.loop_constraints:
        add_joint_elements(site, loop_constraint)
    _add_own_laws(site, [c for c in connections if isinstance(c.element, Element)])
    if contacts is not None:
        add_contact_elements(site, contacts)
    return tables


def _add_plain(site: CompileContext, connection: ForceConnection) -> None:
    """Add an element with a law compiled into the core."""
    element, name, tables = connection.element, connection.name, site.tables
    values = [getattr(element, label) for label in element.fields]
    parameter = tables.add_parameters((f"{name}.{label}" for label in element.fields), values)
    ports = site.ports_of(connection)
    given = element.given
    inputs = [tables.add_law_input(f"{name}.{label}", law) for label, law in given.items()]
    tables.add_element(
        name,
        ports,
        len(given) or 1,
        form=number("law_form", element.law_form),
        parameter=parameter,
        parameters=len(values),
        input=inputs[0] if inputs else 0,
        inputs=len(inputs),
        active=bool(given),
    )


def _add_own_laws(site: CompileContext, connections: list[ForceConnection]) -> None:
    """Add elements with user-written laws, in causal order."""
    tables = site.tables
    for connection in connections:
        element = connection.element
        assert isinstance(element, Element)
        tables.state_names += [f"{connection.name}.{state}" for state in element.states]
        tables.starts += list(element.starts.values())
    rows = {connection.name: _Row(site, connection) for connection in connections}
    graph = SignalGraph(site.forest, site.names, connections)
    for name, signal in graph.order():
        if signal:
            rows[name].add_signal(signal, graph)
        else:
            rows[name].add(graph)
    for row in rows.values():
        row.add(graph)
    for row in rows.values():  # signals without a consumer, for output
        for signal in row.element.signals:
            if f"{row.name}.{signal}" not in tables.signals:
                row.add_signal(signal, graph, report_only=True)


class _Row:
    """Table row of an element with a user-written law."""

    def __init__(self, site: CompileContext, connection: ForceConnection) -> None:
        element = connection.element
        assert isinstance(element, Element)
        self.site, self.tables = site, site.tables
        self.connection, self.element, self.name = connection, element, connection.name
        names = (f"{self.name}.{label}" for label in element.parameters)
        self.parameter = self.tables.add_parameters(names, element.parameters.values())
        self.ports = site.ports_of(connection)
        self.done = False

    def add(self, graph: SignalGraph) -> None:
        """Add the element itself unless it has been added."""
        if self.done:
            return
        self.done = True
        element, tables = self.element, self.tables
        first = len(tables.inputs)
        for name in element.sources:
            self._input(name, graph.wires[self.name][name])
        state = tables.state_names.index(f"{self.name}.{next(iter(element.states))}") if element.states else 0
        signals = list(element.signals) if element.program is None else []
        if element.program is None:
            form, law = "function", tables.add_function(self.name, element)
        elif element.core_law is not None:
            form, law = element.core_law
        else:
            program = _without_signals(element)
            forces = element.measures + len(element.states)
            residuals = program.outputs[forces + 1 : forces + 1 + len(element.unknowns)]
            matter = [*program.outputs[:forces], *residuals]
            form, law = (
                "program",
                tables.programs.take(program, self._switching_functions(program, element.input_names, matter)),
            )
        tables.add_element(
            self.name,
            self.ports,
            element.measures,
            form=number("law_form", form),
            law=law,
            parameter=self.parameter,
            parameters=len(element.parameters),
            state=state,
            states=len(element.states),
            input=first,
            inputs=len(element.sources),
            signals=len(signals),
            unknowns=len(element.unknowns),
            active=element.active,
        )
        for name in signals:
            tables.signals[f"{self.name}.{name}"] = len(tables.signals)

    def add_signal(self, signal: str, graph: SignalGraph, *, report_only: bool = False) -> None:
        """Add a row that computes one signal from its dependencies."""
        element, tables = self.element, self.tables
        assert element.program is not None
        program, takes = element.program, element.input_names
        n, gives, m = len(element.unknowns), element.output_count, element.measures
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
        for k in further:
            self._take(k, graph)
        tables.add_element(
            "",
            [],
            0,
            form=number("law_form", "program"),
            law=tables.programs.take(
                into, {} if report_only else self._switching_functions(into, names, into.outputs[1:2])
            ),
            parameter=self.parameter,
            parameters=len(element.parameters),
            input=first,
            inputs=len(further),
            signals=1,
            unknowns=n if solves else 0,
            report_only=report_only,
        )
        tables.signals[f"{self.name}.{signal}"] = len(tables.signals)

    def _switching_functions(self, program: Program, names: Sequence[str], outputs: Sequence[int]) -> dict[int, int]:
        """Return the switching functions of a program of the element, for the indices of used results.

        No result may depend on a reaction or on an unknown; with unknowns no branch is held.
        """
        element, sources = self.element, self.element.sources
        given = {key for key, source in sources.items() if not isinstance(source, (str, Sensor, Reaction, Delay))}
        fixed = [k for k, name in enumerate(names) if k == 0 or name in element.parameters or name in given]
        never = [k for k, name in enumerate(names) if isinstance(sources.get(name), Reaction)]
        never += [k for k, name in enumerate(program.inputs) if name in element.unknowns]
        return thresholds_of(program, outputs, fixed, never, follow=bool(element.unknowns))

    def _take(self, k: int, graph: SignalGraph) -> None:
        """Add input k of the element to a signal's row: a measure, a rate, a state or an input."""
        element, tables = self.element, self.tables
        m = element.measures
        if k <= 2 * m:
            part, rate = (k - 1) % m, k > m
            for port, measure in zip(self.ports, element.each_measure, strict=True):
                size = len(MEASURES[measure][0])
                if part < size:
                    tables.inputs.add(source=number("source", "port"), place=port, part=part + rate * size)
                    return
                part -= size
        if k <= 2 * m + len(element.states):
            place = tables.state_names.index(f"{self.name}.{element.input_names[k]}")
            tables.inputs.add(source=number("source", "state"), place=place)
            return
        self._input(element.input_names[k], graph.wires[self.name][element.input_names[k]])

    def _input(self, name: str, wire: SignalSource) -> None:
        """Add an input of the law."""
        source, tables, site = wire.source, self.tables, self.site
        if wire.signal:
            tables.inputs.add(source=number("source", "signal"), place=tables.signals[wire.signal])
        elif wire.state:
            tables.inputs.add(source=number("source", "state"), place=tables.state_names.index(wire.state))
        elif wire.place is not None:
            tables.inputs.add(source=number("source", "port"), place=site.at_joint(*wire.place), part=wire.rate)
        elif isinstance(source, Sensor):
            port = site.between(source.measure, source.first, source.second)
            tables.inputs.add(source=number("source", "port"), place=port, part=source.part)
        elif isinstance(source, Reaction):
            connection = _connection(site.names, self.name, source)
            tables.inputs.add(source=number("source", "feedback"), place=tables.feedback(connection, source.number))
        else:
            tables.add_law_input(f"{self.name}.{name}", source if wire.callback is None else wire.callback)


def _connection(names: Names, element: str, reaction: Reaction) -> int:
    """Return the number of the connection of a reaction."""
    if reaction.connection in names.connections:
        return names.connections.index(reaction.connection)
    known = ", ".join(map(repr, names.connections))
    raise ModelError(f"element {element!r}", "Reaction", reaction.connection, f"name a connection: {known}")


def _without_signals(element: Element) -> Program:
    """Return the program of an element without its signals, which have their own rows."""
    program, last = element.program, element.output_count
    assert program is not None
    if not element.signals:
        return program
    return extract_subprogram(program, [*program.outputs[: last - len(element.signals)], *program.outputs[last:]])
