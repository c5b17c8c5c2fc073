"""Drawing of a mechanism at one row of a motion, as background of a plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...result import Result
from .. import style
from ..scene.projection import Placement, choose_view
from ..scene.scene import Scene
from . import annotations as notes
from .axes import page_size, seen, spread, to_page
from .labels import Label, write_labels
from .planar_picture import PlanarPicture
from .spatial_picture import SpatialPicture
from .system_drawing import new_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MechanismCanvas", "clipped", "panel_below", "reach_of", "to_world"]


MAX_FITTED = 40  # rows that determine the limits
MIN_HEIGHT = 4.4  # inches, of a panel beside a drawing
MAX_NAMED_BODIES = 10


def to_world(result: Result, base: Marker | None, row: int, points: Array) -> Array:
    """Return points (n, 3) m, given in the axes of a marker, in the world at a row."""
    if base is None:
        return points
    R, p = result.require_model().pose(base, result.q[row])
    return np.asarray(points @ R.T + p)


def reach_of(result: Result, row: int | None = None) -> tuple[Array, Array]:
    """Return the lowest and highest coordinates (3,) m of a mechanism at a row, or in all its motion."""
    model = result.require_model()
    rows = spread(len(result), MAX_FITTED) if row is None else [row]
    return Scene(model).reach([Placement.of(model, np.asarray(result.q[k])) for k in rows])


def clipped(points: Array, low: Array, high: Array, share: float) -> Array:
    """Return points (n, 3), NaN if they are farther outside of a box than a share of its size."""
    room = share * float((high - low).max())
    inside = ((points >= low - room) & (points <= high + room)).all(axis=1, keepdims=True)
    return np.where(inside, points, np.nan)


class MechanismCanvas:
    """Drawing of a mechanism at one row, on axes that fit further lines.

    Parameters
    ----------
    result : Result
    row : int
    lines : list of (n, 3) m
        Lines to fit, in world axes; NaN separates them.
    ax, path
        As for pictures.
    view : str
    below : float, inches
        Height of a panel below the drawing, in a new figure; `lower` is its axes.
    beside : float, inches
        Width of a panel on the right.
    still : bool
        Fit this row alone, not the whole motion.
    """

    def __init__(
        self,
        result: Result,
        row: int,
        lines: Sequence[Array] = (),
        *,
        ax: Any = None,
        path: Any = None,
        view: str = "auto",
        below: float = 0.0,
        beside: float = 0.0,
        still: bool = False,
        names: bool = True,
        points: Sequence[Marker] = (),
    ) -> None:
        model = result.require_model()
        rows = [] if still else [k for k in spread(len(result), MAX_FITTED) if k != row]
        self.placements = [Placement.of(model, np.asarray(result.q[k])) for k in (row, *rows)]
        self.view = choose_view(model, self.placements[0], view)
        finite = [line[np.isfinite(line).all(axis=1)] for line in lines]
        finite = [line for line in finite if len(line)]
        self.lower: Any = None
        if ax is None and (below or beside):
            ax = self._split(model, finite, path, below, beside)
        marks = list(points)
        self.picture: PlanarPicture | SpatialPicture = new_picture(
            model, self.placements, self.view.name if view == "auto" else view, ax, path, finite, marks
        )
        self.ax: Axes = self.picture.ax
        if marks:
            notes.add_points(self.picture, self.placements[0], marks)
        self._names = names and len(self.picture.scene.bodies) <= MAX_NAMED_BODIES
        self._marks = marks
        self._lines = [line for line in finite if len(line) > 1]
        self._labels: list[tuple[str, Array, str]] = []

    def _split(self, model: Any, lines: list[Array], path: Any, below: float, beside: float) -> Any:
        """Make a figure for the drawing with a panel below or beside it; return the axes of the drawing."""
        scene = Scene(model)
        low, high = scene.reach(self.placements)
        for line in lines:
            low, high = np.minimum(low, line.min(axis=0)), np.maximum(high, line.max(axis=0))
        width, height = page_size(self.view, low, high)
        whole, tall = width + beside, max(height + below, MIN_HEIGHT if beside else 0.0)
        figure = style.figure(whole, tall, shown=path is None)
        left, foot, right, top = (0.6, 0.45, 0.15, 0.2) if self.view.flat else (0.1, 0.1, 0.1, 0.1)
        height = tall - below
        main = (left / whole, (below + foot) / tall, (width - left - right) / whole, (height - foot - top) / tall)
        if below:
            self.lower = figure.add_axes((0.65 / whole, 0.5 / tall, (whole - 0.85) / whole, (below - 0.75) / tall))
        else:
            self.lower = figure.add_axes(
                ((width + 0.65) / whole, foot / tall, (beside - 0.85) / whole, (tall - foot - top) / tall)
            )
        if self.view.flat:
            return figure.add_axes(main)
        return figure.add_axes(main, projection="3d", facecolor="none")

    # ---- drawing

    def line(self, points: Array, color: Any, **options: Any) -> Any:
        """Draw a line through points (n, 3) m."""
        look = {"linewidth": 1.3, "zorder": 2.6, "solid_capstyle": "round", **options}
        return self.ax.plot(*seen(self.view, points), color=color, **look)[0]

    def dots(self, points: Array, color: Any, marker: str = "o", **options: Any) -> Any:
        """Mark points (n, 3) m."""
        look = {"markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.6, "zorder": 6.5, **options}
        return self.ax.plot(
            *seen(self.view, points), linestyle="none", marker=marker, markerfacecolor=color, color=color, **look
        )[0]

    def arrow(self, start: Array, end: Array, color: Any) -> None:
        """Draw an arrow from one point (3,) m to another."""
        notes.add_arrow(self, start, end, color, width=1.5)

    def label(self, text: str, point: Array, color: Any = style.INK) -> None:
        """Add a label beside a point (3,) m; `finish` writes it."""
        if np.isfinite(point).all():
            self._labels.append((text, point, color))

    def finish(self, *, legend: str = "above") -> Axes:
        """Write names, labels and a legend, ``"above"``, ``"right"`` or ``"none"``, and return the axes.

        In space the legend is in the upper left corner, because the axes fill the page.
        """
        if legend != "none" and self.ax.get_legend_handles_labels()[0]:
            places: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.02, 0.98), "ncols": 1}
            if self.ax.get_gid() == "page":  # these axes are larger than the page
                places["bbox_transform"] = self.ax.figure.transFigure
            if self.view.flat and legend == "above":
                places = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 3, "borderaxespad": 0.2}
            elif self.view.flat:
                places = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
            self.ax.legend(columnspacing=1.2, **places)
        if self._names:
            notes.add_names(self.picture, self.placements[0], self._marks, self._lines)
        if self._labels:
            self._write()
        return self.ax

    def _write(self) -> None:
        """Write the labels; names that were written before are obstacles too."""
        ax: Any = self.ax
        ax.figure.draw_without_rendering()
        anchors = [to_page(self, point[None]) for _, point, _ in self._labels]
        labels = [Label(text, at, color, 5.0) for (text, _, color), at in zip(self._labels, anchors, strict=True)]
        obstacles = notes.drawn(self.picture, self.placements[0], self._lines) + anchors
        for text in ax.texts:
            box = text.get_window_extent()
            x, y = np.meshgrid(np.arange(box.x0, box.x1, 3), np.arange(box.y0, box.y1, 3))
            obstacles.append(np.column_stack([x.ravel(), y.ravel()]) * 72 / ax.figure.dpi)
        write_labels(ax, labels, [seen(self.view, point) for _, point, _ in self._labels], obstacles)


def panel_below(panel: Any, quantity: str, unit: str, over: str) -> None:
    """Set labels and grid of a panel beside or below a drawing."""
    panel.set_xlabel(over)
    panel.set_ylabel(f"{quantity} [{unit}]" if unit else quantity)
    panel.grid(True)
    panel.set_axisbelow(True)
    panel.margins(x=0)
