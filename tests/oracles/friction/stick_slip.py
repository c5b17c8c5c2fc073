"""Stick-slip modes of rows at rest, with load-dependent friction limits.

With constant limits this is one quadratic program (`RowsAtRest`). Otherwise the limits for the loads of one solution
give the next solution, until the modes repeat. If the iteration cycles, all combinations of modes are enumerated, those
with most stuck rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from dalembert.arrays import Array, BoolArray
from dalembert.model import Conditions
from dalembert.simulation.events.events import EventContext
from dalembert.simulation.friction.load_limits import with_fixed_friction, with_modes, with_signs
from dalembert.simulation.friction.messages import gain_note, jam_note, no_consistent_modes, unloaded_stops
from dalembert.simulation.friction.modes import Modes
from dalembert.simulation.friction.rows import FrictionRows, Response

from .discontinuous_forces import DiscontinuousForces
from .effort_sizes import effort_sizes
from .holding_margin import HoldingMargin
from .load_dependence import FrictionEvaluation, friction_load_gain
from .rows_at_rest import RowsAtRest, StickSlipDecision

__all__ = ["StickSlipSolver"]


ZERO_ACCELERATION_TOL = 1e-9  # of the largest acceleration
ROUNDING = 1e-13  # of the size of an effort or its acceleration: smaller sums are rounding
MIN_EFFORT_SCALE = 1e-3  # of the size of efforts: scale of margins, so that a release is well beyond rounding
IMMOBILE_TOL = 1e-12  # of the response of a row without loops: a smaller response is none
MAX_LOAD_ITERATIONS = 30  # of load-dependent limits
MAX_ENUMERATED_ROWS = 6  # 3^6 combinations
MAX_FRICTION_GAIN = 0.99  # from this gain on friction and loads may have no common solution


class StickSlipSolver:
    """Stick-slip problem at one state.

    Parameters
    ----------
    rows : FrictionRows
    base : Conditions
        Without locks of stuck rows.
    now : EventContext
    at_rest, movable : (n,) bool
        Rows at rest, or on stops; rows that are neither driven nor locked by the user.
    side : (n,)
        Closed stop of each row: -1, 0 or 1.
    u : (n,) rad/s or m/s
    rest_tol : (n,) rad/s or m/s
    position_tol : float, rad or m
    jammed : sequence of int
        Rows held regardless of their limits.

    Attributes
    ----------
    jams : list of int
        Sliding rows without a friction consistent with their load.
    notes : list of str
    correction : (nv,) rad or m
        Displacement onto the jumps of laws that help to hold.
    """

    def __init__(
        self,
        rows: FrictionRows,
        base: Conditions,
        now: EventContext,
        *,
        at_rest: BoolArray,
        movable: BoolArray,
        side: Array,
        u: Array,
        rest_tol: Array,
        position_tol: float,
        jammed: Sequence[int] = (),
    ) -> None:
        self.rows, self.base, self.now, self.movable, self.side, self.rest_tol = (
            rows,
            base,
            now,
            movable,
            side,
            rest_tol,
        )
        self.position_tol, self.laws = position_tol, DiscontinuousForces.none(rows.model)
        self.correction = np.zeros(rows.model.nv)
        self.jammed = np.isin(np.arange(len(rows)), list(jammed))
        self.jams: list[int] = []
        self.notes: list[str] = []
        moves = movable & ~at_rest & rows.has_friction
        self.sign = np.where(moves & rows.has_scalar_friction, np.sign(u), 0.0)
        self.sliding = moves.copy()
        for group in rows.vector_groups:
            size = float(np.linalg.norm(u[group]))
            if moves[group].any() and size > 0:
                self.sign[group], self.sliding[group] = u[group] / size, True
        self.undecided = at_rest & movable & (rows.has_friction | (side != 0))

    # ---- conditions

    def frictionless_conditions(self) -> Conditions:
        """Return conditions without friction."""
        return with_signs(self.rows, self.base, np.zeros(len(self.rows)), self.rest_tol)

    def sliding_conditions(self) -> Conditions:
        """Return conditions with the friction of sliding rows only."""
        return with_signs(self.rows, self.base, self.sign, self.rest_tol)

    def conditions_for(self, modes: Modes) -> Conditions:
        """Return conditions with modes; driven rows and those locked by the user have friction by velocity sign."""
        return with_modes(self.rows, self.base, modes, self.movable, self.rest_tol)

    # ---- solution

    def solve(self, released: BoolArray | None = None) -> tuple[Modes, HoldingMargin | None]:
        """Return the modes, and the limits of the efforts that hold stuck rows.

        `released` (n,) are rows that stuck and cannot all be held any longer.
        """
        self.released = released
        rows = self.rows
        modes = Modes.unknown(len(rows))
        modes.sign, modes.side = self.sign.copy(), np.where(self.undecided, self.side, 0.0)
        if self.undecided.any():
            self._set_up(modes)
        else:
            self.chosen = np.zeros(0, dtype=np.intp)
        if not rows.has_load_friction.any():
            return self._solve_with_limits(modes, np.zeros(len(rows))) if len(self.chosen) else (modes, None)
        return self._solve_with_loads(modes)

    def _set_up(self, modes: Modes) -> None:
        """Set up the problem of the undecided rows, without those that no effort can move."""
        rows, base, now = self.rows, self.base, self.now
        response = Response(rows, base, now.q, now.t, base.acceleration_prescribed)
        passing = self.undecided & (np.diag(response.A) < IMMOBILE_TOL * response.own)
        if passing.any():
            free_rates = FrictionEvaluation(rows, with_signs(rows, base, self.sign, self.rest_tol), now).a
            # such a row reverses with the motion of others, or stays at rest with them
            turns = passing & (
                np.abs(free_rates) > ZERO_ACCELERATION_TOL * max(1.0, float(np.abs(free_rates).max(initial=0.0)))
            )
            modes.sign = np.where(turns & rows.has_friction & rows.has_scalar_friction, np.sign(free_rates), modes.sign)
            modes.immobile = passing & ~turns
            self.sign = modes.sign.copy()
        self.chosen = np.flatnonzero(self.undecided & ~passing)
        chosen = self.chosen
        self.broke_away = np.zeros(len(chosen), dtype=bool)
        places = {int(k): place for place, k in enumerate(chosen)}
        groups = [
            [places[int(k)] for k in group if k in places and not self.side[k] and not self.jammed[k]]
            for group in rows.vector_groups
        ]
        groups = [group for group in groups if len(group) > 1]
        pinned = (rows.lower[chosen] == rows.upper[chosen]) & (self.side[chosen] != 0) | self.jammed[chosen]
        self.sizes = effort_sizes(response, self.sliding_conditions(), now)[chosen]
        noise = ROUNDING * self.sizes * response.own[chosen]
        self.problem = RowsAtRest(response.A[np.ix_(chosen, chosen)], self.side[chosen], pinned, groups, noise)
        tolerances = self.position_tol, float(self.rest_tol.min(initial=np.inf))
        self.laws = DiscontinuousForces.at(self.sliding_conditions(), now, response.jumps, tolerances)
        self.combined = self.problem
        if self.laws.switching_functions:
            J = np.vstack([response.J[chosen], self.laws.G])
            A = J @ np.vstack([response.D[chosen], response.jumps.respond(self.laws.G)]).T
            more = len(self.laws.switching_functions)
            sides, pins = np.append(self.side[chosen], np.zeros(more)), np.append(pinned, np.zeros(more, dtype=bool))
            self.combined = RowsAtRest(0.5 * (A + A.T), sides, pins, groups, np.append(noise, np.zeros(more)))

    def _solve_with_limits(self, modes: Modes, loads: Array) -> tuple[Modes, HoldingMargin | None]:
        """Return modes and holding limits, with friction limits for loads (n,)."""
        rows, chosen, laws = self.rows, self.chosen, self.laws
        friction, static = rows.friction_limits(self.base, loads)
        still = laws.with_mean_branches(
            with_fixed_friction(rows, with_signs(rows, self.base, self.sign, self.rest_tol), friction)
        )
        a0 = np.concatenate([FrictionEvaluation(rows, still, self.now).a[chosen], laws.rates(still, self.now)])
        free = np.where(self.sliding[chosen], 0.0, 1.0)  # sliding rows have their friction already
        least, most = free * friction[chosen], free * static[chosen]
        limits = (np.append(limit, laws.strength) for limit in (least, np.where(self.broke_away, least, most)))
        decision = self.combined.solve(a0, *limits)
        # rows that broke away have sliding friction for all further loads
        self.broke_away |= decision.broke_away[: len(chosen)]
        helping, sliding, decision = self._split_laws(decision)
        self._note_zero_loads(decision, static)
        found, holding = self._apply(modes, decision, static)
        found.sliding_laws = [laws.switching_functions[k] for k in sliding]
        if holding is None or not helping:
            return found, holding
        found.holding_laws = [laws.switching_functions[k] for k in helping]
        self.correction = laws.corrections[helping].sum(axis=0)
        self._note_assisted_stick(found)
        return found, self._with_laws(holding, helping)

    def _split_laws(self, decision: StickSlipDecision) -> tuple[list[int], list[int], StickSlipDecision]:
        """Return laws that help to hold stuck rows, laws in sliding mode, and the decision for the rows."""
        m, joint = len(self.chosen), self.combined
        slips = decision.slips[:m]
        free = joint.independent_of([*(k for k in decision.independent if k < m), *np.flatnonzero(~slips).tolist()])
        stays = [k for k in range(m, len(decision.x)) if not decision.slips[k]]
        helping = [k - m for k in stays if joint.depends_on(free, k)]
        sliding = [k - m for k in stays if k - m not in helping]
        return (
            helping,
            sliding,
            StickSlipDecision(decision.x[:m], free, slips, decision.direction[:m], decision.broke_away[:m]),
        )

    def _with_laws(self, holding: HoldingMargin, helping: list[int]) -> HoldingMargin:
        """Return holding limits with laws as rows after all others."""
        n, m, A = len(self.rows), len(self.chosen), self.combined.A
        places = {int(k): place for place, k in enumerate(self.chosen)}
        free, laws = [places[k] for k in holding.locked], [m + k for k in helping]
        share = np.linalg.solve(A[free][:, free], A[free][:, laws])
        none = np.zeros(len(laws), dtype=bool)
        return replace(
            holding,
            dependent=[*holding.dependent, *(n + k for k in range(len(laws)))],
            unbounded_below=np.append(holding.unbounded_below, none),
            unbounded_above=np.append(holding.unbounded_above, none),
            coupling=np.hstack([holding.coupling, share]),
            scale=np.append(holding.scale, self.laws.strength[helping]),
        )

    def _note_zero_loads(self, decision: StickSlipDecision, static: Array) -> None:
        """Note stops without friction whose load is zero within rounding."""
        small = ~decision.slips & (self.side[self.chosen] != 0) & ~self.problem.pinned & (static[self.chosen] == 0)
        small &= (np.abs(decision.x) <= ROUNDING * self.sizes) & (self.sizes > 0)
        zero_loads = [k for k in decision.independent if small[k]]
        named = [k for k in np.flatnonzero(small).tolist() if k in zero_loads or self.problem.depends_on(zero_loads, k)]
        if zero_loads:
            self.notes.append(unloaded_stops([self.rows.names[self.chosen[k]] for k in named]))

    def _note_assisted_stick(self, modes: Modes) -> None:
        """Note laws that help to hold stuck rows."""
        model = self.rows.model
        names = {place.row: name for name, place in model.compiled.elements.indices.items()}
        owners = {names.get(model.switching_functions[k][0], "") for k in modes.holding_laws}
        stuck = ", ".join(self.rows.names[k] for k in modes.locked)
        self.notes += [
            f"the law of element {name!r} jumps where {stuck} sticks, and helps friction to hold it; which of the two "
            "holds how much is not determined: the law has the mean of both sides of its jump, friction the rest"
            for name in sorted(owners - {""})
        ]

    def _apply(self, modes: Modes, decision: StickSlipDecision, static: Array) -> tuple[Modes, HoldingMargin | None]:
        """Return modes and holding limits for a decision."""
        rows, chosen, problem = self.rows, self.chosen, self.problem
        sign, stuck, side = modes.sign.copy(), np.zeros(len(rows), dtype=bool), modes.side.copy()
        stays, free = ~decision.slips, decision.independent
        stuck[chosen[stays]] = True
        leaving = chosen[decision.slips]
        rubs = rows.has_friction[leaving] & ~self.sliding[leaving]
        sign[leaving] = np.where(rubs, decision.direction[decision.slips], sign[leaving])
        side[leaving] = 0.0
        locked = [int(chosen[k]) for k in free]
        found = Modes(sign, stuck, locked, side, modes.immobile.copy())
        if not free:
            return found, None
        others = np.flatnonzero(stays & ~np.isin(np.arange(len(chosen)), free))
        share: Array = np.linalg.solve(problem.A[free][:, free], problem.A[free][:, others]).astype(float)
        below, above, scale = np.zeros(len(rows), bool), np.zeros(len(rows), bool), np.zeros(len(rows))
        below[chosen], above[chosen] = problem.unbounded
        scale[chosen] = np.maximum(np.maximum(np.abs(decision.x), static[chosen]), MIN_EFFORT_SCALE * self.sizes)
        groups = [[int(chosen[k]) for k in group] for group in problem.groups]
        return found, HoldingMargin(locked, [int(chosen[k]) for k in others], below, above, share, scale, groups)

    # ---- load-dependent limits

    def _solve_with_loads(self, modes: Modes) -> tuple[Modes, HoldingMargin | None]:
        """Return modes and holding limits, with friction limits consistent with the loads in these modes."""
        m = len(self.chosen)
        held: tuple[Modes, HoldingMargin | None] = modes, None
        if m:
            held = self._apply(modes, self._all_stick(np.zeros(m, bool), np.zeros(m)), np.zeros(len(self.rows)))
        found = self._evaluate(held[0])
        last: Modes | None = None
        for _ in range(MAX_LOAD_ITERATIONS if found.consistent and m else 0):
            answer = self._solve_with_limits(modes, found.loads)
            found = self._evaluate(answer[0])
            if not found.consistent:
                break
            if last is not None and answer[0].same_as(last):
                self._note_gain(answer[0], found)
                return answer
            last = answer[0]
        if not m and found.consistent:
            self._note_gain(modes, found)
            return held
        if not found.consistent and self.sliding.any():
            self.jams = self.find_jammed(modes)
            if self.jams:
                return modes, None
        return self._enumerate(modes)

    def _evaluate(self, modes: Modes) -> FrictionEvaluation:
        return FrictionEvaluation(self.rows, self.conditions_for(modes), self.now)

    def _all_stick(self, slips: BoolArray, way: Array) -> StickSlipDecision:
        """Return the decision that all rows stick except some."""
        free = self.problem.independent_of(np.flatnonzero(~slips).tolist())
        return StickSlipDecision(np.zeros(len(slips)), free, slips, way, np.zeros(len(slips), dtype=bool))

    def _enumerate(self, modes: Modes) -> tuple[Modes, HoldingMargin | None]:
        """Return the first consistent combination of modes."""
        rows, chosen = self.rows, self.chosen
        ways = [
            (0.0,) if any(k in group for group in self.problem.groups) else (0.0, 1.0, -1.0) for k in range(len(chosen))
        ]
        every = sorted(product(*ways), key=np.count_nonzero) if len(chosen) <= MAX_ENUMERATED_ROWS else []
        for answer in every:
            way = np.array(answer)
            found, holding = self._apply(modes, self._all_stick(way != 0, way), np.zeros(len(rows)))
            if self.released is not None and np.array_equal(found.stuck, self.released):
                continue
            at = self._evaluate(found)
            if not at.consistent:
                continue
            static = rows.friction_limits(self.base, at.loads)[1]
            if holding is not None:
                holding.scale[:] = np.maximum.reduce(
                    [holding.scale, static, np.full_like(static, 1e-9 * np.abs(at.held).max(initial=0.0))]
                )
                if holding.margin(at.held[None, rows.indices[found.locked]], static[None])[0] < 0:
                    continue
            least = ZERO_ACCELERATION_TOL * max(float(np.abs(at.a).max(initial=0.0)), 1e-300)
            if (at.a[chosen] * way >= -least * (way != 0)).all():
                self._note_gain(found, at)
                return found, holding
        raise no_consistent_modes([rows.names[k] for k in chosen], self.now.t)

    def find_jammed(self, modes: Modes) -> list[int]:
        """Return sliding rows whose friction depends on its own load too strongly for a solution; note them."""
        rows = self.rows
        conditions = self.conditions_for(modes)
        slides = [int(k) for k in np.flatnonzero(self.sliding & rows.has_load_friction)]
        strength, part = 0.0, np.zeros(0)
        for loaded in (self.frictionless_conditions(), conditions):  # loads may turn where friction is large
            at = FrictionEvaluation(rows, loaded, self.now)
            if not at.consistent and loaded is conditions:
                return []
            friction = rows.friction_limits(self.base, at.loads)[0] if at.consistent else np.ones(len(rows))
            strength, part = friction_load_gain(rows, conditions, self.now, friction, slides)
            if strength >= MAX_FRICTION_GAIN:
                break
        if strength < MAX_FRICTION_GAIN:
            return []
        jams = [k for k, size in zip(slides, part, strict=True) if size > 0.1 * part.max()]
        self.notes.append(jam_note([rows.names[k] for k in jams], self.now.t, strength))
        return jams

    def _note_gain(self, modes: Modes, found: FrictionEvaluation) -> None:
        """Note friction that depends on its own load so strongly that accelerations may not be unique."""
        rows = self.rows
        slides = [int(k) for k in np.flatnonzero((modes.sign != 0) & rows.has_load_friction)]
        friction = rows.friction_limits(self.base, found.loads)[0]
        strength = (
            friction_load_gain(rows, self.conditions_for(modes), self.now, friction, slides)[0] if slides else 0.0
        )
        if strength >= 1.0:
            self.notes.append(gain_note([rows.names[k] for k in slides], self.now.t, strength))
