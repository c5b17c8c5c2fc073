"""Spatial operators of random trees obey the identities of Jain & Rodriguez 1990, and mechanics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from systems.random_trees import (
    JOINTS,
    coordinate_rates,
    derivative,
    every_joint_both_ways,
    hang_on,
    random_body,
    random_state,
    random_system,
)

from dalembert.bodies.shapes import rod
from dalembert.connections.joints import Fixed, Free, Joint, Revolute, Spherical
from dalembert.errors import ModelError, SingularityError
from dalembert.oracles.operators import Operators, dense, phi
from dalembert.rotation import skew
from dalembert.system import System

Array = NDArray[np.float64]

# identities between matrices of size 10 to 100 with condition numbers up to 1e4: 1e-16 times both
ROUNDING = 1e-11
# five-point differences with h = 1e-3 of motions whose fifth derivatives are about 1e3
DIFFERENCES = 1e-8


def close(x: ArrayLike, y: ArrayLike, tolerance: float = ROUNDING) -> bool:
    """Equal to within `tolerance` of the larger magnitude (at least one)."""
    size = max(1.0, float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0)))
    return bool(np.abs(np.asarray(x) - np.asarray(y)).max(initial=0.0) <= tolerance * size)


@pytest.fixture(params=range(8))
def tree(request: pytest.FixtureRequest) -> tuple[System, Array, Array]:
    """A random state of a random tree; the first two hold every joint type, walked both ways."""
    rng = np.random.default_rng(request.param)
    system = every_joint_both_ways(rng) if request.param < 2 else random_system(rng, 9, isolated=request.param % 4)
    return system, *random_state(system, rng)


@pytest.fixture
def ops(tree: tuple[System, Array, Array]) -> Operators:
    return Operators(*tree)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(99)


def one_joint(kind: type[Joint], backwards: bool) -> tuple[System, Array, Array]:
    """A joint between a flying body and a second one."""
    rng = np.random.default_rng(5)
    system = System("one joint")
    base = hang_on(system, system.ground, "base", Free, rng, backwards=False)
    hang_on(system, base, "tip", kind, rng, backwards=backwards)
    return system, *random_state(system, rng)


# ---- kinematics


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_joint_places_second_marker_in_first_as_its_definition_says(kind: type[Joint], backwards: bool) -> None:
    system, q, v = one_joint(kind, backwards)
    ops = Operators(system, q, v)
    joint = ops.forest.joints[1]
    assert joint.reversed is backwards
    connection = system.connections["h_tip"]
    frames = []
    for marker in (connection.first, connection.second):
        k = ops.forest.number[marker.body.name] - 1
        frames.append((ops.R[k] @ marker.rotation, ops.p[k] + ops.R[k] @ marker.position))
    (R_1, p_1), (R_2, p_2) = frames
    C, c = joint.element.pose(q[ops.q_slices[1]])
    assert close(R_1.T @ R_2, C)
    assert close(R_1.T @ (p_2 - p_1), c)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_velocities_are_the_rates_of_poses_across_every_joint(kind: type[Joint], backwards: bool) -> None:
    velocities_are_the_rates_of_poses(*one_joint(kind, backwards))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", JOINTS)
def test_accelerations_are_the_rates_of_velocities_across_every_joint(kind: type[Joint], backwards: bool) -> None:
    accelerations_are_the_rates_of_velocities(*one_joint(kind, backwards))


def test_velocities_are_the_rates_of_poses(tree: tuple[System, Array, Array]) -> None:
    velocities_are_the_rates_of_poses(*tree)


def test_accelerations_are_the_rates_of_velocities(tree: tuple[System, Array, Array]) -> None:
    accelerations_are_the_rates_of_velocities(*tree)


def velocities_are_the_rates_of_poses(system: System, q: Array, v: Array) -> None:
    ops = Operators(system, q, v)
    rates = coordinate_rates(system, q, v)
    p_dot = derivative(lambda t: Operators(system, q + t * rates).p)
    R_dot = derivative(lambda t: Operators(system, q + t * rates).R)
    for V, R, dp, dR in zip(ops.velocities(), ops.R, p_dot, R_dot, strict=True):
        assert close(dp, V[3:], DIFFERENCES)
        assert close(dR, skew(V[:3]) @ R, DIFFERENCES)


def accelerations_are_the_rates_of_velocities(system: System, q: Array, v: Array) -> None:
    v_dot = np.random.default_rng(1).normal(size=v.size)
    rates = coordinate_rates(system, q, v)
    # a first derivative sees q'' only through even terms, which the symmetric rule cancels
    V_dot = derivative(lambda t: Operators(system, q + t * rates, v + t * v_dot).velocities())
    assert close(V_dot, Operators(system, q, v).accelerations(v_dot), DIFFERENCES)


def test_velocities_and_accelerations_follow_from_the_operators(ops: Operators, rng: np.random.Generator) -> None:
    assert close(ops.V, ops.Phi.T @ ops.H.T @ ops.v)
    v_dot = rng.normal(size=ops.nv)
    assert close(ops.accelerations(v_dot).ravel(), ops.Phi.T @ (ops.H.T @ v_dot + ops.a))


# ---- the algebra


def test_transport_composes_and_inverts() -> None:
    x, y = np.array([0.3, -1.0, 2.0]), np.array([-0.7, 0.2, 0.5])
    assert close(phi(x) @ phi(y), phi(x + y))
    assert close(phi(x) @ phi(-x), np.eye(6))


def test_sweeps_apply_the_inverse_of_one_minus_transport(ops: Operators) -> None:
    one = np.eye(6 * ops.nb)
    assert close(dense(ops.Phi) @ (one - dense(ops.E_Phi)), one)
    assert close(dense(ops.Psi) @ (one - dense(ops.E_Psi)), one)


def test_transport_is_nilpotent_and_phi_is_triangular(ops: Operators) -> None:
    assert not np.linalg.matrix_power(dense(ops.E_Phi), ops.nb).any()  # exact: paths are shorter than nb
    assert not np.tril(dense(ops.Phi), -6).any()  # parents come first


def test_every_operator_and_its_transpose_agree(ops: Operators, rng: np.random.Generator) -> None:
    names = "H E_Phi Phi M R_composite P P_plus D D_inverse G tau_bar K E_Psi Psi"
    for name in [*names.split(), "mass", "factor", "inverse_factor", "mass_inverse"]:
        operator = getattr(ops, name)
        x, y = rng.normal(size=operator.shape[1]), rng.normal(size=operator.shape[0])
        assert close(operator.T @ y @ x, y @ (operator @ x)), name
        assert close(dense(operator) @ x, operator @ x), name


def test_identities_of_the_articulated_body(ops: Operators) -> None:
    H, G, P, D, K = (dense(operator) for operator in (ops.H, ops.G, ops.P, ops.D, ops.K))
    tau_bar, P_plus, M = dense(ops.tau_bar), dense(ops.P_plus), dense(ops.M)
    E_Phi, E_Psi, Phi, Psi = (dense(operator) for operator in (ops.E_Phi, ops.E_Psi, ops.Phi, ops.Psi))
    one, Phi_tilde = np.eye(ops.nv), Phi - np.eye(6 * ops.nb)
    assert close(H @ G, one)
    assert close(D, H @ P @ H.T)
    assert close(tau_bar @ tau_bar, tau_bar)
    assert close(tau_bar @ P @ tau_bar.T, tau_bar @ P)
    assert close(P_plus, P_plus.T)
    assert close(P_plus @ H.T, np.zeros((6 * ops.nb, ops.nv)))
    assert close(E_Psi, E_Phi @ tau_bar)
    # (A.2), three forms
    assert close(M, P - E_Psi @ P @ E_Psi.T)
    assert close(M, P - E_Psi @ P @ E_Phi.T)
    assert close(M, P - E_Phi @ P @ E_Phi.T + K @ D @ K.T)
    # erratum: appendix A prints Phi~ for Phi nearly everywhere; Phi~ = Phi - 1
    assert close(np.linalg.inv(Psi), np.linalg.inv(Phi) + K @ H)  # (A.4)
    assert close((one - H @ Psi @ K) @ H @ Phi, H @ Psi)  # (A.6)
    assert close(Psi @ M @ Phi.T, Psi @ P + P @ Phi_tilde.T)  # (A.8)
    assert close((one - H @ Psi @ K).T @ np.linalg.inv(D) @ H @ P @ Phi_tilde.T, K.T @ Psi.T)  # (A.10)


def test_composite_bodies_split_the_inertia_of_the_tree(ops: Operators) -> None:
    """Lemma 5.1: Phi M Phi* = R + Phi~ R + R Phi~*."""
    Phi, R = dense(ops.Phi), dense(ops.R_composite)
    Phi_tilde = Phi - np.eye(6 * ops.nb)
    assert close(Phi @ dense(ops.M) @ Phi.T, R + Phi_tilde @ R + R @ Phi_tilde.T)


def test_mass_matrix_is_symmetric_and_positive(ops: Operators) -> None:
    mass = ops.mass_matrix()
    assert close(mass, mass.T)
    assert np.linalg.eigvalsh(mass)[0] > 0


def test_innovations_factorise_the_mass_matrix_and_its_inverse(ops: Operators) -> None:
    mass, one = ops.mass_matrix(), np.eye(ops.nv)
    factor, inverse_factor = dense(ops.factor), dense(ops.inverse_factor)
    assert close(factor @ dense(ops.D) @ factor.T, mass)  # lemma 6.1
    assert close(inverse_factor @ factor, one)  # lemma 6.2
    assert close(dense(ops.mass_inverse) @ mass, one)  # lemma 6.3
    # parents come first here, so the factor is upper triangular where the source's is lower
    assert close(np.tril(factor), one)


def test_a_joint_passes_no_inertia_along_its_dofs(ops: Operators) -> None:
    """The rank of the inertia felt through joint k is 6 - nv(k), so it has no inverse.

    erratum: (7.7) to (7.10) invert it.
    """
    P_plus = dense(ops.P_plus)
    for k, joint in enumerate(ops.forest.joints):
        block = P_plus[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        # rounding leaves eigenvalues of 1e-14; the inertias are not smaller than about 1e-2
        assert np.linalg.matrix_rank(block, tol=1e-9) == 6 - joint.element.nv


# ---- dynamics


def test_forward_dynamics_by_sweeps_operators_and_matrices_agree(ops: Operators, rng: np.random.Generator) -> None:
    tau, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    sweeps = ops.forward_dynamics(tau, loads)
    assert close(sweeps, np.linalg.solve(ops.mass_matrix(), tau - ops.bias(loads)))
    # lemma 7.1, with gravity as an acceleration of ground and loads taken off the gyroscopic forces
    a, b = ops.a + ops.a_gravity, ops.b - loads.ravel()
    residual = tau - ops.H @ ops.Psi @ (ops.K @ tau + ops.P @ a + b)
    lemma = ops.inverse_factor.T @ ops.D_inverse @ residual - ops.K.T @ ops.Psi.T @ a
    assert close(sweeps, lemma)


def test_inverse_dynamics_undoes_forward_dynamics(ops: Operators, rng: np.random.Generator) -> None:
    tau, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    assert close(ops.inverse_dynamics(ops.forward_dynamics(tau, loads), loads), tau)


def test_bias_is_inverse_dynamics_without_acceleration(ops: Operators, rng: np.random.Generator) -> None:
    loads = rng.normal(size=(ops.nb, 6))
    assert close(ops.bias(loads), ops.inverse_dynamics(np.zeros(ops.nv), loads))


def test_driving_a_joint_along_its_free_motion_needs_no_effort(ops: Operators, rng: np.random.Generator) -> None:
    tau, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    free = ops.forward_dynamics(tau, loads)
    given = rng.random(ops.nv) < 0.5
    v_dot, effort = ops.mixed_dynamics(np.where(given, 0.0, tau), free, given, loads)
    assert close(v_dot, free)
    assert close(effort, tau)


def test_mixed_problem_is_the_partitioned_linear_system(ops: Operators, rng: np.random.Generator) -> None:
    tau, wanted, given = rng.normal(size=ops.nv), rng.normal(size=ops.nv), rng.random(ops.nv) < 0.5
    v_dot, effort = ops.mixed_dynamics(tau, wanted, given)
    assert close(v_dot[given], wanted[given])
    assert close(effort[~given], tau[~given])
    assert close(ops.mass_matrix() @ v_dot + ops.bias(), effort)


def test_every_body_obeys_newton_and_euler_under_its_joint_reactions(ops: Operators, rng: np.random.Generator) -> None:
    v_dot, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    forces = loads.copy()
    for reaction, joint in zip(ops.reactions(v_dot, loads), ops.forest.joints, strict=True):
        first, second = (joint.outboard, joint.inboard) if joint.reversed else (joint.inboard, joint.outboard)
        k = ops.forest.number[second.body.name] - 1
        at = second.position if k < 0 else ops.p[k] + ops.R[k] @ second.position
        for marker, sign in ((second, 1.0), (first, -1.0)):
            i = ops.forest.number[marker.body.name] - 1
            if i >= 0:
                forces[i] += sign * phi(at - ops.p[i]) @ reaction
    for k, alpha in enumerate(ops.accelerations(v_dot)):
        M = dense(ops.M)[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        weightless = alpha - np.concatenate([np.zeros(3), ops.system.gravity])
        assert close(M @ weightless + ops.b[6 * k : 6 * k + 6], forces[k])


def test_bias_is_that_of_lagrange_and_hamel(tree: tuple[System, Array, Array]) -> None:
    """d/dt dT/dv - X(T - U) plus the terms of speeds that are not rates of coordinates.

    X is the derivative along one speed. Speeds in axes of the second marker add, by Hamel's
    equations, w x (dT/dw) + u x (dT/du) to the rotations and w x (dT/du) to the translations.
    """
    system, q, v = tree
    ops = Operators(system, q, v)
    rates = coordinate_rates(system, q, v)
    expected = derivative(lambda t: Operators(system, q + t * rates).mass @ v)

    def lagrangian(x: Array) -> Array:
        at = Operators(system, x, v)
        return np.array(at.kinetic_energy() - at.potential_energy())

    for i, unit in enumerate(np.eye(ops.nv)):
        direction = coordinate_rates(system, q, unit)
        expected[i] -= derivative(lambda t, d=direction: lagrangian(q + t * d))  # type: ignore[misc]
    momenta = ops.mass @ v
    for joint, block in zip(ops.forest.joints, ops.v_slices, strict=True):
        if isinstance(joint.element, Spherical | Free):
            turning = slice(block.start, block.start + 3)
            expected[turning] += np.cross(v[turning], momenta[turning])
        if isinstance(joint.element, Free):
            sliding = slice(block.start + 3, block.stop)
            expected[turning] += np.cross(v[sliding], momenta[sliding])
            expected[sliding] += np.cross(v[turning], momenta[sliding])
    # kinetic energies here are about 1e2 to 1e3, so are the derivatives
    assert close(ops.bias(), expected, DIFFERENCES)


def test_kinetic_energy_is_half_v_mass_v(ops: Operators) -> None:
    assert math.isclose(ops.kinetic_energy(), ops.v @ ops.mass_matrix() @ ops.v / 2, rel_tol=1e-12)


def test_energy_grows_by_the_power_of_drives_and_loads(
    tree: tuple[System, Array, Array], rng: np.random.Generator
) -> None:
    system, q, v = tree
    ops = Operators(system, q, v)
    tau, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    v_dot, rates = ops.forward_dynamics(tau, loads), coordinate_rates(system, q, v)

    def energy(t: float) -> Array:
        at = Operators(system, q + t * rates, v + t * v_dot)
        return np.array(at.kinetic_energy() + at.potential_energy())

    power = tau @ v + float((loads * ops.velocities()).sum())
    # smaller steps than elsewhere: accelerations reach 1e3, energies 1e3
    assert close(derivative(energy, 1e-5), np.array(power), 1e-5)


def test_momentum_of_a_flying_system_changes_by_external_loads_alone(rng: np.random.Generator) -> None:
    system = random_system(rng, 0, isolated=6)
    q, v = random_state(system, rng)
    ops = Operators(system, q, v)
    tau, loads = rng.normal(size=ops.nv), rng.normal(size=(ops.nb, 6))
    root = ops.forest.joints[0]
    assert isinstance(root.element, Free)
    tau[:6] = 0.0  # no motor between the first body and ground
    v_dot, rates = ops.forward_dynamics(tau, loads), coordinate_rates(system, q, v)
    change = derivative(lambda t: Operators(system, q + t * rates, v + t * v_dot).momentum(), 1e-5)
    center = ops.center_of_mass()
    expected = sum((phi(p - center) @ load for p, load in zip(ops.p, loads, strict=True)), np.zeros(6))
    expected[3:] += ops.total_mass * system.gravity
    assert close(change, expected, 1e-6)  # steps of 1e-5 leave rounding of 1e-16 * 1e2 / 1e-5


def test_a_free_base_feels_nothing_through_its_joint(rng: np.random.Generator) -> None:
    system = random_system(rng, 0, isolated=5)
    ops = Operators(system, *random_state(system, rng))
    assert close(dense(ops.P_plus)[:6, :6], np.zeros((6, 6)))


def test_a_body_in_free_fall_accelerates_with_gravity() -> None:
    system = System("fall", gravity=(0.0, 0.0, -9.81))
    system.body("stone", mass=2.0, inertia=(1, 1, 1))
    fall = Operators(system, [1, 0, 0, 0, 0, 0, 5.0], np.zeros(6))
    assert close(fall.forward_dynamics(), np.array([0, 0, 0, 0, 0, -9.81]))


def test_two_uniform_rods_in_the_plane() -> None:
    """Numbers of the closed form of a double rod: mass 1, length 1, angles 0.3 and 1.1 rad."""
    system = System("2R", gravity=(0, 0, 0))
    base, tip = system.body("base", rod(1.0, 1.0)), system.body("tip", rod(1.0, 1.0))
    system.connect("shoulder", Revolute("z"), system.ground, base)
    system.connect("elbow", Revolute("z"), base.at(1.0), tip)
    ops = Operators(system, [0.3, 1.1], [-0.2, 0.5])
    cosine, sine = math.cos(1.1), math.sin(1.1)
    assert close(ops.mass_matrix(), np.array([[5 / 3 + cosine, 1 / 3 + cosine / 2], [1 / 3 + cosine / 2, 1 / 3]]))
    assert close(ops.bias(), sine / 2 * np.array([0.2**2 - 0.3**2, 0.2**2]))
    assert close(ops.bias(), np.array([-0.0222801840, 0.0178241472]), 1e-10)  # ten digits are given
    assert close(ops.forward_dynamics([0.2, 0.1]), np.array([0.07140869, 0.12653282]), 1e-8)  # eight digits


# ---- the model behind the operators


def test_loop_constraints_do_not_enter(rng: np.random.Generator) -> None:
    system = random_system(rng, 9)
    q, v = random_state(system, rng)
    before = Operators(system, q, v)
    system.connect("loop_constraint", Free(), system["b0"], system["b8"])
    after = Operators(system, q, v)
    assert len(after.forest.loop_constraints) == 1
    assert close(before.mass_matrix(), after.mass_matrix())
    assert close(before.bias(), after.bias())


def test_fixed_bodies_move_as_one(rng: np.random.Generator) -> None:
    system = System("pair")
    one = random_body(system, "one", rng)
    system.connect("A", Revolute("x"), system.ground, one)
    hang_on(system, one, "two", Fixed, rng, backwards=True)
    ops = Operators(system, [0.4], [1.3])
    assert ops.nv == 1
    V = ops.velocities()
    assert close(V[1], phi(ops.p[1] - ops.p[0]).T @ V[0])


def test_a_joint_without_inertia_is_named() -> None:
    system = System("needle")
    needle = system.body("needle", rod(1.0, 1.0))  # slender: no inertia about its own axis
    system.connect("spindle", Revolute("x"), system.ground, needle)
    with pytest.raises(SingularityError, match=r"spindle.*needle"):
        Operators(system, [0.0]).forward_dynamics([1.0])
    with pytest.raises(SingularityError, match="bare"):
        bare = System("bare")
        carrier = bare.body("carrier")
        bare.connect("bare", Revolute("y"), bare.ground, carrier)
        bare.connect("loose", Free(), carrier, bare.body("stone", mass=1.0, inertia=(1, 1, 1)))
        Operators(bare, [0.0, 1, 0, 0, 0, 0, 0, 0]).forward_dynamics()


def test_states_of_the_wrong_size_are_refused(ops: Operators) -> None:
    with pytest.raises(ModelError, match="q is"):
        Operators(ops.system, np.zeros(ops.nq + 1))
    with pytest.raises(ModelError, match="loads"):
        ops.inverse_dynamics(np.zeros(ops.nv), np.zeros((ops.nb, 3)))


def test_long_chains_are_swept_not_multiplied_out() -> None:
    """A chain of 400 links: Phi alone would be a dense matrix of 46 MB."""
    system = System("chain")
    end = system.ground.at()
    for k in range(400):
        link = system.body(f"link{k}", rod(0.1, 0.1, radius=0.01))
        system.connect(f"pin{k}", Revolute("y" if k % 2 else "z"), end, link)
        end = link.at(0.1)
    rng = np.random.default_rng(3)
    ops = Operators(system, *random_state(system, rng))
    x = rng.normal(size=ops.nv)
    # the condition number of this mass matrix is 1e8: 1e-16 times that, with a margin of ten
    assert close(ops.mass_inverse @ (ops.mass @ x), x, 1e-7)
