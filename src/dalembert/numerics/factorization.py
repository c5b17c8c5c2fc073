"""Factorization of Jacobians, for corrections, rates, predictors and subspaces.

    minimise |J x - b|, and among those |x|                                                                       (1)

by QR with pivoting (the default; redundant rows and free columns are allowed), by the normal equations J^T J x = J^T b
(Garcia de Jalon and Bayo 1994, (3.15): half the storage, the square of the condition number, no free columns), or by
elimination with row scaling and column pivoting, which solves as many rows as there are columns and ignores the others
(section 3.4: cheap, and not robust where redundant rows disagree). Large matrices of many loops are sparse. Their
normal equations are factored sparse, with iterative refinement, to the accuracy of QR. For 100 loops in a row that is
five times as fast as QR, for 300 fifty times; below 200 columns it is slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, IndexArray
from ..checks import one_of
from ..errors import SingularityError
from .rank import STEP_RANK_TOL, numerical_rank

__all__ = ["SOLVERS", "Factors", "factor"]

Pattern = tuple[IndexArray, IndexArray]

SOLVERS = ("auto", "qr", "normal", "elimination", "sparse")
MIN_SPARSE_COLUMNS = 200  # columns from which sparse matrices are faster, if few entries are nonzero
MAX_SPARSE_DENSITY = 0.05


@dataclass(frozen=True, eq=False)
class Factors:
    """Factored matrix.

    Attributes
    ----------
    solve : callable
        Takes b (rows,) or (rows, k), returns x (n,) or (n, k) of (1).
    rank : int
    rows : (rank,) int
        Independent rows; empty for ``"normal"``.
    """

    solve: Callable[[Array], Array]
    rank: int
    rows: IndexArray


def factor(J: Array, solver: str = "auto", pattern: Pattern | None = None) -> Factors:
    """Factor J (rows, n).

    Parameters
    ----------
    J : (rows, n)
    solver : str
        ``"auto"``: ``"sparse"`` where J is large and has few entries and full column rank, else ``"qr"``.
    pattern : pair of (k,) int
        Rows and columns of the possible entries of J; determined if left out.

    Raises
    ------
    SingularityError
        If ``"normal"`` or ``"elimination"`` finds dependent columns.
    """
    if solver in ("auto", "sparse"):
        n, entries = J.shape[1], pattern[0].size if pattern is not None else -1
        if solver == "sparse" or n >= MIN_SPARSE_COLUMNS:
            entries = int(np.count_nonzero(J)) if entries < 0 else entries
            if solver == "sparse" or entries <= MAX_SPARSE_DENSITY * J.size:
                found = _by_sparse(J, pattern)
                if found is not None:
                    return found
                if solver == "sparse":
                    raise SingularityError(
                        "the sparse normal equations are singular: DOF are left, or the position is singular; use "
                        "solver='qr'"
                    )
        return _by_qr(J)
    solvers = {"qr": _by_qr, "normal": _by_normal_equations, "elimination": _by_elimination}
    return solvers[one_of("position", "solver", solver, ("auto", "sparse", *solvers))](J)


def _by_sparse(J: Array, pattern: Pattern | None) -> Factors | None:
    """Return the sparse factors of J^T J; None if columns are dependent at the accuracy of squares."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    A = csc_matrix(J) if pattern is None else csc_matrix((J[pattern], pattern), shape=J.shape)
    try:
        lu = splu((A.T @ A).tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(lu.U.diagonal())
    if not float(pivots.min(initial=1.0)) > 1e-13 * float(pivots.max(initial=1.0)):
        return None

    def solve(b: Array) -> Array:
        x = lu.solve(np.asarray(A.T @ b))
        for _ in range(2):
            x = x + lu.solve(np.asarray(A.T @ (b - A @ x)))
        return np.asarray(x)

    return Factors(solve, J.shape[1], np.zeros(0, dtype=np.intp))


def _by_qr(J: Array) -> Factors:
    from scipy.linalg import qr, solve_triangular

    rows, n = J.shape
    if not rows or not n:
        return Factors(lambda b: np.zeros((n, *np.shape(b)[1:])), 0, np.zeros(0, dtype=np.intp))
    Q, R, order = qr(J, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = numerical_rank(diagonal, STEP_RANK_TOL, 0.0)
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
    if whole is None or least <= STEP_RANK_TOL * np.sqrt(np.abs(N).max(initial=0.0)):
        raise SingularityError(
            "the normal equations are singular: DOF are left, or the position is singular; drive the free DOF, or "
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
                f"elimination finds no pivot in column {k + 1} of {n}: DOF are left, or the position is singular; "
                "drive the free DOF, or use solver='qr'"
            )
        free.remove(pivot)
        used.append(pivot)
        A[free] -= np.outer(A[free, k] / A[pivot, k], A[pivot])
    chosen = np.array(used, dtype=np.intp)
    square = lu_factor(J[chosen])
    return Factors(lambda b: np.asarray(lu_solve(square, b[chosen])), n, chosen)
