"""Loop closure of a run: open loops at its end, and nearly dependent loop constraints."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, IndexArray
from ...closure.redundancy import near_dependence
from ...errors import IntegrationError
from ...model import Conditions, Model, State

__all__ = ["OPEN", "check_loops_closed", "largest_gap", "loop_notes"]


MAX_STATES, MAX_MULTIPLICATIONS = 40, 20_000_000  # of the check for dependent constraints
SHORT_STEP = 0.02  # of the median step: constraints may be dependent there
OPEN = 1e-6  # of the characteristic length, or rad: a loop open by more is an error


def largest_gap(conditions: Conditions, t: float, q: Array, v: Array, x: Array) -> tuple[IndexArray, Array, Array]:
    """Return the row with the largest gap, the gap, and the scaled gap at states q (n, nq), v (n, nv), x (n, nx).

    Each (n,); m or rad, and parts of the characteristic length or rad.
    """
    model = conditions.model
    if not model.nc:
        return np.zeros(len(q), dtype=np.intp), np.zeros(len(q)), np.zeros(len(q))
    times = np.full(len(q), t)
    residual = np.abs(model.report(["residual"], times, q, v, x, conditions=conditions)["residual"])
    scaled = _row_scales(model) * residual
    rows, runs = scaled.argmax(axis=1), np.arange(len(q))
    return rows, residual[runs, rows], scaled[runs, rows]


def _row_scales(model: Model) -> Array:
    """Return the scales (nc,) of residuals, 1/m or 1."""
    made = model.compiled if model.is_recompiled else model.family.compiled  # of a variant, without making its names
    return made.tables["row_scale"]


def loop_notes(model: Model, t: Array, q: Array) -> list[str]:
    """Return notes on nearly dependent loop constraints in a motion t (n,), q (n, nq).

    Checked are its ends, and states after steps much shorter than the median.
    """
    count = min(MAX_STATES, MAX_MULTIPLICATIONS // max(1, model.nc * model.nv * min(model.nc, model.nv)))
    if not model.nc or not len(t) or not count:
        return []
    steps = np.diff(t, prepend=t[0])
    short = np.flatnonzero((steps > 0.0) & (steps < SHORT_STEP * np.median(steps)))
    at = np.unique([0, len(t) - 1, *short[np.argsort(steps[short], kind="stable")]][:count])
    return near_dependence(model, t[at], q[at])


def check_loops_closed(conditions: Conditions, end: State) -> None:
    """Raise an error if a loop is open at the end of a run."""
    model = conditions.model
    if not model.nc:
        return
    plain = conditions.is_default and not model.drives  # all rows have to be zero
    residual = (
        model.constraint_residual(end.q, t=end.t)
        if plain
        else model.report(["residual"], end.t, end.q, end.v, end.x, conditions=conditions)["residual"]
    )
    scaled = np.abs(_row_scales(model) * residual)
    if not scaled.max() <= OPEN:
        row, residual = int(scaled.argmax()), np.abs(residual)
        raise IntegrationError(
            f"the run came to t = {end.t:.9g} s with {model.constraint_connections[row]!r} open by {residual[row]:.3g} "
            f"({model.constraint_names[row]}): this is not the motion of the system; a body of the loop may be too "
            "light relative to the others for double precision"
        )
