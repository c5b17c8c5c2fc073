"""Builder of a mechanism of points and vectors from bodies and joints.

Joints share points and vectors: a revolute joint its point and its axis, a spherical joint its point, a prismatic joint
its axis and a perpendicular vector. Rows express the rest. Points and vectors of ground are fixed. Bodies without a
complete frame get further vectors, so that their mass matrices are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
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

__all__ = ["MechanismBuilder", "SharedPoints", "plane_of"]


GROUND = "ground"
DUPLICATE_TOL = 1e-9  # of the length of the model: closer points of a body are one
PARALLEL_TOL = 1e-9  # sine of the angle between axes; rounding of an assembled loop is smaller
MIN_SINGULAR_VALUE = 0.2  # of a base of unit vectors; below, the body gets a further vector


@dataclass(eq=False)
class SharedPoints:
    """Points or vectors of bodies; a node may be shared by several bodies."""

    kind: str
    tolerance: float
    places: list[tuple[str, Array]] = field(default_factory=list)  # body, and position in it
    parents: list[int] = field(default_factory=list)
    homes: list[Array] = field(default_factory=list)  # (3,): position in the body in space
    names: list[str] = field(default_factory=list)

    def node(self, body: str, local: Array, home: Array, name: str) -> int:
        """Return the node at a position in a body; add it if there is none."""
        for k, (owner, at) in enumerate(self.places):
            if owner == body and float(np.linalg.norm(at - local)) <= self.tolerance:
                return k
        self.places.append((body, local))
        self.parents.append(len(self.parents))
        self.homes.append(home)
        self.names.append(name)
        return len(self.places) - 1

    def root(self, node: int) -> int:
        """Return the representative of all nodes united with this one."""
        while self.parents[node] != node:
            node = self.parents[node]
        return node

    def members(self, node: int) -> list[tuple[str, Array]]:
        """Return bodies and positions of all nodes united with this one."""
        root = self.root(node)
        return [place for k, place in enumerate(self.places) if self.root(k) == root]

    def unite(self, first: int, second: int, name: str = "") -> bool:
        """Unite two nodes, under this name if neither was shared; return False if a body would have it twice."""
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
        """Return the name of the point or vector of a node."""
        return self.names[self.root(node)]


class MechanismBuilder:
    """Builder of the mechanism of one system."""

    def __init__(self, system: System, model: Model, q: Array, plane: Array | None) -> None:
        self.system, self.model, self.q, self.plane = system, model, q, plane
        self.poses = {name: model.pose(name, q) for name in system.bodies}
        self.points = SharedPoints("point", DUPLICATE_TOL * model.length)
        self.vectors = SharedPoints("vector", DUPLICATE_TOL)
        self.later: list[Callable[[], None]] = []
        self.made: set[str] = set()  # joint coordinates that became coordinates of the mechanism
        self.homes: dict[str, tuple[str, Array, bool]] = {}
        self.m = Mechanism(3 if plane is None else 2, system.name)

    # -- positions

    def flat(self, body: str, local: Array) -> Array:
        """Return a vector (dim,) of a body in the frame of its rows."""
        if self.plane is None:
            return local
        R = np.eye(3) if body == GROUND else self.poses[body].rotation
        return np.asarray(self.plane.T @ R @ local)

    def world(self, body: str, local: Array, *, point: bool) -> Array:
        """Return a point or vector of a body in the world, (dim,)."""
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
        """Return the mechanism; `homes` gives body and local position of its points and vectors."""
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
        """Return the component (2,) of an axis of a marker in the plane."""
        R = np.eye(3) if marker.body.name == GROUND else self.poses[marker.body.name].rotation
        assert self.plane is not None
        return np.asarray(self.plane.T @ R @ marker.rotation @ axis)

    def axis_name(self, marker: Marker, axis: Array, name: str) -> Callable[[], str]:
        node = self.add(self.vectors, marker.body.name, marker.rotation @ axis, f"{name}.axis1")
        return lambda: self.vectors.name(node)

    def axes_of(self, element: Any) -> dict[str, Array]:
        """Return the vectors that the bodies of a joint share, in marker axes."""
        if isinstance(element, (Revolute, Cylindrical, Screw)):
            return {"axis": np.asarray(element.axis)}
        if isinstance(element, Planar):
            return {"axis": np.asarray(element.normal)}
        if isinstance(element, (Prismatic, Fixed)):
            frame = element.frame()
            return {"axis": frame[:, 2], "across": frame[:, 0]} if self.plane is None else self._in_plane(element)
        return {}

    def _in_plane(self, element: Any) -> dict[str, Array]:
        """Return vectors of which one, in the plane, prevents relative rotation."""
        if isinstance(element, Prismatic):
            return {"axis": np.asarray(element.axis)}
        frame = element.frame()
        return {f"axis_{k}": frame[:, k] for k in range(3)}  # connect() leaves out those along the normal

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
                raise ModelError(f"drive {drive.name!r}", "form", "natural", "only drives of joints can be converted")
            raise ModelError(
                f"drive {drive.name!r}",
                "form",
                "natural",
                "drive distances by Mechanism.distance",
            )
        name = self.coordinate(connection, drive.coordinate, f"drive {drive.name}")
        self.later.append(lambda: self.m.drive(name, drive.law))

    def coupled(self, coupling: CoordinateConnection) -> None:
        """Add the linear relation of a coupling between angles and displacements that are coordinates."""
        labels = [self.coordinate(connection, place, coupling.name) for connection, place in coupling.joint_coordinates]
        element: Any = coupling.element

        def relate() -> None:
            factors = dict(zip(labels, (-element.ratio, 1.0), strict=True))
            self.m.relation(coupling.name, factors, element.offset)

        self.later.append(relate)

    def coordinate(self, connection: Connection, place: int, item: str) -> str:
        """Return the name of a joint coordinate, added to the mechanism if it is new."""
        element: Any = connection.element
        kind = element.coordinates[place]
        if isinstance(element, (Revolute, Cylindrical, Screw, Planar)) and kind == "angle":
            self.turning(connection)
            return f"{connection.name}.turn"
        if isinstance(element, (Prismatic, Cylindrical)) and kind == "slide":
            self.sliding(connection)
            return f"{connection.name}.slide"
        raise ModelError(f"{item!r}", "form", "natural", f"{element.kind} cannot be converted: use 'relative'")

    def sliding(self, connection: Connection) -> None:
        """Add the displacement of a joint along its axis as a coordinate."""
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
            # full turns as in the joint coordinate
            value = self.m.coordinates[f"{name}.turn"].value
            value += 2 * np.pi * np.round((self.angle_of(connection) - value) / (2 * np.pi))

        self.later.append(add)

    def angle_of(self, connection: Connection) -> float:
        """Return the angle of a joint, rad."""
        element: Any = connection.element
        place = element.coordinates.index("angle")
        if connection.name in {joint.name for joint in self.model.forest.joints}:
            return float(self.q[self.model.q_slice(connection.name)][place])
        first, second = (self.model.pose(end, self.q) for end in (connection.first, connection.second))
        C, c = first.rotation.T @ second.rotation, first.rotation.T @ (second.position - first.position)
        return float(element.coordinates_of(C, c)[place])

    # -- bodies

    def complete(self) -> None:
        """Add points and vectors until every body has a complete frame."""
        for name, body in self.system.bodies.items():
            members = self.members(name)
            if not members[0]:
                self.add(self.points, name, body.com, f"{name}.centre")
            for label in "xyz":
                columns = body_frame(*self.members(name), self.m.dimension, item=f"body {name!r}").columns
                base = np.hstack([columns / np.linalg.norm(columns, axis=0), np.zeros((self.m.dimension, 3))])
                U, s, _ = np.linalg.svd(base)
                if columns.size and (self.plane is not None or s[2] > MIN_SINGULAR_VALUE):
                    break
                u = U[:, -1]  # direction least covered by the base
                local = u if self.plane is None else self.poses[name].rotation.T @ self.plane @ u
                self.add(self.vectors, name, local, f"{name}.{label}")

    def members(self, body: str) -> tuple[dict[str, Array], dict[str, Array]]:
        found = []
        for shared in (self.points, self.vectors):
            nodes = [k for k, (owner, _) in enumerate(shared.places) if owner == body]
            found.append({shared.name(k): shared.places[k][1] for k in nodes})
        return found[0], found[1]

    def declare(self) -> None:
        """Add coordinates, bodies and masses to the mechanism."""
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


def plane_of(system: System, model: Model, q: Array, dimension: int | None) -> Array | None:
    """Return the axes (3, 2) of the plane of a planar system, or None in space.

    Parameters
    ----------
    q : (nq,)
        A closed configuration.
    dimension : int
        2 or 3; if left out, 2 if all joints move in one plane.
    """
    normal = _normal(system, model, q)
    if dimension not in (None, 2, 3):
        raise ModelError("compile", "dimension", dimension, "use 2 or 3")
    if dimension == 2 and normal is None:
        raise ModelError("compile", "dimension", dimension, "the joints do not move in one plane: use 3")
    if normal is None or dimension == 3:
        return None
    x = np.eye(3)[int(np.abs(normal).argmin())]
    if abs(normal[2]) > 0.9999999:
        x = np.array([1.0, 0.0, 0.0])
    x = x - (x @ normal) * normal
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x)])


def _normal(system: System, model: Model, q: Array) -> Array | None:
    """Return the normal of the plane in which all joints move, or None."""
    n: Array | None = None
    slides = []
    for connection in system.connections.values():
        element = connection.element
        R = model.pose(connection.first, q).rotation
        if isinstance(element, (Revolute, Planar)):
            axis = R @ np.asarray(element.axis if isinstance(element, Revolute) else element.normal)
            if n is not None and float(np.linalg.norm(np.cross(n, axis))) > PARALLEL_TOL:
                return None
            n = axis if n is None else n
        elif isinstance(element, Prismatic):
            slides.append(R @ np.asarray(element.axis))
        elif not isinstance(element, Fixed):
            return None
    if n is None or any(abs(float(n @ s)) > PARALLEL_TOL for s in slides):
        return None
    return n
