"""Planar systems: requirements on joints and bodies, and planar loop constraints.

Let n be the normal of the plane. It is a constant direction in every body, because bodies rotate only about it. A joint
moves in the plane if, with n in axes of its first marker,

    omega = n (n . omega),    n . v = 0      for all of its motions                                               (1)

Relations in the plane have three coordinates instead of six (Sol 1983, section 9.1). Ungrounded parts get a `Planar`
joint instead of a free one, and a cut joint has 3 - f rows instead of 6 - f: displacements in the plane and the
rotation about its normal. The omitted rows are redundant in space (a four-bar of pins has three of them), or determine
the height of a body above the plane, which is irrelevant here.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..bodies.markers import Marker
from ..checks import set_fields
from ..connections.connection import Connection
from ..connections.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from ..errors import ModelError

if TYPE_CHECKING:
    from .system import System

__all__ = ["PlaneNormals", "check_gravity", "closing_in_plane", "free_joint"]


ALIGNED_TOL = 1e-6  # directions closer than this are equal: users give rounded numbers
_KEPT: dict[type[Joint], tuple[str, ...]] = {
    Revolute: ("x", "y"),
    Prismatic: ("x", "ry"),
    Fixed: ("x", "y", "rz"),
    Planar: (),
}


def free_joint(system: System) -> Joint:
    """Return the joint of an ungrounded part."""
    return Free() if system.planar is None else Planar(system.planar)


def check_gravity(system: System) -> None:
    """Raise an error for gravity with a component out of the plane of a system."""
    n, g = system.planar, system.gravity
    if n is not None and abs(float(n @ g)) > ALIGNED_TOL * float(np.linalg.norm(g)):
        inside = tuple((g - n * (n @ g)).round(12).tolist())
        remedy = (
            f"it points out of the plane across {_direction_text(n)}: give what acts within it, {inside}, or another"
        )
        raise ModelError(f"system {system.name!r}", "gravity", tuple(g.tolist()), remedy)


class PlaneNormals:
    """Normal of a system's plane (3,) in axes of every body, propagated outward from joint to joint.

    Raises
    ------
    ModelError
        By `add` and `check`: names the connection, or the flexible body, that leaves the plane.
    """

    def __init__(self, system: System) -> None:
        assert system.planar is not None
        check_gravity(system)
        self.of: dict[str, Array] = {system.ground.name: system.planar}

    def add(self, name: str, joint: Joint, inboard: Marker, outboard: Marker, backwards: bool) -> None:
        """Propagate the normal across a joint from a body with known normal."""
        first, second = (outboard, inboard) if backwards else (inboard, outboard)
        C = joint.pose(joint.zero)[0]
        here = inboard.rotation.T @ self.of[inboard.body.name]
        there = C @ here if backwards else C.T @ here
        self.of[outboard.body.name] = outboard.rotation @ there
        self.check(Connection(name, joint, first, second))
        if outboard.body.flexible is not None:
            _check_modes(outboard.body.name, outboard.body.flexible, self.of[outboard.body.name])

    def check(self, c: Connection) -> Array:
        """Raise an error for a joint that moves out of the plane; return the normal in its first marker."""
        n = np.asarray(c.first.rotation.T @ self.of[c.first.body.name])
        joint = c.element
        assert isinstance(joint, Joint)
        for q in _samples(joint):
            H = joint.motion(q)[:, [unit != "s" for unit in joint.speed_units]]
            turns, slides = H[:3] - np.outer(n, n @ H[:3]), n @ H[3:]
            size = np.abs(H).max(initial=1e-300)
            if max(np.abs(turns).max(initial=0.0), np.abs(slides).max(initial=0.0)) > ALIGNED_TOL * size:
                raise ModelError(f"connection {c.name!r}", "element", joint.kind, _remedy(n))
        second = np.asarray(c.second.rotation.T @ self.of[c.second.body.name])
        if float(np.linalg.norm(joint.pose(joint.zero)[0].T @ n - second)) > ALIGNED_TOL:
            directions = f"{_direction_text(n)} and {_direction_text(second)}"
            remedy = f"its markers have the normal of the plane as {directions}: turn one of them"
            raise ModelError(f"connection {c.name!r}", "markers", joint.kind, remedy)
        return n


def closing_in_plane(normals: PlaneNormals, loop_constraints: Iterable[Connection]) -> tuple[Connection, ...]:
    """Return loop constraints with only the rows that close loops in the plane."""
    found = []
    for loop_constraint in loop_constraints:
        if isinstance(loop_constraint.element, Joint):
            n = normals.check(loop_constraint)
            if type(loop_constraint.element) in _KEPT:
                twin = copy(loop_constraint.element)
                set_fields(twin, plane=n, rows=_KEPT[type(twin)])
                loop_constraint = replace(loop_constraint, element=twin)
        found.append(loop_constraint)
    return tuple(found)


def _samples(joint: Joint) -> list[Array]:
    """Return sample coordinates of a joint: several if its directions may depend on them."""
    zero = joint.zero
    return [zero] if joint.kernel else [zero, zero + 0.3, zero - 0.7]


def _check_modes(body: str, flexible: FlexibleBody, n: Array) -> None:
    shapes = np.asarray(flexible.shapes, dtype=float)  # (nodes, 6, modes): turns, displacements
    turns = shapes[:, :3] - n[None, :, None] * np.einsum("k,nkm->nm", n, shapes[:, :3])[:, None]
    out = np.maximum(np.abs(turns).max((0, 1)), np.abs(np.einsum("k,nkm->nm", n, shapes[:, 3:])).max(0))
    size = np.abs(shapes).max((0, 1))
    outside = np.flatnonzero(out > ALIGNED_TOL * size).tolist()
    if outside:
        remedy = f"these modes leave the plane across {_direction_text(n)}: take those that do not"
        raise ModelError(f"body {body!r}", "modes", outside, remedy)


def _remedy(n: Array) -> str:
    return (
        f"it moves out of the plane across {_direction_text(n)} (in axes of its first marker), "
        f"to which planar= restricts the system: use Revolute({_direction_text(n)}), "
        f"Planar({_direction_text(n)}), or Prismatic along the plane, "
        "or leave planar= out"
    )


def _direction_text(n: Any) -> str:
    """Return a direction in the form used by users."""
    x = np.asarray(n, dtype=float)
    k = int(np.abs(x).argmax())
    if abs(abs(float(x[k])) - 1.0) < ALIGNED_TOL:
        return repr("-" * bool(x[k] < 0) + "xyz"[k])
    return str(tuple(x.round(6).tolist()))
