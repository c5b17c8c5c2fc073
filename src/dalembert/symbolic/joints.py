"""Relative motion of hinges in symbols: poses as turns and slides one after another, quaternions, formulas of users.

Of each hinge: C and c, the pose of the second marker in the first; w and u, its angular velocity and velocity, in axes
of the first marker and again in those of the second, where they may be simpler; and q' as a function of the speeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ..connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from ..errors import ModelError
from .formulas import expressions_of
from .symbols import as_number

__all__ = ["HingeMotion", "constant", "hinge_motion", "rotation_about"]


class HingeMotion(NamedTuple):
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
    """Return the rotation by an angle about a unit axis of numbers."""
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
    """Return e o (0, w) / 2."""
    s, v = e[0], sp.Matrix(e[1:])
    half = sp.Rational(1, 2)
    turned = half * (s * w + v.cross(w))
    return [-half * v.dot(w), *turned]


ZERO = sp.zeros(3, 1)


def _fixed(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    return HingeMotion(sp.eye(3), ZERO, ZERO, ZERO, [], ZERO, ZERO)


def _revolute(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    w = v[0] * constant(hinge.axis)
    return HingeMotion(rotation_about(hinge.axis, q[0]), ZERO, w, ZERO, v, w, ZERO)


def _prismatic(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    axis = constant(hinge.axis)
    return HingeMotion(sp.eye(3), q[0] * axis, ZERO, v[0] * axis, v, ZERO, v[0] * axis)


def _cylindrical(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    axis = constant(hinge.axis)
    w, u = v[0] * axis, v[1] * axis
    return HingeMotion(rotation_about(hinge.axis, q[0]), q[1] * axis, w, u, v, w, u)


def _screw(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    axis, lead = constant(hinge.axis), as_number(hinge.pitch / (2 * math.pi))
    w, u = v[0] * axis, lead * v[0] * axis
    return HingeMotion(rotation_about(hinge.axis, q[0]), lead * q[0] * axis, w, u, v, w, u)


def _planar(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    axes = constant(hinge.frame())
    x, y, n = axes[:, 0], axes[:, 1], axes[:, 2]
    C, w, u = rotation_about(hinge.normal, q[2]), v[2] * n, v[0] * x + v[1] * y
    return HingeMotion(C, q[0] * x + q[1] * y, w, u, v, w, C.T * u)


def _universal(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    first = rotation_about(hinge.axis_1, q[0])
    second = rotation_about(hinge.axis_2, q[1])
    w = v[0] * constant(hinge.axis_1) + v[1] * (first * constant(hinge.axis_2))
    outer = v[0] * (second.T * constant(hinge.axis_1)) + v[1] * constant(hinge.axis_2)
    return HingeMotion(first * second, ZERO, w, ZERO, v, outer, ZERO)


def _spherical(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    C, w = _quaternion(q), sp.Matrix(v)
    return HingeMotion(C, ZERO, C * w, ZERO, _quaternion_rates(q, w), w, ZERO)


def _free(hinge: Any, q: list[Any], v: list[Any]) -> HingeMotion:
    C, w, u = _quaternion(q[:4]), sp.Matrix(v[:3]), sp.Matrix(v[3:])
    slide = C * u
    return HingeMotion(C, sp.Matrix(q[4:]), C * w, slide, [*_quaternion_rates(q[:4], w), *slide], w, u)


_KNOWN: dict[type[Hinge], Callable[[Any, list[Any], list[Any]], HingeMotion]] = {
    Fixed: _fixed,
    Revolute: _revolute,
    Prismatic: _prismatic,
    Cylindrical: _cylindrical,
    Screw: _screw,
    Planar: _planar,
    Universal: _universal,
    Spherical: _spherical,
    Free: _free,
}


def hinge_motion(name: str, hinge: Hinge, q: list[Any], v: list[Any]) -> HingeMotion:
    """Return the motion of a hinge for symbols of its coordinates and speeds."""
    if type(hinge) in _KNOWN:
        return _KNOWN[type(hinge)](hinge, q, v)
    if getattr(hinge, "clock", None) is not None:
        raise ModelError("symbolic_equations", f"hinge {name!r}", hinge.kind, "its formulas have time in them")
    if hinge.nq != hinge.nv:
        raise ModelError("symbolic_equations", f"hinge {name!r}", hinge.kind, "its speeds are no rates of coordinates")
    found = expressions_of(hinge.programs[0].pose, [*q, *v], f"hinge {name!r}")
    c, C = sp.Matrix(found[:3]), sp.Matrix(3, 3, found[3:12])
    w, u = ZERO, ZERO  # in axes of the second marker
    for k, speed in enumerate(v):
        column = found[12 + 6 * k : 18 + 6 * k]
        w, u = w + speed * sp.Matrix(column[:3]), u + speed * sp.Matrix(column[3:])
    return HingeMotion(C, c, C * w, C * u, v, w, u)
