"""Symbolic loop constraint rows of the kernels, as functions of the relative pose, and their rates."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from ..connections.connection import Connection
from ..connections.constraints.couplings import Coupling
from ..connections.constraints.custom import CustomConstraint
from ..connections.constraints.geometric import (
    AxisAngle,
    Distance,
    KnifeEdge,
    Parallel,
    PointOnLine,
    PointOnPlane,
    PointOnPoint,
    RollingDisc,
    RollingSphere,
)
from ..connections.joints import Joint, Screw
from ..errors import ModelError
from ..numerics.rational_numbers import as_number
from .formulas import expressions_of
from .joints import constant
from .kinematics import Kinematics

__all__ = ["closure_rows"]

_ITEM = "symbolic_equations"


def closure_rows(k: Kinematics) -> tuple[Any, Any]:
    """Return residuals (nc, 1), zero for nonholonomic rows, and their rates (nc, 1), linear in the velocities."""
    residuals: list[Any] = []
    rates: list[Any] = []
    for loop_constraint in k.model.forest.loop_constraints:
        if isinstance(loop_constraint.element, (KnifeEdge, RollingSphere, RollingDisc)):
            found, rate = _rolling(k, loop_constraint)
        else:
            found = (
                _of_joint(k, loop_constraint)
                if isinstance(loop_constraint.element, Joint)
                else _of_constraint(k, loop_constraint)
            )
            rate = [k.rate(row) for row in found]
        residuals, rates = residuals + found, rates + rate
    for coupling in k.model.forest.couplings:
        row = _of_coupling(k, coupling)
        residuals, rates = [*residuals, row], [*rates, k.rate(row)]
    if len(residuals) != k.model.nc:
        known = {name.rpartition(".")[0] for name in k.model.constraint_names}
        raise ModelError(_ITEM, "rows", sorted(known), "some of these connections have no symbolic rows")
    return sp.Matrix(len(residuals), 1, residuals), sp.Matrix(len(rates), 1, rates)


def _of_joint(k: Kinematics, loop_constraint: Connection) -> list[Any]:
    joint = loop_constraint.element
    assert isinstance(joint, Joint)
    if not joint.kernel:
        raise ModelError(
            _ITEM,
            f"joint {loop_constraint.name!r}",
            joint.kind,
            "it is a cut joint given by formulas: cut the loop elsewhere",
        )
    if joint.can_stick:
        raise ModelError(
            _ITEM, f"joint {loop_constraint.name!r}", "stops or friction", "it is a cut joint: cut the loop elsewhere"
        )
    F = constant(joint.frame())
    R, p, _, _ = k.relative(loop_constraint.first, loop_constraint.second, F, F)
    return [_row(name, R, p, joint) for name in joint.rows]


def _row(name: str, R: Any, p: Any, joint: Joint) -> Any:
    if name in ("x", "y", "z"):
        return p["xyz".index(name)]
    if name in ("rx", "ry", "rz"):  # twice the vector part of the quaternion
        i = "xyz".index(name[1])
        j, m = (i + 1) % 3, (i + 2) % 3
        return (R[m, j] - R[j, m]) / sp.sqrt(1 + R.trace())
    if name == "advance":
        assert isinstance(joint, Screw)
        angle = sp.atan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
        return p[2] - as_number(joint.pitch / (2 * math.pi)) * angle
    return {"tilt_x": R[0, 2], "tilt_y": R[1, 2], "skew": R[0, 1]}[name]


def _of_constraint(k: Kinematics, loop_constraint: Connection) -> list[Any]:
    element: Any = loop_constraint.element
    A, B = (constant(axes) for axes in element.frames())
    R, p, _, _ = k.relative(loop_constraint.first, loop_constraint.second, A, B)
    number = k.numbers
    if isinstance(element, Distance):
        return [sp.sqrt(k.tidy(p.dot(p))) - number(f"{loop_constraint.name}.length", element.length)]
    if isinstance(element, PointOnPoint):
        return list(p)
    if isinstance(element, PointOnLine):
        return [p[0], p[1]]
    if isinstance(element, PointOnPlane):
        return [p[2]]
    if isinstance(element, Parallel):
        return [R[0, 2], R[1, 2]]
    if isinstance(element, AxisAngle) and element.about is not None:
        return [sp.atan2(R[1, 1], R[0, 1]) - number(f"{loop_constraint.name}.angle", element.angle)]
    if isinstance(element, AxisAngle):
        return [R[0, 1] - as_number(element.parameter)]
    if isinstance(element, CustomConstraint):
        given = [*p, *R, sp.Symbol("t", real=True)]
        found = expressions_of(element.programs[0], given, f"constraint {loop_constraint.name!r}")
        return found[: len(element.rows)]
    raise ModelError(_ITEM, f"constraint {loop_constraint.name!r}", element.kind, "it has no symbolic rows")


def _rolling(k: Kinematics, loop_constraint: Connection) -> tuple[list[Any], list[Any]]:
    """Return residuals and rates of nonholonomic rows."""
    element: Any = loop_constraint.element
    A, B = (constant(axes) for axes in element.frames())
    R, p, w, v = k.relative(loop_constraint.first, loop_constraint.second, A, B)
    if isinstance(element, KnifeEdge):
        return [sp.S.Zero], [k.tidy(R[:, 1].dot(v))]
    radius = k.numbers(f"{loop_constraint.name}.radius", element.radius, positive=True)
    if isinstance(element, RollingSphere):
        arm, height = sp.Matrix([0, 0, -radius]), p[2] - radius
    else:
        n = R[:, 2]
        c = n[2]
        s = sp.sqrt(1 - c**2)
        arm, height = -radius / s * (sp.Matrix([0, 0, 1]) - c * n), p[2] - radius * s
    return [sp.S.Zero, sp.S.Zero, height], list(v + w.cross(arm))


def _of_coupling(k: Kinematics, coupling: Any) -> Any:
    element = coupling.element
    if not isinstance(element, Coupling):
        raise ModelError(_ITEM, f"coupling {coupling.name!r}", type(element).__name__, "it has no symbolic row")
    ends = []
    for joint, part in coupling.joint_coordinates:
        if joint.name not in k.model.joint_names:
            raise ModelError(
                _ITEM, f"coupling {coupling.name!r}", joint.name, "it is a cut joint: cut the loop elsewhere"
            )
        ends.append(k.q[k.model.q_slice(joint.name).start + part])
    ratio = k.numbers(f"{coupling.name}.ratio", element.ratio)
    return ends[1] - ratio * ends[0] - k.numbers(f"{coupling.name}.offset", element.offset)
