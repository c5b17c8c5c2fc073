"""Identification of inertial parameters from measured efforts by least squares, with confidence.

Efforts are linear in inertial parameters, tau = Y theta. Dependent columns of Y cannot be distinguished. With a pivoted
QR, Y E = Q [R1 R2], the base parameters are

    beta = theta_1 + R1^-1 R2 theta_2                                                                               (1)

(M. Gautier, J. Robotic Systems 8 (1991) 485-506). For noise of standard deviation s in the efforts the estimate beta
has the covariance s^2 (Y_1^T Y_1)^-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answer import ArrayAnswer, list_text
from ..arrays import Array
from ..checks import checked, finite_array, positive
from ..errors import ModelError
from ..numerics.rank import base_columns

__all__ = ["IdentifiedParameters", "identify"]


_ITEM = "identify"


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiedParameters(ArrayAnswer):
    """Base parameters with standard errors.

    Attributes
    ----------
    names : tuple of str, (b,)
        Names of the leading columns of the base parameters.
    values, errors : (b,)
        Estimates, and their standard errors.
    combination : (b, p)
        (1): the base parameters are this matrix times all parameters.
    noise : float
        Standard deviation of the efforts: the given one, or that of the residual.
    residual : (N,)
        Measured less predicted efforts.
    condition : float
        Of the scaled columns: excitation by the motion.
    """

    names: tuple[str, ...]
    values: Array
    errors: Array
    combination: Array
    noise: float
    residual: Array
    condition: float
    _arrays: ClassVar = {
        "values": (("parameter",), ""),
        "errors": (("parameter",), ""),
        "combination": (("parameter", "column"), ""),
        "residual": (("measurement",), ""),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {"parameter": (list(self.names), "")}

    def _headline(self) -> str:
        pairs = zip(self.names, self.values, self.errors, strict=True)
        values = list_text((f"{name} {value:.4g} ± {error:.2g}" for name, value, error in pairs), 3)
        return f"{values}; condition {self.condition:.3g}, noise {self.noise:.3g}"

    def __str__(self) -> str:
        width = max(map(len, self.names), default=0)
        rows = zip(self.names, self.values, self.errors, strict=True)
        lines = [f"{name:{width}}  {value:>13.6g}  ± {error:.3g}" for name, value, error in rows]
        lines.append(f"{len(self.residual)} measured efforts, noise {self.noise:.4g}, condition {self.condition:.4g}")
        return "\n".join([*lines, *self._note_lines()])

    def __getitem__(self, name: str) -> float:
        """Return the estimate of a base parameter by the name of its column."""
        if name not in self.names:
            raise ModelError(_ITEM, "name", name, f"base parameters are {', '.join(map(repr, self.names[:12]))}")
        return float(self.values[self.names.index(name)])

    def interval(self, confidence: float = 0.95) -> Array:
        """Return the confidence intervals (b, 2) for a probability, by Student's distribution."""
        from scipy.stats import t

        if not 0.0 < confidence < 1.0:
            raise ModelError(_ITEM, "confidence", confidence, "give a probability between 0 and 1")
        free = max(1, len(self.residual) - len(self.values))
        wide = float(t.ppf(0.5 + 0.5 * confidence, free)) * self.errors
        return np.column_stack([self.values - wide, self.values + wide])


@checked("regressor", "efforts", "names", "rank_tolerance")
def identify(
    regressor: ArrayLike,
    efforts: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    noise: float | None = None,
    rank_tolerance: float = 1e-8,
) -> IdentifiedParameters:
    """Return base parameters from measured efforts, with their confidence.

    Parameters
    ----------
    regressor : (N, p) or (n, m, p)
        Y in tau = Y theta, all samples stacked.
    efforts : (N,) or (n, m) N m or N
    names : (p,) of str
        Of the columns; indices if left out.
    noise : float, N m or N
        Standard deviation of the efforts, if known; default that of the residual.
    rank_tolerance : float
        Part of the largest diagonal element of R below which a column depends on others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(200, 3))
    >>> Y[:, 2] = Y[:, 0] + Y[:, 1]  # cannot be told apart
    >>> found = identify(Y, Y @ [1.0, 2.0, 3.0], ("m1", "m2", "m3"))
    >>> len(found.names), found.values.round(6) - (found.combination @ [1.0, 2.0, 3.0]).round(6)
    (2, array([0., 0.]))
    """
    from scipy.linalg import solve_triangular

    shape = np.shape(regressor)
    if len(shape) not in (2, 3):
        raise ModelError(_ITEM, "the shape of regressor", shape, "give (N, p), or (n, m, p)")
    p, count = shape[-1], int(np.prod(shape[:-1]))
    Y = finite_array(np.asarray(regressor, dtype=float).reshape(count, p), (count, p), item=_ITEM, field="regressor")
    tau = finite_array(np.asarray(efforts, dtype=float).ravel(), (count,), item=_ITEM, field="efforts")
    labels = tuple(map(str, range(p))) if names is None else tuple(names)
    if len(labels) != p:
        raise ModelError(_ITEM, "names", len(labels), f"give one for each of the {p} columns")
    found = base_columns(Y, rank_tolerance)
    base, R, units, first = found.rank, found.R, found.sizes, found.order[: found.rank]
    if not base:
        raise ModelError(_ITEM, "regressor", "zeros", "without motion no parameter can be identified")
    if count <= base:
        raise ModelError(_ITEM, "efforts", count, f"give more than {base} numbers for {base} base parameters")
    values = solve_triangular(R, found.Q.T @ tau) / units
    residual = tau - Y[:, first] @ values
    left = float(np.sqrt(residual @ residual / (count - base)))
    spread = left if noise is None else positive(_ITEM, noise=noise)["noise"]
    inverse = solve_triangular(R, np.eye(base))
    errors = spread * np.linalg.norm(inverse, axis=1) / units
    s = np.linalg.svd(R, compute_uv=False)
    chosen = tuple(labels[k] for k in first)
    return IdentifiedParameters(chosen, values, errors, found.combinations, spread, residual, float(s[0] / s[-1]))
