"""What all that is read off a motion has in common: a picture."""

from __future__ import annotations

from typing import Any

__all__ = ["KinematicResult"]


class KinematicResult:
    """Something read off a motion, that can be plotted."""

    def plot(self, *, ax: Any = None, path: Any = None, **options: Any) -> Any:
        """Plot it and return the matplotlib axes.

        Parameters
        ----------
        ax : matplotlib axes
            Where to draw; a new figure if left out.
        path : str or Path
            File to write: .png, .pdf, .svg, ...
        options
            Those of the picture, as ``row`` or ``t`` for the position that is drawn; see
            `dalembert.view.plots.kinematic_results`.
        """
        from ...view.plots.kinematic_results import plot_reading

        return plot_reading(self, ax=ax, path=path, **options)
