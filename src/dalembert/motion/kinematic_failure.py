"""Failure messages of a kinematic motion that ended early, with remedies."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..closure.driven.drive_limits import limit_reached
from ..closure.driven.driven_state import drives_at
from ..closure.driven.driving_coordinates import best_driving_coordinates
from ..closure.equations import RelativeEquations
from ..closure.loop_equations import LoopEquations
from ..errors import AssemblyError, SingularityError
from ..model import Model
from ..model.drive_targets import driven_speeds
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep
from ..numerics.rank import null_space
from ..result import Axis
from .kinematic_request import KinematicRequest

__all__ = ["explain_end", "step_too_long_message"]


CLOSED_TOL = 1e-9  # scaled residual of closed loops
SINGULAR_TOL = 1e-4  # singular values at a closed singular position; the root of rounding


def explain_end(request: KinematicRequest, found: KinematicSweep) -> tuple[str, type[AssemblyError | SingularityError]]:
    """Return the reason why a motion ended early, and the type of error; empty if it did not."""
    if found.status == "finished":
        return "", SingularityError
    model, axis = request.model, request.axis
    if found.status == "undetermined":
        return _left_open(model, found, axis.at(found.t_last)), SingularityError
    if found.status == "open":
        gaps = np.abs(LoopEquations.of(model, t=found.t_last, positions_only=True).residual(found.q_last))
        if float(gaps.max(initial=0.0)) <= CLOSED_TOL:  # closed, but Newton's method stalls where J loses rank
            return _left_open(model, found, axis.at(found.t_last), SINGULAR_TOL), SingularityError
        return f"kinematics: the loops do not close at {axis.at(found.t_last)}", AssemblyError
    where = f"kinematics: the motion ends at {axis.at(found.t_last, '.9g')}"
    if found.status == "far":
        return (
            f"{where}: {step_too_long_message(axis, found.t_last, float(request.times[len(found.t)]))}",
            SingularityError,
        )
    if found.status == "contradicted":
        drives = drives_at(model, found.t_last, 1)
        return f"{where}: {drives} prescribe velocities or accelerations that the loops do not permit", SingularityError
    given = driven_speeds(model)
    limit = limit_reached(model, found.t_last, found.q_last, found.v_last, given)
    nowhere = f"beyond it no nearby position satisfies the loops and the {drives_at(model, found.t_last, 0)}."
    others = _better(model, found.q_last, found.t_last)
    remedy = f" Drive {others} instead." if others else ""
    return f"{where}: {limit or nowhere}{remedy}", SingularityError


def step_too_long_message(axis: Axis, reached: float, goal: float) -> str:
    """Return the message for a row that is too far from the previous one."""
    unit = f" ({axis.name} is in {axis.unit})" if axis.unit in ("rad", "m") else ""
    return (
        f"the next row, {axis.at(goal)}, is {abs(goal - reached):.3g}{axis.ending} on, too far for {MAX_STEPS} steps: "
        f"give rows in between, or check the numbers{unit}"
    )


def _better(model: Model, q: Array, t: float) -> str:
    """Return the coordinates that can be driven at a dead point of the drives, fastest first."""
    driven = {drive.name for drive in model.drives}
    names = [
        name for name in best_driving_coordinates(RelativeEquations(model, driven=False), q, t) if name not in driven
    ]
    return " or ".join(map(repr, names[:2]))


def _left_open(model: Model, found: KinematicSweep, where: str, least: float = 1e-9) -> str:
    """Return the message on DOF left by drives, or on a singular start.

    Singular values below `least` are zero.
    """
    J = LoopEquations.of(model, t=found.t_last).jacobian(found.q_last)
    given = driven_speeds(model)
    free = np.flatnonzero(~given)
    motions = null_space(J[:, free], least).T
    moving = [model.speed_names[free[k]] for k in np.flatnonzero(np.abs(motions).max(axis=0, initial=0.0) > 1e-6)]
    count = len(motions)
    better = _better(model, found.q_last, found.t_last) if model.drives else ""
    other = f", or drive {better}" if better else ""
    listed = ", ".join(map(repr, moving[:8])) + ", ..." * (len(moving) > 8)
    left = f"{count} DOF ({listed} can still move)"
    return (
        f"kinematics: at {where} drives leave {left}: "
        "drive as many coordinates as the system has DOF (see da.mobility), or use da.simulate; if it has that "
        f"many drives, the start is a singular position: start beside it{other}"
    )
