"""Kinematic motion of mechanisms in natural coordinates: for their drives, or coordinates through values."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..closure.driven.driving_coordinates import best_driving_coordinates
from ..errors import DalembertError, ModelError
from ..model import State
from ..motion import FollowedMotion, follow_branch
from ..motion.kinematic_request import axis_of_one, in_order, law_of_one, laws_of_several, renamed
from ..result import TIME, Axis, Stats
from .motion import UNITS, NaturalMotion

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["kinematics"]


_ITEM = "kinematics"


def kinematics(
    mechanism: Mechanism,
    *,
    times: ArrayLike | None = None,
    drive: str | Mapping[str, ArrayLike] | None = None,
    values: ArrayLike | None = None,
    speed: float | None = None,
    state: State | ArrayLike | None = None,
    on_error: str = "raise",
) -> NaturalMotion:
    """Return the motion of a mechanism that is fully driven; see `dalembert.kinematics`."""
    began = time.perf_counter()
    driven, when, corners, notes, axis = _request(mechanism, times, drive, values, speed)
    message, error = "", None
    found: FollowedMotion | None
    try:
        found = _in_parts(driven, when, corners, state.q if isinstance(state, State) else state, axis)
    except DalembertError as caught:
        found, error = getattr(caught, "result", None), renamed(caught, axis, float(when[0]))
        if found is None or not len(found.t):
            raise
        error.args = (str(error) + _alternative(mechanism, driven, found, drive), *error.args[1:])
        message = str(error)
    assert found is not None
    stats = Stats(
        method="kinematics", steps=len(found.t) - 1 + found.splits, rejected=found.splits, evaluations=found.iterations,
        factorizations=found.factorisations, wall_time=time.perf_counter() - began, notes=notes,
    )  # fmt: skip
    motion = NaturalMotion(
        driven, found, stats=stats, status="failed" if message else "finished", message=message, axis=axis
    )
    if error is not None and on_error == "raise":
        error.__dict__["result"] = motion
        raise error
    return motion


def _request(
    m: Mechanism,
    times: ArrayLike | None,
    drive: str | Mapping[str, ArrayLike] | None,
    values: ArrayLike | None,
    speed: float | None,
) -> tuple[Mechanism, Array, list[int], list[str], Axis]:
    """Return the driven mechanism, times, rows at which the drive reverses, notes, and the axis of the result."""
    notes: list[str] = []
    if drive is None:
        if values is not None or speed is not None:
            given = "values" if values is not None else "speed"
            raise ModelError(_ITEM, given, values if values is not None else speed, "name the coordinate: drive=")
        if times is None:
            raise ModelError(_ITEM, "times", None, 'give times=, or drive="psi", values=...')
        return m, in_order(times), [], notes, TIME
    driven = m.copy()
    corners: list[int] = []
    if isinstance(drive, str):
        if values is None:
            raise ModelError(_ITEM, "values", None, f"give the values of {drive!r}, rad or m")
        law, when, corners = law_of_one(drive, values, speed, times, notes)
        laws = {drive: law}
    else:
        if values is not None:
            raise ModelError(_ITEM, "values", values, "give the values in the mapping: drive={'psi': angles, ...}")
        if speed is not None:
            raise ModelError(_ITEM, "speed", speed, "several drives need times: give times=")
        laws, when = laws_of_several(drive, times, notes)
    for name, one in laws.items():
        driven.remove_drive(name)
        driven.drive(name, one)
    axis = TIME
    if times is None and not isinstance(drive, str):
        axis = Axis("row", "1")
    elif speed is None and times is None:
        axis = axis_of_one(str(drive), _unit(driven, str(drive)), laws[str(drive)])
    return driven, when, corners, notes, axis


def _unit(m: Mechanism, name: str) -> str:
    """Return the unit of a coordinate or a component of one."""
    return next((UNITS[c.kind] for c in m.coordinates.values() if name == c.name or name in c.names), "")


def _alternative(
    m: Mechanism, driven: Mechanism, found: FollowedMotion, drive: str | Mapping[str, ArrayLike] | None
) -> str:
    """Return a sentence on what could be driven where the branch of a single drive ends."""
    if not isinstance(drive, str):
        return ""
    free, t = m.copy(), float(found.t[-1])
    free.remove_drive(drive)
    equations = free.equations()
    q = driven.equations().all_values(found.q[-1], t)[equations._unknown]
    names = [name for name in best_driving_coordinates(equations, q, t) if name != drive]
    return f". Drive {' or '.join(map(repr, names[:2]))} instead" if names else ""


def _in_parts(m: Mechanism, times: Array, corners: list[int], q: ArrayLike | None, axis: Axis) -> FollowedMotion:
    """Return the motion in parts between the reversals of its drive; a reversal has the velocity after it."""
    equations = m.equations()
    ends = [*corners, len(times) - 1]
    parts: list[FollowedMotion] = []
    begin = 0
    for end in ends:
        stretch = times[begin : end + 1].copy()
        last = end == len(times) - 1
        if not last:
            stretch[-1] -= 1e-9 * (stretch[-1] - stretch[-2])
        try:
            found = follow_branch(equations, stretch, q, axis=axis)
        except DalembertError as error:
            got = getattr(error, "result", None)
            error.__dict__["result"] = _joined([*parts, *([] if got is None else [got])])
            raise
        parts.append(found if last else _without_last(found))
        begin, q = end, found.q[-1]
    whole = _joined(parts)
    assert whole is not None
    return whole


def _without_last(f: FollowedMotion) -> FollowedMotion:
    jerks = None if f.j is None else f.j[:-1]
    return FollowedMotion(f.t[:-1], f.q[:-1], f.v[:-1], f.a[:-1], jerks, f.iterations, f.factorisations, f.splits)


def _joined(parts: list[FollowedMotion]) -> FollowedMotion | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    arrays: list[Any] = [np.concatenate([getattr(p, name) for p in parts]) for name in ("t", "q", "v", "a", "j")]
    counts = [sum(getattr(p, name) for p in parts) for name in ("iterations", "factorisations", "splits")]
    return FollowedMotion(*arrays, *counts)
