"""Load sharing among redundant actuators: efforts of least cost within bounds, in batches.

For each sample, with A (k, m) and b (k,),

    least  sum of  w_i |u_i|^p / p      with  A u = b,   l <= u <= h                                                 (1)

Without bounds and with p = 2 this is a weighted minimum-norm solution. Otherwise an interior-point method for separable
convex costs is used: with z, y the multipliers of bounds and equations, and a barrier mu that tends to zero,

    w |u|^(p-1) sign u - z_l + z_h + A^T y = 0,   z_l (u - l) = mu,   z_h (h - u) = mu,   A u - b = e y              (2)

(S. J. Wright, Primal-Dual Interior-Point Methods, SIAM 1997, chapter 8.) The small number e admits redundant equations.
If bounds make the equations infeasible, the multipliers grow without bound; then the missing forces are minimised in
least squares.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array

__all__ = ["share_efforts"]


REGULARIZATION = 1e-11  # e of (2), in scaled equations
MAX_ITERATIONS = 80  # interior-point steps
COMPLEMENTARITY_TOL = 1e-13  # products in (2), scaled
INFEASIBLE_MULTIPLIER = 1e6  # multipliers of equations; larger ones mean infeasible bounds
EQUATION_TOL = 1e-9  # residual of the equations, scaled


def share_efforts(A: Array, b: Array, weights: Array, power: float, lower: Array, upper: Array, rank: float) -> Array:
    """Return the least-cost u (n, m) of (1).

    Parameters
    ----------
    A : (n, k, m)
    b : (n, k)
    weights : (m,)
    power : float
        p, 2 or more.
    lower, upper : (n, m)
        Infinite without a bound.
    rank : float
        Relative to the largest singular value of A; smaller ones are rounding.
    """
    root = np.sqrt(weights)
    inverse = np.linalg.pinv(A / root, rcond=rank)
    shortest: Array = (inverse @ b[..., None])[..., 0] / root
    free = not (np.isfinite(lower).any() or np.isfinite(upper).any())
    if free and power == 2.0:
        return shortest
    return _interior(A, b, weights, power, lower, upper, np.clip(shortest, lower, upper))


def _interior(A: Array, b: Array, weights: Array, power: float, lower: Array, upper: Array, guess: Array) -> Array:
    """Return u by (2), in variables and equations of order one."""
    n, k, m = A.shape
    width = upper - lower
    typical = np.abs(guess).max(axis=0, initial=0.0)
    size = np.where(np.isfinite(width).all(axis=0), width.max(axis=0), np.where(typical > 0.0, typical, 1.0))
    size = np.where(size > 0.0, size, 1.0)
    rows = np.linalg.norm(A * size, axis=2, keepdims=True)
    rows = np.where(rows > 1e-12 * rows.max(axis=1, keepdims=True), rows, np.inf)  # equations without actuators
    A, b = A * size / rows, b / rows[..., 0]
    w = weights * size**power
    w = w / w.max()
    low, high = lower / size, upper / size
    bounded = np.isfinite(low), np.isfinite(high)
    fixed = high - low < 1e-14
    u = guess / size
    inside = np.minimum(1.0, 0.5 * np.where(np.isfinite(high - low), high - low, 2.0))
    u = np.where(bounded[0], np.maximum(u, low + 0.1 * inside), u)
    u = np.where(bounded[1], np.minimum(u, high - 0.1 * inside), u)
    z = [np.where(side, 1.0, 0.0) for side in bounded]
    y = np.zeros((n, k))
    count = max(1, int(sum(side.any() for side in bounded)) * m)
    lost = np.zeros(n, dtype=bool)
    for _ in range(MAX_ITERATIONS):
        gap = [np.where(bounded[0], u - low, 1.0), np.where(bounded[1], high - u, 1.0)]
        gap = [np.maximum(each, 1e-300) for each in gap]
        products = sum((z[side] * gap[side]).sum(axis=1) for side in (0, 1)) / count
        slope = w * np.abs(u) ** (power - 1) * np.sign(u)
        dual = slope - z[0] + z[1] + np.einsum("nkm,nk->nm", A, y)
        primal = np.einsum("nkm,nm->nk", A, u) - b - REGULARIZATION * y
        going = ~lost
        if not going.any():
            break
        dual, primal = dual * going[:, None], primal * going[:, None]
        if (
            (products * going).max() < COMPLEMENTARITY_TOL
            and np.abs(dual).max() < 1e-11
            and np.abs(primal).max(initial=0.0) < 1e-12
        ):
            break
        mu = (0.1 * products)[:, None]
        curve = w * (power - 1) * np.maximum(np.abs(u), 1e-6) ** (power - 2)
        D = curve + z[0] / gap[0] + z[1] / gap[1] + np.where(fixed, 1e12, 0.0)
        right = -(dual + z[0] - z[1] - np.where(bounded[0], mu / gap[0], 0.0) + np.where(bounded[1], mu / gap[1], 0.0))
        # eliminate du: (A D^-1 A^T + e) dy = A D^-1 right + primal
        scaled = A / D[:, None, :]
        S = scaled @ A.swapaxes(1, 2) + REGULARIZATION * np.eye(k)
        dy = np.linalg.solve(S, (np.einsum("nkm,nm->nk", scaled, right) + primal)[..., None])[..., 0]
        du = (right - np.einsum("nkm,nk->nm", A, dy)) / D
        dz = [
            np.where(bounded[0], mu / gap[0] - z[0] - z[0] / gap[0] * du, 0.0),
            np.where(bounded[1], mu / gap[1] - z[1] + z[1] / gap[1] * du, 0.0),
        ]
        step = _longest(gap[0], np.where(bounded[0], du, 0.0)) & _longest(gap[1], np.where(bounded[1], -du, 0.0))
        step = step & _longest(z[0] + ~bounded[0], dz[0]) & _longest(z[1] + ~bounded[1], dz[1])
        lost |= np.abs(y).max(axis=1, initial=0.0) > INFEASIBLE_MULTIPLIER
        h = np.where(lost, 0.0, step.length)[:, None]
        u, y = u + h * du, y + h * dy
        z = [z[side] + h * dz[side] for side in (0, 1)]
    u = np.clip(u, low, high)
    for j in np.flatnonzero(np.abs(np.einsum("nkm,nm->nk", A, u) - b).max(axis=1, initial=0.0) > EQUATION_TOL):
        u[j] = _nearest(A[j], b[j], low[j], high[j], u[j])
    return np.clip(u * size, lower, upper)


def _nearest(A: Array, b: Array, low: Array, high: Array, u: Array) -> Array:
    """Return the u within bounds that minimises the residual of the equations of one sample."""
    from scipy.optimize import lsq_linear

    found = u.copy()
    open_ones = high - low > 1e-14
    rest = b - A[:, ~open_ones] @ u[~open_ones]
    if open_ones.any():
        found[open_ones] = lsq_linear(A[:, open_ones], rest, (low[open_ones], high[open_ones]), tol=1e-14).x
    return found


class _StepLimit:
    """Step length of each sample before a positive quantity vanishes; ``&`` takes the shorter."""

    def __init__(self, length: Array) -> None:
        self.length = length

    def __and__(self, other: _StepLimit) -> _StepLimit:
        return _StepLimit(np.minimum(self.length, other.length))


def _longest(positive: Array, change: Array) -> _StepLimit:
    with np.errstate(divide="ignore"):
        ratio = np.where(change < 0.0, -positive / np.where(change < 0.0, change, -1.0), np.inf)
    return _StepLimit(np.minimum(1.0, 0.995 * ratio.min(axis=1, initial=np.inf)))
