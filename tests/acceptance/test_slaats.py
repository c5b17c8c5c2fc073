"""Slaats 1991: the ten-body tree, recursive against dense dynamics, driven joints, the universal joint."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from systems.random_trees import random_body, random_marker, random_state

from dalembert.connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from dalembert.oracles.kane import Kane
from dalembert.oracles.operators import Operators, dense
from dalembert.rotation import bryant, quaternion_from_matrix
from dalembert.system import System

Array = NDArray[np.float64]

# equation (3.1): body j hangs on body BETA[j - 1]
BETA = [0, 1, 2, 3, 3, 5, 6, 4, 8, 4]
JOINTS: list[Joint] = [
    Free(),
    Universal("x", "y"),
    Revolute("z"),
    Spherical(),
    Cylindrical("z"),
    Revolute("x"),
    Prismatic("x"),
    Planar("z"),
    Fixed(),
    Revolute("y"),
]

# accelerations of order 1e2 and mass matrices of condition 1e4, in double precision
AGREEMENT = 1e-10


def close(x: Array, y: Array, tolerance: float) -> bool:
    """Equal to within `tolerance` of the larger magnitude (at least one)."""
    size = max(1.0, float(np.abs(x).max()), float(np.abs(y).max()))
    return bool(np.abs(np.asarray(x) - np.asarray(y)).max() <= tolerance * size)


@pytest.fixture
def tree() -> System:
    """The tree of figure 3.1; bodies are called by the report's numbers."""
    rng = np.random.default_rng(1)
    system = System("Slaats", gravity=(0, 0, 0))
    bodies = [system.ground]
    for j, (i, joint) in enumerate(zip(BETA, JOINTS, strict=True), start=1):
        bodies.append(random_body(system, str(j), rng))
        system.connect(f"joint {j}", joint, random_marker(bodies[i], rng), random_marker(bodies[j], rng))
    return system


@pytest.fixture
def problem(tree: System) -> tuple[System, Array, Array, Array, Array]:
    """The tree in a random state, with random efforts and loads."""
    rng = np.random.default_rng(2)
    q, v = random_state(tree, rng)
    return tree, q, v, rng.normal(size=v.size), rng.normal(size=(10, 6))


def names(system: System, numbers: list[int]) -> list[int]:
    """The report's numbers of bodies given by ours."""
    return [int(system.forest().bodies[n]) for n in numbers]


# ---- section 3.2: topology


def test_body_connection_array(tree: System) -> None:
    forest = tree.forest()
    assert [names(tree, [int(i)]) if i else [0] for i in forest.parent] == [
        [BETA[j - 1]] for j in names(tree, list(range(1, 11)))
    ]


def test_children_and_leaves(tree: System) -> None:
    forest = tree.forest()
    children = {j: sorted(names(tree, forest.children(str(j)))) for j in range(1, 11)}
    assert {j: c for j, c in children.items() if c} == {
        1: [2],
        2: [3],
        3: [4, 5],
        4: [8, 10],
        5: [6],
        6: [7],
        8: [9],
    }
    assert [j for j, c in children.items() if not c] == [7, 9, 10]


def test_paths_to_the_base(tree: System) -> None:
    forest = tree.forest()
    paths = [names(tree, forest.path(leaf)) for leaf in ("7", "9", "10")]
    assert paths == [[7, 6, 5, 3, 2, 1], [9, 8, 4, 3, 2, 1], [10, 4, 3, 2, 1]]


# ---- sections 3.4 and 4.1: dynamics


def test_recursive_and_dense_accelerations_agree(problem: tuple[System, Array, Array, Array, Array]) -> None:
    system, q, v, tau, loads = problem
    recursive = Operators(system, q, v).forward_dynamics(tau, loads)
    assert close(recursive, Kane(system, q, v).forward_dynamics(tau, loads), AGREEMENT)


def test_compiled_and_dense_accelerations_agree(problem: tuple[System, Array, Array, Array, Array]) -> None:
    system, q, v, tau, loads = problem
    model = system.compile()
    dense_way = Kane(system, q, v)
    v_dot = dense_way.forward_dynamics(tau, loads)
    assert close(model.forward_dynamics(q, v, tau, loads=loads), v_dot, AGREEMENT)
    assert close(model.inverse_dynamics(q, v, v_dot, loads=loads), tau, AGREEMENT)
    assert close(model.mass_matrix(q), dense_way.mass_matrix(), AGREEMENT)
    assert close(model.accelerations(q, v, v_dot), dense_way.accelerations(v_dot), AGREEMENT)


def driven(system: System) -> tuple[NDArray[np.bool_], Array]:
    """Joint 4 (spherical) driven in full, joint 5 (cylindrical) only along its axis."""
    joints = system.forest().joints
    given, v_dot, start = np.zeros(sum(h.element.nv for h in joints), dtype=bool), [], 0
    wanted: dict[str, list[float | None]] = {"joint 4": [0.3, -0.2, 0.5], "joint 5": [None, 0.7]}
    for joint in joints:
        for i, value in enumerate(wanted.get(joint.name, [None] * joint.element.nv)):
            given[start + i] = value is not None
            v_dot.append(value or 0.0)
        start += joint.element.nv
    return given, np.array(v_dot)


def test_driven_and_partly_driven_joints(problem: tuple[System, Array, Array, Array, Array]) -> None:
    """erratum: (4.4) is printed with the opposite sign; the recursion would not agree."""
    system, q, v, tau, loads = problem
    given, wanted = driven(system)
    assert given.sum() == 4
    recursive = Operators(system, q, v).mixed_dynamics(tau, wanted, given, loads)
    partitioned = Kane(system, q, v).mixed_dynamics(tau, wanted, given, loads)
    for one, other in zip(recursive, partitioned, strict=True):
        assert close(one, other, AGREEMENT)
    assert close(recursive[0][given], wanted[given], 0.0)


def test_driven_joints_of_the_compiled_model(problem: tuple[System, Array, Array, Array, Array]) -> None:
    system, q, v, tau, _ = problem
    given, wanted = driven(system)
    compiled = system.compile().mixed_dynamics(q, v, tau, wanted, given)
    for one, other in zip(compiled, Kane(system, q, v).mixed_dynamics(tau, wanted, given), strict=True):
        assert close(one, other, AGREEMENT)


# ---- section 3.3 and appendix C: the universal joint

ANGLES, RATES, SECOND_RATES = np.array([0.3, -0.4, 0.5]), np.array([0.1, -0.2, 0.3]), np.array([0.05, 0.02, -0.04])
Q, Q_RATE, Q_SECOND_RATE = [0.2, 0.7], [0.6, -0.5], [0.25, 0.15]
R1_RATE, R1_SECOND_RATE = np.array([1.0, 2.0, 3.0]), np.array([0.1, -0.1, 0.2])
# body 1 turned by ANGLES; the report's numbers, linear part first
W1 = [-0.0168255027, -0.2727249384, 0.2048729116]
W1_RATE = [0.010313074, 0.0164119834, -0.0788805499]
R2 = [-0.0935007596, -0.3820049401, 1.8288035334]
B21 = [-0.2959175827, 0.1098128048, -0.9488803571]
W_COLUMNS = [[0.8083070668, 0.3570196417, 0.4681630712], [-0.5101434408, 0.8216714824, 0.2541842732]]
B_TOP = [[0.3901792251, 0.8075806177], [-0.6284490139, 0.559282686], [-0.1944108555, -0.1871267567]]
V2 = [0.4098193595, 1.3549040146, 2.9578443013, 0.7232304578, -0.4693488946, 0.3586786177]
D2 = [0.4886347798, -0.324589064, -0.7538215556, 0.0865145106, 0.287492057, -0.0487482151]
V2_RATE = [0.8071982121, -0.5092941095, -0.6328983952, 0.2223828352, 0.5164096731, 0.0275396438]
PRINTED = 1e-10  # ten digits
DIFFERENCED = 2e-9  # these were found by central differences


def bryant_motion(x: Array, rate: Array, second_rate: Array) -> tuple[Array, Array]:
    """Angular velocity (C.13) and acceleration of a body turned by Bryant angles, world axes."""
    (s1, s2, _), (c1, c2, _) = np.sin(x), np.cos(x)
    axes = np.array([[1, 0, s2], [0, c1, -s1 * c2], [0, s1, c1 * c2]])
    a, b = rate[0], rate[1]
    axes_rate = np.array(
        [[0, 0, b * c2], [0, -a * s1, -a * c1 * c2 + b * s1 * s2], [0, a * c1, -a * s1 * c2 - b * c1 * s2]]
    )
    return axes @ rate, axes @ second_rate + axes_rate @ rate


@pytest.fixture
def universal() -> tuple[System, Array, Array, Array]:
    """Two bodies joined one unit above the first and one unit below the second: system, q, v, v'."""
    system = System("universal joint", gravity=(0, 0, 0))
    bodies = [system.body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("1", "2")]
    system.connect("base", Free(), system.ground, bodies[0])
    system.connect("joint", Universal("x", "y"), bodies[0].at(0, 0, 1), bodies[1].at(0, 0, -1))
    R = bryant(*ANGLES)
    w, w_rate = bryant_motion(ANGLES, RATES, SECOND_RATES)
    # speeds of a free joint are in body axes: (R* r')' = R* (r'' - w x r')
    q = np.concatenate([quaternion_from_matrix(R), np.zeros(3), Q])
    v = np.concatenate([R.T @ w, R.T @ R1_RATE, Q_RATE])
    v_dot = np.concatenate([R.T @ w_rate, R.T @ (R1_SECOND_RATE - np.cross(w, R1_RATE)), Q_SECOND_RATE])
    return system, q, v, v_dot


def test_base_by_bryant_angles() -> None:
    w, w_rate = bryant_motion(ANGLES, RATES, SECOND_RATES)
    assert close(w, np.array(W1), PRINTED)
    assert close(w_rate, np.array(W1_RATE), DIFFERENCED)


def test_matrices_of_the_universal_joint(universal: tuple[System, Array, Array, Array]) -> None:
    system, q, v, _ = universal
    ops = Operators(system, q, v)
    H = dense(ops.H)[6:, 6:]  # rows: q1, q2; columns: omega, v of body 2
    assert close(ops.p[1], np.array(R2), PRINTED)
    assert close(ops.R[1] @ [0, 0, -1], np.array(B21), PRINTED)
    assert close(H[:, :3], np.array(W_COLUMNS), PRINTED)
    assert close(H[:, 3:].T, np.array(B_TOP), PRINTED)
    # erratum: the general (3.39) forgets that the joint axes turn with the inner body; appendix C does not
    assert close(ops.a[6:], np.array(D2[3:] + D2[:3]), DIFFERENCED)


@pytest.mark.parametrize("formulation", [Operators, Kane])
def test_motion_across_the_universal_joint(
    universal: tuple[System, Array, Array, Array], formulation: type[Operators] | type[Kane]
) -> None:
    system, q, v, v_dot = universal
    at = formulation(system, q, v)
    assert close(at.velocities()[0], np.array([*W1, *R1_RATE]), PRINTED)
    assert close(at.velocities()[1], np.array(V2[3:] + V2[:3]), PRINTED)
    assert close(at.accelerations(v_dot)[0], np.array([*W1_RATE, *R1_SECOND_RATE]), DIFFERENCED)
    assert close(at.accelerations(v_dot)[1], np.array(V2_RATE[3:] + V2_RATE[:3]), DIFFERENCED)


def test_compiled_motion_across_the_universal_joint(universal: tuple[System, Array, Array, Array]) -> None:
    system, q, v, v_dot = universal
    model = system.compile()
    assert close(model.poses(q)[1][1], np.array(R2), PRINTED)
    assert close(model.velocities(q, v)[1], np.array(V2[3:] + V2[:3]), PRINTED)
    assert close(model.accelerations(q, v, v_dot)[1], np.array(V2_RATE[3:] + V2_RATE[:3]), DIFFERENCED)


def test_rotation_of_the_universal_joint_is_the_printed_matrix() -> None:
    """(3.43), (C.6)."""
    q1, q2 = 0.2, 0.7
    s1, s2, c1, c2 = math.sin(q1), math.sin(q2), math.cos(q1), math.cos(q2)
    printed = np.array([[c2, 0, s2], [s1 * s2, c1, -s1 * c2], [-c1 * s2, s1, c1 * c2]])
    C, c = Universal("x", "y").pose(np.array([q1, q2]))
    assert close(C, printed, 1e-15)
    assert not c.any()
