"""The user's description of a mechanical system."""

from .lookup import GROUND
from .system import System

__all__ = ["GROUND", "System"]
