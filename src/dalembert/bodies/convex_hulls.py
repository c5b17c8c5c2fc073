"""Convex solids of a body's shapes for distances: hulls of points and cylinders, each with a radius."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from .._core import Solid
from ..arrays import Array, IndexArray
from ..errors import ModelError
from .body import Body
from .convex_pieces import convex_pieces
from .shapes import Shape
from .triangle_mesh import TriangleMesh
from .visuals import Visual, surface_of, visual_of_shape

__all__ = ["Convex", "convex_of", "convex_parts", "excess_volume", "geometry_of", "solid_of_points"]

FLATNESS = 1e-9  # of the size of a hull: smaller distances from a plane are rounding


@dataclass(frozen=True, eq=False)
class Convex:
    """Convex piece of a body.

    Attributes
    ----------
    solid : the core's
    rotation, position : (3, 3) and (3,) m
        Of its frame in the body's.
    reach : float, m
        Radius of a ball about its origin that contains it; infinite for a half space.
    thickness : float, m
        Width, or a lower bound of it: diameter of a ball that it contains. Zero for a plate, a line or a point.
    """

    solid: Solid
    rotation: Array
    position: Array
    reach: float
    thickness: float

    def poses(self, R: Array, p: Array) -> Array:
        """Return rotation and position (n, 12) of the frame of the piece at body poses R (n, 3, 3), p (n, 3)."""
        turned = R @ self.rotation
        return np.concatenate([turned.reshape(len(R), 9), p + R @ self.position], axis=1)


def geometry_of(body: Body) -> list[Visual]:
    """Return the geometry of a body for distances and contact: its collision geometry if any, else all of it."""
    looks = [v for v in body.visuals if v.collision]
    given = looks or list(body.visuals)
    if body.shape is not None and not looks:
        given.insert(0, visual_of_shape(body.shape) or _line(body.shape))
    return given


def convex_parts(body: Body) -> tuple[list[Convex], list[str]]:
    """Return the convex pieces of a body, from its collision geometry if any, and notes."""
    parts: list[Convex] = []
    remarks: list[str] = []
    for look in geometry_of(body):
        try:
            parts += [convex_of(piece) for piece in convex_pieces(look)]
        except ModelError as error:
            remarks.append(f"{body.name}: a mesh is ignored: {error}")
            continue
        if look.kind == "mesh" and look.pieces is None:
            remarks.append(f"{body.name}: the hull around a mesh was taken")
        if look.outline is not None and not _is_convex(look.outline):
            remarks.append(f"{body.name}: an outline is not convex; the hull around it was taken")
        if look.kind == "tube":
            remarks.append(f"{body.name}: the bore of a tube counts as full")
    return parts, remarks


def convex_of(look: Visual, rounding: float = 0.0) -> Convex:
    """Return the convex solid of a geometry, its edges and corners rounded by a radius, m; faces stay in place.

    Raises
    ------
    ModelError
        If a mesh cannot be read, or the rounding is not below half the thickness.
    """
    rotation, position = look.rotation @ _along(look.size), np.asarray(look.position, dtype=float)
    if look.kind == "plane":
        return Convex(Solid.half_space(), rotation, position, np.inf, np.inf)
    if look.kind == "height field":
        return _height_field(look)
    if look.kind == "mesh":
        points: Array | None = np.asarray(surface_of(look).corners, dtype=float)
        half, across, radius = 0.0, 0.0, 0.0
    else:
        points, (half, across, radius) = _solid_of(look.kind, look.size, look.outline)
    if points is None:
        r = _rounded(look, rounding, 2 * min(half, across))
        solid = Solid(np.zeros((0, 3)), np.array([half - r, across - r, r]))
        return Convex(solid, rotation, position, float(np.hypot(half, across)), 2 * min(half, across))
    reach = float(np.linalg.norm(points, axis=1).max()) + radius
    if look.kind in ("box", "plate") and points.all():
        x, y, z = points.max(axis=0).tolist()
        r = _rounded(look, rounding, 2 * min(x, y, z))
        return Convex(Solid.box(x - r, y - r, z - r, r), rotation, position, reach, 2 * min(x, y, z))
    if radius:
        return Convex(solid_of_points(points, radius), rotation, position, reach, 2 * radius)
    hull = _hull_of(look, points)
    r = _rounded(look, rounding, hull.thickness)
    solid = solid_of_points(hull.inset(r), r) if r else hull.solid()
    return Convex(solid, rotation, position, reach, hull.thickness)


def _height_field(look: Visual) -> Convex:
    assert look.heights is not None
    z, x, y = np.ascontiguousarray(look.heights, dtype=float), look.size["x"], look.size["y"]
    solid = Solid.height_field(z, x / (z.shape[0] - 1), y / (z.shape[1] - 1))
    reach = float(np.hypot(np.hypot(x, y) / 2, np.abs(z).max()))
    return Convex(solid, look.rotation, np.asarray(look.position, dtype=float), reach, np.inf)


def _rounded(look: Visual, rounding: float, thickness: float) -> float:
    if rounding and not rounding < thickness / 2:
        remedy = f"it must be below half the thickness, {thickness / 2:.3g} m"
        raise ModelError(f"contact of a {look.kind}", "rounding", rounding, remedy)
    return rounding


def excess_volume(look: Visual) -> float:
    """Return by which factor the convex solid of a geometry is larger than itself; nan for an open surface."""
    if look.kind == "tube":
        outer, inner = look.size["outer"], look.size["inner"]
        return outer**2 / (outer**2 - inner**2)
    if look.outline is not None:
        return _area(_hull(look.outline)) / abs(_area(look.outline))
    if look.kind != "mesh":
        return 1.0
    surface = surface_of(look)
    return np.nan if surface.error else _hull_of(look, surface.corners).volume / surface.solid()[0]


def _line(rod: Shape) -> Visual:
    """Return a slender rod, which is not drawn, as a cylinder of zero radius."""
    return Visual("cylinder", dict(rod.size), np.array(rod.com, dtype=float), np.eye(3))


def solid_of_points(points: Array, radius: float = 0.0) -> Solid:
    """Return the convex hull of points (k, 3) m, grown by a radius, m.

    Coplanar points make a plate without thickness, collinear ones a segment.
    """
    return _Hull.of(points).solid(radius)


@dataclass(frozen=True, eq=False)
class _Hull:
    """Convex hull: corners (k, 3), faces as loops of corners, volume m3, thickness m, and its planes (m, 4)."""

    corners: Array
    loops: list[IndexArray]
    volume: float = 0.0
    thickness: float = 0.0
    planes: Array | None = None

    @classmethod
    def of(cls, points: Array) -> _Hull:
        size = float(np.ptp(points, axis=0).max(initial=0.0))
        centered = points - points.mean(axis=0)
        _, spread, axes = (
            np.linalg.svd(centered, full_matrices=False) if len(points) > 1 else (None, np.zeros(3), np.eye(3))
        )
        dimension = int((spread > FLATNESS * size).sum()) if size else 0
        if dimension == 3:
            return _hull_faces(points, size)
        if dimension == 2:
            corners = np.array([points.mean(axis=0) + xy @ axes[:2] for xy in _hull(centered @ axes[:2].T)])
            loop = np.arange(len(corners))
            return cls(corners, [loop, loop[::-1]])
        if dimension == 1:
            along = centered @ axes[0]
            return cls(points[[int(along.argmin()), int(along.argmax())]], [])
        return cls(points[:1], [])

    def solid(self, radius: float = 0.0) -> Solid:
        flat = [int(k) for loop in self.loops for k in loop]
        corners = np.ascontiguousarray(self.corners, dtype=float)
        return Solid(corners, np.array([0.0, 0.0, radius]), flat, [len(loop) for loop in self.loops])

    def inset(self, distance: float) -> Array:
        """Return the corners (k, 3) of the polytope whose faces lie inside by a distance below half the thickness."""
        from scipy.spatial import HalfspaceIntersection

        assert self.planes is not None
        moved = self.planes + np.array([0.0, 0.0, 0.0, distance])
        return np.asarray(HalfspaceIntersection(moved, self.corners.mean(axis=0)).intersections)


# hulls of meshes: several bodies show one surface, and a system is compiled more than once
_mesh_hulls: WeakKeyDictionary[TriangleMesh, _Hull] = WeakKeyDictionary()


def _hull_of(look: Visual, points: Array) -> _Hull:
    if look.kind != "mesh":
        return _Hull.of(points)
    surface = surface_of(look)
    if surface not in _mesh_hulls:
        _mesh_hulls[surface] = _Hull.of(points)
    return _mesh_hulls[surface]


def _hull_faces(points: Array, size: float) -> _Hull:
    """Return a hull; the corners of each face are counterclockwise as seen from outside."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    corners = points[hull.vertices]
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    planes, members = np.zeros((len(hull.simplices), 4)), [set[int]() for _ in hull.simplices]
    count = 0
    for equation, simplex in zip(hull.equations, hull.simplices, strict=True):
        known = planes[:count]
        distance = np.abs(points[simplex] @ known[:, :3].T + known[:, 3]).max(axis=0, initial=0.0)
        same = np.flatnonzero((known[:, :3] @ equation[:3] > 1.0 - FLATNESS) & (distance < FLATNESS * size))
        if not len(same):
            planes[count] = equation
            count += 1
        members[int(same[0]) if len(same) else count - 1].update(number[simplex].tolist())
    planes = planes[:count]
    loops = [
        _loop(corners, plane[:3], np.array(sorted(own))) for plane, own in zip(planes, members[:count], strict=True)
    ]
    thickness = -2.0 * float((planes[:, :3] @ corners.mean(axis=0) + planes[:, 3]).max())
    return _Hull(corners, loops, float(hull.volume), thickness, planes)


def _loop(corners: Array, normal: Array, members: IndexArray) -> IndexArray:
    """Return the members of a face in counterclockwise order about its normal."""
    middle = corners[members].mean(axis=0)
    first = corners[members[0]] - middle
    across = np.cross(normal, first)
    offsets = corners[members] - middle
    return members[np.argsort(np.arctan2(offsets @ across, offsets @ first * np.linalg.norm(normal)))]


def _solid_of(
    kind: str, size: dict[str, float], outline: Array | None
) -> tuple[Array | None, tuple[float, float, float]]:
    """Return points (k, 3) (None for a cylinder about z), half length, radius, and offset radius, m."""
    if outline is not None:
        half = size["thickness"] / 2
        return np.array([(*corner, z) for corner in _hull(outline) for z in (-half, half)]), (0.0, 0.0, 0.0)
    if kind in ("box", "plate"):
        edges = (size["x"], size["y"], size["thickness" if kind == "plate" else "z"])
        corners = [
            [sign * edge / 2 for sign, edge in zip(signs, edges, strict=True)] for signs in product((-1, 1), repeat=3)
        ]
        return np.array(corners), (0.0, 0.0, 0.0)
    if kind == "sphere":
        return np.zeros((1, 3)), (0.0, 0.0, size["radius"])
    half = size["length"] / 2
    if kind == "capsule" or not size.get("radius", 1.0):  # a slender rod is a line
        return np.array([[0.0, 0.0, -half], [0.0, 0.0, half]]), (0.0, 0.0, size["radius"])
    return None, (half, size["outer"] if kind == "tube" else size["radius"], 0.0)


def _along(size: dict[str, float]) -> Array:
    """Return the rotation from z to the axis named in a size; identity if none is named."""
    return np.roll(np.eye(3), int(size.get("axis", 2.0)) + 1, axis=0)


def _hull(outline: Array) -> Array:
    """Return the vertices (k, 2) of the convex hull of an outline."""
    points = sorted({(float(x), float(y)) for x, y in outline})
    sides: list[list[tuple[float, float]]] = []
    for run in (points, points[::-1]):
        kept: list[tuple[float, float]] = []
        for p in run:
            while len(kept) > 1 and _cross(kept[-2], kept[-1], p) <= 0.0:
                kept.pop()
            kept.append(p)
        sides.append(kept[:-1])
    return np.array(sides[0] + sides[1])


def _cross(o: tuple[float, float], a: tuple[float, float], b: tuple[float, float]) -> float:
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def _area(outline: Array) -> float:
    x, y = outline, np.roll(outline, -1, axis=0)
    return float((x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]).sum() / 2)


def _is_convex(outline: Array) -> bool:
    a, b = outline, np.roll(outline, -1, axis=0)
    along = b - a
    after = np.roll(along, -1, axis=0)
    size = float(np.abs(along).max())
    return bool((along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] >= -1e-9 * size * size).all())
