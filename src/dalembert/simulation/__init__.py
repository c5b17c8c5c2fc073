"""Simulation: motion over time, events, ensembles."""

from .ensemble.ensemble import Ensemble
from .events.events import Event, EventContext
from .live import Live
from .simulation import simulate
from .start import StartState, start_state

__all__ = ["Ensemble", "Event", "EventContext", "Live", "StartState", "simulate", "start_state"]
