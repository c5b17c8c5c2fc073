"""Simulation: motion over time, events, ensembles."""

from .ensemble.ensemble import Ensemble
from .events.events import Event, EventContext
from .live import Live
from .rollouts.gradients import RolloutGradient
from .rollouts.rollout import rollout
from .rollouts.rollout_result import Rollout
from .simulation import simulate
from .start import StartState, start_state

__all__ = [
    "Ensemble",
    "Event",
    "EventContext",
    "Live",
    "Rollout",
    "RolloutGradient",
    "StartState",
    "rollout",
    "simulate",
    "start_state",
]
