"""Why a run could not go on, in words."""

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

_FOLDED = 1e-3  # steps end where the root of their rounding is left, some 1e-6
_LOST = 1e-5  # of the least inertia of a motion, in parts of what it was before: what is left is as good as none
_SAMPLES = 12  # states of a run by which its usual inertia is known
_TAUT = 1e-2  # a run stops some 1e-7 of the reach before its end, where joints have the root of that left

APART, NOT_FINITE, UNDERFLOW, UNSOLVED = (_core.outcomes[k] for k in ("apart", "not_finite", "underflow", "unsolved"))


def make_error(run: Run, outcome: int) -> DalembertError:
    """Return the error that goes with an outcome of the core."""
    model = run.model
    t, q, _, _, a, _ = run.integrator.state()
    where = f"at t = {t:.9g} s"
    taut = _taut_chains(run, q) if outcome in (APART, UNDERFLOW, NOT_FINITE, UNSOLVED) else ""
    if taut:
        return SingularityError(f"{where} the mechanism cannot move on: {taut}")
    if outcome in (APART, UNDERFLOW, NOT_FINITE, UNSOLVED) and model.nc:
        stuck = _singular(run, t, q)
        if stuck:
            return SingularityError(f"{where} the mechanism cannot move on: {stuck}")
    if outcome in (UNDERFLOW, NOT_FINITE, UNSOLVED):
        lost = lost_inertia(run)
        if lost:
            return SingularityError(f"{where} the motion cannot go on: {lost}")
    if outcome == APART:
        residual = np.abs(model.constraint_residual(q, t=t))
        worst = model.constraint_connections[int(residual.argmax())]
        return IntegrationError(
            f"{where} the loops cannot be closed after a step of {run.integrator.step:.3g} s; the widest open is "
            f"{worst!r}. Give a smaller step, or look whether the mechanism locks here, or whether a body of the loop "
            "is too light beside the others for double precision"
        )
    dof, error = run.integrator.worst
    name = model.speed_names[dof] if dof < model.nv else f"element state {dof - model.nv}"
    if outcome == NOT_FINITE:
        lost = _loads_that_fail(run)
        if lost:
            return UserFunctionError(f"{where} {lost}")
        folded = element_at_fold(run)
        if folded:
            return SingularityError(folded)
        guilty = _law_that_fails(run)
        if guilty:
            return UserFunctionError(f"{where} the law of {guilty}")
        if np.isfinite(a).all() and run.options.step:
            return IntegrationError(
                f"{where} a step of {run.options.step:.3g} s leads nowhere: accelerations at its end are not finite. "
                "Give a shorter step"
            )
        bad = [repr(model.speed_names[k]) for k in np.flatnonzero(~np.isfinite(a))]
        which, when = (f"the acceleration of {bad[0]}", "there") if bad else ("an acceleration", "just after")
        return IntegrationError(
            f"{where} {which} is not finite: look at the forces {when}, and at degrees of freedom without inertia"
        )
    if outcome in (UNSOLVED, UNDERFLOW):
        guilty = find_parallel_driven_axes(model, t) or find_discontinuity(
            run.conditions, run.options, run.state, run.options.step or 0.0
        )
        if guilty:
            return IntegrationError(f"{where} no step is small enough: {guilty}")
    if outcome == UNSOLVED:
        return IntegrationError(
            f"{where} an implicit step of {run.integrator.step:.3g} s leads nowhere: its equations have no solution "
            "nearby. Give a shorter step, or look for forces that jump there"
        )
    if outcome == UNDERFLOW:
        return IntegrationError(
            f"{where} no step is small enough: the error in {name!r} stays at {error:.3g} times the tolerance with a "
            f"step of {run.integrator.step:.3g} s. A force may jump there: use an event; or loosen rtol and atol"
        )
    return IntegrationError(f"{where} the run ended with outcome {outcome}")


def lost_inertia(run: Run) -> str:
    """Return which speeds have lost the inertia that they had earlier in the run; empty if none has."""
    model, free = run.model, np.flatnonzero(~run.conditions.given)
    times, places, *_ = run.records.arrays()
    if not len(free):
        return ""
    some = np.unique(np.linspace(0, len(times) - 1, _SAMPLES).astype(int))
    before = [model.mass_matrix(places[k])[np.ix_(free, free)] for k in some]
    scale = np.max([np.diag(M) for M in before], axis=0)
    unit = 1.0 / np.sqrt(np.where(scale > 0, scale, scale.max() or 1.0))

    def least(M: np.ndarray, t: float, q: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the least scaled inertia of motions that loops permit, and that motion."""
        motions = np.eye(len(free))
        if model.nc:
            P = (model.constraint_jacobian(q, t=t) * run.conditions.holds()[:, None])[:, free] * unit
            motions = null_space(P, ROW_RANK_TOL, 0.0).T
        if not len(motions):
            return np.inf, unit
        sizes, vectors = np.linalg.eigh(motions @ (M * unit * unit[:, None]) @ motions.T)
        return float(sizes[0]), vectors[:, 0] @ motions

    t, q = run.integrator.state()[:2]
    usual = max(least(M, float(times[k]), places[k])[0] for M, k in zip(before, some, strict=True))
    now, motion = least(model.mass_matrix(q)[np.ix_(free, free)], t, q)
    if not now < _LOST * usual:
        return ""
    taking = np.flatnonzero(np.abs(motion) > 0.1 * np.abs(motion).max())
    first = int(taking[0])
    rates = motion * unit / (motion[first] * unit[first])
    names = " with ".join(f"{model.speed_names[free[k]]!r} {rates[k]:+.3g}" for k in taking)
    if len(taking) == 1:
        names = repr(model.speed_names[free[first]])
    return (
        f"nothing resists {names} any more, its inertia is {max(now, 0.0) / usual:.2g} of what it was. Axes of angles "
        "may coincide there (gimbal lock): use da.Spherical or another sequence of angles; a body may have no inertia "
        "about its axis: give it some; or stop the motion before, by an event"
    )


def _taut_chains(run: Run, q: np.ndarray) -> str:
    """Return which kinematic chains are stretched or folded as far as they go; empty if none is."""
    model, taut = run.model, []
    for loop_constraint in model.forest.loop_constraints:
        if isinstance(loop_constraint.element, KinematicChain):
            first, second = model.pose(loop_constraint.first, q), model.pose(loop_constraint.second, q)
            away = first.rotation.T @ (second.position - first.position)
            if loop_constraint.element.stretch_margin(first.rotation.T @ second.rotation, away) < _TAUT:
                taut.append(repr(loop_constraint.name))
    if not taut:
        return ""
    return (
        f"the kinematic chain {' and '.join(taut)} is stretched or folded as far as it goes, and its joints cannot "
        "follow; stop the motion before, by an event, by da.Limits, or by da.Rope(a little less than its reach) beside "
        "it, which holds it there as a taut rope (chains of parallel pins have that of themselves, unless stops='off')"
    )


def element_at_fold(run: Run) -> str:
    """Return which element's unknowns have come to where they cannot go on, with what; empty if none has."""
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
        if left < _FOLDED:
            return fold_message(name, t, list(element.unknowns)[most], left)
    return ""


def _law_that_fails(run: Run) -> str:
    """Return which element's law is not finite where the run stopped or just ahead, and for what; empty if none is."""
    t, q, v, x, a, _ = run.integrator.state()
    last = run.integrator.step if np.isfinite(run.integrator.step) else 0.0
    ahead = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 13), [last]]) * (1.0 if run.t_end > t else 0.0)
    a = np.where(np.isfinite(a), a, 0.0)
    places = np.array([run.model.integrate(q, h * v) for h in ahead])
    speeds = np.array([v + h * a for h in ahead])
    return laws_that_fail(run.model, t + ahead, places, speeds, np.tile(x, (len(ahead), 1)), run.conditions)


def _loads_that_fail(run: Run) -> str:
    """Return which elements depend on loads that were not found, if accelerations are not finite for that reason."""
    names = [
        repr(name)
        for name, force in run.model.system.forces.items()
        if isinstance(force.element, Element)
        and any(isinstance(source, Reaction) for source in force.element.sources.values())
    ]
    if not names:
        return ""
    return (
        f"the loads that elements {', '.join(names)} depend on, and that depend on them, cannot be found: friction may "
        "be so strong that it jams (no solution, or several), or a law is not finite there"
    )


def _singular(run: Run, t: float, q: np.ndarray) -> str:
    """Return what is singular at q about the loops, where drives and locks leave DOF; empty if nothing is."""
    free = ~run.conditions.given
    try:
        mobile = not free.all() or mobility(run.model, q=q, t=t).mobility > 0
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
        return f"{limit} Stop the drive before, or let it turn back; another joint may drive the mechanism through"
    smallest = values[usual - 1] if usual else 0.0
    moving = run.model.speed_names[int(np.abs(run.integrator.state()[2]).argmax())]
    return (
        f"the constraint rows have rank {rank} here (smallest singular value {smallest:.3g}), and its motion, "
        f"{moving!r} foremost, has no continuation that obeys all loops. It may have locked"
    )


def at_limit(model: Model, t: float) -> str:
    """Say which drive of a constraint has come to the end of what its quantity can be; empty if none has."""
    for drive in model.drives:
        element = drive.connection.element
        if not isinstance(element, Constraint) or not np.isfinite(element.limits).any():
            continue
        value = drive.law(t)[0]
        reach = 1e-3 * max(abs(limit) for limit in element.limits if np.isfinite(limit)) or 1e-3
        if min(abs(value - limit) for limit in element.limits) < reach:
            lower, upper = element.limits
            return (
                f"drive {drive.name!r} asks for {value:.6g}, and a {element.kind} needs it between {lower:.6g} and "
                f"{upper:.6g}: no motion goes on smoothly there"
            )
    return ""
