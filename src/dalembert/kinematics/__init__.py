"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .equations import Equations, RelativeEquations
from .motion import kinematics

__all__ = ["Equations", "RelativeEquations", "kinematics"]
