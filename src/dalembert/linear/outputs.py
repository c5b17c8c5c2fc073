"""Outputs of a linear system by name: rows C by the independent states and D by the inputs.

Coordinates, velocities and accelerations of the tree, element states and marker positions have exact rows. Every other
output of a `Result` is differentiated along the tangent space and along the input effects by fourth-order central
differences. Outputs are smooth off the loop constraints, and the closure error of a step is even in the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray
from ..errors import ModelError
from ..model import Conditions, DynamicsDerivatives, Model
from ..model.conditions import parameter_value
from ..model.drive_targets import drive_targets
from ..result import Motion, Output, single_period
from .inputs import InputEffect, present_inputs
from .small_motions import small_motion_names
from .tangent import Tangent

__all__ = ["OutputRows", "read_outputs"]


DIFFERENCE_STEP = 1e-3  # fourth order: truncation 1e-12 of the output's fifth derivative; round-off 1e-13 of its size


@dataclass(frozen=True, eq=False)
class OutputRows:
    """Output rows of a linear system.

    Attributes
    ----------
    names, units : tuple of str, (n,)
    C : (n, states), D : (n, inputs)
    exact : (n,) bool
        False for rows by differences.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    C: Array
    D: Array
    exact: BoolArray


def read_outputs(
    space: Tangent, d: DynamicsDerivatives, outputs: Sequence[Any], changes: list[InputEffect]
) -> OutputRows:
    """Return the rows of outputs by name, or of functions of a `State`."""
    directions = _Directions(space, changes)
    found: list[tuple[str, str, Array, bool]] = []
    later: list[tuple[int, Output]] = []
    for what in outputs:
        exact = _exact(space, d, what, directions) if isinstance(what, str) else None
        if exact is not None:
            found += exact
            continue
        output = Output.of(space.model, what)
        later.append((len(found), output))
        found.append((output.name, output.unit, np.zeros(0), False))
    for place, output in reversed(later):
        rows, labels = directions.differ(output)
        units = output.unit.split(", ")
        units = units if len(units) == len(labels) else [output.unit] * len(labels)
        found[place : place + 1] = [
            (label, unit, row, False) for label, unit, row in zip(labels, units, rows, strict=True)
        ]
    n = space.size
    rows = np.array([row for _, _, row, _ in found]).reshape(len(found), n + len(changes))
    exact_rows = np.array([each[3] for each in found], dtype=bool)
    return OutputRows(tuple(f[0] for f in found), tuple(f[1] for f in found), rows[:, :n], rows[:, n:], exact_rows)


class _Directions:
    """Unit changes of all independent states, then of all inputs."""

    def __init__(self, space: Tangent, changes: list[InputEffect]) -> None:
        self.space, self.changes = space, changes
        xi, dv, dx = space.directions
        model, n, m = space.model, space.size, len(changes)

        def joined(first: Array, parts: list[Array]) -> Array:
            return np.vstack([first, np.array(parts).reshape(m, first.shape[1])])

        self.xi = joined(xi.T, [c.xi for c in changes])
        self.dv = joined(dv.T, [c.dv for c in changes])
        self.dx = np.vstack([dx.T, np.zeros((m, model.nx))])
        self.tau = joined(np.zeros((n, model.nv)), [c.tau for c in changes])
        self.loads = joined(np.zeros((n, 6 * model.nb)), [c.loads.ravel() for c in changes])
        self.laws = joined(np.zeros((n, len(model.compiled.elements.inputs_by_law))), [c.laws for c in changes])
        D, x = model.compiled.tables["column_scale"], np.abs(space.state.x)
        of_inputs = [_size(space, change) for change in changes]
        self.scale = np.concatenate([D[space.positions], D[space.speeds], np.maximum(1.0, x), of_inputs])

    def differ(self, output: Output) -> tuple[Array, list[str]]:
        """Return derivatives (components, directions) of an output, and names of its components."""
        if output.base is not None:
            rows, labels = self.differ(output.base)
            behind = output.name[len(output.base.name) :]
            return output.factor * rows, [label + behind for label in labels]
        if output.history is not None:
            remedy = "it depends on the history of the run, and has no value at a state"
            raise ModelError("linearize", "output", output.name, remedy)
        for change in self.changes if output.needs == "dynamics" else ():
            if change.hidden:
                remedy = f"its derivative by {change.name!r} is not available: use outputs of positions and velocities"
                raise ModelError("linearize", "output", output.name, remedy)
        steps = [self._values(output, k * DIFFERENCE_STEP) for k in (1, -1, 2, -2)]
        up, down, far_up, far_down = steps
        if output.branch:  # angles modulo 2 pi
            turn = np.array([kind == "turn" for kind in output.branch])
            for values in (down, far_up, far_down):
                away = np.round((values - up) / (2 * np.pi))
                values -= np.where(turn, 2 * np.pi * away, 0.0)
            sign = np.array([kind == "sign" for kind in output.branch])
            for values in (down, far_up, far_down):
                flipped = (values * up * sign).sum(-1, keepdims=True) < 0
                values *= np.where(flipped & sign, -1.0, 1.0)
        rows = (8 * (up - down) - (far_up - far_down)).T / (12 * DIFFERENCE_STEP * self.scale)
        if len(rows) == 1:
            labels = [output.name]
        elif output.labels:
            labels = [f"{output.name}.{label}" for label in output.labels]
        else:
            labels = [f"{output.name}[{k}]" for k in range(len(rows))]
        return rows, labels

    def _values(self, output: Output, h: float) -> Array:
        """Return an output (directions, components) at the state moved by h along each direction."""
        s, model = self.space.state, self.space.model
        count, by = len(self.xi), h * self.scale[:, None]
        q = model.integrate(np.tile(s.q, (count, 1)), by * self.xi)
        motion = _MotionWithVariedInputs(
            self, by, model, np.full(count, s.t), q, s.v + by * self.dv, s.x + by * self.dx
        )
        values = np.asarray(output.value(motion), dtype=float).reshape(count, -1).copy()
        for k, change in enumerate(self.changes, self.space.size):
            if change.parameter:
                values[k] = self._with_number(output, change, float(by[k, 0]))
        return values

    def _with_number(self, output: Output, change: InputEffect, step: float) -> Array:
        """Return an output (components,) with a changed parameter, with loops closed again."""
        s, base, name = self.space.state, self.space.conditions, change.parameter
        base = self.space.model.conditions() if base is None else base
        now = parameter_value(base.model, name, base.parameters)
        conditions = base.with_parameter(name, now + step, item="linearize")
        q = conditions.model.integrate(s.q, step * change.xi)
        one = (np.array([s.t]), q[None], (s.v + step * change.dv)[None], s.x[None])
        value = output.value(_MotionWithInputs(self.space.inputs, conditions, *one))
        return np.asarray(value, dtype=float).reshape(-1)


class _MotionWithInputs(Motion):
    """States under conditions, with inputs in place of time laws."""

    def __init__(self, inputs: Array | None, conditions: Conditions, t: Array, q: Array, v: Array, x: Array) -> None:
        super().__init__(conditions.model, t, q, v, x, conditions=single_period(conditions))
        self._how: dict[str, Any] = {"conditions": conditions}
        if inputs is not None:
            self._how["inputs"] = np.tile(inputs, (len(q), 1))

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        return self.model.report(parts, self.t, self.q, self.v, self.x, **self._how)


class _MotionWithVariedInputs(Motion):
    """Batch of states with different inputs."""

    def __init__(self, at: _Directions, h: Array, model: Model, t: Array, q: Array, v: Array, x: Array) -> None:
        conditions = at.space.conditions
        super().__init__(model, t, q, v, x, conditions=None if conditions is None else single_period(conditions))
        self._directions, self._h = at, h

    def _reported(self, parts: list[str]) -> dict[str, Array]:
        at, h, model = self._directions, self._h, self.model
        space, base = at.space, at.space.conditions
        names = sorted(_core.report_parts.index(part) for part in parts)
        laws = np.full(at.laws.shape, np.nan) if space.inputs is None else np.tile(space.inputs, (len(at.laws), 1))
        if at.laws.any():
            laws = np.where(at.laws != 0.0, present_inputs(space) + h * at.laws, laws)
        given = np.tile(_prescribed(space), (len(self), 1))
        n = space.size
        for k, change in enumerate(at.changes):
            if change.drive:
                given[n + k] += h[n + k] * change.da
        loads = (h * at.loads).reshape(len(self), model.nb, 6)
        more: dict[str, Array] = {"t": self.t, "x": self.x, "tau": h * at.tau, "loads": loads}
        if at.laws.shape[1]:
            more["inputs"] = laws
        if any(change.drive for change in at.changes):
            more["a"] = given
        found = model._report(names, self.q, self.v, **more, conditions=base)
        return {_core.report_parts[place]: values for place, values in zip(names, found, strict=True)}


def _size(space: Tangent, change: InputEffect) -> float:
    """Return the typical magnitude of an input, for difference steps."""
    if change.parameter:
        model, conditions = space.model, space.conditions
        values = model.parameters if conditions is None else conditions.parameters
        return abs(float(values[model.parameter_names[change.parameter]])) or 1.0
    return space.model.length if change.drive and change.unit.startswith("m") else 1.0


def _prescribed(space: Tangent) -> Array:
    """Return the accelerations (nv,) prescribed by drives at the state; zero elsewhere."""
    a = drive_targets(space.model, float(space.state.t))[2]
    return np.where(np.isnan(a), 0.0, a)


def _exact(
    space: Tangent, d: DynamicsDerivatives, name: str, at: _Directions
) -> list[tuple[str, str, Array, bool]] | None:
    """Return exact rows of an output; None if unavailable."""
    model, n = space.model, space.size
    units = model.compiled.names.speed_units
    states = space.state_names
    if name in states:
        k = states.index(name)
        unit = units[space.positions[k]] if k < space.ny else ""
        return [(name, unit, np.eye(n + len(at.changes))[k], True)]
    base, _, ending = name.rpartition(".")
    small = small_motion_names(model)
    owner = base if base in small else (name if name in small else "")
    if owner and owner in model.coordinate_names:
        k = small.index(owner)
        if name == owner or ending == "position":
            return [(name, units[k], at.xi[:, k], True)]
        if ending == "speed":
            return [(name, f"{units[k]}/s", at.dv[:, k], True)]
        if ending == "acceleration":
            return [(name, f"{units[k]}/s2", _accelerations(space, d, at)[k], True)]
    if ending == "position" or (ending in ("x", "y", "z") and base.endswith(".position")):
        where = base if ending == "position" else base.rpartition(".")[0]
        if where in model.connection_names or where in model.system.forces:
            return None
        if any(c.parameter and model.parameter_names[c.parameter] >= model.n_element_parameters for c in at.changes):
            return None  # marker positions may depend on such parameters
        try:
            J = model.jacobian(where, space.state.q)[3:] @ at.xi.T
        except ModelError:
            return None
        if ending == "position":
            return [(f"{name}.{axis}", "m", row, True) for axis, row in zip("xyz", J, strict=True)]
        return [(name, "m", J["xyz".index(ending)], True)]
    return None


def _accelerations(space: Tangent, d: DynamicsDerivatives, at: _Directions) -> Array:
    """Return derivatives of all accelerations (nv, directions)."""
    parameters = [c.parameter for c in at.changes if c.parameter]
    own = at.space.directions
    states = d.a.q @ own[0] + d.a.v @ own[1] + d.a.x @ own[2]
    inputs = [change.rates(space, d, parameters)[1] for change in at.changes]
    return np.hstack([states, np.array(inputs).reshape(len(inputs), space.model.nv).T])
