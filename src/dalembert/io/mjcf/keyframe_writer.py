"""MJCF keyframe of the start state of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import SubElement

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...closure import assemble
from ...errors import DalembertError
from ...rotation import to_quaternion
from ..xml_files import text_of

if TYPE_CHECKING:
    from .writer import MjcfJoint, Writing

__all__ = ["add_keyframe"]


def add_keyframe(writing: Writing) -> None:
    """Add the start values, with closed loops, as the keyframe ``start``; velocities if they were given."""
    system = writing.system
    try:
        model = system.compile()
        q = assemble(model).q
    except DalembertError as error:
        writing.omissions.append(f"start values: {str(error).splitlines()[0]}")
        return
    poses = {
        body.name: (pose.rotation, pose.position) for body in system.bodies.values() for pose in [model.pose(body, q)]
    }
    poses[system.ground.name] = (np.eye(3), np.zeros(3))

    def frame(marker: Marker) -> tuple[Array, Array]:
        R, p = poses[marker.body.name]
        return R @ marker.rotation, p + R @ marker.position

    position: list[float] = []
    speed: list[float] = []
    by_name = {joint.name: joint for joint in writing.joints}
    for element in writing.part("worldbody").iter("joint"):  # qpos has the order of the document
        joint = by_name[str(element.get("name"))]
        tree_joint = joint.tree_joint
        first, second = (
            (tree_joint.outboard, tree_joint.inboard)
            if tree_joint.reversed
            else (tree_joint.inboard, tree_joint.outboard)
        )
        (A, a), (B, b) = frame(first), frame(second)
        values = tree_joint.element.coordinates_of(A.T @ B, A.T @ (b - a))
        given = system.initials.get(tree_joint.name)
        rates = np.zeros(tree_joint.element.nv)
        if given is not None and given.speed is not None:
            rates = np.nan_to_num(given.speed)
        at, to = _numbers(joint, values, rates, poses)
        position += at
        speed += to
    if not np.any(position) and not np.any(speed):
        return
    SubElement(writing.part("keyframe"), "key", name="start", qpos=text_of(position), qvel=text_of(speed))


def _numbers(
    joint: MjcfJoint, values: Array, rates: Array, poses: dict[str, tuple[Array, Array]]
) -> tuple[list[float], list[float]]:
    """Return qpos and qvel of a joint."""
    move, tree_joint = joint.move, joint.tree_joint
    if move.kind == "free":
        R, p = poses[tree_joint.outboard.body.name]
        plain = not tree_joint.reversed and tree_joint.outboard.name == tree_joint.outboard.body.name
        turn, slide = (rates[:3], R @ rates[3:]) if plain else (np.zeros(3), np.zeros(3))
        return [*p.tolist(), *to_quaternion(R).tolist()], [*slide.tolist(), *turn.tolist()]
    if move.kind == "ball":
        quaternion = np.array(values[:4], dtype=float)
        if tree_joint.reversed:
            quaternion = quaternion * np.array([1.0, -1.0, -1.0, -1.0])
        out = tree_joint.outboard.rotation
        turned = np.concatenate([quaternion[:1], out @ quaternion[1:]])
        return turned.tolist(), ((out @ rates[:3]) if not tree_joint.reversed else np.zeros(3)).tolist()
    if move.number < 0:
        return [move.pitch * float(values[0])], [move.pitch * float(rates[0])]
    at = move.number + 1 if len(values) > len(rates) else move.number
    return [float(values[at])], [float(rates[move.number])]
