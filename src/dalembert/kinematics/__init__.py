"""Motion without forces: how a mechanism can move, how it moves when driven, what designers read off that."""

from .centres import Centrodes, InstantCentres, centrodes, instant_centres
from .coupler_curves import CouplerCurve, coupler_curve
from .equations import Equations, RelativeEquations
from .inflection import InflectionCircles, inflection_circles
from .motion import kinematics
from .polygons import Polygon, acceleration_polygon, velocity_polygon
from .ratios import Ratio, mechanical_advantage, velocity_ratio
from .screws import ScrewAxes, screw_axes
from .tolerances import Tolerances, tolerances
from .transmission import TransmissionAngle, transmission_angle

__all__ = [
    "Centrodes",
    "CouplerCurve",
    "Equations",
    "InflectionCircles",
    "InstantCentres",
    "Polygon",
    "Ratio",
    "RelativeEquations",
    "ScrewAxes",
    "Tolerances",
    "TransmissionAngle",
    "acceleration_polygon",
    "centrodes",
    "coupler_curve",
    "inflection_circles",
    "instant_centres",
    "kinematics",
    "mechanical_advantage",
    "screw_axes",
    "tolerances",
    "transmission_angle",
    "velocity_polygon",
    "velocity_ratio",
]
