"""Inverse dynamics, force terms, operational space, identification."""

from .effort_result import InverseDynamicsResult
from .element_check import ElementReport, check_element
from .identification import IdentifiedParameters, identify
from .inertial_regressor import (
    BaseParameters,
    base_parameters,
    inertial_parameter_names,
    inertial_parameters,
    regressor,
)
from .inverse_problem import inverse_dynamics
from .line_moment_arms import MomentArms, moment_arms
from .measurement import measured_motion
from .motion_terms import ForceTerms, coriolis_forces, coriolis_matrix, force_terms, gravity_forces
from .task_space import Ellipsoid, Manipulability, OperationalSpace, manipulability, operational_space

__all__ = [
    "BaseParameters",
    "ElementReport",
    "Ellipsoid",
    "ForceTerms",
    "IdentifiedParameters",
    "InverseDynamicsResult",
    "Manipulability",
    "MomentArms",
    "OperationalSpace",
    "base_parameters",
    "check_element",
    "coriolis_forces",
    "coriolis_matrix",
    "force_terms",
    "gravity_forces",
    "identify",
    "inertial_parameter_names",
    "inertial_parameters",
    "inverse_dynamics",
    "manipulability",
    "measured_motion",
    "moment_arms",
    "operational_space",
    "regressor",
]
