"""Normal law of compliant contact: restitution and dissipation, stiffness by Hertz.

With the depth d and its rate d' the force is (Hunt and Crossley 1975)

    N = k d^n (1 + a d')+                                                                                          (1)

A pair that meets at the velocity v separates at e v. Integrating v dv / (1 + a v) over both halves of the contact
gives, whatever the masses, k and n are,

    x (1 + e) = ln((1 + x) / (1 - e x)),     x = a v                                                               (2)

For smooth bodies n = 3/2 and k = 4/3 E* sqrt(R), 1/R = 1/R_1 + 1/R_2 (Hertz 1882). The tangential stiffness of a
contact is 2 (1 - nu) / (2 - nu) of the normal one, dN/dd (Mindlin 1949).
"""

from __future__ import annotations

from math import inf, log1p, sqrt

__all__ = ["LEAST_RESTITUTION", "dissipation_at", "hertz_stiffness", "restitution_at", "tangential_ratio"]

LEAST_RESTITUTION = 0.01  # x = 100: less needs a dissipation without bound
MAX_STEPS = 200


def dissipation_at(restitution: float, speed: float) -> float:
    """Return a, s/m, for which a pair that meets at a speed, m/s, separates at `restitution` times it, by (2).

    Below `LEAST_RESTITUTION` that one is taken.
    """
    e = max(float(restitution), LEAST_RESTITUTION)
    return 0.0 if e >= 1.0 else _root(e, 1.0 / e) / speed


def restitution_at(dissipation: float, speed: float) -> float:
    """Return e of a pair that meets at a speed, m/s, with a dissipation a, s/m, by (2)."""
    x = float(dissipation) * float(speed)
    if x <= 0.0:
        return 1.0
    low, high = 0.0, min(1.0, 1.0 / x)
    for _ in range(MAX_STEPS):  # bisection is safe at the pole of (2)
        e = 0.5 * (low + high)
        low, high = (e, high) if _excess(x, e) < 0.0 else (low, e)
    return 0.5 * (low + high)


def _excess(x: float, e: float) -> float:
    """Return ln((1 + x) / (1 - e x)) - x (1 + e): negative below the root, in x as in e."""
    return log1p(x) - log1p(-e * x) - x * (1.0 + e) if e * x < 1.0 else inf


def _root(e: float, high: float) -> float:
    """Return x of (2): Newton's method within bounds."""
    low, x = 0.0, min(0.999 * high, 1.5 * (1.0 - e) / e)
    for _ in range(MAX_STEPS):
        value = _excess(x, e)
        low, high = (x, high) if value < 0.0 else (low, x)
        slope = 1.0 / (1.0 + x) + e / (1.0 - e * x) - (1.0 + e) if e * x < 1.0 else inf
        step = x - value / slope if slope > 0.0 and value < inf else -1.0
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - x) <= 1e-15 * x:
            return following
        x = following
    return x


def hertz_stiffness(modulus: float, radius: float) -> float:
    """Return k, N/m^1.5, of bodies with the modulus E*, Pa, and the effective radius, m."""
    return 4.0 / 3.0 * modulus * sqrt(radius)


def tangential_ratio(poisson: float | None) -> float:
    """Return the tangential stiffness by the normal one; 0.3 in place of an unknown Poisson's ratio."""
    nu = 0.3 if poisson is None else poisson
    return 2.0 * (1.0 - nu) / (2.0 - nu)
