"""Force elements in a plane drawing: line symbols, patches as outlines and strokes, loads as arrows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ..scene import solids, symbols
from ..scene.figures import ARROW_LENGTH, PatchFigure
from ..scene.line_symbols import color_of, in_plane
from ..scene.projection import Placement, View
from ..scene.scene import Scene
from ..scene.symbol_shapes import MARKS, PATCHES, symbol_shape
from ..style import FAINT, INK, tint

__all__ = ["PlanarElements"]


EDGE_ON_TOL = 0.05  # sine below which a plane is seen edge-on


class PlanarElements:
    """Artists of all force elements; `update` moves them.

    Parameters
    ----------
    ax : matplotlib axes
    scene : Scene
    view : View
    radius : float, m
        Of a joint.
    line : float
        Factor for line widths.
    low, high : (3,) m
        Box of the picture.
    """

    def __init__(self, ax: Any, scene: Scene, view: View, radius: float, line: float, low: Array, high: Array) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        self.scene, self.view, self.radius = scene, view, radius
        self.reach, self.middle = float((high - low).max()) or 1.0, (low + high) / 2
        self._looks = [symbol_shape(patch, radius, self.reach) for patch in scene.patches]
        self._areas = PolyCollection([], linewidths=0.9 * line, zorder=1.9, gid="patches")
        self._marks = PolyCollection([], linewidths=0.9 * line, zorder=4.1, gid="marks")
        self._strokes = LineCollection([], linewidths=1.2 * line, capstyle="round", zorder=4.2, gid="strokes")
        self._ground = LineCollection([], colors=FAINT, linewidths=0.8 * line, zorder=1.2, gid="planes")
        self._lines = LineCollection([], linewidths=1.1 * line, joinstyle="round", zorder=4, gid="springs")
        self._arrows = PolyCollection([], facecolors=PATCHES["effort"][0], edgecolors="none", zorder=7, gid="loads")
        self.artists = [self._areas, self._marks, self._strokes, self._ground, self._lines, self._arrows]
        for artist in self.artists:
            ax.add_collection(artist, autolim=False)

    def update(self, placement: Placement) -> None:
        """Move all artists to a placement."""
        areas: dict[bool, list[tuple[Array, Any, str]]] = {True: [], False: []}
        strokes, inks, ground = [], [], []
        for patch, look in zip(self.scene.patches, self._looks, strict=True):
            color, opacity = PATCHES[patch.symbol]
            R = placement.rotation[patch.end.frame] @ patch.axes
            p = placement.points(patch.end.frame, patch.end.offset)
            if patch.symbol == "plane":
                ground += self._plane(patch, R[:, 2], p)
                continue
            for solid in look.solids:
                face = (*tint(color, 0.5), 0.75 * opacity)
                areas[patch.symbol in MARKS].append((self._outline(solid, R, p), face, color))
            if (
                patch.symbol == "rail" and patch.end.number == 0
            ):  # it extends along all bodies, regardless of its marker
                p = p + ((self.middle - p) @ R[:, 2]) * R[:, 2]
            for stroke in look.strokes:
                strokes.append(self.view.project(stroke @ R.T + p))
                inks.append(color)
        for curve in self.scene.curves:
            R, p = placement.rotation[curve.end.frame], placement.position[curve.end.frame]
            strokes.append(self.view.project(curve.points @ R.T + p))
            inks.append(INK)
        for artist, found in ((self._areas, areas[False]), (self._marks, areas[True])):
            artist.set(
                verts=[outline for outline, _, _ in found],
                facecolor=[face for _, face, _ in found],
                edgecolor=[edge for _, _, edge in found],
            )
        self._strokes.set(segments=strokes, color=inks)
        self._ground.set_segments(ground)
        self._stretch(placement)
        self._arrows.set_verts(self._loads(placement))

    def _outline(self, solid: solids.Solid, R: Array, p: Array) -> Array:
        """Return the projected outline of a solid: of a wheel from the front exactly, else its convex hull."""
        if solid.outline is not None and abs(R[self.view.normal, 2]) > 1 - 1e-9:
            return self.view.project(solid.outline @ R.T + p)
        seen = self.view.project(solid.corners @ R.T + p)
        return seen[solids.silhouette(seen)]

    def _plane(self, patch: PatchFigure, normal: Array, p: Array) -> list[Array]:
        """Return the hatched line of a plane seen edge-on; nothing from the front."""
        seen = self.view.project(normal)
        size = float(np.hypot(*seen))
        if size < EDGE_ON_TOL:
            return []
        side = -seen / size
        along = np.array([-side[1], side[0]])
        foot = self.view.project(p)
        middle = self.view.project(self.middle) if patch.end.number == 0 else foot
        centre = foot + ((middle - foot) @ along) * along
        half = 0.55 * self.reach * along
        return symbols.hatching(centre - half, centre + half, side, 1.6 * self.radius)

    def _stretch(self, placement: Placement) -> None:
        lines: list[Array] = []
        colors: list[str] = []
        for figure in self.scene.lines:
            start, end = (self.view.project(e.point(placement)) for e in (figure.first, figure.second))
            found = in_plane(figure.symbol, start, end, 3.0 * self.radius)
            lines += found
            colors += [color_of(figure.symbol)] * len(found)
        self._lines.set(segments=lines, color=colors)

    def _loads(self, placement: Placement) -> list[Array]:
        """Return the outlines of arrows that end at the points of action of loads; the largest has a set length."""
        vectors: list[tuple[str, Array, Array]] = []
        for arrow in self.scene.arrows:
            vectors.append((arrow.kind, arrow.end.point(placement), arrow.seen(placement)))
        largest = {kind: max(float(np.linalg.norm(v)) for k, _, v in vectors if k == kind) for kind, *_ in vectors}
        found = []
        for kind, at, vector in vectors:
            if not largest[kind]:
                continue
            shift = self.view.project(vector) * ARROW_LENGTH * self.reach / largest[kind]
            length = float(np.hypot(*shift))
            across = float(vector @ self.view.towards) / largest[kind]
            if kind == "moment" and abs(across) * ARROW_LENGTH * self.reach > max(length, self.radius):
                found.append(_turn(self.view.project(at), across, 3.6 * self.radius, 0.5 * self.radius))
            elif length > self.radius:
                found.append(_arrow(self.view.project(at) - shift, shift, 0.5 * self.radius, double=kind == "moment"))
        return found


def _turn(middle: Array, way: float, size: float, width: float) -> Array:
    """Return the outline (k, 2) m of a circular arrow, counterclockwise if `way` is positive."""
    ends, neck = np.radians([-150.0, 110.0]), np.radians(65.0)
    angle = np.linspace(ends[0], neck, 30)
    rim = [(size + side * 0.35 * width, turn) for side, turns in ((1, angle), (-1, angle[::-1])) for turn in turns]
    head = [(size + 1.6 * width, neck), (size, ends[1]), (size - 1.6 * width, neck)]
    r, a = np.array(rim[:30] + head + rim[30:]).T
    return np.asarray(middle + np.column_stack([r * np.cos(a) * (1.0 if way > 0 else -1.0), r * np.sin(a)]))


def _arrow(start: Array, shift: Array, width: float, *, double: bool) -> Array:
    """Return the outline (k, 2) of an arrow; that of a moment has a second head."""
    length = float(np.hypot(*shift))
    along = shift / length
    across = np.array([-along[1], along[0]])
    head = min(5 * width, 0.6 * length)
    half = [(0.0, 0.35), (length - head, 0.35), (length - head, 1.4), (length, 0.0)]
    if double:
        step = 0.6 * head
        half = [(0.0, 0.35), (length - head - step, 0.35), (length - head - step, 1.4), (length - head, 0.5), *half[2:]]
    points = np.array(half + [(s, -w) for s, w in half[-2::-1]])
    return np.asarray(start + np.outer(points[:, 0], along) + width * np.outer(points[:, 1], across))
