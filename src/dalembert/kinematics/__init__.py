"""Motion without forces: how a mechanism can move, how it moves when driven, what designers read off that."""

from .centres import Centrodes, InstantCentres, centrodes, instant_centres
from .coupler_curves import CouplerCurve, coupler_curve
from .equations import Equations, RelativeEquations
from .following import Followed, follow, predict
from .inflection import InflectionCircles, inflection_circles
from .motion import kinematics
from .newton import Position, find_position
from .polygons import Polygon, acceleration_polygon, velocity_polygon
from .rates import Rates, find_rates
from .ratios import Ratio, mechanical_advantage, velocity_ratio
from .screws import ScrewAxes, screw_axes
from .subspace import MotionSpace, motion_space
from .tolerances import Tolerances, tolerances
from .transmission import TransmissionAngle, transmission_angle

__all__ = [
    "Centrodes",
    "CouplerCurve",
    "Equations",
    "Followed",
    "InflectionCircles",
    "InstantCentres",
    "MotionSpace",
    "Polygon",
    "Position",
    "Rates",
    "Ratio",
    "RelativeEquations",
    "ScrewAxes",
    "Tolerances",
    "TransmissionAngle",
    "acceleration_polygon",
    "centrodes",
    "coupler_curve",
    "find_position",
    "find_rates",
    "follow",
    "inflection_circles",
    "instant_centres",
    "kinematics",
    "mechanical_advantage",
    "motion_space",
    "predict",
    "screw_axes",
    "tolerances",
    "transmission_angle",
    "velocity_polygon",
    "velocity_ratio",
]
