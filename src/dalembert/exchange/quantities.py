"""Quantities of an exported model: coordinates, states, parameters, inputs and outputs by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model import Conditions, Model
from ..model.conditions import is_angle, least_value, parameter_value
from ..result import Motion, Output
from ..result.outputs.linear_terms import LinearTerms, linear_terms
from ..result.outputs.output import part_name
from ..simulation.branch_log import owner_of
from ..simulation.events.discontinuity_times import discontinuity_sources
from ..simulation.friction.rows import friction_rows

__all__ = ["KINDS", "OutputPlan", "Quantity", "plan_outputs", "quantities"]

KINDS = ("coordinate", "speed", "state", "parameter", "input", "output", "event")  # in the order of the C library
EFFORT, COSINE, TUNABLE = 1, 2, 4  # flags of the C library


@dataclass(frozen=True)
class Quantity:
    """One quantity of an exported model.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name, unit, meaning : str
    place : int
        Index of its number, of parameters and inputs; of efforts the velocity.
    flags : int
    value, least : float
    output : Output or None
        Of outputs, and the index of the component.
    """

    kind: str
    name: str
    unit: str = ""
    meaning: str = ""
    place: int = 0
    flags: int = 0
    value: float = 0.0
    least: float = -np.inf
    output: Output | None = None
    index: int = 0

    @property
    def tunable(self) -> bool:
        """Whether it may change during a run."""
        return self.kind == "input" or bool(self.flags & TUNABLE)


@dataclass(frozen=True)
class OutputPlan:
    """Outputs as sums of terms.

    Attributes
    ----------
    quantities : list of Quantity
        One for each component.
    found : list of (int, LinearTerms)
        First component, and terms, of each output.
    """

    quantities: list[Quantity] = field(default_factory=list)
    found: list[tuple[int, LinearTerms]] = field(default_factory=list)

    def tables(self, model: Model, texts: Any) -> dict[str, NDArray[Any]]:
        """Return sources and terms for a model file; `texts` gives the place of a text."""
        sources = list(dict.fromkeys(source for _, terms in self.found for source in terms.sources))
        number = {source: k for k, source in enumerate(sources)}
        frames: list[float] = []
        rows = np.zeros(len(sources), dtype=_SOURCE)
        for row, source in zip(rows, sources, strict=True):
            if isinstance(source, str):
                state = source in _STATE
                row["kind"], row["number"] = (0, _STATE.index(source)) if state else (1, texts(source))
                continue
            kind, marker = source
            body, own, nodes = model.point_arrays([marker])
            row["kind"], row["body"], row["frame"], row["nodes"] = 2 + _MOTIONS.index(kind), body, len(frames), -1
            frames += own[0].tolist()
            if nodes is not None:
                row["nodes"], row["width"] = len(frames), nodes.shape[1]
                frames += nodes[0].tolist()
        count = sum(len(terms.rows) for _, terms in self.found)
        all_terms, first = np.zeros(count, dtype=_TERM), 0
        for begin, terms in self.found:
            own_rows = all_terms[first : first + len(terms.rows)]
            own_rows["out"] = begin + np.asarray(terms.rows)
            own_rows["source"] = np.array([number[s] for s in terms.sources], dtype=np.int32)[terms.sources_of]
            own_rows["index"], own_rows["factor"] = terms.columns, terms.factors
            first += len(terms.rows)
        return {".sources": rows, ".terms": all_terms, ".frames": np.array(frames, dtype=float)}


_STATE = ("q", "v", "x")
_MOTIONS = ("pose", "velocity", "acceleration")
_SOURCE = np.dtype([(name, "<i4") for name in ("kind", "number", "body", "frame", "nodes", "width")])
_TERM = np.dtype([("out", "<i4"), ("source", "<i4"), ("index", "<i4"), ("factor", "<f8")])


def quantities(
    model: Model,
    conditions: Conditions,
    inputs: Sequence[str],
    parameters: Sequence[str] | None,
    *,
    uses_friction: bool,
) -> list[Quantity]:
    """Return coordinates, velocities, states, parameters and inputs of an exported model.

    Parameters
    ----------
    model : Model
    conditions : Conditions
        At the start.
    inputs : names
        Numbers of elements, and efforts of joints (``"A.effort"``).
    parameters : names, or None
        None: all that can go along.
    uses_friction : bool
        Whether friction acts by events: its parameters are then fixed.
    """
    names = model.compiled.names
    units = {"position": names.speed_units}
    coordinates = [
        Quantity("coordinate", name, _coordinate_unit(model, name), "coordinate") for name in model.coordinate_names
    ]
    speeds = [
        Quantity("speed", name, _rate(unit), "velocity")
        for name, unit in zip(model.speed_names, units["position"], strict=True)
    ]
    states = [Quantity("state", name, "", "state of an element") for name in model.state_names]
    chosen = [_input(model, conditions, name, uses_friction) for name in _unique(inputs, "inputs")]
    taken = {each.name for each in chosen}
    if parameters is None:
        own = [name for name in model.parameter_names if name not in taken and not _fixed(model, name, uses_friction)]
    else:
        own = _unique(parameters, "parameters")
        for name in own:
            reason = _fixed(model, name, uses_friction) or ("it is an input" if name in taken else "")
            if reason:
                raise ModelError("export", "parameter", name, reason)
    changeable = [_parameter(model, conditions, name) for name in own]
    events = [
        Quantity("event", f"switch[{k}]", meaning=f"switching function of {owner_of(model, k)}", place=k)
        for k, (_, kind) in enumerate(model.switching_functions)
        if kind in ("sign", "monitored")
    ]
    return [*coordinates, *speeds, *states, *changeable, *chosen, *events]


def _unique(names: Sequence[str], what: str) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    for name in given:
        if not isinstance(name, str):
            raise ModelError("export", what, name, "give names")
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise ModelError("export", what, twice, "it is given twice")
    return given


def _coordinate_unit(model: Model, name: str) -> str:
    names = model.compiled.names
    place = model.coordinate_names.index(name)
    for owner, q in names.q.items():
        v = names.v[owner]
        if q.start <= place < q.stop and q.stop - q.start == v.stop - v.start:
            return names.speed_units[v.start + place - q.start]
    kind = model.coordinate_kinds[place]
    return "" if kind.startswith("q") else "m" if kind in ("x", "y", "z") else ""


def _rate(unit: str) -> str:
    return f"{unit}/s" if unit else "1/s"


def _fixed(model: Model, name: str, uses_friction: bool) -> str:
    """Return why a parameter cannot go along; empty if it can."""
    places, own = model.parameter_names, model.family.compiled.numbers
    if name not in places:
        near = get_close_matches(name, places, 4)
        return f"there is none of this name{'; did you mean ' + ', '.join(map(repr, near)) if near else ''}"
    place = places[name]
    if place in own.follows:
        of = ", ".join(map(repr, sorted(own.follows[place].names)))
        return f"it follows from {of} in Python: it is fixed at export"
    if name in own.named and any(name in expression.names for expression in own.follows.values()):
        return "others follow from it in Python: it is fixed at export"
    if place in discontinuity_sources(model).uses:
        return "times of jumps depend on it, which are found in Python: it is fixed at export"
    if uses_friction and place in _of_friction(model):
        return "it belongs to friction by events: it is fixed at export, or give friction='smooth'"
    if model.nc and place >= model.n_element_parameters:
        group = next((g for g in own.groups if g.span.start <= place - model.n_element_parameters < g.span.stop), None)
        if group is not None and group.what in ("marker", "coupling"):
            return "it may change which constraints of closed loops are redundant: it is fixed at export"
    return ""


def _of_friction(model: Model) -> set[int]:
    rows = friction_rows(model)
    return {int(k) for part in (rows.friction, rows.mode, rows.coefficient) for k in part if k >= 0}


def _is_tunable(model: Model, name: str) -> bool:
    """Return whether a parameter may change during a run."""
    place = model.parameter_names[name]
    return place < model.n_element_parameters and name.rpartition(".")[0] in model.system.forces


def _parameter(model: Model, conditions: Conditions, name: str) -> Quantity:
    place = model.parameter_names[name]
    flags = (COSINE if is_angle(model, name) else 0) | (TUNABLE if _is_tunable(model, name) else 0)
    least = least_value(model, name)
    if place >= model.n_element_parameters and name.endswith(".mass"):
        least = 0.0
    return Quantity(
        "parameter",
        name,
        _parameter_unit(model, place),
        "parameter",
        place,
        flags,
        parameter_value(conditions.model, name, conditions.parameters),
        least,
    )


def _parameter_unit(model: Model, place: int) -> str:
    """Return the unit of a parameter of bodies, joints and so on; those of elements have none."""
    for group in model.family.compiled.numbers.groups:
        if group.span.start <= place - model.n_element_parameters < group.span.stop:
            return group.units[place - model.n_element_parameters - group.span.start]
    return ""


def _input(model: Model, conditions: Conditions, name: str, uses_friction: bool) -> Quantity:
    joint = name.removesuffix(".effort")
    if joint != name and joint in model.speed_names:
        place = model.speed_names.index(joint)
        if conditions.acceleration_prescribed[place]:
            raise ModelError("export", "input", name, "the motion of this joint is given by a drive")
        unit = {"rad": "N*m", "m": "N"}.get(model.compiled.names.speed_units[place], "")
        return Quantity("input", name, unit, "effort of the joint", place, EFFORT)
    if joint != name and joint in model.joint_names:
        own = [f"{speed}.effort" for speed in model.speed_names[model.v_slice(joint)]]
        remedy = f"name one of its components: {', '.join(map(repr, own))}" if own else "it is fixed"
        raise ModelError("export", "input", name, remedy)
    if joint != name and joint in model.closure_names:
        remedy = "it closes a loop: name the effort of a joint of the tree, or add an Effort element with a number"
        raise ModelError("export", "input", name, remedy)
    if name not in model.parameter_names:
        if name in model.input_names:
            remedy = "it is a law of time; give a number in its place, as in inputs={'u': 0.0}"
            raise ModelError("export", "input", name, remedy)
        known = [*(f"{speed}.effort" for speed in model.speed_names), *model.parameter_names]
        near = get_close_matches(name, known, 4) or known[:4]
        remedy = f"give a number of an element or the effort of a joint, such as {', '.join(map(repr, near))}"
        raise ModelError("export", "input", name, remedy)
    reason = _fixed(model, name, uses_friction)
    if not reason and not _is_tunable(model, name):
        reason = "only numbers of force elements may change during a run: make it a parameter"
    if reason:
        raise ModelError("export", "input", name, reason)
    plain = _parameter(model, conditions, name)
    return Quantity(
        "input", name, "", "number of an element", plain.place, plain.flags & COSINE, plain.value, plain.least
    )


def plan_outputs(model: Model, names: Sequence[str], at: Motion, *, locks: bool, control: bool) -> OutputPlan:
    """Return the outputs as sums of terms; vectors are taken component by component.

    Raises
    ------
    ModelError
        If there is no such output, or it is not a sum of quantities of the core.
    """
    plan = OutputPlan()
    for name in _unique(names, "outputs"):
        output = Output.of(model, name)
        if output.history is not None:
            raise ModelError("export", "output", name, "it depends on the past of a run")
        terms = linear_terms(output, at, locks=locks, control=control)
        if terms is None:
            remedy = "it is computed in Python: give positions, speeds, loads or signals of elements"
            raise ModelError("export", "output", name, remedy)
        plan.found.append((len(plan.quantities), terms))
        unit = [part.strip() for part in output.unit.split(",")]
        labels = output.labels if output.shape else ("",)
        units = unit if len(unit) == len(labels) else [output.unit] * len(labels)
        plan.quantities.extend(
            Quantity("output", part_name(name, label) if label else name, each, output.meaning, output=output, index=k)
            for k, (label, each) in enumerate(zip(labels, units, strict=True))
        )
    return plan
