"""Pictures of searches: how the objective came down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import style

if TYPE_CHECKING:
    from ..studies.optimising import Optimum

__all__ = ["plot_optimum"]

_WIDTH, _HEIGHT = 6.0, 3.6  # inches


def plot_optimum(found: Optimum, *, ax: Any = None, path: Any = None) -> Any:
    """Plot the objective at every point that was looked at, searches one after the other, and return the axes.

    Points that keep the constraints are filled, others hollow, those that failed stand on the lower edge; the line is
    the best of each search so far.
    """
    style.matplotlib()
    records = found.records
    with style.styled():
        axes = style.axes_for(ax, path, _WIDTH, _HEIGHT)
        count = np.arange(len(records))
        value = np.array([r.objective for r in records])
        search = np.array([r.trial for r in records])
        kept = np.array([r.violation <= 1e-6 for r in records])
        failed = np.array([bool(r.error) for r in records])
        sign = -1.0 if found.objective == np.nanmax(value) and found.objective != np.nanmin(value) else 1.0
        color = style.PALETTE[0]
        axes.plot(count[kept], value[kept], "o", color=color, markersize=3.5, label="keeps constraints")
        other = ~kept & ~failed
        if other.any():
            axes.plot(count[other], value[other], "o", mfc="none", color=color, markersize=3.5, label="does not")
        if failed.any():
            edge = axes.get_xaxis_transform()
            axes.plot(
                count[failed], np.zeros(failed.sum()), "x", color=style.PALETTE[1], transform=edge, label="failed"
            )
        for number in np.unique(search):
            mine = search == number
            best = sign * np.fmin.accumulate(np.where(kept[mine], sign * value[mine], np.nan))
            label = "best of a search" if number == search[0] else None
            axes.plot(count[mine], best, color=style.INK, linewidth=1.0, label=label)
        positive = value[np.isfinite(value)]
        if len(positive) and positive.min() > 0 and positive.max() > 100 * positive.min():
            axes.set_yscale("log")
        axes.set_xlabel("point")
        axes.set_ylabel(found.goal.label)
        axes.grid(True)
        axes.set_axisbelow(True)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0)
        if path is not None:
            style.save(axes.figure, path)
    return axes
