"""From bodies and joints to points and vectors.

Joints share points and vectors where they can: a revolute one its point and its axis, a spherical one its point, a
prismatic one its axis and a vector across. What sharing does not say becomes rows. Points and vectors of ground are
fixed. Bodies that joints leave without a frame get vectors of their own, so that their mass matrices are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.couplings import CoordinateConnection
from ..connections.constraints.geometric import Distance
from ..connections.drives import Drive
from ..connections.joints import (
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
from ..errors import ModelError
from ..model import Model
from ..system import System
from .bodies import body_frame
from .mechanism import Mechanism

__all__ = ["MechanismBuilder", "SharedPoints"]

Array = NDArray[np.float64]

GROUND = "ground"
DUPLICATE_TOL = 1e-9  # of a length: points of a body nearer than this are one
_SPANNED = 0.2  # smallest singular value of a base of unit vectors that will do


@dataclass(eq=False)
class SharedPoints:
    """Points, or vectors, of bodies, some of them common to several."""

    kind: str
    tolerance: float
    places: list[tuple[str, Array]] = field(default_factory=list)  # body and where it is in it
    parents: list[int] = field(default_factory=list)
    homes: list[Array] = field(default_factory=list)  # (3,): the same in space
    names: list[str] = field(default_factory=list)

    def node(self, body: str, local: Array, home: Array, name: str) -> int:
        """Return the node for a place in a body, a new one if there is none yet."""
        for k, (owner, at) in enumerate(self.places):
            if owner == body and float(np.linalg.norm(at - local)) <= self.tolerance:
                return k
        self.places.append((body, local))
        self.parents.append(len(self.parents))
        self.homes.append(home)
        self.names.append(name)
        return len(self.places) - 1

    def root(self, node: int) -> int:
        """Return the node that stands for all that are one with it."""
        while self.parents[node] != node:
            node = self.parents[node]
        return node

    def members(self, node: int) -> list[tuple[str, Array]]:
        """Return the places that are one with a node."""
        root = self.root(node)
        return [place for k, place in enumerate(self.places) if self.root(k) == root]

    def unite(self, first: int, second: int, name: str = "") -> bool:
        """Make two nodes one, of this name if neither was shared before; False if a body would have it twice."""
        a, b = self.root(first), self.root(second)
        if a == b:
            return True
        bodies = {body for body, _ in self.members(a)}
        if bodies & {body for body, _ in self.members(b)}:
            return False
        self.parents[max(a, b)] = min(a, b)
        if {first, second} == {a, b} and name:
            self.names[min(a, b)] = name
        return True

    def name(self, node: int) -> str:
        """Return the name of what a node stands for."""
        return self.names[self.root(node)]


class MechanismBuilder:
    """Points and vectors of one system on their way into a mechanism."""

    def __init__(self, system: System, model: Model, q: Array, plane: Array | None) -> None:
        self.system, self.model, self.q, self.plane = system, model, q, plane
        self.poses = {name: model.pose(name, q) for name in system.bodies}
        self.points = SharedPoints("point", DUPLICATE_TOL * model.length)
        self.vectors = SharedPoints("vector", DUPLICATE_TOL)
        self.later: list[Callable[[], None]] = []
        self.made: set[str] = set()  # joint coordinates that are coordinates of the mechanism
        self.homes: dict[str, tuple[str, Array, bool]] = {}
        self.m = Mechanism(3 if plane is None else 2, system.name)

    # -- where things are

    def flat(self, body: str, local: Array) -> Array:
        """Return a vector of a body in the frame that its rows are written in."""
        if self.plane is None:
            return local
        R = np.eye(3) if body == GROUND else self.poses[body].rotation
        return np.asarray(self.plane.T @ R @ local)

    def world(self, body: str, local: Array, *, point: bool) -> Array:
        """Return where it is now."""
        if body == GROUND:
            x = local
        else:
            x = self.poses[body].rotation @ local + (self.poses[body].position if point else 0.0)
        return np.asarray(x if self.plane is None else self.plane.T @ x)

    def add(self, shared: SharedPoints, body: str, local: Array, name: str) -> int:
        """Return the node of a point or vector of a body."""
        return shared.node(body, self.flat(body, local), local, name)

    # -- joints

    def build(self) -> Mechanism:
        """Return the mechanism; `homes` tells the body and the place of each of its points and vectors."""
        for connection in self.system.connections.values():
            self.connect(connection)
        for drive in self.system.drives.values():
            self.driven(drive)
        for coupling in self.system.couplings.values():
            self.coupled(coupling)
        self.complete()
        self.declare()
        for action in self.later:
            action()
        return self.m

    def connect(self, connection: Connection) -> None:
        element: Any = connection.element
        name = connection.name
        ends = (connection.first, connection.second)
        if isinstance(element, Free):
            return
        points = [self.add(self.points, e.body.name, e.position, f"{name}.{k}") for k, e in enumerate(ends, start=1)]
        if isinstance(element, (Revolute, Spherical, Universal, Fixed)):
            self.share(self.points, points, name)
        axes = self.axes_of(element)
        for label, way in axes.items():
            if self.plane is not None and abs(float(np.linalg.norm(self.across(ends[0], way))) - 1.0) > 1e-6:
                continue  # along the normal
            nodes = [
                self.add(self.vectors, e.body.name, e.rotation @ way, f"{name}.{label}{k}")
                for k, e in enumerate(ends, start=1)
            ]
            self.share(self.vectors, nodes, f"{name}.{label}")

        def P(k: int) -> str:
            return self.points.name(points[k])

        if isinstance(element, Universal):
            nodes = [
                self.add(self.vectors, e.body.name, e.rotation @ np.asarray(axis), f"{name}.axis_{k}")
                for k, (e, axis) in enumerate(zip(ends, (element.axis_1, element.axis_2), strict=True), start=1)
            ]
            names = self.vectors.name
            self.later.append(lambda: self.m.constant_dot(name, names(nodes[0]), names(nodes[1]), 0.0))
        elif isinstance(element, (Cylindrical, Prismatic)):
            axis = self.axis_name(ends[0], np.asarray(element.axis), name)
            self.later.append(lambda: self.m.slot(name, P(1), P(0), axis()))
        elif isinstance(element, Planar) and self.plane is None:
            axis = self.axis_name(ends[0], np.asarray(element.normal), name)
            self.later.append(lambda: self.m.planar(name, P(1), P(0), axis()))
        elif isinstance(element, Distance):
            self.later.append(lambda: self.m.link(name, P(0), P(1), element.length))
        elif isinstance(element, Screw):
            axis = self.axis_name(ends[0], np.asarray(element.axis), name)
            self.turning(connection)
            self.later.append(lambda: self.m.helical(name, P(1), P(0), axis(), f"{name}.turn", element.pitch))

    def across(self, marker: Marker, axis: Array) -> Array:
        """Return the part of an axis of a marker in the plane."""
        R = np.eye(3) if marker.body.name == GROUND else self.poses[marker.body.name].rotation
        assert self.plane is not None
        return np.asarray(self.plane.T @ R @ marker.rotation @ axis)

    def axis_name(self, marker: Marker, axis: Array, name: str) -> Callable[[], str]:
        node = self.add(self.vectors, marker.body.name, marker.rotation @ axis, f"{name}.axis1")
        return lambda: self.vectors.name(node)

    def axes_of(self, element: Any) -> dict[str, Array]:
        """Return the vectors that both bodies of a joint share, in marker axes."""
        if isinstance(element, (Revolute, Cylindrical, Screw)):
            return {"axis": np.asarray(element.axis)}
        if isinstance(element, Planar):
            return {"axis": np.asarray(element.normal)}
        if isinstance(element, (Prismatic, Fixed)):
            frame = element.frame()
            return {"axis": frame[:, 2], "across": frame[:, 0]} if self.plane is None else self._in_plane(element)
        return {}

    def _in_plane(self, element: Any) -> dict[str, Array]:
        """Return one vector in the plane, which is all that keeps two bodies from turning there."""
        if isinstance(element, Prismatic):
            return {"axis": np.asarray(element.axis)}
        frame = element.frame()
        return {f"axis_{k}": frame[:, k] for k in range(3)}  # those along the normal are left out

    def share(self, shared: SharedPoints, nodes: list[int], name: str) -> None:
        if shared.unite(nodes[0], nodes[1], name):
            return
        if shared.kind == "point":
            self.later.append(lambda: self.m.coincident(name, shared.name(nodes[0]), shared.name(nodes[1])))
        else:
            self.later.append(lambda: self.m.combination(name, shared.name(nodes[0]), [shared.name(nodes[1])]))

    # -- drives

    def driven(self, drive: Drive) -> None:
        connection: Any = drive.connection
        element = connection.element
        if not isinstance(element, Joint):
            if not isinstance(element, Distance):
                raise ModelError(
                    f"drive {drive.name!r}", "form", "natural", "only joints and distances are driven here"
                )
            raise ModelError(
                f"drive {drive.name!r}", "form", "natural", "driven distances have none: use Mechanism.distance"
            )
        name = self.coordinate(connection, drive.coordinate, f"drive {drive.name}")
        self.later.append(lambda: self.m.drive(name, drive.law))

    def coupled(self, coupling: CoordinateConnection) -> None:
        """Add what a coupling holds: a linear relation of angles and slides that are coordinates."""
        labels = [self.coordinate(connection, place, coupling.name) for connection, place in coupling.places]
        element: Any = coupling.element

        def relate() -> None:
            factors = dict(zip(labels, (-element.ratio, 1.0), strict=True))
            self.m.relation(coupling.name, factors, element.offset)

        self.later.append(relate)

    def coordinate(self, connection: Connection, place: int, item: str) -> str:
        """Return the name of a joint coordinate, which is made one of the mechanism."""
        element: Any = connection.element
        kind = element.coordinates[place]
        if isinstance(element, (Revolute, Cylindrical, Screw, Planar)) and kind == "angle":
            self.turning(connection)
            return f"{connection.name}.turn"
        if isinstance(element, (Prismatic, Cylindrical)) and kind == "slide":
            self.sliding(connection)
            return f"{connection.name}.slide"
        raise ModelError(f"{item!r}", "form", "natural", f"{element.kind} cannot take part here: use 'relative'")

    def sliding(self, connection: Connection) -> None:
        """Add the slide of a joint along its axis as a coordinate."""
        name, element = f"{connection.name}.slide", connection.element
        if name in self.made:
            return
        self.made.add(name)
        ends = (connection.first, connection.second)
        points = [self.add(self.points, e.body.name, e.position, f"{name}.{k}") for k, e in enumerate(ends, 1)]
        axis = self.axis_name(ends[0], np.asarray(element.axis), connection.name)  # type: ignore[union-attr]

        def add() -> None:
            names = [self.points.name(p) for p in points]
            self.m.distance(name, names[0], names[1], along=axis())

        self.later.append(add)

    def turning(self, connection: Connection) -> None:
        """Add the angle of a joint about its axis as a coordinate."""
        element: Any = connection.element
        name = connection.name
        if f"{name}.turn" in self.made:
            return
        self.made.add(f"{name}.turn")
        frame = element.frame()
        ends = (connection.first, connection.second)
        arms = [
            self.add(self.vectors, e.body.name, e.rotation @ frame[:, 0], f"{name}.arm{k}")
            for k, e in enumerate(ends, start=1)
        ]
        axis = None if self.plane is not None else self.axis_name(ends[0], frame[:, 2], name)
        sign = 1.0
        if self.plane is not None:
            R = np.eye(3) if ends[0].body.name == GROUND else self.poses[ends[0].body.name].rotation
            sign = float(np.sign(np.cross(*self.plane.T) @ (R @ ends[0].rotation @ frame[:, 2])))

        def add() -> None:
            first, second = (self.vectors.name(n) for n in (arms if sign > 0 else arms[::-1]))
            self.m.angle(f"{name}.turn", first, second, axis=None if axis is None else axis())
            # full turns, as the joint counts them
            value = self.m.coordinates[f"{name}.turn"].value
            value += 2 * np.pi * np.round((self.angle_of(connection) - value) / (2 * np.pi))

        self.later.append(add)

    def angle_of(self, connection: Connection) -> float:
        """Return the angle of a joint now, rad."""
        element: Any = connection.element
        place = element.coordinates.index("angle")
        if connection.name in {joint.name for joint in self.model.forest.joints}:
            return float(self.q[self.model.q_slice(connection.name)][place])
        first, second = (self.model.pose(end, self.q) for end in (connection.first, connection.second))
        C, c = first.rotation.T @ second.rotation, first.rotation.T @ (second.position - first.position)
        return float(element.coordinates_of(C, c)[place])

    # -- bodies

    def complete(self) -> None:
        """Give every body a point, and vectors until its frame is whole."""
        for name, body in self.system.bodies.items():
            members = self.members(name)
            if not members[0]:
                self.add(self.points, name, body.com, f"{name}.centre")
            for label in "xyz":
                columns = body_frame(*self.members(name), self.m.dimension, item=f"body {name!r}").columns
                base = np.hstack([columns / np.linalg.norm(columns, axis=0), np.zeros((self.m.dimension, 3))])
                U, s, _ = np.linalg.svd(base)
                if columns.size and (self.plane is not None or s[2] > _SPANNED):
                    break
                way = U[:, -1]  # where the base reaches least
                local = way if self.plane is None else self.poses[name].rotation.T @ self.plane @ way
                self.add(self.vectors, name, local, f"{name}.{label}")

    def members(self, body: str) -> tuple[dict[str, Array], dict[str, Array]]:
        found = []
        for shared in (self.points, self.vectors):
            nodes = [k for k, (owner, _) in enumerate(shared.places) if owner == body]
            found.append({shared.name(k): shared.places[k][1] for k in nodes})
        return found[0], found[1]

    def declare(self) -> None:
        """Declare coordinates, bodies and masses."""
        for shared, make in ((self.points, self.m.point), (self.vectors, self.m.vector)):
            for k in range(len(shared.places)):
                if shared.root(k) != k:
                    continue
                fixed = [local for body, local in shared.members(k) if body == GROUND]
                owner, point = shared.places[k][0], shared.kind == "point"
                at = fixed[0] if fixed else self.world(owner, shared.homes[k], point=point)
                make(shared.name(k), *at, fixed=bool(fixed))
                if not fixed:
                    self.homes[shared.name(k)] = (owner, shared.homes[k], point)
        for name, body in self.system.bodies.items():
            points, vectors = self.members(name)
            self.m.body(name, points, vectors)
            if self.plane is None:
                inertia: Any = body.inertia
            else:
                n = np.cross(*self.plane.T)
                R = self.poses[name].rotation
                inertia = float(n @ R @ body.inertia @ R.T @ n)
            self.m.mass(name, body.mass, self.flat(name, body.com), inertia)
