"""From starts to configurations that reach their targets, or come nearest; the degree of freedom that is left follows a
posture.

Zeros of all rows are searched from one start after another (`descent`). Where none is found, the least of the targets
with loops closed; where one is found and degree of freedom is left, the least weighted distance from the preferred
posture with targets and loops held (`settling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...numerics.rank import significant
from .equations import BoolArray, IkEquations, IndexArray
from .nearest_configuration import minimize_on_constraints, project_onto_rows
from .solvers import IkOutcome, solve_bounded

__all__ = ["MultistartSearch", "SearchOutcome"]

Array = NDArray[np.float64]

_NARROW = 1e-8  # singular values below, relative to the largest: degrees of freedom that are left
POSTURE_WEIGHT = 1e-8  # weight of the posture where targets are out of reach: it decides between equals only
N_RANDOM_CANDIDATES = 24  # random configurations, the nearest of which are started from
_TOGETHER = 1024  # starts that are tried at once, at least


@dataclass(eq=False)
class SearchOutcome:
    """Configurations of a batch.

    Attributes
    ----------
    q : (B, nq)
    residual : (B, m)
    reached : (B,) bool
    iterations, starts : (B,) int
    push : (B, n)
        What presses coordinates against their limits where a target is not reached.
    settled : (B,) bool
        Whether the posture, or what is nearest to the target, was found to the last digits.
    """

    q: Array
    residual: Array
    reached: BoolArray
    iterations: IndexArray
    starts: IndexArray
    push: Array
    settled: BoolArray

    def put(self, where: IndexArray, found: IkOutcome, reached: BoolArray) -> None:
        """Take over what descents found for some of the batch."""
        self.q[where], self.residual[where], self.push[where] = found.q, found.residual, found.push
        self.reached[where] = reached
        self.settled[where] = found.done


@dataclass(eq=False)
class MultistartSearch:
    """How a problem is searched.

    Attributes
    ----------
    reach : Reach
    starts, iterations : int
        Starts per target, and steps per start.
    random : numpy Generator
    """

    reach: IkEquations
    starts: int
    iterations: int
    random: np.random.Generator

    def solve(self, q: Array, preferred: Array, which: IndexArray | None = None) -> SearchOutcome:
        """Search from q (B, nq) for targets `which` (B,), all of them if left out, with a preferred posture (B, nq)."""
        which = np.arange(len(q)) if which is None else which
        found = self.first(q, which)
        self.again(found, q, which)
        found.q = self.unwrap_angles(found.q, preferred)
        self.nearest(found, preferred, which)
        self.posture(found, preferred, which)
        return found

    def first(self, q: Array, which: IndexArray) -> SearchOutcome:
        """Descend from q (B, nq)."""
        inside = self.reach.within(q.copy())
        down = solve_bounded(self.reach, inside, which, iterations=self.iterations, patience=6)
        reached = down.done & self.reach.reached(down.residual, down.q)
        ones = np.ones(len(q), dtype=int)
        return SearchOutcome(
            down.q, down.residual, reached, down.iterations, ones, down.push, np.ones(len(q), dtype=bool)
        )

    def again(self, found: SearchOutcome, q: Array, which: IndexArray) -> None:
        """Try further starts where the first did not lead to the target."""
        used = 1
        while used < self.starts and not found.reached.all():
            left = np.flatnonzero(~found.reached)
            each = int(np.clip(_TOGETHER // len(left), 1, self.starts - used))
            starts = self.promising(q[left], which[left], each, used)
            place = np.repeat(left, each)
            down = solve_bounded(self.reach, starts, which[place], iterations=self.iterations)
            reached = down.done & self.reach.reached(down.residual, down.q)
            np.add.at(found.iterations, place, down.iterations)
            found.starts[left] += each
            # of each target's starts the one that came nearest
            size = np.where(reached, -1.0, (self.reach.violated(down.residual) ** 2).sum(1)).reshape(-1, each)
            best = np.arange(len(left)) * each + size.argmin(1)
            better = size.min(1) < (self.reach.violated(found.residual[left]) ** 2).sum(1)
            chosen = best[better]
            found.put(left[better], down.some(chosen), reached[chosen])
            used += each

    def promising(self, q: Array, which: IndexArray, each: int, used: int) -> Array:
        """Return starts (len(q) * each, nq): of random configurations those that miss their targets least.

        Half of them are anywhere within the limits, half ever farther from q.
        """
        size = np.pi * min(1.0, (used + each) / max(4, self.starts))
        pool = np.concatenate(
            [
                self.scattered(np.repeat(q, N_RANDOM_CANDIDATES // 2, axis=0)).reshape(
                    len(q), N_RANDOM_CANDIDATES // 2, -1
                ),
                self.perturbed(np.repeat(q, N_RANDOM_CANDIDATES // 2, axis=0), size).reshape(
                    len(q), N_RANDOM_CANDIDATES // 2, -1
                ),
            ],
            axis=1,
        ).reshape(-1, q.shape[1])
        missed = (
            (self.reach.residual(pool, np.repeat(which, N_RANDOM_CANDIDATES)) ** 2)
            .sum(1)
            .reshape(-1, N_RANDOM_CANDIDATES)
        )
        order = np.argsort(missed, axis=1)[:, : min(each, N_RANDOM_CANDIDATES)]
        best = pool.reshape(-1, N_RANDOM_CANDIDATES, pool.shape[1])[np.arange(len(q))[:, None], order]
        more = each - order.shape[1]
        if more > 0:
            best = np.concatenate([best, self.scattered(np.repeat(q, more, axis=0)).reshape(len(q), more, -1)], axis=1)
        return best.reshape(-1, pool.shape[1])

    def scattered(self, q: Array) -> Array:
        """Return random configurations (b, nq): within limits, or half a turn and two lengths about q (b, nq)."""
        reach = self.reach
        least, most = reach.room(q)
        radius = np.where(reach.model.compiled.tables["column_scale"][reach.columns] == 1.0, np.pi, 2.0 * reach.length)
        radius = radius / reach.metric
        # a window as wide as there is room for, around the start unless limits stand in the way
        low = np.maximum(least, np.minimum(-radius, most - 2 * radius))
        high = np.minimum(most, np.maximum(radius, least + 2 * radius))
        return reach.retract(q, self.random.uniform(low, high))

    def perturbed(self, q: Array, size: float) -> Array:
        """Return random configurations (b, nq) within `size` (rad, or characteristic lengths) of q (b, nq)."""
        scale = self.reach.model.compiled.tables["column_scale"][self.reach.columns] / self.reach.metric
        shape = (len(q), len(self.reach.columns))
        return self.reach.retract(q, self.random.uniform(-size, size, shape) * scale)

    @cached_property
    def turning(self) -> BoolArray:
        """Columns of angles that whole turns leave as they are, (n,)."""
        reach, model = self.reach, self.reach.model
        turns = np.zeros(len(reach.columns), dtype=bool)
        for joint in model.forest.joints:
            element = joint.element
            if not element.counts_turns and element.nq == element.nv:
                span = model.v_slice(joint.name)
                named = [name.startswith("angle") for name in element.coordinates]
                turns |= np.isin(reach.columns, np.arange(span.start, span.stop)[named])
        return turns

    def unwrap_angles(self, q: Array, preferred: Array) -> Array:
        """Return q (B, nq) with angles turned by whole turns towards those preferred, where limits and loops permit."""
        reach, model = self.reach, self.reach.model
        turns = self.turning
        if not turns.any():
            return q
        places, lower, upper = reach.place[turns], reach.lower[turns], reach.upper[turns]
        at, whole = q[:, places], 2 * np.pi
        # as near as can be, but within the limits
        least, most = np.ceil((lower - at) / whole - 1e-12), np.floor((upper - at) / whole + 1e-12)
        back = np.clip(np.round((preferred[:, places] - at) / whole), np.minimum(least, 0), np.maximum(most, 0))
        turned = q.copy()
        turned[:, places] = at + whole * back
        if reach.closures:
            apart = np.abs(model.constraint_residual(turned, t=reach.t) - model.constraint_residual(q, t=reach.t))
            broken = apart.max(1, initial=0.0) > 1e-9  # a gear knows its turns
            turned[broken] = q[broken]
        return reach.within(turned)

    # -- what comes after

    def nearest(self, found: SearchOutcome, preferred: Array, which: IndexArray) -> None:
        """Where targets were not reached, go to where they are missed least, with loops closed."""
        left = np.flatnonzero(~found.reached)
        if not left.size:
            return
        reach, target = self.reach, which[left]
        at, _, held = project_onto_rows(reach, found.q[left], target, reach.hard)
        down = minimize_on_constraints(reach, at, target, reach.hard, POSTURE_WEIGHT, preferred[left])
        found.iterations[left] += down.iterations
        found.put(left, down, reach.reached(down.residual, down.q))
        found.settled[left] &= held
        # what is nearest may be there but for the posture's small pull
        again = solve_bounded(reach, down.q, target, iterations=8, patience=8)
        there = again.done & reach.reached(again.residual, again.q)
        found.put(left[there], again.some(there), there[there])

    def left_over(self, found: SearchOutcome, which: IndexArray) -> BoolArray:
        """Return which of those that reached their targets have degree of freedom left, (B,)."""
        reached = np.flatnonzero(found.reached)
        alike = all(len(goal.meant) == 1 or (goal.meant == goal.meant[0]).all() for goal in self.reach.goals)
        marks = np.zeros(len(found.q), dtype=bool)
        if not reached.size:
            return marks
        looked = reached[:: max(1, len(reached) // 8)] if alike else reached
        free = self.dof(found.q[looked], which[looked])
        if alike:
            marks[reached] = free.min() > 0
        else:
            marks[looked] = free > 0
        return marks

    def dof(self, q: Array, which: IndexArray) -> IndexArray:
        """Return how many degrees of freedom targets and loops leave at q (b, nq), limits apart."""
        reach = self.reach
        J = reach.jacobian(q, which)[:, ~reach.sided]
        s = np.linalg.svd(J, compute_uv=False)
        rank = significant(s, _NARROW, 1e-12).sum(1)
        left: IndexArray = len(reach.columns) - rank
        return left

    def posture(self, found: SearchOutcome, preferred: Array, which: IndexArray) -> None:
        """Where degree of freedom is left, go along the targets to where the preferred posture is nearest."""
        left = np.flatnonzero(self.left_over(found, which))
        if not left.size:
            return
        reach, target = self.reach, which[left]
        down = minimize_on_constraints(reach, found.q[left], target, len(reach.sided), 1.0, preferred[left])
        found.iterations[left] += down.iterations
        kept = reach.reached(down.residual, down.q)
        found.put(left[kept], down.some(kept), np.ones(int(kept.sum()), dtype=bool))
        found.settled[left[~kept]] = False
