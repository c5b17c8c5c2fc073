"""The same load, read in every way: by result, kernel, input of an element, rates of momentum; and for any cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_loops import ClosedSystem, planar_loop, random_closed_system, random_loop
from systems.random_trees import random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.joints import Joint, Revolute, Spherical, Universal

Array = NDArray[np.float64]

SPAN, STEP = 0.1, 1e-3


def with_springs(system: da.System, rng: np.random.Generator) -> list[str]:
    """Put springs between random markers, and viscous damping at every joint; return the names of the springs."""
    bodies = [system.ground, *system.bodies.values()]
    for k in range(3):
        i, j = rng.choice(len(bodies), 2, replace=False)
        ends = (random_marker(bodies[i], rng), random_marker(bodies[j], rng))
        system.connect(f"s{k}", da.SpringDamper(float(rng.uniform(1, 5)), damping=0.3, length=0.5), *ends)
    for connection in system.connections.values():
        if isinstance(connection.element, Joint) and connection.element.nv:
            object.__setattr__(connection.element, "damping", rng.uniform(0.1, 0.5, connection.element.nv))
    return ["s0", "s1", "s2"]


def a_tree(rng: np.random.Generator) -> tuple[da.System, Callable[[da.Model], tuple[Array, Array]]]:
    system = random_system(rng, 5)
    q, v = random_state(system, rng)
    return system, lambda model: (q, 0.5 * v)


def closed(case: ClosedSystem) -> tuple[da.System, Callable[[da.Model], tuple[Array, Array]]]:
    return case.system, case.state


CASES: dict[str, Callable[[np.random.Generator], tuple[da.System, Callable[[da.Model], tuple[Array, Array]]]]] = {
    "a tree": a_tree,
    "a loop": lambda rng: closed(random_loop(rng, [Revolute, Spherical, Universal, Revolute])),
    "a floating loop": lambda rng: closed(random_loop(rng, [Revolute, Spherical, Universal, Revolute], floating=True)),
    "a planar loop": lambda rng: closed(planar_loop(rng)),
    "several loops": lambda rng: closed(random_closed_system(rng, 6, 2)),
}


@pytest.fixture(params=[(name, seed) for name in CASES for seed in range(2)], ids=lambda case: f"{case[0]} {case[1]}")
def result(request: pytest.FixtureRequest) -> da.Result:
    name, seed = request.param
    rng = np.random.default_rng([seed, sorted(CASES).index(name)])
    system, state_of = CASES[name](rng)
    with_springs(system, rng)
    model = system.compile()
    q, v = state_of(model)
    times = SPAN / 2 + STEP * np.arange(-2, 3)
    return da.simulate(model, SPAN, state=da.State(q=q, v=v), times=times, rtol=1e-12, atol=1e-13)


def load_of(result: da.Result, connection: str) -> Array:
    """Return [moment; force] (n, 6) of a connection on its second marker, world axes."""
    return np.hstack([result[f"{connection}.moment"], result[f"{connection}.force"]])


def middle_rate(values: Array) -> Array:
    """Return the rate in the middle of five equally spaced times."""
    rate: Array = (values[0] - 8 * values[1] + 8 * values[3] - values[4]) / (12 * STEP)
    return rate


def test_loads_change_the_momentum_of_every_body(result: da.Result) -> None:
    """Of each body: loads of connections, springs and weight are the rates of its momenta about the origin."""
    model, system = result.model, result.model.system
    total = {name: np.zeros(6) for name in system.bodies} | {"ground": np.zeros(6)}
    size, q, v = 1.0, result.q[2], result.v[2]

    def push(body: str, at: Array, load: Array) -> None:
        total[body] += np.concatenate([load[:3] + np.cross(at, load[3:]), load[3:]])

    for name, connection in system.connections.items():
        place = model.pose(connection.second, q).position
        load = load_of(result, name)[2]
        size = max(size, float(np.abs(load).max()))
        push(connection.second.body.name, place, load)
        push(connection.first.body.name, place, -load)
    for force in system.forces.values():
        ends = (force.first, force.second)
        (p1, v1), (p2, v2) = ((model.pose(m, q).position, model.velocity(m, q, v)[3:]) for m in ends)
        length = float(np.linalg.norm(p2 - p1))
        along = (p2 - p1) / length
        spring = force.element
        pull = (spring.stiffness * (length - spring.length) + spring.damping * along @ (v2 - v1)) * along
        push(force.first.body.name, p1, np.concatenate([np.zeros(3), pull]))
        push(force.second.body.name, p2, np.concatenate([np.zeros(3), -pull]))
    for name, body in system.bodies.items():
        centre = body.at(*body.com)
        spins = np.array([model.velocity(centre, q, v) for q, v in zip(result.q, result.v, strict=True)])
        poses = [model.pose(centre, q) for q in result.q]
        linear = body.mass * spins[:, 3:]
        angular = np.array(
            [
                pose.rotation @ body.inertia @ pose.rotation.T @ w + np.cross(pose.position, p)
                for pose, w, p in zip(poses, spins[:, :3], linear, strict=True)
            ]
        )
        weight = body.mass * system.gravity
        push(name, poses[2].position, np.concatenate([np.zeros(3), weight]))
        rates = np.concatenate([middle_rate(angular), middle_rate(linear)])
        assert np.abs(total[name] - rates).max() < 1e-6 * size, name


def test_kernels_give_the_loads_of_the_result(result: da.Result) -> None:
    model = result.model
    for k, t in enumerate(result.t):
        loads = model.connection_loads(result.q[k], result.v[k], t=t)
        a = model.forward_dynamics(result.q[k], result.v[k], t=t)
        moved = da.inverse_dynamics(model, result.q[k], result.v[k], a, t=t).connection_loads()
        for name in model.connection_names:
            if name not in model.system.connections:
                continue  # a free joint that the forest added
            found = load_of(result, name)[k]
            size = 1.0 + np.abs(found).max()
            assert np.abs(loads[name] - found).max() < 1e-8 * size
            if result.is_determined(f"{name}.force").all() and result.is_determined(f"{name}.moment").all():
                assert np.abs(moved[name] - found).max() < 1e-6 * size


def test_an_input_gets_the_loads_of_the_result(result: da.Result) -> None:
    """An element that takes a reaction and gives nothing sees what the result shows, in axes of the second marker."""
    model = result.model
    rng = np.random.default_rng(0)
    names = [name for name in model.connection_names if name in model.system.connections]
    name = names[int(rng.integers(len(names)))]
    system = model.system.copy()
    parts = [f"{kind}.{axis}" for kind in ("moment", "force") for axis in "xyz"]
    inputs = {f"r{k}": da.Reaction(name, part) for k, part in enumerate(parts)}
    felt = da.Element("distance", "0", inputs=inputs, signals={f"y{k}": f"r{k}" for k in range(6)})
    system.connect("felt", felt, system.ground.at(0, 0, 9.0), next(iter(system.bodies.values())))
    twin = da.Result(system.compile(), result.t, result.q, result.v, result.x)
    second = model.system.connections[name].second
    for k in range(len(result.t)):
        R = model.pose(second, result.q[k]).rotation
        load = load_of(result, name)[k].reshape(2, 3) @ R
        seen = np.array([twin[f"felt.y{j}"][k] for j in range(6)]).reshape(2, 3)
        assert np.abs(seen - load).max() < 1e-8 * (1 + np.abs(load).max())


# ---- wherever the loop is cut


@pytest.mark.parametrize("kind", ["seven", "planar"])
def test_loads_do_not_depend_on_the_cut(kind: str) -> None:
    rng = np.random.default_rng(5)
    case = random_loop(rng, [Revolute] * 7) if kind == "seven" else planar_loop(rng)
    with_springs(case.system, rng)
    names = [name for name, c in case.system.connections.items() if isinstance(c.element, Joint)]
    seen = []
    for cut in names:
        system = case.system.copy()
        for name in names:
            if name != cut:
                system.connect(f"hold {name}", da.Effort(0.0), name)  # what something acts upon stays in the tree
        model = system.compile()
        assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == [cut]
        q, v = case.of(system).state(model)
        result = da.simulate(model, 0.05, state=da.State(q=q, v=v), times=[0.0, 0.05], rtol=1e-12, atol=1e-13)
        seen.append(np.array([load_of(result, name) for name in names]))
        for name in names:
            assert result[f"{name}.effort"] == pytest.approx(
                -case.system.connections[name].element.damping * result[f"{name}.speed"], abs=1e-8
            )
    for other in seen[1:]:
        assert np.abs(other - seen[0]).max() < 1e-6 * np.abs(seen[0]).max()
