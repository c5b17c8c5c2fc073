"""History of a run for inputs with a delay, as accurate as the run itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array

if TYPE_CHECKING:
    from ..model import History, State
    from ..model.history import Row
    from .run import Run

__all__ = ["record_change", "record_jump", "record_step"]


MAX_PIECES = 32  # polynomials for one step
ORDER = 6  # of the interpolation error in the length of a piece


def record_step(run: Run, history: History, *, begins: bool) -> None:
    """Add the last step, or the first state of a segment if it `begins`."""
    t, q, v, x, a, dx = run.integrator.state()
    if not begins and history.t and t > history.t[-1]:
        _add_inner_rows(run, history, t, (q, v, x, a, dx))
    history.add(t, q, v, x, a, dx, jump=begins)
    if not begins and t in run.discontinuity_times:  # rates just after the discontinuity
        history.add(t, q, v, x, *_rates(run, np.array([t + 4e-15 * abs(t)]), q[None], v[None], x[None])[0], jump=True)


def record_change(run: Run, history: History, before: Array) -> None:
    """Add the last step, at whose end the modes of friction changed, with the states before (q, v, x) and after it."""
    t, *after = run.integrator.state()
    q, v, x = np.split(before, [run.model.nq, run.model.nq + run.model.nv])
    a, dx = _rates(run, np.array([t]), q[None], v[None], x[None])[0]
    end = q, v, x, a, dx
    if history.t and t > history.t[-1]:
        _add_inner_rows(run, history, t, end)
        history.add(t, *end)
    history.add(t, *after, jump=True)


def record_jump(run: Run, history: History, state: State) -> None:
    """Add a state just before a jump; later states of the same step are dropped."""
    q, v, x = state.q, state.v, state.x
    history.add(state.t, q, v, x, *_rates(run, np.array([state.t]), q[None], v[None], x[None])[0])


def _add_inner_rows(run: Run, history: History, t: float, end: Row) -> None:
    """Add rows within the last step if interpolation between its ends is less accurate than the tolerance."""
    begin, model = history.t[-1], run.model
    first = history.rows[-1]
    both = [np.array(ends) for ends in zip(first[:3], end[:3], strict=True)]
    step = np.array([begin, t]), both[0], both[1], both[2]
    q, v, x = run.trajectory.within_step(*step, np.array([0.5]))
    piece = history.piece(t - begin, first, end)
    guess = piece.at(0.5)
    off = np.concatenate([model.difference(guess[0], q[0]), guess[1] - v[0], guess[2] - x[0]])
    size = np.concatenate([np.ones(model.nv), np.abs(v[0]), np.abs(x[0])])
    allowed = run.options.tolerances + run.options.rtol * size
    worst = float(np.max(np.abs(off) / allowed, initial=0.0))
    pieces = min(MAX_PIECES, int(np.ceil(worst ** (1 / ORDER)))) if np.isfinite(worst) else 1
    if pieces < 2:
        return
    inner = np.arange(1, pieces) / pieces
    states, times = run.trajectory.within_step(*step, inner), begin + inner * (t - begin)
    for k, (a, dx) in enumerate(_rates(run, times, *states)):
        history.add(float(times[k]), states[0][k], states[1][k], states[2][k], a, dx)


def _rates(run: Run, t: Array, q: Array, v: Array, x: Array) -> list[tuple[Array, Array]]:
    """Return accelerations and rates of element states at rows of states."""
    found = run.model.report(["a", "dx"], t, q, v, x, conditions=run.conditions)
    return list(zip(found["a"], found["dx"], strict=True))
