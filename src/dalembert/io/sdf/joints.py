"""Joints of SDF: joints at the pose of the element, and their data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...connections.constraints.mimic import Mimic
from ...connections.elements.built_in import JointSpring
from ...connections.joints import Fixed, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from ...errors import ModelError
from ...rotation import unit_vector
from ..unique_names import free_name
from ..xml_fields import name_of, renamed, suggestion
from ..xml_files import line_of
from .fields import Pose, flag, inverse, number, numbers, times, words
from .frames import Part

if TYPE_CHECKING:
    from .reader import Reading

__all__ = ["add_joint"]


_TYPES = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw")
UNLIMITED = 1e15  # rad or m: files write 1e16 for no limit, by the specification


def add_joint(reading: Reading, part: Part, name: str) -> None:
    """Connect the two links of a joint."""
    element, item = part.element, part.item
    kind = (element.get("type") or "").strip()
    if kind not in _TYPES:
        if kind == "gearbox":
            reading.omissions.append(f"{item}: a gearbox{line_of(element)}")
            return
        remedy = f"use one of {', '.join(_TYPES)}{suggestion(kind, _TYPES)}{line_of(element)}"
        raise ModelError(item, "type", kind, remedy)
    at = reading.frames.pose(part.name, item=item)
    parent, child = (_marker(reading, part, which, at) for which in ("parent", "child"))
    if parent.body is child.body:
        raise ModelError(item, "child", words(element, "child"), f"parent and child are the same{line_of(element)}")
    try:
        if kind in ("universal", "revolute2"):
            _add_cardan(reading, part, name, at, parent, child)
            return
        joint = _joint(reading, part, kind, at)
        reading.system.connect(name, joint, parent, child)
    except ModelError as error:
        raise renamed(error, item + line_of(element)) from None
    if kind not in ("fixed", "ball"):
        _add_extras(reading, part, name, "axis")


def _marker(reading: Reading, part: Part, which: str, at: Pose) -> Any:
    """Return the marker of a joint on one of its links."""
    element, item = part.element, part.item
    target = words(element, which)
    if not target:
        raise ModelError(item, which, None, f"name a link: <{which}>...</{which}>{line_of(element)}")
    if target == "world":
        R, p = at
        return reading.system.ground.at(*p.tolist(), rotation=R)
    link = reading.frames.link(reading.frames.full(target, part.scope), item=item, field=which)
    R, p = times(inverse(reading.frames.pose(link, item=item)), at)
    return reading.bodies[link].at(*p.tolist(), rotation=R)


def _joint(reading: Reading, part: Part, kind: str, at: Pose) -> Joint:
    if kind == "fixed":
        return Fixed()
    if kind == "ball":
        return Spherical()
    axis = _axis(reading, part, "axis", at)
    data = _data(reading, part, "axis")
    if kind == "continuous":
        data = {key: value for key, value in data.items() if key not in ("lower", "upper")}
    if kind == "prismatic":
        return Prismatic(axis, **data)
    if kind == "screw":
        return Screw(axis, _pitch(part), **data)
    return Revolute(axis, **data)


def _pitch(part: Part) -> float:
    """Return the advance per turn, m; the older <thread_pitch> is minus the angle per metre, rad/m."""
    if part.element.find("screw_thread_pitch") is None and part.element.find("thread_pitch") is not None:
        return -2 * math.pi / number(part.element, "thread_pitch", 1.0, item=part.item)
    return number(part.element, "screw_thread_pitch", 1.0, item=part.item)


def _axis(reading: Reading, part: Part, tag: str, at: Pose) -> Array:
    """Return an axis in axes of the joint."""
    element, item = part.element, part.item
    xyz = element.find(f"{tag}/xyz")
    axis = np.array(numbers(element, f"{tag}/xyz", (0.0, 0.0, 1.0), item=item))
    other = "" if xyz is None else name_of(xyz, "expressed_in")
    if reading.old and flag(element, f"{tag}/use_parent_model_frame"):
        other = "__model__"
    if other:
        seen = reading.frames.pose(reading.frames.full(other, part.scope), item=item, field=f"{tag} expressed_in")
        axis = at[0].T @ seen[0] @ axis
    return unit_vector(axis, item=item, field=f"{tag} xyz")


def _data(reading: Reading, part: Part, tag: str) -> dict[str, float]:
    """Return limits, damping and friction of an axis, without defaults."""
    item, found = part.item, {}
    axis = part.element.find(tag)
    if axis is None:
        return {}
    for field, path in (("lower", "limit/lower"), ("upper", "limit/upper")):
        value = number(axis, path, math.inf, item=item)
        if abs(value) < UNLIMITED:
            found[field] = value
    for field, path in (("max_effort", "limit/effort"), ("max_speed", "limit/velocity")):
        value = number(axis, path, -1.0, item=item)
        if 0 <= value < UNLIMITED:
            found[field] = value
    for field in ("damping", "friction"):
        value = number(axis, f"dynamics/{field}", 0.0, item=item)
        if value:
            found[field] = value
    return {field: value for field, value in found.items() if field not in reading.without}


def _add_extras(reading: Reading, part: Part, coordinate: str, tag: str) -> None:
    """Add the spring of an axis, and its mimic rule."""
    item, system = part.item, reading.system
    axis = part.element.find(tag)
    if axis is None:
        return
    stiffness = number(axis, "dynamics/spring_stiffness", 0.0, item=item)
    if stiffness:
        rest = number(axis, "dynamics/spring_reference", 0.0, item=item)
        system.connect(
            free_name(f"{coordinate}.spring", reading.used_names), JointSpring(stiffness, rest=rest), coordinate
        )
    mimic = axis.find("mimic")
    if mimic is not None:
        leader = reading.frames.full(name_of(mimic, "joint"), part.scope)
        if leader not in reading.joints:
            raise ModelError(item, "mimic joint", leader, f"no joint has that name{line_of(mimic)}")
        multiplier = number(mimic, "multiplier", 1.0, item=item)
        offset = number(mimic, "offset", 0.0, item=item) - multiplier * number(mimic, "reference", 0.0, item=item)
        system.mimics[coordinate] = Mimic(reading.joints[leader], multiplier, offset)


def _add_cardan(reading: Reading, part: Part, name: str, at: Pose, parent: Any, child: Any) -> None:
    """Add two rotations, the first about an axis of the parent, the second about one of the child."""
    system = reading.system
    axes = [_axis(reading, part, tag, at) for tag in ("axis", "axis2")]
    data = [_data(reading, part, tag) for tag in ("axis", "axis2")]
    if abs(axes[0] @ axes[1]) < 1e-9 and set(data[0]) == set(data[1]):
        both = {field: [data[0][field], data[1][field]] for field in data[0]}
        system.connect(name, Universal(*axes, **both), parent, child)
        coordinates = [f"{name}.angle_1", f"{name}.angle_2"]
    else:
        between = system.body(free_name(f"{name}.cross", reading.used_names))
        coordinates = [free_name(f"{name}.angle_{k}", reading.used_names) for k in (1, 2)]
        system.connect(coordinates[0], Revolute(axes[0], **data[0]), parent, between)
        system.connect(coordinates[1], Revolute(axes[1], **data[1]), between, child)
    for coordinate, tag in zip(coordinates, ("axis", "axis2"), strict=True):
        _add_extras(reading, part, coordinate, tag)
