"""Runs of model files by the C library have the bits of `simulate`."""

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar


def pendulum(**joint):
    s = da.System("pendulum")
    s.connect("A", da.Revolute("y", **joint), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    return s


def branched():
    s = pendulum()
    s.connect("m", da.Element("joint", "u - 3 * sign(ds) - 4 * s", inputs={"u": 1.0}, active=True), "A")
    return s


def stiff():
    s = pendulum()
    s.connect("m", da.JointSpring(stiffness=1e3, damping=1e6), "A")
    return s


def driven_loop():
    s = four_bar()
    s.drive("A", position=da.Harmonic(0.3, 4.0))
    return s


def ball():
    s = da.System("ball")
    bob = s.body("bob", da.box(0.2, 0.3, 0.4, mass=2.0))
    s.connect("S", da.Spherical(), s.ground, bob.at(0.1, 0.2, 0.3))
    s.connect("k", da.SpringDamper(stiffness=100.0, damping=1.0, length=0.3), s.ground.at(1, 0, 0), bob)
    s.initial("S", speed=(1.0, 2.0, -0.5))
    return s


def rough():
    s = pendulum(friction=0.3, static_friction=0.4, lower=-0.5, upper=0.7, restitution=0.4)
    s.initial("A", position=0.1, speed=3.0)
    return s


SYSTEMS = {
    "tree": lambda: chain(5),
    "loop": four_bar,
    "driven loop": driven_loop,
    "branches": branched,
    "stiff": stiff,
    "ball": ball,
    "friction and stops": rough,
    "space mechanism": da.library.stewart,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_states_have_the_bits_of_simulate(name, tmp_path):
    system = SYSTEMS[name]()
    result = da.simulate(system, 0.5)
    da.export(system, tmp_path / "m.dalm")
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    run.advance(0.5)
    assert np.array_equal(run.read("coordinate"), result.q[-1])
    assert np.array_equal(run.read("speed"), result.v[-1])
    assert np.array_equal(run.read("state"), result.x[-1])


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau", "alpha", "rk4", "euler"])
def test_every_method_has_the_bits_of_simulate(method, tmp_path):
    how = {"fixed_step": 1e-3} if method in ("rk4", "euler") else {}
    result = da.simulate(four_bar(), 0.2, method=method, **how)
    da.export(four_bar(), tmp_path / "m.dalm", method=method, **how)
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    run.advance(0.2)
    assert run.method == method
    assert np.array_equal(run.read("coordinate"), result.q[-1])


def test_stiff_runs_change_the_method_as_simulate_does(tmp_path):
    result = da.simulate(stiff(), 3.0)
    da.export(stiff(), tmp_path / "m.dalm")
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    run.advance(3.0)
    assert run.method == "radau"
    assert np.array_equal(run.read("coordinate"), result.q[-1])


def test_inputs_and_parameters_act_as_in_a_live_run(tmp_path):
    outputs = ["A.position", "A.speed", "m.effort", "bob.position"]
    da.export(branched(), tmp_path / "m.dalm", inputs=["m.u"], outputs=outputs)
    run, live = da.FileRun(tmp_path / "m.dalm"), da.Live(branched())
    assert run.names["input"] == ("m.u",)
    assert run.names["output"][-3:] == ("bob.position.x", "bob.position.y", "bob.position.z")
    run.start()
    for k, u in enumerate((2.0, -3.0, 0.5, 0.5), 1):
        run.set("m.u", u)
        live.set("m.u", u)
        run.advance(0.2 * k)
        live.advance(0.2 * k - live.t)
        expected = np.concatenate([np.ravel(live[name]) for name in outputs])
        assert np.allclose(run.read("output"), expected, rtol=0, atol=1e-9)


def test_effort_of_a_joint_is_that_of_a_sampled_control(tmp_path):
    system = chain(2, axes="y")
    result = da.simulate(
        system, 0.3, control=lambda state: {"joint_1": 3.0 * np.cos(20 * state.t)}, control_period=0.01
    )
    da.export(system, tmp_path / "m.dalm", inputs=["joint_1.effort"])
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    for k in range(30):
        run.set("joint_1.effort", 3.0 * np.cos(20 * k * 0.01))
        run.advance((k + 1) * 0.01)
    assert np.allclose(run.read("coordinate"), result.q[-1], rtol=0, atol=1e-8)


def test_masses_act_from_the_next_start_on(tmp_path):
    system = chain(2, axes="y")
    da.export(system, tmp_path / "m.dalm", parameters=["link_2.mass", "gravity.z"])
    run = da.FileRun(tmp_path / "m.dalm")
    run.set("link_2.mass", 3.0)
    run.start()
    run.advance(0.4)
    result = da.simulate(system, 0.4, parameters={"link_2.mass": 3.0})
    assert np.array_equal(run.read("coordinate"), result.q[-1])
    with pytest.raises(da.ModelError, match=r"link_2\.mass.*before the start"):
        run.set("link_2.mass", 1.0)
    run.reset()
    run.start()
    run.advance(0.4)
    assert np.array_equal(run.read("coordinate"), da.simulate(system, 0.4).q[-1])


@pytest.mark.parametrize("name", ["tree", "branches", "friction and stops", "stiff"])
def test_saved_states_continue_to_the_same_bits(name, tmp_path):
    system = SYSTEMS[name]()
    da.export(system, tmp_path / "m.dalm")
    first, other = da.FileRun(tmp_path / "m.dalm"), da.FileRun(tmp_path / "m.dalm")
    first.start()
    first.advance(0.21)
    saved = first.state()
    first.advance(0.8)
    other.set_state(saved)
    assert other.t == 0.21
    other.advance(0.8)
    first.set_state(saved)
    first.advance(0.8)
    assert np.array_equal(first.read("coordinate"), other.read("coordinate"))
    with pytest.raises(da.ModelError, match=r"ends too early"):
        other.set_state(saved[:-1])
    with pytest.raises(da.ModelError, match=r"no state of this build"):
        other.set_state(b"x" * len(saved))


def test_states_of_other_models_are_refused(tmp_path):
    for name, system in (("a", chain(2)), ("b", chain(3))):
        da.export(system, tmp_path / f"{name}.dalm")
    one, other = da.FileRun(tmp_path / "a.dalm"), da.FileRun(tmp_path / "b.dalm")
    one.start()
    with pytest.raises(da.ModelError, match=r"another model"):
        other.set_state(one.state())


def test_derivatives_and_projection_for_other_integrators(tmp_path):
    system = four_bar()
    model = system.compile()
    da.export(system, tmp_path / "m.dalm")
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    q, v = run.read("coordinate"), run.read("speed") + 0.3
    run.put(0.0, [q[0] + 1e-3, *q[1:]], v)
    q, v, _ = run.project()
    assert abs(model.constraint_residual(q)).max() < 1e-12
    assert abs(model.constraint_jacobian(q) @ v).max() < 1e-11
    run.put(0.0, q, v)
    rates, a, _ = run.derivatives()
    assert np.array_equal(rates, v)
    assert np.allclose(a, model.dynamics(0.0, q, v).a, rtol=0, atol=1e-12)


def test_jumps_of_laws_are_known_up_to_the_horizon(tmp_path):
    system = pendulum()
    system.connect("m", da.Effort(da.Ramp(0.0, 5.0, 0.1, 0.2)), "A")
    found = da.export(system, tmp_path / "m.dalm", horizon=1.0)
    assert "t = 1 s" in found.notes[-1]
    run = da.FileRun(tmp_path / "m.dalm")
    run.start()
    run.advance(0.9)
    assert np.array_equal(run.read("coordinate"), da.simulate(system, 0.9).q[-1])
    with pytest.raises(da.ModelError, match=r"later horizon"):
        run.advance(1.1)


def test_wrong_calls_are_named(tmp_path):
    da.export(branched(), tmp_path / "m.dalm", inputs=["m.u"], outputs=["A.position"])
    run = da.FileRun(tmp_path / "m.dalm")
    with pytest.raises(da.ModelError, match=r"dal_start comes first"):
        run.advance(1.0)
    with pytest.raises(da.ModelError, match=r"'m\.u'"):
        run.set("m.v", 1.0)
    with pytest.raises(da.ModelError, match=r"m\.u"):
        run.set("m.u", np.nan)
    run.start()
    with pytest.raises(da.ModelError, match=r"before that of the run"):
        run.advance(-1.0)
    with pytest.raises(da.ModelError, match=r"A\.position.*cannot be set"):
        run._call(run._run.set, 5, 0, 1.0)
    with pytest.raises(da.ModelError, match=r"method"):
        da.FileRun(tmp_path / "m.dalm", method="leapfrog")
