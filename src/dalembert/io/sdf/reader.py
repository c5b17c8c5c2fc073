"""Read systems from SDF, the XML format of Gazebo and Drake (sdformat.org; frames as of SDF 1.7).

    <model>, nested, in a <world>   one system; names in nested ones are prefixed by the model's, ``arm::hand``
    <link>                          body, its frame the link's; without <inertial> 1 kg and 1 kg m2, as specified
    <joint>                         connection at the joint's pose, coordinates zero at the poses of the file:
        revolute, continuous        `Revolute`           ball        `Spherical`
        prismatic                   `Prismatic`          fixed       `Fixed`
        universal, revolute2        `Universal`; of axes that are not at right angles two `Revolute` with a body
                                    without mass between them
        screw                       `Screw`
    loops                           joints may close loops
    <limit>, <dynamics>             lower, upper, max_effort, max_speed; damping, friction; a spring is a `JointSpring`
    <mimic>                         `Mimic`
    <frame>                         marker of the link it is fixed in
    <static>, joint to world        fixed to ground; ungrounded parts float from their poses, ``"link.free"``
    <visual>, <collision>           `Visual`; friction and restitution of its surface for `System.contact`; links of one
                                    model do not touch each other there, unless it says self_collide
    <gravity> of a world, a link    gravity; a load that carries the link

Plugins, sensors, lights, physics, contacts, included models and elements with a colon in their name are left out, and a
`OmissionWarning` lists them.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np

from ...bodies.body import Body
from ...connections.elements.built_in import Load
from ...connections.joints import Fixed, Free, Joint
from ...errors import ModelError
from ...rotation import to_quaternion
from ...system import GROUND, System
from ..mesh_paths import Packages, resolve_mesh_paths
from ..omissions import note_shapes, omitted_joint_data, warn_omitted
from ..unique_names import free_name
from ..xml_files import MAX_BODY_DEPTH, folder_of, line_of, parse_document, read_document
from .fields import flag, inverse, numbers, times
from .frames import Frames
from .joints import add_joint
from .links import add_link

__all__ = ["Reading", "load_sdf"]

_IGNORED = (
    "plugin", "sensor", "light", "include", "actor", "physics", "scene", "wind", "gripper", "battery", "projector",
)  # fmt: skip


@dataclass
class Reading:
    """Document being read, and the system built from it."""

    source: str
    system: System
    frames: Frames
    strict: bool
    without: frozenset[str]
    old: bool
    bodies: dict[str, Body] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)
    used_names: set[str] = field(default_factory=lambda: {GROUND})
    omissions: list[str] = field(default_factory=list)


def load_sdf(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    inertia: str = "keep",
    limits: bool = True,
    damping: bool = True,
    friction: bool = True,
    packages: Packages = (),
) -> System:
    """Read a system from an SDF file or text; see the module docstring.

    Parameters
    ----------
    path_or_text : str, path or bytes
        Name of a file; or the document itself: bytes, or a string that starts with ``<``.
    inertia : str
        ``"keep"`` keeps inertias that no rigid body has, with a note; ``"strict"`` refuses the file.
    limits, damping, friction : bool
        False omits the stops of joints, their damping, or their dry friction.
    packages : folders, or dict of str to folder
        Location of meshes of ``model://`` and ``package://`` addresses: folders that contain models, or each by its
        name. The folders above the file are searched too, and those of GZ_SIM_RESOURCE_PATH, GAZEBO_MODEL_PATH and
        SDF_PATH.

    Raises
    ------
    ModelError
        If the file cannot be read, is not SDF, or has invalid data; with the link or joint, the field and the line.

    Examples
    --------
    >>> s = load_sdf('''<sdf version="1.9"><model name="arm"><link name="boom"><inertial><mass>2</mass>
    ...   </inertial></link>
    ...   <joint name="A" type="revolute"><parent>world</parent><child>boom</child>
    ...   <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>''')
    >>> s["A"]
    <Connection 'A': Revolute from ground to boom>
    """
    source, data, encoding = read_document(path_or_text, "SDF")
    root = parse_document(data, encoding, source, deepest=MAX_BODY_DEPTH)
    if root.tag != "sdf":
        raise ModelError(source, "root element", f"<{root.tag}>", "an SDF document has the root <sdf>")
    places = [root, *root.findall("world")]
    models = [model for place in places for model in place.findall("model")]
    if not models:
        raise ModelError(source, "model", None, "it has no <model>")
    world = root.find("world")
    named = models[0] if world is None else world
    system = System((named.get("name") or "").strip() or "sdf")
    if world is not None:
        system.gravity = numbers(world, "gravity", (0.0, 0.0, -9.8), item="world")
    without = omitted_joint_data(limits, damping, friction)
    reading = Reading(source, system, Frames(source), inertia == "strict", without, _older(root))
    for model in models:
        reading.frames.add_model(model, "")
    _choose_names(reading, single=len(models) == 1)
    _add_all(reading)
    _note_ignored(reading, root)
    system.notes.extend(reading.omissions)
    resolve_mesh_paths(system, folder_of(path_or_text), packages)
    warn_omitted(source, reading.omissions)
    return system


def _older(root: Element) -> bool:
    """Return whether the version is before 1.7, in which axes may be in the model's frame."""
    try:
        return tuple(int(part) for part in (root.get("version") or "1.7").split(".")[:2]) < (1, 7)
    except ValueError:
        return False


def _choose_names(reading: Reading, *, single: bool) -> None:
    """Choose names: those of the file, without the prefix of a single model."""
    chosen: dict[str, str] = {}
    for full, part in reading.frames.parts.items():
        if part.kind in ("link", "joint"):
            own = full.split("::", 1)[1] if single else full
            if own in reading.used_names:
                new = free_name(f"{own}_{part.kind}", reading.used_names)
                reading.system.notes.append(f"{part.kind} {own!r} is called {new!r}: its own name is taken")
                own = new
            reading.used_names.add(own)
            chosen[full] = own
    reading.joints = chosen


def _add_all(reading: Reading) -> None:
    frames, system = reading.frames, reading.system
    links = [part for part in frames.parts.values() if part.kind == "link"]
    if not links:
        raise ModelError(reading.source, "link", None, "its models have no links")
    for part in links:
        reading.bodies[part.name] = add_link(reading, part, reading.joints[part.name])
    for part in frames.parts.values():
        if part.kind == "joint":
            add_joint(reading, part, reading.joints[part.name])
        elif part.kind == "frame":
            held = frames.link(part.name, item=part.item, field="attached_to")
            seen = times(inverse(frames.pose(held, item=part.item)), frames.pose(part.name, item=part.item))
            body = reading.bodies[held]
            label = free_name(part.name.rpartition("::")[2], set(body.markers))
            body.marker(label, *seen[1].tolist(), rotation=seen[0])
    _hold(reading)
    for part in links:
        body = reading.bodies[part.name]
        if part.element.find("gravity") is not None and not flag(part.element, "gravity") and body.mass:
            lift = tuple((-body.mass * system.gravity).tolist())
            system.connect(
                free_name(f"{body.name}.weightless", reading.used_names), Load(force=lift), body.at(*body.com)
            )


def _hold(reading: Reading) -> None:
    """Fix static models to ground, and connect ungrounded parts by free joints at their poses."""
    frames, system = reading.frames, reading.system
    for full, body in reading.bodies.items():
        model = frames.parts[full].scope
        while model and not flag(frames.parts[model].element, "static"):
            model = frames.parts[model].scope
        if model:
            R, p = frames.pose(full, item=full)
            name = free_name(f"{body.name}.fixed", reading.used_names)
            system.connect(name, Fixed(), system.ground.at(*p.tolist(), rotation=R), body)
    names = {body.name: full for full, body in reading.bodies.items()}
    joints = [c for c in system.connections.values() if isinstance(c.element, Joint)]
    carried = {c.second.body.name for c in joints}
    held = {GROUND}
    for start in (*(n for n in system.bodies if n not in carried), *system.bodies):
        _spread(joints, held)
        if start in held or start not in names:
            continue
        R, p = frames.pose(names[start], item=start)
        free = free_name(f"{start}.free", reading.used_names)
        connection = system.connect(free, Free(), system.ground, system.bodies[start])
        position = [*to_quaternion(R).tolist(), *p.tolist()]
        if not np.array_equal(position, connection.element.zero):  # type: ignore[union-attr]
            system.initial(connection, position=position)
        held.add(start)


def _spread(joints: list, held: set[str]) -> None:  # type: ignore[type-arg]
    """Add to the grounded parts all parts connected to them."""
    grown = True
    while grown:
        grown = False
        for c in joints:
            ends = {c.first.body.name, c.second.body.name}
            if ends & held and not ends <= held:
                held |= ends
                grown = True


def _note_ignored(reading: Reading, root: Element) -> None:
    counts = Counter(element.tag for element in root.iter() if element.tag in _IGNORED or ":" in element.tag)
    first = {element.tag: line_of(element) for element in reversed(list(root.iter()))}
    reading.omissions.extend(f"<{tag}>: {count} of them{first[tag]}" for tag, count in counts.items())
    bodies = (reading.system.ground, *reading.system.bodies.values())
    note_shapes(reading.system, sum(look.collision for body in bodies for look in body.visuals))
