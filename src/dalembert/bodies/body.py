"""Rigid and flexible bodies of a system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, finite_number, shape_of, valid_name
from ..errors import ModelError
from ..parameters import Expression, plain_value, split
from ..rotation import as_rotation_matrix
from .colors import as_color
from .contact_surfaces import Surface
from .dyadics import inertia_of_dyadic
from .flexible_body import FlexibleBody
from .markers import Marker
from .nodal_matrices import check_total_mass
from .shapes import Shape
from .visuals import Visual, visual_of_shape

if TYPE_CHECKING:
    from ..system import System

__all__ = ["Body", "inertia_error"]

# principal moments may miss the triangle inequality by this fraction of the largest: printed data are rounded
_TRIANGLE_TOLERANCE = 1e-6
POINT_MASS_TOL = 1e-16  # m2: squared radii of gyration below this are round-off of a point mass


class Body:
    """Body with mass, centre of mass, inertia about it, and markers; rigid unless `flexible` is given.

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
    flexible : FlexibleBody or None
        Deformation model; `mass`, `com` and `inertia` are then those of the undeformed body.
    markers : dict of str to Marker
    color : (4,) float or None
        Red, green, blue and opacity in drawings, from 0 to 1; None: a palette colour, or the colours of its visuals.
    visuals : list of Visual
        Visuals of a model file, and decoration.
    surface : Surface or None
        Its friction, restitution and stiffness in contacts.
    strict : bool
        Raise an error for an inertia that is impossible for a rigid body.
    """

    def __init__(
        self,
        system: System,
        name: str,
        shape: Shape | FlexibleBody | None = None,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | str | None = None,
        inertia_axes: Any = None,
        strict: bool = True,
        color: Any = None,
        surface: Surface | None = None,
    ) -> None:
        item = f"body {name!r}"
        self.flexible: FlexibleBody | None = None
        if isinstance(shape, FlexibleBody):
            self.flexible = shape
            if com is not None or inertia is not None:
                raise ModelError(item, "com", com, "a flexible body defines its com and inertia: leave them out")
            if mass is not None:
                check_total_mass(shape.mass, finite_number(mass, item=item, field="mass"), item=item)
            offset = shape.com
            steiner = shape.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
            mass, com, inertia = shape.mass, offset, shape.inertia - steiner
            shape = None
        self.expressions: dict[str, Expression] = {}
        if shape is not None:
            mass, com, inertia = _with_shape(shape, mass, com, inertia, inertia_axes, item=item)
        mass, com, inertia = self._split(mass, com, inertia, inertia_axes)
        self.strict = strict
        self.system = system
        self.name = name
        self.shape = shape
        self.markers: dict[str, Marker] = {}
        self.visuals: list[Visual] = []
        self.color = as_color(color, item=item)
        self.surface = surface
        self.mass = 0.0 if mass is None else finite_number(mass, item=item, field="mass")
        self.com = np.zeros(3) if com is None else finite_array(com, (3,), item=item, field="com")
        matrix = np.zeros((3, 3)) if inertia is None else inertia_matrix(inertia, item=item)
        self.inertia: Array = matrix
        if inertia_axes is not None:
            axes = as_rotation_matrix(inertia_axes, item=item, field="inertia_axes")
            self.inertia = axes @ matrix @ axes.T
        self._check_physical(item)

    def _split(self, mass: Any, com: Any, inertia: Any, axes: Any) -> tuple[Any, Any, Any]:
        """Return plain numbers; store the expressions of parameters that they follow from."""
        mass, by_mass = split(mass, ("mass",))
        com, by_com = split(com, ("com.x", "com.y", "com.z"))
        flat, by_inertia = inertia, {}
        plain_array = isinstance(inertia, np.ndarray) and inertia.dtype.kind == "f"
        if not (inertia is None or plain_array) and any(
            isinstance(x, Expression) for x in np.array(inertia, dtype=object).flat
        ):
            rows = np.array(inertia, dtype=object)
            labels = {(3,): "xx yy zz", (6,): "xx yy zz xy xz yz", (3, 3): "xx xy xz yx yy yz zx zy zz"}.get(rows.shape)
            if labels is None or axes is not None:
                remedy = "with parameters give three, six or 3 by 3 of them, in the body's axes"
                raise ModelError("body", "inertia", inertia, remedy)
            flat = np.array([plain_value(x) for x in rows.flat], dtype=float).reshape(rows.shape)
            by_inertia = {
                f"inertia.{label}": x
                for label, x in zip(labels.split(), rows.flat, strict=True)
                if isinstance(x, Expression) and label not in ("yx", "zx", "zy")
            }
        self.expressions = {**by_mass, **by_com, **by_inertia}
        return mass, com, flat

    def copy_to(self, system: System) -> Body:
        """Return a copy in another system, without markers; nothing is checked."""
        copied = object.__new__(Body)
        copied.__dict__.update(self.__dict__)
        copied.system, copied.markers = system, {}
        copied.com, copied.inertia = np.array(self.com), np.array(self.inertia)
        copied.expressions, copied.visuals = dict(self.expressions), list(self.visuals)
        return copied

    def validate(self) -> None:
        """Raise `ModelError` unless mass and inertia are physically possible."""
        item = f"body {self.name!r}"
        self.mass = finite_number(self.mass, item=item, field="mass")
        self.com = finite_array(self.com, (3,), item=item, field="com")
        self.inertia = finite_array(self.inertia, (3, 3), item=item, field="inertia")
        self._check_physical(item)

    def _check_physical(self, item: str) -> None:
        if self.mass < 0:
            raise ModelError(item, "mass", self.mass, "a mass must not be negative")
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self.inertia.tolist()
        scale = max(map(abs, (xx, xy, xz, yx, yy, yz, zx, zy, zz)))
        if max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) > 1e-12 * scale:
            raise ModelError(item, "inertia", self.inertia, "an inertia matrix is symmetric")
        fault = self.impossible
        if fault and self.strict:
            raise ModelError(item, "inertia", self.inertia, fault)

    @property
    def surface(self) -> Surface | None:
        """Friction, restitution and stiffness of its surface in contacts; None: contacts define them."""
        return self._surface

    @surface.setter
    def surface(self, value: Surface | None) -> None:
        if value is not None and not isinstance(value, Surface):
            raise ModelError(f"body {self.name!r}", "surface", value, "give a da.Surface(...)")
        self._surface = value

    @property
    def impossible(self) -> str:
        """Reason why this inertia is impossible for a rigid body, with principal moments; empty if possible."""
        return inertia_error(self.mass, self.inertia)

    def at(
        self,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        *,
        rotation: Any = None,
        node: int | Sequence[int] | None = None,
        weights: ArrayLike | None = None,
    ) -> Marker:
        """Return an anonymous marker at (x, y, z) m from the body's origin, in body axes.

        On a flexible body the point must be a node or lie on a beam element, between whose nodes it is interpolated.
        Or give a `node`: the marker moves with it, and (x, y, z) is a rigid arm from it; of several nodes it takes
        the mean motion, with `weights`.
        """
        item = f"marker on body {self.name!r}"
        place, expressions = split((x, y, z), "xyz") if self.flexible is None else ((x, y, z), {})
        position = finite_array(place, (3,), item=item, field="position")
        R = as_rotation_matrix(rotation, item=item)
        if self.flexible is None:
            if node is not None or weights is not None:
                raise ModelError(item, "node", node, "this body is rigid and has no nodes: give x, y, z")
            return Marker(self, position, R, expressions=expressions)
        place, shape, arm = self.flexible.attachment(position, node, weights, item=item)
        return Marker(self, place, R, shape=shape, arm=arm)

    def marker(
        self,
        label: str,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        *,
        rotation: Any = None,
        node: int | Sequence[int] | None = None,
        weights: ArrayLike | None = None,
    ) -> Marker:
        """Add a marker named ``"body.label"``; position in m, body axes, or by node as in `at`."""
        valid_name(label, item=f"body {self.name!r}", field="marker name")
        if label in self.markers:
            raise ModelError(f"body {self.name!r}", "marker name", label, "this body has a marker of that name already")
        at = self.at(x, y, z, rotation=rotation, node=node, weights=weights)
        at = Marker(at.body, at.position, at.rotation, label, at.shape, at.arm, at.expressions)
        self.markers[label] = at
        return at

    def decorate(
        self,
        shape: Shape,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        *,
        rotation: Any = None,
        color: Any = None,
    ) -> Visual:
        """Add a massless shape for drawings, its origin at (x, y, z) m from the body's; return it.

        The mass of the shape is ignored. `color` is as for bodies: ``"orange"``, ``"#ff8000"``, or numbers.
        """
        item = f"decoration of body {self.name!r}"
        if self is self.system.ground:
            raise ModelError(
                item, "body", self.name, "decorate a body that is fixed to ground: connect it with Fixed()"
            )
        if not isinstance(shape, Shape):
            raise ModelError(item, "shape", shape, "give a shape such as cylinder(0.2, 0.1)")
        look = visual_of_shape(shape)
        if shape.kind in ("plane", "height field"):
            raise ModelError(item, "shape", shape.kind, "it is ground, not a part of a body: give it to s.contact(...)")
        if look is None:
            raise ModelError(item, "radius", None, "a slender rod is not drawn: give it a radius")
        R = as_rotation_matrix(rotation, item=item)
        place = finite_array((x, y, z), (3,), item=item, field="position")
        own = as_color(color, item=item)
        self.visuals.append(replace(look, position=place + R @ look.position, rotation=R, color=own))
        return self.visuals[-1]

    def require_flexible(self) -> FlexibleBody:
        """Return the flexible body; for callers that know that it is one."""
        assert self.flexible is not None
        return self.flexible

    @property
    def origin(self) -> Marker:
        """The body frame as a marker; on a flexible body it need not belong to the material."""
        shape = None if self.flexible is None else np.zeros((6, self.flexible.nm))
        return Marker(self, np.zeros(3), np.eye(3), shape=shape)

    def __repr__(self) -> str:
        modes = "" if self.flexible is None else f", {self.flexible.nm} modes"
        return f"<Body {self.name!r}: {self.mass:.6g} kg{modes}>"


def inertia_error(mass: float, inertia: Array) -> str:
    """Return the reason why an inertia (3, 3) is impossible for a mass, with principal moments; else ""."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    a, b, c = np.linalg.eigvalsh(inertia).tolist() if xy or xz or yz else sorted((xx, yy, zz))
    slack = max(_TRIANGLE_TOLERANCE * max(-a, c), POINT_MASS_TOL * mass)
    if a >= -slack and a + b >= c - slack:
        return ""
    moments = f"{a:.6g}, {b:.6g}, {c:.6g}"
    if a < -slack:
        return f"of the principal moments {moments} one is negative ({a:.6g} kg m2)"
    return (
        f"no rigid body has principal moments {moments}: two of them must add up to at least the third; "
        "is it about the centre of mass and in kg m2?"
    )


def _with_shape(shape: Any, mass: Any, com: Any, inertia: Any, inertia_axes: Any, *, item: str) -> tuple[Any, Any, Any]:
    """Return mass, com and inertia of a body with a shape; given values replace those of the shape."""
    if not isinstance(shape, Shape):
        remedy = "give a shape such as rod(...), a FlexibleBody such as beam(...), or mass= and inertia="
        raise ModelError(item, "shape", shape, remedy)
    if shape.kind in ("plane", "height field"):
        raise ModelError(item, "shape", shape.kind, "it has no mass: give it to s.contact(...), with a marker")
    if mass is not None and shape.mass is not None:
        remedy = f"its {shape.kind} has {shape.mass:.6g} kg already: give the mass to one of them"
        raise ModelError(item, "mass", mass, remedy)
    if mass is None and shape.mass is None:
        remedy = f"give its {shape.kind} mass= or density=, or the body mass="
        raise ModelError(item, "mass", None, remedy)
    if inertia is None:
        if shape.surface is not None and shape.surface.error:
            raise ModelError(item, "inertia", None, f"{shape.surface.error}: give com= and inertia= by numbers")
        if com is not None:
            remedy = (
                f"about another centre than that of the {shape.kind}, {tuple(shape.com.tolist())}, give inertia= too"
            )
            raise ModelError(item, "com", com, remedy)
        if inertia_axes is not None:
            raise ModelError(item, "inertia_axes", inertia_axes, "a shape defines its axes: leave them out")
    if not shape.expressions and shape.mass is not None:
        return shape.mass, shape.com if com is None else com, shape.inertia if inertia is None else inertia
    own, by = shape.inertia.astype(object), shape.expressions
    for label, value in by.items():
        if label.startswith("inertia."):
            j, k = ("xyz".index(axis) for axis in label[-2:])
            own[j, k] = own[k, j] = value
    if shape.mass is None:
        finite_number(plain_value(mass), item=item, field="mass")
        own = mass * own
    its_com = [by.get(f"com.{axis}", x) for axis, x in zip("xyz", shape.com.tolist(), strict=True)]
    return (
        by.get("mass", shape.mass) if mass is None else mass,
        its_com if com is None else com,
        own.tolist() if inertia is None else inertia,
    )


def inertia_matrix(inertia: ArrayLike | str, *, item: str) -> Array:
    """Return a (3, 3) inertia, kg m2, from three moments, six numbers, a matrix or a dyadic.

    Six numbers are xx, yy, zz, xy, xz, yz.
    """
    if isinstance(inertia, str):
        return inertia_of_dyadic(inertia, item=item)
    shape = shape_of(inertia)
    if shape == (3,):
        return np.diag(finite_array(inertia, (3,), item=item, field="inertia"))
    if shape == (6,):
        xx, yy, zz, xy, xz, yz = finite_array(inertia, (6,), item=item, field="inertia")
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if shape == (3, 3):
        return finite_array(inertia, (3, 3), item=item, field="inertia")
    remedy = "give three moments, six numbers (xx, yy, zz, xy, xz, yz), a 3 by 3 matrix or a dyadic"
    raise ModelError(item, "inertia", inertia, remedy)
