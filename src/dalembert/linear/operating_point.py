"""States to linearise about: described, given, of a result, of an equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import finite_number
from ..errors import ModelError
from ..model import Conditions, Model, SampledControl, State, as_model
from ..result import Result
from ..simulation.start import parameter_differences, start_state
from ..system import System

__all__ = ["OperatingPoint", "as_plain_state", "conditions_of", "inputs_of", "operating_point"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class OperatingPoint:
    """What to linearise about, and what was said on the way.

    Attributes
    ----------
    model : Model
        With the parameter values of the conditions.
    state : State
        It obeys the loops.
    conditions : Conditions or None
    inputs : array or None
        In place of laws, as `Model.input_values` gives them.
    notes : list of str
    """

    model: Model
    state: State
    conditions: Conditions | None = None
    inputs: Array | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def under(self) -> dict[str, Any]:
        """What kernels are told beside the state: conditions and inputs."""
        return {"conditions": self.conditions, "inputs": self.inputs}


def operating_point(
    system: System | Model, state: Any = None, t: float | None = None, conditions: Conditions | None = None,
    *, item: str = "linearize",
) -> OperatingPoint:  # fmt: skip
    """Return what to linearise about.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, Result, equilibrium, or anything with a method `state()`
        The start state of the system if left out. Runs and equilibria bring along the numbers, locks and inputs that
        they were found with.
    t : float, s
        Of a result, which of its times; else the time of the state.
    conditions : Conditions
        In place of those of the run or equilibrium.
    """
    model = as_model(system)
    if np.isfinite(model.shortest_delay):
        remedy = (
            "inputs with a da.Delay depend on the past, of which no state knows: leave the delay out, or put a lag "
        )
        remedy += "(da.TransferFunction) in its place"
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
        at.notes.append(f"inputs are those of the equilibrium: {shown}")
    if isinstance(conditions, Conditions):
        check_conditions(model, conditions, item)
        at.conditions = conditions
        at.model = conditions.model  # with its own masses and places
    at.state, said = _obeying(at, given, given.t if isinstance(state, Result) else time, item)
    at.notes = [*said, *at.notes]
    return at


def _obeying(at: OperatingPoint, given: Any, time: float | None, item: str) -> tuple[State, list[str]]:
    """Return the state, loops closed, and what was done to it."""
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


# ---- what runs and equilibria bring along


def _brought(state: Any, t: float | None, item: str) -> tuple[Any, Conditions | None, dict[str, float]]:
    """Return a state, the conditions under which it was found, if it knows them, and inputs in place of laws."""
    if isinstance(state, Result):
        given = state.final if t is None else state.at(t)
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
    """Return a state without what an equilibrium knows beside it."""
    if isinstance(state, State) and isinstance(getattr(state, "conditions", None), Conditions):
        return State(state.q, state.v, state.t, state.x)
    return state


def conditions_of(model: Model, state: Any, conditions: Conditions | None, item: str) -> Conditions | None:
    """Return the conditions that are given, else those that a run or an equilibrium brings along."""
    if conditions is not None or state is None:
        return conditions
    then = _brought(state, None, item)[1]
    return None if then is None else _taken_over(OperatingPoint(model, as_plain_state(state)), then, None, item)


def inputs_of(model: Model, state: Any, item: str) -> Array | None:
    """Return inputs in place of laws that an equilibrium brings along, as `Model.input_values` gives them."""
    inputs = _brought(state, None, item)[2]
    return model.input_values(inputs) if inputs else None


def _taken_over(at: OperatingPoint, then: Conditions, asked: Conditions | None, item: str) -> Conditions | None:
    """Return the conditions that hold: those asked for, else those brought along, for a model that has them.

    A number that the model has otherwise than it was described, and the state too, cannot be both.
    """
    model, family = at.model, at.model.family
    if asked is not None:
        at.notes += parameter_differences(then.changed_parameters(asked.model, asked.parameters))
        return asked
    if then.model.parameter_names != model.parameter_names or then.model.speed_names != model.speed_names:
        if then.as_described:
            return None
        remedy = "what it was found with does not fit, for it is one of another system: give its model, or a State"
        raise ModelError(item, "state", f"a state of {then.model.system.name!r}", remedy)
    brought, own = then.changed_parameters(family), model.conditions().changed_parameters(family)
    for name in brought.keys() & own.keys():
        if brought[name][0] != own[name][0]:
            remedy = f"the model has {own[name][0]:.6g} and the state was found with {brought[name][0]:.6g}: give one"
            raise ModelError(item, f"parameter {name!r}", own[name][0], remedy)
    at.notes += parameter_differences({name: (now[1], now[0]) for name, now in own.items() if name not in brought})
    if then.locked:
        held = [name for k, name in enumerate(model.speed_names) if k in then.locked]
        shown = ", ".join(map(repr, held)) or "a joint that closes a loop"
        at.notes.append(f"held, as where the state was found: {shown}; the state alone, eq.state(), leaves it free")
    if not (brought or then.locked or then.off or then.control):
        return None
    base = model.conditions({name: value for name, (value, _) in brought.items()})
    return base.changed(locked=then.locked, off=then.off, control=then.control)


def check_conditions(model: Model, conditions: Conditions, item: str) -> None:
    """Refuse conditions of another model, and control that acts between samples only."""
    if conditions.model.family is not model.family:
        raise ModelError(item, "conditions", conditions, "they are of another model: make them with model.conditions()")
    if isinstance(conditions.control, SampledControl):
        remedy = "control that is sampled is no function of the state: linearise the plant, and close the loop yourself"
        raise ModelError(item, "control", conditions.control, remedy)
