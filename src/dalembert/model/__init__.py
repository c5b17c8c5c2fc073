"""Compiled model: kernels, conditions of their evaluation, states, loads."""

from .compiled_control import CompiledControl
from .conditions import Conditions
from .connection_loads import ConnectionLoads, SelfStress
from .control_sequence import ControlSequence
from .history import History
from .kernel_results import Derivatives, Dynamics, DynamicsDerivatives, Energy, ForceEnergy, Pose
from .mass_factor import Factor
from .model import Model, as_model
from .reduced_coordinates import ReducedCoordinates
from .sampled_control import SampledControl, SampledForces
from .state import State
from .thread_count import set_threads, threads

__all__ = [
    "CompiledControl",
    "Conditions",
    "ConnectionLoads",
    "ControlSequence",
    "Derivatives",
    "Dynamics",
    "DynamicsDerivatives",
    "Energy",
    "Factor",
    "ForceEnergy",
    "History",
    "Model",
    "Pose",
    "ReducedCoordinates",
    "SampledControl",
    "SampledForces",
    "SelfStress",
    "State",
    "as_model",
    "set_threads",
    "threads",
]
