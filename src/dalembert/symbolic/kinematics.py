"""Symbolic kinematics of bodies and markers, outward along the trees, in axes of each body."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from ..bodies.markers import Marker
from ..errors import ModelError
from ..model import Model
from .joints import ZERO_VECTOR, constant, joint_motion
from .simplification import Simplifier
from .symbols import Numbers, plain_symbol

__all__ = ["BodyMotion", "Kinematics"]


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of a body frame: pose R, p in the world; w, v of its origin, in its own axes."""

    R: Any
    p: Any
    w: Any
    v: Any


@dataclass(eq=False)
class Kinematics:
    """Symbols of coordinates and velocities, and the motion of all bodies of a model."""

    model: Model
    numbers: Numbers
    q: list[Any] = field(default_factory=list)
    v: list[Any] = field(default_factory=list)
    rates: list[Any] = field(default_factory=list)
    bodies: dict[str, BodyMotion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        model = self.model
        if model.flexible_names:
            remedy = "flexible bodies have no symbolic equations: remove them"
            raise ModelError("symbolic_equations", "body", model.flexible_names[0], remedy)
        self.q = [plain_symbol(name) for name in model.coordinate_names]
        self.v = [plain_symbol(f"{name}_dot" if name in model.coordinate_names else name) for name in model.speed_names]
        self.rates = [sp.S.Zero] * model.nq
        self.tidy = Simplifier.of(model, self.q)
        eye = sp.eye(3)
        self.bodies[model.system.ground.name] = BodyMotion(eye, ZERO_VECTOR, ZERO_VECTOR, ZERO_VECTOR)
        for joint in model.forest.joints:
            self._go_out(joint)

    def _go_out(self, joint: Any) -> None:
        model, tidy = self.model, self.tidy
        places, speeds = model.q_slice(joint.name), model.v_slice(joint.name)
        motion = joint_motion(joint.name, joint.element, self.q[places], self.v[speeds])
        self.rates[places] = motion.rates
        C, c, w, u = motion.C, motion.c, motion.outer_w, motion.outer_u  # w and u in axes of the outboard marker
        if joint.reversed:  # pose and motion of the first marker seen from the second
            C, c, w, u = C.T, -(C.T * c), -motion.w, motion.w.cross(c) - motion.u
        parent = self.bodies[joint.inboard.body.name]
        at, axes = self.place(joint.inboard), constant(joint.inboard.rotation)
        own, turned = self.place(joint.outboard), constant(joint.outboard.rotation)
        R = tidy(axes * C * turned.T)  # of the body in its parent
        reach = at + axes * c
        spin = tidy(R.T * parent.w + turned * w)
        v = tidy(R.T * (parent.v + parent.w.cross(reach)) + turned * u - spin.cross(own))
        p = tidy(parent.p + parent.R * (reach - R * own))
        self.bodies[joint.outboard.body.name] = BodyMotion(tidy(parent.R * R), p, spin, v)

    def place(self, marker: Marker) -> Any:
        """Return the position of a marker on its body."""
        name = self._name(marker)
        return self.numbers.vector(name, marker.position)

    def _name(self, marker: Marker) -> str:
        """Return the name prefix of the parameters of a marker: its own, or that of its connection."""
        if marker.label is not None:
            return marker.name
        described: dict[str, Any] = {**self.model.system.connections, **self.model.system.forces}
        for name, connection in described.items():
            ends = getattr(connection, "ends", ()) or (connection.first, connection.second)
            for label, end in zip(("first", "second", "third", "fourth"), ends, strict=False):
                if end is marker:
                    return f"{name}.{label}"
        return f"{marker.body.name}.place"

    @cached_property
    def plan(self) -> dict[Any, Any]:
        """Rates of the coordinates by coordinate."""
        return dict(zip(self.q, self.rates, strict=True))

    def rate(self, expression: Any) -> Any:
        """Return the rate of an expression or matrix at constant velocities."""
        if isinstance(expression, sp.MatrixBase):
            return expression.applyfunc(self.rate)
        free = expression.free_symbols
        return sum((sp.diff(expression, q) * rate for q, rate in self.plan.items() if q in free), sp.S.Zero)

    def by_speeds(self, rates: Any) -> Any:
        """Return the Jacobian by the velocities of expressions (k, 1) linear in them."""
        rows = list(rates)
        return sp.Matrix(len(rows), len(self.v), lambda i, j: sp.diff(rows[i], self.v[j]))

    def pose(self, marker: Marker) -> tuple[Any, Any]:
        """Return orientation and position of a marker in the world."""
        body = self.bodies[marker.body.name]
        return body.R * constant(marker.rotation), body.p + body.R * self.place(marker)

    def velocity(self, marker: Marker) -> tuple[Any, Any]:
        """Return angular velocity of a marker and velocity of its origin, world axes."""
        body = self.bodies[marker.body.name]
        return body.R * body.w, body.R * (body.v + body.w.cross(self.place(marker)))

    def relative(self, first: Marker, second: Marker, A: Any = None, B: Any = None) -> tuple[Any, Any, Any, Any]:
        """Return R, p of the second marker in the first, and w, v: angular velocity and p', in axes of the first.

        A, B : axes (3, 3) that replace those of the markers
        """
        (R1, p1), (R2, p2) = self.pose(first), self.pose(second)
        R1, R2 = R1 * (sp.eye(3) if A is None else A), R2 * (sp.eye(3) if B is None else B)
        (w1, v1), (w2, v2) = self.velocity(first), self.velocity(second)
        d = p2 - p1
        tidy = self.tidy
        return (
            tidy(R1.T * R2),
            tidy(R1.T * d),
            tidy(R1.T * (w2 - w1)),
            tidy(R1.T * (v2 - v1 - w1.cross(d))),
        )
