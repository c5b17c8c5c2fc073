"""From the user's graph to the computational forest, with the map both ways.

The user's *graph* has bodies as vertices and hinges as arcs, in any direction and with any loops.
The *forest* is what the recursions walk: spanning trees rooted at ground, bodies in regular
numbering (a parent before its children), every hinge pointing outward. Hinges that would close a
loop become *chords*. Sol 1983, chapter 4; Slaats 1991, section 3.2; Passerello and Huston 1972,
chapter I.

The spanning trees keep the hinges with few freedoms and cut each loop where the most freedoms go,
because a cut hinge with n freedoms costs 6 - n equations. Among equals the hinge that was named
last is cut. Parts without a path to ground get a free hinge to ground at their first body. In a system that is said to
move in a plane, relations have three coordinates instead of six (`in_plane`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..bodies.dyadics import dyadic
from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.constraints.mimic import Mimic
from ..connections.joints import Fixed, Hinge
from ..errors import ModelError, TopologyError
from .planar import Normals, closing_in_plane, free_hinge

if TYPE_CHECKING:
    from .system import System

__all__ = ["Forest", "Graph", "TreeHinge", "with_links"]

IntMatrix = NDArray[np.int8]


@dataclass(frozen=True)
class Graph:
    """The user's graph: vertex names (ground first) and arcs (connection, from, to)."""

    vertices: tuple[str, ...]
    arcs: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, system: System) -> Graph:
        """Read the graph off a system."""
        hinges = (c for c in system.connections.values() if isinstance(c.element, Hinge))
        arcs = tuple((c.name, c.first.body.name, c.second.body.name) for c in hinges)
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
class TreeHinge:
    """One hinge of the forest.

    Attributes
    ----------
    name : str
        The connection's, or ``"body.free"`` for a hinge that the forest added.
    element : Hinge
    inboard, outboard : Marker
        Its ends on the parent and on the body it carries.
    reversed : bool
        True if the user named the outboard marker first.
    connection : Connection or None
        None for a hinge that the forest added.
    """

    name: str
    element: Hinge
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
    hinges : tuple of TreeHinge
        ``hinges[j - 1]`` carries body j.
    chords : tuple of Connection
        Hinges that close loops, and constraints, which always do.
    couplings : tuple of CoordinateConnection
        Couplings of hinge coordinates, joints that mimic others among them.
    number : dict of str to int
        Number of a body, by name.
    """

    system: System
    graph: Graph = field(init=False)
    bodies: tuple[str, ...] = field(init=False)
    parent: NDArray[np.int32] = field(init=False)
    hinges: tuple[TreeHinge, ...] = field(init=False)
    chords: tuple[Connection, ...] = field(init=False)
    couplings: tuple[CoordinateConnection, ...] = field(init=False)
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        system = self.system
        if not system.bodies:
            raise TopologyError(f"system {system.name!r} has no bodies: add one with system.body(...)")
        graph = Graph.of(system)
        branches, chords = _spanning_trees(system)
        couplings = (*system.couplings.values(), *_mimics(system))
        adjacent: dict[str, list[TreeHinge]] = {name: [] for name in graph.vertices}
        for c in branches:
            a, b = c.first.body.name, c.second.body.name
            element = c.element
            assert isinstance(element, Hinge)
            adjacent[a].append(TreeHinge(c.name, element, c.first, c.second, False, c))
            adjacent[b].append(TreeHinge(c.name, element, c.second, c.first, True, c))
        for part in graph.parts()[1:]:
            first = system.bodies[part[0]]
            name = _unused(system, f"{first.name}.free")
            adjacent[system.ground.name].append(
                TreeHinge(name, free_hinge(system), system.ground.origin, first.origin, False)
            )

        # depth first, children in the order in which the user named their hinges
        names, parents, hinges = [system.ground.name], [-1], []
        number = {system.ground.name: 0}
        stack = [(0, hinge) for hinge in reversed(adjacent[system.ground.name])]
        while stack:
            parent, hinge = stack.pop()
            name = hinge.outboard.body.name
            if name in number:
                continue
            number[name] = len(names)
            names.append(name)
            parents.append(parent)
            hinges.append(hinge)
            stack.extend((number[name], h) for h in reversed(adjacent[name]) if h.outboard.body.name not in number)
        if system.planar is not None:
            normals = Normals(system)
            for h in hinges:
                normals.add(h.name, h.element, h.inboard, h.outboard, h.reversed)
            chords = closing_in_plane(normals, chords)
        for attribute, value in (
            ("graph", graph),
            ("bodies", tuple(names)),
            ("parent", np.array(parents[1:], dtype=np.int32)),
            ("hinges", tuple(hinges)),
            ("chords", chords),
            ("couplings", couplings),
            ("number", number),
        ):
            object.__setattr__(self, attribute, value)

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

    def location_matrix(self) -> IntMatrix:
        """Return L = [S0; S], (nb + 1, nb): -1 where hinge k leaves a body, +1 where it arrives (Sol 4.3.1)."""
        L = np.zeros((self.nb + 1, self.nb), dtype=np.int8)
        hinge = np.arange(self.nb)
        L[self.parent, hinge] = -1
        L[hinge + 1, hinge] = 1
        return L

    def chord_matrix(self) -> IntMatrix:
        """Return L^c, (nb + 1, number of chords), from the first to the second marker of each chord (Sol 4.3.2)."""
        L = np.zeros((self.nb + 1, len(self.chords)), dtype=np.int8)
        for k, chord in enumerate(self.chords):
            L[self.number[chord.first.body.name], k] = -1
            L[self.number[chord.second.body.name], k] = 1
        return L

    def path_matrix(self) -> IntMatrix:
        """Return T, (nb, nb): entry (k, i) is 1 if hinge k is on the path from ground to body i (Sol 4.3.6).

        With S the location matrix without its ground row, S T = T S = 1.
        """
        T = np.eye(self.nb, dtype=np.int8)
        for j, parent in enumerate(self.parent):
            if parent:
                T[:, j] |= T[:, parent - 1]
        return T

    def chart(self) -> str:
        """Return the forest as text, one body a line, chords at the end."""
        lines = [self.bodies[0]]
        indent = {0: ""}
        last = {int(parent): j for j, parent in enumerate(self.parent, start=1)}
        for j, hinge in enumerate(self.hinges, start=1):
            parent = int(self.parent[j - 1])
            is_last = last[parent] == j
            note = " (reversed)" if hinge.reversed else " (added)" if hinge.connection is None else ""
            branch = "└─ " if is_last else "├─ "
            lines.append(f"{indent[parent]}{branch}{hinge.name}: {hinge.element.kind}{note} → {self.bodies[j]}")
            indent[j] = indent[parent] + ("   " if is_last else "│  ")
        for chord in self.chords:
            lines.append(f"chord {chord.name}: {chord.element.kind}, {chord.first.name} → {chord.second.name}")
        for coupling in self.couplings:
            lines.append(f"coupling {coupling.name}: {coupling.meaning}")
        return "\n".join(lines)

    def mass_table(self, digits: int = 6) -> str:
        """Return mass data as a table: those of Passerello and Huston 1972, Fig. 10.

        Bodies by number, with mass, r from the hinge of the body to its mass centre, in its own axes; xi from the hinge
        of its parent to its own hinge, in axes of the parent; inertia about the mass centre as a dyadic, n21 being axis
        1 of body 2.

        Examples
        --------
        >>> from dalembert.library import space_manipulator
        >>> print(space_manipulator(units="slug in").forest().mass_table().splitlines()[2])
          2 upper_a   0.5   0, 0, -18    0, 0, -6  54 n21n21 + 54 n22n22
        """
        rows = [("", "body", "mass", "r", "xi", "inertia")]
        hinges = dict(enumerate(self.hinges, start=1))
        for j, hinge in hinges.items():
            body = hinge.outboard.body
            parent = int(self.parent[j - 1])
            inner = hinges[parent].outboard.position if parent else np.zeros(3)
            offsets = (body.com - hinge.outboard.position, hinge.inboard.position - inner)
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


def with_links(system: System) -> System:
    """Return the system with every hinge that needs a coordinate of its own in a tree.

    Where all hinges of a loop are driven, coupled or have an armature, one of them has to be cut all the same. It then
    ends on a link without mass, ``"D.link"``, and what is cut is the weld of that to the body, ``"D.weld"``.
    """
    missing = _cut_with_coordinate(system)
    if not missing:
        return system
    system = copy.deepcopy(system)  # drives, couplings and elements refer to the connections
    while missing:
        name = missing[0]
        hinge = system.connections[name]
        link = system.body(_unused(system, f"{name}.link"), mass=0.0)
        system.connect(_unused(system, f"{name}.weld"), Fixed(), link.origin, hinge.second)
        object.__setattr__(hinge, "second", link.origin)
        missing = _cut_with_coordinate(system)
    return system


def _cut_with_coordinate(system: System) -> list[str]:
    """Return hinges that would be cut though something needs their coordinates: drives, couplings, an armature."""
    if not system.bodies:
        return []
    needed = {drive.connection.name for drive in system.drives.values() if drive.of_hinge}
    needed |= {hinge.name for c in (*system.couplings.values(), *_mimics(system)) for hinge in c.hinges}
    hinges = {c.name: c.element for c in system.connections.values() if isinstance(c.element, Hinge)}
    needed |= {name for name, hinge in hinges.items() if _has_armature(hinge)}
    return [chord.name for chord in _spanning_trees(system)[1] if chord.name in needed] if needed else []


def _unused(system: System, name: str) -> str:
    while name in system:
        name += "'"
    return name


def _spanning_trees(system: System) -> tuple[list[Connection], tuple[Connection, ...]]:
    """Return the hinges kept and the connections cut: a minimum spanning forest by number of freedoms (Kruskal).

    Hinges that are driven come first, then those whose coordinates are coupled, acted upon or carry an armature,
    because a cut hinge has no coordinates; then hinges that may stick; then hinges of massless bodies, so that these do
    not end up as leaves that move no inertia; then custom hinges, whose rows cost a search.
    """
    sets = _DisjointSets((system.ground.name, *system.bodies))
    kept = set()
    driven = {drive.connection.name for drive in system.drives.values() if drive.of_hinge}
    wanted = {hinge.name for c in (*system.couplings.values(), *_mimics(system)) for hinge in c.hinges}
    wanted |= driven
    wanted |= {hinge.name for force in system.forces.values() for hinge, _ in force.places}
    hinges = [c for c in system.connections.values() if isinstance(c.element, Hinge)]
    wanted |= {c.name for c in hinges if isinstance(c.element, Hinge) and _has_armature(c.element)}
    light = {body.name for body in system.bodies.values() if not body.mass and not body.inertia.any()}

    def rank(c: Connection) -> tuple[bool, bool, bool, bool, bool, int]:
        dry = isinstance(c.element, Hinge) and c.element.dry
        heavy = light.isdisjoint((c.first.body.name, c.second.body.name))
        return c.name not in driven, c.name not in wanted, not dry, heavy, bool(c.element.kernel), c.element.nv

    for c in sorted(hinges, key=rank):  # stable: keeps the user's order
        if sets.join(c.first.body.name, c.second.body.name):
            kept.add(c.name)
    everyone = system.connections.values()
    return [c for c in everyone if c.name in kept], tuple(c for c in everyone if c.name not in kept)


def _has_armature(hinge: Hinge) -> bool:
    return hinge.armature is not None and bool(np.any(hinge.armature))


def _mimics(system: System) -> list[CoordinateConnection]:
    """Return the mimic rules of a system as couplings."""
    couplings = []
    for follower, mimic in system.mimics.items():
        item = f"mimic of {follower!r}"
        ends = []
        for name in (mimic.joint, follower):
            connection = system.connections.get(name)
            if connection is None or not isinstance(connection.element, Hinge):
                raise ModelError(item, "joint", name, "no hinge has that name; correct or delete it in system.mimics")
            if connection.element.nq > 1:
                remedy = f"it has {connection.element.nq} coordinates; only joints with one can follow and be followed"
                raise ModelError(item, "joint", name, remedy)
            ends.append(connection)
        leader, last = ends
        if not last.element.nv:  # a fixed joint has nothing to move
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
