"""Time laws: functions of time with first and second derivatives, for drives.

A law is called with a time (s) and returns three numbers: value, rate, second rate. Plain numbers and callables become
laws where one is expected; derivatives that are not given are computed. A simulation ends a step at each discontinuity
time of a law and restarts there. A law declares these times by `discontinuity_times`, a sequence or a
function of the first and last time of interest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite_array, finite_number, positive, positive_number, set_fields, set_finite, shape_of
from ..errors import ModelError
from ..parameters import Expression, split
from .piecewise_laws import LinearInterpolation, MonotoneSpline, Piecewise, Pulse, Step, ZeroOrderHold
from .user_functions import (
    N_SAMPLES,
    area,
    call_user_function,
    check_discontinuity_times,
    derivative,
    evaluated,
    find_jumps,
    quadrature,
)

__all__ = [
    "N_SAMPLES",
    "Constant",
    "FunctionLaw",
    "Harmonic",
    "Integral",
    "Law",
    "LinearInterpolation",
    "MonotoneSpline",
    "Piecewise",
    "Polynomial",
    "Pulse",
    "Ramp",
    "SmoothedLaw",
    "Spline",
    "Step",
    "ZeroOrderHold",
    "as_law",
    "check_discontinuity_times",
    "discontinuity_times_of",
    "find_jumps",
    "integrated",
    "third_rate",
]

Triple = tuple[float, float, float]


class Law(Protocol):
    """Protocol of time laws: value, rate and second rate at a time."""

    def __call__(self, t: float) -> Triple:
        """Return (value, rate, second rate) at t, s."""


@dataclass(frozen=True)
class Constant:
    """Constant value."""

    value: float

    def __post_init__(self) -> None:
        set_finite(self, "value", item="Constant", expressions=True)

    def __call__(self, t: float) -> Triple:
        return self.value, 0.0, 0.0

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t."""
        return self.value * t

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return 0.0


@dataclass(frozen=True)
class Polynomial:
    """Polynomial c0 + c1 t + c2 t^2 + ...

    Parameters
    ----------
    coefficients : (n,)
        From the constant upwards.

    Examples
    --------
    >>> Polynomial((1.0, 2.0, 3.0))(2.0)
    (17.0, 14.0, 6.0)
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        shape = shape_of(self.coefficients)
        if shape is None or len(shape) != 1 or not shape[0]:
            raise ModelError("Polynomial", "coefficients", self.coefficients, "give one or more numbers")
        given, kept = split(self.coefficients, [f"coefficients[{k}]" for k in range(shape[0])])
        if kept:
            set_fields(self, expressions=kept)
        numbers = finite_array(given, shape, item="Polynomial", field="coefficients")
        set_fields(self, coefficients=tuple(numbers.tolist()))

    def __call__(self, t: float) -> Triple:
        value = rate = second = 0.0
        for c in reversed(self.coefficients):  # Horner, with its derivatives
            second = second * t + 2 * rate
            rate = rate * t + value
            value = value * t + c
        return value, rate, second

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t."""
        return sum(c * t ** (k + 1) / (k + 1) for k, c in enumerate(self.coefficients))

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return sum(k * (k - 1) * (k - 2) * c * t ** (k - 3) for k, c in enumerate(self.coefficients) if k > 2)


@dataclass(frozen=True)
class Harmonic:
    """Harmonic offset + amplitude sin(frequency t + phase); frequency in rad/s, phase in rad."""

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        set_finite(self, "amplitude", "frequency", "phase", "offset", item="Harmonic", expressions=True)

    def __call__(self, t: float) -> Triple:
        A, w = self.amplitude, self.frequency
        s, c = math.sin(w * t + self.phase), math.cos(w * t + self.phase)
        return self.offset + A * s, A * w * c, -A * w * w * s

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t."""
        # 2 sin(w t / 2) / w, without loss where w t is small
        half = t * float(np.sinc(self.frequency * t / (2 * math.pi)))
        return self.offset * t + self.amplitude * half * math.sin(self.frequency * t / 2 + self.phase)

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return -self.amplitude * self.frequency**3 * math.cos(self.frequency * t + self.phase)


@dataclass(frozen=True)
class Ramp:
    """Smooth step with zero rate and second rate at both ends; constant outside.

    start + (end - start) [s - sin(2 pi s) / (2 pi)], s = (t - begin) / duration (Passerello and Huston 1972, (5.1)).
    """

    start: float
    end: float
    duration: float
    begin: float = 0.0

    def __post_init__(self) -> None:
        set_finite(self, "start", "end", "duration", "begin", item="Ramp", expressions=True)
        positive("Ramp", duration=self.duration)

    def __call__(self, t: float) -> Triple:
        s = (t - self.begin) / self.duration
        if s <= 0.0:
            return self.start, 0.0, 0.0
        if s >= 1.0:
            return self.end, 0.0, 0.0
        rise, turn = self.end - self.start, 2 * math.pi * s
        return (
            self.start + rise * _sine_lag(turn) / (2 * math.pi),
            rise / self.duration * 2 * math.sin(turn / 2) ** 2,
            rise * 2 * math.pi / self.duration**2 * math.sin(turn),
        )

    def discontinuity_times(self, t_start: float, t_end: float) -> Array:
        """Return the start and end times within an interval, s."""
        ends = np.array([self.begin, self.begin + self.duration])
        return ends[(ends >= t_start) & (ends <= t_end)]

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t."""
        return self._primitive(t) - self._primitive(0.0)

    def _primitive(self, t: float) -> float:
        rise, s = self.end - self.start, (t - self.begin) / self.duration
        inside = min(max(s, 0.0), 1.0)
        ramp = inside * inside / 2 + (math.cos(2 * math.pi * inside) - 1) / (4 * math.pi**2) + max(s - 1.0, 0.0)
        return self.start * t + rise * self.duration * ramp

    def third(self, t: float) -> float:
        """Return the third derivative at t; at the start or end, the value just after."""
        s = (t - self.begin) / self.duration
        rise = (self.end - self.start) * (2 * math.pi) ** 2 / self.duration**3
        return rise * math.cos(2 * math.pi * s) if 0.0 <= s < 1.0 else 0.0


@checked("degree")
@dataclass(frozen=True, eq=False)
class Spline:
    """Smooth curve through points: a table with consistent derivatives.

    Parameters
    ----------
    times : (n,) s
        Strictly increasing.
    values : (n,)
    degree : int
        3 or 5; at least degree + 1 points.

    Outside the table there is no value: a call there is an error.
    """

    times: ArrayLike
    values: ArrayLike
    degree: int = 3
    _curves: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = shape_of(self.times)
        if self.degree not in (3, 5):
            raise ModelError("Spline", "degree", self.degree, "use 3 or 5")
        if shape is None or len(shape) != 1 or shape[0] < self.degree + 1:
            raise ModelError(
                "Spline", "times", self.times, f"a spline of degree {self.degree} needs {self.degree + 1} points"
            )
        t = finite_array(self.times, shape, item="Spline", field="times")
        x = finite_array(self.values, shape, item="Spline", field="values")
        if (np.diff(t) <= 0).any():
            k = int(np.argmax(np.diff(t) <= 0))
            raise ModelError(
                "Spline", f"times[{k}:{k + 2}]", [float(x) for x in t[k : k + 2]], "they must increase strictly"
            )
        from scipy.interpolate import make_interp_spline

        curve = make_interp_spline(t, x, k=self.degree)
        set_fields(self, times=t, values=x, _curves=(curve, curve.derivative(1), curve.derivative(2)))

    @classmethod
    def columns(cls, times: ArrayLike, values: ArrayLike, degree: int = 3) -> tuple[Spline, ...]:
        """Return a spline for each column of a table (n, k): for points (n, 3), laws of x, y and z."""
        shape = shape_of(values)
        if shape is None or len(shape) != 2:
            raise ModelError("Spline.columns", "values", values, "give a table (n, k), a row for each time")
        table = finite_array(values, shape, item="Spline.columns", field="values")
        return tuple(cls(times, column, degree) for column in table.T)

    def pieces(self) -> tuple[Array, Array]:
        """Return the ends of its polynomial pieces (n + 1,), s, and their coefficients (n, degree + 1).

        Coefficients run from the constant upwards, each piece in the time since it began.
        """
        from scipy.interpolate import PPoly

        curve = PPoly.from_spline(self._curves[0])
        whole = np.flatnonzero(np.diff(curve.x) > 0)
        return np.append(curve.x[whole], curve.x[-1]), np.ascontiguousarray(curve.c[::-1, whole].T)

    def discontinuity_times(self, t_start: float, t_end: float) -> Array:
        """Return the times in an interval at which its polynomials change noticeably, s.

        At a knot the highest derivative jumps. For a finely sampled table the jump is negligible.
        """
        ends, pieces = self.pieces()
        width = np.maximum(np.diff(ends)[1:], np.diff(ends)[:-1])
        change = np.abs(np.diff(pieces[:, -1])) * width**self.degree
        knots: Array = ends[1:-1][change > 1e-9 * np.ptp(np.asarray(self.values))]
        return np.asarray(knots[(knots >= t_start) & (knots <= t_end)])

    def __call__(self, t: float) -> Triple:
        first, last = float(np.asarray(self.times)[0]), float(np.asarray(self.times)[-1])
        if not first - 1e-12 * (last - first) <= t <= last + 1e-12 * (last - first):
            raise ModelError("Spline", "t", t, f"the table runs from {first:.6g} s to {last:.6g} s")
        value, rate, second = (float(curve(t)) for curve in self._curves)
        return value, rate, second

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t; both must be in the table."""
        self(0.0), self(t)
        return float(self._curves[0].integrate(0.0, t))

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return float(self._curves[0].derivative(3)(t))


@dataclass(frozen=True, eq=False)
class FunctionLaw:
    """Law from a callable of time; derivatives that are not given are computed.

    Parameters
    ----------
    value : callable of t (s)
    rate, second, third : callable of t
        Its derivatives; the third is used for jerks only.
    discontinuity_times : (n,) s
        Times at which it jumps or has a kink, increasing: no step passes over them.

    Missing derivatives are five-point differences, accurate to about nine and six digits, which do not reach across
    `discontinuity_times`; give them, or use a library law, for higher accuracy.
    """

    value: Callable[[float], float]
    rate: Callable[[float], float] | None = None
    second: Callable[[float], float] | None = None
    discontinuity_times: ArrayLike = ()
    third: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        set_fields(self, discontinuity_times=check_discontinuity_times(self.discontinuity_times, item="FunctionLaw"))
        for name in ("value", "rate", "second", "third"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise ModelError("FunctionLaw", name, given, "give a function of time")

    def __call__(self, t: float) -> Triple:
        inside = self._inside(t)
        rate = evaluated(self.rate, t) if self.rate else derivative(self.value, t, 1, 1e-3, inside)
        if self.second:
            second = evaluated(self.second, t)
        elif self.rate:
            second = derivative(self.rate, t, 1, 1e-3, inside)
        else:
            second = derivative(self.value, t, 2, 3e-3, inside)
        return evaluated(self.value, t), rate, second

    def _inside(self, t: float) -> tuple[float, float]:
        """Return the bounds of the smooth interval around t."""
        times = np.asarray(self.discontinuity_times)
        k = int(np.searchsorted(times, t, side="right"))
        before, after = (float(times[i]) if 0 <= i < len(times) else s * np.inf for i, s in ((k - 1, -1), (k, 1)))
        return before + 1e-13 * abs(before), after - 1e-13 * abs(after)


@dataclass(frozen=True, eq=False)
class Integral:
    """Integral of a law from t = 0 plus a start value: a position from a velocity.

    Parameters
    ----------
    law : law, callable of t, or number
    start : float
        Value at t = 0.

    The integral of a library law is exact, that of a callable is found by quadrature at every call, to about twelve
    digits.

    Examples
    --------
    >>> Integral(Polynomial((0.0, 3.0)), start=1.0)(2.0)
    (7.0, 6.0, 3.0)
    """

    law: Any
    start: float = 0.0

    def __post_init__(self) -> None:
        set_fields(self, law=as_law(self.law, item="Integral", field="law"))
        set_finite(self, "start", item="Integral")

    def __call__(self, t: float) -> Triple:
        value, rate, _ = self.law(t)
        own = getattr(self.law, "integral", None)
        return self.start + (own(t) if own else quadrature(lambda s: self.law(s)[0], t)), value, rate

    def discontinuity_times(self, t_start: float, t_end: float) -> Array:
        """Return the discontinuity times of the integrand in an interval, s."""
        return discontinuity_times_of(self.law, t_start, t_end)

    def integral(self, t: float) -> float:
        """Return the integral from 0 to t, by quadrature: start t + the integral of (t - s) law(s)."""
        return self.start * t + quadrature(lambda s: (t - s) * self.law(s)[0], t)

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return float(self.law(t)[2])


@dataclass(frozen=True, eq=False)
class SmoothedLaw:
    """Moving average of a law over a window: jumps become steep, corners become round.

    Parameters
    ----------
    law : law, callable of t, or number
    width : float, s
        Width of the window about each time; the law must be defined half of it beyond the run at either end.

    With h half the width, the value is the mean of the law from t - h to t + h. Its rate is exactly the difference of
    the law between the ends of the window, divided by the width. Away from corners and jumps, by more than h, a
    straight line is unchanged and a curve is off by f'' width^2 / 24.

    Examples
    --------
    >>> step = SmoothedLaw(lambda t: 0.0 if t < 1.0 else 3.0, 0.1)
    >>> [round(x, 6) for x in step(1.0)[:2]], round(step(1.2)[0], 9)
    ([1.5, 30.0], 3.0)
    """

    law: Any
    width: float

    def __post_init__(self) -> None:
        set_fields(self, law=as_law(self.law, item="SmoothedLaw", field="law"))
        set_fields(self, width=positive_number(self.width, item="SmoothedLaw", field="width"))

    def __call__(self, t: float) -> Triple:
        a, b = t - self.width / 2, t + self.width / 2
        first, last = self.law(a), self.law(b)
        own = getattr(self.law, "integral", None)
        if own:
            whole = own(b) - own(a)
        else:
            value = self.law.value if isinstance(self.law, FunctionLaw) else lambda s: self.law(s)[0]
            whole = area(value, discontinuity_times_of(self.law, a, b).tolist(), a, b)
        return whole / self.width, (last[0] - first[0]) / self.width, (last[1] - first[1]) / self.width

    def third(self, t: float) -> float:
        """Return the third derivative at t."""
        return float(self.law(t + self.width / 2)[2] - self.law(t - self.width / 2)[2]) / self.width


def _sine_lag(x: float) -> float:
    """Return x - sin x without cancellation for small x."""
    square = x * x
    if square >= 0.25:
        return x - math.sin(x)
    lag = 1.0  # the series, from its last significant term
    for k in (156, 110, 72, 42, 20):
        lag = 1.0 - square / k * lag
    return square * x / 6 * lag


def integrated(law: Law, start: float) -> Law:
    """Return start + the integral of a law from t = 0, in closed form where there is one."""
    if isinstance(law, Constant):
        return Polynomial((start, law.value))
    if isinstance(law, Polynomial):
        return Polynomial((start, *(c / (k + 1) for k, c in enumerate(law.coefficients))))
    return Integral(law, start)


def integrand_of(law: Law) -> Law | None:
    """Return the law from which `integrated` made this one, or None."""
    if isinstance(law, Polynomial):
        return Polynomial(tuple(k * c for k, c in enumerate(law.coefficients) if k)) if law.coefficients[1:] else None
    return law.law if isinstance(law, Integral) else None


@checked("t")
def third_rate(law: Law, t: float) -> float:
    """Return the third derivative of a law: exact if the law has it, else by differences.

    Laws of the library define it, as do integrals and means of laws; `FunctionLaw` does with `third`, user laws with a
    method of this name. At a discontinuity it is the value just after.
    """
    own = getattr(law, "third", None)
    if callable(own):
        return evaluated(own, t)
    inside = law._inside(t) if isinstance(law, FunctionLaw) else (-math.inf, math.inf)
    if isinstance(law, FunctionLaw) and law.second is None and law.rate is not None:
        return derivative(law.rate, t, 2, 3e-3, inside)
    return derivative(lambda s: law(s)[2], t, 1, 1e-3, inside)


def as_law(value: Any, *, item: str, field: str) -> Law:
    """Return a law from a law, a number or a callable of time."""
    if isinstance(value, (Constant, Polynomial, Harmonic, Ramp, Spline, FunctionLaw, Integral, Piecewise, SmoothedLaw)):
        return value
    if callable(value):
        result = call_user_function(value, 0.0)
        if isinstance(result, tuple) and len(result) == 3:
            return value
        return FunctionLaw(value, discontinuity_times=getattr(value, "discontinuity_times", ()))
    return Constant(value if isinstance(value, Expression) else finite_number(value, item=item, field=field))  # type: ignore[arg-type]


_VALUES = ("value", "values", "rest", "before", "after", "start", "end", "amplitude", "offset", "coefficients")


def scaled(law: Any, factor: float) -> Any:
    """Return a number, a function of t or a law, times a factor."""
    if isinstance(law, (int, float, np.number)):
        return factor * float(law)
    if not is_dataclass(law) or isinstance(law, (type, FunctionLaw)):
        value = law.value if isinstance(law, FunctionLaw) else law
        return FunctionLaw(lambda t: factor * value(t), discontinuity_times=getattr(law, "discontinuity_times", ()))
    given = {f.name: getattr(law, f.name) for f in fields(law) if f.init and f.name in _VALUES}
    if not given or getattr(law, "expressions", None):
        raise ModelError("law", "law", law, "it cannot be multiplied with a number: give a function of t, or numbers")
    return replace(law, **{name: _times(value, factor) for name, value in given.items()})


def _times(value: Any, factor: float) -> Any:
    found = factor * np.asarray(value, dtype=float)
    return float(found) if found.ndim == 0 else tuple(found.tolist())


@checked("t_start", "t_end")
def discontinuity_times_of(law: Any, t_start: float, t_end: float) -> Array:
    """Return the discontinuity times of a law in an interval, s; empty if it declares none."""
    declared = getattr(law, "discontinuity_times", ())
    times = np.asarray(declared(t_start, t_end) if callable(declared) else declared, dtype=float).ravel()
    return times[(times >= t_start) & (times <= t_end)]
