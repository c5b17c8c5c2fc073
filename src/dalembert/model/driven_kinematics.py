"""Kinematic motion of a model by the core: positions along drives, and rates at given positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from .cache import cached_per_model

if TYPE_CHECKING:
    from .conditions import Conditions
    from .model import Model

__all__ = ["MAX_STEPS", "KinematicSweep", "rates_at", "row_scale", "sweep_kinematics"]


MAX_STEPS = 100_000  # from one time to the next: some thousand revolutions
STATUS = ("finished", "ended", "open", "undetermined", "contradicted", "callback_failed", "far", "stopped")


@dataclass(frozen=True, eq=False)
class KinematicSweep:
    """Rows of a kinematic motion up to the time reached.

    Attributes
    ----------
    t : (n,) s
    q : (n, nq) rad or m
    v, a : (n, nv) rad/s or m/s, per s
    jerk : (n, nv) rad/s3 or m/s3, or None
    slack : (n,)
        Smallest pivot of the equations relative to the largest, or of planar linkages in closed form the smallest sine
        of a transmission angle; zero at singular configurations.
    status : str
        ``"finished"``, ``"ended"`` (the branch ends), ``"open"`` (the first configuration does not close),
        ``"undetermined"`` (drives leave degrees of freedom), ``"contradicted"`` (no velocities or accelerations satisfy
        all rows), ``"far"`` (`MAX_STEPS` did not reach the next time).
    q_last, v_last, t_last : (nq,), (nv,), float
        State and time reached, possibly between the given times.
    steps, corrections, crossings : int
        Steps between times, corrections by Newton's method, and bifurcations that were passed.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    jerk: Array | None
    slack: Array
    status: str
    q_last: Array
    v_last: Array
    t_last: float
    steps: int
    corrections: int
    crossings: int = 0

    @classmethod
    def of(cls, times: Array, found: Sequence[Any]) -> KinematicSweep:
        """Return the results of the core at times (n,), up to the time reached."""
        q, v, a, jerk, slack, q_last, v_last, t_last, status, done, *counts = found
        jerks = None if jerk is None else jerk[:done]
        where = (STATUS[status], q_last, v_last, t_last)
        if done == len(times):
            return cls(times, q, v, a, jerk, slack, *where, *counts)
        return cls(times[:done], q[:done], v[:done], a[:done], jerks, slack[:done], *where, *map(int, counts))


def sweep_kinematics(
    model: Model, t: Array, q: Array, *, floor: float = 1e-14, jerk: bool = False, conditions: Conditions | None = None
) -> KinematicSweep:
    """Return the motion at times (n,) that drives prescribe, from a configuration q (nq,) at the first.

    With q (n, nq), configurations are given and rates follow from them, including rows of velocities.

    Parameters
    ----------
    floor : float
        Scaled residual due to rounding.
    """
    times = np.ascontiguousarray(t, dtype=float)
    begin = np.ascontiguousarray(q, dtype=float)
    found = model._sweep(times, begin, conditions, row_scale(model), floor, jerk, MAX_STEPS)
    return KinematicSweep.of(times, found)


def rates_at(
    model: Model, t: Array, q: Array, *, jerk: bool = False, conditions: Conditions | None = None
) -> KinematicSweep:
    """Return velocities, accelerations and jerks at times (n,) and configurations (n, nq) that satisfy all rows."""
    return sweep_kinematics(model, t, np.atleast_2d(q), jerk=jerk, conditions=conditions)


@cached_per_model
def row_scale(model: Model) -> Array:
    """Return scales of the rows (nc,); zero for rows of velocities only and for inactive rows."""
    counts = np.asarray(model.holonomic, dtype=bool) & np.asarray(model.compiled.names.closing, dtype=bool)
    return np.ascontiguousarray(np.where(counts, model.compiled.tables["row_scale"], 0.0))
