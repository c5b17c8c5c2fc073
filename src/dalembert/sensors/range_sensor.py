"""Range sensors: distance along a ray from a marker to the nearest surface.

A ray p = o + s d, |d| = 1, meets a shape, in the axes of the shape, at the smallest s >= 0 of

    sphere       |p| = r
    box, plate   slabs |p_k| = h_k
    cylinder     p_x^2 + p_y^2 = r^2 within |p_z| <= l/2, and its two discs; a rod is a cylinder from its end
    capsule      the same wall, and two spheres at its ends
    plane        p_z = 0
    mesh         triangles (Moller and Trumbore, J. Graphics Tools 2 (1997) 21-28)

A ray that starts inside of a solid meets its surface from within.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.visuals import Visual, surface_of, visual_of_shape
from ..checks import checked, finite_number
from ..connections.contacts.contact_group import PlacedShape
from ..errors import ModelError
from ..model import Model
from .kinds import checked_errors, marker_frame
from .sampling import SampledSensor, SensorErrors
from .sources import Source

__all__ = ["RangeSensor", "ray_distance"]

_ROUND_TOL = 1e-14  # of a squared direction: a ray along an axis


@checked("errors", "limit")
@dataclass(frozen=True, eq=False)
class RangeSensor(SampledSensor):
    """Distance along the x axis of a marker to the nearest surface of some bodies.

    Parameters
    ----------
    marker : Marker, Body or str
        Origin of the ray, and its direction: the x axis.
    targets : sequence of Body, str or PlacedShape
        Bodies with shapes, and shapes at markers: ``da.PlacedShape(da.plane(), s.ground)``. Box, plate, sphere,
        cylinder, rod with a radius, capsule, plane, mesh.
    limit : float, m
        Reading where nothing is nearer.
    errors : SensorErrors

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("drop")
    >>> ball = s.body("ball", da.sphere(0.1, mass=1.0))
    >>> _ = s.connect("fall", da.Prismatic("-z"), s.ground.at(0, 0, 2), ball)
    >>> down = ball.at(0, 0, -0.1, rotation=("y", 1.5707963267948966))
    >>> sensor = da.RangeSensor(down, [da.PlacedShape(da.plane(), s.ground)], errors=da.SensorErrors(period=0.1))
    >>> sensor.measure(da.simulate(s, 0.5)).values[:, 0].round(6)[-1]  # 1.9 - g t^2/2
    np.float64(0.67375)
    """

    marker: Any
    targets: Any
    limit: float = 10.0
    errors: SensorErrors = field(default_factory=SensorErrors)
    channel_names = ("distance",)
    channel_units = ("m",)

    def __post_init__(self) -> None:
        item = "RangeSensor"
        checked_errors(item, self.errors)
        if finite_number(self.limit, item=item, field="limit") <= 0:
            raise ModelError(item, "limit", self.limit, "give the largest distance, above zero")
        if isinstance(self.targets, (str, Body, PlacedShape)) or not isinstance(self.targets, Iterable):
            raise ModelError(item, "targets", self.targets, "give a list of bodies, names or da.PlacedShape(...)")
        object.__setattr__(self, "targets", tuple(self.targets))
        if not self.targets:
            raise ModelError(item, "targets", self.targets, "give at least one body with a shape")

    def true_values(self, source: Source) -> Array:
        """Return the distance (n, 1)."""
        model, n = source.model, len(source.q)
        pose = model.pose(marker_frame("RangeSensor", model, self.marker), source.q)
        nearest = np.full(n, float(self.limit))
        poses = model.poses(source.q)
        for body, look in self._looks(model):
            if body == "ground":
                R, p = np.eye(3)[None], np.zeros((1, 3))
            else:
                k = model.body_names.index(body)
                R, p = poses.rotation[:, k], poses.position[:, k]
            axes = R @ look.rotation
            start = (axes.transpose(0, 2, 1) @ (pose.position - p - R @ look.position)[..., None])[..., 0]
            direction = (axes.transpose(0, 2, 1) @ pose.rotation[..., :1])[..., 0]
            nearest = np.minimum(nearest, ray_distance(look, start, direction))
        return nearest[:, None]

    def _looks(self, model: Model) -> list[tuple[str, Visual]]:
        """Return names of bodies with the geometries of the targets."""
        found = []
        for target in self.targets:
            if isinstance(target, PlacedShape):
                marker, look = getattr(target.marker, "origin", target.marker), visual_of_shape(target.shape)
                if look is None:
                    raise ModelError("RangeSensor", "target", target, "a slender rod has no surface: give it a radius")
                position = marker.position + marker.rotation @ look.position
                placed = replace(look, position=position, rotation=marker.rotation @ look.rotation)
                found.append((marker.body.name, placed))
                continue
            name = target.name if isinstance(target, Body) else target
            body = model.system.bodies.get(name)
            if body is None:
                remedy = f"no body has that name; there are {', '.join(map(repr, model.system.bodies))}"
                raise ModelError("RangeSensor", "target", target, remedy)
            looks = [look for look in body.visuals if look.collision] or list(body.visuals)
            if body.shape is not None and not looks:
                own = visual_of_shape(body.shape)
                looks = [] if own is None else [own]
            if not looks:
                raise ModelError("RangeSensor", "target", name, "it has no shape: give one, or a da.PlacedShape")
            found += [(name, look) for look in looks]
        return found


def ray_distance(look: Visual, start: Array, direction: Array) -> Array:
    """Return the distances (n,) along rays (n, 3), in axes of a geometry, to its surface; infinity if they miss."""
    size, kind = look.size, look.kind
    if kind == "sphere":
        return _sphere(start, direction, size["radius"])
    if kind in ("box", "plate"):
        half = np.array([size["x"], size["y"], size["z" if kind == "box" else "thickness"]]) / 2
        return _box(start, direction, half)
    if kind in ("cylinder", "rod", "capsule"):
        axis = int(size.get("axis", 2))
        order = [(axis + 1) % 3, (axis + 2) % 3, axis]
        start, direction = start[:, order], direction[:, order]
        wall = _wall(start, direction, size["radius"], size["length"] / 2)
        ends = []
        for side in (-1.0, 1.0):
            if kind == "capsule":
                ends.append(_sphere(start - [0, 0, side * size["length"] / 2], direction, size["radius"], side))
            else:
                ends.append(_disc(start, direction, size["radius"], side * size["length"] / 2))
        return np.minimum(wall, np.minimum(*ends))
    if kind == "plane":
        return _positive(_ratio(-start[:, 2], direction[:, 2]))
    if kind == "mesh":
        mesh = surface_of(look)
        return _triangles(start, direction, mesh.corners, mesh.triangles)
    raise ModelError("RangeSensor", "shape", kind, "give box, plate, sphere, cylinder, rod, capsule, plane or mesh")


def _ratio(above: Array, below: Array) -> Array:
    """Return a quotient; infinity for a ray along the surface."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below != 0.0, above / np.where(below != 0.0, below, 1.0), np.inf)


def _positive(distance: Array) -> Array:
    return np.where(distance >= 0.0, distance, np.inf)


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return both roots of a s^2 + 2 b s + c = 0, in order; infinity if there are none."""
    inside = b * b - a * c
    some = (inside >= 0.0) & (a > _ROUND_TOL)
    root, below = np.sqrt(np.where(some, inside, 0.0)), np.where(some, a, 1.0)
    return np.where(some, (-b - root) / below, np.inf), np.where(some, (-b + root) / below, np.inf)


def _sphere(start: Array, direction: Array, radius: float, side: float = 0.0) -> Array:
    """Return the distance to a sphere; with a side, to its half beyond z = 0 on that side."""
    b, c = np.einsum("ni,ni->n", start, direction), np.einsum("ni,ni->n", start, start) - radius**2
    found = []
    for root in _roots(np.ones(len(start)), b, c):
        height = start[:, 2] + np.where(np.isfinite(root), root, 0.0) * direction[:, 2]
        found.append(np.where(side * height >= 0.0, _positive(root), np.inf))
    return np.minimum(*found)


def _box(start: Array, direction: Array, half: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-half - start) / direction, (half - start) / direction
    parallel = direction == 0.0
    outside = (parallel & (np.abs(start) > half)).any(axis=1)
    enter = np.where(parallel, -np.inf, np.minimum(one, two)).max(axis=1)
    leave = np.where(parallel, np.inf, np.maximum(one, two)).min(axis=1)
    missed = outside | (enter > leave) | (leave < 0.0)
    return np.where(missed, np.inf, np.where(enter >= 0.0, enter, leave))


def _wall(start: Array, direction: Array, radius: float, half: float) -> Array:
    a = (direction[:, :2] ** 2).sum(axis=1)
    b, c = (start[:, :2] * direction[:, :2]).sum(axis=1), (start[:, :2] ** 2).sum(axis=1) - radius**2
    found = []
    for root in _roots(a, b, c):
        height = start[:, 2] + np.where(np.isfinite(root), root, 0.0) * direction[:, 2]
        found.append(np.where(np.abs(height) <= half, _positive(root), np.inf))
    return np.minimum(*found)


def _disc(start: Array, direction: Array, radius: float, height: float) -> Array:
    distance = _positive(_ratio(height - start[:, 2], direction[:, 2]))
    where = start[:, :2] + np.where(np.isfinite(distance), distance, 0.0)[:, None] * direction[:, :2]
    return np.where((where**2).sum(axis=1) <= radius**2, distance, np.inf)


def _triangles(start: Array, direction: Array, corners: Array, triangles: Any) -> Array:
    origin = corners[triangles[:, 0]]
    e1, e2 = corners[triangles[:, 1]] - origin, corners[triangles[:, 2]] - origin
    nearest = np.full(len(start), np.inf)
    for k, (o, d) in enumerate(zip(start, direction, strict=True)):
        across = np.cross(d, e2)
        det = np.einsum("mi,mi->m", e1, across)
        met = det != 0.0
        inverse = 1.0 / np.where(met, det, 1.0)
        offset = o - origin
        u = np.einsum("mi,mi->m", offset, across) * inverse
        second = np.cross(offset, e1)
        v = second @ d * inverse
        s = np.einsum("mi,mi->m", e2, second) * inverse
        hit = met & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (s >= 0.0)
        if hit.any():
            nearest[k] = s[hit].min()
    return nearest
