"""Groups of contacts: shapes of bodies of one side against those of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...bodies.body import Body
from ...bodies.contact_surfaces import HERTZ_EXPONENT
from ...bodies.markers import Marker
from ...bodies.shapes import Shape

__all__ = ["ALL_BODIES", "ContactGroup", "ContactMember", "PlacedShape"]

ALL_BODIES = "*"  # every body of the system that has shapes


@dataclass(frozen=True, eq=False)
class PlacedShape:
    """Shape without mass, for a contact, at a marker of ground or of a body."""

    shape: Shape
    marker: Marker

    def __repr__(self) -> str:
        return f"<PlacedShape {self.shape.kind} at {self.marker.name}>"


ContactMember = Body | PlacedShape | str  # a body with all its shapes, a shape, or ALL_BODIES


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Contact between shapes: every shape of the first side may touch every shape of the second.

    Made by `System.contact`, which describes the data. Numbers that are None come from the surfaces of the bodies.

    Attributes
    ----------
    name : str
    first, second : tuple of Body, PlacedShape or ``"*"``
    friction, static_friction, restitution : float or None
    stiffness, young, poisson, depth : float or None
        Stiffness, in one of three ways; none: the contact is rigid.
    exponent : float
    at_speed : float, m/s
        Approach velocity at which a compliant contact has its restitution.
    rounding : float or None, m
    rolling, spin : float, m
        Largest moments across and along the normal, divided by the normal force.
    without : tuple of (str, str)
        Pairs of bodies that do not touch.
    neighbours : bool
        Bodies joined by a joint touch, too.
    """

    name: str
    first: tuple[ContactMember, ...]
    second: tuple[ContactMember, ...]
    friction: float | None = None
    static_friction: float | None = None
    restitution: float | None = None
    stiffness: float | None = None
    exponent: float = HERTZ_EXPONENT
    young: float | None = None
    poisson: float | None = None
    depth: float | None = None
    at_speed: float = 1.0
    rounding: float | None = None
    rolling: float = 0.0
    spin: float = 0.0
    without: tuple[tuple[str, str], ...] = ()
    neighbours: bool = False

    @property
    def has_all_bodies(self) -> bool:
        """Whether a side is ``"*"``: rules of a robot file on its shapes then apply."""
        return ALL_BODIES in (*self.first, *self.second)

    @property
    def body_names(self) -> set[str]:
        """Names of the bodies of both sides, with ground; empty if a side is all bodies."""
        if self.has_all_bodies:
            return set()
        members = (*self.first, *self.second)
        owners = [member.marker.body if isinstance(member, PlacedShape) else member for member in members]
        return {owner.name for owner in owners if isinstance(owner, Body)}

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Markers at which shapes are placed."""
        return tuple(member.marker for member in (*self.first, *self.second) if isinstance(member, PlacedShape))

    def moved(self, body_of: Callable[[Body], Body], marker_of: Callable[[Marker], Marker]) -> ContactGroup:
        """Return the same contact with other bodies and markers."""

        def moved(member: ContactMember) -> ContactMember:
            if isinstance(member, PlacedShape):
                return replace(member, marker=marker_of(member.marker))
            return body_of(member) if isinstance(member, Body) else member

        return replace(self, first=tuple(map(moved, self.first)), second=tuple(map(moved, self.second)))

    def without_body(self, body: Body) -> ContactGroup | None:
        """Return the contact without a body; None if a side is then empty."""

        def others(side: tuple[ContactMember, ...]) -> tuple[ContactMember, ...]:
            owners = [member.marker.body if isinstance(member, PlacedShape) else member for member in side]
            return tuple(member for member, owner in zip(side, owners, strict=True) if owner is not body)

        first, second = others(self.first), others(self.second)
        pairs = tuple(pair for pair in self.without if body.name not in pair)
        return replace(self, first=first, second=second, without=pairs) if first and second else None

    def __repr__(self) -> str:
        first, second = (", ".join(map(_label, side)) for side in (self.first, self.second))
        return f"<ContactGroup {self.name!r}: {first} and {second}>"


def _label(member: ContactMember) -> str:
    if isinstance(member, PlacedShape):
        return f"{member.shape.kind} at {member.marker.name}"
    return member.name if isinstance(member, Body) else "all bodies"
