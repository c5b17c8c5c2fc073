"""Plots of velocity and acceleration polygons, beside their mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...motion.geometry.polygons import Polygon
from .. import style
from ..drawing.background import MechanismCanvas
from ..drawing.labels import Label, write_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_polygon"]


def plot_polygon(
    polygon: Polygon, *, ax: Any = None, path: Any = None, view: str = "auto", mechanism: bool = True
) -> Axes | list[Axes]:
    """Draw a polygon: absolute vectors of points from the pole o, and relative vectors between them.

    Points are written small: b is the image of B. Relative arrows have the colours of their bodies; those of an
    acceleration are the sum of a normal part, dotted, and a tangential one, dashed.

    Parameters
    ----------
    view : str
        A plane, if the mechanism does not move in one.
    mechanism : bool
        Draw the mechanism to the left; not on given axes.
    """
    result, k = polygon.result, polygon.row
    canvas = MechanismCanvas(
        result, k, [], path="" if ax is not None else path, view=view, still=True,
        beside=5.4 if mechanism and ax is None else 0.0,
    )  # fmt: skip
    if not canvas.view.flat:
        raise ModelError("plot", "view", view, "polygons are drawn in a plane: give view='xy' or the like")
    R = result.require_model().pose(polygon.base, result.q[k]).rotation

    def flat(vector: Array) -> Array:
        return np.asarray(canvas.view.project((R @ vector)[None])[0])

    colors = {body.name: body.ink for body in canvas.picture.scene.bodies}
    if ax is not None:
        panel = style.axes_for(ax, path, 5, 5)
    elif mechanism:
        canvas.finish(legend="none")
        panel = canvas.lower
    else:
        panel = style.axes_for(None, path, 5.2, 5.0)
    tips = {name: flat(vector) for name, vector in polygon.vectors.items()}
    size = max((float(np.hypot(*tip)) for tip in tips.values()), default=0.0)
    lines = [np.array([np.zeros(2), tip]) for tip in tips.values() if np.hypot(*tip) > 1e-9 * size]
    for tip in tips.values():
        if np.hypot(*tip) > 1e-9 * size:
            _arrow(panel, np.zeros(2), tip, style.INK, 1.1)
    for edge in polygon.edges:
        start, end = tips[edge.tail], tips[edge.tip]
        color = colors.get(edge.body, style.FAINT)
        if polygon.kind == "acceleration":
            corner = start + flat(edge.normal)
            for a, b, dash in ((start, corner, (0, (1.2, 1.4))), (corner, end, (0, (5, 1.8)))):
                if np.hypot(*(b - a)) > 1e-3 * size:
                    _arrow(panel, a, b, color, 1.0, linestyle=dash, head=0.16)
                    lines.append(np.array([a, b]))
        if np.hypot(*start) > 1e-9 * size and np.hypot(*(end - start)) > 1e-9 * size:
            _arrow(panel, start, end, color, 1.7)
            lines.append(np.array([start, end]))
    _frame(panel, lines, polygon, canvas)
    _names(panel, tips, polygon, colors, lines, size)
    return [canvas.ax, panel] if mechanism and ax is None else panel


def _arrow(
    panel: Any, start: Array, end: Array, color: Any, width: float, *, linestyle: Any = "-", head: float = 0.2
) -> None:
    look = {"arrowstyle": f"-|>,head_width={head},head_length={2 * head}", "color": color, "linewidth": width}
    panel.annotate(
        "", end, start, arrowprops={**look, "linestyle": linestyle, "shrinkA": 0, "shrinkB": 0}, zorder=3 + width
    )


def _frame(panel: Any, lines: list[Array], polygon: Polygon, canvas: MechanismCanvas) -> None:
    """Set limits and labels of the polygon's axes."""
    points = np.concatenate([*lines, np.zeros((1, 2))])
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) or 1.0
    middle = (low + high) / 2
    half = np.maximum((high - low) / 2, 0.42 * span) + 0.12 * span
    panel.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    panel.set_aspect("equal", adjustable="box")
    letter = polygon.kind[0]
    names = ["xyz"[k] for k in (canvas.view.right, canvas.view.up)]
    panel.set(xlabel=f"{letter}{names[0]} [{polygon.unit}]", ylabel=f"{letter}{names[1]} [{polygon.unit}]")
    panel.set_title(f"{polygon.kind} polygon, {polygon.place('.4g')}", fontsize=9)
    panel.locator_params(nbins=6)
    panel.grid(True, color="#EDEDED", linewidth=0.5)
    panel.set_axisbelow(True)


def _names(
    panel: Any, tips: dict[str, Array], polygon: Polygon, colors: dict[str, Any], lines: list[Array], size: float
) -> None:
    """Write the names of the images of points, coincident ones together, and of relative arrows."""
    groups: list[tuple[list[str], Array]] = [(["o"], np.zeros(2))]
    frame_of = f"({polygon.base.body.name})"
    for name, tip in tips.items():
        if name.endswith(frame_of):
            continue  # the point of the frame below a slider is at rest
        for names, other in groups:
            if np.hypot(*(tip - other)) < 0.01 * size:
                names.append(_small(name))
                break
        else:
            groups.append(([_small(name)], tip))
    items = [(", ".join(dict.fromkeys(names)), point, style.INK, 9.0) for names, point in groups]
    letter = polygon.kind[0]
    for edge in polygon.edges:
        start, end = tips[edge.tail], tips[edge.tip]
        if np.hypot(*start) > 1e-9 * size and np.hypot(*(end - start)) > 0.05 * size:
            short = _small(edge.tip) + _small(edge.tail)
            text = f"${letter}_{{{short}}}$" if short.isalnum() else f"{letter} {short}"
            items.append((text, (start + end) / 2, colors.get(edge.body, style.FAINT), 8.0))
    panel.figure.draw_without_rendering()

    def page(points: Array) -> Array:
        return np.asarray(72 / panel.figure.dpi * np.asarray(panel.transData.transform(points), dtype=float))

    labels = [Label(text, page(point[None]), color, 5.0, points) for text, point, color, points in items]
    for text in write_labels(panel, labels, [item[1] for item in items], [page(line) for line in lines]):
        text.set(fontstyle="italic", parse_math=text.get_text().startswith(f"${letter}_{{"))
    panel.plot(0, 0, "o", color=style.INK, markersize=4, zorder=8)


def _small(name: str) -> str:
    """Return the name of an image: that of the point, with a small first letter."""
    return name[0].lower() + name[1:]
