"""Modal coordinates of a flexible body, as joint coordinates for elements, couplings and drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .joint import Joint

__all__ = ["ModalCoordinates"]


@dataclass(frozen=True, eq=False)
class ModalCoordinates(Joint):
    """Modal coordinates ``eta[0]``, ``eta[1]``, ... of a flexible body; no relative motion of markers.

    Attributes
    ----------
    count : int
        Number of modes.
    """

    count: int = 0
    kernel: ClassVar[str] = "modes"

    @property
    def coordinates(self) -> tuple[str, ...]:  # type: ignore[override]
        """Their names on the body."""
        return tuple(f"eta[{k}]" for k in range(self.count))

    speeds = coordinates

    @property
    def speed_units(self) -> tuple[str, ...]:
        """Empty: the mode shapes have the units."""
        return ("1",) * self.count

    def coordinate_name(self, owner: str, number: int) -> str:
        """Return the name of a coordinate of a body."""
        return f"{owner}.{self.coordinates[number]}"
