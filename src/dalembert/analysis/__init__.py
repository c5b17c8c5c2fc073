"""Questions to a system: does it close, how can it move, what does a motion take, what does a blow do."""

from .assemble import Assembly, assemble
from .check_element import ElementReport, check_element
from .consistent import consistent_accelerations, consistent_speeds
from .contact import Contact, Touch
from .driven import DrivenMotion, driven_motion
from .flops import Flops, flops
from .impulse import Impact, impulse
from .mobility import Mobility, mobility
from .regressor import BaseParameters, base_parameters, inertial_names, inertial_parameters, regressor

__all__ = [
    "Assembly",
    "BaseParameters",
    "Contact",
    "DrivenMotion",
    "ElementReport",
    "Flops",
    "Impact",
    "Mobility",
    "Touch",
    "assemble",
    "base_parameters",
    "check_element",
    "consistent_accelerations",
    "consistent_speeds",
    "driven_motion",
    "flops",
    "impulse",
    "inertial_names",
    "inertial_parameters",
    "mobility",
    "regressor",
]
