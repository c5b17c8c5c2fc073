"""Self-crossings of a planar path, and the width of the narrowest strip around it."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...connections.joints.joint import frame_with_z
from ...model.interpolation import Quintic
from ...numerics.contours import convex_hull

__all__ = ["crossings", "zone_width"]


def crossings(t: Array, track: Quintic, normal: Array, size: float) -> list[tuple[float, float]]:
    """Return pairs of times (s) at which a path in the plane normal to `normal` crosses itself.

    Found on the chords between rows, refined by Newton's method. Points at which the path runs along itself are left
    out.
    """
    times = np.unique(t) if len(t) > 400 else track.between(-(-400 // max(len(t), 1)))
    plane = frame_with_z(normal)[:, :2]
    p = track(times) @ plane
    step = np.diff(p, axis=0)
    guesses: list[tuple[float, float]] = []
    for i in range(len(step) - 2):
        d, e = step[i], step[i + 2 :]
        gap = p[i + 2 : -1] - p[i]
        turn = d[0] * e[:, 1] - d[1] * e[:, 0]
        with np.errstate(all="ignore"):
            s = (gap[:, 0] * e[:, 1] - gap[:, 1] * e[:, 0]) / turn
            u = (gap[:, 0] * d[1] - gap[:, 1] * d[0]) / turn
        for j in np.flatnonzero((s >= 0) & (s < 1) & (u >= 0) & (u < 1)):
            k = i + 2 + j
            h = np.diff(times)
            guesses.append((float(times[i] + s[j] * h[i]), float(times[k] + u[j] * h[k])))
    found: list[tuple[float, float, Array]] = []
    for pair in guesses:
        exact = _meet(track, plane, pair, size)
        if exact is None or exact[1] - exact[0] < 1e-9 * np.ptp(times):
            continue
        position = track(np.array(exact[:1]))[0]
        if all(np.linalg.norm(position - other) > 1e-7 * size for _, _, other in found):
            found.append((*exact, position))
    return [(a, b) for a, b, _ in found]


def _meet(track: Quintic, plane: Array, pair: tuple[float, float], size: float) -> tuple[float, float] | None:
    """Return the two times near `pair` at which the path is at one point.

    None if it does not cross itself.
    """
    x = np.array(pair)
    for _ in range(20):
        p, v = track(x) @ plane, track(x, 1) @ plane
        J = np.column_stack([v[0], -v[1]])
        sine = abs(np.linalg.det(J)) / max(float(np.prod(np.linalg.norm(v, axis=1))), 1e-300)
        if sine < 1e-4:
            return None
        step = np.linalg.solve(J, p[1] - p[0])
        x = np.clip(x + step, track.t[0], track.t[-1])
        if np.abs(step).max() < 1e-13 * np.ptp(track.t):
            break
    gap = float(np.linalg.norm(np.subtract(*(track(x) @ plane))))
    ends = x[0] <= track.t[0] and x[1] >= track.t[-1]  # begin and end of a closed path
    return (float(x[0]), float(x[1])) if gap < 1e-9 * size and not ends else None


def zone_width(points: Array) -> float:
    """Return the least distance of two parallel lines that enclose points (n, 2)."""
    hull = points[convex_hull(points)]
    if len(hull) < 3:
        return 0.0
    edges = np.roll(hull, -1, axis=0) - hull
    normals = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
    pieces = np.array_split(normals, 1 + len(hull) // 1000)  # a round path has as many corners as points
    return min(float(np.ptp(hull @ piece.T, axis=0).min()) for piece in pieces)
