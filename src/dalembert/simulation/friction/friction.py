"""Dry friction and stops of joints in a run: stick, slip, impact and separation.

Row i, a coordinate with velocity u_i, has friction f_i and static friction s_i >= f_i. With lam_i the effort on it,

    u_i > 0: lam_i = -f_i,   u_i < 0: lam_i = f_i,   u_i = 0: lam_i in [-s_i, s_i], at a stop up to infinity         (1)

Rows of a vector group, as those of a ball joint, have |lam_i / f_i| <= 1 as one vector, against the motion. Friction
may depend on the loads of joints (`load_limits`).

Between two changes every row has a mode. A sliding row has a given sign, which its friction keeps even if a step passes
its rest. A stuck row is locked, and its effort is that of the lock. Modes change where a sliding row comes to rest, the
holding efforts leave their bounds, or a coordinate reaches a stop. The modes of all rows at rest are one problem
(`stick_slip`). All closed stops act together in an impact: u+ = u + A Lam, 0 <= Lam, 0 <= u+ + e u (2). Friction has no
impulse: rows stuck by friction are released in (2), and their modes are determined again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import IntegrationError, ModelError, SingularityError
from ...impulses.velocity_jump_solver import VelocityJumpSolver
from ...model import Conditions, Model
from ..events.events import Event, EventContext
from ..events.velocity_jumps import loop_rates
from .discontinuous_forces import jump_sizes
from .holding_margin import HoldingLimits
from .impacts import pressing_accelerations, stop_impulses
from .load_limits import FrictionEvaluation, undetermined_friction
from .messages import (
    Change,
    StopImpact,
    StopImpactLog,
    change_texts,
    gain_note,
    jam_note,
    no_consistent_modes,
    unloaded_stops,
)
from .modes import Modes
from .rows import FrictionRows, Response
from .stick_slip import StickSlipSolver

__all__ = ["Change", "FrictionState"]


STUCK_DRIFT_FACTOR = 100.0  # times the rest tolerance: faster stuck rows were hit; slower ones drifted by projection
MAX_STALLED_CHANGES = 3  # changes within MIN_PROGRESS before the rest tolerance is widened
MIN_PROGRESS = 1e-9  # of the run: less time between changes is no progress
MAX_REST_TOL_FACTOR = 1e4  # widest rest tolerance, relative to the first
JAM_HOLD_TIME = 1e-7  # of the run: a jammed row is held this long so that integration passes the jam
MAX_UNDECIDED_CHANGES = 8  # without progress: then rows at rest that changed twice are held
MAX_HOLD_TIME = 1e-5  # of the run; the first hold lasts MIN_PROGRESS, each that follows at once ten times as long
STAGNATION_COUNT = 200  # changes at the rate of STAGNATION_AHEAD: the run is given up
STAGNATION_AHEAD = 1e7  # changes in the whole run
SHORT_FLIGHT = 10.0  # position tolerances: a row that would leave its stop by less stays on it
BARELY = 0.1  # position tolerances: a row that friction stops within this distance after an impact stays at rest
NEAR_REST = 0.1  # of the root of the position tolerance, rad/s or m/s: rest tolerance of vector groups


class FrictionState:
    """Friction and stops of one run.

    Parameters
    ----------
    rows : FrictionRows
    atol : float
        Tolerance of positions and speeds.
    span : float, s
        Length of the run.
    """

    def __init__(self, rows: FrictionRows, atol: float, span: float) -> None:
        n = len(rows)
        self.rows, self.model, self.span = rows, rows.model, span
        self.position_tol = atol  # a coordinate this far beyond a stop has reached it
        # the direction of a vector friction turns ever faster near rest: its rest tolerance is wider
        self.rest_tol = np.where(rows.has_scalar_friction, 10.0 * atol, max(10.0 * atol, NEAR_REST * np.sqrt(atol)))
        self.modes = Modes.unknown(n)
        self.holding: HoldingLimits | None = None
        self.recent_times: list[float] = []
        self._changed_rows: list[list[int]] | Array = []  # rows whose modes changed at these times, or marks of them
        self.rest_tol_factor = 1.0
        self.hold_time, self.held_until = 0.0, -np.inf  # s: length and end of the last hold of undecided rows
        self.held_rows: list[int] = []
        self._movable_cache: tuple[Conditions, Modes, BoolArray] | None = None
        self.impact_log = StopImpactLog()
        self.note_texts: list[str] = []
        self.next_review = np.inf  # s: end of the present hold
        first = rows.has_scalar_friction.copy()  # one event for each vector group
        first[[int(group[0]) for group in rows.vector_groups]] = True
        kinds = ("rest", first), ("lower", np.isfinite(rows.lower)), ("upper", np.isfinite(rows.upper))
        self.watched_rows = [(kind, int(k)) for kind, which in kinds for k in np.flatnonzero(which)]
        names = [f"{rows.names[k]}: {kind}" for kind, k in self.watched_rows]
        names += ["friction: end of hold", "friction: release"]
        self.events = [Event(name, _internal, direction=-1, action=_internal) for name in names]

    @property
    def _release_event(self) -> int:
        """Number of the event at which stuck rows are released."""
        return len(self.events) - 1

    def fresh(self, model: Model) -> FrictionState:
        """Return the friction state of another run, of the model with other parameters."""
        return FrictionState(self.rows.for_model(model), self.position_tol, self.span)

    def set_model(self, model: Model) -> None:
        """Set the model with other parameters."""
        if model is not self.model:
            self.rows, self.model, self._movable_cache = self.rows.for_model(model), model, None

    # ---- event functions

    def values(self, conditions: Conditions, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return event functions (events, k) at k states of the present modes; they fall below zero at a change."""
        rows, modes = self.rows, self.modes
        s, u = rows.motion(q, v)
        movable = self.movable(conditions)
        size, slow = rows.slip_speeds(u), self.rest_tol * self.rest_tol_factor
        sliding = np.where(modes.sign != 0, np.where(rows.has_scalar_friction, modes.sign * u, size - 0.9 * slow), 1.0)
        if conditions.sliding != frozenset(modes.sliding_laws):  # a sliding mode of a law has begun, perhaps at rest
            sliding = np.where((modes.sign != 0) & (size <= slow), -1.0, sliding)
        # rows at rest because other rows are locked, until the mechanism has moved
        still = modes.immobile | modes.stuck
        still[modes.locked] = False
        sliding = np.where(still, slow - size, sliding)
        free = movable & ~modes.stuck
        for group in rows.vector_groups:  # some of its rows may be locked; the first has the event
            slides = bool(modes.sign[group].any())
            k = group[0]
            sliding[:, k] = size[:, k] - 0.9 * slow[k] if slides else sliding[:, group].min(axis=1)
        gaps = {
            "rest": np.where(self._complete_groups(movable), sliding, 1.0),
            "lower": np.where(free & (modes.side >= 0), s - rows.lower + self.position_tol, 1.0),
            "upper": np.where(free & (modes.side <= 0), rows.upper - s + self.position_tol, 1.0),
        }
        values = np.ones((len(self.events), len(t)))
        for row, (kind, k) in zip(values, self.watched_rows, strict=False):
            row[:] = gaps[kind][:, k]
        values[-2] = np.minimum(self.next_review - t, 1.0)
        if self.holding is not None:
            parts = self.model.report(["constraint_effort", "signals"], t, q, v, x, conditions=conditions)
            limits = rows.friction_limits(conditions, rows.loads(parts["signals"]))[1]
            places = rows.indices[modes.locked]
            held = parts["constraint_effort"][:, places]
            if modes.holding_laws:
                share = self.holding.coupling[:, -len(modes.holding_laws) :]
                helps = jump_sizes(conditions, modes.holding_laws, places, share, held, (t, q, v, x))
                limits = np.hstack([np.broadcast_to(limits, (len(t), len(rows))), helps])
            values[-1] = self.holding.margin(held, limits)
        return values

    def watches_rest(self, event: int) -> bool:
        """Return whether an event is that of a row that does not slide: its function begins with the value it has."""
        if event >= len(self.watched_rows) or self.watched_rows[event][0] != "rest":
            return False
        return not self._was_sliding(self.modes, self.watched_rows[event][1])

    @property
    def changed_rows(self) -> list[list[int]]:
        """Rows whose modes changed at the recent times."""
        if not isinstance(self._changed_rows, list):
            self._changed_rows = [np.flatnonzero(marks).tolist() for marks in self._changed_rows]
        return self._changed_rows

    @changed_rows.setter
    def changed_rows(self, rows: list[list[int]]) -> None:
        self._changed_rows = rows

    @property
    def changed_marks(self) -> Array:
        """Rows whose modes changed at the recent times, as marks (changes, n)."""
        if not isinstance(self._changed_rows, list):
            return self._changed_rows
        marks = np.zeros((len(self._changed_rows), len(self.rows)))
        for row, changed in zip(marks, self._changed_rows, strict=True):
            row[changed] = 1.0
        return marks

    @changed_marks.setter
    def changed_marks(self, marks: Array) -> None:
        self._changed_rows = marks

    @property
    def sticks(self) -> bool:
        """True if a row sticks, so that its holding effort must be sampled."""
        return bool(self.modes.locked)

    def movable(self, conditions: Conditions) -> BoolArray:
        """Return the rows (n,) that are neither driven nor locked by the user."""
        if (
            self._movable_cache is not None
            and self._movable_cache[0] is conditions
            and self._movable_cache[1] is self.modes
        ):
            return self._movable_cache[2]
        nv, ours = self.model.nv, self._locked_velocities()
        tree = self.rows.indices < nv
        others = np.isin(self.rows.indices, list(conditions.locked - ours))
        driven = conditions.acceleration_prescribed[np.where(tree, self.rows.indices, 0)] & tree
        movable: BoolArray = ~others & ~(driven & ~np.isin(self.rows.indices, list(ours)))
        self._movable_cache = conditions, self.modes, movable
        return movable

    def _complete_groups(self, marks: BoolArray) -> BoolArray:
        """Return a mask (n,) extended to whole vector groups."""
        whole = marks.copy()
        for group in self.rows.vector_groups:
            whole[group] = marks[group].any()
        return whole

    def _locked_velocities(self) -> set[int]:
        """Return the indices of velocities locked by stick."""
        return {int(place) for place in self.rows.indices[self.modes.locked]}

    # ---- changes

    def check_start(self, now: EventContext) -> None:
        """Refuse a start outside the stops; note friction by loads that are not unique."""
        s, _ = self.rows.motion(now.q[None], now.v[None])
        outside = (s[0] < self.rows.lower - 1e3 * self.position_tol) | (
            s[0] > self.rows.upper + 1e3 * self.position_tol
        )
        for k in np.flatnonzero(outside & self.movable(now.conditions)):
            rope = self.rows.names[k] in self.rows.model.compiled.names.ropes
            raise ModelError(
                f"{'rope' if rope else 'joint coordinate'} {self.rows.names[k]!r}",
                "start",
                f"{s[0, k]:.6g} {self.rows.units[k]}",
                f"it is outside its limits, {self.rows.lower[k]:.6g} to {self.rows.upper[k]:.6g}; start within them, "
                "change them, or use stops='off'",
            )
        shared = undetermined_friction(self.rows, now)
        if shared:
            self._note(
                f"friction of {', '.join(shared)} depends on loads that are not unique in this over-constrained "
                "mechanism: those of least norm are used; give connections compliance (Bushing) to determine them"
            )

    def settle(self, now: EventContext, passed: Iterable[int], jams: Sequence[int] = ()) -> Change:
        """Determine the modes at a state, with impulses where stops are reached.

        Parameters
        ----------
        now : EventContext
            State and conditions, changed in place.
        passed : iterable of int
            Internal events that occurred.
        jams : sequence of int
            Rows that jam: they are stopped at once.
        """
        rows, change, passed = self.rows, Change(), list(passed)
        before = self.modes
        base = self.release(now.conditions)
        movable = self.movable(base)
        happened = [self.watched_rows[event] for event in passed if event < len(self.watched_rows)]
        came: list[int] = self._with_partners(
            [k for kind, k in happened if kind == "rest" and self._was_sliding(before, k)]
        )
        went = self._with_partners([k for kind, k in happened if kind == "rest" and not self._was_sliding(before, k)])
        self._stop_jammed(now, base, jams, change)
        s, u = (part[0] for part in rows.motion(now.q[None], now.v[None]))
        slow = self.rest_tol * self.rest_tol_factor * np.where(before.stuck, STUCK_DRIFT_FACTOR, 1.0)
        at_rest = movable & (rows.slip_speeds(u) <= slow)
        came = [*came, *jams]
        slowest = [
            int(k) for k in np.flatnonzero(~rows.has_scalar_friction & (at_rest | np.isin(np.arange(len(rows)), came)))
        ]
        if np.abs(u[slowest]).max(initial=0.0) > 0:  # rows nearly at rest are stopped together
            self._stop_rows(now, base, slowest)
            u = self._velocities(now)
            at_rest = movable & (rows.slip_speeds(u) <= slow)
        at_rest[came] = movable[came]
        at_rest[went] = False
        side = self._closed_stops(s, u, movable, happened)
        least = 10.0 * self.position_tol * self.rest_tol_factor
        if (movable & (side * u > least)).any():
            at_rest = self._rows_at_rest_after_impact(now, base, movable, side, change)
        elif (movable & (side * u < -least)).any():
            short = self._short_flights(now, base, side, u, movable)
            if short.any():
                self._stop_rows(now, base, np.flatnonzero(short).tolist())
                at_rest |= short
        u = self._velocities(now)
        on_stop = movable & (np.abs(u) <= least)
        side[side * u < -least] = 0.0
        side[~(at_rest | (on_stop & (side != 0)))] = 0.0
        self._move_to_stops(now, side)
        resting = at_rest | (side != 0)
        held = [] if len(jams) else self._rows_to_hold(now.t, resting & movable)
        self.next_review = now.t + JAM_HOLD_TIME * self.span if len(jams) else self.held_until if held else np.inf
        solver = self._solver(base, now, resting, side, u, jammed=[*jams, *held])
        self.modes, self.holding = solver.solve(before.stuck if self._release_event in passed else None)
        for note in solver.notes:
            self._note(note)
        if solver.jams and not jams:
            return self.settle(now, passed, solver.jams)
        now.conditions = solver.conditions_for(self.modes)
        if solver.correction.any():
            now.q = self.model.integrate(now.q, solver.correction)
        self._stop_locked_rows(now)
        change.texts += change_texts(rows, before, self.modes, change.impacts, movable)
        self._check_progress(now.t, before, [impact.row for impact in change.impacts])
        return change

    def _solver(
        self,
        base: Conditions,
        now: EventContext,
        at_rest: BoolArray,
        side: Array,
        u: Array,
        jammed: Sequence[int] = (),
    ) -> StickSlipSolver:
        """Return the stick-slip problem at a state."""
        return StickSlipSolver(
            self.rows,
            base,
            now,
            at_rest=at_rest,
            movable=self.movable(base),
            side=side,
            u=u,
            rest_tol=self.rest_tol,
            position_tol=self.position_tol,
            jammed=jammed,
        )

    def _velocities(self, now: EventContext) -> Array:
        """Return the velocities of the rows, (n,) rad/s or m/s."""
        return self.rows.motion(now.q[None], now.v[None])[1][0]

    def _was_sliding(self, modes: Modes, k: int) -> bool:
        return bool(modes.sign[self._with_partners([k])].any())

    def _with_partners(self, chosen: Sequence[int]) -> list[int]:
        """Return rows with all rows of their vector groups."""
        return np.flatnonzero(np.isin(self.rows.group, self.rows.group[list(chosen)])).tolist() if chosen else []

    def _closed_stops(self, s: Array, u: Array, movable: BoolArray, happened: Sequence[tuple[str, int]]) -> Array:
        """Return the closed stop of each row (n,): -1 lower, 1 upper, 0 none."""
        rows = self.rows
        with np.errstate(invalid="ignore"):
            low = movable & (s <= rows.lower + 2 * self.position_tol)
            high = movable & (s >= rows.upper - 2 * self.position_tol)
        for marks, which in ((low, "lower"), (high, "upper")):
            marks[[k for kind, k in happened if kind == which]] = True
        both = low & high  # a range of zero width
        side = np.where(high, 1.0, np.where(low, -1.0, 0.0))
        side[both] = np.where(u[both] < 0, -1.0, 1.0)
        return side

    def without_locks(self, conditions: Conditions) -> Conditions:
        """Return conditions without the locks of stuck rows."""
        ours = self._locked_velocities()
        if not ours and not conditions.branches and not conditions.sliding:
            return conditions
        return conditions.changed(locked=conditions.locked - ours, branches=None, sliding=frozenset())

    def release(self, conditions: Conditions) -> Conditions:
        """Return conditions without the locks of stuck rows; `settle` determines their modes again."""
        base = self.without_locks(conditions)
        self.modes.locked = []
        return base

    def _barely_moved(self, now: EventContext, base: Conditions, u: Array, response: Response) -> BoolArray:
        """Return rows (n,) that friction stops well within the position tolerance."""
        rows = self.rows
        loads = rows.loads(self.model.report(["signals"], now.t, now.q, now.v, now.x, conditions=base)["signals"])
        brake = rows.friction_limits(base, loads)[0] * np.diag(response.A)
        return rows.has_friction & (rows.slip_speeds(u) ** 2 < 2.0 * BARELY * self.position_tol * brake)

    def _short_flights(
        self, now: EventContext, base: Conditions, side: Array, u: Array, movable: BoolArray
    ) -> BoolArray:
        """Return rows (n,) that leave their stops by less than the position tolerance."""
        short = np.zeros(len(self.rows), dtype=bool)
        closed = np.flatnonzero(movable & (side != 0))
        response = Response(self.rows, base, now.q, now.t, base.velocity_prescribed)
        normal = -side[closed]
        A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        pressed = pressing_accelerations(A, normal * self._free_accelerations(now, base, side, u)[closed])
        short[closed] = (normal * u[closed] > 0) & (u[closed] ** 2 < 2.0 * pressed * SHORT_FLIGHT * self.position_tol)
        return short

    def _rows_at_rest_after_impact(
        self, now: EventContext, base: Conditions, movable: BoolArray, side: Array, change: Change
    ) -> BoolArray:
        """Apply an impact on closed stops; return the rows (n,) at rest after it.

        Stuck rows that the impact hardly moves are stopped, with the rows that stay on their stops.
        """
        least = 10.0 * self.position_tol * self.rest_tol_factor
        response = self._apply_stop_impact(now, base, side, self._velocities(now), change)
        u = self._velocities(now)
        barely = movable & self.modes.stuck & self._barely_moved(now, base, u, response)
        if barely.any():
            stops = movable & (side != 0) & (np.abs(u) <= least)
            self._stop_rows(now, base, np.flatnonzero(barely | stops).tolist())
            u = self._velocities(now)
        return movable & (barely | (self.rows.slip_speeds(u) <= self.rest_tol * self.rest_tol_factor))

    def _apply_stop_impact(
        self, now: EventContext, base: Conditions, side: Array, u: Array, change: Change
    ) -> Response:
        """Apply the impulses of closed stops, (2); return the response of the rows."""
        rows = self.rows
        closed = np.flatnonzero(side)
        response = Response(rows, base, now.q, now.t, base.velocity_prescribed, regularize=True)
        normal = -side[closed]
        closing = normal * u[closed]
        A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        free = normal * self._free_accelerations(now, base, side, u)[closed]
        least_speed = 10.0 * self.position_tol * self.rest_tol_factor
        least = {"least_speed": least_speed, "least_flight": SHORT_FLIGHT * self.position_tol}
        x = stop_impulses(A, closing, rows.restitution[closed], pressing_accelerations(A, free), **least)
        now.v = now.v + (normal * x) @ response.D[closed]
        change.velocities_jumped = True
        for k, speed in zip(closed, closing, strict=True):
            if speed < -least_speed:
                change.impacts.append(StopImpact(int(k), int(side[k]), float(-speed)))
        return response

    def _free_accelerations(self, now: EventContext, base: Conditions, side: Array, u: Array) -> Array:
        """Return accelerations of the rows (n,) without stop forces, with the friction of sliding rows."""
        rows = self.rows
        still = (side != 0) | (rows.slip_speeds(u) <= self.rest_tol * self.rest_tol_factor)
        solver = self._solver(base, now, still, side, u)
        rates = FrictionEvaluation(rows, solver.sliding_conditions(), now).a
        return rates if np.isfinite(rates).all() else FrictionEvaluation(rows, solver.frictionless_conditions(), now).a

    def _stop_jammed(self, now: EventContext, base: Conditions, jams: Sequence[int], change: Change) -> None:
        """Stop jammed rows."""
        if len(jams):
            self._stop_rows(now, base, jams)
            change.texts += [f"{self.rows.names[k]} jams" for k in jams]
            change.velocities_jumped = True

    def _stop_rows(self, now: EventContext, base: Conditions, chosen: Sequence[int]) -> None:
        """Set the velocities of rows to zero by impulses along them."""
        rows, model = self.rows, self.model
        J = rows.jacobian(now.q)[list(chosen)]
        P, missed = loop_rates(base, now.q, now.v, now.t)
        wanted = np.concatenate([missed, -rows.motion(now.q[None], now.v[None])[1][0, list(chosen)]])
        jumps = VelocityJumpSolver(model, now.q, base.velocity_prescribed, np.vstack([P, J]), regularize=True)
        now.v = now.v + jumps.respond(np.zeros((1, model.nv)), None, wanted[None])[0]

    def jam(self, now: EventContext) -> Change | None:
        """Stop sliding rows without a friction consistent with their load; None if there are none."""
        locked = self.modes.locked
        base = self.release(now.conditions)
        u = self._velocities(now)
        movable = self.movable(base)
        at_rest = movable & self.modes.stuck
        try:
            solver = self._solver(base, now, at_rest, self.modes.side, u)
            jams = solver.find_jammed(self.modes)
        except ModelError:  # forces are not finite there: the error of the step names the law
            return None
        finally:
            self.modes.locked = locked  # still in force; `settle` releases them
        for note in solver.notes:
            self._note(note)
        return self.settle(now, (), jams) if jams else None

    def _move_to_stops(self, now: EventContext, side: Array) -> None:
        """Set tree coordinates exactly to their closed stops."""
        rows = self.rows
        for k in np.flatnonzero(side):
            if 0 <= rows.coordinates[k] < self.model.nq:
                now.q[rows.coordinates[k]] = rows.lower[k] if side[k] < 0 else rows.upper[k]

    def _stop_locked_rows(self, now: EventContext) -> None:
        """Remove the remaining velocities of locked rows."""
        if not self.modes.locked:
            return
        model, conditions = self.model, now.conditions
        places = self.rows.indices[self.modes.locked]
        P, missed = loop_rates(conditions, now.q, now.v, now.t)
        J = self.rows.jacobian(now.q)[[k for k in self.modes.locked if self.rows.indices[k] >= model.nv]]
        locked = np.zeros(model.nv, dtype=bool)
        locked[places[places < model.nv]] = True
        wanted = np.concatenate([missed, -J @ now.v])
        jumps = VelocityJumpSolver(model, now.q, conditions.velocity_prescribed, np.vstack([P, J]), regularize=True)
        now.v = now.v + jumps.respond(np.zeros((1, model.nv)), np.where(locked, -now.v, 0.0)[None], wanted[None])[0]
        now.v[locked] = 0.0

    # ---- notes and progress

    def note_assisted_stick(self, modes: Modes) -> None:
        """Note laws that help to hold stuck rows."""
        model = self.model
        names = {place.row: name for name, place in model.compiled.elements.indices.items()}
        owners = {names.get(model.switching_functions[k][0], "") for k in modes.holding_laws}
        stuck = ", ".join(self.rows.names[k] for k in modes.locked)
        for name in sorted(owners - {""}):
            self._note(
                f"the law of element {name!r} jumps where {stuck} sticks, and helps friction to hold it; which of the "
                "two holds how much is not determined: the law has the mean of both sides of its jump, friction the rest"
            )

    def note_unloaded(self, names: Sequence[str]) -> None:
        """Note stops without friction whose load is zero within rounding."""
        if names:
            self._note(unloaded_stops(names))

    def note_hold(self, t: float, rows: Sequence[int], count: int, time: float) -> None:
        """Note rows that are held from t for a time, s, after `count` changes without progress."""
        if not rows:
            return
        names, s = ", ".join(self.rows.names[k] for k in [*rows][:6]), "s" * (len(rows) == 1)
        self._note(
            f"whether {names} stick{s}, slip{s} or leave{s} a stop changed {count} times without progress near t = "
            f"{t:.6g} s: loads there equal their limits within rounding; held for {time:.2g} s, then determined again"
        )

    def note_jam(self, t: float, rows: Sequence[int], gain: float) -> None:
        """Note sliding rows that are stopped at t, because no friction is consistent with their load."""
        if rows:
            self._note(jam_note([self.rows.names[k] for k in rows], t, gain))

    def note_gain(self, t: float, rows: Sequence[int], gain: float) -> None:
        """Note sliding rows whose friction depends on its own load so strongly that accelerations may not be unique."""
        if rows:
            self._note(gain_note([self.rows.names[k] for k in rows], t, gain))

    def no_solution(self, t: float, rows: Sequence[int]) -> SingularityError:
        """Return the error of rows at rest without consistent modes."""
        names = [self.rows.names[k] for k in rows]
        if self.rows.has_load_friction.any():
            return no_consistent_modes(names, t)
        return SingularityError(
            f"at t = {t:.9g} s efforts of friction and stops of {', '.join(names[:6])} cannot be found: their rows "
            "nearly depend on each other"
        )

    def _note(self, note: str) -> None:
        if note not in self.note_texts:
            self.note_texts.append(note)

    def notes(self) -> list[str]:
        """Return the notes on friction and stops."""
        return [*self.note_texts, *self.impact_log.notes(self.rows)]

    def _rows_to_hold(self, t: float, resting: BoolArray) -> list[int]:
        """Return rows at rest to be held for a time because their modes change repeatedly without progress.

        Their loads equal zero or a friction limit within rounding, or change faster than the run can resolve. After the
        hold their modes are determined again.
        """
        recent = [
            k for k, moment in enumerate(self.recent_times) if self.changed_rows[k] and self._is_recent(moment, t)
        ]
        before = [k for k in self.held_rows if resting[k]] if t < self.held_until else []
        counts = np.bincount([row for k in recent for row in self.changed_rows[k]], minlength=len(self.rows))
        held = np.flatnonzero((counts > 1) & resting).tolist()
        if len(recent) < MAX_UNDECIDED_CHANGES or not held:
            return before
        held = self.held_rows = sorted({*before, *held})
        self.hold_time = (
            10.0 * self.hold_time if t - self.held_until <= 10.0 * self.hold_time else MIN_PROGRESS * self.span
        )
        if self.hold_time > MAX_HOLD_TIME * self.span:
            raise self.stagnation(t, held, len(recent), t - self.recent_times[recent[0]])
        self.held_until = t + self.hold_time
        self.changed_rows = [[] for _ in self.changed_rows]  # the count restarts after the hold
        self.note_hold(t, held, len(recent), self.hold_time)
        return held

    def _is_recent(self, moment: float, t: float) -> bool:
        return t - moment <= MIN_PROGRESS * self.span

    def _check_progress(self, t: float, before: Modes, struck: Sequence[int]) -> None:
        """Widen the rest tolerance while changes make no progress; raise an error if that does not help."""
        modes = self.modes
        other = (before.stuck != modes.stuck) | (before.side != modes.side)
        other |= self.rows.has_scalar_friction & (before.sign != modes.sign)
        other[list(struck)] = True
        self.recent_times = [*self.recent_times[1 - STAGNATION_COUNT :], t]
        self.changed_rows = [*self.changed_rows[1 - STAGNATION_COUNT :], np.flatnonzero(other).tolist()]
        if len(self.recent_times) > MAX_STALLED_CHANGES and self._is_recent(
            self.recent_times[-1 - MAX_STALLED_CHANGES], t
        ):
            self.rest_tol_factor = min(10.0 * self.rest_tol_factor, MAX_REST_TOL_FACTOR)
        else:
            self.rest_tol_factor = 1.0
        for count, within in ((40, MIN_PROGRESS), (STAGNATION_COUNT, STAGNATION_COUNT / STAGNATION_AHEAD)):
            if len(self.recent_times) >= count and t - self.recent_times[-count] <= within * self.span:
                rows = sorted({k for rows in self.changed_rows[-count:] for k in rows})
                raise self.stagnation(t, rows, count, t - self.recent_times[-count])

    def stagnation(self, t: float, rows: Sequence[int], count: int, time: float) -> IntegrationError:
        """Return the error of a run whose modes change `count` times within a time, s, before t."""
        names = ", ".join(self.rows.names[k] for k in [*rows][:6]) + (", ..." if len(rows) > 6 else "")
        return IntegrationError(
            f"at t = {t:.9g} s the run stagnates: {names or 'joints'} changed between sticking, slipping, stops "
            f"and release {count} times within {time:.2g} s; raise atol, or take friction='smooth' or stops='soft'"
        )

    # ---- checkpoints

    def to_plain(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            **self.modes.to_plain(),
            "recent": list(self.recent_times),
            "changed": [list(rows) for rows in self.changed_rows],
            "rest_tol_factor": self.rest_tol_factor,
            "hold": [self.hold_time, self.held_until, list(self.held_rows)],
            "impacts": self.impact_log.to_plain(),
            "note_texts": list(self.note_texts),
            "next_review": self.next_review,
            "holding": None if self.holding is None else self.holding.to_plain(),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Set the state from plain data."""
        self.modes = Modes.from_plain(kept)
        self.recent_times, self.rest_tol_factor, self.note_texts = (
            list(kept["recent"]),
            float(kept["rest_tol_factor"]),
            list(kept["note_texts"]),
        )
        self.changed_rows = [list(rows) for rows in kept.get("changed", [[] for _ in self.recent_times])]
        self.hold_time, self.held_until, self.held_rows = kept.get("hold", (0.0, -np.inf, []))
        self.next_review = float(kept["next_review"])
        self.impact_log.restore(kept["impacts"])
        self.holding = None if kept["holding"] is None else HoldingLimits.from_plain(kept["holding"])


def _internal(_: Any) -> float:
    """Stand in for the output and action of an internal event."""
    return 1.0
