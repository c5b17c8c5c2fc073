"""Connections: elements between markers, or between the coordinates of hinges, and the laws that drive them."""

from . import attitudes, constraints, elements, joints as hinges, laws
from .connection import Connection
from .drives import Drive

__all__ = ["Connection", "Drive", "attitudes", "constraints", "elements", "hinges", "laws"]
