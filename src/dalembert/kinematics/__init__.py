"""Motion without forces: how a mechanism can move, and how it moves when some of it is driven."""

from .equations import Equations, RelativeEquations
from .inverse import InverseKinematics, inverse_kinematics
from .targets import Target

__all__ = ["Equations", "InverseKinematics", "RelativeEquations", "Target", "inverse_kinematics"]
