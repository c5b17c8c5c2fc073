"""Loop constraints, couplings and springs between markers, as equalities and tendons of MJCF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import SubElement

import numpy as np

from ...bodies.markers import Marker
from ...connections.connection import Connection
from ...connections.constraints.couplings import Coupling
from ...connections.constraints.geometric import Distance, PointOnPoint
from ...connections.elements.built_in import SpringDamper
from ...connections.joints import Fixed, Joint, Revolute, Spherical
from ...errors import ModelError
from ..omissions import note_cut_joint_data
from ..xml_files import text_of

if TYPE_CHECKING:
    from .writer import Writing

__all__ = ["add_loops"]

AXIS_POINT_DISTANCE = 0.1  # m between the two points that define an axis


def add_loops(writing: Writing, loop_constraints: list[Connection]) -> None:
    """Add loop constraints, joint couplings, and springs between markers."""
    for loop_constraint in loop_constraints:
        _add_loop_constraint(writing, loop_constraint)
    system = writing.system
    for coupling in system.couplings.values():
        if not isinstance(coupling.element, Coupling):
            remedy = "MJCF couples two joints by a polynomial: use a Coupling"
            raise ModelError("save", f"coupling {coupling.name!r}", coupling.element.kind, remedy)
        leader, follower = (
            _joint(writing, owner.name, number, coupling.name) for owner, number in coupling.joint_coordinates
        )
        _couple(writing, coupling.name, follower, leader, coupling.element.offset, coupling.element.ratio)
    for name, mimic in system.mimics.items():
        follower, leader = (_joint(writing, owner, 0, name) for owner in (name, mimic.joint))
        _couple(writing, f"{name}.mimic", follower, leader, mimic.offset, mimic.multiplier)
    for force in system.forces.values():
        if isinstance(force.element, SpringDamper):
            spring = force.element
            data = {"stiffness": text_of(spring.stiffness), "damping": text_of(spring.damping)}
            _tendon(writing, force.name, force.ends, {**data, "springlength": text_of(spring.length)})


def _couple(writing: Writing, name: str, follower: str, leader: str, offset: float, ratio: float) -> None:
    rule = text_of((offset, ratio, 0.0, 0.0, 0.0))
    SubElement(writing.part("equality"), "joint", name=name, joint1=follower, joint2=leader, polycoef=rule)


def _joint(writing: Writing, owner: str, number: int, item: str) -> str:
    for joint in writing.joints:
        if joint.tree_joint.name == owner and joint.move.number == number and joint.move.kind in ("turn", "slide"):
            return joint.name
    remedy = "it is a cut joint, and MJCF couples tree joints only: reverse other joints of the loop"
    raise ModelError("save", f"coupling {item!r}", owner, remedy)


def _tendon(writing: Writing, name: str, ends: tuple[Marker, ...], data: dict[str, str]) -> None:
    tendon = SubElement(writing.part("tendon"), "spatial", {"name": name, **data})
    for end in ends:
        SubElement(tendon, "site", site=writing.site(end))


def _add_loop_constraint(writing: Writing, loop_constraint: Connection) -> None:
    element: Any = loop_constraint.element
    equality = writing.part("equality")
    ends = (loop_constraint.first, loop_constraint.second)
    if isinstance(element, Joint):
        note_cut_joint_data(writing.system, writing.omissions, loop_constraint)
    if isinstance(element, (Spherical, PointOnPoint)):
        first, second = map(writing.site, ends)
        SubElement(equality, "connect", name=loop_constraint.name, site1=first, site2=second)
    elif isinstance(element, Fixed):
        first, second = map(writing.site, ends)
        SubElement(equality, "weld", name=loop_constraint.name, site1=first, site2=second)
    elif isinstance(element, Revolute):
        for k, arm in enumerate((-AXIS_POINT_DISTANCE / 2, AXIS_POINT_DISTANCE / 2)):
            first, second = (writing.site(end.point(*(arm * element.axis).tolist())) for end in ends)
            SubElement(equality, "connect", name=f"{loop_constraint.name} {k + 1}", site1=first, site2=second)
    elif isinstance(element, Distance):
        _tendon(writing, loop_constraint.name, ends, {})
        a, b = (
            writing.body_poses[end.body.name][0] + writing.body_poses[end.body.name][1] @ end.position for end in ends
        )
        rest = text_of((element.length - float(np.linalg.norm(b - a)), 0.0, 0.0, 0.0, 0.0))
        SubElement(
            equality, "tendon", name=f"{loop_constraint.name} length", tendon1=loop_constraint.name, polycoef=rest
        )
    else:
        remedy = "MJCF closes loops by Revolute, Spherical, Fixed, PointOnPoint and Distance"
        raise ModelError("save", f"connection {loop_constraint.name!r}", element.kind, remedy)
