"""Instant centres of planar motion, and centrodes (polodes).

With w and v the angular velocity about the normal n and the velocity of the origin o of one body relative to another,
the point without relative velocity is

    P = o + n x v / w                                                                                               (1)

at infinity, normal to v, where w is zero. Where a mechanism reverses, w and v vanish together. There the accelerations,
which lie on the same line through zero, replace them in (1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from ...answer import count_text, list_text
from ...arrays import Array, BoolArray
from ...checks import checked
from ...errors import ModelError
from ...result import Result
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion, find_frame, seen_in_plane

__all__ = ["Centre", "Centrodes", "InstantCentres", "centrodes", "instant_centre", "instant_centres"]


INFINITE_DISTANCE = 1e9  # lengths of the motion; a centre farther away is at infinity
STATIONARY_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class Centre:
    """Instant centre of two bodies at every row.

    Attributes
    ----------
    point : (n, 3) m
        NaN where undefined or at infinity.
    direction : (n, 3)
        Unit vector towards a centre at infinity, normal to the relative motion; NaN elsewhere.
    infinite : (n,) bool
        Mask of rows with pure relative translation.
    none : (n,) bool
        Mask of rows without relative motion: every point is a centre.
    """

    point: Array
    direction: Array
    infinite: BoolArray
    none: BoolArray


def instant_centre(seen: RelativeFrameMotion, n: Array) -> tuple[Centre, BoolArray]:
    """Return the instant centre of a planar motion in the axes of its frame, and the mask where (1) used rates."""
    w, v = seen.angular_velocity @ n, seen.velocity
    size = np.abs(w) * seen.scale + np.linalg.norm(v, axis=1)
    rest = size <= STATIONARY_TOL * size.max(initial=0.0)
    w, v = np.where(rest, seen.angular_acceleration @ n, w), np.where(rest[:, None], seen.acceleration, v)
    speed = np.linalg.norm(v, axis=1)
    fastest = max(float((np.abs(w[~rest]) * seen.scale + speed[~rest]).max(initial=0.0)), 1e-300)
    none = ~(np.abs(w) * seen.scale + speed > np.where(rest, 0.0, STATIONARY_TOL * fastest))
    infinite = ~none & ~(np.abs(w) * seen.scale * INFINITE_DISTANCE > speed)
    good = ~none & ~infinite
    across = np.cross(n, v)
    with np.errstate(all="ignore"):
        point = np.where(good[:, None], seen.position + across / w[:, None], np.nan)
        direction = np.where(infinite[:, None], across / speed[:, None], np.nan)
    return Centre(point, direction, infinite, none), rest


@dataclass(frozen=True, eq=False, repr=False)
class InstantCentres(KinematicResult, Mapping[tuple[str, str], Centre]):
    """Instant centres of all pairs of some bodies, in world axes: ``centres["crank", "rocker"].point``.

    Attributes
    ----------
    result : Result
    bodies : tuple of str
    normal : (3,)
        Of the plane of motion.
    """

    result: Result
    bodies: tuple[str, ...]
    normal: Array
    _centres: dict[frozenset[str], Centre] = field(repr=False)
    _arrays: ClassVar = {"points": (("pair", "time", "axis"), "m"), "normal": (("axis",), "")}

    def __getitem__(self, pair: tuple[str, str]) -> Centre:
        """Return the centre of two bodies, in any order."""
        found = self._centres.get(frozenset(pair)) if isinstance(pair, tuple) else None
        if found is None:
            raise ModelError("instant_centres", "pair", pair, f"give two of {', '.join(map(repr, self.bodies))}")
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return combinations(self.bodies, 2)

    def __len__(self) -> int:
        return len(self._centres)

    def _axes(self) -> dict[str, tuple[Any, str]]:
        axis = self.result.axis
        return {"time": (self.result.t, axis.unit), "pair": ([f"{one}, {two}" for one, two in self], "")}

    @property
    def points(self) -> Array:
        """Centres of all pairs, (pairs, n, 3) m; NaN where undefined or at infinity."""
        return np.array([self[pair].point for pair in self])

    def _headline(self) -> str:
        return f"{list_text(self.bodies)}: {count_text(len(self), 'pair')}, {count_text(len(self.result), 'row')}"


@checked("bodies")
def instant_centres(result: Result, bodies: Iterable[object] | None = None) -> InstantCentres:
    """Return the instant centres of all pairs of bodies, ground included (Kennedy's theorem).

    Parameters
    ----------
    result : Result
        Of a motion in a plane.
    bodies : bodies or names
        Ground and all bodies if left out.

    Raises
    ------
    ModelError
        If a body does not move in the plane of the others.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> s = four_bar()
    >>> _ = s.drive("A", speed=2.0)
    >>> centres = instant_centres(da.simulate(s, 1.0))
    >>> x = centres["crank", "rocker"].point[0, 0]  # on the line of centres; it divides it as the speeds
    >>> result = centres.result
    >>> ratio = result["rocker.angular_velocity.z"][0] / result["crank.angular_velocity.z"][0]
    >>> bool(abs(ratio - x / (x - 2.2)) < 1e-12)
    True
    """
    item = "instant_centres"
    if not isinstance(result, Result):
        raise ModelError(item, "result", result, "give a Result, of da.simulate or da.kinematics")
    wanted = ("ground", *result.require_model().system.bodies) if bodies is None else tuple(bodies)
    frames = {frame.body.name: frame.body.origin for frame in (find_frame(result, b, item, "bodies") for b in wanted)}
    names = tuple(frames)
    if len(names) < 2:
        raise ModelError(item, "bodies", bodies, "give at least two")
    motions = {name: RelativeFrameMotion.of(result, frame) for name, frame in frames.items()}
    n = _common_normal(motions, item)
    found = {}
    for first, second in combinations(names, 2):
        a, b = motions[first], motions[second]
        found[frozenset((first, second))] = instant_centre(_difference(a, b), n)[0]
    return InstantCentres(result, names, n, found)


def _difference(a: RelativeFrameMotion, b: RelativeFrameMotion) -> RelativeFrameMotion:
    """Return the motion of b's origin less that of the coincident point of a, in world axes."""
    r = b.position - a.position
    W, E = a.angular_velocity, a.angular_acceleration
    return RelativeFrameMotion(
        b.frame,
        a.frame,
        b.t,
        b.rotation,
        b.position,
        b.velocity - a.velocity - np.cross(W, r),
        b.acceleration - a.acceleration - np.cross(E, r) - np.cross(W, np.cross(W, r)),
        b.angular_velocity - W,
        b.angular_acceleration - E,
        b.length,
    )


def _common_normal(motions: dict[str, RelativeFrameMotion], item: str) -> Array:
    turns = [seen for seen in motions.values() if np.abs(seen.angular_velocity).max(initial=0.0) > 0]
    n = (turns or list(motions.values()))[-1].plane(item)
    size = max(float(np.linalg.norm(seen.velocity, axis=1).max(initial=0.0)) for seen in motions.values()) or 1.0
    for name, seen in motions.items():
        w = seen.angular_velocity
        tilt = np.linalg.norm(np.cross(w, n), axis=1).max(initial=0.0) > 1e-6 * max(np.abs(w).max(initial=0.0), 1e-300)
        if (w.any() and tilt) or np.abs(seen.velocity @ n).max(initial=0.0) > 1e-6 * size:
            plane = ", ".join(f"{x:.4g}" for x in n)
            raise ModelError(
                item, "bodies", name, f"it leaves the plane normal to ({plane}): leave it out, or use da.screw_axes"
            )
    return n


@dataclass(frozen=True, eq=False, repr=False)
class Centrodes(KinematicResult):
    """Centrodes (polodes) of a body: loci of the instant centre in the frame and in the body.

    The moving polode rolls on the fixed one without sliding.

    Attributes
    ----------
    result : Result
    body, relative_to : str
    t : (n,) s
    fixed : (n, 3) m
        In the axes of `relative_to`; NaN where the centre is at infinity.
    moving : (n, 3) m
        In the axes of `body`.
    infinite, none : (n,) bool
        Masks of rows with pure translation, and at rest.
    normal : (3,)
        Of the plane of motion, in the axes of `relative_to`.
    """

    result: Result
    body: str
    relative_to: str
    t: Array
    fixed: Array
    moving: Array
    infinite: BoolArray
    none: BoolArray
    normal: Array
    seen: RelativeFrameMotion = field(repr=False)
    _arrays: ClassVar = {
        "fixed": (("time", "axis"), "m"),
        "moving": (("time", "axis"), "m"),
        "infinite": (("time",), ""),
        "none": (("time",), ""),
        "normal": (("axis",), ""),
    }

    @cached_property
    def pole_velocity(self) -> Array:
        """Velocity of the instant centre along the fixed polode, (n, 3) m/s, in the axes of `relative_to`."""
        seen, n = self.seen, self.normal
        w = seen.angular_velocity @ n
        with np.errstate(all="ignore"):
            x = self.fixed - seen.position
            a = seen.acceleration + np.cross(seen.angular_acceleration, x) - w[:, None] ** 2 * x
            u: Array = np.cross(n, a) / w[:, None]
        return u

    def _headline(self) -> str:
        return f"{self.body} relative to {self.relative_to}, {count_text(len(self.t), 'row')}, {self._extent()}"

    def _extent(self) -> str:
        finite = self.fixed[np.isfinite(self.fixed).all(axis=1)]
        return f"fixed centrode within {np.ptp(finite, axis=0).max():.4g} m" if len(finite) else "centres at infinity"


def centrodes(result: Result, body: object, *, relative_to: object = "ground") -> Centrodes:
    """Return the fixed and the moving polode of a body that moves in a plane.

    Parameters
    ----------
    result : Result
    body : Body, Marker or str
    relative_to : Body, Marker or str
        Frame of the fixed polode.

    Raises
    ------
    ModelError
        If the relative motion is not in a plane.
    """
    item = "centrodes"
    seen, n = seen_in_plane(result, body, relative_to, item)
    centre, _ = instant_centre(seen, n)
    moving = np.einsum("nji,nj->ni", seen.rotation, centre.point - seen.position)
    return Centrodes(
        result, seen.frame, seen.relative_to, seen.t, centre.point, moving, centre.infinite, centre.none, n, seen
    )
