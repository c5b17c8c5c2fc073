"""Many coupled loops of random graphs against dense equations: accelerations, resultants, rank, least loads."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.load_shares import least_loads
from systems.many_loops.random_graphs import random_graph

import dalembert as da
from dalembert.arrays import Array
from dalembert.closure.loop_equations import LoopEquations

SEEDS = [pytest.param(k, marks=() if k < 20 else pytest.mark.slow) for k in range(300)]


def rank_at_gap(s: Array, rounding: float = 1e-13) -> int:
    """Return how many singular values (k,) stand above the widest gap that ends in rounding; all, if none does."""
    zeros = np.flatnonzero(s <= rounding * s.max(initial=0.0))
    return int(zeros[0]) if len(zeros) else len(s)


class Dense:
    """M a + b = P^T lambda, P a + gamma = 0 by singular values in the metric of the masses."""

    def __init__(self, model: da.Model, seed: int) -> None:
        self.model, self.q = model, model.initial_state().q
        q = self.q
        self.P = model.constraint_jacobian(q)
        v = np.random.default_rng(seed).normal(size=model.nv)
        L = np.linalg.cholesky(model.mass_matrix(q))
        self.rows = np.linalg.solve(L, self.P.T).T
        size = np.linalg.norm(self.rows, axis=1)
        self.size = np.where(size > 1e-11 * size.max(), size, np.inf)
        U, s, Vt = np.linalg.svd(self.rows / self.size[:, None], full_matrices=False)
        self.s, self.rank = s, rank_at_gap(s)
        U, s, Vt = U[:, : self.rank], s[: self.rank], Vt[: self.rank]

        def change(missed: Array) -> tuple[Array, Array]:
            along = (U.T @ (missed / self.size)) / s
            return np.linalg.solve(L.T, Vt.T @ along), (U @ (along / s)) / self.size

        self.v = v - change(self.P @ v)[0]
        free = -np.linalg.solve(L.T, np.linalg.solve(L, model.bias_forces(q, self.v)))
        a, lam = change(-(self.P @ free + model.constraint_bias(q, self.v)))
        self.a, self.lam, self.free = free + a, lam, free
        self.gap = self.s[: self.rank].min(initial=1.0)


@pytest.mark.parametrize("number", SEEDS)
def test_accelerations_resultants_and_rank(number: int) -> None:
    model = random_graph(number).compile()
    dense = Dense(model, number)
    q, v = dense.q, dense.v
    a, _, lam, _ = model.dynamics(0.0, q, v)
    gap = dense.gap
    scale = max(float(np.abs(dense.a).max()), 9.81)
    # the dense equations square the conditioning of the rows
    assert np.abs(a - dense.a).max() < max(1e-9, 1e-14 / gap**2) * scale
    # what the rows have to cancel: the rates of the open system
    terms = np.abs(dense.P) @ np.abs(dense.free) + np.abs(model.constraint_bias(q, v))
    assert np.abs(dense.P @ a + model.constraint_bias(q, v)).max() < 1e-11 * max(float(terms.max()), 1.0)
    resultant, exact = dense.P.T @ lam, dense.P.T @ dense.lam
    assert np.abs(resultant - exact).max() < max(1e-8, 1e-13 / gap**2) * max(float(np.abs(exact).max()), 1.0)
    if model._eliminates_loops:
        found = LoopEquations.of(model).rank(q, np.ones(model.nv, dtype=bool), 1e-10)
        s = np.linalg.svd(LoopEquations.of(model).jacobian(q), compute_uv=False)
        assert found == rank_at_gap(s)


@pytest.mark.parametrize("number", SEEDS)
def test_loads_of_least_norm(number: int) -> None:
    model = random_graph(number).compile()
    dense = Dense(model, number)
    loads = np.array(list(model.connection_loads(dense.q, dense.v).values()))
    exact = least_loads(model, dense.q, loads, dense.P, rank_tol=1e-13)
    assert np.abs(loads - exact).max() < 1e-6 * np.abs(exact).max()
