"""Ready systems: to start from, to measure with, to test against."""

from .chains import binary_tree, chain
from .humanoid import humanoid
from .manipulator import space_manipulator

__all__ = ["binary_tree", "chain", "humanoid", "space_manipulator"]
