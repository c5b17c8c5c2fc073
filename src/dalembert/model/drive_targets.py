"""Driven coordinates and rows of a model: indices, and the values that drives prescribe at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, BoolArray
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import AxisAngle, Constraint
from ..connections.drives import Drive
from ..errors import ModelError

if TYPE_CHECKING:
    from .model import Model

__all__ = ["constraint_targets", "drive_targets", "driven_dof", "driven_row", "driven_speeds", "row_gaps"]


def driven_dof(model: Model, drive: Drive) -> list[int]:
    """Return the indices in v of the velocities of a driven joint."""
    start = model.v_slice(drive.connection.name).start
    return [start + k for k in drive.dofs]


def driven_row(model: Model, drive: Drive) -> int:
    """Return the constraint row of a drive."""
    return model.constraint_connections.index(drive.connection.name) + int(drive.coordinate)


def driven_speeds(model: Model, level: int = 2) -> BoolArray:
    """Return a mask (nv,) of velocities driven by position (level 0), also by velocity (1), or all (2)."""
    marks = np.zeros(model.nv, dtype=bool)
    for drive in model.joint_drives:
        if drive.level <= level:
            marks[driven_dof(model, drive)] = True
    return marks


def drive_targets(model: Model, t: float) -> tuple[Array, Array, Array]:
    """Return position (nq,), velocity (nv,) and acceleration (nv,) of driven joints at t; NaN elsewhere."""
    q, v, a = np.full(model.nq, np.nan), np.full(model.nv, np.nan), np.full(model.nv, np.nan)
    for drive in model.joint_drives:
        dofs, places = driven_dof(model, drive), model.q_slice(drive.connection.name).start
        q[[places + k for k in drive.coordinate_indices]], v[dofs], a[dofs] = drive.given(t)
    return q, v, a


def constraint_targets(model: Model, t: float) -> Array:
    """Return residual, rate and second rate (3, nc) of driven constraints at t; zero elsewhere."""
    targets = np.zeros((3, model.nc))
    for drive in model.drives:
        element = drive.connection.element
        if isinstance(element, (Constraint, CustomCoupling)):
            value, rate, second = drive.law(t)
            lower, upper = element.limits
            if not lower < value < upper:
                where = f"position at t = {t:.6g} s"
                remedy = f"a {element.kind} needs it between {lower:.6g} and {upper:.6g}"
                raise ModelError(f"drive {drive.name!r}", where, value, remedy)
            targets[:, driven_row(model, drive)] = element.target(value, rate, second)
    return targets


def row_gaps(model: Model, residual: Array, target: Array | float) -> Array:
    """Return the differences of rows (..., nc) from their targets, driven angles up to whole turns."""
    gap: Array = np.asarray(residual, dtype=float) - np.asarray(target, dtype=float)
    rows = [driven_row(model, drive) for drive in model.drives if _counts_turns(drive)]
    if rows:
        gap[..., rows] -= 2 * np.pi * np.round(gap[..., rows] / (2 * np.pi))
    return gap


def _counts_turns(drive: Drive) -> bool:
    element = drive.connection.element
    return isinstance(element, AxisAngle) and element.about is not None
