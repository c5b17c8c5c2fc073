"""Inputs of force laws at a state, and laws that return no finite number for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray
from ..connections.elements.element import Element
from ..connections.elements.signals import Reaction

if TYPE_CHECKING:
    from .conditions import Conditions
    from .model import Model

__all__ = ["gives_numbers", "law_inputs", "laws_that_fail"]


_PARTS = ("measures", "rates", "law_inputs")


def law_inputs(
    model: Model, name: str, t: Array, q: Array, v: Array, x: Array, conditions: Conditions | None = None
) -> Array:
    """Return the inputs of the law of an element at states, (n, takes), in the order of ``Element.takes``.

    Parameters
    ----------
    model : Model
    name : str
        Name of an element with its own law.
    t : (n,) s
    q : (n, nq) rad or m
    v : (n, nv) rad/s or m/s
    x : (n, nx)
    conditions : Conditions
    """
    numbers = sorted(_core.report_parts.index(part) for part in _PARTS)
    found = model._report(numbers, q, v, t=t, x=x, conditions=conditions)
    parts = {_core.report_parts[number]: part for number, part in zip(numbers, found, strict=True)}
    place, element = model.compiled.elements.indices[name], model.system.forces[name].element
    assert isinstance(element, Element)
    states = [model.state_names.index(f"{name}.{state}") for state in element.states]
    values = model.parameters if conditions is None else conditions.parameters
    numbers_of = [values[model.parameter_names[f"{name}.{label}"]] for label in element.parameters]
    columns = (t, parts["measures"][:, place.measures], parts["rates"][:, place.measures], x[:, states])
    return np.column_stack([*columns, np.tile(numbers_of, (len(t), 1)), parts["law_inputs"][:, place.inputs]])


def laws_that_fail(model: Model, t: Array, q: Array, v: Array, x: Array, conditions: Conditions | None = None) -> str:
    """Return the element whose law is not finite at one of the states, and the inputs; empty if there is none."""
    for name, force in model.system.forces.items():
        element = force.element
        if not isinstance(element, Element) or (element.program is None and not hasattr(element.force, "address")):
            continue  # laws in Python raise their own errors
        if any(isinstance(source, Reaction) for source in element.sources.values()):
            continue  # its inputs are solved for together with its force
        inputs = law_inputs(model, name, t, q, v, x, conditions)
        bad = np.flatnonzero(~gives_numbers(model, name, element, inputs, (t, q, v, x), conditions))
        if not len(bad):
            continue
        numbers = ", ".join(
            f"{key} = {value:.6g}" for key, value in zip(element.input_names, inputs[bad[0]], strict=True)
        )
        if element.unknowns and np.isfinite(inputs[bad[0]]).all():
            sought = ", ".join(element.unknowns)
            return (
                f"element {name!r} has no solution for its unknowns {sought}: no internal equilibrium, or residuals "
                f"that do not vanish from its starting values, for {numbers}"
            )
        cause = element.cause_of_failure(dict(zip(element.input_names, inputs[bad[0]].tolist(), strict=True)))
        return f"element {name!r} {cause}" if cause else f"element {name!r} is not finite: {numbers}"
    return ""


def gives_numbers(
    model: Model, name: str, element: Element, inputs: Array, states: tuple[Array, ...], conditions: Conditions | None
) -> BoolArray:
    """Return at which states (n,) all results of a law are finite.

    The core solves for the unknowns of a law: a failing search in Python takes seconds for a large compound.
    """
    if not element.unknowns:
        return np.asarray(np.isfinite(element.evaluate(inputs)).all(axis=1))
    t, q, v, x = states
    numbers = sorted(_core.report_parts.index(part) for part in ("forces", "signals"))
    found = model._report(numbers, q, v, t=t, x=x, conditions=conditions)
    parts = {_core.report_parts[number]: part for number, part in zip(numbers, found, strict=True)}
    own = [place for signal, place in model.compiled.elements.signals.items() if signal.startswith(f"{name}.")]
    given = np.column_stack(
        [parts["forces"][:, model.compiled.elements.indices[name].measures], parts["signals"][:, own]]
    )
    return np.asarray(np.isfinite(given).all(axis=1))
