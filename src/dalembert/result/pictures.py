"""What a result shows: plots, drawings, animations, scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from ..model import Model, State

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Pictures"]


class Pictures:
    """Plots and pictures of a motion; all are made in `view`."""

    def _model(self) -> Model:
        raise NotImplementedError

    def plot(self, *names: str | Callable[[State], ArrayLike], ax: Any = None, path: Any = None) -> list[Any]:
        """Plot outputs over time, one panel for each unit, and return the matplotlib axes (see `view.plot`).

        Parameters
        ----------
        names : str or function of a State
            All coordinates if left out.
        ax : matplotlib axes
            Where to draw; a new figure if left out.
        path : str or path
            File to write: .png, .pdf, .svg, ...
        """
        from ..view.plots import plot

        return plot(cast("Result", self), *names, ax=ax, path=path)

    def plot_energy(self, *, ax: Any = None, path: Any = None) -> list[Any]:
        """Plot energies, work and losses and, below them, their balance (see `view.plot_energy`)."""
        from ..view.plots import plot_energy

        return plot_energy(cast("Result", self), ax=ax, path=path)

    def draw(
        self,
        t: float | None = None,
        *,
        velocities: Iterable[Any] = (),
        accelerations: Iterable[Any] = (),
        **options: Any,
    ) -> Any:
        """Draw the system at a time, the last if left out, and return the axes (see `view.draw`).

        Parameters
        ----------
        t : float, s
        velocities, accelerations : points
            That get an arrow: bodies, markers, or names such as ``"coupler.at(0.2, 0, 0)"``.
        **options
            Of `view.draw`; points of ``trace`` leave their paths over the whole motion up to that time.
        """
        from ..view.draw import draw_motion

        return draw_motion(self, t, velocities, accelerations, **options)

    def animate(self, path: Any = None, **options: Any) -> Any:
        """Show the motion: as a ``.gif`` or ``.html`` file, or without a path as an animation for a notebook.

        Options as in `view.animate`: ``view``, ``fps``, ``speed`` (seconds of motion in a second), ``trace`` (points
        whose paths are drawn), ``size`` (inches), ``inertia``, ``exaggerate`` (factor of deformations).
        """
        from ..view.animate import animate

        self._model()
        return animate(self, path, **options)

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
            Further motions of systems with the same bodies and hinges, shown faintly.
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
        open_browser : bool
            False: only serve, at the `address` of what is returned. True: a browser even in a notebook.
        port : int
            Of the server, on this machine only; any that is free if left out.

        Returns
        -------
        Viewer, or in a notebook a widget
            A viewer serves until its `close` or the end of Python.
        """
        from ..view.web import view_result

        self._model()
        wanted = _wanted(view, fps, speed, trace, plots, arrows, beside, inertia, exaggerate)
        return view_result(self, wanted, open_browser=open_browser, port=port)

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
    ) -> Path:
        """Write the motion as ``.html``, a page that plays without a network, or ``.glb``, for slides and Blender.

        Parameters are those of `view`; a ``.glb`` has bodies, elements and their motion alone.
        """
        from ..view.web import export

        self._model()
        return export(self, path, _wanted(view, fps, speed, trace, plots, arrows, beside, inertia, exaggerate))


def _wanted(view: str, fps: float, speed: float, trace: Iterable[Any], *more: Any) -> Any:
    from ..view.web.scenes import Wanted

    plots, arrows, beside, inertia, exaggerate = more
    paths, plots, arrows = ([each] if isinstance(each, str) else list(each) for each in (trace, plots, arrows))
    return Wanted(view, fps, speed, paths, plots, arrows, dict(beside or {}), inertia, exaggerate)
