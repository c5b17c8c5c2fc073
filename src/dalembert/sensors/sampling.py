"""Errors of sensors, and their samples: noise, bias, drift, delay, quantisation, saturation.

The sample k of a channel with the true value u, taken at t_k = t_0 + k T, is

    y_k = clip(q round((s u(t_k) + b + d_k + n_k)/q))                                                       (1)

with scale s, bias b, noise n_k of the standard deviation sigma, resolution q and drift d_k, a Gauss-Markov process of
the standard deviation sigma_d and the time constant tau_d

    d_{k+1} = phi d_k + sigma_d sqrt(1 - phi^2) w_k,    phi = exp(-T/tau_d)                                  (2)

or, without a time constant, the random walk d_{k+1} = d_k + sigma_d sqrt(T) w_k from zero. A noise density N (per root
hertz, as data sheets give it) is sigma = N/sqrt(T). A receiver knows y_k from t_k + delay on.

Source: IEEE Std 952-1997, annex C (noise of gyroscopes: angle random walk, bias instability, rate random walk).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer
from ..arrays import Array
from ..checks import checked, finite_array, finite_number, set_fields, shape_of
from ..errors import ModelError
from .sources import ResultSource, Source, check_owner, source_of

__all__ = ["SampledSensor", "SensorData", "SensorErrors", "SensorStream"]

_CHANNEL_FIELDS = ("scale", "bias", "noise", "density", "drift", "resolution")


@checked("scale", "bias", "noise", "density", "drift", "resolution", "range", "seed")
@dataclass(frozen=True, eq=False)
class SensorErrors:
    """Errors of a sensor, each a number for all of its channels or one number per channel.

    Parameters
    ----------
    period : float, s
        Time between samples.
    delay : float, s
        Until a sample is known to its receiver.
    scale : float or (n,)
        Factor of the true value.
    bias : float or (n,)
        Constant error, in units of the channel.
    noise : float or (n,)
        Standard deviation of white noise of one sample.
    density : float or (n,)
        Noise density, units/sqrt(Hz): adds noise of density/sqrt(period).
    drift : float or (n,)
        Standard deviation of the drift with `drift_time`, in units of the channel; without, of the random walk in
        units/sqrt(s).
    drift_time : float, s
        Correlation time of the drift; None: a random walk.
    resolution : float or (n,)
        Step of quantisation; zero: none.
    range : (float, float)
        Smallest and largest reading; beyond, readings saturate.
    seed : int
        The same seed gives the same noise in every run, sample by sample.

    Equations: head of ``dalembert.sensors.sampling``.
    """

    period: float = 0.001
    delay: float = 0.0
    scale: Any = 1.0
    bias: Any = 0.0
    noise: Any = 0.0
    density: Any = 0.0
    drift: Any = 0.0
    drift_time: float | None = None
    resolution: Any = 0.0
    range: tuple[float, float] = (-math.inf, math.inf)
    seed: int = 0

    def __post_init__(self) -> None:
        item = "SensorErrors"
        period = finite_number(self.period, item=item, field="period")
        if period <= 0:
            raise ModelError(item, "period", period, "give the time between samples, above zero")
        delay = finite_number(self.delay, item=item, field="delay")
        if delay < 0:
            raise ModelError(item, "delay", delay, "it must not be negative")
        for name in _CHANNEL_FIELDS:
            given = getattr(self, name)
            array = finite_array(given, shape_of(given) or (), item=item, field=name)
            if array.ndim > 1:
                raise ModelError(item, f"the shape of {name}", array.shape, "give a number, or one per channel")
            if name not in ("scale", "bias") and (array < 0).any():
                raise ModelError(item, name, given, "it must not be negative")
        if self.drift_time is not None and finite_number(self.drift_time, item=item, field="drift_time") <= 0:
            raise ModelError(item, "drift_time", self.drift_time, "give a time above zero, or None for a random walk")
        try:
            low, high = map(float, self.range)
        except (TypeError, ValueError):
            low = high = math.nan
        if not low < high:
            raise ModelError(item, "range", self.range, "give the smallest and the largest reading")
        if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise ModelError(item, "seed", self.seed, "give a whole number, zero or above")
        set_fields(self, period=period, delay=delay, range=(low, high))

    def of_channels(self, count: int, item: str) -> dict[str, Array]:
        """Return the numbers of (1) and (2) for a count of channels."""
        numbers = {}
        for name in _CHANNEL_FIELDS:
            array = np.asarray(getattr(self, name), dtype=float)
            if array.ndim and array.shape != (count,):
                raise ModelError(item, f"the shape of {name}", array.shape, f"give a number, or ({count},)")
            numbers[name] = np.broadcast_to(array, (count,)).astype(float)
        return numbers


class _Channels:
    """Samples of (1) and (2), in order; in one call or in many, with the same bits."""

    def __init__(self, errors: SensorErrors, count: int, item: str) -> None:
        self.errors, self.count = errors, count
        numbers = errors.of_channels(count, item)
        self.scale, self.bias, self.resolution = numbers["scale"], numbers["bias"], numbers["resolution"]
        self.sigma = np.hypot(numbers["noise"], numbers["density"] / math.sqrt(errors.period))
        self.drift = numbers["drift"]
        self.noise_rng, self.drift_rng = (np.random.default_rng([int(errors.seed), k]) for k in range(2))
        time = errors.drift_time
        self.keep = 1.0 if time is None else math.exp(-errors.period / time)
        self.step = self.drift * (math.sqrt(errors.period) if time is None else math.sqrt(1.0 - self.keep**2))
        self.now: Array = np.zeros(count)
        if time is not None and self.drift.any():
            self.now = self.drift * self.drift_rng.standard_normal(count)

    def take(self, true: Array) -> Array:
        """Return the readings (n, channels) of the next true values (n, channels)."""
        measured = self.scale * true + self.bias
        if self.drift.any():
            steps = self.step * self.drift_rng.standard_normal(true.shape)
            for row, step in zip(measured, steps, strict=True):
                row += self.now
                self.now = self.keep * self.now + step
        if self.sigma.any():
            measured = measured + self.sigma * self.noise_rng.standard_normal(true.shape)
        fine = np.where(self.resolution > 0, self.resolution, 1.0)
        measured = np.where(self.resolution > 0, fine * np.round(measured / fine), measured)
        return np.clip(measured, *self.errors.range)


@dataclass(frozen=True, eq=False, repr=False)
class SensorData(ArrayAnswer):
    """Readings of a sensor in a run.

    Attributes
    ----------
    t : (n,) s
        Times at which samples were taken.
    values, true : (n, channels)
        Readings, and values without errors.
    names, units : tuple of str
        Of the channels.
    delay : float, s
        Until a reading is known.
    """

    t: Array
    values: Array
    true: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    delay: float = 0.0

    _arrays: ClassVar = {"values": (("t", "channel"), ""), "true": (("t", "channel"), "")}

    def __getitem__(self, name: str) -> Array:
        """Return the readings (n,) of a channel."""
        if name not in self.names:
            raise ModelError("SensorData", "channel", name, f"there are {', '.join(map(repr, self.names))}")
        return self.values[:, self.names.index(name)]

    def at(self, times: ArrayLike) -> Array:
        """Return the readings (k, channels) that are known at times (k,) s: held; NaN before the first."""
        when = np.asarray(times, dtype=float)
        last = np.searchsorted(self.t + self.delay, when * (1.0 + 1e-12), side="right") - 1
        return np.where((last >= 0)[..., None], self.values[np.maximum(last, 0)], np.nan)

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"t": (self.t, "s"), "channel": (list(self.names), "")}

    def _headline(self) -> str:
        error = self.values - self.true
        spread = np.sqrt(np.mean(error * error, axis=0)) if len(self.t) else np.zeros(len(self.names))
        parts = [f"{name} {size:.3g} {unit}" for name, size, unit in zip(self.names, spread, self.units, strict=True)]
        return f"{len(self.t)} samples, rms errors {', '.join(parts)}"


class SensorStream:
    """Readings of a sensor during a run, one sample per call; `SampledSensor.stream` makes it.

    ``stream(state)`` (of a model), or ``stream()`` (of a `da.Live`), takes a sample at the time of the state and
    returns the newest reading (channels,) that has arrived since; NaN before the first. Call it once per period, in
    order: the noise belongs to the number of the sample. `reset` begins again.
    """

    def __init__(self, sensor: SampledSensor, owner: Any) -> None:
        self._sensor, self._owner = sensor, owner
        self.reset()

    def reset(self) -> None:
        """Begin again with the first sample."""
        sensor = self._sensor
        self._blocks = sensor.channel_blocks()
        self._waiting: list[tuple[float, Array]] = []
        self._known = np.full(len(sensor.channel_names), np.nan)
        self._last = -math.inf

    def __call__(self, state: Any = None, tau: ArrayLike | None = None) -> Array:
        """Return the newest known reading after a sample at a state, under joint forces `tau` (nv,)."""
        source = source_of(self._owner, state, tau, type(self._sensor).__name__)
        t = float(source.t[0])
        if t < self._last:
            raise ModelError(type(self._sensor).__name__, "t", t, f"the last sample was at {self._last:.6g} s: reset()")
        self._last = t
        self._waiting.append((t + self._sensor.delay, sampled(self._sensor, self._blocks, source)[0][0]))
        while self._waiting and self._waiting[0][0] <= t * (1 + 1e-12) + 1e-15:
            self._known = self._waiting.pop(0)[1]
        return self._known.copy()


class SampledSensor:
    """Base of sensors: channels with names, units, true values, and errors."""

    errors: SensorErrors
    channel_names: tuple[str, ...]
    channel_units: tuple[str, ...]

    def blocks(self) -> Sequence[tuple[SensorErrors, int]]:
        """Return the errors of consecutive channels, with their numbers."""
        return [(self.errors, len(self.channel_names))]

    def true_values(self, source: Source) -> Array:
        """Return the values without errors, (n, channels)."""
        raise NotImplementedError

    @property
    def delay(self) -> float:
        """Delay of all channels, s."""
        return self.blocks()[0][0].delay

    def channel_blocks(self) -> list[_Channels]:
        """Return the channels at their first sample."""
        return [_Channels(errors, count, type(self).__name__) for errors, count in self.blocks()]

    def measure(self, result: Any, *, begin: float | None = None, end: float | None = None) -> SensorData:
        """Return the readings in a run, at its period from `begin` (default: the start of the result).

        Parameters
        ----------
        result : Result
        begin, end : float, s
        """
        item, errors = type(self).__name__, self.blocks()[0][0]
        first, last = (float(result.t[k]) for k in (0, -1))
        start = first if begin is None else finite_number(begin, item=item, field="begin")
        stop = last if end is None else finite_number(end, item=item, field="end")
        if not first <= start <= stop <= last:
            remedy = f"give first <= begin <= end <= last, of {first:.6g} s to {last:.6g} s"
            raise ModelError(item, "begin and end", (start, stop), remedy)
        times: Any = start + errors.period * np.arange(math.floor((stop - start) / errors.period * (1 + 1e-12)) + 1)
        values, true = sampled(self, self.channel_blocks(), ResultSource(result, np.minimum(times, last)))
        return SensorData(times, values, true, self.channel_names, self.channel_units, errors.delay)

    def stream(self, owner: Any) -> SensorStream:
        """Return a function that takes a sample per call, for controllers.

        Parameters
        ----------
        owner : Model, System or Live
            Of a `da.Live`, ``stream()`` measures its present state; of a model ``stream(state)`` measures a state, as
            a `SampledControl` gets it, under joint forces ``stream(state, tau)``.
        """
        check_owner(owner, type(self).__name__)
        return SensorStream(self, owner)

    def with_seed(self, seed: int) -> Self:
        """Return the sensor with another seed, for instance for another run."""
        return replace(self, errors=replace(self.errors, seed=seed))  # type: ignore[type-var]


def sampled(sensor: SampledSensor, blocks: list[_Channels], source: Source) -> tuple[Array, Array]:
    """Return readings and true values of the next samples."""
    true = sensor.true_values(source)
    ends = np.cumsum([block.count for block in blocks])[:-1]
    parts = np.split(true, ends, axis=1)
    return np.concatenate([block.take(part) for block, part in zip(blocks, parts, strict=True)], axis=1), true
