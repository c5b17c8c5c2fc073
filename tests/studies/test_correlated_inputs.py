"""Correlated and discrete inputs of sweeps and uncertainties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.errors import ModelError


def linear(model: da.Model, case: Any) -> float:
    return float(2.0 * case["a"] + 3.0 * case["b"])


def drawn(design: str = "latin", **more: Any) -> Any:
    over = {"a": scipy.stats.norm(1.0, 0.5), "b": scipy.stats.norm(2.0, 0.2)}
    return da.sweep(sprung_pendulum(), over, samples=1024, design=design, task=linear, workers=1, **more)


@pytest.mark.parametrize("design", ["latin", "sobol", "random"])
def test_a_copula_correlates_and_keeps_the_distributions(design: str) -> None:
    found = drawn(design, correlation={("a", "b"): 0.8})
    a, b = found.a.values, found.b.values
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(0.8, abs=0.03)
    assert (a.mean(), a.std()) == pytest.approx((1.0, 0.5), rel=0.06)
    assert scipy.stats.kstest(b, scipy.stats.norm(2.0, 0.2).cdf).pvalue > 0.01
    # of 2 a + 3 b: 4 * 0.25 + 9 * 0.04 + 12 * 0.8 * 0.1
    assert found.answer.values.std() == pytest.approx(np.sqrt(1 + 0.36 + 0.96), rel=0.06)


def test_distributions_of_integers_give_integers() -> None:
    found = da.sweep(
        sprung_pendulum(), {"n": scipy.stats.randint(2, 6), "p": scipy.stats.poisson(3.0)}, samples=200,
        task=lambda model, case: float(isinstance(case["n"], int) and isinstance(case["p"], int)), workers=1,
    )  # fmt: skip
    assert (found.answer == 1.0).all() and found.n.dtype.kind == "i"
    assert np.unique(found.n, return_counts=True)[1].tolist() == [50, 50, 50, 50]  # a Latin hypercube


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.7])
def test_first_order_variances_take_correlations(rho: float) -> None:
    over = {"k.stiffness": scipy.stats.norm(40.0, 2.0), "bob.mass": scipy.stats.norm(2.0, 0.05)}
    outputs = {"f": lambda modes: modes.frequencies[0]}
    correlation = {("k.stiffness", "bob.mass"): rho} if rho else None
    found = da.uncertainty(
        sprung_pendulum(), over, outputs, task="modes", samples=512, correlation=correlation, workers=1
    )
    assert found.deviation["f"] == pytest.approx(float(found.first_order["f"]), rel=0.04)
    assert found.shares["f"].sum() == pytest.approx(1.0)


def test_sobol_indices_have_confidence() -> None:
    pytest.importorskip("SALib")
    over = {"a": scipy.stats.norm(1.0, 0.5), "b": scipy.stats.norm(2.0, 0.2)}
    found = da.uncertainty(
        sprung_pendulum(), over, None, task=linear, samples=256, sobol_indices=True, first_order=False, workers=1
    )
    exact = np.array([1.0, 0.36]) / 1.36
    first, total = found.confidence["answer"]
    assert (first > 0).all() and (np.abs(found.first["answer"] - exact) < 2 * first).all() and (first < 0.3).all()
    assert (np.abs(found.total["answer"] - exact) < 2 * total + 0.02).all()


@pytest.mark.parametrize(
    ("correlation", "match"),
    [
        ({("a", "c"): 0.5}, "pairs of names"),
        ({("a", "a"): 0.5}, "pairs of names"),
        ({("a", "b"): 1.0}, "between -1 and 1"),
    ],
)
def test_bad_correlations_are_refused(correlation: Any, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        drawn(correlation=correlation)


def test_contradicting_correlations_are_refused() -> None:
    over = dict.fromkeys("abc", scipy.stats.norm())
    rho = {("a", "b"): 0.9, ("b", "c"): 0.9, ("a", "c"): -0.9}
    with pytest.raises(ModelError, match="contradict each other"):
        da.sweep(sprung_pendulum(), over, samples=8, task=linear, correlation=rho)
    with pytest.raises(ModelError, match="nothing is drawn"):
        da.sweep(sprung_pendulum(), {"a": [1.0]}, task=linear, correlation=rho)
    with pytest.raises(ModelError, match="independent"):
        da.uncertainty(sprung_pendulum(), over, None, task=linear, correlation=rho, sobol_indices=True)
