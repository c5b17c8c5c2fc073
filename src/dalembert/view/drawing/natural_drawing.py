"""Drawings and animations of mechanisms in natural coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import finite_number
from ...errors import ModelError
from ...motion import FollowedMotion
from ...natural import Mechanism, NaturalMotion
from ...system.display_options import AnimationOptions
from .. import style
from . import annotations as notes
from .animation import Animation, frame_times, produce
from .axes import seen, spread, to_page
from .labels import Label, write_labels
from .natural_picture import NaturalPicture, padded

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

__all__ = ["animate_points", "draw_points"]

N_GHOSTS = 5
MAX_NAMES = 24  # more names would hide the picture


def draw_points(
    what: Mechanism | NaturalMotion,
    t: float | None = None,
    *,
    view: str = "auto",
    ax: Any = None,
    labels: bool | None = None,
    trace: Iterable[str] = (),
    velocities: bool | Iterable[str] = (),
    accelerations: bool | Iterable[str] = (),
    ghosts: bool = False,
    path: Any = None,
) -> Axes:
    """Draw a mechanism in natural coordinates and return the matplotlib axes.

    Parameters
    ----------
    what : Mechanism or NaturalMotion
        A mechanism is assembled and drawn; a motion is drawn at t s, its last time if left out.
    view : str
        ``"auto"``, ``"3d"``, or in space a plane such as ``"xz"``.
    ax : matplotlib axes
    labels : bool
        Write names; if left out, unless there are too many.
    trace : names of points
        Points whose paths over the motion are drawn, also ``"coupler.at(2, 0.5)"``.
    velocities, accelerations : names of points, or True
        Points with arrows, or all moving points; each kind has a common scale, which is written down.
    ghosts : bool
        Draw a few of the earlier positions faintly.
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """
    style.matplotlib()
    motion = _as_motion(what, t)
    now = motion if len(motion.t) == 1 else motion.at([float(motion.t[-1]) if t is None else t])
    traced = _point_names(motion, trace, "trace")
    if isinstance(what, Mechanism) and (velocities or accelerations):
        raise ModelError("draw", "velocities", velocities, "a mechanism at rest has none: draw its motion")
    with style.styled():
        picture = NaturalPicture(now, view, ax, path, [motion if traced or ghosts else now, now], traced)
        if ghosts:
            for k in spread(len(motion.t), N_GHOSTS):
                picture.add_ghost(motion, int(k))
        for k, name in enumerate(traced):
            notes.add_trace(picture, padded(motion[name]), k)
        for kind, quantity, points in (
            ("velocities", "velocity", velocities), ("accelerations", "acceleration", accelerations)
        ):  # fmt: skip
            names = _point_names(motion, points, kind)
            starts, vectors = (
                np.array([padded(now[f"{name}{part}"])[0] for name in names]).reshape(-1, 3)
                for part in ("", f".{quantity}")
            )
            picture.fit(notes.add_vectors(picture, starts, vectors, picture.size, kind))
        if labels or (labels is None and len(picture.m.coordinates) + len(picture.m.bodies) <= MAX_NAMES):
            _add_names(picture, now)
        if path is not None:
            style.save(picture.ax.figure, path)
    return picture.ax


def animate_points(
    motion: NaturalMotion,
    path: Any = None,
    *,
    view: str = "auto",
    fps: float = 30.0,
    speed: float = 1.0,
    trace: Iterable[str] = (),
    size: tuple[float, float] | None = None,
) -> FuncAnimation | Path:
    """Animate a motion in natural coordinates; options are those of `Result.animate`."""
    chosen = AnimationOptions(view=view, fps=fps, speed=speed, trace=trace, size=size)
    times = frame_times(np.sort(motion.t), chosen.fps, chosen.speed)
    fine = motion.at(times) if len(motion.t) > 1 else motion
    names = _point_names(motion, chosen.trace, "trace")

    def film() -> Animation:
        picture = NaturalPicture(fine, chosen.view, None, path, [fine], names, chosen.size)
        paths = [padded(fine[name]) for name in names]
        return Animation(fine.mechanism.name, fine.t, fine.axis, picture, lambda k: picture.update(fine, k), paths)

    return produce(film, path, chosen)


def _as_motion(what: Any, t: float | None) -> NaturalMotion:
    """Return a motion; of a mechanism, its assembled position at rest."""
    if isinstance(what, NaturalMotion):
        return what
    at = 0.0 if t is None else finite_number(t, item="draw", field="t")
    q = what.assemble(t=at).q[None]
    return NaturalMotion(what, FollowedMotion(np.array([at]), q, 0 * q, 0 * q, None, 0, 0, 0))


def _point_names(motion: NaturalMotion, points: Any, field: str) -> list[str]:
    """Return the checked names of points; True stands for all moving points."""
    if points is True:
        return [c.name for c in motion.mechanism.coordinates.values() if c.kind == "point" and not c.fixed]
    names = [points] if isinstance(points, str) else list(points or ())
    for name in names:
        about = motion.find_output(name)
        if about is None or about.unit != "m" or not about.labels:
            raise ModelError("picture", field, name, "name a point, or 'body.at(x, y)'")
    return names


def _add_names(picture: NaturalPicture, motion: NaturalMotion) -> None:
    """Write the names of points and bodies."""
    picture.ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    at = {c.name: padded(motion.rate(c.name, 0)[:1]) for c in picture.m.coordinates.values() if c.kind == "point"}
    items: list[tuple[str, Any, Any]] = [(name, where, style.INK) for name, where in at.items()]
    lines = []
    for name, body in picture.m.bodies.items():
        points = np.concatenate([at[p] for p in body.points]) if body.points else np.zeros((0, 3))
        if len(points) > 1:
            lines.append(to_page(picture, points))
            items.append((name, points.mean(axis=0)[None], picture.colors[name]))
    labels = [Label(name, to_page(picture, where), color, 6.0) for name, where, color in items]
    write_labels(picture.ax, labels, [seen(picture.view, where[0]) for _, where, _ in items], lines)
