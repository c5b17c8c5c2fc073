"""Interpolation between rows of a motion: curves, the next derivative, extremes.

A quantity f and its first rates are known at each row. With m rows around one at t0 and s = (t - t0) / h, the
polynomial

    f = sum of c_k s^k,      c_k k! / h^k = f^(k)(t0)                                                               (1)

through all values of the m rows has the next rate as its first coefficient that is not known at t0. Its error is of the
order h^(r m - r), with r numbers known at each row, while errors d of the rows themselves enter as d / h^r. With enough
rows, therefore, only the highest known rates are used. A jump of the motion (a time that occurs twice) separates rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np

from ...arrays import Array, IndexArray
from ...errors import DalembertError
from ...model.interpolation import coefficients, hermite
from ...numerics.roots import bisect
from ...result import Result

__all__ = ["Extremes", "differentiate", "extremes", "refine", "roots", "sign_changes"]


_N_FINE_ROWS = 361
_N_RATE_ROWS = 7  # rows for which the last rate alone determines the next


def refine(result: Result, rows: int = _N_FINE_ROWS) -> Result:
    """Return a motion with additional rows, if it has dense output."""
    if result.dense is None or not 1 < len(result) < rows:
        return result
    times = np.linspace(result.t[0], result.t[-1], rows)
    try:
        more: Result = result.with_times(times) if (np.diff(result.t) == 0).any() else result.at(times)
        more["a"]
    except DalembertError:  # without inertia, accelerations are known at the rows only
        return result
    return more


def differentiate(t: Array, *known: Array) -> Array:
    """Return the next derivative (n, ...) of a quantity known with its first rates at times (n,) s.

    NaN where an interval between two jumps has one row only.
    """
    n, shape = len(t), known[0].shape[1:]
    values = np.stack([np.asarray(k, dtype=float).reshape(n, -1) for k in known])
    found = np.full(values.shape[1:], np.nan)
    for rows in _stretches(t):
        if len(rows) > 1:
            lean = len(rows) >= _N_RATE_ROWS
            used = values[-1:, rows] if lean else values[:, rows]
            found[rows] = _next_rate(t[rows], used, _N_RATE_ROWS if lean else min(len(rows), 3))
    return found.reshape(n, *shape)


def _next_rate(t: Array, known: Array, m: int) -> Array:
    r, n = known.shape[:2]
    near = _neighbours(t, m - 1)
    h = np.abs(t[near] - t[:, None]).max(axis=1)
    s = (t[near] - t[:, None]) / h[:, None]
    count = r * m
    A, b = np.zeros((n, r, m - 1, count)), np.zeros((n, r, m - 1, known.shape[2]))
    for d in range(r):
        for k in range(d, count):
            A[:, d, :, k] = factorial(k) / factorial(k - d) * s ** (k - d)
        b[:, d] = h[:, None, None] ** d * known[d][near]
    rows, right = A.reshape(n, -1, count), b.reshape(n, r * (m - 1), -1)
    here = np.stack([h[:, None] ** d / factorial(d) * known[d] for d in range(r)], axis=1)
    c = np.linalg.solve(rows[:, :, r:], right - rows[:, :, :r] @ here)
    return np.asarray(factorial(r) * c[:, 0] / h[:, None] ** r)


def _neighbours(t: Array, count: int) -> IndexArray:
    """Return the rows (n, count) nearest to each, without neighbours within a small gap."""
    n = len(t)
    gap = 0.05 * float(np.median(np.diff(t)))
    kept = [0]
    for k in range(1, n):
        if t[k] - t[kept[-1]] >= gap:
            kept.append(k)
    rows = np.array(kept if len(kept) > count + 1 else range(n))
    first = np.clip(np.searchsorted(t[rows], t) - count - 1, 0, max(len(rows) - 2 * count - 2, 0))
    some = rows[first[:, None] + np.arange(min(2 * count + 2, len(rows)))]
    far = np.abs(t[some] - t[:, None])
    far[far < (gap if len(rows) < n else 0.0)] = np.inf
    far[some == np.arange(n)[:, None]] = np.inf
    return np.take_along_axis(some, np.argsort(far, axis=1, kind="stable")[:, :count], axis=1)


def _stretches(t: Array) -> list[IndexArray]:
    """Return the rows between jumps."""
    return np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) <= 0) + 1)


@dataclass(frozen=True)
class Extremes:
    """Least and greatest value over a range, with their times.

    Attributes
    ----------
    least, greatest : float
    t_least, t_greatest : float, s
    """

    least: float
    t_least: float
    greatest: float
    t_greatest: float


def extremes(t: Array, y: Array, dy: Array | None = None) -> Extremes:
    """Return the extremes of y (n,) over times (n,) s, also between rows: by cubics with slopes dy, else by parabolas.

    Values that are not finite are left out.
    """
    times, values = [t[np.isfinite(y)]], [y[np.isfinite(y)]]
    if not len(times[0]):
        return Extremes(np.nan, np.nan, np.nan, np.nan)
    if dy is not None:
        h = np.diff(t)
        with np.errstate(all="ignore"):
            # derivative of the cubic: d0 + 2 c s + 3 d s^2 with s from 0 to 1
            _, d0, c, d = coefficients(h, (y[:-1], dy[:-1]), (y[1:], dy[1:]))
            root = np.sqrt(c**2 - 3 * d * d0)
            for far in (-c + root, -c - root):
                # the stable one of two forms of the same root
                for s in (far / (3 * d), d0 / far):
                    inside = (s > 0) & (s < 1) & np.isfinite(s)
                    times.append((t[:-1] + s * h)[inside])
                    values.append((y[:-1] + s * (d0 + s * (c + s * d)))[inside])
    elif len(t) > 2:
        with np.errstate(all="ignore"):
            left, right = np.diff(t)[:-1], np.diff(t)[1:]
            low, high = (y[1:-1] - y[:-2]) / left, (y[2:] - y[1:-1]) / right
            curve, slope = (high - low) / (left + right), (low * right + high * left) / (left + right)
            step = -slope / (2 * curve)
            inside = (step > -left) & (step < right) & np.isfinite(step)
            times.append((t[1:-1] + step)[inside])
            values.append((y[1:-1] + step * (slope + step * curve))[inside])
    every, at = np.concatenate(values), np.concatenate(times)
    every, at = every[np.isfinite(every)], at[np.isfinite(every)]
    low_, high_ = int(every.argmin()), int(every.argmax())
    return Extremes(float(every[low_]), float(at[low_]), float(every[high_]), float(at[high_]))


def roots(t: Array, y: Array, dy: Array) -> list[float]:
    """Return the times (s) at which y (n,) passes zero, on cubics between rows with slopes dy (n,)."""
    k = np.flatnonzero((y[:-1] * y[1:] < 0) & (np.diff(t) > 0))
    h = np.diff(t)[k]
    ends = (y[k], dy[k]), (y[k + 1], dy[k + 1])
    low, _ = bisect(lambda s: np.sign(hermite(s, h, *ends)[0]) == np.sign(y[k]), np.zeros(len(k)), np.ones(len(k)))
    met = np.flatnonzero((y == 0) & (dy != 0))
    return sorted({*(t[k] + low * h).tolist(), *t[met].tolist()})


def sign_changes(function: Callable[[Array], Array], t: Array, y: Array) -> tuple[list[float], list[bool]]:
    """Return the zero crossings of a function between times (n,) s, and True for rising ones.

    Its values y (n,) at these times may be zero where they are too small to have a sign.
    """
    some = np.flatnonzero(y)
    changes = np.sign(y[some[:-1]]) != np.sign(y[some[1:]])
    first, last = some[:-1][changes], some[1:][changes]
    sign = np.sign(y[first])
    low, high = bisect(lambda times: np.sign(function(times)) == sign, t[first], t[last])
    return ((low + high) / 2).tolist(), (sign < 0).tolist()
