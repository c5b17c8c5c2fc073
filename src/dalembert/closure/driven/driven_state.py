"""Driven motion: positions, velocities and accelerations of a whole mechanism at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...answer import ArrayAnswer, count_text
from ...arrays import Array
from ...checks import checked, finite_array, finite_number
from ...connections.constraints.geometric import Constraint
from ...connections.drives import Drive, PoseDrive
from ...connections.joints import Joint
from ...errors import AssemblyError, ModelError, SingularityError
from ...model import Model, State, as_model
from ...model.argument_errors import checked_configuration
from ...model.drive_targets import drive_targets, driven_row, driven_speeds
from ...model.state import StateLike
from ...numerics.rank import singular_values
from ...system import System
from ..assembly import close_loops, given_coordinates
from ..loop_equations import LoopEquations
from ..loop_solver import LoopSolver
from ..starts.coordinate_targets import body_pose_targets
from ..starts.named_start_values import named_starts
from ..starts.start_values import StartValues, within_limits
from ..velocity_projection import consistent_accelerations, consistent_velocities
from .drive_limits import unreachable_drive
from .drive_path import follow_drives, leads_positions, led_model, undeformed

__all__ = [
    "DrivenMotion",
    "drive_unit",
    "driven_motion",
    "driven_positions",
    "driven_state_from",
    "drives_at",
    "start_positions",
]


SINGULAR_TOL = 3e-6  # singular values below this leave fewer than half the digits of positions, none of accelerations
_CLOSED_TOL = 1e-9  # scaled residual of a start
_SINGULAR_DISTANCE_FACTOR = 4.0  # times the distance, in rad or characteristic lengths; J changes by about as much as q
MAX_DRIVE_STEP = 0.05  # rad or m; step along the drives past configurations in which rows do not determine the branch


@dataclass(frozen=True, eq=False, repr=False)
class DrivenMotion(ArrayAnswer):
    """State that satisfies loops and drives, and its accelerations.

    Attributes
    ----------
    t : float, s
    q : (nq,) rad or m
    v : (nv,) rad/s or m/s
    a : (nv,) rad/s2 or m/s2
    model : Model
    notes : tuple of str
        Where the branch of the start ends before t, so that the position is on another one.
    """

    t: float
    q: Array
    v: Array
    a: Array
    model: Model
    notes: tuple[str, ...] = ()
    _arrays: ClassVar = {"q": (("coordinate",), ""), "v": (("speed",), ""), "a": (("speed",), "")}

    def _headline(self) -> str:
        fastest = f"|v| up to {np.abs(self.v).max(initial=0.0):.4g} rad/s or m/s"
        return f"t = {self.t:.6g} s, {count_text(len(self.q), 'coordinate')}, {fastest}"


@checked("state")
def driven_motion(system: System | Model, t: float = 0.0, *, state: StateLike | None = None) -> DrivenMotion:
    """Return the motion at time t that satisfies the loops and every drive.

    Positions are assembled with the driven coordinates held (Sol 1983, KSP/0). Velocities and accelerations follow by
    linear solves (KSP/1, KSP/2). If the drives leave degrees of freedom, the solution nearest to the guess is returned:
    positions and velocities nearest to those of `state`, accelerations to zero.

    If the drives leave none, the position is on the branch of a start. The drives are followed from there to t,
    straight through bifurcations, as in `kinematics`. The start is `state`, if it closes the loops, or, without it, the
    configuration at t = 0. A branch that ends before t adds a note.

    Parameters
    ----------
    system : System or Model
    t : float, s
    state : State, dict of name to value, or (nq,) rad or m
        Guess, for instance the state a moment earlier. Default: the start values; those of `System.initial` are kept if
        loops and drives permit. Velocities that are not given are zero.

    Raises
    ------
    AssemblyError
        If loops and drives contradict each other.
    AssemblyError, SingularityError
        If the drives contradict the loops in velocity or acceleration: too many drives, or a dead point; or if the
        position is singular.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import slider_crank
    >>> s = slider_crank()
    >>> crank = next(iter(s.connections))
    >>> _ = s.drive(crank, position=da.Polynomial((0.3, 20.0)))
    >>> motion = driven_motion(s, 0.1)
    >>> bool(abs(motion.model.constraint_residual(motion.q)).max() < 1e-12), float(motion.v[0])
    (True, 20.0)
    """
    model = as_model(system)
    t = finite_number(t, item="driven_motion", field="t")
    q = given_coordinates(model, state, item="driven_motion", t=t)
    guess, notes = _on_branch(model, t, None if q is None else checked_configuration(model, "driven_motion", q).copy())
    given = named_starts(model, state).first if isinstance(state, Mapping) else None
    v = state.v if isinstance(state, State) else model.initial_state(given.initials if given is not None else {}).v
    speeds = finite_array(v, (model.nv,), item="driven_motion", field="v")

    def speeds_at(at: Array, prescribed: dict[str, float]) -> Array:
        _check_not_singular(model, at, t)
        return _nearest_speeds(model, at, speeds, prescribed, t)

    return replace(driven_state_from(model, t, guess, speeds_at), notes=notes)


def _on_branch(model: Model, t: float, q: Array | None) -> tuple[Array | None, tuple[str, ...]]:
    """Return a guess (nq,) on the branch of a start, reached along the drives, and notes on where that branch ends.

    The start is q (nq,), if it closes the loops, or that at t = 0.
    """
    if not model.nc or not leads_positions(model):
        return q, ()
    begin, direct = q, q
    try:
        begin = driven_positions(model, 0.0) if q is None else q
        direct = driven_positions(model, t, q)
    except (AssemblyError, ModelError):  # reported by the solve at t, unless the drives reach it
        if begin is None:
            return q, ()
    assert begin is not None
    loops = LoopEquations.of(model, t=t)
    if float(np.abs(loops.residual(begin)).max(initial=0.0)) > _CLOSED_TOL:
        return direct, ()
    if direct is not None:
        step = float(np.abs(model.difference(begin, direct) / loops.column_scales).max(initial=0.0))
        slack = singular_values(loops.jacobian(begin)[:, ~driven_speeds(model)])
        if slack.min(initial=np.inf) > _SINGULAR_DISTANCE_FACTOR * step:
            return direct, ()
    if q is None:
        sweep = follow_drives(model, np.array([0.0, t]), begin, undeformed(model))
    else:
        values = {d.name: float(q[model.q_slice(d.connection.name)][d.coordinate]) for d in model.drives}
        driven = led_model(model, values, t)
        sweep = follow_drives(driven, np.array([0.0, 1.0]), begin, undeformed(driven))
    if sweep.status == "finished":
        return sweep.q[-1], ()
    if sweep.status not in (
        "ended",
        "far",
        "contradicted",
    ):  # drives leave degrees of freedom, or the start is singular
        return direct, ()
    end = ", ".join(
        f"{d.name} = {sweep.q_last[model.q_slice(d.connection.name)][d.coordinate]:.6g} {drive_unit(model, d)}"
        for d in model.drives[:4]
    )
    return direct, (
        f"the branch of the start could not be followed to t = {t:.6g} s: it ends at {end}; the position is of a "
        "nearby branch",
    )


def driven_state_from(
    model: Model,
    t: float,
    guess: Array | None,
    speeds_at: Callable[[Array, dict[str, float]], Array],
    starts: StartValues | None = None,
    *,
    limits: bool = False,
) -> DrivenMotion:
    """Return the motion that satisfies loops and drives, from a guess of positions (nq,) or from start values.

    `speeds_at` returns the velocities at q (nq,) that satisfy loops and driven velocities, a dict by name. `limits`:
    take start values to positions within the limits of joints, if possible.
    """
    at = driven_positions(model, t, guess, starts, limits=limits)
    a_given = drive_targets(model, t)[2]
    rates = np.where(np.isnan(a_given), 0.0, a_given)
    prescribed = _drive_velocities(model, t)
    try:
        speeds = speeds_at(at, prescribed)
        if model.nc:
            everything = [name for drive in model.joint_drives for name in drive.speed_names]
            rates = consistent_accelerations(model, at, speeds, rates, hold=everything, t=t)
    except (AssemblyError, SingularityError) as error:
        order = 1 if isinstance(error, AssemblyError) else 2
        raise type(error)(f"{drives_at(model, t, order)}: {error}") from None
    return DrivenMotion(t, at, speeds, rates, model)


def driven_positions(
    model: Model, t: float, guess: Array | None = None, starts: StartValues | None = None, *, limits: bool = False
) -> Array:
    """Return positions (nq,) at t that satisfy loops and drives, from a guess (nq,) or from start values.

    `limits`: take start values to positions within the limits of joints, if possible.

    Raises
    ------
    AssemblyError
        If loops and drives contradict each other.
    """
    starts = StartValues.of(model) if starts is None else starts
    if guess is None and _angle_branches(model, t) != _angle_branches(model, 0.0):
        guess = _advance_drives(model, t, starts)
    q_given = drive_targets(model, t)[0]
    start = model.initial_state(starts.initials).q if guess is None else guess
    at: Array = np.where(np.isnan(q_given), start, q_given)
    cut = model.compiled.names.cut_q  # a free joint parallel to another connection is cut without a row
    if not model.nc and not (guess is None and (starts.placements or not cut.keys().isdisjoint(starts.initials))):
        return at
    closure = LoopSolver(LoopEquations.of(model, t=t))
    held: dict[str, Any] = {name: None for d in model.joint_drives if d.level == 0 for name in d.speed_names}
    try:
        if guess is not None:
            return close_loops(closure, closure.guess(at), held, dict.fromkeys(model.flexible_names), []).q
        return _from_starts(closure, closure.guess(at), held, starts, limits)
    except AssemblyError as error:
        if not model.drives:
            raise
        limit = unreachable_drive(model, t, closure.guess(at), held)
        failure = AssemblyError(f"{drives_at(model, t, 0)}: {limit or error}")
        failure.q, failure.residuals = error.q, error.residuals
        raise failure from None


def start_positions(model: Model, t: float = 0.0) -> Array:
    """Return the positions (nq,) at which a run starts: start values, driven, closed, within limits."""
    starts, _ = within_limits(model, StartValues.of(model))
    return driven_positions(model, t, None, starts, limits=True)


def _check_not_singular(model: Model, q: Array, t: float) -> None:
    """Raise an error at a position in which velocities and accelerations would depend on rounding."""
    if not model.nc or not model.drives:
        return
    s = singular_values(LoopEquations.of(model, t=t).jacobian(q)[:, ~driven_speeds(model)])
    smallest = s[s > 1e-11 * s.max(initial=0.0)].min(initial=np.inf)
    if smallest < SINGULAR_TOL * max(1.0, float(s.max(initial=0.0))):
        raise SingularityError(
            f"the position is singular (smallest singular value {smallest:.1e}): several motions lead through it, or a "
            "drive is at its dead point; choose another time, or follow the motion through it with da.kinematics"
        )


def _drive_velocities(model: Model, t: float) -> dict[str, float]:
    """Return the velocities that drives of joints prescribe at t, by name."""
    return {
        name: float(speed)
        for drive in model.joint_drives
        if drive.level <= 1
        for name, speed in zip(drive.speed_names, drive.given(t)[1], strict=True)
    }


def _angle_branches(model: Model, t: float) -> list[int]:
    """Return the angle branch of the row of each driven constraint at t."""
    elements = [(drive, drive.connection.element) for drive in model.drives]
    return [element.angle_branch(drive.law(t)[0]) for drive, element in elements if isinstance(element, Constraint)]


def _advance_drives(model: Model, t: float, starts: StartValues) -> Array:
    """Return positions (nq,) near those at t, reached along the drives from t = 0, which selects the angle branch."""
    laws = [drive.law for drive in model.drives if isinstance(drive.connection.element, Constraint)]
    values = np.array([[law(time)[0] for law in laws] for time in np.linspace(0.0, t, 201)])
    steps = int(np.ceil(np.abs(np.diff(values, axis=0)).sum(axis=0).max() / MAX_DRIVE_STEP)) + 1
    times = np.linspace(0.0, t, steps + 1)
    q, v = driven_positions(model, 0.0, None, starts), np.zeros(model.nv)
    for before, now in pairwise(times):
        with suppress(AssemblyError):  # where a row is undetermined, keep the last position
            v = _nearest_speeds(model, q, v, _drive_velocities(model, float(before)), float(before))
        q = model.integrate(q, (now - before) * v)
        if now < t:
            with suppress(AssemblyError):
                q = driven_positions(model, float(now), q)
    return np.asarray(q)


def _from_starts(closure: LoopSolver, guess: Array, held: dict[str, Any], starts: StartValues, limits: bool) -> Array:
    """Close the loops with all start values met, else those of highest priority, else in least squares."""
    model, first = closure.model, starts.first
    placed, everything = body_pose_targets(model, starts.placements), starts.positions(model, driven=True)
    if first is not None:
        demanded = first.positions(model, driven=True)
        rest = starts.positions(model, beside=first, driven=True)
        demanded = {name: value for name, value in demanded.items() if name not in rest}  # modes that were not given
        firm = body_pose_targets(model, first.placements)
        others = [p for p in placed if p.name not in {f.name for f in firm}]
        try:
            return close_loops(closure, guess, {**held, **demanded}, rest, others, firm=firm, starts=8, limits=limits).q
        except AssemblyError:
            pass
    return close_loops(closure, guess, held, everything, placed, limits=limits).q


def _nearest_speeds(model: Model, q: Array, v: Array, prescribed: dict[str, float], t: float) -> Array:
    """Return velocities that satisfy loops and drives; modes keep their own if joints alone can follow."""
    if model.flexible_names and model.nc:
        still = {name: v[model.v_slice(name)] for name in model.flexible_names}
        try:
            return consistent_velocities(model, q, v, hold={**prescribed, **still}, t=t)
        except AssemblyError:
            pass
    return consistent_velocities(model, q, v, hold=prescribed, t=t)


def drives_at(model: Model, t: float, order: int) -> str:
    """Return the prescribed positions, velocities or accelerations: ``drives at t = 0.2 s ('A' 0.3 rad/s)``."""
    values = []
    for drive in model.drives:
        if isinstance(drive, PoseDrive):
            values.append(f"{drive.name!r} {', '.join(f'{x:.4g}' for x in drive.given(t)[order])}")
            continue
        value = drive.motion(t)[order]
        if value is not None:
            values.append(f"{drive.name!r} {value:.6g} {drive_unit(model, drive)}{('', '/s', '/s2')[order]}")
    return f"drives at t = {t:.6g} s ({', '.join(values[:8]) or 'none'}{', ...' * (len(values) > 8)})"


def drive_unit(model: Model, drive: Drive) -> str:
    """Return the unit of a drive: of a joint coordinate, or of a constraint or coupling."""
    element = drive.connection.element
    if isinstance(element, Joint):
        return element.speed_units[drive.coordinate]
    return model.compiled.names.row_units[driven_row(model, drive)]
