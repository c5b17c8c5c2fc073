"""Levenberg-Marquardt least squares over all positions of a linkage.

Positions are coupled by the parameters p only. The coordinates are eliminated position by position; the remaining
system has the size of p (Triggs, McLauchlan, Hartley, Fitzgibbon 2000, section 6.1). For this elimination the steps are
not those of `numerics.least_squares`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from .linkage_positions import Positions

__all__ = ["PositionFit", "fit_positions", "settled"]


_INITIAL_DAMPING = 1e-2  # initial damping
EXACT_TOL = 1e-24  # sum of squares at round-off level
_DECREASE_TOL = 1e-11  # relative decrease over `_DECREASE_STEPS` steps that counts as converged
_DECREASE_STEPS = 8  # steps over which the decrease is measured
MAX_DAMPING = 1e8  # upper limit of the damping


@dataclass
class PositionFit:
    """Parameters p (n,) and coordinates q (N, nq), with the sum of squares of all rows."""

    p: Array
    q: Array
    cost: float


def settled(positions: Positions, p: Array, q: Array, weight: float = 1.0, steps: int = 12) -> Array:
    """Fit coordinates (N, nq) for fixed parameters, as a start of the full fit."""
    model, damping = positions.model_at(p), _INITIAL_DAMPING

    def rows(q: Array) -> tuple[Array, Array]:
        r = np.concatenate([weight * positions.closure(model, q), positions.off(model, q)], axis=1)
        closing, wanted = positions.slopes(model, q)
        return r, np.concatenate([weight * closing, wanted], axis=1)

    r, J = rows(q)
    for _ in range(steps):
        A = J.transpose(0, 2, 1) @ J + damping * np.eye(model.nv)
        moved = model.integrate(q, -np.linalg.solve(A, J.transpose(0, 2, 1) @ r[..., None])[..., 0])
        r2, J2 = rows(moved)
        better = (r2**2).sum(axis=1) < (r**2).sum(axis=1)
        q = np.where(better[:, None], moved, q)
        r, J = np.where(better[:, None], r2, r), np.where(better[:, None, None], J2, J)
        damping *= 0.5
    return np.asarray(q)


def fit_positions(
    positions: Positions, start: PositionFit, bounds: tuple[Array, Array], weight: float, most: int
) -> PositionFit:
    """Fit parameters within bounds and coordinates near a start; loop rows have a weight."""
    p, q, damping = start.p, start.q, _INITIAL_DAMPING
    lower, upper = bounds
    r, Jq, Jp = _rows(positions, p, q, weight)
    cost, past = float((r**2).sum()), [np.inf] * _DECREASE_STEPS
    for _ in range(most):
        if cost < EXACT_TOL or damping > MAX_DAMPING or past[-_DECREASE_STEPS] - cost < _DECREASE_TOL * cost:
            break
        eliminated, S = _eliminated(r, Jq, Jp, damping)
        there = np.clip(p + eliminated, lower, upper)
        moved = positions.model.integrate(q, -S[..., -1] - S[..., :-1] @ (there - p))
        new = positions.residual(there, moved, weight)
        value = float((new**2).sum())
        if value < cost:
            past.append(cost)
            p, q, cost, damping = there, moved, value, max(damping / 5, 1e-15)
            r, Jq, Jp = _rows(positions, p, q, weight)
        else:
            damping *= 4
    return PositionFit(p, q, cost)


def _rows(positions: Positions, p: Array, q: Array, weight: float) -> tuple[Array, Array, Array]:
    """Return all rows (N, m), and their derivatives by coordinates (N, m, nv) and parameters (N, m, n)."""
    r = positions.residual(p, q, weight)
    closing, wanted = positions.slopes(positions.model_at(p), q)
    return r, np.concatenate([weight * closing, wanted], axis=1), positions.by_numbers(p, q, r, weight)


def _eliminated(r: Array, Jq: Array, Jp: Array, damping: float) -> tuple[Array, Array]:
    """Return the parameter step (n,), and S for the coordinate steps -S[..., -1] - S[..., :-1] dp."""
    T = Jq.transpose(0, 2, 1)
    H = T @ Jq + damping * np.eye(Jq.shape[2])
    G = T @ np.concatenate([Jp, r[..., None]], axis=2)
    S = np.linalg.solve(H, G)
    n = Jp.shape[2]
    left = np.einsum("jrk,jrl->kl", Jp, Jp) + damping * np.eye(n) - np.einsum("jvk,jvl->kl", G[..., :n], S[..., :n])
    right = np.einsum("jrk,jr->k", Jp, r) - np.einsum("jvk,jv->k", G[..., :n], S[..., n])
    return -np.linalg.solve(left, right), S
