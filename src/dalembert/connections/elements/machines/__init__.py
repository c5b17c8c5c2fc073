"""Gears, controllers, motors with gearboxes, hydraulic circuits and pneumatic cylinders."""

from .bevel_gears import BevelMesh
from .controllers import PIDController, StateFeedback
from .gear_motors import GearMotor
from .gears import GearMesh
from .hydraulics import HydraulicSupply, ProportionalValve
from .linear_systems import StateSpace, TransferFunction
from .pneumatics import PneumaticCylinder

__all__ = [
    "BevelMesh",
    "GearMesh",
    "GearMotor",
    "HydraulicSupply",
    "PIDController",
    "PneumaticCylinder",
    "ProportionalValve",
    "StateFeedback",
    "StateSpace",
    "TransferFunction",
]
