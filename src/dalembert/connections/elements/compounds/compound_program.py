"""Program of the law of a compound, from its members and nodes (Sol 1983, sections 7.3 and 7.4).

A node is *paced* if members resist its rates in every direction: its position is a state, its rate an unknown. Other
nodes are *found*: their positions are unknowns. A member with rates in its law at a found node is *tracked*: its
measure is a state, its rate an unknown. The equations equate these states to the measures at the unknown positions:

    unknowns    positions of found nodes, rates of tracked members, rates of paced nodes
    equations   balance at found nodes, measures = states, balance at paced nodes
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ....checks import finite_number
from ....errors import ModelError
from ...formulas.expressions import Formula, Program, add_expression
from ...formulas.program_algebra import ProgramBuilder
from ..signals import MEASURES
from .compound_loads import Frame, energy_of_member, node_balance
from .compound_members import Member, measured_at_start, named

__all__ = ["CompoundProgram"]

SIZES = {"line": 1, "point": 3, "pose": 6}
AXES = {"line": ("",), "point": ("_x", "_y", "_z"), "pose": ("_x", "_y", "_z", "_rx", "_ry", "_rz")}
_LOADS = ("fx", "fy", "fz", "mx", "my", "mz")


class CompoundProgram:
    """Members and nodes of a compound, translated to a law."""

    def __init__(
        self,
        ends: tuple[str, ...],
        members: dict[str, Any],
        nodes: dict[str, Any],
        loads: dict[str, Any],
        parameters: dict[str, float],
        starts: dict[str, float],
    ) -> None:
        self.ends, self.nodes, self.loads, self.parameters, self.starts = ends, nodes, loads, parameters, starts
        self._check_names()
        self.members: dict[str, Member] = named(members)
        self._check()
        self.paced, self.tracked = self._sorted()
        for name in self.paced:
            if not all(isinstance(each, (int, float)) for each in self._start(name)):
                raise ModelError(
                    "Compound", f"start of node {name!r}", self.nodes[name][1], "forces depend on rates: give numbers"
                )
        self._built: tuple[Program, dict[str, list[int]]] | None = None

    # ---- checks

    def _check_names(self) -> None:
        names = [*self.ends, *self.nodes]
        if len(self.ends) < 2 or len(set(names)) < len(names):
            raise ModelError(
                "Compound", "ends", self.ends, "give two or more, with names that differ from those of nodes"
            )
        for name, node in self.nodes.items():
            if not isinstance(node, (tuple, list)) or len(node) != 2 or node[0] not in SIZES:
                raise ModelError(
                    "Compound", f"node {name!r}", node, "give a kind, 'line', 'point' or 'pose', and its start"
                )
            if len(self._start(name)) != SIZES[node[0]]:
                raise ModelError("Compound", f"start of node {name!r}", node[1], f"give {SIZES[node[0]]} of them")

    def _check(self) -> None:
        """Raise `ModelError` for members and nodes that do not form a valid compound."""
        for member in self.members.values():
            self._check_member(member)
        for name in self.nodes:
            if sum(name in member.end_names for member in self.members.values()) < 2:
                raise ModelError("Compound", f"node {name!r}", name, "two members or more must meet there")
        for name, load in self.loads.items():
            if name not in self.nodes:
                known = ", ".join(map(repr, self.nodes)) or "missing"
                raise ModelError("Compound", "loads", name, f"nodes are {known}")
            sizes = {"line": (1,), "point": (3,), "pose": (3, 6)}[self.nodes[name][0]]
            if len(load if isinstance(load, (tuple, list)) else (load,)) not in sizes:
                raise ModelError("Compound", f"load on node {name!r}", load, f"give {' or '.join(map(str, sizes))}")

    def _check_member(self, member: Member) -> None:
        what, kind = f"member {member.name!r}", member.element.kind
        for place in member.end_names:
            if place not in self.ends and place not in self.nodes:
                known = ", ".join(map(repr, (*self.ends, *self.nodes)))
                raise ModelError("Compound", what, place, f"places are {known}")
        first, *others = member.ends
        if first.place in member.end_names[1:]:
            raise ModelError("Compound", what, first.place, "give two different places")
        if "line" in {self.kind(place) for place in member.end_names}:
            straight = member.element.measure == "distance" and not any(end.is_offset for end in member.ends)
            if not straight or not all(map(self.on_line, member.end_names)):
                raise ModelError("Compound", what, kind, "at a node on a line there are distances along it only")
        for end in member.ends:
            if end.is_offset and self.kind(end.place) == "point":
                raise ModelError(
                    "Compound", what, end.place, "a point has no orientation for an offset: make the node a 'pose'"
                )
        for measure, end in zip(member.element.each_measure, others, strict=True):
            if measure == "pose" and "point" in (self.kind(first.place), self.kind(end.place)):
                raise ModelError("Compound", what, kind, "a point has no orientation: make the node a 'pose'")
            if measure == "place" and self.kind(first.place) == "point":
                raise ModelError(
                    "Compound", what, kind, "a point has no axes to measure in: exchange the ends of the member"
                )

    # ---- kinds and measures

    def kind(self, place: str) -> str:
        """Return the kind of a node; empty for an end."""
        return str(self.nodes[place][0]) if place in self.nodes else ""

    def on_line(self, place: str) -> bool:
        """Return whether an end or node is on the line between the first two ends."""
        return place in self.ends[:2] or self.kind(place) == "line"

    def _start(self, node: str) -> tuple[Any, ...]:
        start = self.nodes[node][1]
        return tuple(start) if isinstance(start, (tuple, list, np.ndarray)) else (start,)

    def _sorted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the paced nodes and the tracked members."""
        paced = {name for name in self.nodes if any(name in m.end_names and m.rates for m in self.members.values())}
        while True:
            tracked = [
                name
                for name, member in self.members.items()
                if member.rates and any(p in self.nodes and p not in paced for p in member.end_names)
            ]
            resisted = {
                node: sum(
                    len(m.rates) for name, m in self.members.items() if node in m.end_names and name not in tracked
                )
                for node in paced
            }
            poor = {node for node in paced if resisted[node] < SIZES[self.kind(node)]}
            if not poor:
                return tuple(node for node in self.nodes if node in paced), tuple(tracked)
            paced -= poor

    def measures(self) -> tuple[str, ...]:
        """Return the measures of the compound at each further end: its pose if orientations enter."""
        found = []
        for end in self.ends[1:]:
            turns = False
            for member in self.members.values():
                for measure, other in zip(member.element.each_measure, member.ends[1:], strict=True):
                    turns |= other.place == end and (measure == "pose" or bool(other.position.any()))
                    turns |= member.ends[0].place == end and measure != "distance"
                turns |= member.ends[0].place == end and bool(member.ends[0].position.any())
            found.append("pose" if turns else "place")
        return tuple(found)

    # ---- names

    def _coordinates(self, node: str) -> list[str]:
        return [f"{node}{axis}" for axis in AXES[self.kind(node)]]

    def _tracked_names(self, name: str) -> list[tuple[str, str, int]]:
        """Return state, rate and number of each measure of a tracked member that is a state."""
        member = self.members[name]
        measures, rates = member.element.measured
        return [(f"{name}_{measures[k]}", f"{name}_{rates[k]}", k) for k in member.states_of_rates()]

    def all_parameters(self) -> dict[str, float]:
        """Return parameters by name, those of members prefixed with the member's name, and search offsets."""
        of_members = {f"{name}_{k}": x for name, member in self.members.items() for k, x in member.parameters.items()}
        return {**self.parameters, **of_members, **dict.fromkeys(self.shifts.values(), 0.0)}

    @property
    def shifts(self) -> dict[str, str]:
        """Unknown positions of nodes, and the parameters that offset their initial guesses."""
        return {c: f"{c}_shift" for node in self.nodes if node not in self.paced for c in self._coordinates(node)}

    def inputs(self) -> dict[str, Any]:
        """Return the inputs of members."""
        return {f"{name}_{k}": source for name, m in self.members.items() for k, source in m.element.sources.items()}

    def states(self) -> dict[str, tuple[float, Any]]:
        """Return states of members, positions of paced nodes, and measures of tracked members."""
        found: dict[str, tuple[float, Any]] = {}
        for name, member in self.members.items():
            for k, state in enumerate(member.element.states):
                found[f"{name}_{state}"] = member.element.starts[state], self.result(f"rates of {name}", k)
        for node in self.paced:
            for k, (coordinate, value) in enumerate(zip(self._coordinates(node), self._start(node), strict=True)):
                found[coordinate] = float(value), self.result(f"rate of {node}", k)
        for name in self.tracked:
            for k, (state, _, number) in enumerate(self._tracked_names(name)):
                start = self.starts.get(state)
                if start is None:
                    start = measured_at_start(self.members[name], self.ends[0], self.nodes, state, number)
                found[state] = float(start), self.result(f"tracking of {name}", k)
        for state, value in self.starts.items():
            if state not in found:
                raise ModelError("Compound", "starts", state, f"states are {', '.join(found) or 'missing'}")
            found[state] = finite_number(value, item="Compound", field=f"start of {state!r}"), found[state][1]
        return found

    def unknowns(self) -> dict[str, tuple[Any, Any]]:
        """Return positions or rates of nodes, rates of tracked members, and unknowns of members."""
        found: dict[str, tuple[Any, Any]] = {}
        for node in self.nodes:
            paced = node in self.paced
            for k, (coordinate, value) in enumerate(zip(self._coordinates(node), self._start(node), strict=True)):
                begin = 0.0 if paced else self._begin(coordinate, value)
                found[f"{coordinate}_rate" if paced else coordinate] = begin, self.result(f"balance of {node}", k)
        for name in self.tracked:
            for k, (_, rate, _) in enumerate(self._tracked_names(name)):
                found[rate] = 0.0, self.result(f"distances of {name}", k)
        for name, member in self.members.items():
            for k, unknown in enumerate(member.element.unknowns):
                found[f"{name}_{unknown}"] = self.result(f"starts of {name}", k), self.result(f"residuals of {name}", k)
        return found

    def _begin(self, coordinate: str, value: Any) -> Formula:
        """Return the initial guess of a position: the start of the node plus its offset."""
        start, what = float(value) if isinstance(value, np.number) else value, f"Compound: start of {coordinate!r}"

        return Formula(partial(self._add_begin, coordinate, start, what))

    def _add_begin(self, coordinate: str, start: Any, what: str, program: Program, names: Mapping[str, int]) -> int:
        place = add_expression(program, start, names, {}, what)
        return ProgramBuilder(program).add(place, names[self.shifts[coordinate]])

    def signals(self) -> dict[str, Any]:
        """Return signals of members, their loads and lengths, and positions of found nodes."""
        found: dict[str, Any] = {}
        for name, member in self.members.items():
            for k, signal in enumerate(member.element.signals):
                found[f"{name}_{signal}"] = self.result(f"signals of {name}", k)
            for what, kind, k in self._loads_of(member):
                found.setdefault(f"{name}_{what}", self.result(f"{kind} of {name}", k))
        for node in self.nodes:
            if node not in self.paced:
                for k, coordinate in enumerate(self._coordinates(node)):
                    found[f"{coordinate}_at"] = self.result(f"place of {node}", k)
        taken = {*self.all_parameters(), *self.inputs(), *self.states(), *self.unknowns()}
        return {name: each for name, each in found.items() if name not in taken}

    def _loads_of(self, member: Member) -> list[tuple[str, str, int]]:
        """Return names, results and numbers of the transmitted loads and the length of a member."""
        found: list[tuple[str, str, int]] = []
        several, first = len(member.element.each_measure) > 1, 0
        for place, measure in enumerate(member.element.each_measure):
            number = str(place + 1) if several else ""
            if measure == "distance":
                found += [(f"force{number}", "forces", first), (f"distance{number}", "measures", first)]
            else:
                size = len(MEASURES[measure][0])
                found += [(f"{letter}{number}", "forces", first + k) for k, letter in enumerate(_LOADS[:size])]
            first += len(MEASURES[measure][0])
        return found

    # ---- the program

    def result(self, what: str, k: int) -> Formula:
        """Return a result of the compound as an expression."""
        return Formula(partial(self._place, what, k))  # which can be pickled

    def _place(self, what: str, k: int, program: Program, names: Mapping[str, int]) -> int:
        return self.build(program, names)[what][k]

    def build(self, program: Program, names: Mapping[str, int]) -> dict[str, list[int]]:
        """Return the indices of all results in a program; they are added to it once."""
        if self._built is not None and self._built[0] is program:
            return self._built[1]
        results: dict[str, list[int]] = {}
        self._built = program, results
        on = ProgramBuilder(program)
        frames = self._frames(on, names)
        energies = [self._add_member(on, names, name, frames, results) for name in self.members]
        for node, load in self.loads.items():
            self._add_load(on, names, node, load, frames[node])
        for node in self.nodes:
            node_balance(on, node, self.kind(node), frames[node], results)
        results["energy"] = [on.total(energies)]
        results["force"] = []
        for k, (end, measure) in enumerate(zip(self.ends[1:], self.measures(), strict=True)):
            frame = frames[end]
            if k == 0 and frame.along:
                frame.force.append(on.scaled(on.total(frame.along), frame.line(on)))
            results["force"] += on.sum(on.null, *frame.force)
            if measure == "pose":
                results["force"] += on.sum(on.null, *frame.moment)
        return results

    def _frames(self, on: ProgramBuilder, names: Mapping[str, int]) -> dict[str, Frame]:
        frames = {self.ends[0]: Frame(on.null, on.unit, on.null, on.null, on.zero, on.zero)}
        for k, (end, measure) in enumerate(zip(self.ends[1:], self.measures(), strict=True)):
            number = str(k + 1) if len(self.ends) > 2 else ""
            place, rates = ([names[f"{each}{number}"] for each in letters] for letters in MEASURES[measure])
            frame = Frame(place[:3], on.unit, rates[:3], on.null)
            if measure == "pose":
                frame.R, frame.w = on.turn_by_vector(place[3:]), rates[3:]
            if k == 0 and "line" in map(self.kind, self.nodes):
                frame.s = on.program.emit("root", on.dot(frame.p, frame.p))
                frame.rate = on.dot(frame.line(on), frame.v)
            frames[end] = frame
        for node in self.nodes:
            frames[node] = self._node(on, names, node)
        return frames

    def _node(self, on: ProgramBuilder, names: Mapping[str, int], node: str) -> Frame:
        coordinates, kind = self._coordinates(node), self.kind(node)
        places = [names[c] for c in coordinates]
        rates = [names[f"{c}_rate"] for c in coordinates] if node in self.paced else [on.zero] * len(coordinates)
        if kind == "line":
            return Frame(on.null, on.unit, on.null, on.null, places[0], rates[0])
        frame = Frame(places[:3], on.unit, rates[:3], on.null)
        if kind == "pose":
            frame.R, frame.w = on.turn_by_vector(places[3:]), rates[3:]
        return frame

    def _add_member(
        self,
        on: ProgramBuilder,
        names: Mapping[str, int],
        name: str,
        frames: dict[str, Frame],
        results: dict[str, list[int]],
    ) -> int:
        """Add the law of a member, apply its loads at its ends, and return the index of its energy."""
        member = self.members[name]
        given: dict[int, int] | None = None
        if name in self.tracked:
            given = {k: names[rate] for _, rate, k in self._tracked_names(name)}
        order: list[str] = []
        if "line" in map(self.kind, member.end_names):  # positive is away from the first end, in the order of the nodes
            order = [self.ends[0], *self.nodes, self.ends[1]]
        energy, measures = energy_of_member(on, names, member, frames, results, rates=given, line=order)
        if given is not None:
            tracked = self._tracked_names(name)
            states = {k: names[state] for state, _, k in tracked}
            results[f"distances of {name}"] = [on.subtract(measures[k], states[k]) for _, _, k in tracked]
            results[f"tracking of {name}"] = self._tracking(on, member, states, given)
        return energy

    def _tracking(self, on: ProgramBuilder, member: Member, states: dict[int, int], given: dict[int, int]) -> list[int]:
        """Return the rates of the measures of a tracked member; rotation vectors by their own kinematics."""
        found = dict(given)
        first = 0
        for measure in member.element.each_measure:
            turns = range(first + 3, first + 6)
            if measure == "pose" and first + 3 in given:
                moved = on.turning_rate([states[k] for k in turns], [given[k] for k in turns])
                found.update(zip(turns, moved, strict=True))
            first += len(MEASURES[measure][0])
        return [found[k] for k in sorted(found)]

    def _add_load(self, on: ProgramBuilder, names: Mapping[str, int], node: str, load: Any, frame: Frame) -> None:
        parts = load if isinstance(load, (tuple, list)) else (load,)
        places = [add_expression(on.program, part, names, {}, f"Compound: load on {node!r}") for part in parts]
        if len(places) == 1:
            frame.along.append(places[0])
        else:
            frame.force.append(places[:3])
        if len(places) == 6:
            frame.moment.append(places[3:])
