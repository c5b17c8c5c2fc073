"""Closed configurations near another one, and the mobility there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array, BoolArray
from .loop_equations import LoopEquations
from .loop_solver import LoopSolver

__all__ = ["closed_neighbours", "general_mobility"]


N_NEIGHBOURS = 5


def closed_neighbours(loops: LoopEquations, q: Array, free: BoolArray, motions: Array | None = None) -> Iterator[Array]:
    """Yield closed configurations near q (nq,), reached by random motions of the `free` velocities (nv,).

    motions : (nv, k)
        Basis of the scaled motions at q, if it is known.

    Rows with zero scale in `loops` are released. A motion that exists only to first order leads back to its start and
    yields none.
    """
    closure = LoopSolver(loops.of_positions(), max_iterations=60)
    N = loops.null_space(q, free) if motions is None else motions
    random = np.random.default_rng(0)
    for _ in range(N_NEIGHBOURS if N.shape[1] else 0):
        direction = N @ random.normal(size=N.shape[1])
        direction /= np.abs(direction).max()
        for size in (0.1, 0.02):
            trial = closure.iterate(loops.retract(q, size * direction), free)
            moved = float(np.abs(loops.difference(q, trial.q)).max())
            if trial.closed and moved > 0.1 * size:
                yield trial.q
                break


def general_mobility(
    loops: LoopEquations, q: Array, here: int, *, free: BoolArray | None = None, motions: Array | None = None
) -> int:
    """Return the mobility at closed configurations near q: the least found at a few neighbours, 0 without any.

    motions : (nv, k)
        Basis of the scaled motions at q, if it is known.
    """
    moving = np.ones(loops.nv, dtype=bool) if free is None else free
    found = [int(moving.sum()) - loops.rank(near, moving) for near in closed_neighbours(loops, q, moving, motions)]
    return min(here, *found) if found else 0
