"""Operating points of a linearization: start state, given state, state of a result or equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import finite_number
from ..errors import ModelError
from ..model import Conditions, Model, SampledControl, State, as_model
from ..model.callbacks import shortest_delay
from ..result import Result
from ..simulation.start import parameter_differences, start_state
from ..system import System
from .tangent import Tangent

__all__ = ["OperatingPoint", "as_plain_state", "conditions_of", "inputs_of", "operating_point", "same_coordinates"]


@dataclass(eq=False)
class OperatingPoint:
    """Operating point of a linearization, with its conditions and notes.

    Attributes
    ----------
    model : Model
        With the parameter values of the conditions.
    state : State
        Consistent with the loops.
    conditions : Conditions or None
    inputs : array or None
        In place of time laws, as returned by `Model.input_values`.
    notes : list of str
    """

    model: Model
    state: State
    conditions: Conditions | None = None
    inputs: Array | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def under(self) -> dict[str, Any]:
        """Keyword arguments of kernels besides the state: conditions and inputs."""
        return {"conditions": self.conditions, "inputs": self.inputs}


def operating_point(
    system: System | Model, state: Any = None, t: float | None = None, conditions: Conditions | None = None,
    *, item: str = "linearize",
) -> OperatingPoint:  # fmt: skip
    """Return the operating point from user arguments.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, Result, equilibrium, or anything with a method `state()`
        Default the start state of the system. The parameters, locks and inputs of a run or equilibrium are taken over.
    t : float, s
        Time of a state of a result; else the time of the state.
    conditions : Conditions
        Replaces those of the run or equilibrium.
    """
    model = as_model(system)
    if np.isfinite(shortest_delay(model)):
        remedy = (
            "inputs with a da.Delay depend on the past, not on the state: remove the delay, or replace it by a lag "
        )
        remedy += "(da.TransferFunction)"
        raise ModelError(item, "system", model.system.name, remedy)
    if isinstance(conditions, Conditions):
        check_conditions(model, conditions, item)
    time = None if t is None else finite_number(t, item=item, field="t")
    given, then, inputs = _brought(state, time, item)
    at = OperatingPoint(model, State(np.zeros(0), np.zeros(0)))
    if then is not None:
        conditions = _taken_over(at, then, conditions, item)
    if inputs:
        at.inputs = model.input_values(inputs)
        shown = ", ".join(f"{name!r} = {value:.6g}" for name, value in inputs.items())
        at.notes.append(f"the inputs of the equilibrium were used: {shown}")
    if isinstance(conditions, Conditions):
        check_conditions(model, conditions, item)
        at.conditions = conditions
        at.model = conditions.model  # with its own inertia and markers
    at.state, start_notes = _obeying(at, given, given.t if isinstance(state, Result) else time, item)
    at.notes = [*start_notes, *at.notes]
    return at


def _obeying(at: OperatingPoint, given: Any, time: float | None, item: str) -> tuple[State, list[str]]:
    """Return the state with closed loops, and notes on changes to it."""
    when = time if time is not None else float(getattr(given, "t", 0.0))
    if isinstance(given, State) and np.ndim(given.q) != 1:
        raise ModelError(item, "the shape of state.q", np.shape(given.q), "give one state")
    if isinstance(given, State) and at.conditions is not None and (at.conditions.off or at.conditions.locked):
        x = given.x if np.size(given.x) else at.model.element_start_values()
        return State(np.array(given.q), np.array(given.v), when, np.array(x)), []
    found = start_state(at.model, given, when)
    notes = found.notes
    if np.ndim(found.q) != 1:
        raise ModelError(item, "the shape of state.q", np.shape(found.q), "give one state")
    return found, notes


# ---- conditions and inputs of runs and equilibria


def _brought(state: Any, t: float | None, item: str) -> tuple[Any, Conditions | None, dict[str, float]]:
    """Return a state, its conditions, if any, and inputs in place of time laws."""
    if isinstance(state, Result):
        given = state.final_state if t is None else state.at(t)
        known = state.conditions is not None and state.model is not None
        return given, state.conditions(np.array([given.t]))[0][1] if known and state.conditions else None, {}
    then, inputs = getattr(state, "conditions", None), getattr(state, "inputs", None)
    if state is not None and not isinstance(state, (State, Mapping)):
        giver = getattr(state, "state", None)
        if not callable(giver):
            remedy = "give a State, start values by name, a Result, or an equilibrium"
            raise ModelError(item, "state", state, remedy)
        state = giver()
    found = isinstance(then, Conditions)
    return as_plain_state(state), then if found else None, dict(inputs) if found and inputs else {}


def as_plain_state(state: Any) -> Any:
    """Return a state without the conditions and inputs of an equilibrium."""
    if isinstance(state, State) and isinstance(getattr(state, "conditions", None), Conditions):
        return State(state.q, state.v, state.t, state.x)
    return state


def conditions_of(model: Model, state: Any, conditions: Conditions | None, item: str) -> Conditions | None:
    """Return the given conditions, else those of a run or an equilibrium."""
    if conditions is not None or state is None:
        return conditions
    then = _brought(state, None, item)[1]
    return None if then is None else _taken_over(OperatingPoint(model, as_plain_state(state)), then, None, item)


def inputs_of(model: Model, state: Any, item: str) -> Array | None:
    """Return the inputs of an equilibrium in place of time laws, as returned by `Model.input_values`."""
    inputs = _brought(state, None, item)[2]
    return model.input_values(inputs) if inputs else None


def _taken_over(at: OperatingPoint, then: Conditions, requested: Conditions | None, item: str) -> Conditions | None:
    """Return the valid conditions: the requested ones, else those of the state, for a model with their parameters.

    Raise if model and state have different values of a parameter that both changed.
    """
    model, family = at.model, at.model.family
    if requested is not None:
        at.notes += parameter_differences(then.changed_parameters(requested.model, requested.parameters))
        return requested
    if then.model.parameter_names != model.parameter_names or then.model.speed_names != model.speed_names:
        if then.is_default:
            return None
        remedy = "its conditions belong to another system: give its model, or a State"
        raise ModelError(item, "state", f"a state of {then.model.system.name!r}", remedy)
    brought, own = then.changed_parameters(family), model.conditions().changed_parameters(family)
    for name in brought.keys() & own.keys():
        if brought[name][0] != own[name][0]:
            remedy = f"the model has {own[name][0]:.6g} and the state has {brought[name][0]:.6g}: use one value"
            raise ModelError(item, f"parameter {name!r}", own[name][0], remedy)
    at.notes += parameter_differences({name: (now[1], now[0]) for name, now in own.items() if name not in brought})
    if then.locked:
        held = [name for k, name in enumerate(model.speed_names) if k in then.locked]
        shown = ", ".join(map(repr, held)) or "a joint that closes a loop"
        at.notes.append(f"locks of the state were kept: {shown}; the plain state, eq.state(), leaves them free")
    if not (brought or then.locked or then.off or then.control):
        return None
    base = model.conditions({name: value for name, (value, _) in brought.items()})
    return base.changed(locked=then.locked, off=then.off, control=then.control)


def check_conditions(model: Model, conditions: Conditions, item: str) -> None:
    """Raise for conditions of another model, and for sampled control."""
    if conditions.model.family is not model.family:
        raise ModelError(
            item, "conditions", conditions, "they belong to another model: make them with model.conditions()"
        )
    if isinstance(conditions.control, SampledControl):
        remedy = "sampled control is no function of the state: linearize the plant, and add the controller afterwards"
        raise ModelError(item, "control", conditions.control, remedy)


def same_coordinates(space: Tangent) -> dict[str, Any]:
    """Return the arguments of `tangent_space` that choose the independent coordinates and velocities of `space`."""
    names = space.model.speed_names
    return {
        "independent_coordinates": [names[k] for k in space.positions],
        "independent_velocities": [names[k] for k in space.speeds],
    }
