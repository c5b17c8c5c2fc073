"""Velocity jumps in a run: by impulses, and by constraints, locks and drives that begin to act.

The equations are solved by `impulses.velocity_jump_solver`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...arrays import Array
from ...errors import AssemblyError, SingularityError
from ...impulses.velocity_jump_solver import VelocityJumpSolver
from ...model import Conditions, Model, State
from ...model.drive_targets import constraint_targets, drive_targets, row_gaps
from ...numerics.rank import ROUNDOFF_RANK_TOL

__all__ = [
    "MAX_OPEN_LOOP",
    "TotalEnergy",
    "VelocityJumps",
    "check_closed",
    "loop_rates",
    "velocities_after_jump",
    "with_changed_parameter",
    "work_of_drives",
]


MAX_OPEN_LOOP = 1e-2  # rad or m: a loop open by more is refused rather than closed by a correction


def check_closed(conditions: Conditions, connection: str, q: Array, t: float, because: str = "") -> None:
    """Refuse to switch on a constraint that is open by more than `MAX_OPEN_LOOP`."""
    model = conditions.model
    mine = np.array([name == connection for name in model.constraint_connections]) & model.holonomic
    wide = np.abs(row_gaps(model, model.constraint_residual(q, t=t), constraint_targets(model, t)[0]))[mine].max(
        initial=0.0
    )
    if wide > MAX_OPEN_LOOP and because:
        raise AssemblyError(f"at t = {t:.6g} s {connection!r} would be open by {wide:.3g} m or rad: {because}")
    if wide > MAX_OPEN_LOOP:
        raise AssemblyError(
            f"at t = {t:.6g} s {connection!r} is open by {wide:.3g} m or rad and cannot be switched on; switch it "
            "on at an event at which it closes"
        )


def with_changed_parameter(
    conditions: Conditions, name: str, value: float, q: Array, t: float, *, item: str
) -> Conditions:
    """Return conditions with one parameter changed; refuse a value that would open a loop at q."""
    new = conditions.with_parameter(name, value, item=item)
    if new.model is not conditions.model and new.model.nc:
        for closure in new.model.closure_names:
            if closure not in new.off:
                check_closed(new, closure, q, t, because=f"{name} = {value:.6g} opens it")
    return new


def loop_rates(conditions: Conditions, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return the active constraint rows P (nc, nv), and the violation of their rates, (nc,)."""
    model = conditions.model
    if not model.nc:
        return np.zeros((0, model.nv)), np.zeros(0)
    on = conditions.active_rows()
    P = model.constraint_jacobian(q, t=t) * on[:, None]
    rates: Array = (constraint_targets(model, t)[1] - model.constraint_drift(q, t=t)) * on
    return P, rates - P @ v


class VelocityJumps:
    """Velocities after impulses at a state, which satisfy all active rows, locks and drives.

    Parameters
    ----------
    conditions : Conditions
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
        Before the impulse.
    t : float, s
    """

    def __init__(self, conditions: Conditions, q: Array, v: Array, t: float) -> None:
        model = conditions.model
        self.v, self.t, self.held = v, t, conditions.velocity_prescribed
        self.jump: Array | None = None
        if self.held.any():
            prescribed = drive_targets(model, t)[1]
            self.jump = np.where(self.held, np.where(np.isnan(prescribed), 0.0, prescribed) - v, 0.0)
        self.P, self.missing = loop_rates(conditions, q, v, t)
        self.solver = VelocityJumpSolver(model, q, self.held, self.P)

    def response(self, impulse: Array) -> Array:
        """Return the change of velocities (nv,) by an impulse alone, N m s or N s, without that of locks and drives."""
        change: Array = self.solver.respond(impulse[None])[0]
        return change

    def after(self, impulse: ArrayLike | None = None) -> Array:
        """Return the velocities after an impulse (nv,) N m s or N s."""
        v, P = self.v, self.P
        applied = np.zeros(len(v)) if impulse is None else np.asarray(impulse, dtype=float)
        jump = None if self.jump is None else self.jump[None]
        v_new: Array = v + self.solver.respond(applied[None], jump, self.missing[None])[0]
        if self.jump is not None:
            v_new[self.held] = (v + self.jump)[self.held]
        if len(P):
            rates = self.missing + P @ v
            terms = np.abs(P) @ (np.abs(v) + np.abs(v_new)) + np.abs(rates)
            missed = np.abs(P @ v_new - rates)
            if (missed > 1e-6 * np.maximum(terms, 1e-3 * terms.max(initial=0.0)) + 1e-12).any():
                raise SingularityError(
                    f"at t = {self.t:.6g} s no velocities satisfy all locks, drives and constraints: they contradict "
                    "each other"
                )
        return v_new


def velocities_after_jump(
    conditions: Conditions, q: Array, v: Array, t: float, impulse: ArrayLike | None = None
) -> Array:
    """Return the velocities after an impulse (nv,) N m s or N s, which satisfy all active rows, locks and drives."""
    return VelocityJumps(conditions, q, v, t).after(impulse)


def work_of_drives(
    conditions: Conditions,
    q: Array,
    v: Array,
    after: Array,
    t: float,
    *,
    applied: Array | None = None,
    rows: Array | None = None,
) -> float:
    """Return the work of drives, J, while velocities jump from v to `after` (nv,).

    Driven velocities stay constant, locked ones zero. The impulses of drives are the change of momentum less the
    applied impulses, those of loops, and those of contacts.

    Parameters
    ----------
    applied : (nv,) N m s or N s
    rows : (n, nv)
        Rows of contacts.
    """
    model, held = conditions.model, np.asarray(conditions.velocity_prescribed, dtype=bool)
    if not model.nc and not held.any():
        return 0.0
    P, missing = loop_rates(conditions, q, v, t)
    rates = missing + P @ v
    if not (after[held].any() or rates.any()):
        return 0.0
    impulse = model.mass_matrix(q) @ (after - v) - (0.0 if applied is None else applied)
    acting = P if rows is None else np.vstack([P, rows])
    sizes = np.linalg.lstsq(acting[:, ~held].T, impulse[~held], rcond=ROUNDOFF_RANK_TOL)[0]
    drives = (impulse - acting.T @ sizes)[held]
    return float(drives @ after[held] + sizes[: len(P)] @ rates)


class TotalEnergy:
    """Kinetic and potential energy of the bodies of a model, with that of elements under conditions, at single states.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        terms = np.array([[0, 0, part] for part in range(3)], dtype=np.int64)  # kinetic, potential, stored
        self.model, self._out = model, np.zeros(1)
        self._reader = _core.StateReader(model, ["energy"], 1, terms, np.ones(3))

    def at(self, conditions: Conditions, state: State) -> float:
        """Return the energy, J; conditions with other parameters change that of elements alone."""
        if conditions.model is not self.model:
            elements = self.model.report(["energies"], state.t, state.q, state.v, state.x, conditions=conditions)
            return float(self.model._energy(state.q, state.v).sum() + elements["energies"].sum())
        self._reader.read(conditions, state.t, state.q, state.v, state.x, self._out)
        return float(self._out[0])
