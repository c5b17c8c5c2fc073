"""`fit`: parameter identification from measured motions, with confidence intervals.

The sum of squares of the residuals r(p), measured minus computed outputs over their noise, is minimized. To first order
the estimate has the covariance

    C = s^2 (J^T J)^-1,   J = dr/dp,   s^2 = r^T r / (N - n)                                                       (1)

(Bates and Watts 1988, section 2.1), s = 1 where the noise is known, and (p - p*)^T C^-1 (p - p*) <= n F(n, N - n) is
its confidence region. Residuals are tested for lack of fit (`lack_of_fit`); (1) holds without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...answer import ArrayAnswer, list_text
from ...arrays import Array
from ...checks import checked
from ...errors import ModelError
from ...model import Model, as_model
from ...system import System
from .design_optimization import check_names, make_job
from .design_variables import as_bounds, make_variables, spread
from .evaluator import Evaluator
from .experiments import Experiment, ExperimentResiduals, as_experiments
from .lack_of_fit import judge_residuals
from .multistart import searches
from .objectives import Goal
from .optimum import Optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ParameterFit", "fit"]


_ITEM = "fit"
TOLERANCE = 1e-8  # relative, of the sum of squares
MAX_ITERATIONS = 200
_IDENTIFIABLE_TOL = 1e-7  # smallest over largest singular value of J in units of the estimates; below, not identifiable


@dataclass(frozen=True, eq=False, repr=False)
class ParameterFit(ArrayAnswer):
    """Estimated parameters with standard errors; `print` shows a table.

    Attributes
    ----------
    names : tuple of str, (n,)
    x, errors : (n,)
        Estimates, and their standard errors; infinite for parameters that are not identifiable.
    covariance : (n, n)
    residuals : dict of str to array
        Measured minus computed, NaN where nothing was measured.
    noise : float
        Root mean square of the residuals over the given noise: about 1 if noise and model are right. If no noise was
        given, relative to the spread of each output.
    known : bool
        Whether the noise was given.
    count : int
        Number of measured values.
    optimum : Optimum
        The search.
    notes : list of str
    lack_of_fit : tuple of str
        What distinguishes the residuals from noise: their size, where the noise was given, or their correlation in
        time. Empty if nothing does.
    widened : float
        Factor by which standard errors are widened for a lack of fit; 1 without one.
    """

    names: tuple[str, ...]
    x: Array
    errors: Array
    covariance: Array
    residuals: dict[str, Array]
    noise: float
    known: bool
    count: int
    optimum: Optimum = field(repr=False)
    notes: list[str] = field(default_factory=list)
    lack_of_fit: tuple[str, ...] = ()
    widened: float = 1.0
    _arrays: ClassVar = {
        "x": (("parameter",), ""),
        "errors": (("parameter",), ""),
        "covariance": (("parameter", "parameter_of"), ""),
    }

    @property
    def success(self) -> bool:
        """Whether the search ended at an optimum, without a lack of fit."""
        return self.optimum.success and not self.lack_of_fit

    @property
    def message(self) -> str:
        """Estimates, and what distinguishes the residuals from noise."""
        return self._headline()

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"parameter": (list(self.names), ""), "parameter_of": (list(self.names), "")}

    @property
    def values(self) -> dict[str, float]:
        """Estimates by name: to be given as ``parameters``."""
        return dict(zip(self.names, map(float, self.x), strict=True))

    def __getitem__(self, name: str) -> float:
        """Return an estimate by name."""
        if name not in self.names:
            raise ModelError(_ITEM, "name", name, f"it has {', '.join(map(repr, self.names))}")
        return self.values[name]

    @property
    def correlation(self) -> Array:
        """Correlation matrix of the estimates, (n, n)."""
        return np.asarray(self.covariance / np.outer(self.errors, self.errors))

    def interval(self, confidence: float = 0.95) -> Array:
        """Return confidence intervals (n, 2), by Student's t distribution."""
        from scipy.stats import t

        if not 0.0 < confidence < 1.0:
            raise ModelError(_ITEM, "confidence", confidence, "give a probability between 0 and 1")
        wide = float(t.ppf(0.5 + 0.5 * confidence, max(1, self.count - len(self.x)))) * self.errors
        return np.column_stack([self.x - wide, self.x + wide])

    def region(self, first: str, second: str, confidence: float = 0.95, points: int = 100) -> Array:
        """Return the boundary (points, 2) of the joint confidence ellipse of two estimates."""
        from scipy.stats import f

        for name in (first, second):
            self[name]
        k = [self.names.index(first), self.names.index(second)]
        free = max(1, self.count - len(self.x))
        size = np.sqrt(2 * float(f.ppf(confidence, 2, free)))
        turn = np.linspace(0, 2 * np.pi, points)
        circle = np.stack([np.cos(turn), np.sin(turn)])
        return np.asarray(self.x[k] + size * (np.linalg.cholesky(self.covariance[np.ix_(k, k)]) @ circle).T)

    def plot(self, first: str, second: str, *, ax: Any = None, path: Any = None) -> Axes:
        """Draw the 68 and 95 % confidence ellipses of two estimates, and return the matplotlib axes."""
        from ...view.plots.uncertainty import plot_regions

        return plot_regions(self, first, second, ax=ax, path=path)

    def _headline(self) -> str:
        pairs = zip(self.names, self.x, self.errors, strict=True)
        text = list_text(f"{n} {x:.6g} ± {e:.2g}" for n, x, e in pairs)
        return f"{text}; {self._lack()}" if self.lack_of_fit else text

    def _lack(self) -> str:
        reasons = "; ".join(self.lack_of_fit)
        return (
            f"lack of fit: {reasons}; the model does not explain the data, errors are widened {self.widened:.3g} times"
        )

    def __str__(self) -> str:
        wide = max(map(len, self.names))
        rows = zip(self.names, self.x, self.errors, self.interval(), strict=True)
        lines = [f"{n:{wide}}  {x:>12.6g}  +- {e:<9.3g} 95 %: {a:.6g} to {b:.6g}" for n, x, e, (a, b) in rows]
        unit = "times that given" if self.known else "of the spread of the outputs"
        lines.append(f"{self.count} measured numbers, noise {self.noise:.4g} {unit}; {self.optimum.status}")
        lines += [self._lack()] if self.lack_of_fit else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@checked("over", "times", "noise", "start", "starts")
def fit(
    system: System | Model,
    over: Mapping[str, tuple[float | None, float | None]],
    measured: Mapping[str, ArrayLike] | Experiment | Sequence[Experiment],
    times: ArrayLike | None = None,
    *,
    noise: float | Mapping[str, float] | None = None,
    weights: Any = None,
    clock: tuple[float | None, float | None] | None = None,
    gain: Mapping[str, tuple[float | None, float | None]] | None = None,
    bias: Mapping[str, tuple[float | None, float | None]] | None = None,
    start: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    **settings: Any,
) -> ParameterFit:
    """Identify parameters of a system from measured motions, by least squares.

    Parameters
    ----------
    system : System or Model
    over : dict of name to (lower, upper)
        Parameters of the system and start values to identify.
    measured : dict of output to (N,) or (N, ...), or list of Experiment
        ``{"A.position": angles}``; NaN where there is no sample. Several experiments are fitted by the same parameters,
        each with its own times, noise, start values and sensors.
    times : (N,) s
        Times of the samples, increasing; the motion begins at the first, or at the setting ``t_start``.
    noise : float, or dict of output to float
        Standard deviation of the measured values. By default it is estimated from the residuals, and every output is
        weighted by its own spread.
    weights, clock, gain, bias
        As in `Experiment`: weights of samples; bounds of clock offset, gains and biases of sensors, which are
        estimated, too.
    start, starts, seed
        As in `optimize`.
    settings
        Settings of `simulate`: ``state``, ``control``, ``rtol``, ...

    Returns
    -------
    ParameterFit
        With a lack of fit, `success` is False and standard errors are widened; `message` names what differs from noise.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y", damping=0.2), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> t = np.linspace(0, 2, 41)
    >>> rng = np.random.default_rng(1)
    >>> angles = da.simulate(s, 2.0, times=t)["A.position"] + 0.01 * rng.standard_normal(41)
    >>> found = da.fit(s, {"A.damping": (0.0, 1.0)}, {"A.position": angles}, t, start={"A.damping": 0.5})
    >>> low, high = found.interval()[0]
    >>> bool(low < 0.2 < high), len(found.names)
    (True, 1)
    """
    more = {"clock": clock, "gain": gain or {}, "bias": bias or {}}
    given = as_experiments(_ITEM, measured, times, noise, weights, more)
    labels = [one.name or f"experiment {k + 1}" if isinstance(one, Experiment) else "" for k, one in enumerate(given)]
    if len(set(labels)) < len(labels):
        raise ModelError(_ITEM, "experiments", labels, "give each a name of its own")
    alone = len(given) == 1
    parts = [
        ExperimentResiduals(one, _ITEM, "" if alone else f"{label}: ", settings)
        for one, label in zip(given, labels, strict=True)
    ]
    known = [part.known_noise for part in parts]
    if any(known) and not all(known):
        raise ModelError(_ITEM, "noise", "of some experiments", "give it for all experiments, or for none")
    unknowns: dict[str, Any] = {name: bounds for part in parts for name, bounds in part.bounds.items()}
    if not isinstance(over, Mapping):
        raise ModelError(_ITEM, "over", over, "give a dict of name to (lower, upper)")
    count, total = sum(part.count for part in parts), len(over) + len(unknowns)
    if count <= total:
        raise ModelError(_ITEM, "measured", count, f"give more than {total} numbers for {total} unknowns")
    begin = {name: _nominal(name, bounds) for name, bounds in unknowns.items()} | dict(start or {})
    jobs = [make_job(as_model(system), "simulate", part.labels, part.settings) for part in parts]
    model = as_model(system)
    variables = make_variables(_ITEM, {**over, **unknowns}, begin, model)
    check_names(jobs, variables, frozenset(unknowns), _ITEM)

    def residuals(outputs: Mapping[str, Array]) -> Array:
        return np.concatenate([part.residuals(outputs) for part in parts])

    def slopes(outputs: Mapping[str, Array], by: Mapping[str, Array]) -> Array:
        return np.concatenate([part.slopes(outputs, by) for part in parts])

    goal = Goal("residuals", residuals, derivative=slopes)
    evaluator = Evaluator(jobs, variables, goal, [], aside=frozenset(unknowns))
    points = spread(_ITEM, variables, starts, seed)
    found = searches(evaluator, points, "auto", TOLERANCE, MAX_ITERATIONS, int(seed), model)
    if not found.outputs:
        raise ModelError(_ITEM, "system", found.status, f"every run failed: {found.message}")
    outputs = {**found.outputs, **found.values}
    left, spreads = {}, {}
    for part in parts:
        computed = part.computed(outputs)
        for name, values in part.given.items():
            left[f"{part.prefix}{name}"] = np.where(part.there[name], values - computed[name], np.nan)
            spreads[f"{part.prefix}{name}"] = max(float(np.nanstd(values)), 1e-300)
    scatter = float(np.sqrt(found.objective / (count - total)))
    lack = judge_residuals(left, spreads, float(found.objective), count - total, all(known))
    covariance, notes = _covariance(found, 1.0 if all(known) else scatter)
    return ParameterFit(
        found.names,
        found.x,
        lack.factor * np.sqrt(np.diag(covariance)),
        lack.factor**2 * covariance,
        left,
        scatter,
        all(known),
        count,
        found,
        [*notes, *(note for part in parts for note in part.notes()), *found.notes],
        lack.reasons,
        lack.factor,
    )


def _nominal(name: str, bounds: Any) -> float:
    """Return the start of an unknown of a sensor: no offset, gain 1, no bias; within its bounds."""
    low, high = as_bounds(_ITEM, f"bounds of {name!r}", bounds)
    return float(np.clip(1.0 if "gain of " in name else 0.0, low, high))


def _covariance(found: Optimum, spread: float) -> tuple[Array, list[str]]:
    """Return the covariance (1); parameters that are not identifiable have infinite variance and a note."""
    J, size = found.slopes(), found.variables.scale
    _, s, V = np.linalg.svd(J * size, full_matrices=False)
    dark = s <= _IDENTIFIABLE_TOL * s[0] if s[0] > 0 else np.ones(len(s), dtype=bool)
    notes = []
    inverse = np.where(dark, 0.0, 1.0 / np.where(dark, 1.0, s))
    C = spread**2 * (V.T * inverse**2) @ V * np.outer(size, size)
    if dark.any():
        unsure = (V[dark] ** 2).sum(axis=0) > 1e-6
        names = ", ".join(repr(name) for name, one in zip(found.names, unsure, strict=True) if one)
        notes.append(f"measurements do not identify {names} separately: fix one of them, or change the excitation")
        C[unsure, unsure] = np.inf
    return C, notes
