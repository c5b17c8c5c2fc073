"""Plots of kinematic quantities over the input: ratios, transmission angle, clearance, mobility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...motion.geometry.clearance import Clearance
from ...motion.geometry.mobility_range import MobilityRange
from ...motion.geometry.transmission import TransmissionAngle
from ...motion.geometry.velocity_ratios import Ratio
from ...result import Output, Result
from .. import style
from ..drawing.background import MechanismCanvas, panel_below, reach_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_clearance", "plot_mobility", "plot_ratio", "plot_transmission"]


MIN_TRANSMISSION_ANGLE = 40.0  # degrees: smaller angles are poor (VDI 2123)
MAX_RATIO = 8.0  # of the median: larger ratios are cut off
MAX_NAMED_PAIRS = 5  # pairs of bodies with a colour and a name, the closest first
_DOTS, _DASHES = (0, (1, 2)), (0, (5, 2))


def plot_ratio(ratio: Ratio, *, ax: Any = None, path: Any = None, over: str | None = None) -> Axes:
    """Draw a ratio over time or over an output; values near infinity are cut off.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    x, title = _horizontal(ratio.result, over)
    values = np.where(np.isfinite(ratio.values), ratio.values, np.nan)
    typical = float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 1.0
    limit = MAX_RATIO * typical
    shown = np.where(np.abs(values) > limit, np.nan, values)
    panel.plot(x, shown, color=style.PALETTE[0])
    panel.margins(y=0.16)
    panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
    for k, time in enumerate(ratio.poles):
        where = np.interp(time, ratio.t, x)
        label = f"{ratio.to} at rest" if k == 0 else None
        panel.axvline(where, color=style.PALETTE[1], linewidth=0.8, linestyle=_DASHES, label=label)
    for k, time in enumerate(ratio.zeros):
        label = f"{ratio.of} at rest" if k == 0 else None
        panel.plot(np.interp(time, ratio.t, x), 0.0, "o", color=style.PALETTE[2], markersize=4.5, label=label)
    if not ratio.poles:
        e = ratio.extremes
        for value, time in ((e.least, e.t_least), (e.greatest, e.t_greatest)):
            _mark(panel, float(np.interp(time, ratio.t, x)), value, f"{value:.4g}")
    if ratio.poles or ratio.zeros:
        panel.legend(loc="upper right", frameon=True, framealpha=0.85, edgecolor="none")
    unit = "" if ratio.unit == "1" else ratio.unit
    if ratio.name == "mechanical advantage":
        quantity = f"load at {ratio.to} per effort at {ratio.of}"
        unit = {"rad/m": "N per N m", "m/rad": "N m per N"}.get(ratio.unit, "")
    else:
        quantity = f"{ratio.of} per {ratio.to}"
    panel_below(panel, quantity, unit, title)
    return panel


def plot_transmission(
    angle: TransmissionAngle, *, ax: Any = None, path: Any = None, over: str | None = None, view: str = "auto"
) -> Axes | list[Axes]:
    """Draw the transmission angle over the motion, beside the mechanism at the least angle.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    view : str
        Of the mechanism, which is not drawn on axes given by `ax`.
    """
    e = angle.extremes
    row = int(np.abs(angle.t - e.t_least).argmin()) if np.isfinite(e.t_least) else 0
    canvas: MechanismCanvas | None = None
    panel: Axes
    low, high = reach_of(angle.result, row)
    size = 0.28 * float((high - low).max())
    point, force, velocity = angle.point[row], angle.force[row], angle.velocity[row]
    along = velocity / max(float(np.linalg.norm(velocity)), 1e-300)
    force = force * (1.0 if force @ along >= 0 else -1.0)
    if ax is None:
        tips = point + size * np.array([force, along])
        canvas = MechanismCanvas(angle.result, row, [tips], path=path, view=view, still=True, beside=4.6)
        panel = canvas.lower
    else:
        panel = style.axes_for(ax, path, 6.4, 3.0)
    x, title = _horizontal(angle.result, over)
    degrees = np.degrees(angle.transmission)
    panel.axhspan(0.0, MIN_TRANSMISSION_ANGLE, color=style.tint(style.PALETTE[1], 0.88), zorder=0, linewidth=0)
    panel.plot(x, degrees, color=style.PALETTE[0])
    panel.set_ylim(0, 92)
    panel.set_yticks([0, 15, 30, 45, 60, 75, 90])
    _mark(panel, float(np.interp(e.t_least, angle.t, x)), float(np.degrees(e.least)), f"{np.degrees(e.least):.3g}°")
    panel_below(panel, f"transmission angle at {angle.at}", "°", title)
    if canvas is None:
        return panel
    for direction, color, name in ((force, "#B00020", "F"), (along, style.PALETTE[2], "v")):
        if np.isfinite(direction).all():
            canvas.arrow(point, point + size * direction, color)
            canvas.label(name, point + size * direction, color)
    canvas.finish(legend="none")
    canvas.ax.set_title("position of the least angle", fontsize=9, loc="left")
    return [canvas.ax, panel]


def plot_clearance(gaps: Clearance, *, ax: Any = None, path: Any = None, over: str | None = None) -> Axes:
    """Draw the distances of all pairs of bodies, with the least distance or the first interference.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    x, title = _horizontal(gaps.result, over)
    order = np.argsort(gaps.distance.min(axis=0), kind="stable")
    for rank, k in reversed(list(enumerate(order.tolist()))):
        named = rank < MAX_NAMED_PAIRS
        color = style.PALETTE[rank % len(style.PALETTE)] if named else style.FAINT
        label = f"{gaps.pairs[k][0]} and {gaps.pairs[k][1]}" if named else None
        panel.plot(
            x, gaps.distance[:, k], color=color, linewidth=1.2 if named else 0.7, label=label, zorder=3 - 0.1 * rank
        )
    if gaps.min_distance > 0.0:
        panel.axhline(gaps.min_distance, color=style.INK, linewidth=0.7, linestyle=_DASHES, zorder=1)
    first, least = gaps.interference, gaps.least
    if first is not None:
        _mark_line(panel, float(np.interp(first.t, gaps.t, x)), "interference")
    else:
        _mark(panel, float(np.interp(least.t, gaps.t, x)), least.distance, f"{least.distance:.4g} m", above=False)
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(float(x.min()), float(x.max()))
    handles, labels = panel.get_legend_handles_labels()
    panel.legend(handles[::-1], labels[::-1], loc="best", frameon=True, framealpha=0.85, edgecolor="none")
    panel.set_xlabel(title)
    panel.set_ylabel("distance [m]")
    return panel


def plot_mobility(found: MobilityRange, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw the smallest singular values: distance from singular positions, and of the drive from dead points.

    A line marks positions with another mobility than most.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    curves = [("mechanism", found.smallest)]
    if found.drive:
        curves.append((f"driven by {', '.join(found.drive)}", found.grip))
    usual = int(np.bincount(found.mobility).argmax())
    for k, (name, values) in enumerate(curves):
        size = np.where(np.isfinite(values), values, np.nan)
        if k == 0:  # the vanishing singular value, not the next one
            size = np.where(found.mobility > usual, 0.0, size)
        panel.plot(found.at, size, color=style.PALETTE[k], linewidth=1.3, label=name)
        least = int(np.nanargmin(size)) if np.isfinite(size).any() else None
        if least is not None and len(found.at) > 1:
            _mark(panel, float(found.at[least]), float(size[least]), f"{size[least]:.3g}", above=True)
    for place, _, after in found.changes:
        if after != usual:
            _mark_line(panel, float(found.at[place]), f"mobility {after}")
    panel.set_ylim(bottom=0.0)
    if len(found.at) > 1:
        panel.set_xlim(float(found.at.min()), float(found.at.max()))
    panel.set_title(f"mobility {usual}", fontsize=9, loc="left")
    panel.set_xlabel(found.axis.label)
    panel.set_ylabel("smallest singular value")
    style.legend_beside(panel)
    return panel


def _horizontal(result: Result, over: str | None) -> tuple[Array, str]:
    """Return the values (n,) on the horizontal axis, and their label."""
    if over is None:
        return np.asarray(result.t), result.axis.label
    values = result[over]
    if values.ndim != 1:
        raise ModelError("plot", "over", over, "give a scalar output, such as 'A'")
    unit = Output.of(result.require_model(), over).unit
    return (np.degrees(values), f"{over} [°]") if unit == "rad" else (values, f"{over} [{unit}]")


def _mark(panel: Any, x: float, y: float, text: str, *, above: bool | None = None) -> None:
    """Mark a point of a curve by a dot and a text; if `above` is left out, above in the upper half."""
    panel.plot(x, y, "o", color=style.INK, markersize=4, zorder=6)
    up = y > sum(panel.get_ylim()) / 2 if above is None else above
    panel.annotate(
        text, (x, y), xytext=(0, 7 if up else -7), textcoords="offset points", ha="center",
        va="bottom" if up else "top", fontsize=8,
    )  # fmt: skip


def _mark_line(panel: Any, x: float, text: str) -> None:
    """Mark a value of the input by a dotted line and a text."""
    panel.axvline(x, color=style.INK, linewidth=0.8, linestyle=_DOTS, zorder=1)
    panel.annotate(
        text, (x, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3), textcoords="offset points", va="top",
        fontsize=8,
    )  # fmt: skip
