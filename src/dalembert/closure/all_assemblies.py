"""All assemblies of a model: adapt the closure equations to `branch_search` and filter the solutions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..numerics.rank import null_space
from .branch_search import all_closed_configurations
from .loop_solver import LoopSolver, SolverOutcome

__all__ = ["all_branches"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ISOLATED_RANK_TOL = 1e-7  # of the largest singular value; a smaller one means mobility or a nearby fold


class _ClosureRows:
    """The equations of a `LoopSolver`, targets of cut joints included, for batches."""

    def __init__(self, closure: LoopSolver) -> None:
        model = closure.model
        self.closure, self.nv = closure, model.nv
        owners = np.array(model.constraint_connections)
        self.groups = [np.flatnonzero(owners == name) for name in dict.fromkeys(model.constraint_connections)]
        end = model.nc
        for loop_constraint in closure.extra:
            self.groups.append(np.arange(end, end + len(loop_constraint.turns)))
            end += len(loop_constraint.turns)

    def residual(self, q: Array) -> Array:
        return self.closure.residual(q)

    def jacobian(self, q: Array) -> Array:
        everything = np.ones(self.nv, dtype=bool)
        return self.closure.jacobian(q, everything) / self.closure.metric

    def retract(self, q: Array, x: Array) -> Array:
        return self.closure.model.integrate(q, x * self.closure.scales.columns)

    def difference(self, q0: Array, q1: Array) -> Array:
        nothing = np.zeros(self.nv, dtype=bool)
        away: Array = self.closure.model.difference(q0, self.closure.unwrap_angles(q1, q0, nothing))
        return away / self.closure.scales.columns


def all_branches(
    closure: LoopSolver, guess: Array, held: BoolArray, outcome: SolverOutcome, random: np.random.Generator, starts: int
) -> list[Array]:
    """Return the distinct closed configurations, nearest to the guess first."""
    model, scales = closure.model, closure.scales
    found: list[tuple[float, Array, Array]] = []

    def keep(q: Array) -> None:
        _refuse_mobile(closure, q, held)
        R, p = model.poses(q)
        picture = np.concatenate([R.ravel(), p.ravel() / scales.length])
        # the same branch from two starts agrees to the square root of rounding even at a double root
        if all(np.abs(picture - other).max() > 1e-6 for _, _, other in found):
            q = closure.unwrap_angles(q, guess, held)
            distance = float(np.linalg.norm(model.difference(guess, q) / scales.columns))
            found.append((distance, q, picture))

    if outcome.closed:
        keep(outcome.q)
    base = outcome.q if outcome.closed else guess
    tries = starts if starts > 1 else 0
    for q in all_closed_configurations(_ClosureRows(closure), base[None], held, random, starts=tries, tolerance=1e-9):
        trial = closure.iterate(q, ~held)
        if trial.closed:
            keep(trial.q)
    found.sort(key=lambda item: (round(item[0], 6), tuple(np.round(item[1], 6))))
    return [q for _, q, _ in found]


def _refuse_mobile(closure: LoopSolver, q: Array, held: BoolArray) -> None:
    """Raise an error if the closed configurations form a continuum."""
    free = ~held
    motions = null_space(closure.jacobian(q, free), ISOLATED_RANK_TOL, 0.0)
    left = motions.shape[1]
    if left:
        moving = np.abs(motions).max(1) > 1e-6
        names = [name for name, moves in zip(np.array(closure.model.speed_names)[free], moving, strict=True) if moves]
        raise ModelError(
            "assemble",
            "branches",
            True,
            f"the system still has {left} degree{'s' * (left > 1)} of freedom (along {', '.join(names[:8])}), so its "
            f"closed configurations are not isolated: hold {left} more of these by hold=...",
        )
