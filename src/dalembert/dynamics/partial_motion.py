"""Motions given in part: given coordinates are driven, the others follow from loops or integration."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..closure.driven.driven_state import driven_positions
from ..closure.driven.prescribed_velocities import Prescribed
from ..closure.loop_equations import LoopEquations
from ..connections.attitudes import AttitudeSpline
from ..connections.laws import Spline
from ..errors import ModelError
from ..model import Model
from ..motion.kinematic_motion import kinematics
from ..result import Result
from ..simulation import simulate

__all__ = ["driven_motion_of"]


def driven_motion_of(
    model: Model, t: Array, laws: dict[str, Any], q: Any, notes: list[str], options: dict[str, Any], item: str
) -> Result:
    """Return the motion at t (n,) of a system with drives for given coordinates: laws, (n,), or (n, 4 or 7)."""
    if not laws:
        raise ModelError(item, "coordinates", "none", "name at least one coordinate of a joint")
    described = model.system.copy()
    for name, law in laws.items():
        if not isinstance(law, np.ndarray):
            described.drive(name, position=law)
        elif law.ndim == 1:
            described.drive(name, position=Spline(t, law, 5))
        else:
            position = tuple(Spline(t, column, 5) for column in law[:, 4:].T) or None
            described.drive(name, position=position, rotation=AttitudeSpline(t, law[:, :4], 5))
    driven = described.compile()
    left = _dof(driven, t)
    if left == 0 and not driven.flexible_names:
        if options:
            raise ModelError(item, next(iter(options)), options, "no DOF is integrated: leave options out")
        followed = kinematics(driven, times=t, state=q)
        followed.stats.notes.extend(notes)
        return followed
    if q is not None:
        options = {"state": _start(driven, q), **options}
    result: Result = simulate(driven, float(t[-1]), **{"t_start": float(t[0]), "times": t, **options})
    given = ", ".join(map(repr, list(laws)[:8]))
    result.stats.notes.extend(
        [*notes, f"given are {given}; {left} degrees of freedom were integrated under the forces described"]
    )
    return result


def _start(model: Model, q: Any) -> dict[str, Any]:
    rows = np.asarray(q, dtype=float)
    if rows.shape != (model.nq,):
        raise ModelError(
            "measured_motion", "the shape of q", rows.shape, f"give ({model.nq},), as the driven system has"
        )
    return {name: rows[model.q_slice(name)] for name in model.joint_names if rows[model.q_slice(name)].size}


def _dof(model: Model, t: Array) -> int:
    """Return the number of degrees of freedom left by drives and loops."""
    prescribed = Prescribed.of(model)
    q = driven_positions(model, float(t[0]))
    return prescribed.leave(LoopEquations.of(model, t=float(t[0])), q)[0]
