"""Quintic smoothing splines with a given cut-off frequency or residual.

    least  sum (y_k - s(t_k))^2 + L  integral s'''^2 dt                                                              (1)

On uniform samples, a step h apart, (1) passes the frequency f with the factor 1 / (1 + L h (2 pi f)^6), as a
Butterworth filter of order three run forwards and backwards, without phase shift. With L = 1 / (h (2 pi f_c)^6) the
frequency f_c is halved. No padding is needed at the ends, samples need not be uniform, and derivatives are exact ones
of the spline. H. J. Woltring, "A Fortran
package for generalized, cross-validatory spline smoothing and differentiation", Adv. Eng. Software 8 (1986) 104-113.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, BoolArray
from ..checks import finite_array, not_negative, positive
from ..errors import ModelError

__all__ = ["Smoothing", "times_of"]


_DEGREE = 5
MIN_SAMPLES = 8  # samples for a spline of degree five with a penalty


def times_of(times: Any, item: str) -> Array:
    """Return times (n,) that increase."""
    found = finite_array(times, (len(np.atleast_1d(np.asarray(times, dtype=object))),), item=item, field="times")
    if len(found) < MIN_SAMPLES:
        raise ModelError(item, "times", f"{len(found)} of them", f"give at least {MIN_SAMPLES} samples")
    steps = np.diff(found)
    if (steps <= 0.0).any():
        k = int(np.argmax(steps <= 0.0))
        raise ModelError(
            item, f"times[{k + 1}]", float(found[k + 1]), f"it must be later than {found[k]:.6g} s before it"
        )
    return found


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Settings of sample smoothing.

    Attributes
    ----------
    cutoff : float, Hz, or None
        Frequency that is halved.
    residual : float, or None
        Root mean square of the change, in the unit of the samples.
    bridge : float, s
        Longest gap of NaN samples that is bridged.
    """

    cutoff: float | None = None
    residual: float | None = None
    bridge: float = 0.0

    @classmethod
    def of(cls, cutoff: Any, residual: Any, bridge: Any, item: str) -> Smoothing:
        """Return checked settings."""
        if cutoff is not None and residual is not None:
            raise ModelError(item, "residual", residual, "give cutoff or residual, not both")
        frequency = None if cutoff is None else positive(item, cutoff=cutoff)["cutoff"]
        left = None if residual is None else positive(item, residual=residual)["residual"]
        return cls(frequency, left, not_negative(item, bridge=bridge)["bridge"])

    def __call__(self, name: str, t: Array, values: Array, item: str) -> tuple[Array, Array, Array, float]:
        """Return smoothed samples, first and second derivatives (n, k) at t (n,), and the rms change."""
        known = self._known(name, t, values, item)
        times, samples = t[known], values[known]
        basis = _Basis(times)
        if self.cutoff is not None:
            self._check_cutoff(name, times, item)
            strength = 1.0 / (basis.step * (2 * np.pi * self.cutoff) ** 6)
        elif self.residual is not None:
            strength = basis.strength_of(samples, self.residual, name, item)
        else:
            strength = 0.0
        c = basis.fitted(samples, strength)
        off = float(np.sqrt(np.mean((basis.at(times, c, 0) - samples) ** 2)))
        return basis.at(t, c, 0), basis.at(t, c, 1), basis.at(t, c, 2), off

    def _known(self, name: str, t: Array, values: Array, item: str) -> BoolArray:
        """Return the mask of known samples; raise an error for gaps that are too long."""
        what = f"samples of {name!r}"
        known: BoolArray = np.asarray(~np.isnan(values).any(axis=1))
        if np.isinf(values).any():
            raise ModelError(item, what, np.inf, "every number must be finite, or NaN for a missing sample")
        if known.sum() < MIN_SAMPLES:
            raise ModelError(item, what, f"{known.sum()} known", f"give at least {MIN_SAMPLES}")
        if not (known[0] and known[-1]):
            end = "first" if not known[0] else "last"
            raise ModelError(item, what, np.nan, f"the {end} is missing: a motion begins and ends with a sample")
        gaps = np.diff(t[known])
        steps = np.diff(np.flatnonzero(known))
        wide = np.flatnonzero((steps > 1) & (gaps > self.bridge))
        if wide.size:
            begin = float(t[known][wide[0]])
            length = float(gaps[wide[0]])
            remedy = f"bridge={length:.3g} bridges it by the spline, or leave the interval out"
            raise ModelError(item, what, f"a gap of {length:.6g} s from t = {begin:.6g} s on", remedy)
        return known

    def _check_cutoff(self, name: str, times: Array, item: str) -> None:
        assert self.cutoff is not None
        widest = float(np.diff(times).max())
        if self.cutoff >= 0.5 / widest:
            remedy = f"samples of {name!r} are up to {widest:.6g} s apart: below {0.5 / widest:.6g} Hz"
            raise ModelError(item, "cutoff", self.cutoff, remedy)


class _Basis:
    """B-splines of degree five on samples at t (n,), time counted in mean steps."""

    def __init__(self, t: Array) -> None:
        from scipy.interpolate import BSpline

        self.t, self.step = t, (t[-1] - t[0]) / (len(t) - 1)
        inner = self._scaled(t)
        half = (_DEGREE - 1) // 2
        # knots at samples, except for two on each side: as many functions as samples
        ends = np.full(_DEGREE + 1, inner[0]), np.full(_DEGREE + 1, inner[-1])
        self.knots = np.concatenate([ends[0], inner[1 + half : -1 - half], ends[1]])
        self.spline = BSpline
        self.B = BSpline.design_matrix(inner, self.knots, _DEGREE).tocsc()
        self.gram = (self.B.T @ self.B).tocsc()
        self.penalty = self._penalty()

    def _scaled(self, t: Array) -> Array:
        return np.clip((t - self.t[0]) / self.step, 0.0, len(self.t) - 1.0)

    def _penalty(self) -> Any:
        """Return the matrix of the integral of s'''^2: exact with three points per piece."""
        from scipy.sparse import csc_array, diags_array

        ends = np.unique(self.knots)
        nodes, weights = np.polynomial.legendre.leggauss(3)
        half = 0.5 * np.diff(ends)
        points = (ends[:-1, None] + half[:, None] * (1.0 + nodes)).ravel()
        third = self.spline(self.knots, np.eye(len(self.t)), _DEGREE).derivative(3) if len(self.t) <= 64 else None
        D = csc_array(third(points)) if third is not None else self._third(points)
        return (D.T @ diags_array((half[:, None] * weights).ravel()) @ D).tocsc()

    def _third(self, points: Array) -> Any:
        """Return third derivatives of all functions at given points, sparse, by differences of lower degree."""
        from scipy.sparse import csc_array, diags_array

        D: Any = None
        knots, degree, n = self.knots, _DEGREE, len(self.t)
        for _ in range(3):
            width = knots[degree + 1 : degree + n] - knots[1:n]
            slope = degree / width
            first = diags_array([-slope, slope], offsets=[0, 1], shape=(n - 1, n)).tocsc()
            D = first if D is None else first @ D
            knots, degree, n = knots[1:-1], degree - 1, n - 1
        low = self.spline.design_matrix(points, knots, degree)
        return csc_array(low @ D)

    def fitted(self, samples: Array, strength: float) -> Array:
        """Return coefficients (n, k) for L of (1) in s^5 and samples (n, k)."""
        from scipy.sparse.linalg import splu

        if strength == 0.0:
            return np.asarray(splu(self.B).solve(np.ascontiguousarray(samples)))
        A = self.gram + strength / self.step**5 * self.penalty
        return np.asarray(splu(A.tocsc()).solve(np.ascontiguousarray(self.B.T @ samples)))

    def at(self, t: Array, c: Array, order: int) -> Array:
        """Return a derivative (n, k) at times."""
        return self.spline(self.knots, c, _DEGREE)(self._scaled(t), nu=order) / self.step**order

    def strength_of(self, samples: Array, residual: float, name: str, item: str) -> float:
        """Return the L that leaves a residual."""
        from scipy.optimize import brentq

        def excess(power: float) -> float:
            c = self.fitted(samples, self.step**5 * 10.0**power)
            return float(np.sqrt(np.mean((self.B @ c - samples) ** 2))) - residual

        low, high = -8.0, 6.0 * np.log10(len(self.t)) + 2.0
        if excess(low) > 0.0:
            return 0.0
        if excess(high) < 0.0:
            raise ModelError(item, "residual", residual, f"samples of {name!r} are nearer than that to a parabola")
        return float(self.step**5 * 10.0 ** brentq(excess, low, high, xtol=1e-6))
