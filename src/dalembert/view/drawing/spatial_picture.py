"""A system in space: shaded solids, barrels and balls for joints, coil springs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scene import solids, symbols
from ..scene.figures import ARROW
from ..scene.line_symbols import color_of, in_space
from ..scene.projection import Placement, View
from ..scene.scene import Scene
from ..scene.solid_parts import STANDING, SolidPart, joint_radius, parts_of
from ..scene.symbol_shapes import PATCHES
from ..style import FAINT, INK, matplotlib

__all__ = ["SpatialPicture", "page_of", "project"]

Array = NDArray[np.float64]

_LIGHT = np.array([0.35, -0.55, 0.76])
_ELEVATION, _AZIMUTH = 20.0, -58.0  # degrees
_WIDE = 0.8  # planes stay on the page
_SHINE = 0.45  # how much of a joint is seen through bodies
_FIGURES = np.array([(16.0, 46.0), (60.0, 6.0)])  # pt for figures and names: left and below, right and above the box


def box_of(low: Array, high: Array) -> Array:
    """Return the edges (3,) m of the box that is shown: never too flat."""
    reach = float((high - low).max()) or 1.0
    result: Array = np.maximum(high - low, 0.2 * reach) + 0.1 * reach
    return result


def page_of(view: View, low: Array, high: Array) -> tuple[float, float]:
    """Return width and height (inches) of a figure that suits a box seen from our side."""
    x, y, z = np.roll(box_of(low, high), 2 - view.up)
    azimuth, elevation = np.radians([_AZIMUTH, _ELEVATION])
    width = abs(x * np.sin(azimuth)) + abs(y * np.cos(azimuth))
    height = z * np.cos(elevation) + (abs(x * np.cos(azimuth)) + abs(y * np.sin(azimuth))) * np.sin(elevation)
    ratio = float(np.clip(height / width, 0.35, 2.0))
    return (6.4, 5.6 * ratio + 0.8) if ratio < 0.9 else (5.2 / ratio + 0.8, 6.0)


def project(ax: Any, points: Array) -> Array:
    """Return where points (k, 3) of the world are in the plane that 3-D axes draw on, (k, 2)."""
    from mpl_toolkits.mplot3d import proj3d

    x, y, _ = proj3d.proj_transform(*points.T, ax.get_proj())
    return np.column_stack([x, y])


class SpatialPicture:
    """The artists of a system in space; `update` moves them. Parameters as for `PlanarPicture`."""

    def __init__(self, ax: Any, scene: Scene, view: View, placements: list[Placement], low: Array, high: Array) -> None:
        self.ax, self.scene, self.view = ax, scene, view
        self.moving: list[Any] = []
        self.fixed_eye = False  # set where nobody can turn the picture: faces that look away are then left out
        self.feet: list[Array] = []
        self._set_limits(low, high)
        self._collect(low, high)
        self._add_artists(placements[0])
        self.update(placements[0])

    # ---- sizes

    def _set_limits(self, low: Array, high: Array) -> None:
        ax = self.ax
        self.reach = float((high - low).max()) or 1.0
        self.radius = joint_radius(self.scene, self.reach)
        span = box_of(low, high)
        middle = (low + high) / 2
        ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        for name, c, s in zip("xyz", middle, span, strict=True):
            getattr(ax, f"set_{name}lim")(c - s / 2, c + s / 2, auto=False)
            axis = getattr(ax, f"{name}axis")
            ticks = 2 if s < 0.45 * span.max() else 4
            axis.set_major_locator(matplotlib().ticker.MaxNLocator(ticks, steps=[1, 2, 5, 10]))
            axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
            axis.line.set_color("#BBBBBB")
            axis._axinfo["grid"].update({"color": "#E6E6E6", "linewidth": 0.5})
            axis.set_tick_params(pad=0)
            axis.labelpad = 8
        ax.set_proj_type("persp", focal_length=1.6)
        ax.view_init(elev=_ELEVATION, azim=_AZIMUTH, vertical_axis="xyz"[self.view.up])
        self._fill(span)

    def _fill(self, span: Array) -> None:
        """Make the box as large as the page allows with room for its figures, and put it in the middle."""
        ax = self.ax
        zoom = 1.0
        corners = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
        corners = limits[:, 0] + corners * (limits[:, 1] - limits[:, 0])
        page = ax.figure.get_size_inches() * ax.figure.dpi
        window = ax.get_window_extent()
        room = np.minimum(page, [window.width, window.height])
        before, after = np.minimum(_FIGURES * ax.figure.dpi / 72, 0.2 * room)
        room -= before + after
        for _ in range(3):
            ax.set_box_aspect(tuple(span), zoom=zoom)
            seen = ax.transData.transform(project(ax, corners))
            zoom *= float((room / np.ptp(seen, axis=0)).min())
        if ax.get_gid() == "page":
            off = ((before + page - after) / 2 - (seen.min(axis=0) + seen.max(axis=0)) / 2) / page
            box = ax.get_position()
            ax.set_position((box.x0 + off[0], box.y0 + off[1], box.width, box.height))

    def _collect(self, low: Array, high: Array) -> None:
        """Gather the faces of all bodies and joints, each with the number of the frame that carries it."""
        parts = parts_of(self.scene, low, high, _WIDE)
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
        self._small = np.concatenate([np.full(len(part.solid.faces), part.shines) for part in parts])

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
        """Move everything to where the bodies are."""
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
        # lit faces lean towards white, the others towards their own colour darkened
        colors[:, :3] = np.clip(self._colors[:, :3] * shade + 0.45 * np.maximum(shade - 0.5, 0), 0, 1)
        dark = np.column_stack([0.55 * self._colors[:, :3], np.ones(len(colors))])
        edges = np.where(self._edged[:, None], dark, colors)
        widths = np.where(self._edged, 0.5, 0.8)
        if self._shine is not None:
            small = self._small & self._towards_the_eye(world) if self.fixed_eye else self._small
            self._shine.set_verts(quads[small])
            self._shine.set(facecolor=np.column_stack([colors[small, :3], np.full(small.sum(), _SHINE)]), linewidth=0)
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

    def _towards_the_eye(self, world: Array) -> NDArray[np.bool_]:
        """Return which faces show their outer side, and all that can be seen through."""
        flat = project(self.ax, world)[self._faces]
        one, other = flat[:, 2] - flat[:, 0], flat[:, 3] - flat[:, 1]
        towards: NDArray[np.bool_] = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0] > 0
        return towards | (self._colors[:, 3] < 1)

    def add_ghost(self, placement: Placement) -> None:
        """Draw the bodies once more, faintly, where they were or will be."""
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
            found = in_space(figure.look, start, end, 3.0 * self.radius)
            lines += found
            colors += [color_of(figure.look)] * len(found)
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
                shift = vector / size * ARROW * self.reach
                lines += _arrow(arrow.end.point(placement), shift, 2 * self.radius, double=arrow.kind == "moment")
        return lines


def _arrow(end: Array, shift: Array, head: float, *, double: bool) -> list[Array]:
    """Return the lines of an arrow that ends at a point: the shaft, and the head from two sides; two for a moment."""
    frame = solids.turned_z(shift / np.linalg.norm(shift))
    lines = [np.array([end - shift, end])]
    for tip in (end, end - head * frame[:, 2])[: 1 + double]:
        barbs = [tip - 1.6 * head * frame[:, 2] + s * 0.6 * head * frame[:, k] for k in (0, 1) for s in (1, -1)]
        lines += [np.array([barbs[0], tip, barbs[1]]), np.array([barbs[2], tip, barbs[3]])]
    return lines
