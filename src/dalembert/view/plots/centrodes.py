"""Plots of instant centres: polodes, centres of all pairs, inflection circles."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...motion.geometry.inflection_circles import InflectionCircles
from ...motion.geometry.instant_centres import Centrodes, InstantCentres
from ...motion.geometry.relative_motion import row_of
from .. import style
from ..drawing.background import MechanismCanvas, clipped, reach_of, to_world

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_centres", "plot_centrodes", "plot_inflection"]


MAX_DISTANCE = 0.5  # of the mechanism's size: points farther away are cut off


def plot_centrodes(
    polodes: Centrodes,
    *,
    ax: Any = None,
    path: Any = None,
    row: int | None = None,
    t: float | None = None,
    view: str = "auto",
    around: float = MAX_DISTANCE,
) -> Axes:
    """Draw both polodes with the mechanism at one row, at which they touch.

    Parameters
    ----------
    row, t : int, or float in s
        Position of the mechanism; one with its instant centre nearby if left out.
    view : str
    around : float
        How much around the mechanism is shown, as a share of its size.
    """
    result = polodes.result
    k = row_of(result, _near(result, polodes.fixed) if row is None and t is None else row, t, "plot")
    seen = polodes.seen
    low, high = reach_of(result)
    fixed = to_world(result, seen.base, k, polodes.fixed)
    moving = to_world(result, seen.base, k, polodes.moving @ seen.rotation[k].T + seen.position[k])
    lines = [clipped(_parted(line, low, high), low, high, around) for line in (fixed, moving)]
    canvas = MechanismCanvas(result, k, lines, ax=ax, path=path, view=view)
    canvas.line(lines[0], style.INK, linewidth=1.6, label=f"fixed polode ({polodes.relative_to})")
    canvas.line(
        lines[1], style.PALETTE[1], linewidth=1.6, linestyle=(0, (5, 1.6)), label=f"moving polode ({polodes.body})"
    )
    pole = clipped(fixed[k : k + 1], low, high, around)
    if np.isfinite(pole).all():
        canvas.dots(pole, style.PALETTE[1], markersize=6)
        canvas.label("P", pole[0])
    return canvas.finish()


def plot_centres(
    centres: InstantCentres,
    *,
    ax: Any = None,
    path: Any = None,
    row: int | None = None,
    t: float | None = None,
    view: str = "auto",
    around: float = 1.5,
) -> Axes:
    """Draw the instant centres of all pairs at one row, and the lines on which three of them lie (Kennedy).

    Parameters
    ----------
    row, t : int, or float in s
        Position of the mechanism; the first row if left out.
    view : str
    around : float
        How much around the mechanism is shown, as a share of its size.
    """
    result = centres.result
    k = row_of(result, 0 if row is None and t is None else row, t, "plot")
    low, high = reach_of(result, k)
    number = {name: i for i, name in enumerate(centres.bodies)}
    places: dict[tuple[str, str], Array] = {}
    far = []
    for pair in centres:
        centre = centres[pair]
        point = clipped(centre.point[k : k + 1], low, high, around)[0]
        if np.isfinite(point).all():
            places[pair] = point
        elif centre.infinite[k]:
            far.append(f"{number[pair[0]]}{number[pair[1]]}")
    canvas = MechanismCanvas(result, k, [np.array(list(places.values()))], ax=ax, path=path, view=view, still=True)
    for trio in combinations(centres.bodies, 3):
        points = [places[pair] for pair in combinations(trio, 2) if pair in places]
        if len(points) > 1:
            ends = _farthest(np.array(points))
            canvas.line(ends, style.FAINT, linewidth=0.7, linestyle=(0, (5, 3)), zorder=1.5)
    for (a, b), point in places.items():
        canvas.dots(point[None], style.PALETTE[1], markersize=5)
        canvas.label(f"{number[a]}{number[b]}", point, style.PALETTE[1])
    axes = canvas.finish(legend="none")
    key = "   ".join(f"{i} {name}" for name, i in number.items())
    key += f"      at infinity: {', '.join(far)}" if far else ""
    beyond = len(centres) - len(places) - len(far)
    key += f"      outside: {beyond}" if beyond else ""
    axes.set_title(key, fontsize=8, color=style.INK, loc="left")
    return axes


def plot_inflection(
    circles: InflectionCircles,
    *,
    ax: Any = None,
    path: Any = None,
    row: int | None = None,
    t: float | None = None,
    view: str = "auto",
    around: float = MAX_DISTANCE,
    cubic: bool = True,
) -> Axes:
    """Draw the inflection circle at one row, with poles, pole tangent and normal, Ball's point, the cubic (4).

    Parameters
    ----------
    row, t : int, or float in s
        The position; one with its inflection pole nearby if left out.
    view : str
    around : float
        How much around the mechanism is shown, as a share of its size.
    cubic : bool
        Draw the points with stationary curvature too.
    """
    result = circles.result
    k = row_of(result, _near(result, circles.inflection_pole) if row is None and t is None else row, t, "plot")
    base = circles.seen.base

    def world(points: Array) -> Array:
        return to_world(result, base, k, np.asarray(points).reshape(-1, 3))

    angle = np.linspace(0, 2 * np.pi, 181)[:, None]
    T, D = circles.tangent[k], circles.diameter_vector[k]
    d = circles.diameter[k]
    ring = circles.centre[k] + d / 2 * (np.cos(angle) * T + np.sin(angle) * D / d)
    low, high = reach_of(result, k)
    if np.isfinite(clipped(world(ring), low, high, 1.5)).all():  # near enough to be shown completely
        room = np.concatenate([world(ring), low[None], high[None]])
        low, high = room.min(axis=0), room.max(axis=0)
    size = float((high - low).max())
    lines = [clipped(world(ring), low, high, 0.2 * around)]
    many = cubic and len(circles.t) > 1
    if many:
        lines.append(
            clipped(_parted(world(circles.stationary_curve(k, points=1801)), low, high), low, high, 0.3 * around)
        )
    canvas = MechanismCanvas(result, k, lines, ax=ax, path=path, view=view, still=True)
    if many:
        canvas.line(
            lines[1], style.PALETTE[4], linewidth=1.0, linestyle=(0, (4, 1.5)), label="stationary curvature", zorder=2.2
        )
    canvas.line(lines[0], style.PALETTE[1], linewidth=1.7, label=f"inflection circle, d = {d:.4g} m")
    P = world(circles.pole[k])[0]
    for direction, name in ((T, "pole tangent"), (D / d, "pole normal")):
        ends = circles.pole[k] + 0.5 * size * np.array([[-1.0], [1.0]]) * direction
        look = {"linestyle": (0, (8, 2, 1.5, 2)), "linewidth": 0.7, "zorder": 1.8}
        canvas.line(world(ends), style.INK if name == "pole tangent" else style.FAINT, label=name, **look)
    marks = [("P", P, "o", style.INK), ("W", world(circles.inflection_pole[k])[0], "o", style.PALETTE[1])]
    marks.append(("Q", world(circles.acceleration_pole[k])[0], "s", style.PALETTE[0]))
    if len(circles.t) > 1:
        marks.append(("U", world(circles.ball_point[k])[0], "D", style.PALETTE[2]))
    meanings = {"P": "instant centre", "W": "inflection pole", "Q": "acceleration pole", "U": "Ball's point"}
    for letter, point, mark, color in marks:
        if np.isfinite(clipped(point[None], low, high, around)).all():
            canvas.dots(point[None], color, mark, label=f"{letter} {meanings[letter]}")
            canvas.label(letter, point, color)
    return canvas.finish(legend="right")


def _near(result: Any, points: Array) -> int:
    """Return the row at which a point (n, 3) m is nearest to the middle of the mechanism; 0 if it is never finite."""
    model = result.require_model()
    middle = np.mean(model.poses(np.asarray(result.q)).position, axis=1)
    gap = np.linalg.norm(points - middle, axis=1)
    return int(np.nanargmin(gap)) if np.isfinite(gap).any() else 0


def _parted(line: Array, low: Array, high: Array) -> Array:
    """Return a line with NaN where it passes through infinity."""
    step = np.linalg.norm(np.diff(line, axis=0), axis=1)
    jumps = np.append(step > 0.5 * float((high - low).max()), False)
    return np.where(jumps[:, None], np.nan, line)


def _farthest(points: Array) -> Array:
    """Return the two points that are farthest apart."""
    pairs = list(combinations(range(len(points)), 2))
    gaps = [np.linalg.norm(points[i] - points[j]) for i, j in pairs]
    return np.asarray(points[list(pairs[int(np.argmax(gaps))])])
