"""Units of coordinates, velocities, efforts and multipliers."""

from __future__ import annotations

from collections.abc import Iterable

from ...connections.constraints.couplings import CoordinateConnection
from ...model import Model

__all__ = ["coupling_unit", "effort_unit", "joined", "rate_unit", "row_units"]


def rate_unit(unit: str, per: str = "s") -> str:
    """Return the unit of a velocity from that of its coordinate; of an acceleration, per ``"s2"``."""
    if unit == "s":
        return "1" if per == "s" else "1/s"
    return f"{unit}/{per}"


def effort_unit(unit: str) -> str:
    """Return the unit of an effort from that of its coordinate: effort times rate is a power."""
    return {"rad": "N m", "m": "N", "s": "W", "1": "J"}[unit]


def row_units(model: Model) -> list[str]:
    """Return the units of the multipliers."""
    units = ["N" if unit == "m" else "N m" for unit in model.compiled.names.row_units]
    for coupling in model.forest.couplings:
        units[model.constraint_connections.index(coupling.name)] = coupling_unit(coupling)
    return units


def coupling_unit(coupling: CoordinateConnection) -> str:
    """Return the unit of the effort of a coupling on its second coordinate."""
    return effort_unit(coupling.row_units[0])


def joined(units: Iterable[str]) -> str:
    """Return the common unit of several components, or all units if they differ."""
    listed = list(units)
    return listed[0] if len(set(listed)) == 1 else ", ".join(listed)
