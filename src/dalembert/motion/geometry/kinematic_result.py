"""Results of kinematic analyses along a motion: a plot and a Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...answer import ArrayAnswer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["KinematicResult"]


class KinematicResult(ArrayAnswer):
    """Plottable quantities along a motion."""

    def _subject(self) -> str:
        result = getattr(self, "result", None)
        return super()._subject() if result is None else str(result.labels.system)

    def _axes(self) -> dict[str, tuple[Any, str]]:
        t = getattr(self, "t", None)
        if t is None:
            return {}
        result = getattr(self, "result", None)
        return {"time": (t, "s" if result is None else result.axis.unit)}

    def plot(self, *, ax: Any = None, path: Any = None, **options: Any) -> Axes | list[Axes]:
        """Plot the result and return the matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes
            Axes to draw on; default a new figure.
        path : str or Path
            File to write: .png, .pdf, .svg, ...
        options
            Options of the plot, as ``row`` or ``t`` for the drawn position; see
            `dalembert.view.plots.kinematic_results`.
        """
        from ...view.plots.kinematic_results import plot_reading

        return plot_reading(self, ax=ax, path=path, **options)
