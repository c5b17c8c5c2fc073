"""Inputs of a linear system by name: element inputs, joint forces, loads, drives, element parameters.

Each input is a direction: its direct effect at constant independent states. For a drive with position u,

    xi = Q y + Q_u u,   dv = V z + U y + V_u u' + U_u u,   da = ... + A_u u''                                 (1)
    A_u = V_u - W (W^T M W)^-1 W^T M V_u                                                                     (2)

where Q_u and V_u move the driven coordinate by one at constant independent ones, and W spans the accelerations that
rows and drives permit. Position, velocity and acceleration of a drive are three inputs; each is the rate of the one
before. `LinearSystem.frequency_response` takes this into account.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..closure.named_velocities import named_velocities
from ..compile.schema import number
from ..connections.constraints.couplings import CustomCoupling
from ..connections.constraints.geometric import Constraint
from ..connections.drives import Drive, PoseDrive
from ..errors import DalembertError, ModelError
from ..model import DynamicsDerivatives, Model
from ..model.argument_errors import checked_marker
from ..model.conditions import parameter_value
from ..model.drive_targets import constraint_targets, drive_targets, driven_dof, driven_row, driven_speeds
from ..numerics.rank import ROW_RANK_TOL, null_space
from .state_constraints import StateConstraints
from .tangent import Tangent, rate_slopes

__all__ = ["InputEffect", "changes_of", "input_names", "present_inputs"]


LEVELS = ("position", "speed", "acceleration")
DIFFERENCE_STEP = 1e-5  # relative change of a parameter for central differences of rows
_PARTS = {"moment": 0, "force": 3}


@dataclass(eq=False)
class InputEffect:
    """Direct effect of one input, per unit.

    Attributes
    ----------
    name, unit : str
    xi, dv, da : (nv,)
        Changes of positions, velocities and accelerations; da only for prescribed accelerations and their consequences.
    tau : (nv,)
        Joint forces.
    loads : (nb, 6)
        Loads on bodies, [moment; force] at their origins, world axes.
    laws : (n,)
        Inputs of elements, in the order of the core.
    parameter : str
        A parameter; empty if none.
    hidden : bool
        Whether it changes the second rates of a driven row, which reports cannot vary.
    drive : str
        Name of its drive; empty if none.
    level : int
        0 position, 1 velocity, 2 acceleration of a drive.
    """

    name: str
    unit: str
    xi: Array
    dv: Array
    da: Array
    tau: Array
    loads: Array
    laws: Array
    parameter: str = ""
    hidden: bool = False
    drive: str = ""
    level: int = 0

    def force(self, space: Tangent) -> Array:
        """Return joint forces (nv,), including those of the loads."""
        tau = self.tau
        model = space.model
        for k in np.flatnonzero(self.loads.any(1)):
            tau = tau + model.jacobian(model.body_names[k], space.state.q).T @ self.loads[k]
        return tau

    def rates(self, space: Tangent, d: DynamicsDerivatives, parameters: Sequence[str]) -> tuple[Array, Array, Array]:
        """Return y' (ny,), accelerations (nv,) and element-state rates (nx,) per unit."""
        moved = self.dv if space.K is None else self.dv + space.K @ self.xi
        force, model = self.force(space), space.model
        by_name = np.zeros(len(model.input_names))
        for k, name in enumerate(model.compiled.elements.inputs_by_law):
            if self.laws[k]:
                by_name[model.input_names.index(name)] = 1.0
        ends = []
        for by in (d.a, d.dx):
            rate = by.q @ self.xi + by.v @ self.dv + by.tau @ force + by.inputs @ by_name
            if self.parameter:
                rate = rate + by.parameters[:, list(parameters).index(self.parameter)]
            ends.append(rate)
        return moved[space.positions], ends[0] + self.da, ends[1]


def input_names(model: Model) -> list[str]:
    """Return the names of all inputs of a model; loads act at body frames."""
    drives = [f"{d.name}.{level}" for d in model.drives if not isinstance(d, PoseDrive) for level in LEVELS[d.level :]]
    efforts = [f"{name}.effort" for name in model.speed_names]
    loads = [f"{body}.{part}.{axis}" for body in model.body_names for part in _PARTS for axis in "xyz"]
    return [*model.input_names, *efforts, *drives, *model.parameter_names, *loads]


def changes_of(space: Tangent, names: Sequence[str]) -> list[InputEffect]:
    """Return the effects of named inputs."""
    found = []
    for name in names:
        change = _found(space, name) if isinstance(name, str) else None
        if change is None:
            known = input_names(space.model)
            near = difflib.get_close_matches(str(name), known, n=3) or known[:6]
            raise ModelError("linearize", "input", name, f"there are inputs such as {', '.join(map(repr, near))}")
        found.append(change)
    return found


def check_fixed_rows(
    model: Model, names: Sequence[str], q: Array, t: float, item: str, *, loops: bool = True
) -> None:  # fmt: skip
    """Raise for parameters that change loop constraints or drives, and so move the configuration.

    Derivatives by parameters hold at a constant configuration. With `loops` False, only parameters of drives raise.
    """
    for name in names:
        value = parameter_value(model, name, model.parameters)
        for step in (1e-3, -1e-3):
            try:
                near = model.with_parameters({name: value + step * (abs(value) or 1.0)})
            except ModelError:  # infeasible inertia: try the other sign, or the parameter moves no marker
                continue
            pairs = [
                (*([each.constraint_residual(q, t=t)] if loops else []), *drive_targets(each, t))
                for each in (model, near)
            ]
            if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*pairs, strict=True)):
                what = "loops or drives" if loops else "drives"
                remedy = f"it changes the configuration prescribed by {what}: use model.with_parameters, or root_locus"
                raise ModelError(item, "name", name, remedy)
            break


def _nothing(space: Tangent, name: str, unit: str) -> InputEffect:
    model = space.model
    nv, laws = model.nv, len(model.compiled.elements.inputs_by_law)
    xi, dv, da, tau = np.zeros((4, nv))
    return InputEffect(name, unit, xi, dv, da, tau, np.zeros((model.nb, 6)), np.zeros(laws))


def _found(space: Tangent, name: str) -> InputEffect | None:
    model = space.model
    if name in model.input_names:
        change = _nothing(space, name, "")
        change.laws[[k for k, one in enumerate(model.compiled.elements.inputs_by_law) if one == name]] = 1.0
        return change
    if name in model.parameter_names:
        return _number(space, name)
    owner, _, ending = name.rpartition(".")
    if ending == "effort":
        return _effort(space, owner, name)
    for drive in model.drives:
        if drive.name == owner and ending in LEVELS:
            return _driven(space, drive, LEVELS.index(ending), name)
    where, _, part = owner.rpartition(".")
    if part in _PARTS and ending in "xyz" and len(ending) == 1:
        return _load(space, where, _PARTS[part] + "xyz".index(ending), name)
    return None


def _number(space: Tangent, name: str) -> InputEffect:
    """Return the effect of a parameter; if it changes loops, dependent motions follow.

    With rows phi(q, p) and their rates w(q, v, p), P xi = -phi_p and P dv = -(w_q xi + w_p), at zero independent ones.
    """
    model, s = space.model, space.state
    check_fixed_rows(model, [name], s.q, float(s.t), "linearize: inputs", loops=False)
    change = _nothing(space, name, "")
    change.parameter = name
    if not model.nc:
        return change
    rows = StateConstraints.of(model, space.conditions, s.t)
    P = model.constraint_jacobian(s.q, t=s.t)
    base = model.conditions() if space.conditions is None else space.conditions
    now = parameter_value(model, name, base.parameters)
    h = DIFFERENCE_STEP * (abs(now) or model.length)
    near = [base.with_parameter(name, now + step, item="linearize").model for step in (h, -h)]
    phi = np.subtract(*(each.constraint_residual(s.q, t=s.t) - constraint_targets(each, s.t)[0] for each in near)) / (
        2 * h
    )
    if phi[rows.placing].any():
        change.xi = -_solved(P, phi, rows.placing, rows.placed, space.positions, rows)
    if s.v.any():
        places = [model.integrate(s.q, step * change.xi) for step in (h, -h)]
        ends = [
            each.constraint_jacobian(q, t=s.t) @ s.v
            + each.constraint_drift(q, t=s.t)
            - constraint_targets(each, s.t)[1]
            for each, q in zip(near, places, strict=True)
        ]
        change.dv = -_solved(P, np.subtract(*ends) / (2 * h), rows.held, rows.paced, space.speeds, rows)
    return change


def _effort(space: Tangent, owner: str, name: str) -> InputEffect | None:
    model = space.model
    try:
        dofs = named_velocities(model, owner, item="linearize")
    except ModelError:
        return None
    if len(dofs) != 1:
        single = ", ".join(repr(f"{each}.effort") for each in dofs.names)
        raise ModelError("linearize", "input", name, f"name one of {single}")
    names = model.compiled.names
    unit = "N m"
    if dofs.columns:
        unit = "N m" if names.speed_units[dofs.columns[0]] == "rad" else "N"
    change = _nothing(space, name, unit)
    change.tau[:] = dofs.rows(space.state.q)[0]
    return change


def _load(space: Tangent, where: str, component: int, name: str) -> InputEffect | None:
    model, q = space.model, space.state.q
    try:
        marker = checked_marker(model, "linearize", where)
        J = model.jacobian(marker, q)
    except DalembertError:
        return None
    change = _nothing(space, name, "N" if component >= 3 else "N m")
    body = marker.body.name
    if body in model.flexible_names or body not in model.body_names:
        change.tau[:] = J[component]
        return change
    k = model.body_names.index(body)
    change.loads[k, component] = 1.0
    if component >= 3:
        arm = model.pose(marker, q).position - model.poses(q).position[k]
        change.loads[k, :3] = np.cross(arm, np.eye(3)[component - 3])
    return change


# ---- drives


def _driven(space: Tangent, drive: Drive, level: int, name: str) -> InputEffect:
    if isinstance(drive, PoseDrive):
        raise ModelError(
            "linearize", "input", name, "the drive of an orientation is no input: drive single coordinates"
        )
    if level < drive.level:
        given = f"the drive prescribes the {LEVELS[drive.level]}"
        raise ModelError("linearize", "input", name, f"{given}: {drive.name + '.' + LEVELS[drive.level]!r}")
    model, s = space.model, space.state
    unit = ("m" if _is_length(model, drive) else "rad") + ("", "/s", "/s2")[level]
    change = _nothing(space, name, unit)
    change.drive, change.level = drive.name, level
    rows = StateConstraints.of(model, space.conditions, s.t)
    slopes = np.zeros(3)  # of the target of the driven row or degree of freedom at each level, per unit
    slopes[level] = 1.0
    if not drive.of_joint:
        slopes = _target_slopes(drive, float(s.t), level)
        change.hidden = bool(slopes[2])
    P = model.constraint_jacobian(s.q, t=s.t) if model.nc else np.zeros((0, model.nv))
    if slopes[0]:
        change.xi = slopes[0] * _particular(model, drive, P, rows.placing, rows.placed, space.positions, rows)
    dv = np.zeros(model.nv)
    if slopes[1]:
        dv = slopes[1] * _particular(model, drive, P, rows.held, rows.paced, space.speeds, rows)
    if change.xi.any() and model.nc:
        w = rate_slopes(model, s, rows.placing, change.xi[:, None], space.K)[:, 0]
        dv = dv - _solved(P, w, rows.held, rows.paced, space.speeds, rows)
    change.dv = dv
    if slopes[2]:
        change.da = slopes[2] * _accelerated(space, drive, P, rows)
    return change


def _is_length(model: Model, drive: Drive) -> bool:
    names = model.compiled.names
    if drive.of_joint:
        return names.speed_units[driven_dof(model, drive)[0]] == "m"
    return names.row_units[driven_row(model, drive)] == "m"


def _target_slopes(drive: Drive, t: float, level: int) -> Array:
    """Return derivatives of residual, rate and second rate of a driven row by a level of the drive."""
    element = drive.connection.element
    assert isinstance(element, (Constraint, CustomCoupling))
    at = np.array(drive.law(t), dtype=float)
    h = 1e-5 * (1.0 + np.abs(at[level]))
    up, down = at.copy(), at.copy()
    up[level] += h
    down[level] -= h
    change: Array = (np.array(element.target(*up)) - np.array(element.target(*down))) / (2 * h)
    return np.where(np.abs(change) > 1e-9, change, 0.0)


def _solved(P: Array, w: Array, active: BoolArray, fixed: BoolArray, kept: IndexArray, rows: StateConstraints) -> Array:
    """Return the motion (nv,) with P x = w in active rows, and zero fixed and independent velocities."""
    x = np.zeros(P.shape[1])
    loose = ~fixed
    loose[kept] = False
    S, D = rows.loops.row_scales[active], rows.loops.column_scales[loose]
    J = S[:, None] * P[active][:, loose] * D
    x[loose] = D * np.linalg.lstsq(J, S * w[active], rcond=ROW_RANK_TOL)[0]
    return x


def _particular(
    model: Model, drive: Drive, P: Array, active: BoolArray, fixed: BoolArray, kept: IndexArray, rows: StateConstraints
) -> Array:
    """Return the motion (nv,) with a unit driven velocity, and zero independent and other driven velocities."""
    if not drive.of_joint:
        wanted = np.zeros(len(P))
        wanted[driven_row(model, drive)] = 1.0
        return _solved(P, wanted, active, fixed, kept, rows)
    place = driven_dof(model, drive)[0]
    x = np.zeros(P.shape[1])
    x[place] = 1.0
    return x - _solved(P, P[:, place], active, fixed, kept, rows) if len(P) else x


def _accelerated(space: Tangent, drive: Drive, P: Array, rows: StateConstraints) -> Array:
    """Return A_u of (2), (nv,)."""
    model, q = space.model, space.state.q
    given = (
        driven_speeds(model, 2)
        if space.conditions is None
        else np.array(space.conditions.acceleration_prescribed, dtype=bool)
    )
    S, D = rows.loops.row_scales[rows.held], rows.loops.column_scales
    J = S[:, None] * P[rows.held] * D
    u = _particular(model, drive, P, rows.held, given, np.zeros(0, dtype=np.intp), rows)
    W = D[:, None] * null_space(J, ROW_RANK_TOL, 1.0, ~given)
    M = model.mass_matrix(q)
    return np.asarray(u - W @ np.linalg.solve(W.T @ M @ W, W.T @ (M @ u))) if W.shape[1] else u


def present_inputs(space: Tangent) -> Array:
    """Return the element inputs given by time laws at the state, in the order of the core."""
    model, s = space.model, space.state
    taken = model.report(["law_inputs"], s.t, s.q, s.v, s.x, **space.under)["law_inputs"]
    of_laws = model.compiled.tables["inputs"]["source"] == number("source", "law")
    return np.asarray(taken[of_laws])
