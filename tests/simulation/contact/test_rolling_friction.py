"""Friction against rolling and spin, in rigid contact by steps: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

G = 9.81  # m/s2
RADIUS, MASS = 0.1, 2.0


def on_floor(speed: float = 0.0, turning: float = 0.0, slope: float = 0.0, **numbers: float) -> da.System:
    s = da.System("ball")
    s.gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    ball = s.body("ball", da.sphere(RADIUS, mass=MASS))
    s.place(ball, position=(0, 0, RADIUS), velocity=(speed, 0, 0), angular_velocity=(0, speed / RADIUS, turning))
    s.contact("floor", da.plane(), ball, friction=0.6, **numbers)
    return s


def test_a_ball_rolls_out() -> None:
    arm, speed = 0.004, 2.0
    a = arm * G / (1.4 * RADIUS)
    result = da.simulate(on_floor(speed, rolling=arm), 1.1 * speed / a, contact="steps")
    assert result["ball.position"][-1] == pytest.approx([0.5 * speed**2 / a, 0.0, RADIUS], abs=1e-6)
    assert np.interp(3.0, result.t, result["ball.velocity"][:, 0]) == pytest.approx(speed - 3.0 * a, abs=1e-9)
    assert abs(result["ball.velocity"][-1]).max() < 1e-11
    assert result.at([1.0])["floor.moment"][0] == pytest.approx([0.0, -arm * MASS * G, 0.0], abs=1e-9)
    assert result["floor.lost"][-1] == pytest.approx(0.7 * MASS * speed**2, rel=1e-8)
    assert abs(result["energy.balance"]).max() < 1e-8


def test_a_ball_stops_spinning() -> None:
    arm, spin = 0.003, 10.0
    rate = arm * MASS * G / (0.4 * MASS * RADIUS**2)
    result = da.simulate(on_floor(turning=spin, spin=arm), 2.0, contact="steps")
    assert result.at([1.0])["ball.angular_velocity"][0, 2] == pytest.approx(spin - rate, abs=1e-9)
    assert abs(result["ball.angular_velocity"][-1]).max() < 1e-10
    assert result.at([1.0])["floor.moment"][0] == pytest.approx([0.0, 0.0, -arm * MASS * G], abs=1e-9)


def test_a_ball_on_a_slope_rests_below_the_angle_of_rolling() -> None:
    arm = 0.004
    rests = da.simulate(on_floor(slope=0.039, rolling=arm), 10.0, contact="steps:1e-2")
    assert abs(rests["ball.position"][-1, 0]) < 1e-12
    rolls = da.simulate(on_floor(slope=0.05, rolling=arm), 1.0, contact="steps")
    a = G * (np.sin(0.05) - arm / RADIUS * np.cos(0.05)) / 1.4
    assert rolls["ball.velocity"][-1, 0] == pytest.approx(a, rel=1e-9)


def test_wheels_of_a_cart_roll_out() -> None:
    """Contacts of a tree: mass of the cart, inertia of the wheels."""
    arm, speed = 0.005, 1.0
    s = da.System("cart")
    cart = s.body("cart", da.box(0.4, 0.2, 0.05, mass=3.0))
    s.connect("base", da.Free(), s.ground, cart)
    s.initial("base", position=[1, 0, 0, 0, 0, 0, 0.12], speed=[0, 0, 0, speed, 0, 0])
    wheels = []
    for k, (x, y) in enumerate(((0.15, 0.15), (0.15, -0.15), (-0.15, 0.15), (-0.15, -0.15))):
        wheel = s.body(f"w{k}", da.sphere(RADIUS, mass=0.5))
        s.connect(f"axle {k}", da.Revolute("y"), cart.at(x, y, -0.02), wheel)
        s.initial(f"axle {k}", speed=speed / RADIUS)
        wheels.append(wheel)
    s.contact("floor", da.plane(), wheels, friction=0.7, rolling=arm)
    result = da.simulate(s, 3.0)
    assert any("by steps: friction against rolling" in note for note in result.notes)
    a = arm * 5.0 * G / RADIUS / (5.0 + 4 * 0.4 * 0.5)
    assert result["cart.position"][-1, 0] == pytest.approx(0.5 * speed**2 / a, abs=1e-5)
    assert abs(result.v[-1]).max() < 1e-11


def test_a_lying_disk_stops_by_spin_friction_of_its_rim_and_its_points() -> None:
    """A cylinder on its end bears on its rim: the moment of sliding is mu N r, that of spin friction adds arm N."""
    mu, arm, spin = 0.2, 0.01, 20.0
    s = da.System("disk")
    disk = s.body("disk", da.cylinder(0.02, RADIUS, mass=MASS))
    s.place(disk, position=(0, 0, 0.01), angular_velocity=(0, 0, spin))
    s.contact("floor", da.plane(), disk, friction=mu, spin=arm)
    result = da.simulate(s, 0.2, contact="steps")
    rate = (mu * RADIUS + arm) * G / (0.5 * RADIUS**2)
    assert result["disk.angular_velocity"][-1, 2] == pytest.approx(spin - 0.2 * rate, rel=1e-7)


def test_a_file_keeps_them(tmp_path) -> None:
    s = on_floor(2.0, rolling=0.004)
    da.save(s, tmp_path / "ball.yaml")
    again = da.load(tmp_path / "ball.yaml")
    one, other = (da.simulate(system, 0.5, contact="steps") for system in (s, again))
    assert np.array_equal(one.q, other.q)
    assert again.contacts["floor"].rolling == 0.004


@pytest.mark.parametrize(
    ("numbers", "contact", "part"),
    [
        ({"rolling": -0.1}, "auto", "rolling is -0.1; it must not be negative"),
        ({"spin": float("nan")}, "auto", "spin"),
        ({"rolling": 0.01}, "events", "works by steps: use contact='steps'"),
        ({"rolling": 0.01, "stiffness": 1e5}, "auto", "compliant contact has no such friction"),
    ],
)
def test_what_is_refused(numbers: dict[str, float], contact: str, part: str) -> None:
    with pytest.raises(da.ModelError, match=part):
        da.simulate(on_floor(1.0, **numbers), 0.1, contact=contact)
