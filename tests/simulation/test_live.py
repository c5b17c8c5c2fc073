"""Runs that are advanced bit by bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar


def arm() -> da.System:
    s = da.System("arm")
    body = s.body("arm", da.rod(length=1.0, mass=2.0))
    s.connect("A", da.Revolute("y"), s.ground, body)
    s.connect(
        "motor", da.Element("joint", "u - 0.3*m", states={"m": (0.0, "ds - m")}, inputs={"u": 0.0}, active=True), "A"
    )
    return s


def test_looking_does_not_change_the_motion() -> None:
    live = da.Live(arm(), rtol=1e-10, atol=1e-12)
    while live.t < 1.0 - 1e-12:
        live.advance(0.01)
    whole = da.simulate(arm(), 1.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(live.state.q, whole.q[-1], atol=1e-9)
    np.testing.assert_allclose(live.state.x, whole.x[-1], atol=1e-9)
    assert live["A.speed"] == pytest.approx(whole["A.speed"][-1], abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "radau"])
def test_inputs_hold_until_they_are_set_again(method: str) -> None:
    """The same steps of an input as a law of time, by events of simulate."""
    live = da.Live(arm(), rtol=1e-9, atol=1e-11, method=method)
    levels = [3.0, -2.0, 5.0, 0.0]
    for level in levels:
        live.set("motor.u", level)
        assert live["motor.effort"] == pytest.approx(level - 0.3 * live["motor.m"])
        live.advance(0.25)
    assert live.t == pytest.approx(1.0)
    state = None
    for k, level in enumerate(levels):
        result = da.simulate(
            arm(), 0.25 * (k + 1), t_start=0.25 * k, state=state, parameters={"motor.u": level}, rtol=1e-9, atol=1e-11
        )
        state = result.final_state
    np.testing.assert_allclose(live.state.q, state.q, atol=1e-7)
    whole = live.result()
    np.testing.assert_allclose(whole["motor.effort"][1], 3.0 - 0.3 * whole["motor.m"][1], atol=1e-12)
    assert np.abs(whole["energy.balance"]).max() < 1e-7
    second = da.simulate(arm(), 0.3, t_start=0.25, state=_after(0.25), parameters={"motor.u": -2.0})
    assert whole.at(0.3).q == pytest.approx(second.final_state.q, abs=1e-6)


def _after(t: float) -> da.State:
    return da.simulate(arm(), t, parameters={"motor.u": 3.0}, rtol=1e-10).final_state


def test_an_event_ends_it() -> None:
    low = da.Event("low", "A.position", value=0.3, terminal=True)
    live = da.Live(arm(), events=[low])
    live.advance(5.0)
    assert live.ended and live["A.position"] == pytest.approx(0.3, abs=1e-8)
    with pytest.raises(da.ModelError, match="has ended"):
        live.advance(1.0)


def test_bad_input_is_named() -> None:
    live = da.Live(arm())
    for name, words in (("motor.v", "motor.u"), ("nobody.u", "motor.u")):
        with pytest.raises(da.ModelError, match=words):
            live.set(name, 1.0)
    with pytest.raises(da.ModelError, match="above zero"):
        live.advance(0.0)
    with pytest.raises(da.ModelError, match=r"live\.result"):
        live["energy.balance"]


def test_a_failure_keeps_what_was_computed() -> None:
    s = arm()
    s.connect("odd", da.Element("joint", "sqrt(0.5 - t)"), "A")
    live = da.Live(s)
    live.advance(0.3)
    with pytest.raises(da.UserFunctionError, match="odd") as caught:
        live.advance(0.3)
    assert caught.value.result is not None
    assert 0.4 < caught.value.result.t[-1] <= 0.5 + 1e-9


def test_parameters_act_as_in_an_event() -> None:
    system, start = four_bar(), {"A": 0.3, "A.speed": 1.0}
    live = da.Live(system, state=start)
    live.advance(0.1)
    live.set("crank.mass", 5.0)
    live.advance(0.1)
    heavier = da.Event("heavier", lambda state: state.t, value=0.1, action=lambda now: now.set("crank.mass", 5.0))
    expected = da.simulate(system, 0.2, state=start, events=[heavier])
    assert np.allclose(live.state.q, expected.final_state.q, atol=1e-9)  # of runs with a relative tolerance of 1e-8


def test_numbers_of_the_start_close_its_loops() -> None:
    numbers = {"B.first.x": 1.2}
    live = da.Live(four_bar(), parameters=numbers, state={"A": 0.3})
    live.advance(0.05)
    expected = da.simulate(four_bar(), 0.05, parameters=numbers, state={"A": 0.3})
    assert np.array_equal(live.state.q, expected.final_state.q)


def test_a_length_that_opens_a_loop_is_refused() -> None:
    live = da.Live(four_bar())
    live.advance(0.1)
    with pytest.raises(da.AssemblyError, match=r"'D' would be open by .* B.first.x = 0.9 opens it"):
        live.set("B.first.x", 0.9)
    live.advance(0.1)
    assert live.t == pytest.approx(0.2)


def test_a_run_is_used_by_one_thread_at_a_time() -> None:
    inside, leave = threading.Event(), threading.Event()
    runs: list[da.Live] = []

    def control(state: da.State) -> np.ndarray:
        inside.set()
        assert leave.wait(20.0)
        assert not runs or np.isfinite(runs[0]["A.speed"])  # its own thread may look
        return np.zeros(1)

    leave.set()
    live = da.Live(arm(), control=control)
    runs.append(live)
    inside.clear()
    leave.clear()
    other = threading.Thread(target=live.advance, args=(0.05,))
    other.start()
    assert inside.wait(20.0)
    uses = (lambda: live.advance(0.01), lambda: live["A"], lambda: live.state, live.result)
    for use in (*uses, lambda: live.set("motor.u", 1.0)):
        with pytest.raises(da.ModelError, match="another thread is using this run"):
            use()
    core = live._run.integrator
    for work in (core.state, core.checkpoint, core.take_records, lambda: core.advance(1.0, 10)):
        with pytest.raises(RuntimeError, match="every thread needs one of its own"):
            work()
    leave.set()
    other.join()
    assert live.t == pytest.approx(0.05)
    live.advance(0.05)  # and free again
    whole = da.simulate(arm(), 0.1)
    np.testing.assert_allclose(live.state.q, whole.q[-1], atol=1e-8)
