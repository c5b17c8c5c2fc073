"""Check of an exported model against Python, before it is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..arrays import Array
from ..errors import DalembertError
from ..model import Conditions, State
from ..result import Motion, single_period
from .quantities import KINDS, OutputPlan, Quantity

__all__ = ["check_file"]

STATES = 3
SPREAD = 0.3  # rad, m or per s: of the random states around the start
CHECK_TOL = 1e-9  # of the largest number


def check_file(
    data: bytes,
    conditions: Conditions,
    start: State,
    quantities: Sequence[Quantity],
    plan: OutputPlan,
    *,
    friction: bool,
) -> None:
    """Compare accelerations and outputs of a model file with those of Python at random states.

    With friction or stops, whose modes belong to a run, the positions and velocities of the start are compared.

    Raises
    ------
    DalembertError
        If they differ: the file is not written.
    """
    model = conditions.model
    run = _core.FileRun(_core.FileModel(data))
    try:
        run.start(start.t)
    except RuntimeError as error:
        raise DalembertError(f"the exported model cannot start: {error.args[-1]}") from None
    if friction:
        q, v = run.read(KINDS.index("coordinate")), run.read(KINDS.index("speed"))
        x = run.read(KINDS.index("state"))
        _compare(plan, run, Motion(model, [start.t], q[None], v[None], x[None]), ("position", "speed"))
        return
    rng = np.random.default_rng(1)
    effort = np.zeros(model.nv)
    for k, each in enumerate(each for each in quantities if each.kind == "input"):
        if each.flags & 1:
            effort[each.place] = rng.uniform(-1.0, 1.0)
            run.set(KINDS.index("input"), k, effort[each.place])
    pushed = conditions.changed(control=lambda state: effort) if effort.any() else conditions
    for state in _states(conditions, start, rng):
        run.put(state.t, state.q, state.v, state.x)
        _, a, dx = run.derivatives()
        dynamics = model.dynamics(state.t, state.q, state.v, state.x, conditions=pushed)
        _same("accelerations", a, dynamics.a)
        _same("rates of states", dx, dynamics.dx)
        motion = Motion(model, [state.t], state.q[None], state.v[None], state.x[None], conditions=single_period(pushed))
        _compare(plan, run, motion, ("position", "speed", "dynamics"))


def _states(conditions: Conditions, start: State, rng: np.random.Generator) -> list[State]:
    """Return the start, and random states near it; with loops and drives those of short times are not closed."""
    model = conditions.model
    found = [start]
    for _ in range(STATES):
        step = SPREAD * rng.uniform(-1.0, 1.0, model.nv)
        q = model.integrate(start.q, step)
        v = start.v + SPREAD * rng.uniform(-1.0, 1.0, model.nv)
        found.append(State(q=q, v=v, t=start.t, x=start.x.copy()))
    return found


def _compare(plan: OutputPlan, run: _core.FileRun, motion: Motion, needs: Sequence[str]) -> None:
    values = np.asarray(run.read(KINDS.index("output")))
    for found, quantity in zip(values, plan.quantities, strict=True):
        assert quantity.output is not None
        if quantity.output.needs in needs:
            expected = np.ravel(np.asarray(quantity.output.value(motion))[0])[quantity.index]
            _same(f"output {quantity.name!r}", np.array([found]), np.array([expected]))


def _same(what: str, found: Array, expected: Array) -> None:
    size = 1.0 + np.abs(expected).max(initial=0.0)
    gap = np.abs(np.asarray(found) - expected)
    if not (gap <= CHECK_TOL * size).all() and not np.array_equal(found, expected, equal_nan=True):
        raise DalembertError(
            f"the exported model differs from Python in {what}, by {np.nanmax(gap):.2g}: it was not written"
        )
