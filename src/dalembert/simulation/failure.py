"""Errors of failed runs: cause of an outcome of the core, and remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..closure.driven.drive_limits import limit_reached
from ..closure.mobility_analysis import mobility
from ..connections.constraints.chains import KinematicChain
from ..connections.constraints.geometric import Constraint
from ..connections.elements.element import Element
from ..connections.elements.implicit_laws import slopes_of_unknowns, weakest_direction
from ..connections.elements.signals import Reaction
from ..errors import DalembertError, IntegrationError, SingularityError, UserFunctionError
from ..model.law_inputs import gives_numbers, law_inputs, laws_that_fail
from ..numerics.rank import ROW_RANK_TOL, null_space
from .diagnostics.discontinuities import find_discontinuity
from .diagnostics.driven_angles import find_parallel_driven_axes
from .diagnostics.snap_through import fold_message

if TYPE_CHECKING:
    from ..model import Model
    from .run import Run

__all__ = ["at_limit", "element_at_fold", "lost_inertia", "make_error"]

FOLD_TOL = 1e-3  # of the usual slope of the inner equations; steps end at about 1e-6, the root of their rounding
LOST_INERTIA_RATIO = 1e-5  # least inertia of a motion relative to its earlier value: less counts as zero
N_INERTIA_SAMPLES = 12  # states of a run for its usual inertia
STRETCH_TOL = 1e-2  # margin of a stretched chain: a run stops at about 1e-7 of the reach, with the root of that left

LOOPS_OPEN, NOT_FINITE, STEP_UNDERFLOW, NEWTON_FAILED = (
    _core.outcomes[k] for k in ("loops_open", "not_finite", "step_underflow", "newton_failed")
)


def make_error(run: Run, outcome: int) -> DalembertError:
    """Return the error for an outcome of the core."""
    model = run.model
    t, q = run.integrator.state()[:2]
    where = f"at t = {t:.9g} s"
    stretched = _stretched_chains(run, q) if outcome in (LOOPS_OPEN, STEP_UNDERFLOW, NOT_FINITE, NEWTON_FAILED) else ""
    if stretched:
        return SingularityError(f"{where} the mechanism cannot move on: {stretched}")
    if outcome in (LOOPS_OPEN, STEP_UNDERFLOW, NOT_FINITE, NEWTON_FAILED) and model.nc:
        stuck = _singular_loops(run, t, q)
        if stuck:
            return SingularityError(f"{where} the mechanism cannot move on: {stuck}")
    if outcome in (STEP_UNDERFLOW, NOT_FINITE, NEWTON_FAILED):
        lost = lost_inertia(run)
        if lost:
            return SingularityError(f"{where} the motion cannot continue: {lost}")
    if outcome == LOOPS_OPEN:
        residual = np.abs(model.constraint_residual(q, t=t))
        worst = model.constraint_connections[int(residual.argmax())]
        return IntegrationError(
            f"{where} the loops cannot be closed after a step of {run.integrator.step:.3g} s; the widest open is "
            f"{worst!r}. Give a smaller step; check whether the mechanism locks here, or a body of the loop is too "
            "light relative to the others for double precision"
        )
    if outcome == NOT_FINITE:
        return _not_finite_error(run, where)
    if outcome in (NEWTON_FAILED, STEP_UNDERFLOW):
        cause = find_parallel_driven_axes(model, t) or find_discontinuity(
            run.conditions, run.options, run.state, run.options.step or 0.0
        )
        if cause:
            return IntegrationError(f"{where} no step is small enough: {cause}")
    if outcome == NEWTON_FAILED:
        return IntegrationError(
            f"{where} an implicit step of {run.integrator.step:.3g} s failed: its equations have no solution "
            "nearby. Give a shorter step, or check for forces that jump there"
        )
    if outcome == STEP_UNDERFLOW:
        dof, error = run.integrator.worst_error
        name = model.speed_names[dof] if dof < model.nv else f"element state {dof - model.nv}"
        return IntegrationError(
            f"{where} no step is small enough: the error in {name!r} stays at {error:.3g} times the tolerance with a "
            f"step of {run.integrator.step:.3g} s. A force may jump there: use an event; or loosen rtol and atol"
        )
    return IntegrationError(f"{where} the run ended with outcome {outcome}")


def _not_finite_error(run: Run, where: str) -> DalembertError:
    """Return the error for accelerations that are not finite."""
    a = run.integrator.state()[4]
    lost = _failed_loads(run)
    if lost:
        return UserFunctionError(f"{where} {lost}")
    folded = element_at_fold(run)
    if folded:
        return SingularityError(folded)
    cause = _failed_law(run)
    if cause:
        return UserFunctionError(f"{where} the law of {cause}")
    if np.isfinite(a).all() and run.options.step:
        return IntegrationError(
            f"{where} a step of {run.options.step:.3g} s failed: accelerations at its end are not finite. "
            "Give a shorter step"
        )
    bad = [repr(run.model.speed_names[k]) for k in np.flatnonzero(~np.isfinite(a))]
    which, when = (f"the acceleration of {bad[0]}", "there") if bad else ("an acceleration", "just after")
    return IntegrationError(
        f"{where} {which} is not finite: check the forces {when}, and degrees of freedom without inertia"
    )


def lost_inertia(run: Run) -> str:
    """Return a message on velocities that have lost their inertia during the run; empty if there are none."""
    model, free = run.model, np.flatnonzero(~run.conditions.acceleration_prescribed)
    times, places, *_ = run.records.arrays()
    if not len(free):
        return ""
    some = np.unique(np.linspace(0, len(times) - 1, N_INERTIA_SAMPLES).astype(int))
    before = [model.mass_matrix(places[k])[np.ix_(free, free)] for k in some]
    scale = np.max([np.diag(M) for M in before], axis=0)
    unit = 1.0 / np.sqrt(np.where(scale > 0, scale, scale.max() or 1.0))

    def least(M: np.ndarray, t: float, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the least scaled inertia of motions permitted by the loops, and that motion."""
        motions = np.eye(len(free))
        if model.nc:
            P = (model.constraint_jacobian(q, t=t) * run.conditions.active_rows()[:, None])[:, free] * unit
            motions = null_space(P, ROW_RANK_TOL, 0.0).T
        if not len(motions):
            return np.inf, unit
        sizes, vectors = np.linalg.eigh(motions @ (M * unit * unit[:, None]) @ motions.T)
        return float(sizes[0]), vectors[:, 0] @ motions

    t, q = run.integrator.state()[:2]
    usual = max(least(M, float(times[k]), places[k])[0] for M, k in zip(before, some, strict=True))
    now, motion = least(model.mass_matrix(q)[np.ix_(free, free)], t, q)
    if not now < LOST_INERTIA_RATIO * usual:
        return ""
    taking = np.flatnonzero(np.abs(motion) > 0.1 * np.abs(motion).max())
    first = int(taking[0])
    rates = motion * unit / (motion[first] * unit[first])
    names = " with ".join(f"{model.speed_names[free[k]]!r} {rates[k]:+.3g}" for k in taking)
    if len(taking) == 1:
        names = repr(model.speed_names[free[first]])
    lost = f"{names} has lost its inertia, {max(now, 0.0) / usual:.2g} of its earlier value is left. "
    deformed = [body.name for body in model.system.bodies.values() if body.flexible is not None]
    bent = [name for name in deformed if any(model.speed_names[free[k]].startswith(f"{name}.eta[") for k in taking)]
    if bent:
        return (
            f"{lost}The modes of {' and '.join(map(repr, bent))} are for small deformations, and their inertia falls "
            "to zero far beyond them: make it stiffer, divide it into several bodies, or take da.cable"
        )
    return (
        f"{lost}Axes of angles may coincide there (gimbal lock): use da.Spherical or another sequence of angles; a "
        "body may have no inertia about its axis: give it some; or stop the motion before, by an event"
    )


def _stretched_chains(run: Run, q: np.ndarray) -> str:
    """Return a message on fully stretched or folded kinematic chains; empty if there are none."""
    model, stretched = run.model, []
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, KinematicChain):
            first, second = model.pose(loop_constraint.first, q), model.pose(loop_constraint.second, q)
            away = first.rotation.T @ (second.position - first.position)
            if loop_constraint.element.stretch_margin(first.rotation.T @ second.rotation, away) < STRETCH_TOL:
                stretched.append(repr(loop_constraint.name))
    if not stretched:
        return ""
    return (
        f"the kinematic chain {' and '.join(stretched)} is fully stretched or folded, and its joints cannot "
        "follow; stop the motion before, by an event, by da.Limits, or by da.Rope(a little less than its reach) beside "
        "it, which holds it there as a stretched rope (chains of parallel pins have such a limit, unless stops='off')"
    )


def element_at_fold(run: Run) -> str:
    """Return a message on an element whose inner equilibrium reaches a fold; empty if there is none."""
    t, q, v, x, _, _ = run.integrator.state()
    for name, force in run.model.system.forces.items():
        element = force.element
        if not isinstance(element, Element) or not element.unknowns:
            continue
        if any(isinstance(source, Reaction) for source in element.sources.values()):
            continue
        state = np.array([t]), q[None], v[None], x[None]
        here = law_inputs(run.model, name, *state, run.conditions)
        if not gives_numbers(run.model, name, element, here, state, run.conditions).all():
            continue
        J = slopes_of_unknowns(element, here[0])
        if not np.isfinite(J).all():
            continue
        times, *states = run.records.arrays()
        some = np.unique(np.linspace(0, len(times) - 1, 20).astype(int))
        places, speeds, others = (part[some] for part in states)
        before = law_inputs(run.model, name, times[some], places, speeds, others, run.conditions)
        usual = np.array([slopes_of_unknowns(element, row) for row in before])
        left, most = weakest_direction(J, usual[np.isfinite(usual).all(axis=(1, 2))])
        if left < FOLD_TOL:
            return fold_message(name, t, list(element.unknowns)[most], left)
    return ""


def _failed_law(run: Run) -> str:
    """Return a message on a law that is not finite at the end of the run or just after; empty if there is none."""
    t, q, v, x, a, _ = run.integrator.state()
    last = run.integrator.step if np.isfinite(run.integrator.step) else 0.0
    ahead = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 13), [last]]) * (1.0 if run.t_end > t else 0.0)
    a = np.where(np.isfinite(a), a, 0.0)
    places = np.array([run.model.integrate(q, h * v) for h in ahead])
    speeds = np.array([v + h * a for h in ahead])
    return laws_that_fail(run.model, t + ahead, places, speeds, np.tile(x, (len(ahead), 1)), run.conditions)


def _failed_loads(run: Run) -> str:
    """Return a message on elements that depend on loads without a solution; empty if there are none."""
    names = [
        repr(name)
        for name, force in run.model.system.forces.items()
        if isinstance(force.element, Element)
        and any(isinstance(source, Reaction) for source in force.element.sources.values())
    ]
    if not names:
        return ""
    return (
        f"the loads that elements {', '.join(names)} depend on, and that depend on them, have no solution: friction "
        "may be so strong that it jams (no solution, or several), or a law is not finite there"
    )


def _singular_loops(run: Run, t: float, q: np.ndarray) -> str:
    """Return a message on a singular configuration of the loops at q; empty if it is regular."""
    free = ~run.conditions.acceleration_prescribed
    try:
        mobile = not free.all() or mobility(run.model, q, t=t).mobility > 0
    except DalembertError:
        return ""
    usual = min(len(run.model.independent_rows), int(free.sum()))
    P = run.model.constraint_jacobian(q, t=t)
    values = np.linalg.svd(P[:, free], compute_uv=False)
    # steps end where the root of their rounding is left of the smallest
    rank = int((values > 1e-5 * np.linalg.norm(P, 2)).sum())
    if rank >= usual and mobile:
        return ""
    limit = limit_reached(run.model, t, q, run.integrator.state()[2], ~free)
    if limit:
        return f"{limit} Stop the drive before, or reverse it; another joint may drive the mechanism through"
    smallest = values[usual - 1] if usual else 0.0
    moving = run.model.speed_names[int(np.abs(run.integrator.state()[2]).argmax())]
    return (
        f"the constraint rows have rank {rank} here (smallest singular value {smallest:.3g}), and its motion, "
        f"{moving!r} foremost, has no continuation that obeys all loops. It may have locked"
    )


def at_limit(model: Model, t: float) -> str:
    """Return a message on a constraint drive at the end of its range; empty if there is none."""
    for drive in model.drives:
        element = drive.connection.element
        if not isinstance(element, Constraint) or not np.isfinite(element.limits).any():
            continue
        value = drive.law(t)[0]
        reach = 1e-3 * max(abs(limit) for limit in element.limits if np.isfinite(limit)) or 1e-3
        if min(abs(value - limit) for limit in element.limits) < reach:
            lower, upper = element.limits
            return (
                f"drive {drive.name!r} prescribes {value:.6g}, and a {element.kind} needs it between {lower:.6g} and "
                f"{upper:.6g}: no smooth motion continues there"
            )
    return ""
