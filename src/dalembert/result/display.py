"""Plots, drawings, animations and scenes of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from ..checks import checked
from ..model import Model, State

if TYPE_CHECKING:
    from .result import Result

__all__ = ["ResultDisplay"]


class ResultDisplay:
    """Plots and pictures of a motion; all are made in `view`."""

    def require_model(self) -> Model:
        """Return the model, or raise a `ModelError`."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Show a sketch and the ranges of coordinates in a notebook."""
        from ..view.notebook import result_html

        return result_html(self)

    @checked("degrees")
    def plot(
        self,
        *names: str | Callable[[State], ArrayLike] | Sequence[Any],
        against: str | Callable[[State], ArrayLike] | None = None,
        degrees: bool = False,
        ax: Any = None,
        path: Any = None,
    ) -> list[Any]:
        """Plot outputs over time, or against another, and return the matplotlib axes.

        Parameters
        ----------
        names : str, function of a State, or several of them in a tuple
            Outputs such as ``"rocker.angle"``; all coordinates if left out. One panel for each unit; where some stand
            together in a tuple, as in ``plot(("A.position", "B.position"), "A.effort")``, one for each tuple and name,
            in which a second unit is read off at the right.
        against : str or function of a State
            Output to the right in place of the time, a number or a component such as ``"tip.position.x"``:
            ``plot("A.effort", against="A.position")``.
        degrees : bool
            Angles, and their rates, in degrees.
        ax : matplotlib axes
            Where to draw; a new figure if left out, which outputs of several panels need.
        path : str or path
            File to write: .png, .pdf, .svg, ...
        """
        from ..view.plots.time_series import plot

        return plot(cast("Result", self), *names, against=against, degrees=degrees, ax=ax, path=path)

    def plot_energy(self, *, ax: Any = None, path: Any = None) -> list[Any]:
        """Plot energies, work and losses and, below them, their balance (see `view.plot_energy`)."""
        from ..view.plots.time_series import plot_energy

        return plot_energy(cast("Result", self), ax=ax, path=path)

    @checked("velocities", "accelerations", "trace", "ghosts", "forces", "view", "labels", "markers", "inertia")
    def draw(
        self,
        t: float | None = None,
        *,
        velocities: Iterable[Any] = (),
        accelerations: Iterable[Any] = (),
        trace: Iterable[Any] = (),
        ghosts: bool = False,
        forces: Mapping[Any, ArrayLike] | None = None,
        view: str = "auto",
        ax: Any = None,
        labels: bool | None = None,
        markers: bool | Iterable[Any] = (),
        inertia: bool = False,
        exaggerate: float = 1.0,
        path: Any = None,
    ) -> Any:
        """Draw the system at a time, the last if left out, and return the axes (see `view.draw`).

        Parameters
        ----------
        t : float, s
        velocities, accelerations : points
            That get an arrow: bodies, markers, or names such as ``"coupler.at(0.2, 0, 0)"``.
        trace : points
            That leave their paths over the motion up to that time.
        ghosts : bool
            Draw a few of the earlier positions faintly.
        forces, view, ax, labels, markers, inertia, exaggerate, path
            As of `view.draw`.
        """
        from ..view.drawing.system_drawing import draw_motion

        return draw_motion(
            self, t, velocities, accelerations, trace=trace, ghosts=ghosts, forces=forces, view=view, ax=ax,
            labels=labels, markers=markers, inertia=inertia, exaggerate=exaggerate, path=path,
        )  # fmt: skip

    @checked("view", "trace", "inertia")
    def animate(
        self,
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
        """Show the motion: as a ``.gif``, ``.mp4`` or ``.html`` file, or without a path where a notebook stands.

        Parameters
        ----------
        path : str or Path
            File to write, ``.gif``, ``.mp4`` (by ffmpeg) or ``.html``; if left out, a matplotlib animation is returned,
            as notebooks show it.
        view : str
            As for `draw`.
        fps : float, 1/s
            Frames a second.
        speed : float
            Seconds of motion shown in a second.
        trace : points
            Points whose path is drawn while they move: markers, bodies, names such as ``"coupler.at(0.2, 0, 0)"``.
        size : (2,) inches
            Width and height; a hundred pixels an inch.
        inertia : bool
            As for `draw`.
        exaggerate : float
            Factor of all deformations of flexible bodies, as for `draw`.

        Returns
        -------
        Path or matplotlib.animation.FuncAnimation

        Raises
        ------
        ModelError
            If a view, a point, a rate or a file cannot be.
        """
        from ..view.drawing.animation import animate

        self.require_model()
        return animate(
            self, path, view=view, fps=fps, speed=speed, trace=trace, size=size, inertia=inertia, exaggerate=exaggerate
        )

    def view(
        self,
        *,
        plots: Sequence[str] = (),
        arrows: Sequence[str] = (),
        trace: Iterable[Any] = (),
        beside: Mapping[str, Result] | None = None,
        view: str = "auto",
        fps: float = 30.0,
        speed: float = 1.0,
        inertia: bool = False,
        exaggerate: float = 1.0,
        colors: str = "",
        open_browser: bool | None = None,
        port: int = 0,
    ) -> Any:
        """Show the motion in a browser, or in a notebook where it stands: turn, play, plot, measure.

        Parameters
        ----------
        plots : names
            Outputs plotted under the scene, with the time that is shown.
        arrows : names
            Vectors shown where they act: ``"D.force"``, ``"D.moment"``, ``"coupler.velocity"``.
        trace : points
            Whose paths are drawn: markers, bodies, names such as ``"coupler.at(0.2, 0, 0)"``.
        beside : dict of name to Result
            Further motions of systems with the same bodies and joints, shown faintly.
        view : str
            As for `view.draw`.
        fps : float, 1/s
            Poses kept for each second that is shown.
        speed : float
            Seconds of motion shown in a second.
        inertia : bool
            Show bodies without a shape as boxes of their mass and inertia.
        exaggerate : float
            Factor of all deformations of flexible bodies.
        colors : str
            What flexible bodies are coloured by: ``"stress"`` (von Mises) or ``"displacement"``.
        open_browser : bool
            False: only serve, at the `address` of what is returned. True: a browser even in a notebook.
        port : int
            Of the server, on this machine only; any that is free if left out.

        Returns
        -------
        Viewer, or in a notebook a widget
            A viewer serves until its `close` or the end of Python.
        """
        from ..view.web import SceneOptions, view_result

        self.require_model()
        options = SceneOptions(view, fps, speed, trace, plots, arrows, beside or {}, inertia, exaggerate, colors)
        return view_result(self, options, open_browser=open_browser, port=port)

    @checked("plots", "arrows", "trace", "beside", "view", "inertia", "colors", "by")
    def export(
        self,
        path: Any,
        *,
        plots: Sequence[str] = (),
        arrows: Sequence[str] = (),
        trace: Iterable[Any] = (),
        beside: Mapping[str, Result] | None = None,
        view: str = "auto",
        fps: float = 30.0,
        speed: float = 1.0,
        inertia: bool = False,
        exaggerate: float = 1.0,
        colors: str = "",
        by: str = "auto",
    ) -> Path:
        """Write the motion: ``.html``, a page that plays without a network, ``.glb`` for Blender and slides, or a film.

        Parameters are those of `view`; a ``.glb`` has bodies, elements and their motion alone. What makes ``.png`` (the
        last position), ``.gif`` and ``.mp4`` (by ffmpeg) is said by `by`: ``"drawing"``, as `draw` and `animate` do,
        without plots, arrows, colours and further motions; ``"scene"``, the page as Chromium shows it, by Playwright;
        ``"auto"``, the drawing unless something is asked for that only the scene has.
        """
        from ..view.web import SceneOptions, export

        self.require_model()
        options = SceneOptions(view, fps, speed, trace, plots, arrows, beside or {}, inertia, exaggerate, colors)
        return export(self, path, options, by)
