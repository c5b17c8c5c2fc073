"""Mass matrix in factored form, and in compressed rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..arrays import Array, IndexArray
from ..errors import ModelError
from .argument_errors import checked_configuration
from .cache import cached_per_model

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .model import Model

__all__ = ["Factor", "sparse_mass_matrix"]


class Factor:
    """Mass matrix at one configuration in factored form, for many right-hand sides.

    M = (1 + H Phi K) D (1 + H Phi K)^T (Jain and Rodriguez 1990, Lemma 6.1), never formed.
    """

    def __init__(self, model: Model, q: ArrayLike) -> None:
        self._core = _core.MassMatrixFactor(model, checked_configuration(model, "factor", q))
        self._model = model

    def solve(self, x: ArrayLike) -> Array:
        """Return M^-1 x for x of shape (nv,), or for each row of x (k, nv)."""
        nv = self._model.nv
        try:
            rows = np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim not in (1, 2) or rows.shape[-1] != nv or not np.isfinite(rows).all():
            raise ModelError("factor.solve", "x", x, f"give finite numbers of shape ({nv},) or (k, {nv})")
        return self._core.solve(rows)

    def pivots(self) -> Array:
        """Return the diagonal (nv,) of D with factored blocks: all positive; det M is their product."""
        return self._core.pivots()

    def logdet(self) -> float:
        """Return the logarithm of the determinant of M."""
        return float(np.log(self.pivots()).sum())


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Pattern of the mass matrix in compressed rows.

    Attributes
    ----------
    indptr, indices : (nv + 1,), (nnz,)
        Rows of a csr_array.
    diagonal, row_end : (nv,)
        Where the diagonal of each row stands, and where the row ends.
    below : (k,)
        Where the elements above the diagonal, row by row, stand below it.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: IndexArray
    row_end: IndexArray
    below: IndexArray


@cached_per_model
def _pattern(model: Model) -> _Pattern:
    """Return the pattern: row k is coupled with the subtree of k, a range of columns, and with its ancestors."""
    nv = model.nv
    ends = model._subtree_ends().astype(np.int64)
    counts = ends - np.arange(nv)
    rows = np.repeat(np.arange(nv), counts)
    columns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + rows
    above = columns > rows
    ancestors = np.bincount(columns[above], minlength=nv)
    indptr = np.concatenate([[0], np.cumsum(ancestors + counts)])
    # stable: the ancestors of each column in their order
    order = np.argsort(columns[above], kind="stable")
    first = np.cumsum(ancestors) - ancestors
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - first[columns[above][order]] + indptr[columns[above][order]]
    diagonal = indptr[:-1] + ancestors
    indices = np.empty(indptr[-1], dtype=np.int32)
    indices[place] = rows[above]
    indices[diagonal[rows] + columns - rows] = columns
    rows_begin = indptr.astype(np.int32)
    rows_begin.flags.writeable = indices.flags.writeable = False  # shared by all results
    return _Pattern(rows_begin, indices, diagonal, indptr[1:].copy(), place)


def sparse_mass_matrix(model: Model, q: ArrayLike, out: csr_array | None = None) -> csr_array:
    """Return the mass matrix at q (nq,) in compressed rows; see `Model.sparse_mass_matrix`."""
    from scipy.sparse import csr_array

    pattern, size = _pattern(model), len(_pattern(model).indices)
    given = checked_configuration(model, "sparse_mass_matrix", q)
    if out is None:
        values = np.empty(size)
        out = csr_array((values, pattern.indices, pattern.indptr), shape=(model.nv, model.nv))
    elif not (
        isinstance(out, csr_array)
        and np.shares_memory(out.indices, pattern.indices)
        and out.data.shape == (size,)
        and out.data.dtype == float
    ):
        raise ModelError("sparse_mass_matrix", "out", out, "give a matrix that this method returned for this model")
    model._sparse_mass_matrix(given, pattern.diagonal, pattern.row_end, pattern.below, out.data)
    return out
