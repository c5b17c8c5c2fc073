"""Connections: elements between markers. So far the hinges, which carry the tree."""

from .connection import Connection
from .hinges import (
    Cylindrical,
    Fixed,
    Free,
    Hinge,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)

__all__ = [
    "Connection",
    "Cylindrical",
    "Fixed",
    "Free",
    "Hinge",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]
