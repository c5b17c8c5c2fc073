"""Gradients of rollouts with rigid contact by steps: the transposed derivatives of their steps."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from ... import _core
from ...arrays import Array
from ...errors import GradientError
from ...model import State
from ..contact.contact_steps import ContactSteps
from ..contact.step_derivatives import ContactRunDerivatives, check_parameter, parts_of_run
from ..interrupts import Interrupt, SharedInterrupt, defer_interrupt

if TYPE_CHECKING:
    from .rollout_result import Rollout

__all__ = ["contact_gradients"]

MAX_NOTES = 4


def contact_gradients(
    r: Rollout, seeds: Sequence[Array], names: tuple[str, ...]
) -> tuple[tuple[Array, Array, Array, Array, Array], list[str]]:
    """Return gradients of each run by q, v, x, controls and parameters, NaN where it did not finish; and notes.

    Parameters
    ----------
    r : Rollout
    seeds : three of (B, K + 1, n)
        Derivatives of the scalar by small motions, velocities and element states.
    names : tuple of str
    """
    _check(r, names)
    model, count = r.model, len(r)
    found = (
        np.full((count, model.nv), np.nan),
        np.full((count, model.nv), np.nan),
        np.full((count, model.nx), np.nan),
        np.full((count, len(r.t) - (not r.channels.linear), len(r.control_names)), np.nan),
        np.full((count, len(names)), np.nan),
    )
    finished = [k for k, status in enumerate(r.status) if status == "finished"]
    for k in finished:
        _ = r.runs[k].model  # made once, before threads need it
    interrupt = Interrupt()

    def run(k: int, own: Interrupt) -> list[str]:
        if own.pressed:
            return []
        parts, notes = _run_gradient(r, k, [seed[k] for seed in seeds], names)
        for to, part in zip(found, parts, strict=True):
            to[k] = part
        return notes

    with interrupt, ThreadPoolExecutor(min(_core.threads(), max(len(finished), 1))) as pool:
        every = list(pool.map(run, finished, [SharedInterrupt(interrupt)] * len(finished)))
    defer_interrupt(interrupt)
    return found, list(dict.fromkeys(note for notes in every for note in notes))[:MAX_NOTES]


def _check(r: Rollout, names: tuple[str, ...]) -> None:
    """Refuse rollouts whose derivatives do not exist, or are not those of the steps."""
    request, model = r.request, r.model
    if request.events.events:
        events = ", ".join(repr(event.name) for event in request.events.events)
        raise GradientError(f"rollout: events {events} change runs where they occur, which has no derivative here")
    if model.family.callback_laws or request.conditions.history is not None:
        raise GradientError(
            "rollout: laws and inputs in Python, and delays, have no exact derivative: use formulas as text, or "
            "inputs of elements as controls"
        )
    for name in names:
        check_parameter(model, name, "vjp")


def _run_gradient(r: Rollout, k: int, seeds: list[Array], names: tuple[str, ...]) -> tuple[list[Array], list[str]]:
    """Return the gradients of one run, which is repeated, and notes."""
    conditions, times, request = r.runs[k], r.t, r.request
    start = State(q=r.q[k, 0], v=r.v[k, 0], t=float(times[0]), x=r.x[k, 0])
    contacts = request.contact
    assert isinstance(contacts, ContactSteps)
    contacts = contacts.fresh(conditions.model)
    contacts.check_start(start)
    parts, last = parts_of_run(conditions, request.options, contacts, times, start, float(times[-1]))
    if not np.array_equal(last, r.q[k, -1]):
        raise GradientError(f"run {k} could not be repeated for its gradient")
    derivatives = ContactRunDerivatives(conditions, request.options, contacts, times, names)
    spans = derivatives.along(parts, times)
    l = np.concatenate([seed[-1] for seed in seeds])  # noqa: E741
    by_control = np.zeros((len(times) - (not r.channels.linear), len(r.control_names)))
    by_parameter = np.zeros(len(names))
    for j in reversed(range(len(spans))):
        span = spans[j]
        by_parameter += span.parameters.T @ l
        begin, end = np.einsum("nkc,n->kc", span.controls, l)
        by_control[j] += begin
        if r.channels.linear:
            by_control[j + 1] += end
        l = span.state.T @ l + np.concatenate([seed[j] for seed in seeds])  # noqa: E741
    l = derivatives.start(start).T @ l  # noqa: E741
    nv = r.model.nv
    return [*np.split(l, [nv, 2 * nv]), by_control, by_parameter], derivatives.notes
