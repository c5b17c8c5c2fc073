"""Coulomb's law and stops, read off the stored states of a run: an independent check of stick, slip and separation.

Of a row with velocity u, friction effort lam, sliding friction f and static friction fs:

    u != 0: lam = -f sign(u)  (of a ball joint: against u, on its ellipsoid)        u = 0: |lam| <= fs        lam u <= 0
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.simulation.friction.rows import FrictionRows, friction_rows

Array = NDArray[np.float64]

__all__ = ["check_friction_law"]

SLIPS = 1e-5  # rad/s or m/s: above this a row slides
POSITION_TOL = 1e-8  # rad or m: hundred times the tolerance of positions at which impacts are located, ...
ROPE_TOL = 1e-6  # m: ... and of ropes, whose impacts in turn with those of stops end within some steps
REST_TOL = 1e-8  # rad/s or m/s: below this a row may still turn back
REDUNDANT_TOL = 1e-8  # rad/s or m/s: velocity of rows that loops hold, by projection


def check_friction_law(result: da.Result, *, except_for: Collection[str] = ()) -> int:
    """Assert Coulomb's law and the limits at all stored states; return how many rows were at rest.

    `except_for`: names of rows that are locked by something else.
    """
    rows = friction_rows(result.model)
    s, u = rows.motion(result.q, result.v)
    with np.errstate(invalid="ignore"):
        allowed = np.where([name in result.model.compiled.names.ropes for name in rows.names], ROPE_TOL, POSITION_TOL)
        low, high = s < rows.lower - allowed, s > rows.upper + allowed
        assert not low.any() and not high.any(), [rows.names[k] for k in np.flatnonzero((low | high).any(axis=0))]
    effort = np.zeros(u.shape)
    for k in np.flatnonzero(rows.has_friction):
        effort[:, k] = _output(result, rows.names[k], "friction")
    event = np.isin(result.t, [e.t for e in result.events])
    sliding, static, shared = _bounds(result)
    for rope in result.model.compiled.names.ropes:  # a taut one may hold a joint together with its friction
        shared |= _output(result, rope, "taut") != 0
    if except_for and result.model.nc:  # such a lock and friction may hold the same loop
        shared[:] = True
    _check_stuck_rows(result, rows, u, event)
    resting = 0
    for number in np.unique(rows.group):
        k = np.flatnonzero((rows.group == number) & rows.has_friction)
        if not len(k) or rows.names[k[0]] in except_for:
            continue
        speed = np.linalg.norm(u[:, k], axis=1)
        stopped = np.column_stack([_output(result, rows.names[i], "stop") != 0 for i in k]).any(axis=1)
        moving = (speed > SLIPS) & ~event & ~stopped
        power = sliding[:, k] * u[:, k]
        size = np.linalg.norm(power, axis=1, keepdims=True)
        law = -sliding[:, k] * power / np.where(size > 0, size, 1.0)
        rounding = 1e-6 * np.abs(law).max(initial=0.0) + 1e-12 * np.abs(effort).max(initial=0.0)
        np.testing.assert_allclose(effort[moving][:, k], law[moving], rtol=0, atol=rounding, err_msg=rows.names[k[0]])
        work = (effort[:, k] * u[:, k]).sum(axis=1)[~event & ~stopped & (speed > REST_TOL)]
        assert (work <= rounding * SLIPS).all(), f"friction of {rows.names[k[0]]} supplies power"
        still = (speed == 0.0) & ~event
        free = still & ~shared & ~stopped
        bound = np.maximum(static[free][:, k], 1e-7 * np.abs(static).max(initial=0.0) + 1e-300)
        within = np.linalg.norm(effort[free][:, k] / bound, axis=1)
        assert (within <= 1.0 + 1e-5).all(), f"{rows.names[k[0]]} sticks with a load factor of {within.max():.6g}"
        resting += int(still.sum()) * len(k)
    return resting


def _check_stuck_rows(result: da.Result, rows: FrictionRows, u: Array, event: NDArray[np.bool_]) -> None:
    """Assert that stuck rows do not move: those of the tree exactly, those that loops hold to rounding."""
    for k, name in enumerate(rows.names):
        if rows.friction[k] < 0 or not rows.has_scalar_friction[k]:
            continue
        stuck = (_output(result, name, "stuck") != 0) & ~event
        limit = REDUNDANT_TOL if result.model.nc else 0.0
        assert (np.abs(u[stuck, k]) <= limit).all(), f"{name} moves while it sticks"


def _bounds(result: da.Result) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return friction and static friction (k, n) at all stored states, by the loads of the joints there.

    And where more rows stick than would have to, or laws that jump help: how they share what holds is not unique.
    """
    model, rows = result.model, friction_rows(result.model)
    sliding, static = np.zeros((len(result.t), len(rows))), np.zeros((len(result.t), len(rows)))
    shared, ropes = np.zeros(len(result.t), dtype=bool), model.compiled.names.ropes
    for some, conditions in result.conditions(result.t):
        states = result.t[some], result.q[some], result.v[some], result.x[some]
        loads = rows.loads(model.report(["signals"], *states, conditions=conditions)["signals"])
        sliding[some], static[some] = rows.friction_limits(conditions, loads)
        still = rows.has_friction & (conditions.parameters[np.where(rows.has_friction, rows.mode, 0)] == 0)
        on_stop = [name for name, rubs in zip(rows.names, rows.has_friction, strict=True) if not rubs]
        closed = sum((_output(result, name, "stop") != 0)[some] for name in on_stop if name not in ropes)
        shared[some] = (still.sum() + closed > len(conditions.locked)) | bool(conditions.branches)
    return sliding, static, shared


def _output(result: da.Result, name: str, what: str) -> Array:
    return np.asarray(result[f"{name}.{what}"])
