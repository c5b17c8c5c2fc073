"""CasADi callbacks of a nonlinear program: values, sparse first derivatives and, if given, second ones.

IPOPT asks for the objective, the rows and the derivatives of either one after another at the same point: the last ones
are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sparse

from ...arrays import Array, IndexArray
from .solvers import NonlinearProgram

__all__ = ["both", "curvature"]


def both(program: NonlinearProgram, count: int) -> Any:
    """Return the function x (count,) -> [f; g], callable with CasADi symbols."""
    import casadi

    pattern = _pattern(program, count)
    of_objective = pattern.indices == 0
    rows, columns = pattern.indices - 1, np.repeat(np.arange(count), np.diff(pattern.indptr))
    filled = _sparsity(pattern)

    class Slopes(casadi.Callback):  # type: ignore[misc]
        def __init__(self, name: str, options: Any) -> None:
            super().__init__()
            self.construct(name, options or {})

        def get_n_in(self) -> int:
            return 2

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(count if i == 0 else pattern.shape[0], 1)

        def get_sparsity_out(self, i: int) -> Any:
            return filled

        def eval(self, arguments: Any) -> Any:
            return [slopes.at(np.array(arguments[0]).ravel())]

    def derivatives(z: Array) -> Any:
        J = program.jacobian(z)
        entries = np.empty(len(columns))
        entries[of_objective] = program.gradient(z)
        below = ~of_objective
        entries[below] = _entries(J, rows[below], columns[below])
        return casadi.DM(filled, entries)

    def numbers(z: Array) -> Any:
        return casadi.DM(np.concatenate([[program.value(z)], program.rows(z)]))

    slopes, values = _Last(derivatives), _Last(numbers)

    class Both(casadi.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.construct("both", {})

        def get_n_in(self) -> int:
            return 1

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(count, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(pattern.shape[0], 1)

        def eval(self, arguments: Any) -> Any:
            return [values.at(np.array(arguments[0]).ravel())]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> Any:
            self.slopes = Slopes(name, options)  # CasADi keeps no reference of its own
            return self.slopes

    return Both()


def curvature(program: NonlinearProgram, count: int) -> Any:
    """Return the function x, p, sigma, by -> second derivatives of sigma f + by . g, their upper triangle."""
    import casadi

    assert program.curvature is not None
    rows = len(program.low)
    filled = _sparsity(program.curvature(_inner(program), 1.0, np.ones(rows)))

    class Curvature(casadi.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.construct("curvature", {})

        def get_n_in(self) -> int:
            return 4

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return ("x", "p", "lam_f", "lam_g")[i]

        def get_name_out(self, i: int) -> str:
            return "triu_hess_gamma_x_x"

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense((count, 0, 1, rows)[i], 1)

        def get_sparsity_out(self, i: int) -> Any:
            return filled

        def eval(self, arguments: Any) -> Any:
            z, _, sigma, by = (np.array(argument).ravel() for argument in arguments)
            found = program.curvature(z, float(sigma[0]), by)  # type: ignore[misc]
            return [casadi.DM(filled, found.data)]

    return Curvature()


class _Last:
    """Result of a function at the last point.

    Parameters
    ----------
    function : function of z (n,)
    """

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self.function = function
        self.z: Array | None = None
        self.found: Any = None

    def at(self, z: Array) -> Any:
        """Return the result at z (n,)."""
        if self.z is None or not np.array_equal(self.z, z):
            self.found, self.z = self.function(z), z
        return self.found


def _entries(J: Any, rows: IndexArray, columns: IndexArray) -> Array:
    """Return entries of a matrix by columns, in order: all stored ones of a sparse matrix."""
    if not hasattr(J, "toarray"):
        return np.asarray(J)[rows, columns]
    by_columns = J.tocsc()
    by_columns.sort_indices()
    if by_columns.nnz == len(rows) and np.array_equal(by_columns.indices, rows):
        return np.asarray(by_columns.data)
    return np.asarray(J.toarray()[rows, columns])


def _pattern(program: NonlinearProgram, count: int) -> Any:
    """Return the sparsity pattern of the derivatives: ones at nonzero entries, row of the objective first."""
    J = program.jacobian(_inner(program))
    below = sparse.csc_matrix(np.ones(J.shape) if isinstance(J, np.ndarray) else J)
    below.data[:] = 1.0
    whole = sparse.csc_matrix(sparse.vstack([sparse.csc_matrix(np.ones((1, count))), below]))
    whole.sort_indices()
    return whole


def _inner(program: NonlinearProgram) -> Array:
    """Return a point within the bounds."""
    return np.asarray(0.5 * (np.clip(program.lower, -1, 1) + np.clip(program.upper, -1, 1)))


def _sparsity(pattern: Any) -> Any:
    """Return CasADi's sparsity of a matrix by columns."""
    import casadi

    return casadi.Sparsity(*pattern.shape, pattern.indptr.tolist(), pattern.indices.tolist())
