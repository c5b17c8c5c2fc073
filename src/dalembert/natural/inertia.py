"""Constant mass matrices of bodies in natural coordinates.

With a base of three members, any point of a body is r = r0 + c1 e1 + c2 e2 + c3 e3 with constant c. In the plane one
member e1 will do, r = r0 + c1 e1 + c2 k x e1. So velocities are linear in those of the coordinates, r' = C q', and

    M = integral C^T C dm = m C_g^T C_g + sum p_k D_k^T D_k                                                         (1)

with C_g at the centre of mass, and D_k = C(g + n_k) - C_g for the principal axes n_k of the spread of mass about it,
integral r r^T dm = tr(I) / 2 - I = sum p_k n_k n_k^T. M is constant: no forces depend on velocities. Garcia de Jalon
and Bayo 1994, chapter 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .bodies import NaturalBody

__all__ = ["body_coordinates", "mass_matrix", "point_matrix"]

Array = NDArray[np.float64]


def body_coordinates(body: NaturalBody) -> tuple[str, ...]:
    """Return the points and vectors that place the body: its origin and what its base is made of."""
    names = [body.frame.origin] if body.frame.origin is not None else []
    for e in body.frame.base:
        names += [name for _, tip, tail in e.parts for name in (tail, tip) if name is not None and name not in names]
    return tuple(name for name in names if name is not None)


def _spanned(body: NaturalBody) -> int:
    """Return the dimension, if the base spans it and there is an origin."""
    dimension, members = body.frame.columns.shape
    if body.frame.origin is None or members < (1 if dimension == 2 else 3):
        raise ModelError(
            f"body {body.name!r}", "points, vectors", (tuple(body.points), tuple(body.vectors)),
            "a constant mass matrix needs a point and three members that are not coplanar (in the plane, two points): "
            "add a vector across",
        )  # fmt: skip
    return int(dimension)


def point_matrix(body: NaturalBody, r: Array) -> Array:
    """Return C (dim, n): the velocity of a point at r (dim,) m of the body is C times that of `body_coordinates`."""
    dimension = _spanned(body)
    frame = body.frame
    names = body_coordinates(body)
    c = frame.factors(np.asarray(r, dtype=float) - frame.origin_at)
    C = np.zeros((dimension, dimension * len(names)))
    one = np.eye(dimension)

    def add(name: str | None, block: Array) -> None:
        if name is not None:
            k = names.index(name) * dimension
            C[:, k : k + dimension] += block

    add(frame.origin, one)
    across = np.array([[0.0, -1.0], [1.0, 0.0]])
    for k, e in enumerate(frame.base):
        block = c[0] * one + c[1] * across if dimension == 2 else c[k] * one
        for factor, tip, tail in e.parts:
            add(tip, factor * block)
            add(tail, -factor * block)
    return C


def mass_matrix(body: NaturalBody, mass: float, centre: Array, inertia: Array | float) -> Array:
    """Return M (n, n) over `body_coordinates`.

    Parameters
    ----------
    body : NaturalBody
    mass : float, kg
    centre : (dim,) m
        Centre of mass in the body.
    inertia : float or (3, 3) kg m2
        About the centre of mass, in the axes of the body.
    """
    dimension = _spanned(body)
    g = np.asarray(centre, dtype=float)
    C = point_matrix(body, g)
    M: Array = mass * C.T @ C
    # what is spread about the centre of mass: particles along the axes with the same second moments
    if dimension == 2:
        spread = np.eye(2) * float(np.asarray(inertia)) / 2
    else:
        moment = np.asarray(inertia, dtype=float)
        spread = np.trace(moment) / 2 * np.eye(3) - moment
    for value, axis in zip(*_principal(spread), strict=True):
        D = point_matrix(body, g + axis) - C
        M = M + value * D.T @ D
    return M


def _principal(spread: Array) -> tuple[Array, Array]:
    values, axes = np.linalg.eigh(spread)
    return values, axes.T
