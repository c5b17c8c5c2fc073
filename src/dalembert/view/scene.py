"""What a picture shows of a system: bodies, joints, springs and points, in body axes and without a view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..bodies.rigid import Body
from ..connections.constraints import Constraint
from ..connections.hinges import Hinge
from ..errors import ModelError
from ..model import Model
from ..system import System
from . import solids
from .projection import Placement
from .style import PALETTE

__all__ = ["BodyFigure", "End", "JointFigure", "Scene", "SpringFigure", "find_marker"]

Array = NDArray[np.float64]

_AT = re.compile(r"^(?P<body>.+)\.at\((?P<numbers>[^()]*)\)$")


@dataclass(frozen=True, eq=False)
class End:
    """A marker by the number of its body."""

    number: int
    marker: Marker

    def point(self, placement: Placement) -> Array:
        """Return where it is in the world, (3,) m."""
        return placement.points(self.number, self.marker.position)

    def direction(self, placement: Placement, local: Array) -> Array:
        """Return a direction given in marker axes in the world."""
        return placement.direction(self.number, self.marker.rotation @ local)


@dataclass(eq=False)
class BodyFigure:
    """A body as drawn, in its own axes.

    Attributes
    ----------
    solids : list of Solid
    bars, ties : list of ((3,), (3,))
        Links drawn thick, and thin lines that tie points off the shape to it.
    panel : (k, 3) or None
        Joint points of a body without a shape that has three or more of them.
    com : (3,) or None
        Centre of mass, where the picture marks it.
    """

    name: str
    number: int
    color: str
    solids: list[solids.Solid] = field(default_factory=list)
    bars: list[tuple[Array, Array]] = field(default_factory=list)
    ties: list[tuple[Array, Array]] = field(default_factory=list)
    panel: Array | None = None
    com: Array | None = None

    def points(self) -> Array:
        """Return all points (k, 3) that tell how far it reaches."""
        parts = [solid.corners for solid in self.solids]
        parts += [np.array(pair) for pair in (*self.bars, *self.ties)]
        if self.panel is not None:
            parts.append(self.panel)
        if self.com is not None:
            parts.append(self.com[None])
        return np.concatenate(parts) if parts else np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class JointFigure:
    """A connection as drawn: `kind` names its element; `mover` is the end that shows where it is."""

    name: str
    kind: str
    element: Hinge | Constraint
    first: End
    second: End

    @property
    def grounded(self) -> bool:
        """True if one end is on ground."""
        return 0 in (self.first.number, self.second.number)

    @property
    def mover(self) -> End:
        """The second end, unless that is ground."""
        return self.second if self.second.number else self.first

    def axis(self, placement: Placement) -> Array | None:
        """Return the direction of its axis in the world, (3,), or None."""
        for name in ("axis", "normal", "axis_1"):
            local = getattr(self.element, name, None)
            if local is not None:
                return self.first.direction(placement, np.asarray(local))
        return None


@dataclass(frozen=True, eq=False)
class SpringFigure:
    """A spring, a damper or both between two points."""

    name: str
    first: End
    second: End
    spring: bool
    damper: bool


class Scene:
    """All figures of a model.

    Attributes
    ----------
    bodies, joints, springs : lists of figures

    Parameters
    ----------
    around : int
        Corners of a circle.
    inertia : bool
        Show bodies without a shape as boxes of their mass and inertia.
    points : markers
        Further points that belong to their bodies in the picture.
    """

    def __init__(self, model: Model, *, around: int = 20, inertia: bool = False, points: Sequence[Marker] = ()) -> None:
        self.model = model
        self._points = points
        self._inertia = inertia
        system = model.system
        number = model.forest.number
        self.joints = [
            JointFigure(c.name, c.element.kind, c.element, *(End(number[m.body.name], m) for m in (c.first, c.second)))
            for c in system.connections.values()
            if c.element.kind != "Free"
        ]
        self.springs = [*self._springs(system, number)]
        self.bodies = [
            self._body(system.bodies[name], k, around) for k, name in enumerate(model.forest.bodies[1:], start=1)
        ]

    def reach(self, placements: list[Placement]) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates (3,) m of everything drawn in any of the placements."""
        clouds = []
        for placement in placements:
            clouds += [placement.points(b.number, b.points()) for b in self.bodies]
            clouds += [np.array([j.first.point(placement), j.second.point(placement)]) for j in self._extended()]
            clouds += [np.array([s.first.point(placement), s.second.point(placement)]) for s in self.springs]
            clouds += [j.mover.point(placement)[None] for j in self.joints]
        everything = np.concatenate(clouds) if clouds else np.zeros((1, 3))
        return everything.min(axis=0), everything.max(axis=0)

    def spacing(self) -> float:
        """Return a typical distance, m, of joints that share a body: what symbols must stay smaller than."""
        lengths = [
            float(np.linalg.norm(pair[1] - pair[0])) for body in self.bodies for pair in (*body.bars, *body.ties)
        ]
        for body in self.bodies:
            if body.solids or body.panel is not None:
                points = self._joint_points(body.number)
                lengths += [float(np.linalg.norm(p - points[0])) for p in points[1:]]
                lengths.append(float(np.ptp(body.points(), axis=0).max()))
        lengths = [length for length in lengths if length > 0]
        return float(np.quantile(lengths, 0.25)) if lengths else 0.0

    def _extended(self) -> list[JointFigure]:
        return [j for j in self.joints if j.kind == "Distance"]

    def _springs(self, system: System, number: dict[str, int]) -> list[SpringFigure]:
        found = []
        for connection in system.forces.values():
            stiffness = getattr(connection.element, "stiffness", None)
            if stiffness is None or connection.first is None or connection.second is None:
                continue
            first, second = (End(number[m.body.name], m) for m in (connection.first, connection.second))
            damper = _present(getattr(connection.element, "damping", None))
            found.append(SpringFigure(connection.name, first, second, _present(stiffness) or not damper, damper))
        return found

    def _joint_points(self, number: int) -> list[Array]:
        """Return the distinct points (3,) of a body at which something is attached, in body axes."""
        ends = [end for joint in self.joints for end in (joint.first, joint.second)]
        ends += [end for spring in self.springs for end in (spring.first, spring.second)]
        ends += [End(self.model.forest.number[marker.body.name], marker) for marker in self._points]
        points: list[Array] = []
        for end in ends:
            position = end.marker.position
            if end.number == number and not any(np.allclose(position, p, rtol=0, atol=1e-9) for p in points):
                points.append(position)
        return points

    def _body(self, body: Body, number: int, around: int) -> BodyFigure:
        figure = BodyFigure(body.name, number, PALETTE[(number - 1) % len(PALETTE)])
        points = self._joint_points(number)
        figure.solids.extend(solids.of_body(body, around=around))
        if self._inertia and body.shape is None and not figure.solids:
            box = solids.equivalent_box(body)
            figure.solids.extend([] if box is None else [box])
        if figure.solids:
            figure.ties.extend((body.com, p) for p in points if not _near_box(p, figure.solids))
            return figure
        if body.shape is not None:  # a slender rod
            tip = np.eye(3)[int(body.shape.size["axis"])] * body.shape.size["length"]
            figure.bars.append((np.zeros(3), tip))
            for p in points:
                foot = _foot(p, np.zeros(3), tip)
                if np.linalg.norm(p - foot) > 1e-6 * np.linalg.norm(tip):
                    figure.ties.append((foot, p))
            return figure
        slides = any(
            j.kind in ("Prismatic", "Cylindrical") and number in (j.first.number, j.second.number) for j in self.joints
        )
        return _from_points(figure, body, points, slides)


def _from_points(figure: BodyFigure, body: Body, points: list[Array], slides: bool) -> BodyFigure:
    """Draw a body without a shape between its joint points and its centre of mass."""
    com = body.com
    scale = max((float(np.linalg.norm(p - com)) for p in points), default=0.0)
    line = _on_one_line(points)
    if scale == 0:
        box = None if slides else solids.equivalent_box(body)
        if box is not None:
            figure.solids.append(box)
        return figure
    if len(points) == 1:
        figure.bars.append((points[0], com))
    elif line is not None:
        figure.bars.append(line)
        foot = _foot(com, *line)
        if np.linalg.norm(com - foot) > 1e-6 * scale:
            figure.ties.append((foot, com))
    else:
        figure.panel = np.array(points)
    if body.mass > 0:
        figure.com = com
    return figure


def _foot(point: Array, start: Array, end: Array) -> Array:
    """Return the point of a segment that is nearest to `point`."""
    along = end - start
    result: Array = start + along * np.clip((point - start) @ along / (along @ along), 0.0, 1.0)
    return result


def _on_one_line(points: list[Array]) -> tuple[Array, Array] | None:
    """Return the two outermost of two or more points in a row, or None."""
    if len(points) < 2:
        return None
    cloud = np.array(points)
    far = cloud[np.linalg.norm(cloud - cloud[0], axis=1).argmax()]
    other = cloud[np.linalg.norm(cloud - far, axis=1).argmax()]
    along = (far - other) / np.linalg.norm(far - other)
    off = (cloud - other) - np.outer((cloud - other) @ along, along)
    return (other, far) if np.linalg.norm(off, axis=1).max() < 1e-6 * np.linalg.norm(far - other) else None


def _near_box(point: Array, pieces: list[solids.Solid]) -> bool:
    """Return whether a point lies in the box around one of the solids, or next to it."""
    for solid in pieces:
        low, high = solid.corners.min(axis=0), solid.corners.max(axis=0)
        slack = 0.02 * float((high - low).max())
        if ((point > low - slack) & (point < high + slack)).all():
            return True
    return False


def _present(value: Any) -> bool:
    """Return whether a coefficient is there: a law or a number other than zero."""
    return value is not None and not (np.isscalar(value) and value == 0)


def find_marker(system: System, spec: Any, *, item: str, field: str) -> Marker:
    """Return the marker meant by a marker, a body, a name, or ``"coupler.at(0.2, 0, 0)"``.

    Raises
    ------
    ModelError
        If the system has no such point.
    """
    if isinstance(spec, str):
        match = _AT.match(spec.strip())
        if match is None:
            spec = system[spec.strip()]
        else:
            try:
                numbers = [float(x) for x in match["numbers"].split(",") if x.strip()]
            except ValueError:
                numbers = [0.0] * 4
            if len(numbers) > 3:
                raise ModelError(item, field, spec, "write a point as 'body.at(x, y, z)', in m")
            spec = system[match["body"]].at(*numbers)
    marker = spec.origin if isinstance(spec, Body) else spec
    if not isinstance(marker, Marker):
        raise ModelError(item, field, spec, "give a body, a marker, or the name of one, such as 'rod.at(0.2, 0, 0)'")
    body = marker.body
    if body is not system.ground and system.bodies.get(body.name) is not body:
        raise ModelError(item, field, marker.name, f"it belongs to another system than {system.name!r}")
    return marker
