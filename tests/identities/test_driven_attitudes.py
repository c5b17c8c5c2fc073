"""Random systems whose ball joints and free joints are driven: against the equations of motion, in any direction."""

import numpy as np
import pytest
from systems.flexible_systems import beam
from systems.random_trees import every_joint_both_ways, hang_on, random_marker

import dalembert as da
from dalembert.connections.joints import Free, Spherical
from dalembert.model.drive_targets import drive_targets

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def random_law(rng):
    return da.Harmonic(rng.uniform(0.2, 0.8), rng.uniform(1, 3), rng.uniform(0, 6), rng.normal())


def random_attitude(rng):
    if rng.random() < 0.5:
        times = np.linspace(-0.1, 1.0, 7)
        start, turn = rng.normal(size=4), 0.5 * rng.normal(size=(7, 4)).cumsum(0)
        return da.AttitudeSpline(times, start / np.linalg.norm(start) * 3 + turn)
    return da.EulerAngles([random_law(rng) for _ in range(3)], str(rng.choice(["XYZ", "ZXZ", "zyx", "YXY"])))


def drive_all(s, rng):
    """Drive every joint with a quaternion, wholly, by its attitude or by speeds."""
    for connection in list(s.connections.values()):
        if isinstance(connection.element, Free):
            place = [random_law(rng) for _ in range(3)]
            s.drive(connection, **({"position": place} if rng.random() < 0.7 else {}), rotation=random_attitude(rng))
        elif isinstance(connection.element, Spherical):
            if rng.random() < 0.7:
                s.drive(connection, rotation=random_attitude(rng))
            else:
                s.drive(connection, speed=(random_law(rng), None, random_law(rng)))
    return s


@pytest.mark.parametrize("seed", range(6))
def test_core_and_drives_agree(seed):
    rng = np.random.default_rng(seed)
    model = drive_all(every_joint_both_ways(rng), rng).compile()
    t = 0.37
    q, v, a = drive_targets(model, t)
    state = model.random_state(rng)
    q, v = np.where(np.isnan(q), state.q, q), np.where(np.isnan(v), state.v, v)
    found = model.dynamics(t, q, v)
    driven = ~np.isnan(a)
    np.testing.assert_allclose(found.a[driven], a[driven], atol=1e-12)
    # M a + b = tau, with joint forces at what is driven only
    tau = model.inverse_dynamics(q, v, found.a, t=t)
    np.testing.assert_allclose(tau[~driven], 0.0, atol=1e-9)
    np.testing.assert_allclose(tau[driven], found.tau[driven], atol=1e-9)
    # one after another, in lanes, and as a free motion with these efforts
    times = np.array([0.1, t, 0.6, 0.8, 0.9])
    many = model.dynamics(times, np.tile(q, (5, 1)), np.tile(v, (5, 1)))
    for k, time in enumerate(times):
        np.testing.assert_allclose(many.a[k], model.dynamics(time, q, v).a, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_by_time_and_state(seed):
    rng = np.random.default_rng(100 + seed)
    model = drive_all(every_joint_both_ways(rng), rng).compile()
    state, t, h = model.random_state(rng), 0.4, 1e-6
    found = model.d_dynamics(t, state.q, state.v)
    up, down = (model.dynamics(t + sign * h, state.q, state.v).a for sign in (1, -1))
    scale = 1 + np.abs(found.a.t).max()
    np.testing.assert_allclose(found.a.t / scale, (up - down) / (2 * h) / scale, atol=1e-6)
    for k in rng.permutation(model.nv)[:4]:
        step = h * np.eye(model.nv)[k]
        up, down = (model.dynamics(t, state.q, state.v + sign * step).a for sign in (1, -1))
        scale = 1 + np.abs(found.a.v[:, k]).max()
        np.testing.assert_allclose(found.a.v[:, k] / scale, (up - down) / (2 * h) / scale, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_power_balance_closes_and_methods_agree(seed):
    rng = np.random.default_rng(200 + seed)
    s = da.System("tree")
    placed = [s.ground]
    for k, kind in enumerate(rng.permutation([Spherical, Free, da.Revolute, da.Cylindrical, Spherical, da.Universal])):
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(s, parent, f"b{k}", kind, rng, backwards=bool(rng.integers(2))))
    drive_all(s, rng)
    one = da.simulate(s, 0.5, **TIGHT)
    size = 1 + np.abs(one["energy.kinetic"]).max()
    assert abs(one["energy.balance"]).max() < 1e-7 * size
    for method, options, near in (
        ("radau", {"rtol": 1e-9, "atol": 1e-9}, 1e-6),
        ("rk4", {"fixed_step": 5e-4}, 1e-6),
        ("dopri5", {"rtol": 1e-9, "atol": 1e-9}, 1e-6),
    ):
        two = da.simulate(s, 0.5, method=method, **options)
        np.testing.assert_allclose(two["b5.position"][-1], one["b5.position"][-1], atol=near * size)
        np.testing.assert_allclose(two.v[-1], one.v[-1], atol=10 * near * size)


@pytest.mark.parametrize("seed", range(4))
def test_loops_closed_over_driven_balls(seed):
    """A driven ball, a free one and springs between random bodies in a loop: all methods agree, the balance closes."""
    rng = np.random.default_rng(300 + seed)
    s = da.System("loop")
    a, b, c = (s.body(name, mass=1.5, com=0.1 * rng.normal(size=3), inertia=(0.2, 0.3, 0.4)) for name in "abc")
    s.connect("S", da.Spherical(), s.ground, a.at(*0.2 * rng.normal(size=3)))
    s.connect("T", da.Spherical(), a.at(0.6, 0, 0), b)
    s.connect("U", da.Spherical(), b.at(2.5, 0, 0), c)
    s.connect("F", da.Planar(rng.normal(size=3)), s.ground.at(1.0, 0.2, 0.1), random_marker(c, rng))
    s.drive("S", rotation=random_attitude(rng))
    for name in ("F.x", "F.y", "F.angle"):
        s.connect(f"spring {name}", da.JointSpring(5.0, damping=0.2), name)
    one = da.simulate(s, 0.4, **TIGHT)
    assert abs(one["energy.balance"]).max() < 1e-7
    assert abs(one.model.constraint_residual(one.q[-1])).max() < 1e-9
    two = da.simulate(s, 0.4, method="radau", rtol=1e-9, atol=1e-9)
    three = da.simulate(s, 0.4, method="rk4", fixed_step=5e-4)
    for other in (two, three):
        np.testing.assert_allclose(other["c.position"][-1], one["c.position"][-1], atol=1e-6)


def test_a_flexible_body_is_led():
    """A beam led by its frame as by a CustomJoint of the same motion."""

    def machine(custom):
        s = da.System("led")
        wing = s.body("wing", beam(6, nm=4, free=True, rotary=1e-3, stiffness=(30.0, 40.0), damping=0.01))
        if custom:
            position = ("0.3*sin(2*t)", "0", "0.1*t")
            joint = da.CustomJoint(("angle",), position, [("x", "0.4*sin(3*t)"), ("y", "angle")])
            s.connect("H", joint, s.ground, wing)
            s.drive("H.angle", position=da.Harmonic(0.2, 2.0))
        else:
            place = (da.Harmonic(0.3, 2.0), 0.0, da.Polynomial((0.0, 0.1)))
            s.drive(wing, position=place, rotation=da.BryantAngles(da.Harmonic(0.4, 3.0), da.Harmonic(0.2, 2.0), 0.0))
        return s

    one, two = (da.simulate(machine(custom), 0.6, **TIGHT) for custom in (True, False))
    np.testing.assert_allclose(one["wing.eta"][-1], two["wing.eta"][-1], atol=1e-7)
    assert abs(two["energy.balance"]).max() < 1e-7
