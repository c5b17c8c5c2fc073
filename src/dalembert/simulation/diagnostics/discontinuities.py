"""Discontinuities near a state of a run, and their owners; controls with internal state.

A run stagnates where a law jumps and drives the motion back to the jump from both sides: it chatters, or, in the limit,
slides or sticks. Then states within the tolerance have different accelerations, and half way between two of them the
difference does not halve. Values that differ for the same state are noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import DalembertError, UserFunctionError
from ...model import Conditions, Model, SampledControl, State
from ...model.callbacks import callback_name, joint_forces

if TYPE_CHECKING:
    from ..options import Options

__all__ = ["CHECK_INTERVAL", "SLOW_STEP_COUNT", "find_discontinuity", "find_stateful_control", "missed_discontinuities"]


CHECK_INTERVAL = 2_000  # tried steps between two checks of progress
SLOW_STEP_COUNT = 1e6  # tried steps predicted up to the end: discontinuities are searched
N_POINTS = 48  # neighbouring states
SAMPLE_RADIUS = 30.0  # tolerances: largest distance of neighbouring states
N_HALVINGS = 7  # of the interval between two states
JUMP_RATIO = 0.5  # of a difference: if halvings leave more, it is a jump
STEEP_RATIO = 0.03  # if they leave more, it is a root; of a finite slope 2**-N_HALVINGS is left
MIN_DIFFERENCE = 1e-3  # of the accelerations: smaller differences do not count
N_NARROWINGS = 30  # halvings after which a smooth force is constant to rounding
MAX_CONTROL_ROWS = 200  # states at which a control is evaluated to find jumps
_UNKNOWN_OWNER = (
    "accelerations jump to and fro between states that are the same within the tolerance. Make the discontinuous law "
    "smooth, or switch it by an event"
)
REPEATABILITY_TOL = 1e-9  # relative: rounding of a control called twice at one state


def find_discontinuity(conditions: Conditions, options: Options, state: State, ahead: float = 0.0) -> str:
    """Return a message on a discontinuity next to a state, with a remedy; empty if there is none.

    With a time `ahead`, s, discontinuities along the motion up to then are found too.
    """
    near = NeighbourSample(conditions, options, state)
    try:
        return _noise(conditions, state) or near.jump(ahead)
    except DalembertError:
        return ""


def find_stateful_control(conditions: Iterable[Conditions]) -> list[str]:
    """Return a note if a control gives other forces when called again at states of its run."""
    for host in [own.callback for own in conditions if own.callback is not None and own.callback.answered]:
        control, answered = host.control, list(host.answered)
        assert control is not None
        for state, before in answered:
            try:
                now = joint_forces(host.model, control, state)
            except UserFunctionError:  # as it is called at other times
                return [_internal_state_note(control)]
            if np.abs(now - before).max(initial=0.0) > REPEATABILITY_TOL * np.abs(before).max(initial=0.0):
                return [_internal_state_note(control)]
    return []


def missed_discontinuities(
    conditions: Conditions, options: Options, t: Array, q: Array, v: Array, x: Array, *, external: str = ""
) -> list[str]:
    """Return a note on a jump of a control that fixed steps, or steps of another package, did not resolve.

    It is searched between rows of states (n, ...).
    """
    control, model = conditions.control, conditions.model
    if control is None or isinstance(control, SampledControl) or not (options.step or external):
        return []
    how = f"{external} does not end steps at its jumps, which its error estimates may miss"
    if not external:
        how = "steps of a fixed length do not end at its jumps: the error is of the order of a step"
    if len(t) < 2 or find_stateful_control([conditions]):
        return []
    rows = np.unique(np.linspace(0, len(t) - 1, MAX_CONTROL_ROWS, dtype=int))
    states = [State(q=q[k], v=v[k], t=float(t[k]), x=x[k], run=conditions.run) for k in rows]
    try:
        tau = np.array([joint_forces(model, control, state) for state in states])
        change = np.abs(np.diff(tau, axis=0))
        for k in np.unique(np.argsort(change.max(axis=1, initial=0.0))[-3:]).tolist():
            place = int(change[k].argmax())
            ends = _narrowed(model, control, states[k : k + 2], tau[k : k + 2, place], place)
            if ends is not None:
                return [
                    f"control {callback_name(control)} jumps, from {ends[0]:.6g} to {ends[1]:.6g} at "
                    f"{model.speed_names[place]!r} between t = {states[k].t:.6g} and {states[k + 1].t:.6g} s, and "
                    f"{how}. Sample it as a digital controller: give control_period=..."
                ]
    except UserFunctionError:
        return []
    return []


def _narrowed(model: Model, control: Callable[..., Any], states: list[State], ends: Array, place: int) -> Array | None:
    """Return the forces on both sides of a jump between two states, or None if there is none."""
    one, other = states
    away = model.difference(one.q, other.q)
    low, high, ends = 0.0, 1.0, ends.copy()
    first = abs(ends[1] - ends[0])
    if first <= MIN_DIFFERENCE * np.abs(ends).max():
        return None
    for _ in range(N_NARROWINGS):
        middle = 0.5 * (low + high)
        v, x = one.v + middle * (other.v - one.v), one.x + middle * (other.x - one.x)
        at = State(q=model.integrate(one.q, middle * away), v=v, t=one.t + middle * (other.t - one.t), x=x, run=one.run)
        value = joint_forces(model, control, at)[place]
        if abs(value - ends[0]) < abs(ends[1] - value):
            low, ends[0] = middle, value
        else:
            high, ends[1] = middle, value
    return ends if abs(ends[1] - ends[0]) >= 0.1 * first else None


def _internal_state_note(control: object) -> str:
    """Return the note on a control with internal state."""
    return (
        f"control {callback_name(control)} gives other forces when called again at states of this run: it has internal "
        "state, and its forces depended on the calls of the method. Sample it at fixed times: give control_period=..."
    )


def _noise(conditions: Conditions, state: State) -> str:
    control = conditions.control
    if control is None or isinstance(control, SampledControl):
        return ""
    answers = np.array([joint_forces(conditions.model, control, state) for _ in range(4)])
    if (answers == answers[0]).all():
        return ""
    return (
        f"control {callback_name(control)} gives other forces each time it is called at the same state: noise, or "
        "internal state. Sample it at fixed times: give control_period=..., or "
        "da.SampledControl(control, period, noise=...)"
    )


class NeighbourSample:
    """Neighbouring states, and their accelerations."""

    def __init__(self, conditions: Conditions, options: Options, state: State) -> None:
        self.conditions, self.options, self.state, self.model = conditions, options, state, conditions.model

    def jump(self, ahead: float) -> str:
        """Return a message on a discontinuity between neighbouring states; empty if there is none."""
        rng, state, nv = np.random.default_rng(0), self.state, self.model.nv
        absolute = np.split(self.options.tolerances, [nv, 2 * nv])
        parts = (np.ones(nv), state.v, state.x)
        sizes = [atol + self.options.rtol * np.abs(part) for atol, part in zip(absolute, parts, strict=True)]
        place = np.concatenate(
            [rng.uniform(-SAMPLE_RADIUS, SAMPLE_RADIUS, (N_POINTS, len(size))) * size for size in sizes], axis=1
        )
        found = self._between(place)
        if not found and ahead:
            rates = self._rates(np.zeros((1, 2 * nv + len(state.x))))[0]
            way = ahead * np.concatenate([state.v, rates])
            found = self._between(np.linspace(0.0, 2.0, N_POINTS)[:, None] * way, N_NARROWINGS)
            found = "" if found == _UNKNOWN_OWNER else found  # far ahead, a locking mechanism gives the same result
        return found

    def _between(self, place: Array, halvings: int = N_HALVINGS) -> str:
        rates = self._rates(place)
        spread = np.ptp(rates, axis=0)
        largest = np.abs(rates).max(initial=0.0)
        if not np.isfinite(largest) or not (spread > MIN_DIFFERENCE * largest).any():
            return ""
        column = int((spread / (MIN_DIFFERENCE * largest + np.abs(rates).max(axis=0))).argmax())
        low, high = int(rates[:, column].argmin()), int(rates[:, column].argmax())
        pair, values = place[[low, high]], rates[[low, high], column]
        first = values[1] - values[0]
        for _ in range(halvings):
            middle = pair.mean(axis=0)
            value = self._rates(middle[None])[0, column]
            side = 0 if abs(value - values[0]) < abs(values[1] - value) else 1
            pair[side], values[side] = middle, value
        left = (values[1] - values[0]) / first
        if left >= JUMP_RATIO:
            return self._named(pair)
        return self._steep(place[[low, high]]) if left >= STEEP_RATIO and halvings == N_HALVINGS else ""

    def _steep(self, pair: Array) -> str:
        """Return a message on a force with infinite slope between two states."""
        name, _ = self._changed_force(pair)
        forces_text = f"the force of element {name!r} changes" if name else "forces change"
        return (
            f"{forces_text} the more steeply the smaller the motion, as a root does at zero, down to motions below the "
            "tolerance. Give the law a finite slope there, such as s/(s**2 + e**2)**0.25 in place of "
            "sign(s)*sqrt(abs(s)), loosen atol, or take explicit steps (method='dop853')"
        )

    def _rates(self, away: Array) -> Array:
        """Return accelerations and rates of element states at states (n, 2 nv + nx) away, (n, nv + nx)."""
        found = self.model.report(["a", "dx"], *self._states(away), conditions=self.conditions)
        return np.concatenate([found["a"], found["dx"]], axis=1)

    def _states(self, away: Array) -> tuple[Array, Array, Array, Array]:
        nv, n, state = self.model.nv, len(away), self.state
        q = self.model.integrate(np.tile(state.q, (n, 1)), np.ascontiguousarray(away[:, :nv]))
        return np.full(n, state.t), q, state.v + away[:, nv : 2 * nv], state.x + away[:, 2 * nv :]

    def _named(self, pair: Array) -> str:
        """Return a message on the owner of a discontinuity between two states."""
        model, t0, control = self.model, self.state.t, self.conditions.control
        _, q, v, x = self._states(pair)
        if control is not None and not isinstance(control, SampledControl):
            states = [State(q=q[k], v=v[k], t=t0, x=x[k], run=self.conditions.run) for k in (0, 1)]
            taus = [joint_forces(model, control, state) for state in states]
            k = int(np.abs(taus[1] - taus[0]).argmax())
            if abs(taus[1][k] - taus[0][k]) > MIN_DIFFERENCE * (abs(taus[0][k]) + abs(taus[1][k])):
                return (
                    f"control {callback_name(control)} jumps to and fro, from {taus[0][k]:.6g} to {taus[1][k]:.6g} at "
                    f"{model.speed_names[k]!r}, between states that are the same within the tolerance. Sample it as a "
                    "digital controller: give control_period=...; or make it smooth"
                )
        name, (before, after) = self._changed_force(pair)
        if not name:
            return _UNKNOWN_OWNER
        return (
            f"the force of element {name!r} jumps to and fro, from {before:.6g} to {after:.6g}, between states that "
            "are the same within the tolerance: the motion is held at the jump, it sticks or slides there. For dry "
            "friction use friction of the joint, or a slip speed above the tolerances; else make the law smooth, or "
            "switch it by an event"
        )

    def _changed_force(self, pair: Array) -> tuple[str, Array]:
        """Return the first element whose force differs between two states, and its values (2,); '' if none does."""
        forces = self.model.report(["forces"], *self._states(pair), conditions=self.conditions)["forces"]
        change = np.abs(forces[1] - forces[0]) / np.maximum(np.abs(forces).max(axis=0), 1e-300)
        for name, place in self.model.compiled.elements.indices.items():
            span = place.measures
            if (change[span] > MIN_DIFFERENCE).any():
                return name, forces[:, span.start + int(change[span].argmax())]
        return "", np.zeros(2)
