"""Loop closure: closure equations, assembly, mobility, continuation, start values."""

from .assembly import Assembly, assemble
from .continuation.solution_path import Path
from .driven.driven_state import DrivenMotion, driven_motion
from .driven.driving_coordinates import best_driving_coordinates
from .equations import Equations, RelativeEquations
from .mobility_analysis import Mobility, mobility
from .motion_subspace import MotionSpace, motion_space
from .position_rates import RateResult, find_rates
from .position_solver import PositionResult, find_position
from .velocity_projection import consistent_accelerations, consistent_velocities

__all__ = [
    "Assembly",
    "DrivenMotion",
    "Equations",
    "Mobility",
    "MotionSpace",
    "Path",
    "PositionResult",
    "RateResult",
    "RelativeEquations",
    "assemble",
    "best_driving_coordinates",
    "consistent_accelerations",
    "consistent_velocities",
    "driven_motion",
    "find_position",
    "find_rates",
    "mobility",
    "motion_space",
]
