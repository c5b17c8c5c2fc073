"""Outputs of joints: position, velocity, acceleration, effort, of all coordinates or of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...arrays import Array, BoolArray
from ...connections.connection import Connection
from ...connections.drive_builder import turns_freely
from ...connections.joints import Joint
from ...model import Model
from ...model.undetermined_efforts import undetermined_efforts
from ...rotation import quaternion_matrices
from ...system.topology import TreeJoint
from .attitude_angles import ANGLES, Attitudes, angles_output, is_angles
from .friction import FRICTION_QUANTITIES, friction_output
from .loads import multiplier
from .motion import Motion
from .output import Output, Source, Value
from .units import effort_unit, joined, rate_unit

__all__ = ["JointOutputs", "jerk_of_joint", "joint_of", "joint_output", "joint_quantities"]


@dataclass(frozen=True, eq=False)
class JointOutputs:
    """Tree joint or cut joint, with functions for its motion (n, nq or nv) and applied efforts (n, nv).

    sources : of position, speed and acceleration in the core
    """

    name: str
    element: Joint
    cut: bool
    position: Value
    speed: Value
    acceleration: Value
    applied: Value
    sources: dict[str, Source] = field(default_factory=dict)

    @classmethod
    def of_tree(cls, model: Model, joint: TreeJoint) -> JointOutputs:
        """Return the motion of a tree joint, from q, v and a."""
        q, v = model.q_slice(joint.name), model.v_slice(joint.name)
        return cls(
            joint.name,
            joint.element,
            False,
            lambda m: m.q[:, q].copy(),
            lambda m: m.v[:, v].copy(),
            lambda m: m.part("a")[:, v].copy(),
            lambda m: m.part("tau" if m.has_control or m.has_locks else "applied")[:, v].copy(),
            {"position": Source.span("q", q), "speed": Source.span("v", v), "acceleration": Source.span("a", v)},
        )

    @classmethod
    def of_loop_constraint(cls, model: Model, loop_constraint: Connection) -> JointOutputs:
        """Return the motion of a cut joint."""
        assert isinstance(loop_constraint.element, Joint)
        names = model.compiled.names
        q, v = names.cut_q[loop_constraint.name], names.cut_v[loop_constraint.name]
        return cls(
            loop_constraint.name,
            loop_constraint.element,
            True,
            lambda m: m.part("cut_q")[:, q].copy(),
            lambda m: m.part("cut_v")[:, v].copy(),
            lambda m: m.part("cut_a")[:, v].copy(),
            lambda m: (
                m.part("cut_effort")[:, v] + (m.part("constraint_effort")[:, model.nv :][:, v] if m.has_locks else 0.0)
            ),
            {"position": Source.span("cut_q", q), "speed": Source.span("cut_v", v)},
        )


Maker = Callable[[Model, JointOutputs, str, str], Output]


def joint_of(model: Model, name: str) -> JointOutputs | None:
    """Return the joint of that name, None if there is none."""
    for joint in model.forest.joints:
        if joint.name == name:
            return JointOutputs.of_tree(model, joint)
    for loop_constraint in model.forest.loop_constraints:
        if loop_constraint.name == name and isinstance(loop_constraint.element, Joint):
            return JointOutputs.of_loop_constraint(model, loop_constraint)
    return None


def joint_quantities(element: Joint, cut: bool) -> list[str]:
    """Return the suffixes of a joint's outputs."""
    motion = ["position", "speed", "acceleration"] if element.nv else []
    effort = ["effort", *(FRICTION_QUANTITIES if element.can_stick else ())] if element.nv else []
    parts = dict.fromkeys((*element.coordinates, *element.speeds))
    angles = ANGLES if turns_freely(element) else ()
    return [*motion, *parts, *angles, *effort, "force", "moment", *(element.rows if cut else ())]


def joint_output(model: Model, joint: JointOutputs, quantity: str, name: str) -> Output | None:
    """Return an output of a joint; an empty quantity is its one coordinate."""
    element = joint.element
    if joint.cut and quantity in element.rows:
        return multiplier(model, f"{joint.name}.{quantity}", name)
    if is_angles(quantity) and turns_freely(element):
        return angles_output(_attitudes(joint), quantity, name)
    part, _, level = quantity.partition(".")
    if part in (*element.coordinates, *element.speeds):
        level = level or ("position" if part in element.coordinates else "speed")
    else:
        part, level = "", quantity or "position"
    places = level == "position"
    labels = element.coordinates if places else element.speeds
    if (
        level not in _LEVELS
        or (level in FRICTION_QUANTITIES and not element.can_stick)
        or not labels
        or (part and part not in labels)
    ):
        return None
    if not quantity and len(labels) > 1:
        return None
    make, unit = _LEVELS[level]
    units = [unit(base) for base in (element.coordinate_units if places else element.speed_units)]
    whole = make(model, joint, name, joined(units))
    if not part and len(labels) > 1:
        return whole
    index = labels.index(part) if part else 0
    return whole.component(index, name, unit=units[index])


def jerk_of_joint(model: Model, joint: JointOutputs, name: str) -> Output | None:
    """Return the jerk of a joint, cut or not, as an output; None if it has no DOF."""
    labels = joint.element.speeds
    if not labels:
        return None
    units = [rate_unit(unit, "s3") for unit in joint.element.speed_units]
    names = model.compiled.names

    def value(m: Motion) -> Array:
        if joint.cut:
            span = names.cut_v[joint.name]
            return m.along(lambda q, v, a: model.cut_motion(q, v, a)[2][:, span])
        return m.jerk[:, model.v_slice(joint.name)].copy()

    output = Output(
        name, joined(units), (len(labels),), f"jerk of joint {joint.name!r}", value, labels=labels, needs="dynamics"
    )
    return output if len(labels) > 1 else output.component(0, name, unit=units[0])


def _attitudes(joint: JointOutputs) -> Attitudes:
    """Return the orientation of a joint's second marker in its first; velocities are in axes of the second."""
    q = joint.element.coordinates.index("qw")
    w = joint.element.speeds.index("wx")
    return Attitudes(
        f"the second marker of {joint.name!r} in its first",
        lambda m: quaternion_matrices(joint.position(m)[:, q : q + 4]),
        lambda m: joint.speed(m)[:, w : w + 3],
        lambda m: joint.acceleration(m)[:, w : w + 3],
        "turned",
    )


def _position(model: Model, joint: JointOutputs, name: str, unit: str) -> Output:
    element = joint.element
    branch = [_branch(element, coordinate) if joint.cut else "" for coordinate in element.coordinates]
    initial = model.system.initials.get(joint.name)
    given = element.zero if initial is None or initial.position is None else initial.position
    start = np.where(np.isnan(given), element.zero, given)
    return Output(
        name,
        unit,
        (element.nq,),
        f"position of joint {joint.name!r}",
        joint.position,
        labels=element.coordinates,
        branch=tuple(branch) if any(branch) else (),
        rate=joint.speed,
        start=start,
        source=joint.sources.get("position"),
    )


def _branch(element: Joint, coordinate: str) -> str:
    if coordinate in ("qw", "qx", "qy", "qz"):
        return "sign"
    return "turn" if coordinate.startswith("angle") and not element.counts_turns else ""


def _rate(quantity: str, needs: str) -> Maker:
    """Return a maker of the output `quantity`, speed or acceleration."""

    def make(model: Model, joint: JointOutputs, name: str, unit: str) -> Output:
        labels, value = joint.element.speeds, getattr(joint, quantity)
        meaning = f"{quantity} of joint {joint.name!r}"
        source = joint.sources.get(quantity)
        return Output(name, unit, (len(labels),), meaning, value, labels=labels, needs=needs, source=source)

    return make


def _effort(model: Model, joint: JointOutputs, name: str, unit: str) -> Output:
    labels = joint.element.speeds
    drives = [drive for drive in model.joint_drives if drive.connection.name == joint.name]
    own = model.compiled.names.cut_v[joint.name] if joint.cut else model.v_slice(joint.name)
    places = np.arange(own.start, own.stop) + (model.nv if joint.cut else 0)

    def value(m: Motion) -> Array:
        effort = joint.applied(m)
        effort = effort + m.joint_efforts[:, places]
        for drive in drives:
            effort[:, list(drive.dofs)] = m.effort(drive).reshape(len(effort), -1)
        return effort

    meaning = f"effort at joint {joint.name!r}: of its drive; else of elements, friction, control and its lock"
    needs = "dynamics" if drives else "speed"
    output = Output(name, unit, (len(labels),), meaning, value, labels=labels, needs=needs)
    if not drives or joint.cut or not model.nc:
        return output
    span = model.v_slice(joint.name)

    def unique(m: Motion) -> BoolArray:
        states = zip(m.q, m.t.tolist(), strict=True)
        return np.array([~undetermined_efforts(model, q, t)[span] for q, t in states]).reshape(len(m), len(labels))

    return replace(output, determined=unique)


def _dry(quantity: str) -> Maker:
    return lambda model, joint, name, unit: friction_output(model, joint.name, joint.element, quantity, name, unit)


_LEVELS: dict[str, tuple[Maker, Callable[[str], str]]] = {
    "position": (_position, str),
    "speed": (_rate("speed", "speed"), rate_unit),
    "acceleration": (_rate("acceleration", "dynamics"), lambda unit: rate_unit(unit, "s2")),
    "effort": (_effort, effort_unit),
    "friction": (_dry("friction"), effort_unit),
    "stuck": (_dry("stuck"), lambda unit: "1"),
    "stop": (_dry("stop"), lambda unit: "1"),
}
