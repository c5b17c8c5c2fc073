"""Points and paths of closed configurations, and interpolation between points."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array, BoolArray

__all__ = ["Path", "SolutionPoint"]


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

    def signed(self, start: SolutionPoint, free: BoolArray) -> float:
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
