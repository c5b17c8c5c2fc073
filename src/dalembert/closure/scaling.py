"""Scaling: dimensionless rows and columns of the closure equations.

Every decision on closed loops (closure, rank) uses

    r_s = S r,   J_s = S P D,   v = D x

with S = 1/L at rows in metres and D = L at velocities in m/s, 1 elsewhere, and L a length of the system. It is
therefore independent of the units of the description.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..compile.loop_constraints import characteristic_lengths
from ..model import Model
from ..model.cache import cached_per_model

__all__ = ["Scaling"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Row and column scales of a model's closure equations.

    Attributes
    ----------
    length : float, m
        Mean over the bodies of the distance between the connected markers of a body.
    rows : (nc,) 1/m or 1
    columns : (nv,) m or 1
    units : tuple of str, (nc,)
        ``"m"`` or ``"rad"``.
    floor : float
        Scaled residual due to rounding alone.
    targets : (3, nc) m or rad, per s, per s2
        Target values of residuals and their first and second rates: zero, except for driven rows.
    t : float, s
        Time, for rows with explicit time dependence.
    """

    length: float
    rows: Array
    columns: Array
    units: tuple[str, ...]
    floor: float
    targets: Array
    t: float = 0.0

    @classmethod
    def of(cls, model: Model, *, positions_only: bool = False, t: float = 0.0, prescribed: bool = True) -> Scaling:
        """Return the scales of a model at time t; unless `prescribed`, without targets.

        With `positions_only`, nonholonomic rows have zero scale.
        """
        length, rows, columns, units, floor = _constants(model)
        targets = model.constraint_targets(t) if prescribed else np.zeros((3, model.nc))
        scales = cls(length, rows, columns, units, floor, targets, t)
        return scales.of_positions(model) if positions_only else scales

    def of_positions(self, model: Model) -> Scaling:
        """Return the same scales with zero for nonholonomic rows."""
        return replace(self, rows=np.where(model.holonomic, self.rows, 0.0))

    def without(self, rows: NDArray[np.bool_]) -> Scaling:
        """Return the same scales with zero for masked rows (nc,)."""
        return replace(self, rows=np.where(rows, 0.0, self.rows))

    def residual(self, model: Model, q: Array) -> Array:
        """Return S r (nc,)."""
        return self.rows * model.apart(model.constraint_residual(q, t=self.t), self.targets[0])

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return S P D (nc, nv)."""
        return self.rows[:, None] * model.constraint_jacobian(q, t=self.t) * self.columns

    def rates(self, model: Model, q: Array) -> Array:
        """Return the target of P v (nc,), m/s or rad/s."""
        return self.targets[1] - model.constraint_drift(q, t=self.t)


MAX_ROUNDOFF_GAP = 1e-6  # largest gap attributed to rounding; markers far enough away for more are invalid


@cached_per_model
def _constants(model: Model) -> tuple[float, Array, Array, tuple[str, ...], float]:
    """Return length, rows, columns, units and floor of a model."""
    tables = model.compiled.tables
    reach = characteristic_lengths(model.forest)[1]
    floor = 16 * np.finfo(float).eps * (1.0 + reach / model.length) * max(1.0, model.nb**0.5)
    floor = floor if floor < MAX_ROUNDOFF_GAP else MAX_ROUNDOFF_GAP
    return model.length, tables["row_scale"], tables["column_scale"], model.compiled.names.row_units, floor
