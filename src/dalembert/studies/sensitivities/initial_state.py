"""Derivatives of the initial state by parameters and start values, through the loop constraints.

With given and satisfied coordinates h as inputs, and P the Jacobian of the loop constraints phi at the start,

    P dq = -phi_p dp,   dq_h = given,   P dv = -(P v)_q dq - (P v)_p dp,   dv_h = given                          (1)

is the derivative of the initial state if the solution is unique. With too few or too many given coordinates the initial
state depends on the assembly algorithm; the derivative is undefined and none is returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...closure.starts.named_start_values import named_starts
from ...closure.starts.start_values import StartValues
from ...errors import GradientError
from ...model import Model, State
from ...model.conditions import parameter_value
from ...numerics.rank import ROW_RANK_TOL

__all__ = ["initial_state_derivatives", "row_slopes"]


DIFFERENCE_STEP = 1e-5  # central differences of rows: truncation 1e-10 of the third derivative, round-off 1e-11
START_VALUE_TOL = 1e-12  # difference below which a start value is satisfied
RESIDUAL_TOL = 1e-9  # residual of (1) that is round-off
INCONSISTENT_TOL = 1e-6  # share of the change of rows outside the range of the Jacobian


def initial_state_derivatives(
    model: Model, start: State, given: Mapping[str, Any] | None, names: Sequence[str]
) -> dict[str, Array]:
    """Return derivatives of the initial state (2 nv + nx,) by name, where (1) determines them."""
    nv = model.nv
    if model.drives or model.system.placements or model.nq != nv:
        return {}
    coordinates, speeds = _met(model, given, start)
    own = [name for name in names if name in model.parameter_names]
    inputs = [name for name in names if name in coordinates or name in speeds]
    every = [*own, *inputs]
    if not every:
        return {}
    slopes = row_slopes(model, start, own)
    _check_loops(model, start, own, slopes[0])
    held = {name: k for k, name in enumerate(coordinates)}
    dq = _solved(model, start, list(coordinates.values()), slopes[0], [held.get(name) for name in inputs])
    if dq is None:
        return {}
    paced = {name: k for k, name in enumerate(speeds)}
    along = _along(model, start, dq)
    along[:, : len(own)] += slopes[1]
    still = not np.any(start.v) and not np.any(along)
    places = [paced.get(name) for name in inputs]
    if still and all(place is None for place in places):
        dv: Array | None = np.zeros_like(dq)
    else:
        dv = _solved(model, start, list(speeds.values()), along, places, len(own))
    if dv is None:
        return {}
    found = np.concatenate([dq, dv, np.zeros((model.nx, len(every)))])
    return {name: found[:, k] for k, name in enumerate(every)}


def _met(model: Model, given: Mapping[str, Any] | None, start: State) -> tuple[dict[str, int], dict[str, int]]:
    """Return indices of coordinates and velocities with given, satisfied start values, by start-value name.

    In a tree all coordinates and velocities are inputs, given or not.
    """
    if not model.nc:
        return (
            {name: k for k, name in enumerate(model.coordinate_names)},
            {f"{name}.speed": k for k, name in enumerate(model.speed_names)},
        )
    starts = StartValues.of(model) if given is None else named_starts(model, given)
    coordinates: dict[str, int] = {}
    speeds: dict[str, int] = {}
    parts = (
        (starts.positions(model), model.coordinate_names, start.q, model.q_slice, coordinates, ""),
        (starts.speeds(model), model.speed_names, start.v, model.v_slice, speeds, ".speed"),
    )
    for values, known, now, span, to, ending in parts:
        for name, value in values.items():
            row = np.atleast_1d(np.asarray(value, dtype=float))
            if name in known:
                places = [known.index(name)]
            elif name in model.joint_names or name in model.flexible_names:
                where = span(name)
                places = list(range(where.start, where.stop))
            else:
                continue
            for place, target in zip(places, row, strict=False):
                if np.isfinite(target) and abs(now[place] - target) <= START_VALUE_TOL * (1.0 + abs(target)):
                    to[known[place] + ending] = place
    return coordinates, speeds


def _rows(model: Model, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return residuals of all rows at q, and their rates at velocities v."""
    P = model.constraint_jacobian(q, t=t)
    return model.constraint_residual(q, t=t), P @ v + model.constraint_drift(q, t=t)


def row_slopes(model: Model, start: State, own: Sequence[str]) -> tuple[Array, Array]:
    """Return the derivatives of residuals and rates of rows by parameters, (nc, m) each."""
    residuals, rates = np.zeros((model.nc, len(own))), np.zeros((model.nc, len(own)))
    if not model.nc:
        return residuals, rates
    described = model.conditions()
    now = _rows(model, start.q, start.v, start.t)
    for k, name in enumerate(own):
        if _beside_rows(model, name):
            continue
        value = float(parameter_value(model, name, model.parameters))
        step = DIFFERENCE_STEP * (abs(value) if value else 1.0)
        above = _rows(described.perturbed(name, step).model, start.q, start.v, start.t)
        if all(np.array_equal(a, b) for a, b in zip(above, now, strict=True)):  # no row depends on it
            continue
        below = _rows(described.perturbed(name, -step).model, start.q, start.v, start.t)
        residuals[:, k], rates[:, k] = ((a - b) / (2 * step) for a, b in zip(above, below, strict=True))
    return residuals, rates


def _beside_rows(model: Model, name: str) -> bool:
    """Return whether a parameter affects no row: force elements, inertia, gravity, modal stiffness."""
    family = model.family
    numbers, place = family.compiled.numbers, model.parameter_names[name]
    if place in numbers.follows:
        return False
    if place < family.n_element_parameters:
        return True
    return numbers.group_of(place - family.n_element_parameters).what in ("body", "gravity", "modes")


def _check_loops(model: Model, start: State, own: Sequence[str], slopes: Array) -> None:
    """Raise for parameters that open loops with redundant constraints."""
    rows = np.asarray(model.holonomic, dtype=bool)
    if not rows.any() or not slopes[rows].any():
        return
    P, right = model.constraint_jacobian(start.q, t=start.t)[rows], slopes[rows]
    open_by = np.abs(P @ np.linalg.lstsq(P, right, rcond=ROW_RANK_TOL)[0] - right)
    for k, name in enumerate(own):
        if open_by[:, k].max() > INCONSISTENT_TOL * np.abs(right[:, k]).max(initial=1e-3):
            row = np.array(model.constraint_connections)[rows][int(open_by[:, k].argmax())]
            raise GradientError(
                f"there is no derivative by {name!r}: it opens {str(row)!r}, a redundant constraint; "
                "define one user parameter that also changes the matching dimensions"
            )


def _along(model: Model, start: State, dq: Array) -> Array:
    """Return derivatives of the rates of rows along dq (nv, m), (nc, m)."""
    count = dq.shape[1]
    if not model.nc or not np.any(start.v):
        return np.zeros((model.nc, count))
    step = DIFFERENCE_STEP / np.maximum(np.abs(dq).max(axis=0), 1e-12)
    t = np.full(count, float(start.t))
    sides = []
    for sign in (1.0, -1.0):
        q = start.q + sign * (dq * step).T
        sides.append(model.constraint_jacobian(q, t=t) @ start.v + model.constraint_drift(q, t=t))
    return np.asarray(((sides[0] - sides[1]) / (2 * step[:, None])).T)


def _solved(
    model: Model,
    start: State,
    held: Sequence[int],
    slopes: Array,
    inputs: Sequence[int | None],
    first: int | None = None,
) -> Array | None:
    """Solve (1) for derivatives (nv, m + inputs) by parameters and inputs, if they are determined."""
    nv, own = model.nv, slopes.shape[1] if first is None else first
    P = model.constraint_jacobian(start.q, t=start.t) if model.nc else np.zeros((0, nv))
    rows = np.ones(model.nc, dtype=bool) if first is not None else np.asarray(model.holonomic, dtype=bool)
    E = np.eye(nv)[list(held)]
    matrix = np.concatenate([P[rows], E])
    right = np.zeros((len(matrix), own + len(inputs)))
    right[: int(rows.sum()), : slopes.shape[1]] = -slopes[rows]
    for k, place in enumerate(inputs):
        if place is not None:
            right[int(rows.sum()) + place, own + k] = 1.0
    found, _, rank, _ = np.linalg.lstsq(matrix, right, rcond=ROW_RANK_TOL)
    if rank < nv:
        return None
    size = np.abs(right).max(axis=0, initial=0.0) + 1e-300
    if (np.abs(matrix @ found - right).max(axis=0, initial=0.0) > RESIDUAL_TOL * size).any():
        return None
    return np.asarray(found)
