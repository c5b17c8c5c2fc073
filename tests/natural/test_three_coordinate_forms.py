"""Relative, natural and reference-point coordinates: three sets of equations for one mechanism, one motion."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.linkages import driven_four_bar
from systems.random_loops import planar_loop, random_closed_system
from systems.random_trees import random_state, random_system

import dalembert as da
from dalembert.closure import RelativeEquations, find_position, find_rates
from dalembert.connections.joints import Screw
from dalembert.motion import follow_branch
from dalembert.natural import natural_model, reference_equations

Array = NDArray[np.float64]


def test_example_3_5b_the_four_bar_by_centres_and_angles() -> None:
    """Nine coordinates, eight rows of pins, one of the drive; angular rates as in the other coordinates."""
    s = driven_four_bar()
    q = da.driven_motion(s.compile(), 0.0).q
    e = reference_equations(s, state=q)
    assert (e.nv, e.rows) == (9, 9)
    rates = find_rates(e)
    turn = {name: rates.v[e.speed_names.index(f"{name}.angle")] for name in ("crank", "coupler", "rocker")}
    assert turn["crank"] == pytest.approx(1.0, abs=1e-13)
    assert turn["coupler"] == pytest.approx(-0.143090951758, abs=1e-11)
    assert turn["rocker"] == pytest.approx(0.543745616681, abs=1e-11)
    assert rates.v[:2] == pytest.approx([-math.sqrt(3) / 2, 0.5], abs=1e-13)  # the middle of the crank


def agree(system: da.System, q: Array, v: Array, a: Array, dimension: int | None = None) -> None:
    """Rows hold, rates obey them, and rank and degrees of freedom are those of joints, at a closed state."""
    e = reference_equations(system, state=q, dimension=dimension)
    X, V, A = e.coordinates_of(q), e.coordinates_of(q, v), e.coordinates_of(q, v, a)
    size = max(1.0, float(np.abs(A).max()))
    assert e.residual(X, 0.0) * e.row_scales == pytest.approx(0, abs=1e-12)
    J = e.jacobian(X, 0.0)
    assert pytest.approx(e.velocity_terms(X, 0.0), abs=1e-11) == J @ V
    assert pytest.approx(e.acceleration_terms(X, V, 0.0), abs=1e-10 * size) == J @ A
    for k in np.random.default_rng(0).choice(e.nv, min(4, e.nv), replace=False):
        step = 1e-6 * np.eye(e.nv)[k]
        slope = (e.residual(X + step, 0.0) - e.residual(X - step, 0.0)) / 2e-6
        assert J[:, k] == pytest.approx(slope, abs=1e-8)
    assert da.motion_space(e, state=X).dofs == da.motion_space(system.compile(), state=q).dofs


@pytest.mark.parametrize("seed", range(4))
def test_planar_loops_accelerate_alike_in_three_forms(seed: int) -> None:
    closed = planar_loop(np.random.default_rng(seed), 4 + seed % 3)
    model = closed.system.compile()
    q, v = closed.state(model)
    for dimension in (2, 3):
        agree(closed.system, q, v, model.forward_dynamics(q, v), dimension)


@pytest.mark.parametrize("seed", range(8))
def test_spatial_loops_accelerate_alike_in_three_forms(seed: int) -> None:
    closed = random_closed_system(np.random.default_rng(seed), 5, 2)
    if any(isinstance(c.element, Screw) for c in closed.system.connections.values()):
        with pytest.raises(da.ModelError, match="Screw cannot be converted"):
            reference_equations(closed.system)
        return
    model = closed.system.compile()
    q, v = closed.state(model)
    agree(closed.system, q, v, model.forward_dynamics(q, v))


@pytest.mark.parametrize("name", [
    "mechanisms.four_bar", "mechanisms.slider_crank", "mechanisms.bennett", "mechanisms.sarrus",
    "six_bars.watt_six_bar", "parallel_robots.three_rrr", "machines.cardan_shaft", "machines.quick_return",
])  # fmt: skip
def test_positions_to_jerks_of_driven_mechanisms_in_three_forms(name: str) -> None:
    """As many drives as degrees of freedom: positions, speeds, accelerations, jerks and rank agree to rounding."""
    room, _, made = name.partition(".")
    system: da.System = getattr(import_module(f"dalembert.library.{room}"), made)()
    system.drives.clear()
    model = system.compile()
    q = da.assemble(model).q
    space = da.motion_space(model, state=q)
    single = {n: k for k, n in enumerate(model.coordinate_names)}
    for number, speed in enumerate(space.independent or ()):
        system.drive(speed, position=da.Polynomial((float(q[single[speed]]), 1.0 - 0.3 * number, 0.4, 0.2)))
    driven = system.compile()
    swept = da.kinematics(driven, times=[0.0, 0.02], state=q)
    joints = RelativeEquations(driven)
    natural, reference = natural_model(system, state=swept.q[0]), reference_equations(system, state=swept.q[0])
    t, at = 0.02, swept.q[1]
    rates = find_rates(joints, at, t)
    wanted_j = swept_jerk(driven, t, at)
    for e, coordinates_of in ((natural.equations(), natural.coordinates_of), (reference, reference.coordinates_of)):
        X = find_position(e, coordinates_of(swept.q[0]), t).q
        assert pytest.approx(coordinates_of(at), abs=1e-10) == X
        found = find_rates(e, X, t)
        size = max(1.0, float(np.abs(rates.a).max()))
        assert found.v == pytest.approx(coordinates_of(at, rates.v), abs=1e-10)
        assert found.a == pytest.approx(coordinates_of(at, rates.v, rates.a), abs=1e-9 * size)
        assert found.rank == e.nv and rates.rank == joints.nv
        # jerks: along the motion of joints, second rates of coordinates change by them
        h = 1e-3
        slopes = []
        for k in (-2, -1, 1, 2):
            there = driven.integrate(at, k * h * rates.v + (k * h) ** 2 / 2 * rates.a + (k * h) ** 3 / 6 * wanted_j)
            there = find_position(joints, there, t + k * h).q
            r = find_rates(joints, there, t + k * h, jerk=False)
            slopes.append(coordinates_of(there, r.v, r.a))
        slope = (slopes[0] - 8 * slopes[1] + 8 * slopes[2] - slopes[3]) / (12 * h)
        assert found.j is not None
        assert found.j == pytest.approx(slope, abs=1e-5 * max(1.0, float(np.abs(slope).max())))


def swept_jerk(model: da.Model, t: float, q: Array) -> Array:
    """Return jerks in joint coordinates, from the core."""
    from dalembert.model.driven_kinematics import rates_at

    found = rates_at(model, np.array([t]), q[None], jerk=True)
    assert found.jerk is not None
    return found.jerk[0]


@pytest.mark.parametrize("seed", [40, 41, 44])
def test_trees_accelerate_alike_in_three_forms(seed: int) -> None:
    random = np.random.default_rng(seed)
    system = random_system(random, 4)
    q, v = random_state(system, random)
    if any(isinstance(c.element, Screw) for c in system.connections.values()):
        with pytest.raises(da.ModelError, match="Screw cannot be converted"):
            reference_equations(system, state=q)
        return
    agree(system, q, v, system.compile().forward_dynamics(q, v))


def test_a_full_turn_is_followed_in_three_forms() -> None:
    """One routine, three forms: the crank goes round, and the coupler point takes one path."""
    s = driven_four_bar()
    times = np.linspace(0.0, 2 * math.pi, 25)
    joints = da.kinematics(s, times=times)
    e = reference_equations(s, state=joints.q[0])
    motion = follow_branch(e, times, e.coordinates_of(joints.q[0]), jerk=False)
    for k in range(len(times)):
        x = motion.q[k].copy()
        wanted = e.coordinates_of(joints.q[k])
        angles = [i for i, name in enumerate(e.speed_names) if name.endswith("angle")]
        x[angles] -= 2 * math.pi * np.round((x[angles] - wanted[angles]) / (2 * math.pi))
        assert x == pytest.approx(wanted, abs=1e-10)
        assert motion.a[k] == pytest.approx(e.coordinates_of(joints.q[k], joints.v[k], joints.a[k]), abs=1e-9)
