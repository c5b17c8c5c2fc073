"""Outputs of the system as a whole: energies, momentum, residuals, all coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...model import Model
from .contacts import contact_losses
from .motion import Motion
from .output import Output, Source, Value, number, vector
from .units import effort_unit, joined, rate_unit, row_units

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["SYSTEM_OUTPUTS"]

Maker = Callable[[Model, str], Output]


def _number(unit: str, meaning: str, value: Value, needs: str = "position", source: Source | None = None) -> Maker:
    return lambda model, name: number(name, unit, meaning, value, needs, source)


def _vector(unit: str, meaning: str, value: Value, needs: str = "position") -> Maker:
    return lambda model, name: vector(name, unit, meaning, value, needs)


def _over_time(meaning: str, history: Callable[[Result], Array]) -> Maker:
    def refuse(motion: Motion) -> Array:
        raise ModelError("output", "name", meaning, "it depends on earlier states: use a Result")

    return lambda model, name: Output(name, "J", (), meaning, refuse, needs="history", history=history)


def _columns(
    labels: Callable[[Model], tuple[str, ...]],
    units: Callable[[Model], list[str]],
    meaning: str,
    value: Value,
    needs: str,
) -> Maker:
    def make(model: Model, name: str) -> Output:
        names = labels(model)
        unit = joined(units(model)) if names else "1"
        source = Source.span(name, range(len(names)))
        return Output(name, unit, (len(names),), meaning, value, labels=names, needs=needs, source=source)

    return make


def _balance(result: Result) -> Array:
    """Return the balance since the first stored state; impacts up to there, also those of the start, are not in it."""
    total, (work, dissipated) = result["energy.total"], result._works
    every = total - total[0] - work + dissipated
    return np.asarray(every - every[:1])


def _momentum(m: Motion) -> Array:
    return m.model.momentum(m.q, m.v)


SYSTEM_OUTPUTS: dict[str, Maker] = {
    "energy.kinetic": _number(
        "J", "kinetic energy", lambda m: m.energy.kinetic.copy(), "speed", Source("energy", (0,))
    ),
    "energy.potential": _number(
        "J",
        "potential energy of gravity (zero at the world's origin), of springs and of deformation",
        lambda m: m.energy.potential + m.stored,
        "speed",
        Source("energy", (1, 2), combined="sum"),
    ),
    "energy.total": _number(
        "J",
        "kinetic and potential energy",
        lambda m: m.energy.total + m.stored,
        "speed",
        Source("energy", (0, 1, 2), combined="sum"),
    ),
    "energy.work": _over_time("work of drives and external loads since the start", lambda r: r._works[0].copy()),
    "energy.dissipated": _over_time(
        "energy dissipated in dampers, friction and impacts since the start", lambda r: r._works[1].copy()
    ),
    "energy.friction": _over_time(
        "energy dissipated by friction of contacts since the start", lambda r: contact_losses(r)[0]
    ),
    "energy.impacts": _over_time(
        "energy that contacts lost along their normals since the start", lambda r: contact_losses(r)[1]
    ),
    "energy.balance": _over_time("change of total energy - work + dissipated: zero but for errors", _balance),
    "power": _number("W", "power supplied by drives and external loads", lambda m: m.power.copy(), "dynamics"),
    "momentum.linear": _vector("N s", "linear momentum of all bodies", lambda m: _momentum(m)[:, 3:], "speed"),
    "momentum.angular": _vector(
        "N m s",
        "angular momentum of all bodies about their centre of mass",
        lambda m: _momentum(m)[:, :3],
        "speed",
    ),
    "center_of_mass": _vector("m", "centre of mass of all bodies", lambda m: m.model.center_of_mass(m.q)),
    "constraints.residual": _number(
        "m or rad", "largest violation of a constraint in position", lambda m: m.worst("residual")
    ),
    "constraints.velocity_residual": _number(
        "m/s or rad/s", "largest violation of a constraint in velocity", lambda m: m.worst("residual_rate"), "speed"
    ),
    "q": _columns(
        lambda model: model.coordinate_names,
        lambda model: list(model.compiled.names.coordinate_units),
        "coordinates",
        lambda m: m.q.copy(),
        "position",
    ),
    "v": _columns(
        lambda model: model.speed_names,
        lambda model: [rate_unit(unit) for unit in model.compiled.names.speed_units],
        "speeds",
        lambda m: m.v.copy(),
        "speed",
    ),
    "a": _columns(
        lambda model: model.speed_names,
        lambda model: [rate_unit(unit, "s2") for unit in model.compiled.names.speed_units],
        "accelerations, the rates of v",
        lambda m: m.part("a").copy(),
        "dynamics",
    ),
    "tau": _columns(
        lambda model: model.speed_names,
        lambda model: [effort_unit(unit) for unit in model.compiled.names.speed_units],
        "joint forces: of elements and control, and of drives at driven coordinates",
        lambda m: m.part("tau").copy(),
        "dynamics",
    ),
    "lam": _columns(
        lambda model: model.constraint_names,
        row_units,
        "multipliers of the constraint rows, acting on second markers",
        lambda m: m.part("lam").copy(),
        "dynamics",
    ),
    "x": _columns(
        lambda model: tuple(f"x{k}" for k in range(model.nx)),
        lambda model: ["1"] * model.nx,
        "states of elements",
        lambda m: m.x.copy(),
        "position",
    ),
}
"""Outputs of the system as a whole, by name."""
