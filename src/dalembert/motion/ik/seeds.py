"""Starts, preferred postures and weights of inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import finite_array, positive
from ...closure.assembly import assemble
from ...closure.named_velocities import coordinate_range, named_velocities
from ...errors import AssemblyError, ModelError
from ...model import Model
from ...model.drive_targets import drive_targets
from .equations import IkEquations

__all__ = ["ITEM", "begin_from", "metric_of", "posture_of"]


ITEM = "inverse_kinematics"


def metric_of(model: Model, weights: Mapping[str, float] | None) -> Array:
    """Return D W^(-1/2) (nv,)."""
    metric = np.array(model.compiled.tables["column_scale"], dtype=float)
    if weights is not None and not isinstance(weights, Mapping):
        raise ModelError(ITEM, "weights", weights, 'give a dict of names to numbers: {"A": 2.0}')
    for name, weight in dict(weights or {}).items():
        selected = named_velocities(model, name, item=f"{ITEM}: weights")
        if selected.cut:
            remedy = "a loop was cut there: weight the other joints of the loop"
            raise ModelError(ITEM, f"weights[{name!r}]", weight, remedy)
        if name not in model.joint_names and name.rpartition(".")[2] in ("wx", "wy", "wz", "vx", "vy", "vz"):
            raise ModelError(ITEM, f"weights[{name!r}]", weight, "name the joint: an orientation has one weight")
        root = positive(f"{ITEM}: weights", weight=weight)["weight"] ** -0.5
        metric[selected.columns] *= root
    return metric


def begin_from(
    model: Model, q: ArrayLike | None, count: int, reach: IkEquations
) -> tuple[Array, tuple[str, ...], int | None]:
    """Return starts (count, nq), notes, and the number of starts that were given, if many."""
    notes: list[str] = []
    several = None
    if q is None:
        start = model.initial_state().q
        if reach.closures:
            try:
                start = assemble(model, t=reach.t).q
            except AssemblyError as error:
                notes.append(f"the loops do not close near the start values, which are used unchanged: {error}")
        inside = reach.within(start[None].copy())[0]
        for name, was, now in zip(model.coordinate_names, start, inside, strict=True):
            if was != now:
                notes.append(f"start value of {name!r} is {was:.6g}, beyond its limit; {now:.6g} is used")
        starts = np.tile(inside, (count, 1))
    else:
        shape = np.shape(q)
        if len(shape) == 2 and shape[0] != count and count == 1:
            several = shape[0]
        if shape not in ((model.nq,), (several or count, model.nq)):
            remedy = f"give ({model.nq},) or ({count if count > 1 else 'B'}, {model.nq}) numbers"
            raise ModelError(ITEM, "the shape of q", shape, remedy)
        given = finite_array(q, shape, item=ITEM, field="q")
        starts = np.tile(given, (count, 1)) if given.ndim == 1 else given
        starts = model.integrate(starts, np.zeros_like(starts, shape=(len(starts), model.nv)))
        _check_limits(model, reach, starts)
    clocks = [k for k, name in enumerate(model.compiled.names.speed_units) if name == "s"]
    if clocks:
        given_q = drive_targets(model, reach.t)[0]
        starts = np.where(np.isnan(given_q), starts, given_q)
    return starts, tuple(notes), several


def _check_limits(model: Model, reach: IkEquations, starts: Array) -> None:
    """Raise an error for starts beyond limits."""
    least, most = reach.step_limits(starts)
    beyond = np.maximum(least, -most) * reach.metric
    worst = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[worst] > 1e-9:
        k = int(worst[1])
        name = model.coordinate_names[reach.place[k]]
        at = float(starts[worst[0], reach.place[k]])
        remedy = f"its limits are {reach.lower[k]:.6g} and {reach.upper[k]:.6g}: start within them, or set limits=False"
        raise ModelError(ITEM, f"q of {name!r}", at, remedy)


def posture_of(model: Model, prefer: Any, begin: Array, count: int) -> Array:
    """Return preferred postures (B, nq)."""
    if prefer is None:
        return begin
    if isinstance(prefer, Mapping):
        posture = begin.copy()
        for name, value in prefer.items():
            span = coordinate_range(model, name)
            if span is None:
                known = ", ".join(map(repr, model.coordinate_names[:12]))
                raise ModelError(ITEM, "prefer", name, f"choose among the coordinates {known}")
            size = span.stop - span.start
            given = [value] if np.ndim(value) == 0 else value
            posture[:, span] = finite_array(given, (size,), item=ITEM, field=f"prefer[{name!r}]")
    else:
        shape = np.shape(prefer)
        if shape not in ((model.nq,), (count, model.nq)):
            raise ModelError(ITEM, "the shape of prefer", shape, f"give ({model.nq},) or (B, {model.nq}) numbers")
        posture = np.broadcast_to(finite_array(prefer, shape, item=ITEM, field="prefer"), begin.shape)
    return np.asarray(model.integrate(posture, np.zeros((len(posture), model.nv))))
