"""Differentiable orthonormal bases by Gram-Schmidt, and rates of Jacobians along a motion.

    w_i = p_i - sum (v_j . p_i) v_j,   v_i = w_i / |w_i|                                                            (1)

Garcia de Jalon and Bayo 1994, (3.47)-(3.52), after Liang and Lance 1985.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from .equations import Equations

__all__ = ["gram_schmidt", "jacobian_rate"]


def gram_schmidt(P: Array, Pd: Array | None = None) -> tuple[Array, Array]:
    """Return the rows of P made orthonormal from the top, and their rates for given rates of P: (1)."""
    V, Vd = np.zeros_like(P), np.zeros_like(P)
    for i, p in enumerate(P):
        along = V[:i] @ p
        w = p - along @ V[:i]
        w -= (V[:i] @ w) @ V[:i]  # repeated against rounding
        size = float(np.linalg.norm(w))
        V[i] = w / size
        if Pd is None:
            continue
        rate = Vd[:i] @ p + V[:i] @ Pd[i]
        wd = Pd[i] - rate @ V[:i] - along @ Vd[:i]
        Vd[i] = (wd - (V[i] @ wd) * V[i]) / size
    return V, Vd


def jacobian_rate(equations: Equations, q: Array, v: Array, t: float) -> Array:
    """Return J' (rows, nv) along a motion; exact where J is affine in q."""
    h = 1e-3 / max(1.0, float(np.abs(v / equations.column_scales).max(initial=0.0)))

    def J(s: float) -> Array:
        return equations.jacobian(equations.retract(q, s * v), t + s)

    return (8 * (J(h) - J(-h)) - (J(2 * h) - J(-2 * h))) / (12 * h)
