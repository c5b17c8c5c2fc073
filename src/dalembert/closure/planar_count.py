"""Planar systems: detection and the planar count of DOF (Grübler 1883).

    3 nb - sum of (3 - f) over all connections                                                                     (1)

with f the planar degrees of freedom of a connection between two bodies; a coupling removes one.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, BoolArray
from ..connections.connection import Connection
from ..connections.joints import Joint
from ..model import Model
from ..model.connection_loads import weightless_loads
from .loop_equations import LoopEquations
from .nearby_configurations import closed_neighbours

__all__ = ["planar_count"]


ROUNDOFF_TOL = 1e-9
MANY_MOTIONS = 60


def planar_count(loops: LoopEquations, q: Array, free: BoolArray, motions: Array) -> int | None:
    """Return (1), or None if the system does not move in a plane.

    Parameters
    ----------
    loops : LoopEquations
        With zero scale for driven rows.
    q : (nq,) rad or m
        A closed configuration.
    free : (nv,)
        Mask of velocities that are not clocks.
    motions : (nv, k)
        Basis of the scaled motions at q.
    """
    model = loops.model
    if model.flexible_names or not model.nb:
        return None
    n = _normal(model, q, loops.column_scales[:, None] * np.eye(model.nv)[:, free])
    if n is None:  # joints may allow motion out of the plane that loops prevent
        n = _normal_of_motions(loops, q, free, motions)
    if n is None:
        return None
    count = 3 * model.nb - sum(3 - dofs for dofs in _in_plane(loops, q, n))
    return count - sum(bool(loops.row_scales[k]) for k in _coupling_rows(model))


def _normal(model: Model, q: Array, motions: Array) -> Array | None:
    """Return the normal of the plane of motion of all bodies for velocities (nv, k).

    None if there is none.
    """
    if motions.shape[1] > MANY_MOTIONS:  # random ones among them span what all of them do
        motions = motions @ np.random.default_rng(0).normal(size=(motions.shape[1], MANY_MOTIONS))
    J = model.velocities(np.tile(q, (motions.shape[1], 1)), motions.T).transpose(1, 2, 0)
    rest = np.zeros((3, 3))  # ensures three singular values
    turns = np.hstack([J[:, :3].swapaxes(0, 1).reshape(3, -1), rest])
    shifts = np.hstack([J[:, 3:].swapaxes(0, 1).reshape(3, -1) / model.length, rest])
    U, s, _ = np.linalg.svd(turns, full_matrices=False)
    size = max(float(s.max(initial=0.0)), float(np.abs(shifts).max(initial=0.0)))
    if not size:
        return None
    if s[0] < ROUNDOFF_TOL * size:
        U, s, _ = np.linalg.svd(shifts, full_matrices=False)
        U = U[:, ::-1]  # the direction without displacement
        flat = s[2] < ROUNDOFF_TOL * size
    else:
        flat = s[1] < ROUNDOFF_TOL * size and float(np.abs(U[:, 0] @ shifts).max(initial=0.0)) < ROUNDOFF_TOL * size
    return np.asarray(U[:, 0]) if flat else None


def _normal_of_motions(loops: LoopEquations, q: Array, free: BoolArray, motions: Array) -> Array | None:
    """Return the normal of the plane in which all bodies move, at q and nearby configurations."""

    def normal(place: Array, N: Array) -> Array | None:
        return _normal(loops.model, place, loops.column_scales[:, None] * N) if N.shape[1] else None

    n = normal(q, motions)
    if n is None:
        return None
    for near in closed_neighbours(loops, q, free, motions):
        other = normal(near, loops.null_space(near, free))
        if other is None or float(np.linalg.norm(np.cross(n, other))) > 1e-6:
            return None
    return n


def _in_plane(loops: LoopEquations, q: Array, n: Array) -> list[int]:
    """Return the planar degrees of freedom of every joint and every loop constraint."""
    model = loops.model
    cut_q = model.cut_motion(q, np.zeros(model.nv), np.zeros(model.nv))[0]
    axes, motions, taken = [], [], []
    for joint in model.forest.joints:
        first = joint.outboard if joint.reversed else joint.inboard
        axes.append(model.pose(first, q).rotation)
        motions.append(_motions(joint.element, q[model.q_slice(joint.name)]))
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint):
            values = cut_q[model.compiled.names.cut_q[loop_constraint.name]]
            axes.append(model.pose(loop_constraint.first, q).rotation)
            motions.append(_motions(loop_constraint.element, values))
        else:
            taken.append(3 - _taken(loops, q, loop_constraint, n))
    return [*_common_motions(np.array(axes), np.array(motions), n), *taken]


def _motions(joint: Joint, q: Array) -> Array:
    """Return the motions (6, 6) of a joint at q (nq,) in axes of its first marker, scaled; the others are zero."""
    H = joint.motion(q)[:, [unit != "s" for unit in joint.speed_units]]
    found = np.zeros((6, 6))
    if H.size:
        size = float(np.abs(H[3:]).max()) or 1.0
        found[:3, : H.shape[1]], found[3:, : H.shape[1]] = H[:3], H[3:] / size
    return found


def _common_motions(axes: Array, motions: Array, n: Array) -> list[int]:
    """Return the numbers of motions of joints (k, 6, 6) in the plane normal to n.

    Axes (k, 3, 3) are those of their first markers in the world.
    """
    planes = axes.transpose(0, 2, 1)[:, None] @ _plane(n).reshape(2, 3, 3)  # rotation and displacement, each turned
    both = np.concatenate([motions, planes.reshape(-1, 6, 3)], axis=2)
    alone, together = (np.linalg.matrix_rank(each, ROUNDOFF_TOL) for each in (motions, both))
    return [int(count) for count in alone + 3 - together]


def _taken(loops: LoopEquations, q: Array, loop_constraint: Connection, n: Array) -> int:
    """Return the number of motions in the plane that the rows of a constraint prevent."""
    model = loops.model
    mine = np.array(model.constraint_connections) == loop_constraint.name
    rows = np.flatnonzero(mine & (loops.row_scales > 0.0))
    if not len(rows):
        return 0
    lam = np.eye(model.nc)[rows]
    loads = weightless_loads(model, np.tile(q, (len(rows), 1)), np.zeros((len(rows), model.nv)), lam, t=loops.t)
    at_constraint = loads[:, model.connection_names.index(loop_constraint.name)]
    sizes = np.array([1.0 / model.length] * 3 + [1.0] * 3)  # common scale for rows of both units
    wrenches = at_constraint * sizes
    wrenches /= np.maximum(np.linalg.norm(wrenches, axis=1), 1e-300)[:, None]
    return int(np.linalg.matrix_rank(wrenches @ _plane(n), 1e-7))


def _plane(n: Array) -> Array:
    """Return a basis (6, 3) of motions in the plane normal to n: one rotation, two displacements."""
    e = np.linalg.svd(n[None])[2][1:]
    basis = np.zeros((6, 3))
    basis[:3, 0], basis[3:, 1], basis[3:, 2] = n, e[0], e[1]
    return basis


def _coupling_rows(model: Model) -> list[int]:
    names = {coupling.name for coupling in model.forest.couplings}
    return [k for k, name in enumerate(model.constraint_connections) if name in names]
