"""Figures of constraints and of joint limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...connections.constraints.cams import CamFollower, PointOnCurve
from ...rotation import unit_vector
from .body_extents import covered
from .element_figures import LINES
from .figure_builder import FigureBuilder
from .figures import CurveFigure, PatchFigure

__all__ = ["add_constraint", "add_limits"]


N_PIECE_POINTS = 5  # points of each piece of a curve
MAX_OUTLINE_POINTS = 160  # of the outline of a cam
_AXES = {"AxisAngle": ("axis_1", "axis_2"), "Parallel": ("axis_1", "axis_2"), "Perpendicular": ("axis_1", "axis_2")}
_POINTS = ("PointOnPoint", "PointOnPlane", "PointOnLine")  # whose second end is a joint, not a line


def add_limits(sketch: FigureBuilder, connection: Any) -> None:
    """Add the limits of a joint with one coordinate."""
    element = connection.element
    limits = [getattr(element, bound, None) for bound in ("lower", "upper")]
    numbers = [np.asarray(limit, dtype=float).ravel() for limit in limits if limit is not None]
    if element.nv == 1 and numbers:
        low = -np.inf if limits[0] is None else float(np.ravel(limits[0])[0])
        high = np.inf if limits[1] is None else float(np.ravel(limits[1])[0])
        sketch.stops(connection.name, connection, 0, low, high)


def add_constraint(sketch: FigureBuilder, connection: Any, driven: bool) -> None:
    name, element, first, second = connection.name, connection.element, connection.first, connection.second
    kind = element.kind
    if kind in ("PointOnPlane", "RollingSphere", "RollingDisc"):
        sketch.patch(name, "plane", first, element.normal)
    if kind == "RollingSphere":
        sketch.ball(name, "sphere", second, "z", (element.radius, 0.0))
    elif kind == "RollingDisc":
        sketch.ball(name, "disc", second, element.axis, (element.radius, 0.0))
    elif kind == "PointOnLine":
        sketch.patch(name, "rail", first, element.axis)
    elif kind == "KnifeEdge":
        axes = second.rotation @ _upright(unit_vector(element.side, item=name))
        sketch.patches.append(PatchFigure(name, "blade", sketch.end(second), axes))
    elif kind in _AXES:
        for marker, field in zip((first, second), _AXES[kind], strict=True):
            sketch.patch(name, "axis", marker, getattr(element, field))
        sketch.line(name, "link", first, second)
    elif isinstance(element, PointOnCurve):
        _curve(sketch, name, element.curve, first)
        sketch.patch(name, "knot", second)
    elif isinstance(element, CamFollower):
        _cam(sketch, name, element, first, second)
    elif kind not in _POINTS:
        sketch.line(name, "cylinder" if driven else LINES.get(kind, "link"), first, second)
        if kind not in ("Distance", "KinematicChain", "Rope"):
            sketch.patch(name, "law", second)
    if driven and kind != "Distance":
        sketch.patch(name, "law", second)


def _curve(sketch: FigureBuilder, name: str, curve: Any, marker: Any) -> None:
    end = sketch.end(marker)
    points = curve.pieces.at(np.linspace(0.0, 1.0, N_PIECE_POINTS)).reshape(-1, 3)
    sketch.curves.append(CurveFigure(name, end, points @ marker.rotation.T + end.offset))


def _cam(sketch: FigureBuilder, name: str, element: Any, first: Any, second: Any) -> None:
    _curve(sketch, name, element.profile, first)
    points = element.profile.pieces.at(np.linspace(0.0, 1.0, N_PIECE_POINTS + 1)[:-1]).reshape(-1, 3)[:, :2]
    reach = float(np.linalg.norm(points, axis=1).max())
    if not element.inside and not covered(first, reach):
        every = -(-len(points) // MAX_OUTLINE_POINTS)
        _profile(sketch, name, first, _left_about(points[::every]))
    if element.radius and not covered(second, element.radius):
        sketch.patch(name, "disc", second, "z", (element.radius, 0.0))
    elif element.follower == "flat":
        sketch.patch(name, "face", second)
    elif not element.radius:
        sketch.patch(name, "knot", second)


def _profile(sketch: FigureBuilder, name: str, marker: Any, outline: Array, look: str = "cam") -> None:
    sketch.patches.append(PatchFigure(name, look, sketch.end(marker), marker.rotation, outline=outline))


def _left_about(outline: Array) -> Array:
    """Return a closed outline, counterclockwise."""
    x, y = outline.T
    return outline if (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() > 0 else outline[::-1]


def _upright(side: Array) -> Array:
    """Return the axes (3, 3) of a blade on its edge: along it, up and sideways."""
    up = np.eye(3)[2 if abs(side[2]) < 0.9 else 0]
    along = np.cross(up, side)
    along /= np.linalg.norm(along)
    return np.column_stack([along, np.cross(side, along), side])
