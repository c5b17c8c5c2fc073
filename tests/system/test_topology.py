"""Spanning trees, loop constraints, numbering, and the matrices of the literature."""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_trees import random_system

import dalembert as da


def test_loops_are_cut_where_the_most_dofs_go() -> None:
    s = da.System()
    a, b, c = (s.body(n, da.rod(1, 1)) for n in "abc")
    s.connect("ball", da.Spherical(), s.ground, a)
    s.connect("pin1", da.Revolute("y"), a.at(1), b)
    s.connect("pin2", da.Revolute("y"), b.at(1), c)
    s.connect("pin3", da.Revolute("y"), c.at(1), s.ground.at(1))
    forest = s.forest()
    assert [loop_constraint.name for loop_constraint in forest.loop_constraints] == ["ball"]
    assert forest.graph.independent_loops == 1
    assert all(joint.reversed for joint in forest.joints)  # the tree runs from pin3 back to pin1


def test_among_equals_the_last_named_is_cut() -> None:
    s = da.System()
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute(), s.ground, a)
    s.connect("B", da.Revolute(), a.at(1), b)
    s.connect("C", da.Revolute(), s.ground.at(1), b.at(1))
    assert [loop_constraint.name for loop_constraint in s.forest().loop_constraints] == ["C"]


def test_isolated_parts_get_a_free_joint_at_their_first_body() -> None:
    s = da.System()
    a, b = s.body("a", da.box(1, 1, 1, 1)), s.body("b", da.box(1, 1, 1, 1))
    s.body("alone", da.box(1, 1, 1, 1))
    s.connect("ab", da.Revolute(), b, a)
    model = s.compile()
    assert model.joint_names == ("a.free", "ab", "alone.free")
    assert model.coordinate_names[:8] == (
        "a.free.qw",
        "a.free.qx",
        "a.free.qy",
        "a.free.qz",
        "a.free.x",
        "a.free.y",
        "a.free.z",
        "ab",
    )
    assert model.forest.joints[1].reversed


@pytest.mark.parametrize("seed", range(8))
def test_matrices_of_random_forests(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = random_system(rng, 25, isolated=seed % 3).forest()
    L, T = forest.location_matrix(), forest.path_matrix()
    S0, S = L[0].astype(int), L[1:].astype(int)
    one = np.eye(forest.nb, dtype=int)
    assert (one == S @ T).all() and (one == T @ S).all()
    assert (S0 @ T == -1).all()
    assert (forest.parent < np.arange(1, forest.nb + 1)).all()
    for j in range(1, forest.nb + 1):
        assert sorted(forest.path(j)) == list(np.flatnonzero(T[:, j - 1]) + 1)
        assert forest.number[forest.bodies[j]] == j
        subtree = np.flatnonzero(T[j - 1]) + 1
        assert subtree.tolist() == list(range(j, j + len(subtree)))  # a subtree is a range
        assert all(forest.parent[c - 1] == j for c in forest.children(j))


def test_the_chart_shows_the_tree() -> None:
    s = da.System()
    a, b, c = (s.body(n, da.rod(1, 1)) for n in "abc")
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), b, a.at(1))
    s.connect("C", da.Spherical(), s.ground, c)
    s.connect("D", da.Spherical(), c.at(1), b.at(1))
    assert s.forest().chart().splitlines() == [
        "ground",
        "├─ A: Revolute → a",
        "│  └─ B: Revolute (reversed) → b",
        "└─ C: Spherical → c",
        "loop constraint D: Spherical, c.at(1, 0, 0) → b.at(1, 0, 0)",
    ]


def test_refusals_for_systems_with_loops() -> None:
    s = da.System("loop")
    a, b = s.body("a", da.rod(1, 1)), s.body("b", da.rod(1, 1))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("B", da.Revolute("y"), a.at(1), b)
    s.connect("C", da.Revolute("y"), s.ground.at(1), b.at(1))
    model = s.compile()
    assert model.nc == 5 and model.constraint_names == ("C.x", "C.y", "C.z", "C.tilt_x", "C.tilt_y")
    # the axes are parallel whatever the angles: three of the rows say nothing new, in any configuration
    assert model.independent_rows == ("C.x", "C.y") and model.loop_envelope == 3
    q, v = np.zeros(2), np.zeros(2)
    for call in (
        lambda: model.inverse_dynamics(q, v, v),
        lambda: model.reactions(q, v, v),
        lambda: model.d_forward_dynamics(q, v, bare=True),
        lambda: model.d_inverse_dynamics(q, v, v),
    ):
        with pytest.raises(da.TopologyError, match="'C'"):
            call()
    assert model.mass_matrix(q).shape == (2, 2) and model.pose(b, q).position[0] == 1.0
    with pytest.raises(da.ModelError, match="it is a cut joint"):
        model.q_slice("C")


def test_an_empty_system_is_refused() -> None:
    with pytest.raises(da.TopologyError, match="no bodies"):
        da.System("void").compile()


def test_deep_and_wide_graphs_need_no_recursion() -> None:
    s = da.System()
    bodies = [s.body(f"b{i}", da.rod(1, 1, radius=0.1)) for i in range(3000)]
    s.connect("h0", da.Revolute("y"), s.ground, bodies[0])
    for i in range(1, 2000):
        s.connect(f"h{i}", da.Revolute("y"), bodies[i - 1].at(1), bodies[i])
    for i in range(2000, 3000):
        s.connect(f"h{i}", da.Revolute("y"), s.ground, bodies[i])
    model = s.compile()
    assert model.nv == 3000 and len(model.forest.path("b1999")) == 2000
