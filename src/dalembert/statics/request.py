"""Checked request for an equilibrium: start, time, held and steady coordinates, unknowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..checks import finite_number
from ..closure.assembly import assemble
from ..closure.driven.driven_state import driven_positions
from ..closure.equations import RelativeEquations
from ..closure.named_velocities import as_name_list, named_velocities
from ..closure.redundancy import nearly_conflicting_constraints
from ..closure.scaled_equations import CoordinateMeasure, measures_of, ropes_of
from ..closure.starts.named_start_values import named_starts
from ..closure.starts.start_values import StartValues, unmet_start_values
from ..closure.ungrounded_parts import find_ungrounded_parts
from ..closure.velocity_projection import consistent_velocities
from ..compile.contacts import left_out_notes
from ..errors import AssemblyError, ModelError
from ..linear.inputs import check_fixed_rows
from ..model import Conditions, Model, SampledControl, State
from ..model.argument_errors import checked_configuration
from ..model.callbacks import shortest_delay
from ..model.conditions import followed, parameter_slot, parameter_value
from ..model.drive_targets import drive_targets, driven_dof, driven_speeds
from ..numerics.rank import null_space
from ..simulation.friction.rows import FrictionRows, friction_rows
from .force_balance import ForceBalance

__all__ = ["EquilibriumRequest", "make_request"]

Names = str | Iterable[str]


@dataclass(eq=False)
class EquilibriumRequest:
    """Request for an equilibrium or steady motion, with names resolved to indices.

    Attributes
    ----------
    balance : ForceBalance
        Without friction of joints.
    q, x : (nq,), (nx,)
        Start, with closed loops, consistent with drives and holds.
    stops : list of CoordinateMeasure
        Coordinates with stops that are neither driven nor held.
    unknown : tuple of str
        Unknown inputs and parameters.
    guesses : (n,)
        Their described values.
    paced : (k,) int
        Indices of unknown velocities.
    rows : FrictionRows
        Friction of joints.
    notes : list of str
    """

    balance: ForceBalance
    q: Array
    x: Array
    stops: list[CoordinateMeasure]
    unknown: tuple[str, ...]
    guesses: Array
    paced: IndexArray
    rows: FrictionRows
    notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> Model:
        return self.balance.model

    @property
    def trims(self) -> bool:
        """Whether there are unknowns besides the configuration."""
        return bool(self.unknown) or bool(len(self.paced))

    def with_unknown(self, values: Array) -> ForceBalance:
        """Return the balance with values of the unknowns."""
        return with_numbers(self.balance, dict(zip(self.unknown, values.tolist(), strict=True)))


def with_numbers(balance: ForceBalance, values: Mapping[str, float]) -> ForceBalance:
    """Return a balance with inputs and parameters by name."""
    model = balance.model
    inputs = {**balance.inputs, **{name: value for name, value in values.items() if name in model.input_names}}
    conditions = balance.conditions
    others = [name for name in values if name not in model.input_names]
    if others:
        parameters = conditions.parameters.copy()
        for name in others:
            parameters[model.parameter_names[name]] = parameter_slot(model, name, values[name])
        conditions = conditions.changed(parameters=followed(model, parameters, others, "equilibrium"))
    return replace(balance, model=conditions.model, inputs=inputs, conditions=conditions)


def make_request(
    model: Model,
    *,
    state: Any = None,
    t: float = 0.0,
    hold: Names | Mapping[str, Any] = (),
    speeds: Mapping[str, float | None] | None = None,
    unknown: Names = (),
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    control: Callable[[State], Any] | None = None,
    item: str = "equilibrium",
) -> EquilibriumRequest:
    """Return a checked request from user arguments; see `equilibrium`."""
    t = finite_number(t, item=item, field="t")
    if isinstance(control, SampledControl):
        remedy = "sampled control acts in a run only: give the function itself, which is evaluated in equilibrium"
        raise ModelError(item, "control", control, remedy)
    if np.isfinite(shortest_delay(model)):
        raise ModelError(
            item, "system", model.system.name, "inputs with a da.Delay have no value in equilibrium: remove the delay"
        )
    for named, what in ((parameters, "parameters"), (inputs, "inputs"), (speeds, "velocities")):
        if named is not None and not isinstance(named, Mapping):
            raise ModelError(item, what, named, "give numbers by name")
    conditions = model.conditions(dict(parameters or {}), control=control)
    model = conditions.model  # with its own inertia and markers
    given = {name: finite_number(v, item=f"{item}: inputs", field=name) for name, v in dict(inputs or {}).items()}
    if given:
        model.input_values(given)  # raises for unknown names
    holds = dict(hold) if isinstance(hold, Mapping) else dict.fromkeys(as_name_list(hold))
    unknown_names, guesses = _unknown(model, unknown, given, conditions, t, item)
    q, x, paces, notes = _start(model, state, holds, t, item)
    driven = driven_speeds(model)
    check_fixed_rows(model, [name for name in unknown_names if name not in model.input_names], q, t, f"{item}: unknown")
    columns, held = _held(model, holds, q, driven, item)
    v, given_speeds, sought, follows = _speeds(model, speeds or {}, q, x, paces, t, item)
    notes += _resting_drives(model, v, t) + left_out_notes(model.contacts)
    trims = bool(unknown_names) or bool(sought.any())
    prescribed = driven | conditions.acceleration_prescribed
    if not trims:
        prescribed = prescribed | columns
    balance = ForceBalance(
        model,
        t,
        _without_friction(model, conditions),
        given,
        driven | conditions.acceleration_prescribed | columns | given_speeds | sought | follows,
        prescribed | given_speeds,
        v,
        held={} if trims else held,
        trimmed=held if trims else {},
    )
    balance, state_notes = _idle(balance, q, x)
    notes += state_notes
    equations = RelativeEquations(model)
    known = [*measures_of(equations).values(), *ropes_of(equations)]
    free = [m for m in known if m not in held and (m.column < 0 or not balance.fixed[m.column])]
    taken = {m.name for m in held}
    stops = [m for m in free if np.isfinite([m.lower, m.upper]).any() and m.name not in taken]
    _check_stops(stops, q, item)
    rows = friction_rows(model)
    paced = np.flatnonzero(sought | follows)
    return EquilibriumRequest(balance, q, x, stops, unknown_names, guesses, paced, rows, notes)


def _idle(balance: ForceBalance, q: Array, x: Array) -> tuple[ForceBalance, list[str]]:
    """Return the balance with unused element states marked idle, and notes on them."""
    if not balance.model.nx:
        return balance, []
    by, states = balance.evaluate(q, x).slopes()
    idle: BoolArray = ~(np.abs(by.x).max(axis=0, initial=0.0) + np.abs(states.x).max(axis=0, initial=0.0) > 0.0)
    names = [name for name, one in zip(balance.model.state_names, idle, strict=True) if one]
    runs = [f"the state {name!r} affects nothing and need not be stationary" for name in names]
    return replace(balance, idle=idle), runs


def _without_friction(model: Model, conditions: Conditions) -> Conditions:
    """Return the conditions without joint friction, which is treated separately."""
    rows = friction_rows(model)
    if not len(rows) or not rows.has_friction.any():
        return conditions
    parameters = conditions.parameters.copy()
    parameters[rows.mode[rows.has_friction]] = 0.0
    return conditions.changed(parameters=parameters)


def _start(
    model: Model, state: Any, holds: Mapping[str, Any], t: float, item: str
) -> tuple[Array, Array, Array, list[str]]:
    """Return start coordinates, element states and velocities, and notes on them."""
    state = state.state() if callable(getattr(state, "state", None)) else state
    targets = {name: value for name, value in holds.items() if value is not None}
    if isinstance(state, State):
        q = driven_positions(model, t, checked_configuration(model, item, state.q))
        x = np.array(state.x if len(state.x) else model.element_start_values(), dtype=float)
        v, notes = np.array(state.v, dtype=float), []
    elif state is None or isinstance(state, Mapping):
        starts = named_starts(model, state) if state else StartValues.of(model)
        q, x = driven_positions(model, t, None, starts), starts.x
        v, notes = model.initial_state(starts.initials).v, _missed(model, q, starts, t)
    else:
        raise ModelError(item, "state", state, "give a da.State, start values by name, or leave it out")
    if targets:
        fixed = {**targets, **{name: None for d in model.joint_drives for name in d.speed_names}}
        q = assemble(model, state=q, hold=fixed, t=t).q
    return q, x, v, notes


def _missed(model: Model, q: Array, starts: StartValues, t: float) -> list[str]:
    """Return notes on start coordinates that are not met at q, and on other deviations of the start."""
    places = StartValues(
        {name: replace(initial, speed=None) for name, initial in starts.initials.items()},
        {name: replace(place, velocity=None, angular_velocity=None) for name, place in starts.placements.items()},
        starts.x,
    )
    return (
        find_ungrounded_parts(model.system)
        + unmet_start_values(model, q, np.zeros(model.nv), places)
        + nearly_conflicting_constraints(model, q, t=t)
    )


def _held(
    model: Model, holds: Mapping[str, Any], q: Array, driven: BoolArray, item: str
) -> tuple[BoolArray, dict[CoordinateMeasure, float]]:
    """Return the mask (nv,) of held tree motions, and held coordinates of cut joints with their values."""
    marks, rows = np.zeros(model.nv, dtype=bool), dict[CoordinateMeasure, float]()
    known = measures_of(RelativeEquations(model))
    for name in holds:
        dofs = named_velocities(model, name, item=f"{item}: hold")
        if (dofs.mask & driven).any():
            raise ModelError(f"{item}: hold", "name", name, "a drive prescribes it already")
        marks |= dofs.mask
        if dofs.cut:
            mine = [m for m in known.values() if m.column < 0 and m.place in dofs.cut]
            if len(mine) < len(dofs.cut):
                remedy = "the orientation of a cut joint cannot be held: cut the loop elsewhere, or hold others"
                raise ModelError(f"{item}: hold", "name", name, remedy)
            rows |= {m: float(m.values(q)) for m in mine}
    return marks, rows


def _speeds(
    model: Model, speeds: Mapping[str, float | None], q: Array, x: Array, guess: Array, t: float, item: str
) -> tuple[Array, BoolArray, BoolArray, BoolArray]:
    """Return steady velocities (nv,), and masks of given, unknown and dependent ones, such as of wheels."""
    values: dict[str, float] = {}
    given, sought = np.zeros(model.nv, dtype=bool), np.zeros(model.nv, dtype=bool)
    driven = drive_targets(model, t)[1]
    for drive in model.joint_drives:
        if drive.level == 1:
            values |= dict(zip(drive.speed_names, drive.given(t)[1].tolist(), strict=True))
    for name, value in speeds.items():
        dofs = named_velocities(model, name, item=f"{item}: velocities")
        if dofs.cut:
            raise ModelError(f"{item}: velocities", "name", name, "it is a cut joint: name joints of the tree")
        for k in dofs.columns:
            if value is None and np.isnan(driven[k]):
                sought[k] = True
                continue
            given[k] = True
            number = driven[k] if value is None or not np.isnan(driven[k]) else value
            values[model.speed_names[k]] = finite_number(number, item=f"{item}: velocities", field=name)
    v = np.where(sought, guess, 0.0)
    for name, number in values.items():
        v[model.speed_names.index(name)] = number
    if model.nc and v.any():
        v = _following(model, q, x, v, values, sought, t)
    return v, given, sought, (v != 0) & ~given & ~sought & np.isnan(driven)


def _following(
    model: Model, q: Array, x: Array, v: Array, values: dict[str, float], sought: BoolArray, t: float
) -> Array:
    """Return velocities (nv,) that rows permit; others are zero if possible, except along ignorable coordinates."""
    names = model.speed_names
    rest = {names[k]: 0.0 for k in np.flatnonzero(~_ignorable(model, q, x, t) & ~sought) if names[k] not in values}
    try:
        v = consistent_velocities(model, q, v, hold={**rest, **values}, t=t)
    except AssemblyError:
        v = consistent_velocities(model, q, v, hold=values, t=t)
    v[np.abs(v) < 1e-12 * np.abs(v).max()] = 0.0
    return v


def _ignorable(model: Model, q: Array, x: Array, t: float) -> BoolArray:
    """Return the mask (nv,) of ignorable motions, along which neither forces nor rows change."""
    n, still = model.nv, np.zeros(model.nv)
    steps = 0.1 * np.diag(model.compiled.tables["column_scale"])
    near = model.integrate(np.repeat(q[None], n, axis=0), steps)
    times, states = np.full(n, t), np.repeat(x[None], n, axis=0)
    forces = model._required_forces(near, np.zeros((n, n)), np.zeros((n, n)), t=times, x=states)
    here = model._required_forces(q, still, still, t=t, x=x)
    open_here = null_space(model.constraint_jacobian(q, t=t))  # rows may turn, their null space must not
    left = np.abs(model.constraint_jacobian(near, t=times) @ open_here).max(axis=(1, 2), initial=0.0)
    size = float(np.abs(forces).max(initial=0.0)) + float(np.abs(here).max(initial=0.0))
    same = np.abs(forces - here).max(axis=1, initial=0.0) <= 1e-9 * max(size, 1e-300)
    return np.asarray(same & (left <= 1e-9))


def _resting_drives(model: Model, v: Array, t: float) -> list[str]:
    """Return notes on drives with nonzero velocity at t whose coordinates are held."""
    notes = [
        f"drive {drive.name!r} has the velocity {drive.law(t)[1]:.6g} at t = {t:.6g} s; its value was held"
        for drive in model.drives
        if drive not in model.joint_drives and drive.law(t)[1] != 0.0
    ]
    for drive in model.joint_drives:
        if drive.level != 0:
            continue
        for k, rate in zip(driven_dof(model, drive), np.atleast_1d(drive.given(t)[1]), strict=True):
            if rate != 0.0 and v[k] == 0.0:
                notes.append(
                    f"{model.speed_names[k]!r} moves at {rate:.6g} at t = {t:.6g} s; it is held where it is then. For "
                    f"a steady motion name it: velocities={{{model.speed_names[k]!r}: None}}"
                )
    return notes


def _unknown(
    model: Model, unknown: Names, inputs: Mapping[str, float], conditions: Conditions, t: float, item: str
) -> tuple[tuple[str, ...], Array]:
    """Return the names of unknown inputs and parameters, and their described values."""
    names = tuple(as_name_list(unknown))
    values = []
    for name in names:
        if name in inputs:
            raise ModelError(f"{item}: unknown", "name", name, "a value is given for it: remove one of them")
        if name in model.input_names:
            values.append(_law_value(model, name, t))
        elif name in model.parameter_names:
            values.append(parameter_value(model, name, conditions.parameters))
        else:
            known = ", ".join(map(repr, [*model.input_names, *model.parameter_names][:12])) or "none"
            raise ModelError(f"{item}: unknown", "name", name, f"inputs and parameters are: {known}")
    return names, np.array(values)


def _law_value(model: Model, name: str, t: float) -> float:
    """Return the value of the time law of an input at t."""
    owner, _, part = name.rpartition(".")
    force = model.system.forces.get(owner)
    law: Any = force.element.given.get(part) if force is not None else None
    if law is None:
        return 0.0
    value = law(t)
    return float(np.ravel(value[0] if isinstance(value, tuple) else value)[0])


def _check_stops(stops: list[CoordinateMeasure], q: Array, item: str) -> None:
    for m in stops:
        value = float(m.values(q))
        if not m.lower - 1e-9 * m.scale <= value <= m.upper + 1e-9 * m.scale:
            raise ModelError(
                f"{item}: {m.name!r}",
                "start",
                f"{value:.6g} {m.unit}",
                f"it is outside its stops, {m.lower:.6g} to {m.upper:.6g}; start within them",
            )
