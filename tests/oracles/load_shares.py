"""Shares of redundant connections by all states of self-stress."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.arrays import Array
from dalembert.closure.loop_equations import LoopEquations
from dalembert.model.connection_loads import weightless_loads

__all__ = ["least_loads"]


def least_loads(model: da.Model, q: Array, loads: Array, P: Array, rank_tol: float = 1e-9) -> Array:
    """Return the loads of least norm (1) of self_stress.hpp, by all states of self-stress."""
    scales = LoopEquations.of(model).row_scales
    J = scales[:, None] * P * LoopEquations.of(model).column_scales
    U, s, _ = np.linalg.svd(J, full_matrices=True)
    rank = int((s > rank_tol * s.max(initial=1.0)).sum())
    states = (U[:, rank:].T * scales)[: len(scales) - rank]
    if not len(states):
        return loads
    change = weightless_loads(model, np.tile(q, (len(states), 1)), np.zeros((len(states), model.nv)), states)
    metric = np.array([1.0] * 3 + [model.length] * 3)
    A = (change * metric).reshape(len(states), -1).T
    y = np.linalg.lstsq(A, -(loads * metric).ravel(), rcond=1e-12)[0]
    best: Array = loads + np.tensordot(y, change, 1)
    return best
