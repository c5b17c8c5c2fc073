"""Rank, null space, and independent rows and columns of matrices.

A singular value, or a pivot of QR, is nonzero if it exceeds

    tolerance * max(floor, largest one)                                                                             (1)

The floor is 1 for scaled rows, whose entries are of order one: rows that all vanish have rank 0, not the rank of their
rounding. It is 0 for matrices of unknown magnitude. Tolerances that several modules use are defined here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, BoolArray, IndexArray
from ..errors import ModelError

__all__ = [
    "CLOSED_RANK_TOL",
    "ROUNDOFF_RANK_TOL",
    "ROW_RANK_TOL",
    "STEP_RANK_TOL",
    "BaseColumns",
    "base_columns",
    "independent_rows",
    "minimum_norm_solution",
    "null_space",
    "numerical_rank",
    "pivoted_columns",
    "pseudo_inverse",
    "significant",
    "singular_values",
    "split_rows",
    "truncated_svd",
]


CLOSED_RANK_TOL = 1e-8  # scaled rows at a closed configuration; closing to 1e-12 leaves such noise in their rank
ROW_RANK_TOL = 1e-9  # rows at a given configuration; rounding only, but entries of several magnitudes
ROUNDOFF_RANK_TOL = 1e-12  # square systems at their solution (stationary states, impulses): only rounding is zero
STEP_RANK_TOL = 1e-10  # steps of Newton's method: truncate rounding, keep all that may reduce the residual


def singular_values(J: Array) -> Array:
    """Return the singular values of J, largest first, (min(J.shape),)."""
    if not J.size:
        return np.zeros(0)
    return np.asarray(np.linalg.svd(_square(J), compute_uv=False), dtype=np.float64)


def _square(J: Array) -> Array:
    """Return R (n, n) with R^T R = J^T J of J (m, n) with more rows than columns, else J."""
    from scipy.linalg import qr

    return qr(J, mode="r")[0][: J.shape[1]] if len(J) > J.shape[1] else J


def significant(s: NDArray[np.floating[Any]], tolerance: float = CLOSED_RANK_TOL, floor: float = 1.0) -> BoolArray:
    """Return the mask of singular values, or pivots, s (..., k) that are nonzero by (1)."""
    return s > tolerance * np.maximum(floor, s.max(axis=-1, keepdims=True, initial=0.0))


def numerical_rank(s: NDArray[np.floating[Any]], tolerance: float = CLOSED_RANK_TOL, floor: float = 1.0) -> int:
    """Return the number of singular values, or pivots, s (k,) that are nonzero by (1)."""
    return int(significant(s, tolerance, floor).sum())


def null_space(
    J: Array, tolerance: float = CLOSED_RANK_TOL, floor: float = 1.0, free: BoolArray | None = None
) -> Array:
    """Return an orthonormal basis (n, k) of the x with J x = 0, J (m, n).

    Entries of x that are not `free` are zero.
    """
    moving = np.ones(J.shape[1], dtype=bool) if free is None else free
    if not len(J) or not moving.any():
        return np.eye(J.shape[1])[:, moving]
    _, s, Vt = np.linalg.svd(_square(J[:, moving]))
    rank = numerical_rank(s, tolerance, floor)
    basis = np.zeros((J.shape[1], len(Vt) - rank))
    basis[moving] = Vt[rank:].T
    return basis


def truncated_svd(A: Array, tolerance: float, floor: float = 0.0) -> tuple[Array, Array, Array]:
    """Return U (m, r), s (r,), Vt (r, n) of A = U diag(s) Vt over the nonzero singular values."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = numerical_rank(s, tolerance, floor)
    return U[:, :rank], s[:rank], Vt[:rank]


def minimum_norm_solution(A: Array, b: Array, tolerance: float = ROW_RANK_TOL, floor: float = 1.0) -> Array:
    """Return the shortest x (n,) that minimizes |A x - b|."""
    U, s, Vt = truncated_svd(A, tolerance, floor)
    return Vt.T @ ((U.T @ b) / s)


def pseudo_inverse(A: Array, tolerance: float = ROW_RANK_TOL, floor: float = 1.0) -> Array:
    """Return the pseudo-inverses (..., n, m) of A (..., m, n) over the nonzero singular values."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    real = significant(s, tolerance, floor)
    inverse = np.where(real, 1.0 / np.where(real, s, 1.0), 0.0)
    return np.asarray((Vt.swapaxes(-1, -2) * inverse[..., None, :]) @ U.swapaxes(-1, -2))


def pivoted_columns(
    J: Array, tolerance: float = ROW_RANK_TOL, floor: float = 1.0
) -> tuple[IndexArray, IndexArray, Array]:
    """Return independent columns of J (m, n), the dependent ones, and the pivots (min(m, n),), by pivoted QR."""
    from scipy.linalg import qr

    if not J.size:
        return np.zeros(0, dtype=np.intp), np.arange(J.shape[1]), np.zeros(0)
    R, order = qr(J, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    rank = numerical_rank(pivots, tolerance, floor)
    return order[:rank].astype(np.intp), order[rank:].astype(np.intp), pivots


def independent_rows(J: Array, tolerance: float = ROW_RANK_TOL) -> IndexArray:
    """Return indices of independent rows of J (m, n) that span all of them, ascending."""
    return np.sort(pivoted_columns(J.T, tolerance, 0.0)[0])


def split_rows(J: Array, rank: int) -> tuple[list[int], list[int], Array]:
    """Split rows of known rank into independent and dependent ones.

    Parameters
    ----------
    J : (m, n)
    rank : int

    Returns
    -------
    kept, dropped : lists of row indices
    y : (len(dropped), m)
        y @ J = 0: each dropped row, with coefficient 1, as minus a combination of kept ones.
    """
    from scipy.linalg import qr

    rows = len(J)
    # prefer earlier rows among equally good ones
    bias = 1.0 - 1e-3 * np.arange(rows) / max(1, rows)
    R, order = qr((J * bias[:, None]).T, mode="r", pivoting=True) if rank else (None, np.arange(rows))
    kept, dropped = order[:rank], order[rank:]
    y = np.zeros((len(dropped), rows))
    y[np.arange(len(dropped)), dropped] = 1.0
    if R is not None and len(dropped):
        # J^T = Q [R1, R2]: the dropped rows are R1^-1 R2 of the kept ones
        weights = np.linalg.solve(R[:rank, :rank], R[:rank, rank:]).T
        y[:, kept] = -weights * bias[kept] / bias[dropped][:, None]
    sequence = np.argsort(dropped)
    y = y[sequence]
    y[np.abs(y) < 1e-8] = 0.0
    return sorted(int(i) for i in kept), [int(i) for i in dropped[sequence]], y


class BaseColumns(NamedTuple):
    """Y = Q R of scaled columns, the first `rank` of them independent: Y[:, order] = Y[:, order[:rank]] (1 | T).

    order : (p,) int
    rank : int
    combinations : (rank, p)
        (1 | T) in the original order of columns: the combination of parameters for each independent column.
    Q, R : (N, rank), (rank, rank)
        Of the independent columns, divided by `sizes`.
    sizes : (rank,)
        Norms of the independent columns.
    """

    order: IndexArray
    rank: int
    combinations: Array
    Q: Array
    R: Array
    sizes: Array


def base_columns(Y: Array, tolerance: float) -> BaseColumns:
    """Return independent columns of Y (N, p) by pivoted QR, largest first, each divided by its norm.

    The rest of an independent column after projection, relative to its norm, exceeds the tolerance.
    """
    from scipy.linalg import qr, solve_triangular

    if not 0 <= tolerance < 1:
        raise ModelError("base parameters", "tolerance", tolerance, "give a number from 0 to below 1")
    norms = np.linalg.norm(Y, axis=0)
    largest = float(norms.max(initial=0.0))
    sizes = np.where(norms > tolerance * largest, norms, max(largest, 1e-300))  # rounding stays small
    Q, R, order = qr(Y / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = numerical_rank(diagonal, tolerance, 0.0)
    first = order[:rank]
    combinations = np.zeros((rank, Y.shape[1]))
    combinations[np.arange(rank), first] = 1.0
    if rank:
        T = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        combinations[:, order[rank:]] = T / sizes[first][:, None] * sizes[order[rank:]]
    return BaseColumns(order.astype(np.intp), rank, combinations, Q[:, :rank], R[:rank, :rank], sizes[first])
