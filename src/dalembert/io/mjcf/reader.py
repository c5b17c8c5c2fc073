"""Read systems from MJCF, the XML format of MuJoCo.

Correspondence:

    <body>                          body of the same name and frame; mass and inertia as MuJoCo computes them,
                                    from <inertial> or from geoms
    <joint>, <freejoint>            connection of the same name: hinge `Revolute`, slide `Prismatic`, ball
                                    `Spherical`, free `Free`; coordinates are MuJoCo's qpos, `ref` included
    several joints of one body      a chain of bodies without mass, ``"body.joint"``, which is exact
    a body without joints           `Fixed`, ``"body.fixed"``
    range                           lower, upper                  } exact here, slightly
    frictionloss                    friction                      } compliant in MuJoCo
    damping, armature               damping, armature
    stiffness, springref            `JointSpring`, ``"joint.spring"``; of a ball an `Element`
    actuatorfrcrange                max_effort
    <site>                          marker of its body
    <geom>                          `Visual`, with contype, conaffinity and friction for `System.contact`
    <exclude>, <pair>               pairs of bodies that do not touch in contacts of "*"; friction of pairs of geoms
    <equality> connect, weld, joint `PointOnPoint`, `Fixed`, `Coupling` or `CustomCoupling`
    <tendon>, <actuator>            see `actuators`
    gravcomp                        `Load` at the centre of mass
    <keyframe>                      start values, of the requested one
    defaults, classes, includes,
    angles, frames, replicates      resolved by MuJoCo

Omissions and approximations are listed in ``system.notes`` and in one `OmissionWarning`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...bodies.body import Body
from ...bodies.triangle_mesh import TriangleMesh
from ...bodies.visuals import ContactRule
from ...connections.connection import Connection
from ...connections.elements.built_in import Load
from ...connections.joints import Joint
from ...errors import ModelError
from ...rotation import quaternion
from ...system import GROUND, System
from ..omissions import omitted_joint_data, warn_omitted
from ..unique_names import free_name
from ..xml_fields import renamed
from .actuators import add_actuators, add_tendons
from .contacts import add_contact_rules
from .equalities import add_equalities
from .geoms import add_visuals, surface_as_filed
from .joints import add_joints, set_start
from .mujoco_model import Compiled, compiled_source

__all__ = ["Reading", "load_mjcf"]


@dataclass
class Reading:
    """Model being read, and the system built from it.

    Attributes
    ----------
    compiled : Compiled
    system : System
    bodies : list of Body
        Bodies by number; ground first.
    joints : dict of int to Connection
        Connections by joint number.
    sites : list of str
        Names of markers, by number of the site.
    omissions : list of str
        Omissions and approximations.
    surfaces : dict of int to TriangleMesh
        Surfaces by mesh number.
    rules : list of ContactRule
        Of contacts, by geom number.
    """

    compiled: Compiled
    system: System
    without: frozenset[str]
    used_names: set[str] = field(default_factory=lambda: {GROUND})
    bodies: list[Body] = field(default_factory=list)
    joints: dict[int, Connection] = field(default_factory=dict)
    sites: list[str] = field(default_factory=list)
    omissions: list[str] = field(default_factory=list)
    surfaces: dict[int, TriangleMesh] = field(default_factory=dict)
    rules: list[ContactRule] = field(default_factory=list)

    @property
    def model(self) -> Any:
        """MuJoCo's compiled model."""
        return self.compiled.model

    def surface(self, mesh: int) -> TriangleMesh:
        """Return the triangles of a mesh, one object for all geoms that show it."""
        if mesh not in self.surfaces:
            self.surfaces[mesh] = surface_as_filed(self.model, mesh)
        return self.surfaces[mesh]

    def kind(self, enumeration: str, number: int) -> str:
        """Return the name of an enumerator of MuJoCo: ``kind("mjtJoint", 3)`` is ``"joint"``."""
        return str(getattr(self.compiled.mujoco, enumeration)(int(number)).name).split("_")[-1].lower()

    def name(self, kind: str, number: int) -> str:
        """Return the name of an object, empty if it has none."""
        objects = self.compiled.mujoco.mjtObj
        found = self.compiled.mujoco.mj_id2name(self.model, getattr(objects, f"mjOBJ_{kind.upper()}"), int(number))
        return str(found or "").strip()

    def claim(self, name: str, otherwise: str, ending: str) -> str:
        """Return a unique name for an item: its own, if it has one and no other item has it."""
        if not name:
            return free_name(otherwise, self.used_names)
        if name not in self.used_names:
            self.used_names.add(name)
            return name
        new = free_name(f"{name}_{ending}", self.used_names)
        self.system.notes.append(f"{ending} {name!r} is called {new!r}: its own name is taken")
        return new

    def disabled(self, flag: str) -> bool:
        """Return whether the options of the file disable a feature."""
        bit = getattr(self.compiled.mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}", None)
        return bit is not None and bool(int(self.model.opt.disableflags) & int(bit))


def load_mjcf(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    keyframe: str | int | None = None,
    root: str | os.PathLike[str] | None = None,
    limits: bool = True,
    damping: bool = True,
    friction: bool = True,
) -> System:
    """Read a system from an MJCF file or text; needs MuJoCo (the extra ``mujoco``).

    Parameters
    ----------
    path_or_text : str, path or bytes
        Name of a file; or the document itself: bytes, or a string that starts with ``<``.
    keyframe : str or int
        Name or number of the keyframe with the start values; the reference configuration if left out.
    root : path
        Folder of permitted included files; that of the file if left out.
    limits, damping, friction : bool
        False omits the stops of joints, their damping, or their dry friction.

    Returns
    -------
    System
        Bodies and joints by their names; see the module docstring. ``system.notes`` lists omissions.

    Raises
    ------
    ModelError
        If the file cannot be read, or MuJoCo refuses it, or the keyframe does not exist.

    Examples
    --------
    >>> import warnings
    >>> s = load_mjcf('''<mujoco model="pendulum"><worldbody><body name="bob">
    ...   <joint name="A" axis="0 1 0" damping="0.1"/> <inertial pos="0.5 0 0" mass="2" diaginertia="0.01 0.1 0.1"/>
    ... </body></worldbody></mujoco>''')
    >>> s["A"], s["A"].element.damping
    (<Connection 'A': Revolute from ground to bob>, array([0.1]))
    """
    compiled = compiled_source(path_or_text, root)
    model = compiled.model
    gravity = np.array(model.opt.gravity, dtype=float)
    system = System(_model_name(compiled), gravity=gravity)
    reading = Reading(compiled, system, omitted_joint_data(limits, damping, friction))
    if reading.disabled("gravity"):
        system.gravity = np.zeros(3)
    _take_names(reading)
    _add_bodies(reading)
    for number in range(model.nsite):
        _add_site(reading, number)
    add_equalities(reading)
    add_tendons(reading)
    add_actuators(reading)
    set_start(reading, keyframe)
    _note_the_rest(reading)
    system.notes.extend(compiled.omissions + reading.omissions)
    warn_omitted(compiled.source, compiled.omissions + reading.omissions)
    return system


def _model_name(compiled: Compiled) -> str:
    words = bytes(compiled.model.names).split(b"\0", 1)[0].decode(errors="replace").strip()
    return words or "mujoco"


def _take_names(reading: Reading) -> None:
    """Reserve the names of bodies and joints before unnamed items get names."""
    names = [reading.name("body", k) for k in range(1, reading.model.nbody)]
    reading.used_names.update(name for name in names if name and name != GROUND)


def _add_bodies(reading: Reading) -> None:
    model, system = reading.model, reading.system
    reading.bodies.append(system.ground)
    add_visuals(reading, 0)
    for k in range(1, model.nbody):
        own = reading.name("body", k)
        name = own
        if not own or own == GROUND:
            name = free_name(f"body {k}" if not own else f"{GROUND}_body", reading.used_names)
            system.notes.append(f"body number {k} ({own!r}) is called {name!r}")
        try:
            body = system.body(
                name,
                mass=float(model.body_mass[k]),
                com=np.array(model.body_ipos[k]),
                inertia=np.array(model.body_inertia[k]),
                inertia_axes=quaternion(*model.body_iquat[k]),
                strict=False,
            )
        except ModelError as error:
            raise renamed(error, f"body {name!r} of {reading.compiled.source}") from None
        reading.bodies.append(body)
        if body.impossible:
            reading.omissions.append(f"body {name!r}: its inertia is kept unchanged; {body.impossible}")
        add_joints(reading, k)
        add_visuals(reading, k)
        _add_gravity_compensation(reading, k)
        if model.body_mocapid[k] >= 0:
            reading.omissions.append(f"body {name!r}: it is moved externally (mocap), and is fixed here")


def _add_site(reading: Reading, number: int) -> None:
    model = reading.model
    body = reading.bodies[int(model.site_bodyid[number])]
    own = reading.name("site", number)
    label = free_name(own or f"site {number}", set(body.markers))
    marker = body.marker(label, *model.site_pos[number].tolist(), rotation=quaternion(*model.site_quat[number]))
    reading.sites.append(marker.name)


def _add_gravity_compensation(reading: Reading, k: int) -> None:
    part = float(reading.model.body_gravcomp[k])
    body, g = reading.bodies[k], reading.system.gravity
    if part and body.mass and g.any():
        name = free_name(f"{body.name}.gravity_compensation", reading.used_names)
        lift = tuple((-part * body.mass * g).tolist())
        reading.system.connect(name, Load(force=lift), body.at(*body.com.tolist()))


def _note_the_rest(reading: Reading) -> None:
    """Note the features of the file that are not supported."""
    model, left = reading.model, reading.omissions
    add_contact_rules(reading)
    if model.opt.density or model.opt.viscosity or np.any(model.opt.wind):
        left.append("the medium (density, viscosity, wind): its drag is left out")
    counts: Iterable[tuple[str, int]] = (
        ("sensors", model.nsensor),
        ("flexible objects (flex)", model.nflex),
        ("plugins", model.nplugin),
    )
    left.extend(f"{number} {what}" for what, number in counts if number)
    if model.neq or any(isinstance(c.element, Joint) and c.element.can_stick for c in reading.joints.values()):
        reading.system.notes.append(
            "stops, dry friction and equalities are exact here; in MuJoCo they are compliant by solref and solimp"
        )
