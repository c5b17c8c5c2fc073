"""Request of `impulse`: checked arguments, with indices and arrays for names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, BoolArray
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import finite_array, set_fields
from ..closure.loop_equations import LoopEquations
from ..connections.connection import Connection
from ..connections.joints import Joint
from ..errors import ModelError
from ..model import Model, argument_errors as refusals
from ..model.argument_errors import checked_marker
from ..model.drive_targets import drive_targets, driven_dof
from .contact import Contact

__all__ = [
    "AppliedImpulse",
    "ImpulseRequest",
    "VelocitySelection",
    "find_applied",
    "find_closing",
    "find_contacts",
    "find_locks",
    "find_states",
]


_ITEM = "impulse"


@dataclass(frozen=True, eq=False)
class VelocitySelection:
    """Velocities of a connection: indices in v, or components of a cut joint."""

    name: str
    columns: list[int]
    loop_constraint: Connection | None = None


@dataclass(frozen=True, eq=False)
class AppliedImpulse:
    """Impulse at a marker, or along velocities; values (1 or B, k)."""

    where: Marker | VelocitySelection
    values: Array
    in_marker: bool


@dataclass(frozen=True, eq=False)
class ImpulseRequest:
    """Request common to all states, with the mask and values of prescribed velocities."""

    model: Model
    applied: list[AppliedImpulse]
    locks: list[VelocitySelection]
    closing: list[Connection]
    contacts: list[Contact]
    t: float
    given: BoolArray = field(init=False)
    speeds: Array = field(init=False)
    loops: LoopEquations = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        given, speeds = np.zeros(model.nv, dtype=bool), np.zeros(model.nv)
        prescribed = drive_targets(model, self.t)[1]
        driven = {column: drive for drive in model.joint_drives for column in driven_dof(model, drive)}
        for column in driven:
            given[column], speeds[column] = True, prescribed[column]  # NaN: the velocity does not jump
        for lock in self.locks:
            for column in lock.columns if lock.loop_constraint is None else []:
                if column in driven and speeds[column] != 0.0:
                    raise ModelError(
                        f"{_ITEM}: lock",
                        "name",
                        lock.name,
                        f"drive {driven[column].name!r} prescribes that velocity; remove the drive, or do not lock it",
                    )
                given[column] = True
        set_fields(self, given=given, speeds=speeds, loops=LoopEquations.of(model, t=self.t))

    @property
    def efforts(self) -> dict[str, list[int]]:
        """Indices in v of tree locks and joint drives, by name."""
        result = {drive.name: driven_dof(self.model, drive) for drive in self.model.joint_drives}
        return result | {lock.name: lock.columns for lock in self.locks if lock.loop_constraint is None}


def _speeds_of(model: Model, name: str) -> VelocitySelection | None:
    """Return the velocities named by a connection or a velocity, or None."""
    if name in model.joint_names:
        span = model.v_slice(name)
        return VelocitySelection(name, list(range(span.start, span.stop)))
    if name in model.speed_names:
        return VelocitySelection(name, [model.speed_names.index(name)])
    for loop_constraint in model.forest.loop_constraints:
        joint = loop_constraint.element
        if not isinstance(joint, Joint):
            continue
        if name == loop_constraint.name:
            return VelocitySelection(name, list(range(joint.nv)), loop_constraint)
        ending = name[len(loop_constraint.name) + 1 :] if name.startswith(loop_constraint.name + ".") else ""
        if ending in joint.speeds:
            return VelocitySelection(name, [joint.speeds.index(ending)], loop_constraint)
    return None


def find_locks(model: Model, lock: Any) -> list[VelocitySelection]:
    """Return the velocities of locks given by name."""
    if isinstance(lock, Mapping):
        remedy = "a lock sets velocities to zero: give names only; other velocities need drives or initial"
        raise ModelError(f"{_ITEM}: lock", "values", dict(lock), remedy)
    names = [lock] if isinstance(lock, (str, Connection)) else lock
    if not isinstance(names, Iterable):
        raise ModelError(f"{_ITEM}: lock", "names", lock, "give names of joints or of single velocities")
    result = {}
    for entry in names:
        name = entry.name if isinstance(entry, Connection) else entry
        found = _speeds_of(model, name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(map(repr, (*model.joint_names, *(c.name for c in model.forest.loop_constraints))[:12]))
            raise ModelError(f"{_ITEM}: lock", "name", name, f"give a joint or one of its velocities: {known}")
        result[name] = found
    return list(result.values())


def find_applied(model: Model, impulses: Mapping[Any, ArrayLike], axes: str) -> list[AppliedImpulse]:
    """Return the applied impulses with their markers or velocities."""
    if not isinstance(impulses, Mapping):
        raise ModelError(
            _ITEM, "impulses", impulses, "give a dict of marker or joint to impulse, or tau=... along all velocities"
        )
    result = []
    for key, value in impulses.items():
        name = key.name if isinstance(key, (Connection, Marker, Body)) else key
        item = f"{_ITEM} at {name!r}"
        speeds = None
        if isinstance(key, (str, Connection)):
            speeds = _speeds_of(model, name)
        if speeds is not None:
            k = len(speeds.columns)
            scalar = np.ndim(value) == 0 and k == 1
            result.append(AppliedImpulse(speeds, _rows([value] if scalar else value, (k,), item), False))
            continue
        found = model.system[key] if isinstance(key, str) else key
        marker = found.origin if isinstance(found, Body) else found
        if not isinstance(marker, Marker):
            raise ModelError(_ITEM, "target", key, "give a body, a marker, a joint, or the name of one")
        checked_marker(model, item, marker)
        if marker.body is model.system.ground:
            raise ModelError(item, "body", "ground", "ground does not move; give a body")
        result.append(AppliedImpulse(marker, _rows(value, (3, 6), item), axes == "marker"))
    return result


def _rows(value: Any, sizes: tuple[int, ...], item: str) -> Array:
    """Return (k,) or (B, k) numbers as (1, k) or (B, k)."""
    shape = np.shape(value) if isinstance(value, (np.ndarray, list, tuple)) else ()
    if len(shape) not in (1, 2) or shape[-1] not in sizes or not shape[0]:
        expected = " or ".join(f"({k},)" for k in sizes)
        raise ModelError(item, "shape", shape or value, f"give {expected} numbers, or that for each state of a batch")
    return np.atleast_2d(finite_array(value, shape, item=item, field="value"))


def _listed(value: Any, kind: type[Any], field_name: str, remedy: str) -> list[Any]:
    items = [value] if isinstance(value, kind) else value
    if not isinstance(items, Iterable) or isinstance(items, (str, Mapping)):
        raise ModelError(_ITEM, field_name, value, remedy)
    items = list(items)
    for entry in items:
        if not isinstance(entry, kind):
            raise ModelError(_ITEM, field_name, entry, remedy)
    names = [entry.name for entry in items]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(_ITEM, field_name, name, "two have that name; give each its own")
    return items


def find_closing(model: Model, close: Any) -> list[Connection]:
    """Return the joints that close suddenly, checked."""
    connections: list[Connection] = _listed(close, Connection, "close", "give Connection(name, joint, first, second)")
    for c in connections:
        item = f"{_ITEM}: close {c.name!r}"
        if not isinstance(c.element, Joint):
            raise ModelError(item, "element", c.element, "give a joint; connect constraints in the system")
        if c.name in (*model.joint_names, *model.constraint_connections):
            raise ModelError(item, "name", c.name, "the model has a connection of that name, which closes by itself")
        for end in (c.first, c.second):
            checked_marker(model, item, end)
    return connections


def find_contacts(model: Model, contact: Any) -> list[Contact]:
    """Return the contacts with markers for names and bodies."""
    result = []
    for c in _listed(contact, Contact, "contact", "give Contact(first, second, normal)"):
        item = f"contact {c.name!r}"
        ends = [model.system[end] if isinstance(end, str) else end for end in (c.first, c.second)]
        ends = [end.origin if isinstance(end, Body) else end for end in ends]
        for end in ends:
            checked_marker(model, item, end)
        if ends[0].body is ends[1].body:
            raise ModelError(item, "second", ends[1].name, "a contact needs two different bodies")
        result.append(replace(c, first=ends[0], second=ends[1]))
    return result


def find_states(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, applied: list[AppliedImpulse]
) -> tuple[Array, Array, Array, bool]:
    """Return q (B, nq), v (B, nv), tau (B, nv) and True if there is a batch axis."""
    arrays, sizes, batch = [], set(), False
    for name, value, size in (("q", q, model.nq), ("v", v, model.nv), ("tau", tau, model.nv)):
        try:
            array = np.zeros(size) if value is None else np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        fits = array.ndim in (1, 2) and array.shape[-1] == size and len(array) > 0
        if size and not (fits and np.isfinite(array).all()):
            refusals.raise_argument_error(model, _ITEM, name, value)
        batch |= array.ndim == 2
        arrays.append(np.atleast_2d(array))
        sizes.add(len(arrays[-1]))
    for a in applied:
        batch |= len(a.values) > 1
        sizes.add(len(a.values))
    sizes.discard(1)
    if len(sizes) > 1:
        raise ModelError(_ITEM, "the batch sizes", sorted(sizes), "all batched arrays need the same number of states")
    count = max(sizes, default=1)
    q_, v_, tau_ = (np.ascontiguousarray(np.broadcast_to(a, (count, a.shape[1]))) for a in arrays)
    return q_, v_, tau_, batch
