"""Block-wise linear operators on stacked bodies, without assembled matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ..arrays import Array

__all__ = ["block_diagonal", "consecutive", "identity", "operator", "resolvent", "transport"]

_Apply = Callable[[Array], Array]


def consecutive(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True)]


def operator(rows: int, columns: int, apply: _Apply, adjoint: _Apply) -> LinearOperator:
    """Return an operator from two functions of a column (n,) or several columns (n, m)."""
    return LinearOperator(
        (rows, columns), matvec=apply, rmatvec=adjoint, matmat=apply, rmatmat=adjoint, dtype=np.float64
    )


def identity(n: int) -> LinearOperator:
    return operator(n, n, lambda x: x, lambda x: x)


def block_diagonal(blocks: Sequence[Array]) -> LinearOperator:
    rows = consecutive([len(B) for B in blocks])
    columns = consecutive([B.shape[1] for B in blocks])

    def apply(x: Array) -> Array:
        return np.concatenate([B @ x[c] for B, c in zip(blocks, columns, strict=True)])

    def adjoint(y: Array) -> Array:
        return np.concatenate([B.T @ y[r] for B, r in zip(blocks, rows, strict=True)])

    return operator(rows[-1].stop, columns[-1].stop, apply, adjoint)


def _edges(parent: NDArray[np.int32]) -> list[tuple[int, slice, slice]]:
    """Return (child, rows of its parent, rows of the child) for every body whose parent is not ground."""
    return [(k, slice(6 * (i - 1), 6 * i), slice(6 * k, 6 * k + 6)) for k, i in enumerate(map(int, parent)) if i > 0]


def transport(parent: NDArray[np.int32], blocks: Sequence[Array]) -> LinearOperator:
    """Return the transport E with `blocks[k]` from child k to its parent."""
    edges = _edges(parent)

    def apply(x: Array) -> Array:
        y = np.zeros(x.shape)
        for k, inboard, outboard in edges:
            y[inboard] += blocks[k] @ x[outboard]
        return y

    def adjoint(x: Array) -> Array:
        y = np.zeros(x.shape)
        for k, inboard, outboard in edges:
            y[outboard] += blocks[k].T @ x[inboard]
        return y

    return operator(6 * len(parent), 6 * len(parent), apply, adjoint)


def resolvent(parent: NDArray[np.int32], blocks: Sequence[Array]) -> LinearOperator:
    """Return (1 - E)^-1: y = x + E y is an inward sweep, y = x + E* y an outward one."""
    edges = _edges(parent)

    def apply(x: Array) -> Array:
        y = np.array(x, dtype=np.float64)
        for k, inboard, outboard in reversed(edges):
            y[inboard] += blocks[k] @ y[outboard]
        return y

    def adjoint(x: Array) -> Array:
        y = np.array(x, dtype=np.float64)
        for k, inboard, outboard in edges:
            y[outboard] += blocks[k].T @ y[inboard]
        return y

    return operator(6 * len(parent), 6 * len(parent), apply, adjoint)
