"""Visuals of a body for export: its shape and its meshes as one list."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..bodies.body import Body
from ..bodies.visuals import Visual, visual_of_shape

__all__ = ["AXES_FROM_Z", "visuals_of"]

# columns: axes of a geometry whose z lies along x, y, z of the body, for formats whose cylinders are along z
AXES_FROM_Z = (
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    np.eye(3),
)


def visuals_of(body: Body) -> list[Visual]:
    """Return the visuals of a body, that of its shape first; a rod without thickness has none."""
    own = None if body.shape is None else visual_of_shape(body.shape)
    visuals = list(body.visuals) if own is None else [own, *body.visuals]
    return [replace(visual, color=body.color) if visual.color is None else visual for visual in visuals]
