"""Pictures, by matplotlib, which is imported only when a picture is asked for.

`draw` shows a system at one configuration, `animate` a motion, `plot` and `plot_energy` outputs over time.
"""

from .drawing.animation import animate, animate_configurations
from .drawing.system_drawing import draw
from .plots.time_series import plot, plot_energy

__all__ = ["animate", "animate_configurations", "draw", "plot", "plot_energy"]
