"""Random trees and loops of rigid and flexible bodies: core, operators and mass points agree; conservation laws."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.nodal import Nodal
from systems.flexible_systems import (
    beam,
    random_deformed_state,
    random_flexible,
    random_flexible_tree,
    random_place,
    stiffening_of,
)
from systems.random_trees import JOINTS, derivative, random_body, random_joint

import dalembert as da
from dalembert.bodies.modal_integrals import modal_integrals
from dalembert.connections.joints import Free, Prismatic, Revolute, Spherical, Universal
from dalembert.oracles.flexible_operators import FlexibleOperators, node_motion
from dalembert.rotation import axis_angle, quaternion

SEEDS = range(8)
OPTIONS = ({}, {"points": True}, {"stiffening": True, "damping": 0.03}, {"order": "ruthless"})


def close(found, expected, tolerance):
    __tracebackhide__ = True
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    assert np.abs(found - expected).max(initial=0.0) < tolerance * scale


def tree(seed, nb=6, **options):
    rng = np.random.default_rng(seed)
    system = random_flexible_tree(rng, nb, **(OPTIONS[seed % len(OPTIONS)] | options))
    model = system.compile()
    return system, model, *random_deformed_state(model, rng), rng


# ---- core and operators


@pytest.mark.parametrize("seed", SEEDS)
def test_core_is_the_operators(seed):
    system, model, q, v, rng = tree(seed)
    o = FlexibleOperators(system, q, v)
    tau = rng.normal(size=model.nv)
    M, b, a = model.mass_matrix(q), model.bias_forces(q, v), model.forward_dynamics(q, v, tau)
    close(M, o.mass_matrix(), 1e-13)
    close(b, o.bias(), 1e-12)
    close(a, o.forward_dynamics(tau), 1e-11)
    close(model.composite_inertias(q), np.diag(M), 1e-13)
    close(model.solve_mass_matrix(q, tau), np.linalg.solve(M, tau), 1e-10)
    assert model.energy(q, v).kinetic == pytest.approx(o.kinetic_energy(), rel=1e-12)
    assert np.linalg.eigvalsh(M)[0] > 0
    close(M, M.T, 1e-15)
    close(model.inverse_dynamics(q, v, a), tau, 1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_factorisations(seed):
    system, _, q, v, rng = tree(seed, 5)
    o = FlexibleOperators(system, q, v)
    M, tau, N = o.mass_matrix(), rng.normal(size=o.nv), len(o.M)
    close(o.composite_mass_matrix(), M, 1e-13)
    close(o.factor() @ o.D @ o.factor().T, M, 1e-12)
    close(o.factor() @ o.inverse_factor(), np.eye(o.nv), 1e-11)
    close(o.mass_inverse() @ M, np.eye(o.nv), 1e-10)
    # identities of the operators: H G = 1, projections, (A.2), (A.4), (A.6), (A.8)
    close(o.H @ o.G, np.eye(o.nv), 1e-12)
    close(o.tau_bar @ o.tau_bar, o.tau_bar, 1e-12)
    assert np.abs(o.tau_bar @ o.P @ o.H.T).max() < 1e-11 * np.abs(o.P).max()
    close(o.P - o.E_Phi @ o.P @ o.E_Phi.T + o.K @ o.D @ o.K.T, o.M, 1e-12)
    close(np.linalg.inv(o.Psi), np.linalg.inv(o.Phi) + o.K @ o.H, 1e-11)
    close(o.inverse_factor() @ o.H @ o.Phi, o.H @ o.Psi, 1e-11)
    close(o.Psi @ o.M @ o.Phi.T, o.Psi @ o.P + o.P @ (o.Phi.T - np.eye(N)), 1e-11)
    # four ways of forward dynamics
    a = np.linalg.solve(M, tau - o.bias())
    for found in (o.forward_dynamics(tau), o.forward_dynamics(tau, indirect=True), o.operator_dynamics(tau)):
        close(found, a, 1e-9)


def test_no_inverse_of_what_the_joint_passes_on():
    """Gamma of (7.7) has the rank that the child's joint leaves: 6 less its degrees of freedom."""
    s = da.System("two")
    rng = np.random.default_rng(0)
    one, two = s.body("one", random_flexible(rng)), s.body("two", random_flexible(rng))
    s.connect("A", da.Revolute("z"), s.ground, one.at(node=0))
    s.connect("B", da.Cylindrical("x"), one.at(node=4), two.at(node=0))
    model = s.compile()
    q, v = random_deformed_state(model, rng)
    o = FlexibleOperators(s, q, v)
    passed = (o.tau_bar @ o.P)[o.blocks[1], o.blocks[1]][-6:, -6:]
    singular = np.linalg.svd(passed, compute_uv=False)
    assert (singular > 1e-10 * singular[0]).sum() == 4


# ---- mass points: nothing but positions


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_agree_with_mass_points(seed):
    rng = np.random.default_rng(seed)
    joints = [joint for joint in JOINTS if joint is not Free]  # whose steps are not motions at constant speeds
    system = random_flexible_tree(rng, 5, joints=joints, points=True, damping=0.05)
    model = system.compile()
    q, v = random_deformed_state(model, rng)
    points = Nodal(system, model.integrate)
    _, frames = points.positions(q)
    close(model.poses(q).position, np.array([p for _, p in frames[1:]]), 1e-13)
    close(model.poses(q).rotation, np.array([R for R, _ in frames[1:]]), 1e-13)
    close(model.mass_matrix(q), points.mass_matrix(q, model.nv), 1e-9)
    close(model.bias_forces(q, v), points.bias(q, v), 1e-8)


def test_stiffening_is_second_order_displacement():
    """At eta = 0, where both are exact, with speeds and accelerations that bring all its terms."""
    rng = np.random.default_rng(3)
    plain = random_flexible(rng, nm=3, points=True, clamped=True)
    bend = 0.3 * rng.normal(size=(plain.n, 3, 3, 3))
    bend = bend + bend.swapaxes(2, 3)
    bend[0] = 0.0
    made = stiffening_of(plain.nodes, plain.node_masses, bend)
    K = plain.modal_stiffness
    body = da.FlexibleBody(plain.nodes, plain.modes, node_masses=plain.node_masses, modal_stiffness=K, stiffening=made)
    s = da.System("bent", gravity=rng.normal(size=3))
    arm, load = s.body("arm", body), random_body(s, "load", rng)
    s.connect("A", da.Universal("x", "y"), s.ground, arm.at(node=0))
    s.connect("B", da.Revolute("y"), arm.at(node=plain.n - 1), load.at(0.1, 0.2, 0))
    model = s.compile()
    points = Nodal(s, model.integrate, {"arm": bend})
    q, v = model.random_state(rng).q, model.random_state(rng).v
    v[model.v_slice("arm")] = 0.0  # the energy of modes among themselves does not follow the deformation
    close(model.mass_matrix(q), points.mass_matrix(q, model.nv), 1e-9)
    close(model.bias_forces(q, v), points.bias(q, v), 1e-8)
    # and to first order beside it: both are derivatives of the same energy
    for unit in np.eye(model.nv)[model.v_slice("arm")]:
        found = derivative(lambda h, u=unit: model.bias_forces(model.integrate(q, h * u), v))
        other = derivative(lambda h, u=unit: points.bias(model.integrate(q, h * u), v), 1e-2)
        assert np.abs(found - other)[model.v_slice("A")].max() < 1e-4 * np.abs(other).max()


@pytest.mark.parametrize("seed", range(4))
def test_integrals_of_nodes_that_turn(seed):
    """J, h, F, E of rigid nodes with offsets and inertias, against clouds of points, to the order they claim."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    body = random_flexible(rng, nm=3)
    integrals = modal_integrals(body)
    eta = rng.normal(size=3)

    def cloud(x):
        M = np.zeros((9, 9))
        for j in range(body.n):
            m, c, lam, gam = body.node_masses[j], body.node_centres[j], body.shapes[j, :3], body.shapes[j, 3:]
            about = body.node_inertias[j]
            spread = np.trace(about) / 2 * np.eye(3) - about - m * np.outer(c, c)
            values, axes = np.linalg.eigh(spread)
            for arm in np.concatenate([(axes * np.sqrt(3 * values / m)).T, -(axes * np.sqrt(3 * values / m)).T]):

                def place(at, arm=arm, c=c, lam=lam, gam=gam, j=j):
                    return body.nodes[j] + gam @ at + Rotation.from_rotvec(lam @ at).as_matrix() @ (c + arm)

                partial = np.stack([derivative(lambda h, u=u: place(x + h * u)) for u in np.eye(3)], -1)
                r = place(x)
                spin = np.array([[0, r[2], -r[1]], [-r[2], 0, r[0]], [r[1], -r[0], 0]])
                B = np.hstack([partial, spin, np.eye(3)])
                M += m / 6 * B.T @ B
        return M

    errors = [np.abs(integrals.mass_matrix(s * eta) - cloud(s * eta)) for s in (0.02, 0.01)]
    assert errors[1][3:6, 3:6].max() < 0.2 * errors[0][3:6, 3:6].max() + 1e-10  # J: third order
    assert errors[1][:3, 3:].max() < 0.3 * errors[0][:3, 3:].max() + 1e-10  # F, E: second order


def test_integrals_of_a_consistent_mass_matrix():
    """A fine consistent beam has the integrals of a fine lumped one."""
    fine = modal_integrals(beam(60, nm=4, stiffness=(1.0, 3.0)))
    body = beam(60, nm=4, stiffness=(1.0, 3.0))
    masses = np.full(61, 1 / 60.0)
    masses[[0, -1]] /= 2
    lumped = modal_integrals(
        da.FlexibleBody(body.nodes, body.modes, node_masses=masses, modal_stiffness=body.modal_stiffness)
    )
    for name in ("h0", "J0", "E0", "F0", "G", "F1", "J1", "J2"):
        close(getattr(fine, name), getattr(lumped, name), 5e-3)


# ---- markers, lanes, derivatives


@pytest.mark.parametrize("seed", SEEDS)
def test_markers_move_as_their_jacobians_say(seed):
    rng = np.random.default_rng(seed)
    system = random_flexible_tree(rng, 4, share=0.8, **OPTIONS[seed % 3])
    markers = [body.marker("m", node=2) for body in system.bodies.values() if body.flexible is not None]
    model = system.compile()
    q, v = random_deformed_state(model, rng)
    for marker in markers:
        check_marker(model, marker, q, v, rng.normal(size=model.nv))


def check_marker(model, marker, q, v, a):
    units = np.eye(model.nv)
    J, R = model.jacobian(marker, q), model.pose(marker, q).rotation
    moved = [derivative(lambda h, u=u: model.pose(marker, model.integrate(q, h * u)).position) for u in units]
    close(J[3:], np.array(moved).T, 1e-9)
    turned = [derivative(lambda h, u=u: model.pose(marker, model.integrate(q, h * u)).rotation) @ R.T for u in units]
    close(J[:3], np.array([[x[2, 1], x[0, 2], x[1, 0]] for x in turned]).T, 1e-9)
    close(model.velocity(marker, q, v), J @ v, 1e-12)
    close(model.acceleration(marker, q, v, a) - model.bias_acceleration(marker, q, v), J @ a, 1e-10)
    if all(joint.element.kind != "Free" for joint in model.forest.joints):
        rate = derivative(lambda h: model.jacobian(marker, model.integrate(q, h * v)) @ v)
        close(model.bias_acceleration(marker, q, v), rate, 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_points_without_frames(seed):
    """Points that the core does not follow are computed outside: the same as with a frame of their own."""
    rng = np.random.default_rng(seed)
    system = random_flexible_tree(rng, 3, share=1.0, n=7, **OPTIONS[seed % 3])
    bare = system.copy()
    named = [body.marker("m", node=5, rotation=quaternion(*rng.normal(size=4))) for body in system.bodies.values()]
    model, other = system.compile(), bare.compile()
    states = [random_deformed_state(model, rng) for _ in range(3)]
    q, v = np.array([x for x, _ in states]), np.array([x for _, x in states])
    a = rng.normal(size=v.shape)
    for marker in named:
        point = bare.bodies[marker.body.name].at(node=5, rotation=marker.rotation)
        close(other.pose(point, q).rotation, model.pose(marker, q).rotation, 1e-13)
        close(other.pose(point, q).position, model.pose(marker, q).position, 1e-13)
        close(other.jacobian(point, q), model.jacobian(marker, q), 1e-13)
        close(other.velocity(point, q, v), model.velocity(marker, q, v), 1e-13)
        close(other.acceleration(point, q, v, a), model.acceleration(marker, q, v, a), 1e-12)
        close(other.acceleration(point, q[0], v[0], a[0]), model.acceleration(marker, q[0], v[0], a[0]), 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_simd_batches_and_derivatives(seed):
    _, model, q, v, rng = tree(seed)
    states = [random_deformed_state(model, rng) for _ in range(11)]
    qs, vs, taus = np.array([x for x, _ in states]), np.array([x for _, x in states]), rng.normal(size=(11, model.nv))
    A = model.forward_dynamics(qs, vs, taus)
    for k in range(11):
        close(A[k], model.forward_dynamics(qs[k], vs[k], taus[k]), 1e-11)
        close(model.mass_matrix(qs)[k], model.mass_matrix(qs[k]), 1e-13)
    close(model.inverse_dynamics(qs, vs, A), taus, 1e-9)
    a, units = A[0], np.eye(model.nv)
    q, v, tau = qs[0], vs[0], taus[0]
    by_q, by_v = model.d_inverse_dynamics(q, v, a)[:2]
    moved = [derivative(lambda h, u=u: model.inverse_dynamics(model.integrate(q, h * u), v, a)) for u in units]
    pushed = [derivative(lambda h, u=u: model.inverse_dynamics(q, v + h * u, a)) for u in units]
    close(by_q, np.array(moved).T, 1e-8)
    close(by_v, np.array(pushed).T, 1e-8)
    by_q, by_v, inverse = model.d_forward_dynamics(q, v, tau)
    moved = [derivative(lambda h, u=u: model.forward_dynamics(model.integrate(q, h * u), v, tau), 1e-4) for u in units]
    close(by_q, np.array(moved).T, 1e-7)
    close(inverse, np.linalg.inv(model.mass_matrix(q)), 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_given_joint_accelerations(seed):
    """Prescribed joints: what inverse dynamics says of the motion found is what was asked for."""
    _, model, q, v, rng = tree(seed)
    given = rng.random(model.nv) < 0.4
    for name in model.flexible_names:
        given[model.v_slice(name)] = False
    tau, wanted = rng.normal(size=(2, model.nv))
    a, forces = model.mixed_dynamics(q, v, tau, wanted, given)
    close(a[given], wanted[given], 1e-13)
    close(forces[~given], tau[~given], 1e-13)
    close(model.inverse_dynamics(q, v, a), forces, 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_and_centre_of_mass(seed):
    _, model, q, v, rng = tree(seed)
    # the centre of mass of a body of order "ruthless" stays that of the undeformed body
    if all(model.system.bodies[name].flexible.order != "ruthless" for name in model.flexible_names):
        mass = sum(body.mass for body in model.system.bodies.values())
        rate = derivative(lambda h: model.center_of_mass(model.integrate(q, h * v)))
        close(model.momentum(q, v)[3:], mass * rate, 1e-8)
    # loads on bodies, by the Jacobians of their frames
    loads = rng.normal(size=(model.nb, 6))
    bare, loaded = model.bias_forces(q, v), model.bias_forces(q, v, loads=loads)
    expected = sum(model.jacobian(name, q).T @ load for name, load in zip(model.body_names, loads, strict=True))
    close(bare - loaded, expected, 1e-10)


# ---- loops


def looped(seed):
    rng = np.random.default_rng(seed)
    system = random_flexible_tree(
        rng, 4, share=0.8, joints=(Revolute, Spherical, Universal, Prismatic), **OPTIONS[seed % 3]
    )
    held = next(body for body in system.bodies.values() if body.flexible is not None)
    one, two = random_body(system, "one", rng), system.body("two", random_flexible(rng))
    # both on one flexible body, at different nodes: the loop is closed through its modes
    system.connect("h_one", random_joint(Universal, rng), held.at(node=1), random_place(one, rng))
    system.connect("h_two", random_joint(Spherical, rng), random_place(two, rng), held.at(node=3))
    system.connect("c0", da.Distance(1.0), random_place(one, rng), random_place(two, rng))
    system.connect("c1", da.PointOnPlane("z"), system.ground.at(0, 0, 0.3), held.at(node=4))
    system.connect("c2", da.PointOnPoint(), random_place(two, rng), random_place(one, rng))
    model = system.compile()
    return model, *random_deformed_state(model, rng, 0.1), rng


@pytest.mark.parametrize("seed", SEEDS)
def test_loops_through_flexible_bodies(seed):
    model, q, v, rng = looped(seed)
    P, tau = model.constraint_jacobian(q), rng.normal(size=model.nv)
    moved = [derivative(lambda h, u=u: model.constraint_residual(model.integrate(q, h * u))) for u in np.eye(model.nv)]
    close(P, np.array(moved).T, 1e-9)
    gamma = model.constraint_bias(q, v)
    close(gamma, derivative(lambda h: model.constraint_jacobian(model.integrate(q, h * v)) @ v), 1e-7)
    M, b = model.mass_matrix(q), model.bias_forces(q, v)
    whole = np.block([[M, -P.T], [P, np.zeros((model.nc, model.nc))]])
    # a node that a joint holds may be held by a row too: least squares
    expected = np.linalg.lstsq(whole, np.concatenate([tau - b, -gamma]), rcond=1e-12)[0][: model.nv]
    close(model.forward_dynamics(q, v, tau), expected, 1e-8)
    # loads of all connections hold each body: what they do to the whole is the rate of its momentum
    loads = model.connection_loads(q, v, tau)
    assert set(loads) >= {"c0", "c1", "c2"}


def test_reactions_of_a_cut_joint_are_those_of_the_joint():
    """A flexible four-bar, cut at one joint or at another: the same motion, the same loads."""

    # directions of the bars in a closed position, so that all coordinates start at zero
    tip, base = 0.1 * np.array([np.cos(0.5), np.sin(0.5)]), np.array([0.35, 0.0])
    span = base - tip
    reach = np.linalg.norm(span)
    along = np.arctan2(span[1], span[0])
    turn = along + np.arccos((reach**2 + 0.4**2 - 0.3**2) / (2 * reach * 0.4))
    knee = tip + 0.4 * np.array([np.cos(turn), np.sin(turn)])
    leg = np.arctan2(*(knee - base)[::-1])

    def about(angle):
        return axis_angle("y", -angle)

    def bars(last):
        s = da.System("four-bar")
        crank = s.body("crank", beam(4, length=0.1, mass=0.05, stiffness=(5.0, 5.0), nm=2))
        coupler = s.body("coupler", beam(4, length=0.4, mass=0.1, stiffness=(8.0, 8.0), nm=3))
        rocker = s.body("rocker", beam(4, length=0.3, mass=0.1, stiffness=(8.0, 8.0), nm=2))
        ends = {
            "A": (s.ground.at(rotation=about(0.5)), crank.at(node=0)),
            "B": (crank.at(node=4, rotation=about(turn - 0.5)), coupler.at(node=0)),
            "C": (coupler.at(node=4, rotation=about(leg - turn)), rocker.at(node=4)),
            "D": (s.ground.at(0.35, 0, 0, rotation=about(leg)), rocker.at(node=0)),
        }
        for name in sorted(ends, key=lambda n: n == last):
            s.connect(name, da.Revolute("y"), *ends[name])
        return s

    results = [da.simulate(bars(last), 0.02, rtol=1e-10, atol=1e-12, times=[0.01, 0.02]) for last in "CD"]
    for name in (
        "rocker.position",
        "coupler.position",
        "coupler.eta",
        "A",
        "A.force",
        "B.moment",
        "C.force",
        "D.force",
    ):
        close(results[0][name], results[1][name], 2e-6)
    assert results[0]["constraints.residual"].max() < 1e-13


# ---- conservation


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_energy_and_momentum_are_kept(options):
    rng = np.random.default_rng(7)
    joints = (Revolute, Spherical, Universal, Prismatic)
    options = {key: value for key, value in options.items() if key != "damping"}
    system = random_flexible_tree(rng, 4, base=Free, gravity=False, share=0.7, joints=joints, **options)
    model = system.compile()
    q, v = random_deformed_state(model, rng, 0.1)
    result = da.simulate(model, 0.3, state=da.State(q=q, v=0.5 * v), rtol=1e-10, atol=1e-12)
    energy = result["energy.total"]
    assert np.ptp(energy) < 1e-9 * np.abs(energy).max()
    for name in ("momentum.linear", "momentum.angular"):
        momentum = result[name]
        assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum).max()


@pytest.mark.parametrize("method", ["dop853", "radau", "alpha", "rk4"])
def test_power_balance_with_damping_and_loops(method):
    s = da.System("bars")
    one = s.body("one", beam(4, length=0.5, stiffness=(20.0, 20.0), nm=3, damping=0.05))
    two = s.body("two", beam(4, length=0.5, stiffness=(20.0, 20.0), nm=3, free=True, rotary=1e-3))
    s.connect("A", da.Revolute("y"), s.ground, one.at(node=0))
    s.connect("B", da.Spherical(), one.at(node=4), two.at(node=0))
    s.connect("rope", da.Distance(0.6), s.ground.at(0.3, 0, 0.2), two.at(node=4))
    s.connect("k", da.SpringDamper(stiffness=50.0, damping=1.0, length=0.3), s.ground.at(0, 0.3, 0), two.at(node=2))
    settings = {"dop853": {}, "radau": {}, "alpha": {"fixed_step": 2e-4}, "rk4": {"fixed_step": 2e-4}}[method]
    result = da.simulate(s, 0.2, method=method, **settings)
    assert result["constraints.residual"].max() < 1e-9
    scale = np.abs(result["energy.potential"]).max()
    assert np.abs(result["energy.balance"]).max() < {"alpha": 1e-4, "rk4": 1e-6}.get(method, 1e-6) * scale
    assert result["energy.dissipated"][-1] > 0


def test_simd_batches_of_an_ensemble_are_single_runs():
    s = da.System("arm")
    arm = s.body("arm", beam(4, nm=3, stiffness=(50.0, 50.0)))
    s.connect("A", da.Revolute("y"), s.ground, arm.at(node=0))
    model = s.compile()
    starts = np.array([np.r_[angle, np.zeros(3)] for angle in (0.0, 0.5, 1.0, -0.7, 2.0)])
    together = da.simulate(model, 0.2, times=[0.1, 0.2], state=da.State(q=starts, v=np.zeros_like(starts)))
    for start, result in zip(starts, together, strict=True):
        alone = da.simulate(model, 0.2, times=[0.1, 0.2], state=da.State(q=start, v=np.zeros(4)))
        close(result["A"], alone["A"], 1e-6)
        close(result["arm.eta"], alone["arm.eta"], 1e-5)


def test_node_motion_is_the_definition():
    """The oracle's own node: velocities are differences of poses."""
    rng = np.random.default_rng(1)
    system = da.System("one")
    body = system.body("b", random_flexible(rng, nm=3, stiffening=True))
    marker = body.at(node=body.flexible.n - 1)
    eta, rate = 0.4 * rng.normal(size=3), rng.normal(size=3)
    node = node_motion(marker, eta, rate)
    moved = derivative(lambda h: node_motion(marker, eta + h * rate, rate).p)
    close((node.Pi @ rate)[3:], moved, 1e-9)
    spin = derivative(lambda h: node_motion(marker, eta + h * rate, rate).R) @ node.R.T
    close((node.Pi @ rate)[:3], np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), 1e-9)
    close(node.bias, derivative(lambda h: node_motion(marker, eta + h * rate, rate).Pi @ rate), 1e-8)
