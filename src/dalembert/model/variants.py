"""Models with other parameter values: the core recomputes their tables, other data follow on demand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays import Array, BoolArray
from ..bodies.body import inertia_error
from ..compile import compile_system
from ..compile.compiler import random_coordinates
from ..compile.frames import FrameMap
from ..compile.names import Names
from ..compile.parameter_map import ParameterGroup
from ..compile.parameter_substitution import check_values, substitute_parameters
from ..compile.signal_graph import OutputInput
from ..errors import ModelError, SingularityError
from ..system.topology import Forest
from .cache import CACHE_ATTRIBUTE, cached_per_model
from .callbacks import CallbackHost, OutputInputCallback

if TYPE_CHECKING:
    from .model import Model

__all__ = ["DERIVED", "check_numbers", "complete_variant", "make_variant"]


DERIVED = frozenset({"compiled", "system", "forest", "frames", "drives", "joint_drives", "callback_laws"})
_OWN = DERIVED | {"_points", "parameters", "mapped_parameters", "_zero", CACHE_ATTRIBUTE}


def make_variant(family: Model, parameters: Array, item: str = "conditions", *, physical: bool = True) -> Model:
    """Return a model with other parameters (n,), without recompilation.

    Parameters
    ----------
    family : Model
        As described.
    parameters : (n,)
    item : str
        Caller, for errors.
    physical : bool
        False for perturbed values in differences, without a validity check: a thin rod has no valid values nearby.

    Raises
    ------
    ModelError
        If an item of the description does not permit them.
    """
    own, count = family.compiled.numbers, family.n_element_parameters
    parameters = np.array(parameters, dtype=float)
    parameters.flags.writeable = False
    numbers = parameters[count:]
    changed = (numbers != own.values).nonzero()[0]
    places = sorted(set(own.firsts.searchsorted(changed, side="right").tolist()))
    groups = [own.groups[k - 1] for k in places]
    for group in groups if physical else ():
        _check_values(family, group, numbers[group.span], item)
    model = family.__class__.__new__(family.__class__)
    model.__dict__.update(_handed_on(family))
    model.__dict__["family"] = family
    model._points = {}
    model.mapped_parameters, model.parameters, model.__dict__["_physical"] = numbers, parameters, physical
    _core.Model.__init__(
        model, family, parameters[:count], numbers, CallbackHost(model) if family.callback_laws else None
    )
    if model.nc and any(group.what in ("marker", "coupling") for group in groups) and _rows_depend_otherwise(model):
        return _compiled_again(model)
    return model


@cached_per_model
def _handed_on(family: Model) -> dict[str, Any]:
    """Return the data shared by all models of a family."""
    return {key: value for key, value in family.__dict__.items() if key not in _OWN}


def _check_values(family: Model, group: ParameterGroup, values: Array, item: str) -> None:
    """Refuse parameter values that an item of the description does not permit."""
    if group.what == "body":
        body = family.system.bodies[group.key[0]]
        xx, xy, xz, yy, yz, zz = values[4:]
        mass, inertia = float(values[0]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if mass < 0:
            raise ModelError(item, f"parameter {group.names[0]!r}", mass, "a mass must not be negative")
        fault = inertia_error(mass, inertia) if body.strict else ""
        if fault:
            raise ModelError(item, f"parameters '{body.name}.inertia'", inertia.tolist(), fault)
    elif group.what != "marker":
        check_values(family.system, group, values, item)


def check_numbers(family: Model, parameters: Array, item: str) -> None:
    """Refuse parameter values of many models, (k, n), that an item of the description does not permit."""
    own = family.compiled.numbers
    rows = parameters[:, family.n_element_parameters :]
    changed = (rows != own.values).any(axis=0)
    for group in own.groups:
        if changed[group.span].any():
            for values in np.unique(rows[:, group.span], axis=0):
                _check_values(family, group, values, item)


# ---- redundant rows


@cached_per_model
def _pivots(model: Model) -> tuple[Array, BoolArray] | None:
    """Return a generic configuration (nq,), and a mask of independent rows (nc,) there."""
    rng = np.random.default_rng(2)
    q = model.integrate(random_coordinates(model.forest, model.compiled.names, rng), np.zeros(model.nv))
    try:
        return q, model._row_pivots(q) > 0.0
    except SingularityError:
        return None


def _rows_depend_otherwise(model: Model) -> bool:
    """Return whether other rows are redundant than in the model as described, as in a loop no longer planar."""
    known = _pivots(model.family)
    return known is not None and not np.array_equal(model._row_pivots(known[0]) > 0.0, known[1])


def _compiled_again(model: Model) -> Model:
    """Return the variant compiled from its description, which determines redundant rows anew."""
    family = model.family
    made = compile_system(model.system)
    made.tables["parameters"] = model.parameters[: family.n_element_parameters]
    made = replace(made, origin=family.compiled.origin, numbers=family.compiled.numbers)
    again = family.__class__.__new__(family.__class__)
    again.__dict__.update({k: v for k, v in model.__dict__.items() if k not in (*DERIVED, CACHE_ATTRIBUTE)})
    _core.Model.__init__(
        again,
        made.tables,
        np.array(made.elements.starts, dtype=float),
        list(made.elements.functions),
        list(made.elements.function_sizes),
        CallbackHost(model) if family.callback_laws else None,
        list(made.elements.solids),
    )
    again._set_family(family)
    again._points = {}
    again.is_recompiled = True
    _take(again, made)
    again.independent_rows = tuple(
        name for name, independent in zip(made.names.rows, made.independent, strict=True) if independent
    )
    return again


# ---- Python data


def complete_variant(model: Model) -> None:
    """Give a model with other parameter values its description, and the data that follow from it."""
    family = model.family
    made = family.compiled
    system = substitute_parameters(
        made.system, made.numbers, model.mapped_parameters, physical=model.__dict__["_physical"]
    )
    forest = Forest(system)
    names, drives = Names(forest), tuple(system.drives.values())
    _take(
        model,
        replace(made, system=system, forest=forest, frames=FrameMap.of(forest), names=names, drives=drives),
    )


def _take(model: Model, made: Any) -> None:
    model.compiled = made
    model.system, model.forest, model.frames, model.drives = made.system, made.forest, made.frames, made.drives
    model.joint_drives = tuple(drive for drive in made.drives if drive.of_joint)
    model.callback_laws = ()
    model.callback_laws = tuple(
        OutputInputCallback(model, law) if isinstance(law, OutputInput) else law for law in made.callback_laws
    )
