"""Geometric stiffness under unit inertia loads of a body.

For every unit case the structure is loaded by its inertia forces and supported where its frame is attached (or balanced
by the inertia of the free rigid body, with mean axes). The stresses of its elements then stiffen or soften it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..bodies.geometric_stiffening import Stiffening
from ..errors import ModelError
from .supported_structure import SupportedStructure, inertia_relief

if TYPE_CHECKING:
    from .mode_sets import BuiltModes
    from .structure import Structure

__all__ = ["spin_loads", "stiffening_of"]


_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def stiffening_of(structure: Structure, built: BuiltModes, load_nodes: Any = ()) -> Stiffening:
    """Return the geometric stiffness of modes for unit accelerations, angular velocities and nodal loads."""
    if structure.elements is None:
        raise ModelError(
            "structure",
            "stiffening",
            True,
            "its elements are not known (matrices from a file): leave it out, or give FlexibleBody a Stiffening of "
            "your own",
        )
    if len(built.labels) != len(structure.nodes):
        raise ModelError(
            "structure", "stiffening", True, "a condensation that removes nodes has none: use CraigBampton"
        )
    nodes = [structure.node(where, field="load_nodes") for where in load_nodes]
    loads = np.zeros((structure.size, 6 * len(nodes)))
    for k, node in enumerate(nodes):
        loads[6 * node + np.array([3, 4, 5, 0, 1, 2]), 6 * k + np.arange(6)] = 1.0
    inertia = -(structure.mass @ structure.rigid)
    cases = np.hstack([inertia[:, 3:], spin_loads(structure), inertia[:, :3], _led(structure, loads)])
    u = structure.expanded(_displacements(structure, cases, built.reference))
    stiffness = structure.elements.geometric_stiffness(u, built.modes)
    nm = built.modes.shape[1]
    return Stiffening(
        stiffness[:3],
        stiffness[3:9],
        stiffness[9:12],
        np.array(nodes, dtype=np.int64),
        stiffness[12:].reshape(len(nodes), 6, nm, nm),
    )


def spin_loads(structure: Structure) -> Array:
    """Return the centrifugal loads (6 n, 6) for unit products of angular velocities xx, yy, zz, xy, xz, yz."""
    elements, nodes = structure.elements, structure.nodes
    assert elements is not None
    found = np.zeros((structure.size, len(_PAIRS)))
    rest = (structure.full_mass - elements.mass_matrix(len(nodes))).tocsr()
    for case, pair in enumerate(_PAIRS):
        A = _spin_matrix(*pair)
        found[:, case] = elements.field_loads(nodes, A) + _point_loads(rest, nodes, A)
    return _led(structure, found)


def _point_loads(rest: Any, nodes: Array, A: Array) -> Array:
    """Return the loads (6 n,) of bodies at nodes besides the elements, for an acceleration A x."""
    moved = np.zeros((len(nodes), 6))
    moved[:, :3] = nodes @ A.T
    loads = -(rest @ moved.ravel()).reshape(-1, 6)
    # and of the centres of mass offset from their nodes: moments m c are in the block of rotation and displacement
    diagonal = 6 * np.arange(len(nodes))
    moments = [(rest[diagonal + 3 + i, diagonal + j] - rest[diagonal + 3 + j, diagonal + i]) / 2
               for i, j in ((2, 1), (0, 2), (1, 0))]  # fmt: skip
    loads[:, :3] -= np.column_stack([np.asarray(m).ravel() for m in moments]) @ A.T
    return loads.ravel()


def _displacements(structure: Structure, loads: Array, reference: int | None) -> Array:
    if reference is None:
        return SupportedStructure(structure, structure.support()).solve(inertia_relief(structure, loads))
    return SupportedStructure(structure, structure.fixed_at([reference])).solve(loads)


def _led(structure: Structure, loads: Array) -> Array:
    """Return loads (6 n, k) on the independent degrees of freedom."""
    if structure.expansion is None:
        return loads
    return structure.expansion.T @ loads


def _spin_matrix(i: int, j: int) -> Array:
    """Return A with A x the centripetal acceleration per unit of w_i w_j."""
    e = np.eye(3)
    outer = (np.outer(e[i], e[j]) + np.outer(e[j], e[i])) / 2
    single: Array = outer - np.trace(outer) * np.eye(3)  # w x (w x r) = w (w . r) - (w . w) r
    return single if i == j else 2 * single
