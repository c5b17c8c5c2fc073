"""Trust-region descent to a stable equilibrium, controlled by the work of the forces.

With g the unbalanced forces and K their stiffness (`force_balance`), s a step in rad and lengths of the system,

    min  g . s + s^T K s / 2,   |s| <= radius          exactly, by the eigenvalues of K                            (1)
    work along the step by forces at both ends and half-way, Simpson's rule, compared with the prediction of (1)   (2)

If the forces have a potential, (2) is its change without the round-off of a difference. If they have none, as for
follower loads, (2) still defines the direction of descent. Directions of negative stiffness are followed, also from an
unstable equilibrium, so that the result is stable. Coordinates at their stops are held while they press against them.
Large systems first descend by fronts of the core (`frontal_descent`); where all stiffnesses are positive, Cholesky
factors replace the eigenvalues.
Conn, Gould and Toint, Trust-Region Methods, 2000, chapters 7 and 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..closure.scaled_equations import CoordinateMeasure
from .force_balance import MAX_EIGENVALUES, BalanceEvaluation, ForceBalance, definite_factor, flat
from .frontal_descent import FIRST_TRUST_RADIUS, STEP_TOL, descend_by_fronts, work_between

__all__ = ["EquilibriumDescent", "descend"]


ROUNDOFF_TOL = 1e-14  # forces relative to stiffness times rad or lengths: effect of rounded coordinates without loads
BALANCE_TOL = 1e-9  # unbalanced forces relative to the largest force
MAX_TURN = 0.5  # rad in one step
RUNAWAY_DISTANCE = 3e3  # rad or lengths: beyond, the system has no equilibrium
UNSETTLED_DISTANCE = 30.0  # rad or lengths: beyond, a search that used all steps is reported as without equilibrium
MAX_STEPS = 1000
MAX_STEP_CUTS = 20  # cuts of a step that passes a stop
MAX_SHIFTS = 8  # of the stiffness, for a step to the edge of the trust region
MAX_RETURNS = 20  # steps back along undetermined motions


@dataclass(eq=False)
class EquilibriumDescent:
    """End of a descent.

    Attributes
    ----------
    evaluation : BalanceEvaluation
        At the last configuration, with coordinates at active stops held.
    stops : dict of CoordinateMeasure to float
        Active stops and their positions, rad or m.
    found : bool
    falls : (nv,) or None
        Scaled direction of unbounded motion.
    left : bool
        Whether the start was an unstable equilibrium that was left.
    steps : int
    """

    evaluation: BalanceEvaluation
    stops: dict[CoordinateMeasure, float]
    found: bool
    falls: Array | None = None
    left: bool = False
    steps: int = 0
    turned: CoordinateMeasure | None = None


def descend(
    balance: ForceBalance,
    q: Array,
    x: Array,
    stops: Sequence[CoordinateMeasure] = (),
    *,
    most: int = MAX_STEPS,
    directions: Mapping[CoordinateMeasure, float] | None = None,
) -> EquilibriumDescent:
    """Descend from q (nq,) to a stable equilibrium; along motions without stiffness, return to the start.

    Coordinates in `directions` move in one direction only, 1 or -1: the descent ends if one of them would reverse by
    more than a step corrects the previous one.
    """
    found = _descended(balance, q, x, stops, most, directions)
    for _ in range(MAX_RETURNS if found.found and not directions else 0):
        look = found.evaluation
        loose = look.loose
        back = loose @ (loose.T @ balance.closed.difference(look.q, q))
        size = float(np.abs(back).max(initial=0.0))
        if size < 1e-9:
            break
        trial = look.balance.retract(look.q, back / max(1.0, size / MAX_TURN))
        again = None if trial is None else _descended(balance, trial, look.x, stops, most)
        if again is None or not again.found or again.stops != found.stops:
            break
        again.steps, again.left = again.steps + found.steps, found.left
        found = again
    return found


def _descended(
    balance: ForceBalance,
    q: Array,
    x: Array,
    stops: Sequence[CoordinateMeasure],
    most: int,
    directions: Mapping[CoordinateMeasure, float] | None = None,
) -> EquilibriumDescent:
    near = descend_by_fronts(balance, q, stops, 0 if directions else most)
    walk = _TrustRegionDescent(balance, near.q, x, stops, directions or {})
    walk.start, walk.first, walk.still = q, not near.steps, int(near.settled)
    for count in range(near.steps, most):
        done = walk.step()
        if done is not None:
            done.steps = count + 1
            return done
    gone = balance.closed.equations.difference(q, walk.evaluation.q) / balance.scales
    away = float(np.abs(gone).max(initial=0.0)) > UNSETTLED_DISTANCE
    return EquilibriumDescent(walk.evaluation, walk.on, False, falls=gone if away else None, steps=most)


class _TrustRegionDescent:
    """State of a descent."""

    def __init__(
        self,
        balance: ForceBalance,
        q: Array,
        x: Array,
        stops: Sequence[CoordinateMeasure],
        directions: Mapping[CoordinateMeasure, float],
    ) -> None:
        self.directions, self.past = directions, {m: float(m.values(q)) for m in directions}
        self.here = dict(self.past)
        self.base, self.start, self.stops = balance, q, stops
        self.radius, self.left, self.still = FIRST_TRUST_RADIUS, False, 0
        self.on = {m: bound for m in stops for bound in (m.lower, m.upper) if abs(float(m.values(q)) - bound) < 1e-12}
        self.balance = balance.with_held(self.on)
        self.evaluation = self._look(q, x)
        self.first, self.rounding = True, 0.0
        kinds = balance.model.speed_kinds
        self.turns = np.array([kind.startswith("angle") or kind in ("wx", "wy", "wz") for kind in kinds], dtype=bool)

    def _look(self, q: Array, x: Array) -> BalanceEvaluation:
        look = self.balance.evaluate(q, x)
        return look.settled() if self.base.model.nx else look

    def step(self) -> EquilibriumDescent | None:
        """Take a step; return the end of the descent if it is finished."""
        look = self.evaluation
        g, K, size = look.g, (look.stiffness + look.stiffness.T) / 2, look.size
        factor = definite_factor(K, size) if len(g) > MAX_EIGENVALUES else None
        if factor is not None:
            return self._definite_step(K, factor)
        k, E = np.linalg.eigh(K)
        pull = E.T @ g
        level = flat(k, size)
        self.rounding = ROUNDOFF_TOL * float(np.abs(k).max(initial=0.0))
        nothing = np.abs(pull) <= max(BALANCE_TOL * size, self.rounding)
        if nothing.all() and not (k < -level).any():
            s = np.where(np.abs(k) > level, -pull / np.where(np.abs(k) > level, k, 1.0), 0.0)
            return self._last_step(E @ s)
        if nothing.all():
            self.left = self.left or self.first
            pull = np.where(nothing, 0.0, pull)
        self.first = False
        s, hoped = _within(k, pull, self.radius, level)
        s = np.where(nothing & (np.abs(k) <= level), 0.0, s)
        return self._falling(E @ s) or self._take(E @ s, hoped)

    def _definite_step(self, K: Array, factor: Array) -> EquilibriumDescent | None:
        """Take a step where all stiffnesses are positive, by Cholesky factors in place of eigenvalues."""
        g = self.evaluation.g
        s = _solve(factor, -g)
        self.rounding = ROUNDOFF_TOL * float(np.abs(K).sum(axis=1).max())
        if float(np.abs(g).max()) <= max(BALANCE_TOL * self.evaluation.size, self.rounding):
            return self._last_step(s)
        self.first = False
        if float(np.linalg.norm(s)) > self.radius:
            s = _to_edge(K, g, factor, s, self.radius)
        return self._falling(s) or self._take(s, float(g @ s + 0.5 * s @ K @ s))

    def _last_step(self, s: Array) -> EquilibriumDescent | None:
        """Correct a configuration in balance by a step s; return it if nothing is left to correct."""
        look = self.evaluation
        self.still += 1
        last = float(np.abs(s).max(initial=0.0))
        if last < 1e-15 or (last < STEP_TOL and self.still > 1) or self.still > 6:
            return None if self._released() else EquilibriumDescent(look, dict(self.on), True, left=self.left)
        return self._take(s, float(look.g @ s), certain=True)

    def _falling(self, s: Array) -> EquilibriumDescent | None:
        """Return the end of a descent that has gone too far for an equilibrium, in the direction of its step s."""
        look = self.evaluation
        gone = self.base.closed.equations.difference(self.start, look.q) / self.base.scales
        if float(np.abs(gone).max(initial=0.0)) <= RUNAWAY_DISTANCE:
            return None
        return EquilibriumDescent(look, dict(self.on), False, falls=look.B @ s)

    def _take(self, s: Array, hoped: float, *, certain: bool = False) -> EquilibriumDescent | None:
        """Take a step s, limited by stops, if the work agrees with the prediction; else reduce the trust radius."""
        look, balance = self.evaluation, self.balance
        turn = float(np.abs(look.B[self.turns] @ s).max(initial=0.0)) / MAX_TURN
        if turn > 1.0:
            s = s / turn
            hoped = float(look.g @ s + 0.5 * s @ look.stiffness @ s)
        way = look.B @ s
        part, met = self._within_stops(way, *self._room(way))
        part, turned = self._one_way(way, part)
        if turned is not None:
            q = balance.retract(look.q, part * way) if part > 0.0 else look.q
            return EquilibriumDescent(look if q is None else self._look(q, look.x), dict(self.on), False, turned=turned)
        if met is not None and part * float(np.abs(way).max()) < 1e-9 and self._meet(*met):
            return None
        trial = balance.retract(look.q, part * way)
        middle = balance.retract(look.q, 0.5 * part * way) if trial is not None else None
        if trial is None or middle is None:
            return self._less(s)
        there, half = self._look(trial, look.x), self._look(middle, look.x)
        work = (4 * (work_between(look, half) + work_between(half, there)) - work_between(look, there)) / 3
        if part < 1.0:
            hoped = float(part * (look.g @ s) + 0.5 * part**2 * (s @ look.stiffness @ s))
        if certain or (hoped < 0 and work < 0.1 * hoped):
            good = certain or abs(work - hoped) < 0.3 * abs(hoped)
            if good and part == 1.0 and float(np.linalg.norm(s)) > 0.8 * self.radius:
                self.radius *= 2.0
            self.evaluation = there
            for measure, sign in self.directions.items():
                now = float(measure.values(there.q))
                if sign * (now - self.here[measure]) > 0.0:
                    self.past[measure] = self.here[measure]  # position before the last forward step
                self.here[measure] = now
            if met is not None:
                self._meet(*met)
            return None
        return self._less(s)

    def _less(self, s: Array) -> EquilibriumDescent | None:
        size = float(np.linalg.norm(s))
        self.radius = 0.25 * size
        if size > 1e-13:
            return None
        small = float(np.abs(self.evaluation.g).max(initial=0.0)) <= max(1e-6 * self.evaluation.size, self.rounding)
        if small and self._released():
            return None
        return EquilibriumDescent(self.evaluation, dict(self.on), small, left=self.left)

    # ---- stops

    def _room(self, way: Array) -> tuple[float, tuple[CoordinateMeasure, float] | None]:
        """Return the fraction of a scaled step up to the first stop, and that stop."""
        q, part, met = self.evaluation.q, 1.0, None
        for measure in self.stops:
            if measure in self.on:
                continue
            rate = float(measure.row(q) @ (way * self.balance.scales))
            bound = measure.upper if rate > 0 else measure.lower
            gap = bound - float(measure.values(q))
            if rate != 0.0 and np.isfinite(bound) and gap / rate < part:
                part, met = max(gap / rate, 0.0), (measure, bound)
        return part, met

    def _within_stops(
        self, way: Array, part: float, met: tuple[CoordinateMeasure, float] | None
    ) -> tuple[float, tuple[CoordinateMeasure, float] | None]:
        """Return a fraction of a scaled step that passes no stop, with curved paths of distances between bodies."""
        others = [m for m in self.stops if m not in self.on and m.column < 0]
        for _ in range(MAX_STEP_CUTS if others else 0):
            q = self.balance.retract(self.evaluation.q, part * way)
            if q is None:
                break
            past = {m: max(float(m.values(q)) - m.upper, m.lower - float(m.values(q))) for m in others}
            worst = max(past, key=lambda m: past[m] / m.scale)
            if past[worst] <= 1e-9 * worst.scale:
                break
            value = float(worst.values(self.evaluation.q))
            bound = worst.upper if float(worst.values(q)) > worst.upper else worst.lower
            gap = abs(bound - value)
            part, met = part * max(gap / (gap + past[worst]), 0.1), (worst, bound)
        return part, met

    def _one_way(self, way: Array, part: float) -> tuple[float, CoordinateMeasure | None]:
        """Return the fraction of a scaled step before a coordinate reverses, and that coordinate."""
        q, turned = self.evaluation.q, None
        for measure, sign in self.directions.items():
            rate = float(measure.row(q) @ (way * self.balance.scales))
            room = sign * (self.here[measure] - self.past[measure])  # progress of the last forward step
            if sign * rate < 0.0 and room < -sign * rate * part:
                part, turned = max(room, 0.0) / (-sign * rate), measure
        return part, turned

    def _meet(self, measure: CoordinateMeasure, bound: float) -> bool:
        """Hold a coordinate at its stop if the step reached it; on curved paths the next step does."""
        if abs(float(measure.values(self.evaluation.q)) - bound) > 0.05 * measure.scale:
            return False
        self.on[measure] = bound
        self._again()
        return True

    def _released(self) -> bool:
        """Release the stop with the largest pull; return whether there is one."""
        if not self.on:
            return False
        names = list(self.balance.held)
        pulls = {}
        for measure, bound in self.on.items():
            mu = self.evaluation.mu[names.index(measure)]
            pulls[measure] = float(mu if bound == measure.upper else -mu)
        worst = max(pulls, key=lambda m: pulls[m])
        if pulls[worst] <= BALANCE_TOL * self.evaluation.size:
            return False
        del self.on[worst]
        self.still = 0
        self._again()
        return True

    def _again(self) -> None:
        """Evaluate the balance again with other stops."""
        self.balance = self.base.with_held(self.on)
        q = self.balance.retracted(self.evaluation.q)
        self.evaluation = self._look(self.evaluation.q if q is None else q, self.evaluation.x)
        self.radius = max(self.radius, 1e-3)


def _solve(factor: Array, b: Array) -> Array:
    """Return the solution (n,) of a system with a lower Cholesky factor (n, n)."""
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), b))


def _to_edge(K: Array, g: Array, factor: Array, s: Array, radius: float) -> Array:
    """Return the solution of (1) on the edge of the region, K definite, to 5 % of the radius.

    Newton's method for 1 / |s| by the shift of the stiffness (More and Sorensen 1983).
    """
    from scipy.linalg import solve_triangular

    shift = 0.0
    for _ in range(MAX_SHIFTS):
        size = float(np.linalg.norm(s))
        if abs(size - radius) <= 0.05 * radius:
            break
        w = solve_triangular(factor, s, lower=True)
        shift = max(shift + size**2 / float(w @ w) * (size - radius) / radius, 0.0)
        factor = np.asarray(np.linalg.cholesky(K + shift * np.eye(len(K))), dtype=float)
        s = _solve(factor, -g)
    return s


def _within(k: Array, pull: Array, radius: float, level: float) -> tuple[Array, float]:
    """Return the solution of (1) along eigenvectors, and the predicted work.

    Without force along a direction of negative stiffness, the step follows it to the edge of the region (hard case).
    """
    lowest = float(k.min(initial=0.0))

    def along(shift: float) -> Array:
        slope = k + shift
        return np.where(slope > 0, -pull / np.where(slope > 0, slope, 1.0), 0.0)

    s = along(0.0)
    inside = lowest > level or (lowest >= -level and not (pull[k <= level] != 0).any())
    if not inside or float(np.linalg.norm(s)) > radius:
        low = max(0.0, -lowest)
        high = low + float(np.linalg.norm(pull)) / radius + 1e-300
        first = np.nextafter(low * (1 + 1e-12), np.inf) if low > 0 else 1e-12 * high
        if float(np.linalg.norm(along(first))) < radius:
            s = along(first)
            short = np.sqrt(max(radius**2 - float(s @ s), 0.0))
            edge = int(np.argmin(k))
            if lowest < -level:
                s[edge] += short if s[edge] >= 0 else -short
        else:
            low = first
            for _ in range(100):
                middle = np.sqrt(low * high) if low > 0 else 0.5 * high
                long = float(np.linalg.norm(along(middle)))
                low, high = (middle, high) if long > radius else (low, middle)
                if abs(long - radius) < 0.05 * radius:
                    break
            s = along(middle)
    return s, float(pull @ s + 0.5 * s @ (k * s))
