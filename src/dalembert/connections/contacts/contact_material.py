"""Material of a contact: its own numbers, those of a pair of surfaces, or those of two surfaces.

The modulus of two materials in contact is (Hertz 1882; Johnson 1985, (3.16))

    1 / E* = (1 - nu_1^2) / E_1 + (1 - nu_2^2) / E_2                                                               (1)

with the term of a rigid surface zero.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...bodies.contact_surfaces import HERTZ_EXPONENT, Surface, check_contact_numbers
from ...errors import ModelError
from .contact_group import ContactGroup

__all__ = ["ContactMaterial", "SurfacePair", "material_of_surfaces"]

DEFAULT_POISSON = 0.3  # of metals, where only Young's modulus is given


@dataclass(frozen=True)
class SurfacePair:
    """Data of two surfaces in contact; made by `System.pair`."""

    first: Surface
    second: Surface
    friction: float | None = None
    static_friction: float | None = None
    restitution: float | None = None
    stiffness: float | None = None
    exponent: float = HERTZ_EXPONENT

    def __post_init__(self) -> None:
        for field in ("first", "second"):
            if not isinstance(surface := getattr(self, field), Surface):
                raise ModelError("pair of surfaces", field, surface, "give a da.Surface(...)")
        item = f"pair of surfaces {self.first.label} and {self.second.label}"
        check_contact_numbers(item, **{f.name: getattr(self, f.name) for f in fields(self)[2:]})


@dataclass(frozen=True)
class ContactMaterial:
    """Numbers of a contact between two shapes.

    Attributes
    ----------
    friction, static_friction : float
        Coulomb's coefficients of sliding and sticking.
    restitution : float
    at_speed : float, m/s
        Approach velocity at which a compliant contact has this restitution.
    stiffness : float or None, N / m^exponent
        k of N = k d^n.
    exponent : float
        n.
    modulus : float or None, Pa
        E* of (1); the stiffness follows from the curvatures.
    poisson : float or None
        Mean of both materials; None: unknown.
    depth : float or None, m
        Compression under the static load; the stiffness follows from it.
    rolling, spin : float, m
        Largest moments across and along the normal, divided by the normal force.
    """

    friction: float = 0.0
    static_friction: float = 0.0
    restitution: float = 0.0
    at_speed: float = 1.0
    stiffness: float | None = None
    exponent: float = HERTZ_EXPONENT
    modulus: float | None = None
    poisson: float | None = None
    depth: float | None = None
    rolling: float = 0.0
    spin: float = 0.0

    @property
    def has_moments(self) -> bool:
        """Whether there is friction against rolling or spin."""
        return self.rolling > 0.0 or self.spin > 0.0

    @property
    def is_soft(self) -> bool:
        """Whether the contact is compliant: a force law; else it is rigid."""
        return self.stiffness is not None or self.modulus is not None or self.depth is not None


def material_of_surfaces(
    contact: ContactGroup, first: Surface | None, second: Surface | None, pair: SurfacePair | None
) -> tuple[ContactMaterial, str]:
    """Return the material of a contact between two surfaces, and a note on numbers that were chosen by rule.

    Numbers of the contact come first, then those of the pair of surfaces, then those of the surfaces.
    """
    named = [surface for surface in (first, second) if surface is not None]
    numbers: dict[str, Any] = {"at_speed": contact.at_speed, "rolling": contact.rolling, "spin": contact.spin}
    chosen: list[str] = []
    for field in ("friction", "restitution"):
        given = [value for value in (getattr(contact, field), getattr(pair, field, None)) if value is not None]
        own = [value for surface in named if (value := getattr(surface, field)) is not None]
        larger = field == "friction" and all(surface.rule == "larger" for surface in named)
        numbers[field] = given[0] if given else (max(own) if larger else min(own)) if own else 0.0
        if not given and len(set(own)) > 1:
            chosen.append(f"{'larger' if larger else 'smaller'} {field} {numbers[field]:.6g}")
    source = contact if contact.friction is not None else pair
    static = None if source is None else source.static_friction
    numbers["static_friction"] = numbers["friction"] if static is None else static
    numbers |= _stiffness(contact, named, pair)
    note = ""
    if chosen:
        note = f"surfaces {named[0].label} and {named[1].label} have no pair: {' and '.join(chosen)} taken"
    return ContactMaterial(**numbers), note


def _stiffness(contact: ContactGroup, named: list[Surface], pair: SurfacePair | None) -> dict[str, Any]:
    """Return the numbers of a compliant contact; none of a rigid one."""
    if contact.stiffness is not None or contact.depth is not None:
        law = {"stiffness": contact.stiffness, "depth": contact.depth}
        return {**law, "exponent": contact.exponent}
    if contact.young is not None:
        nu = DEFAULT_POISSON if contact.poisson is None else contact.poisson
        return {"modulus": contact.young / (2.0 * (1.0 - nu * nu)), "poisson": nu}
    if pair is not None and pair.stiffness is not None:
        return {"stiffness": pair.stiffness, "exponent": pair.exponent}
    elastic = [
        (surface.young, DEFAULT_POISSON if surface.poisson is None else surface.poisson)
        for surface in named
        if surface.young is not None
    ]
    if not elastic:
        return {}
    compliance = sum((1.0 - nu * nu) / young for young, nu in elastic)  # (1)
    return {"modulus": 1.0 / compliance, "poisson": sum(nu for _, nu in elastic) / len(elastic)}
