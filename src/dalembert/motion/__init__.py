"""Motion without forces: circuits, driven motion, inverse kinematics, workspaces and kinematic geometry."""

from .branch_following import FollowedMotion, follow_branch, predict_position
from .circuit import Circuit, Circuits
from .circuit_search import circuits
from .geometry.clearance import Clearance, clearance
from .geometry.coupler_curves import CouplerCurve, coupler_curve
from .geometry.inflection_circles import InflectionCircles, inflection_circles
from .geometry.instant_centres import Centrodes, InstantCentres, centrodes, instant_centres
from .geometry.mobility_range import MobilityRange, mobility_range
from .geometry.polygons import Polygon, acceleration_polygon, velocity_polygon
from .geometry.screw_axes import ScrewAxes, screw_axes
from .geometry.transmission import TransmissionAngle, transmission_angle
from .geometry.velocity_ratios import Ratio, mechanical_advantage, velocity_ratio
from .ik.inverse_kinematics import InverseKinematics, inverse_kinematics
from .ik.targets import Target
from .kinematic_motion import kinematics
from .special_configurations import Bifurcation, DeadPoint, Singularity
from .tolerance_analysis import Tolerances, tolerances
from .workspaces.reachable_workspace import Workspace
from .workspaces.workspace_request import workspace

__all__ = [
    "Bifurcation",
    "Centrodes",
    "Circuit",
    "Circuits",
    "Clearance",
    "CouplerCurve",
    "DeadPoint",
    "FollowedMotion",
    "InflectionCircles",
    "InstantCentres",
    "InverseKinematics",
    "MobilityRange",
    "Polygon",
    "Ratio",
    "ScrewAxes",
    "Singularity",
    "Target",
    "Tolerances",
    "TransmissionAngle",
    "Workspace",
    "acceleration_polygon",
    "centrodes",
    "circuits",
    "clearance",
    "coupler_curve",
    "follow_branch",
    "inflection_circles",
    "instant_centres",
    "inverse_kinematics",
    "kinematics",
    "mechanical_advantage",
    "mobility_range",
    "predict_position",
    "screw_axes",
    "tolerances",
    "transmission_angle",
    "velocity_polygon",
    "velocity_ratio",
    "workspace",
]
