"""Broad phase of compliant contact: pairs that are far away change nothing, and no hit is passed over."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import dalembert as da

SOFT = {"stiffness": 1e5, "exponent": 1.0, "restitution": 0.6, "friction": 0.3}
METHODS = ["dop853", "dopri5", "radau"]


def _far_boxes(s: da.System, body: da.Body, count: int) -> None:
    far = [s.body(f"far{k}", da.box(0.2, 0.2, 0.2, mass=1.0)) for k in range(count)]
    for k, each in enumerate(far):
        s.connect(f"fixed{k}", da.Fixed(), s.ground.at(20.0 + 0.5 * (k % 10), 0.5 * (k // 10), 0.0), each)
    if far:
        s.contact("far", body, far, **SOFT)


def _bouncing(count: int) -> da.System:
    s = da.System("bouncing")
    ball = s.body("ball", da.sphere(0.1, mass=1.0))
    s.contact("floor", da.plane(), ball, **SOFT)
    _far_boxes(s, ball, count)
    s.place("ball", position=(0, 0, 0.4), velocity=(0.5, 0, 0))
    return s


@pytest.mark.parametrize("method", [*METHODS, "alpha"])
def test_far_shapes_change_neither_steps_nor_result(method):
    alone, among = (da.simulate(_bouncing(count), 0.6, method=method) for count in (0, 20))
    assert (among.stats.steps, among.stats.rejected) == (alone.stats.steps, alone.stats.rejected)
    for name in ("ball.position", "ball.velocity", "floor.force"):
        np.testing.assert_array_equal(among[name], alone[name])
    assert not among["far.force"].any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("speed", [3.0, 300.0])
def test_fast_ball_hits_one_of_twenty(method, speed):
    s = da.System("twenty", gravity=(0, 0, 0))
    ball = s.body("ball", da.sphere(0.05, mass=0.1))
    others = [s.body(f"other{k}", da.sphere(0.05, mass=0.1)) for k in range(20)]
    for k, each in enumerate(others):
        s.place(each, position=(4.0 + (k % 5) * 0.02, 0.3 * (k - 10), 0.0))
    s.contact("balls", ball, others, stiffness=1e9, exponent=1.5, restitution=1.0)
    s.place("ball", velocity=(speed, 0, 0))
    result = da.simulate(s, 8.0 / speed, method=method)
    moved = [k for k in range(20) if abs(result[f"other{k}.velocity"][-1]).max() > 1e-9 * speed]
    assert moved == [10]
    total = result["ball.velocity.x"][-1] + result["other10.velocity.x"][-1]
    assert total == pytest.approx(speed, rel=1e-9)
    assert result["other10.velocity.x"][-1] == pytest.approx(speed, rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_rod_of_a_pendulum_meets_a_thin_post(method):
    s = da.System("gate")
    rod = s.body("rod", da.box(0.02, 0.02, 1.0, mass=1.0))
    s.connect("hinge", da.Revolute("y"), s.ground, rod.at(0, 0, 0.5))
    s.initial("hinge", position=np.pi / 2)
    posts = [s.body(f"post{k}", da.cylinder(0.002, 0.5, mass=1.0)) for k in range(6)]
    for k, post in enumerate(posts):  # the rod passes between the first five
        place = (0.0, 0.1 * (k - 2) + 0.05, -0.9) if k < 5 else (0.0, 0.0, -0.9)
        s.connect(f"fixed{k}", da.Fixed(), s.ground.at(*place, rotation=da.bryant(np.pi / 2, 0, 0)), post)
    s.contact("gate", rod, posts[5:], stiffness=1e6, exponent=1.0, restitution=0.9)
    s.contact("others", rod, posts[:5], stiffness=1e6, exponent=1.0, restitution=0.9)
    result = da.simulate(s, 1.2, method=method)
    assert result["hinge.position"].min() > -0.05  # it comes back
    assert result["gate.impulse"][-1].any()


@pytest.mark.parametrize("method", METHODS)
def test_tip_of_a_fast_rotor_meets_a_ball(method):
    s = da.System("rotor", gravity=(0, 0, 0))
    rotor = s.body("rotor", da.box(1.0, 0.02, 0.02, mass=1.0))
    s.connect("hinge", da.Revolute("z"), s.ground, rotor.at(-0.5, 0, 0))
    s.initial("hinge", position=1.0, speed=400.0)
    ball = s.body("ball", da.sphere(0.01, mass=0.01))
    s.place("ball", position=(1.2, 0.0, 0.0), velocity=(-1.0, 0, 0))
    s.contact("hit", rotor, ball, stiffness=1e6, exponent=1.0, restitution=0.9)
    result = da.simulate(s, 0.4, method=method)
    assert result["hit.impulse"][-1].any()
    assert result["hinge.speed"][-1] < 399.0


@pytest.mark.parametrize("method", METHODS)
def test_hit_that_begins_and_ends_between_two_equal_positions(method):
    # A driven hammer: nothing accelerates the states, so steps grow over many periods of its law.
    s = da.System("hammer", gravity=(0, 0, 0))
    hammer = s.body("hammer", da.sphere(0.05, mass=1.0))
    s.connect("slide", da.Prismatic("x"), s.ground, hammer)
    s.drive("slide", position=da.Harmonic(amplitude=0.5, frequency=40.0 * np.pi))
    ball = s.body("ball", da.sphere(0.05, mass=0.1))
    s.place("ball", position=(0.55, 0.0, 0.0))
    s.contact("hit", hammer, ball, stiffness=1e6, exponent=1.0, restitution=0.9)
    result = da.simulate(s, 2.0, method=method)
    assert result["ball.velocity.x"][-1] > 1.0


def test_resumed_run_has_the_same_bits():
    def stop(state: da.State) -> dict[str, float]:
        if state.t > 0.27 and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return {}

    pressed: list[bool] = []
    model = _bouncing(5).compile()
    whole = da.simulate(model, 0.6, method="dop853", control=lambda state: {})
    part = da.simulate(model, 0.6, method="dop853", control=stop)
    assert part.status == "interrupted"
    rest = da.simulate(model, 0.6, method="dop853", control=lambda state: {}, resume=part)
    np.testing.assert_array_equal(rest.at(whole.t[-5:])["ball.position"], whole["ball.position"][-5:])
    np.testing.assert_array_equal(rest["floor.force"][-1], whole["floor.force"][-1])


def test_states_within_steps_are_those_of_the_run():
    result = da.simulate(_bouncing(5), 0.6, method="dop853")
    times = np.linspace(0.0, 0.6, 61)
    sampled = da.simulate(_bouncing(5), 0.6, method="dop853", times=times)
    np.testing.assert_array_equal(result.at(times)["ball.position"], sampled["ball.position"])
