"""The compiled kernels agree with the readable NumPy oracles, with each other, and with mechanics."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import JOINTS, derivative, every_joint_both_ways, random_state, random_system

import dalembert as da
from dalembert.oracles.kane import Kane
from dalembert.oracles.operators import Operators

Array = NDArray[np.float64]

# Two formulations in double precision on trees whose mass matrices reach condition 1e5.
AGREEMENT = 1e-10
# Five-point differences with h = 1e-3; fifth derivatives are about 1e3 times the value.
DIFFERENCES = 1e-7


def assert_close(x: Array, y: Array, tolerance: float = AGREEMENT) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    size = max(1.0, float(np.abs(y).max(initial=0.0)))
    assert np.abs(x - y).max(initial=0.0) <= tolerance * size


class Case:
    """A random tree, its model, and a random motion with loads."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        if seed % 3 == 0:
            self.system = every_joint_both_ways(rng)
        else:
            self.system = random_system(rng, int(rng.integers(1, 60)), isolated=int(rng.integers(4)))
        self.model = self.system.compile()
        self.q, self.v = random_state(self.system, rng)
        self.a = rng.normal(size=self.model.nv)
        self.loads = rng.normal(size=(self.model.nb, 6))
        self.tau = self.model.inverse_dynamics(self.q, self.v, self.a, loads=self.loads)


@pytest.fixture(scope="module", params=range(12))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


# ---- against the oracles


def test_inverse_dynamics_is_that_of_the_spatial_operators(case: Case) -> None:
    oracle = Operators(case.system, case.q, case.v)
    assert_close(case.tau, oracle.inverse_dynamics(case.a, case.loads))


def test_mass_matrix_is_the_newton_euler_factorisation_and_kanes(case: Case) -> None:
    M = case.model.mass_matrix(case.q)
    assert_close(M, Operators(case.system, case.q, case.v).mass_matrix())
    assert_close(M, Kane(case.system, case.q, case.v).mass_matrix())
    assert (M == M.T).all()
    assert np.linalg.eigvalsh(M).min() > 0


def test_forward_dynamics_is_that_of_the_innovations_factorisation(case: Case) -> None:
    oracle = Operators(case.system, case.q, case.v)
    a = case.model.forward_dynamics(case.q, case.v, case.tau, loads=case.loads)
    assert_close(a, oracle.forward_dynamics(case.tau, case.loads))
    assert_close(a, Kane(case.system, case.q, case.v).forward_dynamics(case.tau, case.loads), 1e-9)  # a dense solve
    assert_close(a, case.a, 1e-9)


def test_inverse_of_the_mass_matrix_is_the_closed_form(case: Case) -> None:
    model, q = case.model, case.q
    M = model.mass_matrix(q)
    inverse = model.d_forward_dynamics(q, case.v, case.tau)[2]
    assert_close(M @ inverse, np.eye(model.nv), 1e-9)
    factor = model.factor(q)
    X = case.rng.normal(size=(9, model.nv))
    assert_close(factor.solve(X) @ M, X, 1e-9)
    assert_close(factor.solve(X[0]), factor.solve(X)[0], 1e-12)
    assert_close(model.solve_mass_matrix(q, X[0]), factor.solve(X[0]), 1e-12)
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-9, abs=1e-9)


def test_equations_of_motion_hold(case: Case) -> None:
    model, q, v = case.model, case.q, case.v
    b = model.bias_forces(q, v, loads=case.loads)
    assert_close(model.mass_matrix(q) @ case.a + b, case.tau)


# ---- kinematics


def test_poses_follow_the_definitions_of_the_joints(case: Case) -> None:
    rotation, position = case.model.poses(case.q)
    R, p = [np.eye(3)], [np.zeros(3)]
    forest = case.model.forest
    for j, joint in enumerate(forest.joints):
        C, c = joint.element.pose(case.q[case.model.q_slice(joint.name)])
        if joint.reversed:
            C, c = C.T, -C.T @ c
        i = forest.parent[j]
        R_WJ, p_WJ = R[i] @ joint.inboard.rotation, p[i] + R[i] @ joint.inboard.position
        R.append(R_WJ @ C @ joint.outboard.rotation.T)
        p.append(p_WJ + R_WJ @ c - R[-1] @ joint.outboard.position)
    assert_close(rotation, np.array(R[1:]))
    assert_close(position, np.array(p[1:]))


def test_velocities_are_rates_of_poses(case: Case) -> None:
    model, q, v = case.model, case.q, case.v
    V = model.velocities(q, v)
    assert_close(V[:, 3:], derivative(lambda t: model.poses(model.integrate(q, t * v)).position), DIFFERENCES)
    R = model.poses(q).rotation
    spin = derivative(lambda t: model.poses(model.integrate(q, t * v)).rotation) @ R.transpose(0, 2, 1)
    assert_close(V[:, :3], np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1), DIFFERENCES)


def along_motion(case: Case, t: float) -> tuple[Array, Array]:
    """Return q, v at time t of a motion with v(0) = v and rate a: constant a, position by many small steps."""
    steps = 64
    q, h = case.q, t / steps
    for k in range(steps):  # midpoint rule: error t^3 / steps^2
        q = case.model.integrate(q, h * (case.v + (k + 0.5) * h * case.a))
    return q, case.v + t * case.a


def test_accelerations_are_rates_of_velocities(case: Case) -> None:
    A = case.model.accelerations(case.q, case.v, case.a)
    assert_close(A, derivative(lambda t: case.model.velocities(*along_motion(case, t))), DIFFERENCES)


def test_marker_quantities_are_those_of_its_body(case: Case) -> None:
    model, q, v, a = case.model, case.q, case.v, case.a
    body = case.system.bodies[model.body_names[-1]]
    marker = body.marker("here", 0.3, -0.2, 0.5, rotation=("x", 0.4))
    R, p = (x[-1] for x in model.poses(q))
    V, A = model.velocities(q, v)[-1], model.accelerations(q, v, a)[-1]
    r = R @ marker.position
    pose = model.pose(marker, q)
    assert_close(pose.position, p + r)
    assert_close(pose.rotation, R @ marker.rotation)
    J = model.jacobian(marker, q)
    assert_close(J @ v, np.concatenate([V[:3], V[3:] + np.cross(V[:3], r)]))
    assert_close(model.velocity(marker, q, v), J @ v)
    acceleration = np.concatenate([A[:3], A[3:] + np.cross(A[:3], r) + np.cross(V[:3], np.cross(V[:3], r))])
    assert_close(model.acceleration(marker, q, v, a), acceleration)
    assert_close(J @ a + model.bias_acceleration(marker, q, v), acceleration)
    case.system.remove(marker)


def test_ground_does_not_move(case: Case) -> None:
    pose = case.model.pose("ground", case.q)
    assert (pose.rotation == np.eye(3)).all() and (pose.position == 0).all()
    assert (case.model.jacobian(case.system.ground.at(1, 2, 3), case.q) == 0).all()


# ---- work, energy, momentum


def test_energy_rate_is_power(case: Case) -> None:
    model = case.model
    rate = derivative(lambda t: np.array(model.energy(*along_motion(case, t)).total))
    V = model.velocities(case.q, case.v)
    power = case.tau @ case.v + (case.loads * V).sum()
    # the energies themselves are about 1e2, so differences lose two more digits
    assert abs(rate - power) <= 1e-6 * max(1.0, abs(power), model.energy(case.q, case.v).kinetic)


def test_kinetic_energy_is_half_v_M_v(case: Case) -> None:
    kinetic = case.model.energy(case.q, case.v).kinetic
    assert kinetic == pytest.approx(0.5 * case.v @ case.model.mass_matrix(case.q) @ case.v, rel=1e-11)


def test_momentum_rate_is_the_sum_of_the_loads_from_outside(case: Case) -> None:
    model, q = case.model, case.q
    mass = sum(body.mass for body in case.system.bodies.values())
    F = model.reactions(q, case.v, case.a, loads=case.loads)
    total = case.loads[:, 3:].sum(0) + mass * case.system.gravity
    for j, joint in enumerate(model.forest.joints):
        if model.forest.parent[j] == 0:
            total = total + (-F[j, 3:] if joint.reversed else F[j, 3:])
    rate = derivative(lambda t: model.momentum(*along_motion(case, t))[3:])
    assert_close(rate, total, 1e-6)


def test_momentum_about_a_point_is_the_sum_over_bodies(case: Case) -> None:
    model, q, v = case.model, case.q, case.v
    point = np.array([0.4, -1.0, 2.0])
    total = np.zeros(6)
    for name in model.body_names:
        body = case.system.bodies[name]
        at_com = body.at(*body.com)
        R, p = model.pose(at_com, q)
        V = model.velocity(at_com, q, v)
        total[3:] += body.mass * V[3:]
        total[:3] += R @ body.inertia @ R.T @ V[:3] + np.cross(p - point, body.mass * V[3:])
    assert_close(model.momentum(q, v, about=point), total)
    centre = model.center_of_mass(q)
    assert_close(model.momentum(q, v), model.momentum(q, v, about=centre))
    assert_close(
        derivative(lambda t: model.center_of_mass(model.integrate(q, t * v)))
        * sum(b.mass for b in case.system.bodies.values()),
        total[3:],
        DIFFERENCES,
    )


def test_reactions_hold_every_body_in_motion(case: Case) -> None:
    """Newton and Euler for each body alone, with the loads of its joints at their markers."""
    model, q, v, a = case.model, case.q, case.v, case.a
    F = model.reactions(q, v, a, loads=case.loads)
    left = {}
    for k, name in enumerate(model.body_names):
        body = case.system.bodies[name]
        at_com = body.at(*body.com)
        R, p = model.pose(at_com, q)
        w, A = model.velocity(at_com, q, v)[:3], model.acceleration(at_com, q, v, a)
        inertia = R @ body.inertia @ R.T
        force = body.mass * (A[3:] - case.system.gravity) - case.loads[k, 3:]
        moment = inertia @ A[:3] + np.cross(w, inertia @ w) - case.loads[k, :3]
        moment = moment - np.cross(model.pose(body, q).position - p, case.loads[k, 3:])
        left[name] = (force, moment, p)
    for k, joint in enumerate(model.forest.joints):
        second = joint.inboard if joint.reversed else joint.outboard
        point = model.pose(second, q).position
        for marker in (joint.inboard, joint.outboard):
            if marker.body.name == "ground":
                continue
            sign = 1.0 if marker is second else -1.0
            force, moment, p = left[marker.body.name]
            left[marker.body.name] = (
                force - sign * F[k, 3:],
                moment - sign * (F[k, :3] + np.cross(point - p, F[k, 3:])),
                p,
            )
    size = np.abs(F).max()
    for force, moment, _ in left.values():
        assert np.abs(force).max() <= 1e-10 * size and np.abs(moment).max() <= 1e-10 * size


# ---- mixed problems


def test_given_accelerations_and_forces_find_the_others(case: Case) -> None:
    model = case.model
    for share in (0.0, 0.3, 1.0):
        given = case.rng.random(model.nv) < share
        # entries that are not given are not read: noise there must not matter
        tau = np.where(given, case.rng.normal(size=model.nv), case.tau)
        a = np.where(given, case.a, case.rng.normal(size=model.nv))
        found_a, found_tau = model.mixed_dynamics(case.q, case.v, tau, a, given, loads=case.loads)
        assert_close(found_a, case.a, 1e-9)
        assert_close(found_tau, case.tau, 1e-9)


def test_a_locked_joint_is_given_by_name(case: Case) -> None:
    model = case.model
    name = model.joint_names[0]
    zeros = np.zeros(model.nv)
    a, tau = model.mixed_dynamics(case.q, zeros, zeros, zeros, name)
    assert (a[model.v_slice(name)] == 0).all()
    assert_close(model.inverse_dynamics(case.q, zeros, a), tau, 1e-9)


# ---- derivatives


def test_derivatives_of_inverse_dynamics(case: Case) -> None:
    model, q, v, a, loads = case.model, case.q, case.v, case.a, case.loads
    by_q, by_v, by_a = model.d_inverse_dynamics(q, v, a, loads=loads)
    # dual numbers through the kernel itself are exact as well: only rounding differs
    duals = model._d_inverse_dynamics_by_duals(q, v, a, loads=loads)
    assert_close(by_q, duals[0], 1e-12)
    assert_close(by_v, duals[1], 1e-12)
    for k in case.rng.choice(model.nv, min(6, model.nv), replace=False):
        e = np.eye(model.nv)[k]
        column = derivative(lambda t, e=e: model.inverse_dynamics(model.integrate(q, t * e), v, a, loads=loads))
        assert_close(by_q[:, k], column, 1e-8)
        column = derivative(lambda t, e=e: model.inverse_dynamics(q, v + t * e, a, loads=loads))
        assert_close(by_v[:, k], column, 1e-9)  # a parabola in v: the rule is exact, rounding remains
    assert_close(by_a, model.mass_matrix(q))


def test_derivatives_of_forward_dynamics(case: Case) -> None:
    model, q, v, tau, loads = case.model, case.q, case.v, case.tau, case.loads
    by_q, by_v, by_tau = model.d_forward_dynamics(q, v, tau, loads=loads)
    for k in case.rng.choice(model.nv, min(6, model.nv), replace=False):
        e = np.eye(model.nv)[k]
        column = derivative(lambda t, e=e: model.forward_dynamics(model.integrate(q, t * e), v, tau, loads=loads), 2e-4)
        assert_close(by_q[:, k], column, 1e-6)
        column = derivative(lambda t, e=e: model.forward_dynamics(q, v + t * e, tau, loads=loads))
        assert_close(by_v[:, k], column, 1e-8)
        assert_close(by_tau[:, k], model.solve_mass_matrix(q, e), 1e-9)


# ---- the manifold


def test_difference_undoes_integrate(case: Case) -> None:
    model = case.model
    other = model.random_state(case.rng).q
    step = model.difference(case.q, other)
    assert_close(model.difference(model.integrate(case.q, step), other), np.zeros(model.nv))
    small = 1e-9 * case.v
    assert_close(model.difference(case.q, model.integrate(case.q, small)) * 1e9, case.v, 1e-6)


def test_coordinate_rates_are_those_of_integrate(case: Case) -> None:
    model, q, v = case.model, case.q, case.v
    assert_close(model.coordinate_rates(q, v), derivative(lambda t: model.integrate(q, t * v)), DIFFERENCES)


# ---- batches, lanes, threads, instruction sets


KERNELS = {
    "forward_dynamics": "qvt",
    "inverse_dynamics": "qvt",
    "bias_forces": "qv",
    "mass_matrix": "q",
    "solve_mass_matrix": "qt",
    "velocities": "qv",
    "accelerations": "qvt",
    "reactions": "qvt",
    "center_of_mass": "q",
    "centroidal_momentum_matrix": "q",
    "integrate": "qv",
    "coordinate_rates": "qv",
    "momentum": "qv",
    "d_forward_dynamics": "qvt",
    "d_inverse_dynamics": "qvt",
    "poses": "q",
    "energy": "qv",
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [0, 1, 7, 33])
def test_a_batch_is_the_stack_of_its_states(case: Case, kernel: str, size: int) -> None:
    model = case.model
    state = model.random_state(case.rng, size=size)
    arrays = {"q": state.q, "v": state.v, "t": case.rng.normal(size=(size, model.nv))}
    function = getattr(model, kernel)
    together = function(*(arrays[x] for x in KERNELS[kernel]))
    together = together if isinstance(together, tuple) else (together,)
    for k in range(size):
        alone = function(*(arrays[x][k] for x in KERNELS[kernel]))
        for x, y in zip(together, alone if isinstance(alone, tuple) else (alone,), strict=True):
            assert_close(x[k], y, 1e-9)  # the same operations, fused differently: round-off times the condition
    assert all(len(np.atleast_1d(x)) == size for x in together)


def test_every_marker_kernel_takes_batches(case: Case) -> None:
    model = case.model
    body = case.system.bodies[model.body_names[-1]]
    state = model.random_state(case.rng, size=11)
    a = case.rng.normal(size=(11, model.nv))
    for k in range(11):
        q, v = state.q[k], state.v[k]
        assert_close(model.pose(body, state.q).position[k], model.pose(body, q).position)
        assert_close(model.jacobian(body, state.q)[k], model.jacobian(body, q))
        assert_close(model.velocity(body, state.q, state.v)[k], model.velocity(body, q, v))
        assert_close(model.acceleration(body, state.q, state.v, a)[k], model.acceleration(body, q, v, a[k]))
        assert_close(model.bias_acceleration(body, state.q, state.v)[k], model.bias_acceleration(body, q, v))
    given = case.rng.random(model.nv) < 0.5
    both = model.mixed_dynamics(state.q, state.v, a, a, given)
    for k in range(11):
        one = model.mixed_dynamics(state.q[k], state.v[k], a[k], a[k], given)
        assert_close(both[0][k], one[0], 1e-9)
        assert_close(both[1][k], one[1], 1e-9)
    loads = case.rng.normal(size=(11, model.nb, 6))
    tau = model.inverse_dynamics(state.q, state.v, a, loads=loads)
    assert_close(tau[3], model.inverse_dynamics(state.q[3], state.v[3], a[3], loads=loads[3]))


def test_one_state_serves_a_whole_batch(case: Case) -> None:
    model = case.model
    taus = case.rng.normal(size=(5, model.nv))
    a = model.forward_dynamics(case.q, case.v, taus)
    assert a.shape == (5, model.nv)
    assert_close(a[4], model.forward_dynamics(case.q, case.v, taus[4]), 1e-9)


def test_the_answer_does_not_depend_on_the_number_of_threads(case: Case) -> None:
    state = case.model.random_state(case.rng, size=203)
    before = da.threads()
    try:
        results = []
        for count in (1, 2, 3, 8):
            da.set_threads(count)
            results.append(case.model.forward_dynamics(state.q, state.v, state.v))
    finally:
        da.set_threads(before)
    assert all((r == results[0]).all() for r in results)


def test_the_answer_does_not_depend_on_the_place_in_a_batch(case: Case) -> None:
    state = case.model.random_state(case.rng, size=29)
    whole = case.model.forward_dynamics(state.q, state.v, state.v)
    part = case.model.forward_dynamics(state.q[13:], state.v[13:], state.v[13:])
    assert (whole[13:] == part).all()


@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_every_instruction_set_gives_the_same_mechanics(isa: str) -> None:
    script = (
        "import numpy as np, dalembert as da;"
        "from systems.random_trees import every_joint_both_ways;"
        "m = every_joint_both_ways(np.random.default_rng(5)).compile();"
        "s = m.random_state(3, size=21);"
        "print(da.isa); print(repr(m.forward_dynamics(s.q, s.v, s.v).sum(1).tolist()));"
        "print(repr(m.d_forward_dynamics(s.q[0], s.v[0])[0].sum(1).tolist()))"
    )

    def results(environment: dict[str, str]) -> tuple[str, Array, Array]:
        path = os.pathsep.join([*sys.path])
        run = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if "was built for another processor" in run.stderr:
            pytest.skip("built for this machine alone")
        assert run.returncode == 0, run.stderr
        name, a, d = run.stdout.strip().splitlines()
        return name, np.array(eval(a)), np.array(eval(d))

    default = results({})
    forced = results({"DALEMBERT_FORCE_ISA": isa})
    if forced[0] != isa:
        pytest.skip(f"this processor does not have {isa}")
    assert_close(forced[1], default[1], 1e-8)
    assert_close(forced[2], default[2], 1e-8)


# ---- long chains


def test_ten_thousand_bodies_compile_and_move() -> None:
    from dalembert.library import chain

    model = chain(10_000).compile()
    state = model.random_state(0)
    tau = np.zeros(model.nv)
    a = model.forward_dynamics(0.01 * state.q, 0.001 * state.v, tau)
    back = model.inverse_dynamics(0.01 * state.q, 0.001 * state.v, a)
    # forces inside the chain reach 1e9 N m: the residual is round-off of these
    weight = np.abs(model.reactions(0.01 * state.q, 0.001 * state.v, a)).max()
    assert np.abs(back).max() <= 1e-9 * weight


def test_all_joints_are_covered(case: Case) -> None:
    names = {type(h.element) for h in every_joint_both_ways(np.random.default_rng(0)).forest().joints}
    assert names == set(JOINTS)
