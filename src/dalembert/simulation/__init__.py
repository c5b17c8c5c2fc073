"""Simulation: motion over time, events, ensembles."""

from .ensemble.ensemble import Ensemble
from .events.actions import Bounce, Lock, Release, Set, Stop, Switch
from .events.events import Event, EventContext
from .live import Live
from .rollouts.gradients import RolloutGradient
from .rollouts.rollout import rollout
from .rollouts.rollout_result import Rollout
from .simulation import simulate
from .start import StartState, start_state

__all__ = [
    "Bounce",
    "Ensemble",
    "Event",
    "EventContext",
    "Live",
    "Lock",
    "Release",
    "Rollout",
    "RolloutGradient",
    "Set",
    "StartState",
    "Stop",
    "Switch",
    "rollout",
    "simulate",
    "start_state",
]
