"""Points and paths of closed configurations, and interpolation between points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Path", "SolutionPoint", "cubic", "illinois_root"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class SolutionPoint:
    """Point of a path of closed configurations.

    Attributes
    ----------
    q : (nq,)
    tangent : (nv,)
        Scaled, of length 1.
    sigma : float
        Smallest singular value of the scaled J that is not always zero.
    basis : (rows, n - 1)
        B.
    jacobian : (rows, nv)
    """

    q: Array
    tangent: Array
    sigma: float
    basis: Array = field(repr=False)
    jacobian: Array = field(repr=False)

    def signed(self, start: SolutionPoint, free: NDArray[np.bool_]) -> float:
        """Return sigma, negative if the rank drops an odd number of times between this point and another."""
        here = np.linalg.slogdet(np.vstack([start.basis.T @ self.jacobian, self.tangent])[:, free])[0]
        there = np.linalg.slogdet(np.vstack([start.basis.T @ start.jacobian, start.tangent])[:, free])[0]
        return float(self.sigma * (1.0 if here * there >= 0 else -1.0))


@dataclass(eq=False)
class Path:
    """Smooth path of closed configurations.

    Attributes
    ----------
    q : (n, nq) rad or m
        Without jumps: angles count turns. The last point of a closed path is its first point.
    tangents : (n, nv)
        Scaled, of length 1.
    s : (n,)
        Arclength, rad and lengths of the mechanism.
    sigma : (n,)
        Smallest singular value of the scaled Jacobian that is not always zero.
    closed : bool
        True if the path returns to its first point.
    ends : (str, str)
        Reasons for the begin and the end; empty if the path is closed.
    singular : list of SolutionPoint
        Rank drops, not yet located to rounding.
    """

    q: Array
    tangents: Array
    s: Array
    sigma: Array
    closed: bool
    ends: tuple[str, str] = ("", "")
    singular: list[SolutionPoint] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.q)


def cubic(step: Array, begin: Array, end: Array, ds: Array, u: Array) -> tuple[Array, Array]:
    """Return points and slopes (k, n) of cubics from zero to `step` with tangents at both ends, at u (k,)."""
    u, ds = u[:, None], ds[:, None]
    at = (3 - 2 * u) * u**2 * step + ds * u * (1 - u) * ((1 - u) * begin - u * end)
    slope = 6 * u * (1 - u) * step + ds * ((1 - u) * (1 - 3 * u) * begin - u * (2 - 3 * u) * end)
    return at, slope


def illinois_root(function: Callable[[float], float], a: float, b: float) -> float | None:
    """Return the zero of a function between a and b, by the Illinois rule; None without a sign change."""
    fa, fb = function(a), function(b)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if not fa * fb < 0:
        return None
    width, side = abs(b - a), 0
    for count in range(80):
        c = (a * fb - b * fa) / (fb - fa) if count % 8 != 7 else 0.5 * (a + b)
        fc = function(c)
        if fc != fc:
            return None
        if fc == 0.0 or abs(b - a) < 1e-14 * max(width, 1e-3):
            return c
        if abs(fc) < 1e-15:
            return c
        if fa * fc < 0:
            b, fb = c, fc
            if side == -1:
                fa *= 0.5
            side = -1
        else:
            a, fa = c, fc
            if side == 1:
                fb *= 0.5
            side = 1
    return 0.5 * (a + b)
