"""Linear systems that multibody systems are near a state: tangent spaces, linearisation."""

from .linear import Linear
from .linearize import linearize
from .tangent import Tangent, tangent_space

__all__ = ["Linear", "Tangent", "linearize", "tangent_space"]
