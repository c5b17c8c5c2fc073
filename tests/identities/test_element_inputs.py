"""Elements with several ends, inputs, signals, unknowns, strains, tables and loads of connections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.elements import element_load
from systems.random_loops import random_closed_system, tree_state
from systems.random_trees import random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.joints import Prismatic, Revolute
from dalembert.result.outputs.motion import Motion
from dalembert.system import System

Array = NDArray[np.float64]


def differences(model: da.Model, t: float, q: Array, v: Array, x: Array, h: float = 1e-5) -> tuple[Array, Array]:
    """Return da/dq and da/dv by central differences along the tangent space."""

    def slope(f: Callable[[float], Array]) -> Array:
        far, near = (f(2 * h) - f(-2 * h)) / (4 * h), (f(h) - f(-h)) / (2 * h)
        return (4 * near - far) / 3

    axes = np.eye(model.nv)
    by_q = [slope(lambda e, d=d: model.dynamics(t, model.integrate(q, e * d), v, x).a) for d in axes]  # type: ignore[misc]
    by_v = [slope(lambda e, d=d: model.dynamics(t, q, v + e * d, x).a) for d in axes]  # type: ignore[misc]
    return np.array(by_q).T, np.array(by_v).T


def branched(seed: int, nb: int = 5) -> tuple[System, np.random.Generator, list[da.Marker]]:
    """Return a random tree of revolute and prismatic joints, and a marker on ground and on each of its bodies."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, nb, joints=(Revolute, Prismatic))
    return system, rng, [random_marker(body, rng) for body in (system.ground, *system.bodies.values())]


def wire_up(system: System, markers: list[da.Marker], rng: np.random.Generator) -> None:
    """Put elements into a system that measure, sense, signal, solve and look up."""
    joints = [name for name, c in system.connections.items() if isinstance(c.element, (Revolute, Prismatic))]
    x, y = np.linspace(-60, 60, 9), np.linspace(-40, 40, 7)
    table = da.Table(x, y, values=np.sin(0.1 * x)[:, None] * np.cos(0.1 * y) + 0.01 * rng.normal(size=(9, 7)))
    controller = da.Element(
        "distance", "-k*s + u", {"k": 1.3}, {"m": (0.2, "y - m")}, energy="k*s**2/2",
        inputs={"y": f"{joints[0]}.position", "u": da.Harmonic(0.4, 2.0)},
        signals={"out": "sin(m) + 0.3*ds + 0.1*y", "slow": "m**2"},
    )  # fmt: skip
    system.connect("controller", controller, markers[1], markers[3])
    rate = da.Sensor(markers[2], markers[4], "wy")
    follower = da.Element(
        "joint", "-c*ds + 0.7*a*b + 0.2*tab(s, w)", {"c": 0.4},
        inputs={"a": "controller.out", "b": "controller.slow", "w": rate, "m": "controller.m"},
        signals={"mix": "a*w + m"}, tables={"tab": table}, active=True,
    )  # fmt: skip
    system.connect("follower", follower, joints[1])
    triangle = da.Element(
        ("place", "pose"),
        ["-k*x1 + mix", "-k*y1", "-k*z1", "-k*x2 - wx2", "-k*y2", "-k*z2*x1", "-rx2", "-c*wy2", "-rz2*u"],
        {"k": 0.8, "c": 0.3},
        inputs={"mix": "follower.mix"},
        unknowns={"u": ("0.1*x1", "u + 0.2*u**3 - x1*x2 - 0.1*wz2")},
        signals={"solution": "2*u"},
    )
    system.connect("triangle", triangle, markers[0], markers[2], markers[5])
    two = da.Element(
        ("joint", "joint"), ["-k*(s1 - 2*s2)*v", "2*k*(s1 - 2*s2)"], {"k": 0.5}, inputs={"v": "triangle.solution"}
    )
    system.connect("two", two, joints[2], joints[0])


@pytest.mark.parametrize("seed", range(5))
def test_core_agrees_with_outputs_by_name(seed: int) -> None:
    system, rng, markers = branched(seed)
    wire_up(system, markers, rng)
    model = system.compile()
    q, v = (np.array(part) for part in zip(*(random_state(system, rng) for _ in range(4)), strict=True))
    t, x = rng.uniform(0, 2, 4), rng.normal(size=(4, model.nx))
    motion = Motion(model, t, q, v, x)
    expected_tau, expected_loads = np.zeros((4, model.nv)), np.zeros((4, model.nb, 6))
    for force in system.forces.values():
        for port, (joint, coordinate) in enumerate(force.joint_coordinates):
            expected_tau[:, model.v_slice(joint.name).start + coordinate] += element_load(motion, force, port)
        for port, end in enumerate(force.ends[1:]):
            load = element_load(motion, force, port)
            point = model.pose(end, q).position
            for marker, sign in ((end, 1.0), (force.ends[0], -1.0)):
                number = model.forest.number[marker.body.name]
                if number:
                    arm = point - model.pose(marker.body, q).position
                    expected_loads[:, number - 1, :3] += sign * (load[:, :3] + np.cross(arm, load[:, 3:]))
                    expected_loads[:, number - 1, 3:] += sign * load[:, 3:]
    tau, loads = model.applied_loads(t, q, v, x)
    np.testing.assert_allclose(tau, expected_tau, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(loads, expected_loads, rtol=1e-12, atol=1e-11)
    rate = model.dynamics(t, q, v, x).dx[:, 0]
    first = next(iter(system.connections))
    np.testing.assert_allclose(rate, motion.q[:, model.q_slice(first).start] - x[:, 0], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_are_exact(seed: int) -> None:
    system, rng, markers = branched(seed)
    wire_up(system, markers, rng)
    model = system.compile()
    q, v = random_state(system, rng)
    x = rng.normal(size=model.nx)
    by_q, by_v, *_ = model.d_dynamics(0.3, q, v, x).a
    near_q, near_v = differences(model, 0.3, q, v, x)
    scale = 1 + np.abs(near_q).max() + np.abs(near_v).max()
    np.testing.assert_allclose(by_q, near_q, atol=2e-8 * scale)
    np.testing.assert_allclose(by_v, near_v, atol=2e-8 * scale)


@pytest.mark.parametrize("seed", range(3))
def test_power_balance_closes(seed: int) -> None:
    system, rng, markers = branched(seed, 5)
    wire_up(system, markers, rng)
    result = da.simulate(system, 0.5, rtol=1e-10, atol=1e-12)
    balance = result["energy.balance"]
    assert np.abs(balance).max() < 1e-7 * (1 + np.abs(result["energy.total"]).max())


@pytest.mark.parametrize("seed", range(3))
def test_simd_batches_run_as_one_by_one(seed: int) -> None:
    """Elements without states run in lanes: signals, sensors, unknowns and tables in packs."""
    system, rng, markers = branched(seed)
    joints = list(system.connections)
    table = da.Table(np.linspace(-60, 60, 9), values=np.tanh(np.linspace(-3, 3, 9)))
    giver = da.Element("place", ["-x", "-y", "-u"], unknowns={"u": (0.0, "u + u**3 - z")}, signals={"w": "u*x"})
    system.connect("giver", giver, markers[0], markers[2])
    inputs = {"w": "giver.w", "y": da.Sensor(markers[1], markers[3])}
    taker = da.Element("joint", "-s + w - f(y)", inputs=inputs, tables={"f": table})
    system.connect("taker", taker, joints[0])
    model = system.compile()
    states = [random_state(system, rng) for _ in range(6)]
    q, v = (np.array(part) for part in zip(*states, strict=True))
    times = [0.0, 0.1, 0.2]
    many = da.simulate(model, 0.2, state=da.State(q=q, v=v), times=times, rtol=1e-9)
    for k in range(6):
        one = da.simulate(model, 0.2, state=da.State(q=q[k], v=v[k]), times=times, rtol=1e-9, method="dop853")
        np.testing.assert_allclose(many.q[k], one.q, rtol=1e-7, atol=1e-7)


# ---- loads that depend on what connections transmit


@pytest.mark.parametrize("seed", range(4))
def test_transmitted_loads_are_those_of_the_result_on_trees(seed: int) -> None:
    system, rng, _ = branched(seed)
    joints = list(system.connections)
    parts = ("force.x", "force.y", "force.z", "moment.y")
    inputs = {f"f{k}": da.Reaction(joint, part) for k, (joint, part) in enumerate(zip(joints, parts, strict=False))}
    law = da.Element(
        "joint",
        "-0.1*sqrt(0.1 + f0**2 + f1**2)*tanh(ds) + 0.05*sin(f2) - 0.02*f3",
        inputs=inputs,
        signals={"load": "f0"},
    )
    system.connect("friction", law, joints[1])
    model = system.compile()
    q, v = (np.array(part) for part in zip(*(random_state(system, rng) for _ in range(3)), strict=True))
    motion = Motion(model, np.zeros(3), q, v, np.zeros((3, 0)))
    # the effort is computed from the loads of the result in NumPy, the one of the core from its own
    place = model.v_slice(joints[1]).start
    tau, _ = model.applied_loads(np.zeros(3), q, v)
    np.testing.assert_allclose(tau[:, place], element_load(motion, system.forces["friction"]), rtol=1e-9, atol=1e-9)
    assert np.abs(tau[:, place]).max() > 1e-2


@pytest.mark.parametrize("seed", range(4))
def test_transmitted_loads_are_those_of_the_result_in_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = (Revolute, Prismatic, da.Cylindrical, da.Universal)
    closed = random_closed_system(
        rng, 6, 1, joints=kinds, loop_constraint_joints=(da.Spherical, da.Universal, Revolute)
    )
    system = closed.system
    model = system.compile()
    loop_constraint, joint = model.forest.loop_constraints[0].name, model.joint_names[0]
    bodies = list(system.bodies.values())
    inputs = {"n": da.Reaction(loop_constraint, "force.x"), "m": da.Reaction(joint, "force.z")}
    law = da.Element("distance", "-0.2*sqrt(1 + n**2)*tanh(ds) + 0.1*cos(m)", inputs=inputs)
    system.connect("friction", law, random_marker(system.ground, rng), random_marker(bodies[-1], rng))
    model = system.compile()
    q, v = tree_state(system, model.forest, closed.R, closed.p, closed.V)
    motion = Motion(model, [0.0], q[None], v[None], np.zeros((1, 0)))
    assert model.nv > np.linalg.matrix_rank(model.constraint_jacobian(q))
    _, loads = model.applied_loads(0.0, q, v)
    number = model.forest.number[bodies[-1].name]
    np.testing.assert_allclose(
        loads[number - 1, 3:], element_load(motion, system.forces["friction"])[0, 3:], rtol=1e-8, atol=1e-8
    )


def test_friction_by_load_on_an_incline_and_in_a_bearing() -> None:
    """A journal of radius r, friction mu r |F|: with steady whirl, deceleration by the load that speed itself makes."""
    mu, r, mass, arm = 0.3, 0.02, 2.0, 0.1
    s = da.System("journal", gravity=(0, 0, 0))
    rotor = s.body("rotor", mass=mass, com=(arm, 0, 0), inertia=(0.01, 0.02, 0.02))
    s.connect("bearing", da.Revolute("z"), s.ground, rotor)
    inputs = {axis: da.Reaction("bearing", f"force.{axis}") for axis in "xy"}
    law = da.Element("joint", "-mu*r*sqrt(x**2 + y**2)", {"mu": mu, "r": r}, inputs=inputs)
    s.connect("friction", law, "bearing")
    s.initial("bearing", speed=30.0)
    result = da.simulate(s, 2.0, rtol=1e-10, atol=1e-12)
    inertia = 0.02 + mass * arm**2
    # |F| = m a sqrt(w^4 + w'^2) and I w' = -mu r |F|: w' = -k w^2 with k = b / sqrt(1 - b^2), b = mu r m a / I
    b = mu * r * mass * arm / inertia
    k = b / np.sqrt(1 - b**2)
    np.testing.assert_allclose(result["bearing.speed"], 30.0 / (1 + 30.0 * k * result.t), rtol=1e-8)


def test_loads_that_cannot_be_found_are_named() -> None:
    s = da.System("impossible", gravity=(0, 0, -9.81))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    law = da.Element("place", ["0", "0", "20 - n"], inputs={"n": da.Reaction("slide", "force.z")}, active=True)
    s.connect("grip", law, s.ground, block)
    with pytest.raises(da.DalembertError, match=r"'grip'.*have no solution"):
        da.simulate(s, 0.1)
    with pytest.raises(da.ModelError, match="alpha"):
        da.simulate(s, 0.1, method="alpha", fixed_step=0.01)


# ---- laws described in other ways


@pytest.mark.parametrize("seed", range(3))
def test_forces_from_an_energy(seed: int) -> None:
    """The gradient in the rotation vector, turned into moments: what is stored and what is done add up."""
    system, rng, markers = branched(seed)
    energy = "k*(1 - cos(rx)*cos(0.3*y)) + (x**2 + y*z + z**2)/2 + rx*ry + rz**2 + 0.2*sin(rz + x)"
    system.connect("held", da.Element("pose", None, {"k": 2.0}, energy=energy), markers[1], markers[4])
    model = system.compile()
    q, v = random_state(system, rng)
    stored = lambda h: model.force_energy(0.0, model.integrate(q, h * v), v).stored  # noqa: E731
    h = 1e-5
    rate = (4 * (stored(h) - stored(-h)) / (2 * h) - (stored(2 * h) - stored(-2 * h)) / (4 * h)) / 3
    tau, loads = model.applied_loads(0.0, q, v)
    velocities = np.array([model.velocity(body, q, v) for body in system.bodies.values()])
    order = [model.forest.number[name] - 1 for name in system.bodies]
    power = float(tau @ v + (loads[order] * velocities).sum())
    assert power == pytest.approx(-rate, rel=1e-7, abs=1e-7)
    assert model.force_energy(0.0, q, v).dissipated == pytest.approx(0.0, abs=1e-10)


def test_strains_make_the_loads_of_an_elastic_bar() -> None:
    """Sol 1983, (3.4.13)-(3.4.16): the bar by its strain is the spring of the library."""
    forces = []
    for element in (
        da.SpringDamper(40.0, 3.0, 0.7),
        da.Element("place", "-k*e - c*de", {"k": 40.0, "c": 3.0, "l": 0.7}, energy="k*e**2/2",
                   strains={"e": "sqrt(x**2 + y**2 + z**2) - l"}),
    ):  # fmt: skip
        system, _, markers = branched(11)
        system.connect("bar", element, markers[1], markers[4])
        model = system.compile()
        state = random_state(system, np.random.default_rng(5))
        forces.append((model.dynamics(0.0, *state).a, model.force_energy(0.0, *state)))
    np.testing.assert_allclose(forces[0][0], forces[1][0], rtol=1e-11)
    np.testing.assert_allclose(forces[0][1], forces[1][1], rtol=1e-11)


def test_strains_that_repeat_each_other_are_refused() -> None:
    with pytest.raises(da.ModelError, match="only 1 of 2 are independent"):
        da.Element("place", ["-a", "-b"], strains={"a": "x + y", "b": "2*x + 2*y"})


def test_springs_in_series_find_their_middle() -> None:
    """Sol 1983, section 7.3: two springs with a massless node between them."""
    k1, k2, l1, l2 = 300.0, 120.0, 0.3, 0.5
    series = da.Element(
        "distance", "-k1*(u - l1)", {"k1": k1, "k2": k2, "l1": l1, "l2": l2},
        unknowns={"u": ("s/2", "k1*(u - l1) - k2*(s - u - l2)")},
        energy="k1*(u - l1)**2/2 + k2*(s - u - l2)**2/2", signals={"middle": "u"},
    )  # fmt: skip
    k = k1 * k2 / (k1 + k2)
    results = []
    for element in (series, da.SpringDamper(k, 0.0, l1 + l2)):
        s = da.System("series", gravity=(0, 0, -9.81))
        ball = s.body("ball", da.sphere(0.05, mass=1.0))
        s.connect("free", da.Free(), s.ground, ball)
        s.initial("free", position=(1, 0, 0, 0, 0.6, 0.1, -0.5), speed=(0, 0, 0, 0.2, 1.0, 0.0))
        s.connect("spring", element, s.ground, ball)
        results.append(da.simulate(s, 2.0, rtol=1e-11, atol=1e-12, times=np.linspace(0, 2, 21)))
    np.testing.assert_allclose(results[0]["ball.position"], results[1]["ball.position"], atol=1e-9)
    np.testing.assert_allclose(results[0]["energy.total"], results[1]["energy.total"], atol=1e-9)
    stretch = np.linalg.norm(results[0]["ball.position"], axis=1)
    np.testing.assert_allclose(results[0]["spring.middle"], l1 + k2 * (stretch - l1 - l2) / (k1 + k2), rtol=1e-12)


def test_an_equilibrium_that_does_not_exist_is_named() -> None:
    s = da.System("none", gravity=(0, 0, -9.81))
    ball = s.body("ball", da.sphere(0.05, mass=1.0))
    s.connect("free", da.Free(), s.ground, ball)
    law = da.Element("place", ["0", "0", "u"], unknowns={"u": (1.0, "u**2 + 1 - 4*t")})
    s.connect("odd", law, s.ground, ball)
    with pytest.raises(da.DalembertError, match=r"'odd' has no solution for its unknowns u"):
        da.simulate(s, 1.0)


# ---- what was before


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_a_delay_is_that_of_the_method_of_steps(tau: float) -> None:
    """x'' = -x'(t - tau): v(t) = sum of (-1)^n (t - (n-1) tau)^n / n! while t > (n-1) tau, for v = 1 before."""
    from math import factorial

    s = da.System("late", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("slide", da.Prismatic("x"), s.ground, block)
    s.initial("slide", speed=1.0)
    law = da.Element("joint", "-late", inputs={"late": da.Delay("slide.speed", tau, before=1.0)}, active=True)
    s.connect("brake", law, "slide")
    result = da.simulate(s, 4.0, rtol=1e-9, atol=1e-11)
    t = result.t
    expected = np.ones_like(t)
    for n in range(1, 40):
        begun = t > (n - 1) * tau
        expected += np.where(begun, (-1) ** n * np.where(begun, t - (n - 1) * tau, 0.0) ** n / factorial(n), 0.0)
    np.testing.assert_allclose(result["slide.speed"], expected, atol=2e-6)
    late = result["brake.effort"]
    interpolated = -np.interp(t - tau, t, expected, left=1.0)
    np.testing.assert_allclose(late, interpolated, atol=1e-3)  # linear between samples


# ---- loops of signals


def signal_pair(first: str, second: str) -> System:
    s = da.System("pair")
    body = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0))
    other = s.body("other", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("a", da.Revolute("z"), s.ground, body)
    s.connect("b", da.Revolute("x"), body, other)
    states = {"m": (0.0, "u - m")}
    s.connect("one", da.Element("joint", "-u", states=states, inputs={"u": "two.y"}, signals={"y": first}), "a")
    s.connect("two", da.Element("joint", "-u", states=states, inputs={"u": "one.y"}, signals={"y": second}), "b")
    return s


def test_an_algebraic_loop_is_named() -> None:
    with pytest.raises(da.TopologyError, match=r"algebraic loop: .*one\.y.*two\.y|algebraic loop: .*two\.y.*one\.y"):
        signal_pair("2*u + s", "u**2").compile()


def test_a_loop_through_a_state_is_none() -> None:
    model = signal_pair("m + s", "u**2").compile()
    q, v, x = np.array([0.3, -0.2]), np.zeros(2), np.array([0.5, 0.1])
    y_one = 0.5 + 0.3
    dynamics = model.dynamics(0.0, q, v, x)
    np.testing.assert_allclose(dynamics.dx, [y_one**2 - 0.5, y_one - 0.1], rtol=1e-13)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a.acceleration", "algebraic loop"),
        ("body.position", "name a component"),
        ("nobody.speed", "output"),
        ("one.k", "parameter"),
    ],
)
def test_inputs_that_cannot_be_are_named(source: str, words: str) -> None:
    s = da.System("odd")
    body = s.body("body", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("a", da.Revolute("z"), s.ground, body)
    s.connect("one", da.Element("joint", "-k*u", {"k": 1.0}, inputs={"u": source}), "a")
    with pytest.raises(da.DalembertError, match=words):
        s.compile()


def test_a_force_of_an_element_is_no_input_of_another() -> None:
    s = da.System("circle")
    s.connect("a", da.Revolute("y"), s.ground, s.body("body", da.rod(1.0, 1.0)))
    s.connect("brake", da.TorsionSpring(stiffness=3.0, damping=0.1), "a")
    s.connect("filter", da.SignalBlock({"y": "z"}, inputs={"u": "brake.effort"}, states={"z": (0.0, "u - z")}))
    with pytest.raises(da.TopologyError, match=r"'filter': its input 'brake.effort' depends on forces.*signal"):
        da.simulate(s, 0.1)


def test_any_output_may_feed_an_element() -> None:
    """Python computes what the core does not: height of a point on the body, and energy."""
    s = da.System("fed", gravity=(0, 0, -9.81))
    body = s.body("body", da.box(0.1, 0.1, 0.4, mass=1.0))
    s.connect("a", da.Revolute("y"), s.ground, body.marker("top", 0, 0, 0.2))
    s.initial("a", position=0.4)
    inputs = {"h": "body.position.z", "e": "energy.kinetic"}
    s.connect("push", da.Element("joint", "h*ds - 0.1*e", inputs=inputs), "a")
    result = da.simulate(s, 0.5)
    expected = result["body.position"][:, 2] * result["a.speed"] - 0.1 * result["energy.kinetic"]
    np.testing.assert_allclose(result["push.effort"], expected, rtol=1e-12)
    assert np.abs(result["energy.balance"]).max() < 1e-6
