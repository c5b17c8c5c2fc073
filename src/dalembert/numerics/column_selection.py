"""Columns that tell others apart: a pivoted QR of a regressor, and what it makes of the columns that are left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

__all__ = ["BaseColumns", "base_columns"]

Array = NDArray[np.float64]


class BaseColumns(NamedTuple):
    """Y = Q R of scaled columns, the first `rank` of them independent: Y[:, order] = Y[:, order[:rank]] (1 | T).

    order : (p,) int
    rank : int
    combinations : (rank, p)
        (1 | T) with the columns where they were: the parameters that each independent column tells the sum of.
    Q, R : (N, rank), (rank, rank)
        Of the independent columns, divided by `sizes`.
    sizes : (rank,)
        Norms of the independent columns.
    """

    order: NDArray[np.intp]
    rank: int
    combinations: Array
    Q: Array
    R: Array
    sizes: Array


def base_columns(Y: Array, tolerance: float) -> BaseColumns:
    """Return independent columns of Y (N, p), largest first, columns of all units on one footing.

    What an independent column has left of itself, relative to its size, exceeds the tolerance.
    """
    from scipy.linalg import qr, solve_triangular

    if not 0 <= tolerance < 1:
        raise ModelError("base parameters", "tolerance", tolerance, "give a number from 0 to below 1")
    norms = np.linalg.norm(Y, axis=0)
    largest = float(norms.max(initial=0.0))
    sizes = np.where(norms > tolerance * largest, norms, max(largest, 1e-300))  # rounding stays small
    Q, R, order = qr(Y / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int((diagonal > tolerance * max(float(diagonal.max(initial=0.0)), 1e-300)).sum())
    first = order[:rank]
    combinations = np.zeros((rank, Y.shape[1]))
    combinations[np.arange(rank), first] = 1.0
    if rank:
        T = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        combinations[:, order[rank:]] = T / sizes[first][:, None] * sizes[order[rank:]]
    return BaseColumns(order.astype(np.intp), rank, combinations, Q[:, :rank], R[:rank, :rank], sizes[first])
