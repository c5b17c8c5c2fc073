"""Velocity jump solver at a fixed configuration, for impulses, impacts and stick.

    M dv = I + R^T Lam + S^T E,     R dv = wanted,     S dv = wanted                                               (1)

(Passerello and Huston 1972, (4.9), with rows): I are applied impulses, Lam those of rows R, E those that hold single
velocities S. With the free velocities f and the held ones s, M_ff = L L^T and B = L^-1 R_f^T, every solution of (1) has

    y = L^T dv_f = L^-1 (I_f - M_fs dv_s) + B Lam,     B^T y = wanted - R_s dv_s                                   (2)

If rows are redundant, B has no full rank: y is the same for all solutions Lam.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..arrays import Array, BoolArray
from ..closure.loop_equations import LoopEquations
from ..errors import SingularityError
from ..model import Model
from ..numerics.rank import truncated_svd

__all__ = ["VelocityJumpSolver"]


ROUNDOFF_TOL = 1e-13  # of scaled entries of rows: smaller ones are zero
WEAK_INERTIA = 1e-10  # pivot relative to the inertia of a DOF: with less, jumps are rounding of the geometry
ADDED_INERTIA = 1e-7  # of the inertia of a DOF, added to weak ones if `regularize`
RANK_TOL = 1e-11  # of the largest singular value of B with columns of length one


class VelocityJumpSolver:
    """Factored equations (1) at one configuration.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
    held : (nv,) bool
        Velocities whose jumps are prescribed.
    rows : (m, nv)
        R: constraint rows of the model, then others.
    regularize : bool
        Add inertia to motions with hardly any, so that rounding does not cause large jumps of them.
    """

    def __init__(self, model: Model, q: Array, held: BoolArray, rows: Array, *, regularize: bool = False) -> None:
        self.model, self.free = model, ~held
        self._is_plain = not (len(rows) or held.any())
        self.rows = _without_rounding(model, rows) if len(rows) else rows
        self.M = model.mass_matrix(q)
        if not self._factor():
            raise SingularityError(f"impulse: {_explain_massless_motion(model, q)}")
        if regularize:
            inertia = self.M.diagonal()[self.free]
            weak = self.L.diagonal() ** 2 < WEAK_INERTIA * inertia
            if weak.any():
                self.M[self.free, self.free] += np.where(weak, ADDED_INERTIA * inertia, 0.0)
                self._factor()
        if not len(rows):
            return
        B = self._solved(self.rows[:, self.free].T)
        self.length = np.linalg.norm(B, axis=0)
        self.length[self.length == 0.0] = 1.0
        self.B = B / self.length
        self.U, self.s, self.Vt = truncated_svd(self.B, RANK_TOL)

    def _factor(self) -> bool:
        """Factor M_ff; return whether it is positive definite."""
        M = self.M if self._is_plain or self.free.all() else self.M[np.ix_(self.free, self.free)]
        if not len(M):
            self.L = M
            return True
        self.L, failed = _lapack().dpotrf(M, lower=1)
        return not failed

    def _solved(self, x: Array, trans: int = 0) -> Array:
        if not x.size:
            return x
        return np.asarray(_lapack().dtrtrs(self.L, x, lower=1, trans=trans)[0])

    def respond(self, impulses: Array, held: Array | None = None, wanted: Array | None = None) -> Array:
        """Return dv (k, nv) for impulses (k, nv), jumps of held velocities (k, nv) and of rates of rows (k, m).

        Arguments left out are zero.
        """
        if self._is_plain:
            return self._solved(self._solved(impulses.T), trans=1).T
        free = self.free
        dv = np.zeros(impulses.shape)
        rates = np.zeros((len(impulses), len(self.rows))) if wanted is None else wanted
        if held is not None:
            dv[:, ~free] = held[:, ~free]
            impulses = impulses - dv @ self.M
            rates = rates - dv @ self.rows.T
        y = self._solved(impulses[:, free].T)
        for _ in range(2 if len(self.rows) else 0):  # iterative refinement
            left = (rates / self.length).T - self.B.T @ y
            y = y + self.U @ ((self.Vt @ left) / self.s[:, None])
        dv[:, free] = self._solved(y, trans=1).T
        return dv


@cache
def _lapack() -> Any:
    """Return the routines of LAPACK; SciPy is imported where they are needed."""
    from scipy.linalg import lapack

    return lapack


def _without_rounding(model: Model, rows: Array) -> Array:
    """Return rows with rounding set to zero in those of the model, whose scale is known."""
    cleaned = rows.copy()
    loops = LoopEquations.of(model, prescribed=False)
    own = cleaned[: model.nc]
    own[np.abs(own) * loops.column_scales < ROUNDOFF_TOL / loops.row_scales[:, None]] = 0.0
    return cleaned


def _explain_massless_motion(model: Model, q: Array) -> str:
    """Return a message on motions without inertia, with remedies."""
    motions = model.massless_motions(q)
    if all(len(motion) == 1 for motion in motions):
        weak = ", ".join(repr(name) for motion in motions[:6] for name in motion)
        return f"nothing resists along {weak or 'some motion'}; give it inertia"
    listed = [" with ".join(f"{name!r} {x:+.3g}" for name, x in motion.items()) for motion in motions[:6]]
    return (
        f"nothing resists {'; '.join(listed)}: this combined motion has no inertia, and its size is undetermined; "
        "give inertia, or, if axes of angles coincide here (gimbal lock), use da.Spherical, another sequence of "
        "angles, or Kane.impulse_response(..., least=True) of dalembert.oracles.kane, which gives the smallest jump"
    )
