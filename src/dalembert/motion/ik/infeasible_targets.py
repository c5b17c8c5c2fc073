"""Infeasible targets: contradictions and targets that no joint can move."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...rotation import rotation_vectors
from .equations import IkEquations
from .multistart import MultistartSearch
from .target_checks import CheckedTarget

__all__ = ["check_contradictions", "check_motion"]


_N_TRIALS = 3  # random configurations at which the motion of a marker is checked
CONTRADICTION_TOL = 1e-6  # rad, or part of a distance


def check_contradictions(goals: list[CheckedTarget], item: str) -> None:
    """Raise an error for contradicting targets of points of one rigid body."""
    for one, two in combinations(goals, 2):
        same = one.marker.body is two.marker.body and one.marker.body.flexible is None
        if not same or (one.reference is not two.reference):
            continue
        gap = _gap(one, two)
        if gap is None:
            continue
        distance, unit, size = gap
        worst = int(distance.argmax())
        if distance[worst] > CONTRADICTION_TOL * size:
            what = f"{item}: {one.kind} of {one.name!r} and {two.kind} of {two.name!r}"
            where = f" of target {worst}" if len(distance) > 1 else ""
            remedy = "both are on one rigid body: free one of them"
            raise ModelError(what, f"contradiction{where}", f"{distance[worst]:.6g} {unit}", remedy)


def _gap(one: CheckedTarget, two: CheckedTarget) -> tuple[Array, str, float] | None:
    """Return the contradiction (B,) of two targets of a rigid body, the unit, and its scale."""
    kinds = (one.kind, two.kind)
    if not (one.whole and two.whole):
        return None
    if kinds == ("position", "position"):
        distance = np.linalg.norm(one.wanted - two.wanted, axis=-1)
        own = float(np.linalg.norm(one.marker.position - two.marker.position))
        return np.abs(distance - own), "m", max(own, 1e-3)
    if kinds == ("rotation", "rotation"):
        R = (one.wanted @ one.marker.rotation.T) @ (two.wanted @ two.marker.rotation.T).swapaxes(-1, -2)
        return np.linalg.norm(rotation_vectors(R), axis=-1), "rad", 1.0
    if kinds == ("rotation", "direction"):
        axes = one.wanted @ one.marker.rotation.T @ two.marker.rotation @ two.axis
        angles = np.arctan2(np.linalg.norm(np.cross(axes, two.wanted), axis=-1), (axes * two.wanted).sum(-1))
        return np.atleast_1d(angles), "rad", 1.0
    if kinds == ("direction", "rotation"):
        return _gap(two, one)
    return None


def check_motion(reach: IkEquations, q: Array, search: MultistartSearch, item: str) -> None:
    """Raise an error for targets that no joint moves, unless they are met at q (nq,)."""
    trials = search.scattered(np.tile(q, (_N_TRIALS, 1)))
    J = reach.jacobian(trials, np.zeros(_N_TRIALS, dtype=int))
    for k, goal in enumerate(reach.goals):
        span = slice(reach.hard + 3 * k, reach.hard + 3 * k + 3)
        if np.abs(J[:, span]).max(initial=0.0) > 1e-12 or not goal.meant_of(np.zeros(1, dtype=int)).any():
            continue
        number = max(len(goal.wanted), len(goal.specified))
        away = reach.residual(np.tile(q, (number, 1)), np.arange(number))[:, span] / reach.goal_scales[k]
        missed = float(np.linalg.norm(away, axis=1).max())
        if missed * reach.goal_scales[k] <= reach.tolerance:
            continue
        if goal.reference is not None and goal.reference.body is goal.marker.body:
            remedy = "it is on the body that it refers to"
        elif goal.marker.body is reach.model.system.ground:
            remedy = "it is fixed in the ground"
        else:
            remedy = "no unlocked joint affects this target: release a held joint, or choose another marker"
        raise ModelError(f"{item}: {goal.kind} of {goal.name!r}", "target", f"{missed:.6g} {goal.unit} away", remedy)
