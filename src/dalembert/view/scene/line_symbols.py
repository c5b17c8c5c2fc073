"""Line symbols between two points, in the plane and in space: springs, cylinders, cables, muscles, bars."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..style import INK
from . import symbols
from .solids import turned_z
from .symbol_shapes import COLORS

__all__ = ["color_of", "in_plane", "in_space"]


_WIDE = {"bar": 0.35, "beam": 0.5, "cylinder": 1.0, "bumper": 1.1, "muscle": 1.1}


def color_of(look: str) -> str:
    """Return the colour of a line symbol."""
    return COLORS.get(look, INK)


def in_plane(look: str, start: Array, end: Array, width: float) -> list[Array]:
    """Return the lines (k, 2) of a symbol between two points (2,) m of the plane; a spring is `width` (m) wide."""
    along = end - start
    length = float(np.hypot(*along))
    if length == 0:
        return [np.array([start, end])]
    across = np.array([-along[1], along[0]]) / length

    def at(share: float | Array, side: float | Array) -> Array:
        """Return points by their share of the length and their lateral offset in widths."""
        return np.asarray(start + np.multiply.outer(share, along) + width * np.multiply.outer(side, across))

    if look == "spring":
        return [symbols.zigzag(start, end, width)]
    if look == "damper":
        return symbols.dashpot(start, end, 0.8 * width)
    if look == "series":
        middle = at(0.5, 0.0)
        return [symbols.zigzag(start, middle, width), *symbols.dashpot(middle, end, 0.8 * width)]
    if look == "both":
        near, far = 0.12, 0.88
        beams = [at(np.array([s, s]), np.array([-0.8, 0.8])) for s in (near, far)]
        leads = [at(np.array([0.0, near]), np.zeros(2)), at(np.array([far, 1.0]), np.zeros(2))]
        coil = symbols.zigzag(at(near, 0.8), at(far, 0.8), width)
        return [*leads, *beams, coil, *symbols.dashpot(at(near, -0.8), at(far, -0.8), 0.8 * width)]
    wide = _WIDE.get(look, 0.0) / 2
    if look == "cylinder":
        barrel = at(np.array([0.0, 0.55, 0.55, 0.0, 0.0]), wide * np.array([1, 1, -1, -1, 1]))
        piston = at(np.array([0.45, 0.45]), wide * np.array([-1, 1]))
        return [barrel, piston, at(np.array([0.45, 1.0]), np.zeros(2))]
    if look == "bumper":
        block = at(np.array([0.0, 0.3, 0.4, 0.3, 0.0, 0.0]), wide * np.array([1, 1, 0, -1, -1, 1]))
        return [block, at(np.array([0.4, 1.0]), np.zeros(2))]
    if look == "muscle":
        s = np.linspace(0.0, 1.0, 25)
        belly = wide * np.sin(np.pi * np.clip((s - 0.12) / 0.76, 0.0, 1.0)) ** 1.5
        return [at(s, side * belly) for side in (1.0, 0.4, -0.4, -1.0)]
    if look in ("bar", "beam"):
        return [at(np.array([0.0, 1.0, 1.0, 0.0, 0.0]), wide * np.array([1, 1, -1, -1, 1]))]
    if look == "link":
        count = max(3, min(40, int(length / (0.35 * width))))
        edges = np.linspace(0.0, 1.0, 2 * count)
        return [at(edges[k : k + 2], np.zeros(2)) for k in range(0, 2 * count, 2)]
    return [np.array([start, end])]


def in_space(look: str, start: Array, end: Array, width: float) -> list[Array]:
    """Return the lines (k, 3) of a symbol between two points (3,) m of space."""
    along = end - start
    length = float(np.linalg.norm(along))
    if length == 0:
        return [np.array([start, end])]
    if look in ("spring", "both"):
        coil = symbols.helix(start, end, width)
        return [coil] if look == "spring" else [coil, np.array([start, end])]
    frame = turned_z(along / length)
    flat = in_plane(look, np.zeros(2), np.array([length, 0.0]), width)
    # visible from all sides: the plane symbol twice, at right angles
    turns = (frame[:, 0],) if look in ("link", "cable", "line", "series") else (frame[:, 0], frame[:, 1])
    return [
        start + np.outer(line[:, 0] / length, along) + np.outer(line[:, 1], side) for side in turns for line in flat
    ]
