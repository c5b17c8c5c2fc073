"""Piecewise time laws: linear interpolation, steps, pulses, zero-order hold, monotone splines.

Each law declares its discontinuity times; simulation steps end there and restart, so that none is stepped over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, positive, set_fields, set_finite, shape_of
from ..errors import ModelError

__all__ = ["LinearInterpolation", "MonotoneSpline", "Piecewise", "Pulse", "Step", "ZeroOrderHold"]

Triple = tuple[float, float, float]

OUTER_TIME = 1e300  # s: outer ends of the first and last piece of a law that is extended outside


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Successive polynomials; base of the laws of this module.

    Attributes
    ----------
    ends : (n + 1,) s
        Ends of the pieces, increasing.
    coefficients : (n, degree + 1)
        From the constant upwards, each piece in the time since it began.
    smooth : int
        Number of continuous derivatives; -1: the value itself jumps.
    """

    ends: Array = field(init=False, repr=False)
    coefficients: Array = field(init=False, repr=False)
    smooth: ClassVar[int] = -1

    def _take(self, ends: Array, coefficients: Array, *, held: bool) -> None:
        """Store the pieces; empty ones are left out, and `held` extends the end values on both sides."""
        whole = np.diff(ends) > 0
        ends, coefficients = np.append(ends[:-1][whole], ends[-1]), coefficients[whole]
        if held:
            last = _value(coefficients[-1], ends[-1] - ends[-2])
            sides = np.zeros((2, coefficients.shape[1]))
            sides[:, 0] = coefficients[0, 0], last
            ends = np.concatenate([[-OUTER_TIME], ends, [OUTER_TIME]])
            coefficients = np.vstack([sides[:1], coefficients, sides[1:]])
        set_fields(self, ends=ends, coefficients=np.ascontiguousarray(coefficients))

    def _take_points(self, *, strictly: bool = True, least: int = 2) -> tuple[Array, Array]:
        """Check and store the fields `times` and `values` of a table; return them."""
        t, x = _points(type(self).__name__, self.times, self.values, strictly=strictly, least=least)  # type: ignore[attr-defined]
        set_fields(self, times=t, values=x)
        return t, x

    def pieces(self) -> tuple[Array, Array]:
        """Return the ends of its pieces (n + 1,), s, and their coefficients (n, degree + 1)."""
        return self.ends, self.coefficients

    def discontinuity_times(self, t_start: float, t_end: float) -> Array:
        """Return its discontinuity times in an interval, s."""
        inside = (self.ends >= t_start) & (self.ends <= t_end)
        return self.ends[inside]

    def __call__(self, t: float) -> Triple:
        first, last = float(self.ends[0]), float(self.ends[-1])
        slack = 1e-12 * (last - first)
        if not first - slack <= t <= last + slack:
            raise ModelError(type(self).__name__, "t", t, f"the table runs from {first:.6g} s to {last:.6g} s")
        piece = self._piece(t)
        value = rate = second = 0.0
        for c in self.coefficients[piece, ::-1].tolist():  # Horner, with its derivatives
            s = t - float(self.ends[piece])
            second = second * s + 2 * rate
            rate = rate * s + value
            value = value * s + c
        return value, rate, second

    def third(self, t: float) -> float:
        """Return the third derivative at t; at a discontinuity, the value just after."""
        piece = self._piece(t)
        s = t - float(self.ends[piece])
        terms = enumerate(self.coefficients[piece].tolist())
        return float(sum(k * (k - 1) * (k - 2) * c * s ** (k - 3) for k, c in terms if k > 2))

    def _piece(self, t: float) -> int:
        return int(np.clip(np.searchsorted(self.ends, t, side="right") - 1, 0, len(self.coefficients) - 1))

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t."""
        self(0.0), self(t)
        low, high = min(0.0, t), max(0.0, t)
        powers = np.arange(1, self.coefficients.shape[1] + 1)
        total = 0.0
        for begin, end, c in zip(self.ends[:-1], self.ends[1:], self.coefficients, strict=True):
            a, b = max(low, float(begin)) - float(begin), min(high, float(end)) - float(begin)
            if max(low, float(begin)) >= min(high, float(end)):
                continue
            if not c[1:].any():
                total += float(c[0]) * (min(high, float(end)) - max(low, float(begin)))
            else:
                total += float((c / powers) @ (b**powers - a**powers))
        return math.copysign(1.0, t) * total


@dataclass(frozen=True, eq=False)
class LinearInterpolation(Piecewise):
    """Linear interpolation between points; constant outside.

    Parameters
    ----------
    times : (n,) s
        Increasing; a repeated time is a jump.
    values : (n,)

    Examples
    --------
    >>> LinearInterpolation([0.0, 1.0, 1.0, 2.0], [0.0, 3.0, 5.0, 5.0])(0.5)
    (1.5, 3.0, 0.0)
    """

    times: ArrayLike
    values: ArrayLike
    smooth: ClassVar[int] = 0

    def __post_init__(self) -> None:
        t, x = self._take_points(strictly=False)
        width = np.diff(t)
        slope = np.diff(x) / np.where(width > 0, width, 1.0)
        self._take(t, np.column_stack([x[:-1], slope]), held=True)

    @property
    def jumps(self) -> bool:
        """True if the value has jumps."""
        t, x = np.asarray(self.times), np.asarray(self.values)
        return bool(((np.diff(t) == 0) & (np.diff(x) != 0)).any())


@dataclass(frozen=True, eq=False)
class ZeroOrderHold(Piecewise):
    """Sampled values, each constant until the next; the first also holds before its time.

    Parameters
    ----------
    times : (n,) s
        Strictly increasing.
    values : (n,)

    Examples
    --------
    >>> ZeroOrderHold([0.0, 0.1, 0.2], [1.0, 4.0, 2.0])(0.15)
    (4.0, 0.0, 0.0)
    """

    times: ArrayLike
    values: ArrayLike

    def __post_init__(self) -> None:
        t, x = self._take_points(least=1)
        self._take(np.concatenate([[-OUTER_TIME], t[1:], [OUTER_TIME]]), x[:, None], held=False)


@dataclass(frozen=True, eq=False)
class Step(Piecewise):
    """Step from one value to another at a time.

    Examples
    --------
    >>> Step(2.0, after=5.0)(2.0)
    (5.0, 0.0, 0.0)
    """

    time: float
    before: float = 0.0
    after: float = 1.0

    def __post_init__(self) -> None:
        set_finite(self, "time", "before", "after", item="Step")
        self._take(np.array([-OUTER_TIME, self.time, OUTER_TIME]), np.array([[self.before], [self.after]]), held=False)


@dataclass(frozen=True, eq=False)
class Pulse(Piecewise):
    """One value for some time, another before and after.

    Parameters
    ----------
    begin, duration : float, s
    value : float
        Value during the pulse.
    rest : float
        Value before and after.

    Examples
    --------
    >>> Pulse(5.0, 0.05, 100.0)(5.02), round(Pulse(5.0, 0.05, 100.0).integral(10.0), 9)
    ((100.0, 0.0, 0.0), 5.0)
    """

    begin: float
    duration: float
    value: float = 1.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        set_finite(self, "begin", "duration", "value", "rest", item="Pulse")
        positive("Pulse", duration=self.duration)
        ends = np.array([-OUTER_TIME, self.begin, self.begin + self.duration, OUTER_TIME])
        self._take(ends, np.array([[self.rest], [self.value], [self.rest]]), held=False)


@dataclass(frozen=True, eq=False)
class MonotoneSpline(Piecewise):
    """Smooth curve through points without overshoot (Fritsch and Carlson 1980): C1 cubics.

    Parameters
    ----------
    times : (n,) s
        Strictly increasing; two or more.
    values : (n,)

    Its second rate jumps from piece to piece. Outside the table there is no value: a call there is an error.
    """

    times: ArrayLike
    values: ArrayLike
    smooth: ClassVar[int] = 1

    def __post_init__(self) -> None:
        from scipy.interpolate import PchipInterpolator

        t, x = self._take_points()
        self._take(t, PchipInterpolator(t, x).c[::-1].T, held=False)


def _points(item: str, times: Any, values: Any, *, strictly: bool, least: int) -> tuple[Array, Array]:
    shape = shape_of(times)
    if shape is None or len(shape) != 1 or shape[0] < least:
        raise ModelError(item, "times", times, f"give {least} or more")
    t = finite_array(times, shape, item=item, field="times")
    x = finite_array(values, shape, item=item, field="values")
    wrong = np.diff(t) <= 0 if strictly else np.diff(t) < 0
    if wrong.any() or (least > 1 and t[0] == t[-1]):
        k = int(np.argmax(wrong))
        raise ModelError(item, f"times[{k}:{k + 2}]", [float(x) for x in t[k : k + 2]], "they must increase")
    return t, x


def _value(coefficients: Array, s: float) -> float:
    return float(np.polynomial.polynomial.polyval(s, coefficients))
