"""Dry friction and stops of joints in a run: who sticks, who slips, who bounces, who leaves.

Row i, a coordinate with speed u_i, has friction f_i and static friction s_i >= f_i. With lam_i the effort on it,

    u_i > 0: lam_i = -f_i,   u_i < 0: lam_i = f_i,   u_i = 0: lam_i in [-s_i, s_i], at a stop up to infinity         (1)

Rows whose friction is one vector, as those of a ball joint, have |lam_i / f_i| <= 1 together, against the motion.
Friction may follow the loads of joints (`dry_loads`).

Between two changes every row has a mode: it slides with a given sign, which its friction keeps even if a step goes
beyond its rest; or it sticks and is locked, its effort that of the lock. A change comes where a sliding row comes to
rest, the efforts that hold leave their bounds, or a coordinate reaches a stop. Who of the rows at rest goes on to stick
is decided together (`deciding`). Stops are reached with an impulse, all that are closed together: u+ = u + A Lam,
0 <= Lam, 0 <= u+ + e u (2). Friction has no impulse; rows that stick by it are let go in (2) and decided anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import IntegrationError, ModelError
from ...impulses.velocity_jump import VelocityJumpSolver
from ...model import Conditions, Model
from ..events.events import Event, EventContext
from ..events.velocity_jumps import loop_rates
from .discontinuous_forces import jump_sizes
from .holding_margin import HoldingLimits
from .impacts import pressing_accelerations, stop_impulses
from .load_limits import Evaluated, undetermined_friction
from .messages import Change, StopImpact, StopImpactLog, describe_change
from .modes import Modes
from .rows import FrictionRows, Response
from .stick_slip import StickSlipSolver

__all__ = ["Change", "FrictionState"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

STUCK_DRIFT_FACTOR = (
    100.0  # times as fast may be what stuck and was moved onto its loops; faster, something has struck it
)
MAX_STALLED_CHANGES = 3  # changes without progress ...
MIN_PROGRESS = 1e-9  # ... of this part of the run: a wider tolerance for rest is tried
MAX_REST_TOL_FACTOR = 1e4  # times as wide
JAM_HOLD_TIME = 1e-7  # of the run: for so long what has jammed is held, so that time gets beyond where it did
UNDECIDED = 8  # changes without progress: rows at rest that changed twice are held
LONGEST_HOLD = 1e-5  # of the run; the first hold lasts HURRY of it, one that follows at once ten times as long
STAGNATION_COUNT = 200  # changes ...
STAGNATION_AHEAD = 1e7  # ... at a pace of so many in the whole run: it is given up
SHORT_FLIGHT = 10.0  # tolerances of positions: what would leave its stop by no more stays on it
BARELY = 0.1  # of the tolerance of positions: what an impact moves no further before friction stops it, it does not
NEAR_REST = 0.1  # of the root of a tolerance of positions, rad/s or m/s: what is so slow moves no further than it


class FrictionState:
    """Friction and stops of one run.

    Parameters
    ----------
    rows : DryRows
    atol : float
        Tolerance of positions and speeds.
    span : float, s
        How long the run lasts.
    """

    def __init__(self, rows: FrictionRows, atol: float, span: float) -> None:
        n = len(rows)
        self.rows, self.model, self.span = rows, rows.model, span
        self.reach = atol  # how far beyond a stop a coordinate is when it has reached it
        # speeds below are rest; friction that is one vector turns ever faster near rest, which is taken a little before
        self.rest = np.where(rows.alone, 10.0 * atol, max(10.0 * atol, NEAR_REST * np.sqrt(atol)))
        self.modes = Modes.none(n)
        self.holding: HoldingLimits | None = None
        self.recent: list[float] = []
        self.changed: list[list[int]] = []  # rows whose modes changed at the recent times
        self.wide = 1.0
        self.hold, self.held_until = 0.0, -np.inf  # s: length and end of the last hold of rows that were undecided
        self.held: list[int] = []  # these rows
        self._marked: tuple[Conditions, Modes, BoolArray] | None = None
        self.hits = StopImpactLog()
        self.said: list[str] = []
        self.patience = np.inf  # s: until then what has jammed is held
        first = rows.alone.copy()  # one event for rows whose friction is one vector
        first[[int(ball[0]) for ball in rows.balls]] = True
        kinds = ("rest", first), ("lower", np.isfinite(rows.lower)), ("upper", np.isfinite(rows.upper))
        self.watched = [(kind, int(k)) for kind, which in kinds for k in np.flatnonzero(which)]
        names = [f"{rows.names[k]}: {kind}" for kind, k in self.watched]
        names += ["dry: looks again", "dry: lets go"]
        self.events = [Event(name, _of_the_run, direction=-1, action=_of_the_run) for name in names]

    @property
    def _release_event(self) -> int:
        """The event of what holds no more."""
        return len(self.events) - 1

    def fresh(self, model: Model) -> FrictionState:
        """Return one for another run, of the model with other numbers."""
        return FrictionState(self.rows.under(model), self.reach, self.span)

    def follow(self, model: Model) -> None:
        """Go on with other numbers of the model."""
        if model is not self.model:
            self.rows, self.model, self._marked = self.rows.under(model), model, None

    # ---- what is watched

    def values(self, conditions: Conditions, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return what falls through zero at a change, (events, k), at states of the present modes."""
        rows, modes = self.rows, self.modes
        s, u = rows.motion(q, v)
        mine = self._mine(conditions)
        size, slow = rows.together(u), self.rest * self.wide
        sliding = np.where(modes.sign != 0, np.where(rows.alone, modes.sign * u, size - 0.9 * slow), 1.0)
        if conditions.sliding != frozenset(modes.slides):  # a law has begun to hold the motion, perhaps at rest
            sliding = np.where((modes.sign != 0) & (size <= slow), -1.0, sliding)
        still = modes.idle | modes.stuck  # what follows from locks elsewhere, until the mechanism has moved on
        still[modes.locked] = False
        sliding = np.where(still, slow - size, sliding)
        free = mine & ~modes.stuck
        for ball in rows.balls:  # some of its rows may be locked, and one of them has the event
            slides = bool(modes.sign[ball].any())
            k = ball[0]
            sliding[:, k] = size[:, k] - 0.9 * slow[k] if slides else sliding[:, ball].min(axis=1)
        gaps = {
            "rest": np.where(self._whole(mine), sliding, 1.0),
            "lower": np.where(free & (modes.side >= 0), s - rows.lower + self.reach, 1.0),
            "upper": np.where(free & (modes.side <= 0), rows.upper - s + self.reach, 1.0),
        }
        values = np.ones((len(self.events), len(t)))
        for row, (kind, k) in zip(values, self.watched, strict=False):
            row[:] = gaps[kind][:, k]
        values[-2] = np.minimum(self.patience - t, 1.0)
        if self.holding is not None:
            parts = self.model.report(["held", "signals"], t, q, v, x, conditions=conditions)
            limits = rows.frictions(conditions, rows.loads(parts["signals"]))[1]
            places = rows.places[modes.locked]
            held = parts["held"][:, places]
            if modes.laws:
                share = self.holding.share[:, -len(modes.laws) :]
                helps = jump_sizes(conditions, modes.laws, places, share, held, (t, q, v, x))
                limits = np.hstack([np.broadcast_to(limits, (len(t), len(rows))), helps])
            values[-1] = self.holding.margin(held, limits)
        return values

    @property
    def sticks(self) -> bool:
        """Whether something is held: nothing may move, but steps must not miss what the efforts do."""
        return self.holding is not None

    def _mine(self, conditions: Conditions) -> BoolArray:
        """Return the rows that are neither driven nor locked by others."""
        if self._marked is not None and self._marked[0] is conditions and self._marked[1] is self.modes:
            return self._marked[2]
        nv, ours = self.model.nv, self._ours()
        tree = self.rows.places < nv
        others = np.isin(self.rows.places, list(conditions.locked - ours))
        driven = conditions.given[np.where(tree, self.rows.places, 0)] & tree
        mine: BoolArray = ~others & ~(driven & ~np.isin(self.rows.places, list(ours)))
        self._marked = conditions, self.modes, mine
        return mine

    def _whole(self, marks: BoolArray) -> BoolArray:
        """Return marks (n,) of rows, with all rows of a friction that is one vector if some of them have it."""
        whole = marks.copy()
        for ball in self.rows.balls:
            whole[ball] = marks[ball].any()
        return whole

    def _ours(self) -> set[int]:
        """Return the speeds that we have locked."""
        return {int(place) for place in self.rows.places[self.modes.locked]}

    # ---- changes

    def begin(self, now: EventContext) -> Change:
        """Decide the modes at the start of a run."""
        s, _ = self.rows.motion(now.q[None], now.v[None])
        outside = (s[0] < self.rows.lower - 1e3 * self.reach) | (s[0] > self.rows.upper + 1e3 * self.reach)
        for k in np.flatnonzero(outside & self._mine(now.conditions)):
            rope = self.rows.names[k] in self.rows.model.compiled.names.ropes
            raise ModelError(
                f"{'rope' if rope else 'joint coordinate'} {self.rows.names[k]!r}",
                "start",
                f"{s[0, k]:.6g} {self.rows.units[k]}",
                f"it is outside its limits, {self.rows.lower[k]:.6g} to {self.rows.upper[k]:.6g}; start within them, "
                "give others, or leave them out by stops='off'",
            )
        shared = undetermined_friction(self.rows, now)
        if shared:
            self._note(
                f"friction of {', '.join(shared)} follows loads that are not unique in this over-constrained "
                "mechanism: those of least norm are taken; give connections compliance (Bushing) to make them those of "
                "mechanics"
            )
        return self.settle(now, ())

    def settle(self, now: EventContext, passed: Iterable[int], jams: Sequence[int] = ()) -> Change:
        """Decide the modes anew, with impulses where stops are reached; `passed`: events of ours that happened.

        Rows that jam are stopped at once.
        """
        rows, change, passed = self.rows, Change(), list(passed)
        before = self.modes
        base = self.let_go(now.conditions)
        mine = self._mine(base)
        happened = [self.watched[event] for event in passed if event < len(self.watched)]
        came: list[int] = self._with_partners([k for kind, k in happened if kind == "rest" and self._slid(before, k)])
        went = self._with_partners([k for kind, k in happened if kind == "rest" and not self._slid(before, k)])
        self._jam(now, base, jams, change)
        s, u = (part[0] for part in rows.motion(now.q[None], now.v[None]))
        slow = self.rest * self.wide * np.where(before.stuck, STUCK_DRIFT_FACTOR, 1.0)
        at_rest = mine & (rows.together(u) <= slow)
        came = [*came, *jams]
        slowest = [int(k) for k in np.flatnonzero(~rows.alone & (at_rest | np.isin(np.arange(len(rows)), came)))]
        if np.abs(u[slowest]).max(initial=0.0) > 0:  # what is nearly at rest is, and what stops with it
            self._still(now, base, slowest)
            u = rows.motion(now.q[None], now.v[None])[1][0]
            at_rest = mine & (rows.together(u) <= slow)
        at_rest[came] = mine[came]
        at_rest[went] = False
        side = self._closed(s, u, mine, happened)
        least = 10.0 * self.reach * self.wide
        if (mine & (side * u > least)).any():
            response = self._apply_stop_impact(now, base, side, u, change)
            u = rows.motion(now.q[None], now.v[None])[1][0]
            barely = mine & before.stuck & self._barely_moved(now, base, u, response)
            if barely.any():
                self._still(now, base, np.flatnonzero(barely | (mine & (side != 0) & (np.abs(u) <= least))).tolist())
                u = rows.motion(now.q[None], now.v[None])[1][0]
            at_rest = mine & (barely | (rows.together(u) <= self.rest * self.wide))
        elif (mine & (side * u < -least)).any():
            short = self._short_flights(now, base, side, u, mine)
            if short.any():
                self._still(now, base, np.flatnonzero(short).tolist())
                u = rows.motion(now.q[None], now.v[None])[1][0]
                at_rest |= short
        on_stop = mine & (np.abs(u) <= least)
        side[side * u < -least] = 0.0
        side[~(at_rest | (on_stop & (side != 0)))] = 0.0
        self._put_on_stops(now, side)
        resting = at_rest | (side != 0)
        held = [] if len(jams) else self._undecided(now.t, resting & mine)
        self.patience = now.t + JAM_HOLD_TIME * self.span if len(jams) else self.held_until if held else np.inf
        decider = StickSlipSolver(rows, base, now, resting, mine, side, u, self.rest, self.reach, [*jams, *held])
        self.modes, self.holding = decider.decide(before.stuck if self._release_event in passed else None)
        for note in decider.notes:
            self._note(note)
        if decider.jams and not jams:
            return self.settle(now, passed, decider.jams)
        now.conditions = decider.under(self.modes)
        if decider.back.any():
            now.q = self.model.integrate(now.q, decider.back)
        self._stop_locked(now)
        describe_change(rows, before, self.modes, change)
        self._check_progress(now.t, before, [hit.row for hit in change.hits])
        return change

    def _slid(self, modes: Modes, k: int) -> bool:
        return bool(modes.sign[self._with_partners([k])].any())

    def _with_partners(self, chosen: Sequence[int]) -> list[int]:
        """Return rows with those whose friction is one vector with theirs."""
        return np.flatnonzero(np.isin(self.rows.group, self.rows.group[list(chosen)])).tolist() if chosen else []

    def _closed(self, s: Array, u: Array, mine: BoolArray, happened: Sequence[tuple[str, int]]) -> Array:
        """Return on which stop each row is."""
        rows = self.rows
        with np.errstate(invalid="ignore"):
            low = mine & (s <= rows.lower + 2 * self.reach)
            high = mine & (s >= rows.upper - 2 * self.reach)
        for marks, which in ((low, "lower"), (high, "upper")):
            marks[[k for kind, k in happened if kind == which]] = True
        both = low & high  # a range that is no wider than a point
        side = np.where(high, 1.0, np.where(low, -1.0, 0.0))
        side[both] = np.where(u[both] < 0, -1.0, 1.0)
        return side

    def let_go(self, conditions: Conditions) -> Conditions:
        """Return the conditions without our locks; what stuck is decided anew by `settle`."""
        ours = self._ours()
        self.modes.locked = []
        if not ours and not conditions.branches and not conditions.sliding:
            return conditions
        return conditions.changed(locked=conditions.locked - ours, branches=None, sliding=frozenset())

    def _barely_moved(self, now: EventContext, base: Conditions, u: Array, response: Response) -> BoolArray:
        """Return rows (n,) that their friction stops again well within the tolerance of positions."""
        rows = self.rows
        loads = rows.loads(self.model.report(["signals"], now.t, now.q, now.v, now.x, conditions=base)["signals"])
        brake = rows.frictions(base, loads)[0] * np.diag(response.A)
        return rows.rubs & (rows.together(u) ** 2 < 2.0 * BARELY * self.reach * brake)

    def _short_flights(self, now: EventContext, base: Conditions, side: Array, u: Array, mine: BoolArray) -> BoolArray:
        """Return rows (n,) that leave their stops but would be back within the tolerance of positions."""
        short = np.zeros(len(self.rows), dtype=bool)
        closed = np.flatnonzero(mine & (side != 0))
        response = Response(self.rows, base, now.q, now.t, base.paced)
        normal = -side[closed]
        A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        pressed = pressing_accelerations(A, normal * self._free_rates(now, base, side, u)[closed])
        short[closed] = (normal * u[closed] > 0) & (u[closed] ** 2 < 2.0 * pressed * SHORT_FLIGHT * self.reach)
        return short

    def _apply_stop_impact(
        self, now: EventContext, base: Conditions, side: Array, u: Array, change: Change
    ) -> Response:
        """Let rows bounce off their stops, by (2); return how the rows respond."""
        rows = self.rows
        closed = np.flatnonzero(side)
        response = Response(rows, base, now.q, now.t, base.paced, lend=True)
        normal = -side[closed]
        closing = normal * u[closed]
        A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        free = normal * self._free_rates(now, base, side, u)[closed]
        least_speed = 10.0 * self.reach * self.wide
        least = {"least_speed": least_speed, "least_flight": SHORT_FLIGHT * self.reach}
        x = stop_impulses(A, closing, rows.restitution[closed], pressing_accelerations(A, free), **least)
        now.v = now.v + (normal * x) @ response.D[closed]
        change.loses = True
        for k, speed in zip(closed, closing, strict=True):
            if speed < -least_speed:
                change.hits.append(StopImpact(int(k), int(side[k]), float(-speed)))
        return response

    def _free_rates(self, now: EventContext, base: Conditions, side: Array, u: Array) -> Array:
        """Return accelerations of rows while no stop pushes; friction of the others that move goes on."""
        rows = self.rows
        still = (side != 0) | (rows.together(u) <= self.rest * self.wide)
        decider = StickSlipSolver(rows, base, now, still, self._mine(base), side, u, self.rest, self.reach)
        rates = Evaluated(rows, decider.under_way(), now).a
        return rates if np.isfinite(rates).all() else Evaluated(rows, decider.without_friction(), now).a

    def _jam(self, now: EventContext, base: Conditions, jams: Sequence[int], change: Change) -> None:
        """Stop rows that jam."""
        if len(jams):
            self._still(now, base, jams)
            change.words += [f"{self.rows.names[k]} jams" for k in jams]
            change.loses = True

    def _still(self, now: EventContext, base: Conditions, chosen: Sequence[int]) -> None:
        """Take the speeds of rows."""
        rows, model = self.rows, self.model
        J = rows.jacobian(now.q)[list(chosen)]
        P, missed = loop_rates(base, now.q, now.v, now.t)
        wanted = np.concatenate([missed, -rows.motion(now.q[None], now.v[None])[1][0, list(chosen)]])
        jumps = VelocityJumpSolver(model, now.q, base.paced, np.vstack([P, J]), lend=True)
        now.v = now.v + jumps.respond(np.zeros((1, model.nv)), None, wanted[None])[0]

    def jam(self, now: EventContext) -> Change | None:
        """Stop what slides and finds no friction that fits its load any more; None if that is not what happened."""
        rows, locked = self.rows, self.modes.locked
        base = self.let_go(now.conditions)
        u = rows.motion(now.q[None], now.v[None])[1][0]
        mine = self._mine(base)
        at_rest = mine & self.modes.stuck
        decider = StickSlipSolver(rows, base, now, at_rest, mine, self.modes.side, u, self.rest, self.reach)
        jams = decider.too_strong(self.modes)
        for note in decider.notes:
            self._note(note)
        self.modes.locked = locked  # still in force; `settle` lets them go
        return self.settle(now, (), jams) if jams else None

    def _put_on_stops(self, now: EventContext, side: Array) -> None:
        """Put coordinates of the trees exactly onto the stops that they are on."""
        rows = self.rows
        for k in np.flatnonzero(side):
            if 0 <= rows.coordinates[k] < self.model.nq:
                now.q[rows.coordinates[k]] = rows.lower[k] if side[k] < 0 else rows.upper[k]

    def _stop_locked(self, now: EventContext) -> None:
        """Take what is left of the speeds of locked rows."""
        if not self.modes.locked:
            return
        model, conditions = self.model, now.conditions
        places = self.rows.places[self.modes.locked]
        P, missed = loop_rates(conditions, now.q, now.v, now.t)
        J = self.rows.jacobian(now.q)[[k for k in self.modes.locked if self.rows.places[k] >= model.nv]]
        locked = np.zeros(model.nv, dtype=bool)
        locked[places[places < model.nv]] = True
        wanted = np.concatenate([missed, -J @ now.v])
        jumps = VelocityJumpSolver(model, now.q, conditions.paced, np.vstack([P, J]), lend=True)
        now.v = now.v + jumps.respond(np.zeros((1, model.nv)), np.where(locked, -now.v, 0.0)[None], wanted[None])[0]
        now.v[locked] = 0.0

    # ---- words

    def _note(self, note: str) -> None:
        if note not in self.said:
            self.said.append(note)

    def notes(self) -> list[str]:
        """Return what the run should say about its friction and stops."""
        return [*self.said, *self.hits.notes(self.rows)]

    def _undecided(self, t: float, resting: BoolArray) -> list[int]:
        """Return rows at rest to be held for a while, whatever it takes: they change again and again without progress.

        Their loads are so close to zero or to what friction can bear that rounding decides, or follow something faster
        than the run can resolve. Held rows let time go on; after that they are decided anew.
        """
        recent = [k for k, moment in enumerate(self.recent) if self.changed[k] and self._just_now(moment, t)]
        before = [k for k in self.held if resting[k]] if t < self.held_until else []
        counts = np.bincount([row for k in recent for row in self.changed[k]], minlength=len(self.rows))
        held = np.flatnonzero((counts > 1) & resting).tolist()
        if len(recent) < UNDECIDED or not held:
            return before
        held = self.held = sorted({*before, *held})
        self.hold = 10.0 * self.hold if t - self.held_until <= 10.0 * self.hold else MIN_PROGRESS * self.span
        if self.hold > LONGEST_HOLD * self.span:
            raise self._stagnation(t, held, len(recent), t - self.recent[recent[0]])
        self.held_until = t + self.hold
        self.changed = [[] for _ in self.changed]  # what comes after the hold counts anew
        names = ", ".join(self.rows.names[k] for k in held[:6])
        self._note(
            f"whether {names} stick{'s' * (len(held) == 1)}, slip{'s' * (len(held) == 1)} or leave"
            f"{'s' * (len(held) == 1)} a stop changed {len(recent)} times without progress near t = {t:.6g} s: loads "
            f"there cannot be told from their limits; held for {self.hold:.2g} s, then decided anew"
        )
        return held

    def _just_now(self, moment: float, t: float) -> bool:
        return t - moment <= MIN_PROGRESS * self.span

    def _check_progress(self, t: float, before: Modes, struck: Sequence[int]) -> None:
        """Take wider tolerances where changes come without progress; refuse where that does not help."""
        modes = self.modes
        other = (before.stuck != modes.stuck) | (before.side != modes.side)
        other |= self.rows.alone & (before.sign != modes.sign)
        other[list(struck)] = True
        self.recent = [*self.recent[1 - STAGNATION_COUNT :], t]
        self.changed = [*self.changed[1 - STAGNATION_COUNT :], np.flatnonzero(other).tolist()]
        if len(self.recent) > MAX_STALLED_CHANGES and self._just_now(self.recent[-1 - MAX_STALLED_CHANGES], t):
            self.wide = min(10.0 * self.wide, MAX_REST_TOL_FACTOR)
        else:
            self.wide = 1.0
        for count, within in ((40, MIN_PROGRESS), (STAGNATION_COUNT, STAGNATION_COUNT / STAGNATION_AHEAD)):
            if len(self.recent) >= count and t - self.recent[-count] <= within * self.span:
                rows = sorted({k for rows in self.changed[-count:] for k in rows})
                raise self._stagnation(t, rows, count, t - self.recent[-count])

    def _stagnation(self, t: float, rows: Sequence[int], count: int, time: float) -> IntegrationError:
        names = ", ".join(self.rows.names[k] for k in [*rows][:6]) + (", ..." if len(rows) > 6 else "")
        return IntegrationError(
            f"at t = {t:.9g} s the run does not get on: {names or 'joints'} changed between sticking, slipping, stops "
            f"and release {count} times within {time:.2g} s; raise atol, or take friction='smooth' or stops='soft'"
        )

    # ---- going on later

    def plain(self) -> dict[str, Any]:
        """Return what it remembers."""
        return {
            **self.modes.plain(),
            "recent": list(self.recent),
            "changed": [list(rows) for rows in self.changed],
            "wide": self.wide,
            "hold": [self.hold, self.held_until, list(self.held)],
            "hits": self.hits.plain(),
            "said": list(self.said),
            "patience": self.patience,
            "holding": None if self.holding is None else self.holding.plain(),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Take up what was kept."""
        self.modes = Modes.of(kept)
        self.recent, self.wide, self.said = list(kept["recent"]), float(kept["wide"]), list(kept["said"])
        self.changed = [list(rows) for rows in kept.get("changed", [[] for _ in self.recent])]
        self.hold, self.held_until, self.held = kept.get("hold", (0.0, -np.inf, []))
        self.patience = float(kept["patience"])
        self.hits.restore(kept["hits"])
        self.holding = None if kept["holding"] is None else HoldingLimits.of(kept["holding"])


def _of_the_run(_: Any) -> float:
    """Stand in for what the run itself watches and does."""
    return 1.0
