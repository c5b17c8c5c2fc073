"""What markers are asked to do: places, attitudes, angles, directions of axes, in any number, one or a batch of them.

A target is a few rows of a residual r, m or rad, and of their Jacobian on v, in axes of the frame that it refers to:

    position    r = p - p*                                        J = J_v                                           (1)
    rotation    r = log(R R*^T), the turn that is too much        J = J_w                                           (2)
    angles      r = angles - angles*, each within half a turn     J = E^(-1) J_w,  w = E (angles)'                  (3)
    direction   r = -phi n, by which a = R axis misses d          J = (1 - a a^T) J_w,  n = a x d / |a x d|         (4)

J^T r is the gradient of |r|^2 / 2 in all of them, however large r is; that of (2) and (4) is not the whole derivative of
r, which bends (`stiffness`). Components that are NaN are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies.markers import Marker
from ..bodies.rigid import Body
from ..checks import positive
from ..errors import ModelError
from ..model import Model, Pose
from ..rotation import as_rotation_matrix, euler, quaternions, unit_vector

__all__ = ["Goal", "Target", "goals_of"]

Array = NDArray[np.float64]
Named = str | Marker | Body


@dataclass(frozen=True, eq=False)
class Target:
    """What a marker has to do. Everything may have a leading axis (B, ...) of many targets; NaN leaves a part free.

    Parameters
    ----------
    position : (..., 3) m
        Where its origin has to be.
    rotation : (..., 3, 3), (..., 4), or what `as_rotation_matrix` takes
        Its attitude: matrices, or unit quaternions (w, x, y, z).
    angles : (..., 3) rad
        Its attitude by three turns, some of which may be free; see `convention`.
    convention : str
        ``"XYZ"`` (Bryant), or any other of `da.rotation.euler`.
    axis : str or (3,)
        An axis of the marker that has to point along `direction`, ``"z"`` unless said otherwise.
    direction : (..., 3)
        Of any length.
    relative_to : str, Marker or Body
        Whose frame all of this is meant in; the world if left out.
    weight : float
        How much it counts beside others where not all can be met.

    Examples
    --------
    >>> Target(position=(0.5, np.nan, 0.2), direction=(0, 0, -1)).axis  # any y; the tool's z axis points down
    'z'
    """

    position: Any = None
    rotation: Any = None
    angles: Any = None
    convention: str = "XYZ"
    axis: str | ArrayLike = "z"
    direction: Any = None
    relative_to: Named | None = None
    weight: float = 1.0

    @classmethod
    def of(cls, given: Any, item: str) -> Target:
        """Return a target from one, a Pose, numbers (..., 3) of a position, or matrices (..., 4, 4) of a pose."""
        if isinstance(given, Target):
            return given
        if isinstance(given, Pose):
            return cls(position=given.position, rotation=given.rotation)
        try:
            numbers = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            numbers = np.zeros(())
        if numbers.shape[-2:] == (4, 4) and np.allclose(numbers[..., 3, :], (0, 0, 0, 1)):
            return cls(position=numbers[..., :3, 3], rotation=numbers[..., :3, :3])
        if numbers.shape == (3, 3) and np.allclose(numbers @ numbers.T, np.eye(3)):
            remedy = "is this an attitude or three places? Say da.Target(rotation=...) or da.Target(position=...)"
            raise ModelError(item, "target", given, remedy)
        if numbers.ndim in (1, 2) and numbers.shape[-1] == 3:
            return cls(position=numbers)
        remedy = "give a position (..., 3), a pose (Pose, or matrices (..., 4, 4)), or a da.Target(...)"
        raise ModelError(item, "target", given, remedy)


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

    def of(self, which: NDArray[np.intp]) -> tuple[Array, NDArray[np.bool_]]:
        """Return what is wanted and meant of some of a batch, (b, ...)."""
        return (
            self.wanted if len(self.wanted) == 1 else self.wanted[which],
            self.meant if len(self.meant) == 1 else self.meant[which],
        )

    def residual(self, R: Array, p: Array, which: NDArray[np.intp]) -> Array:
        """Return r (b, 3) of (1) to (4) at poses R (b, 3, 3), p (b, 3)."""
        wanted, meant = self.of(which)
        if self.kind == "position":
            r = p - wanted
        elif self.kind == "rotation":
            r = rotation_vector(R @ wanted.swapaxes(-1, -2))
        elif self.kind == "angles":
            r = np.remainder(angles_of(R, self.letters) - wanted + np.pi, 2 * np.pi) - np.pi
        else:
            a = R @ self.axis
            r = -_turn_between(a, np.broadcast_to(wanted, a.shape))
        return r if self.whole else np.where(meant, r, 0.0)

    def jacobian(self, R: Array, J: Array, which: NDArray[np.intp]) -> Array:
        """Return its rows (b, 3, nv) from J (b, 6, nv) of the marker."""
        meant = self.of(which)[1]
        rows = J[:, 3:] if self.kind == "position" else J[:, :3]
        if self.kind == "angles":
            rows = np.linalg.solve(_turning_axes(angles_of(R, self.letters), self.letters), rows)
        elif self.kind == "direction":
            a = R @ self.axis
            rows = rows - a[:, :, None] * (a[:, None, :] @ rows)
        return rows if self.whole else rows * meant[..., None]

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


def rotation_vector(R: Array) -> Array:
    """Return the rotation vectors (b, 3), rad, up to pi, of rotations (b, 3, 3)."""
    r = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    cosine = 0.5 * (R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2] - 1.0)
    sine = np.sqrt((r * r).sum(1))
    factor = np.where(sine > 1e-9, np.arctan2(sine, cosine) / np.maximum(sine, 1e-300), 1.0)
    r *= factor[:, None]
    far = np.flatnonzero(cosine < -0.9)
    if far.size:
        e = quaternions(R[far])
        half = np.sqrt((e[:, 1:] ** 2).sum(1))
        r[far] = (2 * np.arctan2(half, e[:, 0]) / half)[:, None] * e[:, 1:]
    return r


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
    E = np.stack([np.broadcast_to(np.eye(3)[i], angles.shape), first[:, :, j], (first @ _turns(j, angles[:, 1]))[:, :, k]], axis=2)
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


# ---- from what users give


def goals_of(model: Model, targets: Mapping[Any, Any], item: str) -> tuple[list[Goal], int | None]:
    """Return the goals of targets by marker, and their number B; None if no target has a batch axis."""
    if not isinstance(targets, Mapping) or not targets:
        raise ModelError(item, "targets", targets, 'give a dict of markers to what they have to do: {"tool": (x, y, z)}')
    goals: list[Goal] = []
    counts: dict[str, int] = {}
    for marker, given in targets.items():
        found = model._found(item, marker)
        name = found.name
        target = Target.of(given, f"{item}: target of {name!r}")
        before = len(goals)
        _read(model, name, found, target, item, goals, counts)
        if len(goals) == before:
            raise ModelError(f"{item}: target of {name!r}", "target", given, "say what it has to do: all of it is free")
    if len(set(counts.values())) > 1:
        raise ModelError(item, "numbers of targets", counts, "give all targets in the same number, or one for all")
    return goals, next(iter(counts.values()), None)


def _read(
    model: Model, name: str, marker: Marker, target: Target, item: str, goals: list[Goal], counts: dict[str, int]
) -> None:
    """Append the goals of one target, and note the sizes of its batch axes."""
    what = f"{item}: target of {name!r}"
    reference = None if target.relative_to is None else model._found(item, target.relative_to)
    weight = positive(what, weight=target.weight)["weight"]
    axis, letters = np.zeros(3), ""
    for kind in ("position", "rotation", "angles", "direction"):
        given = getattr(target, kind)
        if given is None:
            continue
        if kind == "rotation":
            wanted, batched = _rotations(given, what)
            meant = np.ones((len(wanted), 3), dtype=bool)
        else:
            wanted, batched = _triples(given, what, kind)
            meant = ~np.isnan(wanted)
        if kind == "angles":
            euler((0.0, 0.0, 0.0), target.convention)  # looks at it
            letters = target.convention
        if kind == "direction":
            axis = unit_vector(target.axis, item=what, field="axis")
            wanted, meant = _directions(wanted, what, given)
        if not meant.any():
            continue
        if batched:
            counts[f"{name}.{kind}"] = len(wanted)
        goals.append(Goal(name, marker, reference, kind, wanted, meant, axis, letters, weight))


def _triples(given: Any, what: str, kind: str) -> tuple[Array, bool]:
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != 3 or np.isinf(numbers).any() or not numbers.size:
        raise ModelError(what, kind, given, "give three numbers, or (B, 3) of them; NaN where it is free")
    return numbers.reshape(-1, 3), numbers.ndim == 2


def _directions(wanted: Array, what: str, given: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Return unit vectors; a direction is free as a whole."""
    lengths = np.sqrt((wanted * wanted).sum(1))
    free = np.isnan(wanted).all(1)
    if (np.isnan(lengths) & ~free).any() or (lengths == 0.0).any():
        remedy = "give three numbers that are not all zero; a direction can be free only as a whole"
        raise ModelError(what, "direction", given, remedy)
    unit = np.where(free[:, None], np.array([0.0, 0.0, 1.0]), wanted / np.where(free, 1.0, lengths)[:, None])
    return unit, np.repeat(~free[:, None], 3, axis=1)


def _rotations(given: Any, what: str) -> tuple[Array, bool]:
    if callable(getattr(given, "as_matrix", None)):
        given = given.as_matrix()
    shape = np.shape(given) if not isinstance(given, (tuple, list)) or len(given) != 2 else ()
    if len(shape) == 3 and shape[1:] == (3, 3):
        R = np.array(given, dtype=float)
        error = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2))
        bad = ~(error < 1e-6) | (np.linalg.det(R) < 0)
        if bad.any():
            first = int(bad.argmax())
            as_rotation_matrix(R[first], item=what, field=f"rotation[{first}]")  # refuses it
        if error.max(initial=0.0) > 1e-14:
            U, _, V = np.linalg.svd(R)
            R = U @ V
        return R, True
    if len(shape) == 2 and shape[1] == 4:
        return np.array([as_rotation_matrix(e, item=what, field=f"rotation[{k}]") for k, e in enumerate(given)]), True
    return as_rotation_matrix(given, item=what)[None], False

