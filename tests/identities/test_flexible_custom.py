"""Random trees and loops that mix rigid and flexible bodies with custom joints, custom constraints and chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from systems.flexible_systems import (
    FLEXIBLE_OPTIONS,
    beam,
    mixed_loops,
    mixed_tree,
    random_deformed_state,
)
from systems.random_trees import derivative

import dalembert as da

SEEDS = range(6)


def close(found, expected, tolerance):
    __tracebackhide__ = True
    scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
    assert np.abs(found - expected).max(initial=0.0) < tolerance * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_flexible_trees_on_custom_joints(seed):
    rng = np.random.default_rng(seed)
    model = mixed_tree(rng, **FLEXIBLE_OPTIONS[seed % 3]).compile()
    q, v = random_deformed_state(model, rng, 0.2)
    a, loads = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    M, tau = model.mass_matrix(q), model.inverse_dynamics(q, v, a, loads=loads)
    close(M, M.T, 1e-14)
    assert np.linalg.eigvalsh(M)[0] > 0
    close(M @ a + model.bias_forces(q, v, loads=loads), tau, 1e-12)
    close(model.forward_dynamics(q, v, tau, loads=loads), a, 1e-9)
    # in lanes
    qs = np.array([random_deformed_state(model, rng, 0.2)[0] for _ in range(9)])
    vs, taus = rng.normal(size=(2, 9, model.nv))
    together = model.forward_dynamics(qs, vs, taus)
    for k in range(9):
        close(together[k], model.forward_dynamics(qs[k], vs[k], taus[k]), 1e-9)
    # power of what acts: joints without forces, modes with dampers
    free = model.forward_dynamics(q, v)
    power = derivative(lambda h: np.array(sum(model.energy(model.integrate(q, h * v), v + h * free)[:2])), 1e-4)
    lost = 0.0
    for name in model.flexible_names:
        rate, C = v[model.v_slice(name)], model.system.bodies[name].flexible.modal_damping
        lost += rate @ C @ rate if C is not None else 0.0
    assert power == pytest.approx(-lost, abs=1e-7 * max(1.0, float(model.energy(q, v).kinetic)))


@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_of_flexible_bodies_on_custom_joints(seed):
    rng = np.random.default_rng(100 + seed)
    model = mixed_tree(rng, **FLEXIBLE_OPTIONS[seed % 3]).compile()
    q, v = random_deformed_state(model, rng, 0.2)
    a, units = rng.normal(size=model.nv), np.eye(model.nv)
    by_q, by_v = model.d_inverse_dynamics(q, v, a)[:2]
    moved = [derivative(lambda h, u=u: model.inverse_dynamics(model.integrate(q, h * u), v, a)) for u in units]
    pushed = [derivative(lambda h, u=u: model.inverse_dynamics(q, v + h * u, a)) for u in units]
    close(by_q, np.array(moved).T, 1e-8)
    close(by_v, np.array(pushed).T, 1e-8)
    by_q, by_v, *_ = model.d_dynamics(0.0, q, v).a
    moved = [derivative(lambda h, u=u: model.dynamics(0.0, model.integrate(q, h * u), v).a, 1e-4) for u in units]
    pushed = [derivative(lambda h, u=u: model.dynamics(0.0, q, v + h * u).a) for u in units]
    close(by_q, np.array(moved).T, 1e-7)
    close(by_v, np.array(pushed).T, 1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "closures", [("custom", "bar"), ("bar", "surface"), ("surface", "custom", "library"), ("cut",)], ids="-".join
)
@pytest.mark.filterwarnings("ignore::dalembert.StiffeningWarning")
def test_flexible_loops_with_custom_constraints(closures, seed):
    rng = np.random.default_rng(10 * seed + len(closures))
    model = mixed_loops(rng, closures, **FLEXIBLE_OPTIONS[seed]).compile()
    q = da.assemble(model, state=random_deformed_state(model, rng, 0.05)[0]).q
    v, tau = 0.5 * da.consistent_velocities(model, q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    P, gamma = model.constraint_jacobian(q), model.constraint_bias(q, v)
    residuals = [
        derivative(lambda h, u=u: model.constraint_residual(model.integrate(q, h * u))) for u in np.eye(model.nv)
    ]
    close(P, np.array(residuals).T, 1e-7)
    close(gamma, derivative(lambda h: model.constraint_jacobian(model.integrate(q, h * v)) @ v, 1e-4), 1e-7)
    whole = np.block([[model.mass_matrix(q), -P.T], [P, np.zeros((model.nc, model.nc))]])
    expected = np.linalg.solve(whole, np.concatenate([tau - model.bias_forces(q, v), -gamma]))[: model.nv]
    close(model.forward_dynamics(q, v, tau), expected, 1e-9)
    by_q, by_v, *_ = model.d_dynamics(0.0, q, v).a
    for along in null_space(P).T[:4]:
        close(
            by_q @ along, derivative(lambda h, u=along: model.dynamics(0.0, model.integrate(q, h * u), v).a, 1e-4), 1e-7
        )
        close(by_v @ along, derivative(lambda h, u=along: model.dynamics(0.0, q, v + h * u).a), 1e-7)
    result = da.simulate(model, 0.1, state=da.State(q=q, v=v), rtol=1e-10, atol=1e-12)
    assert result["constraints.residual"].max() < 1e-12
    assert np.abs(result["energy.balance"]).max() < 1e-9 * np.abs(result["energy.total"]).max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::dalembert.StiffeningWarning")
def test_momentum_in_free_flight(seed):
    rng = np.random.default_rng(seed)
    options = {key: value for key, value in FLEXIBLE_OPTIONS[seed].items() if key != "damping"}
    model = mixed_tree(rng, 4, base=da.Free(), gravity=False, **options).compile()
    q, v = random_deformed_state(model, rng, 0.1)
    result = da.simulate(model, 0.3, state=da.State(q=q, v=0.5 * v), rtol=1e-10, atol=1e-12)
    for name in ("momentum.linear", "momentum.angular"):
        close(result[name], np.broadcast_to(result[name][0], result[name].shape), 1e-8)
    close(result["energy.total"], result["energy.total"][0], 1e-9)


@pytest.mark.filterwarnings("ignore::dalembert.StiffeningWarning")
def test_custom_base_of_a_flexible_body_moves_as_the_free_one():
    position, turns = ("x", "y", "z"), [("x", "a1"), ("y", "a2"), ("z", "a3")]
    results = []
    for joint in (da.CustomJoint((*position, "a1", "a2", "a3"), position, turns), da.Free()):
        s = da.System("bird")
        bird = s.body("bird", beam(6, nm=4, free=True, rotary=1e-3, stiffness=(30.0, 40.0)))
        s.connect("O", joint, s.ground, bird.at(node=2))
        s.connect("k", da.SpringDamper(stiffness=20.0, damping=0.1, length=0.1), s.ground.at(0, 0, 1), bird.at(node=6))
        s.initial("bird", position=[0.03, 0.02, 0, 0])
        results.append(da.simulate(s, 0.4, times=np.linspace(0, 0.4, 9), rtol=1e-10, atol=1e-12))
    for name in ("bird.eta", "bird.position", "bird.rotation", "energy.total"):
        close(results[0][name], results[1][name], 1e-8)


def test_time_in_a_custom_joint_at_a_node_is_a_drive():
    def flapping(custom):
        s = da.System("flapping")
        arm = s.body("arm", beam(6, nm=4, stiffness=(300.0, 400.0), damping=0.02))
        wing = s.body("wing", beam(4, length=0.5, mass=0.3, nm=2, stiffness=(20.0, 20.0), free=True, rotary=1e-3))
        s.connect("A", da.Revolute("y"), s.ground, arm)
        if custom:
            turns = [("z", "0.4*sin(5*t)"), ("y", "angle")]
            s.connect("B", da.CustomJoint(("angle",), None, turns), arm.at(node=6), wing.at(node=0))
        else:
            # all but massless between the two turns
            fork = s.body("fork", mass=1e-12, inertia=(1e-12, 1e-12, 1e-12))
            s.connect("F", da.Revolute("z"), arm.at(node=6), fork)
            s.connect("B", da.Revolute("y"), fork, wing.at(node=0))
            s.drive("F", position=da.Harmonic(0.4, 5.0))
        return da.simulate(s, 0.4, times=np.linspace(0, 0.4, 9), rtol=1e-10, atol=1e-12)

    one, other = flapping(True), flapping(False)
    for name in ("A", "arm.eta", "wing.eta", "wing.position", "A.force", "energy.work"):
        close(one[name], other[name], 1e-8)
    assert np.abs(one["energy.balance"]).max() < 1e-9
