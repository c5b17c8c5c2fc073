"""Questions to a system: does it close, how can it move, what does a motion take, what does a blow do."""

from .assemble import Assembly, assemble, consistent_speeds
from .check_element import ElementReport, check_element
from .contact import Contact, Touch
from .driven import DrivenMotion, driven_motion
from .flops import Flops, flops
from .impulse import Impact, impulse
from .inverse import Efforts, consistent_accelerations, inverse_dynamics
from .mobility import Mobility, mobility

__all__ = [
    "Assembly",
    "Contact",
    "DrivenMotion",
    "Efforts",
    "ElementReport",
    "Flops",
    "Impact",
    "Mobility",
    "Touch",
    "assemble",
    "check_element",
    "consistent_accelerations",
    "consistent_speeds",
    "driven_motion",
    "flops",
    "impulse",
    "inverse_dynamics",
    "mobility",
]
