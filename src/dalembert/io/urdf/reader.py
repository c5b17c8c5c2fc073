"""Read robots from URDF, the XML format of ROS (wiki.ros.org/urdf/XML; urdfdom is the reference parser).

Correspondence:

    <link>                          body of the same name; the body frame is the link frame
    <inertial>                      mass, com (origin xyz), inertia in the axes of origin rpy;
                                    a link without it is a body without mass; an inertia that no
                                    rigid body has is kept, with a `ModelWarning`
    <visual>, <collision>           `Visual` in ``body.visuals``; mesh files are searched, and opened when
                                    they are drawn; malformed ones are skipped; ``system.notes`` lists
                                    missing meshes and skipped items
    <joint type=...>                connection of the same name from the parent link, at the joint's
                                    origin, to the child link's frame
        revolute, continuous        `Revolute`; continuous has no position limits
        prismatic                   `Prismatic`
        fixed                       `Fixed`
        floating                    `Free`
        planar                      `Planar`, the axis is the normal of the plane
        spherical, ball             `Spherical` (not in the specification; some tools write it)
    <limit lower upper>             lower, upper: revolute and prismatic only
    <limit effort velocity>         max_effort, max_speed     } the same number for each degree of freedom;
    <dynamics damping friction>     damping, friction         } not read for fixed and floating joints
    <mimic>                         `Mimic` in ``system.mimics``, an equation of the compiled model
    <constraint>, <gazebo><joint>   close loops (see `loops`)
    root link                       fixed to ground by a connection ``"<link>.fixed"``, or free to move
                                    by a connection ``"<link>.free"``

Names are kept, stripped of blanks. A `System` has one namespace where URDF has two, so a joint that
is named like a link gets ``"_joint"`` appended. The name ``ground`` is reserved: a link of that name
becomes ``"ground_link"``, a joint ``"ground_joint"``. If that name is taken as well, ``"_2"``,
``"_3"`` and so on follows. ``system.notes`` lists the changes.

More lenient than the specification: a missing <limit> means no limits; infinite limits mean none;
the robot's name, effort and velocity may be missing, as may ixy, ixz and iyz (zero). A <limit> with
only one of lower and upper has 0 for the other, as specified; with neither, no position limits.
Repeated elements count once if all are equal, and are refused otherwise.
Ignored: transmission, the rest of gazebo, safety_controller, calibration, textures, and extensions (elements
with a colon in their name).

Files are not trusted: document types and entities are refused, and so are files that are too
large or too deeply nested. No function recurses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from xml.etree.ElementTree import Element

from ...checks import one_of
from ...connections.constraints.mimic import Mimic
from ...connections.joints import Fixed, Free
from ...errors import ModelError, ModelWarning, TopologyError, warn_user
from ...system import System
from ..mesh_paths import Packages, resolve_mesh_paths
from ..omissions import note_shapes, omitted_joint_data
from ..unique_names import free_name, unique_names
from ..xml_fields import child_of, name_of, origin_of, suggestion
from ..xml_files import folder_of, parse_document, read_document
from .joints import joint_of, mimics_of
from .links import add_body
from .loops import add_loops

__all__ = ["load_urdf"]


def load_urdf(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    base: str = "fixed",
    inertia: str = "keep",
    limits: bool = True,
    damping: bool = True,
    friction: bool = True,
    packages: Packages = (),
) -> System:
    """Read a robot from a URDF file or text and return it as a system.

    Parameters
    ----------
    path_or_text : str, path or bytes
        Name of a file; or the document itself: bytes, or a string that starts with ``<``.
    base : str
        ``"fixed"`` fixes the root link to ground, by the connection ``"<link>.fixed"``; ``"free"`` connects it by a
        free joint, the connection ``"<link>.free"``.
    inertia : str
        Treatment of an inertia that no rigid body can have: ``"keep"`` keeps it unchanged, with a
        `ModelWarning` that names the link and the numbers; ``"strict"`` refuses the file.
    limits, damping, friction : bool
        False omits the stops of joints (lower and upper), their damping, or their dry friction.
        Limits of effort and velocity are kept.
    packages : folders, or dict of str to folder
        Location of meshes of ``package://`` addresses: folders that contain packages, or each package by its name.
        The folders above the file are searched too, and those in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.

    Returns
    -------
    System
        Bodies (the root link first) and connections in the order of the file, gravity
        (0, 0, -9.81) m/s2. The module docstring describes the elements that are read, and
        changes of names. Omissions and impossible inertias are listed in ``system.notes``.

    Raises
    ------
    ModelError
        If the file cannot be read, is not a URDF document, or has invalid data; names the link or
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
    one_of("load_urdf", "base", base, ("fixed", "free"))
    strict = one_of("load_urdf", "inertia", inertia, ("keep", "strict")) == "strict"
    without = omitted_joint_data(limits, damping, friction)
    source, data, encoding = read_document(path_or_text)
    robot = parse_document(data, encoding, source)
    _check_root_element(robot, source)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise ModelError(source, "link", None, 'it has no links: a robot needs at least one <link name="..."/>')
    implied = _implied_world(joints, links)
    ends = {name: _ends(name, joint, links) for name, joint in joints.items()}
    root = _root_link(links, ends)

    link_names, joint_names = unique_names(links, joints)
    renamed = [("link", old, new) for old, new in link_names.items() if old != new]
    renamed += [("joint", old, new) for old, new in joint_names.items() if old != new]
    materials = {name_of(m): m for m in robot.findall("material")}
    system = System(name_of(robot) or "robot")
    system.notes.extend(f"{kind} {old!r} is called {new!r}: its own name is taken" for kind, old, new in renamed)
    system.notes.extend(implied)
    for name, link in {root: links[root], **links}.items():  # the root first: a free robot moves with it
        add_body(system, link_names[name], link, materials, item=f"link {name!r}", strict=strict)
    holder = Fixed() if base == "fixed" else Free()
    holding = free_name(f"{link_names[root]}.{base}", {*link_names.values(), *joint_names.values()})
    system.connect(holding, holder, system.ground, system.bodies[link_names[root]])
    doubts: list[str] = []
    for name, joint in joints.items():
        parent, child = (system.bodies[link_names[end]] for end in ends[name])
        element = joint_of(joint, item=f"joint {name!r}", without=without, warn=doubts)
        position, rotation = origin_of(joint, item=f"joint {name!r}")
        system.connect(joint_names[name], element, parent.at(*position, rotation=rotation), child)
    add_loops(system, robot, link_names, {*link_names.values(), *joint_names.values(), holding})
    for name, mimic in mimics_of(joints, doubts).items():
        leader = joint_names[mimic.joint]
        system.mimics[joint_names[name]] = Mimic(leader, mimic.multiplier, mimic.offset)
    note_shapes(system, sum(look.collision for body in system.bodies.values() for look in body.visuals))
    resolve_mesh_paths(system, folder_of(path_or_text), packages)
    doubts += _impossible_inertias(system, {link_names[name]: name for name in links})
    if doubts:
        _warn(system, doubts, source)
    return system


def _impossible_inertias(system: System, links: Mapping[str, str]) -> list[str]:
    """Warn of inertias that no rigid body has."""
    return [
        f"link {links[body.name]!r}: its inertia is kept unchanged ({body.mass:.6g} kg); {why}"
        for body in system.bodies.values()
        if (why := body.impossible)
    ]


def _warn(system: System, doubts: list[str], source: str) -> None:
    """Issue one warning for all doubtful items; each is added to the notes of the system."""
    system.notes.extend(doubts)
    listed = "\n  ".join(doubts[:8] + [f"and {len(doubts) - 8} more: see system.notes"] * (len(doubts) > 8))
    message = (
        f"{source} has impossible data:\n  {listed}\nCorrect them there; an <inertia> is about the centre "
        "of mass, in the axes of its origin, in kg m2 (inertia='strict' refuses those that are impossible)."
    )
    warn_user(ModelWarning(message))


# ---- from elements to names


def _check_root_element(robot: Element, source: str) -> None:
    if robot.tag != "robot":
        raise ModelError(source, "root element", f"<{robot.tag}>", "only URDF is supported, with the root <robot>")
    for element in robot.iter():
        if element.tag.startswith("xacro:"):
            remedy = "expand it first: xacro robot.urdf.xacro > robot.urdf"
            raise ModelError(source, "element", f"<{element.tag}>", remedy)


# ---- names and topology


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    """Return the children of a kind by name, in file order."""
    found: dict[str, Element] = {}
    for number, element in enumerate(robot.findall(tag), start=1):
        name = name_of(element)
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
        element = child_of(joint, which, item=item)
        link = None if element is None else name_of(element, "link")
        if not link:
            raise ModelError(item, f"{which} link", link, f'name one of the links: <{which} link="..."/>')
        if link not in links:
            remedy = f"no link has that name: correct it, or add the link{suggestion(link, links)}"
            raise ModelError(item, f"{which} link", link, remedy)
        ends.append(link)
    return ends[0], ends[1]


def _implied_world(joints: Mapping[str, Element], links: dict[str, Element]) -> list[str]:
    """Add the link ``world`` if joints refer to it and it is missing, as Drake does; return a note."""
    parents = (joint.find("parent") for joint in joints.values())
    if "world" in links or not any(each is not None and name_of(each, "link") == "world" for each in parents):
        return []
    links["world"] = Element("link", {"name": "world"})
    return ["joints refer to 'world', which is not a link of the file: it was added, without mass"]


def _root_link(links: Mapping[str, Element], ends: Mapping[str, tuple[str, str]]) -> str:
    """Return the root link; raise an error if the links are not one tree."""
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
