"""Closed loops: the tree with its loop constraints moves as maximal coordinates do, wherever the loops are cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import contacts
from oracles.maximal import Maximal
from oracles.newton_euler import unexplained
from systems.random_loops import (
    ClosedSystem,
    close,
    isolated_loops,
    joint_coordinates,
    planar_loop,
    random_closed_system,
    random_contacts,
    random_coordinates,
    random_loop,
)
from systems.random_trees import (
    JOINTS,
    derivative,
    every_joint_both_ways,
    random_body,
    random_joint,
    random_marker,
    random_state,
    random_system,
)

import dalembert as da
from dalembert.closure.loop_equations import LoopEquations
from dalembert.connections.connection import Connection
from dalembert.connections.constraints.cams import CamFollower, PointOnCurve
from dalembert.connections.constraints.geometric import Constraint
from dalembert.connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.model import Model
from dalembert.rotation import quaternion_from_matrix
from dalembert.system import System, topology

Array = NDArray[np.float64]

# Two formulations in double precision; rows and mass matrix together reach condition 1e5.
AGREEMENT = 1e-8
# Positions and velocities are sums along a tree of some twenty joints.
KINEMATICS = 1e-11
# Five-point differences with h = 1e-3; fifth derivatives are about 1e3 times the value.
DIFFERENCES = 1e-7
# Derivatives of rows of contacts step at the knots of splines, and are large near centres of curvature: a short step
# straddles few of them, and none of the cases below.
STEP = 1e-4


def assert_close(x: Array, y: Array, tolerance: float = AGREEMENT, scale: float = 1.0) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    size = max(scale, float(np.abs(y).max(initial=0.0)))
    assert np.abs(x - y).max(initial=0.0) <= tolerance * size


class Case:
    """A closed system, its model, a state at which it is closed, efforts and loads."""

    def __init__(self, closed: ClosedSystem, rng: np.random.Generator) -> None:
        self.rng, self.closed, self.system = rng, closed, closed.system
        self.model: Model = closed.system.compile()
        self.q, self.v = closed.state(self.model)
        self.oracle = closed.maximal()
        self.order = closed.order(self.model)
        self.tau = rng.normal(size=self.model.nv)
        for joint in self.model.forest.joints:
            if joint.connection is None:  # the oracle has no joint there to drive
                self.tau[self.model.v_slice(joint.name)] = 0.0
        self.loads = rng.normal(size=(self.model.nb, 6))  # tree order

    @property
    def efforts(self) -> dict[str, Array]:
        """The same efforts by names of connections."""
        joints = self.model.forest.joints
        return {h.name: self.tau[self.model.v_slice(h.name)] for h in joints if h.connection is not None}

    def described(self, x: Array) -> Array:
        """Return an array over bodies in the order of the description instead of the tree's."""
        result = np.empty_like(x)
        result[self.order] = x
        return result

    def forward_dynamics(self) -> Array:
        return self.model.forward_dynamics(self.q, self.v, self.tau, loads=self.loads)

    def bodies_accelerate(self) -> Array:
        """Return the accelerations (nb, 6) of all bodies in the order of the description."""
        return self.described(self.model.accelerations(self.q, self.v, self.forward_dynamics()))


def some_loops(seed: int) -> ClosedSystem:
    rng = np.random.default_rng(seed)
    nb, loop_constraints = int(rng.integers(2, 16)), int(rng.integers(1, 6))
    return random_closed_system(rng, nb, loop_constraints, isolated=int(rng.integers(4)))


def coupled_loops(seed: int) -> ClosedSystem:
    """Chains of many degrees of freedom tied to each other and to ground in several places: loops that share bodies."""
    rng = np.random.default_rng(seed)
    chain = (Revolute, Prismatic, Screw, Universal, Cylindrical)
    tie = (Universal, Cylindrical, Spherical, Planar)
    return random_closed_system(rng, 18, 5, joints=chain, loop_constraint_joints=tie)


def crowded_loops(seed: int) -> ClosedSystem:
    """Many stiff loop constraints on few DOF: most rows are redundant, and which ones differs from place to place."""
    rng = np.random.default_rng(seed)
    chain, tie = (Revolute, Prismatic, Planar, Fixed), (Revolute, Planar, Prismatic, Cylindrical, Fixed)
    return random_closed_system(rng, 12, 8, joints=chain, loop_constraint_joints=tie, mobile=False)


def overconstrained(seed: int) -> ClosedSystem:
    """More rows than degrees of freedom, in part or as a whole: what still can move does."""
    rng = np.random.default_rng(seed)
    return random_closed_system(rng, 6, 5, mobile=False)


def a_door() -> ClosedSystem:
    """A body on two revolute joints with one axis: five rows repeat the other five."""
    system = System("door", gravity=(0, 0, -9.81))
    door = system.body("door", mass=20.0, com=(0.4, 0, 1.0), inertia=(7.0, 8.0, 1.1))
    system.connect("upper", Revolute("z"), system.ground.at(0, 0, 1.8), door.at(0, 0, 1.8))
    system.connect("lower", Revolute("z"), system.ground.at(0, 0, 0.2), door.at(0, 0, 0.2))
    return ClosedSystem(system, np.eye(3)[None], np.zeros((1, 3)), np.array([[0, 0, 1.5, 0, 0, 0]]))


def a_moving_door(seed: int) -> ClosedSystem:
    """A door whose two joints have one axis, in any direction, on a body that moves itself."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 3, joints=(Universal, Spherical))
    frame = system.bodies["b2"]
    upper, joint = random_marker(frame, rng), random_joint(Revolute, rng)
    door = random_body(system, "door", rng)
    system.connect("upper", joint, upper, random_marker(door, rng))
    lower = upper.position + 1.6 * upper.rotation @ joint.axis
    return close(system, [(frame.at(*lower, rotation=upper.rotation), door, joint)], rng)


def a_latched_door() -> ClosedSystem:
    """A door held shut by a ball in line with its joint; a handle swings on it.

    Closed, the row along the door demands nothing and the row across it everything; with the door
    open each of the two would do, so rows must not be left out for what they are elsewhere.
    """
    system = System("latched door", gravity=(0, 3.0, -9.81))
    door = system.body("door", mass=20.0, com=(0.4, 0, 1.0), inertia=(7.0, 8.0, 1.1))
    handle = system.body("handle", mass=0.5, com=(-0.1, 0, -0.05), inertia=(1e-3, 2e-3, 2e-3))
    system.connect("joint", Revolute("z"), system.ground, door)
    system.connect("latch", Spherical(), system.ground.at(0.8, 0, 1.0), door.at(0.8, 0, 1.0))
    system.connect("pivot", Revolute("y"), door.at(0.7, 0, 1.0), handle)
    p = np.array([[0.0, 0.0, 0.0], [0.7, 0.0, 1.0]])
    V = np.array([[0.0] * 6, [0.0, 2.0, 0.0, 0.0, 0.0, 0.0]])
    return ClosedSystem(system, np.stack([np.eye(3)] * 2), p, V)


def sliders(seed: int) -> ClosedSystem:
    """A loop of six prismatic joints: the three rows about attitudes are met before they are asked."""
    return random_loop(np.random.default_rng(seed), [Prismatic] * 6)


# each of these loops has more than six degrees of freedom in its joints, so some are left when it is closed
LOOPS: dict[str, list[type[Joint]]] = {
    "one degree of freedom": [Revolute, Screw, Revolute, Prismatic, Revolute, Screw, Revolute, Revolute, Prismatic],
    "two degrees of freedom": [Universal, Cylindrical, Cylindrical, Universal, Universal],
    "three degrees of freedom": [Spherical, Planar, Spherical, Planar],
    "mixed": [Revolute, Spherical, Universal, Cylindrical, Screw, Planar],
}

# The large seeds are well conditioned (400 at most) and hard for an elimination in a fixed order: the rows that
# are independent in general are nearly dependent just there, and round-off of the others passes for a pivot.
CASES: dict[str, Callable[[], ClosedSystem]] = {
    **{f"random {seed}": lambda seed=seed: some_loops(seed) for seed in range(8)},
    **{f"coupled {seed}": lambda seed=seed: coupled_loops(seed) for seed in (*range(6), 130, 190)},
    **{f"crowded {seed}": lambda seed=seed: crowded_loops(seed) for seed in (0, 1, 100745, 101821, 101969)},
    **{f"over-constrained {seed}": lambda seed=seed: overconstrained(seed) for seed in range(3)},
    **{name: lambda kinds=kinds: random_loop(np.random.default_rng(3), kinds) for name, kinds in LOOPS.items()},
    "a floating loop": lambda: random_loop(np.random.default_rng(4), LOOPS["mixed"], floating=True),
    "floating loops": lambda: random_closed_system(np.random.default_rng(5), 0, 4, isolated=9),
    "isolated loops": lambda: isolated_loops(np.random.default_rng(6), list(LOOPS.values())),
    "a four-bar": lambda: planar_loop(np.random.default_rng(7)),
    "a five-bar": lambda: planar_loop(np.random.default_rng(8), 5),
    **{
        f"contacts {seed}": lambda seed=seed: random_contacts(np.random.default_rng(seed), 7, 4)
        for seed in (0, *range(2, 9))
    },
    "a door": a_door,
    "a moving door": lambda: a_moving_door(17),
    "a latched door": a_latched_door,
    "sliders": lambda: sliders(9),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(CASES[request.param](), np.random.default_rng(10))


# ---- the oracle itself, on trees


@pytest.mark.parametrize("seed", range(8))
def test_maximal_coordinates_move_a_tree_as_the_recursions_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = every_joint_both_ways(rng) if seed % 2 else random_system(rng, int(rng.integers(1, 25)), isolated=3)
    model = system.compile()
    q, v = random_state(system, rng)
    R, p = model.poses(q)
    order = [model.body_names.index(name) for name in system.bodies]
    case = Case(ClosedSystem(system, R[order], p[order], model.velocities(q, v)[order]), rng)
    oracle, loads = case.oracle, case.described(case.loads)
    assert oracle.gap < KINEMATICS
    assert oracle.rank == len(oracle.G)
    assert_close(case.v, v, KINEMATICS)
    a = case.forward_dynamics()
    assert_close(oracle.accelerations(loads, case.efforts), case.bodies_accelerate(), 1e-9)
    F = model.reactions(case.q, case.v, a, loads=case.loads)
    of_oracle = oracle.joint_loads(loads, case.efforts)
    for k, joint in enumerate(model.forest.joints):
        if joint.connection is not None:
            assert_close(of_oracle[joint.name], F[k], 1e-9, np.abs(F).max())


@pytest.mark.parametrize("kind", JOINTS)
def test_joint_coordinates_undo_pose(kind: type[Joint]) -> None:
    rng = np.random.default_rng(11)
    for _ in range(50):
        joint = random_joint(kind, rng)
        q = random_coordinates(joint, rng) * (1.0 if "qw" in joint.coordinates else 3.0)
        found = joint_coordinates(joint, *joint.pose(q))
        for x, y in zip(joint.pose(found), joint.pose(q), strict=True):
            assert_close(x, y, 1e-13)
    if kind is Screw:  # whole turns too
        assert_close(found, q, 1e-9)


# ---- configuration


def test_the_tree_reaches_the_closed_configuration(case: Case) -> None:
    assert case.oracle.gap < KINEMATICS
    R, p = case.model.poses(case.q)
    assert_close(case.described(R), case.closed.R, KINEMATICS)
    assert_close(case.described(p), case.closed.p, KINEMATICS)
    assert_close(case.described(case.model.velocities(case.q, case.v)), case.closed.V, KINEMATICS)


def test_every_loop_constraint_brings_the_rows_that_its_joint_forbids(case: Case) -> None:
    model = case.model
    assert model.nc == sum(6 - loop_constraint.element.nv for loop_constraint in model.forest.loop_constraints)
    connections = [
        loop_constraint.name
        for loop_constraint in model.forest.loop_constraints
        for _ in range(6 - loop_constraint.element.nv)
    ]
    assert list(model.constraint_connections) == connections
    rows = [
        f"{loop_constraint.name}.{row}"
        for loop_constraint in model.forest.loop_constraints
        for row in ROWS[type(loop_constraint.element)]
    ]
    assert list(model.constraint_names) == rows
    assert model.constraint_residual(case.q).shape == (model.nc,)
    assert model.constraint_jacobian(case.q).shape == (model.nc, model.nv)


def test_a_closed_configuration_leaves_no_residual(case: Case) -> None:
    assert_close(case.model.constraint_residual(case.q), np.zeros(case.model.nc), KINEMATICS)


TILT, TURN = ("tilt_x", "tilt_y"), ("rx", "ry", "rz")
ROWS: dict[type[Joint | Constraint], tuple[str, ...]] = {
    Fixed: ("x", "y", "z", *TURN),
    Revolute: ("x", "y", "z", *TILT),
    Prismatic: ("x", "y", *TURN),
    Screw: ("x", "y", *TILT, "advance"),
    Cylindrical: ("x", "y", *TILT),
    Universal: ("x", "y", "z", "skew"),
    Planar: ("z", *TILT),
    Spherical: ("x", "y", "z"),
    Free: (),
    PointOnCurve: ("side", "height"),
    CamFollower: ("contact",),
}


def written_residual(model: Model, q: Array) -> Array:
    """Return the rows of all loop constraints as they are written down, (nc,)."""
    result = [np.zeros(0)]
    for loop_constraint in model.forest.loop_constraints:
        one, two = model.pose(loop_constraint.first, q), model.pose(loop_constraint.second, q)
        if isinstance(loop_constraint.element, (PointOnCurve, CamFollower)):
            seen = one.rotation.T @ two.rotation, one.rotation.T @ (two.position - one.position)
            result.append(contacts.residual(loop_constraint.element, *seen))
            continue
        F = loop_constraint.element.frame()
        A = one.rotation @ F
        R, p = A.T @ two.rotation @ F, A.T @ (two.position - one.position)
        quaternion = quaternion_from_matrix(R)  # w >= 0
        rows = {"x": p[0], "y": p[1], "z": p[2], "tilt_x": R[0, 2], "tilt_y": R[1, 2], "skew": R[0, 1]}
        rows |= dict(zip(TURN, 2 * quaternion[1:], strict=True))
        if isinstance(loop_constraint.element, Screw):
            pitch = loop_constraint.element.pitch
            advance = p[2] - pitch * np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1]) / (2 * np.pi)
            rows["advance"] = advance - pitch * np.round(advance / pitch)
        result.append(np.array([rows[name] for name in ROWS[type(loop_constraint.element)]]))
    return np.concatenate(result)


def test_residuals_are_those_written_down(case: Case) -> None:
    for _ in range(3):
        q = case.model.random_state(case.rng).q
        assert_close(case.model.constraint_residual(q), written_residual(case.model, q), KINEMATICS)


def near(case: Case) -> tuple[Array, Array]:
    """Return a state in which the loops are open by some tenths, with speeds that no row minds."""
    model = case.model
    return model.integrate(case.q, 0.1 * case.rng.normal(size=model.nv)), case.rng.normal(size=model.nv)


def test_rows_are_the_rates_of_the_residuals_closed_or_not(case: Case) -> None:
    model = case.model
    for q, v in ((case.q, case.rng.normal(size=model.nv)), near(case)):
        rate = derivative(lambda t, q=q, v=v: model.constraint_residual(model.integrate(q, t * v)), STEP)
        assert_close(model.constraint_jacobian(q) @ v, rate, DIFFERENCES)


def test_bias_is_the_rate_of_the_rows_closed_or_not(case: Case) -> None:
    model = case.model
    for q, v in ((case.q, case.rng.normal(size=model.nv)), near(case)):
        rate = derivative(lambda t, q=q, v=v: model.constraint_jacobian(model.integrate(q, t * v)) @ v, STEP)
        assert_close(model.constraint_bias(q, v), rate, DIFFERENCES)


def test_allowed_velocities_pass_the_rows(case: Case) -> None:
    P = case.model.constraint_jacobian(case.q)
    assert_close(P @ case.v, np.zeros(case.model.nc), 1e-10)


def test_the_rows_leave_the_mobility_of_maximal_coordinates(case: Case) -> None:
    s = np.linalg.svd(case.model.constraint_jacobian(case.q), compute_uv=False)
    rank = int((s > 1e-9 * max(1.0, s.max(initial=0.0))).sum())
    assert case.model.nv - rank == case.oracle.mobility


# ---- motion


def test_tree_and_loop_constraints_move_as_maximal_coordinates(case: Case) -> None:
    expected = case.oracle.accelerations(case.described(case.loads), case.efforts)
    assert_close(case.bodies_accelerate(), expected)


def test_without_efforts_and_loads_gravity_alone_acts(case: Case) -> None:
    a = case.model.forward_dynamics(case.q, case.v)
    assert_close(case.described(case.model.accelerations(case.q, case.v, a)), case.oracle.accelerations())


def test_constrained_accelerations_keep_the_loops_closed(case: Case) -> None:
    a, P = case.forward_dynamics(), case.model.constraint_jacobian(case.q)
    bias = case.model.constraint_bias(case.q, case.v)
    assert_close(P @ a, -bias, AGREEMENT, max(1.0, np.abs(P).max(initial=0.0) * np.abs(a).max()))


def test_what_the_efforts_leave_is_carried_by_the_rows(case: Case) -> None:
    model, a, P = case.model, case.forward_dynamics(), case.model.constraint_jacobian(case.q)
    missing = open_inverse_dynamics(case, a) - case.tau
    size = np.abs(model.mass_matrix(case.q) @ a).max()
    carried = P.T @ np.linalg.lstsq(P.T, missing, rcond=1e-9)[0]
    assert_close(missing, carried, AGREEMENT, size)
    lam = model.multipliers(case.q, case.v, case.tau, loads=case.loads)
    assert lam.shape == (model.nc,)
    assert_close(P.T @ lam, missing, AGREEMENT, size)


def self_stress(case: Case) -> tuple[list[str], Array]:
    """Return loads that hold each other, (k, connections, 6), on second markers, with every joint a constraint.

    World axes, forces multiplied by the length that makes them comparable with moments.
    """
    oracle, length = case.oracle, LoopEquations.of(case.model).length
    U, s, _ = np.linalg.svd(oracle.G)
    states = U[:, int((s > 1e-9 * max(1.0, s.max(initial=0.0))).sum()) :].T
    result = np.zeros((len(states), len(oracle.relations), 6))
    start = 0
    for k, x in enumerate(oracle.relations.values()):
        n = x.N.shape[1]
        F = states[:, start : start + n] @ x.N.T
        result[:, k] = np.hstack([F[:, :3] @ x.R.T, length * F[:, 3:] @ x.R.T])
        start += n
    return list(oracle.relations), result


def test_loads_are_the_least_where_rows_repeat(case: Case) -> None:
    """No state of self-stress is left in them: each would make the sum of squares larger."""
    names, states = self_stress(case)
    F = case.model.connection_loads(case.q, case.v, case.tau, loads=case.loads)
    size = max(np.abs(x).max() for x in F.values())
    scaled = np.array([F[name] for name in names]) * ([1.0] * 3 + [LoopEquations.of(case.model).length] * 3)
    assert_close(np.tensordot(states, scaled, 2), np.zeros(len(states)), AGREEMENT, size)
    # the multipliers are theirs
    a, lam = case.forward_dynamics(), case.model.multipliers(case.q, case.v, case.tau, loads=case.loads)
    same = case.model.loads_of_motion(case.q, case.v, a, lam, loads=case.loads)
    for name, x in F.items():
        assert_close(same[name], x, AGREEMENT, size)


@pytest.mark.parametrize("axes", ["world", "marker"])
def test_marked_are_the_components_that_self_stress_changes(case: Case, axes: str) -> None:
    names, states = self_stress(case)
    F = case.model.connection_loads(case.q, case.v, case.tau, loads=case.loads, axes=axes)
    loaded: dict[str, NDArray[np.bool_]] = {}
    for name, load in zip(names, states.transpose(1, 0, 2), strict=True):
        R = case.model.pose(case.system[name].second, case.q).rotation if axes == "marker" else np.eye(3)
        local = np.hstack([load[:, :3] @ R, load[:, 3:] @ R])
        loaded[name] = np.linalg.norm(local, axis=0) > 1e-7
        assert (F.determined[name] == ~loaded[name]).all(), name
    assert {name for name in names if loaded[name].any()} == set(F.shared)
    for name, others in F.shared.items():
        assert others and name not in others and all(name in F.shared[other] for other in others)


def test_a_group_that_shares_is_sound_by_itself_and_not_by_parts(case: Case) -> None:
    """Cut any state down to one group of connections and it is a state still: no load passes between groups."""
    names, states = self_stress(case)
    F = case.model.connection_loads(case.q, case.v, case.tau, loads=case.loads)
    flat = states.reshape(len(states), 6 * len(names))
    for group in {frozenset((name, *others)) for name, others in F.shared.items()}:
        part = np.where(np.isin(names, list(group))[:, None], states, 0.0).reshape(len(states), -1)
        left = part - np.linalg.lstsq(flat.T, part.T, rcond=None)[0].T @ flat
        assert np.abs(left).max(initial=0.0) < 1e-8
        # and not so for less of it
        for name in list(group)[: len(group) // 2]:
            smaller = group - {name}
            part = np.where(np.isin(names, list(smaller))[:, None], states, 0.0).reshape(len(states), -1)
            left = part - np.linalg.lstsq(flat.T, part.T, rcond=None)[0].T @ flat
            assert np.abs(left).max() > 1e-8


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_prescribed_accelerations_find_the_rest(case: Case, share: float) -> None:
    """Drives that do what the free system would do anyway change nothing, and their efforts close the equations."""
    model, a = case.model, case.forward_dynamics()
    given = case.rng.random(model.nv) < share
    wrong = case.rng.normal(size=model.nv)
    tau = np.where(given, wrong, case.tau)  # what is not given is not read
    found, efforts = model.mixed_dynamics(case.q, case.v, tau, np.where(given, a, wrong), given, loads=case.loads)
    assert_close(found, a, AGREEMENT)
    assert (efforts[~given] == case.tau[~given]).all()
    # what drives and loops supply together is what the motion needs
    P = model.constraint_jacobian(case.q)
    needed = open_inverse_dynamics(case, a) - efforts
    size = max(1.0, np.abs(needed).max(initial=0.0))
    assert np.abs(needed - P.T @ np.linalg.lstsq(P.T, needed, rcond=1e-9)[0]).max(initial=0.0) <= 1e-7 * size


def open_inverse_dynamics(case: Case, a: Array) -> Array:
    """Return M a + b of the tree without its loop constraints."""
    system = case.system.copy()
    for loop_constraint in case.model.forest.loop_constraints:
        system.remove(loop_constraint.name)
    model = system.compile()
    assert model.speed_names == case.model.speed_names
    return model.inverse_dynamics(case.q, case.v, a, loads=case.loads)


def test_energy_rate_is_power(case: Case) -> None:
    model, a = case.model, case.forward_dynamics()

    def energy(t: float) -> Array:
        steps, q = 64, case.q
        for k in range(steps):  # midpoint rule: error t^3 / steps^2
            q = model.integrate(q, t / steps * (case.v + (k + 0.5) * t / steps * a))
        return np.array(model.energy(q, case.v + t * a).total)

    power = case.tau @ case.v + (case.loads * model.velocities(case.q, case.v)).sum()
    # the energies themselves are about 1e2 and rise with the square of the accelerations
    size = max(1.0, abs(power), model.energy(case.q, case.v).kinetic, np.abs(a).max() ** 2)
    assert abs(derivative(energy, 1e-4) - power) <= 1e-6 * size


# ---- driven motions


def test_efforts_reactions_and_power_of_a_driven_motion_agree(case: Case) -> None:
    """Any motion that the loops allow: its efforts make it happen, supply its power, and load the connections alike."""
    model, q, v = case.model, case.q, case.v
    wanted = case.rng.normal(size=model.nv) * max(1.0, np.abs(case.forward_dynamics()).max())
    a = da.consistent_accelerations(model, q, v, wanted)
    efforts = da.inverse_dynamics(model, q, v, a, loads=case.loads)
    size = max(1.0, np.abs(a).max())
    assert_close(model.forward_dynamics(q, v, efforts.tau, loads=case.loads), a, 1e-7, size)

    def energy(t: float) -> Array:
        steps, x = 64, q
        for k in range(steps):  # midpoint rule: error t^3 / steps^2
            x = model.integrate(x, t / steps * (v + (k + 0.5) * t / steps * a))
        return np.array(model.energy(x, v + t * a).total)

    power = efforts.tau @ v + (case.loads * model.velocities(q, v)).sum()
    scale = max(1.0, abs(power), model.energy(q, v).kinetic, size**2)
    assert abs(derivative(energy, 1e-4) - power) <= 1e-6 * scale
    given, free = efforts.connection_loads(), model.connection_loads(q, v, efforts.tau, loads=case.loads)
    largest = max(np.abs(F).max() for F in free.values())
    for name, F in free.items():
        assert_close(given[name], F, 1e-6, largest)


# ---- loads


def test_connection_loads_are_those_of_maximal_coordinates(case: Case) -> None:
    model, oracle = case.model, case.oracle
    found = model.connection_loads(case.q, case.v, tau=case.tau, loads=case.loads)
    assert set(found) >= set(case.system.connections)
    if oracle.rank < len(oracle.G):
        return  # not unique: see the next test
    expected = oracle.joint_loads(case.described(case.loads), case.efforts)
    size = max(np.abs(F).max() for F in expected.values())
    for name, F in expected.items():
        assert_close(found[name], F, AGREEMENT, size)


def test_connection_loads_hold_every_body_in_motion(case: Case) -> None:
    """Newton and Euler for each body alone, with the loads of its connections at their markers."""
    model, q, v, a = case.model, case.q, case.v, case.forward_dynamics()
    F = model.connection_loads(q, v, tau=case.tau, loads=case.loads)
    assert unexplained(model, q, v, a, F, case.loads) <= AGREEMENT


def test_along_its_dofs_a_joint_carries_its_effort_only(case: Case) -> None:
    F = case.model.connection_loads(case.q, case.v, tau=case.tau, loads=case.loads)
    size = max(np.abs(x).max() for x in F.values())
    for name, x in case.oracle.relations.items():
        local = np.kron(np.eye(2), x.R.T) @ F[name]
        effort = case.efforts.get(name, np.zeros(x.H.shape[1]))
        assert_close(x.H.T @ local, effort, AGREEMENT, size)


# ---- where a loop is cut


def reordered(system: System, names: list[str]) -> System:
    """Return the same system with its connections named in another order."""
    twin = system.copy()
    twin.connections = {name: twin.connections[name] for name in names}
    return twin


def cut_at(patch: pytest.MonkeyPatch, loop_constraints: set[str]) -> None:
    """Let the forest cut these connections, whatever their degrees of freedom."""

    def spanning_trees(system: System) -> tuple[list[Connection], tuple[Connection, ...]]:
        everyone = system.connections.values()
        return [c for c in everyone if c.name not in loop_constraints], tuple(
            c for c in everyone if c.name in loop_constraints
        )

    patch.setattr(topology, "_spanning_trees", spanning_trees)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("kinds", LOOPS.values(), ids=LOOPS)
def test_a_loop_moves_the_same_wherever_it_is_cut(
    kinds: list[type[Joint]], floating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(12)
    closed = random_loop(rng, kinds, floating=floating)
    expected, F = closed.maximal().accelerations(), closed.maximal().joint_loads()
    size = max(np.abs(load).max() for load in F.values())
    for name in closed.system.connections:
        cut_at(monkeypatch, {name})
        here = Case(closed, rng)
        assert [loop_constraint.name for loop_constraint in here.model.forest.loop_constraints] == [name]
        a = here.model.forward_dynamics(here.q, here.v)
        assert_close(here.described(here.model.accelerations(here.q, here.v, a)), expected)
        for other, load in here.model.connection_loads(here.q, here.v).items():
            if other in F:
                assert_close(load, F[other], AGREEMENT, size)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_connections_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed = random_closed_system(
        rng, 8, 4, joints=(Revolute, Prismatic, Screw), loop_constraint_joints=(Revolute, Spherical)
    )
    expected = closed.maximal().accelerations()
    for _ in range(3):
        names = [str(name) for name in rng.permutation(list(closed.system.connections))]
        here = Case(closed.of(reordered(closed.system, names)), rng)
        a = here.model.forward_dynamics(here.q, here.v)
        assert_close(here.described(here.model.accelerations(here.q, here.v, a)), expected)


# ---- joint form and constraint form


@pytest.mark.parametrize("seed", range(3))
def test_free_bodies_and_loop_constraints_alone_move_as_the_tree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every joint in its constraint form, on bodies free in space: maximal coordinates in the compiled core."""
    rng = np.random.default_rng(seed)
    system = every_joint_both_ways(rng)
    model = system.compile()
    q, v = random_state(system, rng)
    loads = rng.normal(size=(model.nb, 6))
    a = model.forward_dynamics(q, v, loads=loads)
    F = model.reactions(q, v, a, loads=loads)
    (R, p), V, A = model.poses(q), model.velocities(q, v), model.accelerations(q, v, a)
    order = [model.body_names.index(name) for name in system.bodies]
    closed = ClosedSystem(system, R[order], p[order], V[order])

    names = set(system.connections)
    free = system.copy()
    for body in free.bodies.values():
        free.connect(f"free {body.name}", Free(), free.ground, body)
    cut_at(monkeypatch, names)
    here = Case(closed.of(free), rng)
    assert len(here.model.forest.loop_constraints) == len(names)
    here.tau[:] = 0.0
    here.loads = loads[order][here.order]
    assert_close(here.bodies_accelerate(), A[order])
    found = here.model.connection_loads(here.q, here.v, tau=here.tau, loads=here.loads)
    for k, joint in enumerate(model.forest.joints):
        assert_close(found[joint.name], F[k], AGREEMENT, np.abs(F).max())


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("backwards", [False, True])
def test_a_joint_named_twice_changes_nothing(kind: type[Joint], backwards: bool) -> None:
    """All rows of the second one repeat what the first demands; the two share the load."""
    rng = np.random.default_rng(13)
    system = random_system(rng, 3, joints=(Revolute, Universal, Spherical, Free), isolated=2)
    markers = [random_marker(system.bodies["b2"], rng), random_marker(random_body(system, "extra", rng), rng)]
    if backwards:
        markers.reverse()
    system.connect("once", random_joint(kind, rng), *markers)
    model = system.compile()
    q, v = random_state(system, rng)
    tau = rng.normal(size=model.nv)
    a = model.forward_dynamics(q, v, tau)
    F = model.reactions(q, v, a)[model.joint_names.index("once")]

    twice = system.copy()
    original = twice.connections["once"]
    twice.connect("twice", original.element, original.first, original.second)
    doubled = twice.compile()
    assert [loop_constraint.name for loop_constraint in doubled.forest.loop_constraints] == ["twice"]
    assert doubled.speed_names == model.speed_names
    assert_close(doubled.forward_dynamics(q, v, tau), a)
    loads = doubled.connection_loads(q, v, tau=tau)
    assert_close(loads["once"] + loads["twice"], F, AGREEMENT, np.abs(model.reactions(q, v, a)).max())


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("seed", range(4))
def test_constraint_form_of_every_joint(kind: type[Joint], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random tree with one loop constraint of the type, cut there and nowhere else."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 5, joints=(Universal, Spherical, Cylindrical, Planar))
    first, second = rng.permutation([system.ground, *system.bodies.values()])[:2]
    closed = close(system, [(first, second, random_joint(kind, rng))], rng)
    cut_at(monkeypatch, {"c0"})
    case = Case(closed, rng)
    assert_close(case.bodies_accelerate(), case.oracle.accelerations(case.described(case.loads), case.efforts))


# ---- batches


def close_again(model: Model, q: Array) -> Array:
    """Return a closed configuration near q, by Newton on all rows."""
    for _ in range(20):
        r = model.constraint_residual(q)
        if np.abs(r).max(initial=0.0) < 1e-13:
            break
        q = model.integrate(q, -np.linalg.lstsq(model.constraint_jacobian(q), r, rcond=1e-6)[0])
    assert np.abs(model.constraint_residual(q)).max(initial=0.0) < 1e-11
    return q


def closed_states(case: Case, size: int) -> tuple[Array, Array]:
    """Return states (size, nq), (size, nv) in which the loops are closed, along the motion that they allow."""
    q, v = np.empty((size, case.model.nq)), np.empty((size, case.model.nv))
    for k in range(size):
        q[k] = close_again(case.model, case.model.integrate(case.q, 0.02 * k * case.v))
        P = case.model.constraint_jacobian(q[k])
        v[k] = case.v - np.linalg.lstsq(P, P @ case.v, rcond=1e-9)[0]
    return q, v


@pytest.mark.parametrize("size", [0, 1, 7, 33])
def test_a_batch_is_the_stack_of_its_states(case: Case, size: int) -> None:
    model = case.model
    q, v = closed_states(case, size)
    tau = case.rng.normal(size=(size, model.nv))
    loads = case.rng.normal(size=(size, model.nb, 6))
    results = {
        "residual": (model.constraint_residual(q), lambda k: model.constraint_residual(q[k])),
        "jacobian": (model.constraint_jacobian(q), lambda k: model.constraint_jacobian(q[k])),
        "bias": (model.constraint_bias(q, v), lambda k: model.constraint_bias(q[k], v[k])),
        "accelerations": (
            model.forward_dynamics(q, v, tau, loads=loads),
            lambda k: model.forward_dynamics(q[k], v[k], tau[k], loads=loads[k]),
        ),
        "multipliers": (
            model.multipliers(q, v, tau, loads=loads),
            lambda k: model.multipliers(q[k], v[k], tau[k], loads=loads[k]),
        ),
    }
    for together, alone in results.values():
        assert len(together) == size
        for k in range(size):
            assert_close(together[k], alone(k))


def test_the_answer_does_not_depend_on_the_number_of_threads(case: Case) -> None:
    q, v = closed_states(case, 21)
    before = da.threads()
    try:
        results = []
        for count in (1, 2, 8):
            da.set_threads(count)
            results.append(case.model.forward_dynamics(q, v, v))
    finally:
        da.set_threads(before)
    assert all((r == results[0]).all() for r in results)


# ---- several loops


def test_isolated_loops_do_not_feel_each_other() -> None:
    """Each loop alone accelerates as it does among the others."""
    rng = np.random.default_rng(14)
    together = isolated_loops(rng, list(LOOPS.values()))
    case = Case(together, rng)
    a = case.model.forward_dynamics(case.q, case.v)
    A = case.described(case.model.accelerations(case.q, case.v, a))
    names = list(together.system.bodies)
    for number in range(len(LOOPS)):
        mine = [name for name in names if name.startswith(f"l{number}b")]
        alone = together.system.copy()
        for name in names:
            if name not in mine:
                alone.remove(name)
        part = together.of(alone)
        model = alone.compile()
        q, v = part.state(model)
        found = model.accelerations(q, v, model.forward_dynamics(q, v))
        assert_close(found, A[[names.index(name) for name in model.body_names]])


def test_loops_in_free_fall_keep_their_momentum() -> None:
    """Loop constraints are inside the part: its mass centre falls, its angular momentum stays."""
    rng = np.random.default_rng(15)
    case = Case(random_closed_system(rng, 0, 4, isolated=8), rng)
    model = case.model
    a = model.forward_dynamics(case.q, case.v)
    mass = sum(body.mass for body in case.system.bodies.values())

    def momentum(t: float) -> Array:
        q = model.integrate(case.q, t * case.v + 0.5 * t * t * a)
        return model.momentum(q, case.v + t * a)

    rate = derivative(momentum)
    size = np.abs(model.mass_matrix(case.q) @ a).max()
    assert_close(rate, np.concatenate([np.zeros(3), mass * case.system.gravity]), 1e-6, size)


def test_the_oracle_refuses_what_is_not_closed() -> None:
    """The gap shows a loop that is open, so that agreement above means agreement on closed loops."""
    closed = random_loop(np.random.default_rng(16), LOOPS["mixed"])
    p = closed.p.copy()
    p[0] += 0.01
    assert Maximal(closed.system, closed.R, p).gap > 1e-3
