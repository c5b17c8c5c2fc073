"""Symbols of mechanism drawings, as points of lines in the plane or in space, of any size.

Functions of the plane take and return (k, 2), those of space (k, 3); lengths are in m. Paths for markers have their
origin at the joint.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import Array
from .solids import turned_z

__all__ = ["center_of_mass", "dashpot", "frame_block", "ground_pivot", "hatching", "helix", "pyramid", "zigzag"]


N_COILS = 6  # of a spring
LEAD_LENGTH = 0.18  # straight part at either end, of the length of a spring


def zigzag(start: Array, end: Array, width: float, *, coils: int = N_COILS) -> Array:
    """Return a spring between two points of the plane."""
    along = end - start
    length = float(np.hypot(*along))
    across = np.array([-along[1], along[0]]) / length if length else np.array([0.0, 1.0])
    teeth = 2 * coils
    share = np.concatenate(
        [
            [0.0, LEAD_LENGTH],
            LEAD_LENGTH + (1 - 2 * LEAD_LENGTH) * (np.arange(teeth) + 0.5) / teeth,
            [1 - LEAD_LENGTH, 1.0],
        ]
    )
    side = np.concatenate([[0.0, 0.0], np.where(np.arange(teeth) % 2, -1.0, 1.0), [0.0, 0.0]])
    return start + share[:, None] * along + (width / 2 * side)[:, None] * across


def dashpot(start: Array, end: Array, width: float) -> list[Array]:
    """Return the rod with its piston, and the cup with its rod, of a damper in the plane."""
    along = end - start
    length = float(np.hypot(*along))
    across = np.array([-along[1], along[0]]) / length if length else np.array([0.0, 1.0])

    def at(share: float, side: float) -> Array:
        return start + share * along + side * width / 2 * across

    return [
        np.array([at(0, 0), at(0.5, 0)]),
        np.array([at(0.5, -0.75), at(0.5, 0.75)]),
        np.array([at(0.36, -1), at(0.64, -1), at(0.64, 1), at(0.36, 1)]),
        np.array([at(0.64, 0), at(1, 0)]),
    ]


def helix(start: Array, end: Array, width: float, *, coils: int = N_COILS) -> Array:
    """Return a coil spring between two points of space."""
    along = end - start
    length = float(np.linalg.norm(along))
    frame = turned_z(along / length if length else np.array([0.0, 0.0, 1.0]))
    share = np.linspace(LEAD_LENGTH, 1 - LEAD_LENGTH, 16 * coils + 1)
    angle = np.linspace(0, 2 * np.pi * coils, 16 * coils + 1)
    coil = (
        start + share[:, None] * along + width / 2 * (np.column_stack([np.cos(angle), np.sin(angle)]) @ frame[:, :2].T)
    )
    ends = start + np.array([0.0, LEAD_LENGTH, 1 - LEAD_LENGTH, 1.0])[:, None] * along
    return np.concatenate([ends[:2], coil, ends[2:]])


def frame_block(center: Array, along: Array, length: float, width: float) -> Array:
    """Return the corners (4, 2) of a slider block, or of a pin seen from the side."""
    across = np.array([-along[1], along[0]])
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) / 2
    return np.asarray(center + corners[:, :1] * length * along + corners[:, 1:] * width * across)


def hatching(start: Array, end: Array, side: Array, step: float) -> list[Array]:
    """Return a line of ground, and the strokes of length about `step` (m) on its solid side."""
    along = end - start
    length = float(np.hypot(*along))
    count = max(round(length / step), 2)
    feet = start + ((np.arange(count) + 0.5) / count)[:, None] * along
    stroke = step * (side - 0.8 * along / length)
    return [np.array([start, end]), *(np.array([foot, foot + stroke]) for foot in feet)]


def pyramid(apex: Array, down: Array, size: float) -> list[Array]:
    """Return the lines of a ground pivot in space: four legs, a square foot and its hatching."""
    frame = turned_z(down)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float)
    foot = apex + size * (1.4 * down + 0.8 * corners @ frame[:, :2].T)
    lines = [np.array([apex, corner]) for corner in foot]
    lines.append(np.concatenate([foot, foot[:1]]))
    for share in (1 / 3, 2 / 3, 1.0):
        lines.append(np.array([foot[0] + share * (foot[1] - foot[0]), foot[0] + share * (foot[3] - foot[0])]))
        if share < 1:
            lines.append(np.array([foot[2] + share * (foot[1] - foot[2]), foot[2] + share * (foot[3] - foot[2])]))
    return lines


def ground_pivot(down: Array, *, feet: bool = True) -> Any:
    """Return the marker path of a hatched ground bearing that stands in direction `down`; 2 units reach its end.

    Parameters
    ----------
    feet : bool
        With the triangle of a bearing; without it only the hatched line through the point.
    """
    from matplotlib.path import Path

    depth = 1.35 if feet else 0.0
    strokes: list[list[tuple[float, float]]] = [[(-1.3, -depth), (1.3, -depth)]]
    if feet:
        strokes.append([(0, 0), (-0.8, -depth), (0.8, -depth), (0, 0)])
    strokes += [[(x, -depth), (x - 0.45, -depth - 0.5)] for x in np.linspace(-0.85, 1.3, 6)]
    angle = math.atan2(down[1], down[0]) + math.pi / 2
    c, s = math.cos(angle), math.sin(angle)
    vertices = np.array([point for stroke in strokes for point in stroke]) @ np.array([[c, s], [-s, c]])
    codes = [Path.MOVETO if k == 0 else Path.LINETO for stroke in strokes for k in range(len(stroke))]
    return Path(_padded(vertices), [*codes, Path.MOVETO])


def center_of_mass() -> Any:
    """Return the marker path of a centre of mass: a circle with a cross; 2 units across."""
    from matplotlib.path import Path

    circle = Path.unit_circle()
    cross = Path([(-1, 0), (1, 0), (0, -1), (0, 1)], [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO])
    return Path.make_compound_path(circle, cross)


def _padded(vertices: Array) -> Array:
    """Add a stroke of no length at (2, 2), so that markers of every direction are scaled alike."""
    return np.concatenate([vertices, [(2.0, 2.0)]])
