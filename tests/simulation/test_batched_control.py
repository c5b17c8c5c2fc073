"""Batched control callbacks: an ensemble moves as each of its runs alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.flexible_systems import random_flexible_tree
from systems.random_loops import random_closed_system
from systems.random_trees import random_system

import dalembert as da
from dalembert import _core
from dalembert.library import chain
from dalembert.library.mechanisms import bricard, four_bar

Array = NDArray[np.float64]

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
ALIKE = (
    1e-7  # beside positions and speeds of the order of one: a hundred steps of these tolerances, errors carried along
)
TIMES = np.linspace(0.0, 0.3, 4)


class Counted:
    """A control that counts states of which it was asked, alone and together."""

    def __init__(self, control: Callable[[da.State], Any]) -> None:
        self.control, self.alone, self.together = control, 0, 0

    def __call__(self, state: da.State) -> Any:
        if state.q.ndim == 2:
            assert state.v.ndim == state.x.ndim == 2 and np.shape(state.t) == (len(state.q),)
            self.together += len(state.q)
        else:
            self.alone += 1
        return self.control(state)


def soft(state: da.State) -> Array:
    """Joint forces by speeds and time, of a model of any kind."""
    push = 0.1 * np.cos(5.0 * np.asarray(state.t))[..., None]
    return np.asarray(push - 0.2 * np.tanh(state.v))


def assert_each_alone(
    model: da.Model, starts: da.State, control: Callable[[da.State], Any], *, tolerance: float = ALIKE, **given: Any
) -> da.Ensemble:
    """Assert that runs with a control that is asked about all of them are those of each alone."""
    __tracebackhide__ = True
    asked = Counted(control)
    runs = da.simulate(model, TIMES[-1], state=starts, times=TIMES, control=asked, **TIGHT, **given)
    assert asked.together > 5 * asked.alone and set(runs.status) == {"finished"}
    numbers = given.pop("parameters", {})
    for k in range(0, len(runs), max(1, len(runs) // 3)):
        own = {name: value[k] if np.ndim(value) else value for name, value in numbers.items()}
        x = starts.x[k] if np.size(starts.x) else starts.x
        start = da.State(q=starts.q[k], v=starts.v[k], x=x)
        one = da.simulate(model, TIMES[-1], state=start, times=TIMES, control=control, parameters=own, **TIGHT, **given)
        for name in "qvx":
            found, alone = getattr(runs, name)[k], getattr(one, name)
            size = max(1.0, np.abs(alone).max(initial=0.0))
            assert np.abs(found - alone).max(initial=0.0) < tolerance * size, (name, k)
    return runs


def near(model: da.Model, count: int, seed: int = 0, reach: float = 0.1) -> da.State:
    """Return states on the loops near the one of the description."""
    rng, q = np.random.default_rng(seed), da.assemble(model).q
    v = [da.consistent_velocities(model, q, reach * rng.normal(size=model.nv)) for _ in range(count)]
    return da.State(q=np.tile(q, (count, 1)), v=np.array(v))


# ---- systems of all kinds


@pytest.mark.parametrize("seed", range(3))
def test_batched_control_of_random_trees(seed: int) -> None:
    model = random_system(np.random.default_rng(seed), 4).compile()
    assert_each_alone(model, model.random_state(seed, size=19), soft)


@pytest.mark.parametrize(
    "make", [four_bar, bricard, lambda: random_closed_system(np.random.default_rng(5), 5, 1).system]
)
def test_batched_control_of_loops(make: Callable[[], da.System]) -> None:
    model = make().compile()
    assert_each_alone(model, near(model, 11), soft)


def test_flexible_bodies() -> None:
    model = random_flexible_tree(np.random.default_rng(2)).compile()
    assert_each_alone(model, near(model, 5), lambda state: -0.01 * state.v)


def test_drives_breaks_and_element_states() -> None:
    s = chain(3, axes="y")
    s.drive("joint_1", position=da.Harmonic(0.3, 2.0))
    s.connect("kick", da.Effort(da.laws.Pulse(0.1, duration=0.05, value=3.0)), "joint_2")
    s.connect("m", da.Element("joint", "-c*(s - m)", {"c": 5.0}, states={"m": (0.1, "(s - m)/0.3")}), "joint_3")
    model, rng = s.compile(), np.random.default_rng(1)
    q, v = 0.3 * rng.normal(size=(2, 9, 3))
    starts = da.State(q=q, v=v, x=rng.normal(size=(9, 1)))
    assert_each_alone(model, starts, lambda state: soft(state) - 0.3 * state.x)


def test_numbers_of_elements_and_parameters_of_each_run() -> None:
    s = chain(3, axes="y")
    s.connect("k", da.TorsionSpring(5.0), "joint_2")
    model = s.compile()
    numbers = {
        "k.stiffness": np.linspace(1.0, 9.0, 21),
        "link_2.mass": np.linspace(0.5, 3.0, 21),
        "joint_3.first.x": np.linspace(0.0, 0.1, 21),
    }
    assert_each_alone(model, model.random_state(0, size=21), soft, parameters=numbers)


def test_actuators_clip_what_a_control_asks_for() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y", max_effort=2.0), s.ground, s.body("arm", da.rod(length=1.0, mass=3.0)))
    starts = da.State(q=np.linspace(-1, 1, 13)[:, None], v=np.zeros((13, 1)))
    runs = assert_each_alone(
        s.compile(), starts, lambda state: -30.0 * state.q, tolerance=1e-6
    )  # its kink costs digits
    assert any("max_effort 2 from t = 0 s on; the request was up to 30" in note for note in runs.stats.notes)


def test_laws_that_change_branches_and_stiff_runs_go_on_by_themselves() -> None:
    s = chain(2, axes="y")
    s.connect("wall", da.Element("joint", "where(s > 0.05, -200*(s - 0.05), 0)", {}), "joint_1")
    s.connect("k", da.TorsionSpring(1.0, damping=1.0), "joint_2")
    model = s.compile()
    starts = da.State(
        q=np.tile([0.0, 0.1], (12, 1)), v=np.tile([1.0, 0.0], (12, 1))
    )  # first steps end beyond all numbers
    damped = np.where(np.arange(12) % 4 == 0, 1e6, 1.0)
    asked = Counted(soft)
    given = {"times": TIMES, "rtol": 1e-8, "parameters": {"k.damping": damped}}
    runs = da.simulate(model, TIMES[-1], state=starts, control=asked, **given)
    assert asked.together and set(runs.status) == {"finished"}
    assert any("continued with radau" in note for note in runs.stats.notes)
    for k in (0, 1):
        own = {"k.damping": damped[k]}
        start = da.State(q=starts.q[k], v=starts.v[k])
        one = da.simulate(model, TIMES[-1], state=start, control=soft, times=TIMES, rtol=1e-8, parameters=own)
        assert np.abs(runs.q[k] - one.q).max() < 1e-6  # of two runs at 1e-8, through a wall


# ---- what a run sees of the others


def test_a_run_does_not_see_the_others() -> None:
    model = chain(3).compile()
    starts = model.random_state(0, size=1500)  # more than are asked about at once
    given = {"times": [0.1, 0.2], "control": lambda s: -0.3 * s.v - s.q, "rtol": 1e-6}
    runs = da.simulate(model, 0.2, state=starts, **given)
    some = [3, 700, 1499]
    few = da.simulate(model, 0.2, state=da.State(q=starts.q[some], v=starts.v[some]), **given)
    assert (few.q == runs.q[some]).all()
    assert (runs[700].at(0.1).q == runs.q[700, 0]).all()


def test_threads_ask_the_same_questions() -> None:
    model = chain(3).compile()
    gain = np.random.default_rng(0).normal(size=(3, 3))  # a product of matrices rounds by how many rows there are
    given = {"state": model.random_state(0, size=2100), "times": [0.1], "control": lambda s: -s.q @ gain, "rtol": 1e-6}
    before = _core.threads()
    found = []
    try:
        for threads in (1, 3):
            _core.set_threads(threads)
            found.append(da.simulate(model, 0.1, **given).q)
    finally:
        _core.set_threads(before)
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_weights_that_a_control_computes_for_all_runs_are_held(threads: int) -> None:
    """Kernels take the batch as it comes, on threads that are at work already; what is held up stays where it is."""
    model = chain(3).compile()
    starts = da.State(q=np.random.default_rng(0).normal(size=(1100, 3)), v=np.zeros((1100, 3)))
    before = _core.threads()
    _core.set_threads(threads)
    try:
        runs = da.simulate(model, 0.1, state=starts, times=[0.1], control=lambda s: model.bias_forces(s.q, s.v))
    finally:
        _core.set_threads(before)
    assert np.abs(runs.q[:, 0] - starts.q).max() < 1e-9 and not runs.stats.notes


# ---- functions that take one state only


ONE_ONLY: dict[str, Callable[[da.State], Any]] = {
    "of a coordinate": lambda s: [-4.0 * s.q[0] - s.v[0], 0.0],
    "of rows, as many as there are degrees of freedom": lambda s: np.array([-1.0 * s.q[0], -9.0 * s.q[1]]),
    "with a condition": lambda s: -2.0 * s.q if s.q[0] > 0 else -1.0 * s.q,
    "by name": lambda s: {"joint_1": -2.0 * s.q[0]},
    "of time": lambda s: [float(np.sin(s.t)), 0.0],
    "by a product": lambda s: -np.array([[2.0, 1.0], [0.0, 3.0]]) @ s.q,
    "of the largest": lambda s: -np.abs(s.q).max() * s.v,
    "in place": lambda s: s.q.__imul__(-2.0),
}


@pytest.mark.parametrize("kind", ONE_ONLY)
@pytest.mark.parametrize("count", [2, 7])
def test_a_control_of_one_state_is_asked_about_each(kind: str, count: int) -> None:
    model, control = chain(2, axes="y").compile(), ONE_ONLY[kind]
    starts = model.random_state(1, size=count)
    runs = da.simulate(model, 0.3, state=starts, times=[0.3], control=control)
    (note,) = [note for note in runs.stats.notes if "one state after the other" in note]
    assert "state.q[..., k]" in note
    for k in range(count):
        one = da.simulate(model, 0.3, state=da.State(q=starts.q[k], v=starts.v[k]), times=[0.3], control=control)
        assert (one.q == runs.q[k]).all()


def test_rows_that_replace_dof_are_detected_away_from_the_start() -> None:
    """Two runs of two degrees of freedom that begin alike at rest: at first, rows and columns say the same."""
    s = chain(2, axes="y")
    s.connect("k", da.TorsionSpring(5.0), "joint_2")
    model = s.compile()
    mixed = ONE_ONLY["of rows, as many as there are degrees of freedom"]
    starts = da.State(q=np.zeros((2, 2)), v=np.zeros((2, 2)))
    given = {"times": [0.5], "control": mixed}
    runs = da.simulate(model, 0.5, state=starts, parameters={"k.stiffness": [1.0, 9.0]}, **given)
    assert any("one state after the other" in note for note in runs.stats.notes)
    one = da.simulate(
        model, 0.5, parameters={"k.stiffness": 9.0}, state=da.State(q=np.zeros(2), v=np.zeros(2)), **given
    )
    assert (one.q == runs.q[1]).all()


BOTH: dict[str, Callable[[da.State], Any]] = {
    "array": lambda s: -2.0 * s.q,
    "list": lambda s: [-4.0 * s.q[..., 0] - s.v[..., 0], 0.0],
    "stacked": lambda s: np.stack([-4.0 * s.q[..., 0], np.sin(s.t)], axis=-1),
    "by name": lambda s: {"joint_1": -2.0 * s.q[..., 0], "joint_2": 0.5},
    "nothing": lambda s: None,
    "constant": lambda s: np.array([0.3, -0.1]),
    "whole numbers": lambda s: np.round(0.0 * s.q).astype(int),
    "product": lambda s: -s.q @ np.array([[2.0, 1.0], [0.0, 3.0]]),
}


@pytest.mark.parametrize("kind", BOTH)
def test_a_control_of_one_state_and_of_many_may_be_written_in_many_ways(kind: str) -> None:
    model = chain(2, axes="y").compile()
    runs = assert_each_alone(model, model.random_state(1, size=7), BOTH[kind])
    assert not any("one state after the other" in note for note in runs.stats.notes)


def test_a_joint_of_several_dofs_gets_rows() -> None:
    s = da.System("ball")
    s.connect("ball", da.Spherical(), s.ground, s.body("b", da.box(0.1, 0.2, 0.3, mass=1.0)))
    model = s.compile()
    starts = model.random_state(0, size=3)  # as many as degrees of freedom
    assert_each_alone(model, starts, lambda s: {"ball": -0.1 * s.v})
    assert_each_alone(model, starts, lambda s: {"ball": np.array([0.01, 0.02, 0.03])})
    assert_each_alone(model, starts, lambda s: {"ball.wx": -0.1 * s.v[..., 0]})


def test_a_control_for_batches_only_gets_an_error_with_the_signature() -> None:
    model = chain(2, axes="y").compile()
    with pytest.raises(da.UserFunctionError, match=r"called with one state; .* state.q\[..., 0\]"):
        da.simulate(model, 0.1, state=model.random_state(0, size=5), control=lambda s: s.q[:, [0, 0]])


def test_noise_is_not_asked_about_together() -> None:
    model, rng = chain(1, axes="y").compile(), np.random.default_rng(0)
    given = {"method": "dop853", "max_step": 0.1, "rtol": 1e-1, "atol": 0.1}
    runs = da.simulate(
        model, 0.2, state=model.random_state(0, size=4), control=lambda s: 1e-3 * rng.normal(size=s.q.shape), **given
    )
    assert any("one state after the other" in note for note in runs.stats.notes)


# ---- failures


def slide() -> da.Model:
    """Return a block that slides freely; what it is pushed with is its acceleration."""
    s = da.System("slide", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    return s.compile()


def fussy(state: da.State) -> Array:
    """A control that refuses what goes too far."""
    if np.any(np.abs(state.v) > 3.0):
        raise ValueError("too fast")
    return 0.5 * state.v


def gone(state: da.State) -> Array:
    """A control that has no number for what goes too far."""
    return np.where(np.abs(state.v) > 3.0, np.nan, 0.5 * state.v)


@pytest.mark.parametrize("control", [fussy, gone])
@pytest.mark.parametrize("period", [None, 0.05])
def test_a_control_that_fails_in_some_runs_ends_these(control: Callable[[da.State], Any], period: float | None) -> None:
    model = slide()
    speeds = np.array([0.0, 2.9, 0.5, 3.1, 1.0])
    starts = da.State(q=np.full((5, 1), 0.1), v=speeds[:, None])
    runs = da.simulate(model, 1.0, state=starts, times=np.linspace(0, 1, 11), control=control, control_period=period)
    assert [status == "failed" for status in runs.status] == [False, True, False, True, False]
    assert "control" in runs._messages[1] and control.__name__ in runs._messages[1]
    assert 0.0 < runs.reached[1] < 1.0 and runs.reached[3] == 0.0
    assert np.isfinite(runs.q[[0, 2, 4]]).all() and np.isnan(runs.q[1, -1]).all()
    one = da.simulate(
        model, 1.0, state=da.State(q=starts.q[2], v=starts.v[2]), times=[1.0], control=control, control_period=period
    )
    assert np.abs(one.q[-1] - runs.q[2, -1]).max() < ALIKE


def test_a_control_of_one_state_that_fails_in_some_runs_ends_these() -> None:
    def control(state: da.State) -> list[float]:
        if state.v[0] > 3.0:
            raise ValueError("too fast")
        return [0.5 * state.v[0]]

    model = slide()
    starts = da.State(q=np.full((4, 1), 0.1), v=np.array([[0.0], [3.1], [0.5], [2.99]]))
    runs = da.simulate(model, 0.5, state=starts, control=control)
    assert [status == "failed" for status in runs.status] == [False, True, False, True]


def test_a_control_that_fails_in_all_runs_is_raised() -> None:
    def broken(state: da.State) -> Array:
        raise NameError("gian")

    model = chain(2, axes="y").compile()
    starts = model.random_state(0, size=5)
    with pytest.raises(da.UserFunctionError, match=r"broken.*gian") as caught:
        da.simulate(model, 1.0, state=starts, control=broken)
    assert set(caught.value.result.status) == {"failed"}
    assert set(da.simulate(model, 1.0, state=starts, control=broken, on_error="return").status) == {"failed"}


def test_a_control_that_names_no_joint_is_refused() -> None:
    model = chain(2, axes="y").compile()
    with pytest.raises(da.ModelError, match="'B'"):
        da.simulate(model, 1.0, state=model.random_state(0, size=5), control=lambda s: {"B": 1.0})


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_runs_where_they_are(threads: int) -> None:
    pressed: list[bool] = []

    def press(state: da.State) -> Array:
        if not pressed and np.any(np.asarray(state.t) > 0.2):
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return -0.1 * state.v

    model, before = chain(2, axes="y").compile(), _core.threads()
    _core.set_threads(threads)
    try:
        starts = model.random_state(0, size=1100)
        runs = da.simulate(model, 1.0, state=starts, times=[0.1, 1.0], control=press, on_error="return")
    finally:
        _core.set_threads(before)
    assert pressed and runs.status.count("interrupted") > 500
    assert (runs.reached < 1.0).sum() == runs.status.count("interrupted")


def test_what_a_control_raises_to_leave_is_raised() -> None:
    def leave(state: da.State) -> Array:
        raise SystemExit(3)

    model = chain(2, axes="y").compile()
    with pytest.raises(SystemExit):
        da.simulate(model, 1.0, state=model.random_state(0, size=5), control=leave)


@pytest.mark.parametrize("how", [TIGHT, {"method": "dopri5", **TIGHT}, {"control_period": 0.05, **TIGHT}])
def test_a_control_is_told_which_run_it_serves(how: dict[str, Any]) -> None:
    model, torques = chain(2, axes="y").compile(), np.array([1.0, -2.0, 3.0, 0.5, 7.0])

    def push(state: da.State) -> dict[str, Any]:
        return {"joint_1": torques[state.run]}

    state = da.State(q=np.zeros((5, 2)), v=np.zeros((5, 2)))
    runs = da.simulate(model, 0.2, state=state, times=[0.1, 0.2], control=push, **how)
    assert isinstance(runs, da.Ensemble)
    for k, torque in enumerate(torques):
        one = da.simulate(model, 0.2, times=[0.1, 0.2], control=lambda state, torque=torque: [torque, 0.0], **how)
        np.testing.assert_allclose(runs.q[k], one.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(runs["joint_1.acceleration"][k], one["joint_1.acceleration"], rtol=1e-6)
        np.testing.assert_allclose(runs[k].at(0.15).q, one.at(0.15).q, rtol=0, atol=ALIKE)


def test_a_control_is_told_its_run_where_parameters_differ() -> None:
    s = chain(2, axes="y")
    torques = np.array([1.0, -2.0, 3.0])

    def push(state: da.State) -> list[Any]:
        return [torques[state.run], 0.0]

    runs = da.simulate(s, 0.2, times=[0.2], parameters={"link_1.mass": [1.0, 2.0, 3.0]}, control=push)
    for k in range(3):
        own = {"link_1.mass": k + 1.0}
        one = da.simulate(s, 0.2, times=[0.2], parameters=own, control=lambda state, k=k: [torques[k], 0.0])
        np.testing.assert_allclose(runs.q[k], one.q, rtol=0, atol=1e-9)
