"""Sol 1983, chapter 4: the five-body system, from the user's graph to the matrices of the tree."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_trees import random_system

from dalembert.connections.joints import Prismatic, Revolute, Spherical
from dalembert.system import System
from dalembert.system.topology import Forest, Graph


@pytest.fixture
def five_bodies() -> System:
    """Figure 4.1: a loop of three bodies through ground, a fourth on the chain, a fifth on its own."""
    s = System("five bodies")
    V1, V2, V3, V4, _V5 = (s.body(f"V{i}", mass=1.0, inertia=(1.0, 1.0, 1.0)) for i in range(1, 6))
    s.connect("A1", Spherical(), s.ground, V1)
    s.connect("A2", Revolute("z"), V1, V2)
    s.connect("A3", Revolute("z"), V2, V3)
    s.connect("A4", Prismatic("x"), V3, V4)
    s.connect("A5", Prismatic("x"), s.ground, V3)
    return s


def test_graph_has_one_loop_and_one_isolated_body(five_bodies: System) -> None:
    graph = Graph.of(five_bodies)
    assert [graph.degree(v) for v in ("V5", "V4", "ground")] == [0, 1, 2]
    assert graph.independent_loops == 1
    assert graph.parts() == [["ground", "V1", "V2", "V3", "V4"], ["V5"]]


def test_loop_is_cut_at_the_ball_joint_and_the_isolated_body_set_free(five_bodies: System) -> None:
    forest = five_bodies.forest()
    assert [loop_constraint.name for loop_constraint in forest.loop_constraints] == ["A1"]
    assert [joint.element.kind for joint in forest.joints] == ["Prismatic", "Revolute", "Revolute", "Prismatic", "Free"]
    assert [joint.name for joint in forest.joints] == ["A5", "A3", "A2", "A4", "V5.free"]
    assert [joint.reversed for joint in forest.joints] == [False, True, True, False, False]


def test_regular_numbering_is_that_of_the_thesis(five_bodies: System) -> None:
    forest = five_bodies.forest()
    assert forest.bodies == ("ground", "V3", "V2", "V1", "V4", "V5")
    assert forest.parent.tolist() == [0, 1, 2, 1, 0]  # location column l, (4.3.5)


def test_location_and_path_matrices(five_bodies: System) -> None:
    forest = five_bodies.forest()
    assert forest.location_matrix().tolist() == [
        [-1, 0, 0, 0, -1],
        [1, -1, 0, -1, 0],
        [0, 1, -1, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert forest.path_matrix().tolist() == [
        [1, 1, 1, 1, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    # erratum: (4.3.4) has +1 at V1; the ball joint closes the loop at the far end of the chain, V3
    assert forest.loop_constraint_matrix().T.tolist() == [[-1, 0, 0, 1, 0, 0]]


def test_dofs_by_gruebler(five_bodies: System) -> None:
    forest = five_bodies.forest()
    dofs = sum(joint.element.nv for joint in forest.joints)
    equations = sum(6 - loop_constraint.element.nv for loop_constraint in forest.loop_constraints)
    assert (dofs, equations, dofs - equations) == (10, 3, 7)


@pytest.mark.parametrize("seed", range(20))
def test_location_and_path_matrices_are_inverse_on_any_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, int(rng.integers(1, 20)), isolated=seed % 3)
    forest: Forest = system.forest()
    S_0, S, T = forest.location_matrix()[0], forest.location_matrix()[1:], forest.path_matrix()
    for product in (S @ T, T @ S):  # (4.3.8), integers
        assert product.tolist() == np.eye(forest.nb).tolist()
    assert (S_0 @ T == -1).all()  # every path begins at ground
    assert (forest.parent < np.arange(1, forest.nb + 1)).all()
    for j in range(1, forest.nb + 1):
        assert sorted(forest.path(j)) == (np.flatnonzero(T[:, j - 1]) + 1).tolist()
