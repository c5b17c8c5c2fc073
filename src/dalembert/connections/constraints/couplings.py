"""Couplings: one hinge coordinate in proportion to another.

    second = ratio * first + offset

Gears, racks, belts and lead screws are couplings whose ratio follows from their geometry. Coordinates are those of the
hinges that carry the wheels, relative to what the hinges are mounted on: a planetary train is a coupling between two
hinges on its carrier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...checks import finite_number
from ...errors import ModelError
from ..hinges.hinge import Hinge

if TYPE_CHECKING:
    from ..connection import Connection
    from .mimic import Mimic

__all__ = ["CoordinateConnection", "Coupling", "belt", "gear", "rack_and_pinion", "screw_coupling"]


@dataclass(frozen=True, eq=False)
class Coupling:
    """second = ratio * first + offset, for coordinates of two hinges.

    Parameters
    ----------
    ratio : float, 1, m/rad or rad/m
    offset : float, rad or m

    Connect it between two connections (or coordinates, ``"C.slide"``) in place of markers:
    ``s.connect("mesh", Coupling(-0.5), "A", "B")``. The effort that it passes to the second coordinate is its
    multiplier.
    """

    ratio: float
    offset: float = 0.0
    rows: ClassVar[tuple[str, ...]] = ("ratio",)
    holonomic: ClassVar[tuple[bool, ...]] = (True,)

    def __post_init__(self) -> None:
        for field in ("ratio", "offset"):
            object.__setattr__(self, field, finite_number(getattr(self, field), item="Coupling", field=field))
        if self.ratio == 0:
            raise ModelError(
                "Coupling", "ratio", self.ratio, "a ratio of zero couples nothing; to hold a hinge, use Fixed"
            )

    @property
    def kind(self) -> str:
        """Name of the element type."""
        return "Coupling"


@dataclass(frozen=True, eq=False)
class CoordinateConnection:
    """A coupling between coordinates of two hinges.

    Attributes
    ----------
    name : str
    element : Coupling or Mimic
    first, second : Connection
        The hinges.
    coordinates : (int, int)
        Which of their coordinates.
    """

    name: str
    element: Coupling | Mimic
    first: Connection
    second: Connection
    coordinates: tuple[int, int]

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of the row, that of the second coordinate."""
        hinge = self.second.element
        assert isinstance(hinge, Hinge)
        return (hinge.speed_units[self.coordinates[1]],)

    def __repr__(self) -> str:
        return f"<CoordinateConnection {self.name!r}: {self.second.name} = {self.element.ratio:.6g} {self.first.name}>"


def gear(teeth_1: float, teeth_2: float, *, internal: bool = False) -> Coupling:
    """Return the coupling of two wheels by their teeth; they turn against each other unless one is internal."""
    a, b = (_positive("gear", field, value) for field, value in (("teeth_1", teeth_1), ("teeth_2", teeth_2)))
    return Coupling(a / b if internal else -a / b)


def rack_and_pinion(radius: float) -> Coupling:
    """Return the coupling of a pinion's angle (first) and a rack's slide (second): slide = radius * angle; m."""
    return Coupling(_positive("rack_and_pinion", "radius", radius))


def screw_coupling(pitch: float) -> Coupling:
    """Return the coupling of a spindle's angle (first) and a nut's slide (second): `pitch` m a revolution."""
    return Coupling(finite_number(pitch, item="screw_coupling", field="pitch") / (2 * math.pi))


def belt(radius_1: float, radius_2: float, *, crossed: bool = False) -> Coupling:
    """Return the coupling of two pulleys by their radii (m): the same sense of rotation unless the belt is crossed."""
    a, b = (_positive("belt", field, value) for field, value in (("radius_1", radius_1), ("radius_2", radius_2)))
    return Coupling(-a / b if crossed else a / b)


def _positive(item: str, field: str, value: float) -> float:
    number = finite_number(value, item=item, field=field)
    if number <= 0:
        raise ModelError(item, field, value, "it must be positive")
    return number
