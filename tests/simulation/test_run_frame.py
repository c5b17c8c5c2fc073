"""Fixed work of a run: notes found when they are read, states on the loops used as they are, shared conditions."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar


def _limited_pendulum() -> da.System:
    """Return a driven pendulum that exceeds its maximum speed, on which there is a note."""
    s = da.System("swing")
    s.connect("A", da.Revolute("y", max_speed=0.5), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    return s


def test_notes_are_found_when_they_are_read_and_once() -> None:
    result = da.simulate(_limited_pendulum(), 0.5)
    assert "notes" not in vars(result.stats)
    first = result.notes
    assert len(first) == 1 and "exceeded its max_speed" in first[0]
    assert result.notes is first
    result.stats.notes.append("mine")
    assert result.notes[-1] == "mine"


@pytest.mark.parametrize("copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy])
def test_copies_of_a_result_have_its_notes(copied) -> None:
    result = da.simulate(_limited_pendulum(), 0.5)
    assert copied(result).notes == da.simulate(_limited_pendulum(), 0.5).notes
    assert "exceeded its max_speed" in repr(result.stats)


def test_many_threads_read_the_same_notes() -> None:
    result = da.simulate(_limited_pendulum(), 0.5)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: result.notes, range(8)))
    assert all(notes == found[0] and len(notes) == 1 for notes in found)


def test_notes_of_a_live_run_are_those_of_the_time_of_the_result() -> None:
    live = da.Live(_limited_pendulum())
    live.advance(0.01)
    early = live.result()
    live.advance(0.5)
    assert early.notes == [] and len(live.result().notes) == 1


def test_a_control_is_not_called_after_the_run() -> None:
    called = []

    def control(state: da.State) -> list[float]:
        called.append(state.t)
        return [0.1]

    result = da.simulate(_limited_pendulum(), 0.1, control=control)
    count = len(called)
    assert "exceeded" in " ".join(result.notes) and len(called) == count


@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_a_state_on_the_loops_starts_as_it_is(speed: float) -> None:
    model = four_bar().compile()
    state = da.start_state(model, {"A": 0.4, "A.speed": speed})
    result = da.simulate(model, 0.1, state=state)
    np.testing.assert_array_equal(result.q[0], state.q)
    np.testing.assert_allclose(result.v[0], state.v, rtol=0, atol=1e-15 * (1 + speed))
    assert result.notes == []


def test_a_state_off_the_loops_is_moved_onto_them_with_a_note() -> None:
    model = four_bar().compile()
    state = da.start_state(model, {"A": 0.4, "A.speed": 2.0})
    off = da.State(q=state.q + np.array([0.0, 1e-5, 0.0]), v=state.v + np.array([0.0, 1e-3, 0.0]))
    result = da.simulate(model, 0.1, state=off)
    assert any("off the loops by" in note for note in result.notes)
    assert any("given velocities did not satisfy" in note for note in result.notes)
    assert np.abs(model.constraint_residual(result.q[0])).max() < 1e-12


def test_runs_of_one_model_share_the_conditions_of_its_description_and_no_others() -> None:
    s = chain(2, axes="y")
    s.connect("k", da.TorsionSpring(stiffness=10.0), "joint_1")
    model = s.compile()
    plain = da.simulate(model, 0.2)
    softer = da.simulate(model, 0.2, parameters={"k.stiffness": 5.0})
    assert not np.allclose(plain.q[-1], softer.q[-1], rtol=1e-3, atol=0)
    np.testing.assert_array_equal(da.simulate(model, 0.2).q, plain.q)


def test_a_run_that_goes_on_under_other_parameters_keeps_its_step() -> None:
    """After a change of a mass the next step is as long as it would have been, and not estimated anew."""
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    s.initial("A", position=1.0)
    live = da.Live(s)
    live.advance(0.5)
    before = live._run.integrator.step
    live.set("bob.mass", 2.0001)
    live.advance(1e-9)  # the change takes effect with the next advance
    assert live._run.integrator.step == pytest.approx(before, rel=1e-12)
