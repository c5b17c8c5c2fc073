"""Motions, redundant rows and flexible bodies in the elimination of many coupled loops, against dense matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from systems.many_loops import grid, lattice, net, scissor
from systems.many_loops.random_graphs import graph

import dalembert as da
from dalembert.closure.loop_equations import LoopEquations
from dalembert.numerics.rank import null_space


def flexible_graph(seed: int, **shaped: object) -> da.System:
    return graph(18 + seed, seed, planar=False, chords=0.7, flexible=0.5, shaped=shaped)


FAMILIES: dict[str, Callable[[], da.System]] = {
    "scissor": lambda: scissor(20),
    "grid": lambda: grid(4, braced=0.4),
    "net": lambda: net(4),
    "lattice": lambda: lattice(40, keep=0.9),
    "balls": lambda: lattice(40, balls=True),
    "modal": lambda: flexible_graph(3),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_motions_span_the_null_space(family: str) -> None:
    model = FAMILIES[family]().compile()
    assert model._eliminates_loops
    q, free = model.initial_state().q, np.ones(model.nv, dtype=bool)
    free[1::7] = False  # some stand still
    loops = LoopEquations.of(model)
    N, dense = loops.null_space(q, free), null_space(loops.jacobian(q), free=free)
    assert N.shape == dense.shape
    assert np.abs(N.T @ N - np.eye(N.shape[1])).max(initial=0.0) < 1e-12
    assert np.abs(N - dense @ (dense.T @ N)).max(initial=0.0) < 1e-10


@pytest.mark.parametrize("family", FAMILIES)
def test_redundant_rows_are_combinations_of_others(family: str) -> None:
    model = FAMILIES[family]().compile()
    q, free = model.initial_state().q, np.ones(model.nv, dtype=bool)
    let_go = np.zeros(model.nc, dtype=bool)
    let_go[2::9] = True
    loops = LoopEquations.of(model).without(let_go)
    J, rank = loops.jacobian(q), loops.rank(q, free)
    dropped, y = loops.dependences(q, free, rank)
    assert len(dropped) == int((~let_go).sum()) - rank and not let_go[dropped].any()
    kept = np.setdiff1d(np.flatnonzero(~let_go), dropped)
    assert np.linalg.matrix_rank(J[kept], 1e-9) == rank
    assert np.array_equal(y[:, dropped], np.eye(len(dropped)))
    assert np.abs(y @ J).max(initial=0.0) < 1e-10 * np.abs(y).max(initial=1.0)


def closed_velocities(model: da.Model, q: np.ndarray, seed: int) -> np.ndarray:
    v = np.random.default_rng(seed).normal(size=model.nv)
    moved: np.ndarray = v - np.linalg.pinv(model.constraint_jacobian(q), 1e-11) @ model.constraint_jacobian(q) @ v
    return moved


def dense_accelerations(
    model: da.Model, q: np.ndarray, v: np.ndarray, rows: np.ndarray, demanded: np.ndarray
) -> np.ndarray:
    """Return a of M a + b = rows^T mu, rows a = demanded, of rows that may repeat others."""
    M, free = model.mass_matrix(q), model.dynamics(0.0, q, v, conditions=model.conditions(off=model.closure_names)).a
    L = np.linalg.cholesky(M)
    change = np.linalg.lstsq(np.linalg.solve(L, rows.T).T, demanded - rows @ free, rcond=1e-11)[0]
    a: np.ndarray = free + np.linalg.solve(L.T, change)
    return a


SHAPED: list[dict[str, object]] = [
    {},
    {"clamped": True},
    {"stiffening": True, "points": True},
    {"order": "ruthless"},
    {"nm": 12},
    {"nm": 12, "clamped": True},
]


@pytest.mark.parametrize("seed", range(6))
def test_flexible_bodies_in_fronts(seed: int) -> None:
    model = flexible_graph(seed, **SHAPED[seed]).compile()
    assert model._eliminates_loops
    q = model.initial_state().q
    v = closed_velocities(model, q, seed)
    P, bias = model.constraint_jacobian(q), model.constraint_bias(q, v)
    dense = dense_accelerations(model, q, v, P, -bias)
    found = model.dynamics(0.0, q, v).a
    assert np.abs(found - dense).max() < 1e-10 * np.abs(dense).max()
    batch = model.dynamics(0.0, np.tile(q, (9, 1)), np.tile(v, (9, 1))).a
    assert np.abs(batch - found).max() < 1e-10 * np.abs(dense).max()


@pytest.mark.parametrize("build", [lambda: grid(4), lambda: flexible_graph(1)], ids=["grid", "modal"])
def test_locked_hinges_of_trees_in_fronts(build: Callable[[], da.System]) -> None:
    model = build().compile()
    q = model.initial_state().q
    names = [name for name in model.joint_names if len(range(*model.v_slice(name).indices(model.nv))) == 1][2:4]
    held = np.concatenate([np.eye(model.nv)[model.v_slice(name)] for name in names])
    v = closed_velocities(model, q, 1)
    rows = np.vstack([model.constraint_jacobian(q), held])
    v -= np.linalg.pinv(rows, 1e-11) @ rows @ v
    demanded = np.append(-model.constraint_bias(q, v), np.zeros(len(held)))
    found = model.dynamics(0.0, q, v, conditions=model.conditions(locked=names)).a
    dense = dense_accelerations(model, q, v, rows, demanded)
    assert np.abs(found - dense).max() < 1e-10 * np.abs(dense).max()


def test_energy_of_a_flexible_graph_is_constant() -> None:
    result = da.simulate(flexible_graph(2), 0.05, rtol=1e-9, atol=1e-9)
    assert result.success
    kinetic = float(np.max(result["energy.kinetic"]))
    assert np.ptp(result["energy.total"]) < 1e-6 * max(kinetic, 1.0)


def test_massless_links_in_fronts() -> None:
    model = grid(3, light=tuple(f"r{k}" for k in range(3, 25, 3))).compile()
    assert model._eliminates_loops
    q = model.initial_state().q
    v = closed_velocities(model, q, 0)
    a = model.dynamics(0.0, q, v).a
    P, bias = model.constraint_jacobian(q), model.constraint_bias(q, v)
    # in the motions that the loops leave
    N = null_space(P)
    particular = np.linalg.lstsq(P, -bias, rcond=1e-11)[0]
    M, h = model.mass_matrix(q), model.bias_forces(q, v)
    dense = particular + N @ np.linalg.solve(N.T @ M @ N, -N.T @ (h + M @ particular))
    assert np.abs(a - dense).max() < 1e-9 * np.abs(dense).max()
