"""Contact by steps with stiff servos, springs and dampers at joints, against the rule of a step in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da

TARGET = 0.5
INERTIA = 0.1 * (0.2**2 + 0.05**2) / 12 + 0.1 * 0.1**2 + 0.02  # of the arm about its joint, with the armature


def arm(element: da.Element, armature: float = 0.02, **joint: float) -> da.System:
    """Return an arm about a vertical axis with an element at its joint, and a ball that rests far away."""
    s = da.System("arm")
    link = s.body("link", da.box(0.2, 0.05, 0.05, mass=0.1))
    ball = s.body("ball", da.sphere(0.05, mass=0.1))
    s.connect("J", da.Revolute("z", armature=armature, **joint), s.ground.at(0, 0, 1), link.at(-0.1, 0, 0))
    s.connect("E", element, "J")
    s.place(ball, position=(5.0, 0, 0.05))
    s.initial("J", position=0.1, speed=-1.0)
    s.contact("floor", da.plane(), ball, friction=0.5)
    return s


def by_rule(k: float, c: float, inertia: float, h: float, count: int) -> NDArray[np.float64]:
    """Return the angles (count + 1,) of steps that take spring and damper at the means of a step."""
    q, v, found = 0.1, -1.0, [0.1]
    added = max(h * c / 2, h * c - inertia) + h**2 * k / 4
    for _ in range(count):
        middle = q + h / 2 * v
        v += h * (k * (TARGET - middle) - c * v) / (inertia + added)
        q = middle + h / 2 * v
        found.append(q)
    return np.array(found)


@pytest.mark.parametrize(("k", "c"), [(150.0, 4.0), (500.0, 80.0), (1e5, 80.0), (2000.0, 0.0)])
@pytest.mark.parametrize("made", ["servo", "spring"])
def test_a_step_takes_springs_and_dampers_at_its_means(k: float, c: float, made: str) -> None:
    """80 N m s/rad on 0.02 kg m2 would diverge in explicit steps of 1 ms."""
    element = da.PositionServo(TARGET, k, c) if made == "servo" else da.TorsionSpring(k, c, rest=TARGET)
    result = da.simulate(arm(element), 0.1, contact="steps:1e-3", times=np.arange(101) * 1e-3)
    assert result["J.position"] == pytest.approx(by_rule(k, c, INERTIA, 1e-3, 100), abs=1e-8)


def test_servos_have_second_order_between_contacts() -> None:
    s = arm(da.PositionServo("0.5 + 0.1*sin(20*t)", 150.0, 4.0))
    exact = da.simulate(s, 0.2, contact="off", rtol=1e-11, atol=1e-13)["J.position"][-1]
    errors = [abs(da.simulate(s, 0.2, contact=f"steps:{h}")["J.position"][-1] - exact) for h in (4e-3, 2e-3, 1e-3)]
    assert errors[0] > 3.7 * errors[1] > 3.7**2 * errors[2] > 0.0


def test_bounded_actuators_give_their_bound_and_no_damping_beyond_it() -> None:
    """The servo asks for far more than 1 N m: the arm accelerates by it alone."""
    model = arm(da.PositionServo(100.0, 1e4, 80.0), max_effort=1.0).compile()
    result = da.simulate(model, 0.05, contact="steps:1e-3")
    assert result["J.speed"][-1] == pytest.approx(-1.0 + 0.05 / INERTIA, rel=1e-9)


def test_lanes_have_stiff_joints_too() -> None:
    model = arm(da.PositionServo("0.5 + 0.1*sin(20*t)", 500.0, 80.0, limit=30.0)).compile()
    runs = da.rollout(model, None, np.zeros((5, 10, 0)), 0.01, inputs=[], contact="steps:1e-3")
    alone = da.simulate(model, 0.1, contact="steps:1e-3", times=runs.t)
    for q in runs.q:
        assert q == pytest.approx(alone.q, abs=1e-9)


def pusher(stiffness: float = 2e4, damping: float = 60.0) -> da.System:
    """Return an arm whose stiff servo presses a ball onto the floor."""
    s = da.System("pusher")
    link = s.body("link", da.box(0.4, 0.03, 0.03, mass=0.2))
    tip = s.body("tip", da.sphere(0.02, mass=0.05))
    s.connect("J", da.Revolute("y", armature=0.005), s.ground.at(0, 0, 0.1), link.at(-0.2, 0, 0))
    s.connect("fixed", da.Fixed(), link.at(0.2, 0, 0), tip)
    s.connect("servo", da.PositionServo(0.3, stiffness, damping), "J")
    s.contact("floor", da.plane(), tip, friction=0.6)
    return s


def test_a_stiff_servo_presses_a_foot_onto_the_floor() -> None:
    """At rest the moments of the servo, of weight and of the floor balance."""
    result = da.simulate(pusher(), 0.5, contact="steps:1e-3")
    end = result.at([0.5])
    assert np.abs(result.v[-1]).max() < 1e-9
    angle = end["J.position"][0]
    servo = 2e4 * (0.3 - angle)
    weight = 9.81 * np.cos(angle) * (0.2 * 0.2 + 0.05 * 0.4)
    normal, friction = end["floor.normal"][0], end["floor.friction.x"][0]
    assert 0.4 * np.sin(angle) == pytest.approx(0.08, abs=1e-6)
    assert servo + weight == pytest.approx(0.4 * np.cos(angle) * normal + 0.1 * friction, rel=1e-6)
    assert normal > 100.0


def test_gradients_of_steps_with_stiff_joints() -> None:
    """By the start values, against differences of whole runs."""
    element = da.PositionServo(TARGET, 500.0, 80.0)
    model = arm(element).compile()
    found = da.sensitivity(model, {"q": ("J.position", "final")}, ["gravity.z", "E.stiffness"], 0.01, contact="steps")
    ends = []
    for change in (1e-2, -1e-2):
        other = arm(da.PositionServo(TARGET, 500.0 + change, 80.0))
        ends.append(da.simulate(other, 0.01, contact="steps")["J.position"][-1])
    assert found["q"][1] == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=1e-5)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_load_that_presses_is_no_impact(restitution: float) -> None:
    """Within a step it would give the box 10 m/s; each part of a step that ended there took a part of its own."""
    s = da.System("pressed")
    box = s.body("box", da.box(0.1, 0.1, 0.1, mass=0.1))
    s.place(box, position=(0, 0, 0.0505))
    s.connect("load", da.Load(force=(200.0, 0, -500.0)), box)
    s.contact("floor", da.plane(), box, friction=0.5, restitution=restitution)
    result = da.simulate(s, 0.2, contact="steps:2e-3")
    assert result.stats.evaluations < 1.7 * result.stats.steps
    assert result["floor.normal"][-1] == pytest.approx(500.0 + 0.1 * 9.81, rel=1e-9)
    assert np.abs(result["box.velocity"][-1]).max() < 1e-9
