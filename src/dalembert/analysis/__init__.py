"""Questions to a system: does it close, how can it move, what does a motion take, what does a blow do."""

from .assemble import Assembly, assemble
from .check_element import ElementReport, check_element
from .consistent import consistent_accelerations, consistent_speeds
from .contact import Contact, Touch
from .driven import DrivenMotion, driven_motion
from .flops import Flops, flops
from .force_parts import ForceParts, coriolis_forces, coriolis_matrix, force_parts, gravity_forces
from .impulse import Impact, impulse
from .mobility import Mobility, mobility
from .operational import Ellipsoid, Manipulability, OperationalSpace, manipulability, operational_space
from .regressor import BaseParameters, base_parameters, inertial_names, inertial_parameters, regressor

__all__ = [
    "Assembly",
    "BaseParameters",
    "Contact",
    "DrivenMotion",
    "ElementReport",
    "Ellipsoid",
    "Flops",
    "ForceParts",
    "Impact",
    "Manipulability",
    "Mobility",
    "OperationalSpace",
    "Touch",
    "assemble",
    "base_parameters",
    "check_element",
    "consistent_accelerations",
    "consistent_speeds",
    "coriolis_forces",
    "coriolis_matrix",
    "driven_motion",
    "flops",
    "force_parts",
    "gravity_forces",
    "impulse",
    "inertial_names",
    "inertial_parameters",
    "manipulability",
    "mobility",
    "operational_space",
    "regressor",
]
