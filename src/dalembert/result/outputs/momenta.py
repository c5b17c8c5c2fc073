"""Outputs of bodies: momentum and angular momentum of each (Sol 1983, section 2.3)."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.modal_integrals import modal_integrals, source_integrals
from ...model import Model
from ...rotation import axial
from .motion import Motion
from .output import Output, vector

__all__ = ["MOMENTA", "body_momentum", "has_momentum"]


MOMENTA = ("momentum", "angular_momentum")


def has_momentum(model: Model, owner: str) -> bool:
    """Return whether a name is that of a moving body."""
    body = model.system.bodies.get(owner)
    return body is not None and owner in model.forest.number and body.mass > 0.0


def body_momentum(model: Model, owner: str, quantity: str, name: str) -> Output:
    """Return momentum of a body, or angular momentum about its centre of mass; of a flexible body as deformed."""
    body = model.system.bodies[owner]
    part = _flexible_momenta if body.flexible is not None and body.flexible.nm else _rigid_momenta
    if quantity == "momentum":
        return vector(name, "kg m/s", f"momentum of body {owner!r}", lambda m: part(m, body)[1], "speed")
    meaning = f"angular momentum of body {owner!r} about its centre of mass"
    return vector(name, "kg m2/s", meaning, lambda m: part(m, body)[0], "speed")


def _rigid_momenta(m: Motion, body: Body) -> tuple[Array, Array]:
    """Return angular momentum about the centre of mass, and momentum, (n, 3) each."""
    R = m.pose(body.origin).rotation
    w, v = m.velocity(body.origin)
    inertia, com = np.asarray(body.inertia, dtype=float), np.asarray(body.com, dtype=float)
    angular: Array = np.einsum("kij,jl,kml,km->ki", R, inertia, R, w)
    return angular, float(body.mass) * (v + np.cross(w, R @ com))


def _flexible_momenta(m: Motion, body: Body) -> tuple[Array, Array]:
    """Return them for a flexible body: rows of its mass matrix (Jain & Rodriguez 1990, (3.32)) times its velocities."""
    flexible = body.require_flexible()
    integrals = source_integrals(flexible) if flexible.order == "source" else modal_integrals(flexible)
    order = "ruthless" if flexible.order == "ruthless" else "full"
    nm, places, speeds = flexible.nm, m.model.q_slice(body.name), m.model.v_slice(body.name)
    R = m.pose(body.origin).rotation
    w, v = (np.einsum("kji,kj->ki", R, x) for x in m.velocity(body.origin))
    U = np.hstack([m.v[:, speeds], w, v])
    angular, linear = np.zeros((2, len(m), 3))
    for k in range(len(m)):
        M = integrals.mass_matrix(m.q[k, places], order)
        about_origin, linear[k] = np.split(M[nm:] @ U[k], 2)
        center = axial(M[nm : nm + 3, nm + 3 :]) / M[-1, -1]
        angular[k] = about_origin - np.cross(center, linear[k])
    return np.einsum("kij,kj->ki", R, angular), np.einsum("kij,kj->ki", R, linear)
