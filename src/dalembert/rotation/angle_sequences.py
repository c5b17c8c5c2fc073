"""Sequences of three angles (Bryant, Euler and all others) with their rates; vectorized.

Three rotations about axes i, j, k of the frame already rotated, by angles a, b, c (Sol 1983, section 2.2):

    R = R_i(a) R_j(b) R_k(c)                                                                                        (1)
    omega = w phi',    w = [e_i,  R_i(a) e_j,  R_i(a) R_j(b) e_k]                                                   (2)
    omega' = w phi'' + a' b' w_1 x w_2 + a' c' w_1 x w_3 + b' c' w_2 x w_3                                          (3)

in axes of the first frame; R^T of it in those of the rotated one. There are 12 sequences: i, j, k all different (Tait
and Bryan; "XYZ" Bryant, Cardan), or i = k (Euler; "ZXZ"). Rotations about axes of the fixed frame are the same three in
the opposite order, so that small letters name the other 12.

The determinant of w is +-cos b if all axes differ, +-sin b if i = k. Where it is zero, the first and the third axis
coincide: only the sum or the difference of their angles is determined (`euler_angles` sets the last to zero there), and
there are angular velocities that no angle rates produce (`euler_rates` raises an error).

erratum: Sol (2.2.13) has W^T - w..w^T; the entries W_ij = dw_j / d phi_i of (3) obey W_ij - W_ji = w_i x w_j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, one_of, stacked
from ..errors import ModelError, SingularityError

__all__ = [
    "axial",
    "euler_accelerations",
    "euler_angles",
    "euler_axes",
    "euler_matrices",
    "euler_rates",
    "euler_velocity",
    "sequence",
    "skew",
]


GIMBAL_LOCK_TOL = (
    1e-7  # |det w| below which first and third angle are not distinguished; R is then met to this number only
)
_AXES = ("fixed", "turned")


def skew(x: ArrayLike) -> Array:
    """Return the matrices x~ (..., 3, 3) of vectors (..., 3), with x~ y = x cross y."""
    v = stacked(x, (3,), item="skew", field="x")
    S = np.zeros((*v.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        S[..., k, j], S[..., j, k] = v[..., i], -v[..., i]
    return S


def axial(S: ArrayLike) -> Array:
    """Return the axial vectors (..., 3) of the skew parts of matrices (..., 3, 3); inverse of `skew`.

    Of R' R^T it is the angular velocity.
    """
    A = stacked(S, (3, 3), item="axial", field="S")
    rows = [A[..., k, j] - A[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1))]
    return np.asarray(0.5 * np.stack(rows, axis=-1))


def sequence(convention: str, *, item: str = "euler") -> tuple[tuple[int, int, int], bool]:
    """Return the axes of a sequence in the order of rotation, and whether the letters are reversed."""
    letters = convention if isinstance(convention, str) else ""
    ok = len(letters) == 3 and set(letters.lower()) <= set("xyz") and (letters.isupper() or letters.islower())
    if not ok or letters[0] == letters[1] or letters[1] == letters[2]:
        remedy = "give three axis letters, no two alike in a row: 'ZXZ', 'XYZ', or 'xyz' for fixed axes"
        raise ModelError(item, "convention", convention, remedy)
    i, j, k = ("xyz".index(letter) for letter in letters.lower())
    return ((k, j, i), True) if letters.islower() else ((i, j, k), False)


def euler_matrices(angles: ArrayLike, convention: str = "ZXZ") -> Array:
    """Return the matrices (..., 3, 3) of angles (..., 3), rad; (1)."""
    (i, j, k), backwards = sequence(convention)
    a = _triples("euler", "angles", angles, backwards)
    return np.asarray(_turn(i, a[..., 0]) @ _turn(j, a[..., 1]) @ _turn(k, a[..., 2]))


@checked("rotations")
def euler_angles(rotations: ArrayLike, convention: str = "ZXZ") -> Array:
    """Return the angles (..., 3), rad, of matrices (..., 3, 3).

    The first and third are within +-180 degrees; the second within +-90 degrees if all axes differ, from 0 to 180
    degrees if the first and third are the same. Where these two coincide, the last angle is zero.

    Examples
    --------
    >>> R = euler_matrices([[0.1, 0.2, 0.3], [1.0, np.pi / 2, 0.5]], "XYZ")
    >>> euler_angles(R, "XYZ").round(12)
    array([[0.1       , 0.2       , 0.3       ],
           [1.5       , 1.57079633, 0.        ]])
    """
    (i, j, k), backwards = sequence(convention)
    R = np.asarray(rotations, dtype=float)
    if R.shape[-2:] != (3, 3):
        raise ModelError("euler", "the shape of rotations", R.shape, "give (..., 3, 3)")
    n = 3 - i - j  # the axis other than i and j
    e = _parity(i, j, n)
    if k == n:
        second = np.arctan2(e * R[..., i, n], np.hypot(R[..., i, i], R[..., i, j]))
        det = np.hypot(R[..., i, i], R[..., i, j])
        first = np.arctan2(-e * R[..., j, n], R[..., n, n])
    else:
        det = np.hypot(R[..., i, j], R[..., i, n])
        second = np.arctan2(det, R[..., i, i])
        first = np.arctan2(R[..., j, i], -e * R[..., n, i])
    folded = det < GIMBAL_LOCK_TOL
    # one of the two is zero there: the third, or the first if the letters are reversed
    first = np.where(folded, 0.0 if backwards else np.arctan2(e * R[..., n, j], R[..., j, j]), first)
    # R_i(a)^T R = R_j(b) R_k(c), whose row j depends on the third angle only: accurate near the singularity too
    cosine, sine = np.cos(first), e * np.sin(first)
    row = cosine[..., None] * R[..., j, :] + sine[..., None] * R[..., n, :]
    third = np.arctan2(e * row[..., i], row[..., j]) if k == n else np.arctan2(-e * row[..., n], row[..., j])
    third = third if backwards else np.where(folded, 0.0, third)
    found = (third, second, first) if backwards else (first, second, third)
    return np.stack(found, axis=-1)


@checked("axes")
def euler_axes(angles: ArrayLike, convention: str = "ZXZ", *, axes: str = "fixed") -> Array:
    """Return w (..., 3, 3) with omega = w phi', (2); in axes ``"fixed"`` or ``"turned"``."""
    one_of("euler", "axes", axes, _AXES)
    (i, j, k), backwards = sequence(convention)
    a = _triples("euler", "angles", angles, backwards)
    A = _turn(i, a[..., 0])
    AB = A @ _turn(j, a[..., 1])
    w = np.stack([np.broadcast_to(np.eye(3)[i], a.shape), A[..., :, j], AB[..., :, k]], axis=-1)
    if axes == "turned":
        w = np.swapaxes(AB @ _turn(k, a[..., 2]), -1, -2) @ w
    return w[..., ::-1] if backwards else w


@checked("axes")
def euler_velocity(angles: ArrayLike, rates: ArrayLike, convention: str = "ZXZ", *, axes: str = "fixed") -> Array:
    """Return angular velocities (..., 3), rad/s, of angles (..., 3) rad with rates (..., 3) rad/s.

    Parameters
    ----------
    angles, rates : (..., 3) rad, rad/s
    convention : str
        As in `rotation.euler`.
    axes : str
        In axes of the ``"fixed"`` frame, or of the ``"turned"`` one.

    Examples
    --------
    >>> euler_velocity([0.3, 0.4, 0.5], [0.0, 0.0, 2.0], "XYZ", axes="turned").round(12)
    array([0., 0., 2.])
    """
    w = euler_axes(angles, convention, axes=axes)
    phi = _triples("euler", "rates", rates, False)
    return np.asarray(np.einsum("...ij,...j->...i", w, phi))


@checked("axes")
def euler_rates(angles: ArrayLike, omega: ArrayLike, convention: str = "ZXZ", *, axes: str = "fixed") -> Array:
    """Return the angle rates (..., 3), rad/s, of angular velocities (..., 3); inverse of (2).

    Angles (..., 3) are in rad, angular velocities in rad/s.

    Raises
    ------
    SingularityError
        Where the first and the third axis coincide; the error gives the orientation.
    """
    w = euler_axes(angles, convention, axes=axes)
    _check_gimbal_lock(w, angles, convention)
    x = _triples("euler", "omega", omega, False)
    return np.asarray(np.linalg.solve(w, np.broadcast_to(x, w.shape[:-1])[..., None])[..., 0])


@checked("axes")
def euler_accelerations(
    angles: ArrayLike,
    rates: ArrayLike,
    *,
    second_rates: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    convention: str = "ZXZ",
    axes: str = "fixed",
) -> Array:
    """Return angular accelerations of second angle rates, or the inverse; (3).

    Parameters
    ----------
    angles, rates : (..., 3) rad, rad/s
    second_rates : (..., 3) rad/s2
    acceleration : (..., 3) rad/s2
        One of the two is given; the other is returned.
    convention, axes
        As in `euler_velocity`.
    """
    if (second_rates is None) == (acceleration is None):
        raise ModelError("euler", "second_rates", second_rates, "give either second_rates or acceleration")
    (_, backwards) = sequence(convention)
    w, phi = euler_axes(angles, convention, axes=axes), _triples("euler", "rates", rates, False)
    # (3) holds for axes in the order of rotation
    u, r = (w[..., ::-1], phi[..., ::-1]) if backwards else (w, phi)
    bias = sum((r[..., m] * r[..., n])[..., None] * np.cross(u[..., m], u[..., n]) for m, n in ((0, 1), (0, 2), (1, 2)))
    if second_rates is not None:
        second = _triples("euler", "second_rates", second_rates, False)
        return np.asarray(np.einsum("...ij,...j->...i", w, second) + bias)
    _check_gimbal_lock(w, angles, convention)
    alpha = _triples("euler", "acceleration", acceleration, False)
    return np.asarray(np.linalg.solve(w, (alpha - bias)[..., None])[..., 0])


def _check_gimbal_lock(w: Array, angles: ArrayLike, convention: str) -> None:
    """Raise an error for orientations at which first and third axis coincide."""
    det = np.abs(np.linalg.det(w))
    if not (det < GIMBAL_LOCK_TOL).any():
        return
    k = np.unravel_index(int(np.argmin(det)), det.shape)
    there = np.broadcast_to(np.asarray(angles, dtype=float), w.shape[:-1])[k]
    first, third = convention[0], convention[2]
    raise SingularityError(
        f"angles {convention}: at {np.array2string(there, precision=6)} rad the first axis ({first}) and the third "
        f"({third}) coincide (determinant {det[k]:.1e}), so that rates are not determined; "
        "use another sequence there, or quaternions"
    )


def _turn(axis: int, angle: Array) -> Array:
    """Return the matrices (..., 3, 3) of rotations about a coordinate axis."""
    R = np.zeros((*angle.shape, 3, 3))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[..., axis, axis] = 1.0
    R[..., j, j] = R[..., k, k] = np.cos(angle)
    R[..., k, j] = np.sin(angle)
    R[..., j, k] = -R[..., k, j]
    return R


def _parity(i: int, j: int, k: int) -> float:
    return 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0


def _triples(item: str, field: str, value: ArrayLike | None, backwards: bool) -> Array:
    """Return numbers (..., 3), in the order of rotation."""
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(item, field, value, "give three numbers, or an array (..., 3) of them") from None
    if found.shape[-1:] != (3,) or not np.isfinite(found).all():
        raise ModelError(item, field, value, "give three finite numbers, or an array (..., 3) of them")
    return found[..., ::-1] if backwards else found
