"""Ctrl-C: one press stops whatever is under way, keeps what is finished, and leaves everything usable."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.pendulums import rod_pendulum

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar


@contextmanager
def press_after(seconds: float) -> Iterator[None]:
    """Press Ctrl-C once, some time after the beginning, as somebody at the keyboard would."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def block() -> da.System:
    s = sliding_block()
    s.connect("k", da.JointSpring(stiffness=1.0), "X")
    s.initial("X", position=0.1)
    return s


ENDLESS = 1e12  # N/m: explicit steps of a few microseconds


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("method", ["dop853", "dopri5"])  # in lanes, and one by one
def test_an_ensemble_keeps_its_finished_runs(method: str, threads: int) -> None:
    quick, slow = np.linspace(1.0, 2.0, 16), np.full(16, ENDLESS)
    times = np.linspace(0, 20, 5)
    da.set_threads(threads)
    try:
        with press_after(0.5):
            part = da.simulate(block(), 20.0, method=method, times=times, parameters={"k.stiffness": [*quick, *slow]})
        whole = da.simulate(block(), 20.0, method=method, times=times, parameters={"k.stiffness": quick}, resume=False)
    finally:
        da.set_threads(0)
    assert part.status[:16] == ("finished",) * 16 and part.status[16:] == ("interrupted",) * 16
    assert (part.reached[:16] == 20.0).all() and (part.reached[16:] < 20.0).all()
    np.testing.assert_array_equal(part.q[:16], whole.q)
    assert np.isnan(part.q[16:, -1]).all()
    assert "16 interrupted" in repr(part)
    assert part[3].status == "finished" and part["X.position"].shape == (32, 5)


def test_a_run_without_states_is_reported() -> None:
    with press_after(0.3):
        part = da.simulate(block(), 20.0, method="dopri5", parameters={"k.stiffness": np.full(100, ENDLESS)})
    assert part.reached[-1] == 0.0
    with pytest.raises(da.IntegrationError, match=r"run 99 has no states: interrupted at t = 0 s"):
        part.run(99)


def test_an_ensemble_of_runs_with_friction_keeps_its_finished_runs() -> None:
    """Runs that change their conditions on the way are made one after the other."""
    s = sliding_block(friction=0.01)
    s.connect("k", da.JointSpring(stiffness=1.0), "X")
    s.initial("X", position=0.1)

    def press(state: da.State) -> dict[str, float]:
        if abs(state.v[0]) > 1e3 and not pressed:  # that of the third
            pressed.append(state.t)
            signal.raise_signal(signal.SIGINT)
        return {}

    pressed: list[float] = []
    stiffnesses = [1.0, 2.0, ENDLESS, 1.0]
    part = da.simulate(s, 1.0, method="dop853", parameters={"k.stiffness": stiffnesses}, control=press)
    assert part.status == ("finished", "finished", "interrupted", "interrupted")
    assert part.reached[2] < 1.0 and part.reached[3] == 0.0
    with pytest.raises(da.IntegrationError, match="run 3 has no states"):
        part.run(3)
    assert np.isnan(part["X.position"][3]).all() and np.isfinite(part["X.position"][:2]).all()


def test_one_press_stops_a_loop_of_short_runs() -> None:
    runs = 0
    with pytest.raises(KeyboardInterrupt), press_after(0.5):
        for _ in range(10**9):
            da.simulate(block(), 1.0)
            runs += 1
    assert runs


def test_one_press_stops_a_loop_of_long_runs() -> None:
    s = block()
    s.connect("stiff", da.JointSpring(stiffness=ENDLESS), "X")
    kept = []
    with pytest.raises(KeyboardInterrupt), press_after(0.5):
        while True:
            kept.append(da.simulate(s, 20.0, method="dop853"))
    assert [run.status for run in kept] == ["interrupted"]


def interrupted(**options: object) -> da.Result:
    """Return a run during which a key was pressed, and that it stopped."""

    def press(state: da.State) -> dict[str, float]:
        if state.t > 0.5 and not pressed:
            pressed.append(state.t)
            signal.raise_signal(signal.SIGINT)
        return {}

    pressed: list[float] = []
    return da.simulate(block(), 1000.0, control=press, max_step=0.01, **options)


def test_the_next_run_of_the_same_program_is_not_begun() -> None:
    assert interrupted().status == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        da.simulate(block(), 1.0)
    assert da.simulate(block(), 1.0).status == "finished"  # it was said once


def test_going_on_with_a_run_answers_the_press() -> None:
    part = interrupted()
    rest = da.simulate(block(), part.t[-1] + 0.01, control=lambda state: {}, max_step=0.01, resume=part)
    assert rest.t[-1] > part.t[-1]
    assert da.simulate(block(), 1.0).status == "finished"


def test_programs_that_look_at_the_status_go_on() -> None:
    assert interrupted(on_error="return").status == "interrupted"
    assert da.simulate(block(), 1.0).status == "finished"


def test_the_next_statement_at_a_prompt_begins_afresh() -> None:
    names = {"da": da, "block": block, "interrupted": interrupted}
    exec(compile("part = interrupted()", "<stdin>", "single"), names)
    exec(compile("result = da.simulate(block(), 1.0)", "<stdin>", "single"), names)
    assert names["result"].status == "finished"
    with pytest.raises(KeyboardInterrupt):
        exec(compile("for _ in range(2): part = interrupted()", "<stdin>", "exec"), names)


def test_live_goes_on_after_a_press() -> None:
    s = block()
    s.connect("stiff", da.JointSpring(stiffness=ENDLESS), "X")
    live = da.Live(s, method="dop853")
    with pytest.raises(KeyboardInterrupt), press_after(0.3):
        live.advance(20.0)
    reached = live.t
    assert 0.0 < reached < 20.0
    live.advance(1e-6)
    assert live.t == pytest.approx(reached + 1e-6, rel=1e-12)
    assert live.result().status == "finished"


def test_a_loop_of_short_advances_stops() -> None:
    live = da.Live(block())
    with pytest.raises(KeyboardInterrupt), press_after(0.3):
        while True:
            live.advance(1e-6)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_slow_functions_of_the_user_are_not_asked_again(method: str) -> None:
    """A press while a function is at work that a step asks many times: the step is given up, and can be taken later."""

    def control(state: da.State) -> dict[str, float]:
        times.append(state.t)
        if len(times) == press_at:
            signal.raise_signal(signal.SIGINT)
        return {"X": -0.1 * state.v[0]}

    times: list[float] = []
    press_at = 0
    whole = da.simulate(block(), 5.0, method=method, control=control)
    evaluations = len(times)
    for press_at in range(evaluations // 2, evaluations // 2 + 20, 3):
        times = []
        part = da.simulate(block(), 5.0, method=method, control=control)
        assert part.status == "interrupted" and len(times) == press_at
        press_at = 0
        rest = da.simulate(block(), 5.0, method=method, control=control, resume=part)
        np.testing.assert_array_equal(rest.q, whole.q)


def test_a_press_while_loops_are_closed_is_raised_at_once() -> None:
    def angle(t: float) -> float:
        if armed:
            signal.raise_signal(signal.SIGINT)
        return 0.7 + t

    armed = False
    s = four_bar()
    s.drive("A", position=angle)
    armed = True
    with pytest.raises(KeyboardInterrupt):
        da.simulate(s, 1.0)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_of_states_is_left(threads: int) -> None:
    m = chain(200).compile()
    v = np.ones((100_000, m.nv))
    out = np.full_like(v, np.nan)
    da.set_threads(threads)
    try:
        with pytest.raises(KeyboardInterrupt), press_after(0.1):
            m.forward_dynamics(m.random_state(0).q, v, np.zeros(m.nv), out=out)
            time.sleep(1.0)
    finally:
        da.set_threads(0)
    assert np.isnan(out).any()
    assert np.isfinite(m.forward_dynamics(m.random_state(0).q, v[:100], np.zeros(m.nv))).all()


def test_the_handler_of_the_user_runs_while_the_core_works() -> None:
    """Other handlers that raise stop a batch just as well."""

    class Timeout(Exception):
        pass

    def ring(number: int, frame: object) -> None:
        raise Timeout

    m = chain(200).compile()
    q, v, out = m.random_state(0).q, np.ones((100_000, m.nv)), np.full((100_000, m.nv), np.nan)
    old = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Timeout):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            m.forward_dynamics(q, v, np.zeros(m.nv), out=out)
            time.sleep(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert np.isnan(out).any()


def noisy_event(log: list[float], pause: float) -> da.Event:
    """Return an event whose output is noise around its value: it is looked for in ever smaller intervals."""

    def output(state: da.State) -> float:
        log.append(state.t)
        time.sleep(pause)
        return float(np.sin(1e18 * state.t + len(log)))

    return da.Event("noise", output, action=lambda now: None)


def test_a_press_is_answered_while_an_event_is_looked_for() -> None:
    """Only the outputs that were asked for within the first moments after the press are worked out."""
    log: list[float] = []
    asked_before: list[int] = []

    def press() -> None:
        asked_before.append(len(log))
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    part = da.simulate(block(), 20.0, events=[noisy_event(log, 0.02)])
    timer.join()
    assert part.status == "interrupted"
    assert len(log) - asked_before[0] < 60  # some 15 in 0.3 s, and one call of many states


def test_a_run_that_was_stopped_while_it_looked_for_events_goes_on_to_the_same_bits() -> None:
    s = rod_pendulum()
    s.initial("A", position=1.0)
    asked: list[float] = []
    press_at = 0

    def output(state: da.State) -> float:
        asked.append(state.t)
        if len(asked) == press_at:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.4)  # longer than a search may go on
        return float(state.q[0])

    event = da.Event("bottom", output, action=lambda now: None)
    whole = da.simulate(s, 3.0, events=[event])
    calls = len(asked)
    for press_at in (calls // 3, calls // 2):
        asked = []
        part = da.simulate(s, 3.0, events=[event])
        assert part.status == "interrupted"
        press_at = 0
        rest = da.simulate(s, 3.0, events=[event], resume=part)
        np.testing.assert_array_equal(rest.t, whole.t)
        np.testing.assert_array_equal(rest.q, whole.q)
        assert [record.t for record in rest.events] == [record.t for record in whole.events]


def test_where_ctrl_c_is_ignored_it_stays_ignored() -> None:
    """As in the background of a shell script: neither this run nor the next one is stopped."""

    def press(state: da.State) -> dict[str, float]:
        if state.t > 0.5 and not pressed:
            pressed.append(state.t)
            signal.raise_signal(signal.SIGINT)
        return {}

    pressed: list[float] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert da.simulate(block(), 1.0, control=press, max_step=0.01).status == "finished"
    assert pressed and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert da.simulate(block(), 1.0).status == "finished"
