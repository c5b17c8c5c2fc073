"""Wheels on curves and surfaces of bodies that move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da
from dalembert.natural import Circle, Cylinder, Line, Mechanism, Plane

Array = NDArray[np.float64]


def swinging(carried: bool) -> Mechanism:
    """Return a wheel on a rod that swings, its centre led along the rod."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 2, 0), m.point("O", 0.8, 0.25), m.point("R", 0.8, 0.5)
    m.body("rod", ["A", "B"])
    if carried:
        m.wheel("wheel", "O", "R", Line((0, 0), (1, 0)), radius=0.25, on="rod")
    else:
        m.wheel("wheel", "O", "R", ("A", "B"), radius=0.25)
    m.drive("B", (da.Harmonic(2.0, 0.7, math.pi / 2), da.Harmonic(2.0, 0.7)))
    m.distance("s", "A", "O")
    m.drive("s", da.Polynomial((math.hypot(0.8, 0.25), 0.3, -0.1)))
    return m


def test_a_line_of_a_body_is_a_rod() -> None:
    """A straight track that a body carries moves as the rod by its two points."""
    times = np.linspace(0.0, 1.5, 7)
    one, two = (swinging(carried).motion(times) for carried in (True, False))
    for point in ("O", "R"):
        assert one[point] == pytest.approx(two[point], abs=1e-9)
        assert one.velocity(point) == pytest.approx(two.velocity(point), abs=1e-9)
        assert one.acceleration(point) == pytest.approx(two.acceleration(point), abs=1e-7)
    assert one["wheel.contact"] == pytest.approx(two["wheel.contact"], abs=1e-9)


@pytest.mark.parametrize("inside", [False, True])
def test_a_planet_rolls_on_a_sun_or_a_ring_that_turns(inside: bool) -> None:
    """Willis: with sun and arm at w1 and w0, the planet turns at w0 - (w1 - w0) r1 / r2, in a ring with a plus."""
    r1, r2, w1, w0 = 2.0, 0.5, 0.7, -0.4
    arm = r1 - r2 if inside else r1 + r2
    m = Mechanism(2)
    m.point("C", 0, 0, fixed=True), m.point("S", 1, 0), m.point("O", arm, 0), m.point("R", arm + 0.2, 0.3)
    m.body("sun", ["C", "S"])
    m.link("arm", "C", "O")
    m.wheel("planet", "O", "R", Circle((0, 0), r1, inside=inside), radius=r2, on="sun")
    m.drive("S", (da.Harmonic(1.0, w1, math.pi / 2), da.Harmonic(1.0, w1)))
    m.vector("x", 1, 0, fixed=True), m.angle("psi", "x", ("C", "O"))
    m.drive("psi", da.Polynomial((0.0, w0)))
    motion = m.motion([0.0, 0.6, 1.7])
    sign = -1.0 if inside else 1.0
    wanted = w0 - sign * (w1 - w0) * r1 / r2
    assert motion["planet.angular_velocity"] == pytest.approx(np.full(3, wanted), abs=1e-9)
    assert motion["planet.angular_acceleration"] == pytest.approx(np.zeros(3), abs=1e-7)
    assert motion["planet.angle"] == pytest.approx(wanted * motion.t, abs=1e-8)


def turn(axis: Array, angle: float) -> Array:
    a = axis / np.linalg.norm(axis)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def coin(t: float) -> tuple[Array, Array, Array]:
    """Return O, A and u of a leaning coin of radius 0.5 that rolls on z = 0 in a circle, exactly."""
    lean, ring, rate = 0.4, 1.5, 0.8  # angle of the disc with the vertical, radius of the circle of contact, rad/s
    z = np.array([0.0, 0.0, 1.0])
    out = turn(z, rate * t) @ np.array([1.0, 0.0, 0.0])
    P = ring * out
    up = math.cos(lean) * z - math.sin(lean) * out
    u = math.cos(lean) * out + math.sin(lean) * z
    centre = P + 0.5 * up
    forward = np.cross(u, up)
    # the contact runs along the rim as far as along the floor
    spin = ring * rate * t / 0.5 * math.copysign(1.0, float(np.cross(z, out) @ forward))
    rim = 0.4 * (math.cos(spin) * up + math.sin(spin) * forward)
    return centre, centre + rim, u


def test_a_coin_on_a_floor_that_moves() -> None:
    """Rows of velocity and acceleration hold for a coin that rolls exactly on a floor that tilts and travels."""
    m = Mechanism(3)
    for name, at in zip(("O", "A"), coin(0.0)[:2], strict=True):
        m.point(name, *at)
    m.vector("u", *coin(0.0)[2])
    m.point("F", 0, 0, 0), m.vector("e1", 1, 0, 0), m.vector("e2", 0, 1, 0), m.vector("e3", 0, 0, 1)
    m.body("floor", ["F"], ["e1", "e2", "e3"])
    made = m.wheel("wheel", "O", "A", Plane(), radius=0.5, axis="u", on="floor")

    def place(t: float) -> tuple[Array, Array]:
        R = turn(np.array([0.3, 1.0, 0.2]), 0.5 * math.sin(0.9 * t)) @ turn(np.array([0, 0, 1.0]), 0.4 * t * t)
        return np.array([0.3 * t * t, math.sin(t), 0.2 * t]), R

    def everything(t: float) -> Array:
        o, R = place(t)
        centre, A, u = coin(t)
        return np.concatenate([o + R @ centre, o + R @ A, R @ u, o, *R.T])

    h, t = 1e-3, 0.7
    X = everything(t)
    f = {k: everything(t + k * h) for k in (-3, -2, -1, 1, 2, 3)}
    V = (45 * (f[1] - f[-1]) - 9 * (f[2] - f[-2]) + (f[3] - f[-3])) / (60 * h)
    A = (270 * (f[1] + f[-1]) - 27 * (f[2] + f[-2]) + 2 * (f[3] + f[-3]) - 490 * X) / (180 * h * h)
    assert made.residual(X)[0] == pytest.approx(0, abs=1e-12)
    J = made.jacobian(X)
    assert pytest.approx(0, abs=1e-9) == J @ V
    assert J @ A + made.bias(X, V) == pytest.approx(0, abs=1e-6)
    assert float(np.abs(J[:, 9:] @ V[9:]).max()) > 0.3  # the floor does move
    assert m.count(m.assemble().q).dofs == 6 + 3


def test_a_wheel_rolls_along_a_drum_that_turns() -> None:
    """On a drum that turns under a wheel held in place the wheel turns the other way, radius by radius."""
    m = Mechanism(3)
    m.point("D", 0, 0, 0, fixed=True), m.vector("ax", 0, 1, 0, fixed=True), m.vector("e1", 1, 0, 0)
    m.vector("e3", 0, 0, 1)
    m.body("drum", ["D"], ["ax", "e1", "e3"])
    m.point("O", 0, 0, 1.5, fixed=True), m.point("A", 0, 0, 1.9), m.vector("u", 0, 1, 0)
    m.wheel("wheel", "O", "A", Cylinder((0, 0, 0), (0, 1, 0), 1.0), radius=0.5, axis="u", on="drum")
    m.constant_cross("parallel", "u", "ax", 0.0)
    m.vector("z", 0, 0, 1, fixed=True), m.angle("psi", "z", "e3", axis="ax")
    m.drive("psi", da.Polynomial((0.0, 0.6)))
    motion = m.motion([0.0, 0.5, 1.2])
    assert motion["A"] == pytest.approx(
        np.array([[0.4 * math.sin(-1.2 * t), 0, 1.5 + 0.4 * math.cos(-1.2 * t)] for t in motion.t]), abs=1e-8
    )


def test_what_cannot_carry_a_track_is_named() -> None:
    m = Mechanism(3)
    m.point("F", 0, 0, 0), m.point("G", 1, 0, 0), m.link("rod", "F", "G")
    m.point("O", 0, 0, 1), m.point("A", 0, 0, 1.4), m.vector("u", 0, 1, 0)
    with pytest.raises(da.ModelError, match=r"wheel 'w': on is 'rod'; this body has no complete frame"):
        m.wheel("w", "O", "A", Plane(), radius=1.0, axis="u", on="rod")
    with pytest.raises(da.ModelError, match=r"wheel 'w': on is 'cart'; name a body"):
        m.wheel("w", "O", "A", Plane(), radius=1.0, axis="u", on="cart")
