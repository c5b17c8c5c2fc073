"""Substitution of parameter values into a copy of a description."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..checks import set_fields
from ..connections.constraints.chains import KinematicChain
from ..connections.constraints.couplings import Coupling
from ..connections.elements.built_in import Effort, Load
from ..connections.elements.element import Element
from ..connections.laws import Polynomial, Ramp
from ..errors import ModelError
from ..parameters import Parameter
from ..rotation import from_rotation_vector
from ..system.lookup import body_called
from .parameter_map import TABLES, ParameterGroup, ParameterMap, law_fields

if TYPE_CHECKING:
    from ..system import System

__all__ = ["check_values", "substitute_parameters"]


def substitute_parameters(system: System, numbers: ParameterMap, values: Array, *, physical: bool = True) -> System:
    """Return a copy of a description with parameter values (n,); `physical`: check the inertias.

    Raises
    ------
    ModelError
        If a part of it cannot have them; the error names it.
    """
    new = system.copy()
    changed = np.flatnonzero(values != numbers.values)
    groups = {numbers.group_of(int(place)).first: numbers.group_of(int(place)) for place in changed}
    for group in sorted(groups.values(), key=lambda group: group.key[1:] == ("factors",)):  # factors of all that is
        _WRITE[group.what](new, group, values[group.span], numbers.values[group.span])
    for body in new.bodies.values() if physical else ():
        body.validate()
    return new


def _gravity(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    system.gravity = values.copy()


def _body(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    body = system.bodies[group.key[0]]
    xx, xy, xz, yy, yz, zz = values[4:]
    body.mass, body.com = float(values[0]), values[1:4].copy()
    body.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _marker(system: System, group: ParameterGroup, values: Array, before: Array) -> None:
    kind, owner, which = group.key
    marker: Marker
    if kind == "named":
        marker = body_called(system, owner).markers[which]
    elif kind == "connection":
        marker = getattr(system.connections[owner], which)
    else:
        marker = system.forces[owner].ends[which]
    marker.position[:] = values[:3]
    if (values[3:] != before[3:]).any():
        marker.rotation[:] = from_rotation_vector(values[3:])


def _joint_fields(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    name, field = group.key
    connection = system.connections[name]
    value = float(values[0]) if field == "pitch" else values.copy()
    element: Any = connection.element
    set_fields(connection, element=replace(element, **{field: value}))


def _constraint(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    name, field = group.key
    connection = system.connections[name]
    element: Any = connection.element
    value = math.acos(values[0]) if field == "angle" and element.about is None else float(values[0])
    set_fields(connection, element=replace(element, **{field: value}))


def _coupling(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    name = group.key[0]
    ratio, offset = map(float, values)
    if name in system.couplings:
        coupling = system.couplings[name]
        set_fields(coupling, element=replace(coupling.element, ratio=ratio, offset=offset))  # type: ignore[type-var]
        return
    follower = name.removesuffix(".mimic")
    system.mimics[follower] = replace(system.mimics[follower], multiplier=ratio, offset=offset)


def _program(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    name = group.key[0]
    owner: Any = system.couplings[name] if name in system.couplings else system.connections[name]
    numbers = {label[len(name) + 1 :]: float(x) for label, x in zip(group.names, values, strict=True)}
    element = owner.element
    chain = isinstance(element, KinematicChain)
    set_fields(owner, element=element.with_parameters(numbers) if chain else element.with_parameters(**numbers))


def _renewed(law: Any, values: Array) -> Any:
    numbers = [float(x) for x in values]
    if isinstance(law, Polynomial):
        return Polynomial(tuple(numbers))
    if isinstance(law, TABLES):
        return replace(law, values=np.array(numbers))
    return replace(law, **dict(zip(law_fields(law), numbers, strict=True)))


def _law(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    kind, name, which = group.key
    if kind == "drive":
        drive: Any = system.drives[name]
        if len(drive.laws) == 1:
            set_fields(drive, law=_renewed(drive.law, values))
            return
        turns = len(drive.attitude.laws)
        if which >= turns:
            place = list(drive.place)
            place[which - turns] = _renewed(place[which - turns], values)
            set_fields(drive, place=tuple(place))
            return
        attitude = object.__new__(type(drive.attitude))
        attitude.__dict__.update(drive.attitude.__dict__)
        laws = list(attitude.laws)
        laws[which] = _renewed(laws[which], values)
        attitude.laws = tuple(laws)
        set_fields(drive, attitude=attitude)
        return
    force = system.forces[name]
    element: Any = force.element
    if isinstance(element, Effort):
        set_fields(force, element=replace(element, law=_renewed(element.law, values)))
    elif isinstance(element, Load):
        field, axis = ("force" if which[0] == "f" else "moment"), "xyz".index(which[1])
        laws = list(getattr(element, field))
        laws[axis] = _renewed(laws[axis], values)
        set_fields(force, element=replace(force.element, **{field: tuple(laws)}))
    else:
        assert isinstance(element, Element)
        law = _renewed(element.sources[which], values)
        element.sources[which] = law  # the copy of a system has its own elements
        element.inputs[which] = law  # type: ignore[index]


def _modes(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    name, field = group.key
    body = system.bodies[name]
    flexible = object.__new__(type(body.flexible))
    flexible.__dict__.update(body.flexible.__dict__)
    if field == "factors":
        for part, factor in zip(("modal_stiffness", "modal_damping"), values.tolist(), strict=True):
            set_fields(flexible, **{part: getattr(flexible, part) * factor})
    else:
        set_fields(flexible, **{f"modal_{field}": np.diag(values)})
    body.flexible = flexible


def _named(system: System, group: ParameterGroup, values: Array, _: Array) -> None:
    for name, value in zip(group.names, values.tolist(), strict=True):
        old = system.named[name]
        system.named[name] = Parameter(name, value, old.unit, old.meaning)


_WRITE = {
    "named": _named,
    "gravity": _gravity,
    "body": _body,
    "marker": _marker,
    "joint": _joint_fields,
    "constraint": _constraint,
    "coupling": _coupling,
    "program": _program,
    "law": _law,
    "modes": _modes,
}


def check_values(system: System, group: ParameterGroup, values: Array, item: str) -> None:
    """Raise an error for values that a joint, constraint, coupling or law cannot have."""
    names = ", ".join(group.names)
    field = f"parameter {names!r}" if len(group.names) == 1 else f"parameters {names}"
    try:
        _try(system, group, values)
    except ModelError as error:
        raise ModelError(item, field, [float(x) for x in values], error.remedy) from None


def _try(system: System, group: ParameterGroup, values: Array) -> None:
    """Construct a part with other values to raise its errors."""
    if group.what == "joint":
        name, label = group.key
        joint: Any = system.connections[name].element
        replace(joint, **{label: values.copy() if label != "pitch" else float(values[0])})
    elif group.what == "constraint":
        name, label = group.key
        value = float(values[0])
        element: Any = system.connections[name].element
        if label == "angle" and element.about is None:
            value = math.acos(value) if -1 <= value <= 1 else math.nan
        replace(element, **{label: value})
    elif group.what == "coupling":
        Coupling(*map(float, values))
    elif group.what == "law" and group.names[0].endswith(".start"):
        Ramp(*map(float, values))
    elif group.what == "modes" and (values < 0).any():
        raise ModelError("modes", "values", values.tolist(), "stiffness and damping of modes must not be negative")
