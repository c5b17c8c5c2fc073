"""Drawings, animations and plots with matplotlib, which is imported for the first picture.

`draw` draws a system at one configuration, `animate` a motion; `plot` and `plot_energy` plot outputs over time.
"""

from .drawing.animation import animate, animate_configurations
from .drawing.system_drawing import draw
from .plots.time_series import plot, plot_energy

__all__ = ["animate", "animate_configurations", "draw", "plot", "plot_energy"]
