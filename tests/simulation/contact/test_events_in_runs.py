"""Contact by events as part of runs: events of the user, sampled control, resume, ensembles, Ctrl-C, closed loops."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

import dalembert as da

G = 9.81  # m/s2
FALL = float(np.sqrt(2.0 / G))  # s: a ball from 1 m


def bouncing(restitution: float = 0.8) -> da.System:
    s = da.System("ball")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.connect("Z", da.Prismatic("z"), s.ground, ball)
    s.initial("Z", position=1.1)
    s.contact("floor", da.plane(), ball, restitution=restitution)
    return s


def tumbling() -> da.System:
    """Return a box that lands on a corner, with a pendulum that has friction and stops hinged to it."""
    s = da.System("tumbling")
    box = s.body("box", da.box(0.2, 0.3, 0.1, mass=1.0))
    s.place(box, position=(0, 0, 0.35), bryant=(0.5, 0.4, 0.3))
    arm = s.body("arm", da.capsule(0.2, 0.02, mass=0.2, axis="z"))
    joint = da.Revolute("y", friction=0.02, static_friction=0.03, lower=-0.8, upper=0.8, restitution=0.2)
    s.connect("A", joint, box.at(0.1, 0, 0), arm.at(0, 0, 0.1))
    s.contact("floor", da.plane(), [box, arm], friction=0.4, restitution=0.2)
    return s


SEARCHES = {"formula": "ball.position.z", "python": lambda state: state.q[0]}


@pytest.mark.parametrize("search", SEARCHES)
def test_events_are_found_between_impacts(search: str) -> None:
    event = da.Event("half", SEARCHES[search], 0.6)
    result = da.simulate(bouncing(), 1.5, contact="events", events=event)
    up = 0.8 * G * FALL
    expected = [np.sqrt(1.0 / G), FALL + (up - np.sqrt(up**2 - G)) / G, FALL + (up + np.sqrt(up**2 - G)) / G]
    found = [event.t for event in result.events if event.name == "half"]
    assert found[:3] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_terminal_event_ends_the_run_and_its_contacts(search: str) -> None:
    event = da.Event("half", SEARCHES[search], 0.6, direction=1, terminal=True)
    result = da.simulate(bouncing(), 3.0, contact="events", events=event)
    assert result.status == "event"
    assert [event.name for event in result.events] == ["floor/ball: impact", "half"]


@pytest.mark.parametrize("search", SEARCHES)
def test_an_action_between_impacts(search: str) -> None:
    """The velocity is doubled at 0.5 m on the way up: the next impact is as by hand."""

    def double(now: da.EventContext) -> None:
        now.v[:] = 2.0 * now.v

    event = da.Event("half", SEARCHES[search], 0.6, direction=1, action=double)
    result = da.simulate(bouncing(), 1.3, contact="events", events=event)
    up = 0.8 * G * FALL
    then = float(np.sqrt(up**2 - G))
    moment = FALL + (up - then) / G
    flight = (2.0 * then + np.sqrt(4.0 * then**2 + G)) / G
    impacts = [event.t for event in result.events if event.name.endswith("impact")]
    assert impacts == pytest.approx([FALL, moment + flight][: len(impacts)], abs=1e-8)
    assert len(impacts) == 1 + (moment + flight < 1.3)
    assert abs(result["energy.balance"]).max() < 1e-8


def test_an_action_by_description_on_a_block_that_sticks() -> None:
    """A switch lets a force begin: the block begins to slide then."""
    s = da.System("block", gravity=(0, 0, -10))
    block = s.body("block", da.box(0.2, 0.2, 0.2, mass=1.0))
    s.place(block, position=(0, 0, 0.1))
    s.connect("push", da.SpringDamper(0.0, length=0.1), s.ground.at(1.0, 0, 0.1), block.origin)
    s.contact("floor", da.plane(), block, friction=0.3)
    event = da.Event("pull", "t", 0.5, action="set push.stiffness = 10")
    result = da.simulate(s, 0.8, contact="events", events=event)
    names = [event.name for event in result.events]
    assert names[-1] == "floor/block: slides"
    assert result.events[-1].t == 0.5
    # x'' = 10 (0.9 - x) - 3
    assert result["block.position"][-1, 0] == pytest.approx(0.6 * (1 - np.cos(np.sqrt(10.0) * 0.3)), abs=1e-8)


def test_sampled_control_of_a_body_that_bounces() -> None:
    """A sampled control without effort changes nothing but the steps."""
    plain = da.simulate(bouncing(), 2.0, contact="events")
    calls = []

    def control(state: da.State) -> np.ndarray:
        calls.append(state.t)
        return np.zeros(1)

    sampled = da.simulate(bouncing(), 2.0, contact="events", control=control, control_period=0.01)
    assert len(calls) >= 200
    impacts = [[e.t for e in r.events if e.name.endswith("impact")] for r in (plain, sampled)]
    assert impacts[0] == pytest.approx(impacts[1], abs=1e-7)


def test_sampled_control_stops_a_slide() -> None:
    s = da.System("brake")
    block = s.body("block", da.box(0.2, 0.2, 0.2, mass=1.0))
    s.connect("X", da.Planar(), s.ground.at(0, 0, 0.1), block.origin)
    s.initial("X", speed=[1.0, 0, 0])
    s.contact("floor", da.plane(), block, friction=0.1)
    result = da.simulate(s, 1.0, contact="events", control=lambda state: -2.0 * state.v, control_period=0.05)
    assert np.isfinite(result.q).all()
    assert abs(result["energy.balance"]).max() < 1e-6


def interrupted(make: object, options: dict[str, object], wait: float) -> da.Result:
    timer = threading.Timer(wait, lambda: os.kill(os.getpid(), signal.SIGINT))
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        return da.simulate(make, 1e4, on_error="return", **options)  # type: ignore[call-overload,no-any-return]
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, old)


def rolling() -> da.System:
    """Return a driven wheel that slips and sticks for ever, on a rocker with friction."""
    s = da.System("rolling")
    wheel = s.body("wheel", da.sphere(0.1, mass=1.0))
    s.place(wheel, position=(0, 0, 0.1))
    bob = s.body("bob", da.capsule(0.1, 0.01, mass=0.3, axis="z"))
    s.connect("A", da.Revolute("y", friction=0.01), wheel.origin, bob.at(0, 0, 0.2))
    s.connect("M", da.Effort(da.Harmonic(0.4, 7.0)), "A")
    s.contact("floor", da.plane(), wheel, friction=0.2)
    return s


@pytest.mark.parametrize("streams", [False, True])
def test_ctrl_c_ends_a_run_that_resumes_with_the_same_bits(streams: bool, tmp_path: Path) -> None:
    model = rolling().compile()
    options: dict[str, object] = {"contact": "events"} | ({"stream": tmp_path / "run"} if streams else {})
    part = interrupted(model, options, 0.4)
    assert part.status == "interrupted" and 0.0 < part.t[-1] < 1e4
    end = float(part.t[-1]) + 1.0
    again = da.simulate(model, end, resume=True if streams else part, **options)  # type: ignore[call-overload]
    whole = da.simulate(model, 1e4, contact="events", events=da.Event("end", "t", end, terminal=True))
    same = again.t < end - 0.5
    assert same.sum() > 10
    assert np.array_equal(again.q[same], whole.q[: same.sum()])
    early = [[(e.name, e.t) for e in r.events if e.t < end - 0.5] for r in (again, whole)]
    assert early[0] == early[1]


def test_an_ensemble_has_the_bits_of_single_runs() -> None:
    model = tumbling().compile()
    masses = np.linspace(1.0, 1.2, 5)
    many = da.simulate(model, 0.6, contact="events", parameters={"box.mass": masses})
    for k, mass in enumerate(masses.tolist()):
        alone = da.simulate(model, 0.6, contact="events", parameters={"box.mass": mass}, times=many.t)
        assert np.array_equal(many[k].q, alone.q)


def test_a_loop_with_friction_strikes_the_floor() -> None:
    """A four-bar with friction of joints of the tree, beside a cut joint; events against short steps."""

    def make() -> da.System:
        s = da.System("four-bar")
        crank, coupler, rocker = (
            s.body(name, da.rod(length, 1.0, radius=0.01))
            for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.5))
        )
        s.connect("A", da.Revolute("y", friction=0.1), s.ground.at(0, 0, 0.3), crank.at(-0.15, 0, 0))
        s.connect("B", da.Revolute("y", friction=0.05), crank.at(0.15, 0, 0), coupler.at(-0.4, 0, 0))
        s.connect("D", da.Revolute("y"), s.ground.at(0.7, 0, 0.3), rocker.at(-0.25, 0, 0))
        s.connect("C", da.Revolute("y"), coupler.at(0.4, 0, 0), rocker.at(0.25, 0, 0))
        s.initial("A", position=-0.5, speed=0.0)
        s.contact("floor", da.plane(), [crank, coupler, rocker], friction=0.3, restitution=0.5)
        return s

    result = da.simulate(make(), 1.0, contact="events")
    steps = da.simulate(make(), 1.0, contact="steps:1e-4")
    assert any(event.name.endswith("impact") for event in result.events)
    assert result.q[-1] == pytest.approx(steps.q[-1], abs=1e-3)
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert result["floor.gap"].min() > -1e-9
