"""Contact by steps with events of the user, sampled control, streams, Ctrl-C and `Live`."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from systems.contacts.random_scenes import random_contact_scene
from systems.contacts.scenes import G, box_stack, on_slope, one_body

import dalembert as da

E = 0.8
FIRST = np.sqrt(2.0 / G)  # s: fall from 1 m
UP = E * np.sqrt(2.0 * G)  # m/s: after the first impact
RISING = FIRST + (UP - np.sqrt(UP**2 - 2.0 * G * 0.4)) / G  # s: at 0.4 m above the floor for the second time


def bouncing_ball() -> da.System:
    return one_body(da.sphere(0.1, mass=1.0), (0, 0, 1.1), restitution=E)


def braked_cart() -> da.System:
    """Return a cart with dry friction of 2 N, a stop and a ball in front of it."""
    s = da.System("cart")
    cart, ball = s.body("cart", da.box(0.2, 0.2, 0.2, mass=1.0)), s.body("ball", da.sphere(0.1, mass=0.5))
    s.connect("X", da.Prismatic("x", friction=2.0, lower=-0.05, upper=5.0), s.ground, cart)
    s.connect("push", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "X")
    s.place(ball, position=(0.5, 0, 0.1))
    s.contact("hit", cart, ball, restitution=0.5)
    s.contact("floor", da.plane(), ball, friction=0.3)
    return s


# ---- events


@pytest.mark.parametrize(
    "output",
    ["body.position.z", "body.position.z + 0 * body.velocity.x", "floor.gap + 0.1", lambda s: s.q[-1]],
    ids=["name", "formula", "gap", "function"],
)
def test_an_event_ends_a_run_where_it_occurs(output: object) -> None:
    """After an impact; in the core, and in Python where it does not evaluate the output."""
    event = da.Event("high", output, value=0.5, direction=1, terminal=True)
    result = da.simulate(bouncing_ball(), 2.0, contact="steps", events=event)
    if not callable(output):
        assert result.status == "event" and result.t[-1] == pytest.approx(RISING, abs=1e-12)
        assert result["body.position.z"][-1] == pytest.approx(0.5, abs=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-11


def test_events_that_are_recorded_change_no_bit() -> None:
    plain = da.simulate(bouncing_ball(), 2.0, contact="steps")
    watched = da.simulate(bouncing_ball(), 2.0, contact="steps", events=da.Event("level", "body.position.z", value=0.5))
    assert np.array_equal(plain.q, watched.q) and np.array_equal(plain.v, watched.v)
    times = [event.t for event in watched.events if event.name == "level"]
    assert times[1] == pytest.approx(RISING, abs=1e-12) and len(times) == 5


@pytest.mark.parametrize("output", ["body.position.z", "floor.gap"])
def test_an_action_in_python_changes_the_motion(output: str) -> None:
    """A kick to the side on the way up; the impact after it is with friction 0."""
    seen = []

    def kick(now: da.EventContext) -> None:
        seen.append(now.t)
        now.v[3] += 2.0

    value = 0.5 if output.startswith("body") else 0.4
    event = da.Event("kick", output, value=value, direction=1, action=kick)
    result = da.simulate(bouncing_ball(), 1.3, contact="steps", events=event)
    assert seen == pytest.approx([RISING], abs=1e-12)
    assert result["body.position.x"][-1] == pytest.approx(2.0 * (1.3 - RISING), abs=1e-11)
    assert result["energy.balance"][-1] == pytest.approx(0.0, abs=1e-9)
    impulse = result["floor.impulse.z"][-1]
    assert impulse - G * 1.3 == pytest.approx(result["body.velocity.z"][-1], abs=1e-9)
    assert result["floor.impulse.norm"][-1] == pytest.approx(impulse, rel=1e-12)  # without friction


def test_forces_of_contacts_trigger_events() -> None:
    """Forces are constant over steps: the event lies at the beginning of the step of the impact."""
    seen = []
    events = [
        da.Event("loaded", "floor.normal", value=1.0, direction=1, action=lambda now: seen.append(now.t)),
        da.Event("thrust", "body.acceleration.z", direction=1),
    ]
    result = da.simulate(bouncing_ball(), 1.3, contact="steps", events=events)
    plain = da.simulate(bouncing_ball(), 1.3, contact="steps")
    impacts = [event.t for event in plain.events]
    assert len(seen) == 2 and all(0 <= b - a < 1.001e-3 for a, b in zip(seen, impacts, strict=True))
    assert np.array_equal(result.q[-1], plain.q[-1])
    assert [event.t for event in result.events if event.name == "thrust"] == pytest.approx(seen, abs=1e-9)


def test_an_event_within_a_step_with_sliding_and_sticking_contacts_keeps_the_balance() -> None:
    s = box_stack(3)
    s.place("box2", position=(0.05, 0.0, 0.5), velocity=(1.0, 0.3, 0.0))
    model = s.compile()
    event = da.Event("e", "box2.position.x", value=0.0876543, action=lambda now: None)
    result = da.simulate(model, 0.5, contact="steps", events=event)
    assert result.events and result["energy.balance"] == pytest.approx(0.0, abs=1e-9)
    whole = da.simulate(model, 0.5, contact="steps")
    # other steps: first order
    assert result.q[-1] == pytest.approx(whole.q[-1], abs=1e-3)
    total = model.momentum(result.q[-1], result.v[-1])[3:] - model.momentum(result.q[0], result.v[0])[3:]
    weight = 3.0 * np.array([0, 0, -G]) * 0.5
    assert total == pytest.approx(weight + result["floor.impulse"][-1], abs=1e-9)


@pytest.mark.parametrize("action", ["set X.friction = 0.5", da.Lock("X"), lambda now: now.set("X.friction", 0.5)])
def test_actions_on_joints_with_friction_of_the_same_problem(action: object) -> None:
    """Pushed by 3 N against 2 N, later 0.5 N."""
    event = da.Event("e", "X.position", value=0.005, action=action)
    result = da.simulate(braked_cart(), 0.2, contact="steps", parameters={"push.u": 3.0}, events=event)
    locks = isinstance(action, da.Lock)
    assert result.events[0].t == pytest.approx(0.1, abs=1e-9)
    assert result["X.speed"][-1] == pytest.approx(0.0 if locks else 0.35, abs=1e-9)
    if not locks:
        assert result["X.friction"][[50, -1]] == pytest.approx([-2.0, -0.5], abs=1e-9)


def test_outputs_of_joint_friction_and_stops_by_steps() -> None:
    held = da.simulate(braked_cart(), 0.1, contact="steps", parameters={"push.u": 1.5})
    assert held["X.friction"] == pytest.approx(np.full(len(held), -1.5), abs=1e-8)
    assert (held["X.stuck"] == 1).all() and (held["X.stop"] == 0).all()
    stopped = da.simulate(braked_cart(), 0.5, contact="steps", parameters={"push.u": -5.0})
    assert stopped["X.stop"][-1] == -1 and stopped["X.stop"][0] == 0
    assert stopped["X.friction"][-1] == pytest.approx(5.0, abs=1e-8)


def test_a_run_that_goes_on_in_steps_keeps_its_events() -> None:
    s = box_stack(6)
    result = da.simulate(s, 0.02, events=da.Event("time", "t", value=0.01, terminal=True))
    assert result.status == "event" and result.t[-1] == pytest.approx(0.01, abs=1e-12)
    assert any("goes on in steps" in note for note in result.notes)


# ---- control, streams, Ctrl-C


@pytest.mark.parametrize("period", [0.01, 0.0037])
def test_sampled_control_acts_as_a_loop_of_short_advances(period: float) -> None:
    """A force held over each period; periods that are no multiple of the step end steps early."""

    def control(state: da.State) -> np.ndarray:
        tau = np.zeros(len(state.v))
        tau[3] = 6.0 if np.sin(30.0 * state.t) > 0.0 else -6.0
        return tau

    block = one_body(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), friction=0.3, velocity=(0.5, 0, 0))
    sampled = da.SampledControl(control, period)
    whole = da.simulate(block, 0.3, contact="steps", control=sampled)
    live = da.Live(block, control=da.SampledControl(control, period))
    while live.t < 0.3 - 1e-9:
        live.advance(min(period, 0.3 - live.t))
    assert live.result().q[-1] == pytest.approx(whole.q[-1], abs=1e-12)
    assert np.abs(whole["energy.balance"]).max() < 1e-9
    assert np.ptp(whole["body.velocity.x"]) > 0.1


def test_a_stream_has_the_bits_of_a_run_in_memory(tmp_path: Path) -> None:
    model = random_contact_scene(5, 6).system.compile()
    event = da.Event("e", "b0.position.z", value=0.9)
    plain = da.simulate(model, 0.3, contact="steps", events=event)
    streamed = da.simulate(model, 0.3, contact="steps", events=event, stream=tmp_path / "run")
    for name in ("planes.force", "planes.impulse", "energy.balance"):
        assert np.array_equal(plain[name], streamed[name])
    assert np.array_equal(plain.q, streamed.q) and len(plain.events) == len(streamed.events)
    assert str(plain.touching(0.3)) == str(streamed.touching(0.3))


def test_damaged_contact_points_of_a_stream_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    da.simulate(bouncing_ball(), 0.5, contact="steps", stream=folder)
    blob = bytearray((folder / "contacts.bin").read_bytes())
    blob[len(blob) // 2] ^= 1
    (folder / "contacts.bin").write_bytes(blob)
    with pytest.raises(da.FileError, match=r"contacts\.bin"):
        da.simulate(bouncing_ball(), 0.6, contact="steps", stream=folder, resume=True)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("searched", ["", "b0.position.z", "planes.gap"])
def test_a_run_that_is_interrupted_resumes_with_the_same_bits(streams: bool, searched: str, tmp_path: Path) -> None:
    """Where Ctrl-C is pressed; without events, and with events in the core and in Python."""
    model = random_contact_scene(5, 6).system.compile()
    options = {"contact": "steps:1e-4"} | ({"stream": tmp_path / "run"} if streams else {})
    if searched:
        options["events"] = da.Event("e", searched, value=0.01, action=lambda now: None)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        part = da.simulate(model, 60.0, on_error="return", **options)
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, old)
    assert part.status == "interrupted" and part.t[-1] < 60.0
    assert np.isfinite(part["planes.force"]).all()
    end = float(part.t[-1]) + 5e-3
    again = da.simulate(model, end, resume=True if streams else part, **options)
    options.pop("stream", None)
    whole = da.simulate(model, end, **options)
    assert np.array_equal(again.q, whole.q) and np.array_equal(again["planes.force"], whole["planes.force"])


# ---- Live


def test_a_live_run_is_one_of_simulate() -> None:
    scene = random_contact_scene(5, 6)
    model = scene.system.compile()
    whole = da.simulate(model, 0.3, contact="steps")
    live = da.Live(model)
    live.advance(0.3)
    result = live.result()
    assert np.array_equal(result.q, whole.q) and np.array_equal(result["planes.force"], whole["planes.force"])
    assert [event.t for event in result.events] == [event.t for event in whole.events]


@pytest.mark.parametrize("record", [True, False])
def test_a_live_run_in_short_advances_reads_forces_of_the_last_step(record: bool) -> None:
    model = random_contact_scene(5, 6).system.compile()
    whole = da.simulate(model, 0.3, contact="steps")
    live = da.Live(model, record=record)
    read = live.reader(["b0.position", "planes.force", "b0.acceleration"])
    assert read()[3:6] == pytest.approx(np.zeros(3))
    rows = []
    for _ in range(300):
        live.advance(1e-3)
        rows.append(read())
    found = np.array(rows)
    # times are sums of other numbers: rounding
    assert found[-1, :3] == pytest.approx(whole["b0.position"][-1], abs=1e-12)
    assert found[:-1, 3:6] == pytest.approx(whole["planes.force"][:-2], abs=1e-6)
    assert live["b0.acceleration"] == pytest.approx(whole["b0.acceleration"][-1], abs=1e-6)
    assert len(live.result()) == (301 if record else 1)
    assert live.result()["planes.force"][-1] == pytest.approx(whole["planes.force"][-1], abs=1e-6)


def test_parameters_of_a_live_run_change_friction_and_elements() -> None:
    live = da.Live(braked_cart())
    live.advance(0.1)
    assert live["X.speed"] == 0.0 and live["X.stuck"] == 1
    live.set("push.u", 3.0)
    live.advance(0.1)
    assert live["X.speed"] == pytest.approx(0.1, abs=1e-9)
    live.set("X.friction", 0.5)
    live.advance(0.1)
    assert live["X.speed"] == pytest.approx(0.35, abs=1e-9)
    live.set("X.friction", 0.0)
    live.advance(0.1)
    assert live["X.speed"] == pytest.approx(0.65, abs=1e-9)
    assert np.abs(live.result()["energy.balance"]).max() < 1e-9


def test_an_event_ends_a_live_run() -> None:
    live = da.Live(bouncing_ball(), events=da.Event("high", "body.position.z", value=0.5, direction=1, terminal=True))
    while not live.ended:
        live.advance(0.05)
    assert live.t == pytest.approx(RISING, abs=1e-12)


def test_a_balancing_controller_stands_on_friction() -> None:
    """A box on a slope pushed up at 10 N as soon as it slides: Coulomb's law decides."""
    s = one_body(da.box(0.2, 0.2, 0.1, mass=1.0), (0, 0, 0.05), gravity=on_slope(0.3), friction=0.25)
    live = da.Live(s)
    live.advance(0.2)
    a = G * (np.sin(0.3) - 0.25 * np.cos(0.3))
    assert live["body.velocity.x"] == pytest.approx(a * 0.2, rel=1e-9)
    assert live["floor.state"] == 2 and live["floor.slip"] == pytest.approx(a * 0.2, rel=1e-9)
    assert live["floor.friction.x"] == pytest.approx(-0.25 * G * np.cos(0.3), rel=1e-6)


def test_a_live_run_refuses_contact_by_events() -> None:
    with pytest.raises(da.ModelError, match="use 'steps'"):
        da.Live(bouncing_ball(), contact="events")
    live = da.Live(bouncing_ball(), contact="off")
    live.advance(1.0)
    assert live["body.position.z"] == pytest.approx(1.1 - G / 2, abs=1e-9)
