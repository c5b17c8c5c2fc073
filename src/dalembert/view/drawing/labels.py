"""Placement of labels where they cover least of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array

__all__ = ["Label", "place", "sampled", "write_labels"]


_LINE_DISTANCE = 3.0  # pt between a label and lines
_DIRECTIONS = np.array([(np.cos(a), np.sin(a)) for a in np.pi / 180 * np.array([45, 135, 315, 225, 0, 90, 180, 270])])


@dataclass(frozen=True, eq=False)
class Label:
    """Text with possible anchors.

    Attributes
    ----------
    text : str
    anchors : (k, 2) pt
        Points of the page beside which it may be placed, the best first.
    color : matplotlib color
    clearance : float, pt
        Distance from the anchor.
    size : float, pt
        Of the font.
    """

    text: str
    anchors: Array
    color: Any
    clearance: float
    size: float = 8.0

    @property
    def half(self) -> Array:
        """Approximate half width and half height of the text (2,) pt."""
        return np.array([0.3 * len(self.text) + 0.1, 0.55]) * self.size


def place(labels: list[Label], obstacles: Array, frame: tuple[Array, Array]) -> list[Array]:
    """Return the centre (2,) pt of every label.

    Parameters
    ----------
    labels : list of Label
        In the order of placement.
    obstacles : (k, 2) pt
        Points of the drawing, about 3 pt apart.
    frame : ((2,), (2,)) pt
        Corners of the axes.
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
    """Return the cost of the parts of the drawing and of other labels that a label would cover."""
    gaps = np.maximum(np.abs(obstacles - center) - half, 0.0).max(axis=1, initial=0.0)
    cost = float(0.5 * (gaps == 0).sum() + 0.25 * (gaps < _LINE_DISTANCE).sum())
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


def write_labels(ax: Any, labels: Sequence[Label], points: Sequence[Any], obstacles: Sequence[Array]) -> list[Any]:
    """Write labels beside points where they cover least, and return the texts.

    Parameters
    ----------
    ax : matplotlib axes
    labels : list of Label
    points : list of (2,) or (3,)
        Position of the first anchor of each label, in coordinates of the axes.
    obstacles : list of (k, 2) pt
        Lines of the page that labels should not cover.
    """
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import offset_copy

    scale = 72 / ax.figure.dpi
    box = ax.get_window_extent()
    frame = (np.array([box.x0, box.y0]) * scale, np.array([box.x1, box.y1]) * scale)
    taken = np.concatenate([np.zeros((0, 2)), *(sampled(line) for line in obstacles if len(line))])
    texts = []
    for label, point, center in zip(labels, points, place(list(labels), taken, frame), strict=True):
        dx, dy = center - label.anchors[0]
        texts.append(
            ax.text(
                *(float(x) for x in point), label.text, color=label.color, fontsize=label.size, ha="center",
                va="center", zorder=8, transform=offset_copy(ax.transData, ax.figure, dx, dy, units="points"),
                path_effects=[withStroke(linewidth=1.8, foreground=(1, 1, 1, 0.85))], gid=f"name {label.text}",
            )
        )  # fmt: skip
    return texts
