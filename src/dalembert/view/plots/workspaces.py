"""Plots of workspaces: reach, number of assemblies, condition number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...motion import Workspace

__all__ = ["plot_workspace"]


_WIDTH, _HEIGHT = 5.2, 4.2  # inches
MAX_CONDITION = 100.0  # larger condition numbers have the same colour


def plot_workspace(
    found: Workspace, what: str = "reachable", *, mode: Sequence[int] | None = None, ax: Any = None, path: Any = None
) -> Axes:
    """Plot a workspace with its boundary, and return the axes.

    Parameters
    ----------
    found : Workspace
        On a grid in space, points on the boundary are drawn.
    what : str
        ``"reachable"``, ``"ways"`` (number of assemblies), ``"condition"`` (of a working mode, with the curves on which
        the platform can move with locked actuators).
    mode : sequence of int
        Working mode; that of the start configuration if left out.
    ax : matplotlib axes
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """
    if what not in ("reachable", "ways", "condition"):
        raise ModelError("plot", "what", what, "use 'reachable', 'ways' or 'condition'")
    solid = len(found.grid) == 3
    if solid and what != "reachable":
        raise ModelError("plot", "what", what, "on a grid in space only 'reachable' can be drawn")
    with style.panel(ax, path, _WIDTH, _HEIGHT, solid=solid) as axes:
        if solid:
            _cloud(axes, found)
        else:
            _map(axes, found, what, mode)
            for k, curve in enumerate(found.boundary):
                axes.plot(*curve.T, color=style.INK, linewidth=1.1, label="boundary" if k == 0 else "_nolegend_")
            axes.set_aspect("equal")
            axes.set_xlim(found.grid[0][0], found.grid[0][-1])
            axes.set_ylim(found.grid[1][0], found.grid[1][-1])
            axes.set_title(f"{found.target}: {_title(what)}", loc="left")
        axes.set_xlabel(f"{found.axes[0]} [m]")
        axes.set_ylabel(f"{found.axes[1]} [m]")
    return axes


def _title(what: str) -> str:
    return {"reachable": "reach", "ways": "ways to assemble", "condition": "condition number"}[what]


def _map(axes: Any, found: Workspace, what: str, mode: Sequence[int] | None) -> None:
    colors, ticker = style.matplotlib().colors, style.matplotlib().ticker
    x, y = found.grid
    if what == "condition":
        values = found.condition(mode)
        shown = np.clip(values, 1.0, MAX_CONDITION)
        norm = colors.LogNorm(1.0, MAX_CONDITION)
        image = axes.pcolormesh(x, y, shown.T, norm=norm, cmap="viridis_r", shading="nearest", rasterized=True)
        bar = axes.figure.colorbar(image, ax=axes, extend="max", shrink=0.85, pad=0.03)
        bar.ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        bar.outline.set_linewidth(0.6)
        _yielding(axes, found, mode)
        return
    image = np.where(found.reachable, np.abs(found.ways), 0)
    if what == "reachable":
        image = np.where(found.reachable, 1, 0)
        shades = colors.ListedColormap([style.PAPER, style.tint(style.PALETTE[0], 0.65)])
        axes.pcolormesh(x, y, image.T, cmap=shades, vmin=0, vmax=1, shading="nearest", rasterized=True)
        return
    numbers = np.unique(image)
    blues = [style.tint(style.PALETTE[0], share) for share in np.linspace(0.8, 0.1, max(1, (numbers > 0).sum()))]
    shades = colors.ListedColormap([style.PAPER, *blues] if numbers[0] == 0 else blues)
    order = np.searchsorted(numbers, image)
    mesh = axes.pcolormesh(
        x, y, order.T, cmap=shades, vmin=-0.5, vmax=len(numbers) - 0.5, shading="nearest", rasterized=True
    )
    bar = axes.figure.colorbar(mesh, ax=axes, ticks=range(len(numbers)), shrink=0.85, pad=0.03)
    bar.ax.set_yticklabels([str(n) for n in numbers])
    bar.outline.set_linewidth(0.6)


def _yielding(axes: Any, found: Workspace, mode: Sequence[int] | None) -> None:
    """Draw the curves on which the platform can move with locked actuators."""
    try:
        determinant = found.determinant(mode)
    except ModelError:
        return
    known = determinant[np.isfinite(determinant)]
    if len(known) and known.min() < 0 < known.max():
        size = np.sign(determinant) * np.abs(determinant) ** 0.25  # smaller range, with the same zeros
        axes.contour(*found.grid, size.T, levels=[0.0], colors=style.PALETTE[1], linewidths=1.4)
        axes.plot([], [], color=style.PALETTE[1], linewidth=1.4, label="yields though locked")
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.13), borderaxespad=0.0, ncols=2)


def _cloud(axes: Any, found: Workspace) -> None:
    points = np.concatenate(found.boundary) if found.boundary else np.zeros((0, 3))
    axes.scatter(*points.T, s=3, c=points[:, 2], cmap="viridis", linewidths=0)
    axes.set_zlabel(f"{found.axes[2]} [m]")
    axes.set_aspect("equal")
