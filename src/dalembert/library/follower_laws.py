"""Follower laws of cams, segment by segment, with derivatives by the cam angle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_number, positive_number
from ..errors import ModelError

__all__ = ["FOLLOWER_LAWS", "FollowerMotion"]


_PI = math.pi


def _cycloidal(x: Array) -> Array:
    w = 2 * _PI
    return np.array([x - np.sin(w * x) / w, 1 - np.cos(w * x), w * np.sin(w * x), w * w * np.cos(w * x)])


def _harmonic(x: Array) -> Array:
    c, s = np.cos(_PI * x), np.sin(_PI * x)
    return np.array([1 - c, _PI * s, _PI**2 * c, -(_PI**3) * s]) / 2


def _polynomial(*coefficients: float) -> Callable[[Array], Array]:
    rows = [np.array(coefficients)]
    for _ in range(3):
        rows.append(np.polynomial.polynomial.polyder(rows[-1]))
    return lambda x: np.array([np.polynomial.polynomial.polyval(x, row) for row in rows])


def _mirrored(half: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a law whose second half is the point reflection of the first."""

    def law(x: Array) -> Array:
        late = x > 0.5
        y = half(np.where(late, 1 - x, x))
        return np.where(late, np.array([1 - y[0], y[1], -y[2], y[3]]), y)

    return law


def _trapezoid(x: Array) -> Array:
    """Return the first half of the modified trapezoid: acceleration sine, constant, cosine."""
    A, w = 8 * _PI / (_PI + 2), 4 * _PI
    rising = np.array([x / w - np.sin(w * x) / w**2, (1 - np.cos(w * x)) / w, np.sin(w * x), w * np.cos(w * x)])
    u = x - 0.125
    y1, v1 = 0.125 / w - 1 / w**2, 1 / w
    level = np.array([y1 + v1 * u + u * u / 2, v1 + u, np.ones_like(u), np.zeros_like(u)])
    u = x - 0.375
    y3, v3 = y1 + v1 / 4 + 1 / 32, v1 + 0.25
    falling = np.array(
        [y3 + v3 * u + (1 - np.cos(w * u)) / w**2, v3 + np.sin(w * u) / w, np.cos(w * u), -w * np.sin(w * u)]
    )
    return A * np.where(x < 0.125, rising, np.where(x < 0.375, level, falling))


def _sine(x: Array) -> Array:
    """Return the first half of the modified sine: a steep quarter wave, then a slow one."""
    A, w, u = 4 * _PI**2 / (_PI + 4), 4 * _PI, x - 0.125
    rising = np.array([x / w - np.sin(w * x) / w**2, (1 - np.cos(w * x)) / w, np.sin(w * x), w * np.cos(w * x)])
    y1, v1, k = 0.125 / w - 1 / w**2, 1 / w, w / 3
    slow = np.array(
        [y1 + v1 * u + (1 - np.cos(k * u)) / k**2, v1 + np.sin(k * u) / k, np.cos(k * u), -k * np.sin(k * u)]
    )
    return A * np.where(x < 0.125, rising, slow)


FOLLOWER_LAWS: dict[str, Callable[[Array], Array]] = {
    "cycloidal": _cycloidal,
    "harmonic": _harmonic,
    "polynomial345": _polynomial(0, 0, 0, 10, -15, 6),
    "polynomial4567": _polynomial(0, 0, 0, 0, 35, -84, 70, -20),
    "modified_trapezoid": _mirrored(_trapezoid),
    "modified_sine": _mirrored(_sine),
}
"""Rise from 0 to 1 over x from 0 to 1: value and three derivatives, (4, n), of x (n,)."""

_BREAKS = {
    "modified_trapezoid": (0.125, 0.375, 0.625, 0.875),
    "modified_sine": (0.125, 0.875),
}  # jumps of the third derivative


class FollowerMotion:
    """Follower motion over one turn of a cam: a sequence of rises, returns and dwells.

    Parameters
    ----------
    segments : sequence of (angle, lift) or (angle, lift, law)
        Angle (rad) that the segment takes, lift (m, or rad of a follower that swings) at its end, and the law that
        leads there: ``"cycloidal"``, ``"harmonic"`` (whose acceleration jumps at its ends), ``"polynomial345"``,
        ``"polynomial4567"``, ``"modified_trapezoid"`` or ``"modified_sine"``; cycloidal if left out. The same lift as
        before is a dwell. It begins, at angle 0, with a lift of 0, and ends with it; angles add up to 2 pi.

    Called with an angle, it returns lift and first and second derivative by the angle, as a time law does: it can drive
    a follower without its cam at 1 rad/s.

    Examples
    --------
    >>> rise = FollowerMotion([(np.pi / 2, 0.01), (np.pi / 2, 0.01), (np.pi, 0.0, "polynomial345")])
    >>> rise.lift([0.0, np.pi / 4, np.pi / 2, np.pi]).round(6)
    array([0.   , 0.005, 0.01 , 0.01 ])
    """

    def __init__(self, segments: Sequence[Any]) -> None:
        item = "FollowerMotion"
        if isinstance(segments, (str, bytes)) or not isinstance(segments, Sequence) or not segments:
            raise ModelError(item, "segments", segments, "give (angle, lift, law) for each, one or more")
        self.spans: list[float] = []
        self.lifts = [0.0]
        self.laws: list[str | None] = []
        for k, segment in enumerate(segments):
            where = f"{item}: segment {k}"
            if not isinstance(segment, (tuple, list)) or len(segment) not in (2, 3):
                raise ModelError(where, "segment", segment, "give (angle, lift) or (angle, lift, law)")
            span = positive_number(segment[0], item=where, field="angle")
            lift = finite_number(segment[1], item=where, field="lift")
            law = segment[2] if len(segment) == 3 else "cycloidal"
            if law not in FOLLOWER_LAWS:
                raise ModelError(where, "law", law, f"use {', '.join(map(repr, FOLLOWER_LAWS))}")
            if lift < 0:
                raise ModelError(where, "lift", lift, "it is measured from the lowest position: give 0 or more")
            self.laws.append(None if lift == self.lifts[-1] else law)
            self.lifts.append(lift)
            self.spans.append(span)
        total = math.fsum(self.spans)
        if abs(total - 2 * _PI) > 1e-9:
            remedy = "they must add up to 360 degrees, 2 pi"
            raise ModelError(item, "angles", f"{math.degrees(total):.9g} degrees in all", remedy)
        if self.lifts[-1] != 0:
            raise ModelError(item, "lift", self.lifts[-1], "the last segment must end at a lift of 0")
        self.starts = np.concatenate([[0.0], np.cumsum(self.spans)])

    @property
    def greatest_lift(self) -> float:
        """Largest lift, m or rad."""
        return max(self.lifts)

    @property
    def pieces(self) -> list[tuple[int, float, float]]:
        """Intervals with smooth derivatives: segment, begin and end in it, rad."""
        found = []
        for k, (law, span) in enumerate(zip(self.laws, self.spans, strict=True)):
            ends = [0.0, *(span * x for x in _BREAKS.get(law or "", ())), span]
            found += [(k, a, b) for a, b in pairwise(ends)]
        return found

    def within(self, k: int, angle: Array) -> Array:
        """Return lift and three derivatives (4, n) at angles (n,) rad from the start of segment k."""
        law, span = self.laws[k], self.spans[k]
        low, high = self.lifts[k : k + 2]
        if law is None:
            return np.array([np.full_like(angle, low), *np.zeros((3, len(angle)))])
        y = (high - low) * FOLLOWER_LAWS[law](angle / span)
        y[0] += low
        return np.asarray(y / span ** np.arange(4.0)[:, None])

    def lift(self, angle: ArrayLike, order: int = 0) -> Array:
        """Return the lift (...) m or rad at angles (...) rad of the cam, or a derivative up to the third."""
        if order not in (0, 1, 2, 3):
            raise ModelError("FollowerMotion", "order", order, "use 0 to 3: derivatives up to the third are available")
        a = np.asarray(angle, dtype=float)
        x = np.mod(a, 2 * _PI).ravel()
        k = np.clip(np.searchsorted(self.starts, x, side="right") - 1, 0, len(self.spans) - 1)
        result = np.zeros(len(x))
        for segment in np.unique(k):
            here = k == segment
            result[here] = self.within(int(segment), x[here] - self.starts[segment])[order]
        return result.reshape(a.shape)

    def discontinuity_times(self, first: float, last: float) -> Array:
        """Return the angles (k,) rad between two angles at which accelerations or jerks may jump, for drives."""
        own = np.array([self.starts[k] + a for k, a, _ in self.pieces])
        turns = 2 * _PI * np.arange(math.floor(first / (2 * _PI)), math.ceil(last / (2 * _PI)) + 1)
        found = (turns[:, None] + own).ravel()
        return np.asarray(found[(found > first) & (found < last)])

    def __call__(self, angle: float) -> tuple[float, float, float]:
        return tuple(float(self.lift(angle, order)) for order in range(3))  # type: ignore[return-value]

    def __repr__(self) -> str:
        parts = [
            f"{math.degrees(span):.4g} deg {law or 'dwell'}" for span, law in zip(self.spans, self.laws, strict=True)
        ]
        return f"<FollowerMotion: {', '.join(parts)}; lift {self.greatest_lift:.6g}>"
