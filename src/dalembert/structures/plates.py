"""Thin rectangular plates.

Bending after Kirchhoff, with the rectangle of Adini, Clough and Melosh: twelve polynomial terms for the deflection,
w, rx = dw/dy and ry = -dw/dx at the corners. It is not conforming, passes the patch test, and its frequencies converge
at order two, mostly from below. In its plane the plate is bilinear, in plane stress. It has no stiffness against
rotation about its normal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..rotation import finite_number
from .sections import Material
from .structure import Structure

__all__ = ["plate_structure"]

Array = NDArray[np.float64]

_CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
# powers of x and y in the deflection
_POWERS = np.array([(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3), (3, 1), (1, 3)])


def plate_structure(
    x: float, y: float, thickness: float, material: Material, *, elements: tuple[int, int] = (8, 8)
) -> Structure:
    """Return the structure of a thin rectangular plate in the xy-plane, centred at the origin.

    Parameters
    ----------
    x, y, thickness : float, m
    material : Material
    elements : (int, int)
        Along x and y. Nodes are at the corners of the elements, numbered along x first.
    """
    for field, value in {"x": x, "y": y, "thickness": thickness}.items():
        if finite_number(value, item="plate", field=field) <= 0:
            raise ModelError("plate", field, value, "a length must be positive")
    if not isinstance(material, Material):
        raise ModelError("plate", "material", material, "give a Material(E=..., nu=..., density=...)")
    if np.shape(elements) != (2,) or min(elements) < 1:
        raise ModelError("plate", "elements", elements, "give two whole numbers, at least 1")
    nx, ny = elements
    Y, X = np.meshgrid(np.linspace(-y / 2, y / 2, ny + 1), np.linspace(-x / 2, x / 2, nx + 1), indexing="xy")
    nodes = np.column_stack([X.T.ravel(), Y.T.ravel(), np.zeros(X.size)])
    first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    corners = first[:, None] + np.array([0, 1, nx + 2, nx + 1])
    mass, stiffness = _element(x / nx / 2, y / ny / 2, thickness, material)
    return Structure(nodes, *(_assembled(block, corners, len(nodes)) for block in (mass, stiffness)))


def _element(a: float, b: float, t: float, material: Material) -> tuple[Array, Array]:
    """Return mass and stiffness (24, 24) of a rectangle 2 a by 2 b."""
    nu = float(material.nu or 0.0)
    plane = material.E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
    terms = np.linalg.inv(np.concatenate([_corner_rows(a * i, b * j) for i, j in _CORNERS]))
    bent = (6 * np.arange(4)[:, None] + np.array([2, 3, 4])).ravel()  # uz, rx, ry
    moved = (6 * np.arange(4)[:, None] + np.array([0, 1])).ravel()
    mass, stiffness = np.zeros((24, 24)), np.zeros((24, 24))
    places, weights = np.polynomial.legendre.leggauss(4)
    for xi, wx in zip(places, weights, strict=True):
        for et, wy in zip(places, weights, strict=True):
            weight = wx * wy * a * b
            x, y = a * xi, b * et
            w = _powers(x, y, 0, 0) @ terms
            curvature = np.stack([_powers(x, y, 2, 0), _powers(x, y, 0, 2), 2 * _powers(x, y, 1, 1)]) @ terms
            N = (1 + xi * _CORNERS[:, 0]) * (1 + et * _CORNERS[:, 1]) / 4
            Nx = _CORNERS[:, 0] * (1 + et * _CORNERS[:, 1]) / (4 * a)
            Ny = _CORNERS[:, 1] * (1 + xi * _CORNERS[:, 0]) / (4 * b)
            strain = np.zeros((3, 8))
            strain[0, 0::2], strain[1, 1::2], strain[2, 0::2], strain[2, 1::2] = Nx, Ny, Ny, Nx
            flat = np.kron(N, np.eye(2))
            mass[np.ix_(bent, bent)] += weight * material.density * t * np.outer(w, w)
            mass[np.ix_(moved, moved)] += weight * material.density * t * flat.T @ flat
            stiffness[np.ix_(bent, bent)] += weight * t**3 / 12 * curvature.T @ plane @ curvature
            stiffness[np.ix_(moved, moved)] += weight * t * strain.T @ plane @ strain
    return mass, stiffness


def _corner_rows(x: float, y: float) -> Array:
    """Return w, rx = dw/dy, ry = -dw/dx of the polynomial terms at a point (3, 12)."""
    return np.stack([_powers(x, y, 0, 0), _powers(x, y, 0, 1), -_powers(x, y, 1, 0)])


def _powers(x: float, y: float, dx: int, dy: int) -> Array:
    """Return derivatives of the polynomial terms at a point (12,)."""
    found = np.ones(len(_POWERS))
    for value, order, powers in ((x, dx, _POWERS[:, 0]), (y, dy, _POWERS[:, 1])):
        for k in range(order):
            found = found * (powers - k)
        found = found * np.where(powers >= order, value ** np.maximum(powers - order, 0), 0.0)
    return found


def _assembled(block: Array, corners: NDArray[np.int64], n: int) -> object:
    from scipy.sparse import coo_array

    places = (6 * corners[:, :, None] + np.arange(6)).reshape(-1, 24)
    rows, columns = np.repeat(places, 24, axis=1), np.tile(places, (1, 24))
    values = np.tile(block.ravel(), len(places))
    return coo_array((values, (rows.ravel(), columns.ravel())), shape=(6 * n, 6 * n)).tocsr()
