"""Simulation: motion over time, events, ensembles."""

from .events import Event, Situation
from .simulate import simulate

__all__ = ["Event", "Situation", "simulate"]
