"""Write systems as MJCF, without MuJoCo.

    body                            <body> with its own frame, <inertial>
    joint                           one <joint> for each elementary joint, several on one <body>; a screw is two joints
                                    tied by an <equality>
    body without mass               its joints are those of the one body that it carries
    loop                            <equality>: `Spherical`, `PointOnPoint` connect; `Fixed` weld; `Revolute` two
                                    points on its axis connect; `Distance` a <tendon> of constant length
    `Coupling`, mimic               <equality> of joints
    `JointSpring`, joint data       stiffness, springref, damping, armature, frictionloss, range
    `SpringDamper`                  <spatial> tendon
    marker                          <site>
    shape, visuals                  <geom> without contacts and mass; a mesh is an asset: its
                                    file, or its triangles
    start values, loops closed      <keyframe> ``start``

Other forces, drives, laws and inputs are left out, and listed in a warning. Items without which the system would move
otherwise (other constraints and joints, flexible bodies, massless bodies that carry several) are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.markers import Marker
from ...connections.joints import Fixed, Free, Joint, Revolute, Spherical
from ...errors import ModelError
from ...rotation import to_quaternion
from ...system import System
from ...system.topology import TreeJoint
from ..elementary_joints import ElementaryJoint, elementary_joints, outward_joints
from ..omissions import joint_spring, note_omitted_forces, warn_omitted
from ..unique_names import free_name
from ..xml_files import text_of, write_document
from .geom_writer import add_geoms
from .keyframe_writer import add_keyframe
from .loop_writer import add_loops

__all__ = ["MjcfJoint", "Writing", "save_mjcf"]


_WORLD = "world"  # MuJoCo's name of ground

MIN_INERTIA = 2e-15  # kg m2: MuJoCo refuses a moving body below its mjMINVAL, 1e-15


class MjcfJoint:
    """Elementary joint as it is written, with its joint and its pose in the frame of its body."""

    def __init__(self, name: str, move: ElementaryJoint, tree_joint: TreeJoint, anchor: Array, axis: Array) -> None:
        self.name, self.move, self.tree_joint, self.anchor, self.axis = name, move, tree_joint, anchor, axis

    def seen_from(self, position: Array, rotation: Array) -> MjcfJoint:
        """Return the same joint in a frame at a pose relative to the present one."""
        anchor = rotation.T @ (self.anchor - position)
        return MjcfJoint(self.name, self.move, self.tree_joint, anchor, rotation.T @ self.axis)


class Writing:
    """System being written, and the document built from it."""

    def __init__(self, system: System, root: Element, folder: Path) -> None:
        self.system, self.root, self.folder = system, root, folder
        self.meshes: dict[tuple[Any, ...], str] = {}  # names of mesh assets
        self.omissions: list[str] = []
        self.elements: dict[str, Element] = {}
        self.body_poses: dict[str, tuple[Array, Array]] = {}  # poses of bodies in the world, all coordinates zero
        self.joints: list[MjcfJoint] = []
        self.sites: dict[Marker, str] = {}
        self.used_names: set[str] = set()

    def part(self, tag: str) -> Element:
        """Return the part of the document of that name; add it if it is missing."""
        found = self.root.find(tag)
        return SubElement(self.root, tag) if found is None else found

    def site(self, marker: Marker) -> str:
        """Return the name of the site of a marker; add it if it is missing."""
        if marker in self.sites:
            return self.sites[marker]
        if marker.body.name not in self.elements:
            remedy = "it has no mass, and its joints belong to the body that it carries: give it mass, or use that body"
            raise ModelError("save", f"marker {marker.name!r}", marker.body.name, remedy)
        own = marker.label or f"{marker.body.name} {len(self.sites)}"
        name = own if own not in self.used_names else f"{marker.body.name}.{own}"
        while name in self.used_names:
            name += "_2"
        self.used_names.add(name)
        SubElement(
            self.elements[marker.body.name],
            "site",
            name=name,
            pos=text_of(marker.position),
            quat=text_of(to_quaternion(marker.rotation)),
        )
        self.sites[marker] = name
        return name


def save_mjcf(system: System, path: Path) -> None:
    """Write a system as MJCF, which `load_mjcf` and MuJoCo read; see the module docstring.

    Raises
    ------
    ModelError
        If the system has joints, constraints or bodies that MJCF cannot represent.
    """
    root = Element("mujoco", model=system.name)
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false", autolimits="true")
    SubElement(root, "option", gravity=text_of(system.gravity))
    writing = Writing(system, root, path.absolute().parent)
    world = SubElement(root, "worldbody")
    writing.elements[system.ground.name] = world
    writing.body_poses[system.ground.name] = (np.zeros(3), np.eye(3))
    branches, loop_constraints = outward_joints(system, _closes_loops)
    _add_bodies(writing, branches)
    for body in (system.ground, *system.bodies.values()):
        for marker in body.markers.values():
            if body.name in writing.elements:
                writing.site(marker)
            else:
                writing.omissions.append(f"marker {marker.name!r}: its body has no mass, and is not in the file")
    add_loops(writing, loop_constraints)
    if system.planar is not None:
        writing.omissions.append("planar: MJCF has no plane of motion; loops have their rows in space")
    note_omitted_forces(system, writing.omissions, {"JointSpring", "TorsionSpring", "SpringDamper"})
    add_keyframe(writing)
    write_document(root, path)
    warn_omitted(str(path), writing.omissions)


def _closes_loops(element: Joint) -> bool:
    return isinstance(element, (Revolute, Spherical, Fixed))


def _add_bodies(writing: Writing, branches: list[TreeJoint]) -> None:
    """Add bodies within bodies; joints of a body without mass are passed to the body that it carries."""
    carried: dict[str, int] = {}
    for tree_joint in branches:
        carried[tree_joint.inboard.body.name] = carried.get(tree_joint.inboard.body.name, 0) + 1
    # for bodies without an element of their own: parent, pose, and joints passed to the next body
    passed: dict[str, tuple[str, Array, Array, list[MjcfJoint]]] = {}
    for tree_joint in branches:
        parent, body = tree_joint.inboard.body, tree_joint.outboard.body
        R = tree_joint.inboard.rotation @ tree_joint.outboard.rotation.T
        p = tree_joint.inboard.position - R @ tree_joint.outboard.position
        at, turn = writing.body_poses[parent.name]
        writing.body_poses[body.name] = (at + turn @ p, turn @ R)
        joints = _joints(tree_joint)
        holder = parent.name
        if parent.name in passed:
            holder, p0, R0, before = passed[parent.name]
            joints = [joint.seen_from(p, R) for joint in before] + joints
            p, R = p0 + R0 @ p, R0 @ R
        if joints and _massless(body):
            if carried.get(body.name, 0) != 1:
                many = carried.get(body.name, 0)
                remedy = (
                    f"it has no mass and carries {many} bodies: MuJoCo does not support this; give it mass and inertia"
                )
                raise ModelError("save", f"body {body.name!r}", body.mass, remedy)
            passed[body.name] = (holder, p, R, joints)
            writing.omissions.append(
                f"body {body.name!r}: it has no mass; its joints belong to the body that it carries"
            )
            continue
        _add_body(writing, holder, body, p, R, joints)


def _massless(body: Body) -> bool:
    return body.mass == 0 and not body.inertia.any()


def _joints(tree_joint: TreeJoint) -> list[MjcfJoint]:
    """Return the elementary joints of a joint, in the frame of the body that it carries."""
    moves = elementary_joints(tree_joint.element, backward=tree_joint.reversed)
    if moves is None:
        raise ModelError("save", f"joint {tree_joint.name!r}", tree_joint.element.kind, "MJCF has no such joint")
    if isinstance(tree_joint.element, Free) and tree_joint.inboard.body is not tree_joint.inboard.body.system.ground:
        moves = [ElementaryJoint("slide", axis, "xyz"[k], 3 + k) for k, axis in enumerate(np.eye(3))] + [
            ElementaryJoint("ball", np.zeros(3))
        ]
        moves = moves if not tree_joint.reversed else moves[::-1]
    out = tree_joint.outboard
    found = []
    for move in moves:
        name = f"{tree_joint.name}.{move.label}" if move.label else tree_joint.name
        found.append(MjcfJoint(name, move, tree_joint, np.array(out.position), out.rotation @ move.axis))
    return found


def _add_body(writing: Writing, holder: str, body: Body, p: Array, R: Array, joints: list[MjcfJoint]) -> None:
    if body.flexible is not None:
        raise ModelError("save", f"body {body.name!r}", "flexible", "MJCF supports rigid bodies only")
    name = body.name
    if name == _WORLD:
        name = free_name(_WORLD, {_WORLD, *writing.system.bodies})
        writing.omissions.append(f"body {body.name!r}: MuJoCo reserves that name; it is {name!r} in the file")
    element = SubElement(writing.elements[holder], "body", name=name, pos=text_of(p), quat=text_of(to_quaternion(R)))
    writing.elements[body.name] = element
    if not _massless(body):
        _add_inertial(writing, element, body, bool(joints))
    free = next((joint for joint in joints if joint.move.kind == "free"), None)
    for joint in joints:
        if free is not None and (len(joints) > 1 or holder != writing.system.ground.name):
            raise ModelError("save", f"joint {free.name!r}", "Free", "it must be alone, on a child of the world")
        _add_joint(writing, element, joint)
    add_geoms(writing, element, body)


def _add_inertial(writing: Writing, element: Element, body: Body, moving: bool) -> None:
    if body.impossible:
        writing.omissions.append(f"body {body.name!r}: MuJoCo will refuse its inertia; {body.impossible}")
    inertia = body.inertia
    least = float(np.linalg.eigvalsh(inertia)[0])
    if moving and 0 <= least < MIN_INERTIA:
        inertia = inertia + (MIN_INERTIA - least) * np.eye(3)
        writing.omissions.append(
            f"body {body.name!r}: its least moment of inertia is {least:.6g} kg m2, written as {MIN_INERTIA:.6g}"
        )
    xx, yy, zz, xy, xz, yz = (inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    attributes = {"pos": text_of(body.com), "mass": text_of(body.mass)}
    if xy or xz or yz:
        attributes["fullinertia"] = text_of((xx, yy, zz, xy, xz, yz))
    else:
        attributes["diaginertia"] = text_of((xx, yy, zz))
    SubElement(element, "inertial", attributes)


_TYPES = {"turn": "hinge", "slide": "slide", "ball": "ball", "free": "free"}


def _add_joint(writing: Writing, element: Element, joint: MjcfJoint) -> None:
    move, tree_joint = joint.move, joint.tree_joint
    attributes = {"name": joint.name, "type": _TYPES[move.kind]}
    if move.kind != "free":
        attributes["pos"] = text_of(joint.anchor)
    if move.kind in ("turn", "slide"):
        attributes["axis"] = text_of(joint.axis)
    if move.number >= 0:
        attributes |= _joint_data(writing, joint)
    writing.joints.append(joint)
    SubElement(element, "joint", attributes)
    if move.pitch:
        ratio = text_of((0.0, move.pitch, 0.0, 0.0, 0.0))
        SubElement(writing.part("equality"), "joint", joint1=joint.name, joint2=tree_joint.name, polycoef=ratio)


def _joint_data(writing: Writing, joint: MjcfJoint) -> dict[str, str]:
    """Return damping, friction, armature, stops and the spring of a joint."""
    tree_joint, move = joint.tree_joint.element, joint.move
    size = {"ball": 3, "free": 6}.get(move.kind, 1)
    found: dict[str, str] = {}

    def number(field: str) -> float:
        values = getattr(tree_joint, field)
        if values is None:
            return 0.0
        own = np.asarray(values)[move.number : move.number + size]
        if (own != own[0]).any():
            writing.omissions.append(
                f"joint {joint.tree_joint.name!r}: {field} {values.tolist()}, of which a {move.kind} has one"
            )
            return 0.0
        return float(own[0])

    stiffness, rest, damping = joint_spring(writing.system, joint.tree_joint.name, move.number)
    for key, value in (
        ("damping", number("damping") + damping),
        ("frictionloss", number("friction")),
        ("armature", number("armature")),
        ("stiffness", stiffness),
        ("springref", rest),
    ):
        if value:
            found[key] = text_of(value)
    if move.kind in ("turn", "slide") and (tree_joint.lower is not None or tree_joint.upper is not None):
        low, high = (
            -1e10 if tree_joint.lower is None else tree_joint.lower[move.number],
            1e10 if tree_joint.upper is None else tree_joint.upper[move.number],
        )
        found["range"] = text_of((low, high))
    effort = number("max_effort")
    if effort:
        found["actuatorfrcrange"] = text_of((-effort, effort))
    for field in ("static_friction", "restitution", "max_speed", "load_friction"):
        if getattr(tree_joint, field) is not None:
            omission = f"joint {joint.tree_joint.name!r}: its {field}"
            if omission not in writing.omissions:
                writing.omissions.append(omission)
    return found
