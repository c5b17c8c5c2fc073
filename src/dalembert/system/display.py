"""Drawings, scenes and real-time runs of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from ..checks import checked

if TYPE_CHECKING:
    from .system import System

__all__ = ["SystemDisplay"]


class SystemDisplay:
    """Pictures of a system; all are made in `view`."""

    def _repr_html_(self) -> str:
        """Show a sketch and a table in a notebook."""
        from ..view.notebook import system_html

        return system_html(self)

    @checked("q", "view", "labels", "markers", "trace", "forces", "velocities", "accelerations", "inertia")
    def draw(
        self,
        q: ArrayLike | None = None,
        *,
        view: str = "auto",
        ax: Any = None,
        labels: bool | None = None,
        markers: bool | Iterable[Any] = (),
        trace: Iterable[Any] = (),
        forces: Mapping[Any, ArrayLike] | None = None,
        velocities: Mapping[Any, ArrayLike] | None = None,
        accelerations: Mapping[Any, ArrayLike] | None = None,
        inertia: bool = False,
        exaggerate: float = 1.0,
        path: Any = None,
    ) -> Any:
        """Draw the system at q (nq,), or as it starts, and return the matplotlib axes; all options are of `view.draw`.

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

        return draw(
            cast("System", self), q, view=view, ax=ax, labels=labels, markers=markers, trace=trace, forces=forces,
            velocities=velocities, accelerations=accelerations, inertia=inertia, exaggerate=exaggerate, path=path,
        )  # fmt: skip

    def view(
        self,
        q: ArrayLike | None = None,
        *,
        view: str = "auto",
        inertia: bool = False,
        exaggerate: float = 1.0,
        parameters: Mapping[str, tuple[float, float]] | None = None,
        open_browser: bool | None = None,
        port: int = 0,
    ) -> Any:
        """Show the system in a browser, or in a notebook where it stands, to be turned and pulled about.

        Bodies follow the pointer as far as loops and limits let them; every coordinate has a slider. The page tells
        degrees of freedom, energy and balance as it moves, and finds the equilibrium that is downhill.

        Parameters
        ----------
        q : (nq,) rad or m
            Where it begins; as it starts if left out.
        parameters : dict of str to (low, high)
            Numbers of the system that get sliders: ``{"crank.tip.x": (0.05, 0.15)}``; `parameters` lists them.
        view, inertia, exaggerate, open_browser, port
            As of `Result.view`.

        Returns
        -------
        Viewer, or in a notebook a widget
        """
        from ..view.web import SceneOptions, view_system

        wanted = SceneOptions(view=view, inertia=inertia, exaggerate=exaggerate)
        return view_system(
            cast("System", self), q, wanted=wanted, parameters=parameters, open_browser=open_browser, port=port
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
    ) -> Any:
        """Run the system in real time while a browser shows it, to be pulled by a spring and steered by sliders.

        Parameters
        ----------
        inputs : dict of str to (low, high)
            Numbers with their ranges: ``{"motor.u": (-12.0, 12.0)}``; any of `parameters`.
        keys : dict of str to (str, str)
            Keys that hold an input at its lowest and its highest value while they are pressed, as in
            ``{"motor.u": ("a", "d")}``. Left out, arrows do so for the first two inputs.
        speed : float
            Seconds of motion in a second; where the machine cannot keep pace the page says so.
        view, open_browser, port
            As of `Result.view`.
        run
            Further arguments of `Live`: ``state``, ``rtol``, ``method``, ...

        Returns
        -------
        Viewer
            Its `close` ends the run.
        """
        from ..view.web import SceneOptions, play_system

        wanted = SceneOptions(view=view, speed=speed)
        system = cast("System", self)
        return play_system(system, inputs or {}, wanted=wanted, keys=keys, open_browser=open_browser, port=port, **run)
