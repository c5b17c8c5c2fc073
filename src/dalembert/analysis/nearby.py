"""Motions that the loops leave at a configuration, and how many they leave nearby."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..model import Model
from .closure import Closure
from .scales import Scales, closure_rank, singular_values

__all__ = ["general_mobility", "null_space"]

Array = NDArray[np.float64]

_NEIGHBOURS = 5


def null_space(J: Array, nv: int) -> Array:
    """Return an orthonormal basis (nv, mobility) of the scaled speeds that keep the loops closed."""
    if not len(J):
        return np.eye(nv)
    from scipy.linalg import qr

    # many redundant rows: first reduce to a square, R^T R = J^T J
    square = qr(J, mode="r")[0][:nv] if len(J) > nv else J
    _, s, Vt = np.linalg.svd(square)
    basis: Array = Vt[closure_rank(s) :].T
    return basis


def general_mobility(model: Model, q: Array, here: int) -> int:
    """Return the mobility at closed configurations near q: the least found in a few random directions of motion.

    A motion that exists only to first order leads back to where it started: it counts as none.
    """
    if not here:
        return 0
    closure = Closure(model, 1e-12, 60)
    scales, random = Scales.of(model), np.random.default_rng(0)
    N = null_space(scales.jacobian(model, q), model.nv)
    everything = np.ones(model.nv, dtype=bool)
    general, moved_once = here, False
    for _ in range(_NEIGHBOURS):
        direction = N @ random.normal(size=here)
        direction /= np.abs(direction).max()
        for size in (0.1, 0.02):
            trial = closure.iterate(model.integrate(q, size * scales.columns * direction), everything)
            moved = float(np.abs(model.difference(q, trial.q) / scales.columns).max())
            if trial.closed and moved > 0.1 * size:
                moved_once = True
                s = singular_values(scales.jacobian(model, trial.q))
                general = min(general, model.nv - closure_rank(s))
                break
    return general if moved_once else 0
