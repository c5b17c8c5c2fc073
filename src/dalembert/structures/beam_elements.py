"""Straight beam elements in space: Euler-Bernoulli and Timoshenko.

Twelve degrees of freedom per element, [ux, uy, uz, rx, ry, rz] at either end. Between the ends, displacement and
rotation are the exact solutions of the beam without load (linear along and about x, cubic across with Timoshenko's
shear parameter phi = 12 E I / (k G A L2); phi = 0 is Euler-Bernoulli), so that loads at nodes give exact displacements
of nodes:

    K = integral of B' diag(EA, ky GA, kz GA, GJ, EIy, EIz) B,   B = [u', v' - rz, w' + ry, rx', ry', rz']
    M = integral of N' diag(m, m, m, m Ip/A, m Iy/A, m Iz/A) N,  m = density * A
    K_g = integral of v'v' + w'w' + (Ip/A) rx'rx', per unit of axial force
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from .finite_element import assembled, nodal_dofs
from .sections import Material, Section

__all__ = ["Beams"]


_GAUSS = tuple(np.polynomial.legendre.leggauss(4))


@dataclass(frozen=True, eq=False)
class Beams:
    """Beam elements of a structure.

    Attributes
    ----------
    ends : (ne, 2) int
        Nodes at the two ends.
    lengths : (ne,) m
    axes : (ne, 3, 3)
        Local axes x, y, z as columns, in body axes.
    sections, materials : tuple of Section, of Material
        One per element.
    theory : "euler" or "timoshenko"
    """

    ends: NDArray[np.int64]
    lengths: Array
    axes: Array
    sections: tuple[Section, ...]
    materials: tuple[Material, ...]
    theory: str

    def __len__(self) -> int:
        return len(self.ends)

    # ---- constants of the elements, (ne,) or (ne, 6)

    @property
    def rigidities(self) -> Array:
        """EA, ky GA, kz GA, GJ, EIy, EIz of the elements (ne, 6), N and N m2."""
        rows = []
        for s, m in zip(self.sections, self.materials, strict=True):
            G = float(m.G or 0.0)
            rows.append([m.E * s.A, s.shear_y * G * s.A, s.shear_z * G * s.A, G * s.J, m.E * s.Iy, m.E * s.Iz])
        return np.array(rows).reshape(-1, 6)

    @property
    def densities(self) -> Array:
        """Mass per length (three times, for x, y, z) and its moments about x, y, z (ne, 6), kg/m and kg m."""
        rows = []
        for s, m in zip(self.sections, self.materials, strict=True):
            line = m.density * s.A
            rotary = 0.0 if self.theory == "euler" else m.density
            rows.append([line, line, line, m.density * (s.Iy + s.Iz), rotary * s.Iy, rotary * s.Iz])
        return np.array(rows).reshape(-1, 6)

    @property
    def masses(self) -> Array:
        """Masses of the elements (ne,) kg."""
        return self.densities[:, 0] * self.lengths

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Indices (ne, 12) of the degrees of freedom of each element among those of all nodes."""
        return nodal_dofs(self.ends)

    def _shear_parameters(self) -> tuple[Array, Array]:
        """Return phi for deflection along y and along z, (ne,) each."""
        if self.theory == "euler":
            return np.zeros(len(self)), np.zeros(len(self))
        _, kGAy, kGAz, _, EIy, EIz = self.rigidities.T
        squares = self.lengths**2
        return 12 * EIz / (kGAy * squares), 12 * EIy / (kGAz * squares)

    # ---- interpolation, in local axes

    def interpolation(self, place: float) -> tuple[Array, Array]:
        """Return N and dN/dx (ne, 6, 12): displacement and rotation at `place` (0 to 1) of the length."""
        N, D = np.zeros((len(self), 6, 12)), np.zeros((len(self), 6, 12))
        L = self.lengths
        for row in (0, 3):  # along and about x: linear
            N[:, row, row], N[:, row, row + 6] = 1 - place, place
            D[:, row, row], D[:, row, row + 6] = -1 / L, 1 / L
        phi_y, phi_z = self._shear_parameters()
        # along y the slope is +rz, along z it is -ry
        for deflection, rotation, sign, phi in ((1, 5, 1.0, phi_y), (2, 4, -1.0, phi_z)):
            (w, dw), (r, dr) = _bending(place, L, phi)
            columns = [deflection, rotation, deflection + 6, rotation + 6]
            factors = np.array([1.0, sign, 1.0, sign])
            N[:, deflection, columns], D[:, deflection, columns] = w * factors, dw * factors
            N[:, rotation, columns], D[:, rotation, columns] = sign * r * factors, sign * dr * factors
        return N, D

    def strains(self, place: float) -> Array:
        """Return B (ne, 6, 12): u', v' - rz, w' + ry, rx', ry', rz' at `place` of the length, in local axes."""
        N, D = self.interpolation(place)
        B = D[:, [0, 1, 2, 3, 4, 5]].copy()
        B[:, 1] -= N[:, 5]
        B[:, 2] += N[:, 4]
        return B

    # ---- matrices, in local axes

    def stiffness(self) -> Array:
        """Return the stiffness of every element (ne, 12, 12)."""
        return self._integral(self.strains, self.rigidities)

    def mass(self) -> Array:
        """Return the consistent mass of every element (ne, 12, 12)."""
        return self._integral(lambda place: self.interpolation(place)[0], self.densities)

    def geometric(self) -> Array:
        """Return the geometric stiffness of every element per unit of axial force (tension) (ne, 12, 12)."""
        polar = np.array([(s.Iy + s.Iz) / s.A for s in self.sections])
        weights = np.zeros((len(self), 6))
        weights[:, 1] = weights[:, 2] = 1.0
        weights[:, 3] = polar
        return self._integral(lambda place: self.interpolation(place)[1], weights)

    def _integral(self, rows: Any, weights: Array) -> Array:
        total = np.zeros((len(self), 12, 12))
        for place, weight in zip(*_GAUSS, strict=True):
            B = rows((1 + place) / 2)
            total += weight / 2 * self.lengths[:, None, None] * (B.transpose(0, 2, 1) * weights[:, None, :]) @ B
        return total

    # ---- to body axes and to all nodes

    def turn(self) -> Array:
        """Return T (ne, 12, 12): local degrees of freedom from those in body axes."""
        T = np.zeros((len(self), 12, 12))
        for block in range(0, 12, 3):
            T[:, block : block + 3, block : block + 3] = self.axes.transpose(0, 2, 1)
        return T

    def assembled(self, local: Array, n: int) -> Any:
        """Return the sparse matrix (6 n, 6 n) of element matrices (ne, 12, 12) given in local axes."""
        T = self.turn()
        return assembled(T.transpose(0, 2, 1) @ local @ T, self.dofs, n)

    def local(self, u: Array) -> Array:
        """Return the degrees of freedom of the elements (..., ne, 12) in local axes from nodal ones (..., 6 n)."""
        return np.einsum("eij,...ej->...ei", self.turn(), u[..., self.dofs])

    # ---- as elements of a structure

    def mass_matrix(self, n: int) -> Any:
        """Return the consistent mass (6 n, 6 n)."""
        return self.assembled(self.mass(), n)

    def points(self, nodes: Array, modes: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mass integration points as small bodies: positions, masses, inertias, shapes (k, 6, nm)."""
        places, masses, inertias, shapes = [], [], [], []
        turn, R = self.turn(), self.axes
        local = np.einsum("eij,ejm->eim", turn, modes[self.dofs])
        for place, weight in zip(*_GAUSS, strict=True):
            at, share = (1 + place) / 2, weight / 2 * self.lengths
            moved = self.interpolation(at)[0] @ local  # (ne, 6, nm) in local axes
            shapes.append(np.concatenate([R @ moved[:, 3:], R @ moved[:, :3]], axis=1))
            places.append((1 - at) * nodes[self.ends[:, 0]] + at * nodes[self.ends[:, 1]])
            masses.append(share * self.densities[:, 0])
            inertias.append(np.einsum("e,eij,ej,ekj->eik", share, R, self.densities[:, 3:], R))
        found = (np.concatenate(part) for part in (places, masses, inertias, shapes))
        return tuple(found)  # type: ignore[return-value]

    def field_loads(self, nodes: Array, A: Array) -> Array:
        """Return the inertia loads (6 n,) of an acceleration A x."""
        x1, x2 = (nodes[self.ends[:, end]] for end in (0, 1))
        along = self.axes[:, :, 0]
        slope = np.cross(along, along @ A.T)  # rotation of a straight element in the field
        moved = np.concatenate([x1 @ A.T, slope, x2 @ A.T, slope], axis=1)
        turn = self.turn()
        forces = np.einsum("eji,ejk,ekl,el->ei", turn, self.mass(), turn, moved)
        loads = np.zeros(6 * len(nodes))
        np.add.at(loads, self.dofs, -forces)
        return loads

    def axial_forces(self, u: Array) -> Array:
        """Return the mean axial force (ne, k) N of the elements under displacements (6 n, k)."""
        local = self.local(u.T)  # (k, ne, 12)
        return ((local[..., 6] - local[..., 0]) / self.lengths * self.rigidities[:, 0]).T

    def geometric_stiffness(self, u: Array, modes: Array) -> Array:
        """Return the geometric stiffness (k, nm, nm) of modes (6 n, nm) by axial forces of displacements (6 n, k).

        Only axial forces count; bending and shear forces (lateral buckling) are left out.
        """
        local = self.local(modes.T)
        per_force = np.einsum("aei,eij,bej->eab", local, self.geometric(), local)
        return np.tensordot(self.axial_forces(u).T, per_force, 1)

    def lumps(self, n: int) -> tuple[Array, Array, Array]:
        """Return masses (n,) kg, inertias about the nodes (n, 3, 3) and centres (n, 3): half elements lumped.

        Each half is a rigid rod, so that mass, centre and inertia of the whole are those of the undeformed beam.
        """
        masses, inertias, moments = np.zeros(n), np.zeros((n, 3, 3)), np.zeros((n, 3))
        tips = self.axes[:, :, 0] * (self.lengths / 2)[:, None]
        rotary = np.einsum("eij,ej,ekj->eik", self.axes, self.densities[:, 3:], self.axes)
        for end, sign in ((0, 1.0), (1, -1.0)):
            half = self.masses / 2
            rod = half[:, None, None] / 3 * ((tips * tips).sum(1)[:, None, None] * np.eye(3) - _outer(tips))
            np.add.at(masses, self.ends[:, end], half)
            np.add.at(moments, self.ends[:, end], sign * half[:, None] * tips / 2)
            np.add.at(inertias, self.ends[:, end], rod + rotary * (self.lengths / 2)[:, None, None])
        heavy = np.where(masses > 0, masses, 1.0)
        return masses, inertias, moments / heavy[:, None]


def _bending(place: float, L: Array, phi: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return deflection and its slope, rotation and its slope (ne, 4), for [w1, r1, w2, r2] with w' = r + shear."""
    s, one = place, 1 + phi
    w = [1 - 3 * s**2 + 2 * s**3 + phi * (1 - s), L * (s - 2 * s**2 + s**3 + phi / 2 * (s - s**2))]
    w += [3 * s**2 - 2 * s**3 + phi * s, L * (-(s**2) + s**3 - phi / 2 * (s - s**2))]
    dw = [(-6 * s + 6 * s**2 - phi) / L, 1 - 4 * s + 3 * s**2 + phi / 2 * (1 - 2 * s)]
    dw += [(6 * s - 6 * s**2 + phi) / L, -2 * s + 3 * s**2 - phi / 2 * (1 - 2 * s)]
    r = [6 * (s**2 - s) / L, 1 - 4 * s + 3 * s**2 + phi * (1 - s), 6 * (s - s**2) / L, -2 * s + 3 * s**2 + phi * s]
    dr = [6 * (2 * s - 1) / L**2, (-4 + 6 * s - phi) / L, 6 * (1 - 2 * s) / L**2, (-2 + 6 * s + phi) / L]
    found = [np.column_stack([np.broadcast_to(x, L.shape) for x in rows]) / one[:, None] for rows in (w, dw, r, dr)]
    return (found[0], found[1]), (found[2], found[3])


def _outer(vectors: Array) -> Array:
    return vectors[:, :, None] * vectors[:, None, :]
