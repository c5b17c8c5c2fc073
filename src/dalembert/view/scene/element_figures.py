"""Figures of force elements."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...connections.elements.built_in import ForceConnection, Load
from ...connections.elements.element import SignalBlock
from ...connections.elements.paths import AlongPath, WrapCylinder
from ...connections.elements.pulley_layout import layout_of
from ...provenance import constructor_call
from .attachments import Attachment, AttachmentMidpoint, anchor
from .body_extents import axis_of, covered, extent
from .cam_figures import add_cam
from .figure_builder import FigureBuilder
from .figures import ArrowFigure, LineFigure

__all__ = ["LINES", "add_force"]

# line symbols of elements and constraints between two markers; others are thin lines
LINES = {
    "SpringDamper": "spring",
    "NonlinearSpring": "spring",
    "KelvinVoigt": "both",
    "Zener": "both",
    "Maxwell": "series",
    "GeneralizedMaxwell": "both",
    "BumpStop": "bumper",
    "GasSpring": "cylinder",
    "HydraulicSpring": "cylinder",
    "HydraulicCylinder": "cylinder",
    "PneumaticCylinder": "cylinder",
    "Cable": "cable",
    "Ligament": "cable",
    "HillMuscle": "muscle",
    "MillardMuscle": "muscle",
    "ElasticBar": "bar",
    "BeamElement": "beam",
    "Distance": "bar",
    "KinematicChain": "bar",
    "Rope": "cable",
    "InverseSquare": "link",
}
_ROUND = {"TorsionSpring", "JointSpring", "NonlinearSpring", "KelvinVoigt", "Maxwell", "Zener", "GeneralizedMaxwell"}
_MOTORS = {"DCMotor", "GearMotor", "PositionServo", "VelocityServo", "StateSpace", "TransferFunction"}
_BRAKES = {"CoulombFriction", "StribeckFriction", "LuGreFriction", "JointFriction"}


def add_force(sketch: FigureBuilder, force: ForceConnection) -> None:
    element, name = force.element, force.name
    kind, numbers = element.kind, getattr(element, "parameters", {})
    if force.joint_coordinates:
        _at_joints(sketch, force)
    elif isinstance(element, Load):
        for what, laws in (("force", element.force), ("moment", element.moment)):
            if any(not _zero(law) for law in laws):
                sketch.arrows.append(ArrowFigure(name, what, sketch.end(force.ends[0]), laws, element.axes == "body"))
    elif kind.endswith("PlaneContact"):
        radius, length = (float(numbers.get(key, 0.0)) for key in ("radius", "length"))
        sketch.patch(name, "plane", force.first)
        look = "knot" if not radius else "roller" if length else "sphere"
        sketch.ball(name, look, force.second, "z", (radius, length))
    elif kind == "SphereSphereContact":
        for end, key in zip(force.ends, ("radius_1", "radius_2"), strict=True):
            sketch.ball(name, "sphere", end, "z", (float(numbers[key]), 0.0))
    elif kind.endswith("Tyre"):
        radius = float(numbers["radius"])
        sketch.ball(name, "roller", force.second, "y", (radius, 0.6 * radius))
    elif kind == "GearMesh":
        _gears(sketch, force)
    elif kind == "BevelMesh":
        for end, radius in zip(force.ends[1:], element.mean_radii, strict=True):  # type: ignore[attr-defined]
            sketch.patch(name, "disc", end, "z", (radius, 0.2 * radius))
    elif kind == "AlongPath":
        _path(sketch, force)
    elif kind in ("PulleyRope", "BeltDrive", "ChainDrive"):
        _over_pulleys(sketch, force)
    elif kind == "GenevaContact":
        wheel, crank = element.wheel_radius, element.crank_radius  # type: ignore[attr-defined]
        for end, radius in zip(force.ends, (wheel, crank), strict=True):
            sketch.patch(name, "pitch", end, "z", (radius, 0.0))
        sketch.line(name, "link", force.first, force.second)
    elif kind == "CamContact":
        add_cam(sketch, name, element.shape, *force.ends)  # type: ignore[attr-defined]
    elif kind == "Bushing":
        sketch.patch(name, "bushing", force.second)
        sketch.line(name, "link", force.first, force.second)
    elif kind == "JournalBearing":
        sketch.patch(name, "ring", force.first, "z", (float(numbers["radius"]), float(numbers["length"])))
    elif kind == "TractionFilm":
        _film(sketch, force)
    elif kind in ("Drag", "Field"):
        sketch.patch(name, "stream", force.second, "z", (extent(force.second), 0.0))
    elif kind == "Compound":
        _compound(sketch, force)
    elif len(force.ends) > 1:
        for end in force.ends[1:]:
            sketch.line(name, _line_look(force), force.first, end)
    elif force.ends:
        sketch.patch(name, "law", force.ends[0])


def _film(sketch: FigureBuilder, force: ForceConnection) -> None:
    """Add the two rollers of a film, or the profile of a cam and its roller."""
    made = constructor_call(force.element)
    given = {} if made is None else made.arguments
    profile, radius, length = (given.get(key, 0.0) for key in ("profile", "radius", "length"))
    for marker, size in ((force.first, profile), (force.second, radius)):
        if np.isscalar(size) and float(size) and not covered(marker, float(size)):  # type: ignore[arg-type]
            sketch.patch(force.name, "disc", marker, "z", (float(size), float(length)))  # type: ignore[arg-type]
    sketch.line(force.name, "link", force.first, force.second)


def _gears(sketch: FigureBuilder, force: ForceConnection) -> None:
    """Add the reference circles of two gears that mesh, of a ring as a ring."""
    geometry = force.element.geometry  # type: ignore[attr-defined]
    for k, (marker, radius) in enumerate(zip(force.ends[1:], geometry.reference_radii, strict=True)):
        look = "ring" if k == 1 and geometry.side < 0 else "disc"
        if not covered(marker, radius):
            sketch.patch(force.name, look, marker, "z", (radius, geometry.width))


def _path(sketch: FigureBuilder, force: ForceConnection) -> None:
    """Add the lines between the points of a path, and the surfaces around which it runs."""
    element: AlongPath = force.element  # type: ignore[assignment]
    points = [end for end, part in zip(force.ends, element.route, strict=True) if part == "point"]
    for first, second in itertools.pairwise(points):
        sketch.line(force.name, LINES.get(element.law.kind, "line"), first, second)
    for end, part in zip(force.ends, element.route, strict=True):
        if isinstance(part, WrapCylinder):
            sketch.ball(force.name, "roller", end, "z", (part.radius, 2 * part.radius))
        elif part != "point":
            sketch.ball(force.name, "sphere", end, "z", (part.radius, 0.0))


def _over_pulleys(sketch: FigureBuilder, force: ForceConnection) -> None:
    """Add pulleys, and the spans of a rope as they are at the start, carried by what bears the pulleys."""
    element, ends = force.element, force.ends[1:]
    nodes, closed = element.nodes, element.is_closed  # type: ignore[attr-defined]
    placement = sketch.start
    R, p = placement.marker(sketch.end(force.ends[0]).number, force.ends[0])
    places = np.array([R.T @ (sketch.end(end).point(placement) - p) for end in ends])
    layout = layout_of(nodes, closed, places)
    for node, end in zip(nodes, ends, strict=True):
        if node.side and not covered(end, node.radius):
            sketch.patch(force.name, "pitch", end, "z", (node.radius, 0.0))
    for k, tangent in enumerate(layout.tangents):
        span: list[Any] = []
        for j, flat in zip((k, (k + 1) % len(nodes)), tangent, strict=True):
            point = p + R @ np.array([*flat, places[j, 2]])
            span.append(sketch.carried(ends[j], point) if nodes[j].side else ends[j])
        sketch.line(force.name, "cable", *span)


def _compound(sketch: FigureBuilder, force: ForceConnection) -> None:
    """Add the members of a compound; its nodes are midpoints of the ends they are connected to."""
    made = constructor_call(force.element)
    names = [] if made is None else list(made.arguments["ends"])
    ends = dict(zip(names, (sketch.end(marker) for marker in force.ends), strict=False))
    if made is None or len(ends) < len(force.ends):
        for end in force.ends[1:]:
            sketch.line(force.name, "line", force.first, end)
        return
    members = made.arguments["members"]
    pairs = [tuple(where) for _, *where in members.values()]
    places: dict[str, Attachment | AttachmentMidpoint] = dict(ends)
    for node in {each for pair in pairs for each in pair} - set(ends):
        near = {each for pair in pairs if node in pair for each in pair} & set(ends)
        places[node] = AttachmentMidpoint(tuple(ends[each] for each in sorted(near)) or tuple(ends.values()))
    for member, (element, *where) in members.items():
        look = LINES.get(element.kind, "line")
        first, second = (places[each] for each in where)
        sketch.lines.append(LineFigure(f"{force.name}.{member}", look, first, second))


def _at_joints(sketch: FigureBuilder, force: ForceConnection) -> None:
    element, kind = force.element, force.element.kind
    if isinstance(element, SignalBlock):
        return
    for joint, coordinate in force.joint_coordinates:
        axis, turning = axis_of(joint.element, coordinate)
        if kind == "Limits":
            sketch.stops(force.name, joint, coordinate, element.lower, element.upper)  # type: ignore[attr-defined]
        elif kind in _ROUND and not turning:
            start = anchor(joint.first, joint.second, axis, _rest_of(element))
            sketch.line(force.name, _line_look(force), start, joint.second)
        else:
            look = "spiral" if kind in _ROUND else "brake" if kind in _BRAKES else "law"
            if kind == "Effort":
                look = "effort" if turning else "thrust"
            elif kind in _MOTORS or force.actuates:
                look = "motor"
            sketch.on_joint(force.name, look, joint, axis)


def _rest_of(element: Any) -> float:
    """Return the relaxed position of a spring, rad or m; zero if it is no parameter."""
    rest = getattr(element, "rest", getattr(element, "parameters", {}).get("rest", 0.0))
    return float(rest) if isinstance(rest, int | float) else 0.0


def _zero(law: Any) -> bool:
    """Return whether a law is the number zero."""
    return getattr(law, "value", None) == 0


def _line_look(force: ForceConnection) -> str:
    """Return the line symbol of an element between markers."""
    element = force.element
    look = LINES.get(element.kind, "spring" if force.joint_coordinates else "line")
    if element.kind not in ("SpringDamper", "JointSpring", "TorsionSpring"):
        return look
    stiffness, damping = element.stiffness, element.damping  # type: ignore[attr-defined]
    spring, damper = (not (np.isscalar(value) and value == 0) for value in (stiffness, damping))
    return "both" if spring and damper else "damper" if damper else "spring"
