"""Computational forest of a system: spanning trees, loop constraints, and the map to the user's graph.

The user's *graph* has bodies as vertices and joints as arcs, in any direction and with any loops.
The *forest* is the structure of the recursions: spanning trees rooted at ground, bodies in regular numbering (a parent
before its children), every joint pointing outward. Joints that would close a loop become *loop constraints*. Sol 1983,
chapter 4; Slaats 1991, section 3.2; Passerello and Huston 1972, chapter I.

The spanning trees keep the joints with few degrees of freedom and cut each loop at the joint with the most, because a
cut joint with n degrees of freedom costs 6 - n equations. Among equals the joint that was named last is cut. With many
loops the tree decides how much the elimination of their rows costs: another one is taken if it costs much less
(`spanning_trees`). Parts without a path to ground get a free joint to ground at their first body. In a planar system,
relations have three coordinates instead of six (`planar`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..bodies.dyadics import dyadic
from ..bodies.markers import Marker
from ..checks import set_fields
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.constraints.mimic import Mimic
from ..connections.joints import Fixed, Joint
from ..errors import ModelError, TopologyError
from .planar import PlaneNormals, closing_in_plane, free_joint
from .spanning_trees import JointGraph, candidate_trees, elimination_cost, minimum_spanning_tree

if TYPE_CHECKING:
    from .system import System

__all__ = ["Forest", "Graph", "TreeJoint", "with_massless_links"]

IntMatrix = NDArray[np.int8]

MANY_LOOPS = 8  # loop constraints from which on other trees are considered
COST_RATIO = 1.2  # by how much a tree must be cheaper than that of the names, which keeps coordinates as they are
NARROW = 400  # multiplications per body below which no other tree is looked for


@dataclass(frozen=True)
class Graph:
    """User's graph: vertex names (ground first) and arcs (connection, from, to)."""

    vertices: tuple[str, ...]
    arcs: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, system: System) -> Graph:
        """Build the graph of a system."""
        joints = (c for c in system.connections.values() if isinstance(c.element, Joint))
        arcs = tuple((c.name, c.first.body.name, c.second.body.name) for c in joints)
        return cls((system.ground.name, *system.bodies), arcs)

    def degree(self, vertex: str) -> int:
        """Return the number of arcs at a vertex."""
        return sum((a == vertex) + (b == vertex) for _, a, b in self.arcs)

    def parts(self) -> list[list[str]]:
        """Return the connected parts, each a list of vertices in the user's order; ground's part first."""
        sets = _DisjointSets(self.vertices)
        for _, a, b in self.arcs:
            sets.join(a, b)
        groups: dict[str, list[str]] = {}
        for vertex in self.vertices:
            groups.setdefault(sets.root(vertex), []).append(vertex)
        return list(groups.values())

    @property
    def independent_loops(self) -> int:
        """Number of independent loops: arcs - vertices + parts."""
        return len(self.arcs) - len(self.vertices) + len(self.parts())


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """One joint of the forest.

    Attributes
    ----------
    name : str
        The connection's, or ``"body.free"`` for an added joint.
    element : Joint
    inboard, outboard : Marker
        Its ends on the parent and on the body it carries.
    reversed : bool
        True if the user named the outboard marker first.
    connection : Connection or None
        None for an added joint.
    """

    name: str
    element: Joint
    inboard: Marker
    outboard: Marker
    reversed: bool
    connection: Connection | None = None


@dataclass(frozen=True, eq=False)
class Forest:
    """Spanning trees of a system, in regular numbering.

    Attributes
    ----------
    graph : Graph
        The user's graph.
    bodies : tuple of str
        Body names by number; number 0 is ground. Depth-first, so each subtree is a range of numbers.
    parent : (nb,) int
        The body connection array: ``parent[j - 1]`` is the parent's number of body j, and is < j.
    joints : tuple of TreeJoint
        ``joints[j - 1]`` carries body j.
    loop_constraints : tuple of Connection
        Cut joints, and constraints, which always close loops.
    couplings : tuple of CoordinateConnection
        Couplings of joint coordinates, including mimic joints.
    number : dict of str to int
        Number of a body, by name.
    """

    system: System
    graph: Graph = field(init=False)
    bodies: tuple[str, ...] = field(init=False)
    parent: NDArray[np.int32] = field(init=False)
    joints: tuple[TreeJoint, ...] = field(init=False)
    loop_constraints: tuple[Connection, ...] = field(init=False)
    couplings: tuple[CoordinateConnection, ...] = field(init=False)
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        system = self.system
        if not system.bodies:
            raise TopologyError(f"system {system.name!r} has no bodies: add one with system.body(...)")
        graph = Graph.of(system)
        branches, loop_constraints = _spanning_trees(system)
        couplings = (*system.couplings.values(), *_mimics(system))
        adjacent: dict[str, list[TreeJoint]] = {name: [] for name in graph.vertices}
        for c in branches:
            a, b = c.first.body.name, c.second.body.name
            element = c.element
            assert isinstance(element, Joint)
            adjacent[a].append(TreeJoint(c.name, element, c.first, c.second, False, c))
            adjacent[b].append(TreeJoint(c.name, element, c.second, c.first, True, c))
        for part in graph.parts()[1:]:
            first = system.bodies[part[0]]
            name = _unused(system, f"{first.name}.free")
            adjacent[system.ground.name].append(
                TreeJoint(name, free_joint(system), system.ground.origin, first.origin, False)
            )

        # depth first, children in the order in which the user named their joints
        names, parents, joints = [system.ground.name], [-1], []
        number = {system.ground.name: 0}
        stack = [(0, joint) for joint in reversed(adjacent[system.ground.name])]
        while stack:
            parent, joint = stack.pop()
            name = joint.outboard.body.name
            if name in number:
                continue
            number[name] = len(names)
            names.append(name)
            parents.append(parent)
            joints.append(joint)
            stack.extend((number[name], h) for h in reversed(adjacent[name]) if h.outboard.body.name not in number)
        if system.planar is not None:
            normals = PlaneNormals(system)
            for h in joints:
                normals.add(h.name, h.element, h.inboard, h.outboard, h.reversed)
            loop_constraints = closing_in_plane(normals, loop_constraints)
        parent_numbers = np.array(parents[1:], dtype=np.int32)
        set_fields(self, graph=graph, bodies=tuple(names), parent=parent_numbers, joints=tuple(joints), number=number)
        set_fields(self, loop_constraints=loop_constraints, couplings=couplings)

    # ---- arrays of the sources

    @property
    def nb(self) -> int:
        """Number of bodies, ground not counted."""
        return len(self.bodies) - 1

    def children(self, body: int | str) -> list[int]:
        """Return the numbers of the bodies whose parent is `body`."""
        return [int(j) + 1 for j in np.flatnonzero(self.parent == self._number(body))]

    def path(self, body: int | str) -> list[int]:
        """Return the numbers from `body` down to its tree's first body."""
        j, path = self._number(body), []
        while j:
            path.append(j)
            j = int(self.parent[j - 1])
        return path

    def between(self, first: int | str, second: int | str) -> list[int]:
        """Return the numbers of the bodies whose tree joints lie between two bodies, in order."""
        j, k, found = self._number(first), self._number(second), []
        while j != k:  # parents have lower numbers
            if j < k:
                j, k = k, j
            found.append(j)
            j = int(self.parent[j - 1])
        return sorted(found)

    def location_matrix(self) -> IntMatrix:
        """Return L = [S0; S], (nb + 1, nb): -1 where joint k leaves a body, +1 where it arrives (Sol 4.3.1)."""
        L = np.zeros((self.nb + 1, self.nb), dtype=np.int8)
        joint = np.arange(self.nb)
        L[self.parent, joint] = -1
        L[joint + 1, joint] = 1
        return L

    def loop_constraint_matrix(self) -> IntMatrix:
        """Return L^c, (nb + 1, k), from the first to the second marker of each of k loop constraints (Sol 4.3.2)."""
        L = np.zeros((self.nb + 1, len(self.loop_constraints)), dtype=np.int8)
        for k, loop_constraint in enumerate(self.loop_constraints):
            L[self.number[loop_constraint.first.body.name], k] = -1
            L[self.number[loop_constraint.second.body.name], k] = 1
        return L

    def path_matrix(self) -> IntMatrix:
        """Return T, (nb, nb): entry (k, i) is 1 if joint k is on the path from ground to body i (Sol 4.3.6).

        With S the location matrix without its ground row, S T = T S = 1.
        """
        T = np.eye(self.nb, dtype=np.int8)
        for j, parent in enumerate(self.parent):
            if parent:
                T[:, j] |= T[:, parent - 1]
        return T

    def chart(self) -> str:
        """Return the forest as text, one body a line, loop constraints at the end."""
        lines = [self.bodies[0]]
        indent = {0: ""}
        last = {int(parent): j for j, parent in enumerate(self.parent, start=1)}
        for j, joint in enumerate(self.joints, start=1):
            parent = int(self.parent[j - 1])
            is_last = last[parent] == j
            note = " (reversed)" if joint.reversed else " (added)" if joint.connection is None else ""
            branch = "└─ " if is_last else "├─ "
            lines.append(f"{indent[parent]}{branch}{joint.name}: {joint.element.kind}{note} → {self.bodies[j]}")
            indent[j] = indent[parent] + ("   " if is_last else "│  ")
        for cut in self.loop_constraints:
            lines.append(f"loop constraint {cut.name}: {cut.element.kind}, {cut.first.name} → {cut.second.name}")
        for coupling in self.couplings:
            lines.append(f"coupling {coupling.name}: {coupling.meaning}")
        return "\n".join(lines)

    def mass_table(self, digits: int = 6) -> str:
        """Return mass data as a table: those of Passerello and Huston 1972, Fig. 10.

        Bodies by number, with mass, r from the joint of the body to its mass centre, in its own axes; xi from the joint
        of its parent to its own joint, in axes of the parent; inertia about the mass centre as a dyadic, n21 being axis
        1 of body 2.

        Examples
        --------
        >>> from dalembert.library import space_manipulator
        >>> print(space_manipulator(units="slug in").forest().mass_table().splitlines()[2])
          2 upper_a   0.5   0, 0, -18    0, 0, -6  54 n21n21 + 54 n22n22
        """
        rows = [("", "body", "mass", "r", "xi", "inertia")]
        joints = dict(enumerate(self.joints, start=1))
        for j, joint in joints.items():
            body = joint.outboard.body
            parent = int(self.parent[j - 1])
            inner = joints[parent].outboard.position if parent else np.zeros(3)
            offsets = (body.com - joint.outboard.position, joint.inboard.position - inner)
            r, xi = (", ".join(f"{x + 0.0:.{digits}g}" for x in offset.tolist()) for offset in offsets)
            inertia = dyadic(body.inertia, body=j, digits=digits)
            rows.append((str(j), body.name, f"{body.mass:.{digits}g}", r, xi, inertia))
        wide = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = []
        for number, name, mass, r, xi, inertia in rows:
            left = f"{number:>{wide[0] + 2}} {name:<{wide[1]}} {mass:>{wide[2] + 1}}"
            lines.append(f"{left} {r:>{wide[3] + 2}} {xi:>{wide[4] + 2}}  {inertia}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.chart()

    def _number(self, body: int | str) -> int:
        if isinstance(body, str) and body in self.number:
            return self.number[body]
        if isinstance(body, (int, np.integer)) and 0 <= body <= self.nb:
            return int(body)
        raise ModelError("forest", "body", body, f"give the name of a body, or a number from 0 to {self.nb}")


def with_massless_links(system: System) -> System:
    """Return the system with every joint that needs its own coordinate placed in a tree.

    Where all joints of a loop are driven, coupled or have an armature, one of them must still be cut. It then ends on a
    massless link, ``"D.link"``, and the cut joint is the weld of that link to the body, ``"D.weld"``.
    """
    missing = _cut_with_coordinate(system)
    if not missing:
        return system
    system = copy.deepcopy(system)  # drives, couplings and elements refer to the connections
    while missing:
        name = missing[0]
        joint = system.connections[name]
        link = system.body(_unused(system, f"{name}.link"), mass=0.0)
        system.connect(_unused(system, f"{name}.weld"), Fixed(), link.origin, joint.second)
        set_fields(joint, second=link.origin)
        missing = _cut_with_coordinate(system)
    return system


def _cut_with_coordinate(system: System) -> list[str]:
    """Return cut joints whose coordinates are needed by drives, couplings or an armature."""
    if not system.bodies:
        return []
    needed = {drive.connection.name for drive in system.drives.values() if drive.of_joint}
    needed |= {joint.name for c in (*system.couplings.values(), *_mimics(system)) for joint in c.joints}
    joints = {c.name: c.element for c in system.connections.values() if isinstance(c.element, Joint)}
    needed |= {name for name, joint in joints.items() if _has_armature(joint)}
    return (
        [loop_constraint.name for loop_constraint in _spanning_trees(system)[1] if loop_constraint.name in needed]
        if needed
        else []
    )


def _unused(system: System, name: str) -> str:
    while name in system:
        name += "'"
    return name


def _spanning_trees(system: System) -> tuple[list[Connection], tuple[Connection, ...]]:
    """Return the joints kept and the connections cut: a minimum spanning forest by number of DOF (Kruskal).

    Driven joints come first, then joints whose coordinates are coupled, acted upon or carry an armature, because a cut
    joint has no coordinates; then joints that may stick; then joints of massless bodies, which would otherwise become
    leaves without inertia; then custom joints, whose rows cost a search.
    """
    driven = {drive.connection.name for drive in system.drives.values() if drive.of_joint}
    wanted = {joint.name for c in (*system.couplings.values(), *_mimics(system)) for joint in c.joints}
    wanted |= driven
    wanted |= {joint.name for force in system.forces.values() for joint, _ in force.joint_coordinates}
    joints = [c for c in system.connections.values() if isinstance(c.element, Joint)]
    wanted |= {c.name for c in joints if isinstance(c.element, Joint) and _has_armature(c.element)}
    light = {body.name for body in system.bodies.values() if not body.mass and not body.inertia.any()}

    def rank(c: Connection) -> tuple[bool, bool, bool, bool, bool]:
        dry = isinstance(c.element, Joint) and c.element.can_stick
        heavy = light.isdisjoint((c.first.body.name, c.second.body.name))
        return c.name not in driven, c.name not in wanted, not dry, heavy, bool(c.element.kernel)

    ranks = [rank(c) for c in joints]
    kept = _kept_joints(system, joints, ranks)
    everyone = system.connections.values()
    return [c for c in everyone if c.name in kept], tuple(c for c in everyone if c.name not in kept)


def _kept_joints(system: System, joints: list[Connection], ranks: Sequence[tuple[bool, ...]]) -> set[str]:
    """Return the names of the joints of the spanning trees; ranks come first."""
    graph = _joint_graph(system, joints)
    named = minimum_spanning_tree(graph, lambda k: (ranks[k], graph.dof[k]) if k < len(joints) else ((), 0))
    best = named
    loop_constraints = len(graph.ends) - len(named) + len(graph.constraints)
    if loop_constraints >= MANY_LOOPS:
        least = elimination_cost(graph, named)
        if least > NARROW * graph.bodies:
            least = round(least / COST_RATIO)
            for keys in candidate_trees(graph):
                order = [(ranks[k], keys[k], graph.dof[k]) if k < len(joints) else ((), 0, 0) for k in range(len(keys))]
                tree = minimum_spanning_tree(graph, order.__getitem__)
                cost = elimination_cost(graph, tree)
                if cost < least:
                    best, least = tree, cost
    return {joints[k].name for k in best if k < len(joints)}


def _joint_graph(system: System, joints: list[Connection]) -> JointGraph:
    """Return the graph of a system in numbers: joints, then the free joints of parts without a path to ground.

    Where all joints have one degree of freedom, loops are taken to be planar: a cut joint then has two independent
    rows.
    """
    number = {name: k for k, name in enumerate((system.ground.name, *system.bodies))}
    planar = system.planar is not None or all(c.element.nv <= 1 for c in joints)
    ends = [(number[c.first.body.name], number[c.second.body.name]) for c in joints]
    dof = [c.element.nv for c in joints]
    rows = [max(3 - n, 0) if planar else 6 - n for n in dof]
    constraints: list[tuple[tuple[int, ...], int]] = [
        ((number[c.first.body.name], number[c.second.body.name]), len(c.element.rows))
        for c in system.connections.values()
        if not isinstance(c.element, Joint)
    ]
    for part in Graph.of(system).parts()[1:]:
        ends.append((0, number[part[0]]))
        dof.append(6)
        rows.append(0)
    return JointGraph(len(system.bodies), ends, dof, rows, constraints)


def _has_armature(joint: Joint) -> bool:
    return joint.armature is not None and bool(np.any(joint.armature))


def _mimics(system: System) -> list[CoordinateConnection]:
    """Return the mimic rules of a system as couplings."""
    couplings = []
    for follower, mimic in system.mimics.items():
        item = f"mimic of {follower!r}"
        ends = []
        for name in (mimic.joint, follower):
            connection = system.connections.get(name)
            if connection is None or not isinstance(connection.element, Joint):
                raise ModelError(item, "joint", name, "no joint has that name; correct or delete it in system.mimics")
            if connection.element.nq > 1:
                remedy = f"it has {connection.element.nq} coordinates; only joints with one can follow and be followed"
                raise ModelError(item, "joint", name, remedy)
            ends.append(connection)
        leader, last = ends
        if not last.element.nv:  # a fixed joint has no motion
            continue
        if not leader.element.nv:  # and stays at zero
            mimic = Mimic(mimic.joint, 0.0, mimic.offset)
        name = _unused(system, f"{follower}.mimic")
        couplings.append(CoordinateConnection(name, mimic, ((leader, 0), (last, 0))))
    return couplings


class _DisjointSets:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._above = {name: name for name in names}

    def root(self, name: str) -> str:
        top = name
        while self._above[top] != top:
            top = self._above[top]
        while self._above[name] != top:
            self._above[name], name = top, self._above[name]
        return top

    def join(self, a: str, b: str) -> bool:
        """Unite the sets of a and b; return False if they were one already."""
        a, b = self.root(a), self.root(b)
        self._above[b] = a
        return a != b
