"""Sol 1983, chapter 9: the closed forms of the fuel injection pump, in the thesis' own coordinates.

q = [q1, q2, q3, q4, q5]: angle of the shaft; polar angle and distance of the roller's centre, seen from the cam; turn
of the roller relative to the cam; lift of the plunger. Written down by hand from the thesis, with its errata:

- (9.1.2): P22 multiplies r', and rolling means that R_r q4' is the speed of the roller's centre along the cam;
- (9.3.5): the bearing force turns q2 with -F1 s12 - F2 c12;
- (9.3.9): the normal load is not -lambda but -lambda sqrt(1 + (f1'/f1)^2), since the gradient of f1(q2) - q3 has that
  length; both agree on the circles only.

Not used by the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dalembert import tribology

__all__ = ["Cam", "Dynamics", "Pump", "Touch"]

Array = NDArray[np.float64]


class Touch(NamedTuple):
    """f1, f1', f1'' (m, by rad), angle alpha of the profile's normal (rad), curvature of the profile (1/m)."""

    f: float
    f1: float
    f2: float
    alpha: float
    bend: float


@dataclass(frozen=True)
class Cam:
    """Base circle, flanks, transition arcs and top circle, symmetric about the polar angle `middle` (lengths in m)."""

    base: float
    top: float
    arc: float
    roller: float
    middle: float
    half: float

    def touch(self, q2: float) -> Touch:
        """Return what the roller's centre at the polar angle q2 touches."""
        x = (q2 - self.middle + math.pi) % (2 * math.pi) - math.pi
        side = 1.0 if x > 0 else -1.0  # the far side is the near one mirrored
        x = self.half - abs(x)  # from where the flank begins
        flank = math.sqrt((self.top - self.arc) ** 2 - (self.base - self.arc) ** 2)
        line_end = math.atan2(flank, self.base + self.roller)
        arc_end = math.atan2(flank, self.base - self.arc)
        if x <= 0:
            return Touch(self.base + self.roller, 0.0, 0.0, q2, 1 / self.base)
        if x <= line_end:  # r cos x = base + roller
            f = (self.base + self.roller) / math.cos(x)
            f1, f2 = f * math.tan(x), f * (1 + 2 * math.tan(x) ** 2)
            return Touch(f, -side * f1, f2, q2 + side * x, 0.0)
        if x <= arc_end:  # law of cosines with the arc's centre at distance a and angle arc_end
            a, b, y = self.top - self.arc, self.arc + self.roller, x - arc_end
            s, c = math.sin(y), math.cos(y)
            root = math.sqrt(b * b - (a * s) ** 2)
            f, f1 = a * c + root, -a * s - a * a * s * c / root
            f2 = -a * c - a * a * (c * c - s * s) / root - (a * a * s * c) ** 2 / root**3
            lean = math.atan2(f1, f)  # the normal leans back from the radius by the slope
            return Touch(f, -side * f1, f2, q2 + side * lean, 1 / self.arc)
        return Touch(self.top + self.roller, 0.0, 0.0, q2, 1 / self.top)


class Dynamics(NamedTuple):
    """lambda (N), q2'' ... q5'', and the generalised load Q1 of the shaft (N m); (9.3.7)."""

    multiplier: float
    q2: float
    q3: float
    q4: float
    q5: float
    Q1: float


@dataclass(frozen=True)
class Pump:
    """Masses, spring, films; `pressure` is the force A_p p of a time."""

    cam: Cam
    m2: float
    m3: float
    J1: float
    J2: float
    k3: float
    l3: float
    pressure: Callable[[float], float]
    radius: float
    clearance: float
    bearing_length: float
    contact_length: float
    viscosity: float
    coefficient: float
    stress: float
    modulus: float
    slip_speed: float = 1e-3

    def kinematics(self, q1: float, v1: float, a1: float) -> tuple[Array, Array, Array]:
        """Return q without q4 (m, rad), and q', q'' with it: (9.2.15), (9.2.17), (9.2.18)."""
        q2 = math.pi / 2 - q1
        f, f1, f2, *_ = self.cam.touch(q2)
        q3, q5 = f, f - self.cam.base - self.cam.roller
        s12, c12 = math.sin(q1 + q2), math.cos(q1 + q2)
        UT14, UT24, UT34 = -s12 * q3, -s12 * q3, c12
        UT16, UT26, UT36 = c12 * q3, c12 * q3, s12
        R = self.cam.roller
        v2 = -UT14 * v1 / (UT24 + UT34 * f1)
        v3 = f1 * v2
        # the path of the roller's centre, r cos(beta) and sin(beta), tan(beta) = f1'/f1
        beta = math.atan2(f1, f)
        P22, P23 = q3 * math.cos(beta), math.sin(beta)
        v4 = (P22 * v2 + P23 * v3) / R
        v5 = UT16 * v1 + UT26 * v2 + UT36 * v3
        Poo1 = f2 * v2 * v2
        w = v1 + v2
        TUoo4 = -c12 * q3 * w * w - 2 * s12 * v3 * w
        TUoo6 = -s12 * q3 * w * w + 2 * c12 * v3 * w
        beta1 = (f2 * f - f1 * f1) / (f * f + f1 * f1) * v2
        Poo2 = (v3 * math.cos(beta) - q3 * math.sin(beta) * beta1) * v2 + math.cos(beta) * beta1 * v3
        a2 = -(UT14 * a1 + TUoo4 + UT34 * Poo1) / (UT24 + UT34 * f1)
        a3 = f1 * a2 + Poo1
        a4 = (P22 * a2 + P23 * a3 + Poo2) / R
        a5 = UT16 * a1 + TUoo6 + UT26 * a2 + UT36 * a3
        return np.array([q1, q2, q3, q5]), np.array([v1, v2, v3, v4, v5]), np.array([a1, a2, a3, a4, a5])

    def rolling(self, q: Array, v: Array) -> tuple[float, float, float]:
        """Return slip, mean speed (m/s) and curvature radius R' (m) in the contact."""
        touch, R = self.cam.touch(q[1]), self.cam.roller
        # of the centre, along the tangent at alpha + 90 degrees
        along = q[2] * v[1] * math.cos(touch.alpha - q[1]) - v[2] * math.sin(touch.alpha - q[1])
        slip = along - R * v[3]
        return slip, slip / 2 - along / (1 + touch.bend * R), R / (1 + touch.bend * R)

    def traction(self, q: Array, v: Array, load: float) -> float:
        """Return F1 (N) of a normal load, against the slip of the roller along the cam."""
        slip, rolling, round_ = self.rolling(q, v)
        if load <= 0:
            return 0.0
        film = tribology.central_film(
            rolling, load, self.contact_length, round_, self.modulus, self.viscosity, self.coefficient
        )
        peak = tribology.hertz_line(load, self.contact_length, round_, self.modulus).pressure
        # as in the element: below the slip speed the stress grows in proportion
        fast = math.hypot(slip, self.slip_speed)
        f = tribology.eyring_traction(fast, film, peak, self.viscosity, self.coefficient, self.stress)
        return load * float(f) * slip / fast

    def bearing(self, place: Array, velocity: Array, spin: float) -> tuple[Array, float]:
        """Return force (2,) and moment of the film on the roller, at `place` from the plunger's pin."""
        R, c, L = self.radius, self.clearance, self.bearing_length
        V = velocity - spin / 2 * np.array([-place[1], place[0]])
        speed = math.hypot(*V) or 1e-300
        near = min(1.0, 0.99 * c / (math.hypot(*place) or c)) / (c * speed)  # trials of a solver may leave the bore
        along, across = near * float(place @ V), near * float(place[0] * V[1] - place[1] * V[0])
        size, turn = tribology.journal_impedance(along, across, L / (2 * R))
        ct, st = math.cos(turn), math.sin(turn)
        force = -2 * self.viscosity * L * (R / c) ** 3 * size * np.array([ct * V[0] - st * V[1], st * V[0] + ct * V[1]])
        drag = 2 * math.pi * self.viscosity * R**3 * L / (c * math.sqrt(1 - along**2 - across**2))
        return force, float(-drag * spin - (place[0] * force[1] - place[1] * force[0]) / 2)

    def dynamics(self, t: float, q: Array, v: Array, a1: float = 0.0, *, load: float | None = None) -> Dynamics:
        """Return (9.3.7) at q (5,), v (5,), with (9.3.11) solved, or with the traction of a given load (N)."""
        q1, q2, q3, _, q5 = q
        v1, v2, v3, v4, v5 = v
        touch = self.cam.touch(q2)
        c12, s12, w = math.cos(q1 + q2), math.sin(q1 + q2), v1 + v2
        centre = np.array([c12 * q3, s12 * q3 - self.cam.base - self.cam.roller])
        velocity = np.array([-s12 * q3 * w + c12 * v3, c12 * q3 * w + s12 * v3])
        (Fx, Fz), F3 = self.bearing(centre - [0, q5], velocity - [0, v5], v1 + v4)
        m2, m3 = self.m2, self.m3
        ca, sa = math.cos(touch.alpha - q2), math.sin(touch.alpha - q2)
        size = math.hypot(1.0, touch.f1 / touch.f)

        def solve(F1: float) -> Dynamics:
            F1x, F2 = Fx, -Fz  # on the roller; on the plunger
            Q2 = q3 * (-F1 * ca - F1x * s12 - F2 * c12) - 2 * m2 * q3 * v3 * w
            Q3 = F1 * sa + F1x * c12 - F2 * s12 + m2 * q3 * w * w
            Q4 = self.cam.roller * F1 + F3
            Q5 = F2 - self.k3 * (q5 - self.l3) - self.pressure(t)
            P12, Poo = touch.f1, touch.f2 * v2 * v2
            lam = (m2 * q3**2 * (P12 * a1 - Poo) + q3**2 * Q3 - P12 * Q2) / (P12**2 + q3**2)
            a2 = -a1 + (P12 * lam + Q2) / (m2 * q3**2)
            a3 = (Q3 - lam) / m2
            a4 = -a1 + Q4 / self.J2
            Q1 = (m2 * q3**2 + self.J1 + self.J2) * a1 + m2 * q3**2 * a2 + self.J2 * a4
            return Dynamics(lam, a2, a3, a4, Q5 / m3, Q1)

        def open_(normal: float) -> float:
            return normal + size * solve(self.traction(q, v, normal)).multiplier

        if load is None:
            free = -size * solve(0.0).multiplier
            load = free if free <= 0 else float(brentq(open_, 0.0, 10 * free + 1.0, xtol=1e-13, rtol=1e-15))
        return solve(self.traction(q, v, load))
