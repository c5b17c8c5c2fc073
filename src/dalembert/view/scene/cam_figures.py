"""Figures of curves and of cams with their followers, for constraints and force elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from .body_extents import covered
from .figure_builder import FigureBuilder
from .figures import CurveFigure, PatchFigure

__all__ = ["add_cam", "add_curve"]


N_PIECE_POINTS = 5  # points of each piece of a curve
MAX_OUTLINE_POINTS = 160  # of the outline of a cam


def add_curve(sketch: FigureBuilder, name: str, curve: Any, marker: Any) -> None:
    """Add a curve that is fixed in a marker."""
    end = sketch.end(marker)
    points = curve.pieces.at(np.linspace(0.0, 1.0, N_PIECE_POINTS)).reshape(-1, 3)
    sketch.curves.append(CurveFigure(name, end, points @ marker.rotation.T + end.offset))


def add_cam(sketch: FigureBuilder, name: str, element: Any, first: Any, second: Any) -> None:
    """Add the profile of a cam and its follower."""
    add_curve(sketch, name, element.profile, first)
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
