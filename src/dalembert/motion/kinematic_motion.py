"""Kinematic motion: a fully driven mechanism, without masses and forces."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import checked, one_of
from ..closure.assembly import given_coordinates
from ..closure.driven.drive_path import follow_drives, undeformed
from ..closure.driven.driven_state import driven_positions
from ..compile.contacts import left_out_notes
from ..errors import AssemblyError, SingularityError
from ..model import Conditions, Model
from ..model.argument_errors import checked_configuration
from ..model.drive_targets import constraint_targets
from ..model.driven_kinematics import KinematicSweep
from ..model.state import StateLike
from ..result import Result, Stats, single_period
from ..system import System
from .first_position import approached
from .kinematic_failure import explain_end
from .kinematic_request import KinematicRequest, make_request, renamed
from .rolling_motion import rolled

__all__ = ["kinematics"]


_ITEM = "kinematics"
_ROWS = ("t", "q", "v", "a", "slack")
CROSSING_OFFSET = 3e-3  # rad or characteristic lengths; distance from a bifurcation at which rates are taken


@checked("times", "values", "state", "on_error")
def kinematics(
    system: System | Model | Any,
    *,
    times: ArrayLike | None = None,
    drive: str | Mapping[str, ArrayLike] | None = None,
    values: ArrayLike | None = None,
    speed: float | None = None,
    state: StateLike | None = None,
    on_error: str = "raise",
) -> Result:
    """Return positions, velocities, accelerations and jerks of a fully driven mechanism.

    No masses are needed. Each position is found from the previous one by Newton's method, on one branch. Steps that are
    too long are split, so that the branch never changes unnoticed. If the branch ends (a dead point, a link that does
    not reach), the error gives the position and the reason, and has the motion so far.

    Parameters
    ----------
    system : System, Model, natural.Mechanism or natural.NaturalModel
        Of a mechanism in natural coordinates, the result is a `natural.NaturalMotion`.
    times : (n,) s
        For drives of the system, by position, velocity or acceleration.
    drive : str, or dict of str to values
        A joint coordinate, or the quantity of a constraint, that passes through given values. It may be driven or not
        in the description, and may be of a cut joint. A dict gives several with their values, a single number for a
        constant.
    values : (n,) rad or m
    speed : float, rad/s or m/s
        Of the driven coordinate; default 1, so that rates are with respect to it, and t is its value. Values that do
        not increase are passed in their order at that speed, and t is the travel.
    state : State, dict of name to value, or (nq,) rad or m
        Guess of the first position (of a natural mechanism in its own coordinates). Default: start values as in
        `simulate`. A first position that is singular, or closes only as a singular one from there, is reached by
        following the drives from the start values.
    on_error : str
        ``"raise"``, or ``"return"`` for the motion so far with status ``"failed"`` and the reason as message.

    Returns
    -------
    Result
        Outputs of position, velocity, acceleration, jerk (``"A.jerk"``, ``"coupler.tip.jerk"``), plots and files as of
        a simulation; loads if there are masses or force elements.

    Raises
    ------
    AssemblyError
        If the first position cannot be reached.
    SingularityError
        If the branch ends; ``error.result`` has the motion so far.
    ModelError
        If drives leave degrees of freedom; the message lists them.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("crank and slider")
    >>> crank, rod, block = s.body("crank"), s.body("rod"), s.body("block")
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, crank)
    >>> _ = s.connect("B", da.Revolute("z"), crank.at(1, 0, 0), rod)
    >>> _ = s.connect("C", da.Revolute("z"), rod.at(3, 0, 0), block)
    >>> _ = s.connect("D", da.Prismatic("x"), s.ground, block)
    >>> motion = da.kinematics(s, drive="A", values=[0.0, 0.5, 1.0])
    >>> motion["D.position"].round(6)
    array([4.      , 3.839027, 3.419873])
    >>> motion["D.speed"].round(6)  # with respect to the crank angle
    array([ 0.      , -0.621497, -0.999359])
    """
    began = time.perf_counter()
    one_of(_ITEM, "on_error", on_error, ("raise", "return"))
    own = None if isinstance(system, (Model, System)) else getattr(system, "kinematics", None)
    if callable(own):  # natural coordinates
        return own(times=times, drive=drive, values=values, speed=speed, state=state, on_error=on_error)
    request = make_request(system, times, drive, values, speed)
    model = request.model
    held = undeformed(model)
    path = _across(model, _path(request, given_coordinates(model, state, item=_ITEM), held), held)
    message, kind = explain_end(request, path)
    result = _result(request, path, held, message, time.perf_counter() - began)
    if message and (on_error == "raise" or not len(path.t)):
        error = kind(message)
        if result is not None:
            error.__dict__["result"] = result
        raise error
    assert result is not None
    return result


class DenseKinematics:
    """States of a kinematic motion between its rows: from each row to the times after it.

    Rows at bifurcations are not used as starts: the motion through them starts at the row before.
    """

    def __init__(self, model: Model, found: KinematicSweep, held: Conditions | None) -> None:
        self.model, self.held, self._found = model, held, found

    @cached_property
    def _regular(self) -> tuple[Array, Array]:
        """Times and configurations of the rows that are not at bifurcations."""
        regular = self._found.slack > 0.0
        return self._found.t[regular], self._found.q[regular]

    def __call__(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v, x at times (k,) s."""
        q = np.empty((len(times), self.model.nq))
        v = np.empty((len(times), self.model.nv))
        t, at = self._regular
        rows = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 1)
        for row in np.unique(rows):
            mine = np.flatnonzero(rows == row)
            order = mine[np.argsort(times[mine], kind="stable")]
            points, inverse = np.unique(np.concatenate([t[row : row + 1], times[order]]), return_inverse=True)
            found = _follow_drives(self.model, points, at[row], self.held)
            if found.status != "finished":
                raise SingularityError(f"the motion at t = {points[len(found.t)]:.6g} s could not be found")
            q[order], v[order] = found.q[inverse[1:]], found.v[inverse[1:]]
        return q, v, np.tile(self.model.element_start_values(), (len(times), 1))


def _follow_drives(model: Model, times: Array, q: Array, held: Conditions | None) -> KinematicSweep:
    """Return the motion at times (n,) from q (nq,); with nonholonomic rows, positions are integrated."""
    if not all(model.holonomic):
        return rolled(model, times, q, held)
    return follow_drives(model, times, q, held)


def _in_parts(request: KinematicRequest, first: Array, held: Conditions | None) -> KinematicSweep:
    """Return the motion from corner to corner of its drive; velocities at a corner are those after it."""
    model, times = request.model, request.times
    ends = [*request.corners, len(times) - 1]
    parts, begin, q = [], 0, first
    for end in ends:
        stretch = times[begin : end + 1].copy()
        if end < len(times) - 1:  # a little before the corner, with the velocity before it
            stretch[-1] -= 1e-9 * (stretch[-1] - stretch[-2])
        found = _follow_drives(model, stretch, q, held)
        if end == len(times) - 1 or found.status != "finished":
            parts.append(found)
            break
        kept: dict[str, Any] = {name: getattr(found, name)[:-1] for name in _ROWS}
        parts.append(replace(found, **kept))
        begin, q = end, found.q[-1]
    if len(parts) == 1:
        return parts[0]
    rows: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ROWS}
    sums = {name: sum(getattr(part, name) for part in parts) for name in ("steps", "corrections", "crossings")}
    return replace(parts[-1], **rows, **sums)


def _across(model: Model, found: KinematicSweep, held: Conditions | None) -> KinematicSweep:
    """Return the motion with rates at bifurcations interpolated from both sides, by Hermite's quintic."""
    if found.slack.all():
        return found
    singular = np.flatnonzero(found.slack == 0.0)
    v, a = found.v.copy(), found.a.copy()
    for row in singular:
        if not 0 < row < len(found.t) - 1:
            continue
        t, scale = float(found.t[row]), float(np.abs(found.v[row - 1]).max(initial=1.0))
        d = min(CROSSING_OFFSET / scale, 0.25 * float(np.diff(found.t[row - 1 : row + 2]).min()))
        times = np.array([found.t[row - 1], t - d, t, t + d])
        sides = follow_drives(model, times, found.q[row - 1], held)
        if sides.status != "finished" or not sides.slack[[1, 3]].all():
            continue
        step = model.difference(sides.q[1], sides.q[3])
        v[row] = 15 / 8 * step / (2 * d) - 7 / 16 * (sides.v[1] + sides.v[3]) + d / 16 * (sides.a[3] - sides.a[1])
        a[row] = 3 / 4 * (sides.v[3] - sides.v[1]) / d - 1 / 4 * (sides.a[1] + sides.a[3])
    return replace(found, v=v, a=a)


def _path(request: KinematicRequest, guess: ArrayLike | None, held: Conditions | None) -> KinematicSweep:
    """Return the motion from its first position, reached along the drives from the start values if it is singular."""

    def follow(one: KinematicRequest, q: Array) -> KinematicSweep:
        return _in_parts(one, q, held if one.model is request.model else undeformed(one.model))

    failure, found = None, None
    try:
        first = _first(request, guess)
        found = follow(request, first)
    except AssemblyError as error:
        failure = error
    if guess is None and (found is None or not len(found.t)):
        other = approached(request, follow)
        if other is not None:
            return other
    if found is None:
        assert failure is not None
        raise renamed(failure, request.axis, float(request.times[0])) from None
    return found if len(found.t) else replace(found, q_last=first, t_last=float(request.times[0]))


def _first(request: KinematicRequest, guess: ArrayLike | None) -> Array:
    """Return the first position, closed."""
    model, t = request.model, float(request.times[0])
    start = None if guess is None else checked_configuration(model, _ITEM, guess)
    if start is not None and _closed(model, start, t):
        return start
    return driven_positions(model, t, start)


def _closed(model: Model, q: Array, t: float) -> bool:
    """Return True if a guess is already a closed position."""
    if model.flexible_names or model.nq != model.nv or not all(model.holonomic):
        return False
    at: list[float] = q.tolist()
    for drive in model.joint_drives:
        start = model.q_slice(drive.connection.name).start
        given = drive.given(t)[0].tolist()
        if any(at[start + k] != value for k, value in zip(drive.coordinate_indices, given, strict=False)):
            return False
    gap = (model.constraint_residual(q, t=t) - constraint_targets(model, t)[0]).tolist()
    least = 1e-13 * min(1.0, model.length)
    return all(abs(x) <= least for x in gap)


def _result(
    request: KinematicRequest, found: KinematicSweep, held: Conditions | None, message: str, wall_time: float
) -> Result | None:
    if not len(found.t):
        return None
    model, notes = request.model, list(request.notes) + left_out_notes(request.model.contacts)
    if held is not None:
        notes.append(f"{', '.join(model.flexible_names)}: kept undeformed")
    if not found.slack.all():
        singular = found.t[found.slack == 0.0]
        listed = ", ".join(f"{t:.6g}" for t in singular[:6]) + ", ..." * (len(singular) > 6)
        where = f"{request.axis.name} = {listed}{request.axis.ending}"
        notes.append(f"singular positions at {where}: rates there are those of the motion that passes through")
    elif found.crossings:
        notes.append("passed straight through positions where branches cross, between rows")
    return Result(
        model,
        found.t,
        found.q,
        found.v,
        stats=Stats(
            method="kinematics",
            steps=found.steps,
            rejected=max(0, found.steps - len(found.t) + 1),
            evaluations=found.corrections,
            factorizations=found.corrections + len(found.t),
            wall_time=wall_time,
            notes=notes,
        ),
        status="failed" if message else "finished",
        message=message,
        dense=DenseKinematics(model, found, held),
        conditions=None if held is None else single_period(held),
        stored={"a": found.a},
        prescribed=True,
        axis=request.axis,
    )
