"""Connections: elements between markers, or between the coordinates of hinges."""

from .connection import Connection
from .constraints import (
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
from .contacts import CamFollower, PointOnCurve
from .couplings import CoordinateConnection, Coupling, belt, gear, rack_and_pinion, screw_coupling
from .curves import Arc, Curve, Line
from .drives import Drive
from .elements import Element
from .energetic import Effort, ForceConnection, ForceElement, HingeSpring, Limits, Load, SpringDamper, TorsionSpring
from .hinges import (
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from .laws import Constant, Function, Harmonic, Integral, Law, Polynomial, Ramp, Spline

__all__ = [
    "Arc",
    "AxisAngle",
    "CamFollower",
    "Connection",
    "Constant",
    "Constraint",
    "CoordinateConnection",
    "Coupling",
    "Curve",
    "Cylindrical",
    "Distance",
    "Drive",
    "Effort",
    "Element",
    "Fixed",
    "ForceConnection",
    "ForceElement",
    "Free",
    "Function",
    "Harmonic",
    "Hinge",
    "HingeSpring",
    "Integral",
    "Law",
    "Limits",
    "Line",
    "Load",
    "Parallel",
    "Perpendicular",
    "Planar",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "PointOnPoint",
    "Polynomial",
    "Prismatic",
    "Ramp",
    "Revolute",
    "RollingDisc",
    "RollingSphere",
    "Screw",
    "Skate",
    "Spherical",
    "Spline",
    "SpringDamper",
    "TorsionSpring",
    "Universal",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
