"""Ready systems: to start from, to measure with, to test against."""

from . import mechanisms
from .chains import binary_tree, chain
from .humanoid import humanoid
from .manipulator import space_manipulator
from .pump import PumpData, PumpFilms, fuel_injection_pump, pump_films
from .windows import windows
from .woodpecker import woodpecker, woodpecker_impacts

__all__ = [
    "PumpData",
    "PumpFilms",
    "binary_tree",
    "chain",
    "fuel_injection_pump",
    "humanoid",
    "mechanisms",
    "pump_films",
    "space_manipulator",
    "windows",
    "woodpecker",
    "woodpecker_impacts",
]
