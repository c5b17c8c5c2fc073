"""Closure equations of a mechanism, independent of the choice of coordinates.

    Phi(q, t) = 0                                                    positions
    J v = b           J = Phi_q,  b = -Phi_t                         velocities           (1)
    J a = c           c = b' - J' v                                  accelerations        (2)
    J j = d           d = c' - J' a                                  jerks                (3)

Drives are equations like the others. A mechanism whose degrees of freedom are all driven has as many independent
equations as velocities. q moves on a manifold: `retract` moves along v for a unit of time, `difference` is its inverse.
Newton's method, rank, subspaces of motion, continuation and branches use only this interface. Garcia de Jalon and Bayo
1994, (3.1)-(3.8); (3.8) is misprinted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..model import Model
from ..model.drive_targets import constraint_targets, drive_targets, driven_dof, driven_row, row_gaps
from ..numerics.least_squares import LeastSquaresProblem
from .loop_equations import LoopEquations

__all__ = ["Equations", "RelativeEquations", "ScaledRows"]


class Equations(Protocol):
    """Closure equations in one set of coordinates.

    Attributes
    ----------
    nq, nv, rows : int
        Number of coordinates, of velocities, of equations (redundant ones included).
    speed_names, row_names : tuple of str
    column_scales : (nv,)
        A step x of scaled velocities is one of column_scales * x: metres are measured in a length of the mechanism.
    row_scales : (rows,)
        Factors that make equations dimensionless; zero for an equation on velocities alone.
    """

    nq: int
    nv: int
    rows: int
    speed_names: tuple[str, ...]
    row_names: tuple[str, ...]
    column_scales: Array
    row_scales: Array

    def residual(self, q: Array, t: float) -> Array:
        """Return Phi (rows,) at q (nq,), t s."""
        ...

    def jacobian(self, q: Array, t: float) -> Array:
        """Return J (rows, nv)."""
        ...

    def velocity_terms(self, q: Array, t: float) -> Array:
        """Return b of (1), (rows,)."""
        ...

    def acceleration_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return c of (2), (rows,)."""
        ...

    def retract(self, q: Array, step: Array) -> Array:
        """Return the configuration (..., nq) after steps (..., nv) from q (..., nq)."""
        ...

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the steps (..., nv) from q0 to q1 (..., nq)."""
        ...


class ScaledRows(LeastSquaresProblem, Protocol):
    """Closure equations at one time, dimensionless: for one configuration or a batch.

    Projection, least squares, branch search and continuation take these.
    """

    @property
    def groups(self) -> Sequence[IndexArray]:
        """Rows of each connection."""
        ...

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (..., nv) from q0 to q1 (..., nq), the shorter way around."""
        ...


class RelativeEquations:
    """Equations of a model in joint coordinates: rows of loop constraints, then those of driven joints.

    Parameters
    ----------
    model : Model
    driven : bool
        Include drives; if False, driven joints and driven constraints are released.
    """

    def __init__(self, model: Model, *, driven: bool = True) -> None:
        self.model, self._driven = model, driven
        self.nq, self.nv = model.nq, model.nv
        drives = model.joint_drives if driven else ()
        self._places = [k for drive in drives for k in driven_dof(model, drive)]
        self._levels = np.array([drive.level for drive in drives for _ in drive.dofs], dtype=int)
        self.rows = model.nc + len(self._places)
        self.speed_names = tuple(model.speed_names)
        self.row_names = (*model.constraint_names, *(model.speed_names[k] for k in self._places))
        loops = LoopEquations.of(model, positions_only=True, prescribed=False)
        let_go = ~model.compiled.names.closing
        if not driven:
            let_go = let_go | self._driven_rows()
        self._closing = ~let_go
        self.column_scales = loops.column_scales
        held = np.where(self._levels == 0, 1.0 / loops.column_scales[self._places], 0.0)
        self.row_scales = np.concatenate([np.where(let_go, 0.0, loops.row_scales), held])

    def _driven_rows(self) -> BoolArray:
        model = self.model
        rows = np.zeros(model.nc, dtype=bool)
        rows[[driven_row(model, drive) for drive in model.drives if drive not in set(model.joint_drives)]] = True
        return rows

    def residual(self, q: Array, t: float) -> Array:
        """Return Phi (rows,), m or rad; of a batch q (B, nq), (B, rows)."""
        model = self.model
        gaps = row_gaps(
            model, model.constraint_residual(q, t=t), constraint_targets(model, t)[0] if self._driven else 0.0
        )
        gaps[..., ~self._closing | ~np.asarray(model.holonomic, dtype=bool)] = 0.0
        if not self._places:
            return np.asarray(gaps)
        given = drive_targets(model, t)[0]
        away = model.difference(np.where(np.isnan(given), q, given), q)[..., self._places]
        return np.concatenate([gaps, np.where(self._levels == 0, away, 0.0)], -1)

    def jacobian(self, q: Array, t: float) -> Array:
        """Return J (rows, nv); of a batch q (B, nq), (B, rows, nv)."""
        P: Array = self.model.constraint_jacobian(q, t=t)
        if not self._closing.all():
            P *= self._closing[:, None]
        if not self._places:
            return P
        held = np.eye(self.nv)[self._places]
        return np.concatenate([P, np.broadcast_to(held, (*P.shape[:-2], *held.shape))], -2)

    def velocity_terms(self, q: Array, t: float) -> Array:
        """Return b (rows,), m/s or rad/s."""
        model = self.model
        b = (constraint_targets(model, t)[1] if self._driven else 0.0) - model.constraint_drift(q, t=t)
        return np.concatenate([b * self._closing, drive_targets(model, t)[1][self._places]])

    def acceleration_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return c (rows,), m/s2 or rad/s2."""
        model = self.model
        c = (constraint_targets(model, t)[2] if self._driven else 0.0) - model.constraint_bias(q, v, t=t)
        return np.concatenate([c * self._closing, drive_targets(model, t)[2][self._places]])

    def retract(self, q: Array, step: Array) -> Array:
        """Return the configuration (nq,) after a step (nv,) from q."""
        return self.model.integrate(q, step)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the step (nv,) from q0 to q1."""
        return self.model.difference(q0, q1)
