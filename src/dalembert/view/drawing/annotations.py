"""Annotations of a drawing: names, marked points, paths, arrows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...bodies.markers import Marker
from ...checks import finite_array
from ..scene import solids
from ..scene.projection import Placement, View
from ..scene.scene import BodyFigure
from ..style import INK, PALETTE
from .axes import seen, to_page
from .labels import Label, write_labels
from .planar_picture import PlanarPicture
from .spatial_picture import SpatialPicture

__all__ = [
    *("add_arrow", "add_arrows", "add_names", "add_points", "add_trace", "add_vectors", "drawn", "set_line"),
    "trace_color",
]

Picture = PlanarPicture | SpatialPicture

ARROWS = {"forces": ("#B00020", "N"), "velocities": ("#00705A", "m/s"), "accelerations": ("#B85000", "m/s2")}
_MAX_ARROW = 0.22  # length of the longest arrow, of the size of the system


def trace_color(number: int) -> str:
    """Return the colour of a path: the palette from its end, unlike the colours of the first bodies."""
    return PALETTE[-1 - (number + 1) % len(PALETTE)]


def add_trace(picture: Any, line: Array, number: int = 0) -> Any:
    """Draw the path (n, 3) m of a point and return the line."""
    return picture.ax.plot(
        *seen(picture.view, line), color=trace_color(number), linewidth=1.2, zorder=2.5, gid="trace",
        solid_capstyle="round",
    )[0]  # fmt: skip


def set_line(line: Any, view: View, points: Array) -> None:
    """Move a line of a picture to points (n, 3) m."""
    (line.set_data if view.flat else line.set_data_3d)(*seen(view, points))


def add_points(picture: Picture, placement: Placement, markers: list[Marker]) -> Any:
    """Mark points by dots and return the line that has them."""
    return picture.ax.plot(
        *seen(picture.view, _positions(picture, placement, markers)), linestyle="none", marker="o", markersize=3.2,
        markerfacecolor=INK, markeredgecolor="white", markeredgewidth=0.6, zorder=6, gid="points",
    )[0]  # fmt: skip


def add_arrow(picture: Any, start: Array, end: Array, color: Any, *, width: float = 1.4, gid: str = "arrow") -> None:
    """Draw an arrow from one point (3,) m to another."""
    if not picture.view.flat:
        picture.ax.quiver(
            *start, *(end - start), color=color, linewidth=width, arrow_length_ratio=0.2, zorder=7, gid=gid
        )
        return
    look = {"arrowstyle": "-|>,head_width=0.25,head_length=0.5", "color": color, "linewidth": width}
    tail, tip = picture.view.project(np.array([start, end]))
    arrow = {**look, "shrinkA": 0, "shrinkB": 0}
    picture.ax.annotate("", tip, tail, arrowprops=arrow, zorder=7, gid=gid, annotation_clip=False)


def add_vectors(picture: Any, starts: Array, vectors: Array, reach: float, kind: str) -> list[Array]:
    """Draw vectors (k, 3) at points (k, 3) m and return the arrows as lines (2, 3) m.

    `kind` is ``"forces"``, ``"velocities"`` or ``"accelerations"``; it selects the colour. The longest arrow has a set
    share of `reach` (m); its value is written into the picture, except for forces.
    """
    largest = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
    if largest == 0:
        return []
    color, unit = ARROWS[kind]
    lines = [np.array([p, p + _MAX_ARROW * reach / largest * v]) for p, v in zip(starts, vectors, strict=True)]
    for start, end in lines:
        add_arrow(picture, start, end, color, gid=kind)
    if kind != "forces":
        ax = picture.ax
        above = sum(text.get_gid() == "scale" for text in ax.texts)
        getattr(ax, "text2D", ax.text)(
            1.0, 1.01 + 0.05 * above, f"{kind}, longest {largest:.3g} {unit}", transform=ax.transAxes, ha="right",
            va="bottom", fontsize=7.5, color=color, gid="scale",
        )  # fmt: skip
    return lines


def add_arrows(picture: Picture, placement: Placement, vectors: dict[Marker, ArrayLike], kind: str) -> list[Array]:
    """Draw arrows at markers; see `add_vectors`."""
    found = [finite_array(f, (3,), item="picture", field=kind) for f in vectors.values()]
    low, high = picture.scene.reach([placement])
    starts = _positions(picture, placement, list(vectors))
    return add_vectors(picture, starts, np.array(found).reshape(-1, 3), float((high - low).max()) or 1.0, kind)


def add_names(picture: Picture, placement: Placement, markers: list[Marker], lines: list[Array]) -> None:
    """Write the names of joints, marked points and bodies; `lines` (k, 3) m are further obstacles."""
    picture.ax.figure.draw_without_rendering()  # settles the aspect, which determines the size of a point of the page
    joints = {joint.name for joint in picture.scene.joints}
    items = [
        *_joint_names(picture, placement),
        *((m.name if m.label is None else m.label, _positions(picture, placement, [m]), INK, 5.0) for m in markers),
        *((b.name, _along_body(b, placement), b.ink, 4.0) for b in picture.scene.bodies),
        *(
            (
                s.name,
                _along(s.first.point(placement), s.second.point(placement)),
                INK,
                14.0 if s.symbol == "both" else 9.0,
            )
            for s in picture.scene.lines
            if s.name not in joints and s.symbol != "link"
        ),
    ]
    labels = [Label(name, to_page(picture, at), _darker(color), clear) for name, at, color, clear in items]
    points = [seen(picture.view, at[0]) for _, at, _, _ in items]
    write_labels(picture.ax, labels, points, drawn(picture, placement, lines))


def _joint_names(picture: Picture, placement: Placement) -> list[tuple[str, Array, str, float]]:
    """Return names of joints with their positions (1, 3) m; joints at one point of the page are named together."""
    groups: list[tuple[list[str], Array, Array]] = []
    for joint in picture.scene.joints:
        where = joint.mover.point(placement)[None]
        page = to_page(picture, where)[0]
        for names, _, other in groups:
            if np.hypot(*(page - other)) < 1.0:
                names.append(joint.name)
                break
        else:
            groups.append(([joint.name], where, page))
    clear = 5.5 if picture.view.flat else 7.5
    return [(", ".join(names), where, INK, clear) for names, where, _ in groups]


def drawn(picture: Picture, placement: Placement, further: list[Array]) -> list[Array]:
    """Return the lines (k, 2) pt of the page that names should not cover; `further` are lines (k, 3) m."""
    lines = list(further)
    for body in picture.scene.bodies:
        lines += [placement.points(body.number, np.array(pair)) for pair in (*body.bars, *body.ties)]
        if body.mesh is not None:
            nodes = body.deformed(placement)
            lines += [nodes[line] for line in body.mesh.outline]
        clouds = [s.corners for s in body.solids] + ([] if body.panel is None else [body.panel])
        for cloud in clouds:
            world = placement.points(body.number, cloud)
            ring = world[solids.silhouette(to_page(picture, world))]
            lines.append(np.concatenate([ring, ring[:1]]))
    pairs: list[Any] = [(item.first, item.second) for item in picture.scene.lines]
    pairs += [(item.first, item.second) for item in picture.scene.joints]
    lines += [np.array([first.point(placement), second.point(placement)]) for first, second in pairs]
    pages = [to_page(picture, line) for line in lines]
    if isinstance(picture, SpatialPicture):
        return pages + [to_page(picture, line) for line in picture.feet]
    for artist in picture.ax.get_children():
        if artist.get_gid() == "slider blocks":
            pages += [
                picture.ax.transData.transform(p.vertices) * 72 / picture.ax.figure.dpi for p in artist.get_paths()
            ]
        elif artist.get_gid() in ("rails", "springs"):
            pages += [picture.ax.transData.transform(s) * 72 / picture.ax.figure.dpi for s in artist.get_segments()]
        elif artist.get_gid() == "ground":
            outline = artist.get_marker().vertices[:-1] / 4 * artist.get_markersize()
            for point in picture.ax.transData.transform(artist.get_xydata()) * 72 / picture.ax.figure.dpi:
                pages.append(point + outline)
    return pages


def _along(start: Array, end: Array) -> Array:
    """Return points (3, 3) m between two of the world, the middle first."""
    return start + np.array([[0.5], [0.3], [0.7]]) * (end - start)


def _along_body(body: BodyFigure, placement: Placement) -> Array:
    """Return points (k, 3) m beside which the name of a body may be placed, its middle first."""
    if body.bars and not body.solids:
        start, end = body.bars[0]
        return placement.points(body.number, start + np.array([0.5, 0.35, 0.65])[:, None] * (end - start))
    if body.mesh is not None:
        nodes = body.deformed(placement)
        if body.mesh.lines:
            line: Array = nodes[body.mesh.lines[0]]
            return line[(np.array([0.5, 0.35, 0.65]) * (len(line) - 1)).round().astype(np.int64)]
        return np.asarray((nodes.min(axis=0, keepdims=True) + nodes.max(axis=0, keepdims=True)) / 2)
    points = body.points() if len(body.points()) else np.zeros((1, 3))
    return placement.points(body.number, (points.min(axis=0, keepdims=True) + points.max(axis=0, keepdims=True)) / 2)


def _positions(picture: Picture, placement: Placement, markers: list[Marker]) -> Array:
    """Return the positions (k, 3) m of markers."""
    number = picture.scene.model.forest.number
    return np.array([placement.marker(number[m.body.name], m)[1] for m in markers]).reshape(-1, 3)


def _darker(color: str) -> Any:
    from matplotlib.colors import to_rgb

    return tuple(0.75 * c for c in to_rgb(color))
