"""Friction of ball joints: one moment within one bound, against the motion; and the problem that decides who slips."""

import numpy as np
import pytest
from oracles.friction.holding_margin import HoldingMargin

import dalembert as da
from dalembert.numerics.quadratic_programs import solve_ellipsoid_qp, within_ellipsoid


def ball(speed=(0, 0, 0), shape=None, **data):
    s = da.System("ball", gravity=(0, 0, 0))
    body = s.body("body", shape or da.sphere(0.2, mass=3.0))  # 0.048 kg m2
    s.connect("S", da.Spherical(**data), s.ground, body)
    s.initial("S", speed=speed)
    return s, body


def words(result):
    return [event.name for event in result.events]


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_ball_comes_to_rest_along_its_axis_of_spin(method):
    speed = np.array([1.0, -2.0, 0.5])
    result = da.simulate(ball(speed, friction=0.1)[0], 2.0, method=method)
    size = float(np.linalg.norm(speed))
    assert words(result) == ["S sticks"]
    assert result.events[0].t == pytest.approx(size * 0.048 / 0.1, abs=1e-6)  # one by one it would be 2 * 0.48
    moving = np.linalg.norm(result.v, axis=1) > 1e-3
    assert result.v[moving] / np.linalg.norm(result.v[moving], axis=1)[:, None] == pytest.approx(
        np.tile(speed / size, (moving.sum(), 1)), abs=1e-7
    )
    assert np.linalg.norm(result["S.friction"][moving], axis=1) == pytest.approx(0.1)
    assert (result["S.stuck"][-1] == 1.0).all() and (result.v[-1] == 0.0).all()
    assert abs(result["energy.balance"]).max() < 1e-9


def test_it_breaks_away_where_the_size_of_the_moment_reaches_the_bound():
    s, body = ball(friction=0.5, static_friction=0.7)
    s.connect("L", da.Load(moment=(lambda t: 0.3 * t, lambda t: 0.4 * t, 0.0)), body)
    result = da.simulate(s, 2.0)
    assert words(result) == ["S sticks", "S slips"]
    assert result.events[1].t == pytest.approx(1.4, abs=1e-6)
    turned = (0.5 * (2.0**2 - 1.4**2) / 2 - 0.5 * 0.6) / 0.048
    assert result.v[-1] == pytest.approx(turned * np.array([0.6, 0.8, 0.0]), abs=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-9


def test_three_numbers_are_an_ellipsoid_that_takes_the_most_power():
    s, _ = ball((1.0, 2.0, -1.0), friction=(0.3, 0.1, 0.2))
    model = s.compile()
    q, v = da.start_state(model).q, np.array([1.0, 2.0, -1.0])
    power = np.array([0.3, 0.1, 0.2]) * v
    assert model.forward_dynamics(q, v) * 0.048 == pytest.approx(
        -np.array([0.3, 0.1, 0.2]) * power / np.linalg.norm(power)
    )
    many = model.forward_dynamics(np.tile(q, (5, 1)), np.tile(v, (5, 1)))
    assert many == pytest.approx(np.tile(model.forward_dynamics(q, v), (5, 1)))
    d = model.d_dynamics(0.0, q, v).a.v
    for k, step in enumerate(1e-6 * np.eye(3)):
        slope = (model.forward_dynamics(q, v + step) - model.forward_dynamics(q, v - step)) / 2e-6
        assert d[:, k] == pytest.approx(slope, abs=1e-6)


def test_friction_about_one_axis_alone_is_that_of_a_row():
    s, _ = ball((0.0, 2.0, 1.0), friction=(0.0, 0.0, 0.1))
    result = da.simulate(s, 1.0)
    assert words(result) == ["S.wz sticks"]
    assert result.events[0].t == pytest.approx(0.48, abs=1e-9)
    assert result.v[-1] == pytest.approx([0.0, 2.0, 0.0], abs=1e-9)


def spherical_pendulum(friction, cut=False):
    s = da.System("pendulum")
    bob = s.body("bob", da.box(1.0, 0.1, 0.2, mass=2.0))
    s.connect("S", da.Spherical(friction=friction), s.ground, bob.at(-0.5, 0, 0))
    if cut:
        s.connect("F", da.Free(), s.ground, bob)
    s.initial("S", speed=[0.3, 0.2, -0.4])
    return s


def test_a_pendulum_on_a_ball_ends_where_smooth_friction_tends_to():
    exact = da.simulate(spherical_pendulum(1.5), 8.0)
    assert words(exact) == ["S sticks"] and abs(exact["energy.balance"]).max() < 1e-7
    ends = [
        da.simulate(spherical_pendulum(1.5), 8.0, friction=f"smooth:{slip}", method="radau").q[-1]
        for slip in (1e-3, 1e-5)
    ]
    far, near = (np.abs(end - exact.q[-1]).max() for end in ends)
    assert near < 0.05 * far and near < 1e-3


def test_a_cut_ball_joint_sticks_too():
    """A bar between two balls of which one closes the loop: it slides and ends as with the other one cut."""
    runs = []
    for last in "AB":
        s = da.System("bar")
        crank = s.body("crank", da.box(0.3, 0.05, 0.05, mass=1.0))
        bar = s.body("bar", da.box(0.5, 0.05, 0.05, mass=1.0))
        block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
        s.connect("C", da.Revolute("z", friction=0.1), s.ground, crank.at(-0.15, 0, 0))
        s.connect("X", da.Prismatic("x", friction=0.2), s.ground.at(0.75, 0, 0.2), block)
        joints = {
            "A": (crank.at(0.15, 0, 0), bar.at(-0.25, 0, 0)),
            "B": (block, bar.at(0.25, 0, 0)),
        }
        for name in (*(n for n in joints if n != last), last):
            s.connect(name, da.Spherical(friction=0.15), *joints[name])
        s.initial("C", position=0.3, speed=2.0)
        if runs:  # the bar may spin: nothing else tells how it is turned
            how = ("position", "rotation", "velocity", "angular_velocity")
            s.place("bar", **{part: runs[0][f"bar.{part}"][0] for part in how})
        result = da.simulate(s, 1.5, rtol=1e-10, atol=1e-12)
        assert abs(result["energy.balance"]).max() < 1e-6
        assert set(words(result)) == {"A sticks", "B sticks", "C sticks", "X sticks"}
        runs.append(result)
    for name in ("C.position", "X.position", "bar.rotation"):
        assert runs[0][name][-1] == pytest.approx(runs[1][name][-1], abs=1e-10)


def test_load_friction_of_a_ball_goes_with_its_whole_force():
    s = da.System("hung")
    body = s.body("body", da.sphere(0.2, mass=3.0))
    s.connect("S", da.Spherical(load_friction=da.LoadFriction(0.1, radius=0.05)), s.ground, body)
    s.initial("S", speed=[0.0, 3.0, 4.0])
    result = da.simulate(s, 3.0)
    assert words(result) == ["S sticks"]
    assert result.events[0].t == pytest.approx(5.0 * 0.048 / (0.1 * 0.05 * 3.0 * 9.81), rel=1e-5)


# ---- the problem


def misfit(A, b, f, groups, x):
    """Return by how much the conditions of the solution are missed."""
    w, worst = A @ x + b, 0.0
    for g in groups:
        y, p = x[g] / f[g], f[g] * w[g]
        if np.linalg.norm(y) < 1 - 1e-8:
            worst = max(worst, np.abs(p).max())
        else:
            worst = max(worst, np.abs(p - (p @ y) * y).max(), p @ y)
    for k in np.setdiff1d(np.arange(len(b)), np.concatenate(groups)):
        worst = max(worst, abs(w[k]) if abs(x[k]) < f[k] * (1 - 1e-9) else x[k] * w[k])
    return worst


@pytest.mark.parametrize("seed", range(30))
def test_cones_are_solved_whatever_is_redundant(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    B = rng.normal(size=(n, int(rng.integers(2, n + 1))))
    A, b, f = B @ B.T, B @ rng.normal(size=B.shape[1]) * 3, rng.uniform(0.2, 2.0, n)
    groups = [[0, 1, 2], *([[4, 5, 6]] if n > 7 else [])]
    found = solve_ellipsoid_qp(A, b, -f, f, groups, f)
    assert misfit(A, b, f, groups, found.x) < 1e-8 * (1 + np.abs(b).max())
    assert np.linalg.matrix_rank(A[np.ix_(found.free, found.free)]) == len(found.free)


def test_one_ellipsoid():
    f = np.array([1.0, 2.0, 0.5])
    assert within_ellipsoid(np.eye(3), np.array([0.1, 0.2, 0.1]), f) == pytest.approx([-0.1, -0.2, -0.1])
    x = within_ellipsoid(1e-9 * np.eye(3), np.array([3.0, 0.0, 4.0]), np.ones(3))
    assert x == pytest.approx([-0.6, 0.0, -0.8])


def test_a_ball_that_is_held_twice_lets_go_where_both_cannot_hold_it():
    """Rows 0, 1 are locked with one ellipse; row 2, which follows from row 0, helps it."""
    none = np.zeros(3, dtype=bool)
    held = HoldingMargin([0, 1], [2], none, none, np.array([[1.0], [0.0]]), np.ones(3), [[0, 1]])
    limits = np.array([[1.0, 1.0, 0.5]])
    # the ellipse has room for |(h0 - 0.5, h1)| <= 1
    for h, left in (((1.5, 0.0), 0.0), ((1.0, 0.9), 1.0 - np.hypot(0.5, 0.9)), ((0.3, 1.2), -0.2)):
        margin = held.margin(np.array([h]), limits)[0]
        assert (margin > 1e-6) == (left > 1e-6) and (margin < -1e-6) == (left < -1e-6)


@pytest.mark.parametrize("friction", [0.5, (0.8, 0.3, 0.5)])
@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_methods_agree_on_a_ball_joint_that_breaks_away(method, friction):
    """The slope of its friction is friction / speed: unbounded at rest, where slip starts."""
    s = da.System("ball", gravity=(1.0, -8.0, -5.0))
    body = s.body("body", da.box(0.3, 0.2, 0.6, mass=1.0))
    s.connect("S", da.Spherical(friction=friction), s.ground, body.at(0.4, 0.1, 0.2))
    model = s.compile()
    fine = da.simulate(model, 0.2, method="dop853", rtol=1e-11, atol=1e-13)
    found = da.simulate(model, 0.2, method=method, rtol=1e-9, atol=1e-11)
    assert np.abs(model.difference(found.q[-1], fine.q[-1])).max() < 1e-9
    assert np.abs(found["energy.balance"]).max() < 1e-9  # J of 1


@pytest.mark.parametrize("friction", [1.0, (1.2, 0.9, 0.95)])
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.2, -0.9, 0.4)])
def test_it_breaks_away_on_a_moving_base(direction, friction):
    """Sticking efforts stay within the ellipsoid; slip starts when they reach it."""
    s = da.System("ball", gravity=(0, 0, 0))
    base, body = s.body("base", da.box(0.3, 0.2, 0.1, mass=5.0)), s.body("body", mass=1.0, inertia=(1.0, 1.5, 2.0))
    s.connect("R", da.Revolute((1.0, 2.0, 0.5)), s.ground, base)
    s.connect("S", da.Spherical(friction=friction), base, body)
    moment = [da.Polynomial((0.0, 4.0 * x)) for x in direction]
    s.connect("M", da.Load(moment=tuple(moment), axes="marker"), body)
    s.initial("R", speed=1.0)
    result = da.simulate(s, 2.0)
    part = np.linalg.norm(result["S.friction"] / friction, axis=1)
    stuck = result["S.stuck"][:, 0] == 1.0
    assert words(result)[:2] == ["S sticks", "S slips"] and stuck.sum() > 20
    assert part[stuck].max() == pytest.approx(1.0, abs=1e-8)  # the margin of break-away
    assert part[~stuck] == pytest.approx(1.0, abs=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-7
