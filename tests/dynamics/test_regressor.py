"""Joint forces are linear in the inertial parameters of bodies; which combinations of these motions tell."""

from __future__ import annotations

import numpy as np
import pytest
from systems.arms import seven_joints
from systems.flexible_systems import random_flexible
from systems.pendulums import rod_pendulum
from systems.random_loops import random_closed_system
from systems.random_trees import random_system

import dalembert as da
from dalembert.dynamics.inertial_regressor import admissible_velocity_basis


@pytest.mark.parametrize("seed", range(4))
def test_joint_forces_of_trees_are_the_regressor_times_inertial_parameters(seed):
    rng = np.random.default_rng(seed)
    model = random_system(rng, 6).compile()
    state = model.random_state(rng, 5)
    a = rng.normal(size=(5, model.nv))
    Y = da.regressor(model, state.q, state.v, a)
    tau = model.inverse_dynamics(state.q, state.v, a, bare=True)
    np.testing.assert_allclose(Y @ da.inertial_parameters(model), tau, atol=1e-10 * (1 + np.abs(tau).max()))
    np.testing.assert_array_equal(da.regressor(model, state.q[2], state.v[2], a[2]), Y[2])


@pytest.mark.parametrize("seed", range(3))
def test_with_loops_forces_along_permitted_speeds_are_the_reduced_regressor_times_inertial_parameters(seed):
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 2)
    model = closed.system.compile()
    q, v = closed.state(model)
    tau = rng.normal(size=model.nv)
    a = model.forward_dynamics(q, v, tau)
    N = admissible_velocity_basis(model, q)[0]
    Y = da.regressor(model, q, v, a)
    np.testing.assert_allclose(Y @ da.inertial_parameters(model), N.T @ tau, atol=1e-8 * (1 + np.abs(tau).max()))


def test_what_is_identified_from_forces_of_a_motion_is_what_the_arm_has():
    model = seven_joints().compile()
    base = da.base_parameters(model)
    rng = np.random.default_rng(1)
    state = model.random_state(rng, 60)
    a = rng.normal(size=(60, model.nv))
    tau = model.inverse_dynamics(state.q, state.v, a, bare=True)
    lead = da.regressor(model, state.q, state.v, a).reshape(-1, 10 * model.nb)[:, base.independent]
    found = np.linalg.lstsq(lead, tau.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found, base.values(da.inertial_parameters(model)), atol=1e-7)
    # a body on one revolute axis has seven, less what its mass gives where the axis before it passes
    assert base.rank < 10 * model.nb
    assert set(base.unidentifiable) <= set(da.inertial_parameter_names(model))


def test_static_moment_and_inertia_of_a_pendulum_are_identified():
    s = rod_pendulum()
    base = da.base_parameters(s)
    assert {base.names[k] for k in base.independent} == {"bob.moment.x", "bob.moment.z", "bob.J.yy"}
    assert "bob.mass" in base.unidentifiable
    assert "3 combinations of 10" in str(base)


def test_flexible_bodies_are_refused_by_name():
    s = da.System("beam")
    s.connect("A", da.Free(), s.ground, s.body("beam", random_flexible(np.random.default_rng(0))).at(node=0))
    model = s.compile()
    with pytest.raises(da.ModelError, match="beam"):
        da.regressor(model, np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv))
