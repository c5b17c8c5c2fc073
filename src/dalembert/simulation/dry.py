"""Dry friction and stops of hinges in a run: who sticks, who slips, who bounces, who leaves.

Row i, a coordinate with speed u_i, has friction f_i and static friction s_i >= f_i. With lam_i the effort on it,

    u_i > 0: lam_i = -f_i,   u_i < 0: lam_i = f_i,   u_i = 0: lam_i in [-s_i, s_i], at a stop up to infinity         (1)

Between two changes every row has a mode: it slides with a given sign, which its friction keeps even if a step goes
beyond its rest; or it sticks and is locked, its effort that of the lock. A change comes where a sliding row comes to
rest, the efforts that hold leave their bounds, or a coordinate reaches a stop. With R the rows at rest and A their
response to efforts on each other, loops and drives obeyed, the new modes follow from

    w = a_0 + A lam,     w_i = 0, or lam_i on a bound with w_i pulling away from it                                  (2)

that is from min lam' A lam / 2 + a_0' lam within the bounds (`solve_box`), which for constant bounds has a unique w.
Stops are reached with an impulse, all that are closed together: u+ = u + A Lam, 0 <= Lam, 0 <= u+ + e u (3). Friction
has no impulse; rows that stick by it are let go in (3) and decided anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis.box import DEPENDENT, pivot, solve_box
from ..analysis.jumps import Jumps
from ..compile.elements import BY_SIGN
from ..errors import IntegrationError, ModelError
from ..model import Conditions
from .dry_rows import DryRows, Response
from .events import Event, Situation
from .holding import Holding
from .impacts import blow, pressing
from .jumps import loop_rates

__all__ = ["Change", "Dry"]

Array = NDArray[np.float64]
Marks = NDArray[np.bool_]

TURNS = 1e-9  # of the largest: an acceleration below is none
IDLE = 1e-12  # of its response without the loops: one that cannot move
SETTLED = 100.0  # times as fast may be what stuck and was moved onto its loops; faster, something has struck it
HURRIED = 3  # changes without progress ...
HURRY = 1e-9  # ... of this part of the run: a wider tolerance for rest is tried
WIDEST = 1e4  # times as wide


@dataclass
class Modes:
    """What the rows do between two changes.

    Attributes
    ----------
    sign : (n,)
        Of a row that slides; 0 of others.
    stuck : (n,) bool
    locked : list of int
        Rows that are locked: those that stick, but for ones that follow from others.
    side : (n,)
        -1 on its lower stop, 1 on its upper one, else 0.
    idle : (n,) bool
        Rows at rest that nothing can move where the mechanism is.
    """

    sign: Array
    stuck: Marks
    locked: list[int]
    side: Array
    idle: Marks


@dataclass
class Hit:
    """A stop that was reached."""

    row: int
    side: int
    speed: float


@dataclass
class Change:
    """What a decision did, in words and numbers."""

    words: list[str] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)


class Dry:
    """Friction and stops of one run.

    Parameters
    ----------
    rows : DryRows
    atol : float
        Tolerance of positions and speeds.
    span : float, s
        How long the run lasts.
    """

    def __init__(self, rows: DryRows, atol: float, span: float) -> None:
        n = len(rows)
        self.rows, self.model, self.span = rows, rows.model, span
        self.reach = atol  # how far beyond a stop a coordinate is when it has reached it
        self.rest = 10.0 * atol  # speeds below are rest
        self.modes = Modes(np.zeros(n), np.zeros(n, bool), [], np.zeros(n), np.zeros(n, bool))
        self.holding: Holding | None = None
        self.recent: list[float] = []
        self.wide = 1.0
        self._marked: tuple[Conditions, Modes, Marks] | None = None
        self.hits: dict[tuple[int, int], tuple[float, float, int]] = {}
        kinds = ("rest", np.ones(n, bool)), ("lower", np.isfinite(rows.lower)), ("upper", np.isfinite(rows.upper))
        self.watched = [(kind, int(k)) for kind, which in kinds for k in np.flatnonzero(which)]
        names = [f"{rows.names[k]}: {kind}" for kind, k in self.watched]
        self.events = [Event(name, _of_the_run, direction=-1, action=_of_the_run) for name in (*names, "dry: lets go")]

    def fresh(self) -> Dry:
        """Return one for another run."""
        return Dry(self.rows, self.reach, self.span)

    # ---- what is watched

    def values(self, conditions: Conditions, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return what falls through zero at a change, (events, k), at states of the present modes."""
        rows, modes = self.rows, self.modes
        s, u = rows.motion(q, v)
        mine = self._mine(conditions)
        sliding = np.where(modes.sign != 0, modes.sign * u, 1.0)
        still = modes.idle | modes.stuck  # what follows from locks elsewhere, until the mechanism has moved on
        still[modes.locked] = False
        sliding = np.where(still, self.rest * self.wide - np.abs(u), sliding)
        free = mine & ~modes.stuck
        gaps = {
            "rest": np.where(mine, sliding, 1.0),
            "lower": np.where(free & (modes.side >= 0), s - rows.lower + self.reach, 1.0),
            "upper": np.where(free & (modes.side <= 0), rows.upper - s + self.reach, 1.0),
        }
        values = np.ones((len(self.events), len(t)))
        for row, (kind, k) in zip(values, self.watched, strict=False):
            row[:] = gaps[kind][:, k]
        if self.holding is not None:
            efforts = self.model.report(["held"], t, q, v, x, conditions=conditions)["held"]
            values[-1] = self.holding.margin(efforts[:, rows.places[modes.locked]])
        return values

    @property
    def sticks(self) -> bool:
        """Whether something is held: nothing may move, but steps must not miss what the efforts do."""
        return self.holding is not None

    def _mine(self, conditions: Conditions) -> Marks:
        """Return the rows that are neither driven nor locked by others."""
        if self._marked is not None and self._marked[0] is conditions and self._marked[1] is self.modes:
            return self._marked[2]
        nv, ours = self.model.nv, self._ours()
        tree = self.rows.places < nv
        others = np.isin(self.rows.places, list(conditions.locked - ours))
        driven = conditions.given[np.where(tree, self.rows.places, 0)] & tree
        mine: Marks = ~others & ~(driven & ~np.isin(self.rows.places, list(ours)))
        self._marked = conditions, self.modes, mine
        return mine

    def _ours(self) -> set[int]:
        """Return the speeds that we have locked."""
        return {int(place) for place in self.rows.places[self.modes.locked]}

    # ---- changes

    def begin(self, now: Situation) -> Change:
        """Decide the modes at the start of a run."""
        s, _ = self.rows.motion(now.q[None], now.v[None])
        outside = (s[0] < self.rows.lower - 1e3 * self.reach) | (s[0] > self.rows.upper + 1e3 * self.reach)
        for k in np.flatnonzero(outside & self._mine(now.conditions)):
            raise ModelError(
                f"hinge coordinate {self.rows.names[k]!r}",
                "start",
                f"{s[0, k]:.6g} {self.rows.units[k]}",
                f"it is outside its limits, {self.rows.lower[k]:.6g} to {self.rows.upper[k]:.6g}; start within them, "
                "give others, or leave them out by stops='off'",
            )
        return self.settle(now, ())

    def settle(self, now: Situation, passed: Iterable[int]) -> Change:
        """Decide the modes anew, with impulses where stops are reached; `passed`: events of ours that happened."""
        rows, change = self.rows, Change()
        before = self.modes
        base = self.let_go(now.conditions)
        mine = self._mine(base)
        happened = [self.watched[event] for event in passed if event < len(self.watched)]
        came = [k for kind, k in happened if kind == "rest" and before.sign[k]]
        went = [k for kind, k in happened if kind == "rest" and not before.sign[k]]
        s, u = (part[0] for part in rows.motion(now.q[None], now.v[None]))
        slow = self.rest * self.wide * np.where(before.stuck, SETTLED, 1.0)
        at_rest = mine & (np.abs(u) <= slow)
        at_rest[came] = mine[came]
        at_rest[went] = False
        side = self._closed(s, u, mine, happened)
        if (mine & (side * u > self.rest * self.wide)).any():
            self._strike(now, base, side, u, change)
            u = rows.motion(now.q[None], now.v[None])[1][0]
            at_rest = mine & (np.abs(u) <= self.rest * self.wide)
        side[side * u < -self.rest * self.wide] = 0.0
        side[~at_rest] = 0.0
        self._put_on_stops(now, side)
        self.modes = self._decided(now, base, at_rest, mine, side, u)
        now.conditions = self._with_modes(base, mine)
        self._stop_locked(now)
        self._say(before, change)
        self._mind_hurry(now.t)
        return change

    def _closed(self, s: Array, u: Array, mine: Marks, happened: Sequence[tuple[str, int]]) -> Array:
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
        return conditions.changed(locked=conditions.locked - ours) if ours else conditions

    def _strike(self, now: Situation, base: Conditions, side: Array, u: Array, change: Change) -> None:
        """Let rows bounce off their stops, by (3)."""
        rows = self.rows
        closed = np.flatnonzero(side)
        response = Response(rows, base, now.q, now.t, base.paced)
        normal = -side[closed]
        closing = normal * u[closed]
        A = response.A[np.ix_(closed, closed)] * np.outer(normal, normal)
        free = normal * self._free_accelerations(now, base, np.zeros(len(rows)))[closed]
        least = {"least_speed": self.rest * self.wide, "least_flight": 10 * self.reach}
        x = blow(A, closing, rows.restitution[closed], pressing(A, free), **least)
        now.v = now.v + (normal * x) @ response.D[closed]
        for k, speed in zip(closed, closing, strict=True):
            if speed < -self.rest * self.wide:
                change.hits.append(Hit(int(k), int(side[k]), float(-speed)))

    def _put_on_stops(self, now: Situation, side: Array) -> None:
        """Put coordinates of the trees exactly onto the stops that they are on."""
        rows = self.rows
        for k in np.flatnonzero(side):
            if 0 <= rows.coordinates[k] < self.model.nq:
                now.q[rows.coordinates[k]] = rows.lower[k] if side[k] < 0 else rows.upper[k]

    def _free_accelerations(self, now: Situation, base: Conditions, sign: Array) -> Array:
        """Return the second rates (n,) of the rows while those that slide with a sign have their friction."""
        conditions = self._with_signs(base, sign)
        a = self.model.dynamics(now.t, now.q, now.v, now.x, conditions=conditions)[0]
        return self.rows.accelerations(now.q, now.v, a)

    def _decided(self, now: Situation, base: Conditions, at_rest: Marks, mine: Marks, side: Array, u: Array) -> Modes:
        """Return the modes that (2) gives."""
        rows = self.rows
        n = len(rows)
        friction, static = rows.frictions(base)
        rubs = rows.friction >= 0
        sign = np.where(mine & ~at_rest & rubs, np.sign(u), 0.0)
        concerned = at_rest & (rubs | (side != 0))
        modes = Modes(sign, np.zeros(n, bool), [], np.where(concerned, side, 0.0), np.zeros(n, bool))
        self.holding = None
        if not concerned.any():
            return modes
        response = Response(rows, base, now.q, now.t, base.given)
        passing = concerned & (np.diag(response.A) < IDLE * response.own)
        free_rates = self._free_accelerations(now, base, sign)
        # what no effort can hold turns back where the motion of others takes it, or stays where nothing moves
        turns = passing & (np.abs(free_rates) > TURNS * max(1.0, float(np.abs(free_rates).max(initial=0.0))))
        modes.sign = np.where(turns & rubs, np.sign(free_rates), modes.sign)
        modes.idle = passing & ~turns
        chosen = np.flatnonzero(concerned & ~passing)
        if not len(chosen):
            return modes
        a0 = free_rates[chosen]
        A = response.A[np.ix_(chosen, chosen)]
        limit = static[chosen].copy()
        on, pinned = side[chosen], rows.lower[chosen] == rows.upper[chosen]
        for _ in range(len(chosen) + 1):
            lower, upper = _bounds(limit, on, pinned)
            found = solve_box(A, a0, lower, upper)
            x, free = found.x, list(found.free)
            bound = (x <= lower) | (x >= upper)
            for k in np.flatnonzero(~bound):
                if k not in free and pivot(A, free, int(k)) > DEPENDENT * A[k, k]:
                    free.append(int(k))
            follows = np.array([k not in free and pivot(A, free, k) <= DEPENDENT * A[k, k] for k in range(len(chosen))])
            slips = bound & ~follows
            slips[free] = False
            broken = slips & (limit > friction[chosen])
            if not broken.any():
                break
            limit[int(np.argmax(np.where(broken, np.abs(found.w), -1.0)))] = 0.0
            limit = np.maximum(limit, friction[chosen])
        stays = ~slips
        modes.stuck[chosen[stays]] = True
        modes.locked = [int(chosen[k]) for k in free]
        leaving = chosen[slips]
        way = np.where(x[slips] >= upper[slips], -1.0, 1.0)
        way = np.where((upper[slips] == lower[slips]), np.sign(found.w[slips]), way)
        modes.sign[leaving] = np.where(rubs[leaving], way, 0.0)
        modes.side[leaving] = 0.0
        static_now = static[chosen]
        low, high = _bounds(static_now, on, pinned)
        others = np.flatnonzero(stays & ~np.isin(np.arange(len(chosen)), free))
        if free:
            share: Array = np.linalg.solve(A[free][:, free], A[free][:, others]).astype(float)
            scale = np.maximum(np.abs(x[free]), static_now[free])
            self.holding = Holding(low[free], high[free], low[others], high[others], share, scale)
        return modes

    def _with_signs(self, conditions: Conditions, sign: Array) -> Conditions:
        """Return conditions with rows that slide with a sign; those with none are without friction."""
        rubs = self.rows.friction >= 0
        parameters = conditions.parameters.copy()
        parameters[self.rows.friction[rubs] + 1] = sign[rubs]
        return conditions.changed(parameters=parameters)

    def _with_modes(self, base: Conditions, mine: Marks) -> Conditions:
        """Return conditions with the present modes; what is driven or locked by others goes by the sign of speeds."""
        conditions = self._with_signs(base, np.where(mine, self.modes.sign, BY_SIGN))
        return conditions.changed(locked=base.locked | self._ours()) if self.modes.locked else conditions

    def _stop_locked(self, now: Situation) -> None:
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
        jumps = Jumps(model, now.q, conditions.paced, np.vstack([P, J]))
        now.v = now.v + jumps.respond(np.zeros((1, model.nv)), np.where(locked, -now.v, 0.0)[None], wanted[None])[0]
        now.v[locked] = 0.0

    # ---- words

    def _say(self, before: Modes, change: Change) -> None:
        rows, modes = self.rows, self.modes
        for hit in change.hits:
            which, limit = ("lower", rows.lower) if hit.side < 0 else ("upper", rows.upper)
            name, unit = rows.names[hit.row], rows.units[hit.row]
            speed = f"{hit.speed:.6g} {unit}/s"
            change.words.append(f"{name} reaches its {which} limit {limit[hit.row]:.6g} {unit} with {speed}")
        for k, name in enumerate(rows.names):
            if modes.stuck[k] and not before.stuck[k]:
                change.words.append(f"{name} {'rests on its stop' if modes.side[k] else 'sticks'}")
            elif before.stuck[k] and not modes.stuck[k]:
                change.words.append(f"{name} {'leaves its stop' if before.side[k] else 'slips'}")
            elif before.sign[k] * modes.sign[k] < 0:
                change.words.append(f"{name} reverses")

    def note_hits(self, change: Change, t: float) -> None:
        """Count the stops that were reached, for the notes of the run."""
        for hit in change.hits:
            first, most, count = self.hits.get((hit.row, hit.side), (t, 0.0, 0))
            self.hits[hit.row, hit.side] = first, max(most, hit.speed), count + 1

    def notes(self) -> list[str]:
        """Return what the run should say about its stops."""
        said = []
        for (row, side), (first, most, count) in sorted(self.hits.items()):
            which, limit = ("lower", self.rows.lower) if side < 0 else ("upper", self.rows.upper)
            unit, times = self.rows.units[row], "once" if count == 1 else f"{count} times"
            said.append(
                f"{self.rows.names[row]} reached its {which} limit {limit[row]:.6g} {unit} {times}, first at "
                f"t = {first:.6g} s, with up to {most:.6g} {unit}/s"
            )
        return said

    def _mind_hurry(self, t: float) -> None:
        """Take wider tolerances where changes come without progress; refuse where that does not help."""
        self.recent = [*self.recent[-39:], t]
        if len(self.recent) > HURRIED and t - self.recent[-1 - HURRIED] <= HURRY * self.span:
            self.wide = min(10.0 * self.wide, WIDEST)
        else:
            self.wide = 1.0
        if len(self.recent) == 40 and t - self.recent[0] <= HURRY * self.span:
            names = ", ".join(self.rows.names[:6])
            raise IntegrationError(
                f"friction and stops of {names} change faster and faster near t = {t:.9g} s: raise atol, or take "
                "friction='smooth' or stops='soft'"
            )

    # ---- going on later

    def plain(self) -> dict[str, Any]:
        """Return what it remembers."""
        modes = self.modes
        return {
            "sign": modes.sign.tolist(),
            "stuck": modes.stuck.tolist(),
            "locked": list(modes.locked),
            "side": modes.side.tolist(),
            "idle": modes.idle.tolist(),
            "recent": list(self.recent),
            "wide": self.wide,
            "hits": [[*key, *value] for key, value in self.hits.items()],
            "holding": None if self.holding is None else self.holding.plain(),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Take up what was kept."""
        sign, side = (np.array(kept[name], dtype=float) for name in ("sign", "side"))
        stuck, idle = (np.array(kept[name], dtype=bool) for name in ("stuck", "idle"))
        self.modes = Modes(sign, stuck, list(kept["locked"]), side, idle)
        self.recent, self.wide = list(kept["recent"]), float(kept["wide"])
        self.hits = {(int(row), int(which)): (t, most, int(n)) for row, which, t, most, n in kept["hits"]}
        self.holding = None if kept["holding"] is None else Holding.of(kept["holding"])


def _bounds(limit: Array, side: Array, pinned: Marks) -> tuple[Array, Array]:
    """Return the bounds of efforts at rest: of friction, and of a stop that pushes; both ways where a row is pinned."""
    on_lower, on_upper = (side < 0) | (pinned & (side != 0)), (side > 0) | (pinned & (side != 0))
    return np.where(on_upper, -np.inf, -limit), np.where(on_lower, np.inf, limit)


def _of_the_run(_: Any) -> float:
    """Stand in for what the run itself watches and does."""
    return 1.0
