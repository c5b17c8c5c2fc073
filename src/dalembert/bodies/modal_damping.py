"""Modal damping: Rayleigh damping, damping ratios, or a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_array, finite_number, shape_of
from ..errors import ModelError

__all__ = ["Rayleigh", "modal_damping_matrix"]


@dataclass(frozen=True)
class Rayleigh:
    """Damping proportional to mass and stiffness: C = alpha M + beta K.

    Parameters
    ----------
    alpha : float, 1/s
    beta : float, s

    Examples
    --------
    >>> import dalembert as da
    >>> da.Rayleigh.through(0.02, 10.0, 0.02, 100.0)  # ratio 2 % at 10 and at 100 rad/s
    Rayleigh(alpha=0.36363636363636365, beta=0.00036363636363636367)
    """

    alpha: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        for field in ("alpha", "beta"):
            if finite_number(getattr(self, field), item="Rayleigh", field=field) < 0:
                raise ModelError("Rayleigh", field, getattr(self, field), "damping must not be negative")

    @classmethod
    def through(cls, ratio_1: float, frequency_1: float, ratio_2: float, frequency_2: float) -> Rayleigh:
        """Return the damping that has two given ratios at two given frequencies (rad/s)."""
        numbers = [
            finite_number(x, item="Rayleigh", field="ratios and frequencies")
            for x in (ratio_1, frequency_1, ratio_2, frequency_2)
        ]
        z1, w1, z2, w2 = numbers
        if min(w1, w2) <= 0 or w1 == w2:
            raise ModelError("Rayleigh", "frequencies", (w1, w2), "give two different positive ones, in rad/s")
        beta = 2 * (z2 * w2 - z1 * w1) / (w2 * w2 - w1 * w1)
        return cls(2 * z1 * w1 - beta * w1 * w1, beta)


def modal_damping_matrix(damping: Any, M: Array, K: Array, frequencies: Array, vectors: Array, *, item: str) -> Array:
    """Return the damping (nm, nm) N s/m of modes with mass M, stiffness K and their eigenvectors."""
    nm = len(M)
    if damping is None:
        return np.zeros((nm, nm))
    if isinstance(damping, Rayleigh):
        return damping.alpha * M + damping.beta * K
    shape = shape_of(damping)
    if shape in ((), (nm,)):
        ratios = np.broadcast_to(finite_array(damping, shape, item=item, field="damping"), (nm,))
        if (ratios < 0).any():
            raise ModelError(item, "damping", ratios.min(), "a damping ratio must not be negative")
        moved = M @ vectors
        return (moved * (2 * ratios * frequencies)) @ moved.T
    if shape == (nm, nm):
        matrix = finite_array(damping, shape, item=item, field="damping")
        scale = float(np.abs(matrix).max(initial=0.0))
        if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-8 * scale:
            raise ModelError(item, "damping", "unsymmetric", "a damping matrix is symmetric")
        if np.linalg.eigvalsh(matrix).min(initial=0.0) < -1e-8 * scale:
            raise ModelError(item, "damping", "indefinite", "a damping matrix must not have negative eigenvalues")
        return (matrix + matrix.T) / 2
    raise ModelError(
        item, "damping", damping, f"give a ratio, {nm} ratios, a ({nm}, {nm}) matrix or Rayleigh(alpha, beta)"
    )
