"""Plots of screw axes: the axodes as ruled surfaces, and the pitch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...motion.geometry.relative_motion import row_of
from ...motion.geometry.screw_axes import ScrewAxes
from .. import style
from ..drawing.axes import spread
from ..drawing.background import MechanismCanvas, panel_below, reach_of, to_world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_axodes"]


MAX_LINES = 61  # of an axode


def plot_axodes(
    axes: ScrewAxes,
    *,
    ax: Any = None,
    path: Any = None,
    row: int | None = None,
    t: float | None = None,
    length: float | None = None,
    pitch: bool = True,
) -> Axes | list[Axes]:
    """Draw fixed and moving axode with the mechanism at one row, and the pitch over time.

    Parameters
    ----------
    row, t : int, or float in s
        Position of the mechanism; the first row if left out.
    length : float, m
        Of the lines that are drawn of the axes; to suit the mechanism if left out.
    pitch : bool
        Whether the pitch is drawn; not on given axes.
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    result = axes.result
    k = row_of(result, 0 if row is None and t is None else row, t, "plot")
    seen = axes.seen
    low, high = reach_of(result, k)
    size = float((high - low).max())
    half = (0.55 * size if length is None else float(length)) / 2

    rows = spread(len(axes.t), MAX_LINES)
    fixed = _lines(axes.point[rows], axes.direction[rows], half, seen.position[rows])
    moving = _lines(axes.moving_point[rows], axes.moving_direction[rows], half, np.zeros((len(rows), 3)))
    moving = moving @ seen.rotation[k].T + seen.position[k]
    near = np.abs(fixed.mean(axis=1) - (low + high) / 2).max(axis=1) < 2.5 * size
    fixed, moving = (
        np.stack([to_world(result, seen.base, k, part[:, e]) for e in range(2)], axis=1) for part in (fixed, moving)
    )
    near &= np.isfinite(fixed).all(axis=(1, 2)) & np.isfinite(moving).all(axis=(1, 2))
    shown = [part[near].reshape(-1, 3) for part in (fixed, moving)]
    canvas = MechanismCanvas(
        result, k, shown, ax=ax, path=path, view="3d", below=1.9 if pitch and ax is None else 0.0, still=True
    )
    space: Any = canvas.ax
    for part, color, name in (
        (fixed, style.PALETTE[0], f"fixed axode ({axes.relative_to})"),
        (moving, style.PALETTE[1], f"moving axode ({axes.body})"),
    ):
        panels = [
            np.array([part[i, 0], part[i, 1], part[i + 1, 1], part[i + 1, 0]])
            for i in range(len(part) - 1)
            if near[i] and near[i + 1]
        ]
        if panels:
            space.add_collection3d(Poly3DCollection(panels, facecolor=color, alpha=0.13, edgecolor="none"))
        if near.any():
            space.add_collection3d(Line3DCollection(part[near], colors=color, linewidths=0.7, alpha=0.8))
        canvas.ax.plot([], [], [], color=color, label=name)
    now = to_world(
        result, seen.base, k, _lines(axes.point[[k]], axes.direction[[k]], 1.25 * half, seen.position[[k]])[0]
    )
    if np.isfinite(now).all():
        h = axes.pitch[k]
        canvas.line(now, style.INK, linewidth=2.0, label=f"screw axis now, pitch {h:.4g} m/rad", zorder=8)
    canvas.finish()
    if canvas.lower is None:
        return canvas.ax
    canvas.lower.plot(axes.t, np.where(np.isfinite(axes.pitch), axes.pitch, np.nan), color=style.PALETTE[0])
    canvas.lower.plot(axes.t[[k]], axes.pitch[[k]], "o", color=style.INK, markersize=4)
    panel_below(canvas.lower, "pitch", "m/rad", axes.result.axis.label)
    return [canvas.ax, canvas.lower]


def _lines(point: Array, direction: Array, half: float, origin: Array) -> Array:
    """Return segments (n, 2, 3) m of lines, centred at the points nearest to `origin`."""
    middle = point + ((origin - point) * direction).sum(axis=1, keepdims=True) * direction
    return np.stack([middle - half * direction, middle + half * direction], axis=1)
