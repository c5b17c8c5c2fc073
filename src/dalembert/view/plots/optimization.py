"""Plots of optimizations: history of the objective, synthesized linkages, optimal motions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...motion import circuits
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...studies import Linkage, OptimalMotion, Optimum, ParetoFront

__all__ = ["plot_front", "plot_linkage", "plot_motion", "plot_optimum"]

_WIDTH, _HEIGHT = 6.0, 3.6  # inches
_GREY = "#999999"


def plot_optimum(found: Optimum, *, ax: Any = None, path: Any = None) -> Axes:
    """Plot the objective at every evaluated point, search by search, and return the axes.

    Points that keep the constraints are filled, others hollow, those that failed stand on the lower edge; the line is
    the best of each search so far.
    """
    records = found.records
    with style.panel(ax, path, _WIDTH, _HEIGHT) as axes:
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
            style.plain_log(axes.yaxis)
        axes.set_xlabel("point")
        axes.set_ylabel(found.goal.label)
        style.add_grid(axes)
        style.legend_beside(axes)
    return axes


def plot_front(front: ParetoFront, *, ax: Any = None, path: Any = None) -> Axes:
    """Plot the front and all evaluated points in the first two objectives, and return the axes."""
    with style.panel(ax, path, _WIDTH, _HEIGHT) as axes:
        labels = front.labels if len(front.labels) > 1 else (front.names[0], *front.labels)
        x, y = (front.history[label].to_numpy() for label in labels[:2])
        kept = front.history["violation"].to_numpy() <= 1e-6
        axes.plot(x[~kept], y[~kept], "o", mfc="none", color=_GREY, markersize=3, label="violates constraints")
        axes.plot(x[kept], y[kept], "o", color=_GREY, markersize=3, label="dominated")
        table = front.table
        axes.plot(table[labels[0]], table[labels[1]], "o-", color=style.PALETTE[0], markersize=4, label="front")
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        style.add_grid(axes)
        style.legend_beside(axes)
    return axes


def plot_linkage(linkage: Linkage, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw a linkage at its first position with its precision points and the paths of its markers."""
    model, q = linkage.model, linkage.q
    plane = "".join("xyz"[k] for k in linkage.plane)
    points = [w for w in linkage.wanted if w.kind == "point"]
    every = circuits(model, state=q[0]) if model.nc else ()
    with style.styled():
        axes = model.system.draw(q[0], view=plane, ax=ax)
        for number, w in enumerate(points):
            color = style.PALETTE[number % len(style.PALETTE)]
            columns = list(linkage.plane) if w.values.shape[1] == 2 else [0, 1, 2]
            for circuit in every:
                on = [j for j, one in enumerate(q) if circuit.contains(one)]
                for way in circuit.paths if on else ():
                    x, y = model.pose(w.name, way.q)[1][:, list(linkage.plane)].T
                    axes.plot(x, y, color=color, linewidth=1.2, zorder=1.5)
            at = w.values[:, [columns.index(k) for k in linkage.plane]]
            axes.plot(*at.T, "o", color=style.INK, markersize=4, zorder=5)
            for j, spot in enumerate(at):
                axes.annotate(str(j), spot, xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.autoscale(tight=False)
        axes.relim()
        axes.autoscale_view()
        if path is not None:
            style.save(axes.figure, path)
    return axes


def plot_motion(found: OptimalMotion, *, path: Any = None) -> tuple[Axes, Axes]:
    """Plot coordinates above and efforts below, over time, and return both axes."""
    model = found.result.model
    assert model is not None
    with style.panels(path, 6.0, 4.6, 2, 1, sharex=True) as (above, below):
        for k, name in enumerate(model.speed_names):
            above.plot(found.t, found.q[:, k], ".-", markersize=4, label=name)
        for name, effort in found.efforts.items():
            below.plot(found.t, effort, ".-", markersize=4, label=name)
        above.set_ylabel("coordinates [rad, m]")
        below.set_ylabel("efforts [N m, N]")
        below.set_xlabel("t [s]")
        for axes in (above, below):
            style.add_grid(axes)
            style.legend_beside(axes)
    return above, below
