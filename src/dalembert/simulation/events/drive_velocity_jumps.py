"""Velocity jumps of drives: found before a run, applied in it as impulses.

A jump of a driven velocity needs an impulse, by which other velocities jump too, as momentum and loops require. A run
stops just before such a time, and continues just after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...connections.drives import Drive
from ...connections.laws import (
    N_SAMPLES,
    Constant,
    FunctionLaw,
    Harmonic,
    Integral,
    Law,
    Piecewise,
    Polynomial,
    Ramp,
    SmoothedLaw,
    Spline,
    discontinuity_times_of,
    find_jumps,
)
from ...errors import ModelError
from ...model import Model, State
from ...result import EventRecord
from .events import Event, EventContext
from .velocity_jumps import velocities_after_jump

__all__ = ["DriveVelocityJump", "JumpEvent", "check_no_jumps", "drive_velocity_jumps", "jump_events", "jump_notes"]

Step = tuple[float, float, float, float]  # last time before a jump, first time after it, values there

_SMOOTH = (Constant, Polynomial, Harmonic, Ramp, Spline, SmoothedLaw)
_NAME = "speed of drive {!r} jumps at t = {:.6g} s"


@dataclass(frozen=True)
class DriveVelocityJump:
    """Velocity jump of a drive: last time before it, first time after it, s, and the velocities there."""

    drive: str
    before: float
    after: float
    first: float
    last: float

    @property
    def name(self) -> str:
        """Name of the event."""
        return _NAME.format(self.drive, self.after)


class JumpEvent(Event):
    """Event that applies a velocity jump."""


def drive_velocity_jumps(
    model: Model, t_start: float, t_end: float, samples: int = N_SAMPLES
) -> list[DriveVelocityJump]:
    """Return the jumps of driven velocities from t_start to t_end, s, in order; functions are sampled.

    Raises
    ------
    ModelError
        If a function jumps and neither its derivative nor `FunctionLaw.discontinuity_times` is given: finite
        differences across the jump would be wrong.
    """
    found = []
    for drive in model.drives:
        for law in drive.laws:
            if isinstance(law, _SMOOTH) or drive.level > 1:
                continue
            try:
                steps = _of_law(drive, law, np.linspace(t_start, t_end, samples))
            except ModelError:
                raise
            except Exception:  # of the user's function: raised where the run evaluates it
                continue
            found += [DriveVelocityJump(drive.name, *step) for step in steps]
    return sorted(found, key=lambda jump: jump.after)


def _of_law(drive: Drive, law: Law, times: Array) -> list[Step]:
    """Return the velocity jumps of a law."""
    inner = law.law if isinstance(law, Integral) else law
    level = 1 if isinstance(law, Integral) else drive.level
    known = discontinuity_times_of(inner, float(times[0]), float(times[-1]))
    if len(known) or isinstance(inner, Piecewise):
        return _at_discontinuities(inner, known, level, times)
    if not isinstance(inner, FunctionLaw):
        return find_jumps(lambda t: inner(t)[1 - level], times)
    of_speed = inner.value if level else inner.rate
    steps = _corner(inner, times) if of_speed is None else find_jumps(of_speed, times)
    if steps and (inner.rate if level else inner.second) is None:
        _, t, first, last = steps[0]
        raise ModelError(
            f"drive {drive.name!r}",
            f"speed at t = {t:.6g} s",
            f"{first:.6g} then {last:.6g}",
            f"it jumps: declare that by da.FunctionLaw(law, discontinuity_times=[{t:.6g}]) for a velocity jump with "
            "its impulse, or smooth it by da.laws.SmoothedLaw(law, width)",
        )
    return steps


def _at_discontinuities(law: Law, discontinuities: Array, level: int, times: Array) -> list[Step]:
    """Return the velocity jumps at the discontinuity times of a law."""
    gap = _time_gap(1e-12, float(times[0]), float(times[-1]))
    size = max(abs(law(t)[1 - level]) for t in times.tolist())
    steps = []
    for t in discontinuities.tolist():
        if times[0] < t < times[-1]:
            first, last = (law(side)[1 - level] for side in (t - gap, t + gap))
            if abs(last - first) > 1e-9 * max(size, abs(first), abs(last)):
                steps.append((t - gap, t + gap, first, last))
    return steps


def _time_gap(part: float, t_start: float, t_end: float) -> float:
    """Return a part of a span of time, s, at least some rounding units."""
    return max(part * (t_end - t_start), 1e-14 * max(abs(t_start), abs(t_end)))


def _corner(law: FunctionLaw, times: Array) -> list[Step]:
    """Return the largest jump of the slope of a function, from finite differences."""
    values = np.array([float(law.value(t)) for t in times.tolist()])
    bends = np.abs(np.diff(values, 2))
    if not len(bends) or not bends.max() > 1e-9 * (1.0 + np.ptp(values)):
        return []
    middle, width = float(times[int(bends.argmax()) + 1]), float(times[1] - times[0])
    usual = float(np.ptp(np.diff(values))) / width
    slopes, sizes = np.zeros(2), []
    while width > 1e-6 * float(times[-1] - times[0]):
        width /= 2
        around = [middle + shift * width for shift in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        middle, slopes = max(((t, _bend(law, t, width)) for t in around), key=lambda one: abs(one[1][1] - one[1][0]))
        sizes.append(abs(slopes[1] - slopes[0]))
    if len(sizes) > 4 and sizes[-1] > 0.5 * sizes[-4] and sizes[-1] > 1e-3 * usual:
        first, last = (_bend(law, middle + shift * width, width)[0] for shift in (-1, 3))
        return [(middle - width, middle + width, float(first), float(last))]
    return []


def _bend(law: FunctionLaw, t: float, width: float) -> Array:
    before, here, after = (float(law.value(t + shift * width)) for shift in (-1, 0, 1))
    return np.array([here - before, after - here]) / width


def check_no_jumps(jumps: list[DriveVelocityJump], what: str) -> None:
    """Refuse velocity jumps where they are not supported."""
    if jumps:
        jump = jumps[0]
        remedy = (
            f"{what}: smooth it by da.laws.SmoothedLaw(law, width), or use a single run with one of our own methods"
        )
        value = f"{jump.first:.6g} then {jump.last:.6g}"
        raise ModelError(f"drive {jump.drive!r}", f"speed at t = {jump.after:.6g} s", value, remedy)


def jump_events(jumps: list[DriveVelocityJump], t_start: float, t_end: float) -> list[Event]:
    """Return the events of velocity jumps: one just before each, which stores the state, and one just after."""
    events = []
    margin = _time_gap(1e-10, t_start, t_end)
    simultaneous: dict[float, list[DriveVelocityJump]] = {}
    for jump in jumps:  # simultaneous jumps of drives are one impulse
        near = next((t for t in simultaneous if abs(t - jump.after) < 4 * margin), jump.after)
        simultaneous.setdefault(near, []).append(jump)
    for t, group in simultaneous.items():
        if t - 2 * margin <= t_start or t + 2 * margin >= t_end:
            continue
        events += _pair(group, min(j.before for j in group) - margin, max(j.after for j in group) + margin)
    return events


def _pair(group: list[DriveVelocityJump], early: float, late: float) -> list[Event]:
    kept: list[State] = []

    def keep(now: EventContext) -> None:
        kept[:] = [State(q=now.q.copy(), v=now.v.copy(), t=now.t, x=now.x.copy())]

    def jump(now: EventContext) -> None:
        before = kept[0] if kept else State(q=now.q, v=now.v, t=now.t, x=now.x)
        now.before = before
        now.v = velocities_after_jump(now.conditions, now.q, before.v, now.t)
        energy = now.model.energy
        now.energy_loss += energy(before.q, before.v, bare=True).kinetic - energy(now.q, now.v, bare=True).kinetic
        now.done.append(", ".join(f"{j.drive} from {j.first:.6g} to {j.last:.6g}" for j in group))

    return [
        Event(f"before the {group[0].name}", "t", early, +1, action=keep),
        JumpEvent(group[0].name, "t", late, +1, action=jump),
    ]


def jump_notes(events: list[Event], records: Iterable[EventRecord]) -> list[str]:
    """Return notes on the velocity jumps of a run."""
    names = {event.name for event in events if isinstance(event, JumpEvent)}
    return [
        f"t = {record.t:.6g} s: the speed of a drive jumps, {record.message}; the impulse changed the energy by "
        f"{record.energy:.6g} J"
        for record in records
        if record.name in names
    ]
