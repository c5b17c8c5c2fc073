"""Questions to a system: does it close, how can it move, what does a motion take."""

from .assemble import Assembly, assemble, consistent_speeds
from .driven import DrivenMotion, driven_motion
from .inverse import Efforts, consistent_accelerations, inverse_dynamics
from .mobility import Mobility, mobility

__all__ = [
    "Assembly",
    "DrivenMotion",
    "Efforts",
    "Mobility",
    "assemble",
    "consistent_accelerations",
    "consistent_speeds",
    "driven_motion",
    "inverse_dynamics",
    "mobility",
]
