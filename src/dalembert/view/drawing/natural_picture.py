"""The artists of a mechanism in natural coordinates: points, links, plates, wheels and tracks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import one_of
from ...natural import Circle, Curve, Line, NaturalMotion, Plane
from .. import style
from ..scene import symbols
from ..scene.solids import silhouette

__all__ = ["NaturalPicture", "padded"]

Array = NDArray[np.float64]

_ROUND = np.linspace(0.0, 2 * np.pi, 61)
_PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2), "yx": (1, 0), "zx": (2, 0), "zy": (2, 1)}


def padded(points: Array) -> Array:
    """Return points (k, 2) or (k, 3) in space."""
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


class NaturalPicture:
    """The artists of a mechanism at row k of a motion, on axes that given motions fit on."""

    def __init__(
        self, motion: NaturalMotion, k: int, view: str, ax: Any, path: Any, fit: list[NaturalMotion], trace: list[str],
        size: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self.m = m = motion.mechanism
        one_of("draw", "view", view, ("auto", "3d", *_PLANES) if m.dimension == 3 else ("auto", "xy"))
        self.solid = m.dimension == 3 and view in ("auto", "3d")
        self.axes = _PLANES.get(view, (0, 1))
        self.colors = {name: style.PALETTE[i % len(style.PALETTE)] for i, name in enumerate(m.bodies)}
        self.wheels = {str(getattr(w, "name", "")): w for w in m.speed_rows if hasattr(w, "radius")}
        low, high = self._reach(fit, trace)
        self.span = float((high - low).max()) or 1.0
        low, high = low - 0.09 * self.span, high + 0.09 * self.span
        self.low, self.high = low, high
        width, height = self._page(low, high) if size is None else size
        self.ax = style.axes_for(ax, path, width, height, solid=self.solid)
        self._frame(low, high)
        self.moving: list[Any] = []
        self._tracks(motion, k)
        for kind, values in self._shapes(motion, k):
            self.moving.append(self._artist(kind, values))
        self._pins(motion, k)

    # -- where everything is

    def _reach(self, fit: list[NaturalMotion], trace: list[str]) -> tuple[Array, Array]:
        clouds = []
        for motion in fit:
            for c in self.m.coordinates.values():
                if c.kind == "point":
                    clouds.append(padded(motion[c.name]))
            for wheel in self.wheels.values():
                centre = padded(motion[wheel.coordinates[0]])
                reach = wheel.radius * np.array([1.0, 1.0, float(self.m.dimension == 3)])
                clouds += [centre - reach, centre + reach]
            clouds += [padded(motion[name]) for name in trace]
        cloud = np.concatenate(clouds) if clouds else np.zeros((1, 3))
        return cloud.min(axis=0), cloud.max(axis=0)

    def _page(self, low: Array, high: Array) -> tuple[float, float]:
        if self.solid:
            return 6.0, 5.4
        width, height = np.maximum((high - low)[list(self.axes)], 0.15 * self.span)
        ratio = float(np.clip(height / width, 0.25, 1.6))
        return (6.2, 6.2 * ratio * 0.86 + 0.7) if ratio < 1 else (6.0 / ratio + 0.7, 6.0)

    def _frame(self, low: Array, high: Array) -> None:
        if self.solid:
            half = 0.5 * np.maximum(high - low, 0.35 * self.span)
            middle = (low + high) / 2
            self.ax.set(**{f"{a}lim": (middle[i] - half[i], middle[i] + half[i]) for i, a in enumerate("xyz")})
            self.ax.set_box_aspect(half)
            self.ax.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
            return
        i, j = self.axes
        self.ax.set_aspect("equal", adjustable="datalim" if self.ax.get_figure() is None else "box")
        self.ax.set(xlim=(low[i], high[i]), ylim=(low[j], high[j]))
        self.ax.set(xlabel=f"{'xyz'[i]} [m]", ylabel=f"{'xyz'[j]} [m]")
        self.ax.locator_params(nbins=6)

    def seen(self, points: Array) -> tuple[Array, ...]:
        """Return the coordinates that the axes take."""
        return tuple(points.T) if self.solid else tuple(points[:, list(self.axes)].T)

    def line(self, points: Array, **look: Any) -> Any:
        """Draw a line through points (k, 3)."""
        return self.ax.plot(*self.seen(points), **look)[0]

    def _shapes(self, motion: NaturalMotion, k: int) -> list[tuple[str, Any]]:
        """Return what moves: kind with look, and points (n, 3)."""
        at = {
            c.name: padded(motion.rate(c.name, 0)[k : k + 1])[0]
            for c in self.m.coordinates.values()
            if len(c.value) > 1
        }
        found: list[tuple[str, Any]] = []
        for kind, first, second, along in self.m.looks:
            if kind == "distance":
                found.append(("distance", (np.array([at[first], at[second]]), style.FAINT)))
            else:
                found.append(("rail", (self._rail(at, first, second, along), style.FAINT)))
        for name, body in self.m.bodies.items():
            points = np.array([at[p] for p in body.points]).reshape(-1, 3)
            color = self.colors[name]
            if name in self.wheels:
                found.append(("bar", (self._rim(at, self.wheels[name]), color)))
                found.append(("spoke", (points[:2], color)))
            elif len(points) > 2:
                found.append(("plate", (points, color)))
            elif len(points) == 2:
                found.append(("bar", (points, color)))
            if self.m.dimension == 3:
                for u in body.vectors:
                    centre = points[0] if len(points) else np.zeros(3)
                    found.append(("axis", (centre + 0.06 * self.span * np.array([[-1.0], [1.0]]) * at[u], color)))
        moving = [at[c.name] for c in self.m.coordinates.values() if c.kind == "point" and not c.fixed]
        found.append(("pins", (np.array(moving).reshape(-1, 3), style.INK)))
        return found

    def _rail(self, at: dict[str, Array], pin: str, start: str, along: Any) -> Array:
        d = at[along] if isinstance(along, str) else at[along[1]] - at[along[0]]
        d = d / np.linalg.norm(d)
        s = float((at[pin] - at[start]) @ d)
        reach = 0.12 * self.span
        return np.array([at[start] + (min(0.0, s) - reach) * d, at[start] + (max(0.0, s) + reach) * d])

    def _rim(self, at: dict[str, Array], wheel: Any) -> Array:
        centre, A = at[wheel.coordinates[0]], at[wheel.coordinates[1]]
        d = (A - centre) / np.linalg.norm(A - centre)
        u = at[wheel.coordinates[2]] if self.m.dimension == 3 else np.array([0.0, 0.0, 1.0])
        g = np.cross(u, d)
        return np.asarray(centre + wheel.radius * (np.cos(_ROUND)[:, None] * d + np.sin(_ROUND)[:, None] * g))

    # -- artists

    def _artist(self, kind: str, values: tuple[Array, Any], *, faint: bool = False) -> Any:
        points, own = values
        color: Any = own
        color = style.tint(color, 0.75) if faint else color
        back = -2 if faint else 0
        if kind == "plate":
            ring = self._ring(points)
            if self.solid:
                return self.line(
                    ring, color=color, linewidth=2.2, zorder=3 + back, gid="plate", solid_joinstyle="round"
                )
            area = self.ax.fill(
                *self.seen(ring), facecolor=style.tint(own, 0.6) if not faint else "none", edgecolor=color,
                linewidth=1.8, zorder=2 + back, gid="plate", joinstyle="round",
            )  # fmt: skip
            return area[0]
        looks: dict[str, dict[str, Any]] = {
            "bar": {"linewidth": 3.0, "zorder": 3 + back, "solid_capstyle": "round"},
            "spoke": {"linewidth": 1.2, "zorder": 3 + back},
            "axis": {"linewidth": 1.0, "linestyle": (0, (6, 1.5, 1.2, 1.5)), "zorder": 3 + back},
            "rail": {"linewidth": 0.9, "zorder": 1.5 + back},
            "distance": {"linewidth": 1.1, "linestyle": (0, (4, 2)), "zorder": 2.2 + back},
            "pins": {
                "linestyle": "none", "marker": "o", "markersize": 5.0, "markerfacecolor": "white",
                "markeredgewidth": 1.1, "markeredgecolor": color, "zorder": 5 + back,
            },
        }  # fmt: skip
        return self.line(points, color=color, gid=kind, **looks[kind])

    def _ring(self, points: Array) -> Array:
        """Return the outline of a plate, closed."""
        if self.solid:
            flat = points - points.mean(axis=0)
            flat = flat @ np.linalg.svd(flat)[2][:2].T
        else:
            flat = points[:, list(self.axes)]
        if np.linalg.matrix_rank(flat - flat[0], tol=1e-9 * self.span) < 2:
            order = np.argsort(flat @ (flat[-1] - flat[0]))
            return np.asarray(points[order])
        order = silhouette(flat)
        inner = [k for k in range(len(points)) if k not in set(np.asarray(order).tolist())]
        ring = [*points[order], points[order[0]]]
        for k in inner:  # points inside are tied to the first corner
            ring += [points[k], points[order[0]]]
        return np.array(ring)

    def update(self, motion: NaturalMotion, k: int) -> None:
        """Put everything where it is at row k."""
        for artist, (kind, (points, _)) in zip(self.moving, self._shapes(motion, k), strict=True):
            shown = self._ring(points) if kind == "plate" else points
            if self.solid:
                artist.set_data_3d(*shown.T)
            elif kind == "plate":
                artist.set_xy(np.column_stack(self.seen(shown)))
            else:
                artist.set_data(*self.seen(shown))

    def ghost(self, motion: NaturalMotion, k: int) -> None:
        """Draw what moves faintly at row k."""
        for kind, values in self._shapes(motion, k):
            if kind in ("bar", "plate", "spoke"):
                self._artist(kind, values, faint=True)

    def _pins(self, motion: NaturalMotion, k: int) -> None:
        """Draw fixed points as bearings."""
        held = {p for body in self.m.bodies.values() for p in body.points}
        slots = {start for kind, _, start, _ in self.m.looks if kind == "slot"}
        for c in self.m.coordinates.values():
            if c.kind != "point" or not c.fixed or (c.name in slots and c.name not in held):
                continue
            at = padded(c.value[None])
            if self.solid:
                self.line(at, marker="s", color=style.INK, markersize=6, zorder=5, gid="ground")
            else:
                shape = symbols.ground_pivot(np.array([0.0, -1.0]))
                self.line(
                    at, marker=shape, markersize=22, markerfacecolor="none", markeredgecolor=style.INK, zorder=2.4,
                    gid="ground",
                )  # fmt: skip
                self.line(
                    at, marker="o", markersize=5, markerfacecolor="white", markeredgecolor=style.INK, zorder=5,
                    gid="ground",
                )  # fmt: skip

    def _tracks(self, motion: NaturalMotion, k: int) -> None:
        for wheel in self.wheels.values():
            track = getattr(wheel, "track", None) or getattr(wheel, "surface", None)
            look = {"color": style.INK, "linewidth": 1.3, "zorder": 1.8, "gid": "track"}
            if isinstance(track, Circle):
                ring = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)]) * track.radius + np.asarray(track.centre)
                self.line(padded(ring), **look)
            elif isinstance(track, Line):
                start, e = np.asarray(track.point), np.asarray(track.direction)
                along = [float((corner[:2] - start) @ e) for corner in (self.low, self.high)]
                ends = start + np.array([[min(along)], [max(along)]]) * e
                for stroke in symbols.hatching(ends[0], ends[1], np.array([e[1], -e[0]]), 0.03 * self.span):
                    self.line(padded(stroke), **look | {"linewidth": 0.8})
            elif isinstance(track, Curve):
                begin, end = np.asarray(track.domain)
                s = np.linspace(begin, end, 200)
                self.line(padded(np.array([track.function(float(x)) for x in s])), **look)
            elif isinstance(track, Plane) and self.solid:
                n, centre = np.asarray(track.normal), (self.low + self.high) / 2
                centre = centre - (n @ (centre - np.asarray(track.point))) * n
                x = np.linalg.svd(n[None])[2][1:]
                corners = 0.5 * self.span * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) @ x
                self.line(centre + corners, **look | {"color": style.FAINT})
