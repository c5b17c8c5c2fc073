"""CasADi callbacks of a nonlinear program: values and sparse first derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse

from .solvers import NonlinearProgram

__all__ = ["both"]


def both(program: NonlinearProgram, count: int) -> Any:
    """Return the function x (count,) -> [f; g], callable with CasADi symbols."""
    import casadi

    pattern = _pattern(program, count)
    rows, columns = pattern.indices, np.repeat(np.arange(count), np.diff(pattern.indptr))
    filled = casadi.Sparsity(*pattern.shape, pattern.indptr.tolist(), pattern.indices.tolist())

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
            z = np.asarray(arguments[0]).ravel()
            J = program.jacobian(z)
            whole = np.vstack([program.gradient(z), J.toarray() if hasattr(J, "toarray") else J])
            return [casadi.DM(filled, whole[rows, columns])]

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
            z = np.asarray(arguments[0]).ravel()
            return [casadi.DM(np.concatenate([[program.value(z)], program.rows(z)]))]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> Any:
            self.slopes = Slopes(name, options)  # CasADi keeps no reference of its own
            return self.slopes

    return Both()


def _pattern(program: NonlinearProgram, count: int) -> Any:
    """Return the sparsity pattern of the derivatives: ones at nonzero entries, row of the objective first."""
    J = program.jacobian(0.5 * (np.clip(program.lower, -1, 1) + np.clip(program.upper, -1, 1)))
    below = sparse.csc_matrix(np.ones(J.shape) if isinstance(J, np.ndarray) else J)
    below.data[:] = 1.0
    whole = sparse.csc_matrix(sparse.vstack([sparse.csc_matrix(np.ones((1, count))), below]))
    whole.sort_indices()
    return whole
