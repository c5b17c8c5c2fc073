"""Who of the rows at rest sticks and who slips, where bounds of friction may follow the loads that the answer leads to.

With constant bounds one problem decides (`RowsAtRest`). Else bounds go by the loads that a first answer leads to, who
sticks goes by these bounds, and again, until the same rows stick under the bounds that go with it. Where that goes
round in circles, all answers are looked through, those first with which most sticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...compile.joint_elements import SIGN_MODE
from ...errors import SingularityError
from ...model import Conditions
from ..events.events import EventContext
from .discontinuous_forces import DiscontinuousForces
from .holding_margin import HoldingLimits
from .load_limits import Evaluated, friction_load_gain, with_fixed_friction, with_signs
from .modes import Modes, RowsAtRest, StickSlipDecision
from .rows import FrictionRows, Response

__all__ = ["StickSlipSolver"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ZERO_ACCELERATION_TOL = 1e-9  # of the largest: an acceleration below is none
NOISE = 1e-13  # of what an effort or its acceleration could be by its size: below, a sum of such terms is rounding
FLOOR = 1e-3  # of the size of efforts: none is measured by less, so that what lets go is well beyond rounding
IMMOBILE_TOL = 1e-12  # of its response without the loops: one that cannot move
MAX_LOAD_ITERATIONS = 30  # of bounds by loads
MAX_ENUMERATED_ROWS = 6  # rows whose answers can all be looked through
MAX_FRICTION_GAIN = 0.99  # a gain from which friction and loads may not fit each other


class StickSlipSolver:
    """The decision at one state.

    Parameters
    ----------
    rows : DryRows
    base : Conditions
        Without locks of ours.
    now : Situation
    at_rest, mine : (n,) bool
        Rows at rest, or on stops; those that are neither driven nor locked by others.
    side : (n,)
        On which stop each is.
    u : (n,) rad/s or m/s
    rest : (n,) rad/s or m/s
        Speeds that count as none.
    reach : float, rad or m
        Likewise of coordinates.
    jammed : sequence of int
        Rows that stick whatever it takes.

    Attributes
    ----------
    jams : list of int
        Rows that slide and have no friction that fits their load.
    notes : list of str
    back : (nv,) rad or m
        A move onto the jumps of laws that help to hold.
    """

    def __init__(
        self,
        rows: FrictionRows,
        base: Conditions,
        now: EventContext,
        at_rest: BoolArray,
        mine: BoolArray,
        side: Array,
        u: Array,
        rest: Array,
        reach: float,
        jammed: Sequence[int] = (),
    ) -> None:
        self.rows, self.base, self.now, self.mine, self.side, self.rest = rows, base, now, mine, side, rest
        self.reach, self.laws = reach, DiscontinuousForces.none(rows.model)
        self.back = np.zeros(rows.model.nv)
        self.jammed = np.isin(np.arange(len(rows)), list(jammed))
        self.jams: list[int] = []
        self.notes: list[str] = []
        moves = mine & ~at_rest & rows.rubs
        self.sign = np.where(moves & rows.alone, np.sign(u), 0.0)
        self.slides = moves.copy()
        for ball in rows.balls:
            size = float(np.linalg.norm(u[ball]))
            if moves[ball].any() and size > 0:
                self.sign[ball], self.slides[ball] = u[ball] / size, True
        self.concerned = at_rest & mine & (rows.rubs | (side != 0))

    # ---- conditions

    def without_friction(self) -> Conditions:
        """Return conditions under which no row has friction."""
        return with_signs(self.rows, self.base, np.zeros(len(self.rows)), self.rest)

    def under_way(self) -> Conditions:
        """Return conditions under which rows that move have friction, and no others."""
        return with_signs(self.rows, self.base, self.sign, self.rest)

    def under(self, modes: Modes) -> Conditions:
        """Return conditions with modes; what is driven or locked by others goes by the sign of speeds."""
        rows = self.rows
        ours = self.mine.copy()
        for ball in rows.balls:
            ours[ball] = self.mine[ball].any()
        conditions = with_signs(rows, self.base, np.where(ours, modes.sign, SIGN_MODE), self.rest)
        places = {int(place) for place in rows.places[modes.locked]}
        if not places and not modes.slides:
            return conditions
        return conditions.changed(locked=self.base.locked | places, **modes.of_laws)

    # ---- deciding

    def decide(self, let_go: BoolArray | None = None) -> tuple[Modes, HoldingLimits | None]:
        """Return the modes, and what the rows that stick can be held with.

        `let_go` (n,) are the rows that stuck, if they cannot all be held any more.
        """
        self.let_go = let_go
        rows = self.rows
        modes = Modes.none(len(rows))
        modes.sign, modes.side = self.sign.copy(), np.where(self.concerned, self.side, 0.0)
        if self.concerned.any():
            self._look(modes)
        else:
            self.chosen = np.zeros(0, dtype=np.intp)
        if not rows.loaded.any():
            return self._by_bounds(modes, np.zeros(len(rows))) if len(self.chosen) else (modes, None)
        return self._by_loads(modes)

    def _look(self, modes: Modes) -> None:
        """See which rows are to be decided, and what they are like; those that no effort can hold are left aside."""
        rows, base, now = self.rows, self.base, self.now
        response = Response(rows, base, now.q, now.t, base.given)
        passing = self.concerned & (np.diag(response.A) < IMMOBILE_TOL * response.own)
        if passing.any():
            free_rates = Evaluated(rows, with_signs(rows, base, self.sign, self.rest), now).a
            # it turns back where the motion of others takes it, or stays where nothing moves
            turns = passing & (
                np.abs(free_rates) > ZERO_ACCELERATION_TOL * max(1.0, float(np.abs(free_rates).max(initial=0.0)))
            )
            modes.sign = np.where(turns & rows.rubs & rows.alone, np.sign(free_rates), modes.sign)
            modes.idle = passing & ~turns
            self.sign = modes.sign.copy()
        self.chosen = np.flatnonzero(self.concerned & ~passing)
        chosen = self.chosen
        self.broken = np.zeros(len(chosen), dtype=bool)
        places = {int(k): place for place, k in enumerate(chosen)}
        balls = [
            [places[int(k)] for k in ball if k in places and not self.side[k] and not self.jammed[k]]
            for ball in rows.balls
        ]
        balls = [ball for ball in balls if len(ball) > 1]
        pinned = (rows.lower[chosen] == rows.upper[chosen]) & (self.side[chosen] != 0) | self.jammed[chosen]
        self.sizes = response.sizes(self.under_way(), now)[chosen]
        noise = NOISE * self.sizes * response.own[chosen]
        self.problem = RowsAtRest(response.A[np.ix_(chosen, chosen)], self.side[chosen], pinned, balls, noise)
        tolerances = self.reach, float(self.rest.min(initial=np.inf))
        self.laws = DiscontinuousForces.at(self.under_way(), now, response.jumps, tolerances)
        self.joint = self.problem
        if self.laws.thresholds:
            J = np.vstack([response.J[chosen], self.laws.G])
            A = J @ np.vstack([response.D[chosen], response.jumps.respond(self.laws.G)]).T
            more = len(self.laws.thresholds)
            sides, pins = np.append(self.side[chosen], np.zeros(more)), np.append(pinned, np.zeros(more, dtype=bool))
            self.joint = RowsAtRest(0.5 * (A + A.T), sides, pins, balls, np.append(noise, np.zeros(more)))

    def _by_bounds(self, modes: Modes, loads: Array) -> tuple[Modes, HoldingLimits | None]:
        """Return modes and what holds, with bounds of friction as under loads (n,)."""
        rows, chosen, laws = self.rows, self.chosen, self.laws
        friction, static = rows.frictions(self.base, loads)
        still = laws.held(with_fixed_friction(rows, with_signs(rows, self.base, self.sign, self.rest), friction))
        a0 = np.concatenate([Evaluated(rows, still, self.now).a[chosen], laws.rates(still, self.now)])
        free = np.where(self.slides[chosen], 0.0, 1.0)  # what slides has its friction
        least, most = free * friction[chosen], free * static[chosen]
        limits = (np.append(limit, laws.strength) for limit in (least, np.where(self.broken, least, most)))
        verdict = self.joint.decide(a0, *limits)
        self.broken |= verdict.broken[: len(chosen)]  # what has broken away has its friction, whatever loads follow
        helping, sliding, verdict = self._apart(verdict)
        self._tell_balance(verdict, static)
        found, holding = self._with(modes, verdict, static)
        found.slides = [laws.thresholds[k] for k in sliding]
        if holding is None or not helping:
            return found, holding
        found.laws = [laws.thresholds[k] for k in helping]
        self.back = laws.back[helping].sum(axis=0)
        self._note_assisted_stick(found)
        return found, self._helped(holding, helping)

    def _apart(self, verdict: StickSlipDecision) -> tuple[list[int], list[int], StickSlipDecision]:
        """Return laws that help to hold what sticks, those along which the motion slides, and the verdict of rows."""
        m, joint = len(self.chosen), self.joint
        slips = verdict.slips[:m]
        free = joint.independent([*(k for k in verdict.free if k < m), *np.flatnonzero(~slips).tolist()])
        stays = [k for k in range(m, len(verdict.x)) if not verdict.slips[k]]
        helping = [k - m for k in stays if joint.follows(free, k)]
        sliding = [k - m for k in stays if k - m not in helping]
        return helping, sliding, StickSlipDecision(verdict.x[:m], free, slips, verdict.way[:m], verdict.broken[:m])

    def _helped(self, holding: HoldingLimits, helping: list[int]) -> HoldingLimits:
        """Return what holds, with the help of laws: rows after all others."""
        n, m, A = len(self.rows), len(self.chosen), self.joint.A
        places = {int(k): place for place, k in enumerate(self.chosen)}
        free, laws = [places[k] for k in holding.locked], [m + k for k in helping]
        share = np.linalg.solve(A[free][:, free], A[free][:, laws])
        none = np.zeros(len(laws), dtype=bool)
        return replace(
            holding,
            also=[*holding.also, *(n + k for k in range(len(laws)))],
            below=np.append(holding.below, none),
            above=np.append(holding.above, none),
            share=np.hstack([holding.share, share]),
            scale=np.append(holding.scale, self.laws.strength[helping]),
        )

    def _tell_balance(self, verdict: StickSlipDecision, static: Array) -> None:
        """Say which stops without friction carry a load that cannot be told from none, and hold all the same."""
        small = ~verdict.slips & (self.side[self.chosen] != 0) & ~self.problem.pinned & (static[self.chosen] == 0)
        small &= (np.abs(verdict.x) <= NOISE * self.sizes) & (self.sizes > 0)
        alone = [k for k in verdict.free if small[k]]
        quiet = [k for k in np.flatnonzero(small).tolist() if k in alone or self.problem.follows(alone, k)]
        if alone:
            names = ", ".join(self.rows.names[self.chosen[k]] for k in quiet)
            self.notes.append(
                f"{names}: the load on the stop cannot be told from zero; held there until something pulls"
            )

    def _note_assisted_stick(self, modes: Modes) -> None:
        """Say which laws hold what sticks, too."""
        model = self.rows.model
        names = {place.row: name for name, place in model.compiled.elements.places.items()}
        owners = {names.get(model.thresholds[k][0], "") for k in modes.laws}
        stuck = ", ".join(self.rows.names[k] for k in modes.locked)
        self.notes += [
            f"the law of element {name!r} jumps where {stuck} sticks, and helps friction to hold it; which of the two "
            "holds how much is not determined: the law is told as the mean of both sides of its jump, friction as the "
            "rest"
            for name in sorted(owners - {""})
        ]

    def _with(self, modes: Modes, verdict: StickSlipDecision, static: Array) -> tuple[Modes, HoldingLimits | None]:
        """Return modes and what holds after a verdict."""
        rows, chosen, problem = self.rows, self.chosen, self.problem
        sign, stuck, side = modes.sign.copy(), np.zeros(len(rows), dtype=bool), modes.side.copy()
        stays, free = ~verdict.slips, verdict.free
        stuck[chosen[stays]] = True
        leaving = chosen[verdict.slips]
        rubs = rows.rubs[leaving] & ~self.slides[leaving]
        sign[leaving] = np.where(rubs, verdict.way[verdict.slips], sign[leaving])
        side[leaving] = 0.0
        locked = [int(chosen[k]) for k in free]
        found = Modes(sign, stuck, locked, side, modes.idle.copy())
        if not free:
            return found, None
        others = np.flatnonzero(stays & ~np.isin(np.arange(len(chosen)), free))
        share: Array = np.linalg.solve(problem.A[free][:, free], problem.A[free][:, others]).astype(float)
        below, above, scale = np.zeros(len(rows), bool), np.zeros(len(rows), bool), np.zeros(len(rows))
        below[chosen], above[chosen] = problem.unbounded
        scale[chosen] = np.maximum(np.maximum(np.abs(verdict.x), static[chosen]), FLOOR * self.sizes)
        balls = [[int(chosen[k]) for k in ball] for ball in problem.balls]
        return found, HoldingLimits(locked, [int(chosen[k]) for k in others], below, above, share, scale, balls)

    # ---- bounds that follow loads

    def _by_loads(self, modes: Modes) -> tuple[Modes, HoldingLimits | None]:
        """Return modes and what holds, with bounds that go with the loads that these modes lead to."""
        m = len(self.chosen)
        held: tuple[Modes, HoldingLimits | None] = modes, None
        if m:
            held = self._with(modes, self._all_stick(np.zeros(m, bool), np.zeros(m)), np.zeros(len(self.rows)))
        found = self._evaluated(held[0])
        last: Modes | None = None
        for _ in range(MAX_LOAD_ITERATIONS if found.fits and m else 0):
            answer = self._by_bounds(modes, found.loads)
            found = self._evaluated(answer[0])
            if not found.fits:
                break
            if last is not None and answer[0].like(last):
                self._check_gain(answer[0], found)
                return answer
            last = answer[0]
        if not m and found.fits:
            self._check_gain(modes, found)
            return held
        if not found.fits and self.slides.any():
            self.jams = self.too_strong(modes)
            if self.jams:
                return modes, None
        return self._search(modes)

    def _evaluated(self, modes: Modes) -> Evaluated:
        return Evaluated(self.rows, self.under(modes), self.now)

    def _all_stick(self, slips: BoolArray, way: Array) -> StickSlipDecision:
        """Return the verdict that all stick but for some."""
        free = self.problem.independent(np.flatnonzero(~slips).tolist())
        return StickSlipDecision(np.zeros(len(slips)), free, slips, way, np.zeros(len(slips), dtype=bool))

    def _search(self, modes: Modes) -> tuple[Modes, HoldingLimits | None]:
        """Return the first answer that is right, of all of them."""
        rows, chosen = self.rows, self.chosen
        ways = [
            (0.0,) if any(k in ball for ball in self.problem.balls) else (0.0, 1.0, -1.0) for k in range(len(chosen))
        ]
        every = sorted(product(*ways), key=np.count_nonzero) if len(chosen) <= MAX_ENUMERATED_ROWS else []
        for answer in every:
            way = np.array(answer)
            found, holding = self._with(modes, self._all_stick(way != 0, way), np.zeros(len(rows)))
            if self.let_go is not None and np.array_equal(found.stuck, self.let_go):
                continue
            at = self._evaluated(found)
            if not at.fits:
                continue
            static = rows.frictions(self.base, at.loads)[1]
            if holding is not None:
                holding.scale[:] = np.maximum.reduce(
                    [holding.scale, static, np.full_like(static, 1e-9 * np.abs(at.held).max(initial=0.0))]
                )
                if holding.margin(at.held[None, rows.places[found.locked]], static[None])[0] < 0:
                    continue
            least = ZERO_ACCELERATION_TOL * max(float(np.abs(at.a).max(initial=0.0)), 1e-300)
            if (at.a[chosen] * way >= -least * (way != 0)).all():
                self._check_gain(found, at)
                return found, holding
        names = ", ".join(repr(rows.names[k]) for k in chosen)
        raise SingularityError(
            f"at t = {self.now.t:.9g} s friction of {names} follows loads so strongly that nothing fits: neither "
            "sticking nor slipping any way has loads that go with it; give them longer guides, a larger half_length, "
            "or less friction"
        )

    def too_strong(self, modes: Modes) -> list[int]:
        """Return rows that slide with a friction that follows its own load too strongly to fit it."""
        rows = self.rows
        conditions = self.under(modes)
        slides = [int(k) for k in np.flatnonzero(self.slides & rows.loaded)]
        held = Evaluated(rows, self.without_friction(), self.now)
        friction = rows.frictions(self.base, held.loads)[0] if held.fits else np.ones(len(rows))
        strength, part = friction_load_gain(rows, conditions, self.now, friction, slides)
        if strength < MAX_FRICTION_GAIN:
            return []
        jams = [k for k, size in zip(slides, part, strict=True) if size > 0.1 * part.max()]
        names = ", ".join(rows.names[k] for k in jams)
        self.notes.append(
            f"{names} jammed at t = {self.now.t:.6g} s: friction follows its own load with a gain of {strength:.3g}, "
            "and none fits any more; stopped at once by an impulse. Give it a longer guide, a larger half_length, or "
            "less friction"
        )
        return jams

    def _check_gain(self, modes: Modes, found: Evaluated) -> None:
        """Say where friction follows its own load so strongly that accelerations may not be unique."""
        rows = self.rows
        slides = [int(k) for k in np.flatnonzero((modes.sign != 0) & rows.loaded)]
        friction = rows.frictions(self.base, found.loads)[0]
        strength = friction_load_gain(rows, self.under(modes), self.now, friction, slides)[0] if slides else 0.0
        if strength >= 1.0:
            names = ", ".join(rows.names[k] for k in slides)
            self.notes.append(
                f"friction of {names} follows its own load with a gain of {strength:.3g} from t = {self.now.t:.6g} s "
                "on: more than one acceleration fits, or none; taken is the one nearest to that without friction"
            )
