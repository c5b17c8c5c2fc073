"""Starts of runs that differ in positions of markers: their loops are closed together.

A single run closes its loops from a guess, with the coordinates of given start values held, by Gauss-Newton steps of
least length (`numerics.least_squares.descend`). Here the same steps are taken for all runs at once: residuals and
Jacobians are those of the model of each run, everything else is common. Runs whose steps must be shortened, that do not
close, or whose start values leave a coordinate free, start by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...closure.equivalent_configurations import axis_reversal_mask
from ...closure.limit_rows import hold_limits
from ...closure.loop_equations import LoopEquations
from ...closure.named_velocities import coordinate_range, named_velocities
from ...closure.projection import CLOSED_TOL
from ...closure.redundancy import ROUNDOFF_FACTOR
from ...closure.starts.named_start_values import named_starts
from ...closure.starts.start_values import StartValues
from ...closure.ungrounded_parts import find_ungrounded_parts
from ...compile.massless_dof import InertiaSizes, has_inertia_everywhere
from ...connections.constraints.chains import KinematicChain
from ...model import Model
from ...numerics.least_squares import descend_together
from ...numerics.rank import ROW_RANK_TOL, STEP_RANK_TOL, pseudo_inverse
from ..start import find_start

__all__ = ["varied_starts", "varies_marker_positions"]

SAME_TOL = 1e-9  # rad or m: difference of the first run from the same start by itself


def varies_marker_positions(model: Model, own: Array) -> bool:
    """Return whether model parameters (B, n) of runs differ in positions of markers alone, and in gravity."""
    differs = (own != own[0]).any(axis=0)
    for group in model.family.compiled.numbers.groups:
        mine = differs[group.span]
        if group.what in ("gravity", "named") or not mine.any():
            continue
        if group.what != "marker" or mine[3:].any():  # x, y, z, then its rotation
            return False
    return True


def varied_starts(
    models: Sequence[Model], state: Mapping[str, Any] | None, t: float, limits: bool
) -> tuple[Array, Array, Array, BoolArray, list[str]] | None:
    """Return start states q (B, nq), v (B, nv), x (B, nx), the mask (B,) of runs that they belong to, and notes.

    None if the loops are not closed together.

    Parameters
    ----------
    models : sequence of Model
        Of each run, of one family, with the same joints and bodies.
    state : dict of name to value, or None
        Start values of all runs.
    t, limits
        As in `start_states`.
    """
    model = models[0]
    starts = StartValues.of(model) if state is None else named_starts(model, state)
    if not _is_plain(model, starts):
        return None
    alone, notes = find_start(model, state, t, limits)
    names = starts.positions(model)
    places = named_velocities(model, list(names), item="simulate")
    guess = _guess(model, starts, names)
    limited = hold_limits(model, guess, names) is not None
    if places.cut or limited or any(note not in find_ungrounded_parts(model.system) for note in notes):
        return None
    loops = _VariedLoops(models, LoopEquations.of(model, t=t).of_positions(), t)
    found = descend_together(
        loops, np.tile(guess, (len(models), 1)), ~places.mask, tolerance=max(CLOSED_TOL, loops.floor), floor=loops.floor
    )
    q, J = found.q, loops.jacobian(found.q)
    if np.abs(model.difference(alone.q, q[0])).max(initial=0.0) > SAME_TOL:
        return None
    good = found.closed & (found.worst <= ROUNDOFF_FACTOR * loops.floor) & _determined(J[:, :, ~places.mask])
    good &= ~axis_reversal_mask(model, q).any(axis=-1)
    v, moved = _velocities(model, loops, q, J, starts)
    good &= moved
    sizes = InertiaSizes.of(model.forest)
    for k in np.flatnonzero(good).tolist():
        good[k] = has_inertia_everywhere(models[k], sizes, q[k])
    return q, v, np.tile(alone.x, (len(models), 1)), good, list(notes)


class _VariedLoops:
    """Loop equations of the models of many runs, a `LeastSquaresProblem` for batches (B, nq) of one state for each."""

    def __init__(self, models: Sequence[Model], loops: LoopEquations, t: float) -> None:
        self.models, self.loops, self.t, self.nv, self.floor = models, loops, t, loops.nv, loops.floor

    def residual(self, q: Array) -> Array:
        """Return the scaled residuals (B, nc)."""
        rows = [model.constraint_residual(one, t=self.t) for model, one in zip(self.models, q, strict=True)]
        return self.loops.row_scales * np.array(rows)

    def jacobian(self, q: Array) -> Array:
        """Return their derivatives by scaled velocities (B, nc, nv)."""
        rows = [model.constraint_jacobian(one, t=self.t) for model, one in zip(self.models, q, strict=True)]
        return self.loops.row_scales[:, None] * np.array(rows) * self.loops.column_scales

    def drift(self, q: Array) -> Array:
        """Return the rates of the rows while nothing moves (B, nc)."""
        return np.array([model.constraint_drift(one, t=self.t) for model, one in zip(self.models, q, strict=True)])

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configurations (B, nq) after scaled steps x (B, nv)."""
        return self.loops.retract(q, x)


def _is_plain(model: Model, starts: StartValues) -> bool:
    """Return whether the start is determined by loops and values of coordinates: no drives, poses, modes or chains."""
    chains = any(isinstance(c.element, KinematicChain) for c in model.forest.loop_constraints)
    placed = starts.placements or (starts.first is not None and starts.first.placements)
    return not (model.drives or model.flexible_names or model.family.callback_laws or placed or chains)


def _guess(model: Model, starts: StartValues, values: Mapping[str, Array]) -> Array:
    """Return the configuration (nq,) from which loops are closed: start values and zeros, with unit quaternions."""
    guess: Array = model.integrate(model.initial_state(starts.initials).q, np.zeros(model.nv))
    for name, value in values.items():
        span = coordinate_range(model, name)
        if span is not None:
            guess[span] = value
    return np.asarray(model.integrate(guess, np.zeros(model.nv)))


def _determined(J: Array) -> BoolArray:
    """Return where rows (B, m, n) leave no motion free, (B,)."""
    if not J.shape[2]:
        return np.ones(len(J), dtype=bool)
    if J.shape[1] < J.shape[2]:
        return np.zeros(len(J), dtype=bool)
    s = np.linalg.svd(J, compute_uv=False)
    return np.asarray(s[:, -1] > ROW_RANK_TOL * np.maximum(s[:, 0], 1.0))


def _velocities(model: Model, loops: _VariedLoops, q: Array, J: Array, starts: StartValues) -> tuple[Array, BoolArray]:
    """Return the velocities (B, nv) that start values and loops determine, and the mask (B,) where they do."""
    v, every = np.zeros((len(q), model.nv)), np.ones(len(q), dtype=bool)
    if loops.drift(q).any():
        return v, ~every
    speeds = starts.speeds(model)
    if not any(np.any(speed) for speed in speeds.values()):
        return v, every
    held = named_velocities(model, list(speeds), item="simulate")
    if held.cut:
        return v, ~every
    for name, speed in speeds.items():
        v[:, named_velocities(model, name, item="simulate").columns] = speed
    scales, free = loops.loops.column_scales, ~held.mask
    x = v / scales
    pull = np.einsum("bij,bj->bi", J, x)
    x[:, free] -= np.einsum("bji,bi->bj", pseudo_inverse(J[:, :, free], STEP_RANK_TOL, 0.0), pull)
    rest = np.abs(np.einsum("bij,bj->bi", J, x)).max(axis=1, initial=0.0)
    return x * scales, _determined(J[:, :, free]) & (rest <= 1e-12 * (1.0 + np.abs(x).max(axis=1)))
