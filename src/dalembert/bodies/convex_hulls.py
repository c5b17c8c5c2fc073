"""Convex solids of a body's shapes for distances: hulls of points and cylinders, each with a radius."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from .._core import Solid
from ..arrays import Array, IndexArray
from ..errors import ModelError
from .body import Body
from .shapes import Shape
from .visuals import Visual, surface_of, visual_of_shape

__all__ = ["Convex", "convex_parts", "solid_of_points"]

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
        Radius of a ball about its origin that contains it.
    """

    solid: Solid
    rotation: Array
    position: Array
    reach: float

    def poses(self, R: Array, p: Array) -> Array:
        """Return rotation and position (n, 12) of the frame of the piece at body poses R (n, 3, 3), p (n, 3)."""
        turned = R @ self.rotation
        return np.concatenate([turned.reshape(len(R), 9), p + R @ self.position], axis=1)


def convex_parts(body: Body) -> tuple[list[Convex], list[str]]:
    """Return the convex pieces of a body, from its collision geometry if any, and notes."""
    parts: list[Convex] = []
    remarks: list[str] = []
    looks = [v for v in body.visuals if v.collision]
    given = looks or list(body.visuals)
    if body.shape is not None and not looks:
        given.insert(0, visual_of_shape(body.shape) or _line(body.shape))
    for look in given:
        kind, size = look.kind, look.size
        if kind == "mesh":
            try:
                points: Array | None = np.asarray(surface_of(look).corners, dtype=float)
            except ModelError as error:
                remarks.append(f"{body.name}: a mesh is ignored: {error}")
                continue
            remarks.append(f"{body.name}: the hull around a mesh was taken")
            sizes = (0.0, 0.0, 0.0)
        else:
            points, sizes = _solid_of(kind, size, look.outline)
        if look.outline is not None and not _is_convex(look.outline):
            remarks.append(f"{body.name}: an outline is not convex; the hull around it was taken")
        if kind == "tube":
            remarks.append(f"{body.name}: the bore of a tube counts as full")
        solid = solid_of_points(points, sizes[2]) if points is not None else Solid(np.zeros((0, 3)), np.array(sizes))
        far = np.hypot(sizes[0], sizes[1]) if points is None else float(np.linalg.norm(points, axis=1).max())
        turned = look.rotation @ _along(size)
        parts.append(Convex(solid, turned, np.asarray(look.position, dtype=float), float(far) + sizes[2]))
    return parts, remarks


def _line(rod: Shape) -> Visual:
    """Return a slender rod, which is not drawn, as a cylinder of zero radius."""
    return Visual("cylinder", dict(rod.size), np.array(rod.com, dtype=float), np.eye(3))


def solid_of_points(points: Array, radius: float = 0.0) -> Solid:
    """Return the convex hull of points (k, 3) m, grown by a radius, m.

    Coplanar points make a plate without thickness, collinear ones a segment.
    """
    size = float(np.ptp(points, axis=0).max(initial=0.0))
    centered = points - points.mean(axis=0)
    _, spread, axes = (
        np.linalg.svd(centered, full_matrices=False) if len(points) > 1 else (None, np.zeros(3), np.eye(3))
    )
    dimension = int((spread > FLATNESS * size).sum()) if size else 0
    loops: list[IndexArray] = []
    if dimension == 3:
        corners, loops = _hull_faces(points, size)
    elif dimension == 2:
        corners = np.array([points.mean(axis=0) + xy @ axes[:2] for xy in _hull(centered @ axes[:2].T)])
        loop = np.arange(len(corners))
        loops = [loop, loop[::-1]]
    elif dimension == 1:
        along = centered @ axes[0]
        corners = points[[int(along.argmin()), int(along.argmax())]]
    else:
        corners = points[:1]
    sizes = np.array([0.0, 0.0, radius])
    flat = [int(k) for loop in loops for k in loop]
    return Solid(np.ascontiguousarray(corners, dtype=float), sizes, flat, [len(loop) for loop in loops])


def _hull_faces(points: Array, size: float) -> tuple[Array, list[IndexArray]]:
    """Return the corners (k, 3) of a hull, and those of each face, counterclockwise as seen from outside."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    corners = points[hull.vertices]
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    groups: list[tuple[Array, set[int]]] = []
    for equation, simplex in zip(hull.equations, hull.simplices, strict=True):
        for plane, members in groups:
            distance = points[simplex] @ plane[:3] + plane[3]
            if plane[:3] @ equation[:3] > 1.0 - FLATNESS and np.abs(distance).max() < FLATNESS * size:
                members.update(number[simplex].tolist())
                break
        else:
            groups.append((equation, set(number[simplex].tolist())))
    return corners, [_loop(corners, plane[:3], np.array(sorted(members))) for plane, members in groups]


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


def _is_convex(outline: Array) -> bool:
    a, b = outline, np.roll(outline, -1, axis=0)
    along = b - a
    after = np.roll(along, -1, axis=0)
    size = float(np.abs(along).max())
    return bool((along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] >= -1e-9 * size * size).all())
