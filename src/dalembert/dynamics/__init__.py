"""Inverse dynamics, force terms, operational space, identification."""

from .effort_result import Efforts
from .element_check import ElementReport, check_element
from .force_terms import ForceParts, coriolis_forces, coriolis_matrix, force_parts, gravity_forces
from .identification import Identified, identify
from .inverse_problem import inverse_dynamics
from .line_moment_arms import MomentArms, moment_arms
from .measurement import measured_motion
from .regressor import BaseParameters, base_parameters, inertial_names, inertial_parameters, regressor
from .task_space import Ellipsoid, Manipulability, OperationalSpace, manipulability, operational_space

__all__ = [
    "BaseParameters",
    "Efforts",
    "ElementReport",
    "Ellipsoid",
    "ForceParts",
    "Identified",
    "Manipulability",
    "MomentArms",
    "OperationalSpace",
    "base_parameters",
    "check_element",
    "coriolis_forces",
    "coriolis_matrix",
    "force_parts",
    "gravity_forces",
    "identify",
    "inertial_names",
    "inertial_parameters",
    "inverse_dynamics",
    "manipulability",
    "measured_motion",
    "moment_arms",
    "operational_space",
    "regressor",
]
