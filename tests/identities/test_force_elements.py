"""Force elements of random systems: against NumPy, by virtual power, and by the energy of whole motions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_loops import random_closed_system
from systems.random_trees import COORDINATE_JOINTS, random_marker, random_state, random_system

import dalembert as da
from dalembert.connections.elements.built_in import JointSpring

Array = NDArray[np.float64]

SEEDS = range(6)


def load_randomly(system: da.System, rng: np.random.Generator) -> None:
    """Add springs between random markers, loads on random markers, and elements at coordinates of random joints."""
    bodies = [system.ground, *system.bodies.values()]
    for k in range(3):
        i, j = rng.choice(len(bodies), 2, replace=False)
        element = da.SpringDamper(*rng.uniform(0.5, 5.0, 2), length=float(rng.uniform(0.2, 1.0)))
        system.connect(f"spring{k}", element, random_marker(bodies[i], rng), random_marker(bodies[j], rng))
    for k, axes in enumerate(("world", "body")):
        marker = random_marker(bodies[1 + int(rng.integers(len(bodies) - 1))], rng)
        force = (da.Harmonic(*rng.normal(size=3)), float(rng.normal()), da.Polynomial(tuple(rng.normal(size=3))))
        moment = (math.cos, da.Ramp(0.0, 1.0, 2.0, -0.5), float(rng.normal()))
        system.connect(f"load{k}", da.Load(force=force, moment=moment, axes=axes), marker)
    joints = [h for h in system.connections.values() if isinstance(h.element, COORDINATE_JOINTS) and h.element.nv]
    for k, joint in enumerate(joints):
        part = f"{joint.name}.{rng.choice(joint.element.coordinates)}" if joint.element.nv > 1 else joint.name
        q = float(rng.normal())
        element = [
            JointSpring(*rng.uniform(0.5, 3.0, 2), rest=q),
            da.Effort(da.Harmonic(*rng.normal(size=3))),
            da.Limits(-0.3, 0.4, 30.0, 2.0),
        ][k % 3]
        system.connect(f"at{k}", element, part)


def value(law: Any, t: float) -> float:
    return float(law(t)[0])


class Oracle:
    """Forces of the elements of a tree, one after the other, by Jacobians of markers."""

    def __init__(self, model: da.Model, t: float, q: Array, v: Array) -> None:
        self.tau = np.zeros(model.nv)  # at coordinates
        self.generalised = np.zeros(model.nv)  # all of it
        self.stored = self.dissipated = self.brought = 0.0
        for force in model.system.forces.values():
            element = force.element
            if isinstance(element, da.SpringDamper):
                assert force.first is not None and force.second is not None
                J = [model.jacobian(marker, q)[3:] for marker in (force.first, force.second)]
                r = model.pose(force.second, q).position - model.pose(force.first, q).position
                length = np.linalg.norm(r)
                row = (r / length) @ (J[1] - J[0])
                rate = row @ v
                self.generalised -= (element.stiffness * (length - element.length) + element.damping * rate) * row
                self.stored += 0.5 * element.stiffness * (length - element.length) ** 2
                self.dissipated += element.damping * rate**2
            elif isinstance(element, da.Load):
                assert force.second is not None
                wrench = np.array([value(law, t) for law in (*element.moment, *element.force)]).reshape(2, 3)
                if element.axes == "body":
                    wrench = wrench @ model.pose(force.second, q).rotation.T
                row = wrench.ravel() @ model.jacobian(force.second, q)
                self.generalised += row
                self.brought += row @ v
            else:
                assert force.joint is not None
                k = model.v_slice(force.joint.name).start + force.coordinate
                place, speed = q[model.q_slice(force.joint.name).start + force.coordinate], v[k]
                effort = self.at_coordinate(element, t, float(place), float(speed))
                self.tau[k] += effort
                self.generalised[k] += effort

    def at_coordinate(self, element: Any, t: float, place: float, speed: float) -> float:
        if isinstance(element, da.Effort):
            self.brought += value(element.law, t) * speed
            return value(element.law, t)
        if isinstance(element, JointSpring):
            self.stored += 0.5 * element.stiffness * (place - element.rest) ** 2
            self.dissipated += element.damping * speed**2
            return -element.stiffness * (place - element.rest) - element.damping * speed
        assert isinstance(element, da.Limits)
        depth = max(0.0, element.lower - place, place - element.upper)
        out = 1.0 if place < element.lower else -1.0
        push = max(0.0, element.stiffness * depth - element.damping * out * speed) if depth else 0.0
        self.stored += 0.5 * element.stiffness * depth**2
        self.dissipated += (element.stiffness * depth - push) * out * speed
        return out * push


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_agree_with_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 7)
    load_randomly(system, rng)
    model = system.compile()
    states = [random_state(system, rng) for _ in range(5)]
    t = rng.normal(size=5)
    q, v = (np.array(rows) for rows in zip(*states, strict=True))
    tau, loads = model.applied_loads(t, q, v)
    energy = model.force_energy(t, q, v)
    a = model.dynamics(t, q, v).a
    for k in range(5):
        oracle = Oracle(model, t[k], q[k], v[k])
        J = np.concatenate([model.jacobian(body, q[k]) for body in model.body_names])
        whole = tau[k] + loads[k].ravel() @ J
        scale = 1 + np.abs(oracle.generalised).max()
        assert np.abs(tau[k] - oracle.tau).max() < 1e-12 * scale
        assert np.abs(whole - oracle.generalised).max() < 1e-11 * scale
        assert energy.stored[k] == pytest.approx(oracle.stored, rel=1e-12)
        assert energy.dissipated[k] == pytest.approx(oracle.dissipated, rel=1e-12, abs=1e-12)
        assert energy.brought[k] == pytest.approx(oracle.brought, rel=1e-11, abs=1e-11)
        assert np.abs(a[k] - model.forward_dynamics(q[k], v[k], oracle.generalised, bare=True)).max() < 1e-9 * (
            1 + np.abs(a[k]).max()
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_virtual_power_equals_the_rate_of_energy(seed: int) -> None:
    """Power of tau and loads = - rate of what is stored - dissipated + brought."""
    rng = np.random.default_rng(100 + seed)
    system = random_system(rng, 6)
    load_randomly(system, rng)
    model = system.compile()
    q, v = random_state(system, rng)
    t, h = 0.3, 1e-4
    tau, loads = model.applied_loads(t, q, v)
    J = np.concatenate([model.jacobian(body, q) for body in model.body_names])
    power = float(tau @ v + loads.ravel() @ (J @ v))

    def stored(s: float) -> float:
        return float(model.force_energy(t, model.integrate(q, s * v), v).stored)

    rate = (8 * (stored(h) - stored(-h)) - (stored(2 * h) - stored(-2 * h))) / (12 * h)
    energy = model.force_energy(t, q, v)
    assert power == pytest.approx(-rate - energy.dissipated + energy.brought, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_energy_of_a_loaded_tree_closes(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    system = random_system(rng, 5)
    load_randomly(system, rng)
    joints = [h.name for h in system.connections.values() if isinstance(h.element, (da.Revolute, da.Prismatic))]
    bearing = {f.joint.name for f in system.forces.values() if f.joint is not None}
    for name, level in zip(
        [h for h in joints if h not in bearing], ("position", "speed", "acceleration"), strict=False
    ):
        system.drive(name, **{level: da.Harmonic(0.5, 2.0, phase=0.3)})
    q, v = random_state(system, rng)
    result = da.simulate(system, 0.5, state=da.State(q, 0.3 * v), rtol=1e-10, atol=1e-12)
    size = np.abs(result["energy.kinetic"]).max() + np.abs(result["energy.work"]).max() + 1
    assert np.abs(result["energy.balance"]).max() < 1e-8 * size
    assert np.abs(result["energy.work"]).max() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_energy_of_loaded_loops_closes(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    closed = random_closed_system(rng, 5, 2)
    system = closed.system
    bodies = [system.ground, *system.bodies.values()]
    for k in range(3):
        i, j = rng.choice(len(bodies), 2, replace=False)
        element = da.SpringDamper(*rng.uniform(0.5, 5.0, 2), length=0.5)
        system.connect(f"spring{k}", element, random_marker(bodies[i], rng), random_marker(bodies[j], rng))
    system.connect("load", da.Load(force=(1.0, da.Harmonic(2.0, 5.0), 0.0), axes="body"), random_marker(bodies[1], rng))
    model = system.compile()
    q, v = closed.state(model)
    result = da.simulate(model, 0.3, state=da.State(q, 0.3 * v), rtol=1e-10, atol=1e-12)
    size = np.abs(result["energy.kinetic"]).max() + np.abs(result["energy.work"]).max() + 1
    assert np.abs(result["energy.balance"]).max() < 1e-8 * size
    assert result["energy.dissipated"][-1] > 0
    assert result["constraints.residual"].max() < 1e-12
