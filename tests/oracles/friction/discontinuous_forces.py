"""Discontinuous force laws at rest: rows beside those of friction.

A law may jump where a velocity is zero, as -c sign(ds) does, or where a coordinate has some value, as -c sign(s). Its
switching function m selects the branch; on m = 0 it gives any mixture of both. If it pushes back along m,

    second rate of m:   w = w_0 + g a,      effort along g:   lam in [-c, c]                                         (1)

with g the slope of m over the velocities, or over the coordinates if it does not depend on velocities, then it acts as
friction: w = 0, or lam is on a bound and w points away from it. Such laws are rows of the stick-slip problem, and help
to hold rows at rest. Laws that push in other directions are left to the integrator and its sliding modes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.arrays import Array, BoolArray, IndexArray
from dalembert.impulses.velocity_jump_solver import VelocityJumpSolver
from dalembert.model import Conditions, Model
from dalembert.simulation.events.events import EventContext
from dalembert.simulation.friction.modes import MIDDLE

__all__ = ["DiscontinuousForces", "jump_sizes"]


DIFFERENCE_STEP = 1e-6  # rad, m, or per s: of differences of switching functions
SECOND_DIFFERENCE_TIME = 1e-4  # s: of second differences over time
DIRECTION_TOL = 1e-6  # relative: part of a jump that may act across the slope of its switching function
NEAR_ZERO = 10.0  # tolerances: a switching function this close to zero is at its jump


@dataclass(frozen=True, eq=False)
class DiscontinuousForces:
    """Discontinuous laws at their jumps in one state.

    Attributes
    ----------
    switching_functions : list of int
        Numbers of their switching functions in the model, k of them.
    G : (k, nv)
        Slopes of the switching functions.
    second : (k,) bool
        Switching functions of coordinates rather than velocities.
    strength : (k,) N m or N
        Half of the jumps, along the slopes.
    corrections : (k, nv) rad or m
        Displacements that bring switching functions of coordinates to zero.
    passed : dict of int to float
        Switching functions that the motion is passing, and the branches beyond.
    """

    switching_functions: list[int]
    G: Array
    second: BoolArray
    strength: Array
    corrections: Array
    passed: dict[int, float]

    @classmethod
    def none(cls, model: Model) -> DiscontinuousForces:
        """Return an empty set."""
        return cls([], np.zeros((0, model.nv)), np.zeros(0, dtype=bool), np.zeros(0), np.zeros((0, model.nv)), {})

    @classmethod
    def at(
        cls, conditions: Conditions, now: EventContext, jumps: VelocityJumpSolver, tolerances: tuple[float, float]
    ) -> DiscontinuousForces:
        """Return the laws at their jumps that push back along their switching functions.

        Parameters
        ----------
        conditions : Conditions
            Without locks of rows at rest.
        jumps : VelocityJumpSolver
        tolerances : (float, float)
            Of coordinates and velocities, rad or m, and per second.
        """
        model = conditions.model
        if not model.switching_functions:
            return cls.none(model)
        kinds = np.array([kind for _, kind in model.switching_functions])
        whole, sign = kinds == "integer", kinds == "sign"
        m, over_q, over_v = _slopes(conditions, now)
        level = np.where(whole, np.round(m), 0.0)
        m = m - level
        by_speed = np.abs(over_v).sum(axis=1) > DIRECTION_TOL * np.abs(over_q).sum(axis=1)
        reach, rest = (NEAR_ZERO * tolerance for tolerance in tolerances)
        size = np.where(by_speed[:, None], over_v, over_q)
        extent = np.abs(size).sum(axis=1)
        rate = over_q @ now.v
        near = (whole | sign) & (extent > 0) & (np.abs(m) <= np.where(by_speed, rest, reach) * extent)
        moving = near & ~by_speed & (np.abs(rate) > rest * extent)
        passed = {
            int(k): float(level[k] + (0.0 if rate[k] > 0 else -1.0)) if whole[k] else float(np.sign(rate[k]))
            for k in np.flatnonzero(moving)
        }
        found = [int(k) for k in np.flatnonzero(near & ~moving & sign)]
        under = conditions.changed(branches=passed) if passed else conditions
        strength = _strengths(under, now, jumps, found, size[found])
        kept = np.flatnonzero(strength > 0)
        switching_functions = [found[k] for k in kept]
        G, second = size[switching_functions], ~by_speed[switching_functions]
        moves = jumps.respond(G) if len(G) else G
        back = -(second * m[switching_functions] / np.einsum("ij,ij->i", G, moves))[:, None] * moves
        return cls(switching_functions, G, second, strength[kept], back, passed)

    def with_mean_branches(self, conditions: Conditions) -> Conditions:
        """Return conditions with the mean of both branches of these laws, and with the branches of passed ones."""
        if not self.switching_functions and not self.passed:
            return conditions
        return conditions.changed(branches={**self.passed, **dict.fromkeys(self.switching_functions, MIDDLE)})

    def rates(self, conditions: Conditions, now: EventContext) -> Array:
        """Return the second rates w_0 (k,) of (1), or first rates of velocities, under conditions."""
        if not self.switching_functions:
            return np.zeros(0)
        model, h = conditions.model, np.where(self.second, SECOND_DIFFERENCE_TIME, DIFFERENCE_STEP)
        parts = model.report(["a", "dx"], now.t, now.q, now.v, now.x, conditions=conditions)
        here = _switching_values(conditions, now.t, now.q, now.v, now.x)[self.switching_functions]
        found = np.empty(len(self.switching_functions))
        for step in np.unique(h):
            mine = h == step
            beside = []
            for time in (step, -step):
                q = model.integrate(now.q, time * now.v + 0.5 * time * time * parts["a"])
                v, x = now.v + time * parts["a"], now.x + time * parts["dx"]
                beside.append(_switching_values(conditions, now.t + time, q, v, x)[self.switching_functions])
            first, second = (beside[0] - beside[1]) / (2 * step), (beside[0] - 2 * here + beside[1]) / step**2
            found[mine] = np.where(self.second, second, first)[mine]
        return found


def jump_sizes(
    conditions: Conditions,
    switching_functions: list[int],
    places: IndexArray,
    share: Array,
    held: Array,
    states: tuple[Array, ...],
) -> Array:
    """Return half of the jumps of laws (n, k) along their slopes, while locks hold the rows that they act on.

    Parameters
    ----------
    conditions : Conditions
        With the mean of their branches.
    switching_functions : list of int, (k,)
    places : (l,) int
        Indices of the locks among the held efforts.
    share : (l, k)
        Effort of the locks for a unit effort of each law.
    held : (n, l) N m or N
        Efforts of the locks.
    states : t, q, v, x of n states
    """
    found = np.zeros((len(held), len(switching_functions)))
    for j, k in enumerate(switching_functions):
        beyond = conditions.changed(branches={**conditions.branches, k: 1.0})
        change = (
            conditions.model.report(["constraint_effort"], *states, conditions=beyond)["constraint_effort"][:, places]
            - held
        )
        found[:, j] = change @ share[:, j] / (share[:, j] @ share[:, j])
    return np.maximum(found, 0.0)


def _switching_values(conditions: Conditions, t: float | Array, q: Array, v: Array, x: Array) -> Array:
    """Return all switching functions at one state or several."""
    watched = conditions if conditions.branches else conditions.changed(branches={0: np.nan})
    return conditions.model.report(["switching_functions"], t, q, v, x, conditions=watched)["switching_functions"]


def _slopes(conditions: Conditions, now: EventContext) -> tuple[Array, Array, Array]:
    """Return switching functions (k,), and their slopes over coordinates and velocities, (k, nv) each."""
    model = conditions.model
    nv = model.nv
    unit = DIFFERENCE_STEP * np.vstack([np.eye(nv), -np.eye(nv)])
    rows = np.repeat(now.q[None], 2 * nv, axis=0)
    q = np.vstack([now.q, model.integrate(rows, unit), rows])
    v = now.v + np.vstack([np.zeros((1 + 2 * nv, nv)), unit])
    m = _switching_values(conditions, np.full(len(q), now.t), q, v, np.repeat(now.x[None], len(q), axis=0))
    over = [(m[1 + k : 1 + k + nv] - m[1 + k + nv : 1 + k + 2 * nv]).T / (2 * DIFFERENCE_STEP) for k in (0, 2 * nv)]
    cleaned = [np.where(np.abs(part) > DIRECTION_TOL * np.abs(part).max(initial=0.0), part, 0.0) for part in over]
    return m[0], cleaned[0], cleaned[1]


def _strengths(
    conditions: Conditions, now: EventContext, jumps: VelocityJumpSolver, switching_functions: list[int], G: Array
) -> Array:
    """Return half of the jumps (k,) along the slopes; zero where a law pushes across them, or away."""
    model, found = conditions.model, np.zeros(len(switching_functions))
    responses = jumps.respond(G) if len(G) else G
    middle = {**conditions.branches, **dict.fromkeys(switching_functions, MIDDLE)}
    for j, (k, response) in enumerate(zip(switching_functions, responses, strict=True)):
        a = [
            model.report(
                ["a"], now.t, now.q, now.v, now.x, conditions=conditions.changed(branches={**middle, k: side})
            )["a"]
            for side in (-1.0, 1.0)
        ]
        change, own = a[1] - a[0], float(response @ response)
        if own <= 0:
            continue
        part = float(change @ response) / own
        across = np.abs(change - part * response).max(initial=0.0)
        if part < 0 and across <= DIRECTION_TOL * np.abs(change).max(initial=0.0):
            found[j] = -0.5 * part
    return found
