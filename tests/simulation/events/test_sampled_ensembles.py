"""Ensembles with a sampled control that receives the states of all runs: runs have the bits of single runs."""

import pickle
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.simulation.ensemble import execution

TIMES = np.linspace(0.0, 0.6, 13)


def hold(state: da.State) -> Any:
    """Return joint forces at one state or many."""
    return -6.0 * state.q - 1.0 * state.v


def c_hold(t: float, run: int, q: Any, v: Any, x: Any, tau: Any, data: Any) -> None:
    for k in range(2):
        tau[k] = -6.0 * q[k] - 1.0 * v[k] + data[0] * run


@pytest.fixture
def batched_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs one after the other fail."""

    def refuse(*given: object) -> None:
        raise AssertionError("runs were integrated one after the other")

    monkeypatch.setattr(execution, "_execute_separately", refuse)


def singles(model: da.Model, state: da.State, t_end: float = 0.6, **how: Any) -> list[da.Result]:
    """Return the same runs, each alone."""
    return [da.simulate(model, t_end, state=da.State(q=q, v=v), **how) for q, v in zip(state.q, state.v, strict=True)]


def assert_single_runs(runs: da.Ensemble, alone: list[da.Result]) -> None:
    """Assert that runs have the bits of single runs, and their efforts."""
    tau = runs["tau"]
    for k, one in enumerate(alone):
        n = len(one.t)
        np.testing.assert_array_equal(runs.q[k, :n], one.q)
        np.testing.assert_array_equal(runs.v[k, :n], one.v)
        np.testing.assert_array_equal(tau[k, :n], one["tau"])
        assert runs.status[k] == one.status


@pytest.mark.parametrize("how", [{}, {"delay": 0.003}, {"delay": 0.02}, {"noise": (1e-3, 1e-2), "seed": 3}])
@pytest.mark.parametrize("method", ["auto", "radau"])
@pytest.mark.usefixtures("batched_only")
def test_runs_equal_single_runs(how: dict[str, Any], method: str) -> None:
    model = chain(2, axes="y").compile()
    state = model.random_state(1, size=5)
    control = da.SampledControl(hold, 0.01, batched=True, **how)
    runs = da.simulate(model, 0.6, state=state, control=control, times=TIMES, method=method)
    assert_single_runs(runs, singles(model, state, control=control, times=TIMES, method=method))
    again = pickle.loads(pickle.dumps(runs))
    np.testing.assert_array_equal(again["tau"], runs["tau"])
    np.testing.assert_array_equal(again[2].at(0.33).q, runs[2].at(0.33).q)


@pytest.mark.usefixtures("batched_only")
def test_the_function_is_called_once_a_period_for_all_runs() -> None:
    """Internal state is an array over runs, and reading the results does not call the function."""
    model = chain(2, axes="y").compile()
    state = model.random_state(2, size=7)
    calls: list[tuple[float, int]] = []
    total = np.zeros((7, 2))

    def integral(now: da.State) -> Any:
        calls.append((float(np.unique(now.t)[0]), len(now.q)))
        np.testing.assert_array_equal(now.run, np.arange(7))
        total[:] += 0.01 * now.q
        return -2.0 * total - 1.0 * now.v

    control = da.SampledControl(integral, 0.01, batched=True)
    runs = da.simulate(model, 0.3, state=state, control=control, times=np.linspace(0.0, 0.3, 7))
    assert [count for _, count in calls] == [7] * 30
    np.testing.assert_allclose([t for t, _ in calls], 0.01 * np.arange(30), atol=1e-12)
    assert runs["energy.balance"].shape == (7, 7) and runs[3]["tau"].shape == (7, 2)
    assert abs(runs["energy.balance"]).max() < 1e-6
    assert len(calls) == 30


@pytest.mark.usefixtures("batched_only")
def test_runs_do_not_depend_on_threads_and_may_differ_in_parameters() -> None:
    model = chain(2, axes="y").compile()
    name = next(name for name in model.parameter_names if name.endswith(".mass"))
    given = {name: np.linspace(0.5, 2.0, 9)}
    control = da.SampledControl(hold, 0.02, batched=True)
    before, made = da.threads(), []
    try:
        for count in (1, 2):
            da.set_threads(count)
            made.append(da.simulate(model, 0.6, parameters=given, control=control, times=TIMES))
    finally:
        da.set_threads(before)
    np.testing.assert_array_equal(made[0].q, made[1].q)
    for k, mass in enumerate(given[name]):
        one = da.simulate(model, 0.6, parameters={name: mass}, control=control, times=TIMES)
        np.testing.assert_array_equal(made[0].q[k], one.q)


@pytest.mark.usefixtures("batched_only")
def test_a_compiled_control_is_sampled_in_the_core() -> None:
    model = chain(2, axes="y").compile()
    state = model.random_state(4, size=4)
    compiled = da.CompiledControl(da.CompiledControl.signature(c_hold), data=[0.1])
    runs = da.simulate(model, 0.6, state=state, control=compiled, control_period=0.01, times=TIMES)

    def twin(now: da.State) -> Any:
        return -6.0 * now.q - 1.0 * now.v + 0.1 * np.atleast_1d(now.run)[:, None]

    other = da.simulate(model, 0.6, state=state, control=da.SampledControl(twin, 0.01, batched=True), times=TIMES)
    np.testing.assert_allclose(runs.q, other.q, rtol=0, atol=1e-12)  # fused products round differently
    assert abs(runs.q[1] - runs.q[0]).max() > 1e-3


@pytest.mark.usefixtures("batched_only")
def test_friction_stops_and_events_between_samples() -> None:
    s = da.System("arm")
    last = s.ground
    for k in range(2):
        link = s.body(f"link{k}", da.rod(length=0.4, mass=1.0))
        s.connect(f"J{k}", da.Revolute("y", friction=0.2, lower=-1.0, upper=1.5), last, link)
        last = link.at(0.4, 0, 0)
    model = s.compile()
    state = da.State(q=np.linspace(-0.8, 0.9, 12).reshape(6, 2), v=np.zeros((6, 2)))
    events = [da.Event("end", "J0.position", value=0.6, terminal=True), da.Event("pass", "J1.speed", value=1.0)]
    for given in ((), events):
        control = da.SampledControl(hold, 0.02, batched=True)
        runs = da.simulate(model, 0.6, state=state, control=control, times=TIMES, events=given)
        alone = singles(model, state, control=control, times=TIMES, events=given)
        assert_single_runs(runs, alone)
        for k, one in enumerate(alone):
            assert [(e.name, e.t) for e in runs.events[k]] == [(e.name, e.t) for e in one.events]


def test_a_run_with_forces_that_are_not_finite_ends_by_name() -> None:
    model = chain(2, axes="y").compile()
    state = model.random_state(5, size=4)

    def bad(now: da.State) -> Any:
        tau = hold(now)
        tau[(np.asarray(now.run) == 2) & (now.t > 0.25)] = np.nan
        return tau

    runs = da.simulate(model, 0.6, state=state, control=da.SampledControl(bad, 0.01, batched=True), times=TIMES)
    assert runs.status == ("finished", "finished", "failed", "finished")
    assert "run 2" in runs.message and "bad" in runs.message and "0.26" in runs.message
    assert np.isfinite(runs.q[[0, 1, 3]]).all() and np.isnan(runs.q[2, -1]).all()


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda now: np.zeros(3), r"returned an array \(3,\) for 4 states"),
        (lambda now: 1 / 0, "division"),
    ],
)
def test_wrong_shapes_and_errors_are_named(function: Any, match: str) -> None:
    model = chain(2, axes="y").compile()
    control = da.SampledControl(function, 0.01, batched=True)
    with pytest.raises(da.UserFunctionError, match=match):
        da.simulate(model, 0.6, state=model.random_state(5, size=4), control=control, times=TIMES)


def test_functions_of_one_state_run_one_after_the_other() -> None:
    """Without `batched`, internal state belongs to one run at a time."""
    model = chain(2, axes="y").compile()
    state = model.random_state(6, size=3)
    seen: list[tuple[int, float]] = []

    def one(now: da.State) -> Any:
        seen.append((int(now.run), now.t))
        return -6.0 * now.q

    da.simulate(model, 0.1, state=state, control=one, control_period=0.02, times=[0.0, 0.1])
    assert seen == sorted(seen) and len(seen) == 15
