"""Rows of targets in plain NumPy: what `core/kinematics/ik_problem.hpp` evaluates, formula by formula."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.motion.ik.target_checks import CheckedTarget

Array = np.ndarray


def goal_rows(model: da.Model, goal: CheckedTarget, q: Array, which: Array) -> tuple[Array, Array]:
    """Return r (b, 3), m or rad, and J (b, 3, nv) of one goal at q (b, nq) for targets `which` (b,)."""
    R, p, J = _seen(model, goal, q)
    wanted = goal.wanted if len(goal.wanted) == 1 else goal.wanted[which]
    rows = J[:, 3:] if goal.kind == "position" else J[:, :3]
    if goal.kind == "position":
        r = p - wanted
    elif goal.kind == "rotation":
        r = Rotation.from_matrix(R @ wanted.swapaxes(-1, -2)).as_rotvec()
    elif goal.kind == "angles":
        r = _within_half_a_turn(angles_of(R, goal.letters) - wanted)
        rows = np.linalg.solve(_turning_axes(angles_of(R, goal.letters), goal.letters), rows)
    else:
        a = R @ goal.axis
        r = -_turn_between(a, np.broadcast_to(wanted, a.shape))
        rows = rows - a[:, :, None] * (a[:, None, :] @ rows)
    meant = goal.meant_of(which)
    return np.where(meant, r, 0.0), rows * meant[..., None]


def _seen(model: da.Model, goal: CheckedTarget, q: Array) -> tuple[Array, Array, Array]:
    """Return attitude, position and [w; v] by v of a marker, seen from and in axes of its frame of reference."""
    (R, p), J = model.pose(goal.marker, q), model.jacobian(goal.marker, q)
    if goal.reference is None:
        return R, p, J
    base, J_0 = model.pose(goal.reference, q), model.jacobian(goal.reference, q)
    back, d = base.rotation.swapaxes(1, 2), p - base.position
    carried = J_0[:, 3:] + np.cross(J_0[:, :3], d[:, :, None], axis=1)
    moved = np.concatenate([back @ (J[:, :3] - J_0[:, :3]), back @ (J[:, 3:] - carried)], axis=1)
    return back @ R, (back @ d[:, :, None])[:, :, 0], moved


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
