"""Coordinates that are known: laws of time with three derivatives, and frames that are led."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connections.laws import Law, as_law, third_rate

__all__ = ["KnownCoordinates", "attitude_driver", "law_driver"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KnownCoordinates:
    """What leads some coordinates.

    Attributes
    ----------
    places : tuple of (str, int)
        Coordinates and components.
    motion : callable of times (n,) s and of whether third rates matter
        Returns (n, 4, k): their values, rates, second and third rates.
    """

    places: tuple[tuple[str, int], ...]
    motion: Callable[[Sequence[float], bool], Array]


@dataclass(frozen=True, eq=False)
class _LawValues:
    """Values and three rates of laws, one for each coordinate."""

    laws: tuple[Law, ...]

    def __call__(self, times: Sequence[float], third: bool) -> Array:
        rows = [[(*law(t), third_rate(law, t) if third else 0.0) for law in self.laws] for t in times]
        return np.array(rows).transpose(0, 2, 1)


def law_driver(name: str, laws: tuple[Any, ...], places: tuple[int, ...], *, item: str) -> KnownCoordinates:
    """Return what leads components of a coordinate by a law each."""
    taken = tuple(as_law(law, item=item, field=f"law of {name!r}") for law in laws)
    return KnownCoordinates(tuple((name, k) for k in places), _LawValues(taken))


@dataclass(frozen=True, eq=False)
class _AngleValues:
    """Axes of Rz(yaw) Ry(pitch) Rx(roll), and three rates of their components."""

    angles: tuple[Law, Law, Law]  # roll, pitch, yaw

    def __call__(self, times: Sequence[float], third: bool) -> Array:
        return np.array([self._at(t) for t in times])

    def _at(self, t: float) -> Array:
        cr, sr, cp, sp, cy, sy = (
            f for law in self.angles for f in _cosine_and_sine(np.array([*law(t), third_rate(law, t)]))
        )
        columns = (
            (_product(cy, cp), _product(sy, cp), -sp),
            (
                _product(_product(cy, sp), sr) - _product(sy, cr),
                _product(_product(sy, sp), sr) + _product(cy, cr),
                _product(cp, sr),
            ),
            (
                _product(_product(cy, sp), cr) + _product(sy, sr),
                _product(_product(sy, sp), cr) - _product(cy, sr),
                _product(cp, cr),
            ),
        )
        return np.array([component for column in columns for component in column]).T


def attitude_driver(vectors: tuple[str, str, str], angles: tuple[Any, Any, Any], *, item: str) -> KnownCoordinates:
    """Return what leads three vectors as the axes of Rz(yaw) Ry(pitch) Rx(roll); angles are roll, pitch, yaw."""
    roll, pitch, yaw = (as_law(law, item=item, field="angle") for law in angles)
    return KnownCoordinates(
        tuple((vector, k) for vector in vectors for k in range(3)), _AngleValues((roll, pitch, yaw))
    )


def _cosine_and_sine(x: Array) -> tuple[Array, Array]:
    """Return value and three rates of cos x and sin x, from those of x (4,)."""
    c, s, v, a, j = math.cos(x[0]), math.sin(x[0]), x[1], x[2], x[3]
    first = np.array([c, -s * v, -c * v * v - s * a, s * v**3 - 3 * c * v * a - s * j])
    second = np.array([s, c * v, -s * v * v + c * a, -c * v**3 - 3 * s * v * a + c * j])
    return first, second


def _product(f: Array, g: Array) -> Array:
    """Return value and three rates of a product."""
    return np.array([
        f[0] * g[0],
        f[1] * g[0] + f[0] * g[1],
        f[2] * g[0] + 2 * f[1] * g[1] + f[0] * g[2],
        f[3] * g[0] + 3 * f[2] * g[1] + 3 * f[1] * g[2] + f[0] * g[3],
    ])  # fmt: skip
