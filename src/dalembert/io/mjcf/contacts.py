"""Rules of MJCF on contacts: bits and friction of geoms, excluded pairs of bodies, data of pairs of geoms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...bodies.contact_surfaces import Surface
from ...bodies.visuals import ContactRule
from ...connections.contacts import SurfacePair
from ..omissions import note_shapes

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_contact_rules", "contact_rule"]

N_BITS = 32


def contact_rule(reading: Reading, g: int) -> ContactRule:
    """Return the rules of geom number `g`: its contype and conaffinity, and its friction by the larger-of-two rule."""
    if not reading.rules:
        _make_rules(reading)
    return reading.rules[g]


def _make_rules(reading: Reading) -> None:
    model = reading.model
    types = [int(bits) & 0xFFFFFFFF for bits in model.geom_contype]
    affinities = [int(bits) & 0xFFFFFFFF for bits in model.geom_conaffinity]
    surfaces = [_surface(reading, g) for g in range(model.ngeom)]
    free = [k for k in range(N_BITS) if not any((a | b) >> k & 1 for a, b in zip(types, affinities, strict=True))]
    lost = 0
    for k in range(model.npair):
        one, two = int(model.pair_geom1[k]), int(model.pair_geom2[k])
        if not (types[one] & affinities[two] or types[two] & affinities[one]):
            if not free:
                lost += 1
                continue
            bit = 1 << free.pop()  # these two touch whatever their bits are
            types[one], affinities[two] = types[one] | bit, affinities[two] | bit
        for g in (one, two):  # surfaces of their own, so that the pair has its own friction
            if not surfaces[g].name:
                surfaces[g] = Surface(surfaces[g].friction, name=f"geom {_label(reading, g)}", rule="larger")
    if lost:
        reading.omissions.append(f"contacts: {lost} pairs of geoms whose contype and conaffinity exclude each other")
    for k in range(model.npair):
        first, second = surfaces[int(model.pair_geom1[k])], surfaces[int(model.pair_geom2[k])]
        if first != second:
            friction = float(model.pair_friction[k, 0]) if int(model.pair_dim[k]) > 1 else 0.0
            reading.system.surface_pairs.append(SurfacePair(first, second, friction=friction))
    rules = zip(types, affinities, surfaces, strict=True)
    reading.rules.extend(ContactRule(a, b, surface) for a, b, surface in rules)


def _surface(reading: Reading, g: int) -> Surface:
    """Return the surface of a geom; those of equal friction are the same."""
    frictionless = int(reading.model.geom_condim[g]) == 1
    return Surface(0.0 if frictionless else float(reading.model.geom_friction[g, 0]), rule="larger")


def _label(reading: Reading, g: int) -> str:
    return reading.name("geom", g) or str(g)


def add_contact_rules(reading: Reading) -> None:
    """Add excluded pairs of bodies, and note the shapes that may touch, and data that are left out."""
    model, system = reading.model, reading.system
    for k in range(model.nexclude):
        signature = int(model.exclude_signature[k])
        pair = [reading.bodies[number] for number in (signature >> 16, signature & 0xFFFF)]
        if pair[0] is not pair[1]:
            system.untouched.append((pair[0].name, pair[1].name))
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    touching[np.concatenate([model.pair_geom1, model.pair_geom2]).astype(int)] = True
    count = int(np.count_nonzero(touching))
    if not count or reading.disabled("contact"):
        return
    note_shapes(system, count)
    system.notes.append("contacts: solref, solimp, margin and gap are left out; friction is that of the file")
    if np.ptp(model.geom_priority[touching]):
        reading.omissions.append("contacts: priorities of geoms; the larger friction of two is taken")
    rolling = touching & (model.geom_condim > 3)
    if rolling.any():
        reading.omissions.append(f"contacts: torsional and rolling friction of {int(rolling.sum())} geoms")
