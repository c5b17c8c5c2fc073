"""Several objectives, integer and discrete variables, and searches that are told their outcomes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.errors import DalembertError, ModelError
from dalembert.studies.optimization.pareto_front import is_dominated


def stiffness_and_mass(model: da.Model, case: Any) -> dict[str, float]:
    """Return mass and frequency of a bob on a spring, and the deflection; fails for heavy bobs."""
    k, m = case["k"], case["m"]
    if m > 9.0:
        raise ValueError("too heavy")
    return {"mass": m + 0.01 * k, "frequency": np.sqrt(k / m), "sag": m / k}


def front(**more: Any) -> da.ParetoFront:
    given: dict[str, Any] = {
        "over": {"k": (10.0, 100.0), "m": (1.0, 10.0)}, "minimize": "mass", "maximize": "frequency",
        "task": stiffness_and_mass, "population": 24, "evaluations": 600, **more,
    }  # fmt: skip
    return da.pareto(sprung_pendulum(), given.pop("over"), given.pop("minimize"), **given)


def test_a_front_of_two_objectives_is_that_of_the_closed_form(tmp_path: Path) -> None:
    """At the least mass m = 1 always pays: mass 1 + k / 100, frequency sqrt(k)."""
    pytest.importorskip("pymoo")
    found = front()
    assert found.success and found.evaluations == 600 and len(found) >= 15
    k = found.table.k.to_numpy()
    assert np.allclose(found.table.m, 1.0, atol=0.02)
    assert np.ptp(k) > 70 and np.allclose(found.objectives[:, 1], np.sqrt(k / found.table.m), rtol=1e-12)
    exact = np.trapezoid(np.sqrt(np.linspace(10, 100, 2001)) - 3.0, np.linspace(0.1, 1.0, 2001) + 1)
    assert found.hypervolume((2.0, 3.0)) == pytest.approx(exact, rel=0.1)
    assert found.failed == (found.history.error != "").sum() > 0 and "ValueError: too heavy" in found.message
    assert set(found.to_xarray().data_vars) == {"k", "m", "mass", "frequency"}
    found.plot(path=tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 5000
    assert front().table.equals(found.table)  # the same for one seed


def test_constraints_cut_a_front() -> None:
    pytest.importorskip("pymoo")
    found = front(subject_to={"sag": (None, 0.02)})
    assert found.table.k.min() > 49.0 and np.all(found.table.m / found.table.k <= 0.02 + 1e-6)
    none = front(subject_to={"sag": (None, 1e-4)}, evaluations=48)
    assert not none.success and "no design of 48 keeps all constraints" in none.message


def test_fronts_of_runs_are_evaluated_as_ensembles() -> None:
    pytest.importorskip("pymoo")
    found = da.pareto(
        sprung_pendulum(), {"k.stiffness": (10.0, 60.0)}, ["k.stiffness", "swing"],
        outputs={"swing": ("A.position", "peak")}, t_end=1.0, population=12, evaluations=36,
    )  # fmt: skip
    for _, row in found.table.iterrows():
        run = da.simulate(sprung_pendulum(stiffness=row["k.stiffness"]), 1.0, times=np.linspace(0, 1, 101), rtol=1e-9)
        assert np.abs(run["A.position"]).max() == pytest.approx(row["swing"], rel=1e-6)


@pytest.mark.parametrize("method", ["tpe", "qmc", "random"])
def test_samplers_of_optuna_take_part(method: str) -> None:
    pytest.importorskip("optuna")
    found = front(method=method, population=10, evaluations=60, subject_to={"sag": (None, 0.05)})
    again = front(method=method, population=10, evaluations=60, subject_to={"sag": (None, 0.05)})
    assert found.success and found.evaluations == 60 and again.table.equals(found.table)
    one = front(method=method, maximize=None, population=5, evaluations=100)
    assert len(one) == 1 and one.objectives[0, 0] < 2.0  # least is 1.1


def test_domination_is_that_of_the_definition() -> None:
    values = np.random.default_rng(0).integers(0, 4, (60, 3)).astype(float)
    slow = [any((b <= a).all() and (b < a).any() for b in values) for a in values]
    assert is_dominated(values).tolist() == slow


def test_a_search_asks_and_is_told() -> None:
    """The front of Zitzler, Deb and Thiele (2000), problem 1: f2 = 1 - sqrt(f1)."""
    pytest.importorskip("pymoo")
    over = {f"x{k}": (0.0, 1.0) for k in range(4)}
    search = da.DesignSearch(over, ["f1", "f2"], population=40, seed=1)
    with pytest.raises(ModelError, match="tell all"):
        search.tell([{"x0": 1.0}], [None])
    for _ in range(80):
        points = search.ask()
        told: list[Any] = []
        for p in points:
            x = np.array(list(p.values()))
            g = 1 + 9 * x[1:].mean()
            told.append(None if x[1] > 0.99 else {"f1": x[0], "f2": g * (1 - np.sqrt(x[0] / g))})
        search.tell(points, told)
    found = search.front
    assert np.abs(found.objectives[:, 1] - (1 - np.sqrt(found.objectives[:, 0]))).max() < 0.05
    assert len(found) > 25
    search.ask()
    with pytest.raises(ModelError, match="tell the outcomes"):
        search.ask()


def test_integer_and_discrete_variables_are_searched() -> None:
    """Against all 4 x 3 x grid of the real one."""

    def odd(model: da.Model, case: Any) -> float:
        return (case["n"] - 2.6) ** 2 + abs(case["d"] - 0.014) * 100 + (case["x"] - 0.3) ** 2 * case["n"]

    over = {"n": range(1, 5), "d": {0.010, 0.016, 0.025}, "x": (0.0, 1.0)}
    found = da.optimize(sprung_pendulum(), over, "answer", task=odd, max_iterations=60)
    best = min(
        itertools.product(range(1, 5), (0.010, 0.016, 0.025)), key=lambda p: (p[0] - 2.6) ** 2 + abs(p[1] - 0.014) * 100
    )
    assert (found["n"], found["d"]) == best and found["x"] == pytest.approx(0.3, abs=1e-2)
    assert isinstance(found["n"], int) and "n " in str(found)
    assert set(found.history.n) <= {1, 2, 3, 4} and set(found.history.d) <= {0.010, 0.016, 0.025}
    with pytest.raises(ModelError, match="differential_evolution"):
        da.optimize(sprung_pendulum(), over, "answer", task=odd, method="SLSQP")
    with pytest.raises(ModelError, match="it is none of 1, 2, 3, 4"):
        da.optimize(sprung_pendulum(), over, "answer", task=odd, start={"n": 7})
    with pytest.raises(ModelError, match="one value at least"):
        da.optimize(sprung_pendulum(), {"n": range(0)}, "answer", task=odd)


def cosine(model: da.Model, case: Any) -> float:
    """Return a deep narrow minimum at 0.2, and a wide one at 0.7."""
    x = case["x"]
    return float(
        1.0 - 1.2 * np.exp(-(((x - 0.2) / 0.04) ** 2)) - np.exp(-(((x - 0.7) / 0.15) ** 2)) + case.get("e", 0.0)
    )


def test_a_robust_design_is_in_the_wide_valley() -> None:
    from scipy.stats import norm

    settings: dict[str, Any] = {"task": cosine, "method": "differential_evolution", "max_iterations": 30}
    search = {"task": cosine, "method": "Nelder-Mead", "starts": 16}
    nominal = da.optimize(sprung_pendulum(), {"x": (0.0, 1.0)}, "answer", **search)
    scatter = {"x": norm(0.0, 0.05), "e": norm(2.0, 0.1)}
    robust = da.optimize(
        sprung_pendulum(), {"x": (0.0, 1.0)}, "answer", scatter=scatter, samples=64, measure="mean + 3 std", **settings
    )
    assert nominal["x"] == pytest.approx(0.2, abs=0.01) and robust["x"] == pytest.approx(0.7, abs=0.02)
    # mean and deviation of the wide valley by quadrature: 1 - 0.15 / hypot(0.15, 0.07071) + 2
    mean = 3.0 - 0.15 / np.hypot(0.15, np.sqrt(2) * 0.05)
    assert mean + 0.3 < robust["answer"] < mean + 0.6


def test_a_quantile_is_a_constraint_of_reliability() -> None:
    """Least x with P(x + e > 1) = 0.99 for a normal e: 1 + 2.326 sigma."""
    from scipy.stats import norm

    def shifted(model: da.Model, case: Any) -> float:
        return float(case["x"])

    found = da.optimize(
        sprung_pendulum(), {"x": (0.0, 5.0)}, "x", task=shifted, subject_to={"answer": (1.0, None)},
        scatter={"x": norm(0.0, 0.2)}, samples=1000, measure={"answer": "quantile 0.01"},
    )  # fmt: skip
    assert found.success and found["x"] == pytest.approx(1 + 2.3263 * 0.2, abs=0.01)
    with pytest.raises(ModelError, match="mean \\+ 3 std"):
        da.optimize(sprung_pendulum(), {"x": (0, 1)}, "x", task=shifted, scatter={"x": norm()}, measure="median")
    with pytest.raises(ModelError, match="neither a design variable nor a parameter"):
        da.optimize(sprung_pendulum(), {"A": (0, 1)}, "A", t_end=1.0, scatter={"B": norm()})


def test_topology_is_a_discrete_variable_of_a_front() -> None:
    pytest.importorskip("pymoo")

    def build(case: Any) -> da.System:
        s = da.System("spring")
        s.connect("Z", da.Prismatic("z"), s.ground, s.body("m", da.sphere(0.1, mass=2.0)))
        for k in range(case["springs"]):
            s.connect(f"k{k}", da.JointSpring(stiffness=100.0 if case["kind"] == "soft" else 400.0), "Z")
        return s

    def own(model: da.Model, case: Any) -> dict[str, float]:
        stiffness = case["springs"] * (100.0 if case["kind"] == "soft" else 400.0)
        return {"cost": case["springs"] * (1.0 if case["kind"] == "soft" else 3.0), "f": np.sqrt(stiffness / 2.0)}

    found = da.pareto(
        build, {"springs": range(1, 4), "kind": {"soft", "hard"}}, "cost", maximize="f", task=own, population=8,
        evaluations=160,
    )  # fmt: skip
    assert not found.failed, found.message
    assert set(zip(found.table.springs, found.table.kind, strict=True)) == {
        (1, "soft"), (2, "soft"), (1, "hard"), (2, "hard"), (3, "hard"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("act", "match"),
    [
        (lambda: front(method="magic"), "use 'nsga2'"),
        (lambda: front(over={"k": (1.0, None), "m": (1, 2)}), "finite bounds"),
        (lambda: front(minimize=None, maximize=None), "give objectives"),
        (lambda: front(minimize=3), "labels of outputs"),
        (
            lambda: da.optimize(sprung_pendulum(), {"A": (0, 1)}, ["peak", "stroke"], t_end=1.0),
            "da.pareto takes several",
        ),
        (lambda: da.DesignSearch({}, "a"), "dict of name"),
    ],
)
def test_bad_searches_are_refused_by_name(act: Any, match: str) -> None:
    with pytest.raises(DalembertError, match=match):
        act()
