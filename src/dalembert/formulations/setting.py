"""Model at one state, the common input of all formulations.

Inertia is computed from bodies, joints and modes in readable NumPy (`oracles.kane`), not by the recursions of the core.
Forces of elements, and the rows of closed loops in joint velocities,

    P v' + c = 0                                                                                                   (1)

are taken from the model: formulations differ in the treatment of inertia and constraints, not in these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, IndexArray
from ..checks import finite_array
from ..compile.names import holds_of
from ..errors import ModelError
from ..model import Model, State, as_model
from ..model.drive_targets import constraint_targets, drive_targets
from ..oracles.kane import Kane
from ..simulation import start_state
from ..system import System

__all__ = ["ModelAtState", "setting"]


RANK_TOL = 1e-9  # relative to the largest singular value of the scaled rows
"""Singular values below this share of the largest belong to redundant rows."""


@dataclass(frozen=True, eq=False)
class ModelAtState:
    """Model at one state, with applied joint forces and loads.

    Attributes
    ----------
    model : Model
    q, v, x : (nq,), (nv,), (nx,)
    t : float, s
    tau : (nv,) N m or N
    loads : (nb, 6) N m and N
    """

    model: Model
    q: Array
    v: Array
    x: Array
    t: float
    tau: Array
    loads: Array

    @cached_property
    def kane(self) -> Kane:
        """Partial velocities of all bodies, and their rates."""
        return Kane(self.model.system, self.q, self.v, forest=self.model.forest)

    @cached_property
    def reported(self) -> dict[str, Array]:
        """Element forces: ``applied`` (nv) at joints and modes, ``body_loads`` (nb, 6) at origins, ``cut_effort``."""
        parts = ["applied", "body_loads", "cut_effort"]
        return self.model.report(parts, self.t, self.q, self.v, self.x, tau=self.tau, loads=self.loads)

    @property
    def body_loads(self) -> Array:
        """Element and applied loads [moment; force] (nb, 6) on bodies, at their origins, world axes."""
        return self.reported["body_loads"] + self.loads

    @property
    def joint_forces(self) -> Array:
        """Element and applied forces (nv,) at joints and modes."""
        return self.reported["applied"] + self.tau

    @cached_property
    def forces(self) -> Array:
        """Generalized forces (nv,) of elements and applied loads, along the joint velocities; without weights."""
        Q = self.joint_forces.copy()
        for frame, load in zip(self.kane.frames[1:], self.body_loads, strict=True):
            Q += frame.J.T @ load
        return Q

    @cached_property
    def closures(self) -> IndexArray:
        """Indices of permanent loop rows; the others are active only while joints stick."""
        model = self.model
        holds = {
            f"{loop_constraint.name}.{row}"
            for loop_constraint in model.forest.loop_constraints
            for row in holds_of(loop_constraint)
        }
        return np.array([k for k, name in enumerate(model.constraint_names) if name not in holds], dtype=np.intp)

    @cached_property
    def driven(self) -> IndexArray:
        """Indices of driven velocities."""
        return np.flatnonzero(~np.isnan(drive_targets(self.model, self.t)[1]))

    @cached_property
    def rows(self) -> tuple[Array, Array, Array]:
        """Rows of loops and drives, S v = s and S v' + c = 0: S (n, nv), s (n,), c (n,); see `row_names`."""
        model, kept = self.model, self.closures
        _, speeds, accelerations = drive_targets(model, self.t)
        S, s, c = np.eye(model.nv)[self.driven], speeds[self.driven], -accelerations[self.driven]
        if model.nc:
            target = constraint_targets(model, self.t)
            drift = target[1] - model.constraint_drift(self.q, t=self.t)
            bias = model.constraint_bias(self.q, self.v, t=self.t) - target[2]
            S = np.vstack([model.constraint_jacobian(self.q, t=self.t)[kept], S])
            s, c = np.concatenate([drift[kept], s]), np.concatenate([bias[kept], c])
        return S, s, c

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the loop rows, then of the driven velocities."""
        names, speeds = self.model.constraint_names, self.model.speed_names
        return (*(names[k] for k in self.closures), *(f"drive of {speeds[k]}" for k in self.driven))

    @property
    def row_owners(self) -> tuple[str, ...]:
        """Connections of the loop rows; none for drives."""
        owners = self.model.constraint_connections
        return (*(owners[k] for k in self.closures), *("" for _ in self.driven))


def setting(
    system: System | Model,
    state: State | Mapping[str, Any] | None,
    *,
    tau: ArrayLike | None = None,
    loads: ArrayLike | None = None,
) -> ModelAtState:
    """Return the model at a given state, at start values by name, or at the described ones."""
    model = as_model(system)
    found = state if isinstance(state, State) else start_state(model, state)
    if np.ndim(found.q) != 1:
        raise ModelError("formulation", "state", np.shape(found.q), "give one state, not a batch")
    item = "formulation"
    q = finite_array(found.q, (model.nq,), item=item, field="state.q")
    v = finite_array(found.v, (model.nv,), item=item, field="state.v")
    x = finite_array(
        found.x if np.size(found.x) else model.element_start_values(), (model.nx,), item=item, field="state.x"
    )
    forces = finite_array(np.zeros(model.nv) if tau is None else tau, (model.nv,), item=item, field="tau")
    on_bodies = finite_array(
        np.zeros((model.nb, 6)) if loads is None else loads, (model.nb, 6), item=item, field="loads"
    )
    return ModelAtState(model, q, v, x, float(found.t), forces, on_bodies)
