"""Picture of a mechanism in natural coordinates: points, links, plates, wheels and tracks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import one_of
from ...natural import Circle, Curve, Line, NaturalMotion, Plane
from .. import style
from ..scene import symbols
from ..scene.projection import PLANES, View
from ..scene.solids import silhouette
from .axes import page_size, seen, set_plane_limits, set_space_limits

__all__ = ["NaturalPicture", "padded"]


_CIRCLE = np.linspace(0.0, 2 * np.pi, 61)
_FLAT_TOL = 1e-9  # of the size of the picture: points of a plate that are closer to a line are drawn as one
_LINES: dict[str, dict[str, Any]] = {  # line styles by kind of shape
    "plate": {"linewidth": 2.2, "zorder": 3, "solid_joinstyle": "round"},
    "bar": {"linewidth": 3.0, "zorder": 3, "solid_capstyle": "round"},
    "spoke": {"linewidth": 1.2, "zorder": 3},
    "axis": {"linewidth": 1.0, "linestyle": (0, (6, 1.5, 1.2, 1.5)), "zorder": 3},
    "rail": {"linewidth": 0.9, "zorder": 1.5},
    "track": {"linewidth": 1.3, "zorder": 1.8},
    "hatch": {"linewidth": 0.8, "zorder": 1.8},
    "distance": {"linewidth": 1.1, "linestyle": (0, (4, 2)), "zorder": 2.2},
    "pins": {
        "linestyle": "none", "marker": "o", "markersize": 5.0, "markerfacecolor": "white", "markeredgewidth": 1.1,
        "zorder": 5,
    },
}  # fmt: skip


def padded(points: Array) -> Array:
    """Return points (k, 2) or (k, 3) in space, (k, 3)."""
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


class NaturalPicture:
    """Artists of a mechanism at the first row of a motion; `update` moves them to another row.

    Parameters
    ----------
    motion : NaturalMotion
    view : str
    ax, path
        As for `draw`.
    fit : list of NaturalMotion
        Motions that fit into the axes.
    trace : list of str
        Points whose paths fit too.
    size : (2,) inches
        Of a new figure.
    """

    def __init__(
        self, motion: NaturalMotion, view: str, ax: Any, path: Any, fit: list[NaturalMotion], trace: list[str],
        size: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self.m = m = motion.mechanism
        self.view = _choose_view(m.dimension, view)
        self.colors = {name: style.PALETTE[i % len(style.PALETTE)] for i, name in enumerate(m.bodies)}
        self.wheels: dict[str, Any] = {str(getattr(w, "name", "")): w for w in m.speed_rows if hasattr(w, "radius")}
        self.low, self.high = self._extent(fit, trace)
        self.size = float((self.high - self.low).max()) or 1.0
        width, height = page_size(self.view, self.low, self.high) if size is None else size
        self.ax = style.axes_for(ax, path, width, height, solid=not self.view.flat)
        (set_plane_limits if self.view.flat else set_space_limits)(self.ax, self.view, self.low, self.high)
        self.moving = [self._artist(kind, points, color) for kind, points, color in self._shapes(motion, 0)]
        self._add_bearings()

    def _extent(self, fit: list[NaturalMotion], trace: list[str]) -> tuple[Array, Array]:
        """Return the lowest and highest coordinates (3,) m of motions."""
        clouds = [np.zeros((0, 3))]
        for motion in fit:
            clouds += [padded(motion[c.name]) for c in self.m.coordinates.values() if c.kind == "point"]
            for wheel in self.wheels.values():
                centre = padded(motion[wheel.coordinates[0]])
                reach = wheel.radius * np.array([1.0, 1.0, float(self.m.dimension == 3)])
                clouds += [centre - reach, centre + reach]
            clouds += [padded(motion[name]) for name in trace]
        cloud = np.concatenate(clouds)
        return (cloud.min(axis=0), cloud.max(axis=0)) if len(cloud) else (np.zeros(3), np.zeros(3))

    def fit(self, lines: list[Array]) -> None:
        """Extend the limits of a plane picture to lines (k, 3) m."""
        if lines and self.view.flat:
            ends = self.view.project(np.concatenate(lines))
            for k, axis in enumerate("xy"):
                low, high = getattr(self.ax, f"get_{axis}lim")()
                margin = 0.03 * self.size
                limits = min(low, ends[:, k].min() - margin), max(high, ends[:, k].max() + margin)
                getattr(self.ax, f"set_{axis}lim")(*limits)

    # -- shapes

    def _shapes(self, motion: NaturalMotion, k: int) -> list[tuple[str, Array, str]]:
        """Return kind, points (n, 3) m and colour of all shapes at row k."""
        values = {c.name: motion.rate(c.name, 0)[k] for c in self.m.coordinates.values() if len(c.value) > 1}
        at = {name: padded(value[None])[0] for name, value in values.items()}
        found: list[tuple[str, Array, str]] = []
        for kind, first, second, along in self.m.looks:
            if kind == "distance":
                found.append(("distance", np.array([at[first], at[second]]), style.FAINT))
            else:
                found.append(("rail", self._rail(at, first, second, along), style.FAINT))
        for wheel in self.wheels.values():
            found += self._track(wheel, values)
        for name, body in self.m.bodies.items():
            points = np.array([at[p] for p in body.points]).reshape(-1, 3)
            color = self.colors[name]
            if name in self.wheels:
                found.append(("bar", self._rim(at, self.wheels[name]), color))
                found.append(("spoke", points[:2], color))
            elif len(points) > 2:
                found.append(("plate", self._outline(points), color))
            elif len(points) == 2:
                found.append(("bar", points, color))
            if self.m.dimension == 3:
                for u in body.vectors:
                    centre = points[0] if len(points) else np.zeros(3)
                    found.append(("axis", centre + 0.06 * self.size * np.array([[-1.0], [1.0]]) * at[u], color))
        moving = [at[c.name] for c in self.m.coordinates.values() if c.kind == "point" and not c.fixed]
        found.append(("pins", np.array(moving).reshape(-1, 3), style.INK))
        return found

    def _rail(self, at: dict[str, Array], pin: str, start: str, along: Any) -> Array:
        d = at[along] if isinstance(along, str) else at[along[1]] - at[along[0]]
        d = d / np.linalg.norm(d)
        s = float((at[pin] - at[start]) @ d)
        reach = 0.12 * self.size
        return np.array([at[start] + (min(0.0, s) - reach) * d, at[start] + (max(0.0, s) + reach) * d])

    def _rim(self, at: dict[str, Array], wheel: Any) -> Array:
        centre, A = at[wheel.coordinates[0]], at[wheel.coordinates[1]]
        d = (A - centre) / np.linalg.norm(A - centre)
        u = at[wheel.coordinates[2]] if self.m.dimension == 3 else np.array([0.0, 0.0, 1.0])
        g = np.cross(u, d)
        return np.asarray(centre + wheel.radius * (np.cos(_CIRCLE)[:, None] * d + np.sin(_CIRCLE)[:, None] * g))

    def _track(self, wheel: Any, values: dict[str, Array]) -> list[tuple[str, Array, str]]:
        """Return the track of a wheel, at the pose of the body that carries it."""
        track = getattr(wheel, "track", None) or getattr(wheel, "surface", None)
        kind, color, lines = "track", style.INK, []
        if isinstance(track, Circle):
            lines = [np.column_stack([np.cos(_CIRCLE), np.sin(_CIRCLE)]) * track.radius + np.asarray(track.centre)]
        elif isinstance(track, Line):
            start, e = np.asarray(track.point), np.asarray(track.direction)
            along = [float((corner[:2] - start) @ e) for corner in (self.low, self.high)]
            ends = start + np.array([[min(along)], [max(along)]]) * e
            kind, lines = "hatch", symbols.hatching(ends[0], ends[1], np.array([e[1], -e[0]]), 0.03 * self.size)
        elif isinstance(track, Curve):
            begin, end = np.asarray(track.domain)
            lines = [np.array([track.function(float(s)) for s in np.linspace(begin, end, 200)])]
        elif isinstance(track, Plane) and not self.view.flat:
            n, centre = np.asarray(track.normal), (self.low + self.high) / 2
            centre = centre - (n @ (centre - np.asarray(track.point))) * n
            corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) @ np.linalg.svd(n[None])[2][1:]
            lines, color = [centre + 0.5 * self.size * corners], style.FAINT
        carrier = getattr(wheel, "carrier", None)
        if carrier is not None:
            R, o = carrier.frame.pose(values)
            lines = [line @ R.T + o for line in lines]
        return [(kind, padded(line), color) for line in lines]

    def _outline(self, points: Array) -> Array:
        """Return the closed outline of a plate, with lines to its inner points."""
        if self.view.flat:
            flat = self.view.project(points)
        else:
            flat = points - points.mean(axis=0)
            flat = flat @ np.linalg.svd(flat)[2][:2].T
        if np.linalg.matrix_rank(flat - flat[0], tol=_FLAT_TOL * self.size) < 2:
            return np.asarray(points[np.argsort(flat @ (flat[-1] - flat[0]))])
        order = np.asarray(silhouette(flat)).tolist()
        ring = [*points[order], points[order[0]]]
        for k in set(range(len(points))) - set(order):
            ring += [points[k], points[order[0]]]
        return np.array(ring)

    # -- artists

    def _artist(self, kind: str, points: Array, color: str, *, faint: bool = False) -> Any:
        tone: Any = style.tint(color, 0.75) if faint else color
        back = -2 if faint else 0
        if kind == "plate" and self.view.flat:
            return self.ax.fill(
                *seen(self.view, points), facecolor="none" if faint else style.tint(color, 0.6), edgecolor=tone,
                linewidth=1.8, zorder=2 + back, gid="plate", joinstyle="round",
            )[0]  # fmt: skip
        look = {**_LINES[kind], "zorder": _LINES[kind]["zorder"] + back}
        if kind == "pins":
            look["markeredgecolor"] = tone
        return self.ax.plot(*seen(self.view, points), color=tone, gid=kind, **look)[0]

    def update(self, motion: NaturalMotion, k: int) -> None:
        """Move all shapes to row k."""
        for artist, (kind, points, _) in zip(self.moving, self._shapes(motion, k), strict=True):
            if not self.view.flat:
                artist.set_data_3d(*points.T)
            elif kind == "plate":
                artist.set_xy(self.view.project(points))
            else:
                artist.set_data(*seen(self.view, points))

    def add_ghost(self, motion: NaturalMotion, k: int) -> None:
        """Draw the bodies at row k faintly."""
        for kind, points, color in self._shapes(motion, k):
            if kind in ("bar", "plate", "spoke"):
                self._artist(kind, points, color, faint=True)

    def _add_bearings(self) -> None:
        """Draw fixed points as bearings."""
        owned = {p for body in self.m.bodies.values() for p in body.points}
        slots = {start for kind, _, start, _ in self.m.looks if kind == "slot"}
        look: dict[str, Any] = {"color": style.INK, "linestyle": "none", "gid": "ground"}
        for c in self.m.coordinates.values():
            if c.kind != "point" or not c.fixed or (c.name in slots and c.name not in owned):
                continue
            at = seen(self.view, padded(c.value[None]))
            if not self.view.flat:
                self.ax.plot(*at, marker="s", markersize=6, zorder=5, **look)
                continue
            shape = symbols.ground_pivot(np.array([0.0, -1.0]))
            self.ax.plot(*at, marker=shape, markersize=22, markerfacecolor="none", zorder=2.4, **look)
            self.ax.plot(*at, marker="o", markersize=5, markerfacecolor="white", zorder=5, **look)


def _choose_view(dimension: int, view: str) -> View:
    """Return the view of that name; ``"auto"`` is space, or the plane of a planar mechanism."""
    one_of("draw", "view", view, ("auto", "3d", *PLANES) if dimension == 3 else ("auto", "xy"))
    if dimension == 3 and view in ("auto", "3d"):
        return View("3d", 0, 2, 1)
    right, up = ("xyz".index(letter) for letter in ("xy" if view == "auto" else view))
    return View("xyz"[right] + "xyz"[up], right, up, 3 - right - up, steady=dimension == 2)
