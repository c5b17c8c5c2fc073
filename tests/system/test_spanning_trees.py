"""Trees of systems with many loops: what they cost, which is taken, and which joints stay."""

from __future__ import annotations

import numpy as np
import pytest
from systems.many_loops import grid, lattice, net, scissor, wheel

import dalembert as da
from dalembert.system import topology
from dalembert.system.spanning_trees import JointGraph, candidate_trees, elimination_cost, minimum_spanning_tree


def graph_of(s: da.System) -> JointGraph:
    return topology._joint_graph(s, list(s.connections.values()))


def costs(s: da.System) -> list[int]:
    graph = graph_of(s)
    keys = [[0] * len(graph.ends), *candidate_trees(graph)]
    trees = [minimum_spanning_tree(graph, each.__getitem__) for each in keys]
    assert all(len(tree) == graph.bodies for tree in trees)
    return [elimination_cost(graph, tree) for tree in trees]


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (scissor(100), (5.6e4, 5.9e6, 5.6e4, 5.6e4)),
        (grid(8), (1.7e5, 1.7e5, 1.7e5, 1.4e5)),
        (wheel(60), (3.9e4, 3.9e4, 3.9e4, 6.2e5)),
    ],
    ids=["scissor", "grid", "wheel"],
)
def test_costs_of_the_candidates(system: da.System, expected: tuple[float, ...]) -> None:
    # as named, breadth first, contracted, halved: counted independently, to two digits
    assert np.allclose(costs(system), expected, rtol=0.1)


def test_cost_of_a_ladder_grows_with_its_length() -> None:
    short, long = (min(costs(scissor(n))) for n in (20, 80))
    assert np.log(long / short) / np.log(4) < 1.05


def test_cost_by_hand() -> None:
    # ground - 1 - 2, joint (0, 2) cut with 2 rows: both rows are open at the joints of 1 and 2
    graph = JointGraph(2, [(0, 1), (1, 2), (0, 2)], [1, 1, 1], [2, 2, 2])
    joints = 2 * (8**2 + 108)
    assert elimination_cost(graph, [0, 1]) == joints + 7**2 + 8**2


def test_the_cheaper_tree_is_taken_only_if_it_is_much_cheaper() -> None:
    names = [c.name for c in grid(4).forest().loop_constraints]
    graph = graph_of(grid(4))
    assert elimination_cost(graph, minimum_spanning_tree(graph, lambda k: 0)) < 1.2 * min(costs(grid(4)))
    kept = minimum_spanning_tree(graph, lambda k: 0)
    every = list(grid(4).connections)
    assert names == [name for k, name in enumerate(every) if k not in set(kept)]


@pytest.mark.parametrize(
    "build", [lambda: grid(12), lambda: lattice(150), lambda: net(5)], ids=["grid", "lattice", "net"]
)
def test_the_tree_taken_costs_no_more_than_any_candidate_allows(build) -> None:  # type: ignore[no-untyped-def]
    system = build()
    forest = system.forest()
    graph = graph_of(system)
    cut = {c.name for c in forest.loop_constraints}
    kept = [k for k, name in enumerate(system.connections) if name not in cut]
    assert len(kept) == graph.bodies
    assert elimination_cost(graph, kept) <= 1.2 * min(costs(system))


def test_joints_whose_coordinates_are_needed_stay() -> None:
    plain = grid(12)
    cut = {c.name for c in plain.forest().loop_constraints}
    assert len(cut) == 144
    s = grid(12)
    chosen = sorted(cut)[:20]
    for name in chosen[:10]:
        s.connect(f"spring of {name}", da.JointSpring(stiffness=1.0), name)
    for name in chosen[10:]:
        s.drive(name, position=0.0)
    assert not {c.name for c in s.forest().loop_constraints} & set(chosen)


def test_parts_without_ground_are_spanned() -> None:
    s = grid(12)
    s.remove(s.connections["base"])
    forest = s.forest()
    assert forest.nb == len(s.bodies)
    assert len(forest.loop_constraints) == 144
