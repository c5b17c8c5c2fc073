"""Parts of a system by name: bodies, connections, their coordinates, and ends of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import did_you_mean
from ..connections.connection import Connection
from ..connections.constraints.chains import KinematicChain
from ..connections.drive_builder import turns_freely
from ..connections.joints import Joint
from ..connections.joints.modal import ModalCoordinates
from ..errors import ModelError

if TYPE_CHECKING:
    from ..structures import SlenderBody
    from .system import System

__all__ = [
    "GROUND",
    "body_called",
    "connection_and_part",
    "connection_called",
    "coordinate_of",
    "endpoint",
    "inner_coordinate",
    "modal_coordinates",
    "own_connection",
]

GROUND = "ground"


def body_called(system: System, name: str) -> Body:
    """Return the body of that name, or ground."""
    if name != GROUND and name not in system.bodies:
        known = did_you_mean(name, system.bodies) or f"there are {', '.join(map(repr, system.bodies)) or 'none'}"
        raise ModelError(f"system {system.name!r}", "body", name, f"no body has that name; {known}")
    return system.ground if name == GROUND else system.bodies[name]


def endpoint(system: System, item: str, field: str, end: Body | Marker | SlenderBody | str) -> Marker:
    """Return the marker for an end of a connection; `item` and `field` are for errors."""
    if isinstance(end, str):
        try:
            end = body_called(system, end) if end == GROUND or end in system.bodies else system.marker(end)
        except ModelError as error:
            raise ModelError(item, field, end, error.remedy) from None
    end = getattr(end, "start", end)  # of a slender body: its first end
    if isinstance(end, Body):  # joints attach to the material, not to the frame of reference of the deformation
        end = end.origin if end.flexible is None else end.at()
    marker = end
    if not isinstance(marker, Marker):
        raise ModelError(item, field, end, "give a body, a marker such as body.at(x, y, z), or a name")
    body = marker.body
    if body is not system.ground and system.bodies.get(body.name) is not body:
        raise ModelError(
            item, field, marker.name, f"it belongs to another system, not to {system.name!r}, or was removed"
        )
    return marker


def own_connection(system: System, connection: str | Connection) -> Connection:
    """Return the connection of a name; raise an error for a connection of another system."""
    if isinstance(connection, str) and connection not in system:
        body, dot, ending = connection.rpartition(".")
        if dot and ending == "free" and body in system.bodies:
            remedy = (
                f"this joint is added when the system is compiled: use place({body!r}, ...), or make it "
                f"yourself: connect({connection!r}, Free(), 'ground', {body!r})"
            )
            raise ModelError(f"system {system.name!r}", "connection", connection, remedy)
    found = system[connection] if isinstance(connection, str) else connection
    if not isinstance(found, Connection) or system.connections.get(found.name) is not found:
        raise ModelError(f"system {system.name!r}", "connection", connection, "give the name of one of its connections")
    return found


def connection_called(system: System, name: str) -> Connection | None:
    """Return the connection of that name, or the modal coordinates of the flexible body of that name."""
    return system.connections.get(name) or modal_coordinates(system, name)


def connection_and_part(system: System, end: Any) -> tuple[Connection | None, str | None]:
    """Return the connection for a name, and the ending of ``"name.ending"`` if there is one."""
    part: str | None = None
    found = system.connections.get(end) if isinstance(end, str) else end
    if found is None and isinstance(end, str):
        owner, _, part = end.rpartition(".")
        found = system.connections.get(owner) or modal_coordinates(system, owner)
    known = isinstance(found, Connection) and connection_called(system, found.name) is found
    return (found, part) if known else (None, part)


def coordinate_of(system: System, item: str, field: str, end: Any, *, speeds: bool = False) -> tuple[Connection, int]:
    """Return joint and index of a coordinate with its own velocity; with `speeds`, of any velocity."""
    found, part = connection_and_part(system, end)
    if found is None:
        remedy = "give a joint's connection, or the name of one of its coordinates"
        raise ModelError(item, field, end, remedy)
    joint = found.element
    names = joint.coordinates if isinstance(joint, Joint) and joint.nq == joint.nv else ()
    if speeds and isinstance(joint, Joint) and joint.nv:
        names = joint.speeds
    if part is None and len(names) == 1:
        return found, 0
    if part in names:
        return found, names.index(part)
    remedy = "it has no coordinate of its own to couple or drive"
    if turns_freely(joint):
        assert isinstance(joint, Joint)
        rates = ", ".join(f"{found.name}.{name}" for name in joint.speeds)
        remedy += f"; drive its rotation=, or speeds and accelerations of {rates}"
    if names:
        remedy = f"name one of its coordinates: {', '.join(f'{found.name}.{n}' for n in names)}"
    raise ModelError(item, field, end, remedy)


def inner_coordinate(system: System, name: Any) -> tuple[Connection | None, str]:
    """Return the kinematic chain and the index of an inner coordinate such as ``"chain.0.angle"``."""
    if not isinstance(name, str) or name in system.connections:
        return None, ""
    owner, _, inner = name.rpartition(".")
    owner, _, part = owner.rpartition(".")
    found = system.connections.get(owner)
    known = found is not None and isinstance(found.element, KinematicChain)
    return (found, f"{part}.{inner}") if known else (None, "")


def modal_coordinates(system: System, body: str) -> Connection | None:
    """Return the modal coordinates of a flexible body as those of a joint; None if it has none."""
    found = system.bodies.get(body)
    if found is None or found.flexible is None or not found.flexible.nm:
        return None
    known = system.modal_connections.get(body)
    if known is None or known.first.body is not found:
        known = Connection(body, ModalCoordinates(count=found.flexible.nm), found.origin, found.origin)
        system.modal_connections[body] = known
    return known
