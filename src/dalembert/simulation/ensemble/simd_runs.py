"""The runs of an ensemble by the core: in lanes, a control in Python asked about many of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...model import Conditions, SampledControl
from ...model.batched_control import BatchedControl, ControlNotBatchable
from ...model.callbacks import callback_name
from ..interrupts import Interrupt
from ..options import Options
from .groups import BatchGroup, EnsembleGroups

__all__ = ["BatchOutcome", "EnsembleRunner", "asked_together"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BatchOutcome:
    """What the core has made of many runs, a row for each.

    Attributes
    ----------
    outcomes : list of str
    reached : (B,) s
    counts : (B, 4)
        Steps, rejected ones, evaluations, Jacobians.
    states : three of (B, k, n)
        q, v and x at the times wanted.
    errors : dict of int to Exception
        Those of the control that ended a run, by run.
    together : bool
        Whether a control was asked about many runs at once.
    notes : list of str
    """

    outcomes: list[str]
    reached: Array
    counts: Array
    states: tuple[Array, Array, Array]
    errors: dict[int, Exception]
    together: bool
    notes: list[str]


def asked_together(conditions: Conditions) -> BatchedControl | None:
    """Return the control of runs that may stand side by side; None if there is none, or laws are in Python too."""
    host = conditions.host
    if (
        host is None
        or host.control is None
        or isinstance(host.control, SampledControl)
        or conditions.model.family.hosted
    ):
        return None
    return BatchedControl(host)


@dataclass(frozen=True, eq=False)
class EnsembleRunner:
    """Runs that are asked for.

    Attributes
    ----------
    members : Members
    groups : list of Together
        Runs that the same stepper takes.
    options : Options
    span : two floats, s
        From where to where.
    wanted : (k,) s
        Times of the states that are kept.
    start : three of (B, n)
        q, v and x at the beginning.
    breaks : (m,) s
        Of all runs.
    interrupt : Interrupt
    """

    members: EnsembleGroups
    groups: list[BatchGroup]
    options: Options
    span: tuple[float, float]
    wanted: Array
    start: tuple[Array, Array, Array]
    breaks: Array
    interrupt: Interrupt

    def make(self) -> BatchOutcome:
        """Return all runs; a control that cannot be asked about many states is asked about each, with a note."""
        asked = asked_together(self.members.conditions)
        try:
            return self._made(asked)
        except ControlNotBatchable as why:
            assert asked is not None
            made = self._made(None)
            made.notes.append(
                f"control {callback_name(asked.control)} was asked about one state after the other, "
                "which takes many times "
                f"longer: about many at once it does not answer as about each ({why}). With state.q[..., k] for a "
                "coordinate, and functions of NumPy, it can"
            )
            return made

    def _made(self, asked: BatchedControl | None) -> BatchOutcome:
        parts: list[tuple[Any, ...]] = []
        errors: dict[int, Exception] = {}
        for group in self.groups:
            breaks_of_all, spans = self.members.breaks(group, *self.span, self.options, self.breaks)
            q_0, v_0, x_0 = (np.ascontiguousarray(part[group.rows]) for part in self.start)
            stepper = self.options.integrator(group.conditions)
            parts.append(
                stepper.batch(
                    *self.span,
                    self.wanted,
                    q_0,
                    v_0,
                    x_0,
                    group.elements,
                    group.own,
                    threads=_core.threads(),
                    breaks=breaks_of_all,
                    spans=spans,
                    flag=self.interrupt.flag,
                    together=asked,
                )
            )
            errors |= {int(group.rows[row]): error for row, error in stepper.take_errors().items()}
        if len(self.groups) == 1:  # all runs, in order
            outcomes, reached, counts, q, v, x = parts[0]
        else:
            order = np.argsort(np.concatenate([group.rows for group in self.groups]), kind="stable")
            outcomes, reached, counts, q, v, x = (np.concatenate(part)[order] for part in zip(*parts, strict=True))
        names = {number: name for name, number in _core.outcomes.items()}
        ends = [names[int(outcome)] for outcome in outcomes]
        return BatchOutcome(ends, reached, counts, (q, v, x), dict(sorted(errors.items())), asked is not None, [])
