"""Scene of a system: bodies, joints, springs and points in body axes, without a view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.colors import color_text
from ...bodies.flexible_body import FlexibleBody
from ...bodies.markers import Marker
from ...connections.constraints.chain_reach import is_chain_limit
from ...connections.constraints.geometric import Constraint
from ...connections.joints import Joint
from ...errors import ModelError, OmissionWarning, warn_user
from ...model import Model
from ...system import System
from ..style import PALETTE, legible
from . import solids
from .attachments import Attachment
from .body_extents import axis_of, thickness
from .constraint_figures import add_constraint, add_limits
from .contact_figures import add_contact_shapes
from .coupling_figures import add_coupling, tie
from .element_figures import add_force
from .figure_builder import FigureBuilder
from .figures import ARROW_LENGTH, CurveFigure
from .flexible_meshes import NodeMesh, mesh_of
from .projection import Placement, node_frames
from .solids import Solid

__all__ = ["BodyFigure", "JointFigure", "Scene", "connection_figures", "find_marker"]


# connections with their own symbols
LOOKS = frozenset(
    {"Revolute", "Screw", "Cylindrical", "Spherical", "Universal", "Planar", "Prismatic", "Fixed", "Free"}
    | {"Distance", "PointOnLine", "PointOnPlane", "PointOnPoint", "PfaffianConstraint", "KinematicChain", "Rope"}
)

_BODY_PATCHES = ("cam", "wheel", "disc", "sphere", "roller")  # patches that represent a body

MIN_MASS_SHARE = 1e-4  # of the heaviest body: lighter ones are sensors and frames of robots

_AT = re.compile(r"^(?P<body>.+)\.at\((?P<numbers>[^()]*)\)$")


@dataclass(eq=False)
class BodyFigure:
    """Figure of a body in its own axes.

    Attributes
    ----------
    color : str
        ``"#rrggbb"``: its own, that of the first of its solids that has one, or one of the palette.
    opacity : float
        Of all of it but solids that have their own.
    solids : list of Solid
    bars, ties : list of ((3,), (3,))
        Links drawn thick, and thin lines that tie points off the shape to it.
    panel : (k, 3) or None
        Joint points and named markers of a body without a shape that has three or more of them.
    com : (3,) or None
        Centre of mass, where the picture marks it.
    mesh : NodeMesh or None
        Of a flexible body; its nodes have frames of their own, the first with the number `first`.
    nodes : (n, 3) m
        Undeformed, of a flexible body.
    arms : list of (int, (3,))
        Rigid arms from nodes to points off the body: the node's frame, and the point in it.
    """

    name: str
    number: int
    color: str
    opacity: float = 1.0
    solids: list[Solid] = field(default_factory=list)
    bars: list[tuple[Array, Array]] = field(default_factory=list)
    ties: list[tuple[Array, Array]] = field(default_factory=list)
    panel: Array | None = None
    com: Array | None = None
    mesh: NodeMesh | None = None
    first: int = 0
    nodes: Array = field(default_factory=lambda: np.zeros((0, 3)))
    arms: list[tuple[int, Array]] = field(default_factory=list)

    @property
    def ink(self) -> str:
        """Colour for lines and text, dark enough to be legible."""
        return legible(self.color)

    def looks_of(self, solid: Solid) -> tuple[str, float]:
        """Return colour and opacity of one of its solids."""
        if solid.color is None:
            return self.color, self.opacity
        return color_text(solid.color), solid.color[3]

    def deformed(self, placement: Placement) -> Array:
        """Return the positions (n, 3) m of the nodes of a flexible body in the world."""
        return placement.position[self.first : self.first + len(self.nodes)]

    def undeformed(self, placement: Placement) -> list[Array]:
        """Return lines (k, 3) m of the undeformed flexible body in the world, if its deformation is exaggerated."""
        nodes = placement.reference.get(self.number)
        if nodes is None or self.mesh is None:
            return []
        return [nodes[line] for line in self.mesh.outline]

    def points(self) -> Array:
        """Return the points (k, 3) m that determine its extent."""
        parts = [solid.corners for solid in self.solids]
        parts += [np.array(pair) for pair in (*self.bars, *self.ties)]
        if self.panel is not None:
            parts.append(self.panel)
        if self.com is not None:
            parts.append(self.com[None])
        if len(self.nodes):
            parts.append(self.nodes)
        return np.concatenate(parts) if parts else np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class JointFigure:
    """Figure of a connection: `kind` names its element; `mover` is the attachment that determines its position."""

    name: str
    kind: str
    element: Joint | Constraint
    first: Attachment
    second: Attachment

    @cached_property
    def thickness(self) -> float:
        """Extent of its bodies along its axis, m."""
        axis = getattr(self.element, "axis", None)
        return 0.0 if axis is None else thickness(self.first.marker, self.second.marker, axis)

    @property
    def grounded(self) -> bool:
        """True if one end is on ground."""
        return 0 in (self.first.number, self.second.number)

    @property
    def mover(self) -> Attachment:
        """The second end, unless that is ground."""
        return self.second if self.second.number else self.first

    def axis(self, placement: Placement) -> Array | None:
        """Return the direction of its axis in the world, (3,), or None."""
        for name in ("axis", "normal", "axis_1"):
            local = getattr(self.element, name, None)
            if local is not None:
                return self.first.direction(placement, np.asarray(local))
        return None


class Scene:
    """All figures of a model.

    Attributes
    ----------
    bodies, joints, lines, patches, curves, arrows : lists of figures

    Parameters
    ----------
    around : int
        Corners of a circle.
    inertia : bool
        Show bodies without a shape as boxes of their mass and inertia.
    points : markers
        Further points that belong to their bodies in the picture.
    triangles : int
        How many a mesh has at most: one of a CAD program has more than can be seen.
    """

    def __init__(
        self,
        model: Model,
        *,
        around: int = 20,
        inertia: bool = False,
        points: Sequence[Marker] = (),
        triangles: int = solids.MAX_TRIANGLES,
    ) -> None:
        self.model = model
        self._points = points
        self._inertia = inertia
        system = model.system
        self.joints = [
            JointFigure(c.name, _look(c.element), c.element, *(Attachment.of(model, m) for m in (c.first, c.second)))
            for c in system.connections.values()
            if c.element.kind != "Free" and not is_chain_limit(c, system.connections)
        ]
        figures = connection_figures(model)
        self.lines, self.patches, self.curves, self.arrows = (
            figures.lines, figures.patches, figures.curves, figures.arrows,
        )  # fmt: skip
        self._fineness = {"around": around, "triangles": triangles}
        self._lacks: list[str] = []
        self.bodies = [self._body(system.bodies[name], k) for k, name in enumerate(model.forest.bodies[1:], start=1)]
        if self._lacks:
            listed = "\n  ".join(dict.fromkeys(self._lacks))
            warn_user(OmissionWarning(f"not drawn:\n  {listed}", tuple(self._lacks)))

    def reach(self, placements: list[Placement]) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates (3,) m of all figures in all placements."""
        clouds = []
        for placement in placements:
            clouds += [
                placement.points(b.number, b.points()) if b.mesh is None else b.deformed(placement) for b in self.bodies
            ]
            clouds += placement.reference.values()
            clouds += [np.array([j.first.point(placement), j.second.point(placement)]) for j in self._extended()]
            clouds += [np.array([s.first.point(placement), s.second.point(placement)]) for s in self.lines]
            clouds += [
                placement.points(patch.end.number, patch.end.marker.position)
                + 1.25 * patch.size[0] * np.array([[-1.0], [1.0]])
                for patch in self.patches
            ]
            clouds += [
                placement.points(patch.end.number, patch.end.marker.position + patch.outline @ patch.axes[:, :2].T)
                for patch in self.patches
                if patch.outline is not None
            ]
            clouds += [
                placement.points(patch.end.number, patch.end.marker.position + patch.solid.corners @ patch.axes.T)
                for patch in self.patches
                if patch.solid is not None
            ]
            clouds += [_carried(placement, curve) for curve in self.curves]
            clouds += [j.mover.point(placement)[None] for j in self.joints]
        everything = np.concatenate(clouds) if clouds else np.zeros((1, 3))
        low, high = everything.min(axis=0), everything.max(axis=0)
        stops = [stop for placement in placements for stop in self._slide_ends(placement, float((high - low).max()))]
        low, high = np.min([low, *stops], axis=0), np.max([high, *stops], axis=0)
        tails = [tail for placement in placements for tail in self._tails(placement, float((high - low).max()))]
        return np.min([low, *tails], axis=0), np.max([high, *tails], axis=0)

    def _slide_ends(self, placement: Placement, reach: float) -> list[Array]:
        """Return the ends (3,) m of sliding joints, unless they are farther away than twice the size of the rest."""
        found = []
        for patch in self.patches:
            if patch.symbol == "ends":
                axis = placement.direction(patch.end.number, patch.axes[:, 2])
                at = placement.points(patch.end.number, patch.end.marker.position)
                found += [at + s * axis for s in patch.span if abs(s) <= 2 * reach]
        return found

    def _tails(self, placement: Placement, reach: float) -> list[Array]:
        """Return the tails (3,) m of the arrows of loads."""
        found = []
        for arrow in self.arrows:
            vector = arrow.seen(placement)
            size = float(np.linalg.norm(vector))
            if size:
                found.append(arrow.end.point(placement) - ARROW_LENGTH * reach * vector / size)
        return found

    def spacing(self) -> float:
        """Return a typical distance, m, of joints on one body, which limits the size of symbols."""
        lengths = [
            float(np.linalg.norm(pair[1] - pair[0])) for body in self.bodies for pair in (*body.bars, *body.ties)
        ]
        for body in self.bodies:
            if body.solids or body.panel is not None or body.mesh is not None:
                points = self._joint_points(body.number)
                lengths += [float(np.linalg.norm(p - points[0])) for p in points[1:]]
                lengths.append(float(np.ptp(body.points(), axis=0).max()))
        lengths = [length for length in lengths if length > 0]
        return float(np.quantile(lengths, 0.25)) if lengths else 0.0

    def _extended(self) -> list[JointFigure]:
        return [j for j in self.joints if j.kind == "Distance"]

    def _ends(self) -> list[Attachment]:
        """Return all attachments."""
        ends = [end for joint in self.joints for end in (joint.first, joint.second)]
        ends += [end for line in self.lines for end in (line.first, line.second) if isinstance(end, Attachment)]
        ends += [arrow.end for arrow in self.arrows]
        return ends + [Attachment.of(self.model, marker) for marker in self._points]

    def _joint_points(self, number: int) -> list[Array]:
        """Return the distinct points (3,) m of attachments on a body, in body axes."""
        points: list[Array] = []
        for end in self._ends():
            position = end.marker.position
            if end.number == number and not any(np.allclose(position, p, rtol=0, atol=1e-9) for p in points):
                points.append(position)
        return points

    def _body(self, body: Body, number: int) -> BodyFigure:
        figure = BodyFigure(body.name, number, PALETTE[(number - 1) % len(PALETTE)])
        if body.color is not None:
            figure.color, figure.opacity = color_text(body.color), body.color[3]
        if body.flexible is not None:
            return self._flexible(figure, body.flexible)
        points = self._joint_points(number)
        figure.solids.extend(solids.of_body(body, **self._fineness, lacks=self._lacks))
        found = next((solid.color for solid in figure.solids if solid.color is not None), None)
        if body.color is None and found is not None:
            figure.color = color_text(found)
        if self._inertia and body.shape is None and not figure.solids:
            box = solids.equivalent_box(body)
            figure.solids.extend([] if box is None else [box])
        if figure.solids and not solids.slender(body):
            figure.ties.extend((body.com, p) for p in points if not _near_box(p, figure.solids))
            return figure
        if body.shape is not None:
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
        named = [marker.position for marker in body.markers.values()]
        points += [x for x in named if points and not any(np.allclose(x, p, rtol=0, atol=1e-9) for p in points)]
        if (
            any(patch.end.number == number and patch.symbol in _BODY_PATCHES for patch in self.patches)
            and len(points) < 2
        ):
            return figure  # its wheel, cam or ball is drawn
        return _from_points(figure, body, points, slides)

    def _flexible(self, figure: BodyFigure, flexible: FlexibleBody) -> BodyFigure:
        figure.mesh, figure.nodes = mesh_of(flexible), flexible.nodes
        figure.first = node_frames(self.model)[figure.name]
        figure.arms = [
            (end.frame, end.offset)
            for end in self._ends()
            if end.number == figure.number and not _on_lines(end.marker.position, figure)
        ]
        return figure


def _on_lines(point: Array, figure: BodyFigure) -> bool:
    """Return whether a point is a node of a flexible body, or lies on one of its beams."""
    assert figure.mesh is not None
    near = 1e-6 * float(np.ptp(figure.nodes, axis=0).max())
    if np.linalg.norm(figure.nodes - point, axis=1).min() <= near:
        return True
    pairs = [figure.nodes[line[k : k + 2]] for line in figure.mesh.lines for k in range(len(line) - 1)]
    return any(np.linalg.norm(point - _foot(point, *pair)) <= near for pair in pairs)


def _from_points(figure: BodyFigure, body: Body, points: list[Array], slides: bool) -> BodyFigure:
    """Draw a body without a shape between its joint points and its centre of mass."""
    com = body.com
    scale = max((float(np.linalg.norm(p - com)) for p in points), default=0.0)
    line = _on_one_line(points)
    if scale == 0:
        speck = body.mass < MIN_MASS_SHARE * max(each.mass for each in body.system.bodies.values())
        box = None if slides or speck else solids.equivalent_box(body)
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
    return start + along * np.clip((point - start) @ along / (along @ along), 0.0, 1.0)


def _on_one_line(points: list[Array]) -> tuple[Array, Array] | None:
    """Return the two outermost of collinear points; None if they are not collinear."""
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


def _carried(placement: Placement, curve: CurveFigure) -> Array:
    """Return the points (k, 3) m of a curve in the world."""
    R, p = placement.rotation[curve.end.frame], placement.position[curve.end.frame]
    return np.asarray(curve.points @ R.T + p)


def find_marker(system: System, spec: Any, *, item: str, field: str) -> Marker:
    """Return the marker for a marker, a body, a name, or ``"coupler.at(0.2, 0, 0)"``.

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


def _look(element: Joint | Constraint) -> str:
    """Return the kind of symbol of a connection: its own, or that of a general joint or constraint."""
    if element.kind in LOOKS:
        return element.kind
    return "CustomJoint" if isinstance(element, Joint) else "CustomConstraint"


def connection_figures(model: Model) -> FigureBuilder:
    """Return the figures of constraints, force elements, couplings and drives of a model."""
    sketch, system = FigureBuilder(model), model.system
    driven = [drive.connection for drive in system.drives.values()]
    for connection in system.connections.values():
        if isinstance(connection.element, Joint):
            add_limits(sketch, connection)
        elif not is_chain_limit(connection, system.connections):
            add_constraint(sketch, connection, connection in driven)
    for force in system.forces.values():
        add_force(sketch, force)
    add_contact_shapes(sketch, system)
    for coupling in system.couplings.values():
        add_coupling(sketch, coupling)
    for follower, rule in getattr(system, "mimics", {}).items():
        if follower in system.connections and rule.joint in system.connections:
            tie(sketch, f"{follower}.mimic", [system.connections[name] for name in (rule.joint, follower)])
    for drive in system.drives.values():
        if drive.of_joint:
            axis, turning = axis_of(drive.connection.element, getattr(drive, "coordinate", 0))
            sketch.on_joint(drive.name, "drive" if turning else "push", drive.connection, axis)
    return sketch
