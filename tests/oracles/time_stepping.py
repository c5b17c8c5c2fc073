"""Moreau's time stepping: rigid contacts with Newton's restitution and Coulomb's friction, in NumPy.

Source: J. J. Moreau, "Unilateral contact and dry friction in finite degree of freedom dynamics", CISM 302, Springer
1988, 1-82.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass
class PlaneContacts:
    """A plane system with a constant mass matrix M (n, n) and contacts of constant directions.

    `force` and `gap` are functions of q: (n,) and (m,); `normals` and `tangents` (m, n) give the contact velocities.
    """

    M: Array
    force: Callable[[Array], Array]
    gap: Callable[[Array], Array]
    normals: Array
    tangents: Array
    restitution: Array
    friction: float

    def step(self, q: Array, u: Array, h: float) -> tuple[Array, Array]:
        """Return q and u a step h later: a half step, contacts that are closed there, and a half step."""
        middle = q + h / 2 * u
        after = u + np.linalg.solve(self.M, self.force(middle)) * h
        closed = np.flatnonzero(self.gap(middle) <= 0)
        if len(closed):
            after = after + self._impulses(closed, u, after)
        return middle + h / 2 * after, after

    def _impulses(self, closed: Array, before: Array, free: Array) -> Array:
        W = np.vstack([self.normals[closed], self.tangents[closed]])
        into = np.linalg.solve(self.M, W.T)
        G, slip, bounce = W @ into, W @ free, self.restitution[closed] * (self.normals[closed] @ before)
        k = len(closed)
        P = np.zeros(2 * k)
        for _ in range(500):
            last = P.copy()
            for c in range(k):
                P[c] = max(0.0, P[c] - (slip[c] + G[c] @ P + bounce[c]) / G[c, c])
                t, limit = k + c, self.friction * P[c]
                P[t] = np.clip(P[t] - (slip[t] + G[t] @ P) / G[t, t], -limit, limit)
            if np.abs(P - last).max() < 1e-9 * P.max():
                break
        jump: Array = into @ P
        return jump
