"""Changes of friction and stops by the core, against those that the oracle determines at the same states."""

import pickle

import numpy as np
import pytest
from oracles.friction.bound_widening import minimal_widening
from oracles.friction.changes import checked_simulation

import dalembert as da
from dalembert import _core
from dalembert.numerics.quadratic_programs import solve_bounded_qp


def change_names(result):
    """Return the changes of a run in order, without speeds."""
    return [event.name.split(" with ")[0] for event in result.events]


# ---- quadratic programs


@pytest.mark.parametrize("seed", range(30))
def test_bounded_programs_of_any_rank_have_the_same_gradient(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    rank = int(rng.integers(1, n + 1))
    J = rng.normal(size=(n, rank))
    A, b = J @ J.T, J @ rng.normal(size=rank) + (0.0 if rank < n else rng.normal(size=n))
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    lower[rng.random(n) < 0.2], upper[rng.random(n) < 0.2] = -np.inf, np.inf
    x, w, free = _core.solve_bounded_qp(A, b, lower, upper)
    np.testing.assert_allclose(w, solve_bounded_qp(A, b, lower, upper).w, atol=1e-9 * np.abs(b).max())
    assert ((x >= lower) & (x <= upper)).all()
    np.testing.assert_allclose(A @ x + b, w, atol=1e-9 * np.abs(b).max())
    assert (w[x > lower] <= 1e-9).all() and (w[x < upper] >= -1e-9).all()
    assert np.linalg.matrix_rank(A[np.ix_(free, free)]) == len(free)


def grouped_program(seed):
    """Return A, b, lower, upper, group, f of a random program with groups of three unknowns, of any rank."""
    rng = np.random.default_rng(seed)
    groups, alone = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    n = 3 * groups + alone
    group = rng.permutation(np.concatenate([np.repeat(np.arange(groups), 3), np.full(alone, -1)]))
    J = rng.normal(size=(n, int(rng.integers(1, n + 3))))
    bounds = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    return J @ J.T, J @ rng.normal(size=J.shape[1]), *bounds, group.astype(np.int64), rng.uniform(0.1, 1.0, n)


@pytest.mark.parametrize("seed", range(40))
def test_programs_within_ellipsoids_satisfy_their_conditions(seed):
    A, b, lower, upper, group, f = grouped_program(seed)
    x, w, free, _ = _core.solve_ellipsoid_qp(A, b, lower, upper, group, f)
    small = 1e-9 * np.abs(b).max()  # the solver stops at 1e-13 of the largest x
    np.testing.assert_allclose(A @ x + b, w, atol=small)
    alone = group < 0
    assert ((x >= lower - small) & (x <= upper + small))[alone].all()
    assert (w[alone & (x > lower)] <= small).all() and (w[alone & (x < upper)] >= -small).all()
    for number in range(group.max() + 1):
        mine = group == number
        size, slip = np.linalg.norm(x[mine] / f[mine]), f[mine] * w[mine]
        assert size <= 1.0 + 1e-9
        if size < 1.0 - 1e-9:
            assert np.abs(slip).max() <= small
        else:  # opposite to the force in the metric of the ellipsoid
            np.testing.assert_allclose(slip, -np.linalg.norm(slip) * x[mine] / f[mine], atol=10 * small)
    assert np.linalg.matrix_rank(A[np.ix_(free, free)]) == len(free)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_widened_as_little_as_the_oracle_finds(seed):
    rng = np.random.default_rng(seed)
    locked, helping = int(rng.integers(1, 5)), int(rng.integers(0, 5))
    n = locked + helping
    limit = rng.uniform(0.1, 1.0, n)
    lower, upper = np.where(rng.random(n) < 0.2, -np.inf, -limit), np.where(rng.random(n) < 0.2, np.inf, limit)
    group = np.full(n, -1, dtype=np.int64)
    groups = [rng.permutation(n)[:3].tolist()] if n >= 3 and rng.random() < 0.5 else []
    for members in groups:
        group[members] = 0
    h, C = 2.0 * rng.normal(size=locked), rng.normal(size=(locked, helping))
    by_python = minimal_widening(h[None], lower[None], upper[None], limit[None], C, limit[None], groups)[0]
    by_core = _core.minimal_widening(h, lower, upper, limit, C.ravel(), limit, group)
    assert by_core == pytest.approx(by_python, rel=1e-10, abs=1e-10)  # both stop at a gap of 1e-12


# ---- runs


def random_chain(seed, **options):
    rng = np.random.default_rng(seed)
    s = da.System("chain")
    last = s.ground
    for k in range(int(rng.integers(1, 6))):
        link = s.body(f"link{k}", da.rod(length=0.3, mass=0.5))
        friction = float(rng.uniform(0.05, 0.4))
        data = {"friction": friction} | ({"static_friction": 1.3 * friction} if rng.random() < 0.5 else {})
        if rng.random() < 0.5:
            data |= {"lower": -0.6, "upper": 0.7, "restitution": float(rng.choice([0.0, 0.4]))}
        s.connect(f"J{k}", da.Revolute("y", **data), last, link)
        last = link.at(0.3, 0, 0)
        s.initial(f"J{k}", position=float(rng.uniform(-0.5, 0.5)), speed=float(rng.normal()))
    return s


@pytest.mark.parametrize("seed", range(12))
def test_random_chains_change_as_the_oracle_determines(seed):
    s = random_chain(seed)
    result = checked_simulation(s, 1.0)
    assert len(result.events) > 0
    scale = max(np.ptp(result["energy.total"]), 1.0)
    assert abs(result["energy.balance"]).max() < 1e-6 * scale


def four_bar(friction, **data):
    s = da.System("four-bar")
    crank, coupler, rocker = (s.body(n, da.rod(length=x, mass=1.0)) for n, x in (("a", 0.2), ("b", 0.5), ("c", 0.4)))
    s.connect("A", da.Revolute("y", friction=friction, **data), s.ground, crank)
    s.connect("B", da.Revolute("y", friction=friction), crank.at(0.2, 0, 0), coupler)
    s.connect("C", da.Revolute("y", friction=friction), coupler.at(0.5, 0, 0), rocker.at(0.4, 0, 0))
    s.connect("D", da.Revolute("y", friction=friction), s.ground.at(0.5, 0, 0), rocker)
    s.initial("A", position=0.4, speed=3.0)
    return s


@pytest.mark.parametrize("friction", [0.02, 0.3])
def test_friction_at_all_joints_of_a_loop_changes_as_the_oracle_determines(friction):
    s = four_bar(friction)
    assert len(checked_simulation(s, 3.0).events) > 0


def test_rows_on_stops_stay_there_while_the_short_flight_of_another_is_stopped():
    """The impulse that stops the last link must not set the first two in motion, by which they would leave."""
    s = da.System("pressed")
    last = s.ground
    for k, mass in enumerate((1.0, 0.5, 0.2)):
        link = s.body(f"link{k}", da.rod(length=0.3, mass=mass))
        s.connect(f"J{k}", da.Revolute("y", upper=0.1 * (k + 1)), last, link)
        last = link.at(0.3, 0, 0)
        s.initial(f"J{k}", position=0.1 * (k + 1))
    s.initial("J2", position=0.3 - 5e-11, speed=-1e-5)
    result = checked_simulation(s, 0.1)
    assert [(e.name, e.t) for e in result.events] == [(f"J{k} rests on its stop", 0.0) for k in range(3)]


@pytest.mark.parametrize("friction", [(1e8, 1e8, 1e8), (1e8, 5e7, 2e8)])
def test_a_ball_joint_that_a_drive_turns_slips_as_its_friction_demands(friction):
    """With velocities (t + 0.6 h, 0, 0.8 h) of the ball, t of the drive, h of the hinge, h minimizes |f u|.

    Friction of 1e8 times the loads leads there within 1e-13 s. The friction of the hinge, 1e-8 of it, changes little.
    """
    s = da.System("driven ball", gravity=(0, 0, 0))
    base, body = s.body("base", da.box(0.1, 0.1, 0.1, mass=1.0)), s.body("body", da.box(0.1, 0.2, 0.3, mass=1.0))
    s.connect("turn", da.Revolute("x"), s.ground, base)
    s.connect("hinge", da.Revolute((0.6, 0.0, 0.8), friction=1.0), base, body)
    s.connect("ball", da.Spherical(friction=friction), body, s.ground)
    s.drive("turn", position=da.Polynomial((0, 0, 0, 0, 0.5)))
    result = checked_simulation(s, 0.02, method="auto", rtol=1e-9, atol=1e-11)
    assert [e.name for e in result.events] == ["hinge sticks", "ball sticks", "hinge slips", "ball slips"]
    slips = np.flatnonzero(result.t == result.events[-1].t)[-1]  # from the change on
    first, _, last = np.square(friction)
    wanted = -0.6 * first / (0.36 * first + 0.64 * last)
    hinge, turn = result["hinge.speed"][slips:], result["turn.speed"][slips:]
    np.testing.assert_allclose(hinge, wanted * turn, rtol=1e-7, atol=1e-10)  # ten times the tolerance of the run


def ball_chain(seed):
    rng = np.random.default_rng(seed)
    s = da.System("balls")
    last = s.ground
    for k in range(int(rng.integers(1, 4))):
        link = s.body(f"link{k}", da.box(0.3, 0.05, 0.08, mass=0.5))
        friction = float(rng.uniform(0.03, 0.3))
        given = (friction, friction, 0.5 * friction) if rng.random() < 0.5 else friction
        joint = (
            da.Spherical(friction=given)
            if rng.random() < 0.7
            else da.Revolute("y", friction=friction, static_friction=1.3 * friction, lower=-0.6, upper=0.7)
        )
        s.connect(f"J{k}", joint, last, link.at(-0.15, 0, 0))
        last = link.at(0.15, 0, 0)
        speed = rng.normal(size=3) if isinstance(joint, da.Spherical) else float(rng.normal())
        s.initial(f"J{k}", speed=speed)
    return s


@pytest.mark.parametrize("seed", range(10))
def test_random_ball_joints_change_as_the_oracle_determines(seed):
    s = ball_chain(seed)
    result = checked_simulation(s, 0.6)
    # a group comes to rest where its speed falls below 0.1 sqrt(atol): both locate it to the error of the run
    assert len(result.events) > 0
    assert abs(result["energy.balance"]).max() < 1e-6 * max(np.ptp(result["energy.total"]), 1.0)


def five_bar(friction):
    """Return a closed chain of two degrees of freedom with friction at all five joints."""
    s = da.System("five-bar")
    a, b, c, d = (s.body(n, da.rod(length=x, mass=0.6)) for n, x in (("a", 0.2), ("b", 0.35), ("c", 0.35), ("d", 0.2)))
    s.connect("A", da.Revolute("y", friction=friction), s.ground, a)
    s.connect("B", da.Revolute("y", friction=friction), a.at(0.2, 0, 0), b)
    s.connect("C", da.Revolute("y", friction=friction), b.at(0.35, 0, 0), c.at(0.35, 0, 0))
    s.connect("D", da.Revolute("y", friction=friction), d.at(0.2, 0, 0), c)
    s.connect("E", da.Revolute("y", friction=friction), s.ground.at(0.3, 0, 0), d)
    s.initial("A", position=-1.9, speed=1.0)
    s.initial("E", position=-1.2, speed=-0.5)
    return s


@pytest.mark.parametrize("friction", [0.02, 0.1, 0.5])
def test_rows_that_depend_on_two_locked_rows_hold_as_the_oracle_determines(friction):
    s = five_bar(friction)
    assert len(checked_simulation(s, 1.0).events) > 0


def test_a_jammed_chain_breaks_away_where_all_joints_together_cannot_hold_it():
    s = five_bar(0.4)
    s.initial("A", speed=0.0)
    s.initial("E", speed=0.0)
    s.connect("pull", da.Element("joint", "t"), "A")
    result = checked_simulation(s, 3.0)
    slips = next(e.t for e in result.events if e.name.endswith("slips"))
    assert slips > 0.4  # one joint alone would have slipped


def slide(force, half=0.08, speed=1.0):
    """Return a slide with its mass above its guide: friction follows its own load with a gain of 0.12 / half."""
    s = da.System("slide", gravity=(0, 0, 0))
    foot = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0)).at(0, 0, -0.4)
    s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(0.3, half_length=half)), s.ground, foot)
    s.connect("push", da.Load((force, 0, 0)), foot)
    s.initial("guide", speed=speed)
    return s


@pytest.mark.parametrize("half", [0.2, 0.1, 0.08])  # gains of 0.6, 1.2 and 1.5
@pytest.mark.parametrize("speed", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("force", [2.0, lambda t: 2.0 - 4.0 * t], ids=["constant", "reversing"])
def test_gains_below_and_above_one_give_the_changes_that_the_oracle_determines(force, speed, half):
    assert checked_simulation(slide(force, half, speed), 1.2).status == "finished"


def test_stops_within_a_loop_change_as_the_oracle_determines():
    s = four_bar(0.05, lower=-0.3, upper=1.4, restitution=0.3)
    assert len(checked_simulation(s, 2.0).events) > 0


def test_a_block_driven_by_a_spring_sticks_and_slips_as_the_oracle_determines():
    s = da.System("belt", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("P", da.Prismatic("x", friction=1.0, static_friction=2.0), s.ground, block)
    s.connect("pull", da.Element("joint", "-50 * (s - 0.2 * t)"), "P")
    assert len(checked_simulation(s, 5.0).events) > 0


def test_events_of_the_user_between_changes_act_as_the_oracle_determines():
    s = random_chain(3)
    tip = s.bodies["link0"].at(0.3, 0, 0)
    events = [
        da.Event("half", "J0.position", value=0.0, action=lambda now: now.impulse(tip, force=(0, 0, 0.05))),
        da.Event("seen", "J0.speed", value=0.2),
    ]
    assert len(checked_simulation(s, 1.0, events=events).events) > 0


def test_a_block_under_a_delayed_force_sticks_and_slips_as_the_oracle_determines():
    s = da.System("delay", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("P", da.Prismatic("x", friction=0.5, lower=-0.15, restitution=0.3), s.ground, block)
    law = da.Element("joint", "-50 * d", inputs={"d": da.Delay("P.position", 0.02)}, active=True)
    s.connect("pull", law, "P")
    s.initial("P", position=0.3)
    result = checked_simulation(s, 2.0)
    names = change_names(result)
    assert "P sticks" in names and any("reaches its lower limit" in name for name in names)
    other = da.simulate(s, 2.0, method="radau")
    assert change_names(other) == names
    np.testing.assert_allclose(other.q[-1], result.q[-1], atol=1e-6)


def test_live_runs_and_pickled_results_follow_the_same_changes():
    s = random_chain(5)
    whole = da.simulate(s, 0.7)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.q, whole.q)
    np.testing.assert_array_equal(again["J0.friction"], whole["J0.friction"])
    live = da.Live(s)
    for _ in range(70):
        live.advance(0.01)
    np.testing.assert_allclose(live.state.q, whole.q[-1], atol=1e-6)
    assert change_names(live.result()) == change_names(whole)


def test_one_event_costs_a_few_evaluations():
    s = da.System("chain")
    last = s.ground
    for k in range(10):
        link = s.body(f"link{k}", da.rod(length=0.3, mass=0.5))
        s.connect(f"J{k}", da.Revolute("y", friction=0.05), last, link)
        last = link.at(0.3, 0, 0)
        s.initial(f"J{k}", position=0.3 * (-1) ** k, speed=1.0)
    result = da.simulate(s, 1.0)
    assert len(result.events) > 20
    assert result.stats.evaluations < 200 * len(result.events)
