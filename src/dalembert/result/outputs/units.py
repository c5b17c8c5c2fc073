"""Units of coordinates, speeds, efforts and multipliers."""

from __future__ import annotations

from collections.abc import Iterable

from ...connections.constraints.couplings import CoordinateConnection
from ...connections.formulas.named import TIME
from ...connections.hinges import Hinge
from ...model import Model

__all__ = ["coordinate_unit", "coupling_unit", "effort_unit", "joined", "row_units", "speed_unit"]


def coordinate_unit(coordinate: str) -> str:
    """Return the unit of a coordinate; modal ones count as numbers, their shapes have the units."""
    if coordinate.startswith("angle"):
        return "rad"
    if coordinate == TIME:
        return "s"
    return "1" if coordinate.startswith("q") or coordinate == "eta" else "m"


def speed_unit(speed: str, per: str = "s") -> str:
    """Return the unit of a speed, or of its acceleration per ``"s2"``."""
    if speed == TIME:
        return "1" if per == "s" else "1/s"
    if speed == "eta":
        return f"1/{per}"
    return f"rad/{per}" if _turns(speed) else f"m/{per}"


def effort_unit(speed: str) -> str:
    """Return the unit of what acts along a speed."""
    if speed == TIME:
        return "W"
    if speed == "eta":
        return "J"
    return "N m" if _turns(speed) else "N"


def row_units(model: Model) -> list[str]:
    """Return the units of the multipliers."""
    units = ["N" if unit == "m" else "N m" for unit in model.compiled.names.row_units]
    for coupling in model.forest.couplings:
        units[model.constraint_connections.index(coupling.name)] = coupling_unit(coupling)
    return units


def coupling_unit(coupling: CoordinateConnection) -> str:
    """Return the unit of the effort that a coupling passes to its second coordinate."""
    hinge = coupling.second.element
    assert isinstance(hinge, Hinge)
    return effort_unit(hinge.speeds[coupling.coordinates[1]])


def joined(units: Iterable[str]) -> str:
    """Return the one unit of several components, or all of them if they differ."""
    listed = list(units)
    return listed[0] if len(set(listed)) == 1 else ", ".join(listed)


def _turns(speed: str) -> bool:
    return speed.startswith(("angle", "w"))
