"""Plots of tolerances: contributions to the error of an output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...motion.tolerance_analysis import Tolerances
from .. import style
from ..drawing.background import panel_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_tolerances"]

MAX_NAMED_DEVIATIONS = 8  # with a colour and a name


def plot_tolerances(report: Tolerances, *, ax: Any = None, path: Any = None, outputs: Any = None) -> Axes | list[Axes]:
    """Draw the contributions to the error of each output: bars at one position, stacked areas along a motion.

    Parameters
    ----------
    outputs : names
        Outputs to plot; those with an error if left out.
    """
    names = [outputs] if isinstance(outputs, str) else outputs
    if names is None:
        names = [name for m, name in enumerate(report.outputs) if report.worst[:, m].max() > 0] or report.outputs[:1]
    for name in names:
        if name not in report.outputs:
            raise ModelError("plot", "outputs", name, f"there are {', '.join(map(repr, report.outputs))}")
    places = [report.outputs.index(name) for name in names]
    still = len(report.t) == 1
    tall = (0.27 * len(report.deviations) + 0.95) if still else 2.4
    if ax is None:
        figure = style.figure(6.4, tall * len(places) + 0.3, shown=path is None)
        figure.set_layout_engine("constrained")
        panels = list(figure.subplots(len(places), 1, squeeze=False)[:, 0])
    elif len(places) == 1:
        panels = [style.axes_for(ax, path, 6.4, tall)]
    else:
        raise ModelError("plot", "ax", ax, f"there are {len(places)} outputs: name one by outputs=, or leave it out")
    for panel, m in zip(panels, places, strict=True):
        factor, unit = (1e3, "mm") if report.units[m] == "m" else (1e3, "mrad")
        if still:
            _bars(panel, report, m, factor, unit)
        else:
            _bands(panel, report, m, factor, unit)
    return panels if len(panels) > 1 else panels[0]


def _bars(panel: Any, report: Tolerances, m: int, factor: float, unit: str) -> None:
    share = factor * report.contributions[0, m]
    order = np.argsort(share)
    names = [f"{report.deviations[k]}  ±{1e3 * report.amounts[k]:.3g} {_small(report, int(k))}" for k in order]
    panel.barh(np.arange(len(order)), share[order], color=style.PALETTE[0], height=0.62)
    panel.set_yticks(np.arange(len(order)), names)
    panel.tick_params(axis="y", length=0)
    worst, rss = factor * report.worst[0, m], factor * report.rss[0, m]
    panel.axvline(rss, color=style.PALETTE[1], linewidth=1.3, label=f"root of squares {rss:.3g} {unit}")
    panel.axvline(
        worst, color=style.INK, linewidth=1.3, linestyle=(0, (5, 1.6)), label=f"worst case {worst:.3g} {unit}"
    )
    panel.legend(loc="lower right", bbox_to_anchor=(0.94, 0.0), frameon=True, framealpha=0.9, edgecolor="none")
    panel.set_xlim(0, 1.05 * worst if worst else 1.0)
    panel.set_xlabel(f"error of {report.outputs[m]} [{unit}]")
    panel.grid(True, axis="x")
    panel.set_axisbelow(True)


def _bands(panel: Any, report: Tolerances, m: int, factor: float, unit: str) -> None:
    shares = factor * report.contributions[:, m].T
    order = np.argsort(-shares.max(axis=1))
    shown = [k for k in order[:MAX_NAMED_DEVIATIONS] if shares[k].max() > 0]
    rest = [k for k in order if k not in shown]
    layers = [shares[k] for k in shown] + ([shares[rest].sum(axis=0)] if shares[rest].any() else [])
    names = [report.deviations[k] for k in shown] + ["others"] * bool(shares[rest].any())
    colors: list[Any] = [style.tint(style.PALETTE[k % 6], 0.35 + 0.3 * (k // 6 % 2)) for k in shown]
    colors += [style.tint(style.FAINT, 0.5)]
    panel.stackplot(report.t, *layers, labels=names, colors=colors[: len(layers)], linewidth=0)
    panel.plot(report.t, factor * report.worst[:, m], color=style.INK, linewidth=1.2, label="worst case")
    panel.plot(
        report.t, factor * report.rss[:, m], color=style.INK, linestyle=(0, (4, 1.5)), label="root of squares", zorder=5
    )
    panel.set_ylim(0, 1.08 * factor * float(report.worst[:, m].max()) or 1.0)
    style.legend_beside(panel)
    panel_below(panel, f"error of {report.outputs[m]}", unit, report.axis.label)


def _small(report: Tolerances, k: int) -> str:
    return "mm" if report._what[k].unit == "m" else "mrad"
