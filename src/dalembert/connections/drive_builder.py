"""Construction of drives for all coordinates, the orientation or the position of a joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import set_fields
from ..errors import ModelError
from .attitudes import Attitude, EulerAngles
from .connection import Connection
from .constraints.custom import CustomConstraint
from .constraints.geometric import Constraint, PointOnPoint
from .drives import Drive, PoseDrive
from .joints import Joint
from .joints.custom import CustomJoint
from .laws import Law, as_law

__all__ = [
    "LEVELS",
    "AngleConstraint",
    "PositionLaws",
    "angle_rows",
    "is_sequence_of_laws",
    "place_rows",
    "pose_drives",
    "several_drives",
    "several_laws",
    "turns_freely",
]

LEVELS = ("position", "speed", "acceleration")
PositionLaws = tuple[Law | None, Law | None, Law | None]


def is_sequence_of_laws(value: Any) -> bool:
    """Return whether a value is a sequence of laws, one per coordinate."""
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def turns_freely(joint: Any) -> bool:
    """Return whether the coordinates of a joint contain a quaternion."""
    return isinstance(joint, Joint) and "qw" in joint.coordinates


def several_laws(item: str, field: str, given: Any, names: Sequence[str]) -> list[Law | None]:
    """Return a law for each name, None where nothing is given."""
    listed = list(given)
    if len(listed) != len(names):
        remedy = f"give {len(names)}, of {', '.join(names)}; None where nothing is prescribed"
        raise ModelError(item, f"number of laws of {field}", len(listed), remedy)
    laws = [None if law is None else as_law(law, item=item, field=f"{field}[{k}]") for k, law in enumerate(listed)]
    if all(law is None for law in laws):
        raise ModelError(item, field, given, "give at least one law")
    return laws


def several_drives(item: str, connection: Connection, level: int, given: Any) -> list[Drive]:
    """Return drives of all coordinates of a joint, or of those with a law."""
    joint = connection.element
    assert isinstance(joint, Joint)
    if level == 0 and turns_freely(joint):
        raise ModelError(item, "position", given, "its coordinates are an orientation: give rotation=")
    clock = joint.clock if isinstance(joint, CustomJoint) else None
    numbers = [k for k in range(joint.nv) if k != clock]
    laws = several_laws(item, LEVELS[level], given, [joint.speeds[k] for k in numbers])
    return [Drive(connection, k, law, level) for k, law in zip(numbers, laws, strict=True) if law is not None]


def pose_drives(
    connection: Connection, attitude: Attitude | None, place: PositionLaws
) -> tuple[list[Drive], PositionLaws]:
    """Return the drive of an orientation, with the position if it is complete, and the remaining position laws.

    The velocities of a free joint are in axes that rotate with it. A position without an orientation, or a component of
    one, is therefore not a drive of its degrees of freedom; it needs constraint rows (see `place_rows`).
    """
    if attitude is None:
        return [], place
    if not any(law is None for law in place):
        whole = tuple(law for law in place if law is not None)
        return [PoseDrive.of(connection, attitude, whole)], (None, None, None)
    return [PoseDrive.of(connection, attitude)], place


class AngleConstraint(CustomConstraint):
    """Constraint on one of three angles of an orientation: zero, or driven.

    Parameters
    ----------
    axes : (3,) int
        Axes of the three rotations, 0 to 2, each in the frame rotated by those before.
    number : int
        Index of the angle, 0 to 2.
    """

    def __init__(self, axes: Sequence[int], number: int) -> None:
        i, j, last = axes
        k = last if last != i else 3 - i - j
        same, e = last == i, "" if (j - i) % 3 == 1 else "-"
        minus = "-" if not e else ""

        def R(row: int, column: int) -> str:
            return "R" + "xyz"[row] + "xyz"[column]

        if same:
            formulas = (f"atan2({R(j, i)}, {minus}{R(k, i)})", f"acos({R(i, i)})", f"atan2({R(i, j)}, {e}{R(i, k)})")
        else:
            formulas = (
                f"atan2({minus}{R(j, k)}, {R(k, k)})",
                f"asin({e}{R(i, k)})",
                f"atan2({minus}{R(i, j)}, {R(i, i)})",
            )
        second = (0.0, np.pi) if same else (-np.pi / 2, np.pi / 2)
        set_fields(self, _limits=second if number == 1 else (-np.pi, np.pi))
        super().__init__(formulas[number], names=["angle"], units="rad")

    @property
    def limits(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the angle, rad."""
        found: tuple[float, float] = self._limits  # type: ignore[attr-defined]
        return found


def angle_rows(attitude: Attitude | None) -> list[tuple[str, AngleConstraint, Law]]:
    """Return names, constraints and laws of an orientation with open angles; empty lists otherwise."""
    if not isinstance(attitude, EulerAngles):
        return []
    turned = attitude.convention.islower()
    return [
        (f"angle_{3 - k if turned else k + 1}", AngleConstraint(attitude.axes, k), law)
        for k, law in sorted(attitude.parts.items())
    ]


def place_rows(place: PositionLaws) -> tuple[Constraint | None, list[Law]]:
    """Return the constraint whose rows are the given components of a position, and their laws; or None."""
    names = [name for name, law in zip("xyz", place, strict=True) if law is not None]
    laws = [law for law in place if law is not None]
    if not laws:
        return None, []
    return (PointOnPoint() if len(laws) == 3 else CustomConstraint(names, names=names)), laws
