"""Designs of experiments: numbers of points, balance, and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.errors import ModelError
from dalembert.studies.sweeps.experiment_designs import quadratic_terms

UNIT = dict.fromkeys("abcd", (-1.0, 1.0))


def points(count: int, kind: str, **more: Any) -> np.ndarray:
    over = dict(list(UNIT.items())[:count])
    return da.design_of_experiments(over, kind, **more)[tuple(over)]


@pytest.mark.parametrize(("count", "runs"), [(3, 13), (4, 25)])
def test_box_behnken_designs_have_pairs_of_levels_and_no_corners(count: int, runs: int) -> None:
    found = points(count, "box-behnken")
    assert found.shape == (runs, count)
    assert set(np.abs(found).sum(axis=1)) == {0.0, 2.0} and len(np.unique(found, axis=0)) == runs
    assert np.linalg.matrix_rank(quadratic_terms(found)) == (count + 1) * (count + 2) // 2


def test_central_composite_designs_have_corners_and_faces() -> None:
    found = points(2, "central-composite")
    assert len(found) == 9 and np.linalg.matrix_rank(quadratic_terms(found)) == 6


@pytest.mark.parametrize(("count", "runs", "least"), [(1, 3, 4.0), (2, 6, None), (2, 9, None)])
def test_d_optimal_designs_are_those_of_all_subsets(count: int, runs: int, least: float | None) -> None:
    """For one factor three points at -1, 0, 1 have the determinant 4; for two all subsets of the grid are tried."""
    from itertools import combinations, product

    found = points(count, "d-optimal", runs=runs)
    size = np.linalg.det(quadratic_terms(found).T @ quadratic_terms(found))
    grid = quadratic_terms(np.array(list(product((-1.0, 0.0, 1.0), repeat=count))))
    best = max(np.linalg.det(grid[list(rows)].T @ grid[list(rows)]) for rows in combinations(range(len(grid)), runs))
    assert size >= best * (1 - 1e-9)
    if least is not None:
        assert size == pytest.approx(least)


def test_designs_are_cases_of_a_sweep() -> None:
    """The quadratic surface through a Box-Behnken design is that of a quadratic output."""
    over = da.design_of_experiments({"a": (0.0, 2.0), "b": (1.0, 3.0), "c": (5.0, 7.0)})

    def quadratic(model: da.Model, case: Any) -> float:
        return float(2 + case["a"] * case["b"] - case["c"] ** 2)

    found = da.sweep(sprung_pendulum(), over, task=quadratic, workers=1)
    x = np.column_stack([found[name].values for name in "abc"])
    assert x.min(axis=0).tolist() == [0.0, 1.0, 5.0] and x.max(axis=0).tolist() == [2.0, 3.0, 7.0]
    coefficients = np.linalg.lstsq(quadratic_terms(x), found.answer.values, rcond=None)[0]
    assert np.allclose(coefficients, [2, 0, 0, 0, 0, 1, 0, 0, 0, -1], atol=1e-9)


@pytest.mark.parametrize(
    ("over", "kind", "more", "match"),
    [
        ({}, "box-behnken", {}, "dict of name"),
        ({"a": (1.0, 0.0)}, "central-composite", {}, "lower one first"),
        ({"a": (0.0, 1.0)}, "box-behnken", {}, "three factors"),
        ({"a": (0.0, 1.0)}, "taguchi", {}, "use 'box-behnken'"),
        ({"a": (0.0, 1.0)}, "d-optimal", {"runs": 2}, "3 or more"),
        ({"a": (0.0, 1.0)}, "central-composite", {"runs": 4}, "leave it out"),
    ],
)
def test_bad_designs_are_refused_by_name(over: Any, kind: str, more: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        da.design_of_experiments(over, kind, **more)
