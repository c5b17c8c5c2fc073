"""Fits with their confidence, and what uncertain numbers make of outputs: closed forms and repeated experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, uniform

import dalembert as da
from dalembert.errors import ModelError


def arm() -> da.System:
    s = da.System("arm")
    upper, lower = s.body("upper", da.rod(0.5, 2.0)), s.body("lower", da.rod(0.4, 1.0))
    s.connect("A", da.Revolute("y", damping=0.2), s.ground, upper)
    s.connect("B", da.Revolute("y", damping=0.1), upper.at(0.5, 0, 0), lower)
    return s


TIMES = np.linspace(0, 1.5, 61)
TRUE = {"lower.mass": 1.3, "A.damping": 0.35, "B.damping": 0.06}
BOUNDS = {"lower.mass": (0.3, 3.0), "A.damping": (0.0, 1.0), "B.damping": (0.0, 1.0)}


def measured(seed: int, noise: float = 0.004) -> dict[str, Any]:
    run = da.simulate(arm(), 1.5, times=TIMES, parameters=TRUE, rtol=1e-9)
    rng = np.random.default_rng(seed)
    return {f"{n}.position": run[f"{n}.position"] + noise * rng.standard_normal(len(TIMES)) for n in "AB"}


def test_an_arm_is_identified_within_its_confidence() -> None:
    found = da.fit(arm(), BOUNDS, measured(3), TIMES, noise=0.004)
    assert np.abs((found.x - list(TRUE.values())) / found.errors).max() < 3.5
    assert found.noise == pytest.approx(1.0, abs=4 / np.sqrt(2 * found.count))
    assert found.optimum.gradient == "exact"


def test_estimates_scatter_as_their_errors_say() -> None:
    """Of twelve experiments: scaled by their errors, deviations have the variance of a normal distribution."""
    fits = [da.fit(arm(), BOUNDS, measured(seed), TIMES, start=TRUE, noise=0.004) for seed in range(12)]
    scaled = np.array([(found.x - list(TRUE.values())) / found.errors for found in fits])
    # 36 squares, of chi-squared mean 36: 0.1 percent lie outside 15 to 68
    assert 15 < (scaled**2).sum() < 68


def test_parameters_that_measurements_do_not_determine_are_reported() -> None:
    s = arm()
    run = measured(0)
    found = da.fit(s, {"lower.mass": (0.3, 3.0), "gravity.y": (-1.0, 1.0)}, run, TIMES)
    assert "gravity.y" in found.notes[0] and np.isinf(found.errors[1])


def test_samples_that_are_missing_are_left_out() -> None:
    run = measured(1)
    run["A.position"][10:20] = np.nan
    found = da.fit(arm(), BOUNDS, run, TIMES, start=TRUE)
    assert found.count == 2 * 61 - 10 and np.isnan(found.residuals["A.position"]).sum() == 10


def test_regions_hold_their_intervals(tmp_path: Path) -> None:
    found = da.fit(arm(), BOUNDS, measured(2), TIMES, start=TRUE)
    edge = found.region("A.damping", "B.damping")
    interval = found.interval()
    # two together lie in a wider ellipse than each by itself: sqrt(2 F) over t, 1.25 times
    assert np.ptp(edge[:, 0]) / (interval[1, 1] - interval[1, 0]) == pytest.approx(1.25, abs=0.02)
    found.plot("A.damping", "B.damping", path=tmp_path / "region.png")
    assert "95 %" in str(found)


def bar() -> da.System:
    s = da.System("bar", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, s.body("bar", da.rod(1.0, 3.0)))
    s.connect("k", da.TorsionSpring(stiffness=50.0), "A")
    return s


def frequency(modes: Any) -> float:
    return float(modes.frequencies[0])


def test_a_frequency_spreads_as_its_stiffness_says() -> None:
    """f goes with sqrt(k): half of 4 percent."""
    found = da.uncertainty(bar(), {"k.stiffness": norm(50.0, 2.0)}, {"f": frequency}, task="modes")
    f = np.sqrt(50.0) / (2 * np.pi)
    assert found.first_order["f"] == pytest.approx(0.02 * f, rel=1e-6)
    assert found.deviation["f"] == pytest.approx(0.02 * f, rel=0.02)  # sampled
    assert found.quantile("f", 0.5) == pytest.approx(f, rel=1e-3)
    assert found.quantile("f", 0.95) == pytest.approx(np.sqrt(50.0 + 1.645 * 2) / (2 * np.pi), rel=1e-3)


def test_variances_add_up_and_are_shared() -> None:
    over = {"k.stiffness": norm(50.0, 2.0), "bar.mass": norm(3.0, 0.1)}
    found = da.uncertainty(bar(), over, {"f": frequency}, task="modes", samples=64)
    # f^2 goes with k / (m l^2 / 4 + I), I of its own: parts 0.04^2 and (0.1 / 4)^2 of 0.75 + 0.25
    assert found.shares["f"] == pytest.approx(np.array([16.0, 6.25]) / 22.25, rel=1e-4)


def test_sobol_indices_are_those_of_a_product(tmp_path: Path) -> None:
    pytest.importorskip("SALib")

    def product(model: da.Model, case: Any) -> float:
        return float(case["a"] * case["b"])

    over = {"a": uniform(0.0, 1.0), "b": uniform(0.0, 1.0)}
    found = da.uncertainty(bar(), over, None, task=product, samples=512, sobol_indices=True)
    # of a b, uniform: variance 7/144, alone 1/48 each, together 1/144
    assert found.first["answer"] == pytest.approx(np.full(2, 3 / 7), abs=0.02)
    assert found.total["answer"] == pytest.approx(np.full(2, 4 / 7), abs=0.02)  # sampling error
    found.plot("answer", path=tmp_path / "parts.png")
    assert "Sobol" in str(found)


def test_samples_that_fail_are_counted() -> None:
    def odd(model: da.Model, case: Any) -> float:
        if case["a"] < 0.25:
            raise ValueError("too small")
        return float(case["a"])

    found = da.uncertainty(bar(), {"a": uniform(0.0, 1.0)}, None, task=odd, samples=64, first_order=False)
    assert found.failed == 16 and found.mean["answer"] == pytest.approx(0.625, abs=1e-3)
    assert "16 of them failed" in str(found)


@pytest.mark.parametrize("over", [{}, {"a": 3.0}, None])
def test_what_is_wrong_is_named(over: Any) -> None:
    with pytest.raises(ModelError, match="distribution"):
        da.uncertainty(bar(), over, {"f": frequency}, task="modes")
    with pytest.raises(ModelError, match="increasing"):
        da.fit(bar(), {"k.stiffness": (1, 2)}, {"A.position": [0.0, 1.0]}, [1.0, 0.0])
