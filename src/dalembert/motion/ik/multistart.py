"""Multistart search for configurations that reach their targets, or come nearest, at a preferred posture.

Zeros of all rows are searched from one start after another (`solvers`). If none is found, the target error is minimised
with loops closed. If one is found and degrees of freedom are left, the weighted distance from the preferred posture is
minimised with targets and loops satisfied (`nearest_configuration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...numerics.rank import significant
from .equations import IkEquations
from .nearest_configuration import minimize_on_constraints, project_onto_rows
from .solvers import IkOutcome, solve_bounded

__all__ = ["MultistartSearch", "SearchOutcome"]


_RANK_TOL = 1e-8  # relative to the largest singular value; smaller ones are degrees of freedom
POSTURE_WEIGHT = 1e-8  # weight of the posture for targets out of reach; selects among equal errors only
N_RANDOM_CANDIDATES = 24  # random configurations; the nearest are used as starts
_MIN_BATCH_SIZE = 1024  # least number of starts in a batch


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
        Gradient that presses coordinates against their limits where a target is not reached.
    settled : (B,) bool
        True if the minimisation of the posture, or of the target error, converged.
    """

    q: Array
    residual: Array
    reached: BoolArray
    iterations: IndexArray
    starts: IndexArray
    push: Array
    settled: BoolArray

    def put(self, where: IndexArray, found: IkOutcome, reached: BoolArray) -> None:
        """Store the results of descents for some of the batch."""
        self.q[where], self.residual[where], self.push[where] = found.q, found.residual, found.push
        self.reached[where] = reached
        self.settled[where] = found.done


@dataclass(eq=False)
class MultistartSearch:
    """Settings of a multistart search.

    Attributes
    ----------
    reach : IkEquations
    starts, iterations : int
        Starts per target, and steps per start.
    random : numpy Generator
    """

    reach: IkEquations
    starts: int
    iterations: int
    random: np.random.Generator

    def solve(self, q: Array, preferred: Array, which: IndexArray | None = None) -> SearchOutcome:
        """Search from q (B, nq) for targets `which` (B,), default all, with a preferred posture (B, nq)."""
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
        """Try further starts for targets that the first did not reach."""
        used = 1
        while used < self.starts and not found.reached.all():
            left = np.flatnonzero(~found.reached)
            each = int(np.clip(_MIN_BATCH_SIZE // len(left), 1, self.starts - used))
            starts = self.promising(q[left], which[left], each, used)
            owner = np.repeat(left, each)
            down = solve_bounded(self.reach, starts, which[owner], iterations=self.iterations)
            reached = down.done & self.reach.reached(down.residual, down.q)
            np.add.at(found.iterations, owner, down.iterations)
            found.starts[left] += each
            # the nearest start of each target
            size = np.where(reached, -1.0, (self.reach.violated(down.residual) ** 2).sum(1)).reshape(-1, each)
            best = np.arange(len(left)) * each + size.argmin(1)
            better = size.min(1) < (self.reach.violated(found.residual[left]) ** 2).sum(1)
            chosen = best[better]
            found.put(left[better], down.some(chosen), reached[chosen])
            used += each

    def promising(self, q: Array, which: IndexArray, each: int, used: int) -> Array:
        """Return starts (len(q) * each, nq): those of random configurations with the least target errors.

        Half of them are anywhere within the limits, half at growing distance from q.
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
        """Return random configurations (b, nq): within limits, or 180° and two lengths about q (b, nq)."""
        reach = self.reach
        least, most = reach.step_limits(q)
        radius = np.where(reach.model.compiled.tables["column_scale"][reach.columns] == 1.0, np.pi, 2.0 * reach.length)
        radius = radius / reach.metric
        # the widest window within the limits, centred at the start if possible
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
        """Mask of columns of periodic angles, (n,)."""
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
        """Return q (B, nq) with angles moved by whole turns towards the preferred ones, if limits and loops permit."""
        reach, model = self.reach, self.reach.model
        turns = self.turning
        if not turns.any():
            return q
        indices, lower, upper = reach.place[turns], reach.lower[turns], reach.upper[turns]
        at, whole = q[:, indices], 2 * np.pi
        # as near as possible, but within the limits
        least, most = np.ceil((lower - at) / whole - 1e-12), np.floor((upper - at) / whole + 1e-12)
        back = np.clip(np.round((preferred[:, indices] - at) / whole), np.minimum(least, 0), np.maximum(most, 0))
        turned = q.copy()
        turned[:, indices] = at + whole * back
        if reach.closures:
            change = np.abs(model.constraint_residual(turned, t=reach.t) - model.constraint_residual(q, t=reach.t))
            broken = change.max(1, initial=0.0) > 1e-9  # geared angles are not periodic
            turned[broken] = q[broken]
        return reach.within(turned)

    # -- refinement

    def nearest(self, found: SearchOutcome, preferred: Array, which: IndexArray) -> None:
        """Minimise the error of targets that were not reached, with loops closed."""
        left = np.flatnonzero(~found.reached)
        if not left.size:
            return
        reach, target = self.reach, which[left]
        at, _, held = project_onto_rows(reach, found.q[left], target, reach.hard)
        down = minimize_on_constraints(reach, at, target, reach.hard, POSTURE_WEIGHT, preferred[left])
        found.iterations[left] += down.iterations
        found.put(left, down, reach.reached(down.residual, down.q))
        found.settled[left] &= held
        # the minimum may be reached except for the small gradient of the posture
        again = solve_bounded(reach, down.q, target, iterations=8, patience=8)
        there = again.done & reach.reached(again.residual, again.q)
        found.put(left[there], again.some(there), there[there])

    def left_over(self, found: SearchOutcome, which: IndexArray) -> BoolArray:
        """Return the mask (B,) of reached targets with degrees of freedom left."""
        reached = np.flatnonzero(found.reached)
        alike = all(
            len(goal.specified) == 1 or (goal.specified == goal.specified[0]).all() for goal in self.reach.goals
        )
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
        """Return the number of degrees of freedom left by targets and loops at q (b, nq), without limits."""
        reach = self.reach
        J = reach.jacobian(q, which)[:, ~reach.sided]
        s = np.linalg.svd(J, compute_uv=False)
        rank = significant(s, _RANK_TOL, 1e-12).sum(1)
        return len(reach.columns) - rank

    def posture(self, found: SearchOutcome, preferred: Array, which: IndexArray) -> None:
        """Minimise the distance from the preferred posture along the targets, where degrees of freedom are left."""
        left = np.flatnonzero(self.left_over(found, which))
        if not left.size:
            return
        reach, target = self.reach, which[left]
        down = minimize_on_constraints(reach, found.q[left], target, len(reach.sided), 1.0, preferred[left])
        found.iterations[left] += down.iterations
        kept = reach.reached(down.residual, down.q)
        found.put(left[kept], down.some(kept), np.ones(int(kept.sum()), dtype=bool))
        found.settled[left[~kept]] = False
