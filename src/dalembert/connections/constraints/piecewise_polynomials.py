"""Piecewise polynomial curves, the form used by the compiled core."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array

__all__ = ["PiecewisePolynomial", "hermite_pieces"]


_DEGREE = 5


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """Successive polynomials c(u) = sum of coefficients[k] u^k, 0 <= u <= 1.

    Attributes
    ----------
    coefficients : (n, 6, 3) m
    closed : bool
        The last piece ends where the first begins.
    """

    coefficients: Array
    closed: bool

    @property
    def degree(self) -> int:
        """Highest power in use, at least 1."""
        used = np.flatnonzero(self.coefficients.any(axis=(0, 2)))
        return max(1, int(used[-1])) if used.size else 1

    def at(self, u: ArrayLike, order: int = 0) -> Array:
        """Return the points (n, k, 3) of all pieces at u (k,), or their derivatives by u."""
        u = np.asarray(u, dtype=float)
        powers = np.zeros((_DEGREE + 1, u.size))
        for k in range(order, _DEGREE + 1):
            powers[k] = math.perm(k, order) * u ** (k - order)
        return np.einsum("nkx,ku->nux", self.coefficients, powers)

    def turned(self, axes: Array) -> PiecewisePolynomial:
        """Return the same curve in axes (3, 3)."""
        return PiecewisePolynomial(self.coefficients @ axes, self.closed)

    def reversed(self) -> PiecewisePolynomial:
        """Return the same curve in the reverse direction: c(1 - u), last piece first."""
        flip = np.array([[math.comb(j, k) * (-1.0) ** k for j in range(_DEGREE + 1)] for k in range(_DEGREE + 1)])
        return PiecewisePolynomial(np.einsum("kj,njx->nkx", flip, self.coefficients)[::-1].copy(), self.closed)

    def box(self) -> Array:
        """Return the lower and upper corners (2, 3) of a bounding box of the curve."""
        points = self._control_points().reshape(-1, 3)
        return np.array([points.min(0), points.max(0)])

    def spheres(self) -> tuple[Array, Array]:
        """Return centres (n, 3) and radii (n,) of bounding spheres of the pieces."""
        points = self._control_points()
        centre = 0.5 * (points.min(1) + points.max(1))
        # slightly enlarged against rounding
        return centre, (1 + 1e-9) * np.linalg.norm(points - centre[:, None], axis=2).max(1)

    def _control_points(self) -> Array:
        """Return the Bernstein coefficients (n, 6, 3): a piece lies in their convex hull."""
        ratio = [
            [math.comb(i, j) / math.comb(_DEGREE, j) if j <= i else 0.0 for j in range(_DEGREE + 1)]
            for i in range(_DEGREE + 1)
        ]
        return np.einsum("ij,njx->nix", np.array(ratio), self.coefficients)


def hermite_pieces(values: Array, slopes: Array, seconds: Array) -> Array:
    """Return coefficients (n, 6, 3) of quintics through n + 1 points with slopes and second derivatives.

    Of a smooth curve the error is f6 / 46080 in position and about f6 / 1900 in the second derivative, f6 the sixth
    derivative by u.
    """
    c0, c1, c2 = values[:-1], slopes[:-1], 0.5 * seconds[:-1]
    # remainder of the quintic at u = 1, in value, slope and second derivative
    f = values[1:] - c0 - c1 - c2
    g = slopes[1:] - c1 - 2 * c2
    h = seconds[1:] - 2 * c2
    return np.stack([c0, c1, c2, 10 * f - 4 * g + h / 2, -15 * f + 7 * g - h, 6 * f - 3 * g + h / 2], axis=1)
