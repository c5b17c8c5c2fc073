"""The user's description of a mechanical system."""

from .system import GROUND, System

__all__ = ["GROUND", "System"]
