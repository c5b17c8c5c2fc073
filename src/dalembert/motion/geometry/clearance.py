"""Clearance of bodies along a motion: distances of their shapes, and the first contact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..._core import distances
from ...answer import count_text
from ...arrays import Array
from ...bodies.convex_hulls import Convex, convex_parts
from ...checks import checked, finite_number
from ...errors import ModelError
from ...numerics.roots import bisect
from ...result import Result
from .kinematic_result import KinematicResult

__all__ = ["Clearance", "Closest", "clearance"]

Pair = tuple[str, str]

_ITEM = "clearance"
_N_BISECTIONS = 60  # of a bisection between rows


class Closest(NamedTuple):
    """Closest approach or first contact of two bodies.

    pair : names of the bodies
    distance : m
    t : s
    points : (2, 3) m, of either body, world axes
    """

    pair: Pair
    distance: float
    t: float
    points: Array


@dataclass(frozen=True, eq=False, repr=False)
class Clearance(KinematicResult):
    """Distances of bodies along a motion.

    Attributes
    ----------
    result : Result
    pairs : tuple of (str, str)
    t : (n,) s
    distance : (n, pairs) m
        Of the shapes of the bodies; negative where they overlap, by the depth of the overlap.
    points : (n, pairs, 2, 3) m
        Nearest points of either body, world axes.
    min_distance : float, m
        Distance below which bodies interfere.
    notes : tuple of str
        Bodies that were left out, and simplified shapes.
    """

    result: Result
    pairs: tuple[Pair, ...]
    t: Array
    distance: Array
    points: Array
    min_distance: float
    notes: tuple[str, ...] = ()
    _parts: dict[str, list[Convex]] = field(default_factory=dict, repr=False)
    _arrays: ClassVar = {
        "distance": (("time", "pair"), "m"),
        "points": (("time", "pair", "side", "axis"), "m"),
    }

    def _axes(self) -> dict[str, tuple[Any, str]]:
        return {**super()._axes(), "pair": ([f"{one}, {two}" for one, two in self.pairs], "")}

    def _headline(self) -> str:
        least = self.least
        where = f"{least.pair[0]} and {least.pair[1]} at {self.result.axis.at(least.t)}"
        return f"least {least.distance:.4g} m, {where}; {count_text(len(self.pairs), 'pair')}"

    @property
    def least(self) -> Closest:
        """The smallest distance over the motion, also between rows where dense output is available."""
        row, k = divmod(int(self.distance.argmin()), len(self.pairs))
        best = Closest(self.pairs[k], float(self.distance[row, k]), float(self.t[row]), self.points[row, k])
        if self.result.dense is None or len(self.t) < 2:
            return best
        low, high = (float(self.t[min(max(row + d, 0), len(self.t) - 1)]) for d in (-1, 1))
        golden = (5**0.5 - 1) / 2
        for _ in range(_N_BISECTIONS):
            a, b = high - golden * (high - low), low + golden * (high - low)
            one, two = self._at(a, k), self._at(b, k)
            best = min(best, one, two, key=lambda c: c.distance)
            low, high = (low, b) if one.distance < two.distance else (a, high)
            if high - low < 1e-12 * (1.0 + abs(high)):
                break
        return best

    @property
    def interference(self) -> Closest | None:
        """The first time at which two bodies are closer than `min_distance`, or overlap.

        None without interference.
        """
        bad = self.distance < self.min_distance if self.min_distance > 0.0 else self.distance <= 0.0
        rows = np.flatnonzero(bad.any(axis=1))
        if not len(rows):
            return None
        row = int(rows[0])
        first: Closest | None = None
        for k in np.flatnonzero(bad[row]):
            found = Closest(self.pairs[k], float(self.distance[row, k]), float(self.t[row]), self.points[row, k])
            if row and self.result.dense is not None:
                found = self._begin(float(self.t[row - 1]), found, int(k))
            if first is None or found.t < first.t:
                first = found
        return first

    def _begin(self, low: float, found: Closest, k: int) -> Closest:
        """Return the begin of the interference of two bodies, between a time without and one with it."""

        def separated(t: Array) -> bool:
            distance = self._at(float(t), k).distance
            return distance > 0.0 and distance >= self.min_distance

        high = float(bisect(separated, low, found.t)[1])
        return found if high == found.t else self._at(high, k)

    def _at(self, t: float, k: int) -> Closest:
        q = np.asarray(self.result.at(t).q)[None]
        gap, points = _between(self.result, q, self.pairs[k], self._parts)
        return Closest(self.pairs[k], float(gap[0]), t, points[0])

    def __str__(self) -> str:
        least, first, axis = self.least, self.interference, self.result.axis
        lines = [
            f"clearance of {len(self.pairs)} pairs of bodies over {axis.name} = {axis.span(self.t[0], self.t[-1])}"
        ]
        lines.append(f"least {least.distance:.6g} m, {least.pair[0]} and {least.pair[1]}, at {axis.at(least.t)}")
        if first is not None:
            closer = "touch" if not self.min_distance else f"are closer than {self.min_distance:.6g} m"
            lines.append(f"{first.pair[0]} and {first.pair[1]} {closer} first, at {axis.at(first.t)}")
        return "\n".join([*lines, *self.notes])


@checked("pairs")
def clearance(
    result: Result,
    pairs: Iterable[Sequence[str]] | None = None,
    *,
    min_distance: float = 0.0,
) -> Clearance:
    """Return the distances of bodies along a motion, from their shapes and decorations.

    Boxes, plates, cylinders, rods, spheres, capsules and prisms of convex outline are exact. Other prisms are replaced
    by their hull, and a tube by a full cylinder. A body may have several shapes. Model files with collision geometry
    use that. Distances are exact to rounding, by the method of Gilbert, Johnson and Keerthi (1988); where shapes
    overlap, the distance is negative: the shortest displacement that separates them, among all pairs of their features.

    Parameters
    ----------
    result : Result
        Of `da.kinematics` or `da.simulate`.
    pairs : pairs of names of bodies
        Default: all bodies with shapes that are not connected to each other; bodies overlap at their joint.
    min_distance : float, m
        Required distance.

    Returns
    -------
    Clearance

    Raises
    ------
    ModelError
        If a body is unknown or has no usable shape, or if no pair is left.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("door and post")
    >>> door, post = s.body("door", da.box(1.0, 0.04, 2.0, 20.0)), s.body("post", da.cylinder(2.0, 0.1, 5.0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, door.at(-0.5, 0, 0))
    >>> _ = s.connect("B", da.Fixed(), s.ground.at(0, 0.8, 0), post)
    >>> motion = da.kinematics(s, drive="A", values=np.linspace(0.0, 1.5, 31))
    >>> first = da.clearance(motion).interference
    >>> first.pair, round(first.t, 6)  # sin(pi / 2 - t) = (0.1 + 0.02) / 0.8
    (('door', 'post'), 1.420228)
    """
    if not isinstance(result, Result):
        raise ModelError(_ITEM, "result", result, "give a Result, of da.simulate or da.kinematics")
    min_distance = finite_number(min_distance, item=_ITEM, field="min_distance")
    if min_distance < 0:
        raise ModelError(_ITEM, "min_distance", min_distance, "give zero or a required distance, m")
    model = result.require_model()
    system = model.system
    parts: dict[str, list[Convex]] = {}
    remarks: list[str] = []
    for name, body in system.bodies.items():
        parts[name], found = convex_parts(body)
        remarks += found
    chosen = _chosen(result, pairs, parts)
    used = {name for pair in chosen for name in pair}
    notes = [note for note in remarks if note.split(":")[0] in used]
    bare = [name for name, pieces in parts.items() if not pieces]
    if bare and pairs is None:
        notes.append(f"without shapes, and left out: {', '.join(bare)}")
    columns = [_between(result, result.q, pair, parts) for pair in chosen]
    gaps = np.stack([gap for gap, _ in columns], axis=1)
    points = np.stack([point for _, point in columns], axis=1)
    return Clearance(result, chosen, result.t, gaps, points, min_distance, tuple(dict.fromkeys(notes)), parts)


def _chosen(
    result: Result, between: Iterable[Sequence[str]] | None, parts: dict[str, list[Convex]]
) -> tuple[Pair, ...]:
    system = result.require_model().system
    if between is not None:
        pairs: list[Pair] = []
        for given in between:
            names = tuple(given) if not isinstance(given, str) else ()
            if len(names) != 2 or names[0] == names[1]:
                raise ModelError(_ITEM, "pairs", given, "give pairs of two bodies: [('rod', 'frame')]")
            for name in names:
                if name not in parts:
                    listed = ", ".join(map(repr, list(parts)[:8]))
                    raise ModelError(_ITEM, "pairs", name, f"there is no such body; choose among {listed}")
                if not parts[name]:
                    remedy = "it has no shape: give it one, or decorate it with boxes, cylinders, spheres"
                    raise ModelError(_ITEM, f"body {name!r}", None, remedy)
            pairs.append((names[0], names[1]))
        if not pairs:
            raise ModelError(_ITEM, "pairs", between, "name a pair of bodies")
        return tuple(pairs)
    joined = {frozenset((c.first.body.name, c.second.body.name)) for c in system.connections.values()}
    shaped = [name for name, pieces in parts.items() if pieces]
    found = tuple(pair for pair in combinations(shaped, 2) if frozenset(pair) not in joined)
    if not found:
        remedy = "no two bodies have shapes and are not connected: decorate bodies, or name pairs by pairs="
        raise ModelError(_ITEM, "bodies with shapes", len(shaped), remedy)
    return found


def _between(result: Result, q: Array, pair: Pair, parts: dict[str, list[Convex]]) -> tuple[Array, Array]:
    """Return distances (n,) and nearest points (n, 2, 3) of two bodies at configurations q (n, nq)."""
    model = result.require_model()
    (R, p), (S, r) = (model.pose(name, q) for name in pair)
    best, points = np.full(len(q), np.inf), np.zeros((len(q), 2, 3))
    for one in parts[pair[0]]:
        first = one.poses(R, p)
        for two in parts[pair[1]]:
            second = two.poses(S, r)
            # skip pieces that cannot be the nearest
            gaps = np.linalg.norm(first[:, 9:] - second[:, 9:], axis=1) - one.reach - two.reach
            rows = np.flatnonzero(gaps < best)
            gap, near = distances(one.solid, first[rows], two.solid, second[rows])
            closer = gap < best[rows]
            best[rows[closer]], points[rows[closer]] = gap[closer], near[closer]
    return best, points
