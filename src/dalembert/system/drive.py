"""Drives of a system: checks of the coordinates and time laws that a user gives.

A coordinate, a row of a constraint or a coupling takes one law; a spherical or free joint an orientation and a
position; a body or marker is driven by a free joint that is added for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..argument_units import in_si
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..connections.attitudes import as_attitude
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection, CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.drive_builder import (
    LEVELS,
    AngleConstraint,
    angle_rows,
    is_sequence_of_laws,
    place_rows,
    pose_drives,
    several_drives,
    several_laws,
    turns_freely,
)
from ..connections.drives import Drive, PoseDrive
from ..connections.joints import Free, Joint
from ..connections.joints.modal import ModalCoordinates
from ..connections.laws import as_law, integrated
from ..errors import ModelError
from .lookup import connection_and_part, coordinate_of, endpoint

if TYPE_CHECKING:
    from .system import System

__all__ = ["angles_of", "drive", "place_of"]


def drive(
    system: System, coordinate: Any, laws: Mapping[str, Any], rotation: Any, relative_to: Body | Marker | None
) -> Drive | tuple[Drive, ...]:
    """Drive a named item; see `System.drive`. If an error is raised, the system is unchanged."""
    registers: tuple[dict[str, Any], ...] = (system.connections, system.couplings, system.drives, system.initials)
    kept = [dict(register) for register in registers]
    try:
        return _drive(system, coordinate, laws, rotation, relative_to)
    except ModelError:
        for register, before in zip(registers, kept, strict=True):
            register.clear()
            register.update(before)
        raise


def _drive(
    system: System, coordinate: Any, laws: Mapping[str, Any], rotation: Any, relative_to: Body | Marker | None
) -> Drive | tuple[Drive, ...]:
    position, speed, acceleration = (laws[level] for level in LEVELS)
    item = f"drive {getattr(coordinate, 'name', coordinate)!r}"
    moved = _moved(system, item, coordinate)
    if moved is not None:
        if speed is not None or acceleration is not None:
            remedy = "give position= and rotation= of a body or marker; or drive the speeds of a joint"
            raise ModelError(item, "law", "speed" if speed is not None else "acceleration", remedy)
        coordinate = _motion_of(system, item, moved, relative_to)
    elif relative_to is not None:
        raise ModelError(item, "relative_to", relative_to, "only the motion of a body or marker has a reference")
    given = [(k, x) for k, x in enumerate((position, speed, acceleration)) if x is not None]
    if len(given) != 1 and not (rotation is not None and all(k == 0 for k, _ in given)):
        named = ", ".join([LEVELS[k] for k, _ in given] + ["rotation"] * (rotation is not None)) or "nothing"
        raise ModelError(
            item,
            "law",
            named,
            "give exactly one of position, speed and acceleration, or rotation with or without position; the rest "
            "follows",
        )
    found, part = connection_and_part(system, coordinate)
    if found is not None and _is_pose(item, found, part, position, rotation):
        return _drive_pose(system, item, found, part, position, rotation)
    level, law = given[0]
    if found is not None and isinstance(found.element, ModalCoordinates):
        coordinate = _held_mode(system, item, found, coordinate, level)
    elif found is not None and part is None and isinstance(found.element, Joint) and is_sequence_of_laws(law):
        return _register(system, several_drives(item, found, level, law))
    return _register(system, [_single_drive(system, item, coordinate, level, law)])


def _held_mode(system: System, item: str, modes: Connection, coordinate: Any, level: int) -> CoordinateConnection:
    """Return the coupling of a modal coordinate, or of its rate, for a time law."""
    number = coordinate_of(system, item, "coordinate", coordinate)[1]
    name = f"{modes.element.coordinate_name(modes.name, number)}.drive"  # type: ignore[union-attr]
    before = system.couplings.get(name)
    if before is not None and before.joint_coordinates == ((modes, number),):
        system.remove(before)
    held = CustomCoupling("ds1" if level else "s1")
    return system.connect(name, held, coordinate)


def _single_drive(system: System, item: str, coordinate: Any, level: int, law: Any) -> Drive:
    row = _drivable_row(system, coordinate)
    connection, place = row or coordinate_of(system, item, "coordinate", coordinate, speeds=level > 0)
    element = connection.element
    if isinstance(element, Joint) and isinstance(law, str):
        unit = element.speed_units[place] + ("", "/s", "/s2")[level]
        law = in_si(law, unit, item=item, field=LEVELS[level])
    given_law = as_law(law, item=item, field=LEVELS[level])
    if isinstance(element, (Constraint, CustomCoupling)):
        holonomic = element.holonomic[place]
        if not holonomic and level == 0:
            raise ModelError(
                item, "position", law, "it constrains velocities only: give speed=, the value of the formula"
            )
        for left in range(level, 0, -1):
            given_law = integrated(given_law, element.start if left == 1 else 0.0)
        level = 0
    return Drive(connection, place, given_law, level)


def _register(system: System, drives: Sequence[Drive]) -> Drive | tuple[Drive, ...]:
    """Replace drives of the same velocities by new ones, and return them."""
    for drive in drives:
        for name, old in list(system.drives.items()):
            if old.connection is drive.connection and set(old.dofs) & set(drive.dofs):
                del system.drives[name]
        system.drives[drive.name] = drive
    return drives[0] if len(drives) == 1 else tuple(drives)


def _is_pose(item: str, found: Connection, part: str | None, position: Any, rotation: Any) -> bool:
    """Return whether a drive refers to the orientation or position of a spherical or free joint."""
    free = turns_freely(found.element)
    if rotation is not None and (not free or part is not None):
        raise ModelError(item, "rotation", rotation, "only a Spherical or Free joint, a body or a marker takes one")
    if not free or (rotation is None and position is None):
        return False
    places = "x" in found.element.coordinates  # type: ignore[union-attr]
    if position is not None and not places:
        remedy = "its coordinates are an orientation: give rotation=, or speed= of its angular velocity"
        raise ModelError(item, "position", position, remedy)
    if position is not None and not (part is None and is_sequence_of_laws(position)) and part not in ("x", "y", "z"):
        remedy = f"give x, y, z as three laws, or name one of them: {found.name + '.x'!r}"
        raise ModelError(item, "position", position, remedy)
    return True


def _drive_pose(
    system: System, item: str, joint: Connection, part: str | None, position: Any, rotation: Any
) -> Drive | tuple[Drive, ...]:
    """Drive the orientation, the position, or components of the position of a joint.

    What is not given stays as driven before.
    """
    before = next((d for d in system.drives.values() if d.connection is joint and isinstance(d, PoseDrive)), None)
    attitude = before.attitude if before else None
    if rotation is not None:
        attitude = as_attitude(rotation, item=item)
    laws: list[Any] = list(before.place) if before and before.place else [None] * 3
    rows = place_of(system, joint)
    for drive in [d for d in system.drives.values() if rows is not None and d.connection is rows]:
        laws["xyz".index(rows.element.rows[drive.coordinate])] = drive.law  # type: ignore[union-attr]
    if part is not None:
        laws["xyz".index(part)] = as_law(position, item=item, field="position")
    elif position is not None:
        laws = several_laws(item, "position", position, ("x", "y", "z"))
    angles = angle_rows(attitude)
    if rows is not None:
        system.remove(rows)
    for angle_before in angles_of(system, joint) if rotation is not None else ():
        system.remove(angle_before)
    drives, left = pose_drives(joint, None if angles else attitude, (laws[0], laws[1], laws[2]))
    element, held = place_rows(left)
    if before is not None:
        del system.drives[before.name]
    for name, angle, law in angles:
        drives.append(Drive(system.connect(f"{joint.name}.{name}", angle, joint.first, joint.second), 0, law, 0))
    if element is not None:
        added = system.connect(f"{joint.name}.place", element, joint.first, joint.second)
        drives += [Drive(added, k, law, 0) for k, law in enumerate(held)]
        gone = {"vx", "vy", "vz"}  # a position determines its rates
        names = joint.element.speeds  # type: ignore[union-attr]
        for name, old in list(system.drives.items()):
            if old.connection is joint and {names[k] for k in old.dofs} & gone:
                del system.drives[name]
    return _register(system, drives)


def place_of(system: System, joint: Connection) -> Connection | None:
    """Return the constraint that holds the position of a driven joint."""
    rows = system.connections.get(f"{joint.name}.place")
    mine = rows is not None and (rows.first, rows.second) == (joint.first, joint.second)
    return rows if mine and turns_freely(joint.element) else None


def angles_of(system: System, joint: Connection) -> list[Connection]:
    """Return the constraints that hold single angles of a driven joint."""
    found = [system.connections.get(f"{joint.name}.angle_{k}") for k in (1, 2, 3)]
    ends = (joint.first, joint.second)
    return [
        rows
        for rows in found
        if rows is not None and isinstance(rows.element, AngleConstraint) and (rows.first, rows.second) == ends
    ]


def _moved(system: System, item: str, target: Any) -> Marker | None:
    """Return the marker whose motion is prescribed, or None for a connection."""
    if isinstance(target, str) and connection_and_part(system, target)[0] is None and target in system:
        target = system[target]
    if not isinstance(target, (Body, Marker)):
        return None
    marker = endpoint(system, item, "body", target)
    if marker.body is system.ground:
        raise ModelError(item, "body", marker.name, "ground does not move")
    return marker


def _motion_of(system: System, item: str, marker: Marker, relative_to: Body | Marker | None) -> Connection:
    """Return the free joint that drives a body or marker."""
    flexible_body = marker.label is None and marker.body.flexible is not None and not marker.position.any()
    name = f"{marker.body.name if flexible_body else marker.name}.motion"
    old = system.connections.get(name)
    first = endpoint(system, item, "relative_to", system.ground if relative_to is None else relative_to)
    if old is not None and isinstance(old.element, Free):
        if relative_to is None or old.first is first:
            return old
        system.remove(old)
    if first.body is marker.body:
        raise ModelError(item, "relative_to", first.name, "a body does not move relative to itself")
    return system.connect(name, Free(), first, marker)


def _drivable_row(system: System, end: Any) -> tuple[Connection | CoordinateConnection, int] | None:
    """Return the constraint or coupling and the number of a drivable row, or None."""
    coupling = system.couplings.get(end) if isinstance(end, str) else end
    if isinstance(coupling, CoordinateConnection) and system.couplings.get(coupling.name) is coupling:
        return (coupling, 0) if isinstance(coupling.element, CustomCoupling) else None
    found, part = connection_and_part(system, end)
    if found is None or not isinstance(found.element, Constraint) or not found.element.drivable:
        return None
    rows = found.element.rows
    if part in rows:
        return found, rows.index(part)
    return (found, 0) if part is None and len(rows) == 1 else None
