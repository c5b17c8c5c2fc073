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

__all__ = [
    "AxisAngle",
    "Connection",
    "Constraint",
    "CoordinateConnection",
    "Coupling",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Free",
    "Hinge",
    "Parallel",
    "Perpendicular",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "RollingDisc",
    "RollingSphere",
    "Screw",
    "Skate",
    "Spherical",
    "Universal",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
