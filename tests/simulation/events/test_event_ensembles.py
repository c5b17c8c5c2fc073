"""Ensembles with events that the core applies: each run has the bits and the events of the same run alone."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.linkages import four_bar_at_60_degrees

import dalembert as da
from dalembert.simulation.ensemble import execution

TIMES = np.linspace(0.0, 2.0, 31)


def ball() -> da.Model:
    """Return a ball on a vertical line, with a spring to the ground."""
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    s.initial("P", position=1.0)
    s.connect("k", da.SpringDamper(2.0, 0.1), s.ground.at(0, 0, -1), s["ball"])
    return s.compile()


def arm(**data: Any) -> da.Model:
    """Return two links in a vertical plane."""
    s = da.System("arm")
    last = s.ground
    for k in range(2):
        link = s.body(f"link{k}", da.rod(length=0.4, mass=1.0))
        s.connect(f"J{k}", da.Revolute("y", **data), last, link)
        last = link.at(0.4, 0, 0)
    s.initial("J0", position=0.3)
    return s.compile()


@pytest.fixture
def batched_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs one after the other fail."""

    def refuse(*given: object) -> None:
        raise AssertionError("runs were integrated one after the other")

    monkeypatch.setattr(execution, "_execute_separately", refuse)


def assert_single_runs(runs: da.Ensemble, singles: list[da.Result]) -> None:
    """Assert that runs have the bits of single runs, their status and their events."""
    for k, one in enumerate(singles):
        n = len(one.t)
        for part in ("q", "v", "x"):
            np.testing.assert_array_equal(getattr(runs, part)[k, :n], getattr(one, part))
            assert np.isnan(getattr(runs, part)[k, n:]).all()
        assert runs.status[k] == one.status
        assert runs.reached[k] == (one.events[-1].t if one.status == "event" else one.t[-1])
        assert len(runs.events[k]) == len(one.events)
        for a, b in zip(runs.events[k], one.events, strict=True):
            assert (a.name, a.t, a.message) == (b.name, b.t, b.message)
            np.testing.assert_array_equal(np.concatenate([a.q, a.v, a.x]), np.concatenate([b.q, b.v, b.x]))
            np.testing.assert_allclose([a.energy, a.dissipated], [b.energy, b.dissipated], rtol=0, atol=1e-12)


HIT = da.Event("hit", "P.position", direction=-1, action="bounce 0.8")
TOP = da.Event("top", "P.speed", direction=-1)
CASES = {
    "bounce": [HIT, TOP],
    "terminal": [HIT, TOP, da.Event("late", "t - 1.3", terminal=True)],
    "stop": [da.Event("hit", "P.position", direction=-1, action="stop")],
    "bounce and stop": [da.Event("hit", "P.position", direction=-1, action=["bounce 0.5", "stop"])],
    "lock": [da.Event("hit", "P.position", direction=-1, action="lock")],
    "lock, then release": [
        da.Event("hit", "P.position", direction=-1, action="lock"),
        da.Event("on", "t - 1", action=da.Release("P")),
    ],
    "set": [HIT, da.Event("stiff", "t - 0.7", action=da.Set("k.stiffness", 6.0))],
    "formula": [da.Event("energy", "0.5*P.speed**2 + sin(P.position)", value=1.5), HIT],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("batched_only")
def test_runs_with_events_equal_single_runs(name: str) -> None:
    model, heights = ball(), np.linspace(0.5, 1.7, 9)
    runs = da.simulate(model, 2.0, state={"P": heights}, events=CASES[name], times=TIMES)
    singles = [da.simulate(model, 2.0, state={"P": h}, events=CASES[name], times=TIMES) for h in heights]
    assert_single_runs(runs, singles)
    assert sum(map(len, runs.events))
    for output in ("P.force", "k.force", "energy.balance"):  # under the conditions after actions
        for k, one in enumerate(singles):
            np.testing.assert_allclose(runs[output][k, : len(one.t)], one[output], rtol=0, atol=1e-12)
    for k in (0, 5):
        assert [(e.name, e.t) for e in runs[k].events] == [(e.name, e.t) for e in singles[k].events]
        np.testing.assert_array_equal(runs[k].at(0.2).q, singles[k].at(0.2).q)


@pytest.mark.usefixtures("batched_only")
def test_markers_bounce_and_loops_open() -> None:
    model = four_bar_at_60_degrees().compile()
    cut = model.closure_names[0]
    speeds = np.linspace(1.0, 3.0, 5)
    joint = model.speed_names[0]
    events = [da.Event("open", "t - 0.3", action=da.Switch(cut, on=False)), da.Event("end", "t - 0.8", terminal=True)]
    times = np.linspace(0.0, 1.0, 11)
    q, v, _ = (getattr(da.start_state(model, {f"{joint}.speed": 1.0}), part) for part in ("q", "v", "x"))
    state = da.State(q=np.tile(q, (5, 1)), v=speeds[:, None] * v)
    runs = da.simulate(model, 1.0, state=state, events=events, times=times)
    singles = [
        da.simulate(model, 1.0, state=da.State(q=state.q[k], v=state.v[k]), events=events, times=times)
        for k in range(5)
    ]
    assert_single_runs(runs, singles)
    tip = da.Event("floor", "link1.position.z + 0.35", direction=-1, action=da.Bounce("link1", (0, 0, 1), 1.0))
    swung = arm()
    angles = np.linspace(-0.4, 0.4, 7)
    runs = da.simulate(swung, 1.0, state={"J0": angles}, events=tip, times=times)
    assert_single_runs(runs, [da.simulate(swung, 1.0, state={"J0": a}, events=tip, times=times) for a in angles])


@pytest.mark.usefixtures("batched_only")
def test_parameters_differ_and_threads_do_not_matter() -> None:
    model, masses = ball(), np.linspace(0.5, 3.0, 12)
    given = {"ball.mass": masses, "k.stiffness": np.linspace(1.0, 9.0, 12)}
    made = []
    before = da.threads()
    try:
        for count in (1, 2):
            da.set_threads(count)
            made.append(da.simulate(model, 2.0, parameters=given, events=[HIT, TOP], times=TIMES))
    finally:
        da.set_threads(before)
    np.testing.assert_array_equal(made[0].q, made[1].q)
    singles = [
        da.simulate(
            model,
            2.0,
            parameters={"ball.mass": m, "k.stiffness": k},
            events=[HIT, TOP],
            times=TIMES,
        )
        for m, k in zip(masses, given["k.stiffness"], strict=True)
    ]
    assert_single_runs(made[0], singles)
    assert_single_runs(pickle.loads(pickle.dumps(made[1])), singles)


@pytest.mark.usefixtures("batched_only")
def test_events_end_and_record_runs_with_friction() -> None:
    model = arm(friction=0.2, lower=-1.0, upper=1.5)
    events = [da.Event("down", "J0.position", value=0.8), da.Event("end", "J1.speed", value=2.0, terminal=True)]
    angles = np.linspace(-0.5, 0.9, 8)
    runs = da.simulate(model, 1.5, state={"J0": angles}, events=events, times=np.linspace(0.0, 1.5, 16))
    singles = [da.simulate(model, 1.5, state={"J0": a}, events=events, times=np.linspace(0.0, 1.5, 16)) for a in angles]
    assert "event" in runs.status
    for k, one in enumerate(singles):
        np.testing.assert_array_equal(runs.q[k, : len(one.t)], one.q)
        assert runs.status[k] == one.status
        assert [(e.name, e.t) for e in runs.events[k]] == [(e.name, e.t) for e in one.events]


@pytest.mark.usefixtures("batched_only")
def test_runs_with_an_action_beside_friction_are_repeated_alone() -> None:
    model = arm(friction=0.2, lower=-1.0, upper=1.5)
    events = [da.Event("low", "J0.position", value=0.8, direction=1, action="lock J1")]
    angles = np.array([-0.9, 0.3, 0.9])
    times = np.linspace(0.0, 1.0, 11)
    runs = da.simulate(model, 1.0, state={"J0": angles}, events=events, times=times)
    singles = [da.simulate(model, 1.0, state={"J0": a}, events=events, times=times) for a in angles]
    locked = [any(e.name == "low" for e in one.events) for one in singles]
    assert any(locked) and not all(locked)
    assert_single_runs(runs, singles)
    np.testing.assert_allclose(runs["J1.effort"][1], singles[1]["J1.effort"], rtol=0, atol=1e-12)


def test_runs_that_need_python_are_repeated_alone() -> None:
    """Accumulating bounces end their run alone, with the message of a single run; the others go on."""
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    model, heights = s.compile(), np.array([0.1, 20.0, 0.2])
    events = [da.Event("hit", "P.position", direction=-1, action="bounce 0.4")]
    runs = da.simulate(model, 1.5, state={"P": heights}, events=events, times=TIMES[:20])
    assert runs.status == ("failed", "finished", "failed")
    assert "chatters" in runs.message and "hit" in runs.message
    with pytest.raises(da.IntegrationError) as failed:
        da.simulate(model, 1.5, state={"P": 0.1}, events=events, times=TIMES[:20])
    assert str(failed.value) in runs.message
    assert np.isfinite(runs.q[1]).all() and np.isnan(runs.q[0, -1]).all()


def test_an_output_that_is_not_finite_ends_its_run_by_name() -> None:
    model = ball()
    events = [da.Event("root", "sqrt(P.position - 0.2)", value=0.1)]
    runs = da.simulate(
        model, 2.0, state={"P": [0.5, 30.0]}, parameters={"k.stiffness": [2.0, 0.0]}, events=events, times=TIMES
    )
    assert runs.status == ("failed", "finished")
    assert "root" in runs.message and "finite" in runs.message


def test_a_python_action_still_runs() -> None:
    model = ball()
    seen: list[float] = []

    def act(now: da.EventContext) -> None:
        seen.append(now.t)
        now.bounce("P", restitution=0.5)

    events = [da.Event("hit", "P.position", direction=-1, action=act)]
    runs = da.simulate(model, 2.0, state={"P": [0.5, 1.0]}, events=events, times=TIMES)
    assert len(seen) == sum(map(len, runs.events)) >= 2


def test_events_come_back_from_files(tmp_path: Path) -> None:
    model = ball()
    runs = da.simulate(model, 2.0, state={"P": [0.5, 1.0]}, events=[HIT, TOP], times=TIMES)
    runs.save(tmp_path / "runs.nc")
    again = da.Ensemble.load(tmp_path / "runs.nc", model)
    assert [[(e.name, e.t) for e in run] for run in again.events] == [
        [(e.name, e.t) for e in run] for run in runs.events
    ]


@pytest.mark.usefixtures("batched_only")
def test_a_control_is_told_which_run_it_serves() -> None:
    """With events and with friction, too, where it is called for one state after the other."""
    pushes = np.array([0.0, 4.0, -3.0])
    for model, name in ((ball(), "P"), (arm(friction=0.2), "J0")):

        def push(now: da.State, name: str = name) -> dict[str, float]:
            return {name: float(pushes[now.run])}

        events = [da.Event("pass", f"{name}.position", value=0.4)]
        runs = da.simulate(model, 1.0, state={name: [0.5, 0.5, 0.5]}, control=push, events=events, times=TIMES[:16])
        for k, force in enumerate(pushes):
            one = da.simulate(
                model,
                1.0,
                state={name: 0.5},
                control=lambda now, name=name, force=force: {name: force},
                events=events,
                times=TIMES[:16],
            )
            np.testing.assert_array_equal(runs.q[k], one.q)
            assert [(e.name, e.t) for e in runs.events[k]] == [(e.name, e.t) for e in one.events]
