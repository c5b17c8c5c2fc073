"""Data that a robot format cannot represent: one warning that lists them all, and joint springs that are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..connections.connection import Connection
from ..connections.elements.built_in import JointSpring
from ..errors import OmissionWarning, warn_user
from ..system import System

__all__ = [
    "joint_spring",
    "note_cut_joint_data",
    "note_omitted_forces",
    "note_shapes",
    "omitted_joint_data",
    "warn_omitted",
]

MAX_LISTED = 12  # omissions named in a warning
_JOINT_DATA = ("lower", "upper", "damping", "friction", "armature", "max_effort", "load_friction")


def warn_omitted(source: str, items: Sequence[str]) -> None:
    """Warn of omissions and approximations; `source` is the file."""
    if not items:
        return
    listed = "\n  ".join([*items[:MAX_LISTED], *([f"and {len(items) - MAX_LISTED} more"] * (len(items) > MAX_LISTED))])
    message = f"{source}: left out, or approximated\n  {listed}"
    warn_user(OmissionWarning(message, tuple(items)))


def note_shapes(system: System, count: int) -> None:
    """Note the number of shapes that may touch, once a contact is added."""
    if count:
        shapes = "1 shape" if count == 1 else f"{count} shapes"
        system.notes.append(f"{shapes} may touch: s.contact('floor', da.plane(), '*')")


def omitted_joint_data(limits: bool, damping: bool, friction: bool) -> frozenset[str]:
    """Return the fields of joints that are not read, by the options of the readers."""
    kept = {"lower": limits, "upper": limits, "damping": damping, "friction": friction}
    return frozenset(field for field, is_kept in kept.items() if not is_kept)


def joint_spring(system: System, joint: str, number: int) -> tuple[float, float, float]:
    """Return stiffness, rest and damping of the sum of all springs at a coordinate."""
    springs = [
        force.element
        for force in system.forces.values()
        if isinstance(force.element, JointSpring)
        and force.joint is not None
        and force.joint.name == joint
        and force.coordinate == number
    ]
    stiffness = sum(spring.stiffness for spring in springs)
    rest = sum(spring.stiffness * spring.rest for spring in springs) / stiffness if stiffness else 0.0
    return stiffness, rest, sum(spring.damping for spring in springs)


def note_omitted_forces(system: System, left: list[str], taken: Collection[str]) -> None:
    """Note the forces, drives and parameters that a file does not contain."""
    for force in system.forces.values():
        if force.element.kind not in taken:
            left.append(f"force {force.name!r}: a {force.element.kind}")
    left.extend(f"drive {name!r}: the file does not prescribe motion" for name in system.drives)
    left.extend(f"parameter {name!r}: its value is written, not its name" for name in system.named)


def note_cut_joint_data(system: System, left: list[str], joint: Connection) -> None:
    """Note the joint data and the forces that are lost at a cut joint."""
    lost = [field for field in _JOINT_DATA if getattr(joint.element, field) is not None]
    lost += [force.name for force in system.forces.values() if force.acts_at(joint)]
    if lost:
        left.append(f"joint {joint.name!r}: it closes a loop, where the file cannot have {', '.join(lost)}")
