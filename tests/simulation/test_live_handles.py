"""Prepared reading and setting in live runs: against results, and against runs with constant parameters."""

from __future__ import annotations

import gc
import os
import signal
import tracemalloc

import numpy as np
import pytest
from systems.flexible_systems import random_flexible_tree
from systems.random_machines import machine
from systems.switching_systems import switching_system

import dalembert as da
from dalembert.connections.joints import Joint
from dalembert.library.mechanisms import four_bar
from dalembert.result import Motion, Output
from dalembert.result.outputs.lookup import names

FLEXIBLE, SWITCHING = 100, 200  # first seeds


def with_motors(seed: int) -> tuple[da.System, list[str]]:
    """Return a system with motors at its joints of one DOF, and the names of their inputs."""
    if seed >= SWITCHING:
        system = switching_system(seed)[0]
    elif seed >= FLEXIBLE:
        system = random_flexible_tree(np.random.default_rng(seed), 3, base=da.Revolute)
    else:
        system = machine(seed)
    driven = {drive.connection.name for drive in system.compile().drives}
    joints = [n for n, c in system.connections.items() if isinstance(c.element, Joint) and c.element.nv == 1]
    inputs = []
    for name in [each for each in joints if each not in driven][:3]:
        system.connect(f"motor {name}", da.Element("joint", "u", inputs={"u": 0.0}, active=True), name)
        inputs.append(f"motor {name}.u")
    return system, inputs


def present_outputs(model: da.Model) -> list[str]:
    """Return the outputs that have a present value."""
    found = [name for name in names(model) if Output.of(model, name).history is None]
    return [name for name in found if not name.endswith("jerk")]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, FLEXIBLE, FLEXIBLE + 1, SWITCHING + 3, SWITCHING + 6])
def test_readers_give_the_outputs_of_the_result(seed: int) -> None:
    system, inputs = with_motors(seed)
    rng = np.random.default_rng(seed)
    live = da.Live(system)
    model = live._run.model
    write, read = live.writer(inputs), live.reader(present_outputs(model))
    assert len(read.evaluated_in_python) < 0.6 * len(read.names)
    for _ in range(12):
        write(rng.normal(size=len(inputs)))
        live.advance(float(rng.uniform(1e-3, 2e-2)))
    found = read()
    assert len(found) == len(read.labels)
    result = live.result()
    rows = tuple(part[-1:] for part in (result.t, result.q, result.v, result.x))
    motion = Motion(model, *rows, conditions=result.conditions)
    for name in read.names:
        expected = Output.of(model, name).value(motion)[0]
        size = 1.0 + np.nan_to_num(np.abs(expected)).max(initial=0.0)
        # the same functions of the same state, summed in another order; loads of loops have their condition
        np.testing.assert_allclose(found[read.slices[name]], np.ravel(expected), rtol=0, atol=1e-8 * size, err_msg=name)
        np.testing.assert_allclose(np.ravel(live[name]), np.ravel(expected), rtol=0, atol=1e-8 * size, err_msg=name)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, FLEXIBLE, SWITCHING + 3])
def test_writes_are_runs_with_other_parameters(seed: int) -> None:
    system, inputs = with_motors(seed)
    rng = np.random.default_rng(seed)
    live, state = da.Live(system, rtol=1e-10, atol=1e-12), None
    write, read = live.writer(inputs), live.reader([name.replace(".u", ".effort") for name in inputs])
    values = np.zeros(len(inputs))
    for _ in range(6):
        values = np.where(rng.random(len(inputs)) < 0.6, rng.normal(size=len(inputs)) * 3, values)
        write(values)
        np.testing.assert_array_equal(read(), values)
        begin = live.t
        live.advance(0.02)
        expected = da.simulate(
            system,
            begin + 0.02,
            t_start=begin,
            state=state,
            parameters=dict(zip(inputs, values.tolist(), strict=True)),
            rtol=1e-10,
            atol=1e-12,
        )
        state = expected.final_state
        # both have errors of the tolerance; those of one part grow in the next
        np.testing.assert_allclose(live.state.q, state.q, atol=1e-7)
        np.testing.assert_allclose(live.state.v, state.v, atol=1e-5)
    result = live.result()
    for k, name in enumerate(inputs):
        assert result[name.replace(".u", ".effort")][-1] == values[k]
    middle = result.at(begin + 0.01)
    assert middle.q == pytest.approx(expected.at(begin + 0.01).q, abs=1e-7)


def swinging() -> tuple[da.System, float]:
    """Return a pendulum with dry friction, stops and a motor, and its friction, N m."""
    s = da.System("arm")
    joint = da.Revolute("y", friction=0.5, lower=-0.2, upper=0.4, restitution=0.3)
    s.connect("A", joint, s.ground, s.body("arm", da.rod(length=1.0, mass=0.1)))
    s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    return s, 0.5


def test_an_input_releases_what_sticks() -> None:
    """It sticks up to its friction less its weight, whatever is set; beyond that it moves."""
    system, friction = swinging()
    live = da.Live(system)
    weight = 0.1 * 9.81 * 0.5
    assert live["A.stuck"] == 1.0
    for u in (-0.9 * (friction - weight), 0.9 * (friction + weight)):  # positive turns lower the tip
        live.set("motor.u", -u)
        live.advance(0.01)
        assert live["A.stuck"] == 1.0 and live["A.speed"] == 0.0
    live.set("motor.u", -1.1 * (friction + weight))
    live.advance(0.01)
    assert live["A.stuck"] == 0.0 and live["A.speed"] < 0.0
    live.advance(1.0)
    assert live["A.stop"] == -1.0 and live["A.position"] == -0.2
    live.set("motor.u", 0.0)  # its weight alone does not move it
    live.advance(0.5)
    assert live["A.stuck"] == 1.0
    live.set("motor.u", 2.0)
    live.advance(2.0)
    assert live["A.stop"] == 1.0 and live["A.position"] == 0.4
    result = live.result()
    assert np.abs(result["energy.balance"]).max() < 1e-6
    assert any("upper" in event.name for event in result.events)
    again = da.Live(system, record=False)
    for u, span in ((-1.1 * (friction + weight), 1.01), (0.0, 0.5), (2.0, 2.0)):
        again.set("motor.u", u)
        again.advance(span)
    assert again["A.stop"] == 1.0 and again["A.stuck"] == 1.0


def test_the_time_of_an_advance_does_not_matter() -> None:
    """Many tiny advances, single ones and a huge one lead to the same motion."""
    system = with_motors(1)[0]
    ends = []
    for spans in (np.full(2000, 1e-4), np.full(20, 1e-2), [0.2]):
        live = da.Live(system, rtol=1e-10, atol=1e-12)
        for span in spans:
            live.advance(float(span))
        ends.append(live.state)
        assert live.t == pytest.approx(0.2)
    for other in ends[1:]:
        np.testing.assert_allclose(other.q, ends[0].q, atol=1e-8)
    live = da.Live(four_bar(), state={"A.speed": 3.0})
    live.advance(1e-12)
    live.advance(60.0)  # more steps than one call of the core takes
    expected = da.simulate(four_bar(), 60.0 + 1e-12, state={"A.speed": 3.0})
    assert live.result().stats.steps > 1000
    held = da.System("held", gravity=(0, 0, 0))
    held.connect("X", da.Prismatic("x"), held.ground, held.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    still = da.Live(held)
    still.advance(1e9)
    assert still.t == 1e9 and still["X.position"] == 0.0
    assert live["energy.total"] == pytest.approx(expected["energy.total"][-1], abs=1e-4)


def test_memory_is_bounded_without_records() -> None:
    system, inputs = with_motors(0)
    live, other = (da.Live(system, method="rk4", fixed_step=1e-3, record=record) for record in (False, True))
    for run in (live, other):
        write, read = run.writer(inputs), run.reader(["q", "v"], copy=False)
        sizes = []
        for k in range(3):
            for j in range(1500):
                write(np.full(len(inputs), 1e-3 * (j % 7)))
                run.advance(1e-3)
                read()
            gc.collect()
            tracemalloc.start() if not k else None
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        kept = sizes[2] - sizes[0]
        assert (kept < 20_000) == (run is live), kept
    np.testing.assert_allclose(live.state.q, other.state.q, atol=1e-12)
    alone, whole = live.result(), other.result()
    assert len(alone.t) == 1 and len(whole.t) >= 4500
    np.testing.assert_array_equal(alone.q[-1], live.state.q)


def test_general_and_direct_changes_mix() -> None:
    """Masses and inputs set in any order, before and between advances, act together."""
    system, _ = swinging()
    live = da.Live(system, rtol=1e-10, atol=1e-12)
    write = live.writer(["arm.mass", "motor.u"])
    write([0.2, -4.0])
    assert live["motor.effort"] == -4.0
    live.advance(0.02)
    live.set("motor.u", -5.0)
    live.set("arm.mass", 0.3)
    live.set("motor.u", -6.0)
    assert live["motor.effort"] == -6.0
    live.advance(0.02)
    first = da.simulate(system, 0.02, parameters={"arm.mass": 0.2, "motor.u": -4.0}, rtol=1e-10, atol=1e-12)
    second = da.simulate(
        system,
        0.04,
        t_start=0.02,
        state=first.final_state,
        parameters={"arm.mass": 0.3, "motor.u": -6.0},
        rtol=1e-10,
        atol=1e-12,
    )
    np.testing.assert_allclose(live.state.q, second.final_state.q, atol=1e-9)
    result = live.result()
    assert result["motor.effort"].tolist()[-1] == -6.0 and result["motor.effort"].tolist()[1] == -4.0


def test_bad_handles_and_values_are_named() -> None:
    s = da.System("arm")
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=0.1)))
    s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    s.connect("spring", da.TorsionSpring(stiffness=3.0), "A")
    live = da.Live(s)
    with pytest.raises(da.ModelError, match=r"motor\.u"):
        live.writer(["motor.v"])
    with pytest.raises(da.ModelError, match="output"):
        live.reader(["nobody.position"])
    with pytest.raises(da.ModelError, match=r"live\.result"):
        live.reader(["A.position", "energy.balance"])
    write = live.writer(["motor.u", "spring.stiffness"])
    for values, words in (([1.0], "2 real numbers"), ([1.0, np.nan], "finite"), ([1.0, -2.0], "negative")):
        with pytest.raises(da.ModelError, match=words):
            write(values)
    with pytest.raises(da.ModelError, match="negative"):
        write(np.array([1.0, -2.0]))
    assert live["motor.effort"] == 0.0  # none of them was set
    read = live.reader("A.position", copy=False)
    live.advance(0.1)
    first = read()
    live.advance(0.1)
    assert read() is first


def test_after_an_error_the_run_is_where_it_was() -> None:
    s = da.System("arm")
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=0.1)))
    s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    s.connect("odd", da.Element("joint", "sqrt(0.5 - t)"), "A")
    live = da.Live(s)
    write = live.writer(["motor.u"])
    for k in range(100):
        write(1e-3 * k)
        try:
            live.advance(0.01)
        except da.UserFunctionError as error:
            assert error.result is not None
            assert error.result.t[-1] == live.t
            np.testing.assert_array_equal(error.result.q[-1], live.state.q)
            break
    assert 0.4 < live.t <= 0.5
    with pytest.raises(da.UserFunctionError):
        live.advance(0.01)
    assert np.isfinite(live["A.position"])


def test_laws_are_checked_where_they_are_reached() -> None:
    """A table that ends later does not matter before; a pulse between two advances is seen whole."""
    s = da.System("block", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("push", da.Effort(da.laws.Pulse(0.7, duration=1e-4, value=1e4)), "X")
    s.connect("late", da.Element("joint", "where(t < T, 0, 2)", parameters={"T": 0.8}, active=True), "X")
    live = da.Live(s)
    for _ in range(75):
        live.advance(0.01)
    assert live["X.speed"] == pytest.approx(1.0, abs=1e-9)
    live.set("late.T", 0.77)  # a discontinuity time
    for _ in range(25):
        live.advance(0.01)
    assert live["X.speed"] == pytest.approx(1.0 + 2.0 * (live.t - 0.77), abs=1e-9)
    d = da.System("driven")
    d.connect("A", da.Revolute("y"), d.ground, d.body("arm", da.rod(length=1.0, mass=1.0)))
    d.drive("A", position=da.Spline(np.linspace(0, 0.5, 11), np.sin(np.linspace(0, 0.5, 11))))
    live = da.Live(d)
    for _ in range(49):
        live.advance(0.01)
    with pytest.raises(da.ModelError, match="table"):
        live.advance(0.02)
    live.advance(0.0099)
    assert live["A.position"] == pytest.approx(np.sin(live.t), abs=1e-6)  # the error of the spline


def test_a_stiff_run_changes_its_method() -> None:
    s = da.System("stiff")
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=1.0)))
    s.connect("k", da.TorsionSpring(stiffness=1e6, damping=1e6), "A")
    s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    live, state = da.Live(s), None
    for k in range(20):
        live.set("motor.u", float(k % 3))
        live.advance(0.05)
        result = da.simulate(s, 0.05 * (k + 1), t_start=0.05 * k, state=state, parameters={"motor.u": float(k % 3)})
        state = result.final_state
    assert live.result().stats.method == "dop853 then radau"
    np.testing.assert_allclose(live.state.q, state.q, atol=1e-9)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_ctrl_c_ends_an_advance_at_a_step() -> None:
    live = da.Live(with_motors(1)[0], record=False)
    live.advance(0.001)
    handler = signal.getsignal(signal.SIGINT)
    old = signal.signal(signal.SIGALRM, lambda number, frame: os.kill(os.getpid(), signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            live.advance(1e4)
        assert 0.001 < live.t < 1e4
        reached = live.t
        live.advance(0.01)
        assert live.t == pytest.approx(reached + 0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert signal.getsignal(signal.SIGINT) is handler


def test_events_and_sampled_control_without_records() -> None:
    """An event ends the run by its name; a sampled control gives the same bits whether the motion is kept or not."""
    system = swinging()[0]
    ends = [da.Event("turned", "A.position", value=0.1, terminal=True), da.Event("half", "A.position", value=0.05)]
    control = da.SampledControl(lambda state: [1.5 - state.v[0]], period=0.01)
    states = []
    for record in (True, False):
        live = da.Live(system, events=ends, parameters={"motor.u": 2.0}, record=record)
        while not live.ended:
            live.advance(0.01)
        assert live["A.position"] == pytest.approx(0.1, abs=1e-8)
        with pytest.raises(da.ModelError, match="turned"):
            live.advance(0.01)
        live = da.Live(system, control=control, record=record)
        for _ in range(60):
            live.advance(0.005)
        states.append(live.state)
        assert len(live.result().events) == 0 or record
    np.testing.assert_array_equal(states[0].q, states[1].q)
    np.testing.assert_array_equal(states[0].v, states[1].v)
    whole = da.simulate(system, 0.3, control=control)
    np.testing.assert_allclose(states[0].q, whole.q[-1], atol=1e-9)
