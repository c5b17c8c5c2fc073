"""All assemblies of a model: solutions of `branch_search`, closed again, without duplicates."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, BoolArray
from ..errors import ModelError
from ..numerics.rank import null_space
from .branch_search import all_closed_configurations
from .loop_solver import LoopSolver, SolverOutcome

__all__ = ["all_branches"]

ISOLATED_RANK_TOL = 1e-7  # of the largest singular value; a smaller one means mobility or a nearby fold


def all_branches(
    closure: LoopSolver, guess: Array, held: BoolArray, outcome: SolverOutcome, random: np.random.Generator, starts: int
) -> list[Array]:
    """Return the distinct closed configurations, nearest to the guess first."""
    model, loops = closure.model, closure.loops
    found: list[tuple[float, Array, Array]] = []

    def keep(q: Array) -> None:
        _refuse_mobile(closure, q, held)
        R, p = model.poses(q)
        picture = np.concatenate([R.ravel(), p.ravel() / loops.length])
        # the same branch from two starts agrees to the square root of rounding even at a double root
        if all(np.abs(picture - other).max() > 1e-6 for _, _, other in found):
            q = closure.unwrap_angles(q, guess, held)
            distance = float(np.linalg.norm(model.difference(guess, q) / loops.column_scales))
            found.append((distance, q, picture))

    if outcome.closed:
        keep(outcome.q)
    base = outcome.q if outcome.closed else guess
    tries = starts if starts > 1 else 0
    for q in all_closed_configurations(closure, base[None], held, random, starts=tries, tolerance=1e-9):
        trial = closure.iterate(q, ~held)
        if trial.closed:
            keep(trial.q)
    found.sort(key=lambda item: (round(item[0], 6), tuple(np.round(item[1], 6))))
    return [q for _, q, _ in found]


def _refuse_mobile(closure: LoopSolver, q: Array, held: BoolArray) -> None:
    """Raise an error if the closed configurations form a continuum."""
    free = ~held
    motions = null_space(closure.jacobian(q)[:, free], ISOLATED_RANK_TOL, 0.0)
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
