"""Rollouts: runs with a control sequence each, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dalembert as da
from dalembert.errors import GradientError, ModelError
from dalembert.library import chain
from dalembert.library.mechanisms import four_bar

Array = NDArray[np.float64]


def arm(links: int = 3) -> da.Model:
    """Return a spatial arm with a damped spring at its second joint."""
    s = chain(links, axes="zyx")
    s.connect("k", da.TorsionSpring(5.0, damping=0.3), "joint_2")
    return s.compile()


def motor(law: Any = 0.0) -> da.Model:
    """Return a double pendulum with a motor of a first-order current, driven by a voltage u."""
    s = chain(2, axes="y")
    states = {"i": (0.0, "(u - i - 0.2*ds)/0.05")}
    s.connect("motor", da.Element("joint", "c*i", {"c": 3.0}, inputs={"u": law}, states=states, active=True), "joint_1")
    return s.compile()


def starts(model: da.Model, count: int, seed: int = 0) -> da.State:
    """Return random states at moderate speeds."""
    state = model.random_state(seed, size=count)
    return da.State(q=0.5 * state.q, v=0.2 * state.v)


def bars(count: int) -> tuple[da.Model, da.State]:
    """Return a four-bar, and closed states in motion."""
    model = four_bar().compile()
    state = da.start_state(model, {"A": np.linspace(0.3, 1.2, count), "A.speed": np.linspace(-3, 3, count)})
    return model, da.State(q=state.q, v=state.v)


def held_rk4(model: da.Model, q: Array, v: Array, u: Array, dt: float) -> tuple[Array, Array]:
    """Return states of runs by classical Runge-Kutta steps over `Model.forward_dynamics`, with held joint forces."""
    all_q, all_v = [q], [v]

    def rates(q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        return v, model.forward_dynamics(q, v, tau)

    for k in range(u.shape[1]):
        tau = np.ascontiguousarray(u[:, k])
        k1 = rates(q, v, tau)
        k2 = rates(q + dt / 2 * k1[0], v + dt / 2 * k1[1], tau)
        k3 = rates(q + dt / 2 * k2[0], v + dt / 2 * k2[1], tau)
        k4 = rates(q + dt * k3[0], v + dt * k3[1], tau)
        q, v = (y + dt / 6 * (a + 2 * b + 2 * c + d) for y, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
        all_q.append(q)
        all_v.append(v)
    return np.stack(all_q, axis=1), np.stack(all_v, axis=1)


# ---- motion


def test_steps_are_those_of_runge_kutta_with_held_forces() -> None:
    model, rng = arm(), np.random.default_rng(0)
    state, u = starts(model, 11), rng.normal(size=(11, 20, 3))
    r = da.rollout(model, state, u, 0.01)
    q, v = held_rk4(model, state.q, state.v, u, 0.01)
    assert r.success and r.q.shape == (11, 21, 3)
    np.testing.assert_allclose(r.q, q, rtol=0, atol=1e-12)  # the same operations in another order
    np.testing.assert_allclose(r.v, v, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_rollout_has_the_bits_of_an_ensemble_with_a_hold_law(method: str) -> None:
    rng = np.random.default_rng(1)
    u, model = 3 * rng.normal(size=(4, 25)), motor()
    state = starts(model, 4)
    r = da.rollout(model, state, {"motor.u": u}, 0.02, method=method)
    held = motor(da.ZeroOrderHold(r.t, np.append(u[2], 0.0)))
    start = da.State(q=state.q[2:3], v=state.v[2:3])
    how: dict[str, Any] = {"method": method, "times": r.t} | ({"fixed_step": 0.02} if method == "rk4" else {})
    run = da.simulate(held, float(r.t[-1]), state=start, **how)
    assert isinstance(run, da.Ensemble)
    np.testing.assert_array_equal(run.q[0], r.q[2])
    np.testing.assert_array_equal(run.x[0], r.x[2])
    alone = da.simulate(held, float(r.t[-1]), state=da.State(q=state.q[2], v=state.v[2]), **how)
    np.testing.assert_allclose(alone.q, r.q[2], rtol=0, atol=1e-12)  # other rounding than in a SIMD batch


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("hold", ["zero", "linear"])
def test_runs_do_not_depend_on_their_neighbours(method: str, hold: str) -> None:
    model, rng = arm(), np.random.default_rng(2)
    state, u = starts(model, 10), rng.normal(size=(10, 12, 3))
    r = da.rollout(model, state, u, 0.02, method=method, hold=hold)
    for k in (0, 3, 9):
        one = da.rollout(model, da.State(q=state.q[k], v=state.v[k]), u[k], 0.02, method=method, hold=hold, threads=1)
        assert one.is_single and len(one) == 1
        np.testing.assert_array_equal(one.q[0], r.q[k])
        np.testing.assert_array_equal(one.v[0], r.v[k])


def test_zero_and_linear_hold_of_a_constant_inertia() -> None:
    s = da.System("disc", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disc", mass=1.0, inertia=(1, 1, 2)))
    u = np.array([1.0, 3.0, -2.0])
    zero = da.rollout(s, None, {"A": u}, 0.5)
    np.testing.assert_allclose(zero.v[0, :, 0], np.cumsum([0, *(0.5 * u / 2)]), rtol=1e-15)
    linear = da.rollout(s, None, {"A": u}, 0.5, hold="linear")
    np.testing.assert_allclose(linear.v[0, :, 0], np.cumsum([0, 0.5 * 2 / 2, 0.5 * 0.5 / 2]), rtol=1e-15)
    assert linear.q.shape == (1, 3, 1)


def test_loops_stay_closed_and_agree_with_error_control() -> None:
    (model, state), rng = bars(6), np.random.default_rng(3)
    u = {"A": 5 * rng.normal(size=(6, 30))}
    r = da.rollout(model, state, u, 0.02)
    flat = r.q.reshape(-1, model.nq)
    assert np.abs(model.constraint_residual(flat)).max() < 1e-13
    fine, exact = (
        da.rollout(model, state, u, 0.02, substeps=4),
        da.rollout(model, state, u, 0.02, method="dop853", rtol=1e-11),
    )
    errors = [np.abs(found.q - exact.q).max() for found in (r, fine)]
    assert errors[1] < 2e-7 and errors[0] / errors[1] > 100  # order 4: 256 for a quarter of the step


def test_joint_force_element_input_and_parameter_are_the_same_control() -> None:
    s = chain(2, axes="y")
    s.connect("by_number", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "joint_1")
    s.connect("by_law", da.Element("joint", "u", inputs={"u": da.Harmonic(0.0, 1.0)}, active=True), "joint_1")
    model, u = s.compile(), np.random.default_rng(4).normal(size=(3, 20))
    forces, number, law = (da.rollout(model, None, {name: u}, 0.02) for name in ("joint_1", "by_number.u", "by_law.u"))
    np.testing.assert_allclose(number.q, forces.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.q, forces.q, rtol=0, atol=1e-13)
    columns = da.rollout(model, None, u[..., None], 0.02, inputs=["by_law.u"])
    np.testing.assert_array_equal(columns.q, law.q)
    for name in ("by_number.u", "by_law.u"):
        np.testing.assert_array_equal(da.rollout(model, None, {name: u[1]}, 0.02).q[0], forces.q[1] * 0 + number.q[1])


def test_controls_of_one_run_serve_all_states_and_one_state_all_controls() -> None:
    model, rng = arm(), np.random.default_rng(5)
    state, u = starts(model, 3), rng.normal(size=(3, 8, 3))
    every = da.rollout(model, state, np.tile(u[0], (3, 1, 1)), 0.02)
    np.testing.assert_array_equal(da.rollout(model, state, u[0], 0.02).q, every.q)
    np.testing.assert_array_equal(da.rollout(model, state, u[:1], 0.02).q, every.q)
    one = da.rollout(model, da.State(q=state.q[0], v=state.v[0]), u, 0.02)
    np.testing.assert_array_equal(one.q[0], every.q[0])
    mixed = da.rollout(model, state, {"joint_1": u[0, :, 0], "joint_3": u[:, :, 2]}, 0.02)
    assert mixed.controls.shape == (3, 8, 2) and mixed.control_names == ("joint_1", "joint_3")


def test_parameters_of_each_run() -> None:
    model, u = arm(), np.random.default_rng(6).normal(size=(4, 10, 3))
    state = starts(model, 4)
    given = {"k.stiffness": np.array([1.0, 5.0, 9.0, 5.0]), "link_2.mass": np.array([1.0, 0.5, 0.7, 2.0])}
    r = da.rollout(model, state, u, 0.02, parameters=given)
    for k in range(4):
        own = {name: float(values[k]) for name, values in given.items()}
        single = da.rollout(model, da.State(q=state.q[k], v=state.v[k]), u[k], 0.02, parameters=own)
        np.testing.assert_allclose(single.q[0], r.q[k], rtol=0, atol=1e-13)


def test_outputs_are_those_of_single_runs_with_their_controls() -> None:
    model, u = arm(), np.random.default_rng(7).normal(size=(3, 6, 3))
    r = da.rollout(model, starts(model, 3), u, 0.02, outputs=["link_3.position", "joint_1.acceleration"])
    assert r.outputs["link_3.position"].shape == (3, 7, 3)
    for k in range(3):
        for name in r.outputs:
            np.testing.assert_allclose(r.outputs[name][k], r[k][name], rtol=0, atol=1e-12)
    rows = [0, 3, 6]
    forces = u[1, [0, 3, 5]]  # the last value holds at the end
    a = model.forward_dynamics(r.q[1, rows], r.v[1, rows], forces)
    np.testing.assert_allclose(r.outputs["joint_1.acceleration"][1, rows], a[:, 0], rtol=1e-12)


def test_actuators_clip_controls_as_in_simulate() -> None:
    s = da.System("clipped", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z", max_effort=2.0), s.ground, s.body("disc", mass=1.0, inertia=(1, 1, 2)))
    r = da.rollout(s, None, {"A": [[1.0, 10.0]]}, 0.5)
    np.testing.assert_allclose(r.v[0, :, 0], [0, 0.25, 0.75], rtol=1e-14)
    g = r.vjp(v=[[0], [0], [1.0]])
    np.testing.assert_allclose(g.controls[0, :, 0], [0.25, 0.0], rtol=1e-14)


# ---- runs that fail, and bad input


@pytest.mark.parametrize("name", ["joint_2", "k.stiffness"])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_run_with_a_value_that_is_not_finite_ends_there_by_name(method: str, name: str) -> None:
    model = arm()
    u = np.random.default_rng(8).uniform(1, 2, size=(9, 10))
    bad = u.copy()
    bad[4, 6] = np.nan
    state = starts(model, 9)
    good, r = (da.rollout(model, state, {name: values}, 0.02, method=method) for values in (u, bad))
    assert good.success and not r.success and r.status.count("finished") == 8 and r.status[4] == "failed"
    assert r.messages[4] == f"control '{name}' of run 4 is nan at t = 0.12 s" and "run 4" in r.message
    np.testing.assert_array_equal(r.q[5], good.q[5])
    np.testing.assert_array_equal(r.q[4, :7], good.q[4, :7])
    assert np.isnan(r.q[4, 7:]).all()
    if method == "rk4":
        g = r.vjp(q=np.ones(r.q.shape[1:]))
        assert np.isnan(g.q[4]).all() and np.isfinite(np.delete(g.q, 4, axis=0)).all() and "run 4" in g.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dt": -0.1}, "dt is -0.1; it must be positive"),
        ({"dt": float("nan")}, "dt"),
        ({"controls": {"joint_9": [1.0]}}, "did you mean"),
        ({"controls": {}}, "give one control or more"),
        ({"controls": np.zeros((4, 3, 2))}, r"give \(K, 3\) or \(B, K, 3\)"),
        ({"controls": {"joint_1": np.zeros((2, 4)), "joint_2": np.zeros((2, 5))}}, "as many values"),
        ({"controls": {"joint_1": np.zeros((2, 4)), "joint_2": np.zeros((3, 4))}}, "the same number of runs"),
        ({"controls": np.zeros((5, 4, 3)), "state": {"joint_1": [0.1, 0.2]}}, "number of runs"),
        ({"controls": np.zeros((0, 4, 3))}, "number of runs is 0"),
        ({"controls": {"joint_1": np.zeros((0, 4)), "joint_2": np.zeros(4)}}, "number of runs is 0"),
        ({"controls": np.zeros((4, 3)), "state": {"joint_1": np.zeros(0)}}, "number of runs is 0"),
        ({"controls": {"joint_1": [1.0]}, "inputs": ["joint_1"]}, "leave inputs out"),
        ({"controls": {"joint_1": "strong"}}, "give an array of numbers"),
        ({"controls": np.zeros((1, 3)), "hold": "linear"}, "both ends"),
        ({"hold": "cubic"}, "use 'zero'"),
        ({"method": "radau"}, "use 'rk4'"),
        ({"substeps": 0}, "give 1 or more"),
        ({"fixed_step": 0.5}, "at most dt"),
        ({"substeps": 2, "fixed_step": 0.01}, "not both"),
        ({"method": "dop853", "substeps": 2}, "has step control"),
        ({"threads": 0}, "give 1 or more"),
        ({"outputs": ["joint_1.colour"]}, "joint_1"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"state": None, "controls": np.zeros((4, 3)), "dt": 0.02} | change
    with pytest.raises(ModelError, match=words):
        da.rollout(arm(), **given)


def test_driven_joints_and_joints_that_close_loops_take_no_control() -> None:
    s = four_bar()
    model = s.compile()
    (cut,) = model.closure_names
    with pytest.raises(ModelError, match="closes a loop"):
        da.rollout(model, None, {cut: [1.0]}, 0.1)
    s.drive("A", speed=1.0)
    with pytest.raises(ModelError, match="driven"):
        da.rollout(s, None, {"A": [1.0]}, 0.1)


def test_friction_and_stops_agree_with_simulate_and_have_no_gradient() -> None:
    s = da.System("block", gravity=(0, 0, 0))
    s.connect(
        "X", da.Prismatic("x", friction=2.0, upper=0.3), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    )
    model = s.compile()
    u = np.array([[1.0, 5.0, 5.0, 5.0, -1.0], [6.0, 0.0, 0.0, 0.0, 0.0]])
    r = da.rollout(model, None, {"X": u}, 0.2)
    assert r.success and r.notes[0].startswith("run 0: X reached its upper limit 0.3 m")
    assert r.v[0, 1, 0] == 0.0 and r["X.stuck"][0, 0] == 1.0  # it sticks
    assert r["X.friction"][0, 0] == -1.0 and r[0]["X.friction"][0] == -1.0  # and friction holds the push
    for k in range(2):
        times = r.t

        def push(state: da.State, k: int = k, times: Array = times) -> list[float]:
            return [float(u[k, min(np.searchsorted(times, state.t, side="right") - 1, 4)])]

        one = da.simulate(
            model, float(r.t[-1]), control=push, times=r.t, discontinuity_times=r.t, method="rk4", fixed_step=0.2
        )
        np.testing.assert_allclose(r.q[k], one.q, rtol=0, atol=1e-9)
    with pytest.raises(GradientError, match=r"'X' have no derivative.*friction='smooth'"):
        r.vjp(v=np.ones(r.v.shape))


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_runs_with_friction_and_stops_depend_on_their_own_control_only(method: str) -> None:
    s = da.System("arm")
    last = s.ground
    for k in range(3):
        link = s.body(f"link{k}", da.rod(length=0.4, mass=1.0))
        joint = da.Revolute("yz"[k % 2], friction=0.3, lower=-1.2, upper=1.0, restitution=0.2)
        s.connect(f"J{k}", joint, last, link)
        last = link.at(0.4, 0, 0)
    model = s.compile()
    u = np.random.default_rng(3).normal(scale=3.0, size=(7, 10, 3))
    every = da.rollout(model, None, u, 0.05, method=method)
    assert every.success and every["J0.stuck"].any() and not every["J0.stuck"].all()
    one = da.rollout(model, None, u[4], 0.05, method=method, threads=1)
    np.testing.assert_array_equal(every.q[4], one.q[0])
    np.testing.assert_array_equal(every.v[4], one.v[0])
    two = da.rollout(model, None, u[::-1], 0.05, method=method, threads=2)
    np.testing.assert_array_equal(every.q, two.q[::-1])
    u[2, 6, 1] = np.nan
    broken = da.rollout(model, None, u, 0.05, method=method)
    assert broken.status == ("finished",) * 2 + ("failed",) + ("finished",) * 4
    assert broken.messages[2] == "control 'J1' of run 2 is nan at t = 0.3 s"
    others = [0, 1, 3, 4, 5, 6]
    np.testing.assert_array_equal(every.q[others], broken.q[others])
    assert np.isfinite(broken.q[2, :7]).all() and np.isnan(broken.q[2, 7:]).all()


def test_gradients_that_are_not_available_are_refused_by_name() -> None:
    model = arm()
    with pytest.raises(GradientError, match="method='rk4'"):
        da.rollout(model, None, np.zeros((4, 3)), 0.02, method="dop853").vjp()
    r = da.rollout(model, None, np.zeros((4, 3)), 0.02)
    with pytest.raises(ModelError, match="shape of q"):
        r.vjp(q=np.ones(3))
    with pytest.raises(ModelError, match="parameter"):
        r.vjp(parameters=("k.colour",))
    loop, state = bars(1)
    with pytest.raises(GradientError, match=r"da\.sensitivity"):
        da.rollout(loop, state, {"A": [0.0]}, 0.02).vjp(parameters=("B.first.x",))


# ---- gradients


def moved(model: da.Model, r: da.Rollout, dq: Array, dv: Array, dx: Array, by: float) -> da.State:
    """Return the start states of a rollout, moved along directions."""
    q = model.integrate(r.q[:, 0], by * dq)
    return da.State(q=q, v=r.v[:, 0] + by * dv, x=r.x[:, 0] + by * dx, t=float(r.t[0]))


def check_gradients(
    model: da.Model, state: da.State, controls: Any, dt: float, parameters: tuple[str, ...] = (), **how: Any
) -> None:
    """Compare gradients with central differences along random directions."""
    rng = np.random.default_rng(11)
    r = da.rollout(model, state, controls, dt, **how)
    assert r.success
    weights = [rng.normal(size=part.shape) for part in (r.q, r.v, r.x)]
    values = {name: r.controls[:, :, k] for k, name in enumerate(r.control_names)}

    def scalar(state: da.State, values: dict[str, Array], numbers: dict[str, float] | None = None) -> Array:
        found = da.rollout(model, state, values, dt, parameters=numbers, **how)
        parts = zip(weights, (found.q, found.v, found.x), strict=True)
        total: Array = sum((w * part).sum(axis=(1, 2)) for w, part in parts)
        return total

    g = r.vjp(q=weights[0], v=weights[1], x=weights[2], parameters=parameters)
    dq, dv, dx = (rng.normal(size=(len(r), size)) for size in (model.nv, model.nv, model.nx))
    if model.nc:  # along the loops; velocities are projected by the start
        P = model.constraint_jacobian(r.q[:, 0])
        dq -= np.einsum("bij,bj->bi", np.linalg.pinv(P) @ P, dq)
    expected = (g.q * dq).sum(axis=1) + (g.v * dv).sum(axis=1) + (g.x * dx).sum(axis=1)
    close(difference(lambda by: scalar(moved(model, r, dq, dv, dx, by), values)), expected)
    start = moved(model, r, dq, dv, dx, 0.0)
    for name in r.control_names:
        du = rng.normal(size=values[name].shape)
        along = difference(lambda by, name=name, du=du: scalar(start, {**values, name: values[name] + by * du}))
        close(along, (g.control(name) * du).sum(axis=1))
    for k, name in enumerate(parameters):
        number = float(model.parameters[model.parameter_names[name]])
        along = difference(lambda by, name=name, number=number: scalar(start, values, {name: number + by}))
        close(along, g.parameters[:, k])


def difference(function: Callable[[float], Array], h: float = 1e-4) -> Array:
    """Return the derivative of a function at 0 by central differences of order 4."""
    return (8 * (function(h) - function(-h)) - function(2 * h) + function(-2 * h)) / (12 * h)


def close(differences: Array, gradient: Array) -> None:
    """Compare to 1e-6 of the largest, which is what central differences resolve."""
    assert np.abs(differences - gradient).max() < 1e-6 * np.abs(differences).max()


@pytest.mark.parametrize("how", [{}, {"substeps": 3}, {"hold": "linear", "fixed_step": 0.008}])
def test_gradients_of_an_arm_agree_with_differences(how: dict[str, Any]) -> None:
    model = arm()
    u = np.random.default_rng(9).normal(size=(4, 15, 3))
    check_gradients(model, starts(model, 4), u, 0.02, ("k.stiffness", "link_2.mass", "gravity.z"), **how)


def test_gradients_with_attitudes_agree_with_differences() -> None:
    s = da.System("top and free body")
    top = s.body("top", mass=1.0, com=(0, 0, 0.3), inertia=(0.1, 0.12, 0.05))
    body = s.body("body", mass=1.0, inertia=(0.1, 0.2, 0.3))
    s.connect("S", da.Spherical(), s.ground, top)
    s.connect("F", da.Free(), s.ground, body)
    s.connect("line", da.SpringDamper(20.0, length=0.5), top.at(0, 0, 0.5), body.at(0.1, 0, 0))
    model = s.compile()
    rng = np.random.default_rng(10)
    controls = {"S": rng.normal(size=(3, 12, 3)), "F": rng.normal(size=(3, 12, 6))}
    check_gradients(model, model.random_state(0, size=3), controls, 0.03, ("top.mass", "line.stiffness"))


def test_gradients_with_element_states_agree_with_differences() -> None:
    model = motor()
    u = np.random.default_rng(12).normal(size=(3, 15))
    check_gradients(model, starts(model, 3), {"motor.u": u, "joint_2": u[::-1]}, 0.02, ("motor.c",))


def test_gradients_by_inputs_in_place_of_laws_agree_with_differences() -> None:
    model = motor(da.Harmonic(1.0, 2.0))
    u = np.random.default_rng(13).normal(size=(3, 15))
    check_gradients(model, starts(model, 3), {"motor.u": u}, 0.02)


@pytest.mark.parametrize("dt", [0.02, 0.1])
def test_gradients_with_loops_agree_with_differences(dt: float) -> None:
    model, state = bars(4)
    u = 5 * np.random.default_rng(14).normal(size=(4, 12))
    check_gradients(model, state, {"A": u}, dt, ("crank.mass", "coupler.mass", "gravity.y"))


def test_gradients_with_drives_agree_with_differences() -> None:
    s = chain(3, axes="y")
    s.drive("joint_1", position=da.Harmonic(0.3, 2.0))
    model = s.compile()
    u = np.random.default_rng(15).normal(size=(2, 12))
    state = da.start_state(model, {"joint_2": [0.2, 0.4]})
    r = da.rollout(model, state, {"joint_2": u}, 0.02)
    g = r.vjp(q=np.ones(r.q.shape))
    assert (g.q[:, 0] == 0).all() and (g.v[:, 0] == 0).all()  # the drive prescribes them
    for k in (1, 2):
        d = np.zeros((2, 3))
        d[:, k] = 1e-6
        found = [da.rollout(model, da.State(q=r.q[:, 0] + by * d, v=r.v[:, 0]), {"joint_2": u}, 0.02) for by in (1, -1)]
        close((found[0].q - found[1].q).sum(axis=(1, 2)) / 2e-6, g.q[:, k])


def test_gradients_of_a_flexible_arm_agree_with_differences() -> None:
    soft = da.Material(E=2e9, nu=0.3, density=7850.0)
    s = da.System("flexible arm")
    rod = s.body("rod", da.beam([[0, 0, 0], [1, 0, 0]], da.Section.circle(0.02), soft, elements=3))
    s.connect("A", da.Revolute("y", damping=0.1), s.ground, rod)
    model = s.compile()
    state = da.start_state(model, {"A": np.linspace(0.1, 0.4, 3)})
    u = 5 * np.random.default_rng(16).normal(size=(3, 10))
    check_gradients(model, da.State(q=state.q, v=state.v), {"A": u}, 1e-4, substeps=4)


def test_gradients_with_parameters_of_each_run() -> None:
    model, u = arm(), np.random.default_rng(17).normal(size=(3, 8, 3))
    state, masses = starts(model, 3), np.array([0.5, 1.0, 2.0])
    how: dict[str, Any] = {"q": np.ones((9, 3)), "parameters": ("k.stiffness", "link_2.mass")}
    g = da.rollout(model, state, u, 0.02, parameters={"link_2.mass": masses}).vjp(**how)
    for k in range(3):
        start = da.State(q=state.q[k], v=state.v[k])
        one = da.rollout(model, start, u[k], 0.02, parameters={"link_2.mass": float(masses[k])}).vjp(**how)
        np.testing.assert_allclose(one.parameters[0], g.parameters[k], rtol=1e-10)
        np.testing.assert_allclose(one.controls[0], g.controls[k], rtol=0, atol=1e-12)


def test_gradients_by_few_parameters_are_those_by_many() -> None:
    # few directions go by matrices of derivatives, many by a tape
    model = arm(12)
    state, u = starts(model, 2), 0.1 * np.random.default_rng(3).standard_normal((2, 4, 12))
    r = da.rollout(model, state, u, 0.02, substeps=2)
    few = ("link_3.mass",)
    others = (f"link_{k}.{part}" for k in range(1, 13) for part in ("mass", "com.x", "com.z"))
    many = (*few, *(name for name in others if name not in few))
    alone, among = (r.vjp(q=np.ones(r.q.shape), v=np.ones(r.v.shape), parameters=names) for names in (few, many))
    close(among.parameters[:, :1], alone.parameters)
    close(among.controls, alone.controls)
    close(among.q, alone.q)


def test_steepest_descent_along_the_gradient_reaches_a_target() -> None:
    model, target = arm(2), np.array([0.4, -0.3])
    u = np.zeros((1, 20, 2))
    costs = []
    for _ in range(25):
        r = da.rollout(model, None, u, 0.02)
        miss = r.q[:, -1] - target
        costs.append(float((miss**2).sum()))
        seed = np.zeros(r.q.shape)
        seed[:, -1] = 2 * miss
        slope = r.vjp(q=seed).controls
        u = u - slope * costs[-1] / (slope**2).sum()  # a Gauss-Newton length along it
    assert costs[-1] < 1e-3 * costs[0]


def _thrown(**data: float) -> da.Model:
    """Return a ball on a vertical line above the floor at zero."""
    s = da.System("ball")
    s.connect("P", da.Prismatic("z", **data), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
    s.initial("P", position=0.5)
    return s.compile()


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_events_act_in_each_run_as_in_simulate(method: str) -> None:
    model = _thrown()
    u = np.random.default_rng(2).normal(scale=4.0, size=(6, 20, 1))
    events = [
        da.Event("hit", "P.position", direction=-1, action="bounce 0.7"),
        da.Event("high", "P.position", value=0.25, direction=1, terminal=True),
    ]
    r = da.rollout(model, None, u, 0.05, method=method, events=events, outputs=["P.force"])
    assert r.success and {"finished", "event"} == set(r.status) and "ended by an event" in repr(r)
    how: dict[str, Any] = {"method": "rk4", "fixed_step": 0.05} if method == "rk4" else {"method": "dop853"}
    for k in range(6):
        push = da.ZeroOrderHold(r.t, [*u[k, :, 0], u[k, -1, 0]])
        s = model.system.copy()
        s.connect("push", da.Effort(push), "P")
        one = da.simulate(s, 1.0, times=r.t, discontinuity_times=r.t, events=events, **how)
        n = len(one.t)
        np.testing.assert_allclose(r.q[k, :n], one.q, rtol=0, atol=1e-9)
        assert np.isnan(r.q[k, n:]).all() and r.status[k] == one.status
        assert [e.name for e in r.events[k]] == [e.name for e in one.events]
        np.testing.assert_allclose([e.t for e in r.events[k]], [e.t for e in one.events], rtol=0, atol=1e-9)
        assert [e.name for e in r[k].events] == [e.name for e in one.events]
    lone = da.rollout(model, None, u[3], 0.05, method=method, events=events, threads=1)
    np.testing.assert_array_equal(lone.q[0], r.q[3])
    with pytest.raises(GradientError, match="'hit', 'high'"):
        r.vjp(q=np.ones(r.q.shape[1:]))


def test_runs_with_events_friction_and_bad_values_end_by_name() -> None:
    model = _thrown(friction=0.5, lower=-0.2)
    u = np.full((4, 10, 1), 9.81)
    u[1, 4] = np.nan
    u[2] = 30.0
    end = da.Event("high", "P.position", value=0.8, terminal=True)
    r = da.rollout(model, None, u, 0.1, method="dop853", events=end)
    assert r.status == ("finished", "failed", "event", "finished")
    assert r.messages[1] == "control 'P' of run 1 is nan at t = 0.4 s" and "an event ended it" in r.messages[2]
    assert [[e.name for e in run] for run in r.events] == [[], [], ["high"], []]
    good = da.rollout(model, None, u[[0, 3]], 0.1, method="dop853", events=end)
    np.testing.assert_array_equal(r.q[[0, 3]], good.q)
    with pytest.raises(ModelError, match=r"events is \['f'\]; give outputs by name or formula"):
        da.rollout(model, None, u, 0.1, events=da.Event("f", lambda state: state.q[0]))
    lock = da.Event("low", "P.position", value=0.2, action=da.Lock("P"))  # beside friction it is applied in Python
    r = da.rollout(model, None, np.zeros((2, 10, 1)), 0.1, method="dop853", events=lock)
    assert r.success and any("were repeated" in note for note in r.notes)
    np.testing.assert_allclose(r.q[:, -1, 0], 0.2, rtol=0, atol=1e-8)
    assert [[e.name for e in run if e.name == "low"] for run in r.events] == [["low"]] * 2
