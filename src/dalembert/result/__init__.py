"""Results of simulations: states over time, and outputs by name."""

from .outputs import (
    ConditionsByTime,
    Motion,
    NodalMotion,
    Output,
    Periods,
    buckling_factors,
    mode_acceleration,
    nodal_accelerations,
    nodal_displacements,
    nodal_loads,
    nodal_motion,
    nodal_velocities,
    single_period,
)
from .records import TIME, Axis, EventRecord, Labels, Stats
from .result import Result

__all__ = [
    "TIME",
    "Axis",
    "ConditionsByTime",
    "EventRecord",
    "Labels",
    "Motion",
    "NodalMotion",
    "Output",
    "Periods",
    "Result",
    "Stats",
    "buckling_factors",
    "mode_acceleration",
    "nodal_accelerations",
    "nodal_displacements",
    "nodal_loads",
    "nodal_motion",
    "nodal_velocities",
    "single_period",
]
