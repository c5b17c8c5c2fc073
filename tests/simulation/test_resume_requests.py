"""A run fulfils its request, also when it is continued: later, elsewhere, from a state, or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar


def swing(stiffness: float = 5.0, mass: float = 2.0, length: float = 1.0) -> da.System:
    s = da.System("swing")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=length, mass=mass)))
    s.connect("k", da.TorsionSpring(stiffness), "A")
    return s


class Press:
    """A control that does nothing but press Ctrl-C once."""

    def __init__(self, moment: float = np.inf) -> None:
        self.moment = moment

    def __call__(self, state: da.State) -> None:
        if state.t >= self.moment:
            self.moment = np.inf
            signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop soon after the key is pressed, in these short runs."""
    monkeypatch.setattr("dalembert.simulation.run.MAX_CHUNK_STEPS", 4)


OPTIONS: dict[str, Any] = {"max_step": 0.02}
START = da.State(np.array([0.4]), np.array([0.1]))

# what is asked for, and what is said of it
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "stiffness": ({"system": swing(stiffness=7.0)}, r"element 'k', element\.stiffness.* is 7\.0; .*5\.0"),
    "mass": ({"system": swing(mass=3.0)}, r"body 'bob', mass.* is 3\.0; .*another model.*2\.0"),
    "length": ({"system": swing(length=1.1)}, r"body 'bob', com.*another model"),
    "parameters": ({"parameters": {"k.stiffness": 6.0}}, r"'k\.stiffness' is 6\.0; .*5\.5: give the same"),
    "no parameters": ({"parameters": None}, r"'k\.stiffness' is 5\.0; .*5\.5"),
    "state": ({"state": da.State(np.array([0.5]), np.array([0.1]))}, "state .*had another start"),
    "no control": ({"control": None}, "control .*has one"),
    "t_start": ({"t_start": 0.5}, r"t_start is 0\.5; .*0\.25"),
    "rtol": ({"rtol": 1e-5}, "rtol"),
    "times": ({"times": [0.25, 2.0]}, "times .*has others"),
}


def run(**more: Any) -> da.Result:
    given = {"system": swing(), "state": START, "parameters": {"k.stiffness": 5.5}, "t_start": 0.25, **OPTIONS, **more}
    result = da.simulate(given.pop("system"), 2.0, **given)
    assert isinstance(result, da.Result)
    return result


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("what", OTHERS)
def test_going_on_with_something_else_is_refused(what: str, streamed: bool, tmp_path: Path) -> None:
    where: dict[str, Any] = {"stream": tmp_path / "run"} if streamed else {}
    part = run(control=Press(1.0), **where)
    assert part.status == "interrupted"
    change, message = OTHERS[what]
    with pytest.raises(da.ModelError, match=message):
        run(**{"control": Press(), **where, "resume": True if streamed else part, **change})
    done = run(control=Press(), **where, resume=True if streamed else part)
    whole = run(control=Press())
    assert np.array_equal(done.q, whole.q) and np.array_equal(done.t, whole.t)


@pytest.mark.parametrize("streamed", [False, True])
def test_omitted_options_are_taken_from_the_first_run(streamed: bool, tmp_path: Path) -> None:
    where: dict[str, Any] = {"stream": tmp_path / "run"} if streamed else {}
    part = run(control=Press(1.0), **where)
    done = run(control=Press(), state=None, t_start=None, **where, resume=True if streamed else part)
    whole = run(control=Press())
    assert done.t[0] == 0.25 and np.array_equal(done.q, whole.q) and not done.stats.notes


def test_resuming_with_another_control_adds_a_note() -> None:
    def still(state: da.State) -> None:
        return None

    part = run(control=Press(1.0))
    done = run(control=still, resume=part)
    assert any("'still'" in note and "'Press'" in note for note in done.stats.notes)


def test_other_times_than_were_reached_are_refused_and_more_are_not() -> None:
    early, late = np.linspace(0.25, 1.0, 7), np.linspace(1.5, 2.0, 5)
    part = run(control=Press(1.2), times=[*early, *late])
    assert part.status == "interrupted"
    done = run(control=Press(), times=[*early, 1.7, *late[3:]], resume=part)
    assert np.array_equal(done.t, [*early, 1.7, *late[3:]])
    with pytest.raises(da.ModelError, match="times"):
        run(control=Press(), times=[*early[:5], *late], resume=part)


# ---- a state brings its time


def driven() -> da.System:
    s = swing()
    s.connect("motor", da.Effort(da.Harmonic(3.0, 2.0)), "A")
    return s


def test_a_run_from_a_final_state_begins_at_its_time() -> None:
    model = driven().compile()
    whole = da.simulate(model, 2.0, rtol=1e-11, atol=1e-12)
    first = da.simulate(model, 0.8, rtol=1e-11, atol=1e-12)
    second = da.simulate(model, 2.0, state=first.final_state, rtol=1e-11, atol=1e-12)
    assert second.t[0] == 0.8 and not second.stats.notes
    assert second.final_state.q == pytest.approx(whole.final_state.q, abs=1e-9)
    live = da.Live(model, state=first.final_state)
    assert live.t == 0.8
    many = da.simulate(model, 1.0, state=da.State(np.array([[0.1], [0.2]]), np.zeros((2, 1)), 0.8))
    assert many.t[0] == 0.8


def test_a_start_at_another_time_than_that_of_the_state_is_as_asked_and_reported() -> None:
    model = driven().compile()
    final = da.simulate(model, 0.8).final_state
    for arguments in ({}, {"method": "scipy:RK45"}):
        again = da.simulate(model, 1.0, t_start=0.0, state=final, **arguments)
        assert again.t[0] == 0.0
        assert any("t = 0.8 s" in note and "t_start = 0 s" in note for note in again.stats.notes)
    plain = da.simulate(model, 2.0, t_start=1.0, state=da.State(final.q, final.v))
    assert plain.t[0] == 1.0 and not plain.stats.notes
    with pytest.raises(da.ModelError, match=r"after t_start, 0\.8 s, the time of the given state"):
        da.simulate(model, 0.5, state=final)


# ---- processes

SCRIPT = """
    import sys, time
    from pathlib import Path
    import numpy as np
    import dalembert as da
    from dalembert.library.mechanisms import four_bar

    s = four_bar()
    s.initial("A", speed=3.0)
    wait = Path(sys.argv[2])

    def control(state):
        if state.t > float(sys.argv[3]):
            wait.touch()
            time.sleep(60)

    da.simulate(s, 4.0, control=control, stream=sys.argv[1])
"""


def control(state: da.State) -> None:
    return None


def started(folder: Path, until: float, tmp_path: Path) -> subprocess.Popen[bytes]:
    """Return another process that simulates to a stream, and waits at a time."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    paths = [str(Path(da.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    mark = tmp_path / "waits"
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(folder), str(mark), str(until)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    waited = time.monotonic()
    while not mark.exists() and process.poll() is None and time.monotonic() - waited < 100:
        time.sleep(0.01)
    assert mark.exists()
    return process


def test_two_processes_do_not_write_to_one_stream(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    process = started(folder, 0.5, tmp_path)
    s = four_bar()
    s.initial("A", speed=3.0)
    try:
        before = (folder / "rows.bin").read_bytes()
        for resume in (True, False):
            with pytest.raises(da.ModelError, match=r"'.*run'.*(process \d+ on .* is writing|holds files)"):
                da.simulate(s, 4.0, control=control, stream=folder, resume=resume)
        with pytest.raises(da.FileError, match=f"process {process.pid} on "):
            da.simulate(s, 4.0, control=control, stream=folder, resume=True)
        assert (folder / "rows.bin").read_bytes() == before
    finally:
        process.kill()
        process.wait()
    done = da.simulate(s, 4.0, control=control, stream=folder, resume=True)
    assert np.array_equal(done.q, da.simulate(s, 4.0, control=control).q)


def test_a_stream_killed_at_once_goes_on(tmp_path: Path) -> None:
    """The process is ended within its first step, long before a checkpoint is due."""
    folder = tmp_path / "run"
    process = started(folder, 0.0, tmp_path)
    process.kill()
    process.wait()
    s = four_bar()
    s.initial("A", speed=3.0)
    done = da.simulate(s, 4.0, control=control, stream=folder, resume=True)
    assert np.array_equal(done.q, da.simulate(s, 4.0, control=control).q)


def test_a_stream_killed_before_it_began_begins(tmp_path: Path) -> None:
    model, folder = swing().compile(), tmp_path / "run"
    whole = da.simulate(model, 1.0, stream=folder)
    for name in ("checkpoint.bin", "seals.bin", "rows.bin"):
        (folder / name).unlink()
        done = da.simulate(model, 1.0, stream=folder, resume=True)
        assert np.array_equal(done.q, whole.q) and any("began at the start" in note for note in done.stats.notes)
        (folder / "checkpoint.bin").unlink()


def test_a_stream_is_free_again_after_a_run_that_failed(tmp_path: Path) -> None:
    model = swing().compile()
    with pytest.raises(da.ModelError):
        da.simulate(model, 1.0, stream=tmp_path / "run", state=da.State(np.zeros(3), np.zeros(1)))
    assert da.simulate(model, 1.0, stream=tmp_path / "run", resume=True).status == "finished"


def test_two_runs_of_one_process_do_not_write_to_one_stream(tmp_path: Path) -> None:
    seen = []

    def within(state: da.State) -> None:
        if not seen:
            with pytest.raises(da.FileError, match=f"process {os.getpid()} on ") as caught:
                da.simulate(swing(), 1.0, stream=tmp_path / "run", resume=True, control=within)
            seen.append(caught.value)

    assert da.simulate(swing(), 1.0, stream=tmp_path / "run", control=within).status == "finished" and seen
