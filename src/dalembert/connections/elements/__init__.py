"""Force and signal elements, from a linear spring to elements with user-written laws and states."""

from ..formulas.compiled_functions import law
from ..formulas.tables import Table
from .actuators import DCMotor, HillMuscle, HydraulicCylinder, PositionServo, VelocityServo
from .beams import BeamElement, ElasticBar
from .built_in import (
    Effort,
    ForceConnection,
    ForceElement,
    JointSpring,
    Limits,
    Load,
    SpringDamper,
    TorsionSpring,
)
from .cam_contacts import CamContact
from .compounds import Compound
from .contacts import CylinderPlaneContact, PointPlaneContact, SpherePlaneContact, SphereSphereContact
from .element import Element, SignalBlock
from .fields import Drag, Field, InverseSquare
from .friction import CoulombFriction, JointFriction, LuGreFriction, StribeckFriction
from .intermittent import GenevaContact, Ratchet
from .lubrication import JournalBearing, TractionFilm
from .machines import (
    BevelMesh,
    GearMesh,
    GearMotor,
    HydraulicSupply,
    PIDController,
    PneumaticCylinder,
    ProportionalValve,
    StateFeedback,
    StateSpace,
    TransferFunction,
)
from .muscles import MillardMuscle
from .paths import AlongPath, WrapCylinder, WrapSphere
from .pulleys import BeltDrive, ChainDrive, Pulley, PulleyRope, Sprocket
from .roads import Road
from .signals import Delay, Reaction, Sensor
from .springs import BumpStop, Bushing, Cable, GasSpring, HydraulicSpring, Ligament, NonlinearSpring
from .tyre_data import TyreData, read_tir
from .tyres import BrushTyre, MagicFormulaTyre
from .viscoelastic import GeneralizedMaxwell, KelvinVoigt, Maxwell, Zener

__all__ = [
    "AlongPath",
    "BeamElement",
    "BeltDrive",
    "BevelMesh",
    "BrushTyre",
    "BumpStop",
    "Bushing",
    "Cable",
    "CamContact",
    "ChainDrive",
    "Compound",
    "CoulombFriction",
    "CylinderPlaneContact",
    "DCMotor",
    "Delay",
    "Drag",
    "Effort",
    "ElasticBar",
    "Element",
    "Field",
    "ForceConnection",
    "ForceElement",
    "GasSpring",
    "GearMesh",
    "GearMotor",
    "GeneralizedMaxwell",
    "GenevaContact",
    "HillMuscle",
    "HydraulicCylinder",
    "HydraulicSpring",
    "HydraulicSupply",
    "InverseSquare",
    "JointFriction",
    "JointSpring",
    "JournalBearing",
    "KelvinVoigt",
    "Ligament",
    "Limits",
    "Load",
    "LuGreFriction",
    "MagicFormulaTyre",
    "Maxwell",
    "MillardMuscle",
    "NonlinearSpring",
    "PIDController",
    "PneumaticCylinder",
    "PointPlaneContact",
    "PositionServo",
    "ProportionalValve",
    "Pulley",
    "PulleyRope",
    "Ratchet",
    "Reaction",
    "Road",
    "Sensor",
    "SignalBlock",
    "SpherePlaneContact",
    "SphereSphereContact",
    "SpringDamper",
    "Sprocket",
    "StateFeedback",
    "StateSpace",
    "StribeckFriction",
    "Table",
    "TorsionSpring",
    "TractionFilm",
    "TransferFunction",
    "TyreData",
    "VelocityServo",
    "WrapCylinder",
    "WrapSphere",
    "Zener",
    "law",
    "read_tir",
]
