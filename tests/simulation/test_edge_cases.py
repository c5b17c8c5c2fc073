"""Simulation where it is easily wrong: spins, singular positions, locks, ends of runs, failing functions and disks."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.pendulums import rod_pendulum

import dalembert as da
from dalembert.errors import AssemblyError, IntegrationError, ModelError, SingularityError, UserFunctionError
from dalembert.simulation import run as run_module
from dalembert.simulation.storage import stream as streams

Array = NDArray[np.float64]

METHODS: dict[str, dict[str, Any]] = {
    "dop853": {},
    "dopri5": {},
    "rk4": {"fixed_step": 0.005},
    "euler": {"fixed_step": 0.005},
    "radau": {},
    "alpha": {"fixed_step": 0.005},
}
ADAPTIVE = ("dop853", "dopri5", "radau")


def planar_loop(
    lengths: tuple[float, float, float] = (1.0, 2.2, 1.6), base: float = 2.0, angle: float = 1.0, gravity: float = 9.81
) -> da.System:
    """Return a four-bar A B C D in the xy plane: bars of unit mass per length, ground between A and D."""
    s = da.System("four-bar", gravity=(0, -gravity, 0))
    a, b, c = (
        s.body(name, mass=x, com=(x / 2, 0, 0), inertia=np.diag([1e-3, x**3 / 12, x**3 / 12]))
        for name, x in zip("abc", lengths, strict=True)
    )
    s.connect("A", da.Revolute("z"), s.ground, a)
    s.connect("B", da.Revolute("z"), a.at(lengths[0], 0, 0), b)
    s.connect("C", da.Revolute("z"), b.at(lengths[1], 0, 0), c.at(lengths[2], 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(base, 0, 0), c)
    s.initial("A", position=angle)
    return s


def at(q: Array, v: Array) -> da.State:
    return da.State(q=np.asarray(q, float), v=np.asarray(v, float), t=0.0, x=np.zeros(0))


def spread(result: da.Result) -> float:
    energy = result["energy.total"]
    return float(energy.max() - energy.min())


# ---- attitudes


def spinning() -> tuple[da.Model, Array, Array]:
    """Return a ball that spins about z at 20 rad/s: no method sees an error, however long its steps."""
    s = da.System("spin", gravity=(0, 0, 0))
    s.connect("F", da.Free(), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    model = s.compile()
    v = np.zeros(6)
    v[2] = 20.0
    return model, model.initial_state().q, v


def off_by(q: Array, t: Array) -> float:
    turned = 2 * np.arctan2(q[:, 3], q[:, 0]) - 20.0 * t
    return float(np.abs(np.remainder(turned + np.pi, 2 * np.pi) - np.pi).max())


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_step_never_hides_a_turn(method: str) -> None:
    model, q, v = spinning()
    times = np.linspace(0, 5, 301)
    result = da.simulate(model, 5.0, state=at(q, v), method=method)
    assert off_by(result.at(times).q, times) < 1e-10
    assert np.abs(result.at(times).v - v).max() < 1e-9
    assert off_by(da.simulate(model, 5.0, state=at(q, v), method=method, times=times).q, times) < 1e-10


def test_a_step_in_simd_batches_never_hides_a_turn() -> None:
    model, q, v = spinning()
    times = np.linspace(0, 5, 301)
    runs = da.simulate(model, 5.0, state=at(np.tile(q, (3, 1)), np.tile(v, (3, 1))), times=times)
    assert max(off_by(run, times) for run in runs.q) < 1e-10


# ---- singular positions and locks


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_a_parallelogram_keeps_its_branch_and_energy(method: str, speed: float) -> None:
    model = planar_loop((1.0, 2.0, 1.0), 2.0, gravity=0.0 if speed else 9.81).compile()
    start = at(np.array([0.5, -0.5, 0.5]), speed * np.array([1.0, -1.0, 1.0]))
    result = da.simulate(model, 3.0, state=start, method=method)
    assert spread(result) < 1e-5
    assert np.abs(result.q[:, 0] + result.q[:, 1]).max() < 1e-6  # the coupler stays parallel to ground
    assert np.ptp(result.q[:, 0]) > 3.0  # and it does pass


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_kite_passes_its_change_points(method: str) -> None:
    result = da.simulate(planar_loop((1.0, 2.0, 2.0), 1.0, 2.5), 10.0, method=method)
    assert spread(result) < 1e-4


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("level", ["position", "speed", "acceleration"])
def test_a_driven_mechanism_that_locks_is_reported(method: str, level: str) -> None:
    s = planar_loop((2.0, 1.0, 1.0), 1.5, 0.3)
    s.drive("A", **{level: da.Polynomial((0.3, 1.0))})
    with pytest.raises(SingularityError, match=r"'A' cannot go beyond 1\.1864 rad: 'B', 'C' and 'D' are") as caught:
        da.simulate(s, 5.0, method=method)
    result = caught.value.result
    # the crank cannot go where the others are stretched: cos A = (2^2 + 1.5^2 - (1 + 1)^2) / (2 * 2 * 1.5)
    dead = np.arccos((4 + 2.25 - 4) / 6)
    assert result.final_state.q[0] == pytest.approx(dead, abs=1e-6)
    assert result.status == "failed"


# ---- laws in Python that drive constraints


def led(law: Any) -> da.System:
    s = planar_loop()
    s.connect("reach", da.Distance(2.5), s.ground.at(0, 0, 0), s.bodies["c"].at(1.6, 0, 0))
    s.drive("reach", position=law)
    return s


@pytest.mark.parametrize("method", METHODS)
def test_a_law_in_python_drives_a_constraint(method: str) -> None:
    model = led(lambda t: 2.5 + 0.2 * np.sin(t)).compile()
    row = model.constraint_connections.index("reach")
    result = da.simulate(model, 1.0, method=method, **METHODS[method])
    assert np.abs(model.constraint_residual(result.q)[:, row] - 0.2 * np.sin(result.t)).max() < 1e-12


def test_a_law_in_python_drives_a_constraint_of_many_runs() -> None:
    model = led(lambda t: 2.5 + 0.2 * np.sin(t)).compile()
    row, times = model.constraint_connections.index("reach"), np.linspace(0, 1, 5)
    start = da.simulate(model, 0.1).at(0.0)
    runs = da.simulate(model, 1.0, state=at(np.tile(start.q, (3, 1)), np.tile(start.v, (3, 1))), times=times)
    assert runs.status == ("finished",) * 3
    assert np.abs(model.constraint_residual(runs.q[1])[:, row] - 0.2 * np.sin(times)).max() < 1e-12


# ---- generalised alpha


@pytest.mark.parametrize("drive", ["speed", "acceleration"])
def test_alpha_keeps_its_order_with_drives_in_loops(drive: str) -> None:
    s = planar_loop()
    s.drive("A", **{drive: da.Harmonic(0.3, 2.0, 0.0, 1.0)})
    model = s.compile()
    exact = da.simulate(model, 0.6, rtol=1e-12, atol=1e-12).final_state
    errors = []
    for step in (0.02, 0.01, 0.005):
        final = da.simulate(model, 0.6, method="alpha", fixed_step=step).final_state
        errors.append(np.abs(final.q - exact.q).max() + np.abs(final.v - exact.v).max())
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8)


@pytest.mark.parametrize("stiffness", [1e4, 1e5, 1e7])
@pytest.mark.parametrize("step", [0.02, 0.005])
def test_alpha_starts_with_stiff_springs_under_tension(stiffness: float, step: float) -> None:
    s = planar_loop(angle=0.52)
    s.connect("k", da.JointSpring(stiffness=stiffness, damping=0.1 * stiffness**0.5), "B")
    result = da.simulate(s, 0.2, method="alpha", fixed_step=step)
    assert result.status == "finished"
    assert np.abs(result.model.constraint_residual(result.q)).max() < 1e-8


def test_samples_do_not_change_the_steps_of_alpha() -> None:
    model = planar_loop().compile()
    steps = da.simulate(model, 1.0, method="alpha", fixed_step=0.01)
    times = np.linspace(0, 1, 333)
    samples = da.simulate(model, 1.0, method="alpha", fixed_step=0.01, times=times)
    assert np.array_equal(samples.final_state.q, steps.final_state.q)


def test_implicit_steps_that_cannot_be_solved_are_reported() -> None:
    s = planar_loop((2.0, 1.0, 1.0), 1.5, 0.3)
    s.drive("A", speed=1.0)
    with pytest.raises(IntegrationError, match=r"implicit step of .* failed"):
        da.simulate(s, 5.0, method="alpha", fixed_step=0.02)


# ---- many runs


def test_runs_in_simd_batches_have_their_last_sample_wherever_they_begin() -> None:
    model = rod_pendulum().compile()
    rng = np.random.default_rng(0)
    for _ in range(60):
        begin, end = float(rng.uniform(-3, 0)), float(rng.uniform(0, 0.3))
        start = at(np.array([[0.1], [0.2]]), np.zeros((2, 1)))
        runs = da.simulate(model, end, t_start=begin, state=start, times=[begin, end], rtol=1e-3, atol=1e-2)
        assert np.isfinite(runs.q).all() and np.isfinite(runs.v).all()


def test_stiff_runs_side_by_side_go_on_with_implicit_steps() -> None:
    s = planar_loop()
    s.connect("k", da.JointSpring(stiffness=10.0, damping=3000.0), "B")
    model = s.compile()
    single = da.simulate(model, 5.0, times=[0.0, 2.0, 5.0])
    assert single.stats.method == "dop853 then radau"
    start = single.at(0.0)
    runs = da.simulate(model, 5.0, state=at(np.tile(start.q, (2, 1)), np.tile(start.v, (2, 1))), times=[0.0, 2.0, 5.0])
    assert runs.status == ("finished", "finished")
    assert "2 runs" in runs.stats.notes[0] and runs.stats.jacobians > 0
    np.testing.assert_allclose(runs.q[1], single.q, atol=1e-6)


def test_a_function_that_fails_is_asked_no_more_and_let_go() -> None:
    calls = []
    tag = np.zeros(1)

    def control(state: da.State, tag: Any = tag) -> list[float]:
        calls.append(np.max(state.t))
        if np.any(state.t > 0.5):
            raise ValueError("enough")
        return [np.zeros(np.shape(state.t))]

    seen = weakref.ref(tag)
    with pytest.raises(UserFunctionError, match="enough"):
        da.simulate(rod_pendulum(), 1.0, control=control, state=at(np.zeros((5, 1)), np.zeros((5, 1))))
    assert sum(t > 0.5 for t in calls) == 1 + 5  # about all of them, then about each, and no more
    del control, tag
    gc.collect()
    assert seen() is None


# ---- ends of runs


@pytest.mark.parametrize("ulps", [1, 2, 5])
def test_an_event_just_before_the_end_is_followed_by_the_end(ulps: int) -> None:
    end, moment = 1.0, 1.0
    for _ in range(ulps):
        moment = float(np.nextafter(moment, 0.0))
    event = da.Event("clock", lambda state: state.t - moment, action=lambda now: None)
    result = da.simulate(rod_pendulum(), end, events=[event])
    assert result.status == "finished" and result.t[-1] == end


def test_a_run_that_can_move_nowhere_still_ends() -> None:
    s = da.System("block")
    s.connect("W", da.Fixed(), s.ground, s.body("b", da.box(1.0, 1.0, 1.0, mass=1.0)))
    result = da.simulate(s, 2.0)
    assert result.status == "finished" and result.t[-1] == 2.0 and result.q.shape[1] == 0


# ---- what events may ask for


def test_a_constraint_that_is_far_open_is_not_switched_on() -> None:
    let_go = da.Event("let go", lambda state: state.t - 0.1, action=lambda now: now.switch("D", False))
    again = da.Event("again", lambda state: state.t - 0.4, action=lambda now: now.switch("D", True))
    with pytest.raises(AssemblyError, match=r"'D' is open by .* cannot be switched on") as caught:
        da.simulate(planar_loop(), 2.0, events=[let_go, again])
    assert [event.name for event in caught.value.result.events] == ["let go"]
    assert caught.value.result.t[-1] == pytest.approx(0.4)


@pytest.mark.parametrize("value", [-5.0, np.nan, np.inf, "stiff"])
def test_parameters_that_the_description_refuses_are_refused_at_events(value: Any) -> None:
    s = rod_pendulum()
    s.connect("k", da.JointSpring(stiffness=10.0), "A")
    event = da.Event("e", "A.position", 0.2, action=lambda now: now.set("k.stiffness", value))
    with pytest.raises(ModelError, match=r"k\.stiffness"):
        da.simulate(s, 2.0, events=[event])


def test_a_bounce_needs_a_normal() -> None:
    event = da.Event("e", "A.position", 0.2, action=lambda now: now.bounce("bob", (0, 0, 0)))
    with pytest.raises(ModelError, match="normal"):
        da.simulate(rod_pendulum(), 2.0, events=[event])


# ---- going on, and disks


def interrupted(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> da.Result:
    """Return a run that was stopped after a few chunks of steps."""
    import sys

    looks = iter([False] * 3)
    module = sys.modules["dalembert.simulation.execution"]

    class Pressed(module.Interrupt):  # type: ignore[name-defined, misc]
        pressed = property(lambda self: next(looks, True), lambda self, value: None)

    with monkeypatch.context() as patch:
        patch.setattr(module, "Interrupt", Pressed)
        patch.setattr(run_module, "FIRST_CHUNK_STEPS", 16)
        result: da.Result = da.simulate(*args, **options)
    assert result.status == "interrupted"
    return result


def test_a_run_goes_on_only_as_it_was_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    part = interrupted(monkeypatch, planar_loop(), 6.0)
    for what, change in {
        "rtol": {"rtol": 1e-3},
        "method": {"method": "dop853"},
        "max_step": {"max_step": 0.1},
    }.items():
        with pytest.raises(ModelError, match=what):
            da.simulate(part.model, 6.0, resume=part, **change)
    with pytest.raises(ModelError, match="t_end"):
        da.simulate(part.model, 0.5 * part.t[-1], resume=part)
    with pytest.raises(ModelError, match="another model"):
        da.simulate(planar_loop((1.1, 2.2, 1.6)), 6.0, resume=part)
    assert da.simulate(part.model, 6.0, resume=part).status == "finished"


def test_a_disk_that_is_full_leaves_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, blob: bytes) -> int:
            if len(written) > 1:  # the start, and the first steps
                raise OSError(28, "No space left on device")
            written.append(blob)
            return int(self.file.write(blob))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    prepare = streams.Stream.__init__

    def begin(self: Any, *args: Any) -> None:
        prepare(self, *args)
        self.file = Full(self.file)

    monkeypatch.setattr(streams.Stream, "__init__", begin)
    with pytest.raises(IntegrationError, match="No space left") as caught:
        da.simulate(planar_loop(), 6.0, stream=tmp_path / "run")
    assert 1 < len(caught.value.result) < 100


def test_a_stream_that_cannot_be_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory")
    for path in (file, file / "inside"):
        with pytest.raises(ModelError, match="cannot be written"):
            da.simulate(rod_pendulum(), 1.0, stream=path)
