"""Fits of several experiments, of clocks and sensors, and of models that do not explain the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.pendulums import sprung_pendulum

import dalembert as da
from dalembert.errors import ModelError
from dalembert.studies.optimization.experiments import ExperimentResiduals
from dalembert.studies.optimization.lack_of_fit import judge_residuals

TIMES = np.linspace(0.0, 2.0, 81)
OVER = {"A.damping": (0.0, 3.0)}
NOISE = 0.004


def pendulum() -> da.System:
    return sprung_pendulum(stiffness=40.0, damping=0.42)


def motion(angle: float = 0.6, shift: float = 0.0, **more: Any) -> np.ndarray:
    """Return exact angles at the times of a clock that is late by `shift`."""
    run = da.simulate(pendulum(), 2.5, times=np.linspace(0, 2.5, 1001), state={"A": angle}, rtol=1e-10, **more)
    return np.interp(TIMES - shift, run.t, run["A.position"])


def noise(seed: int) -> np.ndarray:
    return NOISE * np.random.default_rng(seed).standard_normal(len(TIMES))


def test_a_late_clock_is_a_lack_of_fit_that_is_stated_and_widens_intervals() -> None:
    data = {"A.position": motion(shift=0.05) + noise(1)}
    data["A.position"][:2] = np.nan
    settings = {"state": {"A": 0.6}, "start": {"A.damping": 0.3}}
    for known in (NOISE, None):
        found = da.fit(pendulum(), OVER, data, TIMES, noise=known, **settings)
        assert not found.success
        assert "lack of fit" in found.message and "correlated in time" in found.message
        assert ("times the given noise" in found.message) == (known is not None)
        assert "lack of fit" in str(found) and found.widened > 3
        low, high = found.interval()[0]
        assert low < 0.42 < high  # the narrow interval misses the true damping by many standard errors
        assert abs(found.x[0] - 0.42) > 2.5 * found.errors[0] / found.widened


def test_the_offset_of_a_clock_is_estimated_with_the_parameters() -> None:
    found = da.fit(
        pendulum(), OVER, {"A.position": motion(shift=0.05) + noise(1)}, TIMES, noise=NOISE, clock=(-0.1, 0.2),
        state={"A": 0.6}, start={"A.damping": 0.3},
    )  # fmt: skip
    assert found.success and not found.lack_of_fit and found.names == ("A.damping", "clock")
    assert abs(found["clock"] - 0.05) < 4 * found.errors[1] < 0.004
    assert abs(found["A.damping"] - 0.42) < 4 * found.errors[0] < 0.04
    assert any("8 of 81 samples may be from before the motion" in note for note in found.notes)
    assert found.noise == pytest.approx(1.0, abs=0.2)


def test_gain_and_bias_of_a_sensor_are_estimated() -> None:
    data = {"A.position": 1.07 * motion() - 0.03 + noise(2)}
    plain = da.fit(pendulum(), OVER, data, TIMES, noise=NOISE, state={"A": 0.6})
    assert plain.lack_of_fit
    found = da.fit(
        pendulum(), OVER, data, TIMES, noise=NOISE, state={"A": 0.6},
        gain={"A.position": (0.5, 2.0)}, bias={"A.position": (-1.0, 1.0)},
    )  # fmt: skip
    assert found.success
    for name, true in {"A.damping": 0.42, "gain of A.position": 1.07, "bias of A.position": -0.03}.items():
        k = found.names.index(name)
        assert abs(found.x[k] - true) < 4 * found.errors[k] < 0.1


def test_several_experiments_are_one_fit() -> None:
    """Two starts, two clocks, one of them with other samples; both inform the same damping."""
    one = da.Experiment({"A.position": motion(0.6) + noise(3)}, TIMES, NOISE, settings={"state": {"A": 0.6}})
    other = da.Experiment(
        {"A.position": (motion(1.2, shift=0.03) + noise(4))[10:]}, TIMES[10:], NOISE, clock=(-0.1, 0.1), name="long",
        settings={"state": {"A": 1.2}, "t_start": 0.0},
    )  # fmt: skip
    alone = da.fit(pendulum(), OVER, one)
    found = da.fit(pendulum(), OVER, [one, other])
    assert found.names == ("A.damping", "long: clock") and found.success
    assert set(found.residuals) == {"experiment 1: A.position", "long: A.position"}
    assert abs(found["A.damping"] - 0.42) < 4 * found.errors[0] < 4 * alone.errors[0]
    assert abs(found["long: clock"] - 0.03) < 4 * found.errors[1]
    assert found.count == 81 + 71


def test_samples_without_weight_are_as_if_they_were_missing() -> None:
    data = motion() + noise(5)
    weights = np.ones(len(TIMES))
    weights[20:40], gaps = 0.0, data.copy()
    gaps[20:40] = np.nan
    data[20:40] += 5.0
    settings: dict[str, Any] = {"noise": NOISE, "state": {"A": 0.6}}
    weighted = da.fit(pendulum(), OVER, {"A.position": data}, TIMES, weights=weights, **settings)
    missing = da.fit(pendulum(), OVER, {"A.position": gaps}, TIMES, **settings)
    assert weighted.x == pytest.approx(missing.x, rel=1e-6)
    assert weighted.errors / weighted.widened == pytest.approx(missing.errors, rel=1e-5)


def test_derivatives_of_residuals_are_those_of_differences() -> None:
    rng = np.random.default_rng(0)
    experiment = da.Experiment(
        {"A.position": rng.standard_normal(81)}, TIMES, 0.1, rng.uniform(0.5, 2, 81), (-0.1, 0.1),
        {"A.position": (0.5, 2.0)}, {"A.position": (-1.0, 1.0)},
    )  # fmt: skip
    part = ExperimentResiduals(experiment, "fit", "", {})
    grid, names = part.grid, ["p", "clock", "gain of A.position", "bias of A.position"]

    def outputs(x: np.ndarray) -> dict[str, Any]:
        return {"A.position": np.sin(x[0] * grid), **dict(zip(names, x, strict=True))}

    x = np.array([2.0, 0.03, 1.2, 0.1])
    by = {name: np.eye(4)[k] for k, name in enumerate(names)}
    by["A.position"] = np.einsum("n,k->nk", grid * np.cos(x[0] * grid), np.eye(4)[0])
    differences = [
        (part.residuals(outputs(x + 1e-6 * e)) - part.residuals(outputs(x - 1e-6 * e))) / 2e-6 for e in np.eye(4)
    ]
    assert np.allclose(part.slopes(outputs(x), by), np.stack(differences, axis=1), rtol=0, atol=1e-6)


def test_what_sensors_hide_is_named() -> None:
    """A torque sensor of unknown gain does not tell a mass: both scale what it measures."""
    s = da.System("crank", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("bar", da.rod(1.0, 2.0)))
    s.drive("A", position=da.laws.Harmonic(0.5, 3.0))
    t = np.linspace(0, 2, 41)
    effort = da.simulate(s, 2.0, times=t)["A.effort"]
    data = {"A.effort": effort + 0.01 * np.random.default_rng(0).standard_normal(41)}
    over = {"bar.inertia.zz": (0.01, 1.0)}
    found = da.fit(s, over, data, t, noise=0.01, gain={"A.effort": (0.5, 2.0)})
    note = next(note for note in found.notes if "do not identify" in note)
    assert "'bar.inertia.zz'" in note and "'gain of A.effort'" in note and np.isinf(found.errors).all()


def test_noise_is_hardly_ever_called_a_lack_of_fit() -> None:
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(400):
        r = rng.standard_normal((60, 2))
        alarms += bool(judge_residuals({"a": r}, {"a": 1.0}, float((r**2).sum()), 118, True).reasons)
    assert alarms <= 2  # expected 0.12
    red = np.convolve(rng.standard_normal(64), [1, 1, 1, 1, 1], "valid")
    found = judge_residuals({"a": red}, {"a": 1.0}, float(red @ red), 58, False)
    assert "correlated" in found.reasons[0] and 2 < found.factor < 5  # (1 + 0.8) / (1 - 0.8) = 9
    assert not judge_residuals({"a": 1e-9 * red}, {"a": 1.0}, float(red @ red), 58, False).reasons


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"times": None}, "give the times"),
        ({"measured": 3.0}, "list of Experiments"),
        ({"measured": []}, "list of Experiments"),
        ({"measured": [1]}, "give it to each Experiment"),
        ({"gain": {"B.position": (0, 1)}}, "measured are 'A.position'"),
        ({"clock": (None, 1.0)}, "finite bounds"),
        ({"clock": (5.0, 6.0)}, "largest offset of the clock"),
        ({"weights": [1.0, 2.0]}, "one for each of the 81 times"),
        ({"weights": -1.0}, "not negative"),
        ({"t_start": 1.0}, "before it"),
        ({"over": {"A.dampin": (0, 1)}}, "A.damping"),
    ],
)
def test_bad_experiments_are_refused_by_name(change: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {"over": OVER, "measured": {"A.position": np.ones(81)}, "times": TIMES, **change}
    with pytest.raises(ModelError, match=match) as error:
        da.fit(pendulum(), **given)
    assert error.value.item == "fit"


def test_experiments_of_one_name_or_of_known_and_unknown_noise_are_refused() -> None:
    data = {"A.position": np.ones(81)}
    with pytest.raises(ModelError, match="a name of its own"):
        da.fit(pendulum(), OVER, [da.Experiment(data, TIMES, name="a"), da.Experiment(data, TIMES, name="a")])
    with pytest.raises(ModelError, match="for all experiments, or for none"):
        da.fit(pendulum(), OVER, [da.Experiment(data, TIMES, 0.1), da.Experiment(data, TIMES)])
