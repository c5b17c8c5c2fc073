"""User functions of time: values, derivatives, integrals and jumps by sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite_array, shape_of
from ..errors import ModelError, UserFunctionError

__all__ = [
    "N_SAMPLES",
    "area",
    "call_user_function",
    "check_discontinuity_times",
    "derivative",
    "evaluated",
    "find_jumps",
    "quadrature",
]

N_SAMPLES = 400  # times of a run at which functions are sampled for jumps


def check_discontinuity_times(given: Any, *, item: str) -> Array:
    """Return discontinuity times, as given."""
    if isinstance(given, tuple) and not given:
        return np.zeros(0)
    shape = shape_of(given)
    if shape is None or len(shape) != 1:
        raise ModelError(item, "discontinuity_times", given, "give times, s, in increasing order")
    times = finite_array(given, shape, item=item, field="discontinuity_times")
    if (np.diff(times) <= 0).any():
        raise ModelError(item, "discontinuity_times", given, "give times, s, in increasing order")
    return times


def call_user_function(function: Callable[[float], Any], t: float) -> Any:
    """Return the value of a user function at t, s; a failure names the function and the time."""
    try:
        return function(t)
    except Exception as error:
        raise UserFunctionError(f"the function {_title(function)} failed at t = {t:.6g} s: {error!r}") from error


def evaluated(function: Callable[[float], Any], t: float) -> float:
    """Return the number that a function returns at t, s."""
    result = call_user_function(function, t)
    try:
        number = float(result)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserFunctionError(
            f"the function {_title(function)} returned {result!r} at t = {t:.6g} s; a finite number is needed"
        )
    return number


def derivative(
    function: Callable[[float], Any], t: float, order: int, width: float, inside: tuple[float, float]
) -> float:
    """Return the first or second derivative by five points around t, one-sided near a discontinuity.

    Parameters
    ----------
    function : callable of t, s
    t : float, s
    order : int
        1 or 2.
    width : float, s
        Between points, at times of the order of a second; in proportion at later ones.
    inside : (float, float), s
        Interval in which it is smooth.
    """
    low, high = inside
    h = width * max(1.0, abs(t))
    if low <= t - 2 * h and t + 2 * h <= high:
        sign = 1 if order == 2 else -1
        near, far = (evaluated(function, t + k * h) + sign * evaluated(function, t - k * h) for k in (1, 2))
        if order == 1:
            return (8 * near - far) / (12 * h)
        return (16 * near - far - 30 * evaluated(function, t)) / (12 * h * h)
    h = min(h, (high - low) / 4)
    middle = min(max(t, low + 2 * h), high - 2 * h)
    places = np.arange(-2.0, 3.0)
    fit = np.linalg.solve(np.vander(places, increasing=True), [evaluated(function, middle + k * h) for k in places])
    return float(np.polynomial.Polynomial(fit).deriv(order)((t - middle) / h)) / h**order


def quadrature(value: Callable[[float], float], t: float) -> float:
    """Return the integral of a function from 0 to t, s, to about twelve digits."""
    from scipy.integrate import quad

    found, error, *_ = quad(value, 0.0, t, epsabs=1e-13, epsrel=1e-13, limit=500, full_output=1)
    if not error <= 1e-9 * (1.0 + abs(found)):
        raise ModelError(
            "Integral", f"error at t = {t:.6g} s", error, "the law is too rough: give its integral instead"
        )
    return float(found)


@checked("value", "times")
def find_jumps(value: Callable[[float], Any], times: ArrayLike) -> list[tuple[float, float, float, float]]:
    """Return the jumps of a function: last time before, first time after, values there.

    It is sampled; where it changes between two samples, intervals are halved as long as the change persists.
    """
    times = np.asarray(times, dtype=float)
    if times.ndim != 1 or not times.size or not np.isfinite(times).all():
        raise ModelError("find_jumps", "times", times, "give one or more times, s")
    values = np.array([evaluated(value, t) for t in times.tolist()])
    least = max(1e-6 * float(np.ptp(values)), 1e-9 * float(np.abs(values).max()))
    steps = []
    for k in np.flatnonzero(np.abs(np.diff(values)) > least):
        (a, b), (first, last) = times[k : k + 2].tolist(), values[k : k + 2].tolist()
        whole = abs(last - first)
        for done in range(45):
            middle = (a + b) / 2
            between = float(value(middle))
            if abs(between - first) > abs(last - between):
                b, last = middle, between
            else:
                a, first = middle, between
            if abs(last - first) < least or (done == 10 and abs(last - first) < 0.01 * whole):
                break
        else:
            steps.append((a, b, first, last))
    return steps


def area(value: Callable[[float], float], discontinuities: list[float], a: float, b: float) -> float:
    """Return the integral from a to b, s, of a function with jumps, at declared or detected times."""
    from scipy.integrate import quad

    jumps = discontinuities or [step[1] for step in find_jumps(value, np.linspace(a, b, 9))]
    ends = [a, *(t for t in jumps if a < t < b), b]
    parts = [quad(value, *piece, epsabs=1e-14, epsrel=1e-10, limit=100, full_output=1)[0] for piece in pairwise(ends)]
    return float(sum(parts))


def _title(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
