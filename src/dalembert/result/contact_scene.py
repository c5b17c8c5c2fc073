"""Scene of a model: its contact shapes in the core, and contact points and gaps at given configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray, IndexArray
from ..compile.contacts import ContactTables
from ..model import Model
from ..model.cache import cached_per_model

__all__ = ["ScenePoints", "contact_scene", "make_scene", "pair_names", "scene_gaps", "scene_points"]


@dataclass(frozen=True, eq=False)
class ScenePoints:
    """Points of shapes that are near each other, at k configurations.

    Attributes
    ----------
    time, contact : (n,) int
        Index of the configuration, and in ``model.contacts.names``.
    shapes, features : (n, 2) int
    normal : (n, 3)
        From the first to the second shape, world axes.
    on_first, on_second : (n, 3) m
        World axes.
    gap : (n,) m
        Negative where shapes overlap.
    """

    time: IndexArray
    contact: IndexArray
    shapes: IndexArray
    features: IndexArray
    normal: Array
    on_first: Array
    on_second: Array
    gap: Array


def make_scene(model: Model, tables: ContactTables, excluded: IndexArray | None = None) -> _core.ContactScene:
    """Return the scene of contact tables in the core; rows of `excluded` (k, 3) are pairs left out besides."""
    shapes = tables.shapes
    poses = [np.concatenate([s.convex.rotation.ravel(), s.convex.position]) for s in shapes]
    rows = tables.excluded if excluded is None else np.concatenate([tables.excluded, excluded])
    numbers = [[m.friction, m.static_friction, m.restitution, m.rolling, m.spin] for m in tables.materials]
    materials = np.array(numbers, dtype=float)
    return _core.ContactScene(
        model,
        np.ascontiguousarray(tables.bodies, dtype=np.int64),
        np.ascontiguousarray(np.array(poses, dtype=float).reshape(-1)),
        [shape.convex.solid for shape in shapes],
        np.array([shape.surface for shape in shapes], dtype=np.int64),
        np.array([[shape.type, shape.affinity] for shape in shapes], dtype=np.int64).ravel(),
        [side.tolist() for pair in tables.memberships for side in pair],
        [bool(one) for one in tables.filtered],
        np.ascontiguousarray(rows.ravel(), dtype=np.int64),
        np.ascontiguousarray(tables.material_index.ravel(), dtype=np.int64),
        np.ascontiguousarray(materials.ravel()),
        len(tables.surfaces),
        [shape.thickness for shape in shapes],
    )


@cached_per_model
def contact_scene(model: Model) -> _core.ContactScene:
    """Return the scene of a model with contacts."""
    assert model.contacts is not None
    return make_scene(model, model.contacts)


def scene_points(model: Model, q: Array, margin: float, scene: _core.ContactScene | None = None) -> ScenePoints:
    """Return the points of shapes nearer than a margin, m, at configurations q (k, nq)."""
    R, p = model.poses(q)
    raw = np.ascontiguousarray(np.concatenate([R.reshape(*R.shape[:-2], 9), p], axis=-1))
    names, numbers = (contact_scene(model) if scene is None else scene).points(model, raw, margin)
    whole = names.astype(np.int64)
    return ScenePoints(
        whole[:, 0],
        whole[:, 1],
        whole[:, 2:4],
        whole[:, 4:6],
        numbers[:, :3],
        numbers[:, 3:6],
        numbers[:, 6:9],
        numbers[:, 9],
    )


def scene_gaps(model: Model, q: Array, chosen: Any) -> Array:
    """Return the least gap (k,) m of chosen pairs at configurations q (k, nq); infinite if there is none.

    `chosen` maps contacts (n,) and shapes (n, 2) of points to a mask.
    """
    found = scene_points(model, q, FAR)
    mine: BoolArray = chosen(found.contact, found.shapes)
    least = np.full(len(q), np.inf)
    np.minimum.at(least, found.time[mine], found.gap[mine])
    return least


FAR = 1e6  # m: margin of gaps; boxes around shapes stay finite


def pair_names(model: Model) -> dict[str, tuple[int, int, int]]:
    """Return the names of the pairs of bodies that may touch, ``"floor/crate"``, with contact and numbers of bodies."""
    return _pair_names(model)


@cached_per_model
def _pair_names(model: Model) -> dict[str, tuple[int, int, int]]:
    tables = model.contacts
    if tables is None:
        return {}
    bodies = tables.bodies
    found: dict[str, tuple[int, int, int]] = {}
    for c, (one, two) in enumerate(tables.memberships):
        for i in np.unique(bodies[one]).tolist():
            for j in np.unique(bodies[two]).tolist():
                if i != j:
                    found.setdefault(tables.pair_name(c, i, j), (c, i, j))
    return found
