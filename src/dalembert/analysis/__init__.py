"""Questions to a system: does it close, how can it move, what does a motion take."""

from .assemble import Assembly, assemble, consistent_speeds
from .inverse import Efforts, consistent_accelerations, inverse_dynamics
from .mobility import Mobility, mobility

__all__ = [
    "Assembly",
    "Efforts",
    "Mobility",
    "assemble",
    "consistent_accelerations",
    "consistent_speeds",
    "inverse_dynamics",
    "mobility",
]
