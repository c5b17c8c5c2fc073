"""Rank and null space of matrices with known singular values."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.numerics.rank import (
    CLOSED_RANK_TOL,
    independent_rows,
    minimum_norm_solution,
    null_space,
    numerical_rank,
    singular_values,
    split_rows,
)


def matrix(rows: int, columns: int, values: list[float]) -> np.ndarray:
    """Return a matrix with given singular values."""
    rng = np.random.default_rng(rows * 10 + columns)
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0][:, : len(values)] for n in (rows, columns))
    return U * values @ V.T


@pytest.mark.parametrize("shape", [(4, 6), (9, 5), (5, 5)])
def test_null_space_is_orthonormal_and_complete(shape: tuple[int, int]) -> None:
    A = matrix(*shape, [2.0, 1.0, 0.3])
    N = null_space(A)
    assert N.shape == (shape[1], shape[1] - 3)
    np.testing.assert_allclose(A @ N, 0.0, atol=1e-14)
    np.testing.assert_allclose(N.T @ N, np.eye(N.shape[1]), atol=1e-14)
    np.testing.assert_allclose(singular_values(A)[:3], [2.0, 1.0, 0.3], rtol=1e-13)


def test_entries_that_are_not_free_stay_zero() -> None:
    A = matrix(2, 5, [1.0, 1.0])
    free = np.array([True, False, True, True, True])
    N = null_space(A, free=free)
    assert N.shape == (5, 2) and not N[1].any()
    np.testing.assert_allclose(A @ N, 0.0, atol=1e-14)
    assert null_space(np.zeros((0, 3))).shape == (3, 3)


def test_rows_of_rounding_have_rank_zero_only_above_a_floor() -> None:
    s = np.array([1e-12, 5e-13])
    assert numerical_rank(s) == 0
    assert numerical_rank(s, CLOSED_RANK_TOL, 0.0) == 2


def test_dependent_rows_are_combinations_of_kept_ones() -> None:
    A = matrix(3, 6, [3.0, 2.0, 1.0])
    A = np.vstack([A, A[0] - 2 * A[2], A[1]])
    assert len(independent_rows(A)) == 3
    kept, dropped, y = split_rows(A, 3)
    assert sorted(kept + dropped) == list(range(5)) and len(kept) == 3
    np.testing.assert_allclose(y @ A, 0.0, atol=1e-13)
    assert (y[np.arange(2), dropped] == 1.0).all()


def test_minimum_norm_solution_has_no_part_in_the_null_space() -> None:
    A = matrix(4, 6, [2.0, 1.0, 0.5])
    b = A @ np.arange(6.0)
    x = minimum_norm_solution(A, b)
    np.testing.assert_allclose(A @ x, b, atol=1e-13)
    np.testing.assert_allclose(null_space(A).T @ x, 0.0, atol=1e-13)
