"""Thresholds of laws: stepped up to, not over; and along those that hold the motion from both sides it slides."""

from __future__ import annotations

from math import acos, cos, exp, hypot, pi, sin, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from systems.blocks import sliding_block

import dalembert as da
from dalembert.library.mechanisms import slider_crank

METHODS = ["auto", "dopri5", "radau"]


def block(law: Any, position: float = 0.0, speed: float = 0.0, **parameters: float) -> da.System:
    s = sliding_block()
    s.initial("X", position=position, speed=speed)
    element = da.Element("joint", law, parameters, active=True) if isinstance(law, str) else law
    s.connect("law", element, "X")
    return s


def on_a_spring(t: float, k: float = 1e4, g: float = 9.81, height: float = 1.0) -> tuple[float, float]:
    """Return place and speed of a mass of 1 kg that falls on a spring again and again."""
    w, fall = sqrt(k), sqrt(2 * height / g)
    A, B = g / k, -g * fall / w
    contact = (2 * pi - 2 * acos(A / hypot(A, B))) / w
    t %= 2 * fall + contact
    if t < fall:
        return height - g * t * t / 2, -g * t
    t -= fall
    if t < contact:
        return A * cos(w * t) + B * sin(w * t) - g / k, w * (B * cos(w * t) - A * sin(w * t))
    t -= contact
    return g * fall * t - g * t * t / 2, g * fall - g * t


def by_a_relay(t: float, amplitude: float = 1.0) -> tuple[float, float]:
    """Return place and speed where s'' = -sign(s), from rest."""
    quarter = sqrt(2 * amplitude)
    t %= 4 * quarter
    sign = 1.0 if t < 2 * quarter else -1.0
    t -= 0.0 if t < 2 * quarter else 2 * quarter
    if t < quarter:
        return sign * (amplitude - t * t / 2), -sign * t
    t -= quarter
    return sign * (t * t / 2 - quarter * t), sign * (t - quarter)


# an error of the tolerance in time at a bounce is 9.81 as large in speed, and adds up over seven bounces
@pytest.mark.parametrize(
    ("method", "steps", "error"), [("auto", 200, 5e-7), ("dopri5", 600, 1e-5), ("radau", 1300, 1e-7)]
)
def test_a_mass_bounces_on_a_one_sided_spring(method: str, steps: int, error: float) -> None:
    result = da.simulate(block("-9.81 - where(s < 0, k*s, 0)", 1.0, k=1e4), 10.0, method=method)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), on_a_spring(10.0), atol=error)
    assert result.stats.steps < steps
    between = np.linspace(0.0, 10.0, 173)
    exact = np.array([on_a_spring(t) for t in between])
    np.testing.assert_allclose(result.at(between).q[:, 0], exact[:, 0], atol=error)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("law", ["-sign(s)", "where(s < 0, 1, -1)", "1 - 2*where(s >= 0, 1, 0)", "-s/abs(s)"])
def test_a_relay_swings_without_loss(method: str, law: str) -> None:
    result = da.simulate(block(law, 1.0), 20.0, method=method)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), by_a_relay(20.0), atol=1e-8)
    assert result.stats.steps < 30


@pytest.mark.parametrize("method", METHODS)
def test_the_fastest_way_to_rest_switches_once(method: str) -> None:
    result = da.simulate(block("-sign(s + ds*abs(ds)/2)", 1.0), 1.9, method=method)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), (0.005, -0.1), atol=1e-10)
    assert (
        result.stats.steps < 30
    )  # after the switch the motion stays on the threshold, up to rounding, which may pass it


def test_two_stiffnesses_have_the_period_of_two_half_swings() -> None:
    law = da.Element("joint", "-where(s > 0, 400, 100)*s", energy="where(s > 0, 400, 100)*s**2/2")
    period = pi / 20 + pi / 10
    result = da.simulate(block(law, 1.0), 10 * period)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), (1.0, 0.0), atol=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_friction_by_a_formula_stops_the_block_and_holds_it(method: str) -> None:
    result = da.simulate(block(da.Element("joint", "-sign(ds)"), 0.0, 1.0), 3.0, method=method)
    assert result.q[-1, 0] == pytest.approx(0.5, abs=1e-11)
    assert abs(result.v[-1, 0]) < 1e-11
    assert result["law.effort"][-1] == pytest.approx(0.0, abs=1e-11)  # nothing pulls: nothing holds
    assert result["X.acceleration"][-1] == pytest.approx(0.0, abs=1e-11)
    assert abs(result["energy.balance"]).max() < 1e-9
    assert [note for note in result.stats.notes if "'law' jumps there" in note]
    assert result.stats.steps < 40


def shaken(t: float) -> tuple[float, float]:
    """Return place and speed of 1 kg that is pulled by 2 sin t against friction of 1 N, from rest."""
    now = place = 0.0
    while True:
        pulled = now
        while abs(2 * sin(pulled)) <= 1 + 1e-12:
            pulled += 1e-3
        begin = now if pulled == now else brentq(lambda u: abs(2 * sin(u)) - 1, pulled - 1e-3, pulled)
        if begin >= t:
            return place, 0.0
        way = np.sign(sin(begin))

        def speed(u: float, begin: float = begin, way: float = way) -> float:
            return 2 * cos(begin) - 2 * cos(u) - way * (u - begin)

        def gone(u: float, begin: float = begin, way: float = way) -> float:
            return 2 * sin(begin) - 2 * sin(u) + 2 * cos(begin) * (u - begin) - way * (u - begin) ** 2 / 2

        later = begin + 1e-2
        while speed(later) * way > 0 and later < t:
            later += 1e-2
        if later >= t:
            return place + gone(t), speed(t)
        now = brentq(speed, later - 1e-2, later)
        place += gone(now)


@pytest.mark.parametrize(("method", "error"), [("auto", 1e-8), ("dopri5", 1e-7), ("radau", 1e-9)])
def test_sticking_and_slipping_follow_the_pull(method: str, error: float) -> None:
    result = da.simulate(block("2*sin(t) - sign(ds)"), 10.0, method=method)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), shaken(10.0), atol=error)
    early = result.t < 0.52
    np.testing.assert_allclose(result["law.effort"][early], 0.0, atol=1e-12)  # friction and pull are in balance


@pytest.mark.parametrize("method", METHODS)
def test_the_motion_slides_along_a_line_in_phase_space(method: str) -> None:
    result = da.simulate(block("where(s + ds > 0.1, -1, 1)", 0.0, 1.0), 6.0, method=method)
    begin = sqrt(1.8)  # s + s' = 1 - t^2/2 until then; after that s' = 0.1 - s
    assert result.q[-1, 0] == pytest.approx(0.1 + (begin - 1.0) * exp(begin - 6.0), abs=1e-8)
    assert result.v[-1, 0] == pytest.approx((1.0 - begin) * exp(begin - 6.0), abs=1e-8)


def test_states_of_elements_slide_too() -> None:
    law = da.Element("joint", "-z", states={"z": (1.0, "-sign(z)")}, active=True)
    result = da.simulate(block(law), 3.0)
    assert abs(result.x[-1, 0]) < 1e-10
    assert result.v[-1, 0] == pytest.approx(-0.5, abs=1e-9)


def train(friction: tuple[float, float], formula: bool) -> da.System:
    s = da.System("train", gravity=(0, 0, 0))
    before = s.ground
    for k, (size, speed) in enumerate(zip(friction, (1.0, -0.5), strict=True)):
        body = s.body(f"b{k}", da.box(0.1, 0.1, 0.1, mass=1.0 + k))
        s.connect(f"X{k}", da.Prismatic("x", friction=0.0 if formula else size), before, body)
        s.initial(f"X{k}", speed=speed)
        if formula:
            s.connect(f"f{k}", da.Element("joint", "-size*sign(ds)", {"size": size}), f"X{k}")
        before = body
    s.connect("pull", da.Element("joint", "4*sin(2*t)", active=True), "X0")
    return s


def test_several_joints_stick_and_slip_as_by_dry_friction_of_the_joints() -> None:
    ours, dry = (da.simulate(train((3.0, 1.0), formula), 10.0) for formula in (True, False))
    np.testing.assert_allclose(ours.q[-1], dry.q[-1], atol=1e-7)
    np.testing.assert_allclose(ours.v[-1], dry.v[-1], atol=1e-7)
    assert abs(ours["energy.balance"]).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_a_brake_in_a_loop_stops_it_and_holds_it(method: str) -> None:
    s = slider_crank()
    s.connect("brake", da.Element("joint", "-20*sign(ds)"), "A")
    s.initial("A", speed=5.0)
    result = da.simulate(s, 5.0, method=method)
    assert abs(result["A.speed"][-1]) < 1e-8
    assert abs(result["energy.balance"]).max() < 1e-6
    assert abs(result["brake.effort"][-1]) <= 20.0


@pytest.mark.parametrize("speed", [5.3, 5.4, 9.4, 10.0])
def test_implicit_steps_stay_at_rest_in_a_loop(speed: float) -> None:
    """Mixtures are as rough as the differences they come from; Newton's method must not mind."""
    s = slider_crank()
    s.connect("rub", da.Element("joint", "-0.5*sign(ds) - where(s > 3, 50*(s - 3), 0)"), "A")
    s.initial("A", speed=speed)
    ours, explicit = (da.simulate(s, 4.0, method=method, rtol=1e-9, atol=1e-11) for method in ("radau", "dop853"))
    np.testing.assert_allclose(ours.q[-1], explicit.q[-1], atol=1e-6)


def test_a_relay_by_a_signal_of_another_element() -> None:
    s = sliding_block()
    s.initial("X", position=1.0)
    s.connect("relay", da.Element("joint", "0", signals={"u": "-sign(s)"}), "X")
    s.connect("motor", da.Element("joint", "u", inputs={"u": "relay.u"}, active=True), "X")
    result = da.simulate(s, 20.0)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), by_a_relay(20.0), atol=1e-8)
    assert result.stats.steps < 40


def down_the_stairs(t: float, place: float) -> tuple[float, float]:
    """Return place and speed where s'' = -4 n - 2 between the whole numbers n and n + 1, from rest."""
    speed, level = 0.0, np.floor(place)
    while True:
        pull = -4 * level - 2
        squares = [speed**2 - 2 * pull * (place - edge) for edge in (level, level + 1)]
        roots = [(way * sqrt(square) - speed) / pull for square in squares if square >= 0 for way in (-1, 1)]
        first = min(root for root in roots if root > 1e-9)
        if first >= t:
            return place + speed * t + pull * t * t / 2, speed + pull * t
        t, place, speed = t - first, place + speed * first + pull * first**2 / 2, speed + pull * first
        place = np.round(place)
        level = place if speed > 0 else place - 1


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_are_stepped_up_to(method: str) -> None:
    result = da.simulate(block("-4*floor(s) - 2", 2.3), 6.0, method=method)
    np.testing.assert_allclose((result.q[-1, 0], result.v[-1, 0]), down_the_stairs(6.0, 2.3), atol=1e-7)
    assert result.stats.steps < 40


@pytest.mark.parametrize("law", ["-sqrt(max(s, 0)) + where(s < 0, 2, 0)", "-10*max(s, 0)**1.5 + 1"])
def test_branches_may_have_no_value_beyond_their_ends(law: str) -> None:
    result = da.simulate(block(law, 1.0), 10.0)
    assert result.status == "finished"
    coarse = da.simulate(block(law, 1.0), 10.0, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(result.q[-1], coarse.q[-1], atol=1e-5)


def test_what_passes_in_crowds_is_left_to_the_control_of_errors() -> None:
    """Ten thousand levels in a step, or hundreds of slight kinks, cost no more than without thresholds."""
    fine = da.simulate(block("-100*floor(s/q)*q - 2*ds", 1.0, q=1e-6), 0.2)
    assert fine.stats.steps < 20_000
    terms = " + ".join(f"max(0, {0.01 * k - 1:.2f} - s)*0.5" for k in range(200))
    kinks = da.simulate(block(f"{terms} - 50", 1.0), 2.0)
    assert kinks.stats.evaluations < 40_000


def test_runs_side_by_side_are_those_one_by_one() -> None:
    starts = np.linspace(0.4, 1.6, 9)
    for law in ("-9.81 - where(s < 0, 1e4*s, 0)", "-sign(ds) - 9*s", "-sign(s)"):
        many = da.simulate(block(law), 3.0, state=da.State(q=starts[:, None], v=np.zeros((9, 1))))
        assert set(many.status) == {"finished"}
        for k, start in enumerate(starts):
            alone = da.simulate(block(law, start), 3.0)
            np.testing.assert_allclose(many.q[k, -1], alone.q[-1], atol=2e-6)


@pytest.mark.parametrize("law", ["-9.81 - where(s < 0, 1e4*s, 0)", "2*sin(3*t) - sign(ds)"])
def test_live_runs_are_the_same(law: str) -> None:
    system = block(law, 1.0)
    whole = da.simulate(system, 4.0)
    live, parts = da.Live(system), da.Live(system)
    live.advance(4.0)
    for _ in range(4):
        parts.advance(1.0)
    np.testing.assert_array_equal(live.state.q, whole.q[-1])
    np.testing.assert_allclose(parts.state.q, whole.q[-1], atol=1e-7)


def test_live_outputs_include_sticking() -> None:
    s = block(da.Element("joint", "u - sign(ds)", inputs={"u": 0.0}, active=True))
    live, found = da.Live(s), []
    for pull in (0.5, 0.9, 1.5, 0.9, -0.5):
        live.set("law.u", pull)
        live.advance(1.0)
        found.append((live["X.position"], live["X.speed"], live["law.effort"]))
    expected = [(0, 0, 0), (0, 0, 0), (0.25, 0.5, 0.5), (0.7, 0.4, -0.1), (0.7 + 0.16 / 3, 0, 0)]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_an_event_finds_the_motion_that_slides() -> None:
    push = da.Event("push", lambda state: state.t - 2.0, action=lambda now: now.impulse("b", force=(1.0, 0, 0)))
    result = da.simulate(block("-sign(ds)", 0.0, 1.0), 4.0, events=push)
    assert result.q[-1, 0] == pytest.approx(1.0, abs=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_energies_use_the_side_on_which_the_motion_leaves_a_jump(method: str) -> None:
    """It is carried at 0.5 until 10 s = 4, and leaves so slowly that speeds tell nothing for a while."""
    result = da.simulate(block("-10*s - 4*sign(ds - 0.5)"), 3.0, method=method, rtol=1e-11, atol=1e-13)
    assert abs(result["energy.balance"]).max() < 1e-11  # 1e-6 if the side is read off the speed


def test_results_record_sliding_intervals(tmp_path: Any) -> None:
    result = da.simulate(block("2*sin(t) - sign(ds)"), 10.0)
    result.save(tmp_path / "run.nc")
    again = da.Result.load(tmp_path / "run.nc", result.model)
    np.testing.assert_array_equal(again["law.effort"], result["law.effort"])
    np.testing.assert_allclose(result.at([0.2, 0.4])["law.effort"], 0.0, atol=1e-12)


def test_laws_without_branches_have_no_thresholds() -> None:
    assert block("-4*s - ds").compile().switching_functions == []
    assert block("where(t < 1, 1, 0)*s").compile().switching_functions == []  # time alone: known beforehand
    assert len(block("sign(ds) + abs(ds) + where(0 < ds, 2, 3)").compile().switching_functions) == 1


@pytest.mark.parametrize(
    ("law", "kinds"),
    [
        ("-max(s, 0)**0.5", ["monitored"]),
        ("-log(1 + abs(s))", ["sign"]),
        ("-max(s, 0)**2", ["sign"]),
        ("-sign(s)*abs(s)**0.7", ["monitored"]),
        ("-sqrt(1 + max(s, 0))", ["sign"]),
        ("-floor(s)", ["integer"]),
    ],
)
def test_no_branch_is_held_of_what_a_root_is_taken(law: str, kinds: list[str]) -> None:
    """Where it is zero the law has no slope: implicit steps that ended there could not go on."""
    s = sliding_block()
    s.connect("law", da.Element("joint", law), "X")
    assert [kind for _, kind in s.compile().switching_functions] == kinds
