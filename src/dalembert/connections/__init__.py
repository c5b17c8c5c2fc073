"""Connections: elements between markers, or between the coordinates of hinges."""

from .active import DCMotor, HillMuscle, HydraulicCylinder, PositionServo, VelocityServo
from .beams import BeamElement, ElasticBar
from .chains import Bar, KinematicChain, Offset
from .compiled import law
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
from .contact import CylinderPlaneContact, PointPlaneContact, SpherePlaneContact, SphereSphereContact
from .contacts import CamFollower, PointOnCurve, RollingCam
from .couplings import CoordinateConnection, Coupling, belt, gear, rack_and_pinion, screw_coupling
from .curves import Arc, Curve, Line
from .custom import CustomConstraint, CustomHinge, PfaffConstraint
from .drives import Drive
from .elements import Block, Element
from .energetic import Effort, ForceConnection, ForceElement, HingeSpring, Limits, Load, SpringDamper, TorsionSpring
from .fields import Drag, Field, InverseSquare
from .films import JournalBearing, TractionFilm
from .friction import CoulombFriction, JointFriction, LuGreFriction, StribeckFriction
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
from .linear_systems import StateSpace, TransferFunction
from .signals import Delay, Reaction, Sensor
from .springs import BumpStop, Bushing, Cable, GasSpring, HydraulicSpring, Ligament, NonlinearSpring
from .tables import Table
from .viscoelastic import GeneralisedMaxwell, KelvinVoigt, Maxwell, Zener

__all__ = [
    "Arc",
    "AxisAngle",
    "Bar",
    "BeamElement",
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
    "CustomConstraint",
    "CustomHinge",
    "CylinderPlaneContact",
    "Cylindrical",
    "DCMotor",
    "Delay",
    "Distance",
    "Drag",
    "Drive",
    "Effort",
    "ElasticBar",
    "Element",
    "Field",
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
    "HydraulicSpring",
    "Integral",
    "InverseSquare",
    "JointFriction",
    "JournalBearing",
    "KelvinVoigt",
    "KinematicChain",
    "Law",
    "Ligament",
    "Limits",
    "Line",
    "Load",
    "LuGreFriction",
    "Maxwell",
    "NonlinearSpring",
    "Offset",
    "Parallel",
    "Perpendicular",
    "PfaffConstraint",
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
    "StateSpace",
    "StribeckFriction",
    "Table",
    "TorsionSpring",
    "TractionFilm",
    "TransferFunction",
    "Universal",
    "VelocityServo",
    "Zener",
    "belt",
    "gear",
    "law",
    "rack_and_pinion",
    "screw_coupling",
]
