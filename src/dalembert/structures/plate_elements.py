"""Thin rectangular plate elements.

Bending after Kirchhoff, with the rectangle of Adini, Clough and Melosh: twelve polynomial terms for the deflection,
w, rx = dw/dy and ry = -dw/dx at the corners. It is not conforming, passes the patch test, and its frequencies converge
at order two, mostly from below. In its plane the plate is bilinear, in plane stress. It has no stiffness against
rotation about its normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..checks import LARGEST_SIZE, checked, positive_number
from ..errors import ModelError
from ..provenance import record_call
from .finite_element import assembled, averaged, nodal_dofs
from .sections import Material, check_material
from .structure import Structure

__all__ = ["PlateElements", "plate_structure"]


_CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
# powers of x and y in the deflection
_POWERS = np.array([(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3), (3, 1), (1, 3)])


@checked("thickness", "elements", largest=LARGEST_SIZE)
@record_call
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
        positive_number(value, item="plate", field=field)
    check_material("plate", material)
    if np.shape(elements) != (2,) or min(elements) < 1:
        raise ModelError("plate", "elements", elements, "give two integers, at least 1")
    nx, ny = elements
    Y, X = np.meshgrid(np.linspace(-y / 2, y / 2, ny + 1), np.linspace(-x / 2, x / 2, nx + 1), indexing="xy")
    nodes = np.column_stack([X.T.ravel(), Y.T.ravel(), np.zeros(X.size)])
    first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    corners = first[:, None] + np.array([0, 1, nx + 2, nx + 1])
    plates = PlateElements(corners, x / nx / 2, y / ny / 2, float(thickness), material)
    return Structure(nodes, plates.mass_matrix(len(nodes)), plates.stiffness_matrix(len(nodes)), elements=plates)


@dataclass(frozen=True, eq=False)
class PlateElements:
    """Equal rectangles of a plate in the xy-plane.

    Attributes
    ----------
    corners : (ne, 4) int
        Nodes, counterclockwise.
    a, b : float, m
        Half lengths along x and y.
    thickness : float, m
    material : Material
    """

    corners: NDArray[np.int64]
    a: float
    b: float
    thickness: float
    material: Material

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Indices (ne, 24) of the degrees of freedom of each element among those of all nodes."""
        return nodal_dofs(self.corners)

    def mass_matrix(self, n: int) -> Any:
        """Return the consistent mass (6 n, 6 n)."""
        density = self.material.density * self.thickness
        return assembled(sum(weight * density * p.moved.T @ p.moved for weight, p in self._points()), self.dofs, n)

    def stiffness_matrix(self, n: int) -> Any:
        """Return the stiffness (6 n, 6 n)."""
        t, plane = self.thickness, self._plane()
        membrane = sum(weight * t * p.strain.T @ plane @ p.strain for weight, p in self._points())
        bending = sum(weight * t**3 / 12 * p.curvature.T @ plane @ p.curvature for weight, p in self._points())
        return assembled(membrane + bending, self.dofs, n)

    def points(self, nodes: Array, modes: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mass integration points as small bodies: positions, masses, inertias, shapes (k, 6, nm)."""
        local = modes[self.dofs]  # (ne, 24, nm)
        ne, nm = len(local), modes.shape[1]
        places, masses, shapes = [], [], []
        for weight, p in self._points():
            moved = np.einsum("il,elm->eim", p.moved, local)
            shapes.append(np.concatenate([np.zeros((ne, 3, nm)), moved], axis=1))
            places.append(np.einsum("c,eci->ei", p.moved[0, 0::6], nodes[self.corners]))
            masses.append(np.full(ne, weight * self.material.density * self.thickness))
        whole = np.concatenate(places)
        return whole, np.concatenate(masses), np.zeros((len(whole), 3, 3)), np.concatenate(shapes)

    def field_loads(self, nodes: Array, A: Array) -> Array:
        """Return the inertia loads (6 n,) of an acceleration A x."""
        moved = np.zeros((len(nodes), 6))
        moved[:, :3] = nodes @ A.T
        moved[:, 3], moved[:, 4] = A[2, 1], -A[2, 0]
        return -(self.mass_matrix(len(nodes)) @ moved.ravel())

    def pressure_loads(
        self, nodes: Array, pressure: Callable[[Array], float], where: Callable[[Array], bool] | None
    ) -> Array:
        """Return the consistent loads (6 n,) of a pressure on the upper face, Pa by position, on chosen elements."""
        loads = np.zeros(6 * len(nodes))
        for corners, dofs in zip(self.corners, self.dofs, strict=True):
            if where is not None and not where(nodes[corners].mean(axis=0)):
                continue
            for weight, p in self._points():
                place = p.moved[0, 0::6] @ nodes[corners]
                loads[dofs] -= weight * pressure(place) * p.moved[2]
        return loads

    def geometric_stiffness(self, u: Array, modes: Array) -> Array:
        """Return the geometric stiffness (k, nm, nm) of modes (6 n, nm) by the membrane forces of u (6 n, k).

        Only deflections across the plate count.
        """
        local_u, local_modes = u[self.dofs], modes[self.dofs]  # (ne, 24, k or nm)
        total = np.zeros((u.shape[1], modes.shape[1], modes.shape[1]))
        for weight, p in self._points():
            forces = self.thickness * np.einsum("ij,jl,elk->eik", self._plane(), p.strain, local_u)
            slopes = np.einsum("al,elm->eam", p.slope, local_modes)
            tensor = forces[:, [[0, 2], [2, 1]]]  # (ne, 2, 2, k)
            total += weight * np.einsum("eabk,eam,ebn->kmn", tensor, slopes, slopes, optimize=True)
        return total

    def nodal_stresses(self, modes: Array, n: int) -> Array:
        """Return stresses (2, n, 3, 3, nm) Pa at the nodes of both faces in modes (6 n, nm), element means."""
        terms = np.linalg.inv(np.concatenate([_corner_rows(self.a * i, self.b * j) for i, j in _CORNERS]))
        at = [_point(i, j, self.a, self.b, terms) for i, j in _CORNERS]
        plane = np.stack([self._face_stresses(p, modes) for p in at], axis=2)  # (2, ne, 4, 3, nm)
        whole = np.zeros((*plane.shape[:3], 3, 3, plane.shape[-1]))
        whole[:, :, :, :2, :2] = plane[:, :, :, [[0, 2], [2, 1]]]
        return np.array([averaged(self.corners, face, n) for face in whole])

    def energy_products(self, modes: Array, nodal: Array) -> tuple[Array, Array]:
        """Return products (ne, nm, nm) J of element stresses in modes, and of their change by averaging.

        `nodal` holds the stresses (2, n, 3, 3, nm) at nodes of both faces, which are interpolated between corners. A
        product is the integral of stress times strain; the second one is the error estimate by Zienkiewicz and Zhu.
        """
        corners = nodal[:, self.corners][..., [0, 1, 0], [0, 1, 1], :]  # (2, ne, 4, 3, nm): xx, yy, xy
        compliance = np.linalg.inv(self._plane())
        # through the thickness stresses are linear between the faces
        through = self.thickness / 6 * np.array([[2.0, 1.0], [1.0, 2.0]])
        totals = np.zeros((2, len(self.corners), modes.shape[1], modes.shape[1]))
        for weight, p in self._points():
            own = self._face_stresses(p, modes)
            recovered = np.einsum("c,fecim->feim", p.moved[0, 0::6], corners)
            for total, stress in zip(totals, (own, recovered - own), strict=True):
                total += weight * np.einsum("feim,fg,ij,gejn->emn", stress, through, compliance, stress, optimize=True)
        return totals[0], totals[1]

    def _face_stresses(self, p: _Point, modes: Array) -> Array:
        """Return stresses xx, yy, xy (2, ne, 3, nm) Pa on the upper and lower face at a point of each element."""
        local = modes[self.dofs]  # (ne, 24, nm)
        heights = 0.5 * self.thickness * np.array([1.0, -1.0])
        rows = np.array([self._plane() @ (p.strain - height * p.curvature) for height in heights])
        return np.einsum("fil,elm->feim", rows, local)

    def _plane(self) -> Array:
        """Return the plane stress matrix (3, 3) Pa."""
        nu = float(self.material.nu or 0.0)
        return self.material.E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])

    def _points(self) -> list[tuple[float, _Point]]:
        """Return weights (m2) and rows of the integration points."""
        a, b = self.a, self.b
        terms = np.linalg.inv(np.concatenate([_corner_rows(a * i, b * j) for i, j in _CORNERS]))
        places, weights = np.polynomial.legendre.leggauss(4)
        return [
            (wx * wy * a * b, _point(xi, et, a, b, terms))
            for xi, wx in zip(places, weights, strict=True)
            for et, wy in zip(places, weights, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Point:
    """Rows for the 24 degrees of freedom of a rectangle at one of its points."""

    moved: Array  # displacements x, y, z (3, 24)
    slope: Array  # dw/dx, dw/dy (2, 24)
    strain: Array  # in the plane: xx, yy, xy (3, 24)
    curvature: Array  # (3, 24)


def _point(xi: float, et: float, a: float, b: float, terms: Array) -> _Point:
    x, y = a * xi, b * et
    bent = (6 * np.arange(4)[:, None] + np.array([2, 3, 4])).ravel()  # uz, rx, ry
    moved, slope, strain, curvature = (np.zeros((rows, 24)) for rows in (3, 2, 3, 3))
    N = (1 + xi * _CORNERS[:, 0]) * (1 + et * _CORNERS[:, 1]) / 4
    Nx = _CORNERS[:, 0] * (1 + et * _CORNERS[:, 1]) / (4 * a)
    Ny = _CORNERS[:, 1] * (1 + xi * _CORNERS[:, 0]) / (4 * b)
    moved[0, 0::6], moved[1, 1::6] = N, N
    strain[0, 0::6], strain[1, 1::6], strain[2, 0::6], strain[2, 1::6] = Nx, Ny, Ny, Nx
    moved[2, bent] = _powers(x, y, 0, 0) @ terms
    slope[:, bent] = np.stack([_powers(x, y, 1, 0), _powers(x, y, 0, 1)]) @ terms
    curvature[:, bent] = np.stack([_powers(x, y, 2, 0), _powers(x, y, 0, 2), 2 * _powers(x, y, 1, 1)]) @ terms
    return _Point(moved, slope, strain, curvature)


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
