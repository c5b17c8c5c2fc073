"""Checks of the states given to inverse dynamics: one, many, or a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_array
from ..errors import ModelError
from ..model import Model
from ..result import Result
from .actuators import StateSamples

__all__ = ["samples_of"]


def samples_of(
    model: Model, q: Any, v: Any, a: Any, t: Any, x: Any, loads: Any, bare: bool, item: str
) -> tuple[StateSamples, bool]:
    """Return checked states, and True for one without a batch axis."""
    if isinstance(q, Result):
        for name, value in (("v", v), ("a", a), ("t", t), ("x", x)):
            if value is not None:
                raise ModelError(item, name, "given", "the motion has its own: leave it out")
        return _of_motion(model, q, loads, bare, item), False
    if v is None or a is None:
        raise ModelError(item, "v" if v is None else "a", None, "give q, v and a, or a motion")
    shape = np.shape(q)
    single = len(shape) == 1
    n = 1 if single else shape[0] if shape else 0
    q, v, a = (
        _rows(value, n, size, item, name)
        for value, size, name in ((q, model.nq, "q"), (v, model.nv, "v"), (a, model.nv, "a"))
    )
    times = np.zeros(n) if t is None else _rows(t, n, 0, item, "t")
    states = np.tile(model.element_start_values(), (n, 1)) if x is None else _rows(x, n, model.nx, item, "x")
    return StateSamples(model, times, q, v, a, states, _loads(model, loads, n, item), bool(bare)), single


def _rows(value: Any, n: int, size: int, item: str, field: str) -> Array:
    """Return (n, size) numbers, or (n,) for size 0, from one row or many."""
    shape = (size,) if size else ()
    many = (n, *shape)
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == many and np.isfinite(value).all():
        return np.ascontiguousarray(value)
    if np.ndim(value) == len(shape):
        return np.tile(finite_array(value, shape, item=item, field=field), (n, 1) if size else n)
    return finite_array(value, many, item=item, field=field)


def _loads(model: Model, loads: Any, n: int, item: str) -> Array | None:
    if loads is None:
        return None
    each = (model.nb, 6)
    return finite_array(loads, (n, *each) if np.ndim(loads) == 3 else each, item=item, field="loads")


def _of_motion(model: Model, motion: Result, loads: Any, bare: bool, item: str) -> StateSamples:
    """Return the states of a motion of this system, or of one with the same coordinates (with other drives, say)."""
    labels, names = motion.labels, model.compiled.names
    if motion.model is not None and motion.model is not model:
        return _of_other(model, motion, loads, bare, item)
    if tuple(labels.coordinates) != tuple(names.coordinates) or tuple(labels.speeds) != tuple(names.speeds):
        raise ModelError(item, "motion", motion, f"its coordinates are not those of {model.system.name!r}")
    x = motion.x if motion.x.shape[1] == model.nx else np.tile(model.element_start_values(), (len(motion), 1))
    t, q, v, a = map(np.ascontiguousarray, (motion.t, motion.q, motion.v, motion.a))
    return StateSamples(model, t, q, v, a, np.ascontiguousarray(x), _loads(model, loads, len(motion), item), bool(bare))


def _of_other(model: Model, motion: Result, loads: Any, bare: bool, item: str) -> StateSamples:
    """Return the states of a motion of a system with the same joints, cut elsewhere."""
    other = motion.model
    assert other is not None
    n = len(motion)
    q, v, a = np.zeros((n, model.nq)), np.zeros((n, model.nv)), np.zeros((n, model.nv))
    for name in (*model.joint_names, *model.flexible_names):
        if name not in (*other.connection_names, *other.flexible_names):
            raise ModelError(item, "motion", motion, f"it has no joint {name!r}: the motion is of another system")
        for whole, span, level in (
            (q, model.q_slice(name), "position"),
            (v, model.v_slice(name), "speed"),
            (a, model.v_slice(name), "acceleration"),
        ):
            if span.stop == span.start:
                continue
            own = other.compiled.names.q if level == "position" else other.compiled.names.v
            if name in own:
                source = {"position": motion.q, "speed": motion.v, "acceleration": motion.a}[level]
                values = source[:, own[name]]
            else:
                values = motion[f"{name}.{level}"].reshape(n, -1)
            if values.shape[1] != span.stop - span.start:
                raise ModelError(
                    item, "motion", motion, f"joint {name!r} differs there: the motion is of another system"
                )
            whole[:, span] = values
    x = np.tile(model.element_start_values(), (n, 1))
    for k, name in enumerate(model.state_names):
        if name in other.state_names:
            x[:, k] = motion.x[:, other.state_names.index(name)]
    return StateSamples(model, motion.t.copy(), q, v, a, x, _loads(model, loads, n, item), bool(bare))
