"""Generalised forces of elements in symbols."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..connections.connection import Connection
from ..connections.elements.built_in import Effort, ForceConnection, HingeSpring, Limits, Load, SpringDamper
from ..connections.elements.element import Element
from ..connections.joints import Hinge
from ..connections.laws import Constant
from ..errors import ModelError
from .formulas import expressions_of
from .kinematics import Kinematics
from .symbols import as_number, plain_symbol

__all__ = ["Forces"]

_ITEM = "symbolic_equations"


@dataclass(eq=False)
class Forces:
    """Generalised forces (nv, 1) of all elements and of what acts in hinges; states of elements and their rates."""

    kinematics: Kinematics
    total: Any = None
    t: Any = None
    inputs: dict[str, Any] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)
    state_rates: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k = self.kinematics
        self.total, self.t = sp.zeros(len(k.v), 1), sp.Symbol("t", real=True)
        for connection in k.model.system.forces.values():
            self._add(connection)
        for hinge in k.model.forest.hinges:
            self._add_hinge(hinge.name, hinge.element)
        for chord in k.model.forest.chords:
            rubs = isinstance(chord.element, Hinge) and (chord.element.damping is not None or chord.element.rubs)
            if rubs:
                raise ModelError(
                    _ITEM, f"hinge {chord.name!r}", "damping or friction", "a loop is cut there: cut elsewhere"
                )

    def _add_hinge(self, name: str, hinge: Hinge) -> None:
        """Add damping and dry friction of a hinge."""
        k, span = self.kinematics, self.kinematics.model.v_slice(name)
        if hinge.load_friction is not None or (hinge.rubs and hinge.rubs_together):
            raise ModelError(_ITEM, f"hinge {name!r}", "friction", "friction by load has no formula here: leave it out")
        for part, place in enumerate(range(span.start, span.stop)):
            speed = k.model.speed_names[place]
            if hinge.damping is not None:
                self.total[place] -= k.numbers(f"{speed}.damping", float(hinge.damping[part])) * k.v[place]
            if hinge.rubs and hinge.friction is not None:
                self.total[place] -= k.numbers(f"{speed}.friction", float(hinge.friction[part])) * sp.sign(k.v[place])

    def _add(self, connection: ForceConnection) -> None:
        name, element = connection.name, connection.element
        if isinstance(element, SpringDamper):
            s, ds = self._distance(connection)
            stiffness, damping, length = (
                self._number(name, label, getattr(element, label)) for label in element.fields
            )
            self._push(ds, -stiffness * (s - length) - damping * ds)
        elif isinstance(element, (HingeSpring, Limits)):
            self._at_hinge(connection, self._plain_law(name, element, *self._coordinate(connection, 0)))
        elif isinstance(element, Effort):
            self._at_hinge(connection, self._given(f"{name}.effort", element.law))
        elif isinstance(element, Load):
            self._load(connection, element)
        elif isinstance(element, Element):
            self._by_formula(connection, element)
        else:
            raise ModelError(_ITEM, f"element {name!r}", element.kind, "it has no formula in symbols")

    # ---- laws

    def _number(self, name: str, label: str, value: float) -> Any:
        return self.kinematics.numbers(f"{name}.{label}", float(value))

    def _plain_law(self, name: str, element: HingeSpring | Limits, s: Any, ds: Any) -> Any:
        numbers = [self._number(name, label, getattr(element, label)) for label in element.fields]
        if isinstance(element, HingeSpring):
            stiffness, damping, rest = numbers
            return -stiffness * (s - rest) - damping * ds
        lower, upper, stiffness, damping = numbers
        below = sp.Max(0, stiffness * (lower - s) - damping * ds)
        above = sp.Max(0, stiffness * (s - upper) + damping * ds)
        parts = [(below, s < lower)] if lower != -sp.oo else []
        parts += [(-above, s > upper)] if upper != sp.oo else []
        return sp.Piecewise(*parts, (0, True))

    def _given(self, name: str, law: Any) -> Any:
        """Return a constant, or a symbol for what a law of time gives."""
        if isinstance(law, Constant):
            return as_number(law(0.0)[0])
        return self.inputs.setdefault(name, plain_symbol(name))

    def _by_formula(self, connection: ForceConnection, element: Element) -> None:
        name = connection.name
        if element.program is None or element.unknowns:
            what = "unknowns" if element.unknowns else "a function"
            raise ModelError(_ITEM, f"element {name!r}", what, "only laws that are formulas have symbols")
        measures, rates = self._measured(connection, element)
        states = [
            self.states.setdefault(f"{name}.{state}", plain_symbol(f"{name}.{state}")) for state in element.states
        ]
        numbers = [self._number(name, label, value) for label, value in element.parameters.items()]
        further = [
            self.inputs.setdefault(f"{name}.{label}", plain_symbol(f"{name}.{label}")) for label in element.sources
        ]
        given = [self.t, *measures, *rates, *states, *numbers, *further]
        found = expressions_of(element.program, given, f"element {name!r}")
        for rate, force in zip(rates, found[: len(rates)], strict=True):
            self._push(rate, force)
        for state, rate in zip(element.states, found[len(rates) :], strict=False):
            self.state_rates[f"{name}.{state}"] = rate

    def _measured(self, connection: ForceConnection, element: Element) -> tuple[list[Any], list[Any]]:
        measures: list[Any] = []
        rates: list[Any] = []
        for number, measure in enumerate(element.each_measure):
            if measure == "hinge":
                s, ds = self._coordinate(connection, number)
                measures, rates = [*measures, s], [*rates, ds]
            elif measure == "distance":
                s, ds = self._distance(connection, number)
                measures, rates = [*measures, s], [*rates, ds]
            elif measure == "place":
                _, p, _, v = self.kinematics.relative(connection.ends[0], connection.ends[number + 1])
                measures, rates = [*measures, *p], [*rates, *v]
            else:
                raise ModelError(
                    _ITEM, f"element {connection.name!r}", measure, "rotation vectors have no symbols here"
                )
        return measures, rates

    # ---- what is measured, what is pushed

    def _coordinate(self, connection: ForceConnection, number: int) -> tuple[Any, Any]:
        k = self.kinematics
        hinge, part = connection.places[number]
        self._mind_cut(connection, hinge)
        if hinge.element.nq != hinge.element.nv:  # type: ignore[union-attr]
            raise ModelError(
                _ITEM, f"element {connection.name!r}", hinge.name, "a ball joint has no coordinate to measure"
            )
        return k.q[k.model.q_slice(hinge.name).start + part], k.v[k.model.v_slice(hinge.name).start + part]

    def _mind_cut(self, connection: ForceConnection, hinge: Connection) -> None:
        if hinge.name not in self.kinematics.model.hinge_names:
            remedy = "a loop is cut there, and its coordinate is no symbol: cut elsewhere"
            raise ModelError(_ITEM, f"element {connection.name!r}", hinge.name, remedy)

    def _at_hinge(self, connection: ForceConnection, effort: Any) -> None:
        hinge, part = connection.places[0]
        self._mind_cut(connection, hinge)
        self.total[self.kinematics.model.v_slice(hinge.name).start + part] += effort

    def _distance(self, connection: ForceConnection, number: int = 0) -> tuple[Any, Any]:
        """Return the distance of two markers, and its rate."""
        k = self.kinematics
        first, second = connection.ends[0], connection.ends[number + 1]
        d = k.tidy(k.pose(second)[1] - k.pose(first)[1])
        square = k.tidy(d.dot(d))
        length = sp.sqrt(square)
        return length, k.tidy(k.rate(square)) / (2 * length)

    def _push(self, rate: Any, force: Any) -> None:
        """Add a force that does the work force * rate."""
        self.total += force * self.kinematics.by_speeds([rate]).T

    def _load(self, connection: ForceConnection, element: Load) -> None:
        k, marker = self.kinematics, connection.ends[0]
        w, v = k.velocity(marker)
        R = k.pose(marker)[0] if element.axes == "body" else sp.eye(3)
        for label, rate in (("force", v), ("moment", w)):
            laws = getattr(element, label)
            names = [f"{connection.name}.{'f' if label == 'force' else 'm'}{axis}" for axis in "xyz"]
            given = R * sp.Matrix([self._given(n, law) for n, law in zip(names, laws, strict=True)])
            self.total += k.by_speeds(rate).T * given
