"""Shapes of patch symbols: solids and strokes about the z axis, in multiples of the joint radius."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array
from . import solids
from .figures import PatchFigure

__all__ = ["COLORS", "MARKS", "PATCHES", "SIZED", "SymbolShape", "symbol_shape"]


PLANE_SIZE = 1.3  # of the size of the picture
_TURN = np.linspace(0.0, 2 * np.pi, 37)
_CIRCLE = np.column_stack([np.cos(_TURN), np.sin(_TURN), 0 * _TURN])

# colour and opacity
PATCHES = {
    "plane": ("#9AA7B0", 0.25),
    "land": ("#B5BBA8", 1.0),
    "obstacle": ("#9AA7B0", 0.9),
    "sphere": ("#7F8C8D", 0.45),
    "disc": ("#7F8C8D", 0.45),
    "roller": ("#7F8C8D", 0.45),
    "wheel": ("#7F8C8D", 0.8),
    "cam": ("#B08D57", 0.8),
    "pitch": ("#555555", 1.0),
    "ring": ("#B08D57", 1.0),
    "bushing": ("#555555", 1.0),
    "spiral": ("#444444", 1.0),
    "motor": ("#C07000", 0.9),
    "drive": ("#00705A", 1.0),
    "push": ("#00705A", 1.0),
    "effort": ("#B00020", 1.0),
    "thrust": ("#B00020", 1.0),
    "brake": ("#6E2C00", 1.0),
    "stops": ("#B00020", 1.0),
    "ends": ("#B00020", 1.0),
    "law": ("#6A3D9A", 1.0),
    "axis": ("#555555", 1.0),
    "blade": ("#5D6D7E", 1.0),
    "face": ("#B08D57", 1.0),
    "rail": ("#8C8C8C", 1.0),
    "rack": ("#7F8C8D", 1.0),
    "knot": ("#4D4D4D", 1.0),
    "stream": ("#2A78B8", 1.0),
}
# small solids on or in bodies, drawn in front of them
MARKS = {"bushing", "motor", "blade", "face", "rack", "knot"}
# patches with a physical size, which are no symbols
SIZED = {"plane", "land", "obstacle", "sphere", "disc", "roller", "wheel", "cam", "pitch", "ring", "rail"}
# colours of lines
COLORS = {"muscle": "#B5423B", "cylinder": "#8A6D3B", "bumper": "#333333", "link": "#8C8C8C", "line": "#8C8C8C"}


@dataclass
class SymbolShape:
    """Solids and strokes (k, 3) m, in axes of the patch."""

    solids: list[solids.Solid] = field(default_factory=list)
    strokes: list[Array] = field(default_factory=list)


def symbol_shape(patch: PatchFigure, r: float, reach: float) -> SymbolShape:
    """Return the shape of a patch, in a picture with joint radius r and the given size, m."""
    found = _look_of(patch, r, reach)
    if not patch.lift:
        return found
    sides = [np.array([0.0, 0.0, way * (patch.lift + 0.8 * r)]) for way in (1.0, -1.0)]  # visible from either side
    return SymbolShape(
        [solid.moved(np.eye(3), up) for up in sides for solid in found.solids],
        [stroke + up for up in sides for stroke in found.strokes],
    )


def _look_of(patch: PatchFigure, r: float, reach: float) -> SymbolShape:
    if patch.solid is not None:
        return SymbolShape([patch.solid])
    radius, length = patch.size
    make = _SOLIDS.get(patch.symbol)
    if make is not None:
        return SymbolShape([make(radius or 2.2 * r, length, r)])
    if patch.outline is not None:
        return SymbolShape(
            [solids.wheel(patch.outline, 1.2 * r) if patch.symbol == "wheel" else solids.prism(patch.outline, r)]
        )
    if patch.symbol == "plane":
        return SymbolShape([solids.sheet(PLANE_SIZE * reach)])
    if patch.symbol == "rail":
        return SymbolShape(strokes=[np.array([[0, 0, -0.5], [0, 0, 0.5]]) * PLANE_SIZE * reach])
    if patch.symbol == "stops":
        return SymbolShape(strokes=_stops(*patch.span, 3.4 * r))
    if patch.symbol == "ends":
        return SymbolShape(strokes=[_CROSS * 3 * r + [0, 0, s] for s in patch.span if np.isfinite(s)])
    if patch.symbol == "stream":
        return SymbolShape(strokes=[max(r, 0.4 * radius) * stroke for stroke in _STROKES["stream"]])
    if patch.symbol == "pitch":
        return SymbolShape(strokes=[radius * _CIRCLE])
    return SymbolShape(strokes=[r * stroke for stroke in _STROKES[patch.symbol]])


_SOLIDS = {
    "sphere": lambda radius, length, r: solids.ball(radius, around=40, rings=20),
    "disc": lambda radius, length, r: solids.cylinder(length or 0.6 * r, radius, around=48),
    "roller": lambda radius, length, r: solids.cylinder(length, radius, around=36),
    "ring": lambda radius, length, r: solids.cylinder(length or 1.6 * r, 1.25 * radius, inner=radius, around=36),
    "bushing": lambda radius, length, r: solids.cylinder(1.6 * r, 2.2 * r, inner=1.2 * r, around=24),
    "motor": lambda radius, length, r: solids.cylinder(2.6 * r, 2.0 * r, around=24),
    "blade": lambda radius, length, r: solids.block(6 * r, 2.4 * r, 0.3 * r),
    "face": lambda radius, length, r: solids.block(9 * r, 0.7 * r, 2 * r),
    "rack": lambda radius, length, r: solids.block(r, r, 14 * r),
    "knot": lambda radius, length, r: solids.ball(0.8 * r, around=10, rings=6),
}


def _stops(low: float, high: float, radius: float) -> list[Array]:
    """Return the arc between two angles, with a stroke across it at each finite angle."""
    near, far = (low if np.isfinite(low) else high - 2 * np.pi, high if np.isfinite(high) else low + 2 * np.pi)
    angle = np.linspace(near, min(far, near + 2 * np.pi), 41)
    strokes = [radius * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])]
    for limit in (low, high):
        if np.isfinite(limit):
            out = np.array([np.cos(limit), np.sin(limit), 0.0])
            strokes.append(np.outer([0.7 * radius, 1.3 * radius], out))
    return strokes


def _curved_arrow(radius: float, height: float = 0.0) -> list[Array]:
    """Return three quarters of a turn with a head."""
    angle = np.linspace(-0.6, 1.3 * np.pi, 33)
    path = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(33, height)])
    tip, back = path[-1], path[-5]
    out = path[-1] / np.linalg.norm(path[-1])
    head = np.array([back + 0.55 * out, tip, back - 0.55 * out])
    return [path, head]


def _straight_arrow(length: float, aside: float) -> list[Array]:
    tip = np.array([aside, 0.0, length / 2])
    barbs = [[aside + side, 0.0, length / 2 - 0.9] for side in (0.55, -0.55)]
    return [np.array([[aside, 0, -length / 2], tip]), np.array([barbs[0], tip, barbs[1]])]


def _spiral() -> list[Array]:
    angle = np.linspace(0.0, 5 * np.pi, 80)
    radius = np.linspace(0.8, 3.2, 80)
    return [np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle])]


def _shoes() -> list[Array]:
    """Return two arcs beside a pin: the shoes of a brake."""
    angle = np.linspace(-0.8, 0.8, 13)
    arc = 1.9 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    rim = np.concatenate([arc, 1.35 * arc[::-1], arc[:1]])
    return [rim, rim * [-1, -1, 1]]


def _stream() -> list[Array]:
    """Return three waves that are visible along every axis."""
    on, aside = np.array([0.7, -0.7, 0.0]), np.array([0.5, 0.5, 0.7])
    s = np.linspace(-3.0, 3.0, 25)
    return [np.outer(s, on) + np.outer(off + 0.35 * np.sin(2.1 * s), aside) for off in (-1.2, 0.0, 1.2)]


_CROSS = np.array([[-0.5, 0, 0], [0.5, 0, 0], [0, 0, 0], [0, 0.5, 0], [0, -0.5, 0]])
_STROKES = {
    "spiral": _spiral(),
    "drive": _curved_arrow(2.8),
    "push": _straight_arrow(6.0, 2.6),
    "effort": _curved_arrow(3.4),
    "thrust": _straight_arrow(6.0, 3.2),
    "brake": _shoes(),
    "law": [np.array([[1.7, 0, 0], [0, 1.7, 0], [-1.7, 0, 0], [0, -1.7, 0], [1.7, 0, 0]])],
    "axis": [np.array([[0, 0, -5.0], [0, 0, 5.0]])],
    "stream": _stream(),
}
