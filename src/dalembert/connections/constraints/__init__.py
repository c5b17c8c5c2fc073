"""Constraints: equations between markers or joint coordinates, without coordinates of their own."""

from .cams import CamFollower, PointOnCurve, RollingCam
from .chains import KinematicChain, Offset, bar
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
from .custom import CustomConstraint, PfaffianConstraint
from .geometric import (
    AxisAngle,
    Constraint,
    Distance,
    KnifeEdge,
    Parallel,
    Perpendicular,
    PointOnLine,
    PointOnPlane,
    PointOnPoint,
    RollingDisc,
    RollingSphere,
)
from .mimic import Mimic
from .ropes import Rope

__all__ = [
    "Arc",
    "AxisAngle",
    "CamFollower",
    "Constraint",
    "CoordinateConnection",
    "Coupling",
    "Curve",
    "CustomConstraint",
    "CustomCoupling",
    "Distance",
    "KinematicChain",
    "KnifeEdge",
    "Line",
    "Mimic",
    "Offset",
    "Parallel",
    "Perpendicular",
    "PfaffianConstraint",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "PointOnPoint",
    "RollingCam",
    "RollingDisc",
    "RollingSphere",
    "Rope",
    "bar",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
