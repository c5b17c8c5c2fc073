"""What a simulation returns: states over time, and everything that follows from them by name."""

from .outputs import ByTime, Motion, Output, Periods, always, nodal_displacements, nodal_velocities
from .records import TIME, Axis, EventRecord, Labels, Stats
from .result import Result

__all__ = [
    "TIME",
    "Axis",
    "ByTime",
    "EventRecord",
    "Labels",
    "Motion",
    "Output",
    "Periods",
    "Result",
    "Stats",
    "always",
    "nodal_displacements",
    "nodal_velocities",
]
