"""Questions to a system: does it close, how can it move, what does a motion take, what does a blow do."""

from .assemble import Assembly, assemble, consistent_speeds
from .contact import Contact, Touch
from .driven import DrivenMotion, driven_motion
from .impulse import Impact, impulse
from .inverse import Efforts, consistent_accelerations, inverse_dynamics
from .mobility import Mobility, mobility

__all__ = [
    "Assembly",
    "Contact",
    "DrivenMotion",
    "Efforts",
    "Impact",
    "Mobility",
    "Touch",
    "assemble",
    "consistent_accelerations",
    "consistent_speeds",
    "driven_motion",
    "impulse",
    "inverse_dynamics",
    "mobility",
]
