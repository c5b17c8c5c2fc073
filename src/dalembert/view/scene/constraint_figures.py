"""Figures of constraints and of joint limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...connections.constraints.cams import CamFollower, PointOnCurve
from ...rotation import unit_vector
from .cam_figures import add_cam, add_curve
from .element_figures import LINES
from .figure_builder import FigureBuilder
from .figures import PatchFigure

__all__ = ["add_constraint", "add_limits"]


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
        add_curve(sketch, name, element.curve, first)
        sketch.patch(name, "knot", second)
    elif isinstance(element, CamFollower):
        add_cam(sketch, name, element, first, second)
    elif kind not in _POINTS:
        sketch.line(name, "cylinder" if driven else LINES.get(kind, "link"), first, second)
        if kind not in ("Distance", "KinematicChain", "Rope"):
            sketch.patch(name, "law", second)
    if driven and kind != "Distance":
        sketch.patch(name, "law", second)


def _upright(side: Array) -> Array:
    """Return the axes (3, 3) of a blade on its edge: along it, up and sideways."""
    up = np.eye(3)[2 if abs(side[2]) < 0.9 else 0]
    along = np.cross(up, side)
    along /= np.linalg.norm(along)
    return np.column_stack([along, np.cross(side, along), side])
