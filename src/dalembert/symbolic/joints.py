"""Symbolic relative motion of joints: elementary rotations and translations, quaternions, user formulas.

For each joint: C and c, the pose of the second marker in the first; w and u, its angular velocity and velocity, in axes
of the first and of the second marker, where they may be simpler; and q' as a function of the velocities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ..connections import joints
from ..connections.joints import Joint
from ..errors import ModelError
from ..numerics.rational_numbers import as_number
from .formulas import expressions_of

__all__ = ["JointMotion", "constant", "joint_motion", "rotation_about"]


class JointMotion(NamedTuple):
    """C (3, 3), c, w, u (3,), the rates of the coordinates (nq,); w and u in axes of the second marker."""

    C: Any
    c: Any
    w: Any
    u: Any
    rates: list[Any]
    outer_w: Any
    outer_u: Any


def constant(values: Any) -> Any:
    """Return a matrix of numbers."""
    array = np.atleast_2d(np.asarray(values, dtype=float))
    if np.ndim(values) == 1:
        array = array.T
    return sp.Matrix([[as_number(x) for x in row] for row in array])


def rotation_about(axis: Any, angle: Any) -> Any:
    """Return the rotation by an angle about a numeric unit axis."""
    n = constant(axis)
    K = _skew(n)
    return sp.eye(3) + sp.sin(angle) * K + (1 - sp.cos(angle)) * K * K


def _skew(n: Any) -> Any:
    return sp.Matrix([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])


def _quaternion(e: list[Any]) -> Any:
    w, x, y, z = e
    return sp.Matrix(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion_rates(e: list[Any], w: Any) -> list[Any]:
    """Return the quaternion rates e o (0, w) / 2."""
    s, v = e[0], sp.Matrix(e[1:])
    half = sp.Rational(1, 2)
    turned = half * (s * w + v.cross(w))
    return [-half * v.dot(w), *turned]


ZERO_VECTOR = sp.zeros(3, 1)


def _fixed(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    return JointMotion(sp.eye(3), ZERO_VECTOR, ZERO_VECTOR, ZERO_VECTOR, [], ZERO_VECTOR, ZERO_VECTOR)


def _revolute(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    w = v[0] * constant(joint.axis)
    return JointMotion(rotation_about(joint.axis, q[0]), ZERO_VECTOR, w, ZERO_VECTOR, v, w, ZERO_VECTOR)


def _prismatic(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    axis = constant(joint.axis)
    return JointMotion(sp.eye(3), q[0] * axis, ZERO_VECTOR, v[0] * axis, v, ZERO_VECTOR, v[0] * axis)


def _cylindrical(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    axis = constant(joint.axis)
    w, u = v[0] * axis, v[1] * axis
    return JointMotion(rotation_about(joint.axis, q[0]), q[1] * axis, w, u, v, w, u)


def _screw(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    axis, lead = constant(joint.axis), as_number(joint.pitch / (2 * math.pi))
    w, u = v[0] * axis, lead * v[0] * axis
    return JointMotion(rotation_about(joint.axis, q[0]), lead * q[0] * axis, w, u, v, w, u)


def _planar(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    axes = constant(joint.frame())
    x, y, n = axes[:, 0], axes[:, 1], axes[:, 2]
    C, w, u = rotation_about(joint.normal, q[2]), v[2] * n, v[0] * x + v[1] * y
    return JointMotion(C, q[0] * x + q[1] * y, w, u, v, w, C.T * u)


def _universal(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    first = rotation_about(joint.axis_1, q[0])
    second = rotation_about(joint.axis_2, q[1])
    w = v[0] * constant(joint.axis_1) + v[1] * (first * constant(joint.axis_2))
    outer = v[0] * (second.T * constant(joint.axis_1)) + v[1] * constant(joint.axis_2)
    return JointMotion(first * second, ZERO_VECTOR, w, ZERO_VECTOR, v, outer, ZERO_VECTOR)


def _spherical(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    C, w = _quaternion(q), sp.Matrix(v)
    return JointMotion(C, ZERO_VECTOR, C * w, ZERO_VECTOR, _quaternion_rates(q, w), w, ZERO_VECTOR)


def _free(joint: Any, q: list[Any], v: list[Any]) -> JointMotion:
    C, w, u = _quaternion(q[:4]), sp.Matrix(v[:3]), sp.Matrix(v[3:])
    slide = C * u
    return JointMotion(C, sp.Matrix(q[4:]), C * w, slide, [*_quaternion_rates(q[:4], w), *slide], w, u)


_KNOWN: dict[type[Joint], Callable[[Any, list[Any], list[Any]], JointMotion]] = {
    joints.Fixed: _fixed,
    joints.Revolute: _revolute,
    joints.Prismatic: _prismatic,
    joints.Cylindrical: _cylindrical,
    joints.Screw: _screw,
    joints.Planar: _planar,
    joints.Universal: _universal,
    joints.Spherical: _spherical,
    joints.Free: _free,
}


def joint_motion(name: str, joint: Joint, q: list[Any], v: list[Any]) -> JointMotion:
    """Return the motion of a joint for symbols of its coordinates and velocities."""
    if type(joint) in _KNOWN:
        return _KNOWN[type(joint)](joint, q, v)
    if getattr(joint, "clock", None) is not None:
        raise ModelError(
            "symbolic_equations", f"joint {name!r}", joint.kind, "its formulas depend on time, which is not supported"
        )
    if joint.nq != joint.nv:
        raise ModelError(
            "symbolic_equations", f"joint {name!r}", joint.kind, "its velocities are no rates of coordinates"
        )
    found = expressions_of(joint.programs[0].pose, [*q, *v], f"joint {name!r}")
    c, C = sp.Matrix(found[:3]), sp.Matrix(3, 3, found[3:12])
    w, u = ZERO_VECTOR, ZERO_VECTOR  # in axes of the second marker
    for k, speed in enumerate(v):
        column = found[12 + 6 * k : 18 + 6 * k]
        w, u = w + speed * sp.Matrix(column[:3]), u + speed * sp.Matrix(column[3:])
    return JointMotion(C, c, C * w, C * u, v, w, u)
