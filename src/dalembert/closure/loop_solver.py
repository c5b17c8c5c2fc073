"""Closure equations of a model, and their solution from one starting point.

r(q) = 0, redundant rows included, is solved as scaled least squares (see `scaling`). A step is the shortest one, in a
weighted metric, that cancels the linearised residual:

    minimise |x|^2 + |J x + r|^2 / mu,      J = S P D W^(-1/2),   dq = D W^(-1/2) x                              (1)

mu = 0 is the Gauss-Newton step of minimum norm (quadratic convergence, also with redundant rows, because they are
consistent where the loops close). mu > 0 is the Levenberg-Marquardt step, taken when the first does not reduce |r| as
predicted. Held coordinates have no column in J and keep their values to the last bit. Held coordinates of a cut joint
add rows (see `coordinate_targets`). Sol 1983, section 8.3; Garcia de Jalon and Bayo 1994, section 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..connections.constraints.chains import KinematicChain
from ..connections.joints import Joint
from ..errors import ModelError
from ..model import Model
from ..model.cache import cached_per_model
from ..numerics.rank import STEP_RANK_TOL, null_space, truncated_svd
from .limit_rows import HeldLimits
from .named_velocities import named_velocities
from .relative_pose import relative
from .scaling import Scaling
from .starts.chain_closure import close_with_chain_unknowns
from .starts.chain_targets import ChainPreference
from .starts.coordinate_targets import CoordinateTarget, CutJointTarget

__all__ = [
    "LoopSolver",
    "SoftTargets",
    "SolverOutcome",
    "axis_reversal_mask",
    "loop_constraints_with_axes",
    "periodic_angles",
    "reversed_axes",
]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MAX_DENSE_SIZE = (
    60  # rows and columns above which sparse factorisations are faster than the singular value decomposition
)
PREFERENCE_WEIGHT = 0.1  # factor by which a preferred coordinate moves less
MIN_USEFUL_STEP = 1e-6  # rad, or characteristic lengths: a smaller step gains its square, which is rounding
MAX_RETRIES = 12  # fresh starts after a closure with opposed axes or a local minimum of the residual


@dataclass(eq=False)
class SolverOutcome:
    """Result of one start: configuration, largest scaled residual, and iterations."""

    q: Array
    worst: float
    iterations: int
    history: list[float]
    closed: bool
    stationary: bool = False
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
    scales : Scaling
    """

    model: Model
    q: Array
    columns: BoolArray
    loop_constraints: list[CoordinateTarget]
    scales: Scaling

    @property
    def cut_targets(self) -> list[CutJointTarget | ChainPreference | HeldLimits]:
        """The targets of cut joints, as preferences."""
        return [loop_constraint.wished for loop_constraint in self.loop_constraints]

    def residual(self, q: Array) -> Array:
        """Return the scaled deviation from each preference, (k,)."""
        away = (self.model.difference(self.q, q) / self.scales.columns)[self.columns]
        length = self.scales.length
        return np.concatenate([away, *(c.scales(length) * c.residual(self.model, q) for c in self.cut_targets)])

    def jacobian(self, q: Array) -> Array:
        """Return its derivatives with respect to the velocities, (k, nv).

        For orientations, near the preferred ones.
        """
        rows = np.eye(self.model.nv)[self.columns] / self.scales.columns
        length = self.scales.length
        return np.vstack([rows, *(c.scales(length)[:, None] * c.jacobian(self.model, q) for c in self.cut_targets)])


class LoopSolver:
    """The closure equations of one model with tolerances and metric."""

    def __init__(
        self,
        model: Model,
        tolerance: float,
        max_iterations: int,
        weights: Mapping[str, float] | None = None,
        t: float = 0.0,
    ) -> None:
        if not (np.isfinite(tolerance) and tolerance > 0.0):
            raise ModelError("assemble", "tolerance", tolerance, "give a positive number")
        if not isinstance(max_iterations, (int, np.integer)) or max_iterations < 1:
            raise ModelError("assemble", "max_iterations", max_iterations, "give a number of at least 1")
        self.model, self.t = model, t
        self.scales = Scaling.of(model, positions_only=True, t=t)
        self.extra: list[CoordinateTarget] = []
        self._inner: dict[str, Array] = {}
        self.tolerance = max(float(tolerance), self.scales.floor)
        self.max_iterations = int(max_iterations)
        self.metric = np.ones(model.nv)  # W^(-1/2)
        for name, weight in dict(weights or {}).items():
            if not (np.isfinite(weight) and weight > 0.0):
                raise ModelError("assemble", f"weights[{name!r}]", weight, "give a positive number")
            self.metric[named_velocities(model, name, item="assemble: weights").columns] = weight**-0.5

    def guess(self, q: ArrayLike | None) -> Array:
        """Return q, or the start values, as a configuration with unit quaternions."""
        model = self.model
        if q is None:
            return model.initial_state().q
        return model.integrate(model.checked_configuration("assemble", q), np.zeros(model.nv))

    def with_rows(self, rows: list[CoordinateTarget]) -> LoopSolver:
        """Return a solver with additional target rows."""
        more = copy(self)
        more.extra = [*self.extra, *rows]
        return more

    # -- equations

    def row_errors(self, q: Array) -> Array:
        """Return the deviations of the rows from their targets, (nc,) m or rad."""
        return self.model.apart(self.model.constraint_residual(q, t=self.t), self.scales.targets[0])

    def residual(self, q: Array) -> Array:
        """Return the scaled residual, rows of coordinate targets last.

        Of one configuration, or of a batch (B, nq).
        """
        r = self.scales.residual(self.model, q)
        length = self.scales.length
        return np.concatenate([r, *(held.scales(length) * held.residual(self.model, q) for held in self.extra)], -1)

    def jacobian(self, q: Array, free: BoolArray) -> Array:
        """Return J of (1), with a column for every free velocity; of one configuration, or of a batch (B, nq)."""
        J = self.scales.rows[:, None] * self._rows_back(q)
        length = self.scales.length
        held_rows = (held.scales(length)[:, None] * held.jacobian(self.model, q) for held in self.extra)
        J = np.concatenate([J, *held_rows], -2)
        J = J[..., free] * (self.scales.columns * self.metric)[free]
        return J

    def _rows_back(self, q: Array) -> Array:
        """Return the Jacobian of the rows (nc, nv), with directions that lead chains back into their reach."""
        if q.ndim > 1 and _chains(self.model):
            return np.array([self._rows_back(one) for one in q])
        P: Array = self.model.constraint_jacobian(q, t=self.t)
        for loop_constraint in _chains(self.model):
            rows = [k for k, name in enumerate(self.model.constraint_connections) if name == loop_constraint.name]
            gaps = self.row_errors(q)[rows]
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
        wishes: SoftTargets | None = None,
        insist: bool = False,
    ) -> SolverOutcome:
        """Try the guess, then random starts at growing distance; a closure with opposed axes adds starts.

        With `insist`, a local minimum of the residual adds starts too. Preferences are met as nearly as the loops
        allow.
        """
        best = self._first(guess, held, random, wishes)
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
        if best.closed and wishes is not None:
            best = self.refine(best, wishes, ~held)
        return best

    def _first(
        self, guess: Array, held: BoolArray, random: np.random.Generator, wishes: SoftTargets | None
    ) -> SolverOutcome:
        """Solve from the guess; preferred coordinates move less, unless that keeps the loops open."""
        if wishes is None or not wishes.columns.any():
            return self.leave_local_minimum(self.iterate(guess, ~held), held, random)
        metric, self.metric = self.metric, np.where(wishes.columns, PREFERENCE_WEIGHT * self.metric, self.metric)
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
        kick = np.where(held, 0.0, random.uniform(-size, size, self.model.nv) * self.scales.columns)
        return self.model.integrate(q, kick)

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
        """Reduce the scaled residual from one starting point (equation 1)."""
        model, scales = self.model, self.scales
        r = self.residual(q)
        history = [float(np.abs(r).max(initial=0.0))]
        columns = (scales.columns * self.metric)[free]
        mu, stationary, count = 0.0, False, 0
        while history[-1] > 0.0 and count < self.max_iterations:
            last = history[-1] <= self.tolerance  # one step past the tolerance costs little and leaves only rounding
            if last and history[-1] <= scales.floor:
                break
            norm = float(np.linalg.norm(r))
            J = self.jacobian(q, free)
            solve, size, gradient = _shortest_step(J, r)
            if gradient <= 1e-9 * size * norm and not last:
                stationary = True
                break
            for _ in range(30):
                x = solve(mu)
                # no coordinate turns by more than a radian, or slides by more than the system's length, at once
                x /= max(1.0, float(np.abs(x * self.metric[free]).max(initial=0.0)))
                step = np.zeros(model.nv)
                step[free] = columns * x
                trial = model.integrate(q, step)
                r_trial = self.residual(trial)
                gained = norm - float(np.linalg.norm(r_trial))
                hoped = norm - float(np.linalg.norm(r + J @ x))
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
        flipped = reversed_axes(model, q) if history[-1] <= self.tolerance else ()
        closed = history[-1] <= self.tolerance and not flipped
        return SolverOutcome(q, history[-1], count, history, closed, stationary, flipped)

    def refine(self, found: SolverOutcome, wishes: SoftTargets, free: BoolArray) -> SolverOutcome:
        """Slide along the closed configurations to the least deviation from preferences, by Gauss-Newton steps."""
        columns = (self.scales.columns * self.metric)[free]
        missed, before = wishes.residual(found.q), np.inf
        for _ in range(30):
            null = null_space(self.jacobian(found.q, free), STEP_RANK_TOL, 0.0)
            G = wishes.jacobian(found.q)[:, free] * columns @ null
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
                still = wishes.residual(trial.q) if trial.closed else missed
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
def periodic_angles(model: Model) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices in q and in v of the tree angles with a period of one turn.

    Angles in couplings are not periodic: a turn of a wheel is part of a turn of the other.
    """
    indices: list[int] = []
    columns: list[int] = []
    bound = {(joint.name, part) for coupling in model.forest.couplings for joint, part in coupling.joint_coordinates}
    for joint in model.forest.joints:
        element = joint.element
        if element.counts_turns or element.nq != element.nv:
            continue
        span, rates = model.q_slice(joint.name), model.v_slice(joint.name)
        for k, name in enumerate(element.coordinates):
            if name.startswith("angle") and (joint.name, k) not in bound:
                indices.append(span.start + k)
                columns.append(rates.start + k)
    return np.array(indices, dtype=np.intp), np.array(columns, dtype=np.intp)


def _shortest_step(J: Array, r: Array) -> tuple[Callable[[float], Array], float, float]:
    """Return the step of (1) as a function of mu, the norm of J, and the norm of the gradient J^T r."""
    gradient = float(np.linalg.norm(J.T @ r))
    if min(J.shape) > MAX_DENSE_SIZE:
        return _sparse_step(J, r), _norm_estimate(J), gradient
    U, s, Vt = truncated_svd(J, STEP_RANK_TOL)
    size, b = float(s.max(initial=0.0)), U.T @ -r

    def step(mu: float) -> Array:
        return Vt.T @ (b * s / (s * s + mu))

    return step, size, gradient


def _sparse_step(J: Array, r: Array) -> Callable[[float], Array]:
    """Return the step of (1) from the sparse system [1, J^T; J, -mu] [x; y] = [0; -r], for many loops."""
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
        return np.asarray(factor.solve(np.concatenate([np.zeros(n), -r])))[:n]

    return step


def _norm_estimate(J: Array) -> float:
    return float(np.sqrt(np.abs(J).sum(0).max(initial=0.0) * np.abs(J).sum(1).max(initial=0.0)))


def reversed_axes(model: Model, q: Array) -> tuple[str, ...]:
    """Return the loop constraints whose axes are antiparallel: closed for the rows, not for the joint."""
    return tuple(loop_constraints_with_axes(model)[k] for k in np.flatnonzero(axis_reversal_mask(model, q)))


def loop_constraints_with_axes(model: Model) -> tuple[str, ...]:
    """Return the names of loop constraints whose rows also hold with opposed axes."""
    return _loop_constraint_axes(model)[0]


def axis_reversal_mask(model: Model, q: Array) -> BoolArray:
    """Return the mask (..., k) of loop constraints with two axes whose axes are antiparallel at q (..., nq)."""
    names, bodies, axes = _loop_constraint_axes(model)
    if not names:
        return np.zeros((*q.shape[:-1], 0), dtype=bool)
    if model.flexible_names:
        loop_constraints = [
            loop_constraint for loop_constraint in model.forest.loop_constraints if loop_constraint.name in names
        ]
        ends = [[model.pose(end, q).rotation @ end.rotation.T for end in (c.first, c.second)] for c in loop_constraints]
        turned = np.array(ends).reshape(len(loop_constraints), 2, *q.shape[:-1], 3, 3)
        first, second = np.einsum("ke...ij,ekj->e...ki", turned, axes)
    else:
        still = np.broadcast_to(np.eye(3), (*q.shape[:-1], 1, 3, 3))
        attitudes = np.concatenate([still, model.poses(q).rotation], -3)
        first, second = (np.einsum("...kij,kj->...ki", attitudes[..., bodies[e], :, :], axes[e]) for e in (0, 1))
    return (first * second).sum(-1) < 0.0


@cached_per_model
def _chains(model: Model) -> list[Any]:
    """Return the kinematic chains among the loop constraints."""
    return [
        loop_constraint
        for loop_constraint in model.forest.loop_constraints
        if isinstance(loop_constraint.element, KinematicChain)
    ]


@cached_per_model
def _loop_constraint_axes(model: Model) -> tuple[tuple[str, ...], NDArray[np.intp], Array]:
    """Return names (k), and for both ends of such constraints the bodies (2, k) and the axes in body axes (2, k, 3)."""
    names, bodies, axes = [], [], []
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, Joint) and loop_constraint.element.allows_axis_reversal:
            axis, ends = loop_constraint.element.frame()[:, 2], (loop_constraint.first, loop_constraint.second)
            names.append(loop_constraint.name)
            bodies.append([model.forest.number[end.body.name] for end in ends])
            axes.append([end.rotation @ axis for end in ends])
    return (
        tuple(names),
        np.array(bodies, dtype=np.intp).reshape(-1, 2).T,
        np.array(axes).reshape(-1, 2, 3).swapaxes(0, 1),
    )
