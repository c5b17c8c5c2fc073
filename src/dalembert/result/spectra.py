"""Frequency content of outputs: spectra, waterfalls and orders.

An output x, sampled evenly at N points, is multiplied by a window w and transformed,

    X_k = sum_n w_n (x_n - mean x) exp(-2 pi i k n / N),    amplitude_k = 2 |X_k| / sum_n w_n,        (1)

so a harmonic a cos(2 pi f t) on a line of the spectrum has the amplitude a there. Between two lines the amplitude and
the frequency of a harmonic follow from both of them (Grandke 1983): with r the ratio of the greater neighbour to the
largest line, under the Hann window,

    delta = (2 r - 1) / (r + 1),    a = amplitude_k * pi delta (1 - delta^2) / sin(pi delta).         (2)

Samples for orders are taken at equal angles of a reference in place of equal times (order tracking, Fyfe and Munck
1997): a harmonic of the rotation then keeps its line while the speed changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..answer import ArrayAnswer, range_text
from ..arrays import Array
from ..errors import ModelError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Result

__all__ = ["Orders", "Peak", "Spectrum", "Waterfall", "orders", "spectrum", "waterfall"]

SAMPLES_PER_STEP = 4  # of a run: its steps resolve the fastest motion
MIN_SAMPLES, MAX_SAMPLES = 1024, 2**20
MAX_SEGMENTS = 10_000
ALIASING_RATIO = 0.02  # of the largest amplitude; more in the upper tenth of the frequencies is noted
WINDOWS = ("hann", "flattop", "rectangular")
OVERLAP = 0.75  # of neighbouring segments
ANGLE_CORRECTIONS = 3  # secant corrections of the times at equal angles


class Peak(NamedTuple):
    """Largest amplitude near a frequency.

    Attributes
    ----------
    frequency : float, Hz
    amplitude : float
        In the unit of the output.
    """

    frequency: float
    amplitude: float


@dataclass(frozen=True, repr=False)
class Spectrum(ArrayAnswer):
    """Amplitudes of an output over frequency.

    Attributes
    ----------
    name, unit : str
        Of the output.
    frequency : (k,) Hz
    amplitude : (k,)
        In `unit`; of harmonics, not of their squares. The mean is removed and given apart.
    phase : (k,) rad
        Of a cosine, at the first time.
    mean : float
    window : str
    notes : tuple of str
    """

    name: str
    unit: str
    frequency: Array
    amplitude: Array
    phase: Array
    mean: float
    window: str
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {"amplitude": (("frequency",), ""), "phase": (("frequency",), "rad")}

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"frequency": (self.frequency, "Hz")}

    def _headline(self) -> str:
        found = self.peaks(3)
        text = ", ".join(f"{peak.amplitude:.4g} at {peak.frequency:.4g} Hz" for peak in found) or "no peaks"
        return f"{self.name}{f' [{self.unit}]' if self.unit else ''}: {text}"

    @property
    def resolution(self) -> float:
        """Distance of lines, Hz: the inverse of the duration."""
        return float(self.frequency[1])

    def peaks(self, count: int = 5) -> list[Peak]:
        """Return the largest peaks, the largest first; under the Hann window between lines too, by (2)."""
        a = self.amplitude
        inner = np.flatnonzero((a[1:-1] >= a[:-2]) & (a[1:-1] > a[2:])) + 1
        best = inner[np.argsort(-a[inner], kind="stable")][:count]
        return [self._peak(int(k)) for k in best if a[k] > 0.0]

    def _peak(self, k: int) -> Peak:
        a = self.amplitude
        if self.window != "hann":
            return Peak(float(self.frequency[k]), float(a[k]))
        side = 1 if a[k + 1] >= a[k - 1] else -1
        ratio = a[k + side] / a[k]
        delta = float(np.clip((2 * ratio - 1) / (ratio + 1), 0.0, 0.5))
        gain = (1 - delta**2) / np.sinc(delta)
        return Peak(float(self.frequency[k]) + side * delta * self.resolution, float(a[k] * gain))

    def plot(self, *, log: bool = False, ax: Any = None, path: Any = None) -> Axes:
        """Draw the amplitudes over frequency, on a logarithmic axis if `log`; return the axes."""
        from ..view.plots.spectra import plot_spectrum

        return plot_spectrum(self, log=log, ax=ax, path=path)


@dataclass(frozen=True, repr=False)
class Waterfall(ArrayAnswer):
    """Amplitudes of an output over frequency, in segments of time.

    Attributes
    ----------
    name, unit : str
        Of the output.
    t : (m,) s
        Centres of the segments.
    frequency : (k,) Hz
    amplitude : (m, k)
    reference : str
        Output by which the segments are ordered, as a speed; empty for time.
    reference_values : (m,)
        Its means over the segments; `t` without a reference.
    notes : tuple of str
    """

    name: str
    unit: str
    t: Array
    frequency: Array
    amplitude: Array
    reference: str
    reference_values: Array
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {"amplitude": (("time", "frequency"), ""), "reference_values": (("time",), "")}

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"time": (self.t, "s"), "frequency": (self.frequency, "Hz")}

    def _headline(self) -> str:
        m, k = np.unravel_index(int(self.amplitude.argmax()), self.amplitude.shape)
        largest = f"{self.amplitude[m, k]:.4g} {self.unit}".strip()
        where = f"at {self.frequency[k]:.4g} Hz, {self.t[m]:.4g} s"
        return f"{self.name}: {len(self.t)} segments, largest {largest} {where}"

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the amplitudes as colours over frequency and time or reference; return the axes."""
        from ..view.plots.spectra import plot_map

        label = self.reference or "t (s)"
        return plot_map(self, self.frequency, "frequency (Hz)", self.reference_values, label, ax=ax, path=path)


@dataclass(frozen=True, repr=False)
class Orders(ArrayAnswer):
    """Amplitudes of an output over order, in segments of a rotation whose speed changes.

    Order 2 is what occurs twice in a revolution of the reference.

    Attributes
    ----------
    name, unit : str
        Of the output.
    reference : str
        Output that is the angle of rotation.
    order : (k,)
        Multiples of the rotation.
    t : (m,) s
        Centres of the segments.
    speed : (m,) rad/s
        Mean speeds of the reference over the segments.
    amplitude : (m, k)
        In `unit`.
    notes : tuple of str
    """

    name: str
    unit: str
    reference: str
    order: Array
    t: Array
    speed: Array
    amplitude: Array
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {"amplitude": (("time", "order"), ""), "speed": (("time",), "rad/s")}

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"time": (self.t, "s"), "order": (self.order, "")}

    def _headline(self) -> str:
        m, k = np.unravel_index(int(self.amplitude.argmax()), self.amplitude.shape)
        largest = f"{self.amplitude[m, k]:.4g} {self.unit}".strip()
        where = f"at order {self.order[k]:.4g} and {self.speed[m]:.4g} rad/s"
        return f"{self.name}: {len(self.t)} segments, {range_text(self.speed, 'rad/s')}, largest {largest} {where}"

    def cut(self, order: float) -> Array:
        """Return the amplitude of one order over the segments, (m,): of the nearest line."""
        if not self.order[0] <= order <= self.order[-1]:
            raise ModelError("orders", "order", order, f"give one from 0 to {self.order[-1]:.4g}, or raise max_order")
        k = int(np.abs(self.order - order).argmin())
        line: Array = self.amplitude[:, k]
        return line

    def plot(self, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the amplitudes as colours over order and speed; return the axes."""
        from ..view.plots.spectra import plot_map

        return plot_map(self, self.order, "order", self.speed, f"speed of {self.reference} (rad/s)", ax=ax, path=path)


def spectrum(result: Result, name: str, span: tuple[float, float] | None, samples: int | None, window: str) -> Spectrum:
    """Return the spectrum of a scalar output over a span of time."""
    start, end = _span(result, span)
    count = _sample_count(result, start, end) if samples is None else _count("samples", samples, 8)
    times = start + (end - start) * np.arange(count) / count
    values = _values(result, name, times)
    amplitude, phase = _amplitudes(values, window)
    frequency = np.arange(len(amplitude)) / (end - start)
    unit = _unit(result, name)
    notes = _aliasing(amplitude, f"{count} samples", "samples=")
    return Spectrum(name, unit, frequency, amplitude, phase, float(values.mean()), window, notes)


def waterfall(
    result: Result,
    name: str,
    duration: float,
    reference: str | None,
    span: tuple[float, float] | None,
    samples: int | None,
) -> Waterfall:
    """Return the spectra of a scalar output in segments of time that overlap by three quarters."""
    start, end = _span(result, span)
    if not 0.0 < duration <= end - start:
        raise ModelError("waterfall", "duration", duration, f"give more than 0 and at most {end - start:.4g} s")
    parts = int(np.floor((end - start - duration) / ((1 - OVERLAP) * duration) + 1e-9)) + 1
    if parts > MAX_SEGMENTS:
        raise ModelError(
            "waterfall", "duration", duration, f"it makes {parts} segments, at most {MAX_SEGMENTS}: give more"
        )
    begins = start + (1 - OVERLAP) * duration * np.arange(parts)
    count = _sample_count(result, start, end, duration) if samples is None else _count("samples", samples, 8)
    offsets = duration * np.arange(count) / count
    rows = [_amplitudes(_values(result, name, begin + offsets), "hann")[0] for begin in begins]
    amplitude, centres = np.array(rows), np.asarray(begins + 0.5 * duration, dtype=np.float64)
    by: Array = centres
    if reference is not None:
        by = np.array([_values(result, reference, begin + offsets).mean() for begin in begins])
    notes = _aliasing(amplitude.max(axis=0), f"{count} samples in a segment", "samples=")
    frequency = np.arange(amplitude.shape[1]) / duration
    return Waterfall(name, _unit(result, name), centres, frequency, amplitude, reference or "", by, notes)


def orders(
    result: Result, name: str, reference: str, max_order: float, revolutions: int, span: tuple[float, float] | None
) -> Orders:
    """Return the orders of a scalar output in segments of a few revolutions of a reference angle."""
    revolutions = _count("revolutions", revolutions, 1)
    if not max_order >= 1.0 / revolutions:
        raise ModelError("orders", "max_order", max_order, f"give at least {1 / revolutions:.3g}")
    start, end = _span(result, span)
    per_turn = int(np.ceil(4 * max_order))
    fine = np.linspace(start, end, max(_sample_count(result, start, end), 4 * MIN_SAMPLES))
    angle = _values(result, reference, fine)
    steps = np.diff(angle)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        k = int(np.flatnonzero(steps * np.sign(steps.sum()) <= 0)[0])
        raise ModelError(
            "orders", f"reference {reference!r}", f"it does not turn in one direction at t = {fine[k]:.6g} s",
            "give span=(start, end), a part of the run in which it does",
        )  # fmt: skip
    turns = abs(angle[-1] - angle[0]) / (2 * np.pi)
    if turns < revolutions:
        raise ModelError("orders", "revolutions", revolutions, f"{reference!r} makes {turns:.4g}: give fewer")
    total = int(np.floor(turns * per_turn))
    if total > MAX_SAMPLES:
        raise ModelError(
            "orders", "max_order", max_order, f"it takes {total} samples, at most {MAX_SAMPLES}: give less"
        )
    wanted = angle[0] + np.sign(steps[0]) * 2 * np.pi * np.arange(total) / per_turn
    times = _times_at(result, reference, wanted, fine, angle)
    values = _values(result, name, times)
    length = revolutions * per_turn
    begins = np.arange(0, total - length + 1, max(1, int((1 - OVERLAP) * length)))
    amplitude = np.array([_amplitudes(values[k : k + length], "hann")[0] for k in begins])
    last = begins + length - 1
    speed = np.abs(wanted[last] - wanted[begins]) / (times[last] - times[begins])
    lines = np.arange(amplitude.shape[1]) / revolutions
    notes = _aliasing(amplitude.max(axis=0), f"{per_turn} samples in a revolution", "max_order=")
    shown = lines <= max_order + 1e-9
    centres = 0.5 * (times[begins] + times[last])
    return Orders(name, _unit(result, name), reference, lines[shown], centres, speed, amplitude[:, shown], notes)


def _times_at(result: Result, reference: str, wanted: Array, times: Array, angles: Array) -> Array:
    """Return the times at which the reference has the wanted angles, by secants between samples."""
    order = slice(None) if angles[-1] > angles[0] else slice(None, None, -1)
    found = np.interp(wanted, angles[order], times[order])
    slopes = np.gradient(angles, times)
    for _ in range(ANGLE_CORRECTIONS):
        miss = wanted - _values(result, reference, found)
        found = np.clip(found + miss / np.interp(found, times, slopes), times[0], times[-1])
        found = np.maximum.accumulate(found)
    return found


def _amplitudes(values: Array, window: str) -> tuple[Array, Array]:
    """Return amplitudes (1) and phases of evenly spaced values."""
    from scipy.signal import get_window

    if window not in WINDOWS:
        raise ModelError("spectrum", "window", window, f"use one of {', '.join(map(repr, WINDOWS))}")
    weights = get_window("boxcar" if window == "rectangular" else window, len(values))
    lines = np.fft.rfft(weights * (values - values.mean())) / weights.sum()
    lines[1 : len(lines) - (len(values) % 2 == 0)] *= 2
    return np.abs(lines), np.angle(lines)


def _span(result: Result, span: tuple[float, float] | None) -> tuple[float, float]:
    first, last = float(result.t[0]), float(result.t[-1])
    start, end = (first, last) if span is None else (float(span[0]), float(span[1]))
    if not first <= start < end <= last:
        raise ModelError("spectrum", "span", span, f"give two times, in order, from {first:.6g} to {last:.6g} s")
    return start, end


def _count(field: str, value: Any, least: int) -> int:
    if not float(value).is_integer() or value < least:
        raise ModelError("spectrum", field, value, f"give a whole number of at least {least}")
    return int(value)


def _sample_count(result: Result, start: float, end: float, duration: float | None = None) -> int:
    """Return the number of samples that the steps of the run resolve, in a part of given duration."""
    marks = result.step_times if len(result.step_times) > 1 else result.t
    marks = np.unique(marks[(marks >= start) & (marks <= end)])
    part = end - start if duration is None else duration
    step = float(np.median(np.diff(marks))) if len(marks) > 1 else end - start
    return int(np.clip(SAMPLES_PER_STEP * part / step, MIN_SAMPLES if duration is None else 64, MAX_SAMPLES))


def _values(result: Result, name: str, times: Array) -> Array:
    values = np.asarray(result.output(name, times), dtype=float)
    if values.ndim != 1:
        remedy = "it has several components: name one, as 'tip.position.x', or take 'tip.position.norm'"
        raise ModelError("spectrum", repr(name), values.shape[1:], remedy)
    if not np.all(np.isfinite(values)):
        where = times[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise ModelError("spectrum", repr(name), f"not finite at t = {where:.6g} s", "choose a span in which it is")
    return values


def _unit(result: Result, name: str) -> str:
    output = result.find_output(name)
    return "" if output is None else output.unit


def _aliasing(amplitude: Array, sampling: str, remedy: str) -> tuple[str, ...]:
    """Return a note if the highest frequencies hold more than a small part: faster motion is then folded into them."""
    upper = amplitude[int(0.9 * len(amplitude)) :].max(initial=0.0)
    if upper <= ALIASING_RATIO * amplitude.max(initial=0.0) or upper == 0.0:
        return ()
    part = 100 * upper / amplitude.max()
    return (f"amplitudes near the highest frequency are {part:.2g} % of the largest ({sampling}): raise {remedy}",)
