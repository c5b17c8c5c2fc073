"""A control that is sampled: asked at its times only, held in between, and the same in all kinds of runs."""

from __future__ import annotations

import pickle
import signal
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import slider_crank
from dalembert.simulation.events.control_sampling import ControlSampler
from dalembert.simulation.interrupts import clear_interrupt


def slide(mass: float = 2.0) -> da.System:
    s = da.System("slide", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=mass)))
    s.initial("X", position=0.3)
    return s


def feedback(state: da.State) -> list[float]:
    return [-4.0 * state.q[0] - 3.0 * state.v[0]]


def exact(period: float, delay: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times and states (q, v) at samples of the slide of 2 kg, by the closed form between the samples."""
    z, held, rows = np.array([0.3, 0.0]), 0.0, []

    def coast(z: np.ndarray, force: float, h: float) -> np.ndarray:
        a = force / 2.0
        return np.array([z[0] + h * z[1] + a * h * h / 2, z[1] + a * h])

    for _ in range(count):
        rows.append(z)
        answer = -4.0 * z[0] - 3.0 * z[1]
        z = coast(coast(z, held, delay), answer, period - delay)
        held = answer
    return period * np.arange(count), np.array(rows)


@pytest.mark.parametrize("delay", [0.0, 0.0125, 0.05])
@pytest.mark.parametrize("method", ["auto", "radau", "rk4", "scipy:RK45"])
def test_forces_are_held_between_samples(method: str, delay: float) -> None:
    times, rows = exact(0.05, min(delay, 0.05), 60)
    more: dict[str, Any] = {"fixed_step": 0.011} if method == "rk4" else {}
    result = da.simulate(
        slide(), 2.95, control=feedback, control_period=0.05, control_delay=delay, method=method, times=times, **more
    )
    np.testing.assert_allclose(result.q[:, 0], rows[:, 0], atol=1e-12)
    np.testing.assert_allclose(result.v[:, 0], rows[:, 1], atol=1e-12)
    assert abs(result["energy.balance"]).max() < 1e-12


def test_the_function_is_asked_once_a_period_in_order() -> None:
    asked: list[float] = []

    def control(state: da.State) -> list[float]:
        asked.append(state.t)
        return [np.sign(0.1 - state.q[0])]  # bang-bang is no trouble

    result = da.simulate(slide(), 1.0, control=control, control_period=0.1, times=np.linspace(0, 1, 7))
    np.testing.assert_allclose(asked, np.arange(10) / 10, atol=1e-15)
    tau = result.output("tau", times=np.array([0.05, 0.15, 0.25]))
    result["energy.balance"]
    assert len(asked) == 10 and tau.shape == (3, 1)


NOISY = da.SampledControl(feedback, 0.05, 0.0125, noise=(0.002, 0.01), seed=7)


def test_all_kinds_of_runs_give_the_same_bits() -> None:
    s, times = slide(), np.linspace(0, 3, 31)
    single = da.simulate(s, 3.0, control=NOISY)
    sampled = da.simulate(s, 3.0, control=NOISY, times=times)
    np.testing.assert_array_equal(single.q[-1], sampled.q[-1])
    np.testing.assert_array_equal(single.at(times).q, sampled.q)
    starts = da.State(q=np.array([[0.1], [0.3]]), v=np.zeros((2, 1)))
    runs = da.simulate(s, 3.0, control=NOISY, times=times, state=starts)
    np.testing.assert_array_equal(runs.q[1], sampled.q)
    np.testing.assert_array_equal(runs["tau"][1], sampled["tau"])
    assert not np.array_equal(runs["tau"][0], runs["tau"][1])
    live = da.Live(s, control=NOISY)
    while live.t < 3.0 - 1e-9:
        live.advance(0.5)
    np.testing.assert_array_equal(live.state.q, single.q[-1])
    again = pickle.loads(pickle.dumps(single.conditions(single.t)[0][1].sampled_forces))
    np.testing.assert_array_equal(again.samples()[1], single.conditions(single.t)[0][1].sampled_forces.samples()[1])


def test_noise_follows_its_seed() -> None:
    s = slide()
    ends = [
        da.simulate(s, 1.0, control=da.SampledControl(feedback, 0.05, noise=(0.01, 0.1), seed=k)).q[-1]
        for k in (1, 1, 2)
    ]
    assert ends[0] == ends[1] != ends[2]


def test_noise_has_its_standard_deviation() -> None:
    seen: list[float] = []

    def control(state: da.State) -> None:
        seen.append(state.q[0] - 0.3)

    da.simulate(slide(), 10.0, control=da.SampledControl(control, 0.005, noise=(0.02, 0.0), seed=3))
    assert len(seen) == 2000
    np.testing.assert_allclose(np.std(seen), 0.02, rtol=0.06)  # 4 standard errors


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = da.simulate(slide(), 3.0, control=NOISY)
    take = ControlSampler.take

    def press(self: ControlSampler, state: da.State) -> float:
        if 1.3 < state.t < 1.3 + 2 * NOISY.period:
            signal.raise_signal(signal.SIGINT)
        return take(self, state)

    with monkeypatch.context() as patch:
        patch.setattr(ControlSampler, "take", press)
        partial = da.simulate(slide(), 3.0, control=NOISY, on_error="return")
        streamed = da.simulate(slide(), 3.0, control=NOISY, stream=tmp_path / "run")
    clear_interrupt()
    assert partial.status == streamed.status == "interrupted"
    again = da.simulate(slide(), 3.0, control=NOISY, resume=partial)
    np.testing.assert_array_equal(again.q[-1], whole.q[-1])
    stream = da.simulate(slide(), 3.0, control=NOISY, stream=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(stream.q[-1], whole.q[-1])
    with pytest.raises(da.ModelError, match="sampled"):
        da.simulate(slide(), 3.0, control=feedback, control_period=0.1, resume=partial)


def test_a_loop_with_sampled_control_keeps_its_account() -> None:
    s = slider_crank()

    def brake(state: da.State) -> dict[str, float]:
        return {"A": -0.2 * np.sign(state.v[0]) * (1 + state.t)}

    s.initial("A", speed=15.0)
    result = da.simulate(s, 1.0, control=da.SampledControl(brake, 0.01, 0.003))
    assert abs(result["energy.balance"]).max() < 1e-6
    assert result["constraints.residual"].max() < 1e-10
    other = da.simulate(s, 1.0, control=da.SampledControl(brake, 0.01, 0.003), method="radau")
    np.testing.assert_allclose(other.q[-1], result.q[-1], atol=1e-6)


def test_events_do_not_shift_samples() -> None:
    def kick(now: da.EventContext) -> None:
        now.impulse("block", force=(0.1, 0, 0))

    times = []

    def control(state: da.State) -> list[float]:
        times.append(state.t)
        return feedback(state)

    event = da.Event("half", "X.position", 0.15, action=kick)
    result = da.simulate(slide(), 2.0, control=control, control_period=0.1, events=event)
    assert result.events
    np.testing.assert_allclose(times, np.arange(20) / 10, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"control_period": 0.1}, "it belongs to a control"),
        ({"control": feedback, "control_delay": 0.1}, "give control_period"),
        ({"control": feedback, "control_period": -1.0}, "must be positive"),
        ({"control": NOISY, "control_period": 0.1}, "its own period"),
        ({"control": 3.0}, "function of a State"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(da.ModelError, match=match):
        da.simulate(slide(), 1.0, **given)


def test_noise_is_two_numbers() -> None:
    with pytest.raises(da.ModelError, match="two standard deviations"):
        da.SampledControl(feedback, 0.1, noise=0.1)


def test_actuators_clip_what_a_sampled_control_asks_for() -> None:
    s = da.System("weak", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x", max_effort=0.5), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0)))
    result = da.simulate(s, 2.0, control=lambda state: [3.0], control_period=0.1)
    np.testing.assert_allclose(result["X.speed"][-1], 0.5, rtol=1e-12)
    assert any("clipped to its max_effort 0.5" in note for note in result.stats.notes)


def test_dry_friction_feels_every_sample() -> None:
    s = da.System("stuck", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x", friction=1.0), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))

    def push(state: da.State) -> list[float]:
        return [3.0 if 0.95 < state.t < 1.15 else 0.5]  # stronger than friction at 1.0 and 1.1 s only

    result = da.simulate(s, 3.0, control=push, control_period=0.1)
    # 2 m/s2 for 0.2 s, then 0.5 N less 1 N of friction
    np.testing.assert_allclose(result.output("X.speed", times=[0.9, 1.2, 1.6]), [0.0, 0.4, 0.2], atol=1e-7)
    np.testing.assert_allclose(result["X.speed"][-1], 0.0, atol=1e-9)


def test_states_between_output_times_just_before_samples() -> None:
    # the first step from such a state is one rounding of time long
    model, times = chain(2, axes="y").compile(), np.nextafter(0.01 * np.arange(80, 100), 0.0)
    options: dict[str, Any] = {"control": lambda state: -2.0 * state.v, "control_period": 0.01}
    result = da.simulate(model, 1.0, method="radau", times=times, **options)
    fine = da.simulate(model, 1.0, **options)
    for t in times[:-1] + 0.005:
        np.testing.assert_allclose(result.at(t).q, fine.at(t).q, atol=1e-7)
