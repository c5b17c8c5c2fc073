"""Deviations by name: positions and axes of joints in their bodies, distances between them.

| name | deviation | unit |
|---|---|---|
| ``"coupler.length"`` | distance of the two joints of a body that has two | m |
| ``"ground.A-D"`` | distance of two joints on a body: the second moves along their line, away from the first | m |
| ``"C.rocker.x"`` | position of joint C on the rocker, along x of the rocker; y, z alike | m |
| ``"C.rocker.rx"`` | axes of joint C on the rocker, turned about x of the rocker; ry, rz alike | rad |
| ``"bar.length"`` | length of a `Distance` between two markers | m |
| ``"coupler.P.x"`` | position of a named marker, with everything attached to it; y, z, rx, ry, rz alike | m, rad |

Everything connected at the same point of a body moves with a joint. Distances of joints with parallel axes are those of
the axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..connections.connection import Connection
from ..connections.constraints.geometric import Distance
from ..connections.joints import Cylindrical, Revolute, Screw
from ..errors import ModelError
from ..rotation import axis_angle
from ..system import System
from ..system.lookup import body_called

__all__ = ["Deviation", "deviated", "find_deviation"]


_PARTS = ("rx", "ry", "rz", "x", "y", "z")


@dataclass(frozen=True, eq=False)
class Deviation:
    """Geometric parameter of the description with a deviation.

    Attributes
    ----------
    name, unit : str
    body : Body
    ends : frozenset of (str, int)
        Connections, and which of their ends (0, 1) it moves.
    labels : frozenset of str
        Named markers of the body that it moves.
    place : (3,) m
        Their position, in body axes.
    twist : (6,)
        [rotation; translation] of them per unit, in body axes, about their position.
    bar : str
        Connection whose length deviates. A longer bar acts as if its second end were moved towards the first. Empty for
        other deviations.
    """

    name: str
    unit: str
    body: Body
    ends: frozenset[tuple[str, int]]
    labels: frozenset[str]
    place: Array
    twist: Array
    bar: str = ""

    def moves(self, marker: Marker) -> bool:
        """Return True for a marker that the deviation moves."""
        return marker.body is self.body and marker.label is not None and marker.label in self.labels


def find_deviation(system: System, name: str, item: str) -> Deviation:
    """Return the deviation of a name, or raise a `ModelError` that lists the known ones."""
    if not isinstance(name, str):
        raise ModelError(item, "deviation", name, "give a name such as 'coupler.length' or 'C.rocker.x'")
    owner, _, last = name.rpartition(".")
    bodies = {system.ground.name: system.ground, **system.bodies}
    if owner in bodies and (last == "length" or "-" in last):
        return _distance(system, bodies[owner], last, name, item)
    if last == "length" and owner in system.connections and isinstance(system.connections[owner].element, Distance):
        return _bar(system, system.connections[owner], name, item)
    first, _, middle = owner.rpartition(".")
    if last in _PARTS:
        connection = system.connections.get(first)
        if connection is not None and middle in bodies:
            ends = [k for k, m in enumerate((connection.first, connection.second)) if m.body.name == middle]
            if ends:
                marker = (connection.first, connection.second)[ends[0]]
                return _of_place(system, marker, last, name)
        if first in bodies and middle in bodies[first].markers:
            return _of_place(system, bodies[first].markers[middle], last, name)
    joints = ", ".join(f"'{c.name}.{c.second.body.name}.x'" for c in list(system.connections.values())[:3])
    remedy = f"choose a distance such as 'coupler.length' or 'ground.A-D', or a position such as {joints}"
    raise ModelError(item, "deviation", name, remedy)


def _together(system: System, marker: Marker) -> tuple[frozenset[tuple[str, int]], frozenset[str]]:
    """Return the ends of connections at the point of a marker, and the named markers among them."""
    ends, labels = set(), {marker.label} if marker.label else set()
    for c in system.connections.values():
        for k, end in enumerate((c.first, c.second)):
            if end.body is marker.body and np.abs(end.position - marker.position).max() <= 1e-12 * (
                1.0 + float(np.abs(marker.position).max())
            ):
                ends.add((c.name, k))
                labels |= {end.label} if end.label else set()
    return frozenset(ends), frozenset(label for label in labels if label)


def _of_place(system: System, marker: Marker, part: str, name: str) -> Deviation:
    ends, labels = _together(system, marker)
    twist = np.eye(6)[_PARTS.index(part)]
    unit = "rad" if part.startswith("r") else "m"
    return Deviation(name, unit, marker.body, ends, labels, marker.position, twist)


def _distance(system: System, body: Body, which: str, name: str, item: str) -> Deviation:
    joints = _joints(system, body)
    if which == "length":
        points: dict[str, Marker] = {}
        for joint, marker in joints.items():
            if all(np.linalg.norm(marker.position - other.position) > 1e-12 for other in points.values()):
                points[joint] = marker
        if len(points) != 2:
            pair = "-".join(list(joints)[:2])
            remedy = f"it has joints at {len(points)} points: name two of them, such as '{body.name}.{pair}'"
            raise ModelError(item, "deviation", name, remedy)
        one, two = points
    else:
        pairs = [(which[:k], which[k + 1 :]) for k, letter in enumerate(which) if letter == "-"]
        found = next(((a, b) for a, b in pairs if a in joints and b in joints and a != b), None)
        if found is None:
            raise ModelError(item, "deviation", name, f"{body.name!r} has the joints {', '.join(map(repr, joints))}")
        one, two = found
    near, far = joints[one], joints[two]
    line = far.position - near.position
    axis = _common_axis(system, {one: near, two: far})
    line = line if axis is None else line - axis * (axis @ line)
    length = float(np.linalg.norm(line))
    if length <= 1e-12:
        raise ModelError(item, "deviation", name, "the two joints coincide: use 'joint.body.x' and the like")
    ends, labels = _together(system, far)
    return Deviation(name, "m", body, ends, labels, far.position, np.concatenate([np.zeros(3), line / length]))


def _common_axis(system: System, joints: dict[str, Marker]) -> Array | None:
    """Return the common direction (3,), in body axes, of parallel joint axes.

    None if they are not parallel.
    """
    axes = []
    for name, marker in joints.items():
        element = system.connections[name].element
        if isinstance(element, (Revolute, Cylindrical, Screw)):
            axes.append(marker.rotation @ element.frame()[:, 2])
    if not axes or any(np.linalg.norm(np.cross(axis, axes[0])) > 1e-9 for axis in axes):
        return None
    return np.asarray(axes[0], dtype=float)


def _bar(system: System, connection: Connection, name: str, item: str) -> Deviation:
    if any(drive.connection is connection for drive in system.drives.values()):
        raise ModelError(item, "deviation", name, "its length is driven: change the drive instead")
    end = connection.second
    ends = frozenset({(connection.name, 1)})
    return Deviation(name, "m", end.body, ends, frozenset(), end.position, np.zeros(6), connection.name)


def _joints(system: System, body: Body) -> dict[str, Marker]:
    """Return the markers at which connections end on a body, by their names."""
    found: dict[str, Marker] = {}
    for c in system.connections.values():
        for end in (c.first, c.second):
            if end.body is body:
                found.setdefault(c.name, end)
    return found


def deviated(system: System, deviations: list[Deviation], amounts: Array) -> System:
    """Return a copy of a system with deviations of given amounts (k,)."""
    new = system.copy()

    def moved(marker: Marker, deviation: Deviation, amount: float) -> Marker:
        turn, shift = amount * deviation.twist[:3], amount * deviation.twist[3:]
        angle = float(np.linalg.norm(turn))
        R = axis_angle(turn / angle, angle) if angle else np.eye(3)
        return replace(marker, position=marker.position + shift, rotation=R @ marker.rotation)

    for deviation, amount in zip(deviations, amounts.tolist(), strict=True):
        if deviation.bar:
            c = new.connections[deviation.bar]
            assert isinstance(c.element, Distance)
            longer = replace(c.element, length=c.element.length + amount)
            new.connections[c.name] = Connection(c.name, longer, c.first, c.second)
            continue
        body = body_called(new, deviation.body.name)
        for label in deviation.labels:
            body.markers[label] = moved(body.markers[label], deviation, amount)
        for name, k in deviation.ends:
            c = new.connections[name]
            ends = [c.first, c.second]
            ends[k] = moved(ends[k], deviation, amount)
            new.connections[name] = Connection(name, c.element, *ends)
    return new
