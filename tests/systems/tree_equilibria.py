"""Equilibria of a tree of bodies, by Newton's method on its accelerations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dalembert as da

Array = NDArray[np.float64]


def equilibrium(model: da.Model, q: Array, *, t: float = 0.0, largest: float = 0.5, tolerance: float = 1e-9) -> Array:
    """Return coordinates (nq,) at which nothing accelerates from rest at the time t.

    No coordinate goes farther than `largest` in one step.
    """
    still, states = np.zeros(model.nv), np.zeros(model.nx)
    for _ in range(200):
        a = model.dynamics(t, q, still, states).a
        step = -np.linalg.solve(model.d_dynamics(t, q, still, states).a.q, a)
        q = model.integrate(q, step * min(1.0, largest / np.abs(step).max()))
        if np.abs(step).max() < tolerance:
            return q
    raise AssertionError(f"no equilibrium: the last step was {np.abs(step).max():.2g}")


def frequencies(model: da.Model, q: Array) -> Array:
    """Return the angular frequencies (nv,) rad/s of small vibrations about an equilibrium, in order."""
    slopes = model.d_dynamics(0.0, q, np.zeros(model.nv), np.zeros(model.nx)).a.q
    found: Array = np.sqrt(np.sort(np.maximum(np.linalg.eigvals(-slopes).real, 0.0)))
    return found
