"""States to linearise about: described, given, of a result, of an equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..checks import finite_number
from ..errors import ModelError
from ..model import Conditions, Model, Sampled, State, as_model
from ..result import Result
from ..simulation.start import start_state
from ..system import System

__all__ = ["About", "about"]


class About:
    """A model, a state that obeys its loops, conditions, and what was said on the way.

    Attributes
    ----------
    model : Model
        With the own numbers of the conditions.
    state : State
    conditions : Conditions or None
    notes : list of str
    """

    def __init__(self, model: Model, state: State, conditions: Conditions | None, notes: list[str]) -> None:
        self.model, self.state, self.conditions, self.notes = model, state, conditions, notes


def about(
    system: System | Model, state: Any = None, t: float | None = None, conditions: Conditions | None = None,
    *, item: str = "linearize",
) -> About:  # fmt: skip
    """Return what to linearise about.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, Result, or anything with a method `state()`
        The start state of the system if left out.
    t : float, s
        Of a result, which of its times; else the time of the state.
    conditions : Conditions
        Those of the run at that time if left out and a result is given.
    """
    model = as_model(system)
    time = None if t is None else finite_number(t, item=item, field="t")
    if isinstance(state, Result):
        given = state.final if time is None else state.at(time)
        if conditions is None and state.conditions is not None and state.model is not None:
            then = state.conditions(np.array([given.t]))[0][1]
            conditions = None if then.as_described else _taken_over(model, then, item)
        state, time = given, given.t
    elif state is not None and not isinstance(state, (State, Mapping)):
        giver = getattr(state, "state", None)
        if not callable(giver):
            remedy = "give a State, start values by name, a Result, or an equilibrium"
            raise ModelError(item, "state", state, remedy)
        state = giver()
    if isinstance(conditions, Conditions):
        mind_conditions(model, conditions, item)
        model = conditions.model  # with its own masses and places
    at = time if time is not None else float(getattr(state, "t", 0.0))
    if isinstance(state, State) and np.ndim(state.q) != 1:
        raise ModelError(item, "the shape of state.q", np.shape(state.q), "give one state")
    if isinstance(state, State) and conditions is not None and (conditions.off or conditions.locked):
        x = state.x if np.size(state.x) else model.state_starts()
        return About(model, State(np.array(state.q), np.array(state.v), at, np.array(x)), conditions, [])
    found, notes = start_state(model, state, at)
    if np.ndim(found.q) != 1:
        raise ModelError(item, "the shape of state.q", np.shape(found.q), "give one state")
    return About(model, found, conditions, notes)


def _taken_over(model: Model, then: Conditions, item: str) -> Conditions:
    """Return the conditions of a run for a model of the same system that was compiled apart."""
    if then.model.family is model.family:
        return then
    if then.model.parameter_names != model.parameter_names or then.model.speed_names != model.speed_names:
        remedy = "the run had numbers, locks or control of its own, and was one of another system: give its model"
        raise ModelError(item, "state", f"a result of {then.model.system.name!r}", remedy)
    other = then.parameters != then.model.family.parameters
    parameters = np.where(other, then.parameters, model.parameters)
    return Conditions(model, parameters, then.locked, then.off, control=then.control)


def mind_conditions(model: Model, conditions: Conditions, item: str) -> None:
    """Refuse conditions of another model, and control that acts between samples only."""
    if conditions.model.family is not model.family:
        raise ModelError(item, "conditions", conditions, "they are of another model: make them with model.conditions()")
    if isinstance(conditions.control, Sampled):
        remedy = "control that is sampled is no function of the state: linearise the plant, and close the loop yourself"
        raise ModelError(item, "control", conditions.control, remedy)
