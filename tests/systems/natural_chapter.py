"""Mechanisms of Garcia de Jalon and Bayo, chapter 3, in points and vectors, and exact motions of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

from dalembert.natural import Mechanism

Array = NDArray[np.float64]


OPEN = np.array([1.0, math.sqrt(3), 4.830950434138, 2.882624043473])


CROSSED = np.array([1.919049565862, -2.160936206985])


def four_bar_at(crank: float, sign: float = 1.0) -> Array:
    """Return points 1 and 2 in closed form."""
    first = 2 * np.array([math.cos(crank), math.sin(crank)])
    d = np.array([4.0, 0.0]) - first
    far = float(np.linalg.norm(d))
    a = (far**2 + 16 - 9) / (2 * far)
    e = d / far
    return np.concatenate([first, first + a * e + sign * math.sqrt(16 - a * a) * np.array([-e[1], e[0]])])


def four_bar_of_points(second: tuple[float, float] = (4.830950434138, 2.882624043473)) -> Mechanism:
    """Return the four-bar of example 3.1: ground 4 m, links 2, 4, 3 m, crank at 60 degrees; `second`: point 2."""
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True)
    m.point("1", 1, math.sqrt(3)), m.point("2", *second)
    m.link("crank", "A", "1", 2), m.link("coupler", "1", "2", 4), m.link("rocker", "2", "B", 3)
    return m


def robot_of_points() -> Mechanism:
    """Example 3.7: 4 points and 3 vectors, 21 coordinates, six degrees of freedom."""
    m = Mechanism(3)
    m.point("A", 0, 0, 0, fixed=True), m.vector("uA", 0, 0, 1, fixed=True)
    r1 = np.array([math.cos(1.1), 0, math.sin(1.1)])
    r2 = r1 + 0.9 * np.array([math.cos(-0.5), 0, math.sin(-0.5)])
    r3 = r2 + 0.3 * np.array([math.cos(-0.9), 0, math.sin(-0.9)])
    for name, r in zip("1234", (r1, r2, r3, r3 + np.array([0, 0.2, 0])), strict=True):
        m.point(name, *r)
    for name in ("u1", "u2", "u3"):
        m.vector(name, 0, 1, 0)
    m.universal("turret", "uA", "u1")
    m.body("upper arm", ["A", "1"], ["u1"])
    m.body("forearm", ["1", "2"], ["u1"])
    m.body("sleeve", ["1", "2"], ["u2"])
    m.body("wrist", ["2", "3"], ["u2"])
    m.body("hand", ["2", "3", "4"], ["u3"])
    return m


def rotated(axis: object, angle: float) -> Array:
    a = np.asarray(axis, dtype=float)
    a = a / np.linalg.norm(a)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def five_bar_of_points() -> Mechanism:
    m = Mechanism(2)
    m.point("A", 0, 0, fixed=True), m.point("B", 4, 0, fixed=True)
    m.point("1", -0.5, 1.8), m.point("2", 1.6, 3.2), m.point("3", 4.3, 1.9)
    m.link("a", "A", "1"), m.link("b", "1", "2"), m.link("c", "2", "3"), m.link("d", "3", "B")
    return m


r, RHO = 0.5, 2.0


def rolled(track: str, s: float) -> Array:
    """Return P, O, A (3, 2) of a wheel that has rolled by s along its track, in closed form."""
    if track == "straight":
        P, n, angle = np.array([s, 0.0]), np.array([0.0, 1.0]), -s / r
    else:
        inside = track == "concave"
        b = s / RHO - math.pi / 2 if inside else math.pi / 2 - s / RHO
        P = RHO * np.array([math.cos(b), math.sin(b)])
        n, angle = (-P / RHO, -(s / r - s / RHO)) if inside else (P / RHO, -(s / r + s / RHO))
    O = P + r * n  # noqa: E741
    return np.array([P, O, O + r * np.array([math.cos(0.3 + angle), math.sin(0.3 + angle)])])


def rates_of(path: object, t: float, h: float = 1e-3) -> tuple[Array, Array]:
    """Return first and second derivatives by differences."""
    F = [path(t + k * h) for k in (-3, -2, -1, 0, 1, 2, 3)]  # type: ignore[operator]
    first = (45 * (F[4] - F[2]) - 9 * (F[5] - F[1]) + (F[6] - F[0])) / (60 * h)
    second = (2 * (F[0] + F[6]) - 27 * (F[1] + F[5]) + 270 * (F[2] + F[4]) - 490 * F[3]) / (180 * h * h)
    return first, second


def coin(t: float) -> Array:
    """Return O, A, u, P (12,) of a coin that rolls on the floor with given yaw, lean and spin, exactly."""
    spin = 1.1 * t + 0.15 * t * t

    def frame(s: float) -> tuple[Array, Array, Array]:
        yaw, lean = 0.3 + 0.6 * s + 0.2 * math.sin(s), 0.25 + 0.1 * math.sin(2 * s)
        u = rotated([0, 0, 1], yaw) @ rotated([1, 0, 0], lean) @ np.array([0, 1.0, 0])
        e = np.array([0, 0, 1.0]) - u[2] * u
        e /= np.linalg.norm(e)
        return u, e, np.cross(e, u)

    u, e, _ = frame(t)
    way = [lambda s, k=k: -r * (1.1 + 0.3 * s) * frame(s)[2][k] for k in range(3)]
    P = np.array([quad(component, 0, t, epsabs=1e-13, epsrel=1e-13)[0] for component in way])
    O = P + r * e  # noqa: E741
    return np.concatenate([O, O + r * rotated(u, spin) @ e, u, P])
