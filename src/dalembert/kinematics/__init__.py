"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .equations import Equations, RelativeEquations
from .following import Followed, follow, predict
from .motion import kinematics
from .newton import Position, find_position
from .rates import Rates, find_rates
from .subspace import MotionSpace, motion_space

__all__ = [
    "Equations",
    "Followed",
    "MotionSpace",
    "Position",
    "Rates",
    "RelativeEquations",
    "find_position",
    "find_rates",
    "follow",
    "kinematics",
    "motion_space",
    "predict",
]
