"""Compounds: several elements and massless nodes between them, as one element (Sol 1983, chapter 7).

Nodes are where members meet; nothing but the members acts on them, so that their loads balance at every instant:

    members' forces do not depend on rates     positions of the node are unknowns, found in every evaluation (7.3)
    some depend on rates                       positions are states, their rates are the unknowns (7.4)

All of it becomes one law in axes of the first end, with exact derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import ModelError
from ..formulas.calculus import Calculus, Matrix, Vector, extracted, transposed
from ..formulas.expressions import Formula, Program, add_expression
from ..formulas.parts import inputs_of
from .element import Element

__all__ = ["Compound"]

_SIZES = {"line": 1, "point": 3, "pose": 6}
_AXES = {"line": ("",), "point": ("_x", "_y", "_z"), "pose": ("_x", "_y", "_z", "_rx", "_ry", "_rz")}


class Compound(Element):
    """An element made of elements that meet at massless nodes.

    Parameters
    ----------
    ends : sequence of str
        Names of the ends, two or more, in the order in which ``connect`` takes markers. Positions of nodes are in axes
        of the first.
    members : dict of str to (Element, end or node, end or node)
        Elements that measure a distance, a place or a pose, with laws that are expressions.
    nodes : dict of str to (kind, start)
        ``"line"``: on the straight line between the first two ends, at a distance from the first, m, which is its only
        coordinate; members at it are distances. ``"point"``: at a position (3,) m; no moments act on it. ``"pose"``:
        position and rotation vector (6,) m and rad; members that twist may meet there. Starts are numbers or
        expressions of the measures; where members' forces depend on rates, numbers, and then dampers must hold the
        node in every direction that it can move in.
    loads : dict of str to (3,) or (1,)
        Forces on nodes, N, in axes of the first end (along the line, for that kind): expressions of t and parameters.
    parameters : dict of str to float
        For `loads` and starts.

    What members have by name they have here with the member's name before it: parameters ``tendon_k``, states
    ``fibre_a``, inputs, signals. Positions of nodes are states ``middle`` or ``middle_x`` ..., or signals ``middle_at``
    ..., and the force of each member that measures a distance is the signal ``tendon_force``.

    Examples
    --------
    A muscle with an elastic tendon: the fibre, whose force depends on its speed, and the tendon meet at a node.

    >>> import dalembert as da
    >>> fibre = da.HillMuscle(0.5, strength=1000.0, optimal_length=0.1)
    >>> law = {"k": 5e7, "l": 0.2}
    >>> tendon = da.Element("distance", "-k*max(0, s - l)**2", law, energy="k*max(0, s - l)**3/3")
    >>> muscle = da.Compound(
    ...     ("origin", "insertion"),
    ...     {"fibre": (fibre, "origin", "middle"), "tendon": (tendon, "middle", "insertion")},
    ...     nodes={"middle": ("line", 0.1)},
    ... )
    >>> sorted(muscle.states)
    ['fibre_a', 'middle']
    """

    def __init__(
        self,
        ends: Sequence[str],
        members: Mapping[str, tuple[Element, str, str]],
        nodes: Mapping[str, tuple[str, Any]] | None = None,
        *,
        loads: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        parts = _Parts(tuple(ends), dict(members), dict(nodes or {}), dict(loads or {}), dict(parameters or {}))
        parts.check()
        measure = "place" if parts.only_points() else "pose"
        count = len(parts.ends) - 1
        super().__init__(
            measure if count == 1 else (measure,) * count,
            [parts.result("force", k) for k in range(count * (3 if measure == "place" else 6))],
            parts.all_parameters(),
            parts.states(),
            parts.result("energy", 0),
            active=any(element.active for element, *_ in parts.members.values()),
            inputs=parts.inputs(),
            signals=parts.signals(),
            unknowns=parts.unknowns(),
        )


@dataclass
class _Body:
    """An end or a node within a program: where it is, how it moves, and what acts on it.

    s, rate : its distance from the first end along the line of the compound, and the rate of that, if it is on it
    along : forces along the line
    """

    p: Vector
    R: Matrix
    v: Vector
    w: Vector
    s: int = 0
    rate: int = 0
    force: list[Vector] = field(default_factory=list)
    moment: list[Vector] = field(default_factory=list)
    along: list[int] = field(default_factory=list)


class _Parts:
    """What a compound is made of, on its way to a law."""

    def __init__(
        self,
        ends: tuple[str, ...],
        members: dict[str, Any],
        nodes: dict[str, Any],
        loads: dict[str, Any],
        parameters: dict[str, float],
    ) -> None:
        self.ends, self.nodes, self.loads, self.parameters = ends, nodes, loads, parameters
        self.members: dict[str, Any] = members
        self._built: tuple[Program, dict[str, list[int]]] | None = None

    # ---- what is refused

    def check(self) -> None:
        """Refuse what cannot be put together."""
        item = "Compound"
        names = [*self.ends, *self.nodes]
        if len(self.ends) < 2 or len(set(names)) < len(names):
            raise ModelError(item, "ends", self.ends, "give two or more, with names that differ from those of nodes")
        for name, node in self.nodes.items():
            if not isinstance(node, tuple) or len(node) != 2 or node[0] not in _SIZES:
                raise ModelError(item, f"node {name!r}", node, "give a kind, 'line', 'point' or 'pose', and its start")
            start = node[1] if isinstance(node[1], (tuple, list)) else (node[1],)
            if len(start) != _SIZES[node[0]]:
                raise ModelError(item, f"start of node {name!r}", node[1], f"give {_SIZES[node[0]]} of them")
            if sum(name in where for _, *where in self._each(item)) < 2:
                raise ModelError(item, f"node {name!r}", name, "two members or more must meet there")
            if self._moves(name) and not all(isinstance(each, (int, float)) for each in start):
                raise ModelError(item, f"start of node {name!r}", node[1], "forces depend on rates there: give numbers")
        for name, (element, first, second) in zip(self.members, self._each(item), strict=True):
            self._check_member(item, name, element, first, second)
        for name in self.loads:
            if name not in self.nodes:
                raise ModelError(item, "loads", name, f"nodes are {', '.join(map(repr, self.nodes)) or 'missing'}")

    def _each(self, item: str) -> list[tuple[Element, str, str]]:
        for name, member in self.members.items():
            if not isinstance(member, tuple) or len(member) != 3 or not isinstance(member[0], Element):
                raise ModelError(item, f"member {name!r}", member, "give an Element and the two places it is between")
        if not self.members:
            raise ModelError(item, "members", self.members, "give one or more")
        return list(self.members.values())

    def _check_member(self, item: str, name: str, element: Element, first: str, second: str) -> None:
        what = f"member {name!r}"
        for place in (first, second):
            if place not in self.ends and place not in self.nodes:
                known = ", ".join(map(repr, (*self.ends, *self.nodes)))
                raise ModelError(item, what, place, f"places are {known}")
        if first == second:
            raise ModelError(item, what, first, "give two different places")
        if element.program is None:
            raise ModelError(item, what, element.kind, "its law must be made of expressions, not a function")
        if len(element.each_measure) != 1 or element.at_hinge:
            raise ModelError(item, what, element.measure, "use elements that measure one distance, place or pose")
        kinds = {self.nodes[place][0] for place in (first, second) if place in self.nodes}
        if "line" in kinds and (element.measure != "distance" or not self._on_line(first) or not self._on_line(second)):
            raise ModelError(item, what, element.kind, "at a node on a line there are distances along it only")
        if element.measure == "pose" and "point" in kinds:
            raise ModelError(item, what, element.kind, "a point has no attitude: make the node a 'pose'")
        if element.measure == "place" and self.nodes.get(first, ("",))[0] == "point":
            raise ModelError(item, what, element.kind, "a point has no axes to measure in: turn the member around")

    def _on_line(self, place: str) -> bool:
        return place in self.ends[:2] or (place in self.nodes and self.nodes[place][0] == "line")

    def _moves(self, node: str) -> bool:
        """Return whether forces at a node depend on rates, so that its position is a state."""
        for element, first, second in self.members.values():
            if node in (first, second) and element.program is not None:
                m = element.measures
                used = inputs_of(element.program, element.program.outputs[:m])
                used |= inputs_of(element.program, element.program.outputs[element.gives :])
                if any(m < k <= 2 * m for k in used):
                    return True
        return False

    def only_points(self) -> bool:
        """Return whether attitudes of the ends play no part."""
        after = set(self.ends[1:])
        return all(e.measure == "distance" or (e.measure == "place" and a not in after) for e, a, _ in self._each(""))

    # ---- names

    def _coordinates(self, node: str) -> list[str]:
        return [f"{node}{axis}" for axis in _AXES[self.nodes[node][0]]]

    def all_parameters(self) -> dict[str, float]:
        """Return parameters by name, those of members with the member's name before them."""
        of_members = {f"{name}_{k}": x for name, (e, *_) in self.members.items() for k, x in e.parameters.items()}
        return {**self.parameters, **of_members}

    def inputs(self) -> dict[str, Any]:
        """Return inputs of members."""
        return {f"{name}_{k}": source for name, (e, *_) in self.members.items() for k, source in e.sources.items()}

    def states(self) -> dict[str, tuple[float, Any]]:
        """Return states of members, and positions of nodes that move at a rate of their own."""
        found: dict[str, tuple[float, Any]] = {}
        for name, (element, *_) in self.members.items():
            for k, state in enumerate(element.states):
                found[f"{name}_{state}"] = element.starts[state], self.result(f"rates of {name}", k)
        for node, (_, start) in self.nodes.items():
            if self._moves(node):
                values = start if isinstance(start, (tuple, list)) else (start,)
                for k, (coordinate, value) in enumerate(zip(self._coordinates(node), values, strict=True)):
                    found[coordinate] = float(value), self.result(f"rate of {node}", k)
        return found

    def unknowns(self) -> dict[str, tuple[Any, Any]]:
        """Return positions or rates of nodes, and unknowns of members."""
        found: dict[str, tuple[Any, Any]] = {}
        for node, (_, start) in self.nodes.items():
            values = start if isinstance(start, (tuple, list)) else (start,)
            for k, coordinate in enumerate(self._coordinates(node)):
                moves = self._moves(node)
                found[f"{coordinate}_rate" if moves else coordinate] = (
                    0.0 if moves else values[k],
                    self.result(f"balance of {node}", k),
                )
        for name, (element, *_) in self.members.items():
            for k, unknown in enumerate(element.unknowns):
                found[f"{name}_{unknown}"] = self.result(f"starts of {name}", k), self.result(f"residuals of {name}", k)
        return found

    def signals(self) -> dict[str, Any]:
        """Return signals of members, their forces, and positions of nodes."""
        found: dict[str, Any] = {}
        for name, (element, *_) in self.members.items():
            for k, signal in enumerate(element.signals):
                found[f"{name}_{signal}"] = self.result(f"signals of {name}", k)
            if element.measure == "distance":
                found[f"{name}_force"] = self.result(f"forces of {name}", 0)
        for node in self.nodes:
            if not self._moves(node):
                for k, coordinate in enumerate(self._coordinates(node)):
                    found[f"{coordinate}_at"] = self.result(f"place of {node}", k)
        return found

    # ---- the program

    def result(self, what: str, k: int) -> Formula:
        """Return a result of the compound as an expression."""
        return Formula(lambda program, names: self.build(program, names)[what][k])

    def build(self, program: Program, names: Mapping[str, int]) -> dict[str, list[int]]:
        """Return the places of all results in a program, which they are added to once."""
        if self._built is not None and self._built[0] is program:
            return self._built[1]
        results: dict[str, list[int]] = {}
        self._built = program, results
        on = Calculus(program)
        bodies = self._bodies(on, names)
        energies = [self._add_member(on, names, name, bodies, results) for name in self.members]
        for node, load in self.loads.items():
            self._add_load(on, names, node, load, bodies[node])
        for node, (kind, _) in self.nodes.items():
            self._balance(on, node, kind, bodies[node], results)
        results["energy"] = [on.total(energies)]
        results["force"] = []
        for k, end in enumerate(self.ends[1:]):
            body = bodies[end]
            if k == 0 and body.along:
                body.force.append(on.scaled(on.total(body.along), self._line(on, body)))
            results["force"] += on.sum(on.null, *body.force)
            if not self.only_points():
                results["force"] += on.sum(on.null, *body.moment)
        return results

    def _bodies(self, on: Calculus, names: Mapping[str, int]) -> dict[str, _Body]:
        zero = on.zero
        bodies = {self.ends[0]: _Body(on.null, on.unit, on.null, on.null, zero, zero)}
        for k, end in enumerate(self.ends[1:]):
            number = str(k + 1) if len(self.ends) > 2 else ""
            p, v = (_triple(names, letters, number) for letters in (("x", "y", "z"), ("vx", "vy", "vz")))
            body = _Body(p, on.unit, v, on.null)
            if not self.only_points():
                body.R = on.turn_by_vector(_triple(names, ("rx", "ry", "rz"), number))
                body.w = _triple(names, ("wx", "wy", "wz"), number)
            if k == 0 and any(kind == "line" for kind, _ in self.nodes.values()):
                body.s = on.program.emit("root", on.dot(p, p))
                body.rate = on.dot(self._line(on, body), v)
            bodies[end] = body
        for node, (kind, _) in self.nodes.items():
            bodies[node] = self._node(on, names, node, kind)
        return bodies

    def _line(self, on: Calculus, end: _Body) -> Vector:
        """Return the direction from the first end to the second."""
        return on.scaled(on.divide(on.one, end.s), end.p)

    def _node(self, on: Calculus, names: Mapping[str, int], node: str, kind: str) -> _Body:
        coordinates = self._coordinates(node)
        places = [names[c] for c in coordinates]
        zero = on.zero
        rates = [names[f"{c}_rate"] for c in coordinates] if self._moves(node) else [zero] * len(coordinates)
        if kind == "line":
            return _Body(on.null, on.unit, on.null, on.null, places[0], rates[0])
        body = _Body(_three(places), on.unit, _three(rates), on.null)
        if kind == "pose":
            body.R, body.w = on.turn_by_vector(_three(places[3:])), _three(rates[3:])
        return body

    def _add_member(
        self, on: Calculus, names: Mapping[str, int], name: str, bodies: dict[str, _Body], results: dict[str, list[int]]
    ) -> int:
        """Add the law of a member, put its loads on what it is between, and return the place of its energy."""
        element, first, second = self.members[name]
        A, B = bodies[first], bodies[second]
        in_line = any(self.nodes.get(place, ("",))[0] == "line" for place in (first, second))
        r = on.null if in_line else on.difference(B.p, A.p)
        if in_line:
            # from the first end towards the second, in the order in which nodes are named, or back
            order = [self.ends[0], *(node for node in self.nodes), self.ends[1]]
            ahead, behind = (B, A) if order.index(first) < order.index(second) else (A, B)
            measures, rates = [on.subtract(ahead.s, behind.s)], [on.subtract(ahead.rate, behind.rate)]
        else:
            measures, rates = self._measures(on, element.measure, A, B, r)
        outputs = self._law(on, names, name, [*measures, *rates])
        m, n, k, u = element.measures, len(element.states), len(element.signals), len(element.unknowns)
        results[f"forces of {name}"] = outputs[:m]
        results[f"rates of {name}"] = outputs[m : m + n]
        results[f"signals of {name}"] = outputs[m + n + 1 : m + n + 1 + k]
        rest = outputs[m + n + 1 + k :]
        results[f"residuals of {name}"], results[f"starts of {name}"] = rest[:u], rest[u + u**2 :]
        if in_line:
            ahead.along.append(outputs[0])
            behind.along.append(on.negate(outputs[0]))
        else:
            self._push(on, element.measure, A, B, r, measures[0], outputs)
        energy: int = outputs[m + n]
        return energy

    def _law(self, on: Calculus, names: Mapping[str, int], name: str, measured: list[int]) -> list[int]:
        """Return the places of what the law of a member gives."""
        element = self.members[name][0]
        own = (*element.states, *element.parameters, *element.sources, *element.unknowns)
        given = dict(enumerate([names["t"], *measured, *(names[f"{name}_{k}"] for k in own)]))
        return extracted(element.program, on.program, element.program.outputs, given)

    def _measures(self, on: Calculus, measure: str, A: _Body, B: _Body, r: Vector) -> tuple[list[int], list[int]]:
        """Return what a member measures of B seen from A, and the rates."""
        u = on.difference(B.v, A.v)
        if measure == "distance":
            length = on.program.emit("root", on.dot(r, r))
            return [length], [on.divide(on.dot(r, u), length)]
        back = transposed(A.R)
        measures = [*on.apply(back, r)]
        rates = [*on.apply(back, on.difference(u, on.cross(A.w, r)))]
        if measure == "pose":
            measures += on.vector_of_turn(on.product(back, B.R))
            rates += on.apply(back, on.difference(B.w, A.w))
        return measures, rates

    def _push(
        self, on: Calculus, measure: str, A: _Body, B: _Body, r: Vector, length: int, outputs: Sequence[int]
    ) -> None:
        """Put the loads of a member on B, and their opposite, at the same point, on A."""
        if measure == "distance":
            f = on.scaled(on.divide(outputs[0], length), r)
            B.force.append(f)
            A.force.append(on.opposite(f))
            return
        f = on.apply(A.R, _three(outputs))
        moment = on.apply(A.R, _three(outputs[3:])) if measure == "pose" else on.null
        B.force.append(f)
        B.moment.append(moment)
        A.force.append(on.opposite(f))
        A.moment.append(on.opposite(on.sum(moment, on.cross(r, f))))

    def _add_load(self, on: Calculus, names: Mapping[str, int], node: str, load: Any, body: _Body) -> None:
        parts = load if isinstance(load, (tuple, list)) else (load,)
        wanted = 1 if self.nodes[node][0] == "line" else 3
        if len(parts) != wanted:
            raise ModelError("Compound", f"load on node {node!r}", load, f"give {wanted}")
        places = [add_expression(on.program, part, names, {}, f"Compound: load on {node!r}") for part in parts]
        if wanted == 1:
            body.along.append(places[0])
        else:
            body.force.append(_three(places))

    def _balance(self, on: Calculus, node: str, kind: str, body: _Body, results: dict[str, list[int]]) -> None:
        """Add what must vanish at a node, its place and its rates."""
        if kind == "line":
            balance, place, rate = [on.total(body.along)], [body.s], [body.rate]
        else:
            balance, place, rate = [*on.sum(on.null, *body.force)], [*body.p], [*body.v]
        if kind == "pose":
            phi = on.vector_of_turn(body.R)
            balance += on.sum(on.null, *body.moment)
            place += phi
            rate += on.turning_rate(phi, body.w)
        results[f"balance of {node}"], results[f"place of {node}"], results[f"rate of {node}"] = balance, place, rate


def _triple(names: Mapping[str, int], letters: Sequence[str], number: str) -> Vector:
    return [names[f"{letter}{number}"] for letter in letters]


def _three(places: Sequence[int]) -> Vector:
    return list(places[:3])
