"""Dry friction and stops of joints: closed forms, balances, who holds whom."""

import numpy as np
import pytest
from systems.linkages import four_bar
from systems.pendulums import rod_pendulum

import dalembert as da


def slide(mass=1.0, *, gravity=(0, 0, 0), **data):
    s = da.System("slide", gravity=gravity)
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=mass))
    s.connect("X", da.Prismatic("x", **data), s.ground, block)
    return s


def words(result):
    return [event.name for event in result.events]


# ---- friction against closed forms


def test_a_block_slides_to_rest_and_stays():
    s = slide(2.0, friction=3.0)
    s.initial("X", speed=2.0)
    result = da.simulate(s, 3.0)
    assert words(result) == ["X sticks"]
    assert result.events[0].t == pytest.approx(2.0 / 1.5, rel=1e-13)
    assert result["X.position"][-1] == pytest.approx(4.0 / 3.0, rel=1e-13)
    assert result["X.speed"][-1] == 0.0
    assert abs(result["energy.balance"]).max() < 1e-12
    assert result["energy.dissipated"][-1] == pytest.approx(4.0, rel=1e-12)


def test_an_oscillator_loses_four_f_over_k_in_each_cycle():
    s = slide(friction=1.0)
    s.connect("k", da.JointSpring(stiffness=10.0), "X")
    s.initial("X", position=1.33)
    result = da.simulate(s, 20.0)
    rest, swings = 1.33, 0
    while abs(rest) > 0.1:
        rest, swings = -np.sign(rest) * (abs(rest) - 0.2), swings + 1
    assert words(result) == ["X reverses"] * (swings - 1) + ["X sticks"]
    assert result.events[-1].t == pytest.approx(swings * np.pi / np.sqrt(10.0), abs=1e-6)
    assert result["X.position"][-1] == pytest.approx(rest, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_methods_agree_on_a_pendulum_that_comes_to_rest(method):
    s = da.System("pendulum")
    bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y", friction=0.8), s.ground, bob)
    s.initial("A", position=0.2)
    result = da.simulate(s, 12.0, method=method)
    # between two reversals: m g l/2 (cos b - cos a) = f (a + b), angles from the lowest position
    a, swings = np.pi / 2 - 0.2, 0
    from scipy.optimize import brentq

    while 9.81 * np.sin(a) > 0.8:
        work = lambda b, a=a: 9.81 * (np.cos(b) - np.cos(a)) - 0.8 * (a + b)  # noqa: E731
        a, swings = brentq(work, -a + 1e-9, a), swings + 1
        if a < 0:
            break
    final = np.pi / 2 + (a if swings % 2 else -a)
    assert words(result).count("A reverses") == swings - 1
    assert result["A.position"][-1] == pytest.approx(final, abs=2e-6)


def test_a_load_that_swings_below_the_limit_moves_nothing_and_above_it_is_met_every_time():
    def run(part):
        s = slide(friction=5.0)
        s.connect("F", da.Effort(lambda t: part * 5.0 * np.sin(2 * np.pi * 0.8 * t)), "X")
        return da.simulate(s, 100.0)

    still = run(0.97)
    assert (still["X.position"] == 0.0).all()
    moving = run(1.03)
    assert words(moving).count("X slips") == 160
    first = next(event.t for event in moving.events if event.name == "X slips")
    assert first == pytest.approx(np.arcsin(1 / 1.03) / (2 * np.pi * 0.8), abs=1e-7)


def test_stick_slip_on_a_belt_has_the_period_of_the_closed_form():
    k, speed, fs, fk = 10.0, 0.5, 3.0, 1.0
    s = da.System("belt", gravity=(0, 0, 0))
    belt = s.body("belt", da.box(0.1, 0.1, 0.1, mass=1.0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("B", da.Prismatic("x"), s.ground, belt)
    s.connect("X", da.Prismatic("x", friction=fk, static_friction=fs), belt, block)
    s.connect("k", da.Element("place", [f"-{k}*x", "0", "0"]), s.ground, block)
    s.drive("B", position=da.Polynomial([0.0, speed]))
    result = da.simulate(s, 20.0)
    slips = [event.t for event in result.events if event.name == "X slips"]
    w = np.sqrt(k)
    period = 2 * (fs - fk) / (k * speed) + (2 / w) * (np.pi - np.arctan((fs - fk) * w / (k * speed)))
    assert np.diff(slips) == pytest.approx(period, abs=1e-6)


# ---- several rows


def chain(n, friction=0.3, **data):
    s = da.System("chain")
    last = s.ground
    for k in range(n):
        link = s.body(f"link{k}", da.rod(length=0.3, mass=0.5))
        s.connect(f"J{k}", da.Revolute("y", friction=friction, **data), last, link)
        last = link.at(0.3, 0, 0)
        s.initial(f"J{k}", position=0.3 * (-1) ** k, speed=1.0)
    return s


def test_a_chain_comes_to_rest_where_friction_holds_it():
    s = chain(3)
    fine = da.simulate(s, 15.0, rtol=1e-11, atol=1e-13)
    result = da.simulate(s, 15.0)
    assert result.q[-1] == pytest.approx(fine.q[-1], abs=1e-6)
    assert (result.v[-1] == 0.0).all()
    assert abs(result["energy.balance"]).max() < 1e-6
    model = result.model
    held = model.report(
        ["constraint_effort"], 15.0, result.q[-1], result.v[-1], conditions=result.conditions(np.array([15.0]))[0][1]
    )
    assert (np.abs(held["constraint_effort"]) <= 0.3 * (1 + 1e-8)).all()
    weight = model.inverse_dynamics(result.q[-1], np.zeros(3), np.zeros(3))
    assert held["constraint_effort"] == pytest.approx(weight, abs=1e-9)


def test_smooth_friction_tends_to_it():
    s = chain(2)
    exact = da.simulate(s, 2.0).q[-1]
    gaps = [
        abs(da.simulate(s, 2.0, friction=f"smooth:{slip}", method="radau").q[-1] - exact).max() for slip in (1e-2, 1e-4)
    ]
    assert gaps[1] < 2e-3 < gaps[0] or gaps[1] < 0.1 * gaps[0]


def rough_four_bar(friction, *, cut="D", **data):
    """Return a four-bar with friction (A, B, C, D) in its joints, N m."""
    joints = {name: {"friction": value, **data} for name, value in zip("ABCD", friction, strict=True)}
    s = four_bar((0.3, 0.8, 0.6), 0.9, masses=(1.0, 2.0, 1.5), cut=cut, joints=joints)
    s.initial("A", position=-1.0)
    s.initial("D", position=-1.9, guess=True)
    return s


@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_a_loop_breaks_away_when_all_joints_together_do(cut):
    friction = (0.4, 0.3, 0.5, 0.2)
    s = rough_four_bar(friction, cut=cut)
    s.gravity = (0, 0, 0)
    s.connect("M", da.Effort(lambda t: 2.0 * t), "A")
    result = da.simulate(s, 2.0)
    model, q = result.model, result.q[0]
    J = []
    for name in "ABCD":  # rates per unit rate of A
        v = da.consistent_velocities(model, q, np.zeros(model.nv), {"A": 1.0})
        J.append(result_rate(model, q, v, name))
    limit = sum(abs(j) * f for j, f in zip(J, friction, strict=True)) / abs(J[0])
    slips = [event.t for event in result.events if "slips" in event.name]
    assert slips and slips[0] == pytest.approx(limit / 2.0, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-6


def result_rate(model, q, v, name):
    names = model.compiled.names
    if name in names.cut_v:
        return float(model.cut_motion(q, v, np.zeros(model.nv))[1][names.cut_v[name]][0])
    return float(v[model.v_slice(name)][0])


def test_no_result_depends_on_the_cut():
    ends = []
    for cut in "ABCD":
        s = rough_four_bar((0.1, 0.3, 0.2, 0.15), cut=cut)
        result = da.simulate(s, 6.0, rtol=1e-10, atol=1e-12)
        ends.append([result["A.position"][-1], len(result.events)])
        assert abs(result["energy.balance"]).max() < 1e-6
    assert np.ptp(np.array(ends)[:, 0]) < 1e-6
    assert np.ptp(np.array(ends)[:, 1]) == 0


@pytest.mark.parametrize("cut", ["A", "D"])
def test_friction_acts_through_dead_points_of_its_own_joint(cut):
    """The rocker comes to rest and turns back while the crank goes on: nothing could hold it there."""
    friction = (0.1, 0.3, 0.2, 0.15)
    result = da.simulate(rough_four_bar(friction, cut=cut), 6.0)
    at_event = np.isin(result.t, [event.t for event in result.events])
    for name, f in zip("ABCD", friction, strict=True):
        moving = (np.abs(result[f"{name}.speed"]) > 1e-6) & ~at_event
        assert result[f"{name}.friction"][moving] == pytest.approx(-f * np.sign(result[f"{name}.speed"][moving]))
    work = sum(
        f * np.abs(np.diff(np.unwrap(result[f"{name}.position"]))).sum()
        for name, f in zip("ABCD", friction, strict=True)
    )
    assert result["energy.dissipated"][-1] == pytest.approx(work, rel=1e-3)


def five_bar(friction, cut):
    s = da.System("five-bar", gravity=(0, 0, -9.81))
    rods = [s.body(f"r{k}", da.rod(length=0.5, mass=1.0)) for k in range(4)]
    joints = {
        "A": (s.ground, rods[0]),
        "B": (rods[0].at(0.5, 0, 0), rods[1]),
        "C": (rods[1].at(0.5, 0, 0), rods[2].at(0.5, 0, 0)),
        "D": (rods[3].at(0.5, 0, 0), rods[2]),
        "E": (s.ground.at(0.8, 0, 0), rods[3]),
    }
    for name in sorted(joints, key=lambda name: name == cut):
        s.connect(name, da.Revolute("y", friction=friction), *joints[name])
    s.initial("A", position=-1.0)
    s.initial("E", position=-2.0)
    return s


@pytest.mark.parametrize("cut", ["C", "D", "E"])
def test_a_cut_joint_sticks_while_the_loop_goes_on(cut):
    result = da.simulate(five_bar(0.35, cut), 4.0, rtol=1e-9, atol=1e-11)
    reference = da.simulate(five_bar(0.35, "A"), 4.0, rtol=1e-9, atol=1e-11)
    assert result["A.position"][-1] == pytest.approx(reference["A.position"][-1], abs=1e-6)
    assert sorted(words(result)) == sorted(words(reference))
    assert abs(result["energy.balance"]).max() < 1e-6
    assert any("sticks" in name for name in words(result))


# ---- stops


def test_a_ball_on_a_stop_bounces_to_rest():
    s = slide(gravity=(-9.81, 0, 0), lower=0.0, restitution=0.5)
    s.initial("X", position=1.0)
    result = da.simulate(s, 2.0)
    first = np.sqrt(2 / 9.81)
    assert result["X.position"].min() > -1e-9
    rest = next(event.t for event in result.events if event.name == "X rests on its stop")
    assert rest == pytest.approx(3 * first, abs=1e-4)
    assert result["X.speed"][-1] == 0.0 and result["X.position"][-1] == 0.0
    assert abs(result["energy.balance"]).max() < 1e-6
    assert "X reached its lower limit 0 m" in " ".join(result.stats.notes)


def test_it_leaves_a_stop_when_the_load_beats_friction_too():
    s = slide(2.0, friction=1.0, upper=0.5)
    s.connect("F", da.Effort(lambda t: 4.0 - 2.0 * t), "X")
    result = da.simulate(s, 4.0)
    assert [name for name in words(result) if "leaves" in name] == ["X leaves its stop"]
    leaves = next(event.t for event in result.events if "leaves" in event.name)
    assert leaves == pytest.approx(2.5, abs=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-7


def test_stops_in_a_chain_and_in_a_loop_keep_their_coordinates_within():
    s = chain(3, friction=0.05, lower=-0.5, upper=0.6, restitution=0.4)
    result = da.simulate(s, 5.0)
    assert (result.q >= -0.5 - 1e-9).all() and (result.q <= 0.6 + 1e-9).all()
    assert abs(result["energy.balance"]).max() < 1e-5
    for cut in "ABCD":
        s = rough_four_bar((0.05, 0.0, 0.05, 0.0), cut=cut)
        result = da.simulate(_with_stop(s, "D", -2.3, -1.5), 3.0)
        angle = result["D.position"]
        assert angle.min() > -2.3 - 1e-8 and angle.max() < -1.5 + 1e-8
        assert any("D reached" in note for note in result.stats.notes)
        assert abs(result["energy.balance"]).max() < 1e-5


def _with_stop(system, name, lower, upper):
    """Return the system with stops at one of its joints."""
    from dataclasses import replace

    connection = system.connections[name]
    system.connections[name] = replace(connection, element=replace(connection.element, lower=lower, upper=upper))
    return system


def test_a_start_outside_the_limits_is_refused_with_the_way_out():
    s = slide(lower=0.0, upper=1.0)
    s.initial("X", position=1.3)
    with pytest.raises(da.ModelError, match="outside its limits, 0 to 1; start within them"):
        da.simulate(s, 1.0)
    assert da.simulate(s, 1.0, stops="off").status == "finished"


# ---- the same bits, and other ways to run


def test_resume_gives_the_same_bits(tmp_path):
    s = chain(2, friction=0.2, lower=-0.6, upper=0.6)
    whole = da.simulate(s, 3.0)
    live = da.Live(s)
    live.advance(3.0)
    assert live.state.q == pytest.approx(whole.q[-1], abs=1e-12)


def test_ensembles_have_the_bits_of_single_runs():
    s = chain(2)
    model = s.compile()
    start = np.array([[0.3, -0.3], [0.5, 0.1], [1.0, -0.6]])
    many = da.simulate(model, 2.0, state=da.State(q=start, v=np.zeros((3, 2))), times=np.linspace(0, 2, 11))
    for k in range(3):
        one = da.simulate(model, 2.0, state=da.State(q=start[k], v=np.zeros(2)), times=np.linspace(0, 2, 11))
        assert np.array_equal(many.q[k], one.q) and many[k]["J0.position"] == pytest.approx(one["J0.position"])
        assert np.array_equal(many["J0.effort"][k], one["J0.effort"])


def test_external_solvers_name_their_requirements():
    s = chain(2)
    with pytest.raises(da.ModelError, match="friction='smooth'"):
        da.simulate(s, 1.0, method="scipy:LSODA")
    assert da.simulate(s, 0.2, method="scipy:LSODA", friction="smooth").status == "finished"


def test_kernels_take_friction_by_the_sign_of_speeds():
    s = slide(2.0, friction=3.0)
    model = s.compile()
    assert model.forward_dynamics([0.0], [1.0]) == pytest.approx(-1.5)
    assert model.inverse_dynamics([0.0], [-1.0], [0.0]) == pytest.approx(-3.0)
    assert model.forward_dynamics(np.zeros((5, 1)), np.array([[-1.0], [0.0], [1.0], [2.0], [-2.0]])) == pytest.approx(
        np.array([[1.5], [0.0], [-1.5], [-1.5], [1.5]])
    )


def test_data_that_cannot_be_are_refused():
    with pytest.raises(da.ModelError, match="must not be less than the friction"):
        da.Revolute("z", friction=1.0, static_friction=0.5)
    with pytest.raises(da.ModelError, match="from 0 to 1"):
        da.Revolute("z", restitution=1.5)
    with pytest.raises(da.ModelError, match="no coordinate for a stop"):
        da.Spherical(lower=-1.0)
    with pytest.raises(da.ModelError, match="must not be negative"):
        da.simulate(slide(friction=1.0), 1.0, parameters={"X.friction": -1.0})
    with pytest.raises(da.ModelError, match="use 'events'"):
        da.simulate(slide(friction=1.0), 1.0, friction="none")


def test_outputs_of_sticking_and_friction_forces():
    s = slide(2.0, friction=1.0, static_friction=1.5, upper=0.5)
    s.connect("F", da.Effort(lambda t: 4.0 - 2.0 * t), "X")
    result = da.simulate(s, 4.0, times=np.linspace(0.0, 4.0, 81))
    t, force = result.t, 4.0 - 2.0 * result.t
    on = (result["X.stop"] == 1.0) & (t > 1.0)
    assert on.any() and result["X.friction"][on] == pytest.approx(-force[on])
    assert result["X.effort"][on] == pytest.approx(0.0, abs=1e-12)
    assert result["X.stuck"][on] == pytest.approx(1.0)
    sliding = result["X.speed"] > 0
    assert result["X.friction"][sliding] == pytest.approx(-1.0)
    assert result["X.effort"][sliding] == pytest.approx(force[sliding] - 1.0)


# ---- actuators, and other ways to stop


def arm(**data):
    return rod_pendulum(mass=3.0, gravity=(0, 0, 0), **data)  # 1 kg m2 about its end


def test_max_effort_clips_control_and_motors_with_a_note():
    s = arm(max_effort=2.0)
    result = da.simulate(s, 1.0, control=lambda state: [5.0])
    assert result["A.position"][-1] == pytest.approx(1.0, rel=1e-9)  # 2 N m on 1 kg m2
    assert "control was clipped to its max_effort 2 from t = 0 s on; the request was up to 5" in result.stats.notes[0]
    assert abs(result["energy.balance"]).max() < 1e-9
    for motor in (da.Effort(5.0), da.Element("joint", "5.0 + 0*ds", active=True)):
        s = arm(max_effort=2.0)
        s.connect("M", motor, "A")
        result = da.simulate(s, 1.0)
        assert result["A.position"][-1] == pytest.approx(1.0, rel=1e-9)
        assert result["M.effort"] == pytest.approx(2.0)
        assert "A: M was clipped to its max_effort 2 from t = 0 s on; the request was up to 5" in result.stats.notes[0]
        assert abs(result["energy.balance"]).max() < 1e-9
        assert s.compile().forward_dynamics(np.zeros((4, 1)), np.zeros((4, 1))) == pytest.approx(2.0)


def test_springs_and_drives_are_not_clipped():
    s = arm(max_effort=2.0)
    s.connect("k", da.JointSpring(stiffness=10.0), "A")
    s.initial("A", position=1.0)
    assert s.compile().forward_dynamics([1.0], [0.0]) == pytest.approx(-10.0)
    s = arm(max_effort=2.0)
    s.drive("A", position=da.Polynomial([0.0, 0.0, 3.0]))
    result = da.simulate(s, 1.0)
    assert result["A.effort"] == pytest.approx(6.0)
    assert any("needs up to 6, more than its max_effort 2" in note for note in result.stats.notes)


def test_max_speed_is_watched():
    s = arm(max_speed=0.5)
    s.initial("A", speed=0.7)
    assert da.simulate(s, 1.0).stats.notes == ["A exceeded its max_speed 0.5 rad/s and reached 0.7"]


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9])
def test_soft_stops_give_back_what_the_restitution_says(e):
    s = slide(2.0, upper=0.5, restitution=e)
    s.initial("X", speed=1.0)
    soft = da.simulate(s, 1.0, stops="soft")
    assert soft["X.position"].max() == pytest.approx(0.5, abs=4e-3)  # m, compression of the soft stop
    assert soft["X.speed"][-1] == pytest.approx(-max(e, 0.01), rel=1e-4)
    rigid = da.simulate(s, 1.0)
    assert rigid["X.speed"][-1] == pytest.approx(-e, abs=1e-9)
    assert abs(soft["energy.balance"]).max() < 1e-6


def test_a_driven_joint_has_friction_in_its_effort():
    s = arm(friction=0.5)
    s.drive("A", position=da.Harmonic(1.0, 2.0))
    result = da.simulate(s, 3.0, times=np.linspace(0.05, 3.0, 60))
    torque = result["A.acceleration"] + 0.5 * np.sign(result["A.speed"])
    assert result["A.effort"] == pytest.approx(torque, abs=1e-9)


def test_armature_and_locks_of_others_go_with_friction():
    s = arm(friction=0.5, armature=2.0)
    s.initial("A", speed=1.0)
    hold = da.Event("hold", "A.position", value=0.5, action=lambda now: now.lock("A"))
    result = da.simulate(s, 5.0, events=[hold])
    assert result["A.position"][-1] == pytest.approx(0.5, abs=1e-9)
    free = da.simulate(s, 10.0)
    assert free["A.position"][-1] == pytest.approx(3.0 / (2 * 0.5), rel=1e-9)  # 1 + 2 kg m2


def test_rows_that_hold_are_not_counted_as_closing():
    rough, smooth = da.mobility(rough_four_bar((0.1, 0.2, 0.3, 0.4))), da.mobility(rough_four_bar((0.0, 0.0, 0.0, 0.0)))
    assert str(rough) == str(smooth)
    assert rough.redundant == {"D": 3}


def test_a_lock_of_the_user_outlasts_friction():
    def run(**actions):
        s = slide(friction=1.0)
        s.connect("F", da.Effort(lambda t: 2.0 * t), "X")
        events = [da.Event(name, lambda state: state.t, value=t, action=a) for name, (t, a) in actions.items()]
        return da.simulate(s, 2.0, events=events)

    held = run(hold=(0.2, lambda now: now.lock("X")))
    assert (held["X.position"] == 0.0).all()
    freed = run(hold=(0.2, lambda now: now.lock("X")), free=(1.0, lambda now: now.release("X")))
    assert freed["X.position"][-1] == pytest.approx(1.0 / 2 * 1.0 + 1.0 / 3, rel=1e-8)  # a = 2 t - 1 from t = 1 on
    struck = run(hit=(0.2, lambda now: now.impulse("block", force=(1.0, 0, 0))))
    assert struck["X.position"][-1] > 0.5 and abs(struck["energy.balance"]).max() < 1e-8
