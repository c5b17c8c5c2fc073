"""Extrema of outputs over time, on the dense output of a run.

Every step is divided into a few parts, and the largest of the values there brackets the extremum. Brent's method
refines it within the bracket. At jumps both sides are known from the stored states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array, IndexArray
from ..errors import ModelError

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Extremum", "extremum"]


N_POINTS = 6  # points per step
N_REFINED = 3  # intervals that are refined
TIME_TOL = 1e-10  # of an interval: accuracy of the time where the curve is not flat


class Extremum(NamedTuple):
    """Largest or smallest value of an output, and its time.

    Attributes
    ----------
    value : float
        In the unit of the output.
    t : float, s
    """

    value: float
    t: float


def extremum(result: Result, name: str, sign: float) -> Extremum:
    """Return the largest (sign 1) or smallest (sign -1) value of an output over the time of a result."""
    stored = sign * result.output(name)
    if stored.ndim != 1:
        remedy = "it has several components: name one, as 'tip.position.x', or take 'tip.position.norm'"
        raise ModelError("result", f"extremum of {name!r}", stored.shape[1:], remedy)
    best = int(stored.argmax())
    found = Extremum(sign * float(stored[best]), float(result.t[best]))
    if result.model is None or len(result) < 2:
        return found
    times = _times(result)
    values = sign * result.output(name, times)
    merged = np.where(np.isfinite(values), values, -np.inf)
    tops = np.argsort(-merged)[: 4 * N_REFINED]
    for k in _apart(tops)[:N_REFINED]:
        low, high = times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)]
        value, t = _refined(result, name, sign, float(low), float(high))
        for candidate in (Extremum(sign * float(merged[k]), float(times[k])), Extremum(value, t)):
            if sign * candidate.value > sign * found.value:
                found = candidate
    return found


def _times(result: Result) -> Array:
    """Return times within all steps (k,), in order."""
    first, last = result.t[0], result.t[-1]
    inner = result.step_times[(result.step_times > first) & (result.step_times < last)]
    ends = np.unique(np.concatenate([result.t, inner]))
    parts = np.linspace(0.0, 1.0, N_POINTS, endpoint=False)
    return np.append((ends[:-1, None] + np.diff(ends)[:, None] * parts).ravel(), ends[-1])


def _apart(places: IndexArray) -> list[int]:
    """Return indices of intervals, the best first, without those next to a better one."""
    kept: list[int] = []
    for k in places.tolist():
        if all(abs(k - other) > 1 for other in kept):
            kept.append(k)
    return kept


def _refined(result: Result, name: str, sign: float, low: float, high: float) -> tuple[float, float]:
    from scipy.optimize import minimize_scalar

    def value(t: float) -> float:
        return -sign * float(result.output(name, [min(max(t, low), high)])[0])

    answer = minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": TIME_TOL * (high - low)})
    return -sign * float(answer.fun), float(answer.x)
