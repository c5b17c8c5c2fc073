"""Remaining margins of coupled bounds, compared with other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.friction.bound_widening import MAX_NARROWING
from oracles.friction.holding_margin import coupled_margin
from scipy.optimize import linprog, minimize


def case(seed: int, balls: list[list[int]], states: int = 4) -> tuple:
    rng = np.random.default_rng(seed)
    n, m = 3, 4
    limits = rng.uniform(0.05, 2.0, (states, n + m))
    lower, upper = -limits, limits.copy()
    if seed % 2:  # a stop pushes
        upper[:, -1] = np.inf
    share = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.7)
    h = rng.normal(size=(states, n)) * rng.uniform(0.1, 6.0, (states, 1))
    return h, lower, upper, limits, share, rng.uniform(0.1, 1.0, n + m), balls


@pytest.mark.parametrize("seed", range(12))
def test_boxes_leave_what_a_linear_programme_finds(seed: int) -> None:
    h, lower, upper, limits, share, scale, _ = case(seed, [])
    found = coupled_margin(h, lower, upper, limits, share, scale, [])
    wide, (n, m) = np.maximum(scale, limits), share.shape
    for k in range(len(h)):
        rows = np.vstack([np.eye(n + m), -np.eye(n + m)])
        bounds = np.concatenate([upper[k], -lower[k]])
        known = np.isfinite(bounds)
        best = linprog(
            np.append(np.zeros(n + m), 1.0),
            A_ub=np.column_stack([rows, -np.tile(wide[k], 2)])[known],
            b_ub=bounds[known],
            A_eq=np.column_stack([np.eye(n), share, np.zeros(n)]),
            b_eq=h[k],
            bounds=[(None, None)] * (n + m) + [(-MAX_NARROWING, None)],
        )
        assert found[k] == pytest.approx(-best.x[-1], abs=1e-8)


@pytest.mark.parametrize("seed", [13, 18, 26, *range(6)])
def test_joints_that_are_clamped_hold_the_loads_of_others(seed: int) -> None:
    """Three rows with limits of 1e8 to 1e10 hold what three of 10 to 1000 cannot: no margin above 0.9 is looked for."""
    rng = np.random.default_rng(seed)
    share = rng.normal(size=(3, 5))
    limits = np.tile(np.concatenate([10.0 ** rng.uniform(1, 3, 5), 10.0 ** rng.uniform(8, 10, 3)]), (4, 1))
    h = rng.normal(size=(4, 3)) * 10.0 ** rng.uniform(0.0, 4.0, (4, 1))
    left = coupled_margin(h, -limits, limits, limits, share, limits[0], [])
    np.testing.assert_allclose(left, MAX_NARROWING, rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_ellipsoids_leave_what_a_search_finds(seed: int) -> None:
    balls = [[0, 1, 3], [4, 5]] if seed < 4 else [[2, 3, 4, 5]]
    h, lower, upper, limits, share, scale, _ = case(seed, balls)
    found, n, wide = coupled_margin(h, lower, upper, limits, share, scale, balls), len(share), np.maximum(scale, limits)

    for k in range(len(h)):

        def efforts(x: np.ndarray, k: int = k) -> np.ndarray:
            return np.concatenate([h[k] - share @ x[:-1], x[:-1]])

        def room(x: np.ndarray, k: int = k) -> np.ndarray:
            lam, r = efforts(x), x[-1]
            bounds = [upper[k] + r * wide[k] - lam, lam - lower[k] + r * wide[k]]
            inside = [1.0 + r - np.linalg.norm(lam[ball] / limits[k, ball]) for ball in balls]
            known = np.concatenate(bounds)
            return np.concatenate([known[np.isfinite(known)], inside, [r + MAX_NARROWING]])

        start = np.append(np.full(share.shape[1], 0.01), 10.0 + np.abs(h[k] / limits[k, :n]).max() * 3)
        best = minimize(
            lambda x: x[-1],
            start,
            constraints={"type": "ineq", "fun": room},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert room(best.x).min() > -1e-9
        assert found[k] == pytest.approx(-best.x[-1], abs=3e-7 * (1.0 + abs(best.x[-1])))


def test_a_ball_without_friction_about_one_axis_holds_nothing_about_it() -> None:
    share, limits = np.array([[1.0], [0.0]]), np.array([[1.0, 0.0, 0.5]])
    for h, holds in (((1.2, 0.0), True), ((1.2, 0.1), False)):
        left = coupled_margin(np.array([h]), -limits, limits, limits, share, np.ones(3), [[0, 1]])[0]
        assert (left > 0.0) == holds
