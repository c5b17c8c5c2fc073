"""Outputs of contacts and of pairs of bodies in contact: sums over contact points, whatever the contact model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...errors import ModelError
from ...model import Model
from ..contact_points import ContactExchanges, ContactPoints
from ..contact_scene import pair_names, scene_gaps
from .motion import Motion
from .output import Output, number, vector

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["CONTACT_QUANTITIES", "contact_losses", "contact_names", "contact_output"]

CONTACT_QUANTITIES = (
    "force",
    "normal",
    "friction",
    "moment",
    "point",
    "gap",
    "slip",
    "points",
    "state",
    "impulse",
    "lost",
)


def contact_names(model: Model) -> list[str]:
    """Return the contacts of a model, and the pairs of bodies of those with several."""
    return [] if model.contacts is None else [*model.contacts.names, *pair_names(model)]


def contact_output(model: Model, owner: str, quantity: str, name: str) -> Output | None:
    """Return an output of a contact, ``"floor"``, or of a pair of it, ``"floor/crate"``; None if there is none."""
    tables = model.contacts
    if tables is None or quantity not in CONTACT_QUANTITIES:
        return None
    if owner in tables.names:
        chosen = Chosen(tables.names.index(owner))
        what = f"contact {owner!r}"
    elif owner in pair_names(model):
        contact, first, second = pair_names(model)[owner]
        chosen = Chosen(contact, tables.bodies, first, second)
        what = f"contact {owner!r}"
    else:
        return None
    if quantity in _VECTORS:
        unit, meaning, value = _VECTORS[quantity]
        return vector(name, unit, f"{meaning} of {what}", lambda m: value(m, _points(m, chosen)), "dynamics")
    if quantity in _NUMBERS:
        unit, meaning, value = _NUMBERS[quantity]
        return number(name, unit, f"{meaning} of {what}", lambda m: value(m, _points(m, chosen)), "dynamics")
    if quantity == "gap":
        meaning = f"least gap of {what}, negative where shapes overlap"
        return number(name, "m", meaning, lambda m: scene_gaps(m.model, m.q, chosen))
    return _accumulated(what, quantity, name, chosen)


def _accumulated(what: str, quantity: str, name: str, chosen: Chosen) -> Output:
    def refuse(motion: Motion) -> Array:
        raise ModelError("output", "name", name, "it depends on earlier states: use a Result")

    def history(result: Result) -> Array:
        parts = [source.exchanges(result) for source in result.contact_sources]
        picked = [part.select(chosen(part.contact, part.shapes)) for part in parts]
        if quantity == "impulse":
            return _total(result, picked, lambda part: chosen.sides(part.shapes)[:, None] * part.impulse, (3,))
        return _total(result, picked, lambda part: part.friction + part.impacts, ())

    if quantity == "impulse":
        meaning = f"impulse of {what} on its second side since the start, world axes"
        return Output(name, "N s", (3,), meaning, refuse, labels=("x", "y", "z"), needs="history", history=history)
    return Output(name, "J", (), f"energy lost in {what} since the start", refuse, needs="history", history=history)


def _total(
    result: Result, parts: list[ContactExchanges], values: Callable[[ContactExchanges], Array], shape: tuple[int, ...]
) -> Array:
    total = np.zeros((len(result), *shape))
    for part in parts:
        total += part.total(values(part), result.t)
    return total


def contact_losses(result: Result, *, uncounted: bool = False) -> tuple[Array, Array]:
    """Return the energies that contacts lost by friction and in impacts since the start, (n,) J each.

    With `uncounted` only those that are neither in the core's report nor in the events of the run.
    """
    parts = [source.exchanges(result) for source in result.contact_sources if source.adds_loss or not uncounted]
    return _total(result, parts, lambda part: part.friction, ()), _total(result, parts, lambda part: part.impacts, ())


# ---- points of a contact or of a pair


@dataclass(frozen=True, eq=False)
class Chosen:
    """Points of a contact, or of a pair of its bodies, whose second side is `second`."""

    contact: int
    bodies: IndexArray | None = None  # of all shapes
    first: int = 0
    second: int = 0

    def __call__(self, contacts: IndexArray, shapes: IndexArray) -> BoolArray:
        """Return which of n points, with contacts (n,) and shapes (n, 2), are chosen, (n,)."""
        mine = np.asarray(contacts == self.contact)
        if self.bodies is None:
            return mine
        ends = self.bodies[shapes]
        same = (ends == [self.first, self.second]).all(axis=1) | (ends == [self.second, self.first]).all(axis=1)
        return np.asarray(mine & same)

    def sides(self, shapes: IndexArray) -> Array:
        """Return 1 for points whose second shape (n, 2) is on the second side, and -1 for the others, (n,)."""
        if self.bodies is None:
            return np.ones(len(shapes))
        return np.where(self.bodies[shapes[:, 1]] == self.second, 1.0, -1.0)


def _points(motion: Motion, chosen: Chosen) -> ContactPoints:
    found = motion.contact_points
    found = found.select(chosen(found.contact, found.shapes))
    side = chosen.sides(found.shapes)[:, None]
    if (side > 0.0).all():
        return found
    return replace(found, normal=side * found.normal, force=side * found.force, moment=side * found.moment)


def _summed(motion: Motion, points: ContactPoints, values: Array) -> Array:
    """Return sums (k, ...) at the times of a motion of the values (n, ...) of points."""
    total = np.zeros((len(motion), *values.shape[1:]))
    np.add.at(total, points.time, values)
    return total


def _largest(motion: Motion, points: ContactPoints, values: Array) -> Array:
    most = np.zeros(len(motion))
    np.maximum.at(most, points.time, values)
    return most


def _along_normal(points: ContactPoints) -> Array:
    return np.asarray((points.force * points.normal).sum(axis=1))


def _force(motion: Motion, points: ContactPoints) -> Array:
    return _summed(motion, points, points.force)


def _friction(motion: Motion, points: ContactPoints) -> Array:
    return _summed(motion, points, points.force - _along_normal(points)[:, None] * points.normal)


def _center(motion: Motion, points: ContactPoints) -> Array:
    weights = _along_normal(points)
    total = _summed(motion, points, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(_summed(motion, points, weights[:, None] * points.position) / total[:, None])


def _moment(motion: Motion, points: ContactPoints) -> Array:
    center = _center(motion, points)[points.time]
    return _summed(motion, points, np.cross(points.position - center, points.force) + points.moment)


_VECTORS: dict[str, tuple[str, str, Callable[[Motion, ContactPoints], Array]]] = {
    "force": ("N", "resultant on the second side", _force),
    "friction": ("N", "sum of the tangential forces on the second side", _friction),
    "moment": ("N m", "moment about the centre of pressure, on the second side", _moment),
    "point": ("m", "centre of pressure", _center),
}
_NUMBERS: dict[str, tuple[str, str, Callable[[Motion, ContactPoints], Array]]] = {
    "normal": ("N", "sum of the normal forces", lambda m, p: _summed(m, p, _along_normal(p))),
    "slip": ("m/s", "largest sliding velocity of closed points", lambda m, p: _largest(m, p, p.slip)),
    "points": ("1", "number of points that carry load", lambda m, p: _summed(m, p, np.ones(len(p)))),
    "state": ("1", "state, 0 open, 1 sticks, 2 slides,", lambda m, p: _largest(m, p, p.state.astype(float))),
}
