"""Velocity and acceleration polygons of a mechanism at one position.

Arrows from the pole o are absolute, relative to the frame; an arrow from b to c is that of c relative to b,

    v_cb = w x r_cb          a_cb = e x r_cb  +  w x (w x r_cb)                                                     (1)
                                    tangential     normal

if both belong to a body with angular velocity w and acceleration e. The points of a body form an image that is similar
to it: turned by 90°, |w| times as large; for accelerations sqrt(e^2 + w^4) times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...answer import list_text
from ...arrays import Array
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import checked
from ...connections.joints import Joint
from ...errors import ModelError
from ...result import Result
from ...system.lookup import body_called
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion, find_frame, row_of

if TYPE_CHECKING:
    import xarray

__all__ = ["Edge", "Polygon", "acceleration_polygon", "velocity_polygon"]


@dataclass(frozen=True, eq=False)
class Edge:
    """Arrow of a polygon: one point relative to another of the same body.

    Attributes
    ----------
    body : str
        Or the joint at which two points slide on each other.
    tail, tip : str
        Names of the points.
    vector : (3,) m/s or m/s2
        Of the tip relative to the tail.
    normal, tangential : (3,) m/s2
        Its two parts by (1); the normal one of a velocity is zero. For points that slide on each other they are the
        Coriolis acceleration, twice w of the tail's body x the sliding velocity, and the relative one.
    """

    body: str
    tail: str
    tip: str
    vector: Array
    normal: Array
    tangential: Array


@dataclass(frozen=True, eq=False, repr=False)
class Polygon(KinematicResult):
    """Velocity or acceleration polygon, in the axes of `relative_to`.

    Attributes
    ----------
    result : Result
    row : int
    kind : str
        ``"velocity"`` or ``"acceleration"``.
    unit : str
    relative_to : str
    vectors : dict of str to (3,) m/s or m/s2
        Vectors of points relative to the frame; their arrows start at the pole.
    points : dict of str to (3,) m
        Positions of the points.
    edges : list of Edge
    """

    result: Result
    row: int
    kind: str
    unit: str
    relative_to: str
    vectors: dict[str, Array]
    points: dict[str, Array]
    edges: list[Edge] = field(repr=False)
    base: Marker = field(repr=False)

    def relative(self, tip: str, tail: str) -> Array:
        """Return the vector of a point relative to another, (3,) m/s or m/s2."""
        for name in (tip, tail):
            if name not in self.vectors:
                raise ModelError("polygon", "point", name, f"choose among {', '.join(map(repr, self.vectors))}")
        return self.vectors[tip] - self.vectors[tail]

    def place(self, form: str = ".6g") -> str:
        """Return the text for the position on the motion."""
        return self.result.axis.at(float(self.result.t[self.row]), form)

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over the points: their vectors and positions, with units."""
        import xarray

        positions = np.array([self.points[name] for name in self.vectors])
        dims = ("point", "axis")
        data = {
            self.kind: (dims, np.array(list(self.vectors.values())), {"units": self.unit}),
            "position": (dims, positions, {"units": "m"}),
        }
        coords = {"point": list(self.vectors), "axis": ["x", "y", "z"]}
        return xarray.Dataset(data, coords, {"title": self._subject(), "message": self.message})

    def _headline(self) -> str:
        largest = [f"{name} {np.linalg.norm(vector):.4g} {self.unit}" for name, vector in self.vectors.items()]
        return f"{self.kind} at {self.place()}: {list_text(largest)}"

    def __str__(self) -> str:
        lines = [f"{self.kind} polygon at {self.place()}, {self.unit}"]
        width = max((len(name) for name in self.vectors), default=1)
        for name, vector in self.vectors.items():
            lines.append(f"{name:{width}} {_numbers(vector)}  |{np.linalg.norm(vector):.6g}|")
        for edge in self.edges:
            lines.append(f"{edge.tip} to {edge.tail} ({edge.body}) {_numbers(edge.vector)}")
        return "\n".join(lines)


@checked("points", "t")
def velocity_polygon(
    result: Result,
    points: Iterable[object] | None = None,
    *,
    row: int | None = None,
    t: float | None = None,
    relative_to: object = "ground",
) -> Polygon:
    """Return the velocity polygon at one configuration: absolute and relative velocities of points.

    Parameters
    ----------
    result : Result
    points : markers or names
        Default: all joints of the mechanism, by name. A joint between points that move relative to each other, such as
        a slide, has two, one of each body, both at the position of the second marker: ``"D (slider)"`` and ``"D
        (ground)"``.
    row, t : int, or float in s
        Position: a row of the result, or the one nearest to a time; default the last.
    relative_to : Body, Marker or str
        The frame.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> s = four_bar()
    >>> _ = s.drive("A", speed=1.0)
    >>> polygon = velocity_polygon(da.simulate(s, 0.5), row=0)
    >>> polygon.vectors["B"].round(4), polygon.relative("C", "B").round(4)
    (array([-0.8415,  0.5403,  0.    ]), array([ 0.1522, -0.3229,  0.    ]))
    """
    return _polygon("velocity", result, points, row, t, relative_to)


@checked("points", "t")
def acceleration_polygon(
    result: Result,
    points: Iterable[object] | None = None,
    *,
    row: int | None = None,
    t: float | None = None,
    relative_to: object = "ground",
) -> Polygon:
    """Return the acceleration polygon at one position; arguments as for `velocity_polygon`.

    Arrows between points of a body have a normal and a tangential part, also those from points at rest.
    """
    return _polygon("acceleration", result, points, row, t, relative_to)


def _polygon(
    kind: str, result: Result, points: Iterable[object] | None, row: int | None, t: float | None, relative_to: object
) -> Polygon:
    item = f"{kind}_polygon"
    base = find_frame(result, relative_to, item, "relative_to")
    k = row_of(result, row, t, item)
    moment = _Moment(result, k, base, kind == "acceleration")
    named = _joints(result) if points is None else _given(result, points, item)
    found = {name: [moment.of(marker, markers[-1]) for marker in markers] for name, markers in named}
    size = max((float(np.linalg.norm(v)) for values in found.values() for v, _ in values), default=0.0)
    vectors: dict[str, Array] = {}
    positions: dict[str, Array] = {}
    owners: dict[str, list[str]] = {}
    slips = []
    for name, markers in named:
        values = found[name]
        together = np.linalg.norm(values[0][0] - values[-1][0]) <= 1e-7 * size
        labels = [name if together else f"{name} ({marker.body.name})" for marker in markers]
        for label, marker, (value, position) in zip(labels, markers, values, strict=True):
            vectors[label], positions[label] = value, position
            owners.setdefault(marker.body.name, []).append(label)
        if not together:
            slips.append(moment.slip(name, markers, labels, vectors))
    edges = []
    for body, labels in owners.items():
        if body != base.body.name:
            edges += _image(body, labels, vectors, positions, moment, size)
    unit = "m/s2" if moment.accelerations else "m/s"
    return Polygon(result, k, kind, unit, base.name, vectors, positions, edges + slips, base)


class _Moment:
    """Velocities or accelerations of points at one row, relative to a frame."""

    def __init__(self, result: Result, row: int, base: Marker, accelerations: bool) -> None:
        times = slice(row, row + 1)
        states = (part[times] for part in (result.t, result.q, result.v, result.x))
        known = {"a": result["a"][times]} if accelerations else {}
        self._one = Result(
            result.require_model(), *states, stored=known, conditions=result.conditions, axis=result.axis
        )
        self._base, self.accelerations = base, accelerations
        self._motions: dict[str, RelativeFrameMotion] = {}

    def motion(self, body: Body | str) -> RelativeFrameMotion:
        """Return the motion of a body."""
        body = body_called(self._one.require_model().system, body) if isinstance(body, str) else body
        if body.name not in self._motions:
            self._motions[body.name] = RelativeFrameMotion.of(
                self._one, body.origin, self._base, rates=1 + self.accelerations
            )
        return self._motions[body.name]

    def of(self, marker: Marker, where: Marker) -> tuple[Array, Array]:
        """Return the vector of the body point of a marker that coincides with another marker, and its position."""
        if marker.shape is not None:
            own = RelativeFrameMotion.of(self._one, marker, self._base, rates=1 + self.accelerations)
            return (own.acceleration if self.accelerations else own.velocity)[0], own.position[0]
        there = self.motion(where.body)
        position = there.position[0] + there.rotation[0] @ where.position
        return self._rigid(self.motion(marker.body), position, self.accelerations), position

    def slip(self, name: str, markers: list[Marker], labels: list[str], vectors: dict[str, Array]) -> Edge:
        """Return the arrow between two coincident points of a joint that slide on each other."""
        tail, tip = labels
        vector = vectors[tip] - vectors[tail]
        turned = np.zeros(3)
        if self.accelerations:
            first, second = (self.motion(marker.body) for marker in markers)
            position = self.of(markers[1], markers[1])[1]
            sliding = self._rigid(second, position, False) - self._rigid(first, position, False)
            turned = 2 * np.cross(first.angular_velocity[0], sliding)
        return Edge(name, tail, tip, vector, turned, vector - turned)

    @staticmethod
    def _rigid(seen: RelativeFrameMotion, position: Array, accelerations: bool) -> Array:
        """Return the velocity or acceleration of the body at a position, (3,)."""
        return np.asarray((seen.acceleration_at if accelerations else seen.velocity_at)(position)[0])


def _joints(result: Result) -> list[tuple[str, list[Marker]]]:
    """Return all joints with their two ends."""
    connections = result.require_model().system.connections.values()
    return [(c.name, [c.first, c.second]) for c in connections if isinstance(c.element, Joint)]


def _given(result: Result, points: Iterable[object], item: str) -> list[tuple[str, list[Marker]]]:
    """Return the points named by the user: joints with both ends, markers by their own names."""
    if isinstance(points, (str, Marker)):
        points = [points]
    joints = dict(_joints(result))
    found = []
    for point in points:
        if isinstance(point, str) and point in joints:
            found.append((point, joints[point]))
            continue
        marker = find_frame(result, point, item, "points")
        found.append((marker.label or marker.name, [marker]))
    return found


def _image(
    body: str,
    labels: list[str],
    vectors: dict[str, Array],
    places: dict[str, Array],
    moment: _Moment,
    size: float,
) -> list[Edge]:
    """Return the arrows between the points of a body: from one to the next, and back if there are more than two."""
    distinct: list[str] = []
    for label in dict.fromkeys(labels):
        if all(np.linalg.norm(places[label] - places[other]) > 1e-9 for other in distinct):
            distinct.append(label)
    distinct.sort(key=lambda label: bool(np.linalg.norm(vectors[label]) > 1e-9 * size))  # points at rest first
    pairs = list(pairwise(distinct))
    if len(distinct) > 2:
        pairs.append((distinct[-1], distinct[0]))
    edges = []
    seen = moment.motion(body)
    w, e = seen.angular_velocity[0], seen.angular_acceleration[0]
    for tail, tip in pairs:
        r = places[tip] - places[tail]
        vector = vectors[tip] - vectors[tail]
        normal = np.cross(w, np.cross(w, r)) if moment.accelerations else np.zeros(3)
        tangential = np.cross(e, r) if moment.accelerations else vector
        edges.append(Edge(body, tail, tip, vector, normal, tangential))
    return edges


def _numbers(vector: Array) -> str:
    return "(" + ", ".join(f"{0.0 if abs(x) < 1e-14 else x:.6g}" for x in vector) + ")"
