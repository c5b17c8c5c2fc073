"""Extents of bodies about markers and axes of joints, which determine where symbols are visible."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from .solids import of_body, turned_z

__all__ = ["axis_of", "covered", "extent", "thickness"]


def thickness(first: Any, second: Any, axis: Any) -> float:
    """Return the extent of the bodies of two markers along an axis, m, beyond which a symbol on the pin is visible."""
    found = [0.0]
    for marker in (first, second):
        along = marker.rotation @ np.asarray(axis, dtype=float)
        for solid in () if marker.body.name == "ground" else of_body(marker.body, around=8):
            off = solid.corners - marker.position
            slack = 1e-6 * float(np.ptp(off, axis=0).max())
            if (off.min(axis=0) <= slack).all() and (off.max(axis=0) >= -slack).all():
                far = float(np.abs(off @ along).max())
                across = np.linalg.norm(off - np.outer(off @ along, along), axis=1).max()
                found.append(far if far < across else 0.0)  # a pin along a bar is short
    return max(found)


def extent(marker: Any) -> float:
    """Return the extent of a body's shape from a marker, m."""
    solids = () if marker.body.name == "ground" else of_body(marker.body, around=8)
    return max((float(np.linalg.norm(s.corners - marker.position, axis=1).max()) for s in solids), default=0.0)


def covered(marker: Any, radius: float) -> bool:
    """Return whether a body's shape already shows a circle of a radius (m) about a marker."""
    return 0 < 0.8 * radius < extent(marker) < 1.5 * radius


def axis_of(element: Any, coordinate: int) -> tuple[Array, bool]:
    """Return the axis of a joint coordinate, in marker axes, and whether it is an angle."""
    units = element.coordinate_units
    turning = coordinate >= len(units) or units[coordinate] != "m"
    if element.kind == "Universal":
        return np.asarray((element.axis_1, element.axis_2)[min(coordinate, 1)], dtype=float), True
    axis = getattr(element, "axis", None)
    if axis is None:
        axis = getattr(element, "normal", None)
    axis = np.array([0.0, 0.0, 1.0]) if axis is None else np.asarray(axis, dtype=float)
    if element.kind == "Planar" and not turning:
        axis = turned_z(axis)[:, coordinate % 2]
    return axis, turning
