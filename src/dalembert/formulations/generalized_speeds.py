"""User-defined generalized speeds: u = Y v + z, u' = Y v' + bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_array, shape_of
from ..connections.formulas.differentiation import Rate
from ..connections.formulas.expressions import Program
from ..connections.formulas.formula_parameters import TIME, checked_parameters, compile_into
from ..connections.formulas.program_algebra import ProgramBuilder
from ..connections.formulas.row_programs import row_programs
from ..errors import ModelError
from .setting import ModelAtState

__all__ = ["Speeds", "chosen_speeds"]


_ITEM = "Kane's speeds"
_PARTS = {"angular_velocity": 0, "velocity": 3}


@dataclass(frozen=True, eq=False)
class Speeds:
    """Generalized speeds u = Y v + z, u' = Y v' + bias at one state: names (nu,), Y (nu, nv), z and bias (nu,)."""

    names: tuple[str, ...]
    Y: Array
    z: Array
    bias: Array


def chosen_speeds(here: ModelAtState, speeds: Any, parameters: Mapping[str, float]) -> Speeds:
    """Return the generalized speeds given by names, formulas, or a matrix."""
    nv = here.model.nv
    if isinstance(speeds, Mapping):
        return _by_formulas(here, speeds, parameters)
    if isinstance(speeds, str):
        speeds = [speeds]
    shape = shape_of(speeds)
    if shape is not None and len(shape) == 2 and not _has_text(speeds):
        Y = finite_array(speeds, (shape[0], nv), item=_ITEM, field="speeds")
        zero = np.zeros(len(Y))
        return Speeds(tuple(f"u{k + 1}" for k in range(len(Y))), Y, zero, zero)
    if not isinstance(speeds, Sequence):
        raise ModelError(_ITEM, "speeds", speeds, "give names, a dict of formulas, or a matrix (nu, nv)")
    rows = [_by_name(here, one) for one in speeds]
    names = tuple(one if isinstance(one, str) else f"{one[0]} in {one[1]}" for one in speeds)
    Y = np.array([row for row, _ in rows]).reshape(len(rows), nv)
    return Speeds(names, Y, np.zeros(len(rows)), np.array([bias for _, bias in rows]))


def _has_text(speeds: Any) -> bool:
    return isinstance(speeds, Sequence) and any(
        isinstance(one, str) or (isinstance(one, Sequence) and any(isinstance(x, str) for x in one)) for one in speeds
    )


def _by_name(here: ModelAtState, one: Any) -> tuple[Array, float]:
    """Return the row of Y and the bias of a named speed; a pair, or ``"... in B"``: in axes of a body or marker."""
    name, axes = one if isinstance(one, (tuple, list)) and len(one) == 2 else (one, None)
    if axes is None and isinstance(name, str) and " in " in name:  # syntax of output names
        name, _, axes = name.partition(" in ")
    model = here.model
    plain = name.removesuffix(".speed") if isinstance(name, str) else name
    if axes is None and plain in model.speed_names:
        return np.eye(model.nv)[model.speed_names.index(plain)], 0.0
    owner, _, rest = str(name).rpartition(".")
    owner, _, quantity = owner.rpartition(".")
    if quantity not in _PARTS or rest not in ("x", "y", "z"):
        near = ", ".join(map(repr, model.speed_names[:4]))
        raise ModelError(_ITEM, "name", name, f"give a joint speed ({near}, ...) or 'body.velocity.x' and the like")
    frame, at = here.kane.marker(model.system.marker(owner)), _PARTS[quantity]
    k = "xyz".index(rest)
    J, rate = frame.J[at : at + 3], (frame.J_dot @ here.v)[at : at + 3]
    if axes is None:
        return J[k], float(rate[k])
    other = here.kane.marker(model.system.marker(axes))
    # (R^T x)' = R^T (x' - omega x x)
    rate = rate - np.cross(here.v @ other.omega, J @ here.v)
    return other.R[:, k] @ J, float(other.R[:, k] @ rate)


def _by_formulas(here: ModelAtState, formulas: Mapping[str, Any], parameters: Mapping[str, float]) -> Speeds:
    """Return speeds given by formulas in coordinates and joint velocities; derivatives by the chain rule."""
    model = here.model
    coordinates = [_identifier(name) for name in model.coordinate_names]
    rates_too = {name for name in model.speed_names if name in model.coordinate_names}
    speeds = [f"d{_identifier(name)}" if name in rates_too else _identifier(name) for name in model.speed_names]
    program = Program((*coordinates, TIME, *speeds, *(f"_rate_of_{name}" for name in coordinates)))
    inputs = [program.emit("input", k) for k in range(len(program.inputs))]
    k, nq, nv = ProgramBuilder(program), model.nq, model.nv
    names = dict(zip(program.inputs[: nq + 1 + nv], inputs[: nq + 1 + nv], strict=True))
    numbers = checked_parameters(_ITEM, parameters)
    places = compile_into(k, list(formulas.values()), names, numbers, item=_ITEM)
    moving = Rate(k, {**dict(zip(inputs[:nq], inputs[nq + 1 + nv :], strict=True)), inputs[nq]: k.one})
    first, second = row_programs(
        k,
        list(formulas.values()),
        places,
        moving,
        inputs[nq + 1 : nq + 1 + nv],
        item=_ITEM,
        by_rates=True,
        names=speeds,
        what="the speeds",
    )
    given = [*here.q, here.t, *here.v, *model.coordinate_rates(here.q, here.v)]
    values, n = np.array(first.numbers(given)), len(formulas)
    bias = np.array(second.numbers(given))
    return Speeds(tuple(formulas), values[n : n + n * nv].reshape(n, nv), values[n + n * nv :], bias)


def _identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name).rstrip("_")
