"""Names beside what they name: each goes where it hides least."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Label", "place", "sampled"]

Array = NDArray[np.float64]

_AIR = 3.0  # pt that a label keeps from lines
_DIRECTIONS = np.array([(np.cos(a), np.sin(a)) for a in np.pi / 180 * np.array([45, 135, 315, 225, 0, 90, 180, 270])])


@dataclass(frozen=True, eq=False)
class Label:
    """A name, the points (k, 2) pt beside which it may stand, best first, and the distance pt it keeps from them."""

    text: str
    anchors: Array
    color: Any
    clearance: float
    size: float = 8.0

    @property
    def half(self) -> Array:
        """Half the width and height of the text, pt, by rule of thumb."""
        return np.array([0.3 * len(self.text) + 0.1, 0.55]) * self.size


def place(labels: list[Label], obstacles: Array, frame: tuple[Array, Array]) -> list[Array]:
    """Return the centre (2,) pt of every label.

    Parameters
    ----------
    labels : list of Label
        The first ones choose first.
    obstacles : (k, 2) pt
        Points of what is drawn, about 3 pt apart.
    frame : ((2,), (2,)) pt
        Corners that the labels should stay within.
    """
    placed: list[tuple[Array, Array]] = []
    for label in labels:
        options = [
            (rank, anchor, direction, far)
            for rank, anchor in enumerate(label.anchors)
            for far in (1.0, 1.6, 2.4)
            for direction in _DIRECTIONS
        ]
        best, least = label.anchors[0], np.inf
        for number, (rank, anchor, direction, far) in enumerate(options):
            center = anchor + direction * (label.clearance * far + label.half * (np.abs(direction) > 0.1))
            outside = (center - label.half < frame[0]).any() or (center + label.half > frame[1]).any()
            cost = 0.6 * far + 0.3 * rank + 1e-3 * number + 3.0 * outside
            cost += _hidden(center, label.half, obstacles, placed)
            if cost < least:
                best, least = center, cost
        placed.append((best, label.half))
    return [center for center, _ in placed]


def _hidden(center: Array, half: Array, obstacles: Array, placed: list[tuple[Array, Array]]) -> float:
    """Return how much a label would cover, of what is drawn and of other labels."""
    gaps = np.maximum(np.abs(obstacles - center) - half, 0.0).max(axis=1, initial=0.0)
    cost = float(0.5 * (gaps == 0).sum() + 0.25 * (gaps < _AIR).sum())
    for other, other_half in placed:
        gap = half + other_half + 1.0 - np.abs(center - other)
        if (gap > 0).all():
            cost += 10.0 + float(gap.prod())
    return cost


def sampled(line: Array, step: float = 3.0) -> Array:
    """Return points (k, 2) at most `step` apart along a polyline."""
    parts = [line[:1]]
    for a, b in pairwise(line):
        count = max(int(np.ceil(np.hypot(*(b - a)) / step)), 1)
        parts.append(a + (np.arange(1, count + 1) / count)[:, None] * (b - a))
    return np.concatenate(parts)
