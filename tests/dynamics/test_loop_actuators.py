"""Efforts of chosen actuators in mechanisms with loops."""

from __future__ import annotations

import numpy as np
import pytest
from systems.linkages import slaats_four_bar

import dalembert as da
from dalembert.closure import consistent_accelerations
from dalembert.dynamics import inverse_dynamics


def four_bar_at_60_degrees() -> tuple[da.Model, np.ndarray]:
    """Slaats' four-bar, closed at a crank angle of 60 degrees."""
    model = slaats_four_bar().compile()
    q = np.array([np.pi / 3, -0.582618, -2.153161])
    for _ in range(6):
        q[1:] -= np.linalg.lstsq(model.constraint_jacobian(q)[:, 1:], model.constraint_residual(q), rcond=1e-10)[0]
    return model, q


def motion(model: da.Model, q: np.ndarray, speed: float, acceleration: float) -> tuple[np.ndarray, np.ndarray]:
    P = model.constraint_jacobian(q)
    v = np.array([speed, 0, 0])
    v[1:] = -np.linalg.lstsq(P[:, 1:], P[:, 0] * speed, rcond=1e-10)[0]
    return v, consistent_accelerations(model, q, v, [acceleration, 0, 0], hold="A")


def test_a_driven_crank_gets_the_torque_that_makes_it_move() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, -1.5)
    assert np.abs(model.constraint_jacobian(q) @ a + model.constraint_bias(q, v)).max() < 1e-12
    efforts = inverse_dynamics(model, q, v, a, actuators="A")
    assert (efforts.tau[1:] == 0).all() and efforts.determined
    # forward dynamics with that torque gives the motion back
    assert np.allclose(model.forward_dynamics(q, v, efforts.tau), a, atol=1e-10)
    assert np.allclose(efforts.multipliers, model.multipliers(q, v, efforts.tau), atol=1e-9)


def test_a_prescribed_crank_needs_the_same_torque() -> None:
    """Given accelerations stay in the recursion: mixed dynamics finds the rest of the motion, and the effort."""
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, -1.5)
    found, tau = model.mixed_dynamics(q, v, np.zeros(3), [-1.5, 9.9, 9.9], "A")
    assert np.allclose(found, a, atol=1e-10)
    assert np.allclose(tau, inverse_dynamics(model, q, v, a, actuators="A").tau, atol=1e-9)
    # a locked crank holds the whole mechanism, and a batch does as its states do
    rest = np.zeros(3)
    held, torque = model.mixed_dynamics(q, rest, rest, rest, "A")
    assert np.abs(held).max() < 1e-12 and torque[0] != 0
    both = model.mixed_dynamics([q, q], [v, rest], rest, [[-1.5, 0, 0], rest], "A")
    assert np.allclose(both[0], [a, rest], atol=1e-10) and np.allclose(both[1], [tau, torque], atol=1e-9)


def test_power_of_the_drive_is_the_rate_of_energy() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, 0.7)
    efforts = inverse_dynamics(model, q, v, a, actuators="A")
    h = 1e-5
    rate = (
        model.energy(q + h * v + h * h / 2 * a, v + h * a).total
        - model.energy(q - h * v + h * h / 2 * a, v - h * a).total
    ) / (2 * h)
    assert efforts.tau @ v == pytest.approx(rate, rel=1e-7)


def test_any_joint_of_the_tree_can_drive() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, 0.7)
    powers = [inverse_dynamics(model, q, v, a, actuators=name).tau @ v for name in "ABC"]
    assert np.allclose(powers, powers[0])


def test_redundant_actuators_share_by_their_weights() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 1.0, 0.0)
    both = inverse_dynamics(model, q, v, a, actuators=["A", "C"])
    assert not both.determined
    assert np.allclose(model.forward_dynamics(q, v, both.tau), a, atol=1e-10)
    alone = inverse_dynamics(model, q, v, a, actuators="A")
    assert np.linalg.norm(both.tau) < np.linalg.norm(alone.tau)
    dear = inverse_dynamics(model, q, v, a, actuators=["A", "C"], weights=[1.0, 1e12])
    assert np.allclose(dear.tau, alone.tau, atol=1e-6)


def test_reactions_of_a_driven_motion_are_those_of_the_free_one() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, -1.5)
    efforts = inverse_dynamics(model, q, v, a, actuators="A")
    free, given = model.connection_loads(q, v, efforts.tau), efforts.connection_loads()
    assert set(free) == {"A", "B", "C", "D"}
    for name, load in free.items():
        assert np.allclose(given[name], load, atol=1e-9)
    assert efforts["A"] == pytest.approx(given["A"][2])  # the moment about the driven axis is the effort


def test_too_few_actuators_are_named() -> None:
    s = da.System()
    upper, lower = s.body("upper", da.rod(1, 1)), s.body("lower", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1), lower)
    with pytest.raises(da.SingularityError, match=r"'A' cannot produce.*2 DOF.*'B'"):
        inverse_dynamics(s, [0.3, 0.4], [0, 0], [0, 0], actuators="A")


def test_motions_that_open_the_loop_are_refused() -> None:
    model, q = four_bar_at_60_degrees()
    v, a = motion(model, q, 2.0, -1.5)
    with pytest.raises(da.ModelError, match=r"D\.[xy] at q.*assemble"):
        inverse_dynamics(model, q + 0.01, v, a, actuators="A")
    with pytest.raises(da.ModelError, match=r"D\.[xy] at v.*consistent_velocities"):
        inverse_dynamics(model, q, v + 0.1, a, actuators="A")
    with pytest.raises(da.ModelError, match=r"D\.[xy] at a.*consistent_accelerations"):
        inverse_dynamics(model, q, v, a + 0.1, actuators="A")
    with pytest.raises(da.ModelError, match="'X'"):
        inverse_dynamics(model, q, v, a, actuators="X")
    with pytest.raises(da.ModelError, match="weights"):
        inverse_dynamics(model, q, v, a, actuators="A", weights=[-1])
    with pytest.raises(da.SingularityError, match="no motion keeps the loops closed"):
        consistent_accelerations(model, q, v, a + 0.1, hold=["A", "B", "C"])


def test_an_open_chain_gets_plain_inverse_dynamics() -> None:
    from dalembert.library import chain

    model = chain(5).compile()
    state = model.random_state(3)
    a, loads = np.ones(5), np.ones((5, 6))
    efforts = inverse_dynamics(model, state.q, state.v, a, loads=loads)
    assert np.allclose(efforts.tau, model.inverse_dynamics(state.q, state.v, a, loads=loads), atol=1e-10)


def test_efforts_have_the_shapes_of_outputs() -> None:
    s = da.System("arm")
    arm = s.body("arm", da.rod(0.5, 1.0, radius=0.02))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Spherical(), arm.at(0.5, 0, 0), s.body("hand", da.rod(0.2, 0.3, radius=0.02)))
    motion = da.simulate(s, 0.2)
    efforts = da.inverse_dynamics(s, motion)
    for name in ("A", "A.effort"):
        assert efforts[name].shape == efforts.result["A.effort"].shape == (len(motion),)
    assert efforts["B"].shape == (len(motion), 3)
    one = da.inverse_dynamics(s, motion.q[0], motion.v[0], motion.a[0])
    assert np.ndim(one["A"]) == 0 and one["B"].shape == (3,)
