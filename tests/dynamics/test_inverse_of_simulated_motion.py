"""Inverse dynamics of a simulated motion returns the efforts that were applied."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import qr
from systems.flexible_systems import random_flexible_tree
from systems.random_elements import add_random_elements
from systems.random_loops import ClosedSystem, planar_loop, random_closed_system
from systems.random_trees import random_system

import dalembert as da
from dalembert.connections.joints import Prismatic, Revolute, Spherical, Universal

Array = NDArray[np.float64]

SIMPLE = (Revolute, Prismatic, Universal, Spherical)


def enough_speeds(model: da.Model, q: Array) -> list[str]:
    """Return as many joint speeds as the loops leave degrees of freedom, none of which follows from the others."""
    jointed = [k for name in model.joint_names for k in range(*model.v_slice(name).indices(model.nv))]
    P = model.constraint_jacobian(q)
    _, s, Vt = np.linalg.svd(P) if model.nc else (None, np.zeros(0), np.eye(model.nv))
    N = Vt[int((s > 1e-9).sum()) :].T
    _, _, order = qr(N[jointed].T, pivoting=True)
    return [model.speed_names[jointed[k]] for k in order[: min(N.shape[1], len(jointed))]]


def efforts_of_time(model: da.Model, names: list[str], rng: np.random.Generator):
    """Return a control that applies smooth efforts at some speeds, and these as a function of times (n,)."""
    places = [model.speed_names.index(name) for name in names]
    size, pace, phase = rng.normal(size=(3, len(names)))

    def applied(t: Array) -> Array:
        return 2.0 * size * np.sin(np.multiply.outer(t, 3.0 * pace) + phase)

    def control(state: da.State) -> Array:
        tau = np.zeros(model.nv)
        tau[places] = applied(state.t)
        return tau

    return control, applied


def assert_round_trip(model: da.Model, q: Array, v: Array, rng: np.random.Generator, tolerance: float) -> None:
    names = enough_speeds(model, q)
    control, applied = efforts_of_time(model, names, rng)
    motion = da.simulate(
        model,
        0.15,
        state=da.State(q=q, v=v, x=model.element_start_values()),
        control=control,
        times=np.linspace(0.0, 0.15, 9),
        rtol=1e-9,
        atol=1e-10,
    )
    efforts = da.inverse_dynamics(model, motion, actuators=names)
    wanted = applied(motion.t)
    found = np.column_stack([efforts[name] for name in names])
    scale = 1.0 + np.abs(wanted).max() + np.abs(motion["tau"]).max()
    assert np.abs(found - wanted).max() < tolerance * scale
    # and with these efforts every load and every power is that of the simulation
    for name in (*model.connection_names,):
        for part in ("force", "moment"):
            if f"{name}.{part}" in motion.names():
                a, b = motion[f"{name}.{part}"], efforts.result[f"{name}.{part}"]
                assert np.abs(a - b).max() < 10 * tolerance * (scale + np.abs(a).max()), (name, part)
    power = motion["power"]
    assert np.abs(efforts.result["power"] - power).max() < 10 * tolerance * (scale + np.abs(power).max())


@pytest.mark.parametrize("seed", range(6))
def test_looped_systems_with_elements(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 2, joints=SIMPLE, loop_constraint_joints=SIMPLE)
    assert_closed_round_trip(closed, rng, 4)


@pytest.mark.parametrize("seed", range(3))
def test_planar_loops_whose_rows_repeat_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_closed_round_trip(planar_loop(rng, 5), rng, 3)


def assert_closed_round_trip(closed: ClosedSystem, rng: np.random.Generator, elements: int) -> None:
    bare = closed.system.compile()
    q, _ = closed.state(bare)
    add_random_elements(closed.system, bare, q, rng, elements)
    model = closed.system.compile()
    q, v = closed.state(model)
    assert_round_trip(model, q, 0.3 * v, rng, 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_trees_with_every_joint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 6)
    model = system.compile()
    state = model.random_state(rng)
    add_random_elements(system, model, state.q, rng, 4)
    assert_round_trip(system.compile(), state.q, 0.3 * state.v, rng, 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_flexible_trees_whose_modes_are_passive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_flexible_tree(rng, 4, joints=SIMPLE).compile()
    state = model.random_state(rng)
    v = 0.3 * state.v
    for name in model.flexible_names:
        v[model.v_slice(name)] = 0.0
    assert_round_trip(model, state.q, v, rng, 1e-9)


def test_accelerations_of_modes_that_no_joint_can_cause_are_refused() -> None:
    rng = np.random.default_rng(0)
    model = random_flexible_tree(rng, 3, joints=(Revolute,), share=1.0).compile()
    state = model.random_state(rng)
    a = np.zeros(model.nv)
    a[model.v_slice(model.flexible_names[0])] = 1.0
    with pytest.raises(da.SingularityError, match=r"missing force acts along '.*eta"):
        da.inverse_dynamics(model, state.q, state.v, a)
    told = da.inverse_dynamics(model, state.q, state.v, a, on_infeasible="report")
    force = model._required_forces(state.q, state.v, a)
    np.testing.assert_allclose(told.tau + told.unmet_forces, force, atol=1e-9 * np.abs(force).max())
