"""Results of simulations: states over time, and outputs by name."""

from .outputs.buckling import buckling_factors
from .outputs.deformation_recovery import mode_acceleration
from .outputs.flexible_nodes import (
    NodalMotion,
    nodal_accelerations,
    nodal_displacements,
    nodal_loads,
    nodal_motion,
    nodal_velocities,
)
from .outputs.motion import ConditionsByTime, Motion, Periods, single_period
from .outputs.output import Output
from .records import TIME, Axis, EventRecord, Labels, Stats
from .result import Result
from .spectra import Orders, Spectrum, Waterfall

__all__ = [
    "TIME",
    "Axis",
    "ConditionsByTime",
    "EventRecord",
    "Labels",
    "Motion",
    "NodalMotion",
    "Orders",
    "Output",
    "Periods",
    "Result",
    "Spectrum",
    "Stats",
    "Waterfall",
    "buckling_factors",
    "mode_acceleration",
    "nodal_accelerations",
    "nodal_displacements",
    "nodal_loads",
    "nodal_motion",
    "nodal_velocities",
    "single_period",
]
