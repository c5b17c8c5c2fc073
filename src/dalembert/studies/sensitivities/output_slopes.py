"""Exact derivatives of outputs of bodies and connections, by products in the core.

Outputs of frames, of the loads of connections and of accelerations are functions y = g(z) of the motion z of a few
bodies, of loads and accelerations. The derivatives of g, whose evaluation needs no dynamics, are fourth-order
differences over all entries of z at once. The core multiplies them with the exact derivatives of z by the state and all
parameters (`core/system/derivatives/products.hpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, cast

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...model import Conditions, Model, Pose
from ...model.conditions import parameter_directions
from ...result import Motion, Output, Result, single_period
from ...rotation import from_rotation_vector

__all__ = ["exact_slopes", "same_branch"]


_STEP = 1e-3  # of fourth-order differences: truncation 1e-12 of the fifth derivative, round-off 1e-13
_SHIFTS = (1.0, -1.0, 2.0, -2.0)
_MAX_WEIGHTS = 4_000_000  # entries of the weights in one call of the core
_MARKER_PARTS = 6  # x, y, z and a rotation vector


class _NotKnownError(Exception):
    """The output is a function of more than motions of rigid bodies, loads and accelerations."""


class _BodyMotions:
    """Stand-in for a `Motion` that computes outputs from given motions of bodies, loads and accelerations.

    Parameters
    ----------
    known : Motion
        At times (k,).
    """

    def __init__(self, known: Motion) -> None:
        self._known = known
        self.t = known.t
        self.parts: dict[Any, Array] = {}  # by body and kind, marker, or part of the report: (k, n)
        self._moved: dict[Any, Array] = {}

    def __len__(self) -> int:
        return len(self.t)

    def __getattr__(self, name: str) -> NoReturn:
        raise _NotKnownError(name)

    def shifted(self) -> tuple[_BodyMotions, list[tuple[Any, int]]]:
        """Return all entries shifted one by one, times varying fastest, and the entries (part, index)."""
        entries = [(key, j) for key, part in self.parts.items() for j in range(part.shape[1])]
        other, k = _BodyMotions(self._known), len(self)
        count = len(entries) * len(_SHIFTS)
        other.t = np.tile(self.t, count)
        for key, part in self.parts.items():
            other._moved[key] = np.tile(part, (count, 1))
        for e, (key, j) in enumerate(entries):
            for s, shift in enumerate(_SHIFTS):
                first = (e * len(_SHIFTS) + s) * k
                other._moved[key][first : first + k, j] += _STEP * shift
        return other, entries

    def _part(self, key: Any, found: Any) -> Array:
        if self._moved:
            return self._moved[key]
        if key not in self.parts:
            self.parts[key] = np.ascontiguousarray(found().reshape(len(self), -1))
        return self.parts[key]

    # ---- what outputs read

    def pose(self, marker: Marker) -> Pose:
        R, p = self._body(marker)
        R_M, arm = self._marker(marker)
        return Pose(R @ R_M, p + (R @ arm[..., None])[..., 0])

    def velocity(self, marker: Marker) -> tuple[Array, Array]:
        V, arm = self._rates(marker, "velocities"), self._arm(marker)
        w, u = V[:, :3], V[:, 3:]
        return w, u + np.cross(w, arm)

    def acceleration(self, marker: Marker) -> tuple[Array, Array]:
        A, w, arm = self._rates(marker, "accelerations"), self._rates(marker, "velocities")[:, :3], self._arm(marker)
        return A[:, :3], A[:, 3:] + np.cross(A[:, :3], arm) + np.cross(w, np.cross(w, arm))

    def part(self, name: str) -> Array:
        if name not in ("a", "loads"):
            raise _NotKnownError(name)
        shape = self._known.part(name).shape[1:]
        return self._part(name, lambda: self._known.part(name)).reshape(len(self), *shape)

    # ---- bodies

    def _number(self, marker: Marker) -> int:
        model = self._known.model
        if marker.body.flexible is not None or marker.body.name not in model.forest.number:
            raise _NotKnownError(marker.name)
        return int(model.forest.number[marker.body.name]) - 1

    def _body(self, marker: Marker) -> tuple[Array, Array]:
        body, known = self._number(marker), self._known
        if body < 0:
            return np.broadcast_to(np.eye(3), (len(self), 3, 3)), np.zeros((len(self), 3))

        def found() -> Array:
            R, p = known.model.poses(known.q)
            return np.concatenate([R[:, body].reshape(-1, 9), p[:, body]], axis=1)

        pose = self._part(("poses", body), found)
        return pose[:, :9].reshape(-1, 3, 3), pose[:, 9:]

    def _rates(self, marker: Marker, kind: str) -> Array:
        body, known = self._number(marker), self._known
        if body < 0:
            return np.zeros((len(self), 6))

        def found() -> Array:
            if kind == "velocities":
                return known.model.velocities(known.q, known.v)[:, body]
            return known.model.accelerations(known.q, known.v, known.part("a"))[:, body]

        return self._part((kind, body), found)

    def _marker(self, marker: Marker) -> tuple[Array, Array]:
        """Return axes and origin of a marker in its body, (k, 3, 3) and (k, 3)."""
        first, model = marker_place(self._known.model, marker), self._known.model
        if first is None:
            return (
                np.broadcast_to(marker.rotation, (len(self), 3, 3)),
                np.broadcast_to(marker.position, (len(self), 3)),
            )
        now = model.parameters[first : first + _MARKER_PARTS]
        numbers = self._part(("marker", first), lambda: np.tile(now, (len(self), 1)))
        turns = numbers[:, 3:]
        if (turns == turns[0]).all():
            return np.broadcast_to(from_rotation_vector(turns[0]), (len(self), 3, 3)), numbers[:, :3]
        return np.stack([from_rotation_vector(turn) for turn in turns]), numbers[:, :3]

    def _arm(self, marker: Marker) -> Array:
        return (self._body(marker)[0] @ self._marker(marker)[1][..., None])[..., 0]


def marker_place(model: Model, marker: Marker) -> int | None:
    """Return the index of the first of six parameters that place a marker in its body; None if no parameter does."""
    if marker.label is None:
        return None
    family = model.family
    key = ("named", marker.body.name, marker.label)
    for group in family.compiled.numbers.groups:
        if group.what == "marker" and group.key == key:
            return family.n_element_parameters + group.first
    return None


def exact_slopes(at: Result, output: Output, names: Sequence[str]) -> tuple[Array, Array] | None:
    """Return derivatives of an output by the state and by parameters; None if the core does not have them.

    Parameters
    ----------
    at : Result
        At times (k,).
    output : Output
    names : sequence of str, (m,)
        Of parameters of the model.

    Returns
    -------
    by_state : (k, ..., 2 nv + nx)
        By small motions, velocities and element states.
    by_parameter : (k, ..., m)
    """
    model = at.model
    assert model is not None
    if output.shape is None or (at.contact_sources and output.needs == "dynamics"):
        return None
    periods = [(np.arange(len(at.t)), model.conditions())] if at.conditions is None else at.conditions(at.t)
    found = None
    for rows, conditions in periods:
        own = Output.of(conditions.model, output.name)
        t, q, v, x = (np.ascontiguousarray(column[rows]) for column in (at.t, at.q, at.v, at.x))
        motion = Motion(conditions.model, t, q, v, x, conditions=single_period(conditions))
        part = _of_period(motion, conditions, own, names)
        if part is None:
            return None
        if found is None:
            found = tuple(np.empty((len(at.t), *each.shape[1:])) for each in part)
        for whole, each in zip(found, part, strict=True):
            whole[rows] = each
    return None if found is None else (found[0], found[1])


def _of_period(
    motion: Motion, conditions: Conditions, output: Output, names: Sequence[str]
) -> tuple[Array, Array] | None:
    """Return derivatives by the state and by parameters under one set of conditions."""
    if output.determined is not None and not np.all(output.determined(motion)):
        return None  # shares of least norm
    bodies = _BodyMotions(motion)
    try:
        first = np.asarray(output.value(cast("Motion", bodies)))
        shifted, entries = bodies.shifted()
        if not entries:
            return None
        moved = np.asarray(output.value(cast("Motion", shifted)))
    except _NotKnownError:
        return None
    k, model = len(motion), motion.model
    size = int(np.prod(first.shape[1:], dtype=int))
    moved = same_branch(output, moved, np.tile(first, (len(moved) // k,) + (1,) * (first.ndim - 1)))
    up, down, far_up, far_down = np.moveaxis(moved.reshape(len(entries), len(_SHIFTS), k, size), 1, 0)
    slopes = (8 * (up - down) - (far_up - far_down)) / (12 * _STEP)  # (entries, k, size)
    nb, nv = model.nb, model.nv
    first_of = {"poses": 0, "velocities": 12 * nb, "accelerations": 18 * nb, "loads": 24 * nb}
    width = {"poses": 12, "velocities": 6, "accelerations": 6}
    first_of["a"] = 24 * nb + 6 * len(model.connection_names)
    weights = np.zeros((k, size, first_of["a"] + nv))
    rows = parameter_directions(model, names, model.parameters, "sensitivity")
    by_number = np.zeros((k, size, len(names)))
    for (key, j), slope in zip(entries, slopes, strict=True):
        if isinstance(key, str):
            weights[:, :, first_of[key] + j] = slope
        elif key[0] == "marker":
            by_number += slope[..., None] * rows[:, key[1] + j]
        else:
            weights[:, :, first_of[key[0]] + width[key[0]] * key[1] + j] = slope
    by_state, by_parameter = _products(motion, conditions, weights.reshape(k * size, -1), rows)
    if not (np.isfinite(by_state).all() and np.isfinite(by_parameter).all()):
        return None
    shape = first.shape
    return by_state.reshape(*shape, -1), by_number.reshape(*shape, -1) + by_parameter.reshape(*shape, -1)


def _products(motion: Motion, conditions: Conditions, weights: Array, rows: Array) -> tuple[Array, Array]:
    """Return products of weights (k r, n) of entries with their derivatives by state and by parameters."""
    model, count = motion.model, len(weights)
    of = np.repeat(np.arange(len(motion)), count // max(len(motion), 1))
    by_state = np.empty((count, 2 * model.nv + model.nx))
    by_parameter = np.empty((count, len(rows)))
    kinds = [0, 1, 2, 3] if len(rows) else [0, 1, 2]
    together = max(1, _MAX_WEIGHTS // max(weights.shape[1], len(rows), 1))
    for begin in range(0, count, together):
        span = slice(begin, min(begin + together, count))
        at = of[span]
        found = model._d_output_products(
            kinds,
            motion.q[at],
            motion.v[at],
            weights[span],
            t=motion.t[at],
            x=motion.x[at],
            conditions=conditions,
            directions=rows,
        )
        by_state[span] = np.concatenate(found[:3], axis=1)
        if len(rows):
            by_parameter[span] = found[3]
    return by_state, by_parameter


def same_branch(output: Output, values: Array, near: Array) -> Array:
    """Return values with angles within 180° of reference values, and quaternions of their sign."""
    if not output.branch:
        return values
    kinds = np.array(output.branch)
    rows = values.reshape(len(values), -1).copy()
    other = near.reshape(len(near), -1)
    turn = kinds == "turn"
    rows[:, turn] -= 2 * np.pi * np.round((rows[:, turn] - other[:, turn]) / (2 * np.pi))
    sign = kinds == "sign"
    if sign.any():
        flipped = (rows[:, sign] * other[:, sign]).sum(axis=1) < 0
        rows[np.ix_(flipped, np.flatnonzero(sign))] *= -1
    return rows.reshape(values.shape)
