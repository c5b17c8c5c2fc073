"""Outputs of line elements, length, rate and tension, and the load of any element on its first marker."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...connections.elements.built_in import ForceConnection
from ...model import Model
from .motion import Motion
from .output import Output, number, vector

__all__ = ["line_output", "line_quantities"]


_ALONG = {"length": ("m", "distance between the ends"), "rate": ("m/s", "rate of the distance between the ends"),
          "tension": ("N", "force that pulls the ends together")}  # fmt: skip
_FIRST = ("first_force", "first_moment")


def line_quantities(force: ForceConnection) -> list[str]:
    """Return the suffixes of these outputs for an element; numbered if it has several measures."""
    measures = force.element.each_measure
    if len(force.ends) < 2 or len(measures) != len(force.ends) - 1:
        return []
    numbers = [""] if len(measures) == 1 else [str(k + 1) for k in range(len(measures))]
    lines = [number for number, measure in zip(numbers, measures, strict=True) if measure == "distance"]
    return [f"{quantity}{number}" for number in lines for quantity in _ALONG] + list(_FIRST)


def line_output(model: Model, force: ForceConnection, quantity: str, name: str) -> Output:
    """Return one of these outputs."""
    if quantity in _FIRST:
        return _on_first(model, force, quantity, name)
    plain = quantity.rstrip("0123456789")
    port = int(quantity[len(plain) :] or 1) - 1
    unit, what = _ALONG[plain]
    meaning = f"{what} of element {force.name!r}"
    if plain == "tension":
        column = model.compiled.elements.indices[force.name].measures.start
        column += sum(_SIZE[measure] for measure in force.element.each_measure[:port])
        return number(name, unit, meaning, lambda m: -m.part("forces")[:, column], "speed")
    A, B = force.ends[0], force.ends[1 + port]
    if plain == "length":
        return number(name, unit, meaning, lambda m: np.linalg.norm(_between(m, A, B), axis=1))

    def rate(m: Motion) -> Array:
        r = _between(m, A, B)
        u = m.velocity(B)[1] - m.velocity(A)[1]
        return np.asarray((r * u).sum(axis=1) / np.linalg.norm(r, axis=1))

    return number(name, unit, meaning, rate, "speed")


_SIZE = {"distance": 1, "place": 3, "pose": 6}


def _between(m: Motion, A: Marker, B: Marker) -> Array:
    return m.pose(B).position - m.pose(A).position


def _on_first(model: Model, force: ForceConnection, quantity: str, name: str) -> Output:
    """Return minus the sum of the loads on all further markers, about the origin of the first."""
    ports = model.compiled.elements.indices[force.name].ports
    first = force.ends[0]
    turning = quantity == "first_moment"
    what = "moment about its origin" if turning else "force"
    meaning = f"{what} of element {force.name!r} on its first marker"

    def value(m: Motion) -> Array:
        total = np.zeros((len(m), 3))
        for port, marker in zip(ports, force.ends[1:], strict=True):
            load = m.part("port_loads")[:, port]
            if turning:
                total -= load[:, :3] + np.cross(_between(m, first, marker), load[:, 3:])
            else:
                total -= load[:, 3:]
        return total

    return vector(name, "N m" if turning else "N", meaning, value, "speed")
