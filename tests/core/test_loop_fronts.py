"""Elimination of many coupled loops within the trees: closed forms, and the dense equations of random graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from systems.many_loops import grid, lattice, net, platforms, scissor, wheel

import dalembert as da
from dalembert.arrays import Array
from dalembert.closure.loop_equations import LoopEquations

# a scissor at 0.6 rad and 0.5 rad/s: second rate of its angle, by Lagrange's equation of the one coordinate
SCISSORS = {3: -3.759345408379597, 10: -0.7306089725886297, 100: -0.369121503331139, 300: -0.3658346306643406}
SCISSORS[1000] = -0.3654609370317253  # its pivots come near to round-off


def closed_velocities(model: da.Model, q: Array, seed: int = 0) -> Array:
    P = model.constraint_jacobian(q)
    v = np.random.default_rng(seed).normal(size=model.nv)
    projected: Array = v - np.linalg.lstsq(P, P @ v, rcond=1e-9)[0]
    return projected


def dense_accelerations(model: da.Model, q: Array, v: Array) -> tuple[Array, int]:
    """Return a of M a + b = P^T lambda, P a + gamma = 0, and the rank of P, by orthogonal factors of all of it."""
    M, P = model.mass_matrix(q), model.constraint_jacobian(q)
    L = np.linalg.cholesky(M)
    free = -np.linalg.solve(M, model.bias_forces(q, v))
    rows = np.linalg.solve(L, P.T).T
    missed = -(P @ free + model.constraint_bias(q, v))
    size = np.linalg.norm(rows, axis=1)
    s = np.linalg.svd(rows / np.where(size > 1e-12, size, 1.0)[:, None], compute_uv=False)
    change, *_ = np.linalg.lstsq(rows, missed, rcond=1e-10)
    return free + np.linalg.solve(L.T, change), int((s > 1e-9).sum())


@pytest.mark.parametrize("n", [3, 10, 100, 300, 1000])
def test_scissor_accelerates_as_its_closed_form(n: int) -> None:
    model = scissor(n).compile()
    q = np.zeros(model.nq)
    angle, rate = 0.6, 0.5
    # angles of the rods: +rate and -rate about -y; the slider moves with the height of the first cell
    v = _scissor_velocities(model, n, angle, rate)
    assert np.abs(model.constraint_jacobian(q) @ v).max() < 1e-13 * n
    a = model.forward_dynamics(q, v)
    turn = a[model.v_slice("foot")][0]
    assert -turn == pytest.approx(SCISSORS[n], rel=1e-11 if n < 1000 else 1e-10)


def _scissor_velocities(model: da.Model, n: int, angle: float, rate: float) -> Array:
    spin = {"ground": 0.0, "slider": 0.0}
    for i in range(n):
        spin[f"a{i}"], spin[f"b{i}"] = -rate, rate
    v = np.zeros(model.nv)
    for joint in model.forest.joints:
        if joint.name == "slide":
            v[model.v_slice("slide")] = rate * np.cos(angle) * (-1.0 if joint.reversed else 1.0)
        else:
            first, second = (joint.outboard, joint.inboard) if joint.reversed else (joint.inboard, joint.outboard)
            v[model.v_slice(joint.name)] = spin[second.body.name] - spin[first.body.name]
    return v


def test_grid_at_rest_accelerates_as_its_nodes() -> None:
    # nodes of the grid as unknowns, in 40 digits: angular accelerations about y
    model = grid(4).compile()
    a = model.forward_dynamics(np.zeros(model.nq), np.zeros(model.nv))
    turns: dict[str, float] = {}
    for k, joint in enumerate(model.forest.joints):
        parent = int(model.forest.parent[k])
        turn = a[model.v_slice(joint.name)][0] * (-1.0 if joint.reversed else 1.0)
        turns[model.forest.bodies[k + 1]] = turns.get(model.forest.bodies[parent], 0.0) + turn
    found = [turns[f"r{k}"] for k in (1, 2, 20, 40)]
    exact = [10.88584473600806, 0.3215762465536642, 0.3215762465536642, -0.03510010340639049]
    assert np.allclose(found, exact, rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "rows", "rank"),
    [
        (lambda: grid(4), 80, 32),
        (lambda: grid(8), 320, 128),
        (lambda: grid(12), 720, 288),
        (lambda: grid(20), 2000, 800),
        (lambda: scissor(30), 150, 60),
        (lambda: grid(1, braced=1.0), 15, 5),
        (lambda: grid(2, braced=1.0), 60, 19),
    ],
    ids=["grid 4", "grid 8", "grid 12", "grid 20", "scissor 30", "braced cell", "four braced cells"],
)
def test_rank_of_coupled_loops(build: Callable[[], da.System], rows: int, rank: int) -> None:
    model = build().compile()
    found = LoopEquations.of(model).rank(model.initial_state().q, np.ones(model.nv, dtype=bool))
    assert (model.nc, found) == (rows, rank)


FAMILIES: dict[str, Callable[[int], da.System]] = {
    "scissor": lambda seed: scissor(8 + seed, 0.3 + 0.1 * seed),
    "grid": lambda seed: grid(3 + seed % 3, skew=0.1 + 0.05 * seed),
    "braced": lambda seed: grid(4, braced=0.4, seed=seed),
    "net": lambda seed: net(3 + seed % 2, seed=seed),
    "lattice": lambda seed: lattice(30, seed=seed, keep=0.5),
    "overconstrained": lambda seed: lattice(30, seed=seed, keep=0.8),
    "balls": lambda seed: lattice(30, seed=seed, keep=0.6, balls=True),
    "wheel": lambda seed: wheel(8 + seed),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_against_the_dense_equations(family: str, seed: int) -> None:
    model = FAMILIES[family](seed).compile()
    q = model.initial_state().q
    v = closed_velocities(model, q, seed)
    a = model.forward_dynamics(q, v)
    dense, _ = dense_accelerations(model, q, v)
    P = model.constraint_jacobian(q)
    scale = max(np.abs(dense).max(), 9.81)
    assert np.abs(a - dense).max() < 1e-9 * scale  # the dense equations square the conditioning of the rows
    terms = np.abs(P) @ np.abs(a) + np.abs(model.constraint_bias(q, v))
    assert np.abs(P @ a + model.constraint_bias(q, v)).max() < 1e-12 * max(terms.max(), 1.0)


@pytest.mark.parametrize("family", ["scissor", "grid", "net", "balls"])
def test_batches_are_the_single_states(family: str) -> None:
    model = FAMILIES[family](1).compile()
    q = np.tile(model.initial_state().q, (9, 1))
    v = np.array([closed_velocities(model, q[0], seed) for seed in range(9)])
    batch = model.forward_dynamics(q, v)
    single = np.array([model.forward_dynamics(*each) for each in zip(q, v, strict=True)])
    assert np.abs(batch - single).max() < 1e-10 * np.abs(single).max()


def dense_with_rows(model: da.Model, q: Array, v: Array, K: Array, right: Array) -> Array:
    """Return a of M a + b = K^T mu, K a = right."""
    M = model.mass_matrix(q)
    L = np.linalg.cholesky(M)
    free = -np.linalg.solve(M, model.bias_forces(q, v))
    change, *_ = np.linalg.lstsq(np.linalg.solve(L, K.T).T, right - K @ free, rcond=1e-10)
    found: Array = free + np.linalg.solve(L.T, change)
    return found


def test_couplings_of_coordinates_within_the_trees() -> None:
    # couplings of joints on one branch, of neighbours and of distant branches
    s = grid(4)
    names = [joint.name for joint in s.forest().joints]
    for k, (one, other) in enumerate(((2, 9), (3, 4), (5, 20))):
        s.connect(f"c{k}", da.Coupling(1.5 + k), names[one], names[other])
    model = s.compile()
    q = model.initial_state().q
    v = closed_velocities(model, q)
    dense, rank = dense_accelerations(model, q, v)
    assert rank == 35
    assert np.abs(model.forward_dynamics(q, v) - dense).max() < 1e-11 * np.abs(dense).max()


def test_prescribed_accelerations() -> None:
    s = grid(4)
    name = s.forest().joints[9].name
    s.drive(name, acceleration=lambda t: 2.0)
    model = s.compile()
    q = np.zeros(model.nq)
    v = closed_velocities(model, q)
    rows = np.vstack([model.constraint_jacobian(q), np.eye(model.nv)[model.v_slice(name)]])
    dense = dense_with_rows(model, q, v, rows, np.append(-model.constraint_bias(q, v), 2.0))
    assert np.abs(model.dynamics(0.0, q, v)[0] - dense).max() < 1e-11 * np.abs(dense).max()


def test_velocities_after_a_joint_locks() -> None:
    model = grid(4).compile()
    q = np.zeros(model.nq)
    v = closed_velocities(model, q)
    name = model.forest.joints[7].name
    rows = np.vstack([model.constraint_jacobian(q), np.eye(model.nv)[model.v_slice(name)]])
    L = np.linalg.cholesky(model.mass_matrix(q))
    change, *_ = np.linalg.lstsq(np.linalg.solve(L, rows.T).T, -rows @ v, rcond=1e-10)
    after = da.impulse(model, q, v, lock=name).v
    assert np.abs(after - v - np.linalg.solve(L.T, change)).max() < 1e-12


@pytest.mark.parametrize("build", [lambda: grid(3), lambda: net(3)], ids=["grid", "net"])
def test_derivatives_along_the_loops(build: Callable[[], da.System]) -> None:
    model = build().compile()
    q = model.initial_state().q
    v = closed_velocities(model, q)
    d = model.d_dynamics(0.0, q, v, multipliers=False).a
    rng = np.random.default_rng(3)
    for of, change in ((d.q, lambda h: (model.integrate(q, h), v)), (d.v, lambda h: (q, v + h))):
        along = rng.normal(size=model.nv)  # of rows that move, gamma is taken where the loops are a little open
        h = 1e-5 * along
        two = [model.dynamics(0.0, *change(step))[0] for step in (h, -h)]
        slope = (two[0] - two[1]) / 2e-5
        assert np.abs(of @ along - slope).max() < 1e-5 * np.abs(slope).max()  # central differences


def test_energy_of_a_released_grid_is_constant() -> None:
    s = grid(4)
    result = da.simulate(s, 0.3, rtol=1e-9, atol=1e-9)
    assert result.success
    assert np.ptp(result["energy.total"]) < 1e-6 * np.ptp(result["energy.kinetic"])


@pytest.mark.parametrize("turned", [1e-3, 1e-5, 1e-6, 1e-7, 1e-8])
def test_platforms_on_cranks_that_are_not_parallel_stand_still(turned: float) -> None:
    # 16 rows and freedoms; the rows of each level differ from dependent ones by the angle of the third crank alone
    model = platforms(4, turned).compile()
    a = model.forward_dynamics(np.zeros(model.nq), np.zeros(model.nv))
    assert np.abs(a).max() < 1e-8  # of some 10 rad/s2 if they moved


def test_platforms_on_parallel_cranks_move() -> None:
    model = platforms(4, 0.0).compile()
    q = np.zeros(model.nq)
    v = closed_velocities(model, q)
    assert np.abs(v).max() > 0.1
    a = model.forward_dynamics(q, v)
    dense, rank = dense_accelerations(model, q, v)
    assert rank == model.nv - 4
    assert np.abs(a - dense).max() < 1e-11 * np.abs(dense).max()
