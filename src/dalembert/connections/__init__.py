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
    RollingDisc,
    RollingSphere,
    Skate,
)
from .couplings import CoordinateConnection, Coupling, belt, gear, rack_and_pinion, screw_coupling
from .drives import Drive
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
from .laws import Constant, Function, Harmonic, Law, Polynomial, Ramp, Spline

__all__ = [
    "AxisAngle",
    "Connection",
    "Constant",
    "Constraint",
    "CoordinateConnection",
    "Coupling",
    "Cylindrical",
    "Distance",
    "Drive",
    "Fixed",
    "Free",
    "Function",
    "Harmonic",
    "Hinge",
    "Law",
    "Parallel",
    "Perpendicular",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
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
    "Universal",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
