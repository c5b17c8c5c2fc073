"""Nonlinear least squares by the Levenberg-Marquardt method.

    (J^T J + mu 1) x = -J^T r,      r and J scaled                                                                  (1)

mu is 0 while the linear model predicts well; steps are limited to 1 in each scaled unknown. There are two solvers.
`levenberg_marquardt` takes batches of starts. It solves the normal equations of each block of rows and columns that is
independent of others, with a mu for each block and start. `descend` takes one start and redundant rows, with as many
unknowns as you like. Its step is the shortest one in a weighted metric,

    minimise |x|^2 + |J W x + r|^2 / mu,     step W x                                                              (2)

by singular values, sparse for large problems, or as the problem itself solves for it (`LinearizedProblem`). mu = 0 is
the Gauss-Newton step of minimum norm. Convergence is quadratic also with redundant rows, because they are consistent
where r vanishes. `descend_together` takes these steps for many starts at once, while mu = 0 suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from .rank import STEP_RANK_TOL, pseudo_inverse, truncated_svd

__all__ = [
    "CommonDescent",
    "Descent",
    "LeastSquaresProblem",
    "Linearization",
    "LinearizedProblem",
    "MatrixLinearization",
    "VectorProblem",
    "descend",
    "descend_together",
    "levenberg_marquardt",
    "shortest_step",
    "solve_small_systems",
]


DIFFERENCE_STEP = 1e-6  # of scaled unknowns: central differences with relative errors of about 1e-10
MAX_DENSE_SIZE = 60  # rows and columns above which sparse factorizations are faster than singular values


class LeastSquaresProblem(Protocol):
    """Scaled residuals over a manifold, for one point or batches of points."""

    @property
    def nv(self) -> int:
        """Number of unknowns of a step."""
        ...

    def residual(self, q: Array) -> Array:
        """Return r (B, rows) at q (B, nq)."""
        ...

    def jacobian(self, q: Array) -> Array:
        """Return J (B, rows, nv)."""
        ...

    def retract(self, q: Array, x: Array) -> Array:
        """Return the points (B, nq) after scaled steps x (B, nv) from q."""
        ...


class Linearization(Protocol):
    """Linearized residual r + J W x at a point, over the free unknowns, with the steps of (2).

    Attributes
    ----------
    size : float
        Norm of J W, or an estimate.
    gradient : float
        Norm of (J W)^T r.
    """

    size: float
    gradient: float

    def step(self, mu: float) -> tuple[Array, Array]:
        """Return x (n,) of (2), and J W x (rows,)."""
        ...


@runtime_checkable
class LinearizedProblem(LeastSquaresProblem, Protocol):
    """A problem that solves for its steps itself, without a matrix J."""

    def linearize(self, q: Array, r: Array, free: BoolArray, weights: Array) -> Linearization:
        """Return the linearization at q (nq,), where the residual is r; weights: W of (2) at the free unknowns."""
        ...


class MatrixLinearization:
    """Linearization with the matrix J W: by singular values, or sparse for large problems."""

    def __init__(self, J: Array, r: Array) -> None:
        self._J = J
        self._step, self.size, self.gradient = shortest_step(J, r)

    def step(self, mu: float) -> tuple[Array, Array]:
        """Return x (n,) of (2), and J W x (rows,)."""
        x = self._step(mu)
        return x, self._J @ x


@dataclass(frozen=True, eq=False)
class VectorProblem:
    """Residuals over a vector space as a `LeastSquaresProblem`; without a Jacobian, by central differences."""

    nv: int
    residual: Callable[[Array], Array]
    slopes: Callable[[Array], Array] | None = None

    def jacobian(self, q: Array) -> Array:
        """Return J (..., rows, nv) at q (..., nv)."""
        if self.slopes is not None:
            return self.slopes(q)
        steps = DIFFERENCE_STEP * np.eye(self.nv)
        return np.stack([(self.residual(q + h) - self.residual(q - h)) / (2 * DIFFERENCE_STEP) for h in steps], -1)

    def retract(self, q: Array, x: Array) -> Array:
        """Return q + x."""
        return np.asarray(q + x)


def levenberg_marquardt(
    problem: LeastSquaresProblem,
    q: Array,
    blocks: Sequence[tuple[IndexArray, IndexArray]],
    *,
    tolerance: float = 1e-10,
    iterations: int = 60,
) -> tuple[Array, Array]:
    """Return the minima reached from starts q (B, nq), and the largest residuals (B, blocks).

    A start stops where its residual cannot be reduced.

    Parameters
    ----------
    blocks : sequence of (rows, columns)
        Rows and the columns that reduce them. Independent blocks are solved in parallel, each with its own steps.
    """
    q = q.copy()
    B, nb = len(q), len(blocks)
    r = problem.residual(q)
    worst = np.zeros((B, nb))
    norm, mu, idle = np.zeros((B, nb)), np.zeros((B, nb)), np.zeros((B, nb), dtype=np.intp)
    for k, (rows, columns) in enumerate(blocks):
        mine = r[:, rows]
        worst[:, k], norm[:, k] = np.abs(mine).max(1, initial=0.0), np.sqrt((mine * mine).sum(1))
        if not len(columns):
            idle[:, k] = 9
    going = (worst > tolerance) & (idle < 2)
    left = np.flatnonzero(going.any(1))
    for _ in range(iterations):
        if not len(left):
            break
        J = problem.jacobian(q[left])
        here = r[left]
        step = np.zeros((len(left), problem.nv))
        promised, flat = np.zeros((len(left), nb)), np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            if len(columns):
                part, mine = J[:, rows[:, None], columns], here[:, rows]
                x, promised[:, k], flat[:, k] = _marquardt(part, mine, mu[left, k], norm[left, k])
                step[:, columns] = x * going[left, k, None]
        trial = problem.retract(q[left], step)
        r_trial = problem.residual(trial)
        good = np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            mine = r_trial[:, rows]
            after = np.sqrt((mine * mine).sum(1))
            gained, hoped = norm[left, k] - after, norm[left, k] - promised[:, k]
            better = going[left, k] & (gained > 1e-3 * np.maximum(hoped, 0.0))
            good[:, k] = better
            taken = left[better]
            norm[taken, k], worst[taken, k] = after[better], np.abs(mine[better]).max(1, initial=0.0)
            size = mu[left, k]
            size = np.where(better & (gained > 0.75 * hoped), np.where(size < 1e-3, 0.0, 0.1 * size), size)
            mu[left, k] = np.where(better & (gained >= 0.25 * hoped), size, np.maximum(4 * size, 1e-4))
            still = flat[:, k] | ~np.isfinite(after) | (np.abs(step[:, columns]).max(1, initial=0.0) < 1e-13)
            idle[left, k] = np.where(still, idle[left, k] + 1, 0)
            r[np.ix_(taken, rows)] = mine[better]
        whole = (good | ~going[left]).all(1)
        q[left[whole]] = trial[whole]
        mixed = np.flatnonzero(~whole & good.any(1))
        if len(mixed):
            for k, (_, columns) in enumerate(blocks):
                step[np.ix_(mixed, columns)] *= good[mixed, k, None]
            q[left[mixed]] = problem.retract(q[left[mixed]], step[mixed])
        going[left] = (worst[left] > tolerance) & (idle[left] < 2) & (mu[left] < 1e8)
        left = left[going[left].any(1)]
    return q, worst


def _marquardt(J: Array, r: Array, mu: Array, norm: Array) -> tuple[Array, Array, BoolArray]:
    """Return the steps (B, n) of (1), the predicted norms (B,) of r, and the mask where the gradient vanishes."""
    n = J.shape[2]
    Jt = J.transpose(0, 2, 1)
    H = Jt @ J
    size = np.trace(H, axis1=1, axis2=2)
    H[:, range(n), range(n)] += ((mu + 1e-13) * size + 1e-30)[:, None]
    gradient = Jt @ r[:, :, None]
    x = -solve_small_systems(H, gradient)[:, :, 0]
    x /= np.maximum(1.0, np.abs(x).max(1))[:, None]
    left = r + (J @ x[:, :, None])[:, :, 0]
    return x, np.sqrt((left * left).sum(1)), (gradient[:, :, 0] ** 2).sum(1) < 1e-16 * size * norm**2


def solve_small_systems(H: Array, b: Array) -> Array:
    """Return the solutions (B, n, k) of H (B, n, n), with short formulas for one and two unknowns."""
    n = H.shape[1]
    if n == 1:
        return b / H
    if n == 2:
        p, s, u, w = H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1]
        det = (p * w - s * u)[:, None]
        return (
            np.stack([w[:, None] * b[:, 0] - s[:, None] * b[:, 1], p[:, None] * b[:, 1] - u[:, None] * b[:, 0]], 1)
            / (det[:, None])
        )
    return np.asarray(np.linalg.solve(H, b))


@dataclass(eq=False)
class Descent:
    """Result of `descend`.

    Attributes
    ----------
    q : (nq,)
    history : list of float
        Largest scaled residual at the start and after every iteration.
    iterations : int
    stationary : bool
        True where no step reduces |r|.
    """

    q: Array
    history: list[float]
    iterations: int
    stationary: bool

    @property
    def worst(self) -> float:
        """Largest scaled residual at q."""
        return self.history[-1]


def descend(
    problem: LeastSquaresProblem,
    q: Array,
    free: BoolArray | None = None,
    metric: Array | None = None,
    *,
    tolerance: float,
    floor: float = 0.0,
    max_iterations: int,
) -> Descent:
    """Reduce |r| from one point q (nq,) by the steps (2).

    Parameters
    ----------
    free : (nv,) bool
        Unknowns that may change, default all; the others keep their values to the last bit.
    metric : (nv,)
        W of (2); default 1.
    tolerance : float
        Largest residual of a solution. One more step follows unless the residual is below `floor`, that of rounding.
    """
    r = problem.residual(q)
    history = [float(np.abs(r).max(initial=0.0))]
    free = np.ones(problem.nv, dtype=bool) if free is None else free
    weights = (np.ones(problem.nv) if metric is None else metric)[free]
    mu, stationary, count = 0.0, False, 0
    while history[-1] > 0.0 and count < max_iterations:
        last = history[-1] <= tolerance  # one step past the tolerance costs little and leaves only rounding
        if last and history[-1] <= floor:
            break
        norm = float(np.linalg.norm(r))
        linear: Linearization
        if isinstance(problem, LinearizedProblem):
            linear = problem.linearize(q, r, free, weights)
        else:
            linear = MatrixLinearization(problem.jacobian(q)[:, free] * weights, r)
        size = linear.size
        if linear.gradient <= 1e-9 * size * norm and not last:
            stationary = True
            break
        for _ in range(30):
            x, change = linear.step(mu)
            part = 1.0 / max(1.0, float(np.abs(x * weights).max(initial=0.0)))
            x, change = part * x, part * change
            step = np.zeros(problem.nv)
            step[free] = weights * x
            trial = problem.retract(q, step)
            r_trial = problem.residual(trial)
            gained = norm - float(np.linalg.norm(r_trial))
            hoped = norm - float(np.linalg.norm(r + change))
            if gained > 1e-3 * hoped or last:
                break
            mu = max(4.0 * mu, 1e-4 * size * size)
        else:
            stationary = True
            break
        if last and gained <= 0.0:
            break
        q, r = trial, r_trial
        history.append(float(np.abs(r).max()))
        count += 1
        if last:
            break
        if gained <= 1e-10 * norm:
            stationary = True
            break
        # the trust radius follows the accuracy of the last prediction
        if gained < 0.25 * hoped:
            mu = max(4.0 * mu, 1e-4 * size * size)
        elif gained > 0.75 * hoped:
            mu = 0.0 if mu < 1e-3 * size * size else 0.1 * mu
    return Descent(q, history, count, stationary)


@dataclass(frozen=True, eq=False)
class CommonDescent:
    """Result of `descend_together`.

    Attributes
    ----------
    q : (B, nq)
    worst : (B,)
        Largest scaled residuals at q.
    closed : (B,) bool
        Where every step was a full one and the residual is at most the tolerance.
    """

    q: Array
    worst: Array
    closed: BoolArray


def descend_together(
    problem: LeastSquaresProblem,
    q: Array,
    free: BoolArray,
    *,
    tolerance: float,
    floor: float = 0.0,
    max_iterations: int = 100,
) -> CommonDescent:
    """Reduce |r| from points q (B, nq) by steps (2) with mu = 0 and W = 1: those of `descend`, as long as they succeed.

    A point whose step reduces |r| by too little for `descend` to accept it, or to go on, is given up.

    Parameters
    ----------
    free : (nv,) bool
        Unknowns that may change.
    tolerance, floor : float
        As in `descend`.
    """
    q, r = q.copy(), problem.residual(q)
    worst = np.abs(r).max(axis=1, initial=0.0)
    going, failed = worst > floor, np.zeros(len(q), dtype=bool)
    for _ in range(max_iterations):
        if not going.any():
            break
        last = worst <= tolerance  # one step past the tolerance
        J = problem.jacobian(q)[:, :, free]
        x = -np.einsum("bvr,br->bv", pseudo_inverse(J, STEP_RANK_TOL, 0.0), r)
        x /= np.maximum(1.0, np.abs(x).max(axis=1, initial=0.0))[:, None]
        step = np.zeros((len(q), problem.nv))
        step[:, free] = x
        trial = problem.retract(q, step)
        r_trial = problem.residual(trial)
        norm = np.linalg.norm(r, axis=1)
        gained = norm - np.linalg.norm(r_trial, axis=1)
        hoped = norm - np.linalg.norm(r + np.einsum("brv,bv->br", J, x), axis=1)
        accepted = going & np.where(last, gained > 0.0, gained > 1e-3 * hoped)
        failed |= going & ~last & ~(accepted & (gained > 1e-10 * norm))
        q[accepted], r[accepted] = trial[accepted], r_trial[accepted]
        worst = np.abs(r).max(axis=1, initial=0.0)
        going &= ~last & ~failed & (worst > floor)
    return CommonDescent(q, worst, ~failed & (worst <= tolerance))


def shortest_step(J: Array, r: Array) -> tuple[Callable[[float], Array], float, float]:
    """Return the step of (2), W = 1, as a function of mu, the norm of J, and the norm of the gradient J^T r."""
    gradient = float(np.linalg.norm(J.T @ r))
    if min(J.shape) > MAX_DENSE_SIZE:
        return _sparse_step(J, r), _norm_estimate(J), gradient
    U, s, Vt = truncated_svd(J, STEP_RANK_TOL)
    size, b = float(s.max(initial=0.0)), U.T @ -r

    def step(mu: float) -> Array:
        x: Array = Vt.T @ (b * s / (s * s + mu))
        return x

    return step, size, gradient


def _sparse_step(J: Array, r: Array) -> Callable[[float], Array]:
    """Return the step of (2) from the sparse system [1, J^T; J, -mu] [x; y] = [0; -r], for many loops."""
    from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack
    from scipy.sparse.linalg import splu

    rows, n = J.shape
    sparse = csr_array(J)
    least = 1e-13 * _norm_estimate(J) ** 2  # replaces the truncation of redundant rows

    def step(mu: float) -> Array:
        shift = max(mu, least)
        K = csc_array(
            vstack([hstack([eye_array(n), sparse.T]), hstack([sparse, -shift * eye_array(rows)])], format="csc")
        )
        factor = splu(K, permc_spec="COLAMD")
        x: Array = np.asarray(factor.solve(np.concatenate([np.zeros(n), -r])))[:n]
        return x

    return step


def _norm_estimate(J: Array) -> float:
    return float(np.sqrt(np.abs(J).sum(0).max(initial=0.0) * np.abs(J).sum(1).max(initial=0.0)))
