"""Closed configurations near another one, and the mobility there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..model import Model
from ..numerics.rank import null_space, numerical_rank, singular_values
from .loop_solver import LoopSolver
from .scaling import Scaling

__all__ = ["closed_neighbours", "general_mobility"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

N_NEIGHBOURS = 5


def closed_neighbours(model: Model, q: Array, scales: Scaling, free: BoolArray) -> Iterator[Array]:
    """Yield closed configurations near q (nq,), reached by random motions of the `free` velocities (nv,).

    Rows with zero scale in `scales` are released. A motion that exists only to first order leads back to its start and
    yields none.
    """
    closure = LoopSolver(model, 1e-12, 60, t=scales.t)
    closure.scales = scales.of_positions(model)
    N, random = null_space(scales.jacobian(model, q), free=free), np.random.default_rng(0)
    for _ in range(N_NEIGHBOURS if N.shape[1] else 0):
        direction = N @ random.normal(size=N.shape[1])
        direction /= np.abs(direction).max()
        for size in (0.1, 0.02):
            trial = closure.iterate(model.integrate(q, size * scales.columns * direction), free)
            moved = float(np.abs(model.difference(q, trial.q) / scales.columns).max())
            if trial.closed and moved > 0.1 * size:
                yield trial.q
                break


def general_mobility(
    model: Model, q: Array, here: int, *, scales: Scaling | None = None, free: BoolArray | None = None
) -> int:
    """Return the mobility at closed configurations near q: the least found at a few neighbours.

    0 without any.
    """
    scales = Scaling.of(model) if scales is None else scales
    moving = np.ones(model.nv, dtype=bool) if free is None else free
    found = [
        int(moving.sum()) - numerical_rank(singular_values(scales.jacobian(model, near)[:, moving]))
        for near in closed_neighbours(model, q, scales, moving)
    ]
    return min(here, *found) if found else 0
