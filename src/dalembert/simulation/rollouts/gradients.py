"""Gradients of rollouts by the discrete adjoint of their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...answer import ArrayAnswer
from ...arrays import Array, BoolArray, IndexArray
from ...checks import did_you_mean
from ...errors import GradientError, ModelError
from ...model import Model
from ...model.conditions import parameter_directions
from ..ensemble.groups import GEOMETRY_GROUPS, BatchGroup
from ..interrupts import Interrupt, defer_interrupt
from .contact_gradients import contact_gradients

if TYPE_CHECKING:
    from .rollout_result import Rollout

__all__ = ["RolloutGradient", "rollout_gradient"]


@dataclass(eq=False, repr=False)
class RolloutGradient(ArrayAnswer):
    """Gradients of a scalar of each run of a rollout.

    Attributes
    ----------
    model : Model
    q : (B, nv)
        By small motions of the configuration at the start, as `Model.integrate` makes them; with loops, along motions
        that the loops permit.
    v : (B, nv)
        By velocities at the start.
    x : (B, nx)
        By element states at the start.
    controls : (B, K, m), with linear hold (B, K + 1, m)
        By control values.
    parameters : (B, p)
        By the requested parameters.
    control_names, parameter_names : tuple of str
    status : tuple of str, (B,)
        Of the runs. Gradients of runs that did not finish are NaN.
    notes : list of str
        Where derivatives are to one side.
    """

    model: Model
    q: Array
    v: Array
    x: Array
    controls: Array
    parameters: Array
    control_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    status: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    _arrays: ClassVar = {
        "q": (("run", "speed"), ""),
        "v": (("run", "speed"), ""),
        "x": (("run", "state"), ""),
        "controls": (("run", "control_index", "control"), ""),
        "parameters": (("run", "parameter"), ""),
    }

    @property
    def success(self) -> bool:
        """True if every run has a gradient."""
        return bool(np.isfinite(self.q).all() and np.isfinite(self.v).all() and np.isfinite(self.controls).all())

    @property
    def message(self) -> str:
        """Outcome in one sentence."""
        missing = np.flatnonzero(~np.isfinite(self.v).all(axis=1)).tolist()
        return f"run {missing[0]} has no gradient: it did not finish" if missing else self._headline()

    def _headline(self) -> str:
        count = self.controls.shape[1] * self.controls.shape[2]
        return f"{len(self.v)} runs, by start state, {count} control values, {len(self.parameter_names)} parameters"

    def _axes(self) -> Mapping[str, tuple[Any, str]]:
        own = {"control": (list(self.control_names), ""), "parameter": (list(self.parameter_names), "")}
        return {**super()._axes(), **own}

    def control(self, name: str) -> Array:
        """Return the gradient by the values of one control, (B, K)."""
        if name not in self.control_names:
            known = did_you_mean(name, self.control_names) or f"known are: {', '.join(map(repr, self.control_names))}"
            raise ModelError("RolloutGradient", "control", name, known)
        return self.controls[:, :, self.control_names.index(name)]


def rollout_gradient(
    r: Rollout, q: ArrayLike | None, v: ArrayLike | None, x: ArrayLike | None, names: tuple[str, ...]
) -> RolloutGradient:
    """Return the gradients of `Rollout.vjp`."""
    model = r.model
    if r.request.contact is None:
        _check_derivative_exists(r, names)
    seeds = [
        _seed(label, given, (len(r), len(r.t), size))
        for label, given, size in (("q", q, model.nq), ("v", v, model.nv), ("x", x, model.nx))
    ]
    if r.request.contact is not None:
        seeds[0] = _tangent(model, r.q, seeds[0])
        gradients, notes = contact_gradients(r, seeds, names)
        return RolloutGradient(model, *gradients, r.control_names, names, r.status, notes)
    finished = np.array([status == "finished" for status in r.status])
    rows = len(r.t) - (not r.channels.linear)
    by_q, by_v = np.full((len(r), model.nv), np.nan), np.full((len(r), model.nv), np.nan)
    by_x = np.full((len(r), model.nx), np.nan)
    by_control = np.full((len(r), rows, len(r.control_names)), np.nan)
    by_parameter = np.full((len(r), len(names)), np.nan)
    interrupt = Interrupt()
    with interrupt:
        for group in r.runs.groups():
            for mine, directions in _alike(r, group, finished, names):
                found = _group_gradients(r, group, mine, seeds, directions, len(names), interrupt)
                for to, part in zip((by_q, by_v, by_x, by_control, by_parameter), found, strict=True):
                    to[group.rows[mine]] = part
    defer_interrupt(interrupt)
    return RolloutGradient(model, by_q, by_v, by_x, by_control, by_parameter, r.control_names, names, r.status)


def _seed(label: str, given: ArrayLike | None, shape: tuple[int, int, int]) -> Array:
    """Return derivatives of the scalar by a returned array, (B, K + 1, n)."""
    if given is None:
        return np.zeros(shape)
    try:
        seed = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        seed = np.zeros(0)
    if seed.shape not in (shape, shape[1:]):
        remedy = f"give the derivatives of the scalar by r.{label}, {shape}, or {shape[1:]} for all runs"
        raise ModelError("vjp", f"the shape of {label}", seed.shape, remedy)
    if not np.isfinite(seed).all():
        raise ModelError("vjp", label, "not finite", "derivatives by the returned states must be finite")
    return np.broadcast_to(seed, shape)


def _check_derivative_exists(r: Rollout, names: tuple[str, ...]) -> None:
    """Refuse rollouts whose derivatives do not exist, or are not those of the steps."""
    request, model = r.request, r.model
    if request.friction is not None:
        owners = ", ".join(map(repr, list(dict.fromkeys(request.friction.rows.names))[:4]))
        raise GradientError(
            f"rollout of {model.system.name!r}: dry friction or rigid stops at {owners} have no derivative where they "
            "switch: give friction='smooth' or 'off', and stops='soft' or 'off'"
        )
    if request.events.events:
        events = ", ".join(repr(event.name) for event in request.events.events)
        raise GradientError(f"rollout: events {events} change runs where they occur, which has no derivative here")
    if request.options.method != "rk4":
        raise GradientError(
            f"rollout: method {request.options.method!r} chooses its steps, which has no derivative: give method='rk4' "
            "and substeps, or use da.sensitivity"
        )
    if model.family.callback_laws or request.conditions.history is not None:
        raise GradientError(
            "rollout: laws and inputs in Python, and delays, have no exact derivative: use formulas as text, or "
            "inputs of elements as controls"
        )
    if model.nc and np.abs(model.constraint_drift(r.q[0, 0], t=float(r.t[0]))).max(initial=0.0) > 0:
        raise GradientError("rollout: gradients with constraints that depend on time are not available")
    numbers, count = model.family.compiled.numbers, model.n_element_parameters
    geometric = [group for group in numbers.groups if group.what in (*GEOMETRY_GROUPS, "joint", "law")]
    for name, row in zip(names, parameter_directions(model, names, model.parameters, "vjp"), strict=True):
        if name in r.control_names:
            raise ModelError(
                "vjp", "parameter", name, "it is a control of this rollout: its gradient is among controls"
            )
        moved = row[count:] != 0
        if (model.nc or model.drives) and any(moved[group.span].any() for group in geometric):
            raise GradientError(
                f"vjp: parameter {name!r} moves loops or drives, and with them the start: use da.sensitivity, which "
                "varies the start too"
            )


def _alike(
    r: Rollout, group: BatchGroup, finished: BoolArray, names: tuple[str, ...]
) -> list[tuple[IndexArray, Array]]:
    """Return rows of a group with the same directions of parameters, and these directions.

    They begin with those of element parameters that are controls, in the order of the parameters.
    """
    model, places = r.model, r.model.parameter_names
    fixed = sorted(places[name] for name in r.control_names if name not in model.speed_names and name in places)
    fixed = [place for place in fixed if place < model.n_element_parameters]
    unit = np.zeros((len(fixed), len(model.parameters)))
    unit[np.arange(len(fixed)), fixed] = 1.0
    rows = np.flatnonzero(finished[group.rows])
    found: dict[bytes, tuple[list[int], Array]] = {}
    for row in rows.tolist():
        values = model.parameters if r.runs.numbers is None else r.runs.numbers[group.rows[row]]
        directions = np.concatenate([unit, parameter_directions(model, names, values, "vjp")])
        if r.runs.numbers is None:
            return [(rows, directions)]
        found.setdefault(directions.tobytes(), ([], directions))[0].append(row)
    return [(np.array(mine), directions) for mine, directions in found.values()]


def _group_gradients(
    r: Rollout,
    group: BatchGroup,
    mine: IndexArray,
    seeds: list[Array],
    directions: Array,
    wanted: int,
    interrupt: Interrupt,
) -> list[Array]:
    """Return the gradients of some runs of a group."""
    which, model = group.rows[mine], r.model
    times, spans = r.runs.discontinuity_times(group, float(r.t[0]), float(r.t[-1]), r.request.options, r.t)
    each = [times[spans[row] : spans[row + 1]] for row in mine]
    if any(not np.array_equal(other, each[0]) for other in each):
        raise GradientError("rollout: discontinuity times differ between runs: compute the gradients run by run")
    integrator = r.request.options.integrator(group.conditions, each[0])
    q, v, x = (np.ascontiguousarray(part[which]) for part in (r.q, r.v, r.x))
    q_bar, v_bar, x_bar = (np.ascontiguousarray(part[which]) for part in seeds)
    outcomes, *found = integrator.gradients(
        r.t,
        q,
        v,
        x,
        _tangent(model, q, q_bar),
        v_bar,
        x_bar,
        None if group.elements is None else np.ascontiguousarray(group.elements[mine]),
        None if group.own is None else np.ascontiguousarray(group.own[mine]),
        np.ascontiguousarray(r.controls[which]),
        np.ascontiguousarray(directions),
        wanted,
        threads=_core.threads(),
        flag=interrupt.flag,
    )
    for part in found:
        part[outcomes != _core.outcomes["reached"]] = np.nan
    return found


def _tangent(model: Model, q: Array, q_bar: Array) -> Array:
    """Return derivatives by small motions (B, k, nv) from those by coordinates (B, k, nq): N(q)^T q_bar."""
    if model.nq == model.nv:
        return q_bar
    flat, slopes = q.reshape(-1, model.nq), q_bar.reshape(-1, model.nq)
    found = np.empty((len(flat), model.nv))
    for k, direction in enumerate(np.eye(model.nv)):
        rates = model.coordinate_rates(flat, np.broadcast_to(direction, (len(flat), model.nv)))
        found[:, k] = (rates * slopes).sum(axis=1)
    return found.reshape(*q.shape[:2], model.nv)
