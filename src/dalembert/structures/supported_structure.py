"""Static solutions and vibration modes of a supported or free structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, BoolArray
from ..errors import ModelError

if TYPE_CHECKING:
    from .structure import Structure

__all__ = ["SupportedStructure", "free_modes", "inertia_relief", "without_rigid_motion"]


# up to this many degrees of freedom, dense matrices; above, sparse factors and Lanczos
DENSE = 300
# a pivot of the stiffness, scaled to a unit diagonal, below which a motion without strain energy remains
SINGULAR_TOL = 1e-13


class SupportedStructure:
    """Structure supported at some degrees of freedom: factorised stiffness and modes.

    Parameters
    ----------
    structure : Structure
    fixed : (6 n,) bool
    """

    def __init__(self, structure: Structure, fixed: BoolArray) -> None:
        self.structure = structure
        self.free = np.flatnonzero(structure.active & ~fixed)
        self._K = structure.stiffness[self.free][:, self.free]
        self._M = structure.mass[self.free][:, self.free]
        self.size = len(self.free)
        diagonal = self._K.diagonal()
        if self.size and diagonal.min() <= 0:
            self._loose(int(self.free[int(diagonal.argmin())]))
        self._scale = 1 / np.sqrt(diagonal)
        self._solve = self._dense_solver() if self.size <= DENSE else self._sparse_solver()

    def solve(self, loads: Array) -> Array:
        """Return displacements (6 n, k) for loads (6 n, k)."""
        u = np.zeros_like(loads)
        if self.size:
            s = self._scale[:, None]
            u[self.free] = s * self._solve(s * loads[self.free])
        return u

    def modes(self, count: int) -> tuple[Array, Array]:
        """Return the lowest `count` squared frequencies (rad/s)2 and modes (6 n, count) of unit modal mass."""
        if count > self.size:
            raise ModelError(
                "mode set", "count", count, f"the structure has {self.size} degrees of freedom left; request fewer"
            )
        vectors = np.zeros((self.structure.size, count))
        if not count:
            return np.zeros(0), vectors
        if self.size <= DENSE or count > self.size // 3:
            flexibilities, found = _dense_largest(self._M.toarray(), self._K.toarray(), count)
        else:
            flexibilities, found = self._lanczos(count)
        massive = int((flexibilities > 1e-14 * flexibilities[0]).sum())
        if massive < count:
            raise ModelError("mode set", "count", count, f"only {massive} modes move mass; request fewer")
        vectors[self.free] = orthonormal(found, self._M)
        return 1 / flexibilities, vectors

    def _lanczos(self, count: int) -> tuple[Array, Array]:
        from scipy.sparse.linalg import LinearOperator, eigsh

        s = self._scale

        def inverse(x: Array) -> Array:
            return s * self._solve((s * x.ravel())[:, None])[:, 0]

        operator = LinearOperator((self.size, self.size), matvec=inverse, dtype=float)
        start = np.random.default_rng(0).normal(size=self.size)
        values, vectors = eigsh(self._K, k=count, M=self._M, sigma=0.0, OPinv=operator, v0=start)
        order = np.argsort(values)
        norms = np.sqrt(np.einsum("ij,ij->j", vectors, self._M @ vectors))
        return 1 / values[order], (vectors / norms)[:, order]

    def _dense_solver(self) -> Callable[[Array], Array]:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        scaled = self._K.toarray() * np.outer(self._scale, self._scale)
        try:
            factor = cho_factor(scaled)
        except LinAlgError:
            self._loose(None)
        pivots = np.diag(factor[0]) ** 2
        if self.size and pivots.min() < SINGULAR_TOL:
            self._loose(int(self.free[int(pivots.argmin())]))
        return lambda loads: cho_solve(factor, loads)

    def _sparse_solver(self) -> Callable[[Array], Array]:
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        S = diags_array(self._scale)
        try:
            factor = splu(
                csc_array(S @ self._K @ S),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # SuperLU: exactly singular
            self._loose(None)
        pivots = factor.U.diagonal()
        if pivots.min() < SINGULAR_TOL:
            self._loose(int(self.free[int(np.flatnonzero(factor.perm_c == int(pivots.argmin()))[0])]))
        return lambda loads: factor.solve(np.ascontiguousarray(loads))

    def _loose(self, dof: int | None) -> Any:
        names = ("ux", "uy", "uz", "rx", "ry", "rz")
        where = "" if dof is None else f", at node {dof // 6} ({names[dof % 6]})"
        raise ModelError(
            "structure",
            "stiffness",
            f"singular{where}",
            "it allows motions without strain energy besides the six rigid ones: look for parts that are not "
            "connected, members that turn freely, or nodes without stiffness",
        )


def orthonormal(modes: Array, mass: Any) -> Array:
    """Return modes (n, k) made orthonormal in the mass metric, to round-off.

    Eigensolvers leave products of 1e-11 between high modes.
    """
    from scipy.linalg import solve_triangular

    L = np.linalg.cholesky(modes.T @ (mass @ modes))
    return solve_triangular(L, modes.T, lower=True).T


def free_modes(structure: Structure, count: int) -> tuple[Array, Array]:
    """Return the lowest `count` squared frequencies (rad/s)2 and elastic modes (6 n, count) of a free structure.

    Modes have unit modal mass and are orthogonal to rigid motions in the mass metric.
    """
    if not count:
        return np.zeros(0), np.zeros((structure.size, 0))
    held = SupportedStructure(structure, structure.support())
    # With a statically determinate support, the first frequency is not above the first elastic one of the free
    # structure: a shift of that size separates rigid and elastic modes well.
    shift = float(held.modes(1)[0][0])
    active = np.flatnonzero(structure.active)
    K, M = structure.stiffness[active][:, active], structure.mass[active][:, active]
    wanted = count + 6
    if wanted > len(active):
        raise ModelError(
            "mode set", "count", count, f"the structure has {len(active) - 6} elastic modes; request fewer"
        )
    if len(active) <= DENSE or wanted > len(active) // 3:
        flexibilities, vectors = _dense_largest(M.toarray(), (K + shift * M).toarray(), wanted)
        values = 1 / flexibilities - shift
    else:
        from scipy.sparse.linalg import eigsh

        start = np.random.default_rng(0).normal(size=len(active))
        values, vectors = eigsh(K.tocsc(), k=wanted, M=M.tocsc(), sigma=-shift, v0=start)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    modes = np.zeros((structure.size, count))
    modes[active] = vectors[:, 6:]
    modes = orthonormal(without_rigid_motion(structure, modes), structure.mass)
    norms = np.sqrt(np.einsum("ij,ij->j", modes, structure.mass @ modes))
    return values[6:], modes / norms


def without_rigid_motion(structure: Structure, modes: Array) -> Array:
    """Return modes (6 n, nm) without their rigid part in the mass metric, as for mean axes."""
    B, G = structure.rigid, structure.rigid_mass()
    return modes - B @ np.linalg.solve(G, B.T @ (structure.mass @ modes))


def inertia_relief(structure: Structure, loads: Array) -> Array:
    """Return loads (6 n, k) balanced by the inertia forces of the free rigid body."""
    B, G = structure.rigid, structure.rigid_mass()
    return loads - structure.mass @ (B @ np.linalg.solve(G, B.T @ loads))


def _dense_largest(M: Array, K: Array, count: int) -> tuple[Array, Array]:
    """Return the largest x' M x / x' K x, descending, and vectors of unit modal mass; M may be singular."""
    from scipy.linalg import eigh

    n = len(M)
    values, vectors = eigh(M, K, subset_by_index=(n - count, n - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))
