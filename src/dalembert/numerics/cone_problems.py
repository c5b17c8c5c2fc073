"""Coulomb friction at unilateral contacts: impulses within friction cones.

    u = D lam + b,    |lam_t| <= mu lam_n,    0 <= u_n,   0 <= lam_n,   one of the two is zero                      (1)
    u_t = 0,   or   lam_t = -mu lam_n u_t / |u_t|                                                                   (2)

Rows of a contact: two tangential, one normal. D is symmetric and positive semidefinite, of any rank. The equations and
the solver are in core/numerics/cone_problem.hpp and cone_solver.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..arrays import Array

__all__ = ["ConeSolution", "solve_cone_problem"]


@dataclass(frozen=True, eq=False)
class ConeSolution:
    """Solution of (1) and (2), or the nearest that was found.

    Attributes
    ----------
    lam : (3 m,) N s
        Where contacts are redundant, near the start (near the least norm from zero).
    u : (3 m,) m/s
    missed : float, m/s
        Largest residual of the contacts.
    newton_steps, admm_iterations : int
    """

    lam: Array
    u: Array
    missed: float
    newton_steps: int
    admm_iterations: int


def solve_cone_problem(
    D: Array, b: Array, mu: Array, *, start: Array | None = None, tolerance: float = 1e-12
) -> ConeSolution:
    """Solve (1) and (2) by Newton's method, with ADMM where it does not converge.

    Parameters
    ----------
    D : (3 m, 3 m) 1/kg
    b : (3 m,) m/s
    mu : (m,)
    start : (3 m,) N s
        Impulses of a similar problem; zero if left out.
    tolerance : float, m/s
        Residual at which the iteration ends; rounding of the terms of u is the least.

    Examples
    --------
    >>> import numpy as np
    >>> solution = solve_cone_problem(np.eye(3), np.array([3.0, 4.0, -1.0]), np.array([0.5]))
    >>> solution.lam.round(9)
    array([-0.3, -0.4,  1. ])
    """
    matrix, rows, friction = (np.ascontiguousarray(x, dtype=float) for x in (D, b, mu))
    first = np.zeros(0) if start is None else np.ascontiguousarray(start, dtype=float)
    found = _core.solve_cone_problem(matrix, rows, friction, first, tolerance)
    lam, u, missed, newton_steps, admm_iterations, _ = found
    return ConeSolution(lam, u, missed, newton_steps, admm_iterations)
