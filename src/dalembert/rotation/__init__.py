"""Rotation conversions: quaternions, matrices, axis and angle, Euler and Bryant angles.

A rotation is stored as the matrix R_AB whose columns are the axes of frame B in components of frame A, so that ``x_A =
R_AB @ x_B``. Quaternions are scalar first. In angle sequences, capital letters rotate about the axes of the moving
frame ("intrinsic", the rule of Euler, Bryant and most mechanics texts), small letters about the axes of the fixed
frame.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, finite_array, finite_number, shape_of, stacked
from ..errors import ModelError
from .angle_sequences import (
    axial,
    euler_accelerations,
    euler_angles,
    euler_axes,
    euler_matrices,
    euler_rates,
    euler_velocity,
    skew,
)
from .configuration_chart import Chart, chart

__all__ = [
    "Chart",
    "as_rotation_matrix",
    "axial",
    "axis_angle",
    "bryant",
    "bryant_angles",
    "chart",
    "euler",
    "euler_accelerations",
    "euler_angles",
    "euler_axes",
    "euler_rates",
    "euler_velocity",
    "from_rotation_vector",
    "quaternion",
    "quaternion_from_matrix",
    "quaternion_matrices",
    "quaternion_product",
    "quaternion_rate",
    "quaternions",
    "rotation_vectors",
    "skew",
    "to_bryant",
    "to_euler",
    "to_quaternion",
    "unit_vector",
]


_AXES = {
    sign + letter: np.sign(int(sign + "1")) * np.eye(3)[i] for i, letter in enumerate("xyz") for sign in ("", "+", "-")
}

_NO_TURN = np.eye(3)
_UNIT = 8 * float(np.finfo(float).eps)  # tolerance of the squared length of a unit vector against rounding


def unit_vector(axis: str | ArrayLike, *, item: str, field: str = "axis") -> Array:
    """Return a unit vector from a letter (``"x"``, ``"-z"``) or three numbers.

    Parameters
    ----------
    axis : str or (3,) array_like
        Direction; numbers are normalised.
    item, field : str
        Names for the error message.

    Raises
    ------
    ModelError
        If the letter is unknown, or the numbers are not three finite ones, or all zero.
    """
    if isinstance(axis, str):
        try:
            return np.array(_AXES[axis.strip().lower()])
        except KeyError:
            raise ModelError(item, field, axis, "use 'x', 'y', 'z' (with a sign if needed) or three numbers") from None
    vector = finite_array(axis, (3,), item=item, field=field)
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        raise ModelError(item, field, axis, "a direction needs at least one component that is not zero")
    if abs(float(vector @ vector) - 1.0) <= _UNIT:
        return vector  # dividing again would only change its last bits
    vector = vector / largest
    return vector / math.sqrt(float(vector @ vector))


def _is_formula(number: Any) -> bool:
    """Return whether a number is symbolic, as while a function is traced."""
    return hasattr(number, "arctan2")


def axis_angle(axis: str | ArrayLike, angle: float) -> Array:
    """Return the (3, 3) matrix of a rotation by `angle` (rad) about `axis`.

    Examples
    --------
    >>> axis_angle("z", np.pi / 2).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    n = unit_vector(axis, item="axis_angle")
    cross = skew(n)
    if _is_formula(angle):
        sine, cosine = np.sin(angle), np.cos(angle)
    else:
        angle = finite_number(angle, item="axis_angle", field="angle")
        sine, cosine = math.sin(angle), math.cos(angle)
    return np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)


def quaternion(w: float, x: float, y: float, z: float) -> Array:
    """Return the (3, 3) matrix of the unit quaternion (w, x, y, z), scalar first.

    The four numbers are normalised; q and -q are the same orientation.
    """
    if any(map(_is_formula, (w, x, y, z))):
        norm = np.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w / norm, x / norm, y / norm, z / norm
    else:
        q = finite_array((w, x, y, z), (4,), item="quaternion", field="components")
        norm = math.hypot(*q)
        if norm < 1e-12 or math.isinf(norm):
            remedy = "a quaternion needs a finite length other than zero"
            raise ModelError("quaternion", "components", (w, x, y, z), remedy)
        w, x, y, z = (float(c) for c in q / norm)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def euler(angles: ArrayLike, convention: str = "ZXZ") -> Array:
    """Return the matrix (..., 3, 3) of three successive rotations (rad) about the axes in `convention`.

    Parameters
    ----------
    angles : (3,) or (..., 3) rad
    convention : str
        Three axis letters. Capitals: each rotation about an axis of the frame already rotated (``"ZXZ"`` Euler,
        ``"XYZ"`` Bryant). Small letters: about the axes of the fixed frame (``"xyz"`` roll, pitch, yaw as in URDF).
    """
    return euler_matrices(angles, convention)


def bryant(angle_1: float, angle_2: float, angle_3: float) -> Array:
    """Return R1(angle_1) R2(angle_2) R3(angle_3), the Bryant (Cardan, 1-2-3) rotation; rad.

    Sol 1983, section 2.2. erratum: the matrix printed there as (2.2.18) is the transpose.
    """
    return euler((angle_1, angle_2, angle_3), "XYZ")


def to_euler(rotation: Any, convention: str = "ZXZ") -> Array:
    """Return the angles (..., 3), rad, of `rotation` (..., 3, 3) in a convention (see `euler`).

    Where the first and third axes coincide only their sum is determined; the last angle is then zero.
    """
    many = len(shape_of(rotation) or ()) > 2
    return euler_angles(rotation if many else as_rotation_matrix(rotation), convention)


def to_bryant(rotation: Any) -> Array:
    """Return the Bryant angles (..., 3), rad, of `rotation` (..., 3, 3); the second within +-90°."""
    return to_euler(rotation, "XYZ")


@checked("rotations")
def bryant_angles(rotations: ArrayLike) -> Array:
    """Return the Bryant angles (..., 3) rad of rotations (..., 3, 3), as `to_bryant` does."""
    return euler_angles(rotations, "XYZ")


def to_quaternion(rotation: Any) -> Array:
    """Return the unit quaternion (w, x, y, z) of a rotation in any accepted form, with w >= 0."""
    R = as_rotation_matrix(rotation)
    # the largest of the four squared components is at least 1/4: divide by that one
    squares = 1.0 + np.array([R.trace(), *(2.0 * R.diagonal() - R.trace())])
    k = int(squares.argmax())
    table = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], squares[1], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], squares[2], R[2, 1] + R[1, 2]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], squares[3]],
        ]
    )
    q = table[k] / np.linalg.norm(table[k])
    return q if q[0] >= 0 else -q


quaternion_from_matrix = to_quaternion


def quaternion_product(p: Array, q: Array) -> Array:
    """Return the products p o q (..., 4) of quaternions (..., 4), scalar first."""
    a, x, b, y = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    scalar = a * b - (x * y).sum(axis=-1, keepdims=True)
    return np.concatenate([scalar, a * y + b * x + np.cross(x, y)], axis=-1)


def quaternion_rate(q: Array, w: Array) -> Array:
    """Return q' = q o (0, w) / 2 (4,), w (3,) in axes of the rotated frame, rad/s."""
    q = finite_array(q, (4,), item="quaternion_rate", field="q")
    w = finite_array(w, (3,), item="quaternion_rate", field="w")
    return 0.5 * quaternion_product(q, np.concatenate([[0.0], w]))


def quaternion_matrices(quaternions: ArrayLike) -> Array:
    """Return the matrices (..., 3, 3) of unit quaternions (..., 4), scalar first; they are normalised."""
    q = stacked(quaternions, (4,), item="quaternion_matrices", field="quaternions")
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    S, identity = skew(q[..., 1:]), np.eye(3)
    return identity + 2 * q[..., :1, None] * S + 2 * S @ S


def _rotations(value: ArrayLike, item: str, field: str) -> Array:
    R = stacked(value, (3, 3), item=item, field=field)
    if R.ndim != 3:
        raise ModelError(item, field, value, "give rotations (n, 3, 3)")
    return R


def quaternions(rotations: Array) -> Array:
    """Return the unit quaternions (n, 4), scalar first and not negative, of rotations (n, 3, 3)."""
    R = _rotations(rotations, "quaternions", "rotations")
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    # four times the products of the components; the row with the largest square has the most digits (Shepperd 1978)
    K = np.empty((len(R), 4, 4))
    squares = (1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz)
    for i, square in enumerate(squares):
        K[:, i, i] = square
    for k, (a, b) in enumerate(((2, 1), (0, 2), (1, 0)), start=1):
        i, j = a + 1, b + 1
        K[:, 0, k] = K[:, k, 0] = R[:, a, b] - R[:, b, a]
        K[:, i, j] = K[:, j, i] = R[:, a, b] + R[:, b, a]
    best = np.argmax(K[:, range(4), range(4)], axis=1)
    q: Array = K[np.arange(len(R)), best]
    q /= np.sqrt((q * q).sum(axis=1, keepdims=True))
    q[q[:, 0] < 0] *= -1
    return q


def rotation_vectors(R: Array) -> Array:
    """Return the rotation vectors (b, 3), rad, up to pi, of rotations (b, 3, 3)."""
    R = _rotations(R, "rotation_vectors", "R")
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
    return np.asarray(r)


def from_rotation_vector(r: ArrayLike) -> Array:
    """Return the rotation (3, 3) by |r| rad about r (3,)."""
    x, y, z = stacked(r, (3,), item="from_rotation_vector", field="r").tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    a, half = np.sinc(angle / math.pi), np.sinc(angle / (2 * math.pi))
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + a * K + half * half / 2 * K @ K)


def as_rotation_matrix(rotation: Any, *, item: str = "rotation", field: str = "rotation") -> Array:
    """Return a rotation matrix from any accepted form.

    Accepted: None (no rotation), a (3, 3) matrix, a quaternion of four numbers (scalar first),
    a pair (axis, angle in rad), or any object with ``as_matrix()`` such as SciPy's Rotation.
    Angle triples need a convention: pass ``euler(angles, "ZXZ")`` or ``bryant(a1, a2, a3)``.

    Raises
    ------
    ModelError
        If the form is none of these, or a matrix is not orthonormal with determinant +1.
    """
    if rotation is None:
        return _NO_TURN.copy()
    if callable(getattr(rotation, "as_matrix", None)):
        rotation = rotation.as_matrix()
    if isinstance(rotation, (tuple, list)) and len(rotation) == 2:
        axis = unit_vector(rotation[0], item=item, field=field + " axis")
        return axis_angle(axis, finite_number(rotation[1], item=item, field=field + " angle"))
    shape = shape_of(rotation)
    if shape == (4,):
        q = finite_array(rotation, (4,), item=item, field=field)
        if abs(math.hypot(*q) - 1.0) > 1e-6:
            raise ModelError(item, field, rotation, "four numbers are read as a unit quaternion (w, x, y, z)")
        return quaternion(*q)
    if shape == (3, 3):
        R = finite_array(rotation, (3, 3), item=item, field=field)
        # the first test keeps the products below from overflowing
        error = np.inf if np.abs(R).max() > 2 else np.abs(R @ R.T - np.eye(3)).max()
        if error > 1e-6 or np.linalg.det(R) < 0:
            raise ModelError(item, field, rotation, "a rotation matrix has orthonormal columns and determinant +1")
        if error > 1e-14:  # rounded input: the nearest rotation, so that nothing downstream drifts
            U, _, V = np.linalg.svd(R)
            R = U @ V
        return R
    raise ModelError(
        item,
        field,
        rotation,
        "give a 3 by 3 matrix, a quaternion (w, x, y, z), a pair (axis, angle), or angles through euler() or bryant()",
    )
