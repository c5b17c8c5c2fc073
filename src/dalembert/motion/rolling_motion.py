"""Kinematic motion with nonholonomic rows (wheels, skates): positions are integrated from velocities.

q' = N(q) v(q, t)      J v = b over all rows                                                             (1)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..arrays import Array
from ..closure.loop_equations import LoopEquations
from ..closure.projection import project
from ..errors import SingularityError
from ..model import Conditions, Model
from ..model.drive_targets import drive_targets, driven_speeds
from ..model.driven_kinematics import MAX_STEPS, KinematicSweep, rates_at

__all__ = ["rolled"]


class _Stop(Exception):
    def __init__(self, found: KinematicSweep, t: float, q: Array) -> None:
        super().__init__(found.status)
        self.found, self.t, self.q = found, t, q


def rolled(model: Model, times: Array, q: Array, held: Conditions | None, rtol: float = 1e-11) -> KinematicSweep:
    """Return the motion at times (n,) from q (nq,), by (1) and an integrator of eighth order."""
    from scipy.integrate import solve_ivp

    tried = 0  # evaluations between two times

    def rate(t: float, at: Array) -> Array:
        nonlocal tried
        tried += 1
        here = model.integrate(at, np.zeros(model.nv))  # unit quaternions
        found = rates_at(model, np.array([t]), here, conditions=held)
        if tried > MAX_STEPS:
            found = replace(found, status="far")
        if found.status != "finished":
            raise _Stop(found, t, here)
        return model.coordinate_rates(here, found.v[0])

    rows = [q]
    status, t_last = "finished", float(times[0])
    try:
        rate(t_last, q)
        for begin, end in pairwise(times):
            tried = 0
            solved = solve_ivp(rate, (begin, end), rows[-1], method="DOP853", rtol=rtol, atol=1e-13)
            if not solved.success:
                raise SingularityError(f"kinematics: at t = {solved.t[-1]:.6g} s: {solved.message}")
            rows.append(_back(model, float(end), solved.y[:, -1]))
            t_last = float(end)
    except _Stop as stop:
        status, t_last = stop.found.status, stop.t
        if len(rows) == 1 and t_last == times[0]:
            return stop.found
        status = "ended" if status == "undetermined" else status
    found = rates_at(model, times[: len(rows)], np.array(rows), conditions=held)
    return KinematicSweep(
        found.t,
        found.q,
        found.v,
        found.a,
        found.jerk,
        found.slack,
        status if found.status == "finished" else found.status,
        rows[-1],
        found.v[-1] if len(found.v) else np.zeros(model.nv),
        t_last,
        len(rows),
        0,
    )


def _back(model: Model, t: float, q: Array) -> Array:
    """Return q (nq,) with holonomic rows satisfied and driven coordinates at their laws, by least change."""
    given = drive_targets(model, t)[0]
    q = model.integrate(np.where(np.isnan(given), q, given), np.zeros(model.nv))
    loops = LoopEquations.of(model, t=t, positions_only=True)
    found = project(loops, q, ~driven_speeds(model, level=0), tolerance=loops.floor)
    if found is None:
        gap = float(np.abs(loops.gaps(q)).max())
        raise SingularityError(f"kinematics: at t = {t:.6g} s the loops stay open by {gap:.3g} m or rad")
    return found.q
