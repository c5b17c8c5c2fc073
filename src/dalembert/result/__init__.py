"""What a simulation returns: states over time, and everything that follows from them by name."""

from .outputs import (
    ByTime,
    Motion,
    NodalMotion,
    Output,
    Periods,
    always,
    buckling_factors,
    mode_acceleration,
    nodal_accelerations,
    nodal_displacements,
    nodal_loads,
    nodal_motion,
    nodal_velocities,
)
from .records import TIME, Axis, EventRecord, Labels, Stats
from .result import Result

__all__ = [
    "TIME",
    "Axis",
    "ByTime",
    "EventRecord",
    "Labels",
    "Motion",
    "NodalMotion",
    "Output",
    "Periods",
    "Result",
    "Stats",
    "always",
    "buckling_factors",
    "mode_acceleration",
    "nodal_accelerations",
    "nodal_displacements",
    "nodal_loads",
    "nodal_motion",
    "nodal_velocities",
]
