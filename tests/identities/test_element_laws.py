"""Laws of elements in random systems: derivatives, power, action and reaction, objectivity, energy, lanes, states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_loops import random_closed_system
from systems.random_trees import COORDINATE_JOINTS, random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.joints import Joint, Prismatic, Revolute
from dalembert.model.law_inputs import law_inputs
from dalembert.system import System

Array = NDArray[np.float64]
MEASURES = ("joint", "distance", "place", "pose")


def random_element(measure: str, rng: np.random.Generator, *, energy: bool = False) -> da.Element:
    """Return an element whose law uses everything it may use; with `energy`, one that stores and dissipates."""
    k, c, g = (float(x) for x in rng.uniform(0.5, 2.0, size=3))
    numbers = {"k": k, "c": c, "g": g}
    s, rate = da.Element(measure, [0.0] * {"place": 3, "pose": 6}.get(measure, 1)).measured
    if energy:
        if measure == "pose":  # moments that depend on the attitude are no gradient in the rotation vector
            forces = [f"-k*{a} - c*{b}*abs({b})" for a, b in zip(s[:3], rate[:3], strict=True)]
            forces += [f"-c*{b}" for b in rate[3:]]
            return da.Element(measure, forces, numbers, energy="k*(x**2 + y**2 + z**2)/2")
        forces = [f"-k*{a} - c*{b}" for a, b in zip(s, rate, strict=True)]
        forces[0] += f" - g*({s[0]} - m)"
        stored = "+".join(f"k*{a}**2/2" for a in s) + f" + g*({s[0]} - m)**2/2"
        return da.Element(measure, forces, numbers, {"m": (0.1, f"2*({s[0]} - m)")}, stored)
    mix = "+".join(f"sin({a} + 0.3*{k})" for k, a in enumerate(s))
    forces = [f"-k*{a} - c*tanh({b}) + 0.3*m*({mix}) + 0.2*{a}*{b} + g*cos(t)" for a, b in zip(s, rate, strict=True)]
    return da.Element(measure, forces, numbers, {"m": (0.4, f"-m + {mix}*g + {rate[0]}")})


def add_elements(system: System, rng: np.random.Generator, measures: tuple[str, ...], **options: Any) -> None:
    """Put an element of each measure somewhere into a system."""
    bodies = [system.ground, *system.bodies.values()]
    for measure in measures:
        element = random_element(measure, rng, **options)
        if measure != "joint":
            first, second = rng.choice(len(bodies), size=2, replace=False)
            system.connect(
                f"e_{measure}", element, random_marker(bodies[first], rng), random_marker(bodies[second], rng)
            )
            continue
        kinds = (Revolute, Prismatic)
        names = [c.name for c in system.connections.values() if isinstance(c.element, kinds)]
        if names:
            system.connect("e_joint", element, names[int(rng.integers(len(names)))])


def differences(model: da.Model, t: float, q: Array, v: Array, x: Array, h: float = 1e-5) -> tuple[Array, Array]:
    """Return da/dq and da/dv by central differences along the tangent space."""
    I = np.eye(model.nv)  # noqa: E741

    def accelerations(q: Array, v: Array) -> Array:
        return model.dynamics(t, q, v, x).a

    def slope(f: Any) -> Array:
        far, near = (f(2 * h) - f(-2 * h)) / (4 * h), (f(h) - f(-h)) / (2 * h)
        return (4 * near - far) / 3

    by_q = [slope(lambda e, d=d: accelerations(model.integrate(q, e * d), v)) for d in I]
    by_v = [slope(lambda e, d=d: accelerations(q, v + e * d)) for d in I]
    return np.array(by_q).T, np.array(by_v).T


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_derivatives_on_trees(measure: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds: tuple[type[Joint], ...] = (Revolute, Prismatic) if measure == "joint" else COORDINATE_JOINTS
    system = random_system(rng, 5, joints=kinds)
    q, v = random_state(system, rng)
    add_elements(system, rng, (measure,))
    model = system.compile()
    x = rng.normal(size=model.nx)
    assert model.nx == 1
    for exact, rough in zip(model.d_dynamics(0.3, q, v, x).a[:2], differences(model, 0.3, q, v, x), strict=True):
        assert np.abs(exact - rough).max() < 1e-6 * (1 + np.abs(exact).max())


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_with_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 1)
    add_elements(closed.system, rng, ("distance", "place", "pose"))
    model = closed.system.compile()
    q, v = closed.state(model)
    x = rng.normal(size=model.nx)
    for exact, rough in zip(model.d_dynamics(0.3, q, v, x).a[:2], differences(model, 0.3, q, v, x), strict=True):
        assert np.abs(exact - rough).max() < 1e-5 * (1 + np.abs(exact).max())


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_power_is_force_times_rate(measure: str, seed: int) -> None:
    """The loads, on the bodies' velocities, have the power of the law's answers on the measured rates."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, joints=(Revolute, Prismatic) if measure == "joint" else (da.Free, da.Spherical))
    q, v = random_state(system, rng)
    add_elements(system, rng, (measure,))
    model = system.compile()
    x = rng.normal(size=model.nx)
    tau, loads = model.applied_loads(0.2, q, v, x)
    velocities = model.velocities(q, v)
    power = tau @ v + np.sum(loads * velocities)
    force = system.forces[f"e_{measure}"]
    element: Any = force.element
    inputs = law_inputs(model, force.name, np.array([0.2]), q[None], v[None], x[None])
    m = element.measures
    answer = element.evaluate(inputs)[0, :m]
    assert power == pytest.approx(answer @ inputs[0, 1 + m : 1 + 2 * m], rel=1e-10, abs=1e-10)
    assert model.force_energy(0.2, q, v, x).dissipated == pytest.approx(-power, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("measure", ["distance", "place", "pose"])
def test_rates_are_rates(measure: str) -> None:
    """What is measured changes by the measured rates; of the attitude, by way of the rotation matrix."""
    rng = np.random.default_rng(3)
    system = random_system(rng, 4, joints=(da.Free, Revolute))
    q, v = random_state(system, rng)
    add_elements(system, rng, (measure,))
    model = system.compile()
    force = system.forces[f"e_{measure}"]
    m = {"distance": 1, "place": 3, "pose": 3}[measure]

    def measured(h: float) -> Array:
        moved = model.integrate(q, h * v)
        return law_inputs(model, force.name, np.zeros(1), moved[None], v[None], np.zeros((1, 1)))[0]

    rate = (measured(1e-5) - measured(-1e-5))[1 : 1 + m] / 2e-5
    first = 1 + force.element.measures  # type: ignore[attr-defined]
    assert measured(0.0)[first : first + m] == pytest.approx(rate, abs=1e-8)


@pytest.mark.parametrize("measure", ["distance", "place", "pose"])
@pytest.mark.parametrize("seed", range(3))
def test_action_is_reaction(measure: str, seed: int) -> None:
    """The loads of an element between two bodies have no resultant, neither force nor moment."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 2, joints=(da.Free,))
    bodies = list(system.bodies.values())
    system.connect("e", random_element(measure, rng), *(random_marker(body, rng) for body in bodies))
    model = system.compile()
    q, v = random_state(system, rng)
    _, loads = model.applied_loads(0.1, q, v)
    moments, forces = loads[:, :3], loads[:, 3:]
    places = model.poses(q).position
    assert np.abs(forces).max() > 1e-2
    assert forces.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert (moments + np.cross(places, forces)).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)


def test_momentum_of_free_bodies_stays() -> None:
    system = da.System("two", gravity=(0, 0, 0))
    bodies = [system.body(f"b{k}", da.box(0.3, 0.2, 0.1, mass=1.0 + k)) for k in range(2)]
    for k, body in enumerate(bodies):
        system.connect(f"free {k}", da.Free(), system.ground, body)
    system.connect("e", random_element("distance", np.random.default_rng(0)), bodies[0].at(0, 0.1, 0), bodies[1])
    model = system.compile()
    q, v = random_state(system, np.random.default_rng(1))
    result = da.simulate(model, 0.5, state=da.State(q=q, v=v), times=[0.0, 0.25, 0.5])
    momentum = model.momentum(result.q, result.v, about=(0, 0, 0))
    assert np.abs(momentum - momentum[0]).max() < 1e-7
    assert np.abs(result.v[-1] - result.v[0]).max() > 1e-2


@pytest.mark.parametrize("measure", ["distance", "place", "pose"])
def test_laws_are_objective(measure: str) -> None:
    """Turn, shift and spin everything about the world: loads turn along, powers of relative motion stay."""
    rng = np.random.default_rng(5)
    system = da.System("objective", gravity=(0, 0, 0))
    carrier = system.body("carrier", da.box(1, 1, 1, mass=1.0))
    system.connect("carry", da.Free(), system.ground, carrier)
    bodies = [system.body(f"b{k}", da.box(0.3, 0.2, 0.1, mass=1.0)) for k in range(2)]
    for body in bodies:
        system.connect(f"free {body.name}", da.Free(), carrier, body)
    system.connect("e", random_element(measure, rng), *(random_marker(body, rng) for body in bodies))
    model = system.compile()
    q, v = random_state(system, rng)
    q2, v2 = q.copy(), v.copy()
    carried = model.q_slice("carry"), model.v_slice("carry")
    other, turning = random_state(system, rng)
    q2[carried[0]], v2[carried[1]] = other[carried[0]], 3 * turning[carried[1]]
    one, two = (model.applied_loads(0.1, *state)[1] for state in ((q, v), (q2, v2)))
    R, R2 = (model.poses(state).rotation for state in (q, q2))
    for k in range(len(model.body_names)):
        for part in (slice(0, 3), slice(3, 6)):
            assert R2[k].T @ two[k, part] == pytest.approx(R[k].T @ one[k, part], abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_power_balance_closes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 5, joints=(Revolute, Prismatic, da.Universal))
    q, v = random_state(system, rng)
    add_elements(system, rng, MEASURES, energy=True)
    result = da.simulate(system, 1.0, state=da.State(q=q, v=v), rtol=1e-10, atol=1e-12)
    scale = np.abs(result["energy.kinetic"]).max() + np.abs(result["energy.potential"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale
    assert (result["energy.dissipated"] > 0).any()


@pytest.mark.parametrize("seed", range(2))
def test_power_balance_closes_with_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 1)
    add_elements(closed.system, rng, ("distance", "place", "pose"), energy=True)
    model = closed.system.compile()
    q, v = closed.state(model)
    result = da.simulate(model, 0.5, state=da.State(q=q, v=v), rtol=1e-10, atol=1e-12)
    scale = np.abs(result["energy.kinetic"]).max() + np.abs(result["energy.potential"]).max()
    assert np.abs(result["energy.balance"]).max() < 1e-6 * scale


def without_states(element: da.Element) -> da.Element:
    return da.Element(element.measure, element.force, {**element.parameters, "m": 0.7}, energy=element.energy)


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_many_runs_are_single_runs(measure: str, states: bool) -> None:
    """In lanes (no states) and one by one (states)."""
    rng = np.random.default_rng(11)
    system = random_system(rng, 3, joints=(Revolute, Prismatic))
    add_elements(system, rng, (measure,))
    if not states:
        connection = system.forces[f"e_{measure}"]
        object.__setattr__(connection, "element", without_states(connection.element))  # type: ignore[arg-type]
    model = system.compile()
    assert model.nx == int(states)
    q, v = rng.normal(size=(2, 5, model.nv))
    name = f"e_{measure}.k"
    stiffness = rng.uniform(0.5, 3.0, size=5)
    times = np.array([0.0, 0.4])
    many = da.simulate(model, 0.4, state=da.State(q=q, v=v), parameters={name: stiffness}, times=times)
    for k in range(5):
        one = da.simulate(model, 0.4, state=da.State(q=q[k], v=v[k]), parameters={name: stiffness[k]}, times=times)
        assert many.q[k][-1] == pytest.approx(one.q[-1], abs=1e-7)


def test_functions_are_laws_like_expressions() -> None:
    """For every measure: the same element as expressions and as a Python function of the same numbers."""
    for measure in MEASURES:
        rng = np.random.default_rng(2)
        system = random_system(rng, 3, joints=(Revolute, Prismatic))
        q, v = random_state(system, rng)
        add_elements(system, rng, (measure,), energy=True)
        twin = system.copy()
        connection = twin.forces[f"e_{measure}"]
        element: Any = connection.element

        def law(*inputs: float, element: da.Element = element) -> list[float]:
            return element.evaluate([inputs])[0].tolist()

        states = {name: (start, None) for name, start in element.starts.items()}
        other = da.Element(measure, law, element.parameters, states)
        object.__setattr__(connection, "element", other)
        models = [each.compile() for each in (system, twin)]
        for kernel in ("dynamics", "applied_loads", "force_energy"):
            one, two = (getattr(model, kernel)(0.1, q, v) for model in models)
            for a, b in zip(one, two, strict=True):
                if kernel != "force_energy":  # the rate of the stored energy is a difference
                    assert np.abs(a - b).max(initial=0.0) < 1e-12 * (1 + np.abs(a).max(initial=0.0))
                else:
                    assert a == pytest.approx(b, rel=1e-8, abs=1e-8)


def stiff_filter(rate: float) -> da.System:
    """Return a slider pulled by a state that follows cos(t) at a high rate, exactly solvable."""
    system = da.System("filter", gravity=(0, 0, 0))
    block = system.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    system.connect("slide", da.Prismatic("x"), system.ground, block)
    start = rate * rate / (1 + rate * rate)
    element = da.Element("joint", "a", {"r": rate}, {"a": (start, "r*(cos(t) - a)")}, active=True)
    system.connect("pull", element, "slide")
    return system


def test_stiff_states_are_integrated_by_radau() -> None:
    rate = 1e6
    result = da.simulate(stiff_filter(rate), 2.0, method="radau")
    t = result.t
    exact = (rate * rate * np.cos(t) + rate * np.sin(t)) / (1 + rate * rate)
    assert result.x[:, 0] == pytest.approx(exact, abs=1e-7)
    assert result.stats.steps < 300


def test_radau_has_its_order_with_states() -> None:
    """As rtol falls errors fall with it, and steps grow as its fourth root: the estimate is of order 3."""
    runs = [da.simulate(stiff_filter(30.0), 2.0, method="radau", rtol=r, atol=r) for r in (1e-5, 1e-8, 1e-11)]
    errors = []
    for run in runs:
        t = run.t
        errors.append(np.abs(run.x[:, 0] - (900 * np.cos(t) + 30 * np.sin(t)) / 901).max())
    assert errors[1] < 2e-2 * errors[0] and errors[2] < 2e-2 * errors[1]
    assert runs[2].stats.steps < 32 * runs[0].stats.steps


def test_auto_meets_stiff_states() -> None:
    result = da.simulate(stiff_filter(1e5), 2.0)
    assert "radau" in result.stats.method
    assert result["energy.balance"] == pytest.approx(0.0, abs=1e-5)
