"""Forces that robot formats cannot represent, and joint springs that they can."""

from __future__ import annotations

from collections.abc import Collection

from ..connections.elements.built_in import JointSpring
from ..system import System

__all__ = ["forces_at_joints", "note_omitted_forces"]


def forces_at_joints(system: System, joint: str, number: int) -> tuple[float, float, float]:
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
