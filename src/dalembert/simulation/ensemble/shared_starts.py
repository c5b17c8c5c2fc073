"""Starts of runs that differ in inertia alone: one assembly for all of them.

Positions do not depend on inertia. Velocities do where start values, loops and drives leave them free, because those of
least kinetic energy are taken. A run may also have no inertia along a degree of freedom, which is an error. If neither
is possible, all runs start as the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...arrays import Array
from ...closure.loop_equations import LoopEquations
from ...closure.named_velocities import named_velocities
from ...closure.starts.named_start_values import named_count, named_starts
from ...closure.starts.start_values import StartValues
from ...model import Model, State
from ...numerics.rank import ROW_RANK_TOL, numerical_rank, singular_values
from ..start import start_states

__all__ = ["shared_starts"]

MIN_INERTIA_RATIO = 1e-3  # to the first run; far above the tolerance of inertia that counts as zero


def shared_starts(
    model: Model,
    own: Array,
    state: State | Mapping[str, Any] | None,
    t: float,
    limits: bool,
    model_of: Callable[[int], Model],
) -> tuple[Array, Array, Array, list[str]] | None:
    """Return start states q, v and x of all runs and notes, or None if they depend on the inertia of each run.

    Parameters
    ----------
    model : Model
        Of the first run.
    own : (B, n)
        Model parameters of each run, which differ in inertia alone.
    state, t, limits
        As in `start_states`.
    model_of : callable
        From the number of a run to its model.
    """
    count = len(own)
    if isinstance(state, State):
        return start_states(model, state, t, count, limits=limits, model_of=model_of)
    if not _keeps_inertia(model, own):
        return None
    begin = start_states(model, state, t, count, limits=limits)
    q, v = begin[:2]
    if not v.any():
        return begin
    many = state is not None and named_count(model, state) is not None
    for run in range(count if many else 1):
        starts = StartValues.of(model) if state is None else named_starts(model, state, run)
        if not _determines_velocities(model, starts, q[run], t):
            return None
    return begin


def _keeps_inertia(model: Model, own: Array) -> bool:
    """Return whether every run has the motions with inertia of the first one.

    With equal centres of mass, M >= c M_1 if that holds for the mass and the moments of inertia of each body and for
    each armature. Modes of flexible bodies are not examined.
    """
    for group in model.family.compiled.numbers.groups:
        values = own[:, group.span]
        first = values[0]
        if (values == first).all():
            continue
        if group.what == "modes":
            return False
        if group.what == "joint" and group.key[1] == "armature":
            if (values < MIN_INERTIA_RATIO * first).any():
                return False
        elif group.what == "body":
            less = values - MIN_INERTIA_RATIO * first
            xx, xy, xz, yy, yz, zz = less[:, 4:].T
            moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
            rounding = 1e-12 * np.abs(values[:, 4:]).max(axis=1)
            if (values[:, 1:4] != first[1:4]).any() or (less[:, 0] < 0.0).any():
                return False
            if (np.linalg.eigvalsh(moments)[:, 0] < -rounding).any():
                return False
    return True


def _determines_velocities(model: Model, starts: StartValues, q: Array, t: float) -> bool:
    """Return whether start values, loops and drives leave no velocity free at q (nq,)."""
    if model.flexible_names or starts.placements or starts.paced_chains(model):
        return False
    driven = [name for drive in model.joint_drives if drive.level <= 1 for name in drive.speed_names]
    held = named_velocities(model, [*driven, *starts.speeds(model)], item="simulate")
    if not model.nc:
        return not held.cut  # velocities without a start value are zero
    loops = LoopEquations.of(model, t=t)
    rows = np.vstack([loops.jacobian(q), held.rows(q) * loops.column_scales])
    return numerical_rank(singular_values(rows), ROW_RANK_TOL) == model.nv
