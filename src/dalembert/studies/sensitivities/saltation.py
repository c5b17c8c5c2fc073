"""Saltation of sensitivities across impacts, stops, friction, switching functions and events.

The change after a switch is the derivative of a short run across it by the state before it. The run includes the shift
of the switching time and the effect of the switch; the limit is the saltation matrix (Leine and Nijmeijer 2004). Short
runs are perturbed in each direction. Central differences of two step sizes give the accuracy of the derivative.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import DalembertError, GradientError, ModelError
from ...model import State
from ...model.conditions import parameter_value
from ...result import Result
from ...simulation import Event, simulate
from .closed_contacts import ClosedContacts, closed_contacts
from .directions import ParameterDirection, slope, small_motion

__all__ = ["EventWindow", "saltation", "windows"]


_NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")  # event names contain velocities, which may differ
SIMULTANEOUS_TOL = 1e-9  # of the duration of the run: closer switching times count as one
_STEPS = (1e-4, 1e-5, 1e-6, 1e-7)  # relative perturbations, in the order of trial
_REPEAT_TOL = 1e-5  # relative difference of a short run from the run itself that counts as round-off
_AGREEMENT_TOL = 1e-5  # relative difference of the derivatives of two step sizes that counts as round-off
_ROUNDING = 1e-15  # of the final state: rounding of a difference, before it is divided by its step


@dataclass(frozen=True)
class EventWindow:
    """Short time interval that contains a switch."""

    name: str
    t: float
    begin: float
    end: float


def windows(result: Result, fixed: Array, wanted: Array, noted: Collection[str]) -> list[EventWindow]:
    """Return the windows of all switches of a run.

    Parameters
    ----------
    result : Result
    fixed : (k,) s
        Discontinuity times that do not depend on the state: no switches.
    wanted : (k,) s
        Output times, which must lie outside all windows.
    noted : names
        Events without effect.
    """
    begin, end = float(result.t[0]), float(result.t[-1])
    near = SIMULTANEOUS_TOL * (end - begin)
    contacts = closed_contacts(result)
    known = {} if contacts is None else contacts.names()
    known |= {float(event.t): str(event.name) for event in result.events if event.name not in noted}
    for t in result.discontinuity_times:
        if not len(fixed) or np.abs(fixed - t).min() > near:
            known.setdefault(float(t), "a threshold")
    times: list[tuple[float, str]] = []
    for t, name in sorted(known.items()):
        if not begin < t < end:
            continue
        if times and t - times[-1][0] <= near:
            continue
        times.append((t, name))
    found = []
    for k, (t, name) in enumerate(times):
        if len(wanted) and np.abs(wanted - t).min() <= near:
            remedy = f"{name!r} switches at t = {t:.9g} s, an output time: use other output times"
            raise ModelError("sensitivity", "times", t, remedy)
        others = [begin, end, *(other for other, _ in times[max(0, k - 1) : k + 2] if other != t), *wanted, *fixed]
        gap = min(abs(t - other) for other in others)
        steps = result.step_times
        own = float(np.diff(steps).max()) if len(steps) > 1 else end - begin
        reach = min(0.4 * gap, own)
        found.append(EventWindow(name, t, t - reach, t + reach))
    return found


def saltation(
    result: Result, window: EventWindow, directions: Sequence[ParameterDirection], y: Array, settings: Mapping[str, Any]
) -> Array:
    """Map changes (n, m) before a switch to changes after it."""
    contacts = closed_contacts(result)
    if contacts is None or _is_given(result, window, settings, contacts):
        runs = _WindowRuns(result, window, settings)
    else:
        runs = _ContactWindowRuns(result, window, settings, contacts)
    after = [runs.derivative(direction, y[:, k]) for k, direction in enumerate(directions)]
    return np.stack(after, axis=1)


def _is_given(result: Result, window: EventWindow, settings: Mapping[str, Any], contacts: ClosedContacts) -> bool:
    """Return whether a window is that of an event of the user, which must not lie beside closed contacts."""
    events = settings.get("events", ())
    given = {event.name for event in ([events] if isinstance(events, Event) else events)}
    within = [event for event in result.events if window.begin < event.t <= window.end and event.name in given]
    if not any(event.t == window.t for event in within) and window.name not in given:
        return False
    if contacts.at(np.array([window.begin]))[0] or contacts.happened(window.begin, window.end):
        raise GradientError(
            f"event {window.name!r} at t = {window.t:.9g} s lies beside closed contacts, where events have no "
            "derivative: use contact='steps' and no events, or compliant contact"
        )
    return True


class _WindowRuns:
    """Short runs across one window."""

    def __init__(self, result: Result, window: EventWindow, settings: Mapping[str, Any]) -> None:
        model = result.model
        assert model is not None
        self.model, self.window = model, window
        self.settings = {**settings, "rtol": 1e-12, "atol": 1e-13, "progress": False}
        self.start = result.at(window.begin)
        pairs = None if result.conditions is None else result.conditions(np.array([window.begin]))
        self.numbers: dict[str, float] = {}
        self.conditions = model.conditions() if pairs is None else pairs[0][1]
        if not np.array_equal(self.conditions.parameters, model.parameters):
            names, values = model.parameter_names, self.conditions.parameters
            self.numbers = {
                name: float(values[place])
                for name, place in names.items()
                if isinstance(place, (int, np.integer)) and values[place] != model.parameters[place]
            }
        self.base = self._run({}, self.start)
        self._check_values(result)

    def _check_values(self, result: Result) -> None:
        """Raise if a run from shortly before a switch does not repeat it: the switch depends on the history."""
        window = self.window
        within = self._names_within(result)
        again = self.base[1][len(self.base[1]) - len(within) :]  # without events at the start, such as sticking
        last = result.at(window.end)
        there = np.concatenate([last.q, last.v, last.x])
        size = 1.0 + np.abs(there).max(initial=0.0)
        same = np.abs(self.base[0] - there).max(initial=0.0) <= _REPEAT_TOL * size
        if not same or within != again:
            raise GradientError(
                f"{window.name!r} at t = {window.t:.9g} s has no derivative: it depends on the history, and a run from "
                "shortly before it ends differently"
            )

    def _names_within(self, result: Result) -> tuple[str, ...]:
        """Return the names of the events of the run in the window."""
        window = self.window
        names = [event.name for event in result.events if window.begin < event.t <= window.end]
        return tuple(_NUMBER.sub("#", str(name)) for name in names)

    def derivative(self, direction: ParameterDirection, y: Array) -> Array:
        """Return the change after the window by the change y before it."""
        nv = self.model.nv
        fastest = max(1.0, float(np.abs(self.start.v).max(initial=0.0)))
        reach = [np.abs(y[:nv]).max(initial=0.0), np.abs(y[nv:]).max(initial=0.0) / fastest, 1e-12]
        reach += [1.0 / direction.size] if direction.number is not None else []
        scale = float(max(reach))
        before = None
        for step in _STEPS:
            try:
                now = self._difference(direction, y, step / scale)
            except (DalembertError, _EventSequenceChanged):
                before = None
                continue
            if before is not None:
                size = np.abs(now).max(initial=0.0) + 1e-12
                rounding = _ROUNDING * np.abs(self.base[0]).max(initial=0.0) * scale / step
                if np.abs(now - before).max(initial=0.0) <= _AGREEMENT_TOL * size + rounding:
                    return before  # of two that agree, the larger step has less round-off
            before = now
        raise GradientError(
            f"{self.window.name!r} at t = {self.window.t:.9g} s has no derivative by {direction.name!r}: the event is "
            "grazed, or a small change leads to other events"
        )

    def _difference(self, direction: ParameterDirection, y: Array, h: float) -> Array:
        d = slope(lambda change: self._changed(direction, y, change), h)
        nq = self.model.nq
        return np.concatenate([small_motion(self.model, self.base[0][:nq], d[:nq]), d[nq:]])

    def _changed(self, direction: ParameterDirection, y: Array, h: float) -> Array:
        model, s = self.model, self.start
        xi, dv, dx = np.split(h * y, [model.nv, 2 * model.nv])
        state = State(model.integrate(s.q, xi), s.v + dv, s.t, s.x + dx)
        numbers = {}
        if direction.number is not None:
            value = float(parameter_value(self.conditions.model, direction.number, self.conditions.parameters))
            numbers = {direction.number: value + h}
        values, names = self._run(numbers, state)
        if names != self.base[1]:
            raise _EventSequenceChanged
        return values

    def _run(self, numbers: Mapping[str, float], state: State) -> tuple[Array, tuple[str, ...]]:
        """Return the final q, v and x of a run, and the names of its events."""
        result = simulate(
            self.model, self.window.end, state=state, parameters={**self.numbers, **numbers}, **self.settings
        )
        assert isinstance(result, Result)  # of one state
        last = result.final_state
        happened = tuple(_NUMBER.sub("#", str(event.name)) for event in result.events)
        return np.concatenate([last.q, last.v, last.x]), happened


class _ContactWindowRuns(_WindowRuns):
    """Short runs across one window, in the modes of rigid contacts by events."""

    def __init__(
        self, result: Result, window: EventWindow, settings: Mapping[str, Any], contacts: ClosedContacts
    ) -> None:
        assert result.model is not None
        self.contacts = contacts
        self.model, self.window, self.settings = result.model, window, dict(settings)
        self.start = result.at(window.begin)
        self.base = contacts.run(self.start, window.end)
        self._check_values(result)

    def _names_within(self, result: Result) -> tuple[str, ...]:
        return self.contacts.happened(self.window.begin, self.window.end)

    def _changed(self, direction: ParameterDirection, y: Array, h: float) -> Array:
        xi, dv, dx = np.split(h * y, [self.model.nv, 2 * self.model.nv])
        s = self.start
        state = State(self.model.integrate(s.q, xi), s.v + dv, s.t, s.x + dx)
        name = direction.number or ""
        values, names = self.contacts.run(state, self.window.end, name, h if name else 0.0)
        if names != self.base[1]:
            raise _EventSequenceChanged
        return values


class _EventSequenceChanged(Exception):
    """The sequence of events differs from the run itself."""
