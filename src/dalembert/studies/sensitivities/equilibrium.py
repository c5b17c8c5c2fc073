"""Derivatives of equilibria and of their vibration modes by model parameters.

In equilibrium the accelerations a, the rates of element states and the loop residuals phi are zero. Differentiation by
the parameters p gives

    a_q dq + a_x dx = -a_p dp,   x'_q dq + x'_x dx = -x'_p dp,   P dq = -phi_p dp                                (1)

Eigenvalues are differentiated by fourth-order central differences of the modes at neighbouring equilibria, which are
moved by (1). Coincident eigenvalues have no individual derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Array, ComplexArray
from ...errors import GradientError, ModelError
from ...linear import modes
from ...model import Model, State
from ...model.conditions import parameter_directions, parameter_value
from ...result import Result
from ...statics import equilibrium
from .directions import ParameterDirection, StateDerivatives, slope
from .initial_state import row_slopes

__all__ = ["equilibrium_slopes", "mode_slopes"]


DIFFERENCE_STEP = 1e-3  # relative change of a parameter at which modes are evaluated
COINCIDENT_TOL = 1e-6  # relative to the largest eigenvalue; closer eigenvalues coincide
MODES = ("eigenvalues", "frequencies", "natural_frequencies", "damping_ratios")


def _rest(model: Model, names: Sequence[str], settings: Mapping[str, Any]) -> tuple[Any, list[ParameterDirection]]:
    """Return an equilibrium and its derivatives by parameters."""
    for name in names:
        if name not in model.parameter_names:
            remedy = "an equilibrium has derivatives by parameters of the system only: s.parameters lists them"
            raise ModelError("sensitivity", "by", name, remedy)
    if model.drives:
        remedy = "derivatives of equilibria with drives are not supported: use stiff springs instead, or da.sweep"
        raise ModelError("sensitivity", "drives", model.drives[0].name, remedy)
    found = equilibrium(model, **settings)
    for what, active in (("friction", found.friction), ("stops", found.stops), ("unknown", found.unknown)):
        if active:
            remedy = "derivatives of equilibria that these determine are not supported: use da.sweep"
            raise ModelError("sensitivity", what, active, remedy)
    if np.any(found.v):
        raise ModelError(
            "sensitivity", "speeds", found.v, "derivatives of steady motions are not supported: use da.sweep"
        )
    return found, [
        ParameterDirection(name, name, _size(found.conditions.model, name), change)
        for name, change in zip(names, _changes(found, names), strict=True)
    ]


def _size(model: Model, name: str) -> float:
    return abs(float(parameter_value(model, name, model.parameters))) or 1.0


def _changes(found: Any, names: Sequence[str]) -> Array:
    """Return the derivatives of an equilibrium by (1), (m, 2 nv + nx)."""
    conditions = found.conditions
    model = conditions.model
    nv, nx = model.nv, model.nx
    directions = parameter_directions(model, names, model.parameters, "sensitivity")
    parts = [3 * kind + what for kind in (0, 2, 6) for what in (0, 1)]
    a_q, x_q, a_x, x_x, a_p, x_p = model._d_dynamics(
        parts, found.q, found.v, t=found.t, x=found.x, conditions=conditions, directions=directions
    )
    P = model.constraint_jacobian(found.q, t=found.t) if model.nc else np.zeros((0, nv))
    state = State(found.q, found.v, found.t, found.x)
    matrix = np.block([[a_q, a_x], [x_q, x_x], [P, np.zeros((len(P), nx))]])
    right = -np.concatenate([a_p, x_p, row_slopes(model, state, names)[0]])
    scale = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
    change, _, rank, _ = np.linalg.lstsq(matrix / scale[:, None], right / scale[:, None], rcond=1e-11)
    misfit = np.abs(matrix @ change - right).max(axis=0, initial=0.0)
    if rank < nv + nx:
        raise GradientError("the equilibrium has no derivative: some motions have no stiffness")
    if (misfit > 1e-8 * (1.0 + np.abs(right).max(axis=0, initial=0.0))).any():
        name = names[int(misfit.argmax())]
        raise GradientError(f"the equilibrium has no derivative by {name!r}: it opens redundant loop constraints")
    return np.concatenate([change[:nv], np.zeros((nv, len(names))), change[nv:]]).T


def _result(found: Any) -> Result:
    return Result(found.conditions.model, [found.t], found.q[None], found.v[None], found.x[None])


def equilibrium_slopes(
    model: Model, outputs: Mapping[str, str], names: Sequence[str], settings: Mapping[str, Any]
) -> tuple[Result, dict[str, Array], dict[str, Array], dict[str, str]]:
    """Return the equilibrium, its outputs, their derivatives (..., m) and units."""
    found, directions = _rest(model, names, settings)
    result = _result(found)
    kept = StateDerivatives(result, tuple(directions), result.t, np.stack([d.start for d in directions], axis=1)[None])
    values, derivatives, units = {}, {}, {}
    for label, name in outputs.items():
        output, y, dy = kept.output(name)
        values[label], derivatives[label], units[label] = y[0], dy[0], output.unit
    return result, values, derivatives, units


def mode_slopes(
    model: Model, outputs: Mapping[str, str], names: Sequence[str], settings: Mapping[str, Any]
) -> tuple[Result, dict[str, Array], dict[str, Array], dict[str, str]]:
    """Return the equilibrium, eigenvalues or derived quantities, their derivatives (n, m) and units."""
    for name in outputs.values():
        if name not in MODES:
            raise ModelError("sensitivity", "outputs", name, f"modes have {', '.join(map(repr, MODES))}")
    found, directions = _rest(model, names, settings)
    first = modes(found.conditions.model, found)
    _check_pairs(first.eigenvalues)

    def perturbed(direction: ParameterDirection, h: float) -> Array:
        at = found.conditions.perturbed(direction.name, h).model
        change = h * direction.start
        q = at.integrate(found.q, change[: at.nv])
        other = modes(at, State(q, found.v, found.t, found.x + change[2 * at.nv :]))
        if len(other) != len(first):
            raise GradientError(f"the number of modes changes with {direction.name!r}: modes have no derivative")
        near = np.abs(other.eigenvalues[None] - first.eigenvalues[:, None]).argmin(axis=1)
        return np.stack([np.asarray(getattr(other, name), dtype=complex)[near] for name in outputs.values()])

    slopes = np.stack([slope(partial(perturbed, d), DIFFERENCE_STEP * d.size) for d in directions], axis=-1)
    values, derivatives, units = {}, {}, {}
    for k, (label, name) in enumerate(outputs.items()):
        value = np.asarray(getattr(first, name))
        real = not np.iscomplexobj(value)
        values[label], derivatives[label] = value, slopes[k].real if real else slopes[k]
        units[label] = {"eigenvalues": "1/s", "damping_ratios": ""}.get(name, "Hz")
    return _result(found), values, derivatives, units


def _check_pairs(eigenvalues: ComplexArray) -> None:
    """Raise if eigenvalues coincide."""
    for k in range(1, len(eigenvalues)):
        gaps = np.abs(eigenvalues[:k] - eigenvalues[k])
        if gaps.min() <= COINCIDENT_TOL * np.abs(eigenvalues).max():
            raise GradientError(
                f"modes {int(gaps.argmin())} and {k} have the same eigenvalue, {eigenvalues[k]:.6g} 1/s; it splits "
                "as parameters change, and neither mode has a derivative"
            )
