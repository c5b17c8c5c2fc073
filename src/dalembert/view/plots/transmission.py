"""Pictures of transmission: ratios and angles over the motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError
from ...motion.geometry.transmission import TransmissionAngle
from ...motion.geometry.velocity_ratios import Ratio
from ...result import Output, Result
from .. import style
from ..drawing.background import MechanismCanvas, panel_below, reach_of

__all__ = ["over_axis", "plot_ratio", "plot_transmission"]

Array = NDArray[np.float64]

_POOR = 40.0  # degrees: below, designers take care (VDI 2123)
_STEEP = 8.0


def plot_ratio(ratio: Ratio, *, ax: Any = None, path: Any = None, over: str | None = None) -> Any:
    """Draw a ratio over time or over an output; what is close to infinite is cut off.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    """
    panel = style.axes_for(ax, path, 6.4, 2.9)
    x, title = over_axis(ratio.result, over)
    values = np.where(np.isfinite(ratio.values), ratio.values, np.nan)
    typical = float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 1.0
    limit = _STEEP * typical
    shown = np.where(np.abs(values) > limit, np.nan, values)
    panel.plot(x, shown, color=style.PALETTE[0])
    panel.margins(y=0.16)
    panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
    for k, time in enumerate(ratio.poles):
        where = np.interp(time, ratio.t, x)
        label = f"{ratio.to} at rest" if k == 0 else None
        panel.axvline(where, color=style.PALETTE[1], linewidth=0.8, linestyle=(0, (5, 2)), label=label)
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
) -> Any:
    """Draw the transmission angle over the motion and, beside it, the mechanism where it is least.

    Parameters
    ----------
    over : str
        Output for the horizontal axis, ``"A"``; time if left out.
    view : str
        Of the mechanism, which is not drawn on given axes.
    """
    e = angle.extremes
    row = int(np.abs(angle.t - e.t_least).argmin()) if np.isfinite(e.t_least) else 0
    canvas = None
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
    x, title = over_axis(angle.result, over)
    degrees = np.degrees(angle.transmission)
    panel.axhspan(0.0, _POOR, color=style.tint(style.PALETTE[1], 0.88), zorder=0, linewidth=0)
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
    canvas.ax.set_title("where it is least", fontsize=9, loc="left")
    return [canvas.ax, panel]


def over_axis(result: Result, over: str | None) -> tuple[Array, str]:
    """Return what stands on the horizontal axis, (n,), and its title."""
    if over is None:
        return np.asarray(result.t), result.axis.label
    values = result[over]
    if values.ndim != 1:
        raise ModelError("plot", "over", over, "give an output that is one number, such as 'A'")
    unit = Output.of(result.require_model(), over).unit
    return (np.degrees(values), f"{over} [°]") if unit == "rad" else (values, f"{over} [{unit}]")


def _mark(panel: Any, x: float, y: float, text: str) -> None:
    panel.plot(x, y, "o", color=style.INK, markersize=4, zorder=6)
    low, high = panel.get_ylim()
    above = y > (low + high) / 2
    panel.annotate(
        text, (x, y), xytext=(0, 7 if above else -7), textcoords="offset points", ha="center",
        va="bottom" if above else "top", fontsize=8,
    )  # fmt: skip
