"""Closed contacts of a run by events: derivatives of rates with their forces, and short runs across their changes.

Rates in given modes (closed points, stick and slip) are smooth functions of the state and of parameters. Their
derivatives are central differences of the rates of the core. Short runs begin in the modes of the run: a changed state
is put onto the closed points first, as changes of the run satisfy them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from ... import _core
from ...arrays import Array, BoolArray
from ...errors import GradientError
from ...model import Model, State
from ...model.conditions import parameter_value
from ...result import Result
from ...simulation.contact.contact_events import ContactEvents, EventContacts
from ...simulation.contact.step_derivatives import is_contact_number
from ...simulation.trajectory import Segment
from .directions import ParameterDirection, slope

__all__ = ["ClosedContacts", "closed_contacts"]

STATE_STEP = 1e-5  # rad, m, rad/s, m/s: central differences of smooth rates, truncation and rounding about 1e-10
WINDOW_RTOL, WINDOW_ATOL = 1e-12, 1e-12  # of short runs
LEAVING_TOL = 1e-6  # of a change of the initial state: larger corrections by closed points are noted
MAX_STEPS = 100_000  # of a short run


@dataclass(eq=False)
class ClosedContacts:
    """Contacts by events of a run.

    Attributes
    ----------
    model : Model
    source : EventContacts
    """

    model: Model
    source: EventContacts
    _made: dict[tuple[int, str, float, bool], tuple[_core.Integrator, ContactEvents]] = field(default_factory=dict)

    @property
    def times(self) -> Array:
        """Times of all changes, (k,) s."""
        return np.array([change.t for change in self.source.contacts.changes])

    def names(self) -> dict[float, str]:
        """Return names of the changes by time."""
        events = self.source.contacts.records(*_no_states(self.model))
        found = {float(change.t): "contact" for change in self.source.contacts.changes}
        return {**found, **{float(event.t): str(event.name) for event in events}}

    def at(self, t: Array) -> BoolArray:
        """Return whether any point, stop or dry friction of a joint acts at times t (k,), s."""
        counts = np.array([0, *(len(change.points) for change in self.source.contacts.changes)])
        return np.asarray(counts[np.searchsorted(self.times, t, side="right")] > 0)

    def _segment(self, t: float) -> int:
        begins = [segment.begin for segment in self.source.trajectory.segments]
        return max(int(np.searchsorted(begins, t, side="right")) - 1, 0)

    def _integrator(
        self, segment: int, name: str, change: float, short: bool
    ) -> tuple[_core.Integrator, ContactEvents]:
        """Return an integrator under conditions with one number changed; for rates of the run, or for short runs."""
        key = segment, name, change, short
        if key not in self._made:
            part: Segment = self.source.trajectory.segments[segment]
            conditions, contacts = part.conditions, self.source.contacts
            steps = contacts.steps
            if name and is_contact_number(self.model, name):
                steps = steps.with_number(name, change)
            elif name:
                conditions = conditions.perturbed(name, change)
                steps = steps.fresh(conditions.model)
                steps.set_conditions(conditions)
                steps.leave_out_as(contacts.steps)
            options = part.options
            own = contacts.with_steps(steps)  # with the tolerances of the run: the same rebounds are none
            if short:
                options = replace(
                    options,
                    rtol=WINDOW_RTOL,
                    atol=WINDOW_ATOL,
                    tolerances=np.full_like(options.tolerances, WINDOW_ATOL),
                )
            integrator = replace(options, detect_stiffness=False).integrator(conditions, part.discontinuity_times)
            if not short:
                own.repeat_on(integrator)
            self._made[key] = integrator, own
        return self._made[key]

    # ---- rates

    def rate_derivatives(self, t: Array, q: Array, v: Array, x: Array, names: Sequence[str]) -> tuple[Array, Array]:
        """Return derivatives of accelerations and state rates (k, nv + nx, .) by the state and by parameters."""
        owner = np.array([self._segment(time) for time in t])
        n = 2 * self.model.nv + self.model.nx
        by_state = np.empty((len(t), self.model.nv + self.model.nx, n))
        by_number = np.empty((len(t), self.model.nv + self.model.nx, len(names)))
        for segment in np.unique(owner).tolist():
            rows = np.flatnonzero(owner == segment)
            states = tuple(np.ascontiguousarray(part[rows]) for part in (t, q, v, x))
            base, _ = self._integrator(segment, "", 0.0, False)
            for k in range(n):
                by_state[rows, :, k] = self._by_entry(base, states, k)
            for k, name in enumerate(names):
                by_number[rows, :, k] = self._by_number(segment, name, states)
        return by_state, by_number

    def _by_entry(self, base: _core.Integrator, states: tuple[Array, ...], k: int) -> Array:
        t, q, v, x = states
        nv = self.model.nv
        axis = np.zeros(2 * nv + x.shape[1])
        size = 1.0 if k < nv else max(1.0, float(np.abs(v if k < 2 * nv else x[:, k - 2 * nv]).max(initial=0.0)))
        axis[k] = STATE_STEP * size
        xi, dv, dx = np.split(axis, [nv, 2 * nv])

        def moved(sign: float) -> Array:
            p = self.model.integrate(q, np.broadcast_to(sign * xi, v.shape)) if k < nv else q
            return base.contact_rates(t, np.ascontiguousarray(p), v + sign * dv, x + sign * dx)

        return np.asarray((moved(1.0) - moved(-1.0)) / (2 * axis[k]))

    def _by_number(self, segment: int, name: str, states: tuple[Array, ...]) -> Array:
        step = STATE_STEP * self.size(name)

        def values(change: float) -> Array:
            number = name if change else ""
            return self._integrator(segment, number, change, False)[0].contact_rates(*states)

        return slope(values, step)

    def size(self, name: str) -> float:
        """Return the magnitude of a number; 1 for those of contacts and for zero."""
        conditions = self.source.trajectory.segments[0].conditions
        if is_contact_number(self.model, name):
            return 1.0
        return abs(float(parameter_value(conditions.model, name, conditions.parameters))) or 1.0

    # ---- short runs

    def run(self, state: State, end: float, name: str = "", change: float = 0.0) -> tuple[Array, tuple[str, ...]]:
        """Return q, v and x at the end of a short run in the modes of the run, and what changed on the way.

        Raises
        ------
        GradientError
            If it ends early.
        """
        before = np.flatnonzero(self.times <= state.t)
        changes = self.source.contacts.changes
        integrator, contacts = self._integrator(self._segment(state.t), name, change, True)
        contacts.attach(integrator)
        outcome = integrator.start_in_contact_modes(
            state.t, state.q, state.v, state.x, changes[before[-1]].modes if len(before) else b""
        )
        if outcome == _core.outcomes["reached"]:
            outcome = integrator.advance(end, MAX_STEPS)
        made = integrator.take_contact_changes()
        integrator.take_records()
        if outcome != _core.outcomes["reached"]:
            raise GradientError(f"a short run from t = {state.t:.9g} s did not reach {end:.9g} s")
        happened = tuple(str(_modes_of(one["points"])) + str(_modes_of(one["impacts"][:, :4])) for one in made)
        _, q, v, x = integrator.state()[:4]
        return np.concatenate([q, v, x]), happened

    def on_closed_points(self, directions: Sequence[ParameterDirection]) -> tuple[list[ParameterDirection], list[str]]:
        """Return directions whose changes of the initial state satisfy the points closed there; and notes."""
        segment = self.source.trajectory.segments[0]
        t, q, v, x = (part[0] for part in self.source.trajectory.records.arrays())
        if not self.at(np.array([t]))[0]:
            return list(directions), []
        nv = self.model.nv
        changes = self.source.contacts.changes
        modes = changes[int(np.flatnonzero(self.times <= segment.begin)[-1])].modes
        found, notes = [], []
        for direction in directions:
            y = direction.start
            reach = max(float(np.abs(y).max(initial=0.0)), 1.0 / direction.size if direction.number else 0.0, 1e-12)
            name = direction.number or ""

            def started(change: float, y: Array = y, name: str = name) -> Array:
                integrator, contacts = self._integrator(0, name if change else "", change if name else 0.0, True)
                contacts.attach(integrator)
                xi, dv, dx = np.split(change * y, [nv, 2 * nv])
                integrator.start_in_contact_modes(float(t), self.model.integrate(q, xi), v + dv, x + dx, modes)
                _, q1, v1, x1 = integrator.state()[:4]
                return np.concatenate([self.model.difference(q, q1), v1, x1])

            held = slope(started, STATE_STEP / reach)
            if np.abs(held - y).max(initial=0.0) > LEAVING_TOL * max(1.0, float(np.abs(y).max(initial=0.0))):
                notes.append(
                    f"a change of {direction.name!r} alone would open contacts that are closed at the start, or make "
                    "them overlap: derivatives are those with closed contacts"
                )
            found.append(replace(direction, start=held))
        return found, notes

    def happened(self, begin: float, end: float) -> tuple[str, ...]:
        """Return what changed in the run between two times, as `run` does."""
        within = [change for change in self.source.contacts.changes if begin < change.t <= end]
        return tuple(str(_modes_of(one.points)) + str(_modes_of(one.impacts[:, :4])) for one in within)


def _modes_of(rows: Array) -> list[tuple[int, ...]]:
    """Return rows of names and modes, sorted."""
    return sorted(tuple(round(each) for each in row) for row in rows.tolist())


def _no_states(model: Model) -> tuple[Array, tuple[Array, Array, Array]]:
    return np.zeros(1), (np.zeros((1, model.nq)), np.zeros((1, model.nv)), np.zeros((1, model.nx)))


_KNOWN: WeakKeyDictionary[EventContacts, ClosedContacts] = WeakKeyDictionary()


def closed_contacts(result: Result) -> ClosedContacts | None:
    """Return the contacts by events of a run; None if it has none."""
    source = next((one for one in result.contact_sources if isinstance(one, EventContacts)), None)
    if source is None or result.model is None:
        return None
    if source not in _KNOWN:
        _KNOWN[source] = ClosedContacts(result.model, source)
    return _KNOWN[source]
