"""Where a run begins: a state that obeys loops and drives, laws that last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..analysis.adrift import adrift
from ..analysis.consistent import consistent_speeds, wished_speeds
from ..analysis.driven import driven_motion, motion_with
from ..analysis.starts import asked_speeds, missed_places, missed_starts
from ..checks import finite_array, finite_number
from ..connections.drives import Drive
from ..connections.elements.plain import Effort, Load
from ..connections.laws import Function, Integral, Linear, Monotone, Piecewise, Spline
from ..errors import AssemblyError, ModelError, SingularityError
from ..model import Model, State
from .jumps import FAR

__all__ = ["check_jumps", "check_tables", "mind_inertia", "start_state", "start_states", "start_time"]

Array = NDArray[np.float64]

_LOOKS = 400  # times at which functions are looked at for jumps
TIGHT, NOTED = 1e-12, 1e-9  # what rounding leaves; what is worth a note


def check_tables(model: Model, t_start: float, t_end: float) -> None:
    """Refuse laws that end before the run does."""
    laws: list[tuple[str, Any]] = [(f"drive {drive.name!r}", drive.law) for drive in model.drives]
    for force in model.system.forces.values():
        element = force.element
        if isinstance(element, (Effort, Load)):
            laws += [(f"{element.kind.lower()} {force.name!r}", law) for law in element.given.values()]
    for item, law in laws:
        if isinstance(law, (Spline, Monotone)):
            first, last = np.asarray(law.times)[[0, -1]]
            if first > t_start or last < t_end:
                raise ModelError(
                    item, "table", f"{first:.6g} s to {last:.6g} s", f"the run needs {t_start:.6g} s to {t_end:.6g} s"
                )


def check_jumps(model: Model, t_start: float, t_end: float) -> None:
    """Refuse drives by functions whose position jumps: nothing that has mass can follow.

    Looked at here and there; where the value changes most, the interval is halved as long as the change stays.
    """
    for drive in model.drives:
        _mind_smoothness(drive)
        if drive.level or not isinstance(drive.law, Function):
            continue
        try:
            b, first, last, spread = _steepest(drive.law.value, t_start, t_end)
        except Exception:  # of the user's function: said where the run meets it
            continue
        if abs(last - first) > 1e-6 * spread:
            raise ModelError(
                f"drive {drive.name!r}",
                f"position at t = {b:.6g} s",
                f"{first:.6g} then {last:.6g}",
                "it jumps, which takes an infinite force: give a da.Ramp or another smooth law, or drive the speed",
            )


def _mind_smoothness(drive: Drive) -> None:
    """Refuse laws in pieces by which a position or a speed would jump."""
    law, smooth = drive.law, 0
    while isinstance(law, Integral):
        law, smooth = law.law, smooth + 1
    if not isinstance(law, Piecewise):
        return
    smooth += -1 if isinstance(law, Linear) and law.jumps else law.smooth
    if smooth >= 1 - drive.level:
        return
    given, jumps = ("position", "speed")[drive.level], "position" if smooth + drive.level < 0 else "speed"
    raise ModelError(
        f"drive {drive.name!r}",
        given,
        f"a {type(law).__name__} law",
        f"the {jumps} would jump, which takes an infinite force: give a da.Monotone, da.Ramp or da.Spline law, or "
        "drive the acceleration",
    )


def _steepest(value: Callable[[float], float], t_start: float, t_end: float) -> tuple[float, float, float, float]:
    """Return where a function changes most within a tiny interval: its end, values before and after; and its range."""
    times = np.linspace(t_start, t_end, _LOOKS)
    values = np.array([float(value(t)) for t in times.tolist()])
    k = int(np.abs(np.diff(values)).argmax())
    (a, b), (first, last) = times[k : k + 2].tolist(), values[k : k + 2].tolist()
    for _ in range(40):
        middle = (a + b) / 2
        between = float(value(middle))
        if abs(between - first) > abs(last - between):
            b, last = middle, between
        else:
            a, first = middle, between
    return b, first, last, float(np.ptp(values))


def start_time(state: State | None, t_start: float | None, *, item: str = "simulate") -> tuple[float, list[str]]:
    """Return when a run begins, s, and what is to be said: as asked, else at the time of the given state, else at 0."""
    of_state = 0.0
    if isinstance(state, State):
        of_state = finite_number(state.t, item=item, field="state.t")
    if t_start is None:
        return of_state, []
    begin = finite_number(t_start, item=item, field="t_start")
    if of_state not in (0.0, begin):
        return begin, [
            f"the given state is of t = {of_state:.6g} s; the run begins at t_start = {begin:.6g} s, as asked"
        ]
    return begin, []


def start_state(model: Model, state: State | None, t_start: float) -> tuple[State, list[str]]:
    """Return a state to start from that obeys loops and drives, and what was done to it."""
    notes = adrift(model.system) if state is None else []
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
        notes += missed_starts(model, motion.q, motion.v) + missed_places(model, motion.q, motion.v)
    else:
        motion = driven_motion(model, t_start, q=q, v=v)
        moved = float(np.abs(motion.v - v).max()) if model.nv else 0.0
        if moved > 1e-9:
            notes.append(f"the given speeds did not obey loops and drives and were changed by up to {moved:.2g}")
    mind_inertia(model, motion.q, t_start)
    return State(q=motion.q, v=motion.v, t=t_start, x=x), notes


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:6])) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def mind_inertia(model: Model, q: Array, t: float) -> None:
    """Refuse a start at q (nq,) where accelerations do not exist."""
    weak = model.freedoms_without_inertia(q, t=t)
    if weak:
        owners = zip(model.body_names, model.hinge_names, strict=True)
        bodies = [body for body, hinge in owners if set(model.speed_names[model.v_slice(hinge)]) & set(weak)]
        raise SingularityError(
            f"at t = {t:.9g} s nothing resists along {_listed(weak)}: {_listed(bodies)} can move that way without "
            "moving any inertia. Give them some (about the axis, for a spin), drive these freedoms, or connect the "
            "bodies so that they cannot move that way"
        )


def _wished_speeds(model: Model, q: Array, paced: dict[str, float], t: float) -> Array:
    """Return the start speeds that are given, as far as loops and drives permit; modes at rest if hinges can follow."""
    wishes = asked_speeds(model)
    if model.system.places:
        return wished_speeds(model, q, paced, wishes, t=t)
    still = {name: np.zeros(model.v_slice(name).stop - model.v_slice(name).start) for name in model.flexible_names}
    if set(still) - set(wishes):
        try:
            return consistent_speeds(model, q, np.zeros(model.nv), fixed={**paced, **still, **wishes}, t=t)
        except AssemblyError:
            pass
    return wished_speeds(model, q, paced, wishes, t=t)


def start_states(
    model: Model, state: State | None, t_start: float, count: int
) -> tuple[Array, Array, Array, list[str]]:
    """Return q (count, nq), v (count, nv) and x (count, nx) of many runs to start from, and what was done to them."""
    notes: list[str] = []
    given = state
    if given is None:
        given, notes = start_state(model, None, t_start)
    q = rows_of("state.q", given.q, count, model.nq)
    v = rows_of("state.v", given.v, count, model.nv)
    x = rows_of("state.x", given.x if np.size(given.x) else model.state_starts(), count, model.nx)
    if state is None or not (model.nc or model.drives):
        return q, v, x, notes
    widest = np.zeros(count)
    if model.nc:
        residual = model.constraint_residual(q, t=np.full(count, t_start)) - model.row_motion(t_start)[0]
        widest = np.abs(residual[:, model.holonomic]).max(axis=1, initial=0.0)
    if widest.max() > FAR:
        raise AssemblyError(
            f"state {int(widest.argmax())} does not close the loops: it is open by {widest.max():.3g} m or rad; "
            "close them with da.assemble(...)"
        )
    q, v = q.copy(), v.copy()
    moved = np.zeros(count)
    for k in np.flatnonzero((widest > TIGHT) | ~_obey(model, q, v, t_start)):
        motion = driven_motion(model, t_start, q=q[k], v=v[k])
        moved[k] = np.abs(motion.v - v[k]).max()
        q[k], v[k] = motion.q, motion.v
    if widest.max() > NOTED:
        many = int((widest > NOTED).sum())
        notes.append(
            f"{many} of the given states were off the loops by up to {widest.max():.2g} and were moved onto them"
        )
    if moved.max() > NOTED:
        many = int((moved > NOTED).sum())
        by = f"by up to {moved.max():.2g}"
        notes.append(f"the given speeds of {many} states did not obey loops and drives and were changed {by}")
    return q, v, x, notes


def _obey(model: Model, q: Array, v: Array, t: float) -> NDArray[np.bool_]:
    """Return which states have speeds that loops, and positions and speeds that drives permit, (count,)."""
    times = np.full(len(q), t)
    q_given, v_given, _ = model.drive_motion(t)
    placed, paced = ~np.isnan(q_given), ~np.isnan(v_given)
    fine = np.abs(q[:, placed] - q_given[placed]).max(axis=1, initial=0.0) <= TIGHT
    fine &= np.abs(v[:, paced] - v_given[paced]).max(axis=1, initial=0.0) <= TIGHT
    if model.nc:
        rates = np.einsum("kij,kj->ki", model.constraint_jacobian(q, t=times), v)
        wanted = model.row_motion(t)[1] - model.constraint_drift(q, t=times)
        size = 1.0 + np.abs(v).max(axis=1, initial=0.0)
        fine &= np.abs(rates - wanted).max(axis=1, initial=0.0) <= TIGHT * size
    return np.asarray(fine)


def rows_of(field: str, value: ArrayLike, count: int, width: int) -> Array:
    """Return a row of numbers for each run, (count, width)."""
    try:
        rows = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=float), (count, width)))
    except (TypeError, ValueError):
        raise ModelError("simulate", f"the shape of {field}", np.shape(value), f"give ({count}, {width})") from None
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        place = tuple(int(k) for k in wrong[0])
        entry = f"{field}[{', '.join(map(str, place))}]" if np.ndim(value) == 2 else field
        raise ModelError("simulate", entry, float(rows[place]), "it must be finite")
    return rows
