"""Protocols of finite elements: geometric stiffness and stress recovery."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array

__all__ = ["Elements", "StressElements", "assembled", "averaged", "nodal_dofs"]


class Elements(Protocol):
    """Finite elements with mass, centrifugal loads and geometric stiffness.

    Elements whose mass differs by direction also have `points(nodes, modes)`: the mass integration points as small
    bodies, positions (k, 3) m, masses (k,) kg, inertias (k, 3, 3) kg m2, shapes (k, 6, nm) [rotation; translation].
    """

    def mass_matrix(self, n: int) -> Any:
        """Return the mass (6 n, 6 n) of the elements alone."""
        ...

    def field_loads(self, nodes: Array, A: Array) -> Array:
        """Return the inertia loads (6 n,) N, N m of an acceleration A x, A (3, 3) symmetric."""
        ...

    def geometric_stiffness(self, u: Array, modes: Array) -> Array:
        """Return the geometric stiffness (k, nm, nm) of modes (6 n, nm) by stresses of displacements (6 n, k)."""
        ...


@runtime_checkable
class StressElements(Protocol):
    """Finite elements with stress recovery at nodes: plates and solids."""

    def nodal_stresses(self, modes: Array, n: int) -> Array:
        """Return stresses (faces, n, 3, 3, nm) Pa at the nodes in modes (6 n, nm)."""
        ...

    def energy_products(self, modes: Array, nodal: Array) -> tuple[Array, Array]:
        """Return products (ne, nm, nm) J of element stresses, and of their differences from recovered ones."""
        ...


def assembled(blocks: Any, dofs: NDArray[np.int64], n: int) -> Any:
    """Return the sparse matrix (6 n, 6 n) of element matrices (e, k, k), or one (k, k) for all, with DOF (e, k)."""
    from scipy.sparse import coo_array

    size = dofs.shape[1]
    rows, columns = np.repeat(dofs, size, axis=1), np.tile(dofs, (1, size))
    values = np.broadcast_to(blocks, (len(dofs), size, size))
    return coo_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(6 * n, 6 * n)).tocsr()


def nodal_dofs(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the degrees of freedom (e, 6 c) of elements with nodes (e, c), among those of all nodes."""
    return (6 * nodes[:, :, None] + np.arange(6)).reshape(len(nodes), -1)


def averaged(nodes: NDArray[np.int64], values: Array, n: int) -> Array:
    """Return the nodal means (n, ...) of values (e, c, ...) at element corners, whose nodes are (e, c)."""
    total = np.zeros((n, *values.shape[2:]))
    count = np.bincount(nodes.ravel(), minlength=n)
    np.add.at(total, nodes, values)
    return total / np.maximum(count, 1).reshape(-1, *[1] * (total.ndim - 1))
