"""Constraints on a state: loop constraints, and coordinates and velocities prescribed by drives and locks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, BoolArray
from ..closure.loop_equations import LoopEquations
from ..errors import AssemblyError, ModelError
from ..model import Conditions, Model, State
from ..model.drive_targets import driven_speeds
from ..numerics.rank import minimum_norm_solution

__all__ = ["StateConstraints"]


CONSTRAINT_TOL = 1e-6  # scaled residual beyond which a state violates a row


@dataclass(frozen=True, eq=False)
class StateConstraints:
    """Constraints on a state under given conditions at a time.

    This is a selection of rows and DOF, not a `ScaledRows` with a residual of its own; `of_positions` is one.

    Attributes
    ----------
    held : (nc,) bool
        Active rows.
    placing : (nc,) bool
        Active rows that constrain positions.
    placed, paced : (nv,) bool
        Degrees of freedom with prescribed positions, and with prescribed velocities.
    loops : LoopEquations
        All rows, active or not.
    """

    held: BoolArray
    placing: BoolArray
    placed: BoolArray
    paced: BoolArray
    loops: LoopEquations

    @classmethod
    def of(cls, model: Model, conditions: Conditions | None, t: float) -> StateConstraints:
        names = model.compiled.names
        held = np.asarray(names.closing, dtype=bool).copy()
        placing = held & np.asarray(model.holonomic, dtype=bool)
        if conditions is None:
            placed, paced = driven_speeds(model, 0), driven_speeds(model, 1)
        else:
            on = conditions.active_rows()
            held, placing = held & on, placing & on
            placed, paced = (
                np.array(marks, dtype=bool)
                for marks in (conditions.position_prescribed, conditions.velocity_prescribed)
            )
            if any(dof >= model.nv for dof in conditions.locked):
                raise ModelError(
                    "linearize", "conditions", "a locked cut joint",
                    "the loop is cut at a joint that sticks: describe it as locked (da.Fixed; da.Distance for "
                    "a taut rope), or cut the loop elsewhere",
                )  # fmt: skip
        return cls(held, placing, placed, paced, LoopEquations.of(model, t=t))

    @property
    def of_positions(self) -> LoopEquations:
        """Equations of the active rows that constrain positions."""
        return self.loops.without(~self.placing)

    def project_velocities(self, q: Array, v: Array, loose: BoolArray) -> Array:
        """Return v (nv,) with the masked velocities changed by the least amount that satisfies the active rows."""
        if not self.held.any():
            return v
        P = self.loops.model.constraint_jacobian(q, t=self.loops.t)[self.held]
        v = v.copy()
        v[loose] += minimum_norm_solution(P[:, loose], self.loops.velocity_terms(q)[self.held] - P @ v, floor=0.0)
        return v

    def check(self, state: State) -> None:
        """Raise if the state violates a constraint."""
        model = self.loops.model
        if not model.nc:
            return
        S, names = self.loops.row_scales, model.constraint_names
        gap = np.where(self.placing, self.loops.residual(state.q), 0.0)
        pace = 1.0 + float(np.abs(state.v / self.loops.column_scales).max(initial=0.0))
        P = model.constraint_jacobian(state.q, t=state.t)
        rate = np.where(self.held, S * (P @ state.v - self.loops.velocity_terms(state.q)), 0.0) / pace
        for what, by in (("position", gap), ("speed", rate)):
            if np.abs(by).max(initial=0.0) > CONSTRAINT_TOL:
                worst = int(np.abs(by).argmax())
                raise AssemblyError(
                    f"the state violates row {names[worst]!r}: its {what} has an error of {abs(by[worst]):.3g} "
                    "(scaled); close it with da.start_state(...) or da.assemble(...)"
                )
