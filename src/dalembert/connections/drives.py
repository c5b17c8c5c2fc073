"""Drives: joint coordinates, or the quantities of constraints and couplings, as functions of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..rotation import quaternion
from .attitudes import Attitude
from .joints import Joint
from .laws import Constant, Law

if TYPE_CHECKING:
    from .connection import Connection
    from .constraints.couplings import CoordinateConnection

__all__ = ["Drive", "PoseDrive"]


@dataclass(frozen=True, eq=False)
class Drive:
    """Driven coordinate or constraint row.

    Attributes
    ----------
    connection : Connection or CoordinateConnection
        The joint, constraint or coupling.
    coordinate : int
        Index of the coordinate or row; for a joint whose coordinates have no velocities of their own, index of the
        velocity.
    law : Law
    level : int
        Quantity given by the law: 0 position, 1 velocity, 2 acceleration; always 0 unless it is a joint.
    """

    connection: Connection | CoordinateConnection
    coordinate: int
    law: Law
    level: int

    @property
    def of_joint(self) -> bool:
        """True if the drive prescribes a joint coordinate, not a constraint row."""
        return isinstance(self.connection.element, Joint)

    @property
    def name(self) -> str:
        """Name of the driven coordinate or row."""
        element = self.connection.element
        names = element.speeds if isinstance(element, Joint) else element.rows
        return self.connection.name if len(names) == 1 else f"{self.connection.name}.{names[self.coordinate]}"

    @property
    def laws(self) -> tuple[Law, ...]:
        """Laws of the drive."""
        return (self.law,)

    @property
    def dofs(self) -> tuple[int, ...]:
        """Indices of the driven velocities of a joint."""
        return (self.coordinate,)

    @property
    def coordinate_indices(self) -> tuple[int, ...]:
        """Indices of the driven coordinates of a joint."""
        return () if self.level else (self.coordinate,)

    @property
    def speed_names(self) -> list[str]:
        """Names of the driven velocities of a joint."""
        return [self.name]

    def on(self, connection: Connection | CoordinateConnection) -> Drive:
        """Return the same drive of another connection."""
        return Drive(connection, self.coordinate, self.law, self.level)

    def motion(self, t: float) -> tuple[float | None, float | None, float]:
        """Return position, velocity and acceleration at t; None for open derivatives."""
        value, rate, second = self.law(t)
        if self.level == 0:
            return value, rate, second
        if self.level == 1:
            return None, value, rate
        return None, None, value

    def given(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions at `places`, velocities and accelerations at `dofs` at t; NaN for open velocities."""
        position, speed, acceleration = self.motion(t)
        places = np.zeros(0) if position is None else np.array([position])
        return places, np.array([np.nan if speed is None else speed]), np.array([acceleration])


@dataclass(frozen=True, eq=False)
class PoseDrive(Drive):
    """Drive of the orientation of a spherical or free joint, and of the position of a free one.

    Attributes
    ----------
    attitude : Attitude
        Of the second marker in the first.
    place : tuple of Law
        Of x, y, z of the second marker in axes of the first, m; empty where it is left open.
    """

    attitude: Attitude
    place: tuple[Law, ...] = ()

    @classmethod
    def of(
        cls, connection: Connection | CoordinateConnection, attitude: Attitude, place: tuple[Law, ...] = ()
    ) -> PoseDrive:
        """Return the drive of a joint."""
        return cls(connection, 0, Constant(0.0), 0, attitude, place)

    @property
    def name(self) -> str:
        """Name of the driven joint."""
        return f"{self.connection.name}.{'pose' if self.place else 'rotation'}"

    @property
    def laws(self) -> tuple[Law, ...]:
        """Laws of the drive: of the orientation, then of the position."""
        return (*self.attitude.laws, *self.place)

    @property
    def dofs(self) -> tuple[int, ...]:
        """Indices of the driven velocities of a joint."""
        return tuple(range(3 + len(self.place)))

    @property
    def coordinate_indices(self) -> tuple[int, ...]:
        """Indices of the driven coordinates of a joint."""
        return tuple(range(4 + len(self.place)))

    @property
    def speed_names(self) -> list[str]:
        """Names of the driven velocities of a joint."""
        element = self.connection.element
        assert isinstance(element, Joint)
        return [f"{self.connection.name}.{element.speeds[k]}" for k in self.dofs]

    def on(self, connection: Connection | CoordinateConnection) -> PoseDrive:
        """Return the same drive of another connection."""
        return PoseDrive.of(connection, self.attitude, self.place)

    def given(self, t: float) -> tuple[Array, Array, Array]:
        """Return coordinates, velocities and accelerations at t.

        For the position c: u = C^T c', u' = C^T c'' - omega x u.
        """
        q, omega, bend = self.attitude(t)
        if not self.place:
            return q, omega, bend
        c, rate, second = np.array([law(t) for law in self.place], dtype=float).T
        C = quaternion(*q)
        u = C.T @ rate
        return np.append(q, c), np.append(omega, u), np.append(bend, C.T @ second - np.cross(omega, u))
