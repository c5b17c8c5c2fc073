"""Rigid bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..rotation import as_rotation_matrix, finite_array, finite_number, shape_of
from .markers import Marker
from .shapes import Shape
from .visual import Visual

if TYPE_CHECKING:
    from ..system import System

__all__ = ["Body"]

# principal moments may miss the triangle inequality by this fraction of the largest: printed data are rounded
_TRIANGLE_TOLERANCE = 1e-6


class Body:
    """A rigid body: mass, centre of mass, inertia about it, and markers.

    Made by `System.body`. The origin of the body frame is wherever the user puts it.

    Attributes
    ----------
    name : str
    mass : float, kg
    com : (3,) m
        Centre of mass from the body's origin, in body axes.
    inertia : (3, 3) kg m2
        About the centre of mass, in body axes.
    shape : Shape or None
        The solid it was made from, for pictures.
    markers : dict of str to Marker
    visuals : list of Visual
        Pictures that came with a model file.
    """

    def __init__(
        self,
        system: System,
        name: str,
        shape: Shape | None = None,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        inertia_axes: Any = None,
    ) -> None:
        item = f"body {name!r}"
        if shape is not None:
            if not isinstance(shape, Shape):
                raise ModelError(
                    item, "shape", shape, "give a shape such as rod(...) or box(...), or mass= and inertia="
                )
            if mass is not None or com is not None or inertia is not None:
                raise ModelError(
                    item, "shape", shape.kind, "a shape brings its mass, com and inertia: give one or the other"
                )
            mass, com, inertia = shape.mass, shape.com, shape.inertia
        self.system = system
        self.name = name
        self.shape = shape
        self.markers: dict[str, Marker] = {}
        self.visuals: list[Visual] = []
        self.mass = 0.0 if mass is None else finite_number(mass, item=item, field="mass")
        self.com = np.zeros(3) if com is None else finite_array(com, (3,), item=item, field="com")
        matrix = np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia, item=item)
        axes = as_rotation_matrix(inertia_axes, item=item, field="inertia_axes")
        self.inertia: NDArray[np.float64] = axes @ matrix @ axes.T
        self.validate()

    def validate(self) -> None:
        """Raise `ModelError` unless mass and inertia are those of a possible rigid body."""
        item = f"body {self.name!r}"
        self.mass = finite_number(self.mass, item=item, field="mass")
        self.com = finite_array(self.com, (3,), item=item, field="com")
        self.inertia = finite_array(self.inertia, (3, 3), item=item, field="inertia")
        if self.mass < 0:
            raise ModelError(item, "mass", self.mass, "a mass must not be negative")
        scale = float(np.abs(self.inertia).max())
        if np.abs(self.inertia - self.inertia.T).max() > 1e-12 * scale:
            raise ModelError(item, "inertia", self.inertia, "an inertia matrix is symmetric")
        a, b, c = np.linalg.eigvalsh(self.inertia)
        if a < -_TRIANGLE_TOLERANCE * scale:
            raise ModelError(item, "inertia", self.inertia, f"a principal moment is negative ({a:.6g} kg m2)")
        if a + b < c * (1 - _TRIANGLE_TOLERANCE):
            raise ModelError(
                item,
                "inertia",
                self.inertia,
                f"no rigid body has principal moments {a:.6g}, {b:.6g}, {c:.6g}: two of them must add up to at least "
                "the third; is it about the centre of mass and in kg m2?",
            )

    def at(self, x: float = 0.0, y: float = 0.0, z: float = 0.0, *, rotation: Any = None) -> Marker:
        """Return an anonymous marker at (x, y, z) m from the body's origin, in body axes."""
        item = f"marker on body {self.name!r}"
        position = finite_array((x, y, z), (3,), item=item, field="position")
        return Marker(self, position, as_rotation_matrix(rotation, item=item))

    def marker(self, label: str, x: float = 0.0, y: float = 0.0, z: float = 0.0, *, rotation: Any = None) -> Marker:
        """Add a marker that can be found again as ``"body.label"``; position in m, body axes."""
        if not isinstance(label, str) or not label.strip() or label != label.strip():
            raise ModelError(f"body {self.name!r}", "marker name", label, "use a non-empty string")
        if label in self.markers:
            raise ModelError(f"body {self.name!r}", "marker name", label, "this body has a marker of that name already")
        at = self.at(x, y, z, rotation=rotation)
        self.markers[label] = Marker(self, at.position, at.rotation, label)
        return self.markers[label]

    @property
    def origin(self) -> Marker:
        """The body frame itself as a marker."""
        return Marker(self, np.zeros(3), np.eye(3))

    def __repr__(self) -> str:
        return f"<Body {self.name!r}: {self.mass:.6g} kg>"


def inertia_matrix(inertia: ArrayLike, *, item: str) -> NDArray[np.float64]:
    """Return a (3, 3) inertia from three moments, six numbers (xx, yy, zz, xy, xz, yz) or a matrix; kg m2."""
    shape = shape_of(inertia)
    if shape == (3,):
        return np.diag(finite_array(inertia, (3,), item=item, field="inertia"))
    if shape == (6,):
        xx, yy, zz, xy, xz, yz = finite_array(inertia, (6,), item=item, field="inertia")
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if shape == (3, 3):
        return finite_array(inertia, (3, 3), item=item, field="inertia")
    raise ModelError(
        item, "inertia", inertia, "give three moments, six numbers (xx, yy, zz, xy, xz, yz) or a 3 by 3 matrix"
    )
