"""Friction at joints: closed forms, the Stribeck curve, stick-slip of a block on a belt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da


def slider(element: da.Element) -> da.System:
    s = da.System("slider", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    s.connect("friction", element, "slide")
    return s


def test_coulomb_friction_stops_a_block_after_the_distance_of_the_textbook() -> None:
    s = slider(da.CoulombFriction(4.0, slip_speed=1e-5))
    s.initial("slide", speed=3.0)
    result = da.simulate(s, 2.0)
    assert result["slide"][-1] == pytest.approx(3.0**2 / (2 * 2.0), rel=1e-4)
    assert abs(result["slide.speed"][-1]) < 1e-7
    assert result["energy.dissipated"][-1] == pytest.approx(9.0, rel=1e-5)
    assert abs(result["energy.balance"]).max() < 1e-5


def test_viscous_part_slows_down_exponentially() -> None:
    s = slider(da.CoulombFriction(0.0, viscous=3.0))
    s.initial("slide", speed=3.0)
    t = np.linspace(0, 2, 9)
    assert da.simulate(s, 2.0, times=t)["slide.speed"] == pytest.approx(3 * np.exp(-1.5 * t), abs=1e-8)


@pytest.mark.parametrize("speed", [-0.5, -0.02, 0.003, 0.01, 0.05, 1.0])
@pytest.mark.parametrize(
    "element",
    [
        da.StribeckFriction(6.0, 4.0, 0.02, viscous=0.7),
        da.LuGreFriction(6.0, 4.0, 0.02, bristle_stiffness=1e4, bristle_damping=30.0, viscous=0.7),
    ],
    ids=lambda e: e.kind,
)
def test_steady_sliding_follows_the_stribeck_curve(element: da.Element, speed: float) -> None:
    s = slider(element)
    s.drive("slide", speed=speed)
    s.initial("slide", speed=speed)
    result = da.simulate(s, max(0.3, 0.02 / abs(speed)))
    curve = (4 + 2 * np.exp(-((speed / 0.02) ** 2))) * np.sign(speed) + 0.7 * speed
    assert result["slide.effort"][-1] == pytest.approx(curve, rel=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-6


def test_lugre_sticks_below_the_static_force() -> None:
    s = slider(da.LuGreFriction(6.0, 4.0, 0.02, bristle_stiffness=1e4, bristle_damping=250.0))
    s.connect("push", da.Effort(3.0), "slide")
    result = da.simulate(s, 5.0)

    def rates(t: float, y: np.ndarray) -> list[float]:
        _, v, z = y
        bristle = v - 1e4 * abs(v) * z / (4 + 2 * np.exp(-((v / 0.02) ** 2)))
        return [v, (3.0 - 1e4 * z - 250.0 * bristle) / 2.0, bristle]

    x, v, z = solve_ivp(rates, (0, 5), [0.0, 0.0, 0.0], method="LSODA", rtol=1e-9, atol=1e-13).y[:, -1]
    assert z == pytest.approx(3.0 / 1e4, rel=1e-6) and abs(v) < 1e-9  # the bristles carry the force
    assert result["slide"][-1] == pytest.approx(x, rel=1e-5)
    assert result["slide"][-1] - result.at(2.0).q[0] < 1e-5
    assert abs(result["energy.balance"]).max() < 1e-8


def belt(element: da.Element, speed: float) -> da.System:
    s = da.System("belt", gravity=(0, 0, 0))
    moving = s.body("belt", da.box(1, 1, 0.1, mass=5.0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("run", da.Prismatic("x"), s.ground, moving)
    s.connect("slide", da.Prismatic("x"), moving, block)
    s.connect("friction", element, "slide")
    s.connect("spring", da.SpringDamper(stiffness=100.0, length=2.0), s.ground.at(-2, 0, 0), block)
    s.drive("run", speed=speed)
    s.initial("run", speed=speed)
    return s


@pytest.mark.parametrize(
    "element",
    [
        da.StribeckFriction(6.0, 4.0, 0.02, slip_speed=1e-4),
        da.LuGreFriction(6.0, 4.0, 0.02, bristle_stiffness=1e5, bristle_damping=600.0),
    ],
    ids=lambda e: e.kind,
)
def test_block_on_a_belt_sticks_and_slips(element: da.Element) -> None:
    speed = 0.05
    t = np.linspace(0, 8.0, 4001)
    result = da.simulate(belt(element, speed), 8.0, times=t)
    place, relative = result["block.position.x"], result["slide.speed"]
    late = t > 2.0
    sticking = abs(relative) < 2e-3
    # it rides with the belt for most of the time, and slips again and again
    assert 0.5 < sticking[late].mean() < 0.98
    assert np.count_nonzero(np.diff(sticking[late].astype(int)) == -1) >= 4
    # it breaks loose where the spring pulls with the static force
    assert place[late].max() == pytest.approx(6.0 / 100, rel=0.08)
    # and slips to the other side of the sliding force by nearly as much
    assert 0.015 < place[late].min() < 0.036
    assert abs(result["energy.balance"]).max() < 1e-4


@pytest.mark.parametrize(
    "make, field",
    [
        (lambda: da.CoulombFriction(-1), "coulomb"),
        (lambda: da.CoulombFriction(1, slip_speed=0), "slip_speed"),
        (lambda: da.StribeckFriction(1, 2, 0.1), "static"),
        (lambda: da.StribeckFriction(2, 1, 0.0), "stribeck_speed"),
        (lambda: da.LuGreFriction(2, 1, 0.1, bristle_stiffness=0), "bristle_stiffness"),
        (lambda: da.LuGreFriction(2, 0, 0.1, bristle_stiffness=1), "coulomb"),
        (lambda: da.LuGreFriction(1, 2, 0.1, bristle_stiffness=1), "static"),
    ],
)
def test_bad_numbers_are_named(make: Callable[[], da.Element], field: str) -> None:
    with pytest.raises(da.ModelError, match=field):
        make()


def test_joint_friction_on_an_incline_is_coulombs() -> None:
    """A block that slides up an incline and back: decelerations g (sin + mu cos) and g (sin - mu cos)."""
    angle, mu, g, begin = 0.5, 0.2, 9.81, 3.0
    s = da.System("incline", gravity=(-g * np.sin(angle), 0, -g * np.cos(angle)))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("guide", da.Prismatic("x"), s.ground, block)
    s.initial("guide", speed=begin)
    s.connect("friction", da.JointFriction("guide", mu, axis="x", slip_speed=1e-5), "guide")
    up, down = g * (np.sin(angle) + mu * np.cos(angle)), g * (np.sin(angle) - mu * np.cos(angle))
    turn = begin / up
    result = da.simulate(s, 2 * turn, rtol=1e-9)
    expected = np.where(
        result.t < turn, begin * result.t - up * result.t**2 / 2, begin * turn / 2 - down * (result.t - turn) ** 2 / 2
    )
    np.testing.assert_allclose(result["guide.position"], expected, atol=1e-4)
    lost = mu * 2.0 * g * np.cos(angle) * (begin * turn / 2 + abs(expected[-1] - begin * turn / 2))
    assert result["energy.dissipated"][-1] == pytest.approx(lost, rel=1e-4)
    assert abs(result["energy.balance"]).max() < 1e-4


def test_joint_friction_of_collar_and_long_bearing() -> None:
    """Load along the axis rubs at the collar; a moment across it presses at both ends of a long bearing."""
    s = da.System("shaft", gravity=(0, 0, -10.0))
    wheel = s.body("wheel", mass=3.0, com=(0.0, 0.0, 0.0), inertia=(0.1, 0.1, 0.2))
    s.connect("bearing", da.Revolute("z"), s.ground, wheel)
    s.initial("bearing", speed=5.0)
    s.connect("push", da.Load(force=(4.0, 0, 0)), wheel.at(0, 0, 0.5))
    friction = da.JointFriction("bearing", 0.1, radius=0.02, collar=0.05, half_length=0.25)
    s.connect("friction", friction, "bearing")
    model = s.compile()
    a = model.dynamics(0.0, [0.0], [5.0]).a[0]
    effort = 0.1 * (0.02 * (4.0 + 4.0 * 0.5 / 0.25) + 0.05 * 30.0)
    assert a == pytest.approx(-effort / 0.2, rel=1e-12)
