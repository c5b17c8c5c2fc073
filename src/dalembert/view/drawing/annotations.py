"""What is written and drawn on top of a system: names, marked points, paths, forces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...bodies.markers import Marker
from ...checks import finite_array
from ..scene import solids
from ..scene.projection import Placement
from ..scene.scene import BodyFigure
from ..style import INK, PALETTE
from .labels import Label, place, sampled
from .planar_picture import PlanarPicture
from .spatial_picture import SpatialPicture, project

__all__ = [
    "ARROWS",
    "add_arrows",
    "add_names",
    "add_points",
    "add_scale",
    "add_trace",
    "drawn",
    "to_page",
    "trace_color",
]

Array = NDArray[np.float64]
Picture = PlanarPicture | SpatialPicture

ARROWS = {"forces": ("#B00020", "N"), "velocities": ("#00705A", "m/s"), "accelerations": ("#B85000", "m/s2")}
_MAX_LENGTH = 0.22  # arrow, of the picture's reach


def trace_color(number: int) -> str:
    """Return the colour of a path: the palette from its far end, away from the first bodies' colours."""
    return PALETTE[-1 - (number + 1) % len(PALETTE)]


def add_trace(picture: Picture, line: Array, number: int = 0) -> Any:
    """Draw the path (n, 3) of a point and return the line."""
    return picture.ax.plot(
        *_seen(picture, line), color=trace_color(number), linewidth=1.2, zorder=2.5, gid="trace", solid_capstyle="round"
    )[0]


def add_points(picture: Picture, placement: Placement, markers: list[Marker]) -> Any:
    """Mark points by dots and return the line that carries them."""
    where = _where(picture, placement, markers)
    return picture.ax.plot(
        *_seen(picture, where),
        linestyle="none",
        marker="o",
        markersize=3.2,
        markerfacecolor=INK,
        markeredgecolor="white",
        markeredgewidth=0.6,
        zorder=6,
        gid="points",
    )[0]


def add_arrows(
    picture: Picture, placement: Placement, vectors: dict[Marker, ArrayLike], kind: str = "forces"
) -> list[Array]:
    """Draw arrows at points, the largest of a set length, and return them as lines (2, 3) m.

    `kind` is ``"forces"``, ``"velocities"`` or ``"accelerations"``: it says the colour, and for the latter two the
    length of the longest arrow is written into the picture.
    """
    color, _ = ARROWS[kind]
    arrows = {m: finite_array(f, (3,), item="picture", field=kind) for m, f in vectors.items()}
    most = max((float(np.linalg.norm(f)) for f in arrows.values()), default=0.0)
    if most == 0:
        return []
    low, high = picture.scene.reach([placement])
    scale = _MAX_LENGTH * (float((high - low).max()) or 1.0) / most
    lines = []
    for marker, vector in arrows.items():
        start = _where(picture, placement, [marker])[0]
        end = start + scale * vector
        lines.append(np.array([start, end]))
        if isinstance(picture, PlanarPicture):
            style = {"arrowstyle": "-|>,head_width=0.25,head_length=0.5", "color": color, "linewidth": 1.4}
            tail, tip = picture.view.project(np.array([start, end]))
            arrow = {**style, "shrinkA": 0, "shrinkB": 0}
            picture.ax.annotate("", tip, tail, arrowprops=arrow, zorder=7, gid=kind, annotation_clip=False)
        else:
            picture.ax.quiver(*start, *(end - start), color=color, linewidth=1.4, arrow_length_ratio=0.2, gid=kind)
    if kind != "forces":
        add_scale(picture.ax, kind, most)
    return lines


def add_scale(ax: Any, kind: str, most: float) -> None:
    """Write how long the longest arrow of a kind is, above what is written already."""
    color, unit = ARROWS[kind]
    above = sum(text.get_gid() == "scale" for text in ax.texts)
    write = getattr(ax, "text2D", ax.text)
    write(
        1.0, 1.01 + 0.05 * above, f"{kind}, longest {most:.3g} {unit}", transform=ax.transAxes, ha="right",
        va="bottom", fontsize=7.5, color=color, gid="scale",
    )  # fmt: skip


def add_names(picture: Picture, placement: Placement, markers: list[Marker], lines: list[Array]) -> None:
    """Write the names of joints, marked points and bodies where they hide least, also of further lines (k, 3) m."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import offset_copy

    ax = picture.ax
    ax.figure.draw_without_rendering()  # settles the aspect, and with it what a point of the page is
    items = [
        *_joint_names(picture, placement),
        *((_short(m), _where(picture, placement, [m]), INK, 5.0) for m in markers),
        *((b.name, _along_body(b, placement), b.ink, 4.0) for b in picture.scene.bodies),
        *(
            (
                s.name,
                _along(s.first.point(placement), s.second.point(placement)),
                INK,
                14.0 if s.look == "both" else 9.0,
            )
            for s in picture.scene.lines
            if s.name not in {joint.name for joint in picture.scene.joints} and s.look != "link"
        ),
    ]
    wanted = [Label(name, to_page(picture, where), color, clear) for name, where, color, clear in items]
    obstacles = np.concatenate([sampled(line) for line in drawn(picture, placement, lines)])
    box = ax.get_window_extent()
    scale = 72 / ax.figure.dpi
    frame = (np.array([box.x0, box.y0]) * scale, np.array([box.x1, box.y1]) * scale)
    centers = place(wanted, obstacles, frame)
    for (name, where, color, _), label, center in zip(items, wanted, centers, strict=True):
        dx, dy = center - label.anchors[0]
        shifted = offset_copy(ax.transData, ax.figure, dx, dy, units="points")
        ax.text(
            *_seen(picture, where[0]),
            name,
            transform=shifted,
            ha="center",
            va="center",
            color=_darker(color),
            fontsize=label.size,
            zorder=8,
            path_effects=[withStroke(linewidth=1.8, foreground=(1, 1, 1, 0.85))],
            gid=f"name {name}",
        )


def to_page(picture: Picture, points: Array) -> Array:
    """Return where points (k, 3) of the world are on the page, (k, 2) pt."""
    ax = picture.ax
    flat = picture.view.project(points) if isinstance(picture, PlanarPicture) else project(ax, points)
    result: Array = np.asarray(ax.transData.transform(flat)) * 72 / ax.figure.dpi
    return result


def _joint_names(picture: Picture, placement: Placement) -> list[tuple[str, Array, str, float]]:
    """Return the names of joints with their places (1, 3), those at one place of the page together."""
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
    """Return what names should not cover as lines (k, 2) pt of the page."""
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
    """Return points (3, 3) between two of the world, the middle first."""
    return start + np.array([[0.5], [0.3], [0.7]]) * (end - start)


def _along_body(body: BodyFigure, placement: Placement) -> Array:
    """Return points (k, 3) of the world beside which a body's name may stand: its middle first."""
    if body.bars and not body.solids:
        start, end = body.bars[0]
        return placement.points(body.number, start + np.array([0.5, 0.35, 0.65])[:, None] * (end - start))
    if body.mesh is not None:
        nodes = body.deformed(placement)
        if body.mesh.lines:
            line: Array = nodes[body.mesh.lines[0]]
            return line[(np.array([0.5, 0.35, 0.65]) * (len(line) - 1)).round().astype(np.int64)]
        middle: Array = (nodes.min(axis=0, keepdims=True) + nodes.max(axis=0, keepdims=True)) / 2
        return middle
    points = body.points() if len(body.points()) else np.zeros((1, 3))
    return placement.points(body.number, (points.min(axis=0, keepdims=True) + points.max(axis=0, keepdims=True)) / 2)


def _where(picture: Picture, placement: Placement, markers: list[Marker]) -> Array:
    number = picture.scene.model.forest.number
    where = [placement.marker(number[m.body.name], m)[1] for m in markers]
    return np.array(where).reshape(-1, 3)


def _seen(picture: Picture, points: Array) -> tuple[Array, ...]:
    """Return the coordinates that the axes of the picture take."""
    return tuple((picture.view.project(points) if picture.view.flat else points).T)


def _short(marker: Marker) -> str:
    return marker.label if marker.label is not None else marker.name


def _darker(color: str) -> Any:
    from matplotlib.colors import to_rgb

    return tuple(0.75 * c for c in to_rgb(color))
