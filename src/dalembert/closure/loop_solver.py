"""Closure of the loops of a model from a guess, with held and preferred coordinates.

r(q) = 0 of `LoopEquations`, redundant rows included, is solved as least squares (`numerics.least_squares.descend`).
Held coordinates keep their values to the last bit. Held coordinates of a cut joint, and limits, add rows (see
`coordinate_targets`, `limit_rows`). Sol 1983, section 8.3; Garcia de Jalon and Bayo 1994, section 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, BoolArray, IndexArray
from ..connections.constraints.chains import KinematicChain
from ..errors import ModelError
from ..model import Model
from ..model.argument_errors import checked_configuration
from ..model.cache import cached_per_model
from ..numerics.least_squares import Descent, Linearization, MatrixLinearization, descend
from ..numerics.rank import STEP_RANK_TOL, null_space
from .equivalent_configurations import periodic_angles, reversed_axes
from .limit_rows import HeldLimits
from .loop_equations import LoopEquations, LoopLinearization
from .named_velocities import named_velocities
from .projection import CLOSED_TOL
from .relative_pose import relative
from .starts.chain_closure import close_with_chain_unknowns
from .starts.chain_targets import ChainPreference
from .starts.coordinate_targets import CoordinateTarget, CutJointTarget

__all__ = [
    "LoopSolver",
    "SoftTargets",
    "SolverOutcome",
]


PREFERENCE_WEIGHT = 0.1  # factor by which a preferred coordinate moves less
MIN_USEFUL_STEP = 1e-6  # rad, or characteristic lengths: a smaller step gains its square, which is rounding
MAX_RETRIES = 12  # fresh starts after a closure with opposed axes or a local minimum of the residual


@dataclass(eq=False, kw_only=True)
class SolverOutcome(Descent):
    """Result of one start: whether the loops are closed, and the loop constraints with opposed axes."""

    closed: bool
    flipped: tuple[str, ...] = ()


@dataclass(eq=False)
class SoftTargets:
    """Preferred positions, met in least squares.

    Attributes
    ----------
    model : Model
    q : (nq,) rad or m
        With the preferred values of tree coordinates.
    columns : (nv,)
        Mask of its preferred velocities.
    loop_constraints : list of CoordinateTarget
        Preferred values of cut joints.
    loops : LoopEquations
    """

    model: Model
    q: Array
    columns: BoolArray
    loop_constraints: list[CoordinateTarget]
    loops: LoopEquations

    @property
    def cut_targets(self) -> list[CutJointTarget | ChainPreference | HeldLimits]:
        """The targets of cut joints, as preferences."""
        return [loop_constraint.wished for loop_constraint in self.loop_constraints]

    def residual(self, q: Array) -> Array:
        """Return the scaled deviation from each preference, (k,)."""
        away = (self.model.difference(self.q, q) / self.loops.column_scales)[self.columns]
        length = self.loops.length
        return np.concatenate([away, *(c.scales(length) * c.residual(self.model, q) for c in self.cut_targets)])

    def jacobian(self, q: Array) -> Array:
        """Return its derivatives with respect to the velocities, (k, nv).

        For orientations, near the preferred ones.
        """
        rows = np.eye(self.model.nv)[self.columns] / self.loops.column_scales
        length = self.loops.length
        return np.vstack([rows, *(c.scales(length)[:, None] * c.jacobian(self.model, q) for c in self.cut_targets)])


class LoopSolver:
    """Closure of loops: equations with targets, a `ScaledRows`, and starts, tolerances and metric of their solution.

    Parameters
    ----------
    loops : LoopEquations
    tolerance : float
        Largest scaled residual of closed loops; at least the rounding error.
    max_iterations : int
        Per start.
    weights : dict of name to float
        Weights of coordinates in the length of a step.
    """

    def __init__(
        self,
        loops: LoopEquations,
        tolerance: float = CLOSED_TOL,
        max_iterations: int = 100,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        if not (np.isfinite(tolerance) and tolerance > 0.0):
            raise ModelError("assemble", "tolerance", tolerance, "give a positive number")
        if not isinstance(max_iterations, (int, np.integer)) or max_iterations < 1:
            raise ModelError("assemble", "max_iterations", max_iterations, "give a number of at least 1")
        self.model, self.nv = loops.model, loops.nv
        self.loops = loops.of_positions()
        self.extra: list[CoordinateTarget] = []
        self._inner: dict[str, Array] = {}
        self.tolerance = max(float(tolerance), self.loops.floor)
        self.max_iterations = int(max_iterations)
        self.metric = np.ones(self.nv)  # W^(-1/2)
        for name, weight in dict(weights or {}).items():
            if not (np.isfinite(weight) and weight > 0.0):
                raise ModelError("assemble", f"weights[{name!r}]", weight, "give a positive number")
            self.metric[named_velocities(self.model, name, item="assemble: weights").columns] = weight**-0.5

    def guess(self, q: ArrayLike | None) -> Array:
        """Return q, or the start values, as a configuration with unit quaternions."""
        model = self.model
        if q is None:
            return model.initial_state().q
        start: Array = model.integrate(checked_configuration(model, "assemble", q), np.zeros(model.nv))
        return start

    def with_rows(self, rows: list[CoordinateTarget]) -> LoopSolver:
        """Return a solver with additional target rows."""
        more = copy(self)
        more.extra = [*self.extra, *rows]
        return more

    # -- equations

    def residual(self, q: Array) -> Array:
        """Return the scaled residual, rows of coordinate targets last.

        Of one configuration, or of a batch (B, nq).
        """
        r = self.loops.residual(q)
        length = self.loops.length
        return np.concatenate([r, *(held.scales(length) * held.residual(self.model, q) for held in self.extra)], -1)

    def jacobian(self, q: Array) -> Array:
        """Return its derivatives with respect to scaled velocities; of one configuration, or of a batch (B, nq)."""
        J = self.loops.row_scales[:, None] * self._rows_back(q)
        length = self.loops.length
        held_rows = (held.scales(length)[:, None] * held.jacobian(self.model, q) for held in self.extra)
        return np.concatenate([J, *held_rows], -2) * self.loops.column_scales

    def linearize(self, q: Array, r: Array, free: BoolArray, weights: Array) -> Linearization:
        """Return the linearization at q (nq,): within the trees for many coupled loops, else with a Jacobian."""
        if LoopLinearization.is_available(self.model) and not self.extra and not _chains(self.model):
            return LoopLinearization(self.loops, q, r, free, weights)
        return MatrixLinearization(self.jacobian(q)[:, free] * weights, r)

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configuration after scaled steps x (..., nv)."""
        return self.loops.retract(q, x)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (..., nv) from q0 to q1, the shorter way around."""
        return self.loops.difference(q0, self.unwrap_angles(q1, q0, np.zeros(self.nv, dtype=bool)))

    @property
    def groups(self) -> list[IndexArray]:
        """Rows of each connection, then those of each target."""
        owners = np.array(self.model.constraint_connections)
        sizes = np.cumsum([len(owners), *(len(target.turns) for target in self.extra)])
        return [
            *(np.flatnonzero(owners == name) for name in dict.fromkeys(owners.tolist())),
            *(np.arange(first, end) for first, end in pairwise(sizes)),
        ]

    def _rows_back(self, q: Array) -> Array:
        """Return the Jacobian of the rows (nc, nv), with directions that lead chains back into their reach."""
        if q.ndim > 1 and _chains(self.model):
            return np.array([self._rows_back(one) for one in q])
        P: Array = self.model.constraint_jacobian(q, t=self.loops.t)
        for loop_constraint in _chains(self.model):
            rows = [k for k, name in enumerate(self.model.constraint_connections) if name == loop_constraint.name]
            gaps = self.loops.gaps(q)[rows]
            if abs(gaps[-1]) < 1e-7 * loop_constraint.element.length:
                continue
            seen = relative(self.model, loop_constraint.first, loop_constraint.second, q)
            e, inner = loop_constraint.element.closest_pose_error(
                seen.rotation, seen.position, self._inner.get(loop_constraint.name)
            )
            self._inner[loop_constraint.name] = inner  # start of the next search
            across = (
                np.concatenate([loop_constraint.element.length * e[:3], e[3:]]) @ seen.jacobian
                - gaps[:-1] @ P[rows[:-1]]
            )
            if float(np.linalg.norm(across)) > 0.0:
                P[rows[-1]] = across / gaps[-1]
        return P

    # -- solving

    def close(
        self,
        guess: Array,
        held: BoolArray,
        random: np.random.Generator,
        *,
        starts: int,
        preferences: SoftTargets | None = None,
        insist: bool = False,
    ) -> SolverOutcome:
        """Try the guess, then random starts at growing distance; a closure with opposed axes adds starts.

        With `insist`, a local minimum of the residual adds starts too. Preferences are met as nearly as the loops
        allow.
        """
        best = self._first(guess, held, random, preferences)
        if not best.closed and _chains(self.model):
            best = self._with_chains_unfolded(best, guess, held)
        attempt, limit = 1, starts
        while not best.closed and attempt < limit + (MAX_RETRIES if best.flipped else 0):
            attempt += 1
            spread = np.pi * min(1.0, attempt / max(4, limit))
            trial = self.leave_local_minimum(
                self.iterate(self.perturbed(guess, held, spread, random), ~held), held, random
            )
            if (not trial.closed, not trial.flipped, trial.worst) < (not best.closed, not best.flipped, best.worst):
                best = trial
        for spread in np.linspace(0.3, np.pi, MAX_RETRIES) if insist and best.stationary and not best.flipped else ():
            if best.closed:
                break
            attempt += 1
            trial = self.iterate(self.perturbed(guess, held, float(spread), random), ~held)
            best = trial if trial.closed else best
        if best.closed and attempt > 1:
            best.q = self.unwrap_angles(best.q, guess, held)
        if best.closed and preferences is not None:
            best = self.refine(best, preferences, ~held)
        return best

    def _first(
        self, guess: Array, held: BoolArray, random: np.random.Generator, preferences: SoftTargets | None
    ) -> SolverOutcome:
        """Solve from the guess; preferred coordinates move less, unless that keeps the loops open."""
        if preferences is None or not preferences.columns.any():
            return self.leave_local_minimum(self.iterate(guess, ~held), held, random)
        metric, self.metric = self.metric, np.where(preferences.columns, PREFERENCE_WEIGHT * self.metric, self.metric)
        best = self.iterate(guess, ~held)
        self.metric = metric
        return best if best.closed else self.leave_local_minimum(self.iterate(guess, ~held), held, random)

    def _with_chains_unfolded(self, best: SolverOutcome, guess: Array, held: BoolArray) -> SolverOutcome:
        """Close from the configuration in which chains close as tree joints, if there is one."""
        for q in close_with_chain_unknowns(self, _chains(self.model), guess, ~held):
            trial = self.iterate(q, ~held)
            if trial.closed:
                return trial
        return best

    def perturbed(self, q: Array, held: BoolArray, size: float, random: np.random.Generator) -> Array:
        """Return a random configuration within `size` (rad, or characteristic lengths) of q, held coordinates kept."""
        kick = np.where(held, 0.0, random.uniform(-size, size, self.model.nv) * self.loops.column_scales)
        moved: Array = self.model.integrate(q, kick)
        return moved

    def leave_local_minimum(self, best: SolverOutcome, held: BoolArray, random: np.random.Generator) -> SolverOutcome:
        """Leave a configuration in which |r| is stationary but not least, such as all links of a loop in line."""
        size = 0.1
        while best.stationary and not best.closed and size < 0.5:
            trial = self.iterate(self.perturbed(best.q, held, size, random), ~held)
            if trial.closed or (not trial.flipped and trial.worst < 0.999 * best.worst):
                trial.iterations += best.iterations
                best = trial
            size *= 2.0
        return best

    def iterate(self, q: Array, free: BoolArray) -> SolverOutcome:
        """Reduce the scaled residual from one starting point."""
        found = descend(
            self,
            q,
            free,
            self.metric,
            tolerance=self.tolerance,
            floor=self.loops.floor,
            max_iterations=self.max_iterations,
        )
        small = found.worst <= self.tolerance
        flipped = reversed_axes(self.model, found.q) if small else ()
        return SolverOutcome(**vars(found), closed=small and not flipped, flipped=flipped)

    def refine(self, found: SolverOutcome, preferences: SoftTargets, free: BoolArray) -> SolverOutcome:
        """Slide along the closed configurations to the least deviation from preferences, by Gauss-Newton steps."""
        weights = self.metric[free]
        columns = self.loops.column_scales[free] * weights
        missed, before = preferences.residual(found.q), np.inf
        for _ in range(30):
            null = null_space(self.jacobian(found.q)[:, free] * weights, STEP_RANK_TOL, 0.0)
            G = preferences.jacobian(found.q)[:, free] * columns @ null
            direction = null @ np.linalg.lstsq(G, -missed, rcond=1e-6)[0]
            size = float(np.abs(direction).max(initial=0.0))
            # the deviation is stationary at the end: its norm does not resolve steps below the root of rounding
            near = size < MIN_USEFUL_STEP
            if size < 1e-12 or float(np.linalg.norm(G.T @ missed)) < 1e-13 or (near and size > 0.5 * before):
                break
            part, before = min(1.0, 0.3 / size), size
            while part * size > 1e-12:
                step = np.zeros(self.model.nv)
                step[free] = part * columns * direction
                trial = self.iterate(self.model.integrate(found.q, step), free)
                still = preferences.residual(trial.q) if trial.closed else missed
                if np.linalg.norm(still) < np.linalg.norm(missed) or (near and trial.closed):
                    break
                part *= 0.25
            else:
                break
            trial.iterations += found.iterations
            found, missed = trial, still
        return found

    def unwrap_angles(self, q: Array, guess: Array, held: BoolArray) -> Array:
        """Return q with full turns removed, so that angles are within 180° of the guess."""
        q = q.copy()
        indices, columns = periodic_angles(self.model)
        indices = indices[~held[columns]]
        q[..., indices] -= 2 * np.pi * np.round((q[..., indices] - guess[..., indices]) / (2 * np.pi))
        return q


@cached_per_model
def _chains(model: Model) -> list[Any]:
    """Return the kinematic chains among the loop constraints."""
    return [
        loop_constraint
        for loop_constraint in model.forest.loop_constraints
        if isinstance(loop_constraint.element, KinematicChain)
    ]
