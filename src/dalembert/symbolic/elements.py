"""Symbolic generalized forces of elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..connections.connection import Connection
from ..connections.elements.built_in import Effort, ForceConnection, JointSpring, Limits, Load, SpringDamper
from ..connections.elements.element import Element
from ..connections.joints import Joint
from ..connections.laws import Constant
from ..errors import ModelError
from ..numerics.rational_numbers import as_number
from .formulas import expressions_of
from .kinematics import Kinematics
from .symbols import plain_symbol

__all__ = ["Forces"]

_ITEM = "symbolic_equations"


@dataclass(eq=False)
class Forces:
    """Generalized forces (nv, 1) of elements and joints, with element states and their rates."""

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
        for joint in k.model.forest.joints:
            self._add_joint(joint.name, joint.element)
        for loop_constraint in k.model.forest.loop_constraints:
            rubs = isinstance(loop_constraint.element, Joint) and (
                loop_constraint.element.damping is not None or loop_constraint.element.has_dry_friction
            )
            if rubs:
                raise ModelError(
                    _ITEM,
                    f"joint {loop_constraint.name!r}",
                    "damping or friction",
                    "it is a cut joint: cut the loop elsewhere",
                )

    def _add_joint(self, name: str, joint: Joint) -> None:
        """Add damping and dry friction of a joint."""
        k, span = self.kinematics, self.kinematics.model.v_slice(name)
        if joint.load_friction is not None or (joint.has_dry_friction and joint.has_vector_friction):
            raise ModelError(
                _ITEM, f"joint {name!r}", "friction", "load-dependent friction has no symbolic form: remove it"
            )
        for part, place in enumerate(range(span.start, span.stop)):
            speed = k.model.speed_names[place]
            if joint.damping is not None:
                self.total[place] -= k.numbers(f"{speed}.damping", float(joint.damping[part])) * k.v[place]
            if joint.has_dry_friction and joint.friction is not None:
                self.total[place] -= k.numbers(f"{speed}.friction", float(joint.friction[part])) * sp.sign(k.v[place])

    def _add(self, connection: ForceConnection) -> None:
        name, element = connection.name, connection.element
        if isinstance(element, SpringDamper):
            s, ds = self._distance(connection)
            stiffness, damping, length = (
                self._number(name, label, getattr(element, label)) for label in element.fields
            )
            self._push(ds, -stiffness * (s - length) - damping * ds)
        elif isinstance(element, (JointSpring, Limits)):
            self._at_joint(connection, self._plain_law(name, element, *self._coordinate(connection, 0)))
        elif isinstance(element, Effort):
            self._at_joint(connection, self._given(f"{name}.effort", element.law))
        elif isinstance(element, Load):
            self._load(connection, element)
        elif isinstance(element, Element):
            self._by_formula(connection, element)
        else:
            raise ModelError(_ITEM, f"element {name!r}", element.kind, "it has no symbolic form")

    # ---- laws

    def _number(self, name: str, label: str, value: float) -> Any:
        return self.kinematics.numbers(f"{name}.{label}", float(value))

    def _plain_law(self, name: str, element: JointSpring | Limits, s: Any, ds: Any) -> Any:
        numbers = [self._number(name, label, getattr(element, label)) for label in element.fields]
        if isinstance(element, JointSpring):
            stiffness, damping, rest = numbers
            return -stiffness * (s - rest) - damping * ds
        lower, upper, stiffness, damping = numbers
        below = sp.Max(0, stiffness * (lower - s) - damping * ds)
        above = sp.Max(0, stiffness * (s - upper) + damping * ds)
        parts = [(below, s < lower)] if lower != -sp.oo else []
        parts += [(-above, s > upper)] if upper != sp.oo else []
        return sp.Piecewise(*parts, (0, True))

    def _given(self, name: str, law: Any) -> Any:
        """Return a constant, or a symbol for the value of a time law."""
        if isinstance(law, Constant):
            return as_number(law(0.0)[0])
        return self.inputs.setdefault(name, plain_symbol(name))

    def _by_formula(self, connection: ForceConnection, element: Element) -> None:
        name = connection.name
        if element.program is None or element.unknowns:
            what = "unknowns" if element.unknowns else "a function"
            raise ModelError(_ITEM, f"element {name!r}", what, "only laws given by formulas have a symbolic form")
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
            if measure == "joint":
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
                    _ITEM, f"element {connection.name!r}", measure, "rotation vectors have no symbolic form"
                )
        return measures, rates

    # ---- measures and forces

    def _coordinate(self, connection: ForceConnection, number: int) -> tuple[Any, Any]:
        k = self.kinematics
        joint, part = connection.joint_coordinates[number]
        self._check_cut(connection, joint)
        if joint.element.nq != joint.element.nv:  # type: ignore[union-attr]
            raise ModelError(
                _ITEM, f"element {connection.name!r}", joint.name, "a ball joint has no coordinate to measure"
            )
        return k.q[k.model.q_slice(joint.name).start + part], k.v[k.model.v_slice(joint.name).start + part]

    def _check_cut(self, connection: ForceConnection, joint: Connection) -> None:
        if joint.name not in self.kinematics.model.joint_names:
            remedy = "it is a cut joint, whose coordinate is no symbol: cut the loop elsewhere"
            raise ModelError(_ITEM, f"element {connection.name!r}", joint.name, remedy)

    def _at_joint(self, connection: ForceConnection, effort: Any) -> None:
        joint, part = connection.joint_coordinates[0]
        self._check_cut(connection, joint)
        self.total[self.kinematics.model.v_slice(joint.name).start + part] += effort

    def _distance(self, connection: ForceConnection, number: int = 0) -> tuple[Any, Any]:
        """Return the distance of two markers, and its rate."""
        k = self.kinematics
        first, second = connection.ends[0], connection.ends[number + 1]
        d = k.tidy(k.pose(second)[1] - k.pose(first)[1])
        square = k.tidy(d.dot(d))
        length = sp.sqrt(square)
        return length, k.tidy(k.rate(square)) / (2 * length)

    def _push(self, rate: Any, force: Any) -> None:
        """Add a force with the power force * rate."""
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
