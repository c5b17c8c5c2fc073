"""Interrupted and gone on with, killed and gone on with, with one thread or many: the same bits as in one go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.smooth_motions import MOTIONS

import dalembert as da
from dalembert.library.mechanisms import four_bar, governor


def same(a: da.Result, b: da.Result) -> None:
    """Assert that two results agree to the last bit."""
    assert a.status == b.status
    for one, other in ((a.t, b.t), (a.q, b.q), (a.v, b.v), (a.x, b.x)):
        assert np.array_equal(one, other)
    assert [(e.name, e.t, e.energy, e.message) for e in a.events] == [
        (e.name, e.t, e.energy, e.message) for e in b.events
    ]
    for one, other in zip(a.events, b.events, strict=True):
        assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)
    assert (a.stats.steps, a.stats.method) == (b.stats.steps, b.stats.method)


class Press:
    """A control that does nothing but press Ctrl-C at some times, once in a run: twice would end it for good."""

    def __init__(self, *moments: float) -> None:
        self.moments = list(moments)
        self.armed = True

    def __call__(self, state: da.State) -> None:
        if self.armed and self.moments and state.t >= self.moments[0]:
            self.armed = False
            self.moments.pop(0)
            signal.raise_signal(signal.SIGINT)


def interrupted(run: Callable[..., da.Result], *moments: float) -> da.Result:
    """Return what a run gives that is interrupted at moments and gone on with until it is done."""
    press = Press(*moments)
    result = run(control=press)
    stops = 0
    while result.status == "interrupted":
        stops += 1
        assert "resume" in result.message
        press.armed = True
        result = run(control=press, resume=result)
    assert stops == len(moments)
    return result


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop soon after the key is pressed, in these short runs."""
    monkeypatch.setattr("dalembert.simulation.run.MAX_CHUNK_STEPS", 4)


@pytest.mark.parametrize("method", ["auto", "dop853", "dopri5", "radau", "rk4", "euler", "alpha"])
@pytest.mark.parametrize("name", ["reversed_chain", "planar_loop", "driven_rows", "springs_and_loads"])
def test_interrupted_runs_go_on_to_the_same_bits(name: str, method: str) -> None:
    m = MOTIONS[name]()
    options: dict[str, Any] = (
        {"fixed_step": m.step / 16} if method in ("rk4", "euler", "alpha") else {"max_step": m.span / 100}
    )

    def run(**more: Any) -> da.Result:
        return da.simulate(m.model, m.span, state=m.state, method=method, **options, **more)

    same(interrupted(run, 0.3 * m.span, 0.35 * m.span, 0.8 * m.span), run(control=Press()))


def test_a_run_that_becomes_implicit_goes_on_to_the_same_bits() -> None:
    model = governor().compile()

    def run(**more: Any) -> da.Result:
        return da.simulate(model, 1.5, **more)

    whole = run(control=Press())
    assert whole.stats.method == "dop853 then radau"
    same(interrupted(run, 0.01, 1.2), whole)


def test_interrupted_runs_with_chosen_times() -> None:
    m = MOTIONS["planar_loop"]()

    def run(**more: Any) -> da.Result:
        return da.simulate(m.model, m.span, times=np.linspace(0.05, m.span, 23), rtol=1e-10, atol=1e-11, **more)

    whole = run(control=Press())
    same(interrupted(run, 0.2, 0.5), whole)
    assert len(whole) == 23


def bouncing(now: da.EventContext) -> None:
    now.bounce("body", (0, 0, 1), 0.9)
    now.set("k.stiffness", 5.0 + now.t)


def bouncer() -> tuple[da.Model, list[da.Event]]:
    """Return a body on a weak spring that bounces, and events: one that acts, one that is noted."""
    s = da.System("bouncer")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    s.connect("k", da.JointSpring(5.0, 0.01), "P")
    s.initial("P", position=1.0)
    events = [da.Event("floor", "P.position", direction=-1, action=bouncing), da.Event("top", "P.speed", direction=-1)]
    return s.compile(), events


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
@pytest.mark.parametrize("times", [None, np.linspace(0.0, 5.0, 41)])
def test_interrupted_runs_with_events(method: str, times: np.ndarray | None) -> None:
    model, events = bouncer()

    def run(**more: Any) -> da.Result:
        return da.simulate(model, 5.0, method=method, events=events, times=times, rtol=1e-10, **more)

    whole = run(control=Press())
    assert len(whole.events) > 10
    same(interrupted(run, 0.5, 2.5, 2.6, 4.0), whole)


def test_outputs_of_a_run_that_was_gone_on_with() -> None:
    model, events = bouncer()

    def run(**more: Any) -> da.Result:
        return da.simulate(model, 3.0, events=events, **more)

    whole, parts = run(control=Press()), interrupted(run, 1.0, 2.0)
    for name in ("k.effort", "energy.balance", "P.acceleration"):
        assert np.array_equal(whole[name], parts[name])
    at = np.linspace(0, 3, 50)
    assert np.array_equal(whole.at(at).q, parts.at(at).q)


def test_a_partial_result_is_the_first_part_of_the_whole() -> None:
    m = MOTIONS["planar_loop"]()
    whole = da.simulate(m.model, m.span, control=Press())
    part = da.simulate(m.model, m.span, control=Press(0.4 * m.span))
    assert part.status == "interrupted"
    assert 0 < len(part) < len(whole)
    assert np.array_equal(part.q, whole.q[: len(part)])
    assert part["energy.total"].shape == part.t.shape


def test_resuming_to_another_end_adds_a_note() -> None:
    m = MOTIONS["planar_loop"]()
    part = da.simulate(m.model, m.span, control=Press(0.4 * m.span))
    more = da.simulate(m.model, 2 * m.span, control=Press(), resume=part)
    assert more.t[-1] == 2 * m.span
    assert any("another end" in note for note in more.stats.notes)


def test_what_cannot_be_gone_on_with_is_refused() -> None:
    m, other = MOTIONS["planar_loop"](), MOTIONS["top"]()
    done = da.simulate(m.model, 0.1)
    part = da.simulate(m.model, m.span, control=Press(0.4 * m.span))
    for arguments, message in (
        ({"resume": done}, "not interrupted"),
        ({"resume": True}, "directory as stream"),
        ({"resume": part, "method": "radau"}, "auto"),
        ({"resume": part, "events": da.Event("e", "A.position")}, "events"),
    ):
        with pytest.raises(da.ModelError, match=message):
            da.simulate(m.model, m.span, **arguments)
    with pytest.raises(da.ModelError, match="another model"):
        da.simulate(other.model, other.span, resume=part)


def test_going_on_with_other_masses_or_lengths_is_refused() -> None:
    m = MOTIONS["planar_loop"]()
    part = da.simulate(m.model, m.span, control=Press(0.4 * m.span))
    name = f"{next(iter(m.model.system.bodies))}.mass"
    heavier = {name: 2 * m.model.parameters[m.model.parameter_names[name]]}
    for how in ({"parameters": heavier}, {}):
        model = m.model if how else m.model.with_parameters(heavier)
        with pytest.raises(da.ModelError, match=rf"parameter '{name}' is .* the interrupted run has"):
            da.simulate(model, m.span, control=Press(), resume=part, **how)


# ---- streams


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_streamed_runs_agree(tmp_path: Path, method: str) -> None:
    model, events = bouncer()

    def run(**more: Any) -> da.Result:
        return da.simulate(model, 4.0, method=method, events=events, **more)

    whole = run()
    streamed = run(stream=tmp_path / "one")
    same(streamed, whole)
    press = Press(1.0, 2.0)
    part = run(control=press, stream=tmp_path / "two")
    while part.status == "interrupted":
        press.armed = True
        part = run(control=press, stream=tmp_path / "two", resume=True)
    same(part, run(control=Press()))
    assert part.events[0].message == "bounce, k.stiffness = 5.4" or part.events[0].message.startswith("bounce, k.")


def test_a_stream_does_not_overwrite(tmp_path: Path) -> None:
    model, _ = bouncer()
    da.simulate(model, 0.5, stream=tmp_path / "run")
    with pytest.raises(da.ModelError, match="holds files already"):
        da.simulate(model, 0.5, stream=tmp_path / "run")
    with pytest.raises(da.ModelError, match="no checkpoint"):
        da.simulate(model, 0.5, stream=tmp_path / "none", resume=True)
    other = four_bar().compile()
    with pytest.raises(da.ModelError):
        da.simulate(other, 0.5, stream=tmp_path / "run", resume=True)


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    model, _ = bouncer()
    da.simulate(model, 0.5, stream=tmp_path / "run")
    file = tmp_path / "run" / "checkpoint.bin"
    blob = file.read_bytes()
    for bad in (b"", blob[:100], b"PK" + bytes(200), blob[: len(blob) // 2]):
        file.write_bytes(bad)
        with pytest.raises(da.ModelError, match=r"damaged|another model"):
            da.simulate(model, 0.5, stream=tmp_path / "run", resume=True)


SCRIPT = """
    import sys
    import dalembert as da
    import dalembert.simulation.run as run
    import dalembert.simulation.storage.stream as stream
    from dalembert.library.mechanisms import four_bar

    stream.CHECKPOINT_TIME = 0.05
    s = four_bar()
    s.initial("A", speed=3.0)

    def slow(state):  # keeps the process busy long enough to be ended
        for _ in range(300):
            pass

    da.simulate(s, 40.0, rtol=1e-9, atol=1e-10, control=slow, stream=sys.argv[1])
    print("done")
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_was_ended_goes_on_from_its_checkpoint(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "run"
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    paths = [str(Path(da.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
    )
    waited = time.monotonic()
    while not (folder / "checkpoint.bin").exists() and process.poll() is None and time.monotonic() - waited < 60:
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert (folder / "checkpoint.bin").exists()

    def idle(state: da.State) -> None:
        return None

    s = four_bar()
    s.initial("A", speed=3.0)
    options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-10, "control": idle}
    part = np.fromfile(folder / "rows.bin")
    resumed = da.simulate(s, 40.0, stream=folder, resume=True, **options)
    whole = da.simulate(s, 40.0, **options)
    same(resumed, whole)
    assert 0 < len(part) // (1 + 6) < len(whole)


# ---- threads


def test_one_thread_and_many_give_the_same_bits() -> None:
    count = da.threads()
    results = []
    try:
        for threads in (1, 2, 4):
            da.set_threads(threads)
            for name in ("planar_loop", "springs_and_loads"):
                m = MOTIONS[name]()
                result = da.simulate(m.model, m.span, state=m.state)
                results.append((name, result.q, result.v, result.a, result.lam, result["energy.total"]))
    finally:
        da.set_threads(count)
    for name, *parts in results[2:]:
        first = next(rest for other, *rest in results if other == name)
        for one, other in zip(parts, first, strict=True):
            assert np.array_equal(one, other)


def test_runs_in_other_threads_agree() -> None:
    from concurrent.futures import ThreadPoolExecutor

    m = MOTIONS["springs_and_loads"]()
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: da.simulate(m.model, m.span, state=m.state), range(8)))
    for run in runs[1:]:
        same(run, runs[0])


@pytest.mark.parametrize("method", ["auto", "radau"])
@pytest.mark.parametrize("law", ["-9.81 - where(s < 0, 1e4*s, 0)", "2*sin(3*t) - sign(ds)", "-floor(4*s)"])
def test_interrupted_runs_of_laws_with_branches(law: str, method: str) -> None:
    s = sliding_block()
    s.initial("X", position=1.0)
    s.connect("law", da.Element("joint", law, active=True), "X")

    def run(**options: Any) -> da.Result:
        return da.simulate(s, 4.0, method=method, **options)

    whole = run(control=Press())
    again = interrupted(run, 0.7, 1.9, 3.3)
    same(again, whole)
    np.testing.assert_array_equal(again.at([0.3, 2.1])["law.effort"], whole.at([0.3, 2.1])["law.effort"])
