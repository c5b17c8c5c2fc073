"""Recovery of a run whose integrator cannot continue: another method, a jam, another search, a passed transient."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..arrays import Array
from ..errors import SingularityError
from ..model import State
from .failure import element_at_fold, make_error
from .trajectory import Segment

if TYPE_CHECKING:
    from .diagnostics.compound_branches import CompoundBranches
    from .run import Rows, Run

__all__ = ["keep_compound_branches", "recover", "restart_search"]

REACHED, STIFF = _core.outcomes["reached"], _core.outcomes["stiff"]

FASTEST = 1e-13  # of the run: velocities that change by more than their tolerance within this time are not resolved
TRANSIENT = 1e-9  # of the run: length of the implicit step that passes such a transient
MAX_TRANSIENTS = 100  # in a run
MIN_STEP = 1e-12  # of the run: a step is not halved further to stay on a branch of an inner equilibrium


def recover(run: Run, outcome: int) -> bool:
    """Change the method of a stiff run, or resolve a failure; return whether a failure was resolved."""
    if outcome == STIFF:
        run.notes.append(f"t = {run.integrator.t:.6g} s: stability limited the explicit steps; continued with radau")
        state = run.state
        run.options = replace(run.options, method="radau", detect_stiffness=False)
        run.restart(state)
        return False
    if not restart_search(run) and not _pass_transient(run):
        raise make_error(run, outcome)
    return True


def keep_compound_branches(
    run: Run, rows: Rows, changed: bool, branches: CompoundBranches
) -> tuple[Rows, float]:
    """Return the steps that stay on the branches of inner equilibria, and the longest next step, s.

    The length is 0 if all steps do. `changed`: modes of friction changed at the end of the last step; its last row is the
    state after that.
    """
    t0, *begin = run.records.last()
    rows = tuple(part[:-1] for part in rows) if changed else rows
    if not len(rows[0]):
        return rows, 0.0
    t = np.concatenate([[t0], rows[0]])
    q, v, x = (np.vstack([a, b]) for a, b in zip(begin, rows[1:4], strict=True))

    def between(k: int, fractions: Array) -> tuple[Array, Array, Array, Array]:
        ends = slice(k, k + 2)
        states = run.trajectory.within_step(t[ends], q[ends], v[ends], x[ends], fractions)
        return t[k] + fractions * (t[k + 1] - t[k]), *states

    lost = branches.lost_after(run.conditions, t, q, v, x, between, run.segments[-1].begin)
    if lost is None:
        return rows, 0.0
    length = float(t[lost + 1] - t[lost])
    if run.segments[-1].begin == t[lost]:  # it may have been tried from there
        length *= 0.5
    if length < MIN_STEP * (run.t_end - run.segments[0].begin):
        return rows, 0.0
    run.counts[0] -= len(rows[0]) - lost
    return tuple(part[:lost] for part in rows), length


def restart_search(run: Run, length: float = 0.0) -> bool:
    """Begin the search for inner equilibria at the present solution, and restart; return whether this is new.

    With the length of the next step, s, the restart is made in any case.
    """
    if run.compound_branches is None:
        return False
    folded = "" if length else element_at_fold(run)
    if folded:
        raise SingularityError(folded)
    t, q, v, x = run.records.last()
    state = State(q=q, v=v, t=t, x=x)
    conditions = run.compound_branches.anchored(run.conditions, state)
    if conditions is None and not length:
        return False
    run.drop_branches_after(t)
    if run.segments[-1].begin == t:
        run.segments.pop()
    run.conditions = run.conditions if conditions is None else conditions
    run.restart(state)
    if length:
        run.integrator.set_first_step(length)
    return True


def _pass_transient(run: Run) -> bool:
    """Pass an unresolved transient just after a change by one implicit step; return whether there was one.

    Degrees of freedom with hardly any inertia, but damping, settle within less than the rounding of time. The implicit
    step leads to the settled state. Its error is controlled except for the velocities that change so fast.
    """
    t, q, v, x, a, _ = run.integrator.state()
    nv, span = run.model.nv, run.t_end - run.segments[0].begin
    late = t - run.segments[-1].begin > TRANSIENT * span
    if late or not (run.options.detect_stiffness or run.options.method == "radau"):
        return False
    usual = run.options.tolerances[nv : 2 * nv] + run.options.rtol * np.abs(v)
    fast = np.abs(a) * FASTEST * span > usual
    length = min(TRANSIENT * span, run.pause_time() - t)
    if not np.isfinite(a).all() or not fast.any() or run.transients >= MAX_TRANSIENTS or not length > 0:
        return False
    loose = run.options.tolerances.copy()
    loose[nv : 2 * nv][fast] = 10.0 * (np.abs(v) + np.abs(a) * length)[fast]
    options = replace(run.current_options, method="radau", detect_stiffness=False, tolerances=loose)
    stepper = options.integrator(run.conditions, run.discontinuity_times)
    if stepper.start(t, q, v, x) != REACHED:
        return False
    stepper.set_first_step(length)
    stepper.advance(t + length, 1, None, run.interrupt.flag)
    rows = stepper.take_records()
    if not len(rows[0]):
        return False
    run.collect_counts()
    run.options = replace(run.options, method="radau", detect_stiffness=False)
    run.integrator = stepper
    if run.segments[-1].begin == t:
        run.segments.pop()
    run.segments.append(Segment(t, options, run.conditions, run.discontinuity_times))
    run.records.extend(*rows[:4])
    run.transients += 1
    if run.transients == 1:
        first = sorted(np.flatnonzero(fast), key=lambda k: -abs(a[k]))[:3]
        names = ", ".join(run.model.speed_names[k] for k in first)
        run.notes.append(
            f"t = {t:.6g} s: {names} settle{'s' * (len(first) == 1)} faster than the resolution of time, for lack "
            "of inertia; one implicit step passes this after each change. Give inertia there (armature)"
        )
    run.change_conditions(run.conditions)
    return True
