"""The constant model: what is compiled, the conditions it is evaluated under, states, loads."""

from .conditions import Conditions
from .factor import Factor
from .history import History
from .loads import ConnectionLoads, SelfStress
from .model import Model, as_model
from .sampled import Answers, Sampled
from .state import State
from .threads import set_threads, threads
from .tuples import Derivatives, Dynamics, DynamicsDerivatives, Energy, ForceEnergy, Pose

__all__ = [
    "Answers",
    "Conditions",
    "ConnectionLoads",
    "Derivatives",
    "Dynamics",
    "DynamicsDerivatives",
    "Energy",
    "Factor",
    "ForceEnergy",
    "History",
    "Model",
    "Pose",
    "Sampled",
    "SelfStress",
    "State",
    "as_model",
    "set_threads",
    "threads",
]
