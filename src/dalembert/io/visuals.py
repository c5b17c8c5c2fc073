"""Visuals of a body for export: its shape and its meshes as one list."""

from __future__ import annotations

from dataclasses import replace

from ..bodies.body import Body
from ..bodies.visuals import Visual, visual_of_shape

__all__ = ["visuals_of"]


def visuals_of(body: Body) -> list[Visual]:
    """Return the visuals of a body, that of its shape first; a rod without thickness has none."""
    own = None if body.shape is None else visual_of_shape(body.shape)
    looks = list(body.visuals) if own is None else [own, *body.visuals]
    return [replace(look, color=body.color) if look.color is None else look for look in looks]
