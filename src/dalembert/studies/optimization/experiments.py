"""Experiments of a parameter fit: samples, and what is unknown about clock and sensors.

A sensor gives m_i at the time t_i of its clock for the output y of the model,

    m_i = g y(t_i - d) + b + noise                                                                           (1)

with gain g, bias b and the offset d of its clock, each fixed or to be estimated within bounds. The residual of (1) is
divided by the standard deviation of the noise, and multiplied by the root of the weight. Between the times of a run, y
is a cubic spline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, BoolArray
from ...errors import ModelError
from .design_variables import as_bounds

__all__ = ["Experiment", "ExperimentResiduals", "as_experiments"]

_ITEM = "Experiment"
GRID_REFINEMENT = 2  # model times for each sample, for splines
MAX_GRID_TIMES = 4000

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, eq=False)
class Experiment:
    """Measured motion for `fit`, with what is unknown about its clock and sensors.

    Parameters
    ----------
    measured : dict of output to (N,) or (N, ...)
        NaN where there is no sample.
    times : (N,) s
        Times of the samples, increasing. The motion begins at the first, or at the setting ``t_start``.
    noise : float, or dict of output to float
        Standard deviation of the measured values. By default it is estimated.
    weights : float, (N,), or dict of output to these
        Weights of squared residuals.
    clock : (lower, upper), s
        Bounds of the offset of the clock: samples at t are of the motion at t - offset. Samples that may be from before
        the start of the motion are left out.
    gain, bias : dict of output to (lower, upper)
        Bounds of gain and bias of a sensor.
    name : str
    settings : dict
        Settings of `simulate` for this experiment: ``{"state": {"A": 0.3}, "parameters": {"bob.mass": 2.0}}``.

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> one = da.Experiment({"A.position": np.sin(t)}, t, clock=(-0.1, 0.1), bias={"A.position": (-0.05, 0.05)})
    >>> one.unknowns
    {'clock': (-0.1, 0.1), 'bias of A.position': (-0.05, 0.05)}
    """

    measured: Mapping[str, ArrayLike]
    times: ArrayLike
    noise: float | Mapping[str, float] | None = None
    weights: Any = None
    clock: Bounds | None = None
    gain: Mapping[str, Bounds] = field(default_factory=dict)
    bias: Mapping[str, Bounds] = field(default_factory=dict)
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unknowns(self) -> dict[str, Bounds]:
        """Bounds of clock offset, gains and biases, by name."""
        found: dict[str, Bounds] = {} if self.clock is None else {"clock": self.clock}
        found |= {f"gain of {output}": bounds for output, bounds in self.gain.items()}
        return found | {f"bias of {output}": bounds for output, bounds in self.bias.items()}


class ExperimentResiduals:
    """Residuals of one experiment and their derivatives.

    Parameters
    ----------
    experiment : Experiment
    item : str
        Caller, for errors.
    prefix : str
        Prefix of labels and unknowns; "" for a single experiment.
    settings : dict
        Settings of all experiments.
    """

    def __init__(self, experiment: Experiment, item: str, prefix: str, settings: Mapping[str, Any]) -> None:
        if not isinstance(experiment, Experiment):
            raise ModelError(item, "measured", type(experiment).__name__, "give a dict of outputs, or Experiments")
        self.item, self.prefix = item, prefix
        t = np.asarray(experiment.times, dtype=float)
        if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
            raise ModelError(item, f"{prefix}times", experiment.times, "give increasing times, two at least")
        self.times = t
        if not isinstance(experiment.measured, Mapping) or not experiment.measured:
            raise ModelError(item, f"{prefix}measured", experiment.measured, "give a dict of output to measured values")
        self.given = {name: np.asarray(values, dtype=float) for name, values in experiment.measured.items()}
        for name, values in self.given.items():
            if values.shape[:1] != t.shape or not np.isfinite(values).any():
                remedy = f"give a row for each of the {len(t)} times"
                raise ModelError(item, f"{prefix}measured {name!r}", values.shape, remedy)
        for what, bounds in (("gain", experiment.gain), ("bias", experiment.bias)):
            unknown = [name for name in bounds if name not in self.given]
            if unknown:
                raise ModelError(
                    item, f"{prefix}{what}", unknown[0], f"measured are {', '.join(map(repr, self.given))}"
                )
        self.bounds = {f"{prefix}{name}": bounds for name, bounds in experiment.unknowns.items()}
        self.has_clock = experiment.clock is not None
        self.settings = self._settings(experiment, settings)
        self.known_noise = experiment.noise is not None
        self.there = self._present(experiment)
        self.sigma = noises(experiment.noise, self.given, item)
        self.root_weight = {name: self._weight(experiment.weights, name) for name in self.given}

    @property
    def labels(self) -> dict[str, str]:
        """Names of outputs by their labels."""
        return {f"{self.prefix}{name}": name for name in self.given}

    @property
    def count(self) -> int:
        """Number of measured values."""
        return int(sum(mask.sum() for mask in self.there.values()))

    def _settings(self, experiment: Experiment, common: Mapping[str, Any]) -> dict[str, Any]:
        given = {**common, **experiment.settings}
        for name in ("parameters", "state"):
            if isinstance(common.get(name), Mapping) and isinstance(experiment.settings.get(name), Mapping):
                given[name] = {**common[name], **experiment.settings[name]}
        t, begin = self.times, float(given.pop("t_start", self.times[0]))
        if begin > t[0]:
            raise ModelError(
                self.item, f"{self.prefix}t_start", begin, f"the first sample is at {t[0]:.6g} s, before it"
            )
        end, self.grid = float(t[-1]), t
        self.earliest = -np.inf
        if self.has_clock:
            low, high = as_bounds(self.item, f"{self.prefix}bounds of the clock", experiment.clock)
            if not np.isfinite(high - low):
                raise ModelError(self.item, f"{self.prefix}clock", experiment.clock, "give finite bounds, s")
            end, self.earliest = float(t[-1]) - low, begin + high
            if not (t >= self.earliest).any():
                remedy = f"all samples are before {self.earliest:.6g} s, t_start plus the largest offset of the clock"
                raise ModelError(self.item, f"{self.prefix}clock", experiment.clock, remedy)
            step = float(np.diff(t).min()) / GRID_REFINEMENT
            self.grid = np.linspace(begin, end, min(MAX_GRID_TIMES, 2 + int((end - begin) / step)))
        return {**given, "t_start": begin, "t_end": end, "times": self.grid}

    def _present(self, experiment: Experiment) -> dict[str, BoolArray]:
        late = self.times >= self.earliest
        found = {name: np.isfinite(values) for name, values in self.given.items()}
        for name, mask in found.items():
            mask[~late] = False
            if not mask.any():
                remedy = f"all samples are before {self.earliest:.6g} s, t_start plus the largest offset of the clock"
                raise ModelError(self.item, f"{self.prefix}measured {name!r}", "none left", remedy)
        return found

    def notes(self) -> list[str]:
        """Return notes about samples that are left out."""
        left = int((self.times < self.earliest).sum())
        if not left:
            return []
        return [f"{self.prefix}{left} of {len(self.times)} samples may be from before the motion, and are left out"]

    def _weight(self, weights: Any, name: str) -> Array:
        given = weights.get(name, 1.0) if isinstance(weights, Mapping) else 1.0 if weights is None else weights
        found = np.asarray(given, dtype=float)
        if found.shape not in ((), self.times.shape) or not np.isfinite(found).all() or (found < 0).any():
            remedy = f"give a number, or one for each of the {len(self.times)} times, not negative"
            raise ModelError(self.item, f"{self.prefix}weights", given, remedy)
        shape = (len(self.times), *([1] * (self.given[name].ndim - 1)))
        return np.sqrt(np.broadcast_to(found, self.times.shape)).reshape(shape)

    def computed(self, outputs: Mapping[str, Any]) -> dict[str, Array]:
        """Return what sensors would measure, (N, ...) by name of the output; equation (1)."""
        found = {}
        for name in self.given:
            y = self._sampled(np.asarray(outputs[f"{self.prefix}{name}"]), self._offset(outputs))
            found[name] = self._gain(outputs, name) * y + self._bias(outputs, name)
        return found

    def residuals(self, outputs: Mapping[str, Any]) -> Array:
        """Return all scaled residuals, (k,)."""
        computed = self.computed(outputs)
        parts = [
            (self.root_weight[name] * (self.given[name] - computed[name]) / self.sigma[name])[self.there[name]]
            for name in self.given
        ]
        return np.concatenate([part.ravel() for part in parts])

    def slopes(self, outputs: Mapping[str, Any], by: Mapping[str, Array]) -> Array:
        """Return derivatives (k, n) of `residuals` from those of outputs and unknowns, (..., n)."""
        offset = self._offset(outputs)
        parts = []
        for name, given in self.given.items():
            label = f"{self.prefix}{name}"
            y, dy = np.asarray(outputs[label]), np.asarray(by[label])
            gain = self._gain(outputs, name)
            slope = gain * self._sampled(dy, offset)
            if f"{self.prefix}gain of {name}" in by:
                slope = slope + self._sampled(y, offset)[..., None] * by[f"{self.prefix}gain of {name}"]
            if f"{self.prefix}bias of {name}" in by:
                slope = slope + by[f"{self.prefix}bias of {name}"]
            if self.has_clock:
                rate = self._sampled(y, offset, derivative=1)
                slope = slope - gain * rate[..., None] * by[f"{self.prefix}clock"]
            weight = (np.broadcast_to(self.root_weight[name], given.shape) / self.sigma[name])[..., None]
            parts.append((-weight * slope)[self.there[name]].reshape(-1, slope.shape[-1]))
        return np.concatenate(parts)

    def _sampled(self, values: Array, offset: float, derivative: int = 0) -> Array:
        """Return values (or rates) on the clock of the samples from those at the times of the run."""
        if not self.has_clock:
            return values
        from scipy.interpolate import CubicSpline

        at = np.clip(self.times - offset, self.grid[0], self.grid[-1])
        return np.asarray(CubicSpline(self.grid, values, axis=0)(at, derivative))

    def _offset(self, outputs: Mapping[str, Any]) -> float:
        return float(outputs[f"{self.prefix}clock"]) if self.has_clock else 0.0

    def _gain(self, outputs: Mapping[str, Any], name: str) -> float:
        return float(outputs.get(f"{self.prefix}gain of {name}", 1.0))

    def _bias(self, outputs: Mapping[str, Any], name: str) -> float:
        return float(outputs.get(f"{self.prefix}bias of {name}", 0.0))


def noises(noise: Any, given: Mapping[str, Array], item: str) -> dict[str, float]:
    """Return the noise of each output: the given one, or its spread."""
    if noise is None:
        return {name: max(float(np.nanstd(values)), 1e-300) for name, values in given.items()}
    if isinstance(noise, Mapping) and (missing := sorted(set(given) - set(noise))):
        raise ModelError(item, "noise", noise, f"{missing[0]!r} has none: give that of every output, or one number")
    each = {name: noise[name] for name in given} if isinstance(noise, Mapping) else dict.fromkeys(given, noise)
    for name, value in each.items():
        if not np.isfinite(value) or value <= 0:
            raise ModelError(item, f"noise of {name!r}", value, "give a positive standard deviation")
    return {name: float(value) for name, value in each.items()}


def as_experiments(
    item: str, measured: Any, times: Any, noise: Any, weights: Any, more: Mapping[str, Any]
) -> list[Any]:
    """Return the experiments from user arguments; see `fit`."""
    if isinstance(measured, Experiment):
        measured = [measured]
    if isinstance(measured, Mapping):
        if times is None:
            raise ModelError(item, "times", None, "give the times of the samples")
        return [Experiment(measured, times, noise, weights, **more)]
    if not isinstance(measured, Sequence) or isinstance(measured, str) or not measured:
        raise ModelError(item, "measured", measured, "give a dict of output to values, or a list of Experiments")
    own = {"times": times, "noise": noise, "weights": weights, **more}
    given = [name for name, value in own.items() if value is not None and not (isinstance(value, dict) and not value)]
    if given:
        raise ModelError(item, given[0], "given", "give it to each Experiment")
    return list(measured)
