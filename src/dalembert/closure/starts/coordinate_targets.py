"""Targets for coordinates of cut joints and poses of bodies, which are not part of q.

With [e_r; e_p] the small turn and displacement from the wanted relative pose (C, c) to the present one (R, p), in axes
of the first marker, a held coordinate with motion h = [h_r; h_p] of the joint (a column of H) adds the row

    h_r . e_r = 0   (rad)     or, for a displacement,     h_p . e_p = 0   (m),     exp(e_r x) = R C^T,  e_p = p - c  (1)

Its Jacobian is h . [w; v] of the relative velocity, exact up to terms of the order of the residual, which keeps
Newton's convergence quadratic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, IndexArray
from ...checks import finite_array
from ...connections.connection import Connection
from ...connections.constraints.chains import KinematicChain
from ...connections.joints import Free, Joint
from ...errors import ModelError
from ...model import Model
from ...rotation import quaternion_from_matrix
from ...system.initial_values import BodyPlacement
from ..limit_rows import HeldLimits
from ..relative_pose import relative
from .chain_targets import ALL_COORDINATES, ChainTarget, chain_target

__all__ = ["CoordinateTarget", "CutJointTarget", "body_pose_targets", "cut_joint_target"]


@dataclass(frozen=True, eq=False)
class CutJointTarget:
    """Target values of one or all coordinates of a loop constraint.

    Attributes
    ----------
    loop_constraint : Connection
    rotation, position : (3, 3), (3,) m
        The target pose of the second marker in the first.
    turns, moves : (k, 3)
        h_r and h_p of each held coordinate, one of the two zero.
    """

    loop_constraint: Connection
    rotation: Array
    position: Array
    turns: Array
    moves: Array

    @property
    def name(self) -> str:
        """Name of the loop constraint."""
        return self.loop_constraint.name

    @property
    def count(self) -> int:
        """The number of held coordinates."""
        return len(self.turns)

    @property
    def wished(self) -> CutJointTarget:
        """The same target as a preference."""
        return self

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        return np.where(self.turns.any(1), 1.0, 1.0 / length)

    def residual(self, model: Model, q: Array) -> Array:
        """Return (1), (k,) rad or m, at q (nq,); or (B, k) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.residual(model, one) for one in q]).reshape(len(q), -1)
        first, second = model.pose(self.loop_constraint.first, q), model.pose(self.loop_constraint.second, q)
        e = quaternion_from_matrix(first.rotation.T @ second.rotation @ self.rotation.T)
        sine = float(np.linalg.norm(e[1:]))
        turn = 2 * math.atan2(sine, e[0]) / sine * e[1:] if sine > 0.0 else np.zeros(3)
        shift = first.rotation.T @ (second.position - first.position) - self.position
        return self.turns @ turn + self.moves @ shift

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return the rows on v, (k, nv); or (B, k, nv) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.jacobian(model, one) for one in q]).reshape(len(q), -1, model.nv)
        V = relative(model, self.loop_constraint.first, self.loop_constraint.second, q).jacobian
        return self.turns @ V[:3] + self.moves @ V[3:]


CoordinateTarget = CutJointTarget | ChainTarget | HeldLimits


def cut_joint_target(model: Model, name: str, value: Any = None) -> CoordinateTarget | None:
    """Return the target for the connection or coordinate `name`; None if it is not of a cut joint.

    Without a value, that of ``System.initial`` is used.
    """
    loop_constraint, which = _find(model, name)
    if loop_constraint is None:
        return None
    element = loop_constraint.element
    if isinstance(element, KinematicChain):
        inner = name[len(loop_constraint.name) + 1 :]
        return chain_target(model, loop_constraint, "" if inner == ALL_COORDINATES else inner, value)
    if not isinstance(element, Joint):
        raise ModelError("assemble", "name", name, "a constraint has no coordinates to hold")
    item = f"assemble: coordinate {name!r}"
    position = element.zero
    initial = model.system.initials.get(loop_constraint.name)
    if initial is not None and initial.position is not None:
        position = np.where(np.isnan(initial.position), position, initial.position)
    elif value is None:
        raise ModelError(
            item,
            "value",
            None,
            f"the loop was cut at {loop_constraint.name!r}, so q does not contain it: give its value by "
            f"system.initial({loop_constraint.name!r}, position=...), or name another connection of the loop",
        )
    if value is not None:
        size = element.nq if which is None else 1
        given = [value] if size == 1 and np.ndim(value) == 0 else value
        if (
            isinstance(given, np.ndarray)
            and given.shape == (size,)
            and element.nq != element.nv
            and np.isnan(given).any()
        ):
            return _hold_part(loop_constraint, element, position, given)
        numbers = finite_array(given, (size,), item=item, field="value")
        position[slice(None) if which is None else slice(which, which + 1)] = numbers
    C, c = element.pose(position)
    H = element.motion(position)
    if which is not None:
        H = H[:, which : which + 1]
    turns, moves = H[:3].T.copy(), H[3:].T.copy()
    moves[turns.any(1)] = 0.0  # a screw is held by its angle
    return CutJointTarget(loop_constraint, C, c, turns, moves)


def _hold_part(loop_constraint: Connection, element: Joint, position: Array, given: Array) -> CutJointTarget:
    """Return the target for a whole orientation, or for the given displacements in axes of the first marker."""
    C, c = element.pose(np.where(np.isnan(given), position, given))
    turned, moved = not np.isnan(given[:4]).any(), np.flatnonzero(~np.isnan(given[4:]))
    return _of_pose(loop_constraint, C, c, turned, moved)


def _of_pose(
    loop_constraint: Connection, rotation: Array, position: Array, turned: bool, moved: IndexArray
) -> CutJointTarget:
    """Return the target for a pose: its rotation if `turned`, and displacements along axes of the first marker."""
    turns = np.vstack([np.eye(3)[: 3 * turned], np.zeros((len(moved), 3))])
    moves = np.vstack([np.zeros((3 * turned, 3)), np.eye(3)[moved]])
    return CutJointTarget(loop_constraint, rotation, position, turns, moves)


def body_pose_targets(model: Model, places: Mapping[str, BodyPlacement]) -> list[CoordinateTarget]:
    """Return the targets for body poses of `System.place`, like a free joint from ground."""
    held: list[CoordinateTarget] = []
    for name, place in places.items():
        if place.position is None and place.rotation is None:
            continue
        body, ground = model.system.bodies[name], model.system.ground
        second = body.at() if body.flexible is not None else body.origin
        held.append(
            _of_pose(
                Connection(f"{name}.place", Free(), ground.origin, second),
                place.rotation if place.rotation is not None else np.eye(3),
                place.position if place.position is not None else np.zeros(3),
                place.rotation is not None,
                np.arange(0 if place.position is None else 3),
            )
        )
    return held


def _find(model: Model, name: str) -> tuple[Connection | None, int | None]:
    """Return the loop constraint of a name, and the index of its coordinate; None for all of them."""
    for loop_constraint in model.forest.loop_constraints:
        element = loop_constraint.element
        if name == loop_constraint.name:
            return loop_constraint, None
        ending = name[len(loop_constraint.name) + 1 :] if name.startswith(loop_constraint.name + ".") else ""
        if isinstance(element, KinematicChain) and ending in (*element.inner_names, ALL_COORDINATES):
            return loop_constraint, None
        if isinstance(element, Joint) and element.independently_lockable and ending in element.coordinates:
            return loop_constraint, element.coordinates.index(ending)
    return None, None
