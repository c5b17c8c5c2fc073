"""Surfaces, rules and numbers of contacts in model files, as plain mappings and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from ...bodies.contact_surfaces import Surface
from ...bodies.visuals import ALL_BITS, ContactRule
from ...errors import ModelError

__all__ = ["PAIR_NUMBERS", "SURFACE", "given_numbers", "rule_of", "rule_tree", "surface_of_tree", "surface_tree"]

SURFACE = tuple(field.name for field in fields(Surface))
PAIR_NUMBERS = ("friction", "static_friction", "restitution", "stiffness", "exponent")


def given_numbers(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    defaults = {field.name: field.default for field in fields(thing)}
    return {name: value for name in names if (value := getattr(thing, name)) != defaults[name]}


def surface_tree(surface: Surface) -> dict[str, Any]:
    """Return a surface as a mapping."""
    return given_numbers(surface, SURFACE)


def surface_of_tree(given: Any) -> Surface:
    """Return the surface that a mapping describes.

    Raises
    ------
    ModelError
        If it is no mapping, or has an unknown key.
    """
    if not isinstance(given, Mapping):
        raise ModelError("surface", "value", given, f"give a mapping with {', '.join(SURFACE)}")
    for key in given:
        if key not in SURFACE:
            raise ModelError("surface", "key", key, f"a surface has {', '.join(SURFACE)}")
    return Surface(**given)


def rule_tree(rule: ContactRule) -> dict[str, Any]:
    """Return the rules of a geometry as a mapping."""
    bits = [rule.type, rule.affinity]
    found: dict[str, Any] = {} if bits == [ALL_BITS, ALL_BITS] else {"bits": bits}
    return found | ({} if rule.surface is None else {"surface": surface_tree(rule.surface)})


def rule_of(given: Mapping[str, Any]) -> ContactRule:
    """Return the rules that a mapping describes."""
    type_bits, affinity = (int(bits) for bits in given.get("bits", (ALL_BITS, ALL_BITS)))
    surface = surface_of_tree(given["surface"]) if "surface" in given else None
    return ContactRule(type_bits, affinity, surface)
