"""What is written and pointed at in pictures of natural coordinates: arrows of what points do, and names."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...natural import NaturalMotion
from .. import style
from . import annotations as notes
from .labels import Label, place, sampled
from .natural_picture import NaturalPicture, padded
from .spatial_picture import project

__all__ = ["add_arrows", "add_names"]

Array = NDArray[np.float64]

_MAX_LENGTH = 0.22  # arrow, of the picture's reach


def add_arrows(picture: NaturalPicture, motion: NaturalMotion, kind: str, quantity: str, names: list[str]) -> None:
    """Draw what points do, the longest arrow of a set length."""
    vectors = {name: padded(motion[f"{name}.{quantity}"])[0] for name in names}
    most = max((float(np.linalg.norm(v)) for v in vectors.values()), default=0.0)
    if most == 0.0:
        return
    scale, (color, _) = _MAX_LENGTH * picture.span / most, notes.ARROWS[kind]
    for name, vector in vectors.items():
        start = padded(motion[name])[0]
        end = start + scale * vector
        if picture.solid:
            picture.ax.quiver(*start, *(end - start), color=color, linewidth=1.4, arrow_length_ratio=0.2, gid=kind)
            continue
        look = {"arrowstyle": "-|>,head_width=0.25,head_length=0.5", "color": color, "linewidth": 1.4}
        tail, tip = (np.concatenate(picture.seen(x[None])) for x in (start, end))
        picture.ax.annotate("", tip, tail, arrowprops={**look, "shrinkA": 0, "shrinkB": 0}, zorder=7, gid=kind)
        picture.ax.update_datalim([tip])
    notes.add_scale(picture.ax, kind, most)
    if not picture.solid:  # arrows may reach beyond
        ends = np.array([padded(motion[n])[0] + scale * v for n, v in vectors.items()])[:, list(picture.axes)]
        (x0, x1), (y0, y1) = picture.ax.get_xlim(), picture.ax.get_ylim()
        low, high = ends.min(axis=0) - 0.03 * picture.span, ends.max(axis=0) + 0.03 * picture.span
        picture.ax.set(xlim=(min(x0, low[0]), max(x1, high[0])), ylim=(min(y0, low[1]), max(y1, high[1])))


def add_names(picture: NaturalPicture, motion: NaturalMotion) -> None:
    """Write the names of points and bodies where they hide least."""
    from matplotlib.patheffects import withStroke

    ax = picture.ax
    ax.figure.draw_without_rendering()
    scale = 72 / ax.figure.dpi
    at = {c.name: padded(motion.rate(c.name, 0)[:1]) for c in picture.m.coordinates.values() if c.kind == "point"}
    items = [(name, where, style.INK) for name, where in at.items()]
    lines = []
    for name, body in picture.m.bodies.items():
        points = np.concatenate([at[p] for p in body.points]) if body.points else np.zeros((0, 3))
        if len(points) > 1:
            lines.append(points)
            middle = points[:2].mean(axis=0) if len(points) == 2 else points.mean(axis=0)
            items.append((name, middle[None], picture.colors[name]))

    def page(points: Array) -> Array:
        flat = project(ax, points) if picture.solid else np.column_stack(picture.seen(points))
        return np.asarray(np.asarray(ax.transData.transform(flat)) * scale)

    wanted = [Label(name, page(where), color, 6.0) for name, where, color in items]
    obstacles = np.concatenate([sampled(page(line)) for line in lines] + [np.zeros((1, 2)) - 1e4])
    box = ax.get_window_extent()
    frame = (np.array([box.x0, box.y0]) * scale, np.array([box.x1, box.y1]) * scale)
    for (name, where, color), label, centre in zip(items, wanted, place(wanted, obstacles, frame), strict=True):
        from matplotlib.transforms import offset_copy

        dx, dy = centre - label.anchors[0]
        ax.text(
            *(float(x[0]) for x in picture.seen(where)), name, ha="center", va="center", fontsize=8,
            transform=offset_copy(ax.transData, ax.figure, dx, dy, units="points"), zorder=8,
            color=style.tint(color, 0.0), gid=f"name {name}",
            path_effects=[withStroke(linewidth=1.8, foreground=(1, 1, 1, 0.85))],
        )  # fmt: skip
