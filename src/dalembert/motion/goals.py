"""Rows of targets: places, attitudes, angles, directions of axes, one or a batch of them.

A target is a few rows of a residual r, m or rad, and of their Jacobian on v, in axes of the frame that it refers to:

    position    r = p - p*                                        J = J_v                                           (1)
    rotation    r = log(R R*^T), the turn that is too much        J = J_w                                           (2)
    angles      r = angles - angles*, each within half a turn     J = E^(-1) J_w,  w = E (angles)'                  (3)
    direction   r = -phi n, by which a = R axis misses d          J = (1 - a a^T) J_w,  n = a x d / |a x d|         (4)

J^T r is the gradient of |r|^2 / 2 in all of them, however large r is; that of (2) and (4) is not the whole derivative
of r, which bends (`Goal.stiffness`). Components that are NaN are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..rotation import rotation_vectors

__all__ = ["Goal", "bent"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Goal:
    """A target of one marker of a model, checked; arrays have a leading axis of 1 or B.

    Attributes
    ----------
    name : str
    marker : Marker
    reference : Marker or None
    kind : str
        ``"position"``, ``"rotation"``, ``"angles"`` or ``"direction"``.
    wanted : (..., 3) or (..., 3, 3)
    meant : (..., 3) bool
        Rows that are not free.
    axis : (3,)
    letters : str
    weight : float
    """

    name: str
    marker: Marker
    reference: Marker | None
    kind: str
    wanted: Array
    meant: NDArray[np.bool_]
    axis: Array
    letters: str
    weight: float

    @cached_property
    def whole(self) -> bool:
        """Whether no row is free."""
        return bool(self.meant.all())

    @property
    def unit(self) -> str:
        """``"m"`` or ``"rad"``."""
        return "m" if self.kind == "position" else "rad"

    def meant_of(self, which: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which rows are not free for some of a batch, (b, 3) or (1, 3)."""
        return self.meant if len(self.meant) == 1 else self.meant[which]

    def residual(self, R: Array, p: Array, which: NDArray[np.intp]) -> Array:
        """Return r (b, 3) of (1) to (4) at poses R (b, 3, 3), p (b, 3)."""
        wanted = self.wanted if len(self.wanted) == 1 else self.wanted[which]
        if self.kind == "position":
            r = p - wanted
        elif self.kind == "rotation":
            r = rotation_vectors(R @ wanted.swapaxes(-1, -2))
        elif self.kind == "angles":
            r = _within_half_a_turn(angles_of(R, self.letters) - wanted)
        else:
            a = R @ self.axis
            r = -_turn_between(a, np.broadcast_to(wanted, a.shape))
        return r if self.whole else np.where(self.meant_of(which), r, 0.0)

    def jacobian(self, R: Array, J: Array, which: NDArray[np.intp]) -> Array:
        """Return its rows (b, 3, nv) from J (b, 6, nv) of the marker."""
        rows: Array = J[:, 3:] if self.kind == "position" else J[:, :3]
        if self.kind == "angles":
            axes = _turning_axes(angles_of(R, self.letters), self.letters)
            rows = np.asarray(np.linalg.solve(axes, rows), dtype=np.float64)
        elif self.kind == "direction":
            a = R @ self.axis
            rows = rows - a[:, :, None] * (a[:, None, :] @ rows)
        return rows if self.whole else rows * self.meant_of(which)[..., None]

    def stiffness(self, r: Array) -> Array:
        """Return S (b, 3, 3): the second derivative of |r|^2 / 2 beside that of J is J^T S J."""
        if self.kind in ("rotation", "direction"):
            return bent(r, 0.5 if self.kind == "rotation" else 1.0)
        return np.broadcast_to(np.eye(3), (len(r), 3, 3))


def bent(r: Array, part: float) -> Array:
    """Return the second derivatives (b, 3, 3) of phi^2 / 2 by turns, phi n = r (b, 3) a turn (part 1/2) or a tilt (1).

    One along n, part phi / tan(part phi) across.
    """
    angle = np.sqrt((r * r).sum(1))
    half = part * angle
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(half < 1e-4, 1.0 - half * half / 3.0, half / np.tan(half))
        n = np.where(angle[:, None] < 1e-12, 0.0, r / angle[:, None])
    c = np.maximum(c, -10.0)[:, None, None]  # beside a half turn it has no bound
    S: Array = c * np.eye(3) + (1.0 - c) * n[:, :, None] * n[:, None, :]
    return S


def _turn_between(a: Array, d: Array) -> Array:
    """Return the shortest turns (b, 3), rad, that take unit vectors a to d, each (b, 3)."""
    n = np.cross(a, d)
    sine, cosine = np.sqrt((n * n).sum(1)), (a * d).sum(1)
    opposed = (sine < 1e-9) & (cosine < 0)
    if opposed.any():  # any axis across leads there
        n[opposed] = np.cross(a[opposed], np.eye(3)[np.abs(a[opposed]).argmin(1)])
        sine[opposed] = 0.0
    length = np.sqrt((n * n).sum(1))
    factor = np.where(length > 1e-300, np.arctan2(sine, cosine) / np.maximum(length, 1e-300), 0.0)
    turn: Array = factor[:, None] * n
    return turn


def _within_half_a_turn(angles: Array) -> Array:
    return np.asarray(np.remainder(angles + np.pi, 2 * np.pi) - np.pi, dtype=np.float64)


def angles_of(R: Array, letters: str) -> Array:
    """Return the angles (b, 3), rad, of rotations (b, 3, 3) in a convention of `euler`."""
    if letters.islower():
        return angles_of(R, letters[::-1].upper())[:, ::-1]
    i, j, k = ("XYZ".index(letter) for letter in letters)
    if i == k:
        k = 3 - i - j
        sign = 1.0 if (j - i) % 3 == 1 else -1.0
        second = np.arctan2(np.hypot(R[:, i, j], R[:, i, k]), R[:, i, i])
        return np.stack(
            [np.arctan2(R[:, j, i], -sign * R[:, k, i]), second, np.arctan2(R[:, i, j], sign * R[:, i, k])], axis=1
        )
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    second = np.arctan2(sign * R[:, i, k], np.hypot(R[:, i, i], R[:, i, j]))
    first = np.arctan2(-sign * R[:, j, k], R[:, k, k])
    return np.stack([first, second, np.arctan2(-sign * R[:, i, j], R[:, i, i])], axis=1)


def _turning_axes(angles: Array, letters: str) -> Array:
    """Return E (b, 3, 3) of (3): the axes about which the angles turn, as columns, kept from coinciding."""
    if letters.islower():
        return _turning_axes(angles[:, ::-1], letters[::-1].upper())[:, :, ::-1]
    i, j, k = ("XYZ".index(letter) for letter in letters)
    first = _turns(i, angles[:, 0])
    E = np.stack(
        [np.broadcast_to(np.eye(3)[i], angles.shape), first[:, :, j], (first @ _turns(j, angles[:, 1]))[:, :, k]],
        axis=2,
    )
    near = np.abs(np.linalg.det(E)) < 1e-6
    if near.any():
        E[near] = _turning_axes(angles[near] + (0.0, 1e-5, 0.0), letters)
    return E


def _turns(axis: int, angles: Array) -> Array:
    """Return the matrices (b, 3, 3) of turns about a coordinate axis."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R = np.zeros((len(angles), 3, 3))
    R[:, axis, axis] = 1.0
    R[:, j, j] = R[:, k, k] = np.cos(angles)
    R[:, k, j] = np.sin(angles)
    R[:, j, k] = -R[:, k, j]
    return R
