"""Actions of events by description: the core against `EventContext`, which is the oracle, and facts of mechanics."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from systems.random_loops import random_closed_system

import dalembert as da
from dalembert.library.mechanisms import four_bar
from dalembert.simulation.events import event_handling
from dalembert.simulation.events.actions import as_actions

FALL = math.sqrt(2 / 9.81)  # s, from 1 m
SMOOTH = {"friction": "off", "stops": "off", "rtol": 1e-10, "atol": 1e-12}


def ball() -> da.System:
    """Return a ball that falls from 1 m, joint P."""
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    s.initial("P", position=1.0)
    return s


def oscillator() -> da.System:
    """Return a mass of 1 kg on a spring of 4 N/m, joint P, released at 1 m."""
    s = da.System("oscillator", gravity=(0, 0, 0))
    s.connect("P", da.Prismatic("x"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    s.connect("k", da.JointSpring(4.0), "P")
    s.initial("P", position=1.0)
    return s


def in_core_and_in_python(
    model: da.Model, t_end: float, events: Any, monkeypatch: pytest.MonkeyPatch, handed_over: int = 0, **options: Any
) -> tuple[da.Result, da.Result]:
    """Return the run with the core and the run with Python at its events; a number of events is handed over."""
    handed: list[int] = []
    with monkeypatch.context() as patch:
        apply = event_handling.EventHandler.apply_from_core
        patch.setattr(
            event_handling.EventHandler, "apply_from_core", lambda *given: (handed.append(1), apply(*given))[1]
        )
        fast = da.simulate(model, t_end, events=events, **options)
    assert len(handed) == handed_over
    with monkeypatch.context() as patch:
        patch.setattr(event_handling, "core_event_table", lambda *_: None)
        slow = da.simulate(model, t_end, events=events, **options)
    return fast, slow


def assert_equal_runs(fast: da.Result, slow: da.Result, tol: float = 1e-9) -> None:
    """Assert equal events, and equal states at the end."""
    assert [(e.name, e.message) for e in fast.events] == [(e.name, e.message) for e in slow.events]
    for mine, other in zip(fast.events, slow.events, strict=True):
        assert mine.t == pytest.approx(other.t, abs=tol)
        scale = 1e-6 * max(1.0, abs(other.energy))
        assert (mine.energy, mine.dissipated) == pytest.approx((other.energy, other.dissipated), abs=scale)
    assert fast.final_state.q == pytest.approx(slow.final_state.q, abs=1e3 * tol)
    assert fast.final_state.v == pytest.approx(slow.final_state.v, abs=1e4 * tol)


@pytest.mark.parametrize("action", ["bounce 0.7", da.Bounce("ball", (0, 0, 3), 0.7), da.Bounce("P", restitution=0.7)])
def test_a_ball_bounces_as_the_parabola_says_and_loses_its_part(action: Any) -> None:
    e = 0.7
    result = da.simulate(ball(), 2.4, events=da.Event("floor", "P.position", direction=-1, action=action))
    times = FALL * np.cumsum([1, *(2 * e ** np.arange(1, 20))])
    expected = times[times < 2.4]
    assert [x.t for x in result.events] == pytest.approx(expected, abs=1e-11)
    for k, event in enumerate(result.events):
        lost = (1 - e * e) * 2 * 9.81 * e ** (2 * k)
        assert (event.energy, event.dissipated) == pytest.approx((-lost, lost), rel=1e-10)
        assert event.message == "bounce"
    assert np.abs(result["energy.balance"]).max() < 1e-10


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "rk4"])
def test_methods_agree_on_actions_of_the_core(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"fixed_step": 0.01} if method == "rk4" else {}
    events = [
        da.Event("soft", "P.position", 0.3, direction=-1, action="set k.stiffness = 1"),
        da.Event("hard", "P.position", -0.3, direction=-1, action=("set k.stiffness = 9", "bounce 0.5")),
        da.Event("seen", "P.speed - 0.2*P.position"),
    ]
    model = oscillator().compile()
    fast, slow = in_core_and_in_python(model, 4.0, events, monkeypatch, method=method, **options)
    assert len(fast.events) > 5
    assert_equal_runs(fast, slow)


@pytest.mark.parametrize("seed", range(6))
def test_random_machines_bounce_lock_and_release(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, seed % 3, isolated=2 * (seed % 2))
    model = closed.system.compile()
    start = da.State(*closed.state(model))
    plain = da.simulate(model, 0.3, state=start, **SMOOTH)
    joint = next(j for j in model.forest.joints if 0 < j.element.nv <= 3)
    body = next(b.name for b in model.system.bodies.values() if b.name in model.forest.number)
    level = float(np.quantile(plain[f"{body}.position.z"], 0.53))
    events = [
        da.Event("plane", f"{body}.position.z", level, action=da.Bounce(body, (0.1, 0.2, 1.0), 0.6)),
        da.Event("lock", "t - 0.16", action=da.Lock(joint.name)),
        da.Event("free", "t - 0.22", action=da.Release(joint.name)),
    ]
    alone = int(seed == 2)  # a lock whose impulses are not unique, because the loop permits less than the joint
    fast, slow = in_core_and_in_python(model, 0.3, events, monkeypatch, alone, state=start, **SMOOTH)
    assert len(fast.events) >= 2
    assert_equal_runs(fast, slow, 1e-8)
    assert np.abs(fast["energy.balance"]).max() < 1e-6 * max(1.0, np.abs(fast["energy.kinetic"]).max())
    assert not fast.at(0.2).v[model.v_slice(joint.name)].any()


def test_a_wire_is_cut_and_a_constraint_closes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = four_bar().compile()
    cut = next(c.name for c in model.forest.loop_constraints)
    events = [
        da.Event("off", "t - 0.2", action=da.Switch(cut, on=False)),
        da.Event("on", "t - 0.200000001", action=f"switch {cut} on"),
    ]
    fast, slow = in_core_and_in_python(model, 0.5, events, monkeypatch, **SMOOTH)
    assert_equal_runs(fast, slow, 1e-8)
    assert [e.message for e in fast.events] == [f"switch {cut} off", f"switch {cut} on"]
    assert fast["constraints.residual"][-1] < 1e-12


def test_simultaneous_events_act_in_the_given_order() -> None:
    first = da.Event("first", "P.position", action="set k.stiffness = 20")
    then = da.Event("then", "2*P.position", action="set k.stiffness = 7")
    for events in ([first, then], [then, first]):
        result = da.simulate(oscillator(), 1.0, events=events)
        assert [e.name for e in result.events[:2]] == [event.name for event in events]
        assert result.events[1].message in ("k.stiffness = 7", "k.stiffness = 20")
        last = 7.0 if events[-1] is then else 20.0
        assert result["a"][-1, 0] == pytest.approx(-last * result["P.position"][-1])


def test_stop_ends_the_run() -> None:
    result = da.simulate(ball(), 2.0, events=da.Event("floor", "P.position", action="stop"))
    assert (result.status, result.events[0].message) == ("event", "stop")
    assert result.t[-1] == pytest.approx(FALL, abs=1e-13)


def test_mapped_parameters_and_moving_drives_are_left_to_python() -> None:
    s = ball()
    result = da.simulate(s, 0.4, events=da.Event("half", "P.position", 0.5, action="set ball.mass = 1"))
    assert result.events[0].message == "ball.mass = 1"
    s = da.System("arm")
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, arm)
    s.connect("B", da.Revolute("y"), arm.at(1.0, 0, 0), s.body("hand", da.rod(length=0.5, mass=1.0)))
    s.drive("A", speed=2.0)
    events = da.Event("lock", "B.position", 0.05, action="lock")
    result = da.simulate(s, 1.0, events=events, state={"B.speed": 1.0})
    assert result.events[0].message == "lock B"
    assert np.abs(result["energy.balance"]).max() < 1e-7


def test_friction_follows_an_action() -> None:
    s = da.System("block", gravity=(0, 0, -9.81))
    s.connect("P", da.Prismatic("x", friction=1.0), s.ground, s.body("block", mass=1.0, inertia=(1, 1, 1)))
    s.initial("P", speed=2.0)
    result = da.simulate(s, 3.0, events=da.Event("wall", "P.position", 0.5, direction=1, action="bounce 0.5"))
    speed = math.sqrt(4 - 2 * 0.5)  # at the wall, by 1 N of friction on 1 kg
    assert [e.name for e in result.events] == ["wall", "P reverses", "P sticks"]
    assert result["P.position"][-1] == pytest.approx(0.5 - (0.5 * speed) ** 2 / 2, abs=1e-8)


def test_bounces_that_pile_up_are_refused() -> None:
    with pytest.raises(da.IntegrationError, match="'floor' chatters") as caught:
        da.simulate(ball(), 9.0, events=da.Event("floor", "P.position", direction=-1, action="bounce 0.5"))
    result = caught.value.result
    assert result.t[-1] == pytest.approx(3 * FALL, abs=1e-4)
    assert (result["P.position"] > -1e-9).all()


def test_dense_output_pickles_and_resumed_runs_know_the_actions() -> None:
    event = da.Event("floor", "P.position", direction=-1, action="bounce 0.8")
    result = da.simulate(ball(), 2.0, events=event)
    again = pickle.loads(pickle.dumps(result))
    assert [e.t for e in again.events] == [e.t for e in result.events]
    t = (result.events[0].t + result.events[1].t) / 2  # top of the first flight
    assert again.at(t).q[0] == pytest.approx(0.64, abs=1e-9)
    assert pickle.loads(pickle.dumps(event)) == event


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("jump", "'lock A'"),
        ("set k.stifness = 3", "k.stiffness"),
        ("set k.stiffness = x", "'set k.stiffness = 200'"),
        ("set k.stiffness = -1", "negative"),
        ("lock Q", "tree joints are 'P'"),
        ("switch P off", "locked"),
        ("bounce 2", "from 0 to 1"),
        (da.Bounce("body"), "normal"),
        (da.Bounce("bod", (0, 0, 1)), "bod"),
        (3, "function"),
        ([], "function"),
    ],
)
def test_wrong_actions_are_refused_by_name(action: Any, message: str) -> None:
    with pytest.raises(da.ModelError) as caught:
        da.simulate(oscillator(), 1.0, events=da.Event("hit", "P.position", action=action))
    assert message in str(caught.value)


def test_a_lock_of_a_cut_joint_is_refused() -> None:
    model = four_bar().compile()
    cut = next(c.name for c in model.forest.loop_constraints)
    with pytest.raises(da.ModelError, match="switch it on or off"):
        da.simulate(model, 1.0, events=da.Event("hit", "t - 0.5", action=da.Lock(cut)))
    with pytest.raises(da.ModelError, match="no coordinate of a tree joint"):
        da.simulate(model, 1.0, events=da.Event("hit", "t - 0.5", action="lock"))


def test_texts_are_actions() -> None:
    texts = ("stop", "bounce", "lock A", "release A", "switch B off", "set k.stiffness = 2e2")
    assert as_actions(texts, "event") == (
        da.Stop(),
        da.Bounce(),
        da.Lock("A"),
        da.Release("A"),
        da.Switch("B", on=False),
        da.Set("k.stiffness", 200.0),
    )
