"""Ready systems: to start from, to measure with, to test against."""

from . import mechanisms
from .chains import binary_tree, chain
from .humanoid import humanoid
from .manipulator import space_manipulator
from .windows import windows
from .woodpecker import woodpecker, woodpecker_impacts

__all__ = [
    "binary_tree",
    "chain",
    "humanoid",
    "mechanisms",
    "space_manipulator",
    "windows",
    "woodpecker",
    "woodpecker_impacts",
]
