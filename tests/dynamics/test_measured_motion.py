"""Motions from samples, and the efforts, activations and reactions that they take."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.signal import butter, filtfilt
from systems.linkages import slaats_four_bar

import dalembert as da
from dalembert.dynamics.load_sharing import share_efforts
from dalembert.dynamics.smoothing_splines import Smoothing

Array = NDArray[np.float64]

T = np.linspace(0.0, 1.0, 201)


def two_links() -> da.System:
    s = da.System("arm")
    upper, fore = s.body("upper", da.rod(0.4, 2.0, radius=0.02)), s.body("fore", da.rod(0.3, 1.2, radius=0.02))
    s.connect("shoulder", da.Revolute("-y"), s.ground, upper)
    s.connect("elbow", da.Revolute("-y"), upper.at(0.4, 0, 0), fore)
    return s


def four_bar_at_one_radian() -> da.System:
    s = slaats_four_bar()
    s.initial("A", position=1.0)
    return s


# ---- smoothing


def test_the_cut_off_halves_its_frequency_and_does_what_a_butterworth_filter_does_both_ways() -> None:
    t = np.linspace(0.0, 4.0, 801)
    smoothing = Smoothing(cutoff=6.0)
    middle = slice(200, 600)  # the ends are treated differently
    for f in (2.0, 6.0, 9.0):
        passed = smoothing("y", t, np.sin(2 * np.pi * f * t)[:, None], "test")[0][middle]
        assert np.abs(passed).max() == pytest.approx(1 / (1 + (f / 6.0) ** 6), rel=1e-6)
    noisy = np.sin(2 * np.pi * t) + 0.01 * np.random.default_rng(0).normal(size=len(t))
    ours = smoothing("y", t, noisy[:, None], "test")[0][:, 0]
    theirs = filtfilt(*butter(3, 6.0, fs=200.0), noisy, padlen=150)
    # the bilinear filter bends frequencies near its end, of which there is little left
    np.testing.assert_allclose(ours[middle], theirs[middle], atol=2e-5)


def test_samples_need_not_be_uniform_and_gaps_are_bridged_on_request() -> None:
    rng = np.random.default_rng(1)
    t = np.sort(np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 199)]))
    s = two_links()
    motion = da.measured_motion(s, t, {"shoulder": np.sin(3 * t), "elbow": np.cos(2 * t)})
    assert any("not uniform" in note for note in motion.stats.notes)
    inner = (t > 0.05) & (t < 0.95)
    np.testing.assert_allclose(motion["shoulder.acceleration"][inner], -9 * np.sin(3 * t)[inner], atol=1e-5)
    holed = np.sin(3 * T)
    holed[60:70] = np.nan
    with pytest.raises(da.ModelError, match=r"samples of 'shoulder'.*a gap of 0.055 s from t = 0.295 s.*bridge=0.055"):
        da.measured_motion(s, T, {"shoulder": holed, "elbow": T})
    bridged = da.measured_motion(s, T, {"shoulder": holed, "elbow": T}, bridge=0.06)
    np.testing.assert_allclose(bridged["shoulder.position"], np.sin(3 * T), atol=1e-7)


def test_a_stated_residual_is_what_is_taken_off() -> None:
    noise = 0.002 * np.random.default_rng(2).normal(size=len(T))
    motion = da.measured_motion(two_links(), T, {"shoulder": np.sin(3 * T) + noise, "elbow": 0.3}, residual=0.0019)
    off = motion["shoulder.position"] - np.sin(3 * T) - noise
    assert np.sqrt(np.mean(off**2)) == pytest.approx(0.0019, rel=1e-4)
    assert np.abs(motion["shoulder.position"] - np.sin(3 * T)).max() < 0.002


def test_bad_samples_are_refused_by_name() -> None:
    s = two_links()
    good = {"shoulder": T, "elbow": T}
    with pytest.raises(da.ModelError, match=r"times\[3\].*later"):
        da.measured_motion(s, [0, 1, 2, 2, 3, 4, 5, 6, 7], good)
    with pytest.raises(da.ModelError, match="shape of coordinates\\['elbow'\\]"):
        da.measured_motion(s, T, {**good, "elbow": T[:5]})
    with pytest.raises(da.ModelError, match=r"cutoff.*up to 0\.005 s apart"):
        da.measured_motion(s, T, good, cutoff=150.0)
    with pytest.raises(da.ModelError, match="not both"):
        da.measured_motion(s, T, good, cutoff=5.0, residual=0.1)
    with pytest.raises(da.ModelError, match=r"'wrist'.*'shoulder'"):
        da.measured_motion(s, T, {"wrist": T})
    with pytest.raises(da.ModelError, match="first is missing"):
        da.measured_motion(s, T, {**good, "elbow": np.where(T < 0.01, np.nan, T)})
    with pytest.raises(da.ModelError, match=r"no forces yet.*inverse_dynamics"):
        da.measured_motion(s, T, good)["elbow.force"]


# ---- attitudes, loops, markers


def test_quaternions_become_angular_velocities_and_accelerations() -> None:
    s = da.System(gravity=(0, 0, 0))
    body = s.body("body", da.box(0.3, 0.2, 0.1, mass=2.0))
    s.connect("F", da.Free(), s.ground, body)
    s.initial("F", speed=(0.5, 3.0, 0.2, 0.1, 0.2, -0.3))
    free = da.simulate(s, 1.0, times=T)  # a free body needs no efforts
    flipped = free.q.copy()
    flipped[100:, :4] *= -1.0  # the same attitudes
    motion = da.measured_motion(s, T, {"F": flipped})
    inner = slice(10, -10)
    np.testing.assert_allclose(motion.v[inner], free.v[inner], atol=1e-7)
    np.testing.assert_allclose(motion.a[inner], free.a[inner], atol=1e-4)
    assert np.abs(da.inverse_dynamics(s, motion)["F"][inner]).max() < 1e-4


def test_loops_stay_closed_and_the_crank_needs_what_it_needs_when_driven() -> None:
    s = four_bar_at_one_radian()
    t = np.linspace(0.0, 1.0, 101)
    partly = da.measured_motion(s, t, {"A": 1.0 + 0.8 * np.sin(2.0 * t)})  # the rest follows
    described = s.copy()
    described.drive("A", position=lambda t: 1.0 + 0.8 * np.sin(2.0 * t))
    driven = da.simulate(described, 1.0, times=t)
    inner = slice(5, -5)
    needed = da.inverse_dynamics(s, partly, actuators="A")
    np.testing.assert_allclose(needed["A"][inner], driven["A.effort"][inner], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(needed.result["D.force"][inner], driven["D.force"][inner], atol=1e-3)
    # all coordinates, with noise that opens the loop
    model = s.compile()
    noise = 1e-3 * np.random.default_rng(0).normal(size=(len(t), model.nq))
    rows = np.column_stack([driven[f"{name}.position"] for name in model.joint_names]) + noise
    noisy = da.measured_motion(s, t, dict(zip(model.joint_names, rows.T, strict=True)), cutoff=4.0)
    assert np.abs(model.constraint_residual(noisy.q)).max() < 1e-11
    assert np.abs(noisy.q - (rows - noise)).max() < 2e-3
    smooth = da.inverse_dynamics(s, noisy, actuators="A")["A"][10:-10]
    assert np.abs(smooth - driven["A.effort"][10:-10]).max() < 0.03 * np.abs(driven["A.effort"]).max()


def test_any_joint_drives_the_loop_wherever_it_was_cut() -> None:
    s = four_bar_at_one_radian()
    t = np.linspace(0.0, 1.0, 21)
    motion = da.measured_motion(s, t, {"A": lambda t: 1.0 + 0.8 * np.sin(2.0 * t)})
    speed = {name: motion[f"{name}.speed"] for name in "ABCD"}
    power = {name: da.inverse_dynamics(s, motion, actuators=name)[name] * speed[name] for name in "ABCD"}
    for name in "BCD":
        np.testing.assert_allclose(power[name], power["A"], atol=1e-6 * np.abs(power["A"]).max())


def test_markers_are_fitted_by_least_squares_with_weights() -> None:
    s = two_links()
    s["upper"].marker("knob", 0.2, 0.0, 0.05)
    s["fore"].marker("wrist", 0.3, 0.0, 0.0)
    model = s.compile()
    q = np.column_stack([0.5 * np.sin(3 * T), 0.6 + 0.4 * np.cos(2 * T)])
    rng = np.random.default_rng(3)
    tracks = {name: model.pose(name, q).position for name in ("upper.knob", "fore.wrist", "fore")}
    noisy = {name: track + 0.001 * rng.normal(size=track.shape) for name, track in tracks.items()}
    noisy["upper.knob"][50:60] = np.nan  # not seen for a while
    motion = da.measured_motion(s, T, markers=noisy, cutoff=6.0, state=q[0])
    assert np.abs(motion.q - q).max() < 0.006
    assert any("largest marker error was" in note for note in motion.stats.notes)
    exact = model.inverse_dynamics(q, model_rates(q, 1), model_rates(q, 2))
    found = da.inverse_dynamics(s, motion).tau
    assert np.abs(found - exact)[15:-15].max() < 0.03 * np.abs(exact).max()


def model_rates(q: Array, order: int) -> Array:
    """Rates of the motion above."""
    if order == 1:
        return np.column_stack([1.5 * np.cos(3 * T), -0.8 * np.sin(2 * T)])
    return np.column_stack([-4.5 * np.sin(3 * T), -1.6 * np.cos(2 * T)])


# ---- a part of the motion is given


def test_what_is_free_is_integrated_while_the_rest_is_given() -> None:
    """Passerello and Huston's third mode: the shoulder moves as told, the elbow hangs."""
    s = two_links()
    s.connect("k", da.TorsionSpring(stiffness=2.0, damping=0.1), "elbow")
    shoulder = 0.3 * np.sin(4 * T)
    mixed = da.measured_motion(s, T, {"shoulder": shoulder})
    assert any("1 degrees of freedom were integrated" in note for note in mixed.stats.notes)
    efforts = da.inverse_dynamics(s, mixed, actuators="shoulder")  # the elbow needs none
    np.testing.assert_allclose(efforts["shoulder"], mixed["shoulder.effort"], atol=1e-9)
    # forward again with this effort
    torque = da.Spline(T, efforts["shoulder"], 5)
    again = da.simulate(
        s, 1.0, times=T, state=mixed.at(0.0), control=lambda state: {"shoulder": torque(state.t)[0]}, rtol=1e-8
    )
    np.testing.assert_allclose(again.q, mixed.q, atol=2e-5)


# ---- actuators that are too many, bounded, or act through elements


def test_shares_within_bounds_are_the_cheapest() -> None:
    rng = np.random.default_rng(0)
    for power in (2.0, 3.0):
        A = rng.normal(size=(4, 2, 5))
        b = (A @ rng.uniform(0.0, 1.0, size=(4, 5, 1)))[..., 0]
        weights = rng.uniform(0.5, 2.0, 5)
        u = share_efforts(A, b, weights, power, np.zeros((4, 5)), np.ones((4, 5)), 1e-9)
        np.testing.assert_allclose((A @ u[..., None])[..., 0], b, atol=1e-9)
        for k in range(4):
            best = minimize(
                lambda x: (weights * np.abs(x) ** power).sum(),  # noqa: B023
                u[k],
                constraints={"type": "eq", "fun": lambda x: A[k] @ x - b[k]},  # noqa: B023
                bounds=[(0, 1)] * 5,
                method="SLSQP",
                options={"ftol": 1e-14},
            )
            np.testing.assert_allclose(u[k], best.x, atol=1e-5)


def muscled() -> da.System:
    s = two_links()
    anchor, upper, fore = s.ground, s["upper"], s["fore"]
    muscle = {"strength": 900.0, "optimal_length": 0.15}
    s.connect("flexor", da.HillMuscle(0.0, **muscle, slack_length=0.2), upper.at(0.05, 0, 0.03), fore.at(0.05, 0, 0.0))
    s.connect("brachialis", da.HillMuscle(0.0, **muscle, slack_length=0.1), upper.at(0.2, 0, 0.02), fore.at(0.03, 0, 0))
    s.connect("triceps", da.HillMuscle(0.0, **muscle, slack_length=0.2), upper.at(0.05, 0, -0.03), fore.at(-0.03, 0, 0))
    s.connect("deltoid", da.HillMuscle(0.0, **muscle, slack_length=0.05), anchor.at(0, 0, 0.1), upper.at(0.15, 0, 0))
    return s


MUSCLES = ["flexor", "brachialis", "triceps", "deltoid"]


def test_muscles_share_a_motion_by_least_activation() -> None:
    s = muscled()
    t = np.linspace(0.0, 1.0, 41)
    motion = da.measured_motion(s, t, {"shoulder": 0.2 + 0.2 * np.sin(3 * t), "elbow": 0.8 + 0.3 * np.cos(3 * t)})
    model = s.compile()
    for power in (2.0, 3.0):
        found = da.inverse_dynamics(s, motion, actuators=MUSCLES, exponent=power)
        a = np.column_stack([found[name] for name in MUSCLES])
        assert a.min() >= 0.01 and a.max() <= 1.0 and not found.determined
        x = np.zeros((len(t), model.nx))
        for name, column in zip(MUSCLES, a.T, strict=True):
            x[:, model.state_names.index(f"{name}.a")] = column
        np.testing.assert_allclose(model.forward_dynamics(motion.q, motion.v, x=x), motion.a, atol=1e-6)
        np.testing.assert_allclose(found.result["flexor.force.norm"] > 0, True)
        # no cheaper activations do it: tried from there
        k = 20

        def rest(a: Array, k: int = k) -> Array:
            state = np.array([a[MUSCLES.index(name.partition(".")[0])] for name in model.state_names])
            return model.inverse_dynamics(motion.q[k], motion.v[k], motion.a[k], x=state)

        best = minimize(
            lambda a, power=power: (a**power).sum(),
            a[k],
            constraints={"type": "eq", "fun": rest},
            bounds=[(0.01, 1)] * 4,
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        np.testing.assert_allclose(a[k], best.x, atol=1e-4)


def test_activations_follow_each_other_as_fast_as_muscles_do() -> None:
    s = muscled()
    t = np.linspace(0.0, 0.3, 31)
    motion = da.measured_motion(s, t, {"shoulder": 0.2 + 0.1 * np.sin(6 * t), "elbow": 0.8 + 0.3 * np.cos(8 * t)})
    free = da.inverse_dynamics(s, motion, actuators=MUSCLES)
    bound = da.inverse_dynamics(s, motion, actuators=MUSCLES, activation_dynamics=True, on_infeasible="report")
    # forward: the midpoint rule with these excitations
    for name in MUSCLES:
        a, u = bound[name], bound.excitations[f"{name}.a"]
        assert u.min() >= 0.01 and u.max() <= 1.0
        m = 0.5 * (a[1:] + a[:-1])
        tau = np.where(u[1:] > m, 0.015 * (0.5 + 1.5 * m), 0.05 / (0.5 + 1.5 * m))
        np.testing.assert_allclose(np.diff(a), np.diff(t) * (u[1:] - m) / tau, atol=1e-8)
    assert set(free.names) == set(bound.names)


def test_motors_and_loads_act_through_their_inputs() -> None:
    s = two_links()
    s.connect("motor", da.Effort(lambda t: 0.0), "shoulder")
    state = s.compile().random_state(0)
    a = np.array([1.0, -2.0])
    found = da.inverse_dynamics(s, state.q, state.v, a, actuators=["motor", "elbow"])
    plain = da.inverse_dynamics(s, state.q, state.v, a)
    assert found["motor"] == pytest.approx(plain["shoulder"], rel=1e-9)
    assert found["elbow"] == pytest.approx(plain["elbow"], rel=1e-9)


def test_bounds_that_are_too_narrow_are_named() -> None:
    s = two_links()
    still = np.zeros(2)
    with pytest.raises(
        da.SingularityError, match=r"along 'shoulder'.*'shoulder' is at a bound.*on_infeasible=\"report\""
    ):
        da.inverse_dynamics(s, still, still, still, bounds={"shoulder": (-5.0, 5.0)})
    told = da.inverse_dynamics(s, still, still, still, bounds={"shoulder": (-5.0, 5.0)}, on_infeasible="report")
    whole = da.inverse_dynamics(s, still, still, still)
    np.testing.assert_allclose(told.tau + told.unmet_forces, whole.tau, atol=1e-7)
    assert told["shoulder"] == pytest.approx(5.0)


def test_inputs_that_act_through_states_are_distinguished() -> None:
    s = two_links()
    motor = {"resistance": 1.0, "constant": 0.1, "inductance": 1e-3}
    s.connect("motor", da.DCMotor("u", **motor, sources={"u": lambda t: 0.0}), "shoulder")
    still = np.zeros(2)
    with pytest.raises(da.SingularityError, match=r"'motor.u' acts on states only"):
        da.inverse_dynamics(s, still, still, still, actuators=["motor.u", "elbow"])
    current = da.inverse_dynamics(s, still, still, still, actuators=["motor.i", "elbow"])
    bare = da.inverse_dynamics(s, still, still, still)
    assert 0.1 * current["motor.i"] == pytest.approx(bare["shoulder"], rel=1e-8)


# ---- moment arms


def test_moment_arms_are_what_tensions_supply() -> None:
    s = muscled()
    model = s.compile()
    q = np.array([[0.2, 0.9], [0.1, 0.3]])
    arms = da.moment_arms(s, q)
    h = 1e-6
    for k, name in enumerate(("shoulder", "elbow")):
        step = h * np.eye(2)[k]
        slope = (da.moment_arms(s, q + step).lengths - da.moment_arms(s, q - step).lengths) / (2 * h)
        for j, muscle in enumerate(arms.elements):
            np.testing.assert_allclose(arms[muscle, name], -slope[:, j], atol=1e-8)
    x = np.full(model.nx, 0.3)
    applied, _ = model.applied_loads(0.0, q[0], np.zeros(2), x)
    tensions = model.report(["forces"], 0.0, q[0], np.zeros(2), x)["forces"]
    columns = [model.compiled.elements.indices[name].measures.start for name in arms.elements]
    by_arms = arms.arms[0].T @ -tensions[columns]
    bodies = model.inverse_dynamics(q[0], np.zeros(2), np.zeros(2), x=x)
    bare = model.inverse_dynamics(q[0], np.zeros(2), np.zeros(2), bare=True)
    np.testing.assert_allclose(by_arms, bare - bodies, atol=1e-9)
    assert applied.shape == (2,)


def test_moment_arms_in_loops_follow_the_loop() -> None:
    s = four_bar_at_one_radian()
    s.connect("cable", da.SpringDamper(stiffness=100.0), s.ground.at(0.5, 2.0, 0), s["link1"].at(1.2, 0.3, 0))
    t = np.linspace(0.0, 1.0, 11)
    motion = da.measured_motion(s, t, {"A": lambda t: 1.0 + 0.5 * t})
    q = np.column_stack([motion[f"{name}.position"] for name in s.compile().joint_names])
    rate = motion.model.report(["rates"], t, motion.q, motion.v)["rates"][:, 0]
    for name in "ABCD":
        arms = da.moment_arms(s, q, coordinates=name)
        np.testing.assert_allclose(arms["cable", name] * motion[f"{name}.speed"], -rate, atol=1e-8)
    with pytest.raises(da.ModelError, match="1 DOF: name as many"):
        da.moment_arms(s, q, coordinates=["A", "B"])
    with pytest.raises(da.ModelError, match="'cable'"):
        da.moment_arms(s, q, elements="rope", coordinates="A")


def test_noisy_samples_add_a_note_and_smooth_ones_do_not() -> None:
    s = da.System("arm")
    s.connect("A", da.Revolute("y"), s.ground, s.body("rod", da.rod(1.0, 2.0)))
    t = np.linspace(0.0, 1.0, 51)
    noise = 1e-3 * np.random.default_rng(0).normal(size=51)
    notes = da.measured_motion(s, t, {"A": np.sin(t) + noise}).stats.notes
    assert any("'A' look noisy, by about 0.0" in note for note in notes)
    assert not da.measured_motion(s, t, {"A": np.sin(t)}).stats.notes
    efforts = da.inverse_dynamics(s, da.measured_motion(s, t, {"A": np.sin(t)}))
    assert "largest" in str(efforts) and "N m" in str(efforts)
    with pytest.raises(da.ModelError, match="a count"):
        range(s.parameter("n", 3.0))  # type: ignore[arg-type]
