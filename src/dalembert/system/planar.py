"""Systems that are said to move in a plane: what this demands, and what it changes.

With n the normal of the plane, seen from any body it is one and the same direction for ever, because bodies turn about
it only. A hinge moves in the plane if, with n in axes of its first marker,

    omega = n (n . omega),    n . v = 0      for all of its motions                                               (1)

Relations in the plane have three coordinates instead of six (Sol 1983, section 9.1). So parts that nothing holds are
put on a `Planar` hinge instead of a free one, and a hinge that closes a loop has 3 - f rows instead of 6 - f:
displacements in the plane, the turn about its normal. The rows that are left out are those that repeat others in space
(a four-bar of pins has three of them), or that ask how high above the plane a body lies, which is of no matter here.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies.flexible_body import FlexibleBody
from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.joints import Fixed, Free, Hinge, Planar, Prismatic, Revolute
from ..errors import ModelError

if TYPE_CHECKING:
    from .system import System

__all__ = ["Normals", "closing_in_plane", "free_hinge", "mind_gravity"]

Array = NDArray[np.float64]

_ALIGNED = 1e-6  # directions that users give by rounded numbers are the same within this
_KEPT: dict[type[Hinge], tuple[str, ...]] = {
    Revolute: ("x", "y"),
    Prismatic: ("x", "ry"),
    Fixed: ("x", "y", "rz"),
    Planar: (),
}


def free_hinge(system: System) -> Hinge:
    """Return the hinge of a part that nothing holds."""
    return Free() if system.planar is None else Planar(system.planar)


def mind_gravity(system: System) -> None:
    """Refuse gravity that points out of the plane of a system."""
    n, g = system.planar, system.gravity
    if n is not None and abs(float(n @ g)) > _ALIGNED * float(np.linalg.norm(g)):
        inside = tuple((g - n * (n @ g)).round(12).tolist())
        remedy = f"it points out of the plane across {_said(n)}: give what acts within it, {inside}, or another"
        raise ModelError(f"system {system.name!r}", "gravity", tuple(g.tolist()), remedy)


class Normals:
    """The normal of a system's plane (3,) in axes of every body, found from hinge to hinge, outward.

    Raises
    ------
    ModelError
        By `add` and `mind`: names the connection, or the flexible body, that leads out of the plane.
    """

    def __init__(self, system: System) -> None:
        assert system.planar is not None
        mind_gravity(system)
        self.of: dict[str, Array] = {system.ground.name: system.planar}

    def add(self, name: str, hinge: Hinge, inboard: Marker, outboard: Marker, backwards: bool) -> None:
        """Follow a hinge from a body whose normal is known to the next."""
        first, second = (outboard, inboard) if backwards else (inboard, outboard)
        C = hinge.pose(hinge.zero)[0]
        here = inboard.rotation.T @ self.of[inboard.body.name]
        there = C @ here if backwards else C.T @ here
        self.of[outboard.body.name] = outboard.rotation @ there
        self.mind(Connection(name, hinge, first, second))
        if outboard.body.flexible is not None:
            _mind_modes(outboard.body.name, outboard.body.flexible, self.of[outboard.body.name])

    def mind(self, c: Connection) -> Array:
        """Refuse a hinge that moves out of the plane; return the normal in axes of its first marker."""
        n = np.asarray(c.first.rotation.T @ self.of[c.first.body.name])
        hinge = c.element
        assert isinstance(hinge, Hinge)
        for q in _samples(hinge):
            H = hinge.motion(q)[:, [unit != "s" for unit in hinge.speed_units]]
            turns, slides = H[:3] - np.outer(n, n @ H[:3]), n @ H[3:]
            size = np.abs(H).max(initial=1e-300)
            if max(np.abs(turns).max(initial=0.0), np.abs(slides).max(initial=0.0)) > _ALIGNED * size:
                raise ModelError(f"connection {c.name!r}", "element", hinge.kind, _remedy(n))
        second = np.asarray(c.second.rotation.T @ self.of[c.second.body.name])
        if float(np.linalg.norm(hinge.pose(hinge.zero)[0].T @ n - second)) > _ALIGNED:
            remedy = f"its markers have the normal of the plane as {_said(n)} and {_said(second)}: turn one of them"
            raise ModelError(f"connection {c.name!r}", "markers", hinge.kind, remedy)
        return n


def closing_in_plane(normals: Normals, chords: Iterable[Connection]) -> tuple[Connection, ...]:
    """Return chords with those rows of their hinges that close loops in the plane."""
    found = []
    for chord in chords:
        if isinstance(chord.element, Hinge):
            n = normals.mind(chord)
            if type(chord.element) in _KEPT:
                twin = copy(chord.element)
                object.__setattr__(twin, "plane", n)
                object.__setattr__(twin, "rows", _KEPT[type(twin)])
                chord = replace(chord, element=twin)
        found.append(chord)
    return tuple(found)


def _samples(hinge: Hinge) -> list[Array]:
    """Return coordinates at which a hinge is looked at: more than one, where its directions may depend on them."""
    zero = hinge.zero
    return [zero] if hinge.kernel else [zero, zero + 0.3, zero - 0.7]


def _mind_modes(body: str, flexible: FlexibleBody, n: Array) -> None:
    shapes = np.asarray(flexible.shapes, dtype=float)  # (nodes, 6, modes): turns, displacements
    turns = shapes[:, :3] - n[None, :, None] * np.einsum("k,nkm->nm", n, shapes[:, :3])[:, None]
    out = np.maximum(np.abs(turns).max((0, 1)), np.abs(np.einsum("k,nkm->nm", n, shapes[:, 3:])).max(0))
    size = np.abs(shapes).max((0, 1))
    outside = np.flatnonzero(out > _ALIGNED * size).tolist()
    if outside:
        remedy = f"these modes leave the plane across {_said(n)}: take those that do not"
        raise ModelError(f"body {body!r}", "modes", outside, remedy)


def _remedy(n: Array) -> str:
    return (
        f"it moves out of the plane across {_said(n)} (in axes of its first marker), which the system is said to move "
        f"in: use Revolute({_said(n)}), Planar({_said(n)}), or Prismatic along the plane, or leave planar= out"
    )


def _said(n: Any) -> str:
    """Return a direction as users give it."""
    x = np.asarray(n, dtype=float)
    k = int(np.abs(x).argmax())
    if abs(abs(float(x[k])) - 1.0) < _ALIGNED:
        return repr("-" * bool(x[k] < 0) + "xyz"[k])
    return str(tuple(x.round(6).tolist()))
