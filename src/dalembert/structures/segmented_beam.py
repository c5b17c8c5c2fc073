"""Beams that bend as far as they like, before they are put into a system."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .sections import Material, Section

if TYPE_CHECKING:
    from ..system import System
    from .cables import SlenderBody

__all__ = ["SegmentedBeam"]


@dataclass(frozen=True, eq=False)
class SegmentedBeam:
    """What ``beam(..., segments=n)`` returns: ``system.body(name, ...)`` makes the segments, one fixed to the other.

    Attributes
    ----------
    points, section, material, segments, shapes, bending, torsion, stretching, up, damping
        As in `cable`.
    """

    points: Any
    section: Section
    material: Material
    segments: int
    shapes: int = 2
    bending: str = "yz"
    torsion: bool = True
    stretching: bool = False
    up: Any = None
    damping: Any = None

    def add_to(self, system: System, name: str) -> SlenderBody:
        """Add the segments to a system, as ``system.body(name, beam)`` does."""
        from .cables import cable

        return cable(system, name, **{field.name: getattr(self, field.name) for field in fields(self)})
