"""Changes of friction and stops as NumPy determines them: the oracle of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import dalembert as da
from dalembert.arrays import Array, BoolArray
from dalembert.errors import ModelError
from dalembert.impulses.velocity_jump_solver import VelocityJumpSolver
from dalembert.model import Conditions
from dalembert.simulation.events.events import EventContext
from dalembert.simulation.events.velocity_jumps import loop_rates
from dalembert.simulation.friction.core_changes import CoreChanges
from dalembert.simulation.friction.core_friction import CoreFriction
from dalembert.simulation.friction.friction import FrictionState
from dalembert.simulation.friction.load_limits import with_modes
from dalembert.simulation.friction.messages import Change, StopImpact, change_texts
from dalembert.simulation.friction.modes import Modes
from dalembert.simulation.friction.rows import Response

from .discontinuous_forces import jump_sizes
from .holding_margin import HoldingMargin
from .impacts import impulses_with_short_flights, is_short, pressing_accelerations, stop_impulses
from .load_dependence import FrictionEvaluation
from .stick_slip import StickSlipSolver

__all__ = ["FrictionOracle", "checked_simulation"]


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
DRIVEN_ON = 1e-6  # of the velocities of groups before a stop: what is left then is no rounding
BARELY = 0.1  # position tolerances: a row that friction stops within this distance after an impact stays at rest


class FrictionOracle(FrictionState):
    """Friction and stops of one run, with the changes determined here."""

    holding: HoldingMargin | None

    @property
    def _release_event(self) -> int:
        """Number of the function of a release; those of the rows and the end of a hold are before it."""
        return len(self.watched_rows) + 1

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
        values = np.ones((self._release_event + 1, len(t)))
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

    def _complete_groups(self, marks: BoolArray) -> BoolArray:
        """Return a mask (n,) extended to whole vector groups."""
        whole = marks.copy()
        for group in self.rows.vector_groups:
            whole[group] = marks[group].any()
        return whole

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
        if self.recent_times and not self._is_recent(self.recent_times[-1], now.t):
            self.rest_tol_factor = 1.0
        starting = self._starting_groups(now)
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
        at_rest = movable & (rows.slip_speeds(u) <= slow) & ~starting
        came = [*came, *jams]
        slowest = [
            int(k) for k in np.flatnonzero(~rows.has_scalar_friction & (at_rest | np.isin(np.arange(len(rows)), came)))
        ]
        if np.abs(u[slowest]).max(initial=0.0) > 0:  # rows nearly at rest are stopped together
            self._slow_down_groups(now, base, slowest)
            u = self._velocities(now)
            at_rest = movable & (rows.slip_speeds(u) <= slow) & ~starting
        at_rest[came] = movable[came]
        at_rest[went] = False
        side = self._closed_stops(s, u, movable, happened)
        least = 10.0 * self.position_tol * self.rest_tol_factor
        if (movable & (side * u > least)).any():
            at_rest = self._rows_at_rest_after_impact(now, base, movable, side, change, jams)
        elif (movable & (side * u < -least)).any():
            at_rest |= self._stop_short_flights(now, base, side, u, movable)
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

    def _starting_groups(self, now: EventContext) -> BoolArray:
        """Return the rows (n,) of slow groups whose speed grows, as at the onset of slip: they are not at rest."""
        starting = np.zeros(len(self.rows), dtype=bool)
        u = self._velocities(now)
        speed = self.rows.slip_speeds(u)
        for group in self.rows.vector_groups:
            k = group[0]
            if self.modes.sign[group].any() and 0 < speed[k] <= self.rest_tol[k] * self.rest_tol_factor:
                a = FrictionEvaluation(self.rows, now.conditions, now).a
                starting[group] = u[group] @ a[group] > 0
        return starting

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

    def _barely_moved(self, now: EventContext, base: Conditions, u: Array, response: Response) -> BoolArray:
        """Return rows (n,) that friction stops well within the position tolerance."""
        rows = self.rows
        loads = rows.loads(self.model.report(["signals"], now.t, now.q, now.v, now.x, conditions=base)["signals"])
        brake = rows.friction_limits(base, loads)[0] * np.diag(response.A)
        return rows.has_friction & (rows.slip_speeds(u) ** 2 < 2.0 * BARELY * self.position_tol * brake)

    def _pressed(
        self, now: EventContext, base: Conditions, side: Array, u: Array, response: Response, closed: Array
    ) -> Array:
        """Return the accelerations of closed stops back to them; rows that stuck may be held by their friction."""
        rows = self.rows
        loads = rows.loads(self.model.report(["signals"], now.t, now.q, now.v, now.x, conditions=base)["signals"])
        holds = self.modes.stuck & rows.has_friction
        limits = np.where(holds, rows.friction_limits(base, loads)[1], 0.0)
        some = [*closed, *np.flatnonzero(holds & (side == 0))]
        outward = np.where(side == 0, 1.0, -side)[some]
        A = response.A[np.ix_(some, some)] * np.outer(outward, outward)
        free = outward * self._free_accelerations(now, base, side, u)[some]
        return pressing_accelerations(A, free, limits[some], side[some] != 0)[: len(closed)]

    def _stop_short_flights(
        self, now: EventContext, base: Conditions, side: Array, u: Array, movable: BoolArray
    ) -> BoolArray:
        """Stop rows that leave their stops by less than the position tolerance; return them (n,).

        The others stay on their stops, or leave them.
        """
        short = np.zeros(len(self.rows), dtype=bool)
        closed = np.flatnonzero(movable & (side != 0))
        response = Response(self.rows, base, now.q, now.t, base.velocity_prescribed)
        normal = -side[closed]
        away, flight = normal * u[closed], SHORT_FLIGHT * self.position_tol
        pressed = self._pressed(now, base, side, u, response, closed)
        if ((away > 0) & is_short(away, pressed, flight)).any():
            A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
            least = 10.0 * self.position_tol * self.rest_tol_factor
            x, stays = impulses_with_short_flights(A, away, np.zeros(len(away)), pressed, least, flight)
            now.v = now.v + (normal * x) @ response.D[closed]
            short[closed] = stays
        return short

    def _rows_at_rest_after_impact(
        self,
        now: EventContext,
        base: Conditions,
        movable: BoolArray,
        side: Array,
        change: Change,
        jams: Sequence[int],
    ) -> BoolArray:
        """Apply an impact on closed stops; return the rows (n,) at rest after it.

        Stuck rows that the impact hardly moves are stopped, with the rows that stay on their stops.
        """
        least = 10.0 * self.position_tol * self.rest_tol_factor
        response = self._apply_stop_impact(now, base, side, self._velocities(now), change, jams)
        u = self._velocities(now)
        barely = movable & self.modes.stuck & self._barely_moved(now, base, u, response)
        if barely.any():
            stops = movable & (side != 0) & (np.abs(u) <= least)
            self._stop_rows(now, base, np.flatnonzero(barely | stops).tolist())
            u = self._velocities(now)
        return movable & (barely | (self.rows.slip_speeds(u) <= self.rest_tol * self.rest_tol_factor))

    def _apply_stop_impact(
        self, now: EventContext, base: Conditions, side: Array, u: Array, change: Change, jams: Sequence[int]
    ) -> Response:
        """Apply the impulses of closed stops, (2), while jammed rows hold; return the response of the rows."""
        rows = self.rows
        closed = np.flatnonzero(side)
        response = Response(rows, base, now.q, now.t, base.velocity_prescribed, regularize=True)
        normal = -side[closed]
        closing = normal * u[closed]
        held, holding = list(jams), copy(response)
        share = np.linalg.lstsq(response.A[np.ix_(held, held)], response.A[held], rcond=1e-12)[0]
        holding.A = response.A - response.A[:, held] @ share
        A = holding.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        D = response.D - share.T @ response.D[held]
        pressed = self._pressed(now, base, side, u, holding, closed)
        least_speed = 10.0 * self.position_tol * self.rest_tol_factor
        least = {"least_speed": least_speed, "least_flight": SHORT_FLIGHT * self.position_tol}
        x = stop_impulses(A, closing, rows.restitution[closed], pressed, **least)
        now.v = now.v + (normal * x) @ D[closed]
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

    def _slow_down_groups(self, now: EventContext, base: Conditions, chosen: Sequence[int]) -> None:
        """Stop rows of vector groups; those that drives move keep the least velocities, weighted by their friction."""
        before = np.abs(self._velocities(now)[list(chosen)]).max()
        self._stop_rows(now, base, chosen)
        u = self._velocities(now)[list(chosen)]
        if np.abs(u).max() <= DRIVEN_ON * before:
            return
        response = Response(self.rows, base, now.q, now.t, base.velocity_prescribed)
        friction = self.rows.friction_limits(base, np.zeros(len(self.rows)))[0][list(chosen)]
        groups = self.rows.group[list(chosen)]
        most = np.array([friction[groups == group].max() for group in groups])
        f = np.where(most > 0, friction / np.where(most > 0, most, 1.0), 1.0)
        A = response.A[np.ix_(chosen, chosen)]
        x = -np.linalg.lstsq(f[:, None] * A, f * u, rcond=1e-12)[0]
        now.v = now.v + x @ response.D[list(chosen)]

    def jam(self, now: EventContext) -> Change | None:
        """Stop sliding rows without a friction consistent with their load; None if there are none."""
        u = self._velocities(now)
        for held in (True, False):  # while stuck rows hold, or without them
            if held and not self.modes.locked:
                continue
            base = now.conditions if held else self.without_locks(now.conditions)
            modes = self.modes if held else replace(self.modes, locked=[])
            solver = self._solver(base, now, self.modes.stuck, self.modes.side, u)
            try:
                jams = solver.find_jammed(modes)
            except ModelError:  # forces are not finite there: the error of the step names the law
                return None
            for note in solver.notes:
                self._note(note)
            if jams:
                return self.settle(now, (), jams)
        return None

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


def checked_simulation(*given: Any, **named: Any) -> da.Result:
    """Simulate, and assert that the oracle determines every change of the core at the same state."""
    parts: list[tuple[CoreFriction, dict[str, Any], CoreChanges]] = []
    take = CoreFriction.take

    def collect(core: CoreFriction, found: dict[str, Any], chosen: slice) -> CoreChanges:
        changes = take(core, found, chosen)
        parts.append((core, found, changes))
        return changes

    with mock.patch.object(CoreFriction, "take", collect):
        result = da.simulate(*given, **named)
    friction = parts[0][0].friction
    oracle = FrictionOracle(friction.rows, friction.position_tol, friction.span)
    for core, found, changes in parts:
        numbers, counts = found["passed"]
        ends = np.cumsum(counts).astype(int)
        for k in range(len(changes)):
            passed = numbers[ends[k] - int(counts[k]) : ends[k]].astype(int).tolist()
            _check_change(oracle, core, changes, k, passed)
    return result


def _check_change(oracle: FrictionOracle, core: CoreFriction, changes: CoreChanges, k: int, passed: list[int]) -> None:
    """Assert that the oracle determines a change, after functions `passed` have crossed zero; take over its modes."""
    model, t = oracle.model, float(changes.t[k])
    q, v, x = np.split(changes.before[k], [model.nq, model.nq + model.nv])
    conditions = with_modes(oracle.rows, core.base, oracle.modes, core.movable, oracle.rest_tol)
    now = EventContext(conditions, da.State(q=q.copy(), v=v.copy(), t=t, x=x.copy()))
    jammed = any(number == k for number, *_ in changes.jams)
    if not (jammed and not passed and oracle.jam(now) is not None):
        oracle.settle(now, passed)
    modes, own = changes.modes(k), oracle.modes
    where = f"change {k} at t = {t:.9g} s, functions {passed}"
    for name in ("stuck", "side", "immobile"):
        np.testing.assert_array_equal(getattr(modes, name), getattr(own, name), err_msg=f"{name}, {where}")
    np.testing.assert_allclose(modes.sign, own.sign, atol=1e-5, err_msg=where)  # directions of groups near rest
    assert len(modes.locked) == len(own.locked) and modes.holding_laws == own.holding_laws, where
    size = max(1.0, np.abs(v).max(initial=0.0))
    np.testing.assert_allclose(changes.after[k, model.nq : model.nq + model.nv], now.v, atol=1e-7 * size, err_msg=where)
    oracle.modes = modes
