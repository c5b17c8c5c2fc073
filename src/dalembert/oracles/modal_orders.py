"""Inertia and gyroscopic loads of one flexible body after Jain and Rodriguez (1990), by orders.

    M_m = [Pi*; B] M_s [Pi, B*]                     by nodes, (3.25)
    b_m = [Pi*; B] (b + M_s a)                      by nodes, (3.39)
    M_m = M^0 + M^1(eta) + M^2(eta, eta)            by orders in the deformation, (B.8)
    b_m = b^0 + b^1 + b^2 + b^3                     (B.50)

for bodies with lumped nodes, rows [eta; omega; v], body axes. Modal integrals are polynomials in eta and eta', so that
their orders follow from values at as many multiples of the deformation as there are orders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.flexible_body import FlexibleBody
from ..bodies.modal_integrals import modal_integrals, source_integrals
from ..errors import ModelError
from .operators import phi

__all__ = ["bias_by_order", "mass_by_order", "nodal_bias", "nodal_mass_matrix"]


_SCALES = np.arange(4.0)


def nodal_mass_matrix(body: FlexibleBody, eta: ArrayLike) -> Array:
    """Return M_m (nm + 6, nm + 6) by the sum over nodes, (3.25)."""
    total = np.zeros((body.nm + 6, body.nm + 6))
    for M, X, _ in _nodes(body, np.asarray(eta, dtype=float)):
        total += X.T @ M @ X
    return total


def nodal_bias(body: FlexibleBody, eta: ArrayLike, rate: ArrayLike, w: ArrayLike) -> Array:
    """Return b_m (nm + 6,) by the sum over nodes, (3.33) and (3.39): w rad/s of the body frame, in its axes."""
    eta, rate, w = (np.asarray(x, dtype=float) for x in (eta, rate, w))
    total = np.zeros(body.nm + 6)
    for node, (M, X, place) in enumerate(_nodes(body, eta)):
        turn, slide = body.shapes[node, :3] @ rate, body.shapes[node, 3:] @ rate
        whole = w + turn
        J, mp = M[:3, :3], _axial(M[:3, 3:])
        b = np.concatenate([np.cross(whole, J @ whole), np.cross(whole, np.cross(whole, mp))])
        a = np.concatenate([np.cross(w, turn), np.cross(w, np.cross(w, place) + 2 * slide)])
        total += X.T @ (b + M @ a)
    return total


def mass_by_order(body: FlexibleBody, eta: ArrayLike, *, source: bool = True) -> list[Array]:
    """Return M^0, M^1, M^2 (nm + 6, nm + 6), by the integrals of the source or (source=False) of this package."""
    integrals = source_integrals(body) if source else modal_integrals(body)
    eta = np.asarray(eta, dtype=float)
    return _orders([integrals.mass_matrix(s * eta) for s in _SCALES])[:3]


def bias_by_order(
    body: FlexibleBody, eta: ArrayLike, rate: ArrayLike, w: ArrayLike, *, source: bool = True
) -> list[Array]:
    """Return b^0 to b^3 (nm + 6,), by the integrals of the source or (source=False) of this package."""
    integrals = source_integrals(body) if source else modal_integrals(body)
    eta, rate, w = (np.asarray(x, dtype=float) for x in (eta, rate, w))
    return _orders([integrals.bias(s * eta, s * rate, w) for s in _SCALES])


def _orders(values: list[Array]) -> list[Array]:
    """Return the coefficients of a polynomial of degree three through values at 0, 1, 2, 3."""
    powers = np.linalg.inv(np.vander(_SCALES, increasing=True))
    return list(np.tensordot(powers, np.array(values), 1))


def _nodes(body: FlexibleBody, eta: Array) -> list[tuple[Array, Array, Array]]:
    """Return inertia (6, 6), [Pi, B*] (6, nm + 6) and deformed position (3,) of every node."""
    m, p, inertia = body.node_masses, body.node_centres, body.node_inertias
    if m is None or p is None or inertia is None:
        raise ModelError("sum over nodes", "mass_matrix", "consistent", "it is for lumped nodes: give node_masses")
    found = []
    for k in range(body.n):
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = inertia[k], m[k] * np.eye(3)
        M[:3, 3:] = m[k] * phi(p[k])[:3, 3:]
        M[3:, :3] = M[:3, 3:].T
        place = body.nodes[k] + body.shapes[k, 3:] @ eta
        found.append((M, np.hstack([body.shapes[k], phi(place).T]), place))
    return found


def _axial(S: Array) -> Array:
    return np.array([S[2, 1], S[0, 2], S[1, 0]])
