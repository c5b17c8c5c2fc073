"""Conflicts of prescribed velocities or accelerations with closed loops: too many, dead point, singularity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import listed
from ..numerics.rank import null_space
from .loop_equations import LoopEquations
from .named_velocities import NamedVelocities
from .nearby_configurations import general_mobility

__all__ = ["explain_velocity_conflict"]

Array = NDArray[np.float64]

MIN_PARTICIPATION = 1e-6  # share of a motion; a velocity below it does not take part


def explain_velocity_conflict(held: NamedVelocities, q: Array, t: float = 0.0) -> str:
    """Return the reason why the held velocities are impossible at q (nq,), and a remedy."""
    model = held.model
    loops = LoopEquations.of(model, t=t)
    motions = null_space(loops.jacobian(q)).T
    text, here = "", len(motions)
    nearby = general_mobility(loops, q, here)
    if nearby != here:
        text = f"The position is singular: mobility {here} here, {nearby} nearby; start elsewhere, or from rest. "
    part = np.linalg.norm(motions, axis=0)
    moved = np.linalg.norm(held.rows(q) @ (motions * loops.column_scales).T, axis=1)
    if (moved < MIN_PARTICIPATION).any() and len(motions):
        stuck = [name for name, p in zip(held.names, moved, strict=True) if p < MIN_PARTICIPATION]
        able = [name for name, p in zip(model.speed_names, part, strict=True) if p > 0.1]
        return (
            f"{text}At this configuration {listed(stuck)} cannot move: a dead point; drive another coordinate, "
            f"such as {listed(able)}."
        )
    if len(held) > len(motions):
        count = f"{len(motions)} DOF"
        return f"{text}The system has {count}: prescribe fewer, or values that agree (see da.mobility(...).motions)."
    return text or "Prescribe fewer, or values that agree (see da.mobility(...).motions)."
