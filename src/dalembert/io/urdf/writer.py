"""Write systems as URDF.

    ground                          <link name="world">, the root
    body                            <link>; its frame is at its joint, as URDF requires
    joint                           <joint>: revolute, continuous, prismatic, fixed, floating, planar, and spherical,
                                    which only some tools read; others as several joints with links without mass
                                    between them, a screw with a <mimic>
    loop                            <constraint>, as proposed for URDF (urdfdom_headers, pull request 108)
    `Coupling`, mimic               <mimic>
    marker with a name              <link> without mass, fixed to its body's
    shape, visuals                  <visual>, <collision>

Stops, damping, friction and limits of effort and velocity are written. Armature, springs, forces and drives are left
out, with a warning. Start values are not part of URDF.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...arrays import Array
from ...bodies.body import Body
from ...bodies.visuals import Visual
from ...connections.connection import Connection
from ...connections.constraints.couplings import Coupling
from ...connections.joints import Cylindrical, Fixed, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ...errors import ModelError
from ...system import System
from ...system.topology import TreeJoint
from ..elementary_joints import ElementaryJoint, elementary_joints, outward_joints
from ..mesh_paths import relative_path
from ..omissions import note_cut_joint_data, note_omitted_forces, warn_omitted
from ..unique_names import free_name
from ..visuals import AXES_FROM_Z, visuals_of
from ..xml_files import text_of, write_document

__all__ = ["save_urdf"]

Frame = tuple[Array, Array]

NO_LIMIT = 1e30  # URDF requires a number where there is no limit
_CLOSING = (Revolute, Spherical, Prismatic, Fixed, Cylindrical, Universal, Planar)


class _Writing:
    def __init__(self, system: System, root: Element, folder: Path) -> None:
        self.system, self.root, self.folder = system, root, folder
        self.omissions: list[str] = []
        self.names: dict[str, str] = {}
        self.frames: dict[str, Frame] = {}  # of links, in their bodies: rotation, position
        self.joints: dict[tuple[str, int], Element] = {}
        self.used_names: set[str] = set()

    def origin(self, parent: Element, tag: str, rotation: Array, position: Array) -> None:
        """Add a pose, unless it is the identity."""
        data = {}
        if position.any():
            data["xyz"] = text_of(position)
        angles = _roll_pitch_yaw(rotation)
        if any(angles):
            data["rpy"] = text_of(angles)
        if data:
            SubElement(parent, tag, data)


def save_urdf(system: System, path: Path) -> None:
    """Write a system as URDF; see the module docstring.

    Raises
    ------
    ModelError
        If the system has joints, constraints or bodies that URDF cannot represent.
    """
    root = Element("robot", name=system.name)
    writing = _Writing(system, root, path.absolute().parent)
    ground = system.ground.name
    writing.used_names = {*system.bodies}
    writing.names = {ground: free_name("world", writing.used_names), **{name: name for name in system.bodies}}
    writing.frames[ground] = (np.eye(3), np.zeros(3))
    SubElement(root, "link", name=writing.names[ground])
    branches, loop_constraints = outward_joints(system, lambda tree_joint: isinstance(tree_joint, _CLOSING))
    for tree_joint in branches:
        _add_kinematic_joint(writing, tree_joint)
    _add_markers(writing)
    for loop_constraint in loop_constraints:
        _add_constraint(writing, loop_constraint)
    _add_couplings(writing)
    note_omitted_forces(system, writing.omissions, ())
    if not np.allclose(system.gravity, (0.0, 0.0, -9.81)):
        writing.omissions.append(f"gravity {system.gravity.tolist()}: URDF has none; readers take (0, 0, -9.81) m/s2")
    if system.planar is not None:
        writing.omissions.append("planar: URDF has no plane of motion; loops have their rows in space")
    write_document(root, path)
    warn_omitted(str(path), writing.omissions)


def _roll_pitch_yaw(R: Array) -> tuple[float, float, float]:
    """Return the angles of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-12:  # roll and yaw are about one axis
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _add_kinematic_joint(writing: _Writing, tree_joint: TreeJoint) -> None:
    """Add a joint and the link that it carries."""
    element, body = tree_joint.element, tree_joint.outboard.body
    moves = elementary_joints(element, backward=tree_joint.reversed)
    if moves is None:
        raise ModelError("save", f"joint {tree_joint.name!r}", element.kind, "URDF has no such joint")
    if isinstance(element, Planar) and not tree_joint.reversed:
        moves = [ElementaryJoint("planar", element.normal)]
    parent = writing.names[tree_joint.inboard.body.name]
    R0, p0 = writing.frames[tree_joint.inboard.body.name]
    R, p = R0.T @ tree_joint.inboard.rotation, R0.T @ (tree_joint.inboard.position - p0)
    for k, move in enumerate(moves or [ElementaryJoint("fixed", np.zeros(3))]):
        last = k >= len(moves) - 1
        child = body.name if last else free_name(f"{tree_joint.name}.{move.label or 'turn'}.link", writing.used_names)
        if not last:
            SubElement(writing.root, "link", name=child)
        _add_joint(writing, tree_joint, move, parent, child, R, p)
        parent, R, p = child, np.eye(3), np.zeros(3)
    writing.frames[body.name] = (tree_joint.outboard.rotation, tree_joint.outboard.position)
    if tree_joint.outboard.position.any() or not np.array_equal(tree_joint.outboard.rotation, np.eye(3)):
        writing.omissions.append(f"body {body.name!r}: the frame of its link is at its joint {tree_joint.name!r}")
    _add_link(writing, body)


_TYPES = {"slide": "prismatic", "ball": "spherical", "free": "floating", "planar": "planar", "fixed": "fixed"}


def _add_joint(
    writing: _Writing, tree_joint: TreeJoint, move: ElementaryJoint, parent: str, child: str, R: Array, p: Array
) -> None:
    name = f"{tree_joint.name}.{move.label}" if move.label else tree_joint.name
    data = tree_joint.element
    stops = move.number >= 0 and (data.lower is not None or data.upper is not None)
    kind = ("revolute" if stops else "continuous") if move.kind == "turn" else _TYPES[move.kind]
    joint = SubElement(writing.root, "joint", name=name, type=kind)
    writing.origin(joint, "origin", R, p)
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    if move.kind in ("turn", "slide", "planar"):
        SubElement(joint, "axis", xyz=text_of(move.axis))
    if move.kind == "ball":
        writing.omissions.append(
            f"joint {tree_joint.name!r}: a joint of the type spherical, which is not part of the specification"
        )
    if move.number >= 0:
        writing.joints[tree_joint.name, move.number] = joint
        _add_data(writing, joint, tree_joint, move)
    else:
        SubElement(joint, "limit", effort=text_of(NO_LIMIT), velocity=text_of(NO_LIMIT))
    if move.pitch:
        SubElement(joint, "mimic", joint=tree_joint.name, multiplier=text_of(move.pitch))


def _add_data(writing: _Writing, joint: Element, tree_joint: TreeJoint, move: ElementaryJoint) -> None:
    data, item = tree_joint.element, f"joint {tree_joint.name!r}"

    def one(field: str) -> float | None:
        values = getattr(data, field)
        if values is None:
            return None
        own = values if move.kind in ("ball", "free", "planar") else values[move.number : move.number + 1]
        if (own != own[0]).any():
            writing.omissions.append(f"{item}: {field} {values.tolist()}; a joint has one number")
            return None
        return float(own[0])

    if move.kind in ("turn", "slide"):
        lower, upper, effort, speed = (one(field) for field in ("lower", "upper", "max_effort", "max_speed"))
        limit = {}
        if lower is not None or upper is not None:
            limit = {
                "lower": text_of(-NO_LIMIT if lower is None else lower),
                "upper": text_of(NO_LIMIT if upper is None else upper),
            }
        elif move.kind == "slide":  # both would default to zero
            limit = {"lower": text_of(-NO_LIMIT), "upper": text_of(NO_LIMIT)}
        limit["effort"] = text_of(NO_LIMIT if effort is None else effort)
        limit["velocity"] = text_of(NO_LIMIT if speed is None else speed)
        SubElement(joint, "limit", limit)
    numbers = {field: one(field) for field in ("damping", "friction")}
    given = {field: text_of(value) for field, value in numbers.items() if value}
    if given and move.kind == "free":
        writing.omissions.append(f"{item}: {', '.join(given)} of a floating joint")
    elif given:
        SubElement(joint, "dynamics", given)
    for field in ("armature", "static_friction", "restitution", "load_friction"):
        if getattr(data, field) is not None and f"{item}: its {field}" not in writing.omissions:
            writing.omissions.append(f"{item}: its {field}")


def _add_link(writing: _Writing, body: Body) -> None:
    if body.flexible is not None:
        raise ModelError("save", f"body {body.name!r}", "flexible", "URDF supports rigid bodies only")
    R, p = writing.frames[body.name]
    link = SubElement(writing.root, "link", name=body.name)
    if body.mass or body.inertia.any():
        inertial = SubElement(link, "inertial")
        writing.origin(inertial, "origin", np.eye(3), R.T @ (body.com - p))
        SubElement(inertial, "mass", value=text_of(body.mass))
        own = R.T @ body.inertia @ R
        places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        SubElement(inertial, "inertia", {key: text_of(own[place]) for key, place in places.items()})
    for look in visuals_of(body):
        shape = _shape(look, writing.folder)
        if shape is None:
            writing.omissions.append(f"body {body.name!r}: the picture of a {look.kind}")
            continue
        tag, size, turn = shape
        visual = SubElement(link, "collision" if look.collision else "visual")
        writing.origin(visual, "origin", R.T @ look.rotation @ turn, R.T @ (look.position - p))
        SubElement(SubElement(visual, "geometry"), tag, size)
        if look.color is not None and not look.collision:
            material = SubElement(visual, "material", name=free_name(f"{body.name}.color", writing.used_names))
            SubElement(material, "color", rgba=text_of(look.color))


def _shape(look: Visual, folder: Path) -> tuple[str, dict[str, str], Array] | None:
    size = look.size
    if look.kind == "mesh" and look.file is not None:
        # package URIs are kept; files are relative to the folder of the document
        file = look.file if look.path is None or "://" in look.file else relative_path(look.path, folder)
        return "mesh", {"filename": file, "scale": text_of([size[axis] for axis in "xyz"])}, np.eye(3)
    if look.kind == "sphere":
        return "sphere", {"radius": text_of(size["radius"])}, np.eye(3)
    if look.kind in ("box", "plate"):
        keys = ("x", "y", "z" if look.kind == "box" else "thickness")
        return "box", {"size": text_of([size[key] for key in keys])}, np.eye(3)
    if look.kind in ("cylinder", "capsule"):
        data = {key: text_of(size[key]) for key in ("radius", "length")}
        return look.kind, data, AXES_FROM_Z[int(size["axis"])]
    return None


def _add_markers(writing: _Writing) -> None:
    for body in (writing.system.ground, *writing.system.bodies.values()):
        R, p = writing.frames[body.name]
        for marker in body.markers.values():
            name = free_name(marker.name, writing.used_names)
            SubElement(writing.root, "link", name=name)
            joint = SubElement(writing.root, "joint", name=f"{name}.fixed", type="fixed")
            writing.origin(joint, "origin", R.T @ marker.rotation, R.T @ (marker.position - p))
            SubElement(joint, "parent", link=writing.names[body.name])
            SubElement(joint, "child", link=name)


def _add_constraint(writing: _Writing, loop_constraint: Connection) -> None:
    element: Any = loop_constraint.element
    if not isinstance(element, _CLOSING):
        remedy = f"URDF closes loops by {', '.join(joint.__name__ for joint in _CLOSING)}"
        raise ModelError("save", f"connection {loop_constraint.name!r}", element.kind, remedy)
    constraint = SubElement(writing.root, "constraint", name=loop_constraint.name, type=element.kind.lower())
    axes = (element.axis_1, element.axis_2) if isinstance(element, Universal) else _axes(element)
    for side, marker, axis in zip(
        ("parent", "child"), (loop_constraint.first, loop_constraint.second), axes, strict=True
    ):
        R, p = writing.frames[marker.body.name]
        SubElement(constraint, side, link=writing.names[marker.body.name])
        writing.origin(constraint, f"{side}_origin", R.T @ marker.rotation, R.T @ (marker.position - p))
        if axis is not None:
            SubElement(constraint, f"{side}_axis", xyz=text_of(axis))
    note_cut_joint_data(writing.system, writing.omissions, loop_constraint)
    omission = "loops: <constraint> is proposed for URDF, and few tools read it"
    if omission not in writing.omissions:
        writing.omissions.append(omission)


def _axes(element: Joint) -> tuple[Array | None, Array | None]:
    axis = getattr(element, "axis", getattr(element, "normal", None))
    return axis, axis


def _add_couplings(writing: _Writing) -> None:
    rules = [
        (coupling.name, coupling.element, coupling.joint_coordinates[1], coupling.joint_coordinates[0])
        for coupling in writing.system.couplings.values()
    ]
    found: list[tuple[str, tuple[str, int], str, float, float]] = []
    for name, element, (follower, k), (leader, j) in rules:
        if not isinstance(element, Coupling) or (leader.name, j) not in writing.joints:
            raise ModelError("save", f"coupling {name!r}", element.kind, "a URDF joint can follow one other: <mimic>")
        led = str(writing.joints[leader.name, j].get("name"))
        found.append((name, (follower.name, k), led, element.ratio, element.offset))
    found += [(name, (name, 0), m.joint, m.multiplier, m.offset) for name, m in writing.system.mimics.items()]
    for name, place, leader_name, ratio, offset in found:
        joint = writing.joints.get(place)
        if joint is None or joint.find("mimic") is not None:
            raise ModelError(
                "save", f"coupling {name!r}", place[0], "its joint closes a loop, or follows another already"
            )
        SubElement(joint, "mimic", joint=leader_name, multiplier=text_of(ratio), offset=text_of(offset))
