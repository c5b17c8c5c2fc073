"""Contacts of a system: sides from bodies, markers, shapes and names; pairs of surfaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..bodies.body import Body
from ..bodies.contact_surfaces import check_contact_numbers
from ..bodies.markers import Marker
from ..bodies.shapes import Shape, plane
from ..connections.contacts import ContactGroup, PlacedShape, SurfacePair
from ..connections.contacts.contact_group import ALL_BODIES, ContactMember
from ..errors import ModelError
from .lookup import GROUND, body_called, endpoint

if TYPE_CHECKING:
    from .system import System

__all__ = ["add_contact", "add_pair"]

_WAYS = "give a body, a marker, a shape such as da.plane(), (shape, marker), a name, '*', or a list of these"


def add_contact(
    system: System,
    name: str,
    first: Any,
    second: Any,
    numbers: dict[str, Any],
    without: Iterable[Any],
    neighbours: bool,
) -> ContactGroup:
    """Add a contact to a system; see `System.contact`."""
    item = f"contact {name!r}"
    sides = [
        tuple(dict.fromkeys(_members(system, item, field, side)))
        for field, side in (("first", first), ("second", second))
    ]
    found: dict[str, Any] = check_contact_numbers(item, **numbers)
    for field in ("exponent", "at_speed"):
        if found[field] is None:
            raise ModelError(item, field, None, "give a number, or leave it out")
    if not isinstance(neighbours, bool):
        raise ModelError(item, "neighbours", neighbours, "give True or False")
    pairs = tuple(_pair(system, item, pair) for pair in _listed(item, "without", without))
    made = ContactGroup(name, sides[0], sides[1], **found, without=pairs, neighbours=neighbours)
    system.contacts[name] = made
    return made


def add_pair(system: System, first: Any, second: Any, numbers: dict[str, Any]) -> SurfacePair:
    """Add the data of two surfaces in contact; see `System.pair`."""
    made = SurfacePair(first, second, **numbers)
    item = f"system {system.name!r}"
    if first is not second and first == second:
        remedy = "two surfaces of equal data are one: give them names, da.Surface(name='steel')"
        raise ModelError(item, "pair of surfaces", (first, second), remedy)
    if all(numbers[key] is None for key in ("friction", "restitution", "stiffness")):
        raise ModelError(item, "pair of surfaces", None, "give friction, restitution or stiffness")
    key = frozenset((first, second))
    system.surface_pairs = [pair for pair in system.surface_pairs if frozenset((pair.first, pair.second)) != key]
    system.surface_pairs.append(made)
    return made


def _members(system: System, item: str, field: str, given: Any) -> list[ContactMember]:
    """Return the members of a side of a contact."""
    if given is system or (isinstance(given, str) and given == ALL_BODIES):
        return [ALL_BODIES]
    if isinstance(given, str) and (given == GROUND or given in system.bodies):
        given = body_called(system, given)
    if isinstance(given, Body):
        endpoint(system, item, field, given.origin)  # of this system
        return [_rigid(given, item, field)]
    if isinstance(given, Shape):
        return [PlacedShape(given, system.ground.origin)]
    if isinstance(given, (Marker, str)):
        return [_placed(system, item, field, plane(), given)]
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Shape) and not isinstance(given[1], Shape):
        return [_placed(system, item, field, *given)]
    if (parts := getattr(given, "bodies", None)) is not None:
        if isinstance(parts, dict):
            raise ModelError(item, field, given, "it is another system: name bodies of this one, or '*'")
        return [_rigid(body, item, field) for body in parts]
    if isinstance(given, (list, tuple)) and given:
        return [member for each in given for member in _members(system, item, field, each)]
    raise ModelError(item, field, given, _WAYS)


def _placed(system: System, item: str, field: str, shape: Shape, place: Any) -> PlacedShape:
    marker = endpoint(system, item, field, place)
    _rigid(marker.body, item, field)
    return PlacedShape(shape, marker)


def _rigid(body: Body, item: str, field: str) -> Body:
    if body.flexible is not None:
        remedy = "flexible bodies do not touch: decorate a rigid body that is fixed to one of its nodes, and name that"
        raise ModelError(item, field, body.name, remedy)
    return body


def _pair(system: System, item: str, pair: Any) -> tuple[str, str]:
    names = [end.name if isinstance(end, Body) else end for end in pair] if isinstance(pair, (tuple, list)) else []
    if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
        raise ModelError(item, "without", pair, "give pairs of two bodies: [('calf', 'thigh')]")
    try:
        one, two = (body_called(system, name).name for name in names)
    except ModelError as error:
        raise ModelError(item, "without", error.value, error.remedy) from None
    return one, two


def _listed(item: str, field: str, given: Any) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ModelError(item, field, given, "give a list of pairs of bodies: [('calf', 'thigh')]")
    return list(given)
