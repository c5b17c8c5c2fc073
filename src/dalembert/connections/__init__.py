"""Connections: elements between markers, or between the coordinates of hinges."""

from .active import DCMotor, HillMuscle, HydraulicCylinder, LinearActuator, PositionServo, VelocityServo
from .compound import Compound
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
from .contact import PointPlaneContact, SpherePlaneContact, SphereSphereContact
from .contacts import CamFollower, PointOnCurve, RollingCam
from .couplings import CoordinateConnection, Coupling, belt, gear, rack_and_pinion, screw_coupling
from .curves import Arc, Curve, Line
from .drives import Drive
from .elements import Block, Element
from .energetic import Effort, ForceConnection, ForceElement, HingeSpring, Limits, Load, SpringDamper, TorsionSpring
from .fields import Drag, InverseSquare
from .films import JournalBearing, TractionFilm
from .friction import CoulombFriction, LuGreFriction, StribeckFriction
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
from .signals import Delay, Reaction, Sensor
from .springs import BumpStop, Bushing, Cable, GasSpring, Ligament, NonlinearSpring
from .tables import Table
from .viscoelastic import GeneralisedMaxwell, KelvinVoigt, Maxwell, Zener

__all__ = [
    "Arc",
    "AxisAngle",
    "Block",
    "BumpStop",
    "Bushing",
    "Cable",
    "CamFollower",
    "Compound",
    "Connection",
    "Constant",
    "Constraint",
    "CoordinateConnection",
    "CoulombFriction",
    "Coupling",
    "Curve",
    "Cylindrical",
    "DCMotor",
    "Delay",
    "Distance",
    "Drag",
    "Drive",
    "Effort",
    "Element",
    "Fixed",
    "ForceConnection",
    "ForceElement",
    "Free",
    "Function",
    "GasSpring",
    "GeneralisedMaxwell",
    "Harmonic",
    "HillMuscle",
    "Hinge",
    "HingeSpring",
    "HydraulicCylinder",
    "Integral",
    "InverseSquare",
    "JournalBearing",
    "KelvinVoigt",
    "Law",
    "Ligament",
    "Limits",
    "Line",
    "LinearActuator",
    "Load",
    "LuGreFriction",
    "Maxwell",
    "NonlinearSpring",
    "Parallel",
    "Perpendicular",
    "Planar",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "PointOnPoint",
    "PointPlaneContact",
    "Polynomial",
    "PositionServo",
    "Prismatic",
    "Ramp",
    "Reaction",
    "Revolute",
    "RollingCam",
    "RollingDisc",
    "RollingSphere",
    "Screw",
    "Sensor",
    "Skate",
    "SpherePlaneContact",
    "SphereSphereContact",
    "Spherical",
    "Spline",
    "SpringDamper",
    "StribeckFriction",
    "Table",
    "TorsionSpring",
    "TractionFilm",
    "Universal",
    "VelocityServo",
    "Zener",
    "belt",
    "gear",
    "rack_and_pinion",
    "screw_coupling",
]
