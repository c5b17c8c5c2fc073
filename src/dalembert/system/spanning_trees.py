"""Spanning trees of graphs with many loops, and what their loop constraints cost.

Multipliers of loop constraints are eliminated within the recursion over the tree: a row is open at the bodies between
its ends and leaves where both ends have met. The work is the sum of squares of what is open,

    joint with n degrees of freedom and m open rows    n (6 + m)^2
    c rows that leave, m others being open             (6 + m + c)^2 + (6 + m + c - 1)^2 + ...                    (1)

so that it depends on the tree (spanning-tree congestion: Hruska 2008). No single rule gives a good tree for all graphs;
`candidate_trees` are compared by (1).

*Breadth first* from ground. *Contracted*: the body with the fewest open rows is merged with the neighbour with which
it shares most, as long as the other bodies remain connected, and so on. *Halved*: the bodies are parted recursively
with few joints between the halves (second eigenvector of the graph: Fiedler 1973), and every part is spanned by itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["JointGraph", "candidate_trees", "elimination_cost", "minimum_spanning_tree"]

Adjacency = list[list[tuple[int, int]]]  # of each body: (joint, body at its other end)


@dataclass(frozen=True, eq=False)
class JointGraph:
    """Bodies, ground being number 0, and the joints between them.

    Attributes
    ----------
    bodies : int
        Number of bodies without ground.
    ends : list of (int, int)
        Bodies that each joint connects.
    dof : list of int
        Degrees of freedom of each joint.
    rows : list of int
        Equations of each joint where it is cut.
    constraints : list of (tuple of int, int)
        Bodies and rows of constraints that are not joints.
    """

    bodies: int
    ends: list[tuple[int, int]]
    dof: list[int]
    rows: list[int]
    constraints: list[tuple[tuple[int, ...], int]] = field(default_factory=list)

    def adjacency(self) -> Adjacency:
        """Return the joints at each body with the bodies at their other ends."""
        found: Adjacency = [[] for _ in range(self.bodies + 1)]
        for joint, (a, b) in enumerate(self.ends):
            found[a].append((joint, b))
            found[b].append((joint, a))
        return found


def minimum_spanning_tree(graph: JointGraph, key: Callable[[int], Any]) -> list[int]:
    """Return the joints of the spanning tree with the smallest keys, in the order of their keys (Kruskal)."""
    above = list(range(graph.bodies + 1))

    def root(body: int) -> int:
        while above[body] != body:
            above[body] = above[above[body]]
            body = above[body]
        return body

    kept = []
    for joint in sorted(range(len(graph.ends)), key=key):
        a, b = (root(end) for end in graph.ends[joint])
        if a != b:
            above[b] = a
            kept.append(joint)
    return kept


def candidate_trees(graph: JointGraph) -> Iterator[list[Any]]:
    """Yield keys of joints, one list for each candidate: a small key is preferred."""
    adjacency = graph.adjacency()
    for tree in (_breadth_first(adjacency), _contracted(graph)):
        chosen = set(tree)
        yield [joint not in chosen for joint in range(len(graph.ends))]
    depth = _parting_depths(adjacency, len(graph.ends))
    far = _distances(adjacency)
    yield [(-depth[joint], far[a] + far[b]) for joint, (a, b) in enumerate(graph.ends)]


# ---- cost


def _rooted(graph: JointGraph, kept: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Return the bodies, parents first, and the parent and joint of each."""
    tree: Adjacency = [[] for _ in range(graph.bodies + 1)]
    for joint in kept:
        a, b = graph.ends[joint]
        tree[a].append((joint, b))
        tree[b].append((joint, a))
    parent, carrier = [-1] * (graph.bodies + 1), [-1] * (graph.bodies + 1)
    order = [0]
    for body in order:
        for joint, other in tree[body]:
            if joint != carrier[body]:
                parent[other], carrier[other] = body, joint
                order.append(other)
    return order, parent, carrier


def elimination_cost(graph: JointGraph, kept: list[int]) -> int:
    """Return the multiplications (1) of one elimination on the tree of the joints `kept`.

    Children are merged one at a time, first the one that completes the most rows less those that it opens.
    """
    order, parent, carrier = _rooted(graph, kept)
    in_tree = set(kept)
    cut = [(ends, graph.rows[joint]) for joint, ends in enumerate(graph.ends) if joint not in in_tree]
    links = [(set(ends), rows) for ends, rows in (*cut, *graph.constraints) if rows and len(set(ends)) > 1]
    rows = [count for _, count in links]
    at: list[list[int]] = [[] for _ in range(graph.bodies + 1)]
    for link, (ends, _) in enumerate(links):
        for end in ends:
            at[end].append(link)
    children: list[list[int]] = [[] for _ in range(graph.bodies + 1)]
    for body in order[1:]:
        children[parent[body]].append(body)
    left = [len(ends) for ends, _ in links]  # ends that a link has outside the piece it is open in
    pieces: dict[int, dict[int, int]] = {}
    work = 0
    for body in reversed(order):
        piece = dict.fromkeys(at[body], 1)
        todo = children[body]
        while todo:
            child = max(todo, key=lambda c: sum(rows[k] if k in piece else -rows[k] for k in pieces[c]))
            todo.remove(child)
            leaving = 0
            for link, count in pieces.pop(child).items():
                piece[link] = piece.get(link, 0) + count
                if piece[link] == left[link]:
                    del piece[link]
                    leaving += rows[link]
            width = 6 + sum(rows[link] for link in piece)
            work += sum((width + k) ** 2 for k in range(1, leaving + 1))
        if body:
            pieces[body] = piece
            width = 6 + sum(rows[link] for link in piece)
            work += graph.dof[carrier[body]] * width**2 + 108
    return work


# ---- candidates


def _distances(adjacency: Adjacency) -> list[int]:
    """Return the number of joints between ground and each body."""
    far, order = [0] + [-1] * (len(adjacency) - 1), [0]
    for body in order:
        for _, other in adjacency[body]:
            if far[other] < 0:
                far[other] = far[body] + 1
                order.append(other)
    return far


def _breadth_first(adjacency: Adjacency) -> list[int]:
    seen, order, kept = {0}, [0], []
    for body in order:
        for joint, other in adjacency[body]:
            if other not in seen:
                seen.add(other)
                order.append(other)
                kept.append(joint)
    return kept


def _stay_connected(neighbours: list[list[int]], alive: list[bool], body: int) -> bool:
    """Return True if the bodies that are left remain connected without `body`."""
    wanted = {other for other in neighbours[body] if alive[other]}
    start = wanted.pop()
    seen, order = {body, start}, [start]
    for at in order:
        if not wanted:
            return True
        for other in neighbours[at]:
            if alive[other] and other not in seen:
                seen.add(other)
                order.append(other)
                wanted.discard(other)
    return not wanted


def _contracted(graph: JointGraph) -> list[int]:
    """Return the joints of a tree by repeated merging of the body with the fewest open rows into a neighbour."""
    n = graph.bodies
    joints: list[dict[int, list[int]]] = [{} for _ in range(n + 1)]  # between bodies that are left
    shared: list[dict[int, int]] = [{} for _ in range(n + 1)]  # rows between pieces
    for joint, (a, b) in enumerate(graph.ends):
        if a == b:
            continue
        for one, other in ((a, b), (b, a)):
            joints[one].setdefault(other, []).append(joint)
            shared[one][other] = shared[one].get(other, 0) + graph.rows[joint]
    neighbours = [list(each) for each in joints]
    alive, size, kept = [True] * (n + 1), [1] * (n + 1), []
    waiting: set[int] = set()

    def width(body: int) -> int:
        return sum(shared[body].values())

    def key(body: int) -> float:
        return float((6 + width(body)) ** 2 * (1 + 0.25 * np.log2(size[body])))  # large pieces wait

    keys = {body: key(body) for body in range(1, n + 1)}
    heap = [(value, body) for body, value in keys.items()]
    heapq.heapify(heap)
    for _ in range(n):
        while True:
            value, body = heapq.heappop(heap)
            if not alive[body] or value != keys[body]:
                continue
            if _stay_connected(neighbours, alive, body):
                break
            waiting.add(body)  # until a neighbour is merged
        alive[body] = False
        into = max(joints[body], key=lambda other: (shared[body].get(other, 0), -width(other)))
        kept.append(max(joints[body][into], key=lambda joint: graph.rows[joint]))
        size[into] += size[body]
        for other, rows in shared[body].items():
            del shared[other][body]
            if other != into:
                shared[into][other] = shared[into].get(other, 0) + rows
                shared[other][into] = shared[other].get(into, 0) + rows
        for other in joints[body]:
            joints[other].pop(body, None)
        for other in {into, *shared[into]} - {0}:
            keys[other] = key(other)
            if other not in waiting:
                heapq.heappush(heap, (keys[other], other))
        for other in neighbours[body]:
            if other in waiting and alive[other]:
                waiting.discard(other)
                heapq.heappush(heap, (keys[other], other))
    return kept


def _reached(adjacency: Adjacency, inside: set[int], start: int) -> list[int]:
    """Return the bodies of a set that are connected with `start`, breadth first."""
    seen, order = {start}, [start]
    for body in order:
        for _, other in adjacency[body]:
            if other in inside and other not in seen:
                seen.add(other)
                order.append(other)
    return order


def _ordered_along(adjacency: Adjacency, part: list[int]) -> list[int]:
    """Return a connected part ordered along its longest extent: by the second eigenvector of its random walk."""
    inside, start = set(part), part[0]
    for _ in range(3):
        start = _reached(adjacency, inside, start)[-1]
    order = _reached(adjacency, inside, start)
    n = len(order)
    if n <= 12:
        return order
    place = {body: k for k, body in enumerate(order)}
    pairs = [(place[body], place[other]) for body in order for _, other in adjacency[body] if other in place]
    here, there = np.array(pairs).T
    degree = np.bincount(here, minlength=n).astype(float)
    x = np.arange(n) - (n - 1) / 2
    for _ in range(min(1500, 30 + n)):  # power iteration from the order by levels
        x = 0.15 * x + 0.85 * np.bincount(here, x[there], minlength=n) / degree
        x -= (degree @ x) / degree.sum()
        x /= np.abs(x).max()
    return [order[k] for k in np.argsort(x, kind="stable").tolist()]


def _halves(adjacency: Adjacency, part: list[int]) -> list[list[int]]:
    """Return two connected halves of a connected part, with few joints between them."""
    order, inside = _ordered_along(adjacency, part), set(part)
    n = len(order)
    first = set(order[: n // 2])
    for _ in range(6):  # moves of single bodies that lower the number of joints between the halves
        moved = False
        for body in order:
            near = [other in first for _, other in adjacency[body] if other in inside]
            others = len(near) - sum(near)
            if body in first and others > sum(near) and len(first) > 0.35 * n:
                first.discard(body)
                moved = True
            elif body not in first and sum(near) > others and len(first) < 0.65 * n:
                first.add(body)
                moved = True
        if not moved:
            break
    pieces = []
    for side in (first, inside - first):
        rest = set(side)
        while rest:
            pieces.append(_reached(adjacency, rest, min(rest)))
            rest -= set(pieces[-1])
    pieces.sort(key=len, reverse=True)
    halves = [set(piece) for piece in pieces[:2]]
    stray = pieces[2:]
    while stray:  # small pieces join the half with which they share most joints
        piece = stray.pop(0)
        shared = [sum(other in half for body in piece for _, other in adjacency[body]) for half in halves]
        if max(shared):
            halves[int(shared[1] > shared[0])] |= set(piece)
        else:
            stray.append(piece)
    return [sorted(half) for half in halves]


def _parting_depths(adjacency: Adjacency, joints: int) -> list[int]:
    """Return at which level of recursive halving the ends of each joint are parted."""
    depth = [0] * joints
    todo = [(list(range(len(adjacency))), 0)]
    while todo:
        part, level = todo.pop()
        inside = set(part)
        halves = _halves(adjacency, part) if len(part) > 3 else []
        first = set(halves[0]) if len(halves) > 1 else inside
        for body in part if len(halves) < 2 else halves[0]:
            for joint, other in adjacency[body]:
                if other in inside and (other not in first or len(halves) < 2):
                    depth[joint] = level
        if len(halves) > 1:
            todo += [(half, level + 1) for half in halves]
    return depth
