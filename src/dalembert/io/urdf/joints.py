"""Joints of a URDF document: joints, their data, and mimic rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.etree.ElementTree import Element

from ...arrays import Array
from ...connections.constraints.mimic import Mimic
from ...connections.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from ...errors import ModelError
from ...rotation import unit_vector
from ..xml_fields import child_of, name_of, number_of, numbers_of, renamed, suggestion

__all__ = ["joint_of", "mimics_of"]


MULTI_DOF_TYPES = ("floating", "planar", "spherical", "ball")  # joint types with several coordinates
_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "ball")


def joint_of(joint: Element, *, item: str, without: frozenset[str], warn: list[str]) -> Joint:
    """Return the joint of an element; joint data named in `without` are checked and left out.

    Limits with lower above upper are added to `warn` and left out: Bullet, for one, means no limits by them.
    """
    kind = name_of(joint, "type")
    if kind not in _JOINT_TYPES:
        remedy = f"use one of {', '.join(_JOINT_TYPES)}{suggestion(kind, _JOINT_TYPES)}"
        raise ModelError(item, "type", joint.get("type"), remedy)
    if kind == "fixed":
        return Fixed()
    if kind == "floating":
        return Free()
    try:
        found = {**_limits(joint, item=item, position=kind in ("revolute", "prismatic")), **_dynamics(joint, item=item)}
        if math.inf > found.get("lower", -math.inf) > found.get("upper", math.inf) > -math.inf:
            lower, upper = found.pop("lower"), found.pop("upper")
            warn.append(f"{item}: it has no stops; its lower limit {lower:.6g} exceeds the upper, {upper:.6g}")
        data = {field: value for field, value in found.items() if field not in without}
        if kind in ("spherical", "ball"):
            return Spherical(**data)
        axis = _axis(joint, item=item)
        if kind == "planar":
            return Planar(axis, **data)
        return Prismatic(axis, **data) if kind == "prismatic" else Revolute(axis, **data)
    except ModelError as error:
        raise renamed(error, item) from None


def _axis(joint: Element, *, item: str) -> Array:
    element = child_of(joint, "axis", item=item)
    numbers = (1.0, 0.0, 0.0) if element is None else numbers_of(element, "xyz", (1.0, 0.0, 0.0), item=item)
    return unit_vector(numbers, item=item, field="axis xyz")


def _limits(joint: Element, *, item: str, position: bool) -> dict[str, float]:
    """Return lower and upper (if `position`), max_effort and max_speed, without infinite ones."""
    element = child_of(joint, "limit", item=item)
    if element is None:
        return {}
    limits = {
        "max_effort": number_of(element, "effort", math.inf, item=item, infinite=True),
        "max_speed": number_of(element, "velocity", math.inf, item=item, infinite=True),
    }
    if position and ("lower" in element.attrib or "upper" in element.attrib):
        limits["lower"] = number_of(element, "lower", 0.0, item=item, infinite=True)
        limits["upper"] = number_of(element, "upper", 0.0, item=item, infinite=True)
    none = {"lower": -math.inf, "upper": math.inf, "max_effort": math.inf, "max_speed": math.inf}
    return {key: value for key, value in limits.items() if value != none[key]}


def _dynamics(joint: Element, *, item: str) -> dict[str, float]:
    element = child_of(joint, "dynamics", item=item)
    if element is None:
        return {}
    return {key: number_of(element, key, item=item) for key in ("damping", "friction") if key in element.attrib}


def mimics_of(joints: Mapping[str, Element], warn: list[str]) -> dict[str, Mimic]:
    """Return the mimic rules, in the names of the file; a missing leader is added to `warn`."""
    mimics: dict[str, Mimic] = {}
    for name, joint in joints.items():
        item = f"joint {name!r}"
        element = child_of(joint, "mimic", item=item)
        if element is None:
            continue
        leader = name_of(element, "joint")
        if leader not in joints:
            warn.append(
                f"{item}: it moves independently (or by a rule in system.mimics); it is to follow {leader!r}, and no "
                f"joint has that name{suggestion(leader, joints)}"
            )
            continue
        for end in (leader, name):
            kind = joints[end].get("type", "")
            if kind in MULTI_DOF_TYPES:
                remedy = f"{end!r} is {kind}; only joints with one coordinate can follow or lead"
                raise ModelError(item, "mimic joint", leader, remedy)
        multiplier, offset = (
            number_of(element, "multiplier", 1.0, item=item),
            number_of(element, "offset", 0.0, item=item),
        )
        mimics[name] = Mimic(leader, multiplier, offset)
    settled: set[str] = set()
    for name in mimics:
        path: dict[str, None] = {}
        while name in mimics and name not in settled:
            if name in path:
                remedy = "it follows itself through others: remove one of the <mimic> elements"
                raise ModelError(f"joint {name!r}", "mimic joint", mimics[name].joint, remedy)
            path[name] = None
            name = mimics[name].joint
        settled.update(path)
    return mimics
