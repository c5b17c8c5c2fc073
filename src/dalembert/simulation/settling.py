"""Forces that do not settle as steps shrink: whether there are any where a run is, and whose they are.

A run gets stuck where a law jumps and drives the motion back to the jump from both sides: it chatters, or, in the
limit, slides or sticks. Then states no further apart than the tolerance have accelerations that differ, and half way
between two of them the difference does not halve. What comes out differently for the same state is noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DalembertError
from ..model import Conditions, Sampled, State
from ..model.hosted import hinge_forces

if TYPE_CHECKING:
    from .run import Run

__all__ = ["keeps_to_itself", "of_its_own", "what_jumps"]

Array = NDArray[np.float64]

POINTS = 48  # states looked at
REACH = 30.0  # tolerances that they are away
HALVINGS = 7
LEFT = 0.5  # of a difference, if halvings leave so much of it, it is a jump
MATTERS = 1e-3  # a difference below this part of the accelerations does not count
FEW = 100  # steps between two states
AGAIN = 1e-6  # of the states: a step that ends so far from where it ended before had other forces


def what_jumps(run: Run) -> str:
    """Return what jumps next to where a run is, and what to do about it; empty if nothing does."""
    t, q, v, x = run.integrator.state()[:4]
    state = State(q=q, v=v, t=t, x=x)
    try:
        noisy = _noise(run.conditions, state)
        return noisy or _jump(run, state)
    except DalembertError:
        return ""


def keeps_to_itself(run: Run) -> list[str]:
    """Say whether a control gives other forces when some steps of a run that has ended are taken once more."""
    control, options = run.conditions.control, run.options
    if control is None or isinstance(control, Sampled) or (options.step and run.track.sampled):
        return []
    t, *states = run.records.arrays()
    # over many steps a motion may make much of rounding
    taken = np.diff(np.searchsorted(run.track.steps, t)) if run.track.sampled else np.ones(len(t) - 1)
    rows = np.flatnonzero((np.diff(t) > 0) & (taken <= FEW))
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, 4, dtype=int)[1:-1])] if len(rows) > 2 else rows[:0]
    try:
        found = run.track.taken_again(rows)
    except Exception:  # of the user's function, now that it is asked at other times
        return [of_its_own(control)]
    for now, before in zip(found, states, strict=True):
        size = max(AGAIN, 100 * options.rtol) * (1.0 + np.abs(before).max(initial=0.0))
        if np.abs(now - before[rows + 1]).max(initial=0.0) > size:
            return [of_its_own(control)]
    return []


def of_its_own(control: object) -> str:
    """Say that a control depends on more than the state."""
    return (
        f"control {_title(control)} gives other forces when it is asked again about states of this run: it keeps "
        "something to itself, and acted as the steps of the method happened to ask it. Have it asked at fixed times: "
        "give period=..."
    )


def _noise(conditions: Conditions, state: State) -> str:
    control = conditions.control
    if control is None or isinstance(control, Sampled):
        return ""
    answers = np.array([hinge_forces(conditions.model, control, state) for _ in range(4)])
    if (answers == answers[0]).all():
        return ""
    return (
        f"control {_title(control)} gives other forces each time it is asked about the same state: noise, or something "
        "that it keeps to itself. Ask it at fixed times: give period=..., or da.Sampled(control, period, noise=...)"
    )


def _jump(run: Run, state: State) -> str:
    """Return the jump between two of many states around one, if there is one."""
    rng, options, model = np.random.default_rng(0), run.options, run.model
    absolute = np.split(options.tolerances, [model.nv, 2 * model.nv])
    parts = (np.ones(model.nv), state.v, state.x)
    sizes = [atol + options.rtol * np.abs(part) for atol, part in zip(absolute, parts, strict=True)]
    away = [rng.uniform(-REACH, REACH, (POINTS, len(size))) * size for size in sizes]
    place = np.concatenate(away, axis=1)
    rates = _rates(run, state, place)
    spread = np.ptp(rates, axis=0)
    largest = np.abs(rates).max(initial=0.0)
    if not np.isfinite(largest) or not (spread > MATTERS * largest).any():
        return ""
    column = int((spread / (MATTERS * largest + np.abs(rates).max(axis=0))).argmax())
    low, high = int(rates[:, column].argmin()), int(rates[:, column].argmax())
    pair, values = place[[low, high]], rates[[low, high], column]
    first = values[1] - values[0]
    for _ in range(HALVINGS):
        middle = pair.mean(axis=0)
        value = _rates(run, state, middle[None])[0, column]
        side = 0 if abs(value - values[0]) < abs(values[1] - value) else 1
        pair[side], values[side] = middle, value
    if values[1] - values[0] < LEFT * first:
        return ""
    return _named(run, state, pair)


def _rates(run: Run, state: State, away: Array) -> Array:
    """Return accelerations and rates of element states at states (n, 2 nv + nx) away, (n, nv + nx)."""
    t, q, v, x = _states(run, state, away)
    found = run.model.report(["a", "dx"], t, q, v, x, conditions=run.conditions)
    return np.concatenate([found["a"], found["dx"]], axis=1)


def _states(run: Run, state: State, away: Array) -> tuple[Array, Array, Array, Array]:
    nv, n = run.model.nv, len(away)
    q = run.model.integrate(np.tile(state.q, (n, 1)), np.ascontiguousarray(away[:, :nv]))
    return np.full(n, state.t), q, state.v + away[:, nv : 2 * nv], state.x + away[:, 2 * nv :]


def _named(run: Run, state: State, pair: Array) -> str:
    """Return whose the jump between two states is."""
    model, conditions = run.model, run.conditions
    t, q, v, x = _states(run, state, pair)
    control = conditions.control
    if control is not None and not isinstance(control, Sampled):
        taus = [hinge_forces(model, control, State(q=q[k], v=v[k], t=state.t, x=x[k])) for k in (0, 1)]
        k = int(np.abs(taus[1] - taus[0]).argmax())
        if abs(taus[1][k] - taus[0][k]) > MATTERS * (abs(taus[0][k]) + abs(taus[1][k])):
            return (
                f"control {_title(control)} jumps to and fro, from {taus[0][k]:.6g} to {taus[1][k]:.6g} at "
                f"{model.speed_names[k]!r}, between states that are the same within the tolerance. Ask it at fixed "
                "times, as a digital controller is: give period=...; or make it smooth"
            )
    forces = model.report(["forces"], t, q, v, x, conditions=conditions)["forces"]
    change = np.abs(forces[1] - forces[0]) / np.maximum(np.abs(forces).max(axis=0), 1e-300)
    for name, place in model.compiled.elements.places.items():
        span = place.measures
        if (change[span] > MATTERS).any():
            k = span.start + int(change[span].argmax())
            return (
                f"the force of element {name!r} jumps to and fro, from {forces[0][k]:.6g} to {forces[1][k]:.6g}, "
                "between states that are the same within the tolerance: the motion is held at the jump, it sticks or "
                "slides there. For dry friction use friction of the hinge, or a slip speed that the tolerances can "
                "see; else make the law smooth, or switch it by an event"
            )
    return (
        "accelerations jump to and fro between states that are the same within the tolerance. Make what jumps smooth, "
        "or switch it by an event"
    )


def _title(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
