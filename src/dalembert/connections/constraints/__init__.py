"""Constraints between markers or coordinates: what demands something without coordinates of its own."""

from .cams import CamFollower, PointOnCurve, RollingCam
from .chains import Bar, KinematicChain, Offset
from .couplings import (
    CoordinateConnection,
    Coupling,
    CustomCoupling,
    belt,
    gear,
    rack_and_pinion,
    screw_coupling,
)
from .curves import Arc, Curve, Line
from .custom import CustomConstraint, PfaffConstraint
from .geometric import (
    AxisAngle,
    Constraint,
    Distance,
    Parallel,
    Perpendicular,
    PointOnLine,
    PointOnPlane,
    PointOnPoint,
    RollingDisc,
    RollingSphere,
    Skate,
)
from .ropes import Rope

__all__ = [
    "Arc",
    "AxisAngle",
    "Bar",
    "CamFollower",
    "Constraint",
    "CoordinateConnection",
    "Coupling",
    "Curve",
    "CustomConstraint",
    "CustomCoupling",
    "Distance",
    "KinematicChain",
    "Line",
    "Offset",
    "Parallel",
    "Perpendicular",
    "PfaffConstraint",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "PointOnPoint",
    "RollingCam",
    "RollingDisc",
    "RollingSphere",
    "Rope",
    "Skate",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
