"""Contact points of a motion: those that carry load, whatever the contact model, and what they exchange over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..checks import set_fields

if TYPE_CHECKING:
    from .result import Result

__all__ = ["SLIDES", "STICKS", "ContactExchanges", "ContactPoints", "ContactSource", "least_norm_shares"]

RANK_TOL = 1e-9  # of the largest singular value
STICKS, SLIDES = 1, 2  # of `ContactPoints.state`


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Points that carry load, at k times; points of one time are adjacent.

    Attributes
    ----------
    time : (n,) int
        Index of the time.
    contact : (n,) int
        Index in ``model.contacts.names``.
    shapes : (n, 2) int
        Indices in ``model.contacts.shapes``: of the first side, of the second.
    position : (n, 3) m
        World axes.
    normal : (n, 3)
        Unit vector from the first to the second shape, world axes.
    force : (n, 3) N
        On the second shape, world axes.
    gap : (n,) m
    slip : (n,) m/s
        Sliding velocity.
    state : (n,) int
        1 sticks, 2 slides.
    moment : (n, 3) N m
        Of friction against rolling and spin, on the second shape, world axes; zero if left out.
    """

    time: IndexArray
    contact: IndexArray
    shapes: IndexArray
    position: Array
    normal: Array
    force: Array
    gap: Array
    slip: Array
    state: IndexArray
    moment: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.moment is None:
            set_fields(self, moment=np.zeros_like(self.force))

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def none(cls) -> ContactPoints:
        """Return no points."""
        whole, number = np.zeros(0, dtype=np.int64), np.zeros(0)
        vector = np.zeros((0, 3))
        return cls(whole, whole, np.zeros((0, 2), dtype=np.int64), vector, vector, vector, number, number, whole)

    @classmethod
    def joined(cls, parts: Sequence[ContactPoints]) -> ContactPoints:
        """Return the points of several sources, in order of time."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.none()
        columns = [np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))

    def select(self, rows: Any) -> ContactPoints:
        """Return some of the points, by a mask or by indices."""
        return ContactPoints(*(getattr(self, f.name)[rows] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class ContactExchanges:
    """Impulses exchanged and energies lost at contacts; those of a period of time are spread over it evenly.

    Attributes
    ----------
    begin, end : (n,) s
        Equal for impacts.
    contact : (n,) int
    shapes : (n, 2) int
    impulse : (n, 3) N s
        On the second shape, world axes.
    friction : (n,) J
        Energy dissipated by sliding.
    impacts : (n,) J
        Energy lost along the normal: impacts, and damping of compliant contacts.
    """

    begin: Array
    end: Array
    contact: IndexArray
    shapes: IndexArray
    impulse: Array
    friction: Array
    impacts: Array

    @classmethod
    def none(cls) -> ContactExchanges:
        """Return no exchanges."""
        number, whole = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(number, number, whole, np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3)), number, number)

    def select(self, rows: Any) -> ContactExchanges:
        """Return some of the exchanges, by a mask or by indices."""
        return ContactExchanges(*(getattr(self, f.name)[rows] for f in fields(self)))

    def total(self, values: Array, t: Array) -> Array:
        """Return sums (k, ...) of `values` (n, ...), one for each exchange, up to times (k,) s in order."""
        t = np.where(np.append(t[:-1] == t[1:], False), np.nextafter(t, -np.inf), t)  # before an impact, and after
        values = np.asarray(values, dtype=float)
        flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
        length = self.end - self.begin
        # each exchange adds a ramp: cumulative sums of rates and of offsets at its two ends
        rate = flat / np.where(length > 0.0, length, 1.0)[:, None] * (length > 0.0)[:, None]
        jump = np.where((length > 0.0)[:, None], -rate * self.begin[:, None], flat)
        found = _sums(self.begin, jump, t) + t[:, None] * _sums(self.begin, rate, t)
        ended = np.where((length > 0.0)[:, None], flat - jump, 0.0)
        found += _sums(self.end, ended, t) - t[:, None] * _sums(self.end, rate, t)
        return found.reshape(len(t), *values.shape[1:])


def _sums(at: Array, values: Array, t: Array) -> Array:
    """Return sums (k, m) of the values (n, m) whose times (n,) are not after t (k,)."""
    order = np.argsort(at, kind="stable")
    every = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values[order], axis=0)])
    return np.asarray(every[np.searchsorted(at[order], t, side="right")])


def least_norm_shares(points: ContactPoints, bodies: IndexArray) -> tuple[ContactPoints, BoolArray]:
    """Return points of one time with shares of least norm, and a mask (n,) of those whose forces are not unique.

    Force and moment on every body stay the same. Shares outside the friction cones, as far as the forces tell, are not
    taken: the given ones stay.

    Parameters
    ----------
    points : ContactPoints
    bodies : (ns,) int
        Number of the body of each shape; 0 is ground.
    """
    n = len(points)
    if n < 2:
        return points, np.zeros(n, dtype=bool)
    ends = bodies[points.shapes]
    moving = np.unique(ends[ends > 0])
    length = max(float(np.ptp(points.position, axis=0).max()), 1e-12)
    arms = (points.position - points.position.mean(axis=0)) / length
    wrench = np.zeros((6 * len(moving), 3 * n))
    for k in range(n):
        x, y, z = arms[k]
        block = np.vstack([np.eye(3), [[0, -z, y], [z, 0, -x], [-y, x, 0]]])
        for side, sign in ((0, -1.0), (1, 1.0)):
            if ends[k, side] > 0:
                row = 6 * int(np.searchsorted(moving, ends[k, side]))
                wrench[row : row + 6, 3 * k : 3 * k + 3] += sign * block
    _, sizes, rows = np.linalg.svd(wrench, full_matrices=True)
    rank = int((sizes > RANK_TOL * sizes[0]).sum())
    free = rows[rank:]
    shared = (np.abs(free).max(axis=0, initial=0.0) > RANK_TOL).reshape(n, 3).any(axis=1)
    given = points.force.ravel()
    force = (given - free.T @ (free @ given)).reshape(n, 3)
    normal = (force * points.normal).sum(axis=1)
    if (normal < 0.0).any() or not _keeps_cones(points, force, normal):
        return points, shared
    return replace(points, force=force), shared


def _keeps_cones(points: ContactPoints, force: Array, normal: Array) -> bool:
    """Return whether no ratio of friction to normal force is above the largest of the given ones."""

    def ratios(forces: Array, along: Array) -> Array:
        tangential = np.linalg.norm(forces - along[:, None] * points.normal, axis=1)
        return np.asarray(tangential / np.maximum(along, 1e-300))

    before = (points.force * points.normal).sum(axis=1)
    return bool(ratios(force, normal).max() <= 1e-9 + ratios(points.force, before).max())


class ContactSource(Protocol):
    """Contact points of one contact model of a run. A `Result` has a tuple of sources.

    Attributes
    ----------
    has_shares : bool
        Whether the law determines the force of every point; else only sums, and `touching` gives shares of least norm.
    adds_loss : bool
        Whether the energies of `exchanges` are neither in the core's report nor in the events of the run.
    has_state_loads : bool
        Whether outputs of the dynamics need the forces of `points` as loads: the conditions of the run have none.
    """

    adds_loss: bool
    has_state_loads: bool
    has_shares: bool

    def points(self, t: Array, q: Array, v: Array, x: Array) -> ContactPoints:
        """Return the points that carry load at times t (k,) s and states q (k, nq), v (k, nv), x (k, nx)."""

    def efforts(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the efforts of stops and dry friction of joints that act with them, (k, nv + cut nv) N m or N.

        Those in the conditions of the run are not counted: zeros, (k, 1), if there are no others.
        """

    def cut_loads(self, t: Array, q: Array, v: Array, x: Array) -> Array | None:
        """Return [moment; force] of those of cut joints on the bodies at their origins, world axes, (k, bodies, 6)."""

    def stuck(self, t: Array, v: Array) -> BoolArray:
        """Return the velocities that dry friction or a stop of a joint holds at zero, (k, nv + cut nv)."""

    def exchanges(self, result: Result) -> ContactExchanges:
        """Return impulses and losses of the whole run."""
