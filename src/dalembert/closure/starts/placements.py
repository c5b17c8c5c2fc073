"""The closed configuration nearest to given poses of bodies.

Poses measured off a drawing are not exactly consistent. With r_w the scaled differences from given values (poses, and
start values of joints; rad, and m per characteristic length), the start is a local solution of

    minimise |r_w(q)|^2   with   r(q) = 0 of the loops,                                                            (1)

the least of several. Joint coordinates are computed from the poses. |r_w|^2 + |r|^2 is reduced from there, then the
loops are closed, then (1) is solved along the closed configurations. As any of these has r = 0, no solution of (1) is
below the least |r_w|^2 + |r|^2.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, BoolArray
from ...bodies.markers import Marker
from ...model import Model
from ..loop_solver import LoopSolver, SoftTargets, SolverOutcome
from .coordinate_targets import CoordinateTarget, CutJointTarget

__all__ = ["nearest_closure"]

Pose = tuple[Array, Array]

N_STARTS = 8  # starting points; the first is read off the poses
N_NEAR_STARTS = 3  # of these, if the solution is near the lower bound; branches that meet nearby
NEAR_BOUND_RATIO = 2.0  # ratio of |r_w| found and its lower bound below which other branches are farther away
SAME_DISTANCE_TOL = 1e-6  # relative difference of |r_w| between starts that led to equally near configurations
DISPLACEMENT_RANGE = (0.1, np.pi)  # rad, or characteristic lengths: sizes of the first and last random displacement


def nearest_closure(
    closure: LoopSolver,
    guess: Array,
    held: BoolArray,
    preferences: SoftTargets,
    places: list[CoordinateTarget],
    random: np.random.Generator,
) -> SolverOutcome | None:
    """Return the closed configuration nearest to preferences and placed bodies (1); None if none was found.

    Parameters
    ----------
    closure : LoopSolver
    guess : (nq,) rad or m
        Start of joints between bodies that are not placed.
    held : (nv,) bool
    preferences : SoftTargets
        Placed bodies included.
    places : list of CoordinateTarget
        The placed bodies.
    random : Generator
    """
    model, given = closure.model, held | preferences.columns
    modes = np.zeros(model.nv, dtype=bool)
    for name in model.flexible_names:
        modes[model.v_slice(name)] = True
    base = coordinates_at(model, guess, places, given)
    # a flexible body is deformed only if the loops cannot be closed otherwise: errors of placement are not deflections
    for kept in [held | (modes & preferences.columns), held] if (modes & preferences.columns & ~held).any() else [held]:
        best = _nearest(closure, base, kept, given, preferences, random)
        if best is not None:
            best.q = closure.unwrap_angles(best.q, guess, given)
            return best
    return None


def _nearest(
    closure: LoopSolver,
    base: Array,
    held: BoolArray,
    given: BoolArray,
    preferences: SoftTargets,
    random: np.random.Generator,
) -> SolverOutcome | None:
    """Return the best local solution of (1) from several starts around a base (nq,)."""
    best, least, bound = None, np.inf, np.inf
    compromise = closure.with_rows(preferences.loop_constraints)
    for k, size in enumerate([0.0, *np.linspace(*DISPLACEMENT_RANGE, N_STARTS - 1)]):
        if k >= N_NEAR_STARTS and least <= NEAR_BOUND_RATIO * bound:
            break
        fitted = compromise.iterate(closure.perturbed(base, given, size, random), ~given)
        bound = min(bound, float(np.linalg.norm(compromise.residual(fitted.q))))
        trial = closure.iterate(fitted.q, ~held)
        if not trial.closed:
            trial = closure.leave_local_minimum(trial, held, random)
        if trial.closed:
            trial = closure.refine(trial, preferences, ~held)
            missed = float(np.linalg.norm(preferences.residual(trial.q)))
            if missed < (1.0 - SAME_DISTANCE_TOL) * least:
                best, least = trial, missed
    return best


def coordinates_at(model: Model, guess: Array, places: list[CoordinateTarget], given: BoolArray) -> Array:
    """Return a guess (nq,) with tree joint coordinates computed from body poses, except given ones.

    A joint takes the coordinates nearest to the relative pose of its markers. A body without a placed position and
    orientation follows from the joint that carries it, at the guess; of a free one with either, the other does.
    """
    q, forest = guess.copy(), model.forest
    placed = {held.loop_constraint.second.body.name: held for held in places if isinstance(held, CutJointTarget)}
    poses = {forest.bodies[0]: (np.eye(3), np.zeros(3))}
    for name, tree_joint in zip(forest.bodies[1:], forest.joints, strict=True):
        inboard = _after(poses[tree_joint.inboard.body.name], _in_body(model, tree_joint.inboard, guess))
        end = _in_body(model, tree_joint.outboard, guess)
        span, rates = model.q_slice(tree_joint.name), model.v_slice(tree_joint.name)
        held = placed.get(name)
        if held is None or held.count < 6:
            joint = tree_joint.element.pose(q[span])
            joint = _inverse(joint) if tree_joint.reversed else joint
            poses[name] = _after(_after(inboard, joint), _inverse(end))
        if held is not None and (held.count == 6 or tree_joint.element.nv == 6):
            rotation = held.rotation if held.turns.any() else poses[name][0]
            poses[name] = rotation, held.position if held.moves.any() else poses[name][1]
            if not given[rates].any() and tree_joint.element.nv:
                seen = _after(_inverse(inboard), _after(poses[name], end))
                q[span] = tree_joint.element.coordinates_of(*(_inverse(seen) if tree_joint.reversed else seen))
    return q


def _in_body(model: Model, marker: Marker, q: Array) -> Pose:
    """Return rotation and position of a marker in its body, deformed as at q (nq,)."""
    frame, at = model.pose(marker.body.origin, q), model.pose(marker, q)
    return _after(_inverse((frame.rotation, frame.position)), (at.rotation, at.position))


def _after(first: Pose, second: Pose) -> Pose:
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def _inverse(pose: Pose) -> Pose:
    return pose[0].T, -pose[0].T @ pose[1]
