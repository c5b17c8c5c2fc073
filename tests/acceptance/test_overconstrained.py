"""Overconstrained linkages: mobility, redundant constraints and loads that are not unique."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.newton_euler import unexplained

import dalembert as da
from dalembert.library import mechanisms

Array = NDArray[np.float64]

LINKAGES = {
    "Bricard": (mechanisms.bricard, 0, {"P5": 1}),
    "parallelogram": (mechanisms.parallelogram, -2, {"D": 3}),
    "Bennett": (mechanisms.bennett, -2, {"D": 3}),
    "Sarrus": (mechanisms.sarrus, 0, {"B3": 1}),
    "spherical four-bar": (mechanisms.spherical_four_bar, -2, {"D": 3}),
    "door": (mechanisms.door, -4, {"high": 5}),
}


@pytest.fixture(params=LINKAGES)
def linkage(request: pytest.FixtureRequest) -> tuple[da.System, int, dict[str, int]]:
    make, gruebler, redundant = LINKAGES[request.param]
    system = make()
    system.gravity = np.array([3.0, -5.0, -9.81])  # loads in all directions
    return system, gruebler, redundant


def run(model: da.Model, q: Array, v: Array, seconds: float = 0.5, steps: int = 500) -> tuple[Array, Array]:
    """Return the state after a while, by the classical Runge-Kutta method; angles only."""
    y, n, h = np.concatenate([q, v]), model.nq, seconds / steps

    def rate(y: Array) -> Array:
        return np.concatenate([y[n:], model.forward_dynamics(y[:n], y[n:])])

    for _ in range(steps):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[:n], y[n:]


def test_mobility_and_shared_redundancy(linkage: tuple[da.System, int, dict[str, int]]) -> None:
    system, gruebler, redundant = linkage
    report = system.check()
    assert (report.mobility, report.gruebler, report.redundant) == (1, gruebler, redundant) and report.permanent
    (name,) = redundant
    total = report.model.constraint_connections.count(name)
    assert f"connection {name}: {redundant[name]} of {total} rows repeat what" in str(report)
    loads = report.model.connection_loads(report.q, np.zeros(report.model.nv))
    assert set(loads.shared) == set(system.connections)  # one loop: all of it shares
    for other in system.connections:
        assert set(loads.shared[other]) == set(system.connections) - {other}
    # a state of self-stress for each redundant row
    assert len(loads._stress.loads) == redundant[name]


def test_they_move_with_loops_closed_energy_kept_and_loads_in_balance(
    linkage: tuple[da.System, int, dict[str, int]],
) -> None:
    model = linkage[0].compile()
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.ones(model.nv))
    energy = model.energy(q, v).total
    moved, speed = run(model, q, v)
    assert np.abs(moved - q).max() > 0.1
    assert np.abs(model.constraint_residual(moved)).max() < 1e-7
    assert model.energy(moved, speed).total == pytest.approx(energy, abs=1e-6 * (abs(energy) + 10.0))
    closed = da.assemble(model, state=moved).q
    v = da.consistent_velocities(model, closed, speed)
    loads = model.connection_loads(closed, v)
    assert unexplained(model, closed, v, model.forward_dynamics(closed, v), loads) < 1e-9


def test_the_coupler_of_a_parallelogram_stays_parallel() -> None:
    model = mechanisms.parallelogram().compile()
    for angle in np.linspace(0.3, 2.8, 6):
        q = da.assemble(model, prefer={"A": float(angle)}).q
        assert q[0] == angle
        assert model.pose("coupler", q).rotation == pytest.approx(np.eye(3), abs=1e-12)


def test_bennett_s_angles_are_bound_by_their_half_tangents() -> None:
    """tan(t1 / 2) tan(t2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2), alpha and beta the twists (1903)."""
    model = mechanisms.bennett(twist=0.6, other_twist=1.1).compile()
    for angle in np.linspace(0.5, 2.0, 7):
        q = da.assemble(model, prefer={"A": float(angle)}).q
        assert q[0] == angle and q[2] == pytest.approx(-angle)
        product = math.tan(q[0] / 2) * math.tan(q[1] / 2)
        assert product == pytest.approx(math.sin(0.85) / math.sin(0.25), rel=1e-12)


def test_sarrus_lifts_straight() -> None:
    """Both links of a leg at the same angle: the platform stands 2 l sin(angle) high, level and without side motion."""
    model = mechanisms.sarrus(link=1.0, angle=0.6).compile()
    start = model.initial_state().q
    level = model.pose("platform", start)
    for angle in (0.3, 0.6, 0.9, 1.2):
        turn = float(start[model.q_slice("A1")][0]) - (angle - 0.6)
        q = da.assemble(model, prefer={"A1": turn}).q
        pose = model.pose("platform", q)
        assert pose.rotation == pytest.approx(level.rotation, abs=1e-12)
        assert pose.position - level.position == pytest.approx([0, 0, 2 * (math.sin(angle) - math.sin(0.6))], abs=1e-12)


def test_a_door_hangs_on_both_joints_alike() -> None:
    """Five components shared; the sum is the weight, and the report says so."""
    model = mechanisms.door().compile()
    loads = model.connection_loads([0.4], [0.0])
    assert "* not unique: shared among low, high" in str(loads)
    assert (~loads.determined["low"]).sum() == (~loads.determined["high"]).sum() == 5
    assert loads["low"][5] == pytest.approx(15 * 9.81) and loads["high"][5] == pytest.approx(15 * 9.81)
