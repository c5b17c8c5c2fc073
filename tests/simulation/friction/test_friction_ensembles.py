"""Ensembles with dry friction, stops and ropes: each run has the bits of the same run alone."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from systems.linkages import four_bar

import dalembert as da
from dalembert.simulation.ensemble.friction_modes import FrictionModes
from dalembert.simulation.friction.friction import FrictionState
from dalembert.simulation.friction.rows import friction_rows


def rubbing_arm(links: int, **data: float) -> da.Model:
    """Return an arm in space with friction and stops at its joints."""
    s = da.System("arm")
    last = s.ground
    for k in range(links):
        link = s.body(f"link{k}", da.rod(length=0.4, mass=1.0))
        s.connect(f"J{k}", da.Revolute("yz"[k % 2], **data), last, link)
        last = link.at(0.4, 0, 0)
    return s.compile()


def starts(model: da.Model, count: int, seed: int = 0) -> da.State:
    """Return random states, some at rest."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(count, model.nv))
    v[::3] = 0.0
    return da.State(q=rng.uniform(-1.0, 0.9, (count, model.nq)), v=v)


def assert_single_runs(runs: da.Ensemble, singles: list[da.Result]) -> None:
    """Assert that runs of an ensemble have the bits of single runs, with their changes."""
    for k, one in enumerate(singles):
        np.testing.assert_array_equal(runs.q[k], one.q)
        np.testing.assert_array_equal(runs.v[k], one.v)
        assert [(e.name, e.t) for e in runs.events[k]] == [(e.name, e.t) for e in one.events]


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = da.threads()
    da.set_threads(count)
    try:
        yield
    finally:
        da.set_threads(before)


DATA = {"friction": 0.3, "static_friction": 0.4, "lower": -1.2, "upper": 1.0, "restitution": 0.3}
TIMES = np.linspace(0.0, 1.0, 21)


@pytest.mark.parametrize("links", [1, 2, 4])
def test_runs_have_the_bits_of_single_runs(links: int) -> None:
    model = rubbing_arm(links, **DATA)
    start = starts(model, 5)
    runs = da.simulate(model, 1.0, state=start, times=TIMES)
    singles = [
        da.simulate(model, 1.0, state=da.State(q=q, v=v), times=TIMES) for q, v in zip(start.q, start.v, strict=True)
    ]
    assert sum(len(one.events) for one in singles) > 20 * links
    assert_single_runs(runs, singles)
    for name in ("J0.stuck", "J0.stop", "J0.friction", "J0.effort", "energy.total", "energy.dissipated"):
        np.testing.assert_array_equal(runs[name], [one[name] for one in singles])
    between = np.linspace(0.01, 0.99, 7)  # states of steps that are repeated
    np.testing.assert_array_equal(runs[2].at(between).q, singles[2].at(between).q)


def test_runs_depend_neither_on_their_neighbours_nor_on_threads() -> None:
    model = rubbing_arm(3, **DATA)
    start = starts(model, 9)
    runs = da.simulate(model, 1.0, state=start, times=TIMES)
    order = np.random.default_rng(1).permutation(9)
    with threads(1):
        alone = da.simulate(model, 1.0, state=da.State(q=start.q[order], v=start.v[order]), times=TIMES)
    with threads(2):
        again = da.simulate(model, 1.0, state=start, times=TIMES)
    np.testing.assert_array_equal(runs.q[order], alone.q)
    np.testing.assert_array_equal(runs.v, again.v)


def test_parameters_of_friction_stops_and_masses_differ_between_runs() -> None:
    model = rubbing_arm(2, **DATA)
    values = {"J0.friction": [0.0, 0.5, 2.0], "J1.upper": [0.2, 0.5, 0.9], "link1.mass": [0.5, 1.0, 2.0]}
    state = {"J0": 0.1, "J1": 0.1}
    runs = da.simulate(model, 1.0, state=state, parameters=values, times=TIMES)
    singles = [
        da.simulate(model, 1.0, state=state, parameters={name: value[k] for name, value in values.items()}, times=TIMES)
        for k in range(3)
    ]
    assert_single_runs(runs, singles)
    np.testing.assert_array_equal(runs["J0.friction"], [one["J0.friction"] for one in singles])
    assert (runs["J1.position"].max(axis=1) <= np.array(values["J1.upper"]) + 1e-9).all()


@pytest.mark.parametrize("data", [{}, {"lower": -0.3, "upper": 1.4, "restitution": 0.3}])
def test_loops_with_friction_and_stops_agree_with_single_runs(data: dict[str, float]) -> None:
    joints = {name: {"friction": 0.05} for name in "ABCD"}
    joints["A"] |= data
    s = four_bar((0.2, 0.5, 0.4), 0.5, joints=joints)
    s.initial("A", position=0.4)
    model = s.compile()
    speeds = np.array([0.0, 2.0, -3.0, 6.0])
    runs = da.simulate(model, 1.0, state={"A.speed": speeds}, times=TIMES)
    for k, speed in enumerate(speeds):
        one = da.simulate(model, 1.0, state={"A.speed": speed}, times=TIMES)
        # output states of single runs are projected onto the loops once more: rounding
        np.testing.assert_allclose(runs.q[k], one.q, rtol=0, atol=1e-11)
        assert [(e.name, e.t) for e in runs.events[k]] == [(e.name, e.t) for e in one.events]


def test_ropes_of_an_ensemble_hold() -> None:
    s = da.System("tether")
    bob = s.body("bob", mass=1.0, inertia=(0.01,) * 3)
    s.connect("X", da.Planar("y"), s.ground, bob)
    s.connect("rope", da.Rope(0.5, restitution=0.6), s.ground, bob)
    model = s.compile()
    x = np.array([0.1, 0.2, 0.3, 0.4])
    start = da.State(q=np.column_stack([x, np.zeros(4), np.zeros(4)]), v=np.zeros((4, 3)))
    runs = da.simulate(model, 1.5, state=start, times=TIMES)
    assert_single_runs(runs, [da.simulate(model, 1.5, state=da.State(q=q, v=q * 0), times=TIMES) for q in start.q])
    assert (np.linalg.norm(runs["bob.position"], axis=-1) <= 0.5 + 1e-9).all()
    assert all(len(events) > 1 for events in runs.events)


def test_an_ensemble_with_friction_is_pickled_and_saved(tmp_path) -> None:
    model = rubbing_arm(2, **DATA)
    runs = da.simulate(model, 1.0, state=starts(model, 3), times=TIMES)
    again = pickle.loads(pickle.dumps(runs))
    np.testing.assert_array_equal(again["J1.stuck"], runs["J1.stuck"])
    assert [len(events) for events in again.events] == [len(events) for events in runs.events]
    runs.save(tmp_path / "runs.nc")
    loaded = da.Ensemble.load(tmp_path / "runs.nc", model)
    np.testing.assert_array_equal(loaded.q, runs.q)
    np.testing.assert_array_equal(loaded["J1.effort"], runs["J1.effort"])
    assert [e.t for e in loaded.events[1]] == [e.t for e in runs.events[1]]


def test_notes_name_the_runs_whose_stops_are_reached() -> None:
    model = rubbing_arm(1, lower=-1.2, upper=1.0, friction=5.0)
    runs = da.simulate(model, 1.0, state={"J0": 0.9, "J0.speed": np.array([0.0, 5.0, 0.0])}, times=TIMES)
    assert len(runs.notes) == 1 and runs.notes[0].startswith("run 1: J0 reached its upper limit 1 rad once")


def test_a_start_outside_its_limits_is_refused_by_name() -> None:
    model = rubbing_arm(2, **DATA)
    with pytest.raises(da.ModelError, match=r"'J1'.*outside its limits"):
        da.simulate(model, 1.0, state=da.State(q=np.array([[0.0, 0.0], [0.0, 1.5]]), v=np.zeros((2, 2))), times=TIMES)


def test_stiff_runs_continue_as_single_runs_do() -> None:
    s = da.System("stiff")
    block = s.body("block", mass=1.0, inertia=(0.1,) * 3)
    s.connect("X", da.Prismatic("x", friction=1.0, upper=0.4), s.ground, block)
    tip = s.body("tip", mass=1e-3, inertia=(0.1,) * 3)
    s.connect("Y", da.Prismatic("x"), block, tip)
    s.connect("k", da.JointSpring(stiffness=1e3, damping=1e3), "Y")
    model = s.compile()
    speeds = np.array([1.0, 2.0, 4.0])
    runs = da.simulate(model, 2.0, state={"X.speed": speeds}, times=TIMES * 2)
    assert any("continued with radau" in note for note in runs.notes)
    assert runs.stats.method == "dop853 then radau" and runs.stats.factorizations
    for k, speed in enumerate(speeds):
        one = da.simulate(model, 2.0, state={"X.speed": speed}, times=TIMES * 2)
        np.testing.assert_array_equal(runs.v[k], one.v)
        np.testing.assert_array_equal(runs.q[k], one.q)


def test_runs_that_the_core_cannot_decide_are_repeated_alone() -> None:
    s = da.System("slide", gravity=(0, 0, 0))  # friction 1.5 |force - friction|: it jams where the force reverses
    body = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0))
    foot = body.at(0, 0, -0.4)
    s.connect("guide", da.Prismatic("x", load_friction=da.LoadFriction(0.3, half_length=0.08)), s.ground, foot)
    s.connect("push", da.Load((lambda t: 2.0 - 4.0 * t, 0, 0)), foot)
    model = s.compile()
    speeds = np.array([0.5, 1.0])
    runs = da.simulate(model, 1.5, state={"guide.speed": speeds}, times=1.5 * TIMES)
    for k, speed in enumerate(speeds):
        one = da.simulate(model, 1.5, state={"guide.speed": speed}, times=1.5 * TIMES)
        assert [e.name for e in runs.events[k]] == ["guide jams", "guide sticks", "guide slips"]
        np.testing.assert_array_equal(runs.q[k], one.q)
        np.testing.assert_array_equal(runs["guide.stuck"][k], one["guide.stuck"])
        assert [f"run {k}: {note}" in runs.notes for note in one.stats.notes] == [True] * len(one.stats.notes)


def test_a_control_acts_on_runs_with_friction() -> None:
    model = rubbing_arm(2, friction=0.2)
    gains = np.array([5.0, 20.0, 60.0])

    def hold(state: da.State) -> np.ndarray:
        return -gains[state.run] * state.q - 2.0 * state.v

    start = da.State(q=np.full((3, 2), 0.4), v=np.zeros((3, 2)))
    runs = da.simulate(model, 1.0, state=start, control=hold, times=TIMES)
    one = da.simulate(
        model, 1.0, state=da.State(q=start.q[2], v=start.v[2]), control=lambda s: -60.0 * s.q - 2.0 * s.v, times=TIMES
    )
    np.testing.assert_array_equal(runs.q[2], one.q)


def test_one_press_stops_an_ensemble_with_friction() -> None:
    model = rubbing_arm(4, **DATA)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    runs = da.simulate(model, 200.0, state=starts(model, 400), times=np.linspace(0, 200, 5), on_error="return")
    timer.join()
    assert "interrupted" in runs.status and time.monotonic() - began < 30.0
    part = runs.status.index("interrupted")
    assert runs.reached[part] < 200.0


def test_notes_name_rows_that_were_held_without_progress() -> None:
    model = rubbing_arm(2, **DATA)
    rows = friction_rows(model)
    modes = FrictionModes.empty(FrictionState(rows, 1e-10, 1.0), 3)
    none = {"times": np.zeros(0), "signs": np.zeros((0, 2)), "codes": np.zeros((0, 2)), "impacts": np.zeros((0, 5))}
    held = [(1, 0.25, [0], 8, 1e-9)]  # of the second run of a group
    modes.add(np.array([0, 2]), {**none, "offsets": np.zeros(3), "unloaded": np.zeros((0, 2)), "holds": held})
    (note,) = modes.notes(20)
    assert note.startswith("run 2: whether J0 sticks, slips or leaves a stop changed 8 times without progress near t =")
