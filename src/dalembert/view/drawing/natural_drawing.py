"""Mechanisms in natural coordinates as drawings and moving pictures: points, links, plates, wheels and tracks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import finite_number
from ...errors import ModelError
from ...motion import FollowedMotion
from ...natural import Mechanism, NaturalMotion
from .. import style
from . import annotations as notes
from .animation import Animation, frame_times, projected
from .natural_annotations import add_arrows, add_names
from .natural_picture import NaturalPicture, padded
from .system_drawing import spread

__all__ = ["animate_points", "draw_points"]

Array = NDArray[np.float64]

_GHOSTS = 5
_MANY = 24  # names: with more of them they would hide the picture


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
) -> Any:
    """Draw a mechanism in natural coordinates, and return the matplotlib axes.

    Parameters
    ----------
    what : Mechanism or NaturalMotion
        A mechanism is drawn as it is assembled; a motion at t s, its last time if left out.
    view : str
        ``"auto"``, ``"3d"``, or in space a plane such as ``"xz"``.
    ax : matplotlib axes
    labels : bool
        Write names; if left out, where there are not too many.
    trace : names of points
        Also ``"coupler.at(2, 0.5)"``; their paths over the motion are drawn.
    velocities, accelerations : names of points, or True
        Arrows at these, or at all points that move; each kind to a common scale, which is written down.
    ghosts : bool
        Draw a few of the earlier positions faintly.
    path : str or Path
        File to write: .png, .pdf, .svg, ...
    """
    style.matplotlib()
    motion = _as_motion(what, t)
    here = motion if len(motion.t) == 1 else motion.at([float(motion.t[-1]) if t is None else t])
    trace = _named(motion, trace, "trace")
    shown = motion if trace or ghosts else here
    with style.styled():
        picture = NaturalPicture(here, 0, view, ax, path, [shown, here], trace)
        if ghosts:
            for k in spread(len(motion.t), _GHOSTS):
                picture.ghost(motion, int(k))
        for k, name in enumerate(trace):
            picture.line(padded(motion[name]), color=notes.trace_color(k), linewidth=1.2, zorder=2.5, gid="trace")
        if not isinstance(what, Mechanism):
            for kind, quantity, points in (
                ("velocities", "velocity", velocities), ("accelerations", "acceleration", accelerations)
            ):  # fmt: skip
                add_arrows(picture, here, kind, quantity, _named(motion, points, kind))
        elif velocities or accelerations:
            raise ModelError("draw", "velocities", velocities, "a mechanism at rest has none: draw its motion")
        if labels or (labels is None and len(picture.m.coordinates) + len(picture.m.bodies) <= _MANY):
            add_names(picture, here)
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
) -> Any:
    """Show a motion in natural coordinates: as a ``.gif`` or ``.html`` file, or as an animation for a notebook."""
    times = frame_times(np.sort(motion.t), fps, speed)
    fine = motion.at(times) if len(motion.t) > 1 else motion
    names = _named(motion, trace, "trace")
    return projected(lambda: _PointsFilm(fine, view, path, names, size), path, fps)


def _as_motion(what: Any, t: float | None) -> NaturalMotion:
    if isinstance(what, NaturalMotion):
        return what
    at = 0.0 if t is None else finite_number(t, item="draw", field="t")
    q = what.assemble(t=at).q[None]
    return NaturalMotion(what, FollowedMotion(np.array([at]), q, 0 * q, 0 * q, None, 0, 0, 0))


def _named(motion: NaturalMotion, points: Any, field: str) -> list[str]:
    """Return names of points that the motion knows."""
    if points is True:
        return [c.name for c in motion.mechanism.coordinates.values() if c.kind == "point" and not c.fixed]
    names = [points] if isinstance(points, str) else list(points or ())
    for name in names:
        about = motion.about(name)
        if about is None or about.unit != "m" or not about.labels:
            raise ModelError("picture", field, name, "name a point, or 'body.at(x, y)'")
    return names


class _PointsFilm(Animation):
    """A mechanism, frame by frame."""

    def __init__(self, motion: NaturalMotion, view: str, path: Any, trace: list[str], size: Any) -> None:
        if size is not None and (np.shape(size) != (2,) or not (np.asarray(size, dtype=float) > 0).all()):
            raise ModelError("animation", "size", size, "give width and height in inches")
        self.motion = motion
        self.picture = NaturalPicture(motion, 0, view, None, path, [motion], trace, size)
        self.begin(
            motion.mechanism.name, motion.t, self.picture.ax.figure, flat=not self.picture.solid, axis=motion.axis
        )
        self.paths = [padded(motion[name]) for name in trace]
        self.tails = [
            self.picture.line(line[:1], color=notes.trace_color(k), linewidth=1.2, zorder=2.5)
            for k, line in enumerate(self.paths)
        ]
        self.moving = [*self.picture.moving, *self.tails, self.clock]

    def show(self, k: int) -> list[Any]:
        """Put everything where it is in frame k."""
        self.picture.update(self.motion, k)
        self.tell(k)
        for line, tail in zip(self.paths, self.tails, strict=True):
            part = self.picture.seen(line[: k + 1])
            tail.set_data_3d(*part) if self.picture.solid else tail.set_data(*part)
        return self.moving
