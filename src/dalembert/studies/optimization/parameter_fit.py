"""`fit`: parameter identification from measured motions, with confidence intervals.

The sum of squares of the residuals r(p), measured minus computed outputs over their noise, is minimized. To first order
the estimate has the covariance

    C = s^2 (J^T J)^-1,   J = dr/dp,   s^2 = r^T r / (N - n)                                                       (1)

(Bates and Watts 1988, section 2.1), s = 1 where the noise is known, and (p - p*)^T C^-1 (p - p*) <= n F(n, N - n) is
its confidence region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...answer import ArrayAnswer, list_text
from ...arrays import Array
from ...checks import checked
from ...errors import ModelError
from ...model import Model
from ...system import System
from .design_optimization import optimize
from .optimum import Optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ParameterFit", "fit"]


_ITEM = "fit"
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
    _arrays: ClassVar = {
        "x": (("parameter",), ""),
        "errors": (("parameter",), ""),
        "covariance": (("parameter", "parameter_of"), ""),
    }

    @property
    def success(self) -> bool:
        """Whether the search ended at an optimum."""
        return self.optimum.success

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
        return list_text(f"{n} {x:.6g} ± {e:.2g}" for n, x, e in pairs)

    def __str__(self) -> str:
        wide = max(map(len, self.names))
        rows = zip(self.names, self.x, self.errors, self.interval(), strict=True)
        lines = [f"{n:{wide}}  {x:>12.6g}  +- {e:<9.3g} 95 %: {a:.6g} to {b:.6g}" for n, x, e, (a, b) in rows]
        unit = "times that given" if self.known else "of the spread of the outputs"
        lines.append(f"{self.count} measured numbers, noise {self.noise:.4g} {unit}; {self.optimum.status}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@checked("over", "measured", "times", "noise", "start", "starts")
def fit(
    system: System | Model,
    over: Mapping[str, tuple[float | None, float | None]],
    measured: Mapping[str, ArrayLike],
    times: ArrayLike,
    *,
    noise: float | Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    starts: int = 1,
    seed: int = 0,
    **settings: Any,
) -> ParameterFit:
    """Identify parameters of a system from a measured motion, by least squares.

    Parameters
    ----------
    system : System or Model
    over : dict of name to (lower, upper)
        Parameters of the system and start values to identify.
    measured : dict of output to (N,) or (N, ...)
        ``{"A.position": angles}``; NaN where there is no sample.
    times : (N,) s
        Times of the samples, increasing; the motion begins at the first.
    noise : float, or dict of output to float
        Standard deviation of the measured values. By default it is estimated from the residuals, and every output is
        weighted by its own spread.
    start, starts, seed
        As in `optimize`.
    settings
        Settings of `simulate`: ``state``, ``control``, ``rtol``, ...

    Returns
    -------
    ParameterFit

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
    t = np.asarray(times, dtype=float)
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
        raise ModelError(_ITEM, "times", times, "give increasing times, two at least")
    given = {name: np.asarray(values, dtype=float) for name, values in measured.items()}
    for name, values in given.items():
        if values.shape[:1] != t.shape or not np.isfinite(values).any():
            raise ModelError(_ITEM, f"measured {name!r}", values.shape, f"give a row for each of the {len(t)} times")
    there = {name: np.isfinite(values) for name, values in given.items()}
    sigma = _noises(noise, given)
    count = int(sum(mask.sum() for mask in there.values()))
    if count <= len(over):
        raise ModelError(_ITEM, "measured", count, f"give more than {len(over)} numbers for {len(over)} unknowns")

    def residuals(outputs: Mapping[str, Array]) -> Array:
        parts = [((given[n] - outputs[n]) / sigma[n])[there[n]].ravel() for n in given]
        return np.concatenate(parts)

    found = optimize(
        system,
        over,
        residuals,
        outputs={name: name for name in given},
        start=start,
        starts=starts,
        seed=seed,
        t_end=float(t[-1]),
        t_start=float(t[0]),
        times=t,
        **settings,
    )
    if not found.outputs:
        raise ModelError(_ITEM, "system", found.status, f"every run failed: {found.message}")
    left = {name: np.where(there[name], given[name] - found.outputs[name], np.nan) for name in given}
    spread = float(np.sqrt(found.objective / (count - len(over))))
    covariance, notes = _covariance(found, 1.0 if noise is not None else spread)
    return ParameterFit(
        found.names,
        found.x,
        np.sqrt(np.diag(covariance)),
        covariance,
        left,
        spread,
        noise is not None,
        count,
        found,
        [*notes, *found.notes],
    )


def _noises(noise: Any, given: Mapping[str, Array]) -> dict[str, float]:
    """Return the noise of each output: the given one, or its spread."""
    if noise is None:
        return {name: max(float(np.nanstd(values)), 1e-300) for name, values in given.items()}
    if isinstance(noise, Mapping) and (missing := sorted(set(given) - set(noise))):
        raise ModelError(_ITEM, "noise", noise, f"{missing[0]!r} has none: give that of every output, or one number")
    each = {name: noise[name] for name in given} if isinstance(noise, Mapping) else dict.fromkeys(given, noise)
    for name, value in each.items():
        if not np.isfinite(value) or value <= 0:
            raise ModelError(_ITEM, f"noise of {name!r}", value, "give a positive standard deviation")
    return {name: float(value) for name, value in each.items()}


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
