"""Outputs of whole bodies: momentum and angular momentum of each (Sol 1983, section 2.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import Model
from .motion import Motion
from .output import Output, vector

__all__ = ["MOMENTA", "body_momentum", "has_momentum"]

Array = NDArray[np.float64]

MOMENTA = ("momentum", "angular_momentum")


def has_momentum(model: Model, owner: str) -> bool:
    """Return whether this is a rigid body that moves."""
    body = model.system.bodies.get(owner)
    return body is not None and body.flexible is None and owner in model.forest.number and body.mass > 0.0


def body_momentum(model: Model, owner: str, quantity: str, name: str) -> Output:
    """Return momentum of a rigid body, or angular momentum about its centre of mass."""
    body = model.system.bodies[owner]
    mass, com = float(body.mass), np.asarray(body.com, dtype=float)
    if quantity == "momentum":

        def linear(m: Motion) -> Array:
            arm = m.model.pose(body.origin, m.q).rotation @ com
            w, v = m.velocity(body.origin)
            found: Array = mass * (v + np.cross(w, arm))
            return found

        return vector(name, "kg m/s", f"momentum of body {owner!r}", linear, "speed")
    inertia = np.asarray(body.inertia, dtype=float)

    def angular(m: Motion) -> Array:
        R = m.model.pose(body.origin, m.q).rotation
        w = m.velocity(body.origin)[0]
        found: Array = np.einsum("kij,jl,kml,km->ki", R, inertia, R, w)
        return found

    meaning = f"angular momentum of body {owner!r} about its centre of mass"
    return vector(name, "kg m2/s", meaning, angular, "speed")
