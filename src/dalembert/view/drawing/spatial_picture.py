"""Picture of a system in space: shaded solids, barrels and balls for joints, coil springs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ..scene import solids, symbols
from ..scene.figures import ARROW_LENGTH
from ..scene.line_symbols import color_of, in_space
from ..scene.projection import Placement, View
from ..scene.scene import Scene
from ..scene.solid_parts import STANDING, SolidPart, joint_radius, parts_of
from ..scene.symbol_shapes import PATCHES
from ..style import FAINT, INK, matplotlib
from .axes import project, set_space_limits

__all__ = ["SpatialPicture"]


_LIGHT = np.array([0.35, -0.55, 0.76])
PLANE_SIZE = 0.8  # of the size of the system, so that planes stay on the page
JOINT_OPACITY = 0.45  # of joints seen through bodies


class SpatialPicture:
    """Artists of a system in space; `update` moves them. Parameters are those of `PlanarPicture`."""

    def __init__(self, ax: Any, scene: Scene, view: View, placements: list[Placement], low: Array, high: Array) -> None:
        self.ax, self.scene, self.view = ax, scene, view
        self.moving: list[Any] = []
        self.fixed_eye = False  # True if the view cannot change: back faces are left out
        self.feet: list[Array] = []
        self.reach = float((high - low).max()) or 1.0
        self.radius = joint_radius(scene, self.reach)
        set_space_limits(ax, view, low, high)
        self._collect(low, high)
        self._add_artists(placements[0])
        self.update(placements[0])

    def _collect(self, low: Array, high: Array) -> None:
        """Collect the faces of all bodies and joints with the numbers of their frames."""
        parts = parts_of(self.scene, low, high, PLANE_SIZE)
        if not parts:
            dot = solids.ball(self.radius)
            parts = [SolidPart("ground", np.zeros(len(dot.corners), dtype=np.int64), dot, INK)]
        starts = np.cumsum([0, *(len(part.solid.corners) for part in parts)])
        self._local = np.concatenate([part.solid.corners for part in parts])
        self._owner = np.concatenate([part.frames for part in parts])
        self._faces = np.concatenate([part.solid.faces + start for part, start in zip(parts, starts, strict=False)])
        self._edged = np.concatenate([part.solid.edged for part in parts])
        to_rgb = matplotlib().colors.to_rgb
        colors = [[(*to_rgb(part.color), part.opacity)] * len(part.solid.faces) for part in parts]
        self._colors = np.array([color for faces in colors for color in faces])
        self._planes = np.concatenate([np.full(len(part.solid.faces), part.beneath) for part in parts])
        self._small = np.concatenate([np.full(len(part.solid.faces), part.drawn_last) for part in parts])

    # ---- artists

    def _add_artists(self, placement: Placement) -> None:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

        from .depth_order import BackgroundFaces, ForegroundFaces, ForegroundLines

        down = -np.eye(3)[self.view.up]
        feet = self.feet
        taken: list[Array] = []
        for joint in (j for j in self.scene.joints if j.grounded):
            if joint.kind not in STANDING:
                continue
            point = (joint.first if joint.first.number == 0 else joint.second).point(placement)
            if not any(np.linalg.norm(point - other) < self.radius for other in taken):
                taken.append(point)
                feet += symbols.pyramid(point, down, 2.2 * self.radius)
        if feet:
            self.ax.add_collection3d(Line3DCollection(feet, colors=FAINT, linewidths=0.8, gid="ground"), autolim=False)
        self._lines = Line3DCollection([np.zeros((2, 3))], colors=INK, linewidths=1.0, gid="springs")
        self.ax.add_collection3d(self._lines, autolim=False)
        self._loads = ForegroundLines([np.zeros((2, 3))], colors=PATCHES["effort"][0], linewidths=1.2, gid="loads")
        if self.scene.arrows:
            self.ax.add_collection3d(self._loads, autolim=False)
            self.moving.append(self._loads)
        if self.scene.lines or any(j.kind == "Prismatic" for j in self.scene.joints):
            self.moving.append(self._lines)
        else:
            self._lines.remove()
        self._reference = None
        if placement.reference:
            self._reference = Line3DCollection([np.zeros((2, 3))], colors=FAINT, linewidths=0.7, gid="undeformed")
            self.ax.add_collection3d(self._reference, autolim=False)
            self.moving.append(self._reference)
        self._sheets = BackgroundFaces(np.zeros((1, 4, 3)), gid="planes")
        if self._planes.any():
            self.ax.add_collection3d(self._sheets, autolim=False)
            self.moving.append(self._sheets)
        self._solids = Poly3DCollection(np.zeros((1, 4, 3)), gid="bodies")
        self.ax.add_collection3d(self._solids, autolim=False)
        self.moving.append(self._solids)
        self._shine: ForegroundFaces | None = None
        if self._small.any():
            self._shine = ForegroundFaces(np.zeros((1, 4, 3)), gid="seen through bodies")
            self.ax.add_collection3d(self._shine, autolim=False)
            self.moving.append(self._shine)

    def update(self, placement: Placement) -> None:
        """Move all artists to a placement."""
        R, p = placement.rotation[self._owner], placement.position[self._owner]
        world = np.einsum("nij,nj->ni", R, self._local) + p
        quads = world[self._faces]
        # a triangle repeats its last corner: the diagonals still span it
        normal = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal /= np.where(length > 0, length, 1.0)
        light = np.roll(_LIGHT, self.view.up - 2)
        shade = (0.72 + 0.28 * (normal @ light))[:, None]
        colors = self._colors.copy()
        # lit faces are mixed with white, the others are darkened
        colors[:, :3] = np.clip(self._colors[:, :3] * shade + 0.45 * np.maximum(shade - 0.5, 0), 0, 1)
        dark = np.column_stack([0.55 * self._colors[:, :3], np.ones(len(colors))])
        edges = np.where(self._edged[:, None], dark, colors)
        widths = np.where(self._edged, 0.5, 0.8)
        if self._shine is not None:
            small = self._small & self._towards_the_eye(world) if self.fixed_eye else self._small
            self._shine.set_verts(quads[small])
            self._shine.set(
                facecolor=np.column_stack([colors[small, :3], np.full(small.sum(), JOINT_OPACITY)]), linewidth=0
            )
        seen = self._towards_the_eye(world) if self.fixed_eye else np.ones(len(quads), dtype=bool)
        for artist, faces in ((self._solids, seen & ~self._planes), (self._sheets, self._planes)):
            artist.set_verts(quads[faces])
            artist.set(facecolor=colors[faces], edgecolor=edges[faces], linewidth=widths[faces])
        if self._reference is not None:
            lines = [line for body in self.scene.bodies for line in body.undeformed(placement)]
            self._reference.set_segments(lines or [np.zeros((2, 3))])
        if self.scene.arrows:
            self._loads.set_segments(self._arrows(placement) or [np.zeros((2, 3))])
        if self._lines in self.moving:
            stretched, inks = self._polylines(placement)
            self._lines.set_segments(stretched)
            self._lines.set_color(inks)

    def _towards_the_eye(self, world: Array) -> BoolArray:
        """Return which faces show their outer side, with all transparent ones."""
        flat = project(self.ax, world)[self._faces]
        one, other = flat[:, 2] - flat[:, 0], flat[:, 3] - flat[:, 1]
        towards: BoolArray = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0] > 0
        return towards | (self._colors[:, 3] < 1)

    def add_ghost(self, placement: Placement) -> None:
        """Draw the bodies faintly at another placement."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        world = np.einsum("nij,nj->ni", placement.rotation[self._owner], self._local) + placement.position[self._owner]
        colors = np.column_stack([self._colors[:, :3], 0.12 * self._colors[:, 3]])
        ghost = Poly3DCollection(world[self._faces], facecolors=colors, edgecolors="none", gid="ghost")
        self.ax.add_collection3d(ghost, autolim=False)

    def _polylines(self, placement: Placement) -> tuple[list[Array], list[str]]:
        lines: list[Array] = []
        colors: list[str] = []
        for figure in self.scene.lines:
            start, end = figure.first.point(placement), figure.second.point(placement)
            found = in_space(figure.symbol, start, end, 3.0 * self.radius)
            lines += found
            colors += [color_of(figure.symbol)] * len(found)
        for joint in self.scene.joints:
            if joint.kind == "Prismatic":
                ends = np.array([joint.first.point(placement), joint.second.point(placement)])
                axis = joint.first.direction(placement, np.asarray(joint.element.axis))  # type: ignore[union-attr]
                travel = np.array([0.0, (ends[1] - ends[0]) @ axis])
                reach = 6 * self.radius
                lines.append(ends[0] + np.outer([travel.min() - reach, travel.max() + reach], axis))
                colors.append(INK)
        return lines, colors

    def _arrows(self, placement: Placement) -> list[Array]:
        lines: list[Array] = []
        for arrow in self.scene.arrows:
            vector = arrow.seen(placement)
            size = float(np.linalg.norm(vector))
            if size:
                shift = vector / size * ARROW_LENGTH * self.reach
                lines += _arrow(arrow.end.point(placement), shift, 2 * self.radius, double=arrow.kind == "moment")
        return lines


def _arrow(end: Array, shift: Array, head: float, *, double: bool) -> list[Array]:
    """Return the lines of an arrow that ends at a point: shaft and head; two heads for a moment."""
    frame = solids.turned_z(shift / np.linalg.norm(shift))
    lines = [np.array([end - shift, end])]
    for tip in (end, end - head * frame[:, 2])[: 1 + double]:
        barbs = [tip - 1.6 * head * frame[:, 2] + s * 0.6 * head * frame[:, k] for k in (0, 1) for s in (1, -1)]
        lines += [np.array([barbs[0], tip, barbs[1]]), np.array([barbs[2], tip, barbs[3]])]
    return lines
