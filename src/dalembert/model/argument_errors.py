"""Checks of kernel arguments, and error messages in the user's names, made only when the core refuses a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import shape_of
from ..errors import ModelError, SingularityError, TopologyError, listed
from ..system.lookup import body_called

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "checked_configuration",
    "checked_marker",
    "raise_argument_error",
    "raise_loops_unsupported",
    "raise_result_error",
    "reraise_with_method_name",
]

Args = ParamSpec("Args")
Found = TypeVar("Found")


def reraise_with_method_name(method: Callable[Args, Found]) -> Callable[Args, Found]:
    """Name the public method in errors of the kernels that it calls."""
    name = method.__name__.removeprefix("_").removesuffix("_with_loops")

    @wraps(method)
    def call(*args: Args.args, **more: Args.kwargs) -> Found:
        try:
            return method(*args, **more)
        except ModelError as error:
            if error.item == name or " " in error.item:
                raise
            raise ModelError(name, error.field, error.value, error.remedy) from None
        except SingularityError as error:
            raise SingularityError(f"{name}: {str(error).partition(': ')[2]}") from None

    return call


def checked_configuration(model: Model, kernel: str, q: ArrayLike) -> Array:
    """Return q as a checked (nq,) array."""
    shape = shape_of(q)
    if shape is not None and len(shape) == 2:
        raise ModelError(kernel, "the shape of q", shape, f"give ({model.nq},): this takes one state at a time")
    try:
        array = np.ascontiguousarray(q, dtype=np.float64) if shape is not None and len(shape) == 1 else np.empty(0)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (model.nq,) or not np.isfinite(array).all():
        raise_argument_error(model, kernel, "q", q)
    return array


def checked_marker(model: Model, kernel: str, marker: Marker | Body | str) -> Marker:
    """Return the marker of the model's own system for a user's marker."""
    if isinstance(marker, str) and marker not in model.system and marker in (model.present_system() or ()):
        remedy = "it was added after compilation: give the marker itself, or compile again"
        raise ModelError(kernel, "marker", marker, remedy)
    found = model.system.marker(marker) if isinstance(marker, str) else marker
    found = found.origin if isinstance(found, Body) else found
    if isinstance(found, Marker) and found.body.name in model.forest.number:
        owner = found.body.system
        if owner is model.system:
            return found
        if owner.key in (model.compiled.origin, model.family.system.key):
            body = body_called(model.system, found.body.name)
            return body.markers.get(found.label or "") or found.on(body)
    raise ModelError(kernel, "marker", marker, "give a body or marker of the system, or its name")


def raise_argument_error(model: Model, kernel: str, argument: str, value: Any) -> NoReturn:
    """Raise the error of an argument: type, shape, a number that is not finite, or its batch size."""
    if argument in ("marker", "given"):
        raise ModelError(kernel, argument, value, "it does not belong to this model")
    if argument == "out":
        remedy = "give a writable float64 array in C order, of the shape of the result, that is none of the inputs"
        given = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else value
        raise ModelError(kernel, "out", given, remedy)
    if argument == "conditions":
        raise ModelError(kernel, "conditions", value, _explain_not(model, value))
    if argument == "points":
        raise ModelError(kernel, "points", value, "give those of this model: model.points(...) or model.nodes(...)")
    shape = _shape_of(model, argument)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise ModelError(kernel, argument, value, "give an array of real numbers")
    if array.shape != shape and (array.ndim != len(shape) + 1 or array.shape[1:] != shape):
        one = str(shape) if shape else "a number"
        batch = "(" + ", ".join(map(str, ("B", *shape))) + ("," * (not shape)) + ")"
        raise ModelError(kernel, f"the shape of {argument}", array.shape, f"give {one}, or {batch} for a batch")
    wrong = np.isinf(array) if argument == "inputs" else ~np.isfinite(array)
    if wrong.any():
        place = np.argwhere(wrong)[0]
        name = _entry_name(model, argument, int(place[array.ndim - len(shape)])) if shape else ""
        entry = f"{argument}[{', '.join(map(str, place))}]{name}" if len(place) else argument
        remedy = "it must be finite" + (", or NaN for the value of its law" if argument == "inputs" else "")
        raise ModelError(kernel, entry, float(array[tuple(place)]), remedy)
    remedy = "all batched arrays need the same number of states"
    raise ModelError(kernel, f"the batch size of {argument}", array.shape[0], remedy)


def _shape_of(model: Model, argument: str) -> tuple[int, ...]:
    """Return the shape of an argument for one state."""
    shapes: dict[str, tuple[int, ...]] = {
        "t": (),
        "q": (model.nq,),
        "q0": (model.nq,),
        "q1": (model.nq,),
        "x": (model.nx,),
        "loads": (model.nb, 6),
        "lam": (model.nc,),
        "rows": (model.nc,),
        "inputs": (len(model.compiled.elements.inputs_by_law),),
    }
    return shapes.get(argument, (model.nv,))


def _explain_not(model: Model, conditions: Any) -> str:
    """Return the remedy for wrong conditions."""
    owner = getattr(conditions, "model", None)
    if owner is None:
        return "make them with model.conditions(...)"
    if owner is model:
        return "a bare tree has no conditions: leave out bare=True, or conditions"
    return f"they belong to another model, of system {owner.system.name!r}: make them with this model's conditions(...)"


def raise_loops_unsupported(model: Model, kernel: str, connections: Iterable[str]) -> NoReturn:
    """Raise the error of a kernel that supports open systems and mimic joints only."""
    names = listed(connections)
    instead = {
        "inverse_dynamics": "Use da.inverse_dynamics(model, q, v, a, actuators=[...])",
        "reactions": "Use connection_loads(q, v, tau)",
    }.get(kernel, "Use forward_dynamics, mixed_dynamics, connection_loads or da.inverse_dynamics, which support loops")
    raise TopologyError(
        f"{kernel}: it supports open systems only, and the system has closed loops or constraints: {names}. {instead}, "
        "or remove these connections to evaluate the open system."
    )


def raise_result_error(model: Model, kernel: str, q: Any) -> NoReturn:
    """Raise the error of a result that is not finite: zero quaternion, DOF without inertia, or overflow."""
    rows = np.atleast_2d(np.asarray(q, dtype=float))
    for joint in model.forest.joints:
        start = model.q_slice(joint.name).start
        if joint.element.nq > joint.element.nv and (np.abs(rows[:, start : start + 4]).max(1) < 1e-150).any():
            raise ModelError(kernel, f"the quaternion of {joint.name!r}", [0.0] * 4, "give a quaternion of unit length")
    for row in () if kernel in _OF_INERTIA else rows:
        weak = _without_inertia(model, row)
        if weak:
            names = listed(weak)
            raise SingularityError(
                f"{kernel}: the mass matrix is singular at this configuration, nothing resists along {names}; "
                "give the bodies they carry some inertia, or lock these dofs with mixed_dynamics"
            )
    remedy = "the inputs are too large for double precision"
    if model.compiled.elements.elements:
        remedy += ", or the law of an element is not finite there (da.simulate from that state names it)"
    raise ModelError(kernel, "result", "not finite", remedy)


# they are finite wherever positions are; degrees of freedom without inertia are found by them
_OF_INERTIA = ("mass_matrix", "composite_diagonal")


def _without_inertia(model: Model, q: Any) -> list[str]:
    """Return the velocities without inertia; none where inertia itself is not finite."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return model.massless_dof(q)
    except ModelError:
        return []


def _entry_name(model: Model, argument: str, index: int) -> str:
    names: Sequence[str] = model.speed_names
    if argument.startswith("q"):
        names = model.coordinate_names
    elif argument == "loads":
        names = model.body_names
    elif argument in ("lam", "rows"):
        names = model.constraint_names
    elif argument == "x":
        names = model.state_names
    elif argument == "inputs":
        names = list(model.compiled.elements.inputs_by_law)
    return f" ({names[index]})" if index < len(names) else ""
