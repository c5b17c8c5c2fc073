"""Plots, drawings, animations and scenes of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from numpy.typing import ArrayLike

from ..checks import checked
from ..model import Model, State
from ..system.display_options import (
    AnimationKeywords,
    AnimationOptions,
    DrawOptions,
    PictureKeywords,
    SceneKeywords,
    SceneOptions,
    keywords_of,
)

if TYPE_CHECKING:
    from anywidget import AnyWidget
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from ..view.web.server import Viewer
    from .result import Result

__all__ = ["ResultDisplay"]


class ResultDisplay:
    """Plots and pictures of a motion, made in `view`."""

    def require_model(self) -> Model:
        """Return the model; raise a `ModelError` if there is none."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return a drawing and the ranges of coordinates for notebooks."""
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
    ) -> list[Axes]:
        """Plot outputs over time, or against another, and return the matplotlib axes.

        Parameters
        ----------
        names : str, function of a State, or several of them in a tuple
            Outputs such as ``"rocker.angle"``; all coordinates if left out. There is one panel for each unit. With
            tuples, as in ``plot(("A.position", "B.position"), "A.effort")``, there is one for each tuple and name; a
            second unit has its axis on the right.
        against : str or function of a State
            Output on the horizontal axis instead of time, a scalar or a component such as ``"tip.position.x"``:
            ``plot("A.effort", against="A.position")``.
        degrees : bool
            Show angles and their rates in degrees.
        ax : matplotlib axes
            Axes to draw on, for one panel; those of a new figure if left out.
        path : str or path
            File to write: .png, .pdf, .svg, ...
        """
        from ..view.plots.time_series import plot

        return plot(cast("Result", self), *names, against=against, degrees=degrees, ax=ax, path=path)

    def plot_energy(self, *, ax: Any = None, path: Any = None) -> list[Axes]:
        """Plot energies, work and losses, and below them the energy balance (see `view.plot_energy`)."""
        from ..view.plots.time_series import plot_energy

        return plot_energy(cast("Result", self), ax=ax, path=path)

    @checked("velocities", "accelerations", "ghosts")
    @keywords_of(DrawOptions)
    def draw(
        self,
        t: float | None = None,
        *,
        velocities: Iterable[Any] = (),
        accelerations: Iterable[Any] = (),
        ghosts: bool = False,
        **options: Unpack[PictureKeywords],
    ) -> Axes:
        """Draw the system at a time and return the axes (see `view.draw`).

        Parameters
        ----------
        t : float, s
            The last time if left out.
        velocities, accelerations : points
            Points with an arrow: bodies, markers, or names such as ``"coupler.at(0.2, 0, 0)"``.
        ghosts : bool
            Draw a few of the earlier positions faintly.
        {options}
        """
        from ..view.drawing.system_drawing import draw_motion

        return draw_motion(self, t, velocities, accelerations, ghosts=ghosts, **options)

    @keywords_of(AnimationOptions)
    def animate(self, path: Any = None, **options: Unpack[AnimationKeywords]) -> FuncAnimation | Path:
        """Animate the motion: as a ``.gif``, ``.mp4`` or ``.html`` file, or without a path for a notebook.

        Parameters
        ----------
        path : str or Path
            File to write, ``.gif``, ``.mp4`` (by ffmpeg) or ``.html``; if left out, a matplotlib animation is
            returned, which notebooks show.
        {options}

        Returns
        -------
        Path or matplotlib.animation.FuncAnimation

        Raises
        ------
        ModelError
            If a view, a point, a rate or a file is invalid.
        """
        from ..view.drawing.animation import animate

        self.require_model()
        return animate(self, path, **options)

    @keywords_of(SceneOptions)
    def view(
        self, *, open_browser: bool | None = None, port: int = 0, **options: Unpack[SceneKeywords]
    ) -> Viewer | AnyWidget:
        """Show the motion in a browser or a notebook cell, to rotate, play, plot and measure.

        Parameters
        ----------
        open_browser : bool
            False: only serve, at the `address` of the returned viewer. True: open a browser even in a notebook.
        port : int
            Of the server, on this machine only; any free one if left out.
        {options}

        Returns
        -------
        Viewer, or in a notebook a widget
            A viewer serves until its `close` or the end of Python.
        """
        from ..view.web import SceneOptions, view_result

        self.require_model()
        return view_result(self, SceneOptions(**options), open_browser=open_browser, port=port)

    @checked("by")
    @keywords_of(SceneOptions)
    def export(self, path: Any, *, by: str = "auto", **options: Unpack[SceneKeywords]) -> Path:
        """Write the motion: ``.html``, a page that plays offline, ``.glb`` for Blender and slides, or a video.

        Parameters
        ----------
        path : str or Path
            A ``.glb`` has bodies, elements and their motion only.
        by : str
            Renderer of ``.png`` (the last position), ``.gif`` and ``.mp4`` (by ffmpeg). ``"drawing"``: as `draw` and
            `animate`, without plots, arrows, colours and further motions. ``"scene"``: the page in Chromium, by
            Playwright. ``"auto"``: the drawing unless an option needs the scene.
        {options}
        """
        from ..view.web import SceneOptions, export

        self.require_model()
        return export(self, path, SceneOptions(**options), by)
