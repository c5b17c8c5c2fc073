"""Controllers, motors with gearboxes, hydraulic circuits and pneumatic cylinders."""

from .controllers import PIDController, StateFeedback
from .gear_motors import GearMotor
from .hydraulics import HydraulicSupply, ProportionalValve
from .pneumatics import PneumaticCylinder

__all__ = [
    "GearMotor",
    "HydraulicSupply",
    "PIDController",
    "PneumaticCylinder",
    "ProportionalValve",
    "StateFeedback",
]
