"""Pictures, by matplotlib, which is imported only when a picture is asked for.

`draw` shows a system at one configuration, `animate` a motion, `plot` and `plot_energy` outputs over time.
"""

from .animate import animate, animate_configurations
from .draw import draw
from .plots import plot, plot_energy

__all__ = ["animate", "animate_configurations", "draw", "plot", "plot_energy"]
