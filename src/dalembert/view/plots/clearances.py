"""Pictures of clearance: distances of bodies over a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...motion.geometry.clearance import Clearance
from .. import style
from .transmission import over_axis

__all__ = ["plot_clearance"]

_NAMED = 5  # pairs with colours of their own, the closest first


def plot_clearance(gaps: Clearance, *, ax: Any = None, path: Any = None, over: str | None = None) -> Any:
    """Draw the distances of all pairs, with the least and the first interference.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    x, title = over_axis(gaps.result, over)
    order = np.argsort(gaps.distance.min(axis=0), kind="stable")
    for rank, k in reversed(list(enumerate(order.tolist()))):
        named = rank < _NAMED
        color = style.PALETTE[rank % len(style.PALETTE)] if named else style.FAINT
        label = f"{gaps.pairs[k][0]} and {gaps.pairs[k][1]}" if named else None
        panel.plot(
            x, gaps.distance[:, k], color=color, linewidth=1.2 if named else 0.7, label=label, zorder=3 - 0.1 * rank
        )
    if gaps.min_distance > 0.0:
        panel.axhline(gaps.min_distance, color=style.INK, linewidth=0.7, linestyle=(0, (5, 2)), zorder=1)
    first, least = gaps.interference, gaps.least
    if first is not None:
        where = float(np.interp(first.t, gaps.t, x))
        panel.axvline(where, color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        panel.annotate(
            "interference", (where, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3),
            textcoords="offset points", va="top", fontsize=8,
        )  # fmt: skip
    else:
        panel.plot(np.interp(least.t, gaps.t, x), least.distance, "o", color=style.INK, markersize=4, zorder=6)
        panel.annotate(
            f"{least.distance:.4g} m", (float(np.interp(least.t, gaps.t, x)), least.distance), xytext=(0, -6),
            textcoords="offset points", ha="center", va="top", fontsize=8,
        )  # fmt: skip
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(float(x.min()), float(x.max()))
    handles, labels = panel.get_legend_handles_labels()
    panel.legend(handles[::-1], labels[::-1], loc="best", frameon=True, framealpha=0.85, edgecolor="none")
    panel.set_xlabel(title)
    panel.set_ylabel("distance [m]")
    return panel
