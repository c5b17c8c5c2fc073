"""Joints of MJCF: chains of joints with MuJoCo's coordinates, their data, and their start values.

The body frame moves by the joints of a body in sequence, each about or along an axis that is fixed in it
(mj_kinematics of MuJoCo): X = X_body J_1(q_1 - ref_1) ... J_n(q_n - ref_n). Between two of them is a body without
mass. The first marker of a joint includes the reference value, so that its coordinate is qpos itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...connections.elements.built_in import JointSpring
from ...connections.elements.element import Element
from ...connections.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ...errors import ModelError
from ...rotation import axis_angle, quaternion
from ..unique_names import free_name

if TYPE_CHECKING:
    from ...bodies.body import Body
    from .reader import Reading

__all__ = ["add_joints", "set_start"]


_SPEEDS = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
_PLACES = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}


def add_joints(reading: Reading, k: int) -> None:
    """Connect body number `k` to its parent."""
    model, system = reading.model, reading.system
    body, parent = reading.bodies[k], reading.bodies[int(model.body_parentid[k])]
    place, turn = np.array(model.body_pos[k]), quaternion(*model.body_quat[k])
    first, count = int(model.body_jntadr[k]), int(model.body_jntnum[k])
    if count == 0:
        name = free_name(f"{body.name}.fixed", reading.used_names)
        system.connect(name, Fixed(), parent.at(*place.tolist(), rotation=turn), body)
        return
    for joint in range(first, first + count):
        kind = reading.kind("mjtJoint", model.jnt_type[joint])
        own = reading.name("joint", joint)
        name = reading.claim(own, f"{body.name}.{kind}", "joint")
        last = joint == first + count - 1
        next_body = body if last else system.body(free_name(f"{body.name}.{own or kind}", reading.used_names))
        element = _joint(reading, joint, kind, name)
        if kind == "free":
            reading.joints[joint] = system.connect(name, element, system.ground, next_body)
        else:
            before, after = _markers(reading, joint, kind, (parent, place, turn), next_body)
            reading.joints[joint] = system.connect(name, element, before, after)
        _add_spring(reading, joint, kind, name)
        parent, place, turn = next_body, np.zeros(3), np.eye(3)


def _markers(reading: Reading, joint: int, kind: str, start: tuple[Body, Array, Array], after: Body) -> tuple[Any, Any]:
    """Return the markers of a joint: on its parent body and on its child body."""
    model = reading.model
    parent, place, turn = start
    anchor = np.array(model.jnt_pos[joint], dtype=float)
    reference = float(model.qpos0[model.jnt_qposadr[joint]])
    axis = np.array(model.jnt_axis[joint], dtype=float)
    at, back = place + turn @ anchor, turn
    if kind == "slide":
        at = at - turn @ (axis * reference)
    elif kind == "hinge":
        back = turn @ axis_angle(axis, -reference)
    return parent.at(*at.tolist(), rotation=back), after.at(*anchor.tolist())


def _joint(reading: Reading, joint: int, kind: str, name: str) -> Joint:
    data = {field: value for field, value in _data(reading, joint, kind, name).items() if field not in reading.without}
    if kind == "free":
        return Free(**data)
    if kind == "ball":
        return Spherical(**data)
    axis = np.array(reading.model.jnt_axis[joint], dtype=float)
    return Prismatic(axis, **data) if kind == "slide" else Revolute(axis, **data)


def _data(reading: Reading, joint: int, kind: str, name: str) -> dict[str, Any]:
    """Return limits, damping, friction and armature of a joint, without defaults."""
    model, left = reading.model, reading.omissions
    dof = int(model.jnt_dofadr[joint])
    data: dict[str, Any] = {}
    if model.jnt_limited[joint] and not reading.disabled("limit"):
        if kind in ("slide", "hinge"):
            data["lower"], data["upper"] = map(float, model.jnt_range[joint])
        else:
            left.append(f"joint {name!r}: a limit of a {kind} joint, {model.jnt_range[joint][1]:.6g} rad")
    for field, values, flag in (
        ("damping", model.dof_damping, "damper"),
        ("friction", model.dof_frictionloss, "frictionloss"),
        ("armature", model.dof_armature, ""),
    ):
        if values[dof] and not (flag and reading.disabled(flag)):
            data[field] = float(values[dof])
    if "friction" in data and kind in ("ball", "free"):
        left.append(f"joint {name!r}: friction acts against the motion as a whole here, in MuJoCo on each component")
    if "armature" in data and kind == "free":
        left.append(
            f"joint {name!r}: the armature of a free joint counts in axes of the body here, in MuJoCo the world's"
        )
    if model.jnt_actfrclimited[joint]:
        low, high = map(float, model.jnt_actfrcrange[joint])
        if low == -high:
            data["max_effort"] = high
        else:
            left.append(f"joint {name!r}: actuatorfrcrange {low:.6g} to {high:.6g} is not symmetric")
    _say_further(reading, joint, dof, name)
    return data


def _say_further(reading: Reading, joint: int, dof: int, name: str) -> None:
    """Note joint properties of newer MuJoCo versions that are not supported."""
    model = reading.model
    for what, values in (
        ("a polynomial of stiffness", getattr(model, "jnt_stiffnesspoly", None)),
        ("a yielding spring", getattr(model, "jnt_springyield", None)),
    ):
        if values is not None and np.any(np.asarray(values[joint])):
            reading.omissions.append(f"joint {name!r}: {what}")
    poly = getattr(model, "dof_dampingpoly", None)
    if poly is not None and np.any(np.asarray(poly[dof])):
        reading.omissions.append(f"joint {name!r}: a polynomial of damping")


def _add_spring(reading: Reading, joint: int, kind: str, name: str) -> None:
    model = reading.model
    stiffness = float(model.jnt_stiffness[joint])
    if not stiffness or reading.disabled("spring"):
        return
    if kind == "free":
        reading.omissions.append(f"joint {name!r}: the stiffness of a free joint, {stiffness:.6g}")
        return
    spring = free_name(f"{name}.spring", reading.used_names)
    adr = int(model.jnt_qposadr[joint])
    if kind in ("slide", "hinge"):
        element = JointSpring(stiffness, rest=float(model.qpos_spring[adr]))
        reading.system.connect(spring, element, name)
        return
    connection = reading.joints[joint]
    moments = ("0", "0", "0", "-k*rx", "-k*ry", "-k*rz")
    law = Element("pose", moments, {"k": stiffness}, energy="k*(rx**2 + ry**2 + rz**2)/2")
    rest = quaternion(*model.qpos_spring[adr : adr + 4])
    first = connection.first
    turned = first.body.at(*first.position.tolist(), rotation=first.rotation @ rest)
    reading.system.connect(spring, law, turned, connection.second)


def set_start(reading: Reading, keyframe: str | int | None) -> None:
    """Set the start values of every joint: from a keyframe, or from the reference configuration."""
    model = reading.model
    names = [reading.name("key", k) for k in range(model.nkey)]
    q, v = np.array(model.qpos0), np.zeros(model.nv)
    if keyframe is not None:
        number = _keyframe(reading, keyframe, names)
        q, v = np.array(model.key_qpos[number]), np.array(model.key_qvel[number])
    elif names:
        known = ", ".join(name or str(k) for k, name in enumerate(names))
        reading.system.notes.append(f"starts at the reference configuration; keyframe=... takes one of: {known}")
    for joint, connection in reading.joints.items():
        kind = reading.kind("mjtJoint", model.jnt_type[joint])
        at, to = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        position, speed = q[at : at + _PLACES[kind]], v[to : to + _SPEEDS[kind]]
        if kind == "free":  # here: orientation first, and all velocities in axes of the body
            position = np.concatenate([position[3:], position[:3]])
            speed = np.concatenate([speed[3:], quaternion(*position[:4]).T @ speed[:3]])
        element = connection.element
        assert isinstance(element, Joint)
        if speed.any() or not np.array_equal(position, element.zero):
            reading.system.initial(connection, position=position, speed=speed if speed.any() else None)


def _keyframe(reading: Reading, keyframe: str | int, names: list[str]) -> int:
    if isinstance(keyframe, str) and keyframe in names:
        return names.index(keyframe)
    if isinstance(keyframe, int) and not isinstance(keyframe, bool) and 0 <= keyframe < len(names):
        return keyframe
    known = ", ".join(repr(name or k) for k, name in enumerate(names)) or "none"
    raise ModelError(reading.compiled.source, "keyframe", keyframe, f"the file has: {known}")
