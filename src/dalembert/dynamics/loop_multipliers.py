"""Loop constraints at many states: scaled rows, projectors, multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, IndexArray
from ..closure.loop_equations import LoopEquations
from ..errors import ModelError
from ..numerics.rank import ROW_RANK_TOL, significant
from .actuators import Actuators, StateSamples

__all__ = ["LoopProjection", "check_closed"]


@dataclass(frozen=True, eq=False)
class LoopProjection:
    """Rows J = U s V^T of the loops at n states.

    Attributes
    ----------
    loops : LoopEquations
    U, inverse, V : (n, nc, r), (n, r), (n, r, nv)
        Singular vectors, and inverse singular values, zero for those of rounding.
    projector : (n, nv, nv)
        Q = 1 - V^T V over the independent rows.
    """

    loops: LoopEquations
    U: Array
    inverse: Array
    V: Array
    projector: Array

    @classmethod
    def of(cls, s: StateSamples) -> LoopProjection:
        """Return the loop projection at samples of a motion."""
        loops = LoopEquations.of(s.model, t=s.t, prescribed=False)
        U, size, V = np.linalg.svd(loops.jacobian(s.q), full_matrices=False)
        counts = significant(size, ROW_RANK_TOL)
        inverse = np.where(counts, 1.0 / np.where(counts, size, 1.0), 0.0)
        Vr = V * counts[..., None]
        return cls(loops, U, inverse, V, np.eye(loops.nv) - Vr.swapaxes(1, 2) @ Vr)

    @property
    def columns(self) -> Array:
        """D of `LoopEquations`, (nv,)."""
        return self.loops.column_scales

    @property
    def dofs(self) -> IndexArray:
        """Number of motions that the loops allow, (n,)."""
        left: IndexArray = len(self.columns) - (self.inverse > 0).sum(axis=1)
        return left

    @property
    def redundant(self) -> bool:
        """True if rows are redundant at some state."""
        return bool((self.inverse == 0).any() or self.U.shape[1] > self.U.shape[2])

    def allowed(self, forces: Array) -> Array:
        """Return Q D f of generalised forces (n, nv, k): the part that loops cannot supply."""
        scaled = self.columns[:, None] * forces
        return scaled if not self.V.shape[1] else self.projector @ scaled

    def unsupplied_forces(self, rest: Array) -> Array:
        """Return the part (n, nv) of forces (n, nv) that loops do not supply."""
        return self.allowed(rest[..., None])[..., 0] / self.columns

    def multipliers(self, rest: Array, size: float) -> Array:
        """Return the shortest multipliers (n, nc) that supply forces (n, nv)."""
        if not self.V.shape[1]:
            return np.zeros((len(rest), self.loops.model.nc))
        rest = np.where(np.abs(rest) < 1e-12 * size, 0.0, rest)  # set rounding to zero
        along = np.einsum("nrv,nv->nr", self.V, self.columns * rest) * self.inverse
        lam: Array = self.loops.row_scales * np.einsum("ncr,nr->nc", self.U, along)
        return lam

    def determines(self, C: Array, acting: Actuators, s: StateSamples, u: Array) -> bool:
        """Return True if the values of the actuators are unique, apart from bounds."""
        supplied = C.swapaxes(1, 2)
        if acting.further:
            values = u[:, len(acting.dofs) :]
            none = np.full(len(acting), np.inf)
            slopes = acting.slopes(s, values, acting.needed(s, values), -none, none)
            supplied = np.concatenate([supplied, slopes], axis=2)
        A = self.allowed(supplied)
        if not A.shape[2]:
            return True
        norms = np.linalg.norm(A, axis=1, keepdims=True)
        size = np.linalg.svd(A / np.where(norms > 0.0, norms, 1.0), compute_uv=False)
        return bool(A.shape[2] <= A.shape[1] and (size > ROW_RANK_TOL).all())


def check_closed(s: StateSamples, item: str) -> None:
    """Raise an error for positions, velocities or accelerations that open the loops."""
    model = s.model
    if not model.nc:
        return
    loops, P = LoopEquations.of(model, t=s.t), model.constraint_jacobian(s.q, t=s.t)
    rate, second = loops.velocity_terms(s.q), loops.acceleration_terms(s.q, s.v)
    size = np.abs(P)
    size_v = np.einsum("ncv,nv->nc", size, np.abs(s.v)) + np.abs(rate)
    size_a = np.einsum("ncv,nv->nc", size, np.abs(s.a)) + np.abs(second)
    for what, gap, allowed, remedy in (
        (
            "q",
            np.where(model.holonomic, loops.gaps(s.q), 0.0),
            np.broadcast_to(1.0 / loops.row_scales, rate.shape),
            "assemble it first",
        ),
        ("v", np.einsum("ncv,nv->nc", P, s.v) - rate, _with_floor(size_v), "project it with consistent_velocities"),
        (
            "a",
            np.einsum("ncv,nv->nc", P, s.a) - second,
            _with_floor(size_a),
            "project it with consistent_accelerations",
        ),
    ):
        over = np.abs(gap) / allowed
        k, row = np.unravel_index(int(np.argmax(over)), over.shape)
        if over[k, row] > 1e-6:
            when = f" at t = {s.t[k]:.6g} s" if len(s) > 1 else ""
            field = f"{model.constraint_names[row]} at {what}"
            raise ModelError(item, field, float(gap[k, row]), f"{what}{when} does not keep the loops closed; {remedy}")


def _with_floor(size: Array) -> Array:
    """Return the magnitudes of the terms of each row, with a floor, because rounding spreads between rows."""
    floored: Array = np.maximum(size, 1e-3 * size.max(axis=1, keepdims=True, initial=0.0) + 1e-6)
    return floored
