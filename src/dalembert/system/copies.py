"""Copies of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.elements.built_in import ForceConnection
from ..connections.elements.element import Element
from .lookup import connection_called

if TYPE_CHECKING:
    from .system import System

__all__ = ["copy_system"]


def copy_system(system: System, new: System) -> System:
    """Return `new`, an empty system, with copies of all parts of another; see `System.copy`."""
    new.named, new.expressions = dict(system.named), dict(system.expressions)
    bodies = {id(system.ground): new.ground}
    new.ground.visuals, new.ground.surface = list(system.ground.visuals), system.ground.surface
    for body in system.bodies.values():
        new.bodies[body.name] = copied = body.copy_to(new)
        bodies[id(body)] = copied
    markers: dict[int, Marker] = {}

    def twin(marker: Marker) -> Marker:
        position, rotation = marker.position.copy(), marker.rotation.copy()
        body = bodies[id(marker.body)]
        return Marker(body, position, rotation, marker.label, marker.shape, marker.arm, marker.expressions)

    for body in (system.ground, *system.bodies.values()):
        for marker in body.markers.values():
            twin_body = bodies[id(body)]
            twin_marker = twin(marker)
            twin_body.markers[str(marker.label)] = markers[id(marker)] = twin_marker

    def twin_of(marker: Marker) -> Marker:
        return markers.get(id(marker)) or twin(marker)

    for c in system.connections.values():
        new.connections[c.name] = Connection(c.name, c.element, twin_of(c.first), twin_of(c.second))
    for g in system.couplings.values():
        new.couplings[g.name] = CoordinateConnection(g.name, g.element, _same_places(new, g.joint_coordinates))
    for f in system.forces.values():
        element = f.element.between(twin_of) if isinstance(f.element, Element) else f.element
        ends = tuple(map(twin_of, f.ends))
        new.forces[f.name] = ForceConnection(f.name, element, ends, _same_places(new, f.joint_coordinates))
    for contact in system.contacts.values():
        new.contacts[contact.name] = contact.moved(lambda body: bodies[id(body)], twin_of)
    new.surface_pairs, new.untouched = list(system.surface_pairs), list(system.untouched)
    for d in system.drives.values():
        name = d.connection.name
        new.drives[d.name] = d.on(new.connections[name] if name in new.connections else new.couplings[name])
    new.initials = dict(system.initials)
    new.placements = dict(system.placements)
    new.mimics = dict(system.mimics)
    new.settings = {verb: dict(given) for verb, given in system.settings.items()}
    new.notes = list(system.notes)
    return new


def _same_places(system: System, places: tuple[tuple[Connection, int], ...]) -> tuple[tuple[Connection, int], ...]:
    """Return coordinates of another system's connections as those of the same name in a system."""
    found = [(connection_called(system, joint.name), number) for joint, number in places]
    return tuple((joint, number) for joint, number in found if joint is not None)
