"""Connections of a system: checks of the ends and the element that a user gives.

Joints and constraints connect two markers, couplings joint coordinates, force elements the ends of their measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection, Coupling, CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.drives import Drive
from ..connections.elements.built_in import ForceConnection, ForceElement, TorsionSpring
from ..connections.elements.element import Element
from ..connections.joints import Joint
from ..connections.joints.custom import CustomJoint
from ..connections.laws import Polynomial
from ..errors import ModelError
from .lookup import coordinate_of, endpoint

if TYPE_CHECKING:
    from .system import System

__all__ = ["connect"]


def connect(
    system: System, name: str, element: Any, ends: tuple[Any, ...]
) -> Connection | CoordinateConnection | ForceConnection:
    """Add a connection and return it; see `System.connect`. Ends that are None are omitted."""
    item = f"connection {name!r}"
    if isinstance(element, ForceElement):
        system.forces[name] = _force(system, name, element, _given(ends))
        return system.forces[name]
    if isinstance(element, CustomCoupling):
        system.couplings[name] = _custom_coupling(system, name, element, _given(ends))
        return system.couplings[name]
    if len(ends) > 2:
        raise ModelError(item, "ends", len(ends), f"a {type(element).__name__} has two")
    first, second = ends
    if isinstance(element, Coupling):
        (a, i), (b, j) = coordinate_of(system, item, "first", first), coordinate_of(system, item, "second", second)
        if (a, i) == (b, j):
            raise ModelError(item, "second", b.name, "a coupling needs two different coordinates")
        system.couplings[name] = CoordinateConnection(name, element, ((a, i), (b, j)))
        return system.couplings[name]
    if isinstance(element, type) and issubclass(element, (Joint, Constraint, Coupling, CustomCoupling, ForceElement)):
        raise ModelError(item, "element", element.__name__, f"call it: {element.__name__}()")
    if not isinstance(element, (Joint, Constraint)):
        raise ModelError(item, "element", element, "use an element such as Revolute('z') or Free()")
    markers = endpoint(system, item, "first", first), endpoint(system, item, "second", second)
    _check_different_bodies(item, "second", *markers)
    connection = Connection(name, element, *markers)
    system.connections[name] = connection
    if isinstance(element, CustomJoint) and element.clock is not None:
        clock = Drive(connection, element.clock, Polynomial((0.0, 1.0)), 0)
        system.drives[clock.name] = clock
    return connection


def _given(ends: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the ends without trailing None."""
    while ends and ends[-1] is None:
        ends = ends[:-1]
    return ends


def _custom_coupling(system: System, name: str, element: CustomCoupling, ends: tuple[Any, ...]) -> CoordinateConnection:
    """Return the connection of coordinates by a formula."""
    item = f"connection {name!r}"
    if len(ends) != len(element.coordinates):
        wanted = f"its formula has {len(element.coordinates)}: {', '.join(element.coordinates)}"
        raise ModelError(item, "number of coordinates", len(ends), wanted)
    places = tuple(
        coordinate_of(system, item, field, end, speeds=not element.needs_position(k))
        for k, (field, end) in enumerate(zip(element.coordinates, ends, strict=True))
    )
    if len(set(places)) < len(places):
        raise ModelError(item, "ends", [joint.name for joint, _ in places], "give different coordinates")
    return CoordinateConnection(name, element, places)


def _force(system: System, name: str, element: ForceElement, ends: tuple[Any, ...]) -> ForceConnection:
    """Return the connection of a force element: at joint coordinates, or at markers."""
    item = f"connection {name!r}"
    at_joints = element.at_joint if isinstance(element, Element) else element.ends == 0
    wanted = element.ends or 1
    if isinstance(element, Element):
        wanted = len(element.each_measure) + (not at_joints and bool(element.each_measure))
    if len(ends) != wanted:
        raise _wrong_ends(item, element, ends, wanted, at_joints)
    if at_joints:
        places = tuple(coordinate_of(system, item, "first", end) for end in ends)
        if len(set(places)) < len(places):
            raise ModelError(item, "ends", [joint.name for joint, _ in places], "give different coordinates")
        for joint, coordinate in places:
            named = joint.element.coordinates if isinstance(joint.element, Joint) else ()
            if isinstance(element, TorsionSpring) and not named[coordinate].startswith("angle"):
                raise ModelError(item, "first", joint.name, "its coordinate is no angle: use a JointSpring")
        return ForceConnection(name, element, joint_coordinates=places)
    labels = ("first", "second", *(f"end {k}" for k in range(3, wanted + 1)))
    markers = tuple(endpoint(system, item, label, end) for label, end in zip(labels, ends, strict=False))
    if wanted == 1 and markers[0].body is system.ground:
        raise ModelError(item, "first", markers[0].name, "a load on ground moves nothing; give a marker of a body")
    moving = [marker for marker in markers[1:] if marker.body is not markers[0].body]
    for label, marker in zip(labels[1:], markers[1:], strict=False):
        if not moving or marker is markers[0]:  # of several ends one must move relative to the first
            _check_different_bodies(item, label, markers[0], marker)
    return ForceConnection(name, element, markers)


def _check_different_bodies(item: str, field: str, first: Marker, second: Marker) -> None:
    """Raise an error for two ends on one rigid body, or on one node of a flexible one."""
    if first.body is not second.body:
        return
    if first.body.flexible is None:
        remedy = f"the first marker is on {first.body.name!r} too; a connection needs two different bodies"
        raise ModelError(item, field, second.name, remedy)
    if first.shape is None or second.shape is None or np.array_equal(first.shape, second.shape):
        remedy = f"it moves as {first.name!r} does: give markers at two nodes of {first.body.name!r}"
        raise ModelError(item, field, second.name, remedy)


def _wrong_ends(item: str, element: ForceElement, ends: tuple[Any, ...], wanted: int, at_joints: bool) -> ModelError:
    """Return the error for a wrong number of ends of a force element."""
    one, many = ("one coordinate of a joint", "coordinates of joints") if at_joints else ("one marker", "markers")
    count = one if wanted == 1 else f"{wanted or 'no'} {many}"
    article = "an" if element.kind[0] in "AEIO" else "a"
    acts = f"{article} {element.kind} like this acts {'at' if at_joints else 'on'} {count}"
    if wanted == 0:
        return ModelError(item, "first", ends[0], f"{acts}: leave ends out")
    if wanted == 1 and len(ends) == 2:
        return ModelError(item, "second", ends[1], f"{acts}: leave the second end out")
    if wanted == 2 and len(ends) == 1:
        return ModelError(item, "second", None, f"{acts}: give the second, too")
    return ModelError(item, "number of ends", len(ends), acts)
