"""Terms of the equations of motion by name, and the equations of a marker's own motion."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.flexible_systems import random_flexible_tree
from systems.random_loops import random_closed_system
from systems.random_trees import every_joint_both_ways, random_system

import dalembert as da
from dalembert.library import humanoid

Array = NDArray[np.float64]


def rate_of_mass_matrix(model: da.Model, q: Array, v: Array, h: float = 1e-4) -> Array:
    def at(s: float) -> Array:
        return model.mass_matrix(model.integrate(q, s * h * v))

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


@pytest.mark.parametrize("kind", ["every joint", "tree", "flexible", "humanoid"])
@pytest.mark.parametrize("seed", range(2))
def test_the_rate_of_inertia_less_twice_the_coriolis_matrix_is_skew(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    systems = {
        "every joint": lambda: every_joint_both_ways(rng),
        "tree": lambda: random_system(rng, 5),
        "flexible": lambda: random_flexible_tree(rng, 3),
        "humanoid": humanoid,
    }
    model = systems[kind]().compile()
    state = model.random_state(rng)
    C = da.coriolis_matrix(model, state.q, state.v)
    forces = da.coriolis_forces(model, state.q, state.v)
    scale = np.abs(C).max() * max(1.0, float(np.abs(state.v).max()))
    np.testing.assert_allclose(C @ state.v, forces, atol=1e-10 * scale)
    rate = rate_of_mass_matrix(model, state.q, state.v)
    S = rate - 2 * C
    np.testing.assert_allclose(S + S.T, 0.0, atol=1e-7 * scale)  # five-point differences
    both = da.coriolis_matrix(model, np.array([state.q, state.q]), state.v)
    np.testing.assert_allclose(both, [C, C])


def test_the_parts_are_all_of_it() -> None:
    s = da.System()
    upper, fore = s.body("upper", da.rod(1.0, 2.0, radius=0.03)), s.body("fore", da.rod(0.8, 1.0, radius=0.03))
    s.connect("A", da.Spherical(damping=0.3, friction=0.1), s.ground, upper)
    s.connect("B", da.Revolute("y", damping=0.2, friction=0.4), upper.at(1, 0, 0), fore)
    s.connect("k", da.SpringDamper(stiffness=40.0, damping=2.0, length=0.5), s.ground.at(0, 0, 1), fore.at(0.8, 0, 0))
    model = s.compile()
    states = model.random_state(0, 4)
    a = np.random.default_rng(1).normal(size=states.v.shape)
    parts = da.force_terms(s, states.q, states.v, a)
    loads = (parts.inertia, parts.coriolis, parts.gravity, parts.elastic, parts.damping, parts.friction)
    whole = sum(loads) - parts.elements
    np.testing.assert_allclose(whole, parts.total, atol=1e-11)
    np.testing.assert_allclose(parts.total, model.inverse_dynamics(states.q, states.v, a))
    np.testing.assert_allclose(parts.damping, states.v * [0.3, 0.3, 0.3, 0.2], atol=1e-12)
    np.testing.assert_allclose(parts.friction[:, 3], 0.4 * np.sign(states.v[:, 3]), atol=1e-12)
    np.testing.assert_allclose(parts.inertia, np.einsum("nij,nj->ni", model.mass_matrix(states.q), a), atol=1e-11)
    np.testing.assert_allclose(parts.elastic, 0.0, atol=1e-12)


def test_pinocchio_agrees_on_gravity_coriolis_and_operational_inertia() -> None:
    pin = pytest.importorskip("pinocchio", minversion="3.0")
    peers = import_module("peers.pinocchio")
    system = random_system(np.random.default_rng(3), 6, joints=(da.Revolute, da.Prismatic))
    model, peer = system.compile(), peers.Pinocchio(system)
    state = model.random_state(5)
    inner, data = peer.model, peer.model.createData()
    gravity = pin.computeGeneralizedGravity(inner, data, state.q)
    np.testing.assert_allclose(da.gravity_forces(model, state.q), gravity, atol=1e-10)
    C = pin.computeCoriolisMatrix(inner, data, state.q, state.v)
    np.testing.assert_allclose(da.coriolis_forces(model, state.q, state.v), C @ state.v, atol=1e-9)
    name = model.body_names[-1]
    J, M = model.jacobian(name, state.q), pin.crba(inner, data, state.q)
    M = np.triu(M) + np.triu(M, 1).T
    response = J @ np.linalg.solve(M, J.T)
    found = da.operational_space(model, name, state.q, state.v)
    np.testing.assert_allclose(found.inertia @ response @ found.inertia, found.inertia, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_marker_obeys_its_own_equations_in_loops_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(rng, 5, 1)
    model = closed.system.compile()
    q, v = closed.state(model)
    name = model.body_names[-1]
    found = da.operational_space(model, name, q, v)
    f = rng.normal(size=6)
    tau = found.jacobian.T @ f
    moved = model.acceleration(name, q, v, model.forward_dynamics(q, v, tau))
    L, J = found.inertia, found.jacobian
    # of f only that part acts along which loops let it move
    np.testing.assert_allclose(L @ moved + found.bias, (J @ found.inverse).T @ f, atol=1e-7 * (1 + np.abs(L).max()))
    np.testing.assert_allclose(J @ found.inverse @ J @ found.inverse, J @ found.inverse, atol=1e-7)
    # joint forces out of the null space do not accelerate it
    quiet = found.null_projector.T @ rng.normal(size=model.nv)
    change = model.acceleration(name, q, v, model.forward_dynamics(q, v, quiet)) - model.acceleration(
        name, q, v, model.forward_dynamics(q, v)
    )
    np.testing.assert_allclose(change, 0.0, atol=1e-7 * (1 + np.abs(moved).max()))


def test_manipulability_of_an_arm_and_of_a_loop_that_does_the_same() -> None:
    s = da.System("five-bar")
    bars = [s.body(f"bar{k}", da.rod(1.0, 1.0)) for k in range(4)]
    s.connect("A", da.Revolute("z"), s.ground.at(-0.5, 0, 0), bars[0])
    s.connect("B", da.Revolute("z"), bars[0].at(1), bars[1])
    s.connect("C", da.Revolute("z"), s.ground.at(0.5, 0, 0), bars[2])
    s.connect("D", da.Revolute("z"), bars[2].at(1), bars[3])
    s.connect("E", da.Revolute("z"), bars[1].at(1), bars[3].at(1))
    s.initial("A", position=2.0)
    s.initial("C", position=1.1)
    s.initial("B", position=-1.2, guess=True)
    model = s.compile()
    q = da.assemble(model).q
    tip = model.system["bar1"].at(1)
    found = da.manipulability(model, tip, q, actuators=["A", "C"])
    v = da.consistent_velocities(model, q, np.zeros(model.nv), hold={"A": 0.7, "C": -0.4})
    np.testing.assert_allclose(found.jacobian @ [0.7, -0.4], model.velocity(tip, q, v), atol=1e-9)
    assert found.translation.radii[2] < 1e-9 < found.translation.radii[1]
    dynamic = da.manipulability(model, tip, q, actuators=["A", "C"], dynamic=True)
    tau = np.zeros(model.nv)
    tau[model.v_slice("A")] = 1.0
    base = model.acceleration(tip, q, np.zeros(model.nv), model.forward_dynamics(q, np.zeros(model.nv)))
    pushed = model.acceleration(tip, q, np.zeros(model.nv), model.forward_dynamics(q, np.zeros(model.nv), tau))
    np.testing.assert_allclose(dynamic.jacobian[:, 0], pushed - base, atol=1e-8)
