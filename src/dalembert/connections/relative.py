"""Coordinates of a hinge read off the motion of its two markers, for many states at once.

The inverse of the definitions in `hinges`: a hinge at which a loop was cut has no place in q, but its coordinates exist
all the same. In axes of the first marker,

    C (n, 3, 3), c (n, 3)    attitude and displacement of the second marker
    V (n, 6)                 [omega; v], its motion relative to the first, rad/s and m/s
    A (n, 6)                 the rate of V, seen from the first
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .custom import CustomHinge
from .hinges import Hinge

__all__ = ["quaternions", "relative_accelerations", "relative_coordinates", "relative_speeds"]

Array = NDArray[np.float64]


def relative_coordinates(hinge: Hinge, C: Array, c: Array) -> Array:
    """Return the coordinates of a hinge, (n, nq) rad or m; angles within +-pi, qw not negative.

    A screw's angle counts its turns by the advance; coordinates of a custom hinge are searched for, each time from
    where the last search has ended.
    """
    if isinstance(hinge, CustomHinge):
        return _searched(hinge, C, c)
    F = hinge.frame()
    R, p = F.T @ C @ F, c @ F
    turn = np.arctan2(R[:, 1, 0] - R[:, 0, 1], R[:, 0, 0] + R[:, 1, 1])
    columns: list[Array] = []
    match hinge.kind:
        case "Revolute":
            columns = [turn]
        case "Prismatic":
            columns = [p[:, 2]]
        case "Screw":
            pitch = float(getattr(hinge, "pitch", 0.0))
            turns = np.round(p[:, 2] / pitch - turn / (2 * math.pi)) if pitch else np.zeros(len(C))
            columns = [turn + 2 * math.pi * turns]
        case "Cylindrical":
            columns = [turn, p[:, 2]]
        case "Universal":
            columns = [np.arctan2(R[:, 2, 1], R[:, 1, 1]), np.arctan2(R[:, 0, 2], R[:, 0, 0])]
        case "Planar":
            columns = [p[:, 0], p[:, 1], turn]
        case "Spherical":
            columns = [*quaternions(C).T]
        case "Free":
            columns = [*quaternions(C).T, *c.T]
    return _stack(columns, len(C))


def relative_speeds(hinge: Hinge, C: Array, c: Array, V: Array) -> Array:
    """Return the speeds of a hinge, (n, nv) rad/s or m/s."""
    if isinstance(hinge, CustomHinge):
        return np.array(
            [np.linalg.pinv(hinge.motion(q)) @ one for q, one in zip(_searched(hinge, C, c), V, strict=True)]
        )
    F = hinge.frame()
    w, u = V[:, :3] @ F, V[:, 3:] @ F
    columns: list[Array] = []
    match hinge.kind:
        case "Revolute" | "Screw":
            columns = [w[:, 2]]
        case "Prismatic":
            columns = [u[:, 2]]
        case "Cylindrical":
            columns = [w[:, 2], u[:, 2]]
        case "Universal":  # the second axis is y of the second marker
            second = np.einsum("ij,njk->nik", F.T, C @ F)[:, :, 1]
            columns = [w[:, 0], (w * second).sum(1)]
        case "Planar":
            columns = [u[:, 0], u[:, 1], w[:, 2]]
        case "Spherical":
            columns = [*_in_second(C, w).T]
        case "Free":
            columns = [*_in_second(C, w).T, *_in_second(C, u).T]
    return _stack(columns, len(C))


def relative_accelerations(hinge: Hinge, C: Array, c: Array, V: Array, A: Array) -> Array:
    """Return the rates of the speeds of a hinge, (n, nv) rad/s2 or m/s2.

    A = H v' + H' v, and H' v is perpendicular to the columns of H for every hinge of the library but the free one.
    """
    if isinstance(hinge, CustomHinge):
        found, speeds = _searched(hinge, C, c), relative_speeds(hinge, C, c, V)
        bias = np.array([hinge.bias(q, v) for q, v in zip(found, speeds, strict=True)])
        return relative_speeds(hinge, C, c, A - bias)
    rates = relative_speeds(hinge, C, c, A)
    if hinge.kind == "Free":
        rates[:, 3:] -= _in_second(C, np.cross(V[:, :3], V[:, 3:]))
    return rates


def _searched(hinge: CustomHinge, C: Array, c: Array) -> Array:
    found = np.empty((len(C), hinge.nq))
    for k in range(len(C)):
        near = None if k == 0 else found[k - 1]
        found[k] = hinge.coordinates_of(C[k], c[k], near)
    return found


def quaternions(R: Array) -> Array:
    """Return the unit quaternions (n, 4), scalar first and not negative, of rotations (n, 3, 3)."""
    from scipy.spatial.transform import Rotation

    q: Array = Rotation.from_matrix(R).as_quat(canonical=True)
    return np.ascontiguousarray(q[:, [3, 0, 1, 2]])


def _in_second(C: Array, vectors: Array) -> Array:
    """Return C^T x for each of the vectors (n, 3)."""
    turned: Array = np.einsum("nji,nj->ni", C, vectors)
    return turned


def _stack(columns: list[Array], n: int) -> Array:
    return np.stack(columns, axis=1) if columns else np.empty((n, 0))
