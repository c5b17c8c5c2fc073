"""Loops of URDF documents: <constraint> (urdfdom_headers, pull request 108), and joints within <gazebo>.

<constraint name type>          closes a loop between parent_origin of one link and child_origin of another, about
                                or along parent_axis and child_axis; types as of joints, and cylindrical, universal
<gazebo><joint ...>             a joint of SDF 1.6 between two links: its pose is relative to the child; it closes
                                where the links are with all coordinates zero
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

import numpy as np

from ...arrays import Array
from ...bodies.markers import Marker
from ...connections.joints import Cylindrical, Fixed, Joint, Planar, Prismatic, Revolute, Spherical, Universal
from ...errors import ModelError
from ...rotation import skew, unit_vector
from ...system import System
from ..sdf.fields import Pose, inverse, numbers, pose_of, times, words
from ..unique_names import free_name
from ..xml_fields import child_of, name_of, numbers_of, origin_of, renamed, suggestion
from ..xml_files import line_of

__all__ = ["add_loops"]


_JOINTS: dict[str, Callable[[Array, Array], Joint]] = {
    "fixed": lambda a, b: Fixed(),
    "spherical": lambda a, b: Spherical(),
    "ball": lambda a, b: Spherical(),
    "revolute": lambda a, b: Revolute(a),
    "continuous": lambda a, b: Revolute(a),
    "prismatic": lambda a, b: Prismatic(a),
    "cylindrical": lambda a, b: Cylindrical(a),
    "planar": lambda a, b: Planar(a),
    "universal": lambda a, b: Universal(a, b),
}
_ALIGNED = frozenset({"revolute", "continuous", "prismatic", "cylindrical", "planar"})  # one axis on both sides


def add_loops(system: System, robot: Element, links: Mapping[str, str], taken: set[str]) -> None:
    """Add loop constraints; `links` gives the names of bodies by those of links."""
    for number, element in enumerate(robot.findall("constraint"), start=1):
        _add_constraint(system, element, links, taken, number)
    joints = [joint for gazebo in robot.findall("gazebo") for joint in gazebo.findall("joint")]
    if joints:
        places = _zero_poses(system)
        for joint in joints:
            _add_gazebo(system, joint, links, taken, places)


def _body(links: Mapping[str, str], name: str, *, item: str, field: str, where: str) -> str:
    if name not in links:
        raise ModelError(item, field, name, f"no link has that name{suggestion(name, links)}{where}")
    return links[name]


def _kind(element: Element, *, item: str) -> str:
    kind = name_of(element, "type")
    if kind not in _JOINTS:
        remedy = f"use one of {', '.join(_JOINTS)}{suggestion(kind, _JOINTS)}{line_of(element)}"
        raise ModelError(item, "type", kind, remedy)
    return kind


def _add_constraint(system: System, element: Element, links: Mapping[str, str], taken: set[str], number: int) -> None:
    own = name_of(element) or f"constraint {number}"
    item = f"constraint {own!r}"
    kind = _kind(element, item=item)
    ends, axes = [], []
    for side in ("parent", "child"):
        link = child_of(element, side, item=item)
        name = "" if link is None else name_of(link, "link")
        body = system.bodies[_body(links, name, item=item, field=f"{side} link", where=line_of(element))]
        holder = Element(side)
        origin = child_of(element, f"{side}_origin", item=item)
        if origin is not None:
            renamed_origin = Element("origin", dict(origin.attrib))
            holder.append(renamed_origin)
        position, rotation = origin_of(holder, item=item)
        axis = child_of(element, f"{side}_axis", item=item)
        xyz = (1.0, 0.0, 0.0) if axis is None else numbers_of(axis, "xyz", (1.0, 0.0, 0.0), item=item)
        axes.append(unit_vector(xyz, item=item, field=f"{side}_axis xyz"))
        ends.append(body.at(*position, rotation=rotation))
    if kind in _ALIGNED:
        turned = ends[1].rotation @ _carrying(axes[0], axes[1])
        ends[1] = ends[1].body.at(*ends[1].position.tolist(), rotation=turned)
    _close(system, free_name(own, taken), _JOINTS[kind], axes, ends, item + line_of(element))


def _close(
    system: System,
    name: str,
    make: Callable[[Array, Array], Joint],
    axes: list[Array],
    ends: list[Marker],
    item: str,
) -> None:
    try:
        system.connect(name, make(axes[0], axes[1]), ends[0], ends[1])
    except ModelError as error:
        raise renamed(error, item) from None


def _carrying(a: Array, b: Array) -> Array:
    """Return the smallest rotation from the unit vector a to b."""
    cross, dot = np.cross(a, b), float(a @ b)
    if dot < -1 + 1e-12:  # 180 degrees about any perpendicular axis
        side = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        side /= np.linalg.norm(side)
        return 2 * np.outer(side, side) - np.eye(3)
    K = skew(cross)
    return np.eye(3) + K + K @ K / (1 + dot)


def _zero_poses(system: System) -> dict[str, Pose]:
    """Return the poses of bodies with all coordinates zero; URDF joints go from parent to child."""
    places: dict[str, Pose] = {system.ground.name: (np.eye(3), np.zeros(3))}
    waiting = list(system.connections.values())
    while waiting:
        left = []
        for c in waiting:
            if c.first.body.name in places and c.second.body.name not in places:
                at = times(places[c.first.body.name], (c.first.rotation, c.first.position))
                places[c.second.body.name] = times(at, inverse((c.second.rotation, c.second.position)))
            elif c.second.body.name not in places:
                left.append(c)
        if len(left) == len(waiting):
            break
        waiting = left
    return places


def _add_gazebo(
    system: System, joint: Element, links: Mapping[str, str], taken: set[str], places: Mapping[str, Pose]
) -> None:
    own = name_of(joint) or "gazebo joint"
    item = f"gazebo joint {own!r}"
    kind = _kind(joint, item=item)
    where = line_of(joint)
    parent, child = (
        _body(links, words(joint, side), item=item, field=side, where=where) for side in ("parent", "child")
    )
    at = times(places[child], pose_of(joint, item=item))
    axes = []
    for tag, default in (("axis", (0.0, 0.0, 1.0)), ("axis2", (0.0, 0.0, 1.0))):
        axes.append(unit_vector(numbers(joint, f"{tag}/xyz", default, item=item), item=item, field=f"{tag} xyz"))
    ends = []
    for name in (parent, child):
        R, p = times(inverse(places[name]), at)
        ends.append(system.bodies[name].at(*p.tolist(), rotation=R))
    _close(system, free_name(own, taken), _JOINTS[kind], axes, ends, item + where)
