"""Drawings, scenes and real-time runs of a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack, cast

from .display_options import DrawKeywords, DrawOptions, SceneOptions, keywords_of

if TYPE_CHECKING:
    from anywidget import AnyWidget
    from matplotlib.axes import Axes

    from ..model.state import StateLike
    from ..view.web.server import Viewer
    from .system import System

__all__ = ["SystemDisplay"]


class SystemDisplay:
    """Drawing methods of a system, implemented in `view`."""

    def _repr_html_(self) -> str:
        """Return a drawing and a table for notebooks."""
        from ..view.notebook import system_html

        return system_html(self)

    @keywords_of(DrawOptions)
    def draw(self, state: StateLike | None = None, **options: Unpack[DrawKeywords]) -> Axes:
        """Draw the system and return the matplotlib axes (see `view.draw`).

        Parameters
        ----------
        state : State, dict of name to value, or (nq,) or (n, nq) rad or m
            Configuration; the initial one, with drives, if left out. Of several, the last is drawn in full and a few
            of the others faintly.
        {options}

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("pendulum")
        >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
        >>> ax = s.draw([0.5])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x [m]', 'z [m]')
        """
        from ..view.drawing.system_drawing import draw

        return draw(cast("System", self), state, **options)

    def view(
        self,
        state: StateLike | None = None,
        *,
        view: str = "auto",
        inertia: bool = False,
        exaggerate: float = 1.0,
        parameters: Mapping[str, tuple[float, float]] | None = None,
        open_browser: bool | None = None,
        port: int = 0,
    ) -> Viewer | AnyWidget:
        """Show the system in a browser, or in a notebook cell, where bodies can be dragged.

        Bodies follow the pointer as far as loops and limits allow; every coordinate has a slider. The page shows
        degrees of freedom, energy and forces of balance, and finds the next equilibrium of lower energy.

        Parameters
        ----------
        state : State, dict of name to value, or (nq,) rad or m
            First configuration; the initial one if left out.
        parameters : dict of str to (low, high)
            Parameters with sliders: ``{"crank.tip.x": (0.05, 0.15)}``; `parameters` lists their names.
        view, inertia, exaggerate, open_browser, port
            As for `Result.view`.

        Returns
        -------
        Viewer, or in a notebook a widget
        """
        from ..view.web import view_system

        options = SceneOptions(view=view, inertia=inertia, exaggerate=exaggerate)
        return view_system(
            cast("System", self), state, options=options, parameters=parameters, open_browser=open_browser, port=port
        )

    def play(
        self,
        inputs: Mapping[str, tuple[float, float]] | None = None,
        *,
        keys: Mapping[str, tuple[str, str]] | None = None,
        speed: float = 1.0,
        view: str = "auto",
        open_browser: bool | None = None,
        port: int = 0,
        **run: Any,
    ) -> Viewer:
        """Simulate the system in real time in a browser; drag bodies by a spring, set inputs by sliders.

        Parameters
        ----------
        inputs : dict of str to (low, high)
            Parameters with their ranges: ``{"motor.u": (-12.0, 12.0)}``; any of `parameters`.
        keys : dict of str to (str, str)
            Keys that set an input to its lowest and its highest value while they are pressed, as in
            ``{"motor.u": ("a", "d")}``. If left out, the arrow keys do so for the first two inputs.
        speed : float
            Seconds of motion in a second; the page shows if the machine is too slow.
        view, open_browser, port
            As for `Result.view`.
        run
            Further arguments of `Live`: ``state``, ``rtol``, ``method``, ...

        Returns
        -------
        Viewer
            Its `close` ends the run.
        """
        from ..view.web import play_system

        options = SceneOptions(view=view, speed=speed)
        system = cast("System", self)
        return play_system(
            system, inputs or {}, options=options, keys=keys, open_browser=open_browser, port=port, **run
        )
