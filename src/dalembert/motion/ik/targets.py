"""Targets of markers: position, orientation, angles or direction in any form, in batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, BoolArray
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...checks import positive, shape_of
from ...errors import ModelError
from ...model import Model, Pose
from ...model.argument_errors import checked_marker
from ...rotation import as_rotation_matrix, euler, unit_vector
from .target_checks import CheckedTarget

__all__ = ["Target", "goals_of"]

Named = str | Marker | Body

MAX_TARGET_VALUE = 1e100  # larger numbers have squares that overflow


@dataclass(frozen=True, eq=False)
class Target:
    """Target of a marker.

    Any part may have a leading axis (B, ...) of many targets; NaN leaves a component free.

    Parameters
    ----------
    position : (..., 3) m
        Position of its origin.
    rotation : (..., 3, 3), (..., 4), or any input of `as_rotation_matrix`
        Its orientation: matrices, or unit quaternions (w, x, y, z).
    angles : (..., 3) rad
        Its orientation by three rotations, some of which may be free; see `convention`.
    convention : str
        ``"XYZ"`` (Bryant), or any other of `da.rotation.euler`.
    axis : str or (3,)
        Axis of the marker that has to point along `direction`, default ``"z"``.
    direction : (..., 3)
        Of any length.
    relative_to : str, Marker or Body
        Reference frame of all components; default the world.
    weight : float
        Weight relative to other targets where not all can be met.

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
        """Return a target from a Target, a Pose, a position (..., 3), or pose matrices (..., 4, 4)."""
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
            remedy = "an orientation or three positions? Give da.Target(rotation=...) or da.Target(position=...)"
            raise ModelError(item, "target", given, remedy)
        if numbers.ndim in (1, 2) and numbers.shape[-1] == 3:
            return cls(position=numbers)
        remedy = "give a position (..., 3), a pose (Pose, or matrices (..., 4, 4)), or a da.Target(...)"
        raise ModelError(item, "target", given, remedy)


def goals_of(model: Model, targets: Mapping[Any, Any], item: str) -> tuple[list[CheckedTarget], int | None]:
    """Return the checked targets by marker, and their number B; None if no target has a batch axis."""
    if not isinstance(targets, Mapping) or not targets:
        raise ModelError(item, "targets", targets, 'give a dict: {"tool": (x, y, z)}, markers and their targets')
    goals: list[CheckedTarget] = []
    counts: dict[str, int] = {}
    for marker, given in targets.items():
        found = checked_marker(model, item, marker)
        name = found.name
        target = Target.of(given, f"{item}: target of {name!r}")
        before = len(goals)
        _read(model, name, found, target, item, goals, counts)
        if len(goals) == before:
            raise ModelError(f"{item}: target of {name!r}", "target", given, "all of it is free: give a component")
    if len(set(counts.values())) > 1:
        raise ModelError(item, "numbers of targets", counts, "give all targets in the same number, or one for all")
    return goals, next(iter(counts.values()), None)


def _read(
    model: Model,
    name: str,
    marker: Marker,
    target: Target,
    item: str,
    goals: list[CheckedTarget],
    counts: dict[str, int],
) -> None:
    """Append the checked targets of one target, and record the sizes of its batch axes."""
    what = f"{item}: target of {name!r}"
    reference = None if target.relative_to is None else checked_marker(model, item, target.relative_to)
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
            euler((0.0, 0.0, 0.0), target.convention)  # checks the convention
            letters = target.convention
        if kind == "direction":
            axis = unit_vector(target.axis, item=what, field="axis")
            wanted, meant = _directions(wanted, what, given)
        if not meant.any():
            continue
        if batched:
            counts[f"{name}.{kind}"] = len(wanted)
        goals.append(CheckedTarget(name, marker, reference, kind, wanted, meant, axis, letters, weight))


def _triples(given: Any, what: str, kind: str) -> tuple[Array, bool]:
    try:
        numbers = np.array(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if (
        numbers.ndim not in (1, 2)
        or numbers.shape[-1] != 3
        or not numbers.size
        or (np.abs(numbers) > MAX_TARGET_VALUE).any()
    ):
        raise ModelError(what, kind, given, "give three numbers, or (B, 3) of them; NaN where it is free")
    return numbers.reshape(-1, 3), numbers.ndim == 2


def _directions(wanted: Array, what: str, given: Any) -> tuple[Array, BoolArray]:
    """Return unit vectors; a direction is free as a whole or not at all."""
    lengths = np.sqrt((wanted * wanted).sum(1))
    free = np.asarray(np.isnan(wanted).all(1))
    if (np.isnan(lengths) & ~free).any() or (lengths == 0.0).any():
        remedy = "give three numbers that are not all zero; a direction can be free only as a whole"
        raise ModelError(what, "direction", given, remedy)
    unit = np.where(free[:, None], np.array([0.0, 0.0, 1.0]), wanted / np.where(free, 1.0, lengths)[:, None])
    return unit, np.repeat(~free[:, None], 3, axis=1)


def _rotations(given: Any, what: str) -> tuple[Array, bool]:
    if callable(getattr(given, "as_matrix", None)):
        given = given.as_matrix()
    pair = isinstance(given, (tuple, list)) and len(given) == 2 and np.ndim(given[1]) == 0  # axis and angle
    shape = () if pair else shape_of(given) or ()
    if shape and shape[0] == 0:
        raise ModelError(what, "rotation", given, "give at least one")
    if len(shape) == 3 and shape[1:] == (3, 3):
        R = np.array(given, dtype=float)
        error = np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2))
        bad = ~(error < 1e-6) | (np.linalg.det(R) < 0)
        if bad.any():
            first = int(np.argmax(bad))
            as_rotation_matrix(R[first], item=what, field=f"rotation[{first}]")  # raises the error
        if error.max(initial=0.0) > 1e-14:
            U, _, V = np.linalg.svd(R)
            R = U @ V
        return R, True
    if len(shape) == 2 and shape[1] == 4:
        return np.array([as_rotation_matrix(e, item=what, field=f"rotation[{k}]") for k, e in enumerate(given)]), True
    return as_rotation_matrix(given, item=what)[None], False
