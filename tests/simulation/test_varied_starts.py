"""Runs that differ in lengths start where they start by themselves, closed together or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar, slider_crank
from dalembert.numerics.least_squares import VectorProblem, descend, descend_together
from dalembert.simulation.ensemble import groups


def _scaled(model: da.Model, name: str, factors: np.ndarray) -> dict[str, np.ndarray]:
    return {name: factors * model.parameters[model.parameter_names[name]]}


def _count_together(monkeypatch) -> list[int]:
    """Return a list to which the number of runs that were closed together is added."""
    counts: list[int] = []
    together = groups.varied_starts

    def counting(*given):
        found = together(*given)
        counts.append(0 if found is None else int(found[3].sum()))
        return found

    monkeypatch.setattr(groups, "varied_starts", counting)
    return counts


def _assert_starts_alone(model: da.Model, state, parameters, ensemble) -> None:
    for k in range(len(ensemble)):
        own = {name: float(values[k]) for name, values in parameters.items()}
        alone = da.simulate(model, 0.02, state=state, parameters=own)
        np.testing.assert_allclose(ensemble.q[k, 0], alone.q[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(ensemble.v[k, 0], alone.v[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(ensemble.q[k, -1], alone.q[-1], rtol=0, atol=1e-8)  # rtol of both runs


@pytest.mark.parametrize("state", [None, {"A": 0.7}, {"A": 1.1, "A.speed": 3.0}])
@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_lengths_of_planar_loops_are_closed_together(make, state, monkeypatch) -> None:
    counts, model = _count_together(monkeypatch), make().compile()
    name = "C.first.x" if "C.first.x" in model.parameter_names else "B.first.x"
    parameters = _scaled(model, name, np.linspace(0.95, 1.08, 9))
    ensemble = da.simulate(model, 0.02, state=state, parameters=parameters)
    assert counts == [9]
    _assert_starts_alone(model, state, parameters, ensemble)


def _spatial_loop() -> da.System:
    """Return a crank and a rocker about skew axes, joined by a rod with two ball joints (RSSR)."""
    s = da.System("rssr")
    crank = s.body("crank", da.rod(length=0.5, mass=1.0))
    rod = s.body("rod", da.rod(length=2.0, mass=2.0))
    rocker = s.body("rocker", da.rod(length=1.2, mass=1.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Universal("z", "y"), crank.at(0.5, 0, 0), rod)
    s.connect("D", da.Revolute("y"), s.ground.at(1.6, 0.6, 0), rocker)
    s.connect("C", da.Spherical(), rod.at(2.0, 0, 0), rocker.at(1.2, 0, 0))
    s.initial("A", position=0.4, speed=2.0)
    s.initial("B", position=(-0.2, -0.5), guess=True)
    s.initial("D", position=-1.0, guess=True)
    return s


def test_lengths_of_a_spatial_loop_are_closed_together(monkeypatch) -> None:
    counts, model = _count_together(monkeypatch), _spatial_loop().compile()
    parameters = _scaled(model, "C.first.x", np.linspace(0.97, 1.1, 6))
    ensemble = da.simulate(model, 0.02, parameters=parameters)
    assert counts == [6]
    _assert_starts_alone(model, None, parameters, ensemble)


def test_runs_that_cannot_be_closed_together_start_by_themselves(monkeypatch) -> None:
    counts, driven = _count_together(monkeypatch), four_bar()
    driven.drive("A", position=da.Polynomial((0.7, 3.0)))
    model = driven.compile()
    parameters = _scaled(model, "C.first.x", np.linspace(0.98, 1.02, 3))
    _assert_starts_alone(model, None, parameters, da.simulate(model, 0.02, parameters=parameters))
    far = _spatial_loop()
    far.initial("D", position=0.0, guess=True)
    far.initial("B", position=(0.0, 0.0), guess=True)  # the way from there leads over a minimum of the residual
    model = far.compile()
    parameters = _scaled(model, "C.first.x", np.linspace(0.98, 1.02, 3))
    _assert_starts_alone(model, None, parameters, da.simulate(model, 0.02, parameters=parameters))
    assert counts == [0, 0]


def test_a_length_that_does_not_close_is_refused_as_in_a_single_run() -> None:
    model = four_bar().compile()
    parameters = _scaled(model, "C.first.x", np.array([1.0, 50.0, 1.01]))
    with pytest.raises(da.AssemblyError) as alone:
        da.simulate(model, 0.02, parameters={"C.first.x": float(parameters["C.first.x"][1])})
    with pytest.raises(da.AssemblyError) as caught:
        da.simulate(model, 0.02, parameters=parameters)
    assert str(caught.value) == str(alone.value)


def test_common_steps_are_those_of_single_descents() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((4, 3))

    def residual(q):
        z = q - 0.3
        return np.sin(z) @ A.T + 0.2 * (z * z) @ A.T  # redundant rows, consistent where z vanishes

    def slopes(q):
        z = q - 0.3
        return A * (np.cos(z) + 0.4 * z)[..., None, :]

    problem, starts = VectorProblem(3, residual, slopes), 0.3 + 0.8 * rng.uniform(-1, 1, (20, 3))
    free = np.array([True, True, True])
    found = descend_together(problem, starts, free, tolerance=1e-12, floor=1e-15)
    for k in range(20):
        one = descend(problem, starts[k], free, tolerance=1e-12, floor=1e-15, max_iterations=100)
        if found.closed[k]:
            np.testing.assert_allclose(found.q[k], one.q, rtol=0, atol=1e-14)
    assert found.closed.sum() >= 15


@pytest.mark.parametrize("given", [
    {"state": {"A": np.zeros(0)}},
    {"state": da.State(np.zeros((0, 1)), np.zeros((0, 1)))},
    {"parameters": {"k.stiffness": np.zeros(0)}},
])  # fmt: skip
def test_no_run_at_all_is_refused(given: dict[str, Any]) -> None:
    s = da.System("oscillator")
    s.connect("A", da.Prismatic("z"), s.ground, s.body("mass", mass=1.0))
    s.connect("k", da.JointSpring(1.0), "A")
    with pytest.raises(da.ModelError, match="number of runs is 0; give values for one run or more"):
        da.simulate(s, 1.0, **given)
