"""A live run: steps of the core by the shortest way, and the general way where Python takes part.

While nothing of a run needs Python (no events, delays or functions of the user, friction determined by the core), an
advance is one call of the core. It keeps the records; laws of time are checked, and their discontinuity times found,
for a time ahead. Otherwise, or where a step fails, `Run.advance` continues.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ... import _core
from ...errors import ModelError
from ...model import Conditions, State
from ...model.conditions import checked_parameter, least_value, parameter_place
from ...result import Motion, single_period
from ...result.contact_points import ContactSource
from ..contact.contact_steps import ContactSteps, StepContacts
from ..contact.soft_contacts import SoftContacts
from ..events.discontinuity_times import discontinuity_sources
from ..events.drive_velocity_jumps import check_no_jumps
from ..events.velocity_jumps import with_changed_parameter
from ..friction.rows import friction_rows
from ..run import Run
from ..start import check_time_laws
from .core_log import set_parameters, take_log, take_steps, with_parameters_at

__all__ = ["LiveRun", "by_one_thread"]

LAW_SAMPLES = 16  # times of one advance at which time laws are sampled to find jumps
MIN_AHEAD = 64  # advances for which laws are checked ahead,
MAX_FIRST_AHEAD = 1.0  # s: at most, unless the run is longer already
SAME_TIME = 1e-9  # of an advance: a sample so close to its end is there
REACHED = _core.outcomes["reached"]

Args = ParamSpec("Args")
Found = TypeVar("Found")
Owner = TypeVar("Owner", bound="Any")


def by_one_thread(method: Callable[Concatenate[Owner, Args], Found]) -> Callable[Concatenate[Owner, Args], Found]:
    """Refuse a call of a method while another thread is inside one; the owner has a `_lock`."""

    @wraps(method)
    def call(self: Owner, /, *args: Args.args, **more: Args.kwargs) -> Found:
        if not self._lock.acquire(False):
            raise used_by_another(method.__name__)
        try:
            return method(self, *args, **more)
        finally:
            self._lock.release()

    return call


def used_by_another(method: str) -> ModelError:
    """Return the error of a call while another thread is inside one."""
    remedy = "another thread is using this run: use it from one thread, or guard it by a lock of your own"
    return ModelError("Live", method.strip("_"), "called by two threads", remedy)


class LiveRun:
    """Run advanced by short times.

    Parameters
    ----------
    run : Run
        Started.
    record : bool
        Whether states and conditions of the past are kept.

    Attributes
    ----------
    lock : RLock
    direct : bool
        Whether nothing needs Python.
    known_until : float, s
        Laws of time are checked, and discontinuity times known, up to here.
    next_conditions : Conditions or None
        Set by the general way, from the next advance on.
    """

    def __init__(self, run: Run, *, record: bool) -> None:
        self.run, self.record, self.lock = run, record, RLock()
        self.direct, self.known_until = False, -math.inf
        self.next_conditions: Conditions | None = None
        self._places: dict[str, tuple[int, float]] = {}
        self._review()

    def _review(self) -> None:
        """Determine whether the run needs Python."""
        run = self.run
        python = run.history is not None or run.compound_branches is not None or run.integrator.calls_python
        events = run.searches_events or run.event_handler.functions.given_count > 0
        self.direct = not (python or events or run.stream is not None)

    # ---- steps

    def advance(self, span: float) -> str:
        """Advance by a time, s; return the status."""
        if self.direct and self.next_conditions is None:
            integrator = self.run.integrator
            until = integrator.t + span
            if until <= self.known_until:
                if self.run.sampler is not None:
                    return self._take_periods(until)
                outcome = integrator.advance_live(until, _core.max_live_steps, self.record)
                if outcome == REACHED:
                    if integrator.has_full_records:
                        take_steps(self.run)
                    return "finished"
                return self._continue(until, outcome)
        return self._prepare(span)

    def _take_periods(self, until: float) -> str:
        """Advance to a time, s, with samples of the control where they are due; return the status."""
        run, integrator, sampler = self.run, self.run.integrator, self.run.sampler
        assert sampler is not None
        near = SAME_TIME * (until - integrator.t)
        run.t_end = until
        while integrator.t < run.t_end:
            stop = run.pause_time()
            if abs(sampler.next - until) <= near:  # sums of times are rounded
                stop = run.t_end = sampler.next
            outcome = integrator.advance_live(stop, _core.max_live_steps, self.record)
            if outcome != REACHED:
                return self._continue(run.t_end, outcome)
            if integrator.has_full_records:
                take_steps(run)
        return "finished"

    def _prepare(self, span: float) -> str:
        """Check the laws of time up to the end of an advance, and advance."""
        run, t = self.run, self.run.integrator.t
        until = t + span
        _check_laws(run, t, until)
        if self.direct and self.next_conditions is None:
            self._look_ahead(t, until)
            return self.advance(span)
        return self._continue(until)

    def _look_ahead(self, t: float, until: float) -> None:
        """Check the laws of time for a longer time ahead, and find its discontinuity times."""
        ahead = self._time_ahead(t, until)
        try:
            _check_laws(self.run, t, ahead)
        except ModelError:  # beyond the present advance
            ahead = until
        self._find_discontinuities(ahead)
        self.known_until = ahead

    def _time_ahead(self, t: float, until: float) -> float:
        """Return a later time, s, so that the run doubles, or many short advances are covered."""
        ahead = until + max(until - self.run.segments[0].begin, min(MIN_AHEAD * (until - t), MAX_FIRST_AHEAD))
        return ahead if math.isfinite(ahead) else until

    def _find_discontinuities(self, until: float) -> None:
        """Find the discontinuity times up to a time, s."""
        run = self.run
        if until > run.horizon:
            run.t_end = until
            run.update_discontinuity_times(run.segments[0].begin)
            run.segments[-1].discontinuity_times = run.discontinuity_times

    def _continue(self, until: float, outcome: int | None = None) -> str:
        """Advance by the general way, after an outcome of the core."""
        run = self.run
        self.take()
        if until > run.horizon and run.history is None:  # delays repeat discontinuities up to the end of the run only
            self._find_discontinuities(self._time_ahead(run.integrator.t, until))
        run.t_end = until
        self.direct = False  # unless it comes back
        if run.integrator.has_new_parameters:  # they could not be applied in the core
            self.next_conditions, outcome = self.conditions(), None
        if self.next_conditions is not None:
            conditions, self.next_conditions = self.next_conditions, None
            run.change_conditions(conditions)
        with run.interrupt:
            status = run.advance(outcome)
        self.known_until = min(self.known_until, run.horizon)
        self._review()
        if not self.record and status != "event":  # the event that ends the run is kept
            self._forget()
        if run.interrupt.pressed:
            raise KeyboardInterrupt
        return status

    # ---- without records

    def _take_present(self) -> None:
        """Take over the present state and conditions from the core, which has recorded no steps."""
        run, integrator = self.run, self.run.integrator
        t, q, v, x = integrator.motion()
        run.records.add(t, q, v, x)
        now = integrator.parameters
        changed = now != run.conditions.parameters[: len(now)]
        changed[integrator.new_parameters[:, 0].astype(np.int64)] = False
        if changed.any():
            places = np.flatnonzero(changed)
            set_parameters(run, np.column_stack([places, now[places]]))
            run.append_segment(t)
        if run.friction_changes is not None:
            run.friction_changes.take_core_changes(run)
        run.record_step()

    def _forget(self) -> None:
        """Drop the past."""
        run = self.run
        run.records.keep_last()
        run.segments[:] = [run.segments[-1].since(run.segments[0].begin)]
        run.events.clear()
        run.trajectory.branch_log.parts.clear()

    # ---- conditions and states

    def take(self) -> None:
        """Take over everything that the core has recorded; the general way does so itself."""
        if self.direct and self.record:
            take_log(self.run)
        elif self.direct:
            self._take_present()
            self._forget()

    def conditions(self) -> Conditions:
        """Return the conditions from now on."""
        if self.next_conditions is not None:
            return self.next_conditions
        self.take()
        values = self.run.integrator.new_parameters
        return with_parameters_at(self.run.conditions, values) if len(values) else self.run.conditions

    def motion(self) -> Motion:
        """Return the present state with its conditions."""
        t, q, v, x = self.run.integrator.motion()
        conditions = self.conditions()
        if conditions is self.run.conditions:
            conditions = self.run.segments[-1].conditions  # a law may be in a sliding mode
        contact = self.run.contact
        sources: tuple[ContactSource, ...] = ()
        if isinstance(contact, ContactSteps):
            log = contact.last_log(self.run.integrator)
            sources = (StepContacts(log, t),)
            conditions = conditions.changed(sampled_loads=log.sampled_loads())
        motion = Motion(conditions.model, [t], q[None], v[None], x[None], conditions=single_period(conditions))
        motion.contact_sources = (*sources, *SoftContacts.sources(conditions.model))
        return motion

    @property
    def state(self) -> State:
        """Present state."""
        return self.run.state

    # ---- parameters

    def direct_place(self, name: str) -> tuple[int, float]:
        """Return the index of a parameter and its least value; -1: the core cannot change it during a run."""
        if name not in self._places:
            self._places[name] = self._find_place(name), least_value(self.run.model, name)
        return self._places[name]

    def _find_place(self, name: str) -> int:
        run, model = self.run, self.run.model
        place = parameter_place(model, name, "Live")
        if place >= model.n_element_parameters or name.rpartition(".")[0] not in model.system.forces:
            return -1
        if place in model.family.compiled.numbers.follows or place in discontinuity_sources(model).uses:
            return -1
        rows = None if run.friction is None else run.friction.rows
        if run.has_contact_steps:  # which has friction and stops of joints
            rows = friction_rows(model)
        used = [] if rows is None else np.concatenate([rows.friction, rows.mode, rows.coefficient]).tolist()
        return -1 if place in used else place

    def set(self, name: str, value: Any) -> None:
        """Set a parameter from now on."""
        place, least = self.direct_place(name) if self.takes_parameters else (-1, 0.0)
        if place < 0:
            t, q = self.run.integrator.state()[:2]
            self.next_conditions = with_changed_parameter(self.conditions(), name, value, q, t, item="Live")
            return
        if type(value) is not float or not least <= value < math.inf:
            value = checked_parameter(self.run.model, name, value, "Live")
        self.before_parameters()
        self.run.integrator.set_parameter(place, value)

    @property
    def takes_parameters(self) -> bool:
        """True if the core can change parameters."""
        return self.direct and self.next_conditions is None

    def before_parameters(self) -> None:
        """Take over what has to be recorded before parameters change."""
        if self.run.model.switching_functions and self.record:
            take_log(self.run)


def _check_laws(run: Run, t: float, until: float) -> None:
    """Refuse time laws that end or jump up to a time."""
    check_no_jumps(check_time_laws(run.model, t, until, LAW_SAMPLES), "a live run does not support velocity jumps")
