"""Pictures of mobility along a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...motion.geometry.mobility_range import MobilityRange
from .. import style

__all__ = ["plot_mobility"]


def plot_mobility(found: MobilityRange, *, ax: Any = None, path: Any = None) -> Any:
    """Draw how far positions are from those with more degrees of freedom, and the drive from its dead points.

    Where the mobility is another than in most positions, its number stands at a line.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    curves = [("mechanism", found.smallest)]
    if found.drive:
        curves.append((f"driven by {', '.join(found.drive)}", found.grip))
    usual = int(np.bincount(found.mobility).argmax())
    for k, (name, values) in enumerate(curves):
        size = np.where(np.isfinite(values), values, np.nan)
        if k == 0:  # the singular value that vanishes there, not the next one
            size = np.where(found.mobility > usual, 0.0, size)
        panel.plot(found.at, size, color=style.PALETTE[k], linewidth=1.3, label=name)
        least = int(np.nanargmin(size)) if np.isfinite(size).any() else None
        if least is not None and len(found.at) > 1:
            panel.plot(found.at[least], size[least], "o", color=style.INK, markersize=4, zorder=6)
            panel.annotate(
                f"{size[least]:.3g}", (found.at[least], size[least]), xytext=(0, 6), textcoords="offset points",
                ha="center", fontsize=8,
            )  # fmt: skip
    for place, _, after in found.changes:
        if after != usual:
            panel.axvline(found.at[place], color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
            panel.annotate(
                f"mobility {after}", (found.at[place], 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3),
                textcoords="offset points", va="top", fontsize=8,
            )  # fmt: skip
    panel.set_ylim(bottom=0.0)
    if len(found.at) > 1:
        panel.set_xlim(float(found.at.min()), float(found.at.max()))
    panel.set_title(f"mobility {usual}", fontsize=9, loc="left")
    panel.set_xlabel(found.axis.label)
    panel.set_ylabel("smallest singular value")
    panel.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0)
    return panel
