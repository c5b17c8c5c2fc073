"""Drive efforts that are not unique because several drives prescribe the same motion.

Multipliers lam without effect on free velocities, P_f' lam = 0, change the efforts of drives by P_d' lam only. If such
lam exist with P_d' lam not zero, those efforts are not unique.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, BoolArray
from ..numerics.rank import numerical_rank
from .drive_targets import driven_speeds

if TYPE_CHECKING:
    from .model import Model

__all__ = ["undetermined_efforts", "undetermined_multipliers"]


RANK_TOL = 1e-9  # of the largest singular value; smaller ones are round-off


def undetermined_efforts(model: Model, q: Array, t: float) -> BoolArray:
    """Return which driven velocities have efforts that are not unique at q (nq,), (nv,)."""
    driven = np.asarray(driven_speeds(model))
    marks = np.zeros(model.nv, dtype=bool)
    if model.nc and driven.any():
        P, idle = _idle(model, q, t, driven)
        size = float(np.abs(P).max(initial=0.0))
        marks[driven] = np.abs(P[:, driven].T @ idle).max(axis=1, initial=0.0) > RANK_TOL * size
    return marks


def undetermined_multipliers(model: Model, q: Array, t: float) -> BoolArray:
    """Return which constraint rows have multipliers that are not unique at q (nq,), (nc,)."""
    if not model.nc:
        return np.zeros(0, dtype=bool)
    _, idle = _idle(model, q, t, np.asarray(driven_speeds(model)))
    return np.asarray(np.abs(idle).max(axis=1, initial=0.0) > RANK_TOL)


def _idle(model: Model, q: Array, t: float, driven: BoolArray) -> tuple[Array, Array]:
    """Return P (nc, nv), and multipliers (nc, k) without effect on free velocities."""
    P = model.constraint_jacobian(q, t=t)
    U, s, _ = np.linalg.svd(P[:, ~driven]) if not driven.all() else (np.eye(model.nc), np.zeros(0), None)
    return P, U[:, numerical_rank(s, RANK_TOL, float(np.abs(P).max(initial=0.0))) :]
