"""Connections between markers or joint coordinates, and the time laws of drives."""

from . import attitudes, constraints, elements, joints as joints, laws
from .connection import Connection
from .drives import Drive

__all__ = ["Connection", "Drive", "attitudes", "constraints", "elements", "joints", "laws"]
