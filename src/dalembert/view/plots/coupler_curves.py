"""Plots of coupler curves: the path on the mechanism, and its curvature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...motion.geometry.coupler_curves import CouplerCurve
from ...motion.geometry.relative_motion import row_of
from .. import style
from ..drawing.background import MechanismCanvas, panel_below, to_world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curve"]

MAX_CURVATURE = 12.0  # of the median: larger curvatures are cut off


def plot_curve(
    curve: CouplerCurve,
    *,
    ax: Any = None,
    path: Any = None,
    row: int | None = None,
    t: float | None = None,
    view: str = "auto",
    curvature: bool = True,
) -> Axes | list[Axes]:
    """Draw a path with the mechanism at one row; its cusps, inflections and double points; and its curvature below.

    Parameters
    ----------
    row, t : int, or float in s
        Position of the mechanism; the first row if left out.
    view : str
    curvature : bool
        Whether curvature, and torsion of a path in space, are drawn over the arc length; not on given axes.
    """
    result = curve.result
    k = row_of(result, 0 if row is None and t is None else row, t, "plot")
    seen, track = curve._fine
    fine = track.between(2)

    def world(points: Any) -> Any:
        return to_world(result, seen.base, k, np.asarray(points, dtype=float).reshape(-1, 3))

    line = world(track(fine))
    marker = curve._marker
    canvas = MechanismCanvas(
        result,
        k,
        [line],
        ax=ax,
        path=path,
        view=view,
        below=2.1 if curvature and ax is None else 0.0,
        points=[marker],
        still=True,
    )
    color = style.PALETTE[3]
    canvas.line(line, color, linewidth=1.7)
    spots = (
        ("cusp", curve.cusps, "^", style.INK),
        ("turning point", curve.returns, "|", style.INK),
        ("inflection", curve.inflections, "s", style.PALETTE[2]),
        ("double point", curve.double_points, "D", style.PALETTE[4]),
    )
    for name, found, mark, tone in spots:
        if found:
            look = {"markeredgecolor": tone, "markersize": 9} if mark == "|" else {}
            plural = "s" if len(found) > 1 else ""
            canvas.dots(world([s.point for s in found]), tone, mark, label=f"{name}{plural}", **look)
    canvas.finish()
    if canvas.lower is None:
        return canvas.ax
    _curvature(canvas.lower, curve, spots)
    return [canvas.ax, canvas.lower]


def _curvature(panel: Any, curve: CouplerCurve, spots: Any) -> None:
    values, length = curve.curvature, curve.length
    typical = float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 0.0
    limit = MAX_CURVATURE * typical
    panel.plot(length, values, color=style.PALETTE[3], label="curvature")
    shown = values[np.isfinite(values)]
    if curve.normal is None:
        panel.plot(length, curve.torsion, color=style.PALETTE[0], linestyle=(0, (5, 1.6)), label="torsion")
        shown = np.concatenate([shown, curve.torsion[np.isfinite(curve.torsion)]])
        panel.legend(loc="upper left", bbox_to_anchor=(0.0, 1.2), ncols=2)
    panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
    for name, found, mark, tone in spots:
        if name == "inflection" and found:
            places = np.interp([s.t[0] for s in found], curve.t, length)
            panel.plot(places, np.zeros(len(places)), linestyle="none", marker=mark, color=tone, markersize=4)
    if limit and len(shown) and np.abs(shown).max() > limit:
        low, high = np.clip([shown.min(), shown.max()], -limit, limit)
        room = 0.06 * (high - low)
        panel.set_ylim(low - room, high + room)
        text = f"cut off: up to {np.abs(shown).max():.3g} 1/m"
        panel.text(0.995, 0.96, text, transform=panel.transAxes, ha="right", va="top", fontsize=7, color=style.FAINT)
    panel_below(panel, "curvature" if curve.normal is not None else "", "1/m", "arc length [m]")
