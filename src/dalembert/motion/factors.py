"""Factored Jacobians: one factorisation serves corrections, speeds, accelerations, jerks, predictors and subspaces.

    minimise |J x - b|, and among those |x|                                                                       (1)

by QR with pivoting (the default; redundant rows and free columns are both fine), by the normal equations
J^T J x = J^T b (Garcia de Jalon and Bayo 1994, (3.15): half the storage, the square of the condition number, no free
columns), or by elimination with row scaling and column pivoting, which solves as many rows as there are columns and
forgets the others (section 3.4: cheap, and not robust where redundant rows disagree).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SingularityError

__all__ = ["SOLVERS", "Factors", "factor"]

Array = NDArray[np.float64]

SOLVERS = ("qr", "normal", "elimination")
RANK = 1e-10  # relative to the largest: what is below is rounding


@dataclass(frozen=True, eq=False)
class Factors:
    """A factored matrix.

    Attributes
    ----------
    solve : callable
        Takes b (rows,) or (rows, k), returns x (n,) or (n, k) of (1).
    rank : int
    rows : (rank,) int
        Independent rows; of ``"normal"``, none are told.
    """

    solve: Callable[[Array], Array]
    rank: int
    rows: NDArray[np.intp]


def factor(J: Array, solver: str = "qr") -> Factors:
    """Factor J (rows, n).

    Raises
    ------
    SingularityError
        If ``"normal"`` or ``"elimination"`` finds columns that depend on each other.
    """
    return {"qr": _by_qr, "normal": _by_normal_equations, "elimination": _by_elimination}[solver](J)


def _by_qr(J: Array) -> Factors:
    from scipy.linalg import qr, solve_triangular

    rows, n = J.shape
    if not rows or not n:
        return Factors(lambda b: np.zeros((n, *np.shape(b)[1:])), 0, np.zeros(0, dtype=np.intp))
    Q, R, order = qr(J, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > RANK * diagonal[0]).sum()) if diagonal[0] > 0.0 else 0
    Q, R = Q[:, :rank], R[:rank]
    if rank == n:

        def solve(b: Array) -> Array:
            x = np.empty((n, *b.shape[1:]))
            x[order] = solve_triangular(R, Q.T @ b)
            return x

    else:  # the shortest of many: R = T^T Z^T
        Z, T = qr(R.T, mode="economic")

        def solve(b: Array) -> Array:
            x = np.empty((n, *b.shape[1:]))
            x[order] = Z @ solve_triangular(T, Q.T @ b, trans=1) if rank else np.zeros((n, *b.shape[1:]))
            return x

    return Factors(solve, rank, np.zeros(0, dtype=np.intp))


def _by_normal_equations(J: Array) -> Factors:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    N = J.T @ J
    try:
        whole = cho_factor(N)
    except LinAlgError:
        whole = None
    least = float(np.abs(np.diag(whole[0])).min(initial=np.inf)) if whole is not None else 0.0
    if whole is None or least <= RANK * np.sqrt(np.abs(N).max(initial=0.0)):
        raise SingularityError(
            "the normal equations are singular: freedoms are left, or the position is singular; drive what is free, or "
            "use solver='qr'"
        )
    return Factors(lambda b: np.asarray(cho_solve(whole, J.T @ b)), J.shape[1], np.zeros(0, dtype=np.intp))


def _by_elimination(J: Array) -> Factors:
    from scipy.linalg import lu_factor, lu_solve

    rows, n = J.shape
    size = np.abs(J).max(axis=1, initial=0.0)
    A = J / np.where(size > 0.0, size, 1.0)[:, None]
    free, used = list(range(rows)), []
    for k in range(n):
        pivot = max(free, key=lambda i: abs(A[i, k]), default=-1)
        if pivot < 0 or abs(A[pivot, k]) < 1e-12:
            raise SingularityError(
                f"elimination finds no pivot in column {k + 1} of {n}: freedoms are left, or the position is singular; "
                "drive what is free, or use solver='qr'"
            )
        free.remove(pivot)
        used.append(pivot)
        A[free] -= np.outer(A[free, k] / A[pivot, k], A[pivot])
    chosen = np.array(used, dtype=np.intp)
    square = lu_factor(J[chosen])
    return Factors(lambda b: np.asarray(lu_solve(square, b[chosen])), n, chosen)


def independent_rows(J: Array) -> NDArray[np.intp]:
    """Return rows of J that are independent and span all of them, in order."""
    from scipy.linalg import qr

    if not J.size:
        return np.zeros(0, dtype=np.intp)
    _, R, order = qr(J.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > 1e-9 * max(diagonal[0], 1e-300)).sum())
    return np.sort(order[:rank]).astype(np.intp)
