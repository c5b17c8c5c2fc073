"""From which side a system is looked at: a plane if all motion is in it, else space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..connections.hinges import Fixed, Hinge, Planar, Prismatic, Revolute, Screw
from ..errors import ModelError
from ..model import Model

__all__ = ["Placement", "View", "choose_view", "plane_normal"]

Array = NDArray[np.float64]

_FLAT = ("xy", "xz", "yz", "yx", "zx", "zy")
# axes are parallel within this sine: far above round-off of an assembled loop, far below any intended tilt
_PARALLEL = 1e-6


@dataclass(frozen=True, eq=False)
class Placement:
    """Where all bodies are: attitude (nb + 1, 3, 3) and position (nb + 1, 3) m by number, ground first."""

    rotation: Array
    position: Array

    @classmethod
    def of(cls, model: Model, q: Array) -> Placement:
        """Place the bodies at one configuration q (nq,)."""
        pose = model.poses(q)
        return cls(np.concatenate([np.eye(3)[None], pose.rotation]), np.concatenate([np.zeros((1, 3)), pose.position]))

    def points(self, number: int, local: Array) -> Array:
        """Return points (k, 3) or (3,) given in a body's axes in the world."""
        result: Array = local @ self.rotation[number].T + self.position[number]
        return result

    def direction(self, number: int, local: Array) -> Array:
        """Return a direction given in a body's axes in the world."""
        result: Array = self.rotation[number] @ local
        return result


@dataclass(frozen=True)
class View:
    """What lies to the right, what up and, for a plane, what towards the reader.

    Attributes
    ----------
    name : str
        ``"xy"`` and the like, or ``"3d"``.
    right, up, normal : int
        World axes; `right` and `normal` have no meaning in 3-D.
    steady : bool
        True if every body only turns about the normal, so that outlines keep their form.
    """

    name: str
    right: int
    up: int
    normal: int
    steady: bool = False

    @property
    def flat(self) -> bool:
        """True for a plane."""
        return self.name != "3d"

    def project(self, points: Array) -> Array:
        """Return (..., 2) of points (..., 3)."""
        result: Array = points[..., [self.right, self.up]]
        return result


def choose_view(model: Model, placement: Placement, view: str = "auto") -> View:
    """Return the view of that name; ``"auto"`` takes the plane of motion if there is one.

    Raises
    ------
    ModelError
        If there is no view of that name.
    """
    gravity = np.abs(model.system.gravity)
    down = int(gravity.argmax()) if gravity.any() else 2
    normal = plane_normal(model, placement)
    if view == "auto":
        if normal is None:
            return View("3d", (down + 1) % 3, down, (down + 2) % 3)
        first, second = (k for k in range(3) if k != normal)
        right, up = (second, first) if gravity.any() and down == first else (first, second)
        return View("xyz"[right] + "xyz"[up], right, up, normal, steady=True)
    if view == "3d":
        return View("3d", (down + 1) % 3, down, (down + 2) % 3)
    if not isinstance(view, str) or view not in _FLAT:
        raise ModelError("picture", "view", view, "use 'auto', 'xy', 'xz', 'yz' or '3d'")
    right, up = ("xyz".index(letter) for letter in view)
    across = 3 - right - up
    return View(view, right, up, across, steady=normal == across)


def plane_normal(model: Model, placement: Placement) -> int | None:
    """Return the world axis about which everything turns and across which nothing slides, or None.

    Where several would do, as for a single slide, the plane in which gravity acts comes first, then the xy-plane.
    """
    turning, sliding = [], []
    for element, marker in _hinges(model):
        frame = placement.rotation[model.forest.number[marker.body.name]] @ marker.rotation
        if isinstance(element, Revolute) or (isinstance(element, Screw) and element.pitch == 0):
            turning.append(frame @ element.axis)
        elif isinstance(element, Planar):
            turning.append(frame @ element.normal)
        elif isinstance(element, Prismatic):
            sliding.append(frame @ element.axis)
        elif not isinstance(element, Fixed):
            return None
    fits = []
    for normal in (2, 1, 0):
        others = [k for k in range(3) if k != normal]
        turns = all(np.abs(axis[others]).max() < _PARALLEL for axis in turning)
        slides = all(abs(axis[normal]) < _PARALLEL for axis in sliding)
        if turns and slides:
            fits.append(normal)
    gravity = np.abs(model.system.gravity)
    fits.sort(key=lambda normal: bool(gravity[normal] > _PARALLEL * gravity.max()))
    return fits[0] if fits else None


def _hinges(model: Model) -> Iterator[tuple[Hinge, Marker]]:
    """Yield every hinge, cut or not, with the marker in whose axes its directions are given."""
    for hinge in model.forest.hinges:
        yield hinge.element, hinge.outboard if hinge.reversed else hinge.inboard
    for chord in model.forest.chords:
        if isinstance(chord.element, Hinge):
            yield chord.element, chord.first
