"""Error messages for kernel arguments, in the user's names; made only when the core refuses a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from ..errors import ModelError, SingularityError, TopologyError, listed

if TYPE_CHECKING:
    from .model import Model

__all__ = ["raise_argument_error", "raise_loops_unsupported", "raise_result_error", "reraise_with_method_name"]

Args = ParamSpec("Args")
Found = TypeVar("Found")


def reraise_with_method_name(method: Callable[Args, Found]) -> Callable[Args, Found]:
    """Name the public method in errors of the kernels that it calls."""

    @wraps(method)
    def call(*args: Args.args, **more: Args.kwargs) -> Found:
        try:
            return method(*args, **more)
        except ModelError as error:
            if error.item == method.__name__ or " " in error.item:
                raise
            raise ModelError(method.__name__, error.field, error.value, error.remedy) from None
        except SingularityError as error:
            raise SingularityError(f"{method.__name__}: {str(error).partition(': ')[2]}") from None

    return call


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


def raise_loops_unsupported(model: Model, kernel: str) -> NoReturn:
    """Raise the error of a kernel that supports open systems only."""
    names = listed(dict.fromkeys(model.constraint_connections))
    instead = {
        "inverse_dynamics": "Use da.inverse_dynamics(model, q, v, a, actuators=[...])",
        "reactions": "Use connection_loads(q, v, tau)",
    }.get(kernel, "Use forward_dynamics, mixed_dynamics, connection_loads or da.inverse_dynamics, which support loops")
    follows = any(coupling.element.kind == "Mimic" for coupling in model.forest.couplings)
    mimics = " (mimic joints: clear system.mimics)" if follows else ""
    raise TopologyError(
        f"{kernel}: it supports open systems only, and the system has closed loops or constraints: {names}. {instead}, "
        f"or remove these connections{mimics} to evaluate the open system."
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
