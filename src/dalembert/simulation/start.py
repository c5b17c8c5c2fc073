"""Start of a run: a state that satisfies loops and drives, and time laws that cover the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..answer import ArrayAnswer, count_text, list_text
from ..arrays import Array, BoolArray, IndexArray
from ..checks import checked, finite_array, finite_number
from ..closure.driven.driven_state import driven_motion, driven_state_from
from ..closure.redundancy import nearly_conflicting_constraints
from ..closure.starts.named_start_values import named_count, named_starts, tree_columns
from ..closure.starts.start_values import StartValues, unmet_start_values, within_limits
from ..closure.ungrounded_parts import find_ungrounded_parts
from ..closure.velocity_projection import consistent_velocities, preferred_velocities
from ..connections.drives import Drive
from ..connections.elements.built_in import Effort, Load
from ..connections.laws import (
    N_SAMPLES,
    FunctionLaw,
    Integral,
    LinearInterpolation,
    MonotoneSpline,
    Piecewise,
    Spline,
    find_jumps,
)
from ..errors import AssemblyError, ModelError, SingularityError, listed
from ..model import Conditions, Model, State, as_model
from ..model.cache import cached_per_model
from ..model.drive_targets import constraint_targets, drive_targets, row_gaps
from ..model.undetermined_efforts import undetermined_efforts
from ..system import System
from .events.drive_velocity_jumps import DriveVelocityJump, drive_velocity_jumps
from .events.velocity_jumps import MAX_OPEN_LOOP

__all__ = [
    "StartState",
    "check_inertia",
    "check_time_laws",
    "equilibrium_differences",
    "find_start",
    "has_point_masses",
    "parameter_differences",
    "refuse_faint_inertia",
    "start_state",
    "start_states",
    "start_time",
]


MAX_NOTES = 20  # on start values of an ensemble
LOST_INERTIA = 1e-10  # of the inertia of a DOF with all others locked: accelerations keep fewer than six digits
FAINT_INERTIA = 1e-9  # of the inertia of a DOF with all others locked: accelerations lose as many digits
QUATERNION_TOL = 1e-3  # of the length of a quaternion: larger differences than rounded digits are noted
SURE_INERTIA, KEPT_INERTIA = 1e-9, 1e-3  # least scaled eigenvalue of M that is not zero; part of that of the first run
ROUNDING_TOL, NOTE_TOL = 1e-12, 1e-9  # m, rad or per s: rounding; corrections above are noted


@dataclass(eq=False, repr=False)
class StartState(ArrayAnswer, State):
    """State that satisfies loops and drives.

    Attributes
    ----------
    q, v, x : (nq,), (nv,), (nx,), or each (B, ...)
    t : float, s
    notes : list of str
        Requested and used values where loops and drives do not permit the request.
    model : Model
    """

    notes: list[str] = field(default_factory=list)
    model: Model | None = None
    _arrays: ClassVar = {
        "q": (("run", "coordinate"), ""),
        "v": (("run", "speed"), ""),
        "x": (("run", "state"), ""),
    }

    def _headline(self) -> str:
        names = () if self.model is None else self.model.coordinate_names
        if self.q.ndim > 1:
            return f"{count_text(len(self.q), 'state')} at t = {self.t:.6g} s, {count_text(len(self.notes), 'note')}"
        values = list_text(f"{name} {value:.4g}" for name, value in zip(names, self.q, strict=False))
        return f"t = {self.t:.6g} s, {values or '0 coordinates'}, {count_text(len(self.notes), 'note')}"


def check_time_laws(model: Model, t_start: float, t_end: float, samples: int = N_SAMPLES) -> list[DriveVelocityJump]:
    """Refuse time laws that end within a run, or by which a position jumps; return the jumps of driven velocities.

    Parameters
    ----------
    model : Model
    t_start, t_end : float, s
    samples : int
        Times at which functions are sampled to find jumps.
    """
    if not model.drives and not model.system.forces:
        return []
    _check_tables(model, t_start, t_end)
    _check_position_jumps(model, t_start, t_end, samples)
    return drive_velocity_jumps(model, t_start, t_end, samples)


def _check_tables(model: Model, t_start: float, t_end: float) -> None:
    """Refuse tables that do not cover the run."""
    laws: list[tuple[str, Any]] = [(f"drive {drive.name!r}", law) for drive in model.drives for law in drive.laws]
    for force in model.system.forces.values():
        element = force.element
        if isinstance(element, (Effort, Load)):
            laws += [(f"{element.kind.lower()} {force.name!r}", law) for law in element.given.values()]
    for item, law in laws:
        if isinstance(law, (Spline, MonotoneSpline)):
            first, last = np.asarray(law.times)[[0, -1]]
            if first > t_start or last < t_end:
                raise ModelError(
                    item, "table", f"{first:.6g} s to {last:.6g} s", f"the run needs {t_start:.6g} s to {t_end:.6g} s"
                )


def _check_position_jumps(model: Model, t_start: float, t_end: float, samples: int) -> None:
    """Refuse drives by which a position jumps."""
    for drive in model.drives:
        _check_smoothness(drive)
    laws = [(drive, law) for drive in model.drives if drive.level == 0 for law in drive.laws]
    for drive, law in laws:
        if not isinstance(law, FunctionLaw):
            continue
        try:
            steps = find_jumps(law.value, np.linspace(t_start, t_end, samples))
        except Exception:  # of the user's function: raised where the run evaluates it
            continue
        if steps:
            _, t, first, last = max(steps, key=lambda step: abs(step[3] - step[2]))
            raise ModelError(
                f"drive {drive.name!r}",
                f"position at t = {t:.6g} s",
                f"{first:.6g} then {last:.6g}",
                "it jumps, which takes an infinite force: give a da.Ramp or another smooth law, or drive the speed",
            )


def _check_smoothness(drive: Drive) -> None:
    """Refuse piecewise laws by which a position would jump; a velocity may jump by an impulse."""
    for given in drive.laws:
        law, smooth = given, drive.level
        while isinstance(law, Integral):
            law, smooth = law.law, smooth + 1
        if not isinstance(law, Piecewise):
            continue
        smooth += -1 if isinstance(law, LinearInterpolation) and law.jumps else law.smooth
        if smooth < 0:
            raise ModelError(
                f"drive {drive.name!r}",
                ("position", "speed", "acceleration")[drive.level],
                f"a {type(law).__name__} law",
                "the position would jump, which takes an infinite force: give a da.LinearInterpolation, "
                "da.MonotoneSpline, da.Ramp or "
                "da.Spline law, or drive the speed",
            )


def start_time(
    state: State | Mapping[str, Any] | None, t_start: float | None, *, item: str = "simulate"
) -> tuple[float, list[str]]:
    """Return the start time, s, and notes: the given one, else the time of the given state, else 0."""
    of_state = 0.0
    if isinstance(state, State):
        of_state = finite_number(state.t, item=item, field="state.t")
    if t_start is None:
        return of_state, []
    begin = finite_number(t_start, item=item, field="t_start")
    if of_state not in (0.0, begin):
        return begin, [
            f"the given state is of t = {of_state:.6g} s; the run starts at t_start = {begin:.6g} s, as given"
        ]
    return begin, []


def parameter_differences(numbers: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return a note on parameters that differ between a state and this run, (state, run) by name."""
    if not numbers:
        return []
    shown = ", ".join(f"{name!r} = {there:.6g}, here {here:.6g}" for name, (there, here) in list(numbers.items())[:6])
    return [f"the state was found with {shown}"]


def equilibrium_differences(state: Any, conditions: Conditions) -> list[str]:
    """Return notes on parameters, inputs and holds of an equilibrium that a run from it does not have."""
    then = getattr(state, "conditions", None)
    if not (isinstance(state, State) and isinstance(then, Conditions)):
        return []
    notes = [
        f"{note}: give parameters=eq.parameters to keep them"
        for note in parameter_differences(then.changed_parameters(conditions.model, conditions.parameters))
    ]
    inputs = getattr(state, "inputs", {})
    if inputs:
        shown = ", ".join(f"{name!r} = {value:.6g}" for name, value in list(inputs.items())[:6])
        notes.append(f"the state was found with inputs {shown}; the run uses those of the laws")
    with_friction = {held.name for held in getattr(state, "friction", ())}
    names = dict(enumerate(then.model.speed_names))
    held = [names.get(k, "a joint that closes a loop") for k in sorted(then.locked - conditions.locked)]
    loose = [name for name in held if name not in with_friction]
    if loose:
        notes.append(f"the state was found with {', '.join(map(repr, loose[:6]))} held; the run releases them")
    return notes


@checked("state", "t", "limits")
def start_state(
    system: System | Model,
    state: State | Mapping[str, Any] | None = None,
    t: float = 0.0,
    *,
    limits: bool = True,
) -> StartState:
    """Return a state to start from that satisfies loops and drives.

    Parameters
    ----------
    system : System or Model
    state : State, or dict of name to value
        A state nearby; or start values by name, which take precedence over those of `System.initial` and
        `System.place`: joints and coordinates (``"A"``, ``"A.speed"``, ``"ice.x"``, ``"ice.x.speed"``), also of cut
        joints, bodies (``"crank.position"``, ``".rotation"``, ``".velocity"``, ``".angular_velocity"``), modes
        (``"arm.eta"``, ``"arm.eta[0].speed"``), element states (``"motor.current"``). Arrays with one axis more, (B,)
        or (B, n), give B states. If left out, the start values of the system.
    t : float, s
    limits : bool
        Whether coordinates without a start value start within the limits of their joints.

    Returns
    -------
    StartState
        A `State` with q (nq,), v (nv,), x (nx,), or each (B, ...). Its `notes` list the requested and used values where
        loops and drives do not permit the request.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> model = four_bar().compile()
    >>> state = da.start_state(model, {"A": 0.3, "D.speed": 2.0})  # the loop is cut at D
    >>> model.cut_motion(state.q, state.v, np.zeros(3))[1].round(9), state.q[0].item(), state.notes
    (array([2.]), 0.3, [])
    """
    model = as_model(system)
    found, notes = find_start(model, state, t, limits)
    return StartState(found.q, found.v, found.t, found.x, notes, model)


def find_start(
    model: Model, state: State | Mapping[str, Any] | None, t: float, limits: bool
) -> tuple[State, list[str]]:
    """Return the state of `start_state`, and notes."""
    notes: list[str] = []
    if isinstance(state, Mapping):
        count = named_count(model, state)
        if count is None:
            found, notes = _from_starts(model, named_starts(model, state), t, limits)
            return found, notes + _normalized(model, state.get)
        q, v, x, notes = start_states(model, state, t, count, limits=limits)
        return State(q=q, v=v, t=t, x=x), notes
    if state is None:
        return _described(model, t, limits)
    x = state.x if len(state.x) else model.element_start_values()
    q, v, x = (
        finite_array(part, (size,), item="simulate", field=f"state.{name}")
        for name, part, size in (("q", state.q, model.nq), ("v", state.v, model.nv), ("x", x, model.nx))
    )
    notes += _normalized(model, lambda name: q[model.q_slice(name)])
    closed, worst, gaps = True, 0.0, None
    if model.nc:
        gaps = model.constraint_residual(q, t=t)
        gaps = row_gaps(model, gaps, constraint_targets(model, t)[0]) if model.drives else gaps
        residual = np.abs(gaps)[model.holonomic]
        worst = float(residual.max(initial=0.0))
        closed = worst <= ROUNDING_TOL and _keeps_loops_closed(model, q, v, t)
        if worst > MAX_OPEN_LOOP:
            names = np.array(model.constraint_connections)[model.holonomic]
            raise AssemblyError(
                f"the given state does not close the loops: {str(names[residual.argmax()])!r} is open by {worst:.3g} m "
                "or rad; close them with da.assemble(...), or leave the state out"
            )
        if worst > NOTE_TOL:
            notes.append(f"the given state was off the loops by {worst:.2g} and was moved onto them")
    if model.drives or not closed:
        motion = driven_motion(model, t, state=State(q=q, v=v))
        moved = float(np.abs(motion.v - v).max()) if model.nv else 0.0
        if moved > NOTE_TOL:
            notes.append(f"the given velocities did not satisfy loops and drives and were changed by up to {moved:.2g}")
        if not (worst <= ROUNDING_TOL and _satisfied(model, q[None], v[None], t)[0]):  # as in an ensemble
            q, v, gaps = motion.q, motion.v, None
    notes += check_inertia(model, q, t)
    notes += nearly_conflicting_constraints(model, q, t=t, gaps=gaps) if model.nc else []
    return State(q=q, v=v, t=t, x=x), notes + shared_drives(model, q, t)


def _keeps_loops_closed(model: Model, q: Array, v: Array, t: float) -> bool:
    """Return whether velocities keep the loops closed at q, and some accelerations do; False for models with drives.

    At singular positions there may be no such accelerations.
    """
    if model.drives:
        return False
    J = model.constraint_jacobian(q, t=t)
    rates = np.abs(J @ v + model.constraint_drift(q, t=t))
    if float(rates.max()) > ROUNDING_TOL * (1.0 + float(np.abs(v).max(initial=0.0))):
        return False
    bias = model.constraint_bias(q, v, t=t)
    if not bias.any():
        return True
    gap = J @ np.linalg.lstsq(J, -bias, rcond=None)[0] + bias
    return bool(np.abs(gap).max() <= NOTE_TOL * np.abs(bias).max())


def _normalized(model: Model, start_value: Callable[[str], Any]) -> list[str]:
    """Return notes on quaternions among start values of joints, (nq,), (B, nq) or None, that are not normalized."""
    notes = []
    for name in _joints_with_quaternions(model):
        given = start_value(name)
        if given is None:
            continue
        values = np.atleast_2d(np.asarray(given, dtype=float))
        lengths = np.linalg.norm(values[:, :4], axis=1)
        worst = float(lengths[np.abs(lengths - 1.0).argmax()])
        if abs(worst - 1.0) > QUATERNION_TOL:
            notes.append(f"the quaternion of {name!r} has length {worst:.6g} and was divided by it")
    return notes


@cached_per_model
def _joints_with_quaternions(model: Model) -> tuple[str, ...]:
    """Return the names of the tree joints with quaternions among their coordinates."""
    return tuple(joint.name for joint in model.forest.joints if joint.element.nq != joint.element.nv)


def _described(model: Model, t: float, limits: bool) -> tuple[State, list[str]]:
    """Return the start of the description; cached if it depends on the model only."""
    known = _known_starts(model)
    found = known.get((t, limits))
    if found is None:
        found = _from_starts(model, StartValues.of(model), t, limits)
        if not model.drives:  # their laws may be functions of anything
            known.clear()
            known[t, limits] = found
    state, notes = found
    return State(q=state.q.copy(), v=state.v.copy(), t=t, x=state.x.copy()), list(notes)


@cached_per_model
def _known_starts(model: Model) -> dict[tuple[float, bool], tuple[State, list[str]]]:
    """Return the cache of `_described`: the start at the last time."""
    return {}


def _from_starts(model: Model, starts: StartValues, t: float, limits: bool) -> tuple[State, list[str]]:
    """Return a state that meets start values as far as loops and drives permit, and notes on unmet values."""
    starts, moved = within_limits(model, starts) if limits else (starts, {})
    motion = driven_state_from(
        model, t, None, lambda at, paced: _start_velocities(model, at, paced, t, starts), starts, limits=limits
    )
    faint = check_inertia(model, motion.q, t)
    placed = model.initial_state(starts.initials).q
    stays = {name for name, p, q in zip(model.coordinate_names, placed, motion.q, strict=True) if p == q}
    notes = [word for name, word in moved.items() if name in stays]
    notes += (
        find_ungrounded_parts(model.system)
        + unmet_start_values(model, motion.q, motion.v, starts)
        + nearly_conflicting_constraints(model, motion.q, t=t)
    )
    notes += faint + shared_drives(model, motion.q, t)
    return State(q=motion.q, v=motion.v, t=t, x=starts.x), notes


def shared_drives(model: Model, q: Array, t: float) -> list[str]:
    """Return a note on redundant drives at q (nq,), whose efforts the motion does not determine."""
    if not model.drives or not model.nc:
        return []
    names = [name for name, mark in zip(model.speed_names, undetermined_efforts(model, q, t), strict=True) if mark]
    if not names:
        return []
    return [
        f"drives prescribe more than there are DOF: the efforts of {listed(names)} are not unique, and one of many "
        "solutions is given; the loads are not unique either"
    ]


def check_inertia(model: Model, q: Array, t: float) -> list[str]:
    """Refuse a start at q (nq,) with a singular mass matrix; return a note on motions that are close to it."""
    weak = model.massless_dof(q, t=t)
    if weak:
        owners = zip(model.body_names, model.joint_names, strict=True)
        bodies = [body for body, joint in owners if set(model.speed_names[model.v_slice(joint)]) & set(weak)]
        ungrounded = find_ungrounded_parts(model.system)
        raise SingularityError(
            f"at t = {t:.9g} s nothing resists along {listed(weak)}: {listed(bodies)} can move that way without "
            "moving any inertia. Give them some (about the axis, for a spin), drive these DOF, or connect the "
            "bodies so that they cannot move that way" + "".join(f". Note: {note}" for note in ungrounded)
        )
    return faint_inertia(model, q)


def faint_inertia(model: Model, q: Array) -> list[str]:
    """Return a note on a motion of a tree at q (nq,) whose inertia is nearly lost between bodies without moments."""
    motion = _faintest_motion(model, model.conditions(), q) if has_point_masses(model) else None
    if motion is None:
        return []
    moving, left, remedy = motion
    return [
        f"{listed(moving)} together have hardly any inertia at the start, {left:.1g} of what each has alone: forces "
        f"and rounding turn them very fast. {remedy}"
    ]


def refuse_faint_inertia(conditions: Conditions, start: State, of: str = "") -> None:
    """Raise the error of a run whose start has a motion with so little inertia that accelerations are rounding.

    `of` names the run in the message.
    """
    motion = _faintest_motion(conditions.model, conditions, start.q)
    if motion is None or motion[1] >= LOST_INERTIA:
        return
    moving, left, remedy = motion
    raise SingularityError(
        f"at t = {start.t:.9g} s {listed(moving)} {of}together have {left:.1g} of the inertia that each has alone: "
        f"their accelerations are rounding. {remedy}; or start where their axes are not aligned"
    )


def has_point_masses(model: Model) -> bool:
    """Return whether motions of a model may have hardly any inertia: a tree with masses without moments."""
    return not model.nc and bool(_point_masses(model))


def _faintest_motion(model: Model, conditions: Conditions, q: Array) -> tuple[list[str], float, str] | None:
    """Return velocities that together have hardly any inertia at q (nq,), the part that is left, and a remedy."""
    if not has_point_masses(model):
        return None
    points = list(_point_masses(model))
    free = ~conditions.acceleration_prescribed
    own = model.composite_inertias(q)
    pivots = _core.MassMatrixFactor(model, q).pivots()
    if not ((pivots < FAINT_INERTIA * own) & free).any():
        return None
    some = np.flatnonzero(free & (own > 0.0))
    unit = 1.0 / np.sqrt(own[some])
    sizes, motions = np.linalg.eigh(model.mass_matrix(q)[np.ix_(some, some)] * unit * unit[:, None])
    if sizes[0] > FAINT_INERTIA:  # what is held takes part
        return None
    motion = motions[:, 0]
    moving = [model.speed_names[k] for k in some[np.abs(motion) > 0.1 * np.abs(motion).max()]]
    owners = zip(model.body_names, model.joint_names, strict=True)
    moved = {body for body, joint in owners if set(model.speed_names[model.v_slice(joint)]) & set(moving)}
    points = [name for name in points if name in moved] or points
    remedy = (
        f"{listed(points)} {'has' if len(points) == 1 else 'have'} mass but no moments of inertia: give inertia= to "
        "them, armature= to these joints, or drive one of these"
    )
    return moving, float((pivots[some] / own[some]).min()), remedy


@cached_per_model
def _point_masses(model: Model) -> tuple[str, ...]:
    """Return the names of the rigid bodies with mass and a principal moment of zero."""
    bodies = [body for body in model.system.bodies.values() if body.name in model.body_names]
    rigid = [body for body in bodies if body.flexible is None and body.mass > 0.0]
    return tuple(body.name for body in rigid if np.linalg.eigvalsh(body.inertia)[0] <= 0.0)


def _start_velocities(model: Model, q: Array, paced: dict[str, float], t: float, starts: StartValues) -> Array:
    """Return the given start velocities as far as loops and drives permit; modes at rest if possible."""
    given, first = starts.speeds(model), starts.first
    still = {name: np.zeros(model.v_slice(name).stop - model.v_slice(name).start) for name in model.flexible_names}
    chains = starts.paced_chains(model)
    if set(still) - set(given) and not starts.placements and not chains:
        try:
            return consistent_velocities(model, q, np.zeros(model.nv), hold={**paced, **still, **given}, t=t)
        except AssemblyError:
            pass
    found = preferred_velocities(model, q, paced, given, starts.placements, chains=chains, t=t)
    if first is None or not unmet_start_values(model, q, found, first.of_speeds()):
        return found
    try:
        fixed: dict[str, ArrayLike] = {**paced, **first.speeds(model)}
        rest = starts.speeds(model, beside=first)
        chains = first.paced_chains(model) or chains
        return preferred_velocities(model, q, fixed, rest, first.placements or starts.placements, chains=chains, t=t)
    except AssemblyError:
        return found


def start_states(
    model: Model,
    state: State | Mapping[str, Any] | None,
    t_start: float,
    count: int,
    *,
    limits: bool = True,
    runs: IndexArray | None = None,
    model_of: Callable[[int], Model] | None = None,
) -> tuple[Array, Array, Array, list[str]]:
    """Return start states q (count, nq), v (count, nv), x (count, nx) of many runs, and notes on changes.

    `runs` (count,) are their numbers in the ensemble, for start values by name. `model_of` returns the model of a row
    if the runs differ in inertia, by which given states are moved onto loops and drives.
    """
    runs = np.arange(count) if runs is None else runs
    if isinstance(state, Mapping) and named_count(model, state) is not None:
        return _named_states(model, state, t_start, runs, limits)
    notes: list[str] = []
    given = state if isinstance(state, State) else None
    if given is None:
        given, notes = find_start(model, state, t_start, limits)
    q = rows_of("state.q", given.q, count, model.nq)
    if isinstance(state, State):
        notes += _normalized(model, lambda name: q[:, model.q_slice(name)])
    v = rows_of("state.v", given.v, count, model.nv)
    x = rows_of("state.x", given.x if np.size(given.x) else model.element_start_values(), count, model.nx)
    if not isinstance(state, State) or not (model.nc or model.drives):
        return q, v, x, notes
    widest = np.zeros(count)
    if model.nc:
        residual = row_gaps(
            model, model.constraint_residual(q, t=np.full(count, t_start)), constraint_targets(model, t_start)[0]
        )
        widest = np.abs(residual[:, model.holonomic]).max(axis=1, initial=0.0)
    if widest.max() > MAX_OPEN_LOOP:
        raise AssemblyError(
            f"state {int(runs[widest.argmax()])} does not close the loops: it is open by {widest.max():.3g} m or rad; "
            "close them with da.assemble(...)"
        )
    q, v = q.copy(), v.copy()
    moved = np.zeros(count)
    for k in np.flatnonzero((widest > ROUNDING_TOL) | ~_satisfied(model, q, v, t_start)):
        own = model if model_of is None else model_of(int(k))
        motion = driven_motion(own, t_start, state=State(q=q[k], v=v[k]))
        moved[k] = np.abs(motion.v - v[k]).max()
        q[k], v[k] = motion.q, motion.v
    if widest.max() > NOTE_TOL:
        many = int((widest > NOTE_TOL).sum())
        notes.append(
            f"{many} of the given states were off the loops by up to {widest.max():.2g} and were moved onto them"
        )
    if moved.max() > NOTE_TOL:
        many = int((moved > NOTE_TOL).sum())
        by = f"by up to {moved.max():.2g}"
        notes.append(f"the given velocities of {many} states did not satisfy loops and drives and were changed {by}")
    return q, v, x, notes


def _named_states(
    model: Model, values: Mapping[str, Any], t: float, runs: IndexArray, limits: bool
) -> tuple[Array, Array, Array, list[str]]:
    """Return start states of many runs from start values by name, and notes on unmet values by run."""
    free = _free_states(model, values, t, runs, limits)
    if free is not None:
        return *free, []
    found = [_from_starts(model, named_starts(model, values, run), t, limits) for run in runs.tolist()]
    q, v, x = (np.array([getattr(state, part) for state, _ in found]) for part in ("q", "v", "x"))
    notes = [
        f"run {run}: {note}" for run, (_, own_notes) in zip(runs.tolist(), found, strict=True) for note in own_notes
    ]
    if len(notes) > MAX_NOTES:
        notes = [*notes[:MAX_NOTES], f"... and {len(notes) - MAX_NOTES} more of the kind"]
    return q, v, x, notes


def _free_states(
    model: Model, values: Mapping[str, Any], t: float, runs: IndexArray, limits: bool
) -> tuple[Array, Array, Array] | None:
    """Return start states of many runs of trees from values of coordinates and velocities, which are met as given.

    All other values are those of the first run. None if that is not so: with loops, drives, flexible or placed bodies,
    other names, or notes.
    """
    if model.nc or model.drives or model.flexible_names or model.system.placements:
        return None
    columns = tree_columns(model, values)
    if columns is None:
        return None
    first, notes = _from_starts(model, named_starts(model, values, int(runs[0])), t, limits)
    if notes:
        return None
    q, v, x = (np.tile(part, (len(runs), 1)) for part in (first.q, first.v, first.x))
    for part, column, numbers in columns:
        (q if part == "q" else v)[:, column] = numbers[runs] if numbers.ndim else numbers
    M = model.mass_matrix(q)
    size = np.sqrt(np.einsum("kii->ki", M))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = M / (size[:, :, None] * size[:, None, :])
    least = np.linalg.eigvalsh(np.nan_to_num(scaled))[:, 0]
    sure = (least > max(SURE_INERTIA, KEPT_INERTIA * least[0])) & (size**2 > KEPT_INERTIA * size[0] ** 2).all(axis=1)
    for row in q[~sure]:
        check_inertia(model, row, t)
    return q, v, x


def _satisfied(model: Model, q: Array, v: Array, t: float) -> BoolArray:
    """Return which states satisfy loops and drives, (count,)."""
    times = np.full(len(q), t)
    q_given, v_given, _ = drive_targets(model, t)
    placed, paced = ~np.isnan(q_given), ~np.isnan(v_given)
    fine = np.abs(q[:, placed] - q_given[placed]).max(axis=1, initial=0.0) <= ROUNDING_TOL
    fine &= np.abs(v[:, paced] - v_given[paced]).max(axis=1, initial=0.0) <= ROUNDING_TOL
    if model.nc:
        rates = np.einsum("kij,kj->ki", model.constraint_jacobian(q, t=times), v)
        wanted = constraint_targets(model, t)[1] - model.constraint_drift(q, t=times)
        size = 1.0 + np.abs(v).max(axis=1, initial=0.0)
        fine &= np.abs(rates - wanted).max(axis=1, initial=0.0) <= ROUNDING_TOL * size
    return np.asarray(fine)


def rows_of(field: str, value: ArrayLike, count: int, width: int) -> Array:
    """Return values for each run, (count, width), checked."""
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
