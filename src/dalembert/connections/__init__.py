"""Connections: elements between markers, or between the coordinates of joints, and the laws that drive them."""

from . import attitudes, constraints, elements, joints as joints, laws
from .connection import Connection
from .drives import Drive

__all__ = ["Connection", "Drive", "attitudes", "constraints", "elements", "joints", "laws"]
