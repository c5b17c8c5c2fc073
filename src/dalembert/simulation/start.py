"""Where a run begins: a state that obeys loops and drives, laws that last."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..analysis.consistent import consistent_speeds, wished_speeds
from ..analysis.driven import driven_motion, motion_with
from ..analysis.starts import asked_speeds, missed_starts
from ..checks import finite_array
from ..connections.elements.plain import Effort, Load
from ..connections.laws import Spline
from ..errors import AssemblyError, ModelError
from ..model import Model, State
from .jumps import FAR

__all__ = ["check_tables", "start_state", "start_states"]

Array = NDArray[np.float64]


def check_tables(model: Model, t_start: float, t_end: float) -> None:
    """Refuse laws that end before the run does."""
    laws: list[tuple[str, Any]] = [(f"drive {drive.name!r}", drive.law) for drive in model.drives]
    for force in model.system.forces.values():
        element = force.element
        if isinstance(element, (Effort, Load)):
            laws += [(f"{element.kind.lower()} {force.name!r}", law) for law in element.given.values()]
    for item, law in laws:
        if isinstance(law, Spline):
            first, last = np.asarray(law.times)[[0, -1]]
            if first > t_start or last < t_end:
                raise ModelError(
                    item, "table", f"{first:.6g} s to {last:.6g} s", f"the run needs {t_start:.6g} s to {t_end:.6g} s"
                )


def start_state(model: Model, state: State | None, t_start: float) -> tuple[State, list[str]]:
    """Return a state to start from that obeys loops and drives, and what was done to it."""
    notes: list[str] = []
    given = model.initial_state() if state is None else state
    x = given.x if len(given.x) else model.state_starts()
    q, v, x = (
        finite_array(part, (size,), item="simulate", field=f"state.{name}")
        for name, part, size in (("q", given.q, model.nq), ("v", given.v, model.nv), ("x", x, model.nx))
    )
    if state is not None and model.nc:
        residual = np.abs(model.constraint_residual(q, t=t_start) - model.row_motion(t_start)[0])[model.holonomic]
        worst = float(residual.max()) if len(residual) else 0.0
        if worst > FAR:
            names = np.array(model.constraint_connections)[model.holonomic]
            raise AssemblyError(
                f"the given state does not close the loops: {names[int(residual.argmax())]!r} is open by {worst:.3g} m "
                "or rad; close them with da.assemble(...), or leave the state out"
            )
        if worst > 1e-9:
            notes.append(f"the given state was off the loops by {worst:.2g} and was moved onto them")
    if state is None:
        motion = motion_with(model, t_start, None, lambda at, paced: _wished_speeds(model, at, paced, t_start))
        notes += missed_starts(model, motion.q, motion.v)
    else:
        motion = driven_motion(model, t_start, q=q, v=v)
        moved = float(np.abs(motion.v - v).max()) if model.nv else 0.0
        if moved > 1e-9:
            notes.append(f"the given speeds did not obey loops and drives and were changed by up to {moved:.2g}")
    return State(q=motion.q, v=motion.v, t=t_start, x=x), notes


def _wished_speeds(model: Model, q: Array, paced: dict[str, float], t: float) -> Array:
    """Return the start speeds that are given, as far as loops and drives permit; modes at rest if hinges can follow."""
    wishes = asked_speeds(model)
    still = {name: np.zeros(model.v_slice(name).stop - model.v_slice(name).start) for name in model.flexible_names}
    if set(still) - set(wishes):
        try:
            return consistent_speeds(model, q, np.zeros(model.nv), fixed={**paced, **still, **wishes}, t=t)
        except AssemblyError:
            pass
    return wished_speeds(model, q, paced, wishes, t=t)


def start_states(model: Model, state: State | None, t_start: float, count: int) -> tuple[Array, Array, Array]:
    """Return states of many runs to start from, q (count, nq), v (count, nv), x (count, nx)."""
    given = start_state(model, None, t_start)[0] if state is None and model.nc else state or model.initial_state()
    q = rows_of("state.q", given.q, count, model.nq)
    v = rows_of("state.v", given.v, count, model.nv)
    x = rows_of("state.x", given.x if np.size(given.x) else model.state_starts(), count, model.nx)
    if state is not None and model.nc:
        open_by = np.abs(model.constraint_residual(q, t=np.full(count, t_start)) - model.row_motion(t_start)[0])
        widest = open_by[:, model.holonomic].max(axis=1, initial=0.0)
        if widest.max() > FAR:
            raise AssemblyError(
                f"state {int(widest.argmax())} does not close the loops: it is open by {widest.max():.3g} m or rad; "
                "close them with da.assemble(...)"
            )
    return q, v, x


def rows_of(field: str, value: ArrayLike, count: int, width: int) -> Array:
    """Return a row of numbers for each run, (count, width)."""
    try:
        rows = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=float), (count, width)))
    except (TypeError, ValueError):
        raise ModelError("simulate", f"the shape of {field}", np.shape(value), f"give ({count}, {width})") from None
    if not np.isfinite(rows).all():
        raise ModelError("simulate", field, value, "give finite numbers")
    return rows
