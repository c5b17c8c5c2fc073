"""A motion as a moving picture: GIF, a page that plays by itself, or an animation for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import finite_array, finite_number
from ...errors import ModelError
from ...model import Model, as_model
from ...result import TIME, Axis
from ...system import System
from .. import style
from ..scene.projection import Placement, paths_of
from . import annotations as notes
from .animation_files import framed, write_gif, write_html, write_mp4
from .spatial_picture import SpatialPicture
from .system_drawing import checked_factor, configurations, markers_of, new_picture, spread

__all__ = ["Animation", "animate", "animate_configurations", "between", "checked_suffix", "frame_times", "projected"]

Array = NDArray[np.float64]

_SUFFIXES = (".gif", ".html", ".mp4")
_FASTEST_GIF = 50.0  # frames a second: GIF counts hundredths of a second, and players slow down a single one
_MAX_FRAMES = 6000
_DPI = 100
_FINE = 4  # points of a path for each frame


def animate(
    result: Any,
    path: Any = None,
    *,
    view: str = "auto",
    fps: float = 30.0,
    speed: float = 1.0,
    trace: Iterable[Any] = (),
    size: tuple[float, float] | None = None,
    inertia: bool = False,
    exaggerate: float = 1.0,
) -> Any:
    """Show a simulated motion; options are those of `Result.animate`.

    `result` is anything with ``model``, ``t`` (n,) and ``at(times)`` that gives a ``q``.
    """
    t = np.asarray(result.t, dtype=np.float64)
    times = frame_times(t, fps, speed)
    fine = _finer(times, trace)
    q = np.atleast_2d(result.at(fine).q) if len(t) > 1 else np.atleast_2d(result.q)
    return _show(result.model, times, q, path, view, fps, trace, size, inertia, exaggerate, result.axis)


def animate_configurations(
    system: System | Model,
    t: ArrayLike,
    q: ArrayLike,
    path: Any = None,
    *,
    view: str = "auto",
    fps: float = 30.0,
    speed: float = 1.0,
    trace: Iterable[Any] = (),
    size: tuple[float, float] | None = None,
    inertia: bool = False,
    exaggerate: float = 1.0,
) -> Any:
    """Show a motion given by configurations q (n, nq) at rising times t (n,) s; the rest as `animate`."""
    model = as_model(system)
    rows = configurations(model, q)
    stamps = np.asarray(t, dtype=np.float64)
    if stamps.shape != (len(rows),) or not np.isfinite(stamps).all() or not (np.diff(stamps) > 0).all():
        raise ModelError("animation", "t", t, f"give {len(rows)} rising times, one for each row of q")
    times = frame_times(stamps, fps, speed)
    q_fine = between(model, stamps, rows, _finer(times, trace))
    return _show(model, times, q_fine, path, view, fps, trace, size, inertia, exaggerate)


def between(model: Model, t: Array, q: Array, times: Array) -> Array:
    """Return configurations (k, nq) at any times (k,), along the shortest way on the manifold between rows of q."""
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0)
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    share = (times - t[k]) / (t[k + 1] - t[k])
    return model.integrate(q[k], share[:, None] * model.difference(q[k], q[k + 1]))


def frame_times(t: Array, fps: Any, speed: Any) -> Array:
    """Return the times of the frames, from the first to the last of t."""
    for field, value in (("fps", fps), ("speed", speed)):
        if finite_number(value, item="animation", field=field) <= 0:
            raise ModelError("animation", field, value, "it must be positive")
    frames = int(np.floor((t[-1] - t[0]) * fps / speed * (1 + 1e-12))) + 1
    if frames > _MAX_FRAMES:
        needed = (t[-1] - t[0]) * fps / _MAX_FRAMES
        remedy = f"at most {_MAX_FRAMES} are written; give speed={needed:.3g} or more, a lower fps, or a shorter motion"
        raise ModelError("animation", "number of frames", frames, remedy)
    times: Array = np.minimum(t[0] + np.arange(frames) * speed / fps, t[-1])
    return times


def _finer(times: Array, trace: Any) -> Array:
    """Return the times of the frames, with more between them if there are paths to draw."""
    if len(times) == 1 or not trace:
        return times
    count = _FINE * (len(times) - 1)
    return np.interp(np.arange(count + 1) / _FINE, np.arange(len(times)), times)


def _show(
    model: Model,
    times: Array,
    q: Array,
    path: Any,
    view: str,
    fps: float,
    trace: Any,
    size: Any,
    inertia: bool,
    exaggerate: float,
    axis: Axis = TIME,
) -> Any:
    checked_suffix(path, fps)
    factor = checked_factor(exaggerate)
    if size is not None and (finite_array(size, (2,), item="animation", field="size") <= 0).any():
        raise ModelError("animation", "size", size, "give width and height in inches")
    return projected(lambda: _ModelFilm(model, times, q, path, view, trace, size, inertia, factor, axis), path, fps)


def projected(make: Callable[[], Animation], path: Any, fps: float) -> Any:
    """Show a film, made in our style: write it to a file, or return it as a matplotlib animation."""
    suffix = checked_suffix(path, fps)
    style.matplotlib()
    with style.styled():
        film = make()
        if path is None:
            return _moving(film, fps)
        write = {".gif": write_gif, ".mp4": write_mp4}.get(suffix, write_html)
        return style.written(path, _SUFFIXES, "animation", lambda name: write(name, film, fps))


def _moving(film: Animation, fps: float) -> Any:
    """Return a film as a matplotlib animation that notebooks show without any settings."""
    from matplotlib.animation import FuncAnimation

    class Moving(FuncAnimation):
        _shown = ""

        def _repr_html_(self) -> str:
            """Show it as a page of its own, which a saved notebook keeps."""
            self._draw_was_started = True  # matplotlib warns of animations that nobody has seen
            with style.styled():
                self._shown = self._shown or framed(film, fps)
            return self._shown

    return Moving(film.figure, film.show, frames=len(film.times), interval=1000 / fps, blit=False)


def checked_suffix(path: Any, fps: float) -> str:
    suffix = "" if path is None else Path(str(path)).suffix.lower()
    if path is not None and suffix not in _SUFFIXES:
        raise ModelError("animation", "path", str(path), f"use a name that ends in {' or '.join(_SUFFIXES)}")
    if suffix == ".gif" and fps > _FASTEST_GIF:
        raise ModelError("animation", "fps", fps, f"a GIF shows at most {_FASTEST_GIF:.0f} frames a second; use .html")
    return suffix


class Animation:
    """A picture with its moving parts, frame by frame.

    Attributes
    ----------
    times : (n,) s
        Of the frames.
    title : str
    figure : matplotlib figure
    moving : list of artists
    flat : bool
    """

    times: Array
    title: str
    figure: Any
    moving: list[Any]
    flat: bool

    def begin(self, title: str, times: Array, figure: Any, *, flat: bool, axis: Axis) -> None:
        """Take a figure, and write a clock on it."""
        self.title, self.times, self.figure, self.flat, self.axis = title, times, figure, flat, axis
        figure.set_dpi(_DPI)
        figure.set_facecolor(style.PAPER)
        self.clock = figure.text(0.01, 0.99, "", ha="left", va="top", fontsize=8, color=style.INK)
        self.digits = max(0, int(np.ceil(-np.log10(max(float(np.ptp(times)), 1e-9) / 100))))

    def show(self, k: int) -> list[Any]:
        """Put everything where it is in frame k, and return what moves."""
        raise NotImplementedError

    def tell(self, k: int) -> None:
        """Set the clock."""
        self.clock.set_text(self.axis.at(float(self.times[k]), f".{self.digits}f"))

    def still(self) -> None:
        """Let nothing turn any more."""

    def prepare(self) -> None:
        """Draw once what stands still."""
        self.still()
        self._artists = sorted(self.moving, key=lambda a: a.get_zorder()) if self.flat else self.moving
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


class _ModelFilm(Animation):
    """Bodies of a model, frame by frame."""

    def __init__(
        self,
        model: Model,
        times: Array,
        q: Array,
        path: Any,
        view: str,
        trace: Any,
        size: Any,
        inertia: bool,
        factor: float,
        axis: Axis,
    ) -> None:
        self.model, self.factor = model, factor
        self.stride = max(1, (len(q) - 1) // max(1, len(times) - 1))
        self.q = q[:: self.stride]
        traced = markers_of(model, trace, "trace")
        self.paths = paths_of(model, q, traced, factor)
        placements = [Placement.of(model, row, factor) for row in self.q[spread(len(self.q), 60)]]
        self.picture = new_picture(model, placements, view, None, path, self.paths, traced, inertia=inertia, size=size)
        self.begin(model.system.name, times, self.picture.ax.figure, flat=self.picture.view.flat, axis=axis)
        self.tails = [notes.add_trace(self.picture, line[:1], k) for k, line in enumerate(self.paths)]
        self.tips = notes.add_points(self.picture, placements[0], traced)
        self.moving = [*self.picture.moving, *self.tails, self.tips, self.clock]

    def show(self, k: int) -> list[Any]:
        """Put everything where it is in frame k."""
        self.picture.update(Placement.of(self.model, self.q[k], self.factor, t=float(self.times[k])))
        self.tell(k)
        for line, tail in zip(self.paths, self.tails, strict=True):
            _set_line(tail, self.picture.view, line[: k * self.stride + 1])
        if self.paths:
            _set_line(self.tips, self.picture.view, np.array([line[k * self.stride] for line in self.paths]))
        return self.moving

    def still(self) -> None:
        """Let nothing turn any more."""
        if isinstance(self.picture, SpatialPicture):
            self.picture.fixed_eye = True


def _set_line(line: Any, view: Any, points: Array) -> None:
    if view.flat:
        line.set_data(*view.project(points).T)
    else:
        line.set_data_3d(*points.T)
