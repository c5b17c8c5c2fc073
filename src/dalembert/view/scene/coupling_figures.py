"""Figures of couplings: gear wheels, belts, racks, or thin lines between coupled joints."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array
from ...connections.constraints.couplings import Coupling
from ...provenance import constructor_call
from ...rotation import unit_vector
from .body_extents import axis_of, covered
from .figure_builder import FigureBuilder
from .figures import CurveFigure, PatchFigure
from .solids import turned_z

__all__ = ["add_coupling", "tie"]


def add_coupling(sketch: FigureBuilder, coupling: Any) -> None:
    joints = [joint for joint, _ in coupling.joint_coordinates]
    before = len(sketch.patches)
    if isinstance(coupling.element, Coupling) and len(joints) == 2:
        _wheels(sketch, coupling, joints)
    if len(sketch.patches) == before:
        tie(sketch, coupling.name, joints)


def tie(sketch: FigureBuilder, name: str, joints: list[Any]) -> None:
    """Connect coupled joints by thin lines, with a mark at each."""
    for joint in joints:
        sketch.patch(name, "law", joint.second, axis_of(joint.element, 0)[0])
    for one, other in pairwise(joints):
        sketch.line(name, "link", one.second, other.second)


def _wheels(sketch: FigureBuilder, coupling: Any, joints: list[Any]) -> None:
    """Add two gear wheels, a belt on two pulleys, or a pinion on its rack."""
    made = constructor_call(coupling.element)
    maker, given = ("", {}) if made is None else (made.maker, made.arguments)
    kinds = [joint.element.kind for joint in joints]
    if kinds == ["Revolute", "Prismatic"] and maker == "rack_and_pinion":
        pinion, rack = joints
        _wheel(sketch, coupling.name, pinion, abs(float(given["radius"])))
        sketch.patch(coupling.name, "rack", rack.second, rack.element.axis)
    if kinds != ["Revolute", "Revolute"]:
        return
    if maker == "belt":
        radii = [abs(float(given[key])) for key in ("radius_1", "radius_2")]
        for joint, radius in zip(joints, radii, strict=True):
            _wheel(sketch, coupling.name, joint, radius)
        _belt(sketch, coupling.name, joints, radii, crossed=coupling.element.ratio < 0)
        return
    radii = _pitch(sketch, joints, coupling.element.ratio)
    for k, (joint, radius) in enumerate(zip(joints, radii, strict=False)):
        _wheel(sketch, coupling.name, joint, radius, float(given.get(f"teeth_{k + 1}", 0)) if maker == "gear" else 0.0)


def _wheel(sketch: FigureBuilder, name: str, joint: Any, radius: float, teeth: float = 0.0) -> None:
    marker = joint.second
    if covered(marker, radius):
        sketch.patch(name, "pitch", marker, joint.element.axis, (radius, 0.0))
    elif teeth == round(teeth) and 5 <= abs(teeth) <= 200:
        axes = marker.rotation @ turned_z(unit_vector(joint.element.axis, item=name))
        outline = _toothed(radius, round(abs(teeth)))
        sketch.patches.append(PatchFigure(name, "wheel", sketch.end(marker), axes, (radius, 0.0), outline=outline))
    else:
        sketch.patch(name, "disc", marker, joint.element.axis, (radius, 0.0))


def _pitch(sketch: FigureBuilder, joints: list[Any], ratio: float) -> list[float]:
    """Return the pitch radii, m, of two wheels with parallel axes on one body; none for others."""
    total = 1 + abs(ratio) if ratio < 0 else abs(1 - ratio)
    shared = _carrier(sketch, joints)
    if shared is None or total == 0 or ratio == 0:
        return []
    first, second, axis = shared
    off = second.position - first.position
    distance = float(np.linalg.norm(off - (off @ axis) * axis))
    return [abs(ratio) * distance / total, distance / total] if distance else []


def _carrier(sketch: FigureBuilder, joints: list[Any]) -> tuple[Any, Any, Array] | None:
    """Return the markers of two joints on the body that carries both, and the first one's axis in it."""
    one, two = joints
    for first in (one.first, one.second):
        for second in (two.first, two.second):
            if first.body is second.body:
                return first, second, first.rotation @ np.asarray(one.element.axis, dtype=float)
    return None


def _belt(sketch: FigureBuilder, name: str, joints: list[Any], radii: list[float], *, crossed: bool) -> None:
    shared = _carrier(sketch, joints)
    if shared is None:
        sketch.line(name, "link", joints[0].second, joints[1].second)
        return
    first, second, axis = shared
    off = second.position - first.position
    off = off - (off @ axis) * axis
    distance = float(np.linalg.norm(off))
    signed = radii[0] + radii[1] if crossed else radii[0] - radii[1]
    if distance <= abs(signed):
        return
    x, y = off / distance, np.cross(axis, off / distance)
    lean = np.arccos(signed / distance)  # angle at which the straight runs leave the first pulley
    on = lean - np.pi if crossed else lean
    near = radii[0] * _arc(lean, 2 * np.pi - lean)
    far = radii[1] * _arc(-on, on) + [distance, 0.0]
    flat = np.concatenate([near, far, near[:1]])
    end = sketch.end(first)
    points = flat[:, :1] * x + flat[:, 1:] * y + end.offset
    sketch.curves.append(CurveFigure(name, end, points))


def _arc(start: float, end: float) -> Array:
    angle = np.linspace(start, end, 25)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _toothed(radius: float, teeth: int) -> Array:
    """Return the outline (k, 2) of a wheel with straight-sided teeth of the usual height about its pitch circle."""
    module = 2 * radius / teeth
    inner, outer = radius - 1.25 * module, radius + module
    step = 2 * np.pi / teeth
    # foot, flank up, tip, flank down: the tooth is half a step wide at the pitch circle
    angles = np.array([-0.36, -0.14, 0.14, 0.36]) * step
    r = np.array([inner, outer, outer, inner])
    one = np.column_stack([r * np.cos(angles), r * np.sin(angles)])
    turns = np.arange(teeth) * step
    c, s = np.cos(turns), np.sin(turns)
    return np.asarray(np.einsum("nij,kj->nki", np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0), one).reshape(-1, 2))
