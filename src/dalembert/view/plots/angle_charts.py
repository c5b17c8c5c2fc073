"""Plot of configuration charts of angle sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rotation.configuration_chart import INCLINED, Chart
from .. import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_chart"]


def plot_chart(chart: Chart, *, ax: Any = None, path: Any = None) -> Axes:
    """Draw a configuration chart and return the matplotlib axes.

    Parameters
    ----------
    chart : Chart
    ax : matplotlib axes
        Where to draw.
    path : str or Path
        File to write.
    """
    panel = style.axes_for(ax, path, 4.6, 3.0)
    for turn, (axis, angle) in enumerate(zip(chart.axes, chart.angles, strict=True)):
        left, right = INCLINED[axis]
        panel.plot([turn, turn + 1], [-axis, -axis], color="0.15", linewidth=1.4)
        panel.plot([turn, turn + 1], [-left, -right], color="C0", linewidth=1.4)
        panel.text(turn + 0.5, -2.45, angle, ha="center", va="top")
    for column, name in enumerate(("k", "", "", "l")):
        panel.plot([column] * 3, [0, -1, -2], "o", color="0.15", markersize=7)
        panel.text(column, 0.35, name, ha="center", va="bottom", style="italic")
    for row in range(3):
        panel.text(-0.3, -row, str(row + 1), ha="right", va="center")
    panel.set(xlim=(-0.6, 3.3), ylim=(-2.9, 0.75), aspect="equal", title=chart.convention)
    panel.axis("off")
    if path is not None:
        style.save(panel.figure, path)
    return panel
