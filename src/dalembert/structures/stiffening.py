"""Geometric stiffness of beams under the loads of their own motion, per unit of it.

For every unit case the structure is loaded by its inertia forces, held where its frame is attached (or balanced by
the inertia of the free rigid body, with mean axes); the axial force N of each element then gives N K_g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..bodies.flexible import Stiffening, lumped_mass_matrix
from ..errors import ModelError
from .held import Held, relieved

if TYPE_CHECKING:
    from .mode_sets import Built
    from .structure import Structure

__all__ = ["axial_forces", "spin_loads", "stiffening_of"]

Array = NDArray[np.float64]

_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def stiffening_of(structure: Structure, built: Built, load_nodes: Any = ()) -> Stiffening:
    """Return the geometric stiffness of modes, for unit accelerations, spins and loads at nodes.

    Only axial forces count; those of bending and shear (lateral buckling) are left out.
    """
    if structure.beams is None:
        raise ModelError(
            "structure",
            "stiffening",
            True,
            "it is computed for beam elements only: leave it out, or give FlexibleBody a Stiffening of your own",
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
    cases = np.hstack([inertia[:, 3:], spin_loads(structure), inertia[:, :3], loads])
    N = axial_forces(structure, cases, built.reference)
    local = structure.beams.local(built.modes.T)
    per_force = np.einsum("aei,eij,bej->eab", local, structure.beams.geometric(), local)
    stiffness = np.tensordot(N.T, per_force, 1)
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
    beams = structure.beams
    assert beams is not None
    x1, x2 = (structure.nodes[beams.ends[:, end]] for end in (0, 1))
    along = beams.axes[:, :, 0]
    local_mass, turn, places = beams.mass(), beams.turn(), beams.freedoms
    elastic = np.zeros((structure.size, len(_PAIRS)))
    fields = [_spin_matrix(*pair) for pair in _PAIRS]
    for case, A in enumerate(fields):
        slope = np.cross(along, along @ A.T)  # the rotation that a field A x asks of a straight element
        moved = np.concatenate([x1 @ A.T, slope, x2 @ A.T, slope], axis=1)
        forces = np.einsum("eji,ejk,ekl,el->ei", turn, local_mass, turn, moved)
        np.add.at(elastic[:, case], places, -forces)
    # what the mass holds besides the beams: bodies at nodes
    if structure.lumps is not None:
        rest = structure.mass - lumped_mass_matrix(*beams.lumps(len(structure.nodes)))
    else:
        rest = structure.mass - beams.assembled(local_mass, len(structure.nodes))
    return elastic + _point_loads(structure, rest, fields)


def _point_loads(structure: Structure, rest: Any, fields: list[Array]) -> Array:
    found = np.zeros((structure.size, len(fields)))
    for case, A in enumerate(fields):
        moved = np.zeros((len(structure.nodes), 6))
        moved[:, :3] = structure.nodes @ A.T
        found[:, case] = -(rest @ moved.ravel())
    return found


def axial_forces(structure: Structure, loads: Array, reference: int | None) -> Array:
    """Return the mean axial force (ne, k) N of the beam elements for loads (6 n, k), with a node held or none."""
    beams = structure.beams
    assert beams is not None
    if reference is None:
        u = Held(structure, structure.support()).solve(relieved(structure, loads))
    else:
        u = Held(structure, structure.fixed_at([reference])).solve(loads)
    local = beams.local(u.T)  # (k, ne, 12)
    stretch = (local[..., 6] - local[..., 0]) / beams.lengths
    return np.asarray((stretch * beams.rigidities[:, 0]).T)


def _spin_matrix(i: int, j: int) -> Array:
    """Return A with A x the centripetal acceleration per unit of w_i w_j."""
    e = np.eye(3)
    outer = (np.outer(e[i], e[j]) + np.outer(e[j], e[i])) / 2
    single: Array = outer - np.trace(outer) * np.eye(3)  # w x (w x r) = w (w . r) - (w . w) r
    return single if i == j else 2 * single
