"""Directions of sensitivities: derivatives of the initial state and of outputs along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...linear.small_motions import small_motion_names
from ...model import Model, State
from ...model.conditions import parameter_value
from ...result import Motion, Output, Periods, Result, single_period
from ...result.outputs.output import value_of
from ...simulation import start_state
from ...simulation.contact.step_derivatives import is_contact_number
from .initial_state import initial_state_derivatives
from .output_slopes import exact_slopes, same_branch

__all__ = [
    "DIFFERENCE_STEP",
    "FACTORS",
    "ParameterDirection",
    "StateDerivatives",
    "differences",
    "directions_of",
    "slope",
    "small_motion",
]


DIFFERENCE_STEP = 1e-3  # fourth-order central differences: truncation 1e-12 of the fifth derivative, round-off 1e-13
FACTORS = (1.0, -1.0, 2.0, -2.0)


@dataclass(frozen=True, eq=False)
class ParameterDirection:
    """One parameter or start value by which a run is differentiated.

    Attributes
    ----------
    name : str
    number : str or None
        The name, if it is a parameter of the model or a number of a contact; None for a start value.
    size : float
        Typical magnitude, for scaling.
    start : (2 nv + nx,)
        Derivative of the initial state: small motions, velocities, element states.
    of_contact : bool
        Whether it is friction or restitution of a rigid contact.
    """

    name: str
    number: str | None
    size: float
    start: Array
    of_contact: bool = False


def slope(values: Callable[[float], Array], step: float) -> Array:
    """Return the derivative of a function at 0, by fourth-order differences.

    They are central, or to one side where the other is not permitted, such as a negative damping or a restitution
    above 1.
    """
    try:
        return differences([values(factor * step) for factor in FACTORS], step)
    except ModelError:
        try:
            return _to_one_side(values, step)
        except ModelError:
            return _to_one_side(values, -step)


def _to_one_side(values: Callable[[float], Array], step: float) -> Array:
    at = [values(k * step) for k in range(5)]
    return np.asarray((-25 * at[0] + 48 * at[1] - 36 * at[2] + 16 * at[3] - 3 * at[4]) / (12 * step))


def differences(values: Sequence[Array], step: float) -> Array:
    """Return the derivative of a function at 0 from its values at `FACTORS` times a step."""
    up, down, far_up, far_down = values
    return np.asarray((8 * (up - down) - (far_up - far_down)) / (12 * step))


def small_motion(model: Model, q: Array, dq: Array) -> Array:
    """Convert coordinate rates dq (nq,) at q (nq,) to a small motion xi (nv,)."""
    if model.nq == model.nv:
        return dq
    N = np.stack([slope(partial(_moved, model, q, axis), DIFFERENCE_STEP) for axis in np.eye(model.nv)], axis=1)
    return np.asarray(np.linalg.lstsq(N, dq, rcond=None)[0])


def _moved(model: Model, q: Array, axis: Array, h: float) -> Array:
    return model.integrate(q, h * axis)


def directions_of(
    result: Result,
    model: Model,
    names: Sequence[str],
    state: Mapping[str, Any] | None,
    parameters: Mapping[str, float],
    t_start: float,
) -> list[ParameterDirection]:
    """Return the directions of all names."""
    base = model.with_parameters(dict(parameters)) if parameters else model
    described = base.conditions()
    start = State(result.q[0], result.v[0], t_start, result.x[0])
    known = initial_state_derivatives(base, start, state, names)

    def direction(name: str) -> ParameterDirection:
        if name in model.parameter_names:
            value = float(parameter_value(base, name, base.parameters))
            size = abs(value) if value else 1.0

            if name in known:
                return ParameterDirection(name, name, size, known[name])
            if not (model.nc or model.drives or model.system.placements):  # the initial state equals the given one
                return ParameterDirection(name, name, size, np.zeros(2 * model.nv + model.nx))

            def begin(change: float) -> State:
                return start_state(described.perturbed(name, change).model, state, t_start)

            return ParameterDirection(name, name, size, _start_slope(base, start, begin, DIFFERENCE_STEP * size))
        if is_contact_number(model, name):
            return ParameterDirection(name, name, 1.0, np.zeros(2 * model.nv + model.nx), True)
        value = _start_value(result, name, state or {})
        if name in known:
            return ParameterDirection(name, None, max(abs(value), 1.0), known[name])

        def begin_at(change: float) -> State:
            return start_state(base, {**(state or {}), name: value + change}, t_start)

        return ParameterDirection(
            name, None, max(abs(value), 1.0), _start_slope(base, start, begin_at, DIFFERENCE_STEP)
        )

    return [direction(name) for name in names]


def _start_value(result: Result, name: str, state: Mapping[str, Any]) -> float:
    """Return the start value used in the run."""
    if name in state:
        value = np.asarray(state[name], dtype=float)
    else:
        value = np.zeros(2)
        for known in (name, f"{name}.position"):
            try:
                value = np.asarray(result.output(known)[0], dtype=float)
                break
            except ModelError:
                continue
        else:
            remedy = "it is neither a parameter of the system nor a start value: s.parameters lists the parameters"
            raise ModelError("sensitivity", "by", name, remedy)
    if value.ndim:
        raise ModelError("sensitivity", "by", name, f"it has {value.size} components: name one")
    return float(value)


def _start_slope(model: Model, start: State, begin: Callable[[float], State], step: float) -> Array:
    """Return the derivative of the initial state, (2 nv + nx,)."""

    def values(change: float) -> Array:
        moved = begin(change)
        q = moved.q
        if model.nq != model.nv:  # q and -q of a quaternion are the same orientation
            q = _nearest(model, start.q, q)
        return np.concatenate([q, moved.v, moved.x])

    d = slope(values, step)
    return np.concatenate([small_motion(model, start.q, d[: model.nq]), d[model.nq :]])


def _nearest(model: Model, near: Array, q: Array) -> Array:
    """Return coordinates with the sign of every quaternion nearest to a reference."""
    q = q.copy()
    for joint in model.forest.joints:
        span = model.q_slice(joint.name)
        if span.stop - span.start > len(joint.element.speeds):
            four = slice(span.start, span.start + 4)
            if near[four] @ q[four] < 0:
                q[four] *= -1
    return q


@dataclass(frozen=True, eq=False)
class StateDerivatives:
    """State derivatives of a run at given times, in given directions.

    Attributes
    ----------
    result : Result
    directions : tuple of ParameterDirection, (m,)
    t : (k,) s
    y : (k, 2 nv + nx, m)
    """

    result: Result
    directions: tuple[ParameterDirection, ...]
    t: Array
    y: Array

    def output(self, name: str) -> tuple[Output, Array, Array]:
        """Return an output, its values (k, ...) and its derivatives (k, ..., m)."""
        model = self.result.model
        assert model is not None
        output = Output.of(model, name)
        if output.base is not None:
            _, values, slopes = self.output(output.base.name)
            return output, output.factor * values, output.factor * slopes
        if output.history is not None:
            remedy = "it depends on the history of the run: use outputs of the state, and integrals of them"
            raise ModelError("sensitivity", "output", name, remedy)
        at = self.result.at(self.t)
        values = at.output(name)
        row = _exact_row(model, name)
        if row is not None:
            return output, values, self.y[:, row]
        exact = self._exact(output, at)
        if exact is not None:
            return output, values, exact
        columns = [self._derivative(output, at, k) for k in range(len(self.directions))]
        return output, values, np.stack(columns, axis=-1)

    def _exact(self, output: Output, at: Result) -> Array | None:
        """Return derivatives (k, ..., m) by products in the core; None if it does not have them."""
        numbers = [k for k, direction in enumerate(self.directions) if direction.number is not None]
        if any(direction.of_contact for direction in self.directions):
            return None
        found = exact_slopes(at, output, [str(self.directions[k].number) for k in numbers])
        if found is None:
            return None
        by_state, by_number = found
        slopes = (by_state.reshape(len(at.t), -1, self.y.shape[1]) @ self.y).reshape(*by_state.shape[:-1], -1)
        slopes[..., numbers] += by_number
        return slopes

    def _derivative(self, output: Output, at: Result, k: int) -> Array:
        model, direction = at.model, self.directions[k]
        assert model is not None
        xi, dv, dx = np.split(self.y[:, :, k], [model.nv, 2 * model.nv], axis=1)
        fastest = max(1.0, float(np.abs(at.v).max(initial=0.0)))
        largest = np.maximum(1.0, np.abs(at.x).max(axis=0, initial=0.0))
        reach = [np.abs(xi).max(initial=0.0), np.abs(dv).max(initial=0.0) / fastest, 1e-12]
        reach += [(np.abs(dx) / largest).max(initial=0.0)]
        reach += [1.0 / direction.size] if direction.number is not None else []
        step = DIFFERENCE_STEP / float(max(reach))
        first = self._moved(output, at, k, (xi, dv, dx), 0.0)

        def values(h: float) -> Array:
            return same_branch(output, self._moved(output, at, k, (xi, dv, dx), h), first)

        return slope(values, step)

    def _moved(self, output: Output, at: Result, k: int, change: tuple[Array, Array, Array], h: float) -> Array:
        """Return the output of the run perturbed by h in a direction."""
        model, direction = at.model, self.directions[k]
        assert model is not None
        xi, dv, dx = change
        q = model.integrate(at.q, h * xi)
        periods = at.conditions
        if direction.number is not None and h and not direction.of_contact:
            periods = _with_number(model, periods, direction.number, h)
        return value_of(output, Motion(model, at.t, q, at.v + h * dv, at.x + h * dx, conditions=periods))


def _exact_row(model: Model, name: str) -> int | None:
    """Return the state index of an output that is a tree coordinate or velocity; None for other outputs."""
    owner, _, what = name.rpartition(".")
    if what == "speed" and owner in model.speed_names:
        return model.nv + model.speed_names.index(owner)
    plain = small_motion_names(model)
    if what == "position" and owner in plain and owner in model.speed_names:
        return plain.index(owner)
    return None


def _with_number(model: Model, periods: Any, name: str, change: float) -> Periods:
    """Return conditions with one parameter changed."""
    known = periods if isinstance(periods, Periods) else single_period(model.conditions())
    return Periods(known.begins, [conditions.perturbed(name, change) for conditions in known.conditions])
