"""Uncertainty of outputs for parameters given by distributions.

Sampling: statistics of the samples of a sweep. First order: variances add up, sigma^2 = sum (df/dx_k sigma_k)^2. Sobol
indices are the shares of the variance due to each parameter alone, and with its interactions (Saltelli et al. 2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answer import Answer, list_text, range_text
from ..arrays import Array
from ..checks import checked, whole_number
from ..errors import GradientError, MissingPackageError, ModelError
from .optimization.design_optimization import make_job
from .optimization.design_variables import Variables
from .optimization.evaluator import Evaluator
from .optimization.objectives import Goal
from .sweeps.cases import correlation_matrix
from .sweeps.sweep import sweep

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

__all__ = ["Uncertainty", "uncertainty"]


_ITEM = "uncertainty"
N_RESAMPLES = 100  # of the bootstrap of Sobol indices


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Answer):
    """Distributions of outputs; `print` shows a table.

    Attributes
    ----------
    names : tuple of str
        Uncertain parameters.
    data : xarray.Dataset
        All samples, as returned by `sweep`, with recorded failures.
    mean, deviation : dict of str to array
        Of the samples.
    first_order : dict of str to array
        Standard deviations to first order; empty if not requested or without derivatives.
    shares : dict of str to (..., n)
        Shares of the first-order variance.
    first, total : dict of str to (n,)
        Sobol indices, if requested: of a parameter alone, and with its interactions.
    failed : int
    notes : list of str
    confidence : dict of str to ((n,), (n,))
        Half widths of 95 % confidence intervals of the Sobol indices `first` and `total`.
    """

    names: tuple[str, ...]
    data: xarray.Dataset = field(repr=False)
    mean: dict[str, Array]
    deviation: dict[str, Array]
    first_order: dict[str, Array]
    shares: dict[str, Array]
    first: dict[str, Array]
    total: dict[str, Array]
    failed: int
    notes: list[str]
    confidence: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    def quantile(self, output: str, q: Any) -> Array:
        """Return quantiles of an output over the successful samples."""
        if output not in self.mean:
            raise ModelError(_ITEM, "output", output, f"it has {', '.join(map(repr, self.mean))}")
        return np.asarray(np.nanquantile(self.data[output].values, q, axis=0))

    @property
    def table(self) -> pandas.DataFrame:
        """Table of the scalar outputs."""
        import pandas

        rows = {}
        for label, mean in self.mean.items():
            if np.ndim(mean) == 0:
                low, middle, high = self.quantile(label, [0.05, 0.5, 0.95])
                row = {"mean": float(mean), "deviation": float(self.deviation[label]), "5 %": low, "50 %": middle}
                rows[label] = {**row, "95 %": high, "first order": float(self.first_order.get(label, np.nan))}
        return pandas.DataFrame(rows).T

    def plot(self, output: str, *, path: Any = None) -> tuple[Axes, Axes]:
        """Plot the distribution of an output and the shares of its variance; return the matplotlib axes."""
        from ..view.plots.uncertainty import plot_uncertainty

        return plot_uncertainty(self, output, path=path)

    @property
    def success(self) -> bool:
        """Whether no sample failed."""
        return not self.failed

    def _headline(self) -> str:
        outputs = (
            f"{label} {range_text(mean)} ± {range_text(self.deviation[label], form='.2g')}"
            for label, mean in self.mean.items()
        )
        return f"{list_text(outputs, 3)} by {list_text(self.names, 3)}, {self.failed} samples failed"

    def to_xarray(self) -> xarray.Dataset:
        """Return all samples as an xarray Dataset."""
        return self.data.copy()

    def __str__(self) -> str:
        lines = [self.table.to_string(float_format=lambda x: f"{x:.6g}")]
        for label, share in self.shares.items():
            if share.ndim == 1:
                shares = ", ".join(f"{n} {100 * s:.1f} %" for n, s in zip(self.names, share, strict=True))
                lines.append(f"{label}, shares of the first-order variance: {shares}")
        for label, total in self.total.items():
            rows = zip(self.names, self.first[label], total, strict=True)
            shares = ", ".join(f"{n} {a:.3f} ({b:.3f})" for n, a, b in rows)
            lines.append(f"{label}, Sobol indices, first (total): {shares}")
        lines.append(f"{self.data.sizes['sample']} samples, {self.failed} of them failed")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@checked("samples", "design", "first_order", "sobol_indices")
def uncertainty(
    system: Any,
    over: Mapping[str, Any],
    outputs: Any,
    *,
    task: Any = "simulate",
    samples: int = 256,
    design: str = "latin",
    seed: int = 0,
    first_order: bool = True,
    sobol_indices: bool = False,
    correlation: Mapping[tuple[str, str], float] | None = None,
    **settings: Any,
) -> Uncertainty:
    """Compute the distributions of outputs for parameters given by distributions.

    Parameters
    ----------
    system : System, Model, or function of a Case
    over : dict of name to distribution of ``scipy.stats``
    outputs : names, or dict of label to output
        As in `sweep`.
    task : str or function
    samples : int
        With `sobol_indices`, rounded up to a power of two, with n + 2 times as many runs.
    design : str
        ``"latin"``, ``"sobol"`` or ``"random"``.
    seed : int
    first_order : bool
        Whether variances are also computed from derivatives at the means, exact where `sensitivity` supports them.
    sobol_indices : bool
        Whether Sobol indices are computed (extra ``uncertainty``), with half the widths of their 95 % confidence
        intervals by bootstrapping. They are defined for independent parameters.
    correlation : dict of (name, name) to float
        As in `sweep`. First-order variances take it into account: sigma^2 = g^T C g.
    settings
        Settings of the task, and ``workers``, ``client``, ``store`` of `sweep`.

    Examples
    --------
    >>> import dalembert as da
    >>> from scipy.stats import norm
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> _ = s.connect("k", da.TorsionSpring(stiffness=50.0), "A")
    >>> found = da.uncertainty(s, {"k.stiffness": norm(50.0, 2.0)}, {"f": lambda m: m.frequencies[0]}, task="modes")
    >>> bool(abs(found.deviation["f"] / found.first_order["f"] - 1) < 0.02)
    True
    """
    if not isinstance(over, Mapping) or not over:
        raise ModelError(_ITEM, "over", over, "give a dict of name to a distribution of scipy.stats")
    for name, law in over.items():
        if not isinstance(name, str) or not hasattr(law, "ppf"):
            raise ModelError(
                _ITEM, f"distribution of {name!r}", law, "give one of scipy.stats: scipy.stats.norm(1.0, 0.1)"
            )
    names = tuple(over)
    notes: list[str] = []
    first: dict[str, Array] = {}
    total: dict[str, Array] = {}
    drawn: dict[Any, Any] = dict(over)
    if sobol_indices and correlation:
        remedy = "Sobol indices are defined for independent parameters: leave one of both out"
        raise ModelError(_ITEM, "correlation", dict(correlation), remedy)
    coupling = np.eye(len(names)) if not correlation else correlation_matrix(names, correlation)
    widths: dict[str, tuple[Array, Array]] = {}
    if sobol_indices:
        rows = _saltelli(over, samples, seed)
        listed = {names if len(names) > 1 else names[0]: rows if len(names) > 1 else rows[:, 0]}
        found = sweep(system, listed, task=task, outputs=outputs, seed=seed, **settings)
        found = found.rename({", ".join(names): "sample"})
    else:
        found = sweep(
            system,
            drawn,
            task=task,
            outputs=outputs,
            samples=samples,
            design=design,
            correlation=correlation,
            seed=seed,
            **settings,
        )
    labels = [str(v) for v in found.data_vars if v not in ("status", "message") and found[v].dtype.kind in "fiu"]
    labels = [label for label in labels if label not in names]
    failed = int((found.status != "finished").sum())
    if sobol_indices:
        first, total, widths = _indices(found, labels, names, failed, notes)
    if failed == found.sizes["sample"]:
        raise ModelError(_ITEM, "samples", failed, f"all of them failed, the first: {found.message.values.ravel()[0]}")
    mean = {label: np.asarray(np.nanmean(found[label].values, axis=0)) for label in labels}
    deviation = {label: np.asarray(np.nanstd(found[label].values, axis=0, ddof=1)) for label in labels}
    spread: dict[str, Array] = {}
    shares: dict[str, Array] = {}
    if first_order:
        spread, shares = _first_order(system, over, outputs, task, settings, labels, notes, coupling)
    return Uncertainty(names, found, mean, deviation, spread, shares, first, total, failed, notes, widths)


def _first_order(
    system: Any,
    over: Mapping[str, Any],
    outputs: Any,
    task: Any,
    settings: dict[str, Any],
    labels: list[str],
    notes: list[str],
    coupling: Array,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return first-order standard deviations and shares of variances; empty, with a note, if unavailable."""
    mean, sigma = (np.array([float(getattr(law, what)()) for law in over.values()]) for what in ("mean", "std"))
    if not np.isfinite(mean).all() or not np.isfinite(sigma).all():
        notes.append("no first-order variances: a distribution has no mean or no variance")
        return {}, {}
    aside = ("workers", "client", "store", "executor", "progress", "retry")
    job = make_job(system, task, outputs, {name: value for name, value in settings.items() if name not in aside})
    none = np.full(len(mean), np.inf)
    variables = Variables(tuple(over), -none, none, mean, np.where(sigma > 0, sigma, 1.0))
    evaluator = Evaluator([job], variables, Goal("outputs", lambda o: 0.0), [])
    here = evaluator.at(mean)
    try:
        by = None if here.error else evaluator.derivatives(mean, here)
    except GradientError as error:
        by, here.error = None, str(error)
    notes += evaluator.notes
    if by is None:
        notes.append(f"no first-order variances: {here.error or 'evaluations near the means fail'}")
        return {}, {}
    scaled = {label: np.asarray(by[label]) * sigma for label in labels if label in by}
    variances = {label: g * (g @ coupling) for label, g in scaled.items()}  # the parts of g^T C g
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = {label: v / v.sum(axis=-1, keepdims=True) for label, v in variances.items()}
    return {label: np.sqrt(np.maximum(v.sum(axis=-1), 0.0)) for label, v in variances.items()}, shares


def _problem(names: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(names), "names": list(names), "bounds": [[0.0, 1.0]] * len(names)}


def _saltelli(over: Mapping[str, Any], samples: int, seed: int) -> Array:
    """Return the sample points of Saltelli's scheme, (N (n + 2), n)."""
    try:
        from SALib.sample import sobol
    except ImportError:
        raise MissingPackageError("Sobol indices", "SALib", "pip install 'dalembert[uncertainty]'") from None
    count = 1 << (whole_number(samples, item=_ITEM, field="samples", least=2) - 1).bit_length()
    parts = np.clip(sobol.sample(_problem(tuple(over)), count, calc_second_order=False, seed=seed), 1e-12, 1 - 1e-12)
    return np.stack([np.asarray(law.ppf(parts[:, k])) for k, law in enumerate(over.values())], axis=1)


def _indices(
    found: Any, labels: list[str], names: tuple[str, ...], failed: int, notes: list[str]
) -> tuple[dict[str, Array], dict[str, Array], dict[str, tuple[Array, Array]]]:
    from SALib.analyze import sobol

    if failed:
        notes.append(f"no Sobol indices: {failed} samples failed, and the method requires all")
        return {}, {}, {}
    first, total, widths = {}, {}, {}
    for label in labels:
        values = found[label].values
        if values.ndim == 1 and np.ptp(values) > 0:
            analysis = sobol.analyze(
                _problem(names), values, calc_second_order=False, seed=0, num_resamples=N_RESAMPLES
            )
            first[label], total[label] = np.asarray(analysis["S1"]), np.asarray(analysis["ST"])
            widths[label] = np.asarray(analysis["S1_conf"]), np.asarray(analysis["ST_conf"])
    return first, total, widths
