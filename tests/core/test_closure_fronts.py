"""Closure, velocities, rank and shares of many coupled loops within the trees, against dense equations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oracles.load_shares import least_loads
from systems.many_loops import grid, lattice, net, platforms, scissor

import dalembert as da
from dalembert.closure.loop_equations import LoopEquations, LoopLinearization
from dalembert.numerics.least_squares import MatrixLinearization

BUILDS: dict[str, Callable[[], da.System]] = {
    "scissor": lambda: scissor(12),
    "braced": lambda: grid(4, braced=0.5),
    "net": lambda: net(4),
    "balls": lambda: lattice(30, keep=0.8, balls=True),
}


def coupled_grid() -> da.System:
    s = grid(4)
    names = [joint.name for joint in s.forest().joints]
    s.connect("c0", da.Coupling(1.5), names[2], names[9])
    s.connect("c1", da.Coupling(-0.5), names[3], names[4])
    return s


@pytest.mark.parametrize("build", [*BUILDS.values(), coupled_grid], ids=[*BUILDS, "couplings"])
@pytest.mark.parametrize("mu", [1.0, 1e-3])
def test_levenberg_steps_are_those_of_the_jacobian(build: Callable[[], da.System], mu: float) -> None:
    model = build().compile()
    rng = np.random.default_rng(1)
    q = model.integrate(model.initial_state().q, 0.1 * rng.normal(size=model.nv))
    loops, free = LoopEquations.of(model).of_positions(), rng.random(model.nv) < 0.9
    weights = rng.uniform(0.5, 2.0, int(free.sum()))
    r = loops.residual(q)
    fronts = LoopLinearization(loops, q, r, free, weights)
    dense = MatrixLinearization(loops.jacobian(q)[:, free] * weights, r)
    assert fronts.gradient == pytest.approx(dense.gradient, rel=1e-10)
    x, change = fronts.step(mu)
    exact, predicted = dense.step(mu)
    assert np.abs(x - exact).max() < 1e-10 * np.abs(exact).max()
    assert np.abs(change - predicted).max() < 1e-10 * np.abs(predicted).max()


@pytest.mark.parametrize(
    ("build", "away"), [(lambda: scissor(60), 0.02), (lambda: grid(8), 0.5), (lambda: grid(6, braced=0.5), 0.03)]
)
def test_loops_close_from_a_distance(build: Callable[[], da.System], away: float) -> None:
    model = build().compile()
    start = model.initial_state().q + away * np.random.default_rng(0).uniform(-1, 1, model.nq)
    held = model.forest.joints[3].name
    closed = da.assemble(model, state=start, hold=held if away > 0.1 else ())
    assert np.abs(model.constraint_residual(closed.q)).max() < 1e-11
    if away > 0.1:
        place = model.q_slice(held)
        assert (closed.q[place] == start[place]).all()  # to the last bit


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_velocities_of_least_kinetic_energy(build: Callable[[], da.System]) -> None:
    model = build().compile()
    q, v = model.initial_state().q, np.random.default_rng(2).normal(size=model.nv)
    P, L = model.constraint_jacobian(q), np.linalg.cholesky(model.mass_matrix(q))
    rows = np.linalg.solve(L, P.T).T
    exact = v - np.linalg.solve(L.T, np.linalg.lstsq(rows, P @ v, rcond=1e-10)[0])
    # the dense rows lose as many digits as their condition has, 1e6 in the net
    assert np.abs(da.consistent_velocities(model, q, v) - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_shortest_accelerations(build: Callable[[], da.System]) -> None:
    model = build().compile()
    q = model.initial_state().q
    v = da.consistent_velocities(model, q, np.random.default_rng(2).normal(size=model.nv))
    loops = LoopEquations.of(model)
    J = loops.jacobian(q)
    x = np.linalg.lstsq(J, loops.row_scales * loops.acceleration_terms(q, v), rcond=1e-10)[0]
    a = da.consistent_accelerations(model, q, v, np.zeros(model.nv))
    assert np.abs(a - loops.column_scales * x).max() < 1e-8 * np.abs(a).max()


@pytest.mark.parametrize("turned", [1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
def test_rank_of_nearly_dependent_rows(turned: float) -> None:
    # each level of platforms is rigid by the turn of its third crank alone; 1e-12 rad is rounding
    model = platforms(4, turned).compile()
    free = np.ones(model.nv, dtype=bool)
    found = LoopEquations.of(model).rank(np.zeros(model.nq), free, 1e-10)
    assert found == (model.nv if turned > 1e-10 else model.nv - 4)


def test_rank_with_held_degrees_of_freedom() -> None:
    model = grid(4).compile()
    loops = LoopEquations.of(model)
    for seed in range(6):
        free = np.random.default_rng(seed).random(model.nv) < 0.6
        dense = np.linalg.matrix_rank(loops.jacobian(np.zeros(model.nq))[:, free], tol=1e-8)
        assert loops.rank(np.zeros(model.nq), free) == dense


def test_two_parts_without_a_common_body() -> None:
    both = grid(4)
    for body in grid(3).bodies.values():
        both.body(f"x{body.name}", mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
    small = grid(3)
    for name, connection in small.connections.items():
        pair = [(end.body.name, end.position) for end in (connection.first, connection.second)]
        bodies = [both.ground if owner == "ground" else both.bodies[f"x{owner}"] for owner, _ in pair]
        both.connect(f"x{name}", da.Revolute("y"), *(body.at(*at) for body, (_, at) in zip(bodies, pair, strict=True)))
    model = both.compile()
    loops = LoopEquations.of(model)
    J = loops.jacobian(np.zeros(model.nq))
    assert loops.rank(np.zeros(model.nq), np.ones(model.nv, dtype=bool)) == np.linalg.matrix_rank(J, tol=1e-8)


def test_motions_of_a_braced_grid() -> None:
    model = grid(5, braced=0.3).compile()
    report = da.mobility(model)
    s = np.linalg.svd(LoopEquations.of(model).jacobian(report.q), compute_uv=False)
    assert report.rank == int((s > 1e-8).sum()) and report.mobility == model.nv - report.rank == len(report.motions)
    assert sum(report.redundant.values()) == model.nc - report.rank
    P = model.constraint_jacobian(report.q)
    for motion in report.motions:
        v = np.array([motion.get(name, 0.0) for name in model.speed_names])
        assert np.abs(P @ v).max() < 1e-9


@pytest.mark.parametrize(
    "build",
    [lambda: scissor(45), lambda: grid(7), lambda: grid(5, braced=0.6), lambda: lattice(50, keep=0.9, balls=True)],
    ids=["scissor", "grid", "braced", "balls"],
)
def test_loads_of_least_norm_of_many_redundant_rows(build: Callable[[], da.System]) -> None:
    model = build().compile()
    assert model.nc > 200  # where no states of self-stress are made
    q = model.initial_state().q
    v = da.consistent_velocities(model, q, np.random.default_rng(0).normal(size=model.nv))
    loads = np.array(list(model.connection_loads(q, v).values()))
    exact = least_loads(model, q, loads, model.constraint_jacobian(q))
    assert np.abs(loads - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("cells", "norm", "force"),
    [(1, 49.3015391053698, (19.708790225, 0, 34.755186180)), (2, 172.341018196037, (70.616000519, 0, 109.833179624))],
)
def test_pin_forces_of_braced_cells(cells: int, norm: float, force: tuple[float, float, float]) -> None:
    model = grid(cells, braced=1.0).compile()
    loads = model.connection_loads(np.zeros(model.nq), np.zeros(model.nv))
    assert np.linalg.norm(list(loads.values())) == pytest.approx(norm, rel=1e-13)
    assert np.allclose(loads["base"][3:], force, atol=1e-8)


@pytest.mark.parametrize("cells", [5, pytest.param(12, marks=pytest.mark.slow)])
def test_loads_that_are_not_unique_among_very_many(cells: int) -> None:
    """All pins of a braced grid share loads, but for the one on the ground; beyond the size of dense matrices too."""
    model = grid(cells, braced=1.0).compile()
    assert model.nc > 200  # where loads of least norm need no states of self-stress
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    determined = model.connection_loads(q, v).determined
    assert [name for name, mask in determined.items() if mask[3]] == ["base"]
    if cells < 10:
        marks = model.report(["unique"], 0.0, q, v)["unique"] > 0.0
        assert (marks == np.array(list(determined.values()))).all()
