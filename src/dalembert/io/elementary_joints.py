"""Joints as sequences of elementary joints, as in robot file formats: rotations and translations.

From its first end, a joint is the product of its elementary joints; from its second end, the product of their
inverses in the opposite order, which are the same elementary joints about and along opposite axes:

    (J_1 J_2 ... J_n)^-1 = J_n^-1 ... J_1^-1,    exp(a q)^-1 = exp(-a q)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..connections import joints as j
from ..connections.connection import Connection
from ..connections.joints import Free, Joint
from ..system import System
from ..system.topology import TreeJoint

__all__ = ["ElementaryJoint", "elementary_joints", "outward_joints"]


@dataclass(frozen=True, eq=False)
class ElementaryJoint:
    """Rotation or translation by one coordinate, or a ball or free joint.

    Attributes
    ----------
    kind : str
        ``"turn"``, ``"slide"``, ``"ball"`` or ``"free"``.
    axis : (3,)
        In axes of the marker.
    label : str
        Name of the coordinate; empty if the joint has only one.
    number : int
        Index of the velocity in the joint; the first, for a ball.
    pitch : float
        Advance of a screw per radian of its rotation, m; zero for others.
    """

    kind: str
    axis: Array
    label: str = ""
    number: int = 0
    pitch: float = 0.0


def elementary_joints(joint: Joint, *, backward: bool = False) -> list[ElementaryJoint] | None:
    """Return the elementary joints of a joint from its inboard end, or `backward`; None if there is no such form."""
    form = next((_FORMS[kind] for kind in type(joint).__mro__ if kind in _FORMS), None)
    if form is None:
        return None
    return [replace(move, axis=-move.axis) for move in reversed(form(joint))] if backward else form(joint)


_ORIGIN = np.zeros(3)
_FORMS: dict[type[Joint], Callable[[Any], list[ElementaryJoint]]] = {
    j.Fixed: lambda joint: [],
    j.Revolute: lambda joint: [ElementaryJoint("turn", joint.axis)],
    j.Prismatic: lambda joint: [ElementaryJoint("slide", joint.axis)],
    j.Spherical: lambda joint: [ElementaryJoint("ball", _ORIGIN)],
    j.Free: lambda joint: [ElementaryJoint("free", _ORIGIN)],
    j.Screw: lambda joint: [
        ElementaryJoint("turn", joint.axis),
        ElementaryJoint("slide", joint.axis, "advance", -1, joint.parameter),
    ],
    j.Cylindrical: lambda joint: [
        ElementaryJoint({"angle": "turn", "slide": "slide"}[label], joint.axis, label, k)
        for k, label in enumerate(joint.speeds)
    ],
    j.Universal: lambda joint: [
        ElementaryJoint("turn", axis, f"angle_{k + 1}", k) for k, axis in enumerate((joint.axis_1, joint.axis_2))
    ],
    j.Planar: lambda joint: [
        ElementaryJoint("slide", joint.frame()[:, 0], "x", 0),
        ElementaryJoint("slide", joint.frame()[:, 1], "y", 1),
        ElementaryJoint("turn", joint.normal, "angle", 2),
    ],
}


def outward_joints(system: System, cut_first: Callable[[Joint], bool]) -> tuple[list[TreeJoint], list[Connection]]:
    """Return the joints of spanning trees, parents before children, and the remaining connections.

    Parameters
    ----------
    system : System
    cut_first : function of a joint
        Whether a format supports a joint as a loop constraint; such joints are cut before others.
    """
    joints = [c for c in system.connections.values() if isinstance(c.element, Joint)]
    joints.sort(key=lambda c: isinstance(c.element, Joint) and cut_first(c.element))  # the others first
    root = {name: name for name in (system.ground.name, *system.bodies)}

    def top(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    kept: set[str] = set()
    for c in joints:
        a, b = top(c.first.body.name), top(c.second.body.name)
        if a != b:
            root[a] = b
            kept.add(c.name)
    branches = [c for c in system.connections.values() if c.name in kept]
    loop_constraints = [c for c in system.connections.values() if c.name not in kept]
    return _walked(system, branches), loop_constraints


def _walked(system: System, branches: list[Connection]) -> list[TreeJoint]:
    ends: dict[str, list[TreeJoint]] = {name: [] for name in (system.ground.name, *system.bodies)}
    for c in branches:
        assert isinstance(c.element, Joint)
        ends[c.first.body.name].append(TreeJoint(c.name, c.element, c.first, c.second, False, c))
        ends[c.second.body.name].append(TreeJoint(c.name, c.element, c.second, c.first, True, c))
    seen = {system.ground.name}
    found: list[TreeJoint] = []
    for start in (system.ground.name, *system.bodies):
        if start not in seen:  # floating parts get a free joint
            body = system.bodies[start]
            found.append(TreeJoint(f"{start}.free", Free(), system.ground.origin, body.origin, False))
            seen.add(start)
        elif start != system.ground.name:
            continue
        waiting = [start]
        while waiting:
            for joint in ends[waiting.pop()]:
                name = joint.outboard.body.name
                if name not in seen:
                    seen.add(name)
                    found.append(joint)
                    waiting.append(name)
    return found
