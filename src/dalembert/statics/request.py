"""Checked request of an equilibrium: start, time, held and steady coordinates, unknowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from ..errors import AssemblyError, ModelError
from ..linear.inputs import check_fixed_rows
from ..model import Conditions, Model, SampledControl, State
from ..model.conditions import followed, parameter_slot, parameter_value
from ..numerics.rank import null_space
from ..simulation.friction.rows import FrictionRows, friction_rows
from .force_balance import ForceBalance

__all__ = ["EquilibriumRequest", "make_request"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Names = str | Iterable[str]


@dataclass(eq=False)
class EquilibriumRequest:
    """A question for rest or steady motion, from names to numbers.

    Attributes
    ----------
    balance : Balance
        Without friction of joints.
    q, x : (nq,), (nx,)
        To start from; loops closed, drives and holds obeyed.
    stops : list of Measure
        Coordinates with stops that are neither driven nor held.
    unknown : tuple of str
        Inputs and numbers of elements that are sought.
    guesses : (n,)
        Their values as described.
    paced : (k,) int
        Speeds that are sought.
    rows : DryRows
        Friction of joints.
    notes : list of str
    """

    balance: ForceBalance
    q: Array
    x: Array
    stops: list[CoordinateMeasure]
    unknown: tuple[str, ...]
    guesses: Array
    paced: NDArray[np.intp]
    rows: FrictionRows
    notes: list[str] = field(default_factory=list)

    @property
    def model(self) -> Model:
        return self.balance.model

    @property
    def trims(self) -> bool:
        """Whether more than a configuration is sought."""
        return bool(self.unknown) or bool(len(self.paced))

    def with_unknown(self, values: Array) -> ForceBalance:
        """Return the balance with numbers in place of what is unknown."""
        return with_numbers(self.balance, dict(zip(self.unknown, values.tolist(), strict=True)))


def with_numbers(balance: ForceBalance, values: Mapping[str, float]) -> ForceBalance:
    """Return a balance with inputs and numbers of elements by name."""
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
    """Return a question, from names to numbers; see `equilibrium`."""
    t = finite_number(t, item=item, field="t")
    if isinstance(control, SampledControl):
        remedy = "a sampled control acts in a run only: give the function itself, which is then asked at rest"
        raise ModelError(item, "control", control, remedy)
    if np.isfinite(model.shortest_delay):
        raise ModelError(
            item, "system", model.system.name, "inputs with a da.Delay have no value at rest: leave the delay out"
        )
    for named, what in ((parameters, "parameters"), (inputs, "inputs"), (speeds, "velocities")):
        if named is not None and not isinstance(named, Mapping):
            raise ModelError(item, what, named, "give numbers by name")
    conditions = model.conditions(dict(parameters or {}), control=control)
    model = conditions.model  # with its own masses and places
    given = {name: finite_number(v, item=f"{item}: inputs", field=name) for name, v in dict(inputs or {}).items()}
    if given:
        model.input_values(given)  # names the unknown ones
    holds = dict(hold) if isinstance(hold, Mapping) else dict.fromkeys(as_name_list(hold))
    unknown_names, guesses = _unknown(model, unknown, given, conditions, t, item)
    q, x, paces, notes = _start(model, state, holds, t, item)
    driven = model.driven_speeds()
    check_fixed_rows(model, [name for name in unknown_names if name not in model.input_names], q, t, f"{item}: unknown")
    columns, held = _held(model, holds, q, driven, item)
    v, given_speeds, sought, follows = _speeds(model, speeds or {}, q, x, paces, t, item)
    notes += _resting_drives(model, v, t)
    trims = bool(unknown_names) or bool(sought.any())
    prescribed = driven | conditions.given
    if not trims:
        prescribed = prescribed | columns
    balance = ForceBalance(
        model,
        t,
        _without_friction(model, conditions),
        given,
        driven | conditions.given | columns | given_speeds | sought | follows,
        prescribed | given_speeds,
        v,
        held={} if trims else held,
        trimmed=held if trims else {},
    )
    balance, said = _idle(balance, q, x)
    notes += said
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
    """Return the balance with element states that nothing depends on named idle, and what is to be said of them."""
    if not balance.model.nx:
        return balance, []
    by, states = balance.look(q, x).slopes()
    idle: BoolArray = ~(np.abs(by.x).max(axis=0, initial=0.0) + np.abs(states.x).max(axis=0, initial=0.0) > 0.0)
    names = [name for name, one in zip(balance.model.state_names, idle, strict=True) if one]
    runs = [f"the state {name!r} acts on nothing, and need not rest" for name in names]
    return replace(balance, idle=idle), runs


def _without_friction(model: Model, conditions: Conditions) -> Conditions:
    """Return the conditions with joints that do not rub: what friction can hold is looked at apart."""
    rows = friction_rows(model)
    if not len(rows) or not rows.has_friction.any():
        return conditions
    parameters = conditions.parameters.copy()
    parameters[rows.mode[rows.has_friction]] = 0.0
    return conditions.changed(parameters=parameters)


def _start(
    model: Model, state: Any, holds: Mapping[str, Any], t: float, item: str
) -> tuple[Array, Array, Array, list[str]]:
    """Return positions, element states and speeds to start from, and what is to be said of them."""
    state = state.state() if callable(getattr(state, "state", None)) else state
    asked = {name: value for name, value in holds.items() if value is not None}
    if isinstance(state, State):
        q = driven_positions(model, t, model.checked_configuration(item, state.q))
        x = np.array(state.x if len(state.x) else model.element_start_values(), dtype=float)
        v, notes = np.array(state.v, dtype=float), []
    elif state is None or isinstance(state, Mapping):
        starts = named_starts(model, state) if state else StartValues.of(model)
        q, x = driven_positions(model, t, None, starts), starts.x
        v, notes = model.initial_state(starts.initials).v, _missed(model, q, starts, t)
    else:
        raise ModelError(item, "state", state, "give a da.State, start values by name, or leave it out")
    if asked:
        fixed = {**asked, **{name: None for d in model.joint_drives for name in d.speed_names}}
        q = assemble(model, q=q, hold=fixed, t=t).q
    return q, x, v, notes


def _missed(model: Model, q: Array, starts: StartValues, t: float) -> list[str]:
    """Say which start values of positions are not met at q, and what else is odd about a start."""
    places = StartValues(
        {name: replace(initial, speed=None) for name, initial in starts.initials.items()},
        {name: replace(place, velocity=None, angular_velocity=None) for name, place in starts.places.items()},
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
    """Return which small motions of the trees are held, (nv,), and coordinates of cut joints with their values."""
    marks, rows = np.zeros(model.nv, dtype=bool), dict[CoordinateMeasure, float]()
    known = measures_of(RelativeEquations(model))
    for name in holds:
        dofs = named_velocities(model, name, item=f"{item}: hold")
        if (dofs.marks & driven).any():
            raise ModelError(f"{item}: hold", "name", name, "a drive prescribes it already")
        marks |= dofs.marks
        if dofs.cut:
            mine = [m for m in known.values() if m.column < 0 and m.place in dofs.cut]
            if len(mine) < len(dofs.cut):
                remedy = "its attitude cannot be held where a loop is cut: cut it elsewhere, or hold others"
                raise ModelError(f"{item}: hold", "name", name, remedy)
            rows |= {m: float(m.values(q)) for m in mine}
    return marks, rows


def _speeds(
    model: Model, speeds: Mapping[str, float | None], q: Array, x: Array, guess: Array, t: float, item: str
) -> tuple[Array, BoolArray, BoolArray, BoolArray]:
    """Return steady speeds (nv,), and which of them are given, sought, or follow by the rows, as those of wheels."""
    values: dict[str, float] = {}
    given, sought = np.zeros(model.nv, dtype=bool), np.zeros(model.nv, dtype=bool)
    driven = model.drive_motion(t)[1]
    for drive in model.joint_drives:
        if drive.level == 1:
            values |= dict(zip(drive.speed_names, drive.given(t)[1].tolist(), strict=True))
    for name, value in speeds.items():
        dofs = named_velocities(model, name, item=f"{item}: speeds")
        if dofs.cut:
            raise ModelError(f"{item}: speeds", "name", name, "a loop is cut there: name joints of the tree")
        for k in dofs.columns:
            if value is None and np.isnan(driven[k]):
                sought[k] = True
                continue
            given[k] = True
            number = driven[k] if value is None or not np.isnan(driven[k]) else value
            values[model.speed_names[k]] = finite_number(number, item=f"{item}: speeds", field=name)
    v = np.where(sought, guess, 0.0)
    for name, number in values.items():
        v[model.speed_names.index(name)] = number
    if model.nc and v.any():
        v = _following(model, q, x, v, values, sought, t)
    return v, given, sought, (v != 0) & ~given & ~sought & np.isnan(driven)


def _following(
    model: Model, q: Array, x: Array, v: Array, values: dict[str, float], sought: BoolArray, t: float
) -> Array:
    """Return speeds (nv,) that rows permit: what is not given rests, if it can, unless its place matters to nothing."""
    names = model.speed_names
    rest = {names[k]: 0.0 for k in np.flatnonzero(~_ignorable(model, q, x, t) & ~sought) if names[k] not in values}
    try:
        v = consistent_velocities(model, q, v, hold={**rest, **values}, t=t)
    except AssemblyError:
        v = consistent_velocities(model, q, v, hold=values, t=t)
    v[np.abs(v) < 1e-12 * np.abs(v).max()] = 0.0
    return v


def _ignorable(model: Model, q: Array, x: Array, t: float) -> BoolArray:
    """Return along which small motions (nv,) neither forces nor rows change: it may move steadily that way."""
    n, still = model.nv, np.zeros(model.nv)
    steps = 0.1 * np.diag(model.compiled.tables["column_scale"])
    near = model.integrate(np.repeat(q[None], n, axis=0), steps)
    times, states = np.full(n, t), np.repeat(x[None], n, axis=0)
    forces = model._supplied(near, np.zeros((n, n)), np.zeros((n, n)), t=times, x=states)
    here = model._supplied(q, still, still, t=t, x=x)
    open_here = null_space(model.constraint_jacobian(q, t=t))  # rows may turn, what they leave must not
    left = np.abs(model.constraint_jacobian(near, t=times) @ open_here).max(axis=(1, 2), initial=0.0)
    size = float(np.abs(forces).max(initial=0.0)) + float(np.abs(here).max(initial=0.0))
    same = np.abs(forces - here).max(axis=1, initial=0.0) <= 1e-9 * max(size, 1e-300)
    return np.asarray(same & (left <= 1e-9))


def _resting_drives(model: Model, v: Array, t: float) -> list[str]:
    """Say which drives move at t though their coordinates are taken to rest."""
    notes = [
        f"what drive {drive.name!r} prescribes moves at {drive.law(t)[1]:.6g} at t = {t:.6g} s; it is held as it is"
        for drive in model.drives
        if drive not in model.joint_drives and drive.law(t)[1] != 0.0
    ]
    for drive in model.joint_drives:
        if drive.level != 0:
            continue
        for k, rate in zip(model.driven_dof(drive), np.atleast_1d(drive.given(t)[1]), strict=True):
            if rate != 0.0 and v[k] == 0.0:
                notes.append(
                    f"{model.speed_names[k]!r} moves at {rate:.6g} at t = {t:.6g} s; it is held where it is then. For "
                    f"a steady motion name it: velocities={{{model.speed_names[k]!r}: None}}"
                )
    return notes


def _unknown(
    model: Model, unknown: Names, inputs: Mapping[str, float], conditions: Conditions, t: float, item: str
) -> tuple[tuple[str, ...], Array]:
    """Return the names of unknown inputs and numbers, and their values as described."""
    names = tuple(as_name_list(unknown))
    values = []
    for name in names:
        if name in inputs:
            raise ModelError(f"{item}: unknown", "name", name, "a value is given for it: leave one of them out")
        if name in model.input_names:
            values.append(_law_value(model, name, t))
        elif name in model.parameter_names:
            values.append(parameter_value(model, name, conditions.parameters))
        else:
            known = ", ".join(map(repr, [*model.input_names, *model.parameter_names][:12])) or "none"
            raise ModelError(f"{item}: unknown", "name", name, f"inputs and numbers of elements are: {known}")
    return names, np.array(values)


def _law_value(model: Model, name: str, t: float) -> float:
    """Return what the law of an input gives at t."""
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
