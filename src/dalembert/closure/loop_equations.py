"""Scaled equations of the loop constraints of a model, at one time or at a time for each state of a batch.

Every decision on closed loops (closure, rank) uses

    r = S (Phi - target),   J = S P D,   v = D x                                                                   (1)

with S = 1/L at rows in metres and D = L at velocities in m/s, 1 elsewhere, and L a length of the system. It is
therefore independent of the units of the description. Rows keep their indices in the model. A row that is released, or
not considered, has S = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, BoolArray
from ..compile.loop_constraints import characteristic_lengths
from ..model import Model
from ..model.cache import cached_per_model
from ..model.drive_targets import constraint_targets, row_gaps
from ..numerics.rank import CLOSED_RANK_TOL, null_space, numerical_rank, singular_values, split_rows

__all__ = ["LoopEquations", "LoopLinearization"]


MAX_ROUNDOFF_GAP = 1e-6  # largest gap attributed to rounding; markers far enough away for more are invalid


@dataclass(frozen=True, eq=False)
class LoopEquations:
    """Equations (1), a `ScaledRows`; rows on velocities only are included.

    Attributes
    ----------
    model : Model
    length : float, m
        Mean over the bodies of the distance between the connected markers of a body.
    row_scales : (nc,) 1/m or 1
        S of (1).
    column_scales : (nv,) m or 1
        D of (1).
    units : tuple of str, (nc,)
        ``"m"`` or ``"rad"``.
    floor : float
        Scaled residual due to rounding alone.
    targets : (3, nc) or (3, n, nc) m or rad, per s, per s2
        Target values of residuals and their first and second rates: zero, except for driven rows.
    t : float or (n,), s
        Time, for rows with explicit time dependence; n times for batches of n states.
    """

    model: Model
    length: float
    row_scales: Array
    column_scales: Array
    units: tuple[str, ...]
    floor: float
    targets: Array
    t: float | Array = 0.0

    @classmethod
    def of(
        cls, model: Model, *, positions_only: bool = False, t: float | Array = 0.0, prescribed: bool = True
    ) -> LoopEquations:
        """Return the equations of a model at time t; unless `prescribed`, without targets.

        With `positions_only`, rows on velocities only have zero scale.
        """
        loops = cls(model, *_constants(model), _targets(model, t) if prescribed else np.zeros((3, model.nc)), t)
        return loops.of_positions() if positions_only else loops

    def of_positions(self) -> LoopEquations:
        """Return the same equations with zero scale for rows on velocities only."""
        return replace(self, row_scales=np.where(self.model.holonomic, self.row_scales, 0.0))

    def without(self, rows: BoolArray) -> LoopEquations:
        """Return the same equations with zero scale for masked rows (nc,)."""
        return replace(self, row_scales=np.where(rows, 0.0, self.row_scales))

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.model.nv

    # ---- equations

    def gaps(self, q: Array) -> Array:
        """Return Phi - target (..., nc), m or rad, at q (..., nq)."""
        return row_gaps(self.model, self.model.constraint_residual(q, t=self.t), self.targets[0])

    def residual(self, q: Array) -> Array:
        """Return r (..., nc) of (1)."""
        return self.row_scales * self.gaps(q)

    def jacobian(self, q: Array) -> Array:
        """Return J (..., nc, nv) of (1)."""
        J: Array = self.row_scales[:, None] * self.model.constraint_jacobian(q, t=self.t) * self.column_scales
        return J

    def velocity_terms(self, q: Array) -> Array:
        """Return the target of P v (..., nc), m/s or rad/s."""
        b: Array = self.targets[1] - self.model.constraint_drift(q, t=self.t)
        return b

    def acceleration_terms(self, q: Array, v: Array) -> Array:
        """Return the target of P a (..., nc), m/s2 or rad/s2."""
        c: Array = self.targets[2] - self.model.constraint_bias(q, v, t=self.t)
        return c

    def rank(self, q: Array, free: BoolArray, tolerance: float = CLOSED_RANK_TOL) -> int:
        """Return the rank of J over the free velocities (nv,), at q (nq,)."""
        if not LoopLinearization.is_available(self.model):
            return numerical_rank(singular_values(self.jacobian(q)[:, free]), tolerance)
        return int((self.independent_parts(q, free, tolerance) > 0.0).sum())

    def independent_parts(self, q: Array, free: BoolArray, tolerance: float = CLOSED_RANK_TOL) -> Array:
        """Return what is left of each row beside those before it, as a part of its lever arms; 0 if it is redundant.

        By orthogonal factors within the trees, for models with many coupled loops (`LoopLinearization`). (nc,)
        """
        return self.model._independent_parts(q, *self._metric(free), tolerance, t=self.t)

    def _metric(self, free: BoolArray) -> tuple[Array, Array]:
        """Return marks of the rows considered (nc,), and weights of the squares of velocities (nv,)."""
        return (self.row_scales > 0.0).astype(float), np.where(free, self.column_scales**-2.0, 0.0)

    def dependences(self, q: Array, free: BoolArray, rank: int) -> tuple[list[int], Array]:
        """Return redundant rows at q (nq,), and combinations y (k, nc) of rows with y J = 0, 1 at the redundant row.

        All rows but `rank` are redundant, those with zero scale among them; these have no combination for models with
        many coupled loops (`LoopLinearization`), and are left out.
        """
        if not LoopLinearization.is_available(self.model):
            _, dropped, y = split_rows(self.jacobian(q)[:, free], rank)
            return dropped, y
        y = self.model._dependences(q, *self._metric(free), CLOSED_RANK_TOL, t=self.t)
        used = self.row_scales > 0.0
        dropped = [int(row) for row in np.flatnonzero(y.any(axis=1))]
        y = y[dropped] * self.row_scales[dropped, None]
        y[:, used] /= self.row_scales[used]
        y[np.abs(y) < 1e-8] = 0.0
        return dropped, y

    def null_space(self, q: Array, free: BoolArray) -> Array:
        """Return an orthonormal basis (nv, k) of the scaled velocities x with J x = 0, at q (nq,); only free ones move.

        For many coupled loops random velocities are projected, as many as there are motions and some more: their number
        confirms the rank.
        """
        if LoopLinearization.is_available(self.model):
            number, found = self.model._motions(q, *self._metric(free), CLOSED_RANK_TOL, t=self.t)
            count = int(number.item())
            if not count:
                return np.zeros((self.nv, 0))
            x = (found[: count + 4] / self.column_scales).T
            N, R = np.linalg.qr(x[:, :count])
            sizes = np.abs(np.diag(R))
            others = x[:, count:] - N @ (N.T @ x[:, count:])
            if sizes.min() > 1e-4 * sizes.max() and np.abs(others).max(initial=0.0) < 1e-8 * sizes.max():
                return N
        return null_space(self.jacobian(q), free=free)

    def shortest_step(self, q: Array, r: Array, free: BoolArray) -> Array | None:
        """Return the shortest scaled step (free,) for which |J x + r| is least, r (nc,); None without fronts."""
        if not LoopLinearization.is_available(self.model):
            return None
        return LoopLinearization(self, q, r, free, np.ones(int(free.sum()))).shortest()[0]

    # ---- manifold

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configuration after scaled steps x (..., nv)."""
        moved: Array = self.model.integrate(q, x * self.column_scales)
        return moved

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (..., nv) from q0 to q1."""
        steps: Array = self.model.difference(q0, q1) / self.column_scales
        return steps


class LoopLinearization:
    """Equations (1) linearized at q, solved within the trees by the core; the Jacobian is never formed.

    For models with many coupled loops (`is_available`). x are scaled velocities of the free degrees of freedom, with
    weights W: v = D W x.

    Parameters
    ----------
    loops : LoopEquations
    q : (nq,) rad or m
    r : (nc,)
        Scaled residual.
    free : (nv,) bool
    weights : (free,)

    Attributes
    ----------
    size : float
        Estimate of the norm of J W.
    gradient : float
        Norm of (J W)^T r.
    """

    LEAST_SHIFT = 1e-13  # of the square of the norm of J: takes the place of the truncation of redundant rows

    def __init__(self, loops: LoopEquations, q: Array, r: Array, free: BoolArray, weights: Array) -> None:
        self._loops, self._q, self._free = loops, q, free
        self._units = loops.column_scales.copy()
        self._units[free] *= weights
        self._inertia = np.where(free, self._units**-2.0, 0.0)
        used = loops.row_scales > 0.0
        self._row_units = np.divide(1.0, loops.row_scales, out=np.zeros(len(used)), where=used)
        self._gap = self._row_units * r
        pull, sums = self._solve(self._gap, 1.0)[2:]
        self.size = float(np.sqrt(sums.prod()))
        self.gradient = float(np.linalg.norm((self._units * pull)[free]))

    @staticmethod
    def is_available(model: Model) -> bool:
        """Return True if the core eliminates the loops of a model within the trees."""
        return bool(model._eliminates_loops)

    def _solve(self, gap: Array, shift: float) -> tuple[Array, Array, Array, Array]:
        compliance = shift * self._row_units**2
        return self._loops.model._closure_step(self._q, gap, compliance, self._inertia, t=self._loops.t)

    def step(self, mu: float) -> tuple[Array, Array]:
        """Return x (free,) that makes |x|^2 + |J W x + r|^2 / mu least, and J W x (nc,)."""
        v, rates, *_ = self._solve(self._gap, max(mu, self.LEAST_SHIFT * self.size**2))
        return (v / self._units)[self._free], self._loops.row_scales * rates

    def shortest(self, rounds: int = 3) -> tuple[Array, Array]:
        """Return the shortest x (free,) for which |J W x + r| is least, and what is left of r, (nc,)."""
        shift, gap, v = self.LEAST_SHIFT * self.size**2, self._gap, np.zeros(len(self._units))
        for _ in range(rounds):  # each takes out what the compliance of the last has left
            change, rates, *_ = self._solve(gap, shift)
            v, gap = v + change, gap + rates
        return (v / self._units)[self._free], self._loops.row_scales * gap


def _targets(model: Model, t: float | Array) -> Array:
    """Return residual, rate and second rate (3, nc), or (3, n, nc), that drives of constraints prescribe."""
    if not isinstance(t, np.ndarray) or t.ndim == 0:
        return constraint_targets(model, float(t) if isinstance(t, np.ndarray) else t)
    if all(drive.of_joint for drive in model.drives):
        return np.zeros((3, np.size(t), model.nc))
    return np.array([constraint_targets(model, float(one)) for one in np.asarray(t)]).swapaxes(0, 1)


@cached_per_model
def _constants(model: Model) -> tuple[float, Array, Array, tuple[str, ...], float]:
    """Return length, row scales, column scales, units and floor of a model."""
    tables = model.compiled.tables
    reach = characteristic_lengths(model.forest)[1]
    floor = 16 * np.finfo(float).eps * (1.0 + reach / model.length) * max(1.0, model.nb**0.5)
    floor = floor if floor < MAX_ROUNDOFF_GAP else MAX_ROUNDOFF_GAP
    return model.length, tables["row_scale"], tables["column_scale"], model.compiled.names.row_units, floor
