"""Simulation: motion over time, events, ensembles."""

from .ensemble.ensemble import Ensemble
from .events.events import Event, EventContext
from .live import Live
from .simulation import simulate
from .start import start_state

__all__ = ["Ensemble", "Event", "EventContext", "Live", "simulate", "start_state"]
