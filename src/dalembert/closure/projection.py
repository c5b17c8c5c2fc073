"""Projection of configurations onto equations that must vanish, by shortest Gauss-Newton steps.

For configurations near a closed one; from far away use `numerics.least_squares.descend`. Projection within bounds, in
batches, is that of inverse kinematics (`motion.ik.nearest_configuration`): its active set differs from start to start.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..arrays import Array, BoolArray
from ..numerics.least_squares import LeastSquaresProblem
from ..numerics.rank import ROW_RANK_TOL, pseudo_inverse

__all__ = ["CLOSED_TOL", "PATH_CLOSED_TOL", "STALLED_TOL", "Projection", "project", "project_batch"]


# largest scaled residuals of configurations that count as closed
CLOSED_TOL = 1e-12  # regular positions: a hundred roundings of loops of some ten links
PATH_CLOSED_TOL = 1e-11  # points of paths: steps across a tangent leave a little more next to folds
STALLED_TOL = 1e-9  # where steps reduce the residual no further: rounding of long loops and singular positions
ROUNDOFF_TOL = 1e-13  # where further steps change nothing but rounding
MAX_ITERATIONS = 30


@runtime_checkable
class SolvedWithinTrees(Protocol):
    """Equations that the core solves within the trees, for models with many coupled loops."""

    def shortest_step(self, q: Array, r: Array, free: BoolArray) -> Array | None:
        """Return the shortest step (free,) for which |J x + r| is least; None if a matrix is needed."""
        ...


class Projection(NamedTuple):
    """Closed configuration (nq,), and the number of steps to it."""

    q: Array
    iterations: int


def project(
    equations: LeastSquaresProblem,
    q: Array,
    free: BoolArray,
    *,
    tolerance: float = CLOSED_TOL,
    accepted: float = STALLED_TOL,
    max_step: float = np.inf,
    patience: int = MAX_ITERATIONS,
) -> Projection | None:
    """Return the closed configuration next to q (nq,); None if none is nearby.

    Parameters
    ----------
    equations : LeastSquaresProblem
        Scaled residual, Jacobian and retraction at one configuration.
    free : (nv,) bool
        Velocities that may change.
    tolerance : float
        Largest scaled residual at which the iteration ends.
    accepted : float
        Largest scaled residual that counts as closed if steps do not halve it any more.
    max_step : float
        Largest entry of a step, rad or characteristic lengths; a longer step means that nothing closes nearby.
    patience : int
        Steps after which each further one has to halve the residual.
    """
    r = equations.residual(q)
    worst = float(np.abs(r).max(initial=0.0))
    count = 0
    while worst >= tolerance and count < MAX_ITERATIONS:
        step = np.zeros(equations.nv)
        step[free] = _shortest(equations, q, r, free)
        if float(np.abs(step).max(initial=0.0)) > max_step:
            return None
        trial = equations.retract(q, step)
        r_trial = equations.residual(trial)
        before, worst = worst, float(np.abs(r_trial).max())
        if before < accepted and worst >= before:
            return Projection(q, count)
        q, r, count = trial, r_trial, count + 1
        if worst > 0.5 * before and (before < accepted or count > patience):
            break
    return Projection(q, count) if worst < accepted else None


def _shortest(equations: LeastSquaresProblem, q: Array, r: Array, free: BoolArray) -> Array:
    """Return the shortest step (free,) for which |J x + r| is least."""
    found = equations.shortest_step(q, r, free) if isinstance(equations, SolvedWithinTrees) else None
    if found is not None:
        return found
    return np.asarray(np.linalg.lstsq(equations.jacobian(q)[:, free], -r, rcond=ROW_RANK_TOL)[0], dtype=float)


def project_batch(equations: LeastSquaresProblem, q: Array) -> Array:
    """Return the configurations (B, nq) reached from q (B, nq) by shortest steps, all at once.

    The steps end where all are closed to rounding, or after `MAX_ITERATIONS`; check the residual for success.
    """
    for _ in range(MAX_ITERATIONS):
        r = equations.residual(q)
        if np.abs(r).max(initial=0.0) < ROUNDOFF_TOL:
            break
        q = equations.retract(q, -np.einsum("bvr,br->bv", pseudo_inverse(equations.jacobian(q)), r))
    return q
