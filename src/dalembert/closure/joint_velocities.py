"""Velocities of tree and cut joints at many configurations."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..connections.joints import Joint
from ..model import Model
from .named_velocities import NamedVelocities
from .relative_pose import joint_speeds

__all__ = ["cut_speeds_of_twist", "speed_rows"]


def speed_rows(dofs: NamedVelocities, q: Array) -> Array:
    """Return C (n, k, nv) at q (n, nq): k named velocities per tree velocity, those of the tree first."""
    model, n = dofs.model, len(q)
    rows = np.zeros((n, len(dofs), model.nv))
    count = len(dofs.columns)
    rows[:, np.arange(count), dofs.columns] = 1.0
    if dofs.cut:
        still = np.zeros(model.nv)
        units = np.tile(np.vstack([still, np.eye(model.nv)]), (n, 1))
        speeds = model.cut_motion(np.repeat(q, model.nv + 1, axis=0), units, still)[1][:, dofs.cut]
        rates = speeds.reshape(n, model.nv + 1, -1)
        rows[:, count:] = (rates[:, 1:] - rates[:, :1]).swapaxes(1, 2)
    return rows


def cut_speeds_of_twist(model: Model, q: Array, name: str) -> Array:
    """Return the velocities of a cut joint per relative motion of its markers, (n, nv of it, 6).

    The motion is [rotation; translation] of the second marker relative to the first, at the second, world axes. The
    transpose maps an effort at the joint to the load on the second marker.
    """
    loop_constraint = model.system.connections[name]
    assert isinstance(loop_constraint.element, Joint)
    still = np.zeros(model.nv)
    at = model.cut_motion(q, np.tile(still, (len(q), 1)), still)[0][:, model.compiled.names.cut_q[name]]
    local = np.array([joint_speeds(loop_constraint.element, row) for row in at])
    R = model.pose(loop_constraint.first, q).rotation
    return np.concatenate([local[:, :, :3] @ R.swapaxes(1, 2), local[:, :, 3:] @ R.swapaxes(1, 2)], axis=2)
