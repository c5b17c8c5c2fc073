"""Animations: GIF, MP4, a page that plays offline, or an animation for a notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Array
from ...checks import finite_array, finite_number
from ...errors import ModelError
from ...model import Model, as_model
from ...result import TIME, Axis
from ...system import System
from ...system.display_options import AnimationKeywords, AnimationOptions, deformation_factor, keywords_of
from .. import style
from ..scene.projection import Placement, paths_of
from . import annotations as notes
from .animation_files import framed, write_gif, write_html, write_mp4
from .axes import spread
from .spatial_picture import SpatialPicture
from .system_drawing import configurations, markers_of, new_picture

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

__all__ = ["Animation", "animate", "animate_configurations", "between", "frame_times", "produce"]


_SUFFIXES = (".gif", ".html", ".mp4")
MAX_GIF_FPS = 50.0  # frames per second: GIF has hundredths of a second, and players slow down a single one
MAX_FRAMES = 6000
MAX_FITTED = 60  # placements that determine the limits
_DPI = 100
_PATH_POINTS = 4  # points of a path for each frame


@keywords_of(AnimationOptions)
def animate(result: Any, path: Any = None, **options: Unpack[AnimationKeywords]) -> FuncAnimation | Path:
    """Animate a motion; options are those of `Result.animate`.

    `result` is any object with ``model``, ``t`` (n,) and ``at(times)``, which has ``q``.
    """
    chosen = AnimationOptions(**options)
    t = np.asarray(result.t, dtype=np.float64)
    times = frame_times(t, chosen.fps, chosen.speed)
    fine = _finer(times, chosen.trace)
    q = np.atleast_2d(result.at(fine).q) if len(t) > 1 else np.atleast_2d(result.q)
    return produce(lambda: _of_model(result.model, times, q, path, chosen, result.axis), path, chosen)


@keywords_of(AnimationOptions)
def animate_configurations(
    system: System | Model, t: ArrayLike, q: ArrayLike, path: Any = None, **options: Unpack[AnimationKeywords]
) -> FuncAnimation | Path:
    """Animate configurations q (n, nq) at increasing times t (n,) s; options are those of `Result.animate`."""
    chosen = AnimationOptions(**options)
    model = as_model(system)
    rows = configurations(model, q)
    stamps = np.asarray(t, dtype=np.float64)
    if stamps.shape != (len(rows),) or not np.isfinite(stamps).all() or not (np.diff(stamps) > 0).all():
        raise ModelError("animation", "t", t, f"give {len(rows)} rising times, one for each row of q")
    times = frame_times(stamps, chosen.fps, chosen.speed)
    q_fine = between(model, stamps, rows, _finer(times, chosen.trace))
    return produce(lambda: _of_model(model, times, q_fine, path, chosen, TIME), path, chosen)


def between(model: Model, t: Array, q: Array, times: Array) -> Array:
    """Return configurations (k, nq) at times (k,) s, on geodesics between the rows of q (n, nq)."""
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    share = (times - t[k]) / (t[k + 1] - t[k])
    return model.integrate(q[k], share[:, None] * model.difference(q[k], q[k + 1]))


def frame_times(t: Array, fps: Any, speed: Any) -> Array:
    """Return the times (k,) s of the frames, from the first to the last of t."""
    for field, value in (("fps", fps), ("speed", speed)):
        if finite_number(value, item="animation", field=field) <= 0:
            raise ModelError("animation", field, value, "it must be positive")
    frames = int(np.floor((t[-1] - t[0]) * fps / speed * (1 + 1e-12))) + 1
    if frames > MAX_FRAMES:
        needed = (t[-1] - t[0]) * fps / MAX_FRAMES
        remedy = f"at most {MAX_FRAMES} are written; give speed={needed:.3g} or more, a lower fps, or a shorter motion"
        raise ModelError("animation", "number of frames", frames, remedy)
    return np.asarray(np.minimum(t[0] + np.arange(frames) * speed / fps, t[-1]))


def _finer(times: Array, trace: Any) -> Array:
    """Return the times of the frames, with more between them if there are paths to draw."""
    if len(times) == 1 or not trace:
        return times
    count = _PATH_POINTS * (len(times) - 1)
    return np.interp(np.arange(count + 1) / _PATH_POINTS, np.arange(len(times)), times)


def produce(make: Callable[[], Animation], path: Any, options: AnimationOptions) -> FuncAnimation | Path:
    """Make an animation in the style of the package; write it to a file, or return a matplotlib animation."""
    suffix = _checked_suffix(path, options.fps)
    size = options.size
    if size is not None and (finite_array(size, (2,), item="animation", field="size") <= 0).any():
        raise ModelError("animation", "size", size, "give width and height in inches")
    style.matplotlib()
    with style.styled():
        film = make()
        if path is None:
            return _moving(film, options.fps)
        write = {".gif": write_gif, ".mp4": write_mp4}.get(suffix, write_html)
        return style.written(path, _SUFFIXES, "animation", lambda name: write(name, film, options.fps))


def _of_model(model: Model, times: Array, q: Array, path: Any, options: AnimationOptions, axis: Axis) -> Animation:
    """Return the animation of a model through configurations (n, nq), of which every k-th has a frame."""
    factor = deformation_factor(options.exaggerate)
    stride = max(1, (len(q) - 1) // max(1, len(times) - 1))
    rows = q[::stride]
    traced = markers_of(model, options.trace, "trace")
    paths = paths_of(model, q, traced, factor)
    placements = [Placement.of(model, row, factor) for row in rows[spread(len(rows), MAX_FITTED)]]
    picture = new_picture(
        model, placements, options.view, None, path, paths, traced, inertia=options.inertia, size=options.size
    )

    def update(k: int) -> None:
        picture.update(Placement.of(model, rows[k], factor, t=float(times[k])))

    film = Animation(model.system.name, times, axis, picture, update, paths, stride)
    film.add_tips(notes.add_points(picture, placements[0], traced))
    return film


def _moving(film: Animation, fps: float) -> FuncAnimation:
    """Return a matplotlib animation that notebooks show without settings."""
    from matplotlib.animation import FuncAnimation

    class Moving(FuncAnimation):
        _shown = ""

        def _repr_html_(self) -> str:
            """Return a complete page, which a saved notebook keeps."""
            self._draw_was_started = True  # matplotlib warns of animations that were never drawn
            with style.styled():
                self._shown = self._shown or framed(film, fps)
            return self._shown

    return Moving(film.figure, film.show, frames=len(film.times), interval=1000 / fps, blit=False)


def _checked_suffix(path: Any, fps: float) -> str:
    """Return the ending of a file name, if it can be written at that rate."""
    suffix = "" if path is None else Path(str(path)).suffix.lower()
    if path is not None and suffix not in _SUFFIXES:
        raise ModelError("animation", "path", str(path), f"use a name that ends in {' or '.join(_SUFFIXES)}")
    if suffix == ".gif" and fps > MAX_GIF_FPS:
        raise ModelError("animation", "fps", fps, f"a GIF shows at most {MAX_GIF_FPS:.0f} frames a second; use .html")
    return suffix


class Animation:
    """Picture with its moving artists, frame by frame.

    Parameters
    ----------
    title : str
    times : (n,) s
        Of the frames.
    axis : Axis
        Name and unit of `times`.
    picture : PlanarPicture, SpatialPicture or NaturalPicture
    update : callable of the number of a frame
        Moves the picture.
    paths : list of (m, 3) m
        Paths of points, with `stride` points for each frame; drawn up to the present frame.
    """

    def __init__(
        self,
        title: str,
        times: Array,
        axis: Axis,
        picture: Any,
        update: Callable[[int], None],
        paths: list[Array],
        stride: int = 1,
    ) -> None:
        self.title, self.times, self.axis, self.picture = title, times, axis, picture
        self.figure = picture.ax.figure
        self.figure.set_dpi(_DPI)
        self.figure.set_facecolor(style.PAPER)
        self._update, self._paths, self._stride = update, paths, stride
        self._clock = self.figure.text(0.01, 0.99, "", ha="left", va="top", fontsize=8, color=style.INK)
        self._digits = max(0, int(np.ceil(-np.log10(max(float(np.ptp(times)), 1e-9) / 100))))
        self._tails = [notes.add_trace(picture, line[:1], k) for k, line in enumerate(paths)]
        self._tips: Any = None
        self.moving = [*picture.moving, *self._tails, self._clock]

    def add_tips(self, line: Any) -> None:
        """Let a line of dots mark the ends of the paths."""
        self._tips = line
        self.moving.append(line)

    def show(self, k: int) -> list[Any]:
        """Move everything to frame k and return the moving artists."""
        self._update(k)
        self._clock.set_text(self.axis.at(float(self.times[k]), f".{self._digits}f"))
        view, last = self.picture.view, k * self._stride
        for line, tail in zip(self._paths, self._tails, strict=True):
            notes.set_line(tail, view, line[: last + 1])
        if self._tips is not None and self._paths:
            notes.set_line(self._tips, view, np.array([line[last] for line in self._paths]))
        return self.moving

    def prepare(self) -> None:
        """Draw the fixed artists once, for `pixels`; the view cannot change afterwards."""
        if isinstance(self.picture, SpatialPicture):
            self.picture.fixed_eye = True
        flat = self.picture.view.flat
        self._artists = sorted(self.moving, key=lambda a: a.get_zorder()) if flat else self.moving
        for artist in self._artists:
            artist.set_animated(True)
        self.figure.canvas.draw()
        self._background = self.figure.canvas.copy_from_bbox(self.figure.bbox)

    def pixels(self, k: int) -> NDArray[np.uint32]:
        """Return frame k, (height, width): red in the lowest byte, then green and blue."""
        canvas = self.figure.canvas
        renderer = canvas.get_renderer()
        self.show(k)
        canvas.restore_region(self._background)
        for artist in self._artists:
            if hasattr(artist, "do_3d_projection"):
                artist.do_3d_projection()
            artist.draw(renderer)
        return np.ascontiguousarray(canvas.buffer_rgba()).view("<u4")[..., 0]
