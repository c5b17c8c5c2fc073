"""Configurations that rows or pictures do not distinguish: whole turns of angles, and opposed axes."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..connections.joints import Joint
from ..model import Model
from ..model.cache import cached_per_model

__all__ = ["axis_reversal_mask", "loop_constraints_with_axes", "periodic_angles", "reversed_axes", "turning_angles"]


@cached_per_model
def periodic_angles(model: Model) -> tuple[IndexArray, IndexArray]:
    """Return the indices in q and in v of the tree angles with a period of one turn.

    Angles in couplings are not periodic: a turn of a wheel is part of a turn of the other.
    """
    indices: list[int] = []
    columns: list[int] = []
    bound = {(joint.name, part) for coupling in model.forest.couplings for joint, part in coupling.joint_coordinates}
    for joint in model.forest.joints:
        element = joint.element
        if element.counts_turns or element.nq != element.nv:
            continue
        span, rates = model.q_slice(joint.name), model.v_slice(joint.name)
        for k, name in enumerate(element.coordinates):
            if name.startswith("angle") and (joint.name, k) not in bound:
                indices.append(span.start + k)
                columns.append(rates.start + k)
    return np.array(indices, dtype=np.intp), np.array(columns, dtype=np.intp)


def turning_angles(model: Model) -> IndexArray:
    """Return the columns of angles after a whole turn of which a body is back in its pose.

    Wheels in couplings are included unless they have stops. Closed configurations that differ by whole turns of such
    angles look the same and lie on one path.
    """
    columns = set(periodic_angles(model)[1].tolist())
    bound = {(joint.name, part) for coupling in model.forest.couplings for joint, part in coupling.joint_coordinates}
    for joint in model.forest.joints:
        element, start = joint.element, model.v_slice(joint.name).start
        if element.counts_turns or element.nq != element.nv:
            continue
        for k, name in enumerate(element.coordinates):
            stops = element.lower is not None or element.upper is not None
            if (joint.name, k) in bound and name.startswith("angle") and not stops:
                columns.add(start + k)
    return np.array(sorted(columns), dtype=np.intp)


def reversed_axes(model: Model, q: Array) -> tuple[str, ...]:
    """Return the loop constraints whose axes are antiparallel: closed for the rows, not for the joint."""
    return tuple(loop_constraints_with_axes(model)[k] for k in np.flatnonzero(axis_reversal_mask(model, q)))


def loop_constraints_with_axes(model: Model) -> tuple[str, ...]:
    """Return the names of loop constraints whose rows also hold with opposed axes."""
    return _loop_constraint_axes(model)[0]


def axis_reversal_mask(model: Model, q: Array) -> BoolArray:
    """Return the mask (..., k) of loop constraints with two axes whose axes are antiparallel at q (..., nq)."""
    names, bodies, axes = _loop_constraint_axes(model)
    if not names:
        return np.zeros((*q.shape[:-1], 0), dtype=bool)
    if model.flexible_names:
        loop_constraints = [
            loop_constraint for loop_constraint in model.forest.loop_constraints if loop_constraint.name in names
        ]
        ends = [[model.pose(end, q).rotation @ end.rotation.T for end in (c.first, c.second)] for c in loop_constraints]
        turned = np.array(ends).reshape(len(loop_constraints), 2, *q.shape[:-1], 3, 3)
        first, second = np.einsum("ke...ij,ekj->e...ki", turned, axes)
    else:
        still = np.broadcast_to(np.eye(3), (*q.shape[:-1], 1, 3, 3))
        attitudes = np.concatenate([still, model.poses(q).rotation], -3)
        first, second = (np.einsum("...kij,kj->...ki", attitudes[..., bodies[e], :, :], axes[e]) for e in (0, 1))
    against: BoolArray = (first * second).sum(-1) < 0.0
    return against


@cached_per_model
def _loop_constraint_axes(model: Model) -> tuple[tuple[str, ...], IndexArray, Array]:
    """Return names (k), and for both ends of such constraints the bodies (2, k) and the axes in body axes (2, k, 3)."""
    names, bodies, axes = [], [], []
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint) and loop_constraint.element.allows_axis_reversal:
            axis, ends = loop_constraint.element.frame()[:, 2], (loop_constraint.first, loop_constraint.second)
            names.append(loop_constraint.name)
            bodies.append([model.forest.number[end.body.name] for end in ends])
            axes.append([end.rotation @ axis for end in ends])
    return (
        tuple(names),
        np.array(bodies, dtype=np.intp).reshape(-1, 2).T,
        np.array(axes).reshape(-1, 2, 3).swapaxes(0, 1),
    )
