"""Simulation: motion over time, events, ensembles."""

from .ensemble import Ensemble
from .events import Event, Situation
from .simulate import simulate

__all__ = ["Ensemble", "Event", "Situation", "simulate"]
