"""Linear systems that multibody systems are near a state: tangent spaces."""

from .tangent import Tangent, tangent_space

__all__ = ["Tangent", "tangent_space"]
