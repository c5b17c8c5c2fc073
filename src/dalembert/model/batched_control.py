"""Control callbacks that receive the states of many runs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..arrays import Array, IndexArray
from ..errors import DalembertError, UserFunctionError
from .callbacks import CallbackHost, callback_name, joint_forces, record_effort_excess
from .model import Model
from .state import State

__all__ = ["BatchedControl", "ControlNotBatchable", "joint_forces_of_many"]


CONTROL_TOL = 1e-9  # of the largest force: rounding difference between a single state and the same state in a batch


class ControlNotBatchable(DalembertError):
    """Reason why a control has to be called for one state at a time."""


class BatchedControl:
    """Control called with the states of many runs at once, and checked against calls with single states.

    Parameters
    ----------
    host : CallbackHost
        Host of the control.
    """

    def __init__(self, host: CallbackHost) -> None:
        assert host.control is not None
        self.host, self.model, self.control = host, host.model, host.control
        self._calls, self._next = 0, 1

    def __call__(self, t: Array, q: Array, v: Array, x: Array, runs: IndexArray, tau: Array) -> dict[int, Any]:
        """Fill joint forces tau (B, nv) at states (B, ...); return errors by row.

        Raises
        ------
        OneByOne
            If it supports single states, but not a batch of them.
        UserFunctionError
            If it supports a batch of states, but not a single one.
        """
        for part in (t, q, v, x):
            part.flags.writeable = False  # they are passed again
        try:
            tau[:] = joint_forces_of_many(self.model, self.control, State(q=q, v=v, t=t, x=x))  # type: ignore[arg-type]
        except UserFunctionError as error:
            errors = self._each(range(len(t)), t, q, v, x, tau)
            if not errors:
                raise ControlNotBatchable(str(error)) from error
            return errors
        errors = {}
        if not np.vdot(tau, tau) < np.inf:  # a product is faster than a test of each entry
            errors = self._each(np.flatnonzero(~np.isfinite(tau).all(axis=1)).tolist(), t, q, v, x, tau)
        self._calls += 1
        if self._calls >= self._next:
            rows = {0, len(t) // 2, len(t) - 1} if self._calls == 1 else {7919 * self._calls % len(t)}
            for row in sorted(rows - errors.keys()):
                self._check(State(q=q[row].copy(), v=v[row].copy(), t=float(t[row]), x=x[row].copy()), tau[row], tau)
            self._next = self._calls + self._calls // 2 + 1
        if self.host.bounded:
            for time, row in zip(t.tolist(), tau, strict=True):
                record_effort_excess(self.model, time, row, self.host.excess_efforts)
        return errors

    def _each(self, rows: Iterable[int], t: Array, q: Array, v: Array, x: Array, tau: Array) -> dict[int, Any]:
        """Call the control for one state at a time; return errors by row."""
        errors: dict[int, Any] = {}
        for row in rows:
            tau[row] = 0.0
            try:
                one = State(q=q[row].copy(), v=v[row].copy(), t=float(t[row]), x=x[row].copy())
                tau[row] = joint_forces(self.model, self.control, one)
            except UserFunctionError as error:
                errors[row] = error
        return errors

    def _check(self, state: State, among: Array, every: Array) -> None:
        """Call the control for one state."""
        try:
            alone = joint_forces(
                self.model, self.control, State(state.q.copy(), state.v.copy(), state.t, state.x.copy())
            )
        except UserFunctionError as error:
            raise UserFunctionError(
                f"{error}, called with one state; with a batch of states it succeeds. It must support both: write "
                "state.q[..., 0], not state.q[:, 0]"
            ) from error
        largest = max(np.abs(every).max(initial=0.0), np.abs(alone).max(initial=0.0))
        apart = np.abs(among - alone)
        if apart.max(initial=0.0) > CONTROL_TOL * largest:
            f = int(apart.argmax())
            raise ControlNotBatchable(
                f"in a batch it returned {among[f]:.6g} at {self.model.speed_names[f]!r} and t = {state.t:.6g} s, for "
                f"the same state alone {alone[f]:.6g}"
            )
        self.host.answered.append((state, alone))


def joint_forces_of_many(model: Model, control: Callable[..., Any], state: State) -> Array:
    """Return the joint forces (B, nv) of a user's function at states (B, ...); they need not be finite.

    It may return an array (B, nv); a list with (B,) or one number for each degree of freedom; or a dict of these by
    name, with (B, k) or (k,) for a joint of k degrees of freedom.

    Raises
    ------
    UserFunctionError
        If it fails, or returns anything else.
    """
    try:
        given = control(state)
    except Exception as error:
        raise UserFunctionError(f"control {callback_name(control)} failed: {error!r}") from error
    count, nv = len(state.q), model.nv
    if type(given) is np.ndarray and given.dtype == float and given.shape == (count, nv):
        return given
    tau = np.zeros((count, nv))
    if given is None:
        return tau
    try:
        if isinstance(given, dict):
            for name, value in given.items():
                place = model.speed_names.index(name) if name in model.speed_names else model.v_slice(name)
                span = place if isinstance(place, slice) else slice(place, place + 1)
                _put(value, tau[:, span])
        elif isinstance(given, (list, tuple)) and len(given) == nv:
            for f, value in enumerate(given):
                _put(value, tau[:, f : f + 1])
        else:
            _put(given, tau)
    except (TypeError, ValueError) as error:
        shape = f"an array {given.shape}" if isinstance(given, np.ndarray) else repr(given)
        raise UserFunctionError(
            f"control {callback_name(control)} returned {shape} for {count} states; "
            f"give an array ({count}, {nv}), a list of "
            f"({count},) for each degree of freedom, or a dict of these by name of joint"
        ) from error
    return tau


def _put(value: Any, columns: Array) -> None:
    """Write the values of some degrees of freedom to their columns (B, k)."""
    numbers, (count, width) = np.asarray(value, dtype=float), columns.shape
    if width == 1 and numbers.shape in ((), (count,)):
        columns[:, 0] = numbers
    elif numbers.shape in ((count, width), (width,)):
        columns[:] = numbers
    else:
        raise ValueError(f"{numbers.shape} where ({count}, {width}) is required")
