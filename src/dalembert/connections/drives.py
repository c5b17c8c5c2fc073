"""Drives: a coordinate of a hinge, or what a constraint holds, follows a law of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .hinges import Hinge
from .laws import Law

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Drive"]


@dataclass(frozen=True, eq=False)
class Drive:
    """One driven coordinate.

    Attributes
    ----------
    connection : Connection
        The hinge or constraint.
    coordinate : int
        Which of its coordinates, or of its rows.
    law : Law
    level : int
        What the law gives: 0 position, 1 speed, 2 acceleration; always 0 for a constraint.
    """

    connection: Connection
    coordinate: int
    law: Law
    level: int

    @property
    def name(self) -> str:
        """Name of the driven coordinate or row."""
        element = self.connection.element
        names = element.coordinates if isinstance(element, Hinge) else element.rows
        return self.connection.name if len(names) == 1 else f"{self.connection.name}.{names[self.coordinate]}"

    def motion(self, t: float) -> tuple[float | None, float | None, float]:
        """Return position, speed and acceleration at t; None for what the law leaves open."""
        value, rate, second = self.law(t)
        if self.level == 0:
            return value, rate, second
        if self.level == 1:
            return None, value, rate
        return None, None, value
