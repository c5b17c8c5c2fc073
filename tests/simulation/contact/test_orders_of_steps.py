"""Contacts that persist have second order in steps: rolling and sliding bodies against runs by events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as da

G = 9.81
RADIUS = 0.0375


def euler_disk(tilt: float = 0.1, thickness: float = 1e-3) -> da.System:
    """Return a disk that rolls on its edge in a circle, its centre nearly at rest."""
    s = da.System("disk")
    disk = s.body("body", da.cylinder(thickness, RADIUS, mass=0.2))
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    down = axis * axis[2] - np.array([0.0, 0.0, 1.0])
    down /= np.linalg.norm(down)
    arm = RADIUS * down - thickness / 2 * axis
    turning = -np.sqrt(4 * G / (RADIUS * np.sin(tilt))) * np.sin(tilt) * down
    velocity = -np.cross(turning, arm)
    s.place(
        disk, position=(0, 0, -arm[2]), bryant=(tilt, 0, 0), velocity=tuple(velocity), angular_velocity=tuple(turning)
    )
    s.contact("floor", da.plane(), disk, friction=1.0)
    return s


def ladder(angle: float = np.deg2rad(70.0), length: float = 2.0, radius: float = 1e-3) -> da.System:
    """Return a smooth ladder that slides down a wall."""
    s = da.System("ladder")
    rod = s.body("body", da.capsule(length, radius, mass=1.0, axis="x"))
    place = (length / 2 * np.cos(angle) + radius, 0, length / 2 * np.sin(angle) + radius)
    s.place(rod, position=place, bryant=(0, angle, 0))
    s.contact("floor", da.plane(), rod)
    s.contact("wall", s.ground.at(0, 0, 0, rotation=np.array([[0, 0, 1.0], [0, 1, 0], [-1.0, 0, 0]])), rod)
    return s


def sphere_on_sphere(friction: float = 2.0) -> da.System:
    """Return a sphere that rolls over a fixed one."""
    s = da.System("spheres")
    ball = s.body("body", da.sphere(0.1, mass=1.0))
    normal = np.array([np.sin(0.1), 0.0, np.cos(0.1)])
    velocity = np.array([0.0, 0.5, 0.0])
    turning = np.cross(normal, velocity) / 0.1
    s.place(ball, position=tuple(0.5 * normal), velocity=tuple(velocity), angular_velocity=tuple(turning))
    s.contact("fixed", da.sphere(0.4), ball, friction=friction)
    return s


@pytest.mark.parametrize(
    ("make", "t_end", "steps", "most"),
    [
        (euler_disk, 0.05, (1e-3, 5e-4, 2.5e-4), 2e-4),
        (ladder, 0.4, (4e-3, 2e-3, 1e-3), 1e-5),
        (sphere_on_sphere, 0.3, (4e-3, 2e-3, 1e-3), 1e-5),
    ],
)
def test_positions_of_rolling_and_sliding_bodies_have_second_order(
    make: Callable[[], da.System], t_end: float, steps: tuple[float, ...], most: float
) -> None:
    s = make()
    exact = da.simulate(s, t_end, contact="events", rtol=1e-10, atol=1e-12)["body.position"][-1]
    errors = []
    for h in steps:
        result = da.simulate(s, t_end, contact=f"steps:{h}")
        errors.append(float(np.abs(result["body.position"][-1] - exact).max()))
    assert errors[0] < most
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]


def test_a_disk_that_rolls_on_its_edge_keeps_its_energy() -> None:
    """At 102 rad/s by 0.5 ms, from the second step on, before a fixed point of the rim passes."""
    result = da.simulate(euler_disk(), 0.012, contact="steps:5e-4")
    total = result["energy.total"]
    assert np.abs(total[2:] / total[2] - 1.0).max() < 1e-6
    assert result["floor.gap"][2:].min() > -1e-6


def test_gradients_of_bodies_that_roll_on_curved_ones() -> None:
    """Against differences of whole runs."""

    def end(gravity: float) -> float:
        s = sphere_on_sphere()
        s.gravity = (0, 0, gravity)
        return float(da.simulate(s, 0.1, contact="steps:2e-3")["body.position.x"][-1])

    found = da.sensitivity(
        sphere_on_sphere(), {"x": ("body.position.x", "final")}, ["gravity.z"], 0.1, contact="steps:2e-3"
    )
    assert found["x"][0] == pytest.approx((end(-G + 1e-4) - end(-G - 1e-4)) / 2e-4, rel=1e-5)
