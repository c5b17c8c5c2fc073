"""Values of tabulated time laws as parameters: variants, ensembles, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

TIMES = np.linspace(0.0, 0.5, 6)
VALUES = np.array([0.5, 2.0, -1.0, 0.3, 1.5, -0.7])
LAWS = [da.ZeroOrderHold, da.LinearInterpolation, da.Spline]


def pushed(law: Any) -> da.System:
    """Return a double pendulum with a torque over time."""
    s = chain(2, axes="y")
    s.connect("push", da.Effort(law), "joint_1")
    return s


@pytest.mark.parametrize("law", LAWS)
def test_other_values_give_the_motion_of_the_law_with_these_values(law: Any) -> None:
    model, other = pushed(law(TIMES, VALUES)).compile(), np.random.default_rng(0).normal(size=6)
    given = {f"push.effort.values[{k}]": float(x) for k, x in enumerate(other)}
    assert set(given) <= set(model.parameter_names)
    found = da.simulate(model, 0.5, parameters=given, rtol=1e-10, times=TIMES)
    exact = da.simulate(pushed(law(TIMES, other)), 0.5, rtol=1e-10, times=TIMES)
    np.testing.assert_allclose(found.q, exact.q, rtol=0, atol=1e-9)
    assert found["push.effort"][2] == pytest.approx(exact["push.effort"][2], rel=1e-12)


def test_repeated_times_of_a_linear_law_are_jumps_with_values_of_their_own() -> None:
    times, values = [0.0, 0.2, 0.2, 0.5], np.array([1.0, 2.0, -3.0, 0.5])
    model = pushed(da.LinearInterpolation(times, values)).compile()
    found = da.simulate(model, 0.5, parameters={"push.effort.values[2]": 4.0}, rtol=1e-10)
    values[2] = 4.0
    exact = da.simulate(pushed(da.LinearInterpolation(times, values)), 0.5, rtol=1e-10)
    np.testing.assert_allclose(found.q[-1], exact.q[-1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("law", LAWS)
def test_ensemble_over_a_value_agrees_with_single_runs(law: Any) -> None:
    model, numbers = pushed(law(TIMES, VALUES)).compile(), np.linspace(-2, 2, 10)
    runs = da.simulate(model, 0.5, parameters={"push.effort.values[2]": numbers}, times=TIMES, rtol=1e-10)
    for k in (0, 4, 9):
        own = {"push.effort.values[2]": float(numbers[k])}
        one = da.simulate(model, 0.5, parameters=own, times=TIMES, rtol=1e-10)
        np.testing.assert_allclose(runs.q[k], one.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_sensitivities_by_values_agree_with_differences(law: Any, mode: str) -> None:
    s = pushed(law(TIMES, VALUES))
    names = ["push.effort.values[1]", "push.effort.values[3]"]
    how: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    slopes = da.sensitivity(s, {"end": ("joint_2.position", "final")}, names, 0.5, mode=mode, **how)["end"]
    h = 1e-4
    for k, name in enumerate(names):
        place = int(name[-2])
        ends = []
        for by in (h, -h):
            values = VALUES.copy()
            values[place] += by
            ends.append(da.simulate(pushed(law(TIMES, values)), 0.5, **how).q[-1, 1])
        assert float(slopes[k]) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)


def test_values_of_a_drive_move_a_closed_loop() -> None:
    def driven(values: Any) -> da.System:
        s = four_bar()
        s.drive("A", position=da.Spline(TIMES, values))
        return s

    values = np.array([1.0, 1.1, 1.25, 1.3, 1.2, 1.1])
    model = driven(values).compile()
    assert model.parameter_table is not None and "A.drive.values[2]" in model.parameter_names
    found = da.simulate(model, 0.5, parameters={"A.drive.values[2]": 1.2}, times=TIMES)
    values[2] = 1.2
    exact = da.simulate(driven(values), 0.5, times=TIMES)
    np.testing.assert_allclose(found.q, exact.q, rtol=0, atol=1e-9)


def test_rollout_gradients_by_values_of_a_hold_law_are_those_by_controls() -> None:
    t = 0.1 * np.arange(7)
    u = np.append(VALUES, 0.0)
    r = da.rollout(pushed(da.ZeroOrderHold(t, u)), None, {"joint_2": np.zeros((1, 6))}, 0.1, substeps=4)
    seed = np.ones(r.q.shape)
    by_values = r.vjp(q=seed, parameters=tuple(f"push.effort.values[{k}]" for k in range(6))).parameters
    by_controls = da.rollout(chain(2, axes="y"), None, {"joint_1": VALUES[None]}, 0.1, substeps=4).vjp(q=seed).controls
    np.testing.assert_allclose(by_values[0], by_controls[0, :, 0], rtol=1e-9)


def test_long_tables_are_no_parameters() -> None:
    t = np.linspace(0, 1, 201)
    names = pushed(da.ZeroOrderHold(t, t)).compile().parameter_names
    assert not [name for name in names if ".values[" in name]
