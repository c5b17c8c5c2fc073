"""Lack of fit: tests whether residuals of a fit are noise.

Two tests at the level `LEVEL`. Where the noise is known, the sum of squares of the scaled residuals follows a
chi-squared distribution with N - n degrees of freedom. Residuals in order of time are uncorrelated: with the
autocorrelations rho_k, Q = N (N + 2) sum_k rho_k^2 / (N - k) follows one with as many degrees of freedom as lags (Ljung
and Box 1978). Correlated residuals carry less information: the variance of a mean of N of them with the correlation
rho from one to the next is (1 + rho) / (1 - rho) times that of independent ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array

__all__ = ["LackOfFit", "judge_residuals"]

LEVEL = 1e-4  # probability of a false alarm of one test
MIN_SAMPLES = 16  # for the test of correlation
MAX_LAGS = 10
EXACT_TOL = 1e-6  # of the spread of an output: smaller residuals are errors of the integration, not of the model


@dataclass(frozen=True)
class LackOfFit:
    """What distinguishes residuals from noise, and the factor by which standard errors are widened."""

    reasons: tuple[str, ...]
    factor: float


def judge_residuals(
    residuals: dict[str, Array], spreads: dict[str, float], squares: float, free: int, known: bool
) -> LackOfFit:
    """Test residuals.

    Parameters
    ----------
    residuals : dict of label to (N,) or (N, ...)
        In order of time, NaN where there is none.
    spreads : dict of label to float
        Standard deviation of the measured values.
    squares : float
        Sum of squares of the scaled residuals.
    free : int
        Number of measured values less that of unknowns.
    known : bool
        Whether the noise was given.
    """
    from scipy.stats import chi2

    reasons, factor = [], 1.0
    if known and free > 0 and chi2.sf(squares, free) < LEVEL:
        reasons.append(f"residuals are {np.sqrt(squares / free):.3g} times the given noise")
        factor = np.sqrt(squares / free)
    largest = 1.0
    if not known or squares > 0.01 * free:
        for label, values in residuals.items():
            for k, series in enumerate(values.reshape(len(values), -1).T):
                kept = series[np.isfinite(series)]
                if len(kept) < MIN_SAMPLES or np.sqrt(np.mean(kept**2)) <= EXACT_TOL * spreads[label]:
                    continue
                rho, probability = _correlation(kept)
                if probability < LEVEL:
                    name = label if values.ndim == 1 else f"{label}[{k}]"
                    reasons.append(f"residuals of {name!r} are correlated in time, {rho:.2f} from one to the next")
                    rho = min(max(rho, 0.0), 1.0 - 1.0 / len(kept))
                    largest = max(largest, (1.0 + rho) / (1.0 - rho))
    return LackOfFit(tuple(reasons), float(factor * np.sqrt(largest)))


def _correlation(series: Array) -> tuple[float, float]:
    """Return the correlation from one to the next, and the probability of larger ones by chance."""
    from scipy.stats import chi2

    r, n = series - series.mean(), len(series)
    lags = min(MAX_LAGS, n // 4)
    total = float(r @ r)
    if total == 0.0:
        return 0.0, 1.0
    rho = np.array([r[k:] @ r[: n - k] for k in range(1, lags + 1)]) / total
    q = n * (n + 2) * float((rho**2 / (n - np.arange(1, lags + 1))).sum())
    return float(rho[0]), float(chi2.sf(q, lags))
