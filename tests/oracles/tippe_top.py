"""Tippe top that slides on a plane, in NumPy: a sphere with its centre of mass off its centre, and Coulomb's friction.

Or, "The dynamics of a tippe top", SIAM J. Appl. Math. 54 (1994) 597-609. World axes, z up. With x the centre of mass,
e the axis from it to the centre at a distance a, and r = a e - R k from it to the contact point, whose slip is s:

    m x'' = N (k - mu s/|s|) - m g k,     I w' + w x I w = N r x (k - mu s/|s|),     x_z + a e_z = R             (1)

N follows from the second derivative of the last equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class TippeTop:
    """Radius and offset in m, mass in kg, moments of inertia across and along the axis in kg m2."""

    radius: float = 0.02
    offset: float = 0.003
    mass: float = 0.006
    across: float = 0.95 * 0.4 * 0.006 * 0.02**2
    along: float = 0.4 * 0.006 * 0.02**2
    friction: float = 0.1
    gravity: float = 9.81

    def start(self, spin: float, tilt: float) -> Array:
        """Return x, x', attitude (row by row) and w of a top at rest but for a spin about the vertical, rad/s."""
        c, s = np.cos(tilt), np.sin(tilt)
        Q = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        return np.concatenate([self.radius * UP - self.offset * Q[:, 2], np.zeros(3), Q.ravel(), spin * UP])

    def slip(self, y: Array) -> Array:
        """Return the velocity of the material point that touches, m/s."""
        r = self.offset * y[6:15].reshape(3, 3)[:, 2] - self.radius * UP
        u: Array = y[3:6] + np.cross(y[15:18], r)
        return u - u[2] * UP

    def rates(self, _: float, y: Array) -> Array:
        """Return (1) while the top slides."""
        Q, w = y[6:15].reshape(3, 3), y[15:18]
        e, slip = Q[:, 2], self.slip(y)
        r = self.offset * e - self.radius * UP
        force = UP - self.friction * slip / np.linalg.norm(slip)

        def turned(torque: Array) -> Array:
            return torque / self.across + (1 / self.along - 1 / self.across) * e * (e @ torque)

        L = self.across * w + (self.along - self.across) * e * (e @ w)
        w0, w1 = turned(-np.cross(w, L)), turned(np.cross(r, force))  # w' = w0 + N w1
        free = (np.cross(w0, e) + np.cross(w, np.cross(w, e)))[2]
        N = (self.gravity - self.offset * free) / (1 / self.mass + self.offset * np.cross(w1, e)[2])
        turn = np.cross(w[:, None], Q, axis=0)
        return np.concatenate([y[3:6], N / self.mass * force - self.gravity * UP, turn.ravel(), w0 + N * w1])

    def solve(self, t_end: float, spin: float, tilt: float) -> Any:
        """Return the solution; its only event is the time at which the axis is level."""
        return solve_ivp(
            self.rates,
            (0.0, t_end),
            self.start(spin, tilt),
            method="DOP853",
            rtol=1e-10,
            atol=1e-13,
            events=lambda t, y: y[14],
            dense_output=True,
        )
