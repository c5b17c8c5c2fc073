"""Arithmetic of Taylor series: arrays (order + 1, n) of f, f', f''/2, ... at n points.

It gives curves derived from curves (offsets, envelopes) exact derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["derivative", "divided", "from_derivatives", "root", "times", "to_derivatives", "turning"]

Series = NDArray[Any]


def from_derivatives(f: Series) -> Series:
    """Return the series of a function from its derivatives (order + 1, n)."""
    return np.asarray(f / _factorials(len(f)))


def to_derivatives(f: Series) -> Series:
    """Return the derivatives (order + 1, n) of a series."""
    return np.asarray(f * _factorials(len(f)))


def derivative(f: Series) -> Series:
    """Return the series of the derivative, of one order less."""
    return np.asarray(f[1:] * np.arange(1.0, len(f))[:, None])


def times(f: Series, g: Series) -> Series:
    """Return the series of a product, of the lower order."""
    n = min(len(f), len(g))
    return np.array([sum(f[j] * g[k - j] for j in range(k + 1)) for k in range(n)])


def divided(f: Series, g: Series) -> Series:
    """Return the series of a quotient, of the lower order."""
    result: list[Any] = []
    for k in range(min(len(f), len(g))):
        result.append((f[k] - sum(result[j] * g[k - j] for j in range(k))) / g[0])
    return np.array(result)


def root(f: Series) -> Series:
    """Return the series of a square root."""
    result = [np.sqrt(f[0])]
    for k in range(1, len(f)):
        result.append((f[k] - sum(result[j] * result[k - j] for j in range(1, k))) / (2 * result[0]))
    return np.array(result)


def turning(angle: Series) -> Series:
    """Return the series of the unit vector at an angle, exp(i angle)."""
    result = [np.exp(1j * angle[0])]
    for k in range(1, len(angle)):
        result.append(1j * sum(j * angle[j] * result[k - j] for j in range(1, k + 1)) / k)
    return np.array(result)


def _factorials(n: int) -> Series:
    return np.array([float(math.factorial(k)) for k in range(n)])[:, None]
