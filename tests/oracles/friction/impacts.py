"""Impacts on stops: simultaneous impulses of all closed stops.

    u+ = u + A x,     0 <= x,     0 <= u+ + e u,     x (u+ + e u) = 0                                              (1)

u are velocities away from the stops, A the response of the rows to impulses on each other, e their restitutions. A
flight within the position tolerance is neglected: such a rebound is plastic, and a row that the impact of another row
moves so slowly stays on its stop. So rows that hit each other through their stops come to rest. With different e, (1)
may have no solution, or the energy may grow: then the least e of the rows that approach holds for all, or none.
"""

from __future__ import annotations

import numpy as np

from dalembert.arrays import Array, BoolArray
from dalembert.numerics.quadratic_programs import solve_bounded_qp

__all__ = ["impulses_with_short_flights", "is_short", "pressing_accelerations", "stop_impulses"]


ROUNDING = 1e-9  # relative: of energies and velocities in an impact


def stop_impulses(A: Array, u: Array, e: Array, pressed: Array, *, least_speed: float, least_flight: float) -> Array:
    """Return the impulses x (n,) of (1), N s or N m s.

    Parameters
    ----------
    A : (n, n)
    u : (n,) rad/s or m/s
        Velocities away from the stops; negative where a row approaches.
    e : (n,)
    pressed : (n,) rad/s2 or m/s2
        Accelerations back to the stops; see `pressing_accelerations`.
    least_speed : float, rad/s or m/s
        Slower rows are at rest.
    least_flight : float, rad or m
        Shorter flights are neglected.
    """
    x = np.zeros(len(u))
    for most in (1.0, e[u < -least_speed].min(initial=1.0), 0.0):
        limited = np.minimum(e, most)
        limited = np.where((u >= -least_speed) | is_short(limited * u, pressed, least_flight), 0.0, limited)
        x, stays = impulses_with_short_flights(A, u, limited, pressed, least_speed, least_flight)
        away = A @ x + u
        gain, size = 0.5 * x @ (u + away), np.abs(x * u).sum()
        beyond = (away + np.where(stays, 0.0, limited) * u)[np.diag(A) > 0].min(initial=0.0)
        if gain <= ROUNDING * size and beyond >= -ROUNDING * max(np.abs(away).max(), np.abs(u).max()):
            break
    return x


def is_short(speed: Array, pressed: Array, least_flight: float) -> BoolArray:
    """Return whether flights (n,) that begin with given speeds, rad/s or m/s, may be neglected."""
    return (pressed > 0) & (speed**2 < 2 * pressed * least_flight)


def impulses_with_short_flights(
    A: Array, u: Array, e: Array, pressed: Array, least_speed: float, least_flight: float
) -> tuple[Array, BoolArray]:
    """Return the impulses (n,) of (1), and the rows (n,) that stay because they would leave by a short flight."""
    n = len(u)
    x, stays = np.zeros(n), np.zeros(n, dtype=bool)
    for _ in range(n + 1):
        b = np.where(stays, 1.0, 1.0 + e) * u
        x = solve_bounded_qp(A, b, np.where(stays, -np.inf, 0.0), np.full(n, np.inf)).x
        away = A @ x + u
        slow = ~stays & (away > least_speed) & is_short(away, pressed, least_flight)
        if not slow.any():
            break
        stays |= slow
    return x, stays


def pressing_accelerations(A: Array, a: Array, limits: Array, on_stop: BoolArray) -> Array:
    """Return the accelerations (n,) of each row back to its stop while the others stay on theirs; 0 of other rows.

    Parameters
    ----------
    A : (n, n)
    a : (n,) rad/s2 or m/s2
        Accelerations without stop forces and static friction, away from the stops.
    limits : (n,) N or N m
        Static friction of rows that stick; 0 of others.
    on_stop : (n,) bool
        Rows on stops; the others only stick.
    """
    rest = solve_bounded_qp(A, a, -limits, np.where(on_stop, np.inf, limits))
    pressed = np.zeros(len(a))
    if rest.free:
        inverse = np.linalg.inv(A[rest.free][:, rest.free])
        pressed[rest.free] = (rest.x + limits)[rest.free] / np.diag(inverse)
    return np.where(on_stop, pressed, 0.0)
