"""Read robots from URDF, the XML format of ROS (wiki.ros.org/urdf/XML; urdfdom is the reference parser).

What becomes what:

    <link>                          body of the same name; the body frame is the link frame
    <inertial>                      mass, com (origin xyz), inertia in the axes of origin rpy;
                                    a link without it is a body without mass
    <visual>, <collision>           `Visual` in ``body.visuals``; mesh files are named, never opened
    <joint type=...>                connection of the same name from the parent link, at the joint's
                                    origin, to the child link's frame
        revolute, continuous        `Revolute`; continuous has no position limits
        prismatic                   `Prismatic`
        fixed                       `Fixed`
        floating                    `Free`
        planar                      `Planar`, the axis is the normal of the plane
        spherical, ball             `Spherical` (not in the specification; some tools write it)
    <limit lower upper>             lower, upper: revolute and prismatic only
    <limit effort velocity>         max_effort, max_speed     } the same number for each freedom;
    <dynamics damping friction>     damping, friction         } not read for fixed and floating joints
    <mimic>                         `Mimic` in ``system.mimics``, which the compiled model obeys
    root link                       fixed to ground by a connection ``"<link>.fixed"``; or left free,
                                    and then moved by the hinge ``"<link>.free"`` of the forest

Names are kept, with blanks at their ends removed. A `System` has one space of names where URDF has
two, so a joint that is named like a link gets ``"_joint"`` appended; and ``ground`` is taken, so a
link of that name becomes ``"ground_link"``, a joint ``"ground_joint"``. Where that name is taken as
well, ``"_2"``, ``"_3"`` and so on follows.

More lenient than the specification: a missing <limit> means no limits; infinite limits mean none;
the robot's name, effort and velocity may be missing, as may ixy, ixz and iyz (zero). A <limit> with
only one of lower and upper has 0 for the other, as specified; with neither, no position limits.
Ignored: transmission, gazebo, safety_controller, calibration, textures, and extensions (elements
with a colon in their name).

Files are not trusted: document types and entities are refused, and so are files that are too
large or too deeply nested. Nothing here recurses.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ..bodies.rigid import Body
from ..bodies.visual import Visual
from ..connections.constraints.mimic import Mimic
from ..connections.hinges import Fixed, Free, Hinge, Planar, Prismatic, Revolute, Spherical
from ..errors import ModelError, TopologyError
from ..rotation import quaternion, unit_vector
from ..system import GROUND, System
from .guarded_xml import parse_document, read_document

__all__ = ["load_urdf"]

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]
Matrix = NDArray[np.float64]

_JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "ball")
_GEOMETRIES = ("box", "cylinder", "capsule", "sphere", "mesh")


def load_urdf(path_or_text: str | bytes | os.PathLike[str], *, base: str = "fixed") -> System:
    """Read a robot from a URDF file or text and return it as a system.

    Parameters
    ----------
    path_or_text : str, path or bytes
        Name of a file; or the document itself: bytes, or a string that starts with ``<``.
    base : str
        ``"fixed"`` fixes the root link to ground; ``"free"`` leaves it unconnected, so that it
        moves freely.

    Returns
    -------
    System
        Bodies (the root link first) and connections in the order of the file, gravity
        (0, 0, -9.81) m/s2. How the elements are read, and which names are changed, is at the top
        of this module.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a URDF document, or has bad data; names the link or
        joint, the field, the value and the remedy.
    TopologyError
        If the links do not form one tree.

    Examples
    --------
    >>> arm = load_urdf('''
    ... <robot name="arm">
    ...   <link name="base"/>
    ...   <link name="boom"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    ...   <joint name="shoulder" type="revolute">
    ...     <parent link="base"/> <child link="boom"/> <axis xyz="0 1 0"/>
    ...     <limit lower="-1" upper="1" effort="30" velocity="2"/>
    ...   </joint>
    ... </robot>''')
    >>> arm
    <System 'arm': 2 bodies, 2 connections>
    >>> arm["shoulder"].element.upper
    array([1.])
    """
    if base not in ("fixed", "free"):
        raise ModelError("load_urdf", "base", base, "use 'fixed' (to ground) or 'free'")
    source, data, encoding = read_document(path_or_text)
    robot = parse_document(data, encoding, source)
    _check_root_element(robot, source)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise ModelError(source, "link", None, 'it has no links: a robot needs at least one <link name="..."/>')
    ends = {name: _ends(name, joint, links) for name, joint in joints.items()}
    root = _root_link(links, ends)

    link_names, joint_names = _unique_names(links, joints)
    materials = {_name(m): m for m in robot.findall("material")}
    system = System(_name(robot) or "robot")
    for name, link in {root: links[root], **links}.items():  # a free robot moves with its first body
        body = _add_body(system, link_names[name], link, item=f"link {name!r}")
        body.visuals.extend(_visuals(link, materials, item=f"link {name!r}"))
    if base == "fixed":
        fixing = _free_name(f"{link_names[root]}.fixed", {*link_names.values(), *joint_names.values()})
        system.connect(fixing, Fixed(), system.ground, system.bodies[link_names[root]])
    for name, joint in joints.items():
        parent, child = (system.bodies[link_names[end]] for end in ends[name])
        hinge = _hinge(joint, item=f"joint {name!r}")
        position, rotation = _origin(joint, item=f"joint {name!r}")
        system.connect(joint_names[name], hinge, parent.at(*position, rotation=rotation), child)
    for name, mimic in _mimics(joints).items():
        leader = joint_names[mimic.joint]
        system.mimics[joint_names[name]] = Mimic(leader, mimic.multiplier, mimic.offset)
    return system


# ---- from elements to names


def _check_root_element(robot: Element, source: str) -> None:
    if robot.tag != "robot":
        raise ModelError(source, "root element", f"<{robot.tag}>", "only URDF is supported, with the root <robot>")
    for element in robot.iter():
        if element.tag.startswith("xacro:"):
            remedy = "expand it first: xacro robot.urdf.xacro > robot.urdf"
            raise ModelError(source, "element", f"<{element.tag}>", remedy)


# ---- names and topology


def _name(element: Element, attribute: str = "name") -> str:
    return element.get(attribute, "").strip()


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    """Return the children of a kind by name, in the order of the file."""
    found: dict[str, Element] = {}
    for number, element in enumerate(robot.findall(tag), start=1):
        name = _name(element)
        if not name:
            raise ModelError(f"{tag} number {number}", "name", element.get("name"), f'give it one: <{tag} name="...">')
        if name in found:
            raise ModelError(f"{tag} {name!r}", "name", name, f"two {tag}s have this name: rename one")
        found[name] = element
    return found


def _ends(name: str, joint: Element, links: Mapping[str, Element]) -> tuple[str, str]:
    """Return the names of the parent and child links of a joint."""
    item = f"joint {name!r}"
    ends = []
    for which in ("parent", "child"):
        element = _child(joint, which, item=item)
        link = None if element is None else _name(element, "link")
        if not link:
            raise ModelError(item, f"{which} link", link, f'name one of the links: <{which} link="..."/>')
        if link not in links:
            remedy = f"no link has that name: correct it, or add the link{_suggestion(link, links)}"
            raise ModelError(item, f"{which} link", link, remedy)
        ends.append(link)
    return ends[0], ends[1]


def _suggestion(name: str, known: Iterable[str]) -> str:
    import difflib

    if len(name) > 80:  # comparing is quadratic in the length
        return ""
    close = difflib.get_close_matches(name, list(islice(known, 2000)), n=3)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _root_link(links: Mapping[str, Element], ends: Mapping[str, tuple[str, str]]) -> str:
    """Return the one link that is no joint's child, or say why the links are not one tree."""
    above: dict[str, str] = {}  # the joint that carries a link
    for joint, (parent, child) in ends.items():
        if parent == child:
            raise TopologyError(f"joint {joint!r}: parent and child are both link {child!r}; it needs two links")
        if child in above:
            raise TopologyError(
                f"link {child!r} has two parents, through joints {above[child]!r} and {joint!r}; a URDF robot is "
                "a tree: remove one of the joints (a loop can be closed after loading, with system.connect)"
            )
        above[child] = joint
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        some = ", ".join(map(repr, roots[:10])) + (", ..." if len(roots) > 10 else "")
        raise TopologyError(
            f"the robot has {len(roots)} root links: {some}; connect all but one of them to a parent by a joint"
        )
    rooted = set(roots)
    for link in links:
        path: dict[str, None] = {}
        while link not in rooted:
            if link in path:
                cycle = list(path)[list(path).index(link) :]
                names = " -> ".join(map(repr, reversed(cycle[:10])))
                raise TopologyError(f"links {names} form a cycle; a URDF robot is a tree: remove joint {above[link]!r}")
            path[link] = None
            link = ends[above[link]][0]
        rooted.update(path)
    return roots[0]


def _unique_names(links: Iterable[str], joints: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names of bodies and of connections, by the names of links and of joints."""
    taken = {GROUND, *links, *joints}
    link_names = {link: link for link in links}
    if GROUND in link_names:
        link_names[GROUND] = _free_name(f"{GROUND}_link", taken)
    bodies = set(link_names.values())
    joint_names = {}
    for joint in joints:
        clash = joint == GROUND or joint in bodies
        joint_names[joint] = _free_name(f"{joint}_joint", taken) if clash else joint
    return link_names, joint_names


def _free_name(name: str, taken: set[str]) -> str:
    """Return `name`, with _2, _3, ... appended if something else has it, and take it."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


# ---- links


def _add_body(system: System, name: str, link: Element, *, item: str) -> Body:
    inertial = _child(link, "inertial", item=item)
    if inertial is None:
        return system.body(name)
    mass, inertia = _child(inertial, "mass", item=item), _child(inertial, "inertia", item=item)
    if mass is None:
        raise ModelError(item, "mass", None, 'an <inertial> needs <mass value="..."/> in kg')
    if inertia is None:
        remedy = 'an <inertial> needs <inertia ixx="..." .../> in kg m2; all zero for a point mass'
        raise ModelError(item, "inertia", None, remedy)
    com, axes = _origin(inertial, item=item)
    diagonal = [_number(inertia, key, item=item) for key in ("ixx", "iyy", "izz")]
    products = [_number(inertia, key, 0.0, item=item) for key in ("ixy", "ixz", "iyz")]
    value = _number(mass, "value", item=item)
    try:
        return system.body(name, mass=value, com=com, inertia=[*diagonal, *products], inertia_axes=axes)
    except ModelError as error:
        raise _renamed(error, item) from None


def _visuals(link: Element, materials: Mapping[str, Element], *, item: str) -> list[Visual]:
    found = []
    for element in link:
        if element.tag in ("visual", "collision"):
            visual = _visual(element, materials, item=f"{element.tag} of {item}")
            if visual is not None:
                found.append(visual)
    return found


def _visual(element: Element, materials: Mapping[str, Element], *, item: str) -> Visual | None:
    """Return what a <visual> or <collision> shows; None if only an extension could show it."""
    geometry = _child(element, "geometry", item=item)
    shapes = [] if geometry is None else list(geometry)
    plain = [shape for shape in shapes if ":" not in shape.tag]
    if shapes and not plain:
        return None
    if len(plain) != 1 or plain[0].tag not in _GEOMETRIES:
        tags = [f"<{shape.tag}>" for shape in plain]
        raise ModelError(item, "geometry", tags, f"give one of {', '.join(_GEOMETRIES)}, or remove the element")
    shape = plain[0]
    size, file = _size(shape, item=item)
    position, rotation = _origin(element, item=item)
    return Visual(
        kind=shape.tag,
        size=size,
        position=np.array(position),
        rotation=np.eye(3) if rotation is None else rotation,
        file=file,
        collision=element.tag == "collision",
        color=_color(element, materials, item=item),
        name=_name(element) or None,
    )


def _size(shape: Element, *, item: str) -> tuple[dict[str, float], str | None]:
    """Return the lengths of a geometry (m; factors for a mesh) and the file of a mesh."""
    if shape.tag == "mesh":
        file = shape.get("filename")
        if file is None:
            raise ModelError(item, "mesh filename", None, 'say which: <mesh filename="..."/>')
        return dict(zip("xyz", _numbers(shape, "scale", (1.0, 1.0, 1.0), item=item), strict=True)), file
    if shape.tag == "box":
        size = dict(zip("xyz", _numbers(shape, "size", None, item=item), strict=True))
    else:
        keys = ("radius",) if shape.tag == "sphere" else ("length", "radius")
        size = {key: _number(shape, key, item=item) for key in keys}
    for key, length in size.items():
        if length < 0:
            raise ModelError(item, f"{shape.tag} {key}", length, "a length must not be negative")
    return size if shape.tag in ("box", "sphere") else {**size, "axis": 2.0}, None


def _color(element: Element, materials: Mapping[str, Element], *, item: str) -> Color | None:
    material = element.find("material")
    color = None if material is None else material.find("color")
    if color is None and material is not None and _name(material) in materials:
        color = materials[_name(material)].find("color")
    if color is None:
        return None
    red, green, blue, opacity = _numbers(color, "rgba", (1.0, 1.0, 1.0, 1.0), item=item)
    return red, green, blue, opacity


# ---- joints


def _hinge(joint: Element, *, item: str) -> Hinge:
    kind = _name(joint, "type")
    if kind not in _JOINT_TYPES:
        remedy = f"use one of {', '.join(_JOINT_TYPES)}{_suggestion(kind, _JOINT_TYPES)}"
        raise ModelError(item, "type", joint.get("type"), remedy)
    if kind == "fixed":
        return Fixed()
    if kind == "floating":
        return Free()
    try:
        data = {**_limits(joint, item=item, position=kind in ("revolute", "prismatic")), **_dynamics(joint, item=item)}
        if kind in ("spherical", "ball"):
            return Spherical(**data)
        axis = _axis(joint, item=item)
        if kind == "planar":
            return Planar(axis, **data)
        return Prismatic(axis, **data) if kind == "prismatic" else Revolute(axis, **data)
    except ModelError as error:
        raise _renamed(error, item) from None


def _axis(joint: Element, *, item: str) -> Matrix:
    element = _child(joint, "axis", item=item)
    numbers = (1.0, 0.0, 0.0) if element is None else _numbers(element, "xyz", (1.0, 0.0, 0.0), item=item)
    return unit_vector(numbers, item=item, field="axis xyz")


def _limits(joint: Element, *, item: str, position: bool) -> dict[str, float]:
    """Return lower and upper (if `position`), max_effort and max_speed, those that limit anything."""
    element = _child(joint, "limit", item=item)
    if element is None:
        return {}
    limits = {
        "max_effort": _number(element, "effort", math.inf, item=item, infinite=True),
        "max_speed": _number(element, "velocity", math.inf, item=item, infinite=True),
    }
    if position and ("lower" in element.attrib or "upper" in element.attrib):
        limits["lower"] = _number(element, "lower", 0.0, item=item, infinite=True)
        limits["upper"] = _number(element, "upper", 0.0, item=item, infinite=True)
    none = {"lower": -math.inf, "upper": math.inf, "max_effort": math.inf, "max_speed": math.inf}
    return {key: value for key, value in limits.items() if value != none[key]}


def _dynamics(joint: Element, *, item: str) -> dict[str, float]:
    element = _child(joint, "dynamics", item=item)
    if element is None:
        return {}
    return {key: _number(element, key, item=item) for key in ("damping", "friction") if key in element.attrib}


def _mimics(joints: Mapping[str, Element]) -> dict[str, Mimic]:
    """Return the mimic rules, in the names of the file."""
    mimics: dict[str, Mimic] = {}
    for name, joint in joints.items():
        item = f"joint {name!r}"
        element = _child(joint, "mimic", item=item)
        if element is None:
            continue
        leader = _name(element, "joint")
        if leader not in joints:
            raise ModelError(item, "mimic joint", leader, f"no joint has that name{_suggestion(leader, joints)}")
        multiplier, offset = _number(element, "multiplier", 1.0, item=item), _number(element, "offset", 0.0, item=item)
        mimics[name] = Mimic(leader, multiplier, offset)
    settled: set[str] = set()
    for name in mimics:
        path: dict[str, None] = {}
        while name in mimics and name not in settled:
            if name in path:
                remedy = "it follows itself in the end: remove one of the <mimic> elements"
                raise ModelError(f"joint {name!r}", "mimic joint", mimics[name].joint, remedy)
            path[name] = None
            name = mimics[name].joint
        settled.update(path)
    return mimics


# ---- elements and numbers


def _child(element: Element, tag: str, *, item: str) -> Element | None:
    """Return the child of that kind, or None; two of them are refused."""
    found = [child for child in element if child.tag == tag]
    if len(found) > 1:
        raise ModelError(item, tag, f"{len(found)} elements <{tag}>", "keep one of them")
    return found[0] if found else None


def _origin(element: Element, *, item: str) -> tuple[Vector, Matrix | None]:
    """Return the position (m) and rotation of an <origin>; None where there is no rotation."""
    origin = _child(element, "origin", item=item)
    if origin is None:
        return (0.0, 0.0, 0.0), None
    x, y, z = _numbers(origin, "xyz", (0.0, 0.0, 0.0), item=item)
    if origin.get("quat_xyzw") is not None:  # since URDF 1.1
        if origin.get("rpy") is not None:
            raise ModelError(item, "origin quat_xyzw", origin.get("quat_xyzw"), "give it or rpy, not both")
        *vector, scalar = _numbers(origin, "quat_xyzw", (0.0, 0.0, 0.0, 1.0), item=item)
        try:
            return (x, y, z), quaternion(scalar, *vector)
        except ModelError as error:
            raise ModelError(item, "origin quat_xyzw", origin.get("quat_xyzw"), error.remedy) from None
    rpy = _numbers(origin, "rpy", (0.0, 0.0, 0.0), item=item)
    return (x, y, z), _turn(*rpy) if any(rpy) else None


def _turn(roll: float, pitch: float, yaw: float) -> Matrix:
    """Return ``euler((roll, pitch, yaw), "xyz")``, written out: a large robot has thousands of them."""
    cr, sr, cp, sp, cy, sy = (f(angle) for angle in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _number(
    element: Element, attribute: str, default: float | None = None, *, item: str, infinite: bool = False
) -> float:
    """Return an attribute as a number; without a default it must be there."""
    given = None if default is None else (default,)
    return _numbers(element, attribute, given, item=item, count=1, infinite=infinite)[0]


def _numbers(
    element: Element,
    attribute: str,
    default: tuple[float, ...] | None,
    *,
    item: str,
    count: int = 3,
    infinite: bool = False,
) -> tuple[float, ...]:
    """Return an attribute as numbers separated by blanks: as many as the default has, or `count`."""
    text = element.get(attribute)
    field = f"{element.tag} {attribute}"
    count = count if default is None else len(default)
    wanted = "one number" if count == 1 else f"{count} numbers separated by blanks"
    if text is None:
        if default is None:
            raise ModelError(item, field, None, f'give {wanted}: <{element.tag} {attribute}="..."/>')
        return default
    words = text.split()
    if len(words) != count:
        raise ModelError(item, field, text, f"give {wanted}, not {len(words)}")
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    if not numbers or "_" in text or not text.isascii():  # Python would read 1_000 and digits of other scripts
        raise ModelError(item, field, text, f"give {wanted}, with a point for decimals")
    for number in numbers:
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise ModelError(item, field, text, "every number must be finite")
    return numbers


def _renamed(error: ModelError, item: str) -> ModelError:
    """Return the same error about `item`: the name that the file uses."""
    return ModelError(item, error.field, error.value, error.remedy)
