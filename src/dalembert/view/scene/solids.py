"""Solids of bodies: corners and faces in body axes, from shapes, model files or inertia."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, BoolArray
from ...bodies.body import Body
from ...bodies.colors import Color
from ...bodies.visuals import Visual, surface_of, visual_of_shape
from ...errors import ModelError
from ...numerics.contours import convex_hull

__all__ = [
    "MAX_TRIANGLES",
    "Solid",
    "bar",
    "block",
    "cylinder",
    "equivalent_box",
    "of_body",
    "prism",
    "sheet",
    "silhouette",
    "slender",
    "tube",
    "wheel",
]


N_AROUND = 20  # corners of a circle
MAX_TRIANGLES = 2400  # of a mesh in a drawing


@dataclass(frozen=True, eq=False)
class Solid:
    """Solid as a surface of polygons.

    Attributes
    ----------
    corners : (k, 3) m
    faces : (f, 4) int
        Numbers of the corners of each face, counter-clockwise as seen from outside; a triangle repeats its last one.
    edged : (f,) bool
        Whether the outline of a face is an edge of the solid, to be drawn as a line.
    round_about : (3,) or None
        Axis about which it is round, so that only a stroke shows its rotation.
    outline : (k, 3) m or None
        What is seen from the front of a prism, if it is not convex.
    color : (4,) float or None
        Red, green, blue and opacity, from 0 to 1; None if it is drawn as its body is.
    """

    corners: Array
    faces: NDArray[np.int64]
    edged: BoolArray
    round_about: Array | None = None
    outline: Array | None = None
    color: Color | None = None

    def moved(self, rotation: Array, position: Array) -> Solid:
        """Return the solid rotated, then translated."""
        about = None if self.round_about is None else rotation @ self.round_about
        outline = None if self.outline is None else self.outline @ rotation.T + position
        return Solid(self.corners @ rotation.T + position, self.faces, self.edged, about, outline, self.color)


def block(x: float, y: float, z: float) -> Solid:
    """Return a box with edges x, y, z (m) about the origin."""
    signs = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
    faces = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    return Solid(signs * np.array([x, y, z]) / 2, faces, np.ones(6, dtype=bool))


def cylinder(length: float, radius: float, *, inner: float = 0.0, around: int = N_AROUND, pieces: int = 1) -> Solid:
    """Return a cylinder or tube along z about the origin, cut into `pieces` along its length."""
    angle = np.arange(around) * 2 * np.pi / around
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    heights = np.linspace(-length / 2, length / 2, pieces + 1)
    outer = [np.column_stack([radius * circle, np.full(around, z)]) for z in heights]
    inside = [np.column_stack([inner * circle, np.full(around, z)]) for z in heights[[0, -1]]]
    k = np.arange(around)
    following = (k + 1) % around

    def between(a: int, b: int) -> NDArray[np.int64]:
        return np.column_stack([a * around + k, a * around + following, b * around + following, b * around + k])

    walls = [between(i, i + 1) for i in range(pieces)]
    low, high = pieces + 1, pieces + 2
    caps = [between(low, 0), between(pieces, high)]
    bore = [between(high, low)] if inner > 0 else []
    faces = np.concatenate([*walls, *caps, *bore])
    return Solid(np.concatenate(outer + inside), faces, np.zeros(len(faces), dtype=bool), np.array([0.0, 0.0, 1.0]))


def ball(radius: float, *, stretch: float = 0.0, around: int = 16, rings: int = 9) -> Solid:
    """Return a sphere about the origin, or a capsule along z whose caps are `stretch` (m) apart."""
    polar = np.linspace(0, np.pi, rings + 1)
    angle = np.arange(around) * 2 * np.pi / around
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    shift = np.where(polar < np.pi / 2, stretch / 2, -stretch / 2)
    corners = np.concatenate(
        [
            np.column_stack([radius * np.sin(p) * circle, np.full(around, radius * np.cos(p) + s)])
            for p, s in zip(polar, shift, strict=True)
        ]
    )
    k = np.arange(around)
    following = (k + 1) % around
    faces = np.concatenate(
        [
            np.column_stack(
                [i * around + k, (i + 1) * around + k, (i + 1) * around + following, i * around + following]
            )
            for i in range(rings)
        ]
    )
    return Solid(corners, faces, np.zeros(len(faces), dtype=bool))


def bar(start: Array, end: Array, radius: float, *, around: int = 8, pieces: int = 4) -> Solid:
    """Return a thin round bar between two points (3,) m, in pieces short enough for sorting by depth."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length == 0:
        return ball(radius).moved(np.eye(3), start)
    solid = cylinder(length, radius, around=around, pieces=pieces)
    return Solid(solid.corners @ turned_z(along / length).T + (start + end) / 2, solid.faces, solid.edged)


def tube(
    points: Array, radius: float, *, around: int = 8, ring: Array | None = None
) -> tuple[Solid, NDArray[np.int64]]:
    """Return a tube along a line of points (k, 3), and the point to which each of its corners belongs.

    Corners are given from their points, so that the tube can follow them. A `ring` (around, 3) m takes the place of the
    circle: corners of a section at any point, counterclockwise about the line.
    """
    k = len(points)
    around = around if ring is None else len(ring)
    ahead = np.diff(points, axis=0, append=2 * points[-1:] - points[-2:-1])
    along = np.gradient(points, axis=0)
    along = np.where(np.linalg.norm(along, axis=1, keepdims=True) > 1e-9 * radius, along, ahead)  # at reversals
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    angle = np.arange(around) * 2 * np.pi / around
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(around)])
    corners = np.concatenate([circle @ turned_z(direction).T if ring is None else ring for direction in along])
    owners = np.repeat(np.arange(k), around)
    here, i = np.arange(k - 1)[:, None] * around, np.arange(around)
    on = (i + 1) % around
    sides = np.stack([here + i, here + on, here + around + on, here + around + i], axis=-1).reshape(-1, 4)
    fan = np.arange(1, around - 1, 2)
    ends = np.concatenate(
        [
            np.column_stack([np.zeros_like(fan), (fan + 2) % around, fan + 1, fan]),
            (k - 1) * around + np.column_stack([np.zeros_like(fan), fan, fan + 1, (fan + 2) % around]),
        ]
    )
    faces = np.concatenate([sides, ends])
    return Solid(corners, faces, np.zeros(len(faces), dtype=bool)), owners


def _extruded(outline: Array, thickness: float) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return the corners (k, 3) below and above the plane z = 0, and the faces (k, 4) between them."""
    k = len(outline)
    low, high = (np.column_stack([outline, np.full(k, z)]) for z in (-thickness / 2, thickness / 2))
    here, on = np.arange(k), (np.arange(k) + 1) % k
    return low, high, np.column_stack([here, on, k + on, k + here])


def prism(outline: Array, thickness: float) -> Solid:
    """Return a plate with corners (k, 2) m in the plane z = 0, counterclockwise."""
    k, low, high, walls = len(outline), *_extruded(outline, thickness)
    cap = _triangles(outline)
    top = np.column_stack([cap, cap[:, 2:]]) + k
    bottom = np.column_stack([cap[:, ::-1], cap[:, :1]])
    faces = np.concatenate([walls, top, bottom])
    return Solid(np.concatenate([low, high]), faces, np.zeros(len(faces), dtype=bool), outline=high)


def wheel(outline: Array, thickness: float) -> Solid:
    """Return a plate whose outline (k, 2) m is star-shaped about the origin, such as a gear wheel."""
    k, low, high, walls = len(outline), *_extruded(outline, thickness)
    middles = np.array([[0, 0, -thickness / 2], [0, 0, thickness / 2]])
    here, on = np.arange(k), (np.arange(k) + 1) % k
    top = np.column_stack([k + here, k + on, np.full((k, 2), 2 * k + 1)])
    bottom = np.column_stack([on, here, np.full((k, 2), 2 * k)])
    faces = np.concatenate([walls, top, bottom])
    about = np.array([0.0, 0.0, 1.0])
    return Solid(np.concatenate([low, high, middles]), faces, np.zeros(len(faces), dtype=bool), about, outline=high)


def sheet(edge: float) -> Solid:
    """Return a square in the plane z = 0 about the origin."""
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * edge / 2
    return Solid(corners, np.array([[0, 1, 2, 3]]), np.ones(1, dtype=bool))


def land(heights: Array, x: float, y: float, *, most: int = 80) -> Solid:
    """Return the surface of heights (nx, ny) m over x by y m; of finer grids a part of the nodes."""
    i, j = (np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)) for n in heights.shape)
    at = [np.linspace(-length / 2, length / 2, n) for n, length in zip(heights.shape, (x, y), strict=True)]
    corners = np.stack([*np.meshgrid(at[0][i], at[1][j], indexing="ij"), heights[np.ix_(i, j)]], axis=-1)
    number = np.arange(len(i) * len(j)).reshape(len(i), len(j))
    a, b, c, d = (part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c, c]), np.column_stack([a, c, d, d])])
    return Solid(corners.reshape(-1, 3), faces, np.zeros(len(faces), dtype=bool))


def of_look(look: Visual, *, around: int = N_AROUND, triangles: int = MAX_TRIANGLES) -> list[Solid]:
    """Return the solids of a geometry in the axes of its body; none of a plane."""
    return [] if look.kind == "plane" else _of_look(look, around, triangles, None)


def _triangles(outline: Array) -> NDArray[np.int64]:
    """Return a polygon (k, 2) as triangles (k - 2, 3) of its corners, by cutting ears."""
    left, found = list(range(len(outline))), []
    while len(left) > 3:
        points = outline[left]
        before, after = np.roll(points, 1, axis=0), np.roll(points, -1, axis=0)
        area = _twice(before, points, after)
        for j in np.argsort(-area):  # the bluntest ears last, for few slivers
            a, b, c = before[j], points[j], after[j]
            inside = (_twice(a, b, points) > 0) & (_twice(b, c, points) > 0) & (_twice(c, a, points) > 0)
            if not inside.any():
                break
        j = int(j)
        found.append((left[j - 1], left[j], left[(j + 1) % len(left)]))
        del left[j]
    return np.array([*found, left])


def _twice(a: Array, b: Array, c: Array) -> Array:
    """Return twice the area of triangles, positive if counterclockwise."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def turned_z(direction: Array) -> Array:
    """Return a right-handed frame (3, 3) whose third column is the unit vector `direction`."""
    helper = np.eye(3)[int(np.abs(direction).argmin())]
    x = np.cross(helper, direction)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(direction, x), direction])


def equivalent_box(body: Body) -> Solid | None:
    """Return the homogeneous box with the body's mass and inertia, about its centre of mass; None without a mass."""
    if body.mass <= 0:
        return None
    moments, axes = np.linalg.eigh(body.inertia)
    edges = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / body.mass, 0.0))
    if not edges.any():
        return None
    return block(*edges).moved(axes if np.linalg.det(axes) > 0 else -axes, body.com)


def of_body(body: Body, *, around: int = N_AROUND, triangles: int = MAX_TRIANGLES, lacks: Any = None) -> list[Solid]:
    """Return the solids of a body's shape, and of its decoration or model file; none for slender rods.

    Parameters
    ----------
    around : int
        Corners of a circle.
    triangles : int
        How many a mesh has at most.
    lacks : list
        List to which messages on meshes that cannot be drawn are added.
    """
    own = None if body.shape is None else visual_of_shape(body.shape)
    found = [] if own is None else _of_look(own, around, triangles, lacks)
    seen = [v for v in body.visuals if v.color is None or v.color[3] > 0]
    drawn = [solid for v in seen if not v.collision for solid in _of_look(v, around, triangles, lacks)]
    if not drawn:  # without a shape, the contact geometry
        drawn = [solid for v in seen if v.collision for solid in _of_look(v, around, triangles, lacks)]
    return found + drawn


def _of_look(look: Visual, around: int, triangles: int, lacks: Any) -> list[Solid]:
    return [replace(solid, color=look.color) for solid in _uncoloured(look, around, triangles, lacks)]


def _uncoloured(look: Visual, around: int, triangles: int, lacks: Any) -> list[Solid]:
    if look.kind == "plane":
        return []
    if look.kind == "height field":
        assert look.heights is not None
        return [land(look.heights, look.size["x"], look.size["y"]).moved(look.rotation, look.position)]
    if look.kind != "mesh":
        return [_simple(look.kind, look.size, around, look.outline).moved(look.rotation, look.position)]
    if look.surface is None and look.path is None:  # its file was not found; the reader of the model warned
        return []
    try:
        surface = surface_of(look).simplified(triangles)
    except ModelError as error:
        if lacks is not None:
            lacks.append(str(error))
        return []
    faces = np.column_stack([surface.triangles, surface.triangles[:, 2]])
    solid = Solid(surface.corners, faces, np.zeros(len(faces), dtype=bool))
    return [solid.moved(look.rotation, look.position)]


def slender(body: Body) -> bool:
    """Return whether a body's shape is a line."""
    return body.shape is not None and body.shape.kind == "rod" and body.shape.size["radius"] == 0


def _simple(kind: str, size: dict[str, float], around: int, outline: Array | None = None) -> Solid:
    if outline is not None:
        return prism(outline, size["thickness"])
    if kind == "box":
        return block(size["x"], size["y"], size["z"])
    if kind == "plate":
        return block(size["x"], size["y"], size["thickness"])
    if kind == "sphere":
        return ball(size["radius"], around=around, rings=around // 2)
    if kind == "capsule":
        return _along_axis(ball(size["radius"], stretch=size["length"], around=around, rings=around // 2 | 1), size)
    if kind == "tube":
        return _along_axis(cylinder(size["length"], size["outer"], inner=size["inner"], around=around), size)
    return _along_axis(cylinder(size["length"], size["radius"], around=around), size)


def _along_axis(solid: Solid, size: dict[str, float]) -> Solid:
    """Rotate a solid along z to the body axis given by its size."""
    return solid.moved(np.roll(np.eye(3), int(size.get("axis", 2.0)) + 1, axis=0), np.zeros(3))


def silhouette(points: Array) -> NDArray[np.int64]:
    """Return the numbers of the points (k, 2) on the convex outline, in order."""
    reach = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    return convex_hull(points, 1e-12 * reach * reach)
