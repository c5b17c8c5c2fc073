"""Removal of parts of a system, with all that depends on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bodies.body import Body
from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.contacts import ContactGroup
from ..connections.elements.built_in import ForceConnection
from ..errors import ModelError
from .drive import angles_of, place_of

if TYPE_CHECKING:
    from .system import System

__all__ = ["remove_part"]


def remove_part(system: System, item: Any) -> None:
    """Remove a connection, a contact, a named marker, or a body with its connections; see `System.remove`."""
    if isinstance(item, Connection) and system.connections.get(item.name) is item:
        del system.connections[item.name]
        system.initials.pop(item.name, None)
        system.mimics = {f: m for f, m in system.mimics.items() if item.name not in (f, m.joint)}
        for coupling in [c for c in system.couplings.values() if item in c.joints]:
            remove_part(system, coupling)
        if (rows := place_of(system, item)) is not None:
            remove_part(system, rows)
        for angle in angles_of(system, item):
            remove_part(system, angle)
        system.forces = {name: f for name, f in system.forces.items() if not f.acts_at(item)}
        system.drives = {name: d for name, d in system.drives.items() if d.connection is not item}
    elif isinstance(item, CoordinateConnection) and system.couplings.get(item.name) is item:
        del system.couplings[item.name]
        system.drives = {name: d for name, d in system.drives.items() if d.connection is not item}
    elif isinstance(item, ForceConnection) and system.forces.get(item.name) is item:
        del system.forces[item.name]
    elif isinstance(item, ContactGroup) and system.contacts.get(item.name) is item:
        del system.contacts[item.name]
    elif isinstance(item, Marker) and item.label is not None and item.body.markers.get(item.label) is item:
        users = [c.name for c in system.connections.values() if item in (c.first, c.second)]
        users += [f.name for f in system.forces.values() if item in f.ends]
        users += [c.name for c in system.contacts.values() if item in c.markers]
        if users:
            raise ModelError(f"marker {item.name!r}", "use", users, "remove the connections at it first")
        del item.body.markers[item.label]
    elif isinstance(item, Body) and system.bodies.get(item.name) is item:
        for connection in list(system.connections.values()):
            if item in (connection.first.body, connection.second.body):
                remove_part(system, connection)
        modes = system.modal_connections.pop(item.name, None)
        for force in list(system.forces.values()):
            if any(end.body is item for end in force.ends) or (modes is not None and force.acts_at(modes)):
                remove_part(system, force)
        for coupling in [c for c in system.couplings.values() if modes in c.joints]:
            remove_part(system, coupling)
        left = {name: contact.without_body(item) for name, contact in system.contacts.items()}
        system.contacts = {name: contact for name, contact in left.items() if contact is not None}
        system.untouched = [pair for pair in system.untouched if item.name not in pair]
        system.initials.pop(item.name, None)
        system.placements.pop(item.name, None)
        del system.bodies[item.name]
    else:
        raise ModelError(f"system {system.name!r}", "remove", item, "it is not a removable part of this system")
