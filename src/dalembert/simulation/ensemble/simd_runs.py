"""Runs of an ensemble in SIMD batches of the core, with a batched control in Python."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...arrays import Array
from ...model import Conditions, SampledControl
from ...model.batched_control import BatchedControl, ControlNotBatchable
from ...model.callbacks import callback_name
from ..contact.contact_steps import ContactSteps
from ..friction.friction import FrictionState
from ..interrupts import Interrupt
from ..options import Options
from .event_logs import EventLogs
from .friction_modes import FrictionModes, friction_rows_of_runs, friction_table
from .groups import BatchGroup, EnsembleGroups
from .sampled_runs import SampledRuns

__all__ = ["BatchOutcome", "EnsembleRunner", "batched_control"]


@dataclass(frozen=True, eq=False)
class BatchOutcome:
    """Outcome of many runs, a row for each.

    Attributes
    ----------
    outcomes : list of str
    reached : (B,) s
    counts : (B, 6)
        Steps, rejected ones, evaluations, Jacobians, missed changes of sign, factorizations.
    states : three of (B, k, n)
        q, v and x at the output times.
    errors : dict of int to Exception
        Errors of the control by run.
    batched : bool
        Whether the control received batched states.
    notes : list of str
    modes : FrictionModes or None
        Of dry friction and stops, if there are any.
    events : EventLogs or None
        If events were given.
    """

    outcomes: list[str]
    reached: Array
    counts: Array
    states: tuple[Array, Array, Array]
    errors: dict[int, Exception]
    batched: bool
    notes: list[str]
    modes: FrictionModes | None = None
    events: EventLogs | None = None


def batched_control(conditions: Conditions) -> BatchedControl | None:
    """Return the batched control; None without a control, with a sampled one, or with laws in Python."""
    host = conditions.callback
    if (
        host is None
        or host.control is None
        or isinstance(host.control, SampledControl)
        or conditions.model.family.callback_laws
    ):
        return None
    return BatchedControl(host)


@dataclass(frozen=True, eq=False)
class EnsembleRunner:
    """Runs to be executed in SIMD batches.

    Attributes
    ----------
    members : EnsembleGroups
    groups : list of BatchGroup
        Runs of one integrator.
    options : Options
    span : two floats, s
        Start and end.
    times : (k,) s
        Output times.
    start : three of (B, n)
        q, v and x at the start.
    discontinuity_times : (m,) s
        Discontinuity times given by the user.
    interrupt : Interrupt
    friction : FrictionState or None
        Dry friction and stops that the core determines; such runs are integrated one by one, on threads.
    events : EventLogs or None
        Without events yet; such runs are integrated one by one, on threads.
    event_table : dict
        Of `batch_event_table`.
    sampled : SampledRuns or None
        A sampled control that is called for all runs together; they are integrated one by one, on threads.
    threads : int or None
        Number of threads; that of the package if None.
    contact : ContactSteps or None
        Rigid contact by steps, which is not logged.
    """

    members: EnsembleGroups
    groups: list[BatchGroup]
    options: Options
    span: tuple[float, float]
    times: Array
    start: tuple[Array, Array, Array]
    discontinuity_times: Array
    interrupt: Interrupt
    friction: FrictionState | None = None
    threads: int | None = None
    events: EventLogs | None = None
    event_table: dict[str, Any] | None = None
    sampled: SampledRuns | None = None
    contact: ContactSteps | None = None

    def execute(self) -> BatchOutcome:
        """Execute all runs; a control that does not support batched states is called for each state, with a note."""
        alone = self.friction is not None or self.events is not None or self.sampled is not None
        control = None if alone else batched_control(self.members.conditions)
        try:
            return self._execute(control)
        except ControlNotBatchable as why:
            assert control is not None
            made = self._execute(None)
            made.notes.append(
                f"control {callback_name(control.control)} was called for one state after the other, which takes many "
                f"times longer: for batched states its forces differ from those for single states ({why}). Use "
                "state.q[..., k] for a coordinate, and functions of NumPy"
            )
            return made

    def _execute(self, control: BatchedControl | None) -> BatchOutcome:
        parts: list[tuple[Any, ...]] = []
        errors: dict[int, Exception] = {}
        notes: list[str] = []
        modes = None if self.friction is None else FrictionModes.empty(self.friction, self.members.count)
        for group in self.groups:
            all_times, spans = self.members.discontinuity_times(
                group, *self.span, self.options, self.discontinuity_times
            )
            q_0, v_0, x_0 = (np.ascontiguousarray(part[group.rows]) for part in self.start)
            stepper, host = self.options.integrator(group.conditions), group.conditions.callback
            if control is not None:
                control.numbers = group.rows
            friction_rows, sequences = None, self.members.sequences
            if self.friction is not None:
                stepper.set_friction(friction_table(self.friction, group.conditions, self.options))
                friction_rows = friction_rows_of_runs(self.friction, self.members, group, self.options)
            contact = None if self.contact is None else self.contact.fresh(group.conditions.model)
            if contact is not None:
                contact.attach(stepper)
            if self.event_table is not None:
                stepper.set_events(self.event_table)
            samples: dict[str, Any] = {"batched_control": control}
            if self.sampled is not None:
                self.sampled.numbers = group.rows
                samples = {"sample_times": self.sampled.times, "effect_times": self.sampled.effects}
                compiled = self.sampled.compiled
                samples |= {"batched_control": self.sampled} if compiled is None else {"sampled_function": compiled}
            with nullcontext() if host is None else host.serving(group.rows.tolist()):
                parts.append(
                    stepper.run_batch(
                        *self.span,
                        self.times,
                        q_0,
                        v_0,
                        x_0,
                        group.elements,
                        group.own,
                        threads=_core.threads() if self.threads is None else self.threads,
                        discontinuities=all_times,
                        discontinuity_offsets=spans,
                        flag=self.interrupt.flag,
                        sequences=None if sequences is None else np.ascontiguousarray(sequences[group.rows]),
                        friction=friction_rows,
                        run_numbers=np.ascontiguousarray(group.rows, dtype=np.int64),
                        **samples,
                    )
                )
            if modes is not None:
                modes.add(group.rows, stepper.take_modes())
            if self.events is not None:
                self.events.add(group.rows, stepper.take_event_logs())
            if self.sampled is not None:
                self.sampled.take(group.rows, stepper.take_sampled_forces())
            if contact is not None:
                notes += [note for note in contact.notes_finder(stepper)() if note not in notes]
            errors |= {int(group.rows[row]): error for row, error in stepper.take_errors().items()}
        if len(self.groups) == 1:  # all runs in order
            outcomes, reached, counts, q, v, x = parts[0]
        else:
            order = np.argsort(np.concatenate([group.rows for group in self.groups]), kind="stable")
            outcomes, reached, counts, q, v, x = (np.concatenate(part)[order] for part in zip(*parts, strict=True))
        names = {number: name for name, number in _core.outcomes.items()}
        ends = [names[int(outcome)] for outcome in outcomes]
        return BatchOutcome(
            ends,
            reached,
            counts,
            (q, v, x),
            dict(sorted(errors.items())),
            control is not None,
            notes,
            modes,
            self.events,
        )
