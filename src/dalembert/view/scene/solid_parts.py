"""Solids of bodies, joints and force elements in space, each with the frames that carry it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ..style import INK
from . import solids
from .scene import BodyFigure, JointFigure, Scene
from .symbol_shapes import PATCHES, SIZED, symbol_shape

__all__ = ["STANDING", "SolidPart", "collision_parts", "joint_radius", "parts_of"]

Numbers = NDArray[np.int64]

# joints that have a foot on ground
STANDING = (
    "Revolute", "Screw", "Cylindrical", "Spherical", "Universal", "Fixed", "Distance", "KinematicChain", "PointOnPoint",
)  # fmt: skip
JOINT_RADIUS = 0.016  # of the size of the picture
LINK_RADIUS = 0.0085  # of the size of the picture
MAX_JOINT_RADIUS = 0.13  # of the distance between joints
_PIN, _CURVE = "#4D4D4D", "#555555"
STROKE_RADIUS = 0.2  # of the joint radius
COLLISION, COLLISION_OPACITY = "#E07B00", 0.45
PANEL_OPACITY, PLATE_OPACITY = 0.35, 0.85


@dataclass(frozen=True, eq=False)
class SolidPart:
    """Solid with the frames that carry it.

    Attributes
    ----------
    owner : str
        Name of the body or joint that it shows.
    frames : (k,) int
        Number of the frame that carries each corner of the solid; corners are given in it.
    solid : Solid
    color : str
    opacity : float
    kind : str
        What the owner is: ``"body"``, ``"joint"``, ``"element"``, or ``"collision"``: contact geometry of a body that
        is drawn by other geometry.
    drawn_last : bool
        Whether it is seen through bodies that hide it: joints and small symbols are.
    beneath : bool
        Whether it is a plane, which pictures put behind all else.
    """

    owner: str
    frames: Numbers
    solid: solids.Solid
    color: str
    opacity: float = 1.0
    kind: str = "body"
    drawn_last: bool = False
    beneath: bool = False


def joint_radius(scene: Scene, reach: float) -> float:
    """Return the radius of a joint, m, in a picture of that size, m."""
    spacing = scene.spacing()
    return min(JOINT_RADIUS * reach, MAX_JOINT_RADIUS * spacing if spacing else np.inf)


def parts_of(scene: Scene, low: Array, high: Array, wide: float = 1.0) -> list[SolidPart]:
    """Return the solids of all bodies, joints and elements, in a picture between two corners (3,) m.

    Planes and rails reach beyond these, `wide` times as far as they do of themselves.
    """
    reach = float((high - low).max()) or 1.0
    radius = joint_radius(scene, reach)
    return [
        *_body_parts(scene, reach),
        *_joint_parts(scene, radius),
        *_element_parts(scene, radius, wide * reach, (low + high) / 2),
    ]


# ---- bodies


def _body_parts(scene: Scene, reach: float) -> Iterator[SolidPart]:
    radius = joint_radius(scene, reach)
    for body in scene.bodies:
        for frames, solid, hides in _of_body(body, reach, radius):
            color, opacity = body.looks_of(solid)
            yield SolidPart(body.name, np.broadcast_to(frames, len(solid.corners)), solid, color, hides * opacity)
        if body.com is not None:
            mark = solids.ball(0.5 * radius, around=8, rings=5).moved(np.eye(3), body.com)
            yield SolidPart(body.name, np.full(len(mark.corners), body.number), mark, INK)


def _of_body(body: BodyFigure, reach: float, radius: float) -> Iterator[tuple[Any, solids.Solid, float]]:
    """Yield the solids of a body with their frames and opacities."""

    def thickness(pair: tuple[Array, Array]) -> float:
        return min(LINK_RADIUS * reach, 0.12 * float(np.linalg.norm(pair[1] - pair[0])))

    for solid in body.solids:
        yield body.number, solid, 1.0
    for pair in (*body.bars, *_struts(body)):
        yield body.number, solids.bar(*pair, thickness(pair)), 1.0
    for pair in body.ties:
        yield body.number, solids.bar(*pair, 0.45 * thickness(pair), around=6), 1.0
    panel = _panel(body)
    if panel is not None:
        yield body.number, panel, PANEL_OPACITY
    for frame, tip in body.arms:
        pair = (np.zeros(3), tip)
        yield frame, solids.bar(*pair, 0.45 * thickness(pair), around=6), 1.0
    yield from _of_mesh(body, reach, radius)


def _of_mesh(body: BodyFigure, reach: float, radius: float) -> Iterator[tuple[Numbers, solids.Solid, float]]:
    """Yield the solids of a flexible body, with the frames of the nodes that carry their corners."""
    mesh = body.mesh
    if mesh is None:
        return
    opacity = PLATE_OPACITY if mesh.sheet else 1.0
    for k, line in enumerate(mesh.lines):
        length = float(np.linalg.norm(np.diff(body.nodes[line], axis=0), axis=1).sum())
        thin, section = min(LINK_RADIUS * reach, 0.12 * length), mesh.sections[k] if mesh.sections else None
        # a section wider than the tube of thin beams is drawn exactly, as of a panel
        wide = section is not None and float(np.linalg.norm(section, axis=1).max()) > thin
        tube, ring = solids.tube(body.nodes[line], thin, ring=section if wide else None)
        yield body.first + line[ring], tube, opacity
    if len(mesh.faces):
        edged = np.ones(len(mesh.faces), dtype=bool)
        nodes = body.first + np.arange(len(body.nodes))
        yield nodes, solids.Solid(np.zeros((len(body.nodes), 3)), mesh.faces, edged), opacity
    for point in mesh.points:
        dot = solids.block(*[0.5 * radius] * 3)
        yield np.full(len(dot.corners), body.first + point), dot, opacity


def _panel(body: BodyFigure) -> solids.Solid | None:
    """Return the polygon through the joint points of a body without a shape, if they lie in a plane."""
    order = _around(body)
    if order is None or body.panel is None:
        return None
    last = np.arange(2, len(order))
    faces = np.column_stack([np.zeros_like(last), last - 1, last, last])
    return solids.Solid(body.panel[order], faces, np.zeros(len(faces), dtype=bool))


def _struts(body: BodyFigure) -> list[tuple[Array, Array]]:
    """Return the sides of that polygon, or lines from the centre of mass where the points are in no plane."""
    if body.panel is None:
        return []
    order = _around(body)
    if order is None:
        center = body.com if body.com is not None else body.panel.mean(axis=0)
        return [(center, point) for point in body.panel]
    ring = body.panel[order]
    return [(a, b) for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True)]


def _around(body: BodyFigure) -> Numbers | None:
    if body.panel is None:
        return None
    off = body.panel - body.panel.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    if len(sizes) > 2 and sizes[2] > 1e-6 * sizes[0]:
        return None
    return solids.silhouette(off @ axes[:2].T)


# ---- joints


def _joint_parts(scene: Scene, radius: float) -> Iterator[SolidPart]:
    for joint in scene.joints:
        for frame, solid in _of_joint(joint, radius):
            yield SolidPart(joint.name, np.full(len(solid.corners), frame), solid, _PIN, kind="joint", drawn_last=True)


def _of_joint(joint: JointFigure, r: float) -> list[tuple[int, solids.Solid]]:
    """Return the solids of a joint with the numbers of the frames that carry them, in their axes."""
    end = joint.mover
    at = end.offset

    def along(local_axis: Any, solid: solids.Solid, carrier: Any = end) -> tuple[int, solids.Solid]:
        turn = solids.turned_z(carrier.marker.rotation @ np.asarray(local_axis, dtype=float))
        return carrier.frame, solid.moved(turn, carrier.offset)

    kind, element = joint.kind, joint.element
    if kind in ("Revolute", "Screw", "Cylindrical"):
        # the axis is the same direction in both markers
        long = {"Revolute": 3.2, "Screw": 4.5, "Cylindrical": 6.0}[kind]
        long = max(long, 2 * (joint.thickness / r + 0.8)) if r else long
        pin = along(element.axis, solids.cylinder(long * r, r, around=12))  # type: ignore[union-attr]
        return [pin] if kind != "Screw" else [pin, along(element.axis, _thread(4.5 * r, r))]  # type: ignore[union-attr]
    if kind == "Prismatic":
        return [along(element.axis, solids.block(2.6 * r, 2.6 * r, 5 * r))]  # type: ignore[union-attr]
    if kind == "Universal":
        barrel = solids.cylinder(3.6 * r, 0.7 * r, around=10)
        return [
            along(element.axis_1, barrel, joint.first),  # type: ignore[union-attr]
            along(element.axis_2, barrel, joint.second),  # type: ignore[union-attr]
        ]
    if kind == "Planar":
        return [along(element.normal, solids.block(4 * r, 4 * r, 0.5 * r))]  # type: ignore[union-attr]
    if kind in ("Spherical", "CustomJoint"):
        return [(end.frame, solids.ball(1.35 * r, around=12, rings=8).moved(np.eye(3), at))]
    if kind == "PointOnPoint":
        return [(end.frame, solids.ball(1.1 * r, around=12, rings=8).moved(np.eye(3), at))]
    if kind in ("Fixed", "PointOnLine", "PointOnPlane"):
        return [(end.frame, solids.block(1.5 * r, 1.5 * r, 1.5 * r).moved(np.eye(3), at))]
    if kind in ("Distance", "KinematicChain", "Rope"):
        ball = solids.ball(0.9 * r, around=8, rings=6)
        return [(e.frame, ball.moved(np.eye(3), e.offset)) for e in (joint.first, joint.second)]
    return []


def _thread(length: float, radius: float) -> solids.Solid:
    """Return a thread about z."""
    angle = np.linspace(0.0, 8 * np.pi, 65)
    return stroke(
        np.column_stack([radius * np.cos(angle), radius * np.sin(angle), length * (angle / 25.13 - 0.5)]), 0.2 * radius
    )


def collision_parts(scene: Scene) -> Iterator[SolidPart]:
    """Return the contact geometry of bodies that are drawn by other geometry."""
    for figure in scene.bodies:
        looks = scene.model.system.bodies[figure.name].visuals
        if all(look.collision for look in looks):
            continue
        for solid in (solid for look in looks if look.collision for solid in solids.of_look(look)):
            frames = np.full(len(solid.corners), figure.number)
            yield SolidPart(figure.name, frames, solid, COLLISION, COLLISION_OPACITY, "collision")


# ---- elements


def stroke(points: Array, radius: float) -> solids.Solid:
    """Return a thin tube along points (k, 3) m."""
    tube, owners = solids.tube(points, radius, around=6)
    return solids.Solid(tube.corners + points[owners], tube.faces, tube.edged)


def _element_parts(scene: Scene, radius: float, reach: float, middle: Array) -> Iterator[SolidPart]:
    for patch in scene.patches:
        look, (color, opacity) = symbol_shape(patch, radius, reach), PATCHES[patch.symbol]
        at, axis = patch.end.offset, patch.axes[:, 2]
        if patch.symbol == "plane" and patch.end.number == 0:  # it extends below all bodies, regardless of its marker
            at = middle + ((at - middle) @ axis) * axis
        elif patch.symbol == "rail" and patch.end.number == 0:
            at = at + ((middle - at) @ axis) * axis
        elif (
            patch.end.number
            and not scene.bodies[patch.end.number - 1].solids
            and patch.symbol in ("disc", "wheel", "cam")
        ):
            color = scene.bodies[patch.end.number - 1].color
        pieces = [solid.moved(patch.axes, at) for solid in look.solids]
        pieces += [stroke(line @ patch.axes.T + at, STROKE_RADIUS * radius) for line in look.strokes]
        for solid in pieces:
            frames = np.full(len(solid.corners), patch.end.frame)
            drawn_last, beneath = patch.symbol not in SIZED, patch.symbol in ("plane", "land")
            yield SolidPart(patch.name, frames, solid, color, opacity, "element", drawn_last, beneath)
    for curve in scene.curves:
        solid = stroke(curve.points, STROKE_RADIUS * radius)
        yield SolidPart(curve.name, np.full(len(solid.corners), curve.end.frame), solid, _CURVE, 1.0, "element")
