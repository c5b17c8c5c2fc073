"""Picture of a system in a plane: outlines, links and textbook symbols of joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ..scene import solids, symbols
from ..scene.attachments import Attachment
from ..scene.projection import Placement, View
from ..scene.scene import BodyFigure, JointFigure, Scene
from ..style import FAINT, INK, PAPER, legible, tint
from .axes import SYMBOL_SIZE, set_plane_limits
from .planar_elements import PlanarElements

__all__ = ["PlanarPicture"]


_MIN_SYMBOL_SIZE = 2.0  # pt
_DOWN, _UP, _LEFT, _RIGHT = (np.array(d, dtype=float) for d in ((0, -1), (0, 1), (-1, 0), (1, 0)))
# symbol of a joint from the front: marker, its size relative to a pin, its face; a second marker on top
_MARKS: dict[str, tuple[str, float, str, str]] = {
    "Revolute": ("o", 1.0, PAPER, ""),
    "Screw": ("o", 1.0, PAPER, "+"),
    "Cylindrical": ("o", 1.15, PAPER, "o"),
    "Spherical": ("o", 1.15, PAPER, "."),
    "Universal": ("o", 1.15, PAPER, "x"),
    "Planar": ("D", 0.8, PAPER, ""),
    "Fixed": ("s", 0.7, INK, ""),
    "Distance": ("o", 0.45, INK, ""),
    "PointOnLine": ("o", 0.6, INK, ""),
    "PointOnPlane": ("o", 0.6, INK, ""),
    "CustomJoint": ("D", 0.8, PAPER, "."),
    "CustomConstraint": ("o", 0.6, INK, ""),
    "PfaffianConstraint": ("o", 0.6, INK, ""),
    "KinematicChain": ("o", 0.45, INK, ""),
    "Rope": ("o", 0.45, INK, ""),
    "PointOnPoint": ("o", 1.0, PAPER, "."),
}
_BARE = ("CustomConstraint", "PfaffianConstraint", "PointOnPlane", "PointOnLine")  # without a bearing
_SIDEWAYS = {"Prismatic": (2.7, 1.7), "Cylindrical": (2.7, 1.5), "Screw": (2.4, 1.3), "Revolute": (1.6, 0.8)}


class PlanarPicture:
    """Artists of a system in a plane; `update` moves them.

    Parameters
    ----------
    ax : matplotlib axes
    scene : Scene
    view : View
    placements : list of Placement
        The first is drawn; all of them determine rails and bearings.
    low, high : (3,) m
        Box to fit.
    """

    def __init__(self, ax: Any, scene: Scene, view: View, placements: list[Placement], low: Array, high: Array) -> None:
        self.ax, self.scene, self.view = ax, scene, view
        self.moving: list[Any] = []
        self.joint_marks: dict[str, tuple[Any, list[Attachment]]] = {}
        self._set_limits(low, high)
        self._add_ground(placements)
        self._add_bodies(placements[0])
        self._add_guides()
        radius = 0.5 * self.symbol * self.point
        self._elements = PlanarElements(ax, scene, view, radius, self.line, low, high)
        self.moving += self._elements.artists
        self._add_joints(placements[0])
        self.update(placements[0])

    # ---- sizes

    def _set_limits(self, low: Array, high: Array) -> None:
        self.point = set_plane_limits(self.ax, self.view, low, high)
        spacing = self.scene.spacing() / self.point
        self.symbol = float(np.clip(0.3 * spacing, _MIN_SYMBOL_SIZE, SYMBOL_SIZE)) if spacing else SYMBOL_SIZE
        self.line = 0.6 + 0.4 * self.symbol / SYMBOL_SIZE  # factor for line widths

    # ---- fixed artists

    def _add_ground(self, placements: list[Placement]) -> None:
        from matplotlib.collections import LineCollection

        rails: list[Array] = []
        taken: list[Array] = []
        for joint in (j for j in self.scene.joints if j.grounded):
            if joint.kind in ("Prismatic", "PointOnLine") and self._in_plane(joint, placements[0]) is not None:
                rails += self._rail(joint, placements)
            elif joint.kind in _MARKS and joint.kind not in _BARE:
                end = joint.first if joint.first.number == 0 else joint.second
                point = self.view.project(end.point(placements[0]))
                if not any(np.hypot(*(point - other)) < 0.5 * self.symbol * self.point for other in taken):
                    taken.append(point)
                    self._add_bearing(point, self._bearing_direction(joint, point, placements), joint.kind != "Fixed")
        for spring in (line for line in self.scene.lines if line.symbol not in ("link", "line")):
            for near, other in ((spring.first, spring.second), (spring.second, spring.first)):
                if near.number == 0:
                    point, far = (self.view.project(e.point(placements[0])) for e in (near, other))
                    if not any(np.hypot(*(point - there)) < 0.5 * self.symbol * self.point for there in taken):
                        taken.append(point)
                        self._add_bearing(point, point - far if np.hypot(*(point - far)) else _DOWN, False)
        if rails:
            self.ax.add_collection(
                LineCollection(rails, colors=INK, linewidths=0.8 * self.line, zorder=1, gid="rails"), autolim=False
            )

    def _add_bearing(self, point: Array, down: Array, feet: bool) -> None:
        self.ax.plot(
            *point[:, None],
            linestyle="none",
            marker=symbols.ground_pivot(down, feet=feet),
            markersize=3.6 * self.symbol,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=0.8 * self.line,
            zorder=3.05,
            gid="ground",
        )

    def _bearing_direction(self, joint: JointFigure, point: Array, placements: list[Placement]) -> Array:
        """Return the side on which a bearing covers least: below, above, left or right."""
        figure = self._figure(joint.mover)
        local = figure.points() if figure is not None else np.zeros((0, 3))
        if not len(local):
            return _DOWN
        centers = np.array(
            [self.view.project(p.points(joint.mover.number, local).mean(axis=0)) - point for p in placements]
        )
        length = np.hypot(*centers.T)[:, None]
        directions = np.where(length > 0.01 * self.symbol * self.point, centers / np.maximum(length, 1e-300), 0.0)
        sides = (_DOWN, _UP, _LEFT, _RIGHT)
        costs = [np.maximum(directions @ side, 0.0).mean() for side in sides]
        return sides[int(np.argmin(np.array(costs) + np.array([0.0, 0.1, 0.2, 0.2])))]

    def _rail(self, joint: JointFigure, placements: list[Placement]) -> list[Array]:
        """Return the hatched line on which a block slides on ground."""
        along = self._in_plane(joint, placements[0])
        assert along is not None
        side = np.array([along[1], -along[0]])
        if side[1] > 1e-9 or (abs(side[1]) <= 1e-9 and side[0] > 0):
            side = -side
        points = np.array([self.view.project(joint.mover.point(p)) for p in placements])
        travel = points @ along
        base = points[0] - along * travel[0]
        length, width = self._block_size(joint)
        drop, reach = width / 2, 1.1 * length
        figure = self._figure(joint.mover)
        if figure is not None and figure.solids:
            corners = self.view.project(placements[0].points(figure.number, figure.points())) - points[0]
            drop, reach = float((corners @ side).max()), max(reach, 1.25 * float(np.abs(corners @ along).max()))
        if joint.kind == "PointOnLine":
            drop, reach = 0.0, max(2.0 * reach, 4.0 * length)
        start, end = (base + along * s + side * drop for s in (travel.min() - reach, travel.max() + reach))
        return symbols.hatching(start, end, side, 0.9 * self.symbol * self.point)

    # ---- moving artists

    def _add_bodies(self, placement: Placement) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        self._pieces: list[tuple[int, Array, bool]] = []
        self._bars: list[tuple[int, Array]] = []
        self._thin: list[tuple[int, Array]] = []
        self._bent: list[NDArray[np.int64]] = []
        self._mesh_edges: list[NDArray[np.int64]] = []
        face, edge, bar, thin = [], [], [], []
        bent, meshed = [], []
        for body in sorted(self.scene.bodies, key=lambda each: self._nearness(placement, each)):
            pieces = [self._seen(placement, body.number, solid) for solid in body.solids]
            if body.panel is not None:
                pieces.append((self._outline(placement, body.number, body.panel), False))
            tones = [body.looks_of(solid) for solid in body.solids] + [(body.color, body.opacity)]
            for (points, as_is), (tone, opacity) in zip(pieces, tones, strict=False):
                self._pieces.append((body.number, points, as_is))
                face.append((*tint(tone, 0.72), 0.92 * opacity))
                edge.append(legible(tone))
            for pair in body.bars:
                self._bars.append((body.number, np.array(pair)))
                bar.append(body.ink)
            for pair in (*body.ties, *self._spokes(placement, body)):
                self._thin.append((body.number, np.array(pair)))
                thin.append(body.ink)
            for frame, tip in body.arms:
                self._thin.append((frame, np.array([np.zeros(3), tip])))
                thin.append(body.ink)
            if body.mesh is not None:
                self._bent += [body.first + line for line in body.mesh.lines]
                bent += [body.ink] * len(body.mesh.lines)
                self._mesh_edges += [body.first + side for side in body.mesh.edges]
                meshed += [body.ink] * len(body.mesh.edges)
        bar, thin = bar + bent, thin + meshed
        self._piece_colors, self._bar_colors = edge, bar
        width = 0.8 * self.symbol
        self._polygons = PolyCollection([], facecolors=face, edgecolors=edge, linewidths=1.1 * self.line, zorder=2)
        self._thin_lines = LineCollection([], colors=thin, linewidths=1.0 * self.line, zorder=3)
        self._bar_edges = LineCollection(
            [], colors=bar, linewidths=width, capstyle="round", joinstyle="round", zorder=3.1
        )
        tints = [tint(c, 0.65) for c in bar]
        inside = max(width - 2.0 * self.line, 0.35 * width)
        self._bar_faces = LineCollection(
            [], colors=tints, linewidths=inside, capstyle="round", joinstyle="round", zorder=3.2
        )
        for artist, gid in (
            (self._polygons, "bodies"),
            (self._thin_lines, "ties"),
            (self._bar_edges, "bars"),
            (self._bar_faces, "bars inside"),
        ):
            self._add(artist, gid)
        self._add_flexible(placement)
        self._marked = [(b.number, b.com) for b in self.scene.bodies if b.com is not None]
        self._masses = self.ax.plot(
            [],
            [],
            linestyle="none",
            marker=symbols.center_of_mass(),
            markersize=0.7 * self.symbol,
            markerfacecolor=PAPER,
            markeredgecolor=INK,
            markeredgewidth=0.6 * self.line,
            zorder=3.5,
            gid="centres of mass",
        )[0]
        self.moving.append(self._masses)

    def _nearness(self, placement: Placement, body: BodyFigure) -> float:
        """Return the depth of the middle of a body, towards the reader, for the order of drawing."""
        points = body.points()
        if body.mesh is not None:
            points = np.zeros((1, 3))
        middle = placement.points(body.number, points).mean(axis=0) if len(points) else placement.position[body.number]
        # rounded: bodies of equal depth keep the order of description
        return round(float(self.view.towards @ middle) / (0.01 * self.point))

    def _add_flexible(self, placement: Placement) -> None:
        """Add the nodes of flexible bodies without known elements, and thin grey lines of undeformed bodies."""
        from matplotlib.collections import LineCollection

        self._nodes: list[tuple[Any, NDArray[np.int64]]] = []
        for body in self.scene.bodies:
            if body.mesh is not None and len(body.mesh.points):
                options = {"markerfacecolor": body.ink, "markeredgecolor": "none", "zorder": 3, "gid": "nodes"}
                dots = self.ax.plot([], [], linestyle="none", marker="o", markersize=0.35 * self.symbol, **options)[0]
                self._nodes.append((dots, body.first + body.mesh.points))
                self.moving.append(dots)
        self._reference = None
        if placement.reference:
            self._reference = LineCollection([], colors=FAINT, linewidths=0.7, zorder=1.8)
            self._add(self._reference, "undeformed")

    def _bar_lines(self, placement: Placement) -> list[Array]:
        """Return the thick lines (k, 2) m: bars and deformed beams."""
        straight = [self.view.project(placement.points(number, pair)) for number, pair in self._bars]
        return straight + [self.view.project(placement.position[frames]) for frames in self._bent]

    def _spokes(self, placement: Placement, body: BodyFigure) -> list[tuple[Array, Array]]:
        """Return a radius of every round solid seen along its axis, which shows its rotation."""
        found = []
        for solid in body.solids:
            if solid.round_about is None:
                continue
            if abs(placement.direction(body.number, solid.round_about)[self.view.normal]) > 0.999:
                middle = solid.corners.mean(axis=0)
                rim = solid.corners[0] - middle
                found.append((middle, middle + rim - solid.round_about * (rim @ solid.round_about)))
        return found

    def _add_guides(self) -> None:
        from matplotlib.collections import LineCollection

        self._guides = [
            j for j in self.scene.joints if not j.grounded and j.kind in ("Prismatic", "Cylindrical", "PointOnLine")
        ]
        self._stretched = LineCollection([], colors=INK, linewidths=1.3 * self.line, zorder=2.9)
        self._add(self._stretched, "guides")

    def _add_joints(self, placement: Placement) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        self._blocks: list[JointFigure] = []
        groups: dict[str, list[Attachment]] = {}
        for joint in self.scene.joints:
            if joint.kind in _SIDEWAYS and self._in_plane(joint, placement) is not None:
                if not (joint.kind == "Prismatic" and self._outlined(joint.mover)):
                    self._blocks.append(joint)
            elif joint.kind in ("Distance", "KinematicChain", "Rope"):
                groups.setdefault(joint.kind, []).extend([joint.first, joint.second])
            elif joint.kind in _MARKS:
                groups.setdefault(joint.kind, []).append(joint.mover)
        edge = 1.0 * self.line
        self._block_faces = PolyCollection([], facecolors=PAPER, edgecolors=INK, linewidths=edge, zorder=4.5)
        self._add(self._block_faces, "slider blocks")
        self._shafts = LineCollection([], colors=INK, linewidths=0.8 * self.line, zorder=4.6)
        self._add(self._shafts, "shafts")
        for kind, ends in sorted(groups.items(), key=lambda item: item[0] == "Fixed", reverse=True):
            marker, size, color, top = _MARKS[kind]
            options = {"linestyle": "none", "markeredgecolor": INK, "markeredgewidth": edge}
            size *= self.symbol
            line = self.ax.plot(
                [], [], marker=marker, markersize=size, markerfacecolor=color, zorder=5, gid=f"joints {kind}", **options
            )[0]
            self.joint_marks[kind] = (line, ends)
            self.moving.append(line)
            if top:
                face = "none" if top == "o" else INK
                inner = self.ax.plot([], [], marker=top, markersize=0.5 * size, zorder=5.1, **options)[0]
                inner.set(markerfacecolor=face, gid=f"joints {kind} inside")
                self.joint_marks[f"{kind} inside"] = (inner, ends)
                self.moving.append(inner)

    def update(self, placement: Placement) -> None:
        """Move all artists to a placement."""
        project = self.view.project
        self._polygons.set_verts([self._polygon(placement, *piece) for piece in self._pieces])
        bars = self._bar_lines(placement)
        self._bar_edges.set_segments(bars)
        self._bar_faces.set_segments(bars)
        thin = [project(placement.points(number, pair)) for number, pair in self._thin]
        self._thin_lines.set_segments(thin + [project(placement.position[side]) for side in self._mesh_edges])
        for dots, frames in self._nodes:
            dots.set_data(*project(placement.position[frames]).T)
        if self._reference is not None:
            lines = [project(line) for body in self.scene.bodies for line in body.undeformed(placement)]
            self._reference.set_segments(lines)
        self._stretched.set_segments([self._line_between(j, placement) for j in self._guides])
        self._elements.update(placement)
        self._block_faces.set_verts([self._block(j, placement) for j in self._blocks])
        self._shafts.set_segments([line for j in self._blocks for line in self._shaft(j, placement)])
        if self._marked:
            self._masses.set_data(*project(np.array([placement.points(n, com) for n, com in self._marked])).T)
        for line, ends in self.joint_marks.values():
            line.set_data(*project(np.array([end.point(placement) for end in ends])).T)

    def add_ghost(self, placement: Placement) -> None:
        """Draw the bodies faintly at another placement."""
        from matplotlib.collections import LineCollection, PolyCollection

        outlines = [self._polygon(placement, *piece) for piece in self._pieces]
        edges = [(*tint(color, 0.0), 0.3) for color in self._piece_colors]
        bars = self._bar_lines(placement)
        colors = [(*tint(color, 0.0), 0.28) for color in self._bar_colors]
        width = 0.45 * self.symbol
        self.ax.add_collection(
            PolyCollection(outlines, facecolors="none", edgecolors=edges, linewidths=0.8, zorder=1.5, gid="ghost"),
            autolim=False,
        )
        self.ax.add_collection(
            LineCollection(bars, colors=colors, linewidths=width, capstyle="round", zorder=1.5, gid="ghost"),
            autolim=False,
        )

    # ---- pieces

    def _add(self, artist: Any, gid: str) -> None:
        artist.set_gid(gid)
        self.ax.add_collection(artist, autolim=False)
        self.moving.append(artist)

    def _figure(self, end: Attachment) -> BodyFigure | None:
        return self.scene.bodies[end.number - 1] if end.number else None

    def _outlined(self, end: Attachment) -> bool:
        figure = self._figure(end)
        return figure is not None and bool(figure.solids)

    def _in_plane(self, joint: JointFigure, placement: Placement) -> Array | None:
        """Return the projected direction (2,) of a joint's axis, or None if it points at the reader."""
        axis = joint.axis(placement)
        seen = None if axis is None else self.view.project(axis)
        if seen is None or np.hypot(*seen) < 0.5:
            return None
        return np.asarray(seen / np.hypot(*seen))

    def _outline(self, placement: Placement, number: int, points: Array) -> Array:
        """Return the points of the outline; all points if the outline changes with the orientation."""
        if not self.view.steady:
            return points
        return points[solids.silhouette(self.view.project(placement.points(number, points)))]

    def _seen(self, placement: Placement, number: int, solid: solids.Solid) -> tuple[Array, bool]:
        """Return the outline of a solid, and whether it is exact: that of a prism from the front."""
        if solid.outline is not None:
            across = self.view.project(placement.points(number, solid.corners[[0, len(solid.outline)]]))
            if np.hypot(*(across[1] - across[0])) < 1e-6 * np.linalg.norm(solid.corners[0] - solid.outline[0]):
                return solid.outline, True
        return self._outline(placement, number, solid.corners), False

    def _polygon(self, placement: Placement, number: int, points: Array, as_is: bool) -> Array:
        seen = self.view.project(placement.points(number, points))
        return seen if self.view.steady or as_is else seen[solids.silhouette(seen)]

    def _block_size(self, joint: JointFigure) -> tuple[float, float]:
        length, width = _SIDEWAYS.get(joint.kind, (1.0, 1.0))
        return length * self.symbol * self.point, width * self.symbol * self.point

    def _block(self, joint: JointFigure, placement: Placement) -> Array:
        along = self._in_plane(joint, placement)
        along = _RIGHT if along is None else along
        return symbols.frame_block(self.view.project(joint.mover.point(placement)), along, *self._block_size(joint))

    def _shaft(self, joint: JointFigure, placement: Placement) -> list[Array]:
        """Return the thread of a screw or the shaft of a cylindrical joint, as lines."""
        along = self._in_plane(joint, placement)
        if along is None or joint.kind not in ("Screw", "Cylindrical"):
            return []
        length, width = self._block_size(joint)
        middle, across = self.view.project(joint.mover.point(placement)), np.array([-along[1], along[0]])
        if joint.kind == "Cylindrical":
            return [middle + way * np.outer([0.5, 0.85], length * along) for way in (1.0, -1.0)]
        steps = np.array([-0.36, -0.12, 0.12, 0.36])[:, None] * length * along
        lean = 0.08 * length * along + 0.5 * width * across
        return [middle + step + np.array([-lean, lean]) for step in steps]

    def _line_between(self, joint: JointFigure, placement: Placement) -> Array:
        ends = self.view.project(np.array([joint.first.point(placement), joint.second.point(placement)]))
        along = self._in_plane(joint, placement)
        if along is None:
            return ends
        # the guide starts at its body and reaches past the block
        reach = 1.0 * self._block_size(joint)[0]
        travel = (ends[1] - ends[0]) @ along
        return np.asarray(ends[0] + np.outer([min(0.0, travel - reach), max(0.0, travel + reach)], along))
