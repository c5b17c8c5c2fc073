"""Drawn geometry of a body: boxes, cylinders, spheres and meshes, stored as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from .contact_surfaces import Surface
from .mesh_files import read_surface
from .shapes import Shape
from .triangle_mesh import TriangleMesh

__all__ = ["ALL_BITS", "ContactRule", "Visual", "surface_of", "visual_of_shape"]


ALL_BITS = 0xFFFFFFFF  # of a geometry without rules


@dataclass(frozen=True)
class ContactRule:
    """Rules of a model file on contacts of one geometry: MuJoCo's contype and conaffinity, and its surface.

    Two geometries touch if the type of one and the affinity of the other have a bit in common.
    """

    type: int = ALL_BITS
    affinity: int = ALL_BITS
    surface: Surface | None = None


@dataclass(frozen=True, eq=False)
class Visual:
    """Massless geometry fixed in a body, for drawings and contact.

    Attributes
    ----------
    kind : str
        ``"box"``, ``"cylinder"``, ``"capsule"``, ``"sphere"``, ``"plate"``, ``"tube"``, ``"prism"``, ``"mesh"`` or
        ``"plane"`` (the half space z <= 0) or ``"height field"``, both for contact.
    size : dict of str to float
        Lengths in m, named as in `Shape`: box x, y, z; cylinder and capsule length (a capsule's
        without its caps), radius and axis (2: along z); sphere radius; plate x, y, thickness; tube
        length, outer, inner and axis; prism thickness. A mesh has the factors x, y, z by which it is scaled.
    position : (3,) m
        Centre of the geometry (for a mesh its own origin) from the body's origin, in body axes.
    rotation : (3, 3)
        Its axes as columns, in body axes.
    file : str or None
        Mesh name in the model file, verbatim. The file is opened when the body is drawn, not on loading.
    path : str or None
        Path of that file; None if it was not found: the body is then drawn without the mesh.
    surface : TriangleMesh or None
        Triangles of a mesh without a file, before scaling.
    collision : bool
        True for contact geometry, False for drawings.
    color : (4,) float or None
        Red, green, blue and opacity, each from 0 to 1; None where the model file gives none.
    name : str or None
    outline : (k, 2) m or None
        Of a prism, in its x-y plane.
    contact : ContactRule or None
        Rules of a model file on contacts of this geometry.
    heights : (nx, ny) m or None
        Of a height field.
    pieces, thickness : float or None
        Of a mesh in contact, as in `Shape`.
    """

    kind: str
    size: dict[str, float]
    position: Array
    rotation: Array
    file: str | None = None
    collision: bool = False
    color: tuple[float, float, float, float] | None = None
    name: str | None = None
    outline: Array | None = None
    path: str | None = None
    surface: TriangleMesh | None = None
    contact: ContactRule | None = None
    heights: Array | None = None
    pieces: float | None = None
    thickness: float | None = None

    def __repr__(self) -> str:
        size = ", ".join(f"{key}={value:.6g}" for key, value in self.size.items() if key != "axis")
        what = "collision" if self.collision else "visual"
        return f"<Visual {self.kind} ({what}): {size}{'' if self.file is None else f', {self.file!r}'}>"


def visual_of_shape(shape: Shape) -> Visual | None:
    """Return the drawn geometry of a shape at its pose in the body; None for a slender rod."""
    kind, size, place = shape.kind, dict(shape.size), np.zeros(3)
    if kind == "rod":
        if not size["radius"]:
            return None
        kind, place = "cylinder", np.array(shape.com, dtype=float)
    same = ("file", "surface", "outline", "heights", "pieces", "thickness")
    return Visual(kind, size, place, np.eye(3), path=shape.file, **{name: getattr(shape, name) for name in same})


def surface_of(look: Visual) -> TriangleMesh:
    """Return the triangles of a mesh, scaled, in its own axes.

    Raises
    ------
    ModelError
        If there is no such file, or it cannot be read.
    """
    surface = look.surface
    if surface is None:
        if look.path is None:
            raise ModelError("mesh", "file", look.file, "there is no such file: give the package folders when loading")
        surface = read_surface(look.path)
    factors = tuple(look.size[axis] for axis in "xyz")
    kept = surface.__dict__.setdefault("_scaled", {})  # a surface is shared by all its visuals
    return kept.setdefault(factors, surface if factors == (1.0, 1.0, 1.0) else surface.scaled(factors))
