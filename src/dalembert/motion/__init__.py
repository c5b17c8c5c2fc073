"""Motion without forces: how a mechanism can move, how it moves when driven, what designers read off that."""

from .centres import Centrodes, InstantCentres, centrodes, instant_centres
from .chart import Workspace
from .circuit import Circuit, Circuits
from .circuits import circuits
from .clearance import Clearance, clearance
from .coupler_curves import CouplerCurve, coupler_curve
from .drives import better_drive
from .equations import Equations, RelativeEquations
from .following import Followed, follow, predict
from .inflection import InflectionCircles, inflection_circles
from .inverse import InverseKinematics, inverse_kinematics
from .kinematics import kinematics
from .mobility_range import MobilityRange, mobility_range
from .newton import Position, find_position
from .path import Path
from .polygons import Polygon, acceleration_polygon, velocity_polygon
from .rates import Rates, find_rates
from .ratios import Ratio, mechanical_advantage, velocity_ratio
from .screws import ScrewAxes, screw_axes
from .special import Bifurcation, DeadPoint, Singularity
from .subspace import MotionSpace, motion_space
from .targets import Target
from .tolerances import Tolerances, tolerances
from .transmission import TransmissionAngle, transmission_angle
from .workspace import workspace

__all__ = [
    "Bifurcation",
    "Centrodes",
    "Circuit",
    "Circuits",
    "Clearance",
    "CouplerCurve",
    "DeadPoint",
    "Equations",
    "Followed",
    "InflectionCircles",
    "InstantCentres",
    "InverseKinematics",
    "MobilityRange",
    "MotionSpace",
    "Path",
    "Polygon",
    "Position",
    "Rates",
    "Ratio",
    "RelativeEquations",
    "ScrewAxes",
    "Singularity",
    "Target",
    "Tolerances",
    "TransmissionAngle",
    "Workspace",
    "acceleration_polygon",
    "better_drive",
    "centrodes",
    "circuits",
    "clearance",
    "coupler_curve",
    "find_position",
    "find_rates",
    "follow",
    "inflection_circles",
    "instant_centres",
    "inverse_kinematics",
    "kinematics",
    "mechanical_advantage",
    "mobility_range",
    "motion_space",
    "predict",
    "screw_axes",
    "tolerances",
    "transmission_angle",
    "velocity_polygon",
    "velocity_ratio",
    "workspace",
]
