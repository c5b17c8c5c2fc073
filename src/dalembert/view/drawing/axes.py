"""Axes of drawings: page size, limits, labels and grid, in a plane and in space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ..scene.projection import View
from ..style import FAINT, matplotlib

__all__ = ["SYMBOL_SIZE", "page_size", "project", "seen", "set_plane_limits", "set_space_limits", "spread", "to_page"]


SYMBOL_SIZE = 6.5  # pt, diameter of a joint where there is space
_MARGIN = 0.04  # of the size of the system, around it
_ELEVATION, _AZIMUTH = 20.0, -58.0  # degrees
_TICK_LABELS = np.array([(16.0, 46.0), (60.0, 6.0)])  # pt for tick labels: left and below, right and above the box


def spread(count: int, wanted: int) -> NDArray[np.int64]:
    """Return at most `wanted` evenly spread indices from 0 to count - 1, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, wanted)).round().astype(np.int64))


def page_size(view: View, low: Array, high: Array) -> tuple[float, float]:
    """Return width and height (inches) of a figure for a box from `low` to `high` (3,) m."""
    if not view.flat:
        x, y, z = np.roll(_box(low, high), 2 - view.up)
        azimuth, elevation = np.radians([_AZIMUTH, _ELEVATION])
        width = abs(x * np.sin(azimuth)) + abs(y * np.cos(azimuth))
        height = z * np.cos(elevation) + (abs(x * np.cos(azimuth)) + abs(y * np.sin(azimuth))) * np.sin(elevation)
        ratio = float(np.clip(height / width, 0.35, 2.0))
        return (6.4, 5.6 * ratio + 0.8) if ratio < 0.9 else (5.2 / ratio + 0.8, 6.0)
    width, height = np.maximum(view.project(high - low), 0.1 * float(view.project(high - low).max()) or 1.0)
    ratio = float(np.clip(height / width, 0.22, 1.6))
    return (6.2, 6.2 * ratio * 0.86 + 0.7) if ratio < 1 else (6.0 / ratio + 0.7, 6.0)


def set_plane_limits(ax: Any, view: View, low: Array, high: Array) -> float:
    """Set limits, labels and grid of axes in a plane; return the length of a point of the page, m."""
    low, high = view.project(low), view.project(high)
    span = np.maximum(high - low, 0.1 * float((high - low).max()) or 1.0)
    middle = (low + high) / 2
    box = ax.get_position()
    size = ax.figure.get_size_inches() * 72 * np.array([box.width, box.height])
    available = np.maximum(size - 5 * SYMBOL_SIZE, 0.5 * size)
    point = float((span * (1 + 2 * _MARGIN) / available).max())
    half = span * (0.5 + _MARGIN) + 2.5 * SYMBOL_SIZE * point
    ax.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlabel=f"{'xyz'[view.right]} [m]", ylabel=f"{'xyz'[view.up]} [m]")
    ax.grid(True, color="#EDEDED", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.tick_params(length=2.5, color=FAINT)
    return point


def _box(low: Array, high: Array) -> Array:
    """Return the edges (3,) m of the box that is shown: never too flat."""
    reach = float((high - low).max()) or 1.0
    return np.maximum(high - low, 0.2 * reach) + 0.1 * reach


def set_space_limits(ax: Any, view: View, low: Array, high: Array) -> None:
    """Set limits, labels, grid and view point of 3-D axes."""
    span = _box(low, high)
    middle = (low + high) / 2
    ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    for name, c, s in zip("xyz", middle, span, strict=True):
        getattr(ax, f"set_{name}lim")(c - s / 2, c + s / 2, auto=False)
        axis = getattr(ax, f"{name}axis")
        ticks = 2 if s < 0.45 * span.max() else 4
        axis.set_major_locator(matplotlib().ticker.MaxNLocator(ticks, steps=[1, 2, 5, 10]))
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.line.set_color("#BBBBBB")
        axis._axinfo["grid"].update({"color": "#E6E6E6", "linewidth": 0.5})
        axis.set_tick_params(pad=0)
        axis.labelpad = 8
    ax.set_proj_type("persp", focal_length=1.6)
    ax.view_init(elev=_ELEVATION, azim=_AZIMUTH, vertical_axis="xyz"[view.up])
    _fill_page(ax, span)


def _fill_page(ax: Any, span: Array) -> None:
    """Make the box as large as the page allows with its tick labels, and centre it."""
    zoom = 1.0
    corners = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    corners = limits[:, 0] + corners * (limits[:, 1] - limits[:, 0])
    page = ax.figure.get_size_inches() * ax.figure.dpi
    window = ax.get_window_extent()
    available = np.minimum(page, [window.width, window.height])
    before, after = np.minimum(_TICK_LABELS * ax.figure.dpi / 72, 0.2 * available)
    available -= before + after
    for _ in range(3):
        ax.set_box_aspect(tuple(span), zoom=zoom)
        shown = ax.transData.transform(project(ax, corners))
        zoom *= float((available / np.ptp(shown, axis=0)).min())
    if ax.get_gid() == "page":
        off = ((before + page - after) / 2 - (shown.min(axis=0) + shown.max(axis=0)) / 2) / page
        box = ax.get_position()
        ax.set_position((box.x0 + off[0], box.y0 + off[1], box.width, box.height))


def project(ax: Any, points: Array) -> Array:
    """Return the positions (k, 2) of points (k, 3) m in the drawing plane of 3-D axes."""
    from mpl_toolkits.mplot3d import proj3d

    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    return np.column_stack([x, y])


def seen(view: View, points: Array) -> tuple[Array, ...]:
    """Return the coordinates, two or three, that the axes take for points (..., 3) m."""
    return tuple((view.project(points) if view.flat else points).T)


def to_page(picture: Any, points: Array) -> Array:
    """Return the positions (k, 2) pt of points (k, 3) m on the page of a picture, which has `ax` and `view`."""
    ax = picture.ax
    flat = picture.view.project(points) if picture.view.flat else project(ax, points)
    return np.asarray(ax.transData.transform(flat) * 72 / ax.figure.dpi)
