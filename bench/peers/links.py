"""A system as the other engines see it: links, joined by the few joints that all of them know.

The frame of a link is the outboard marker of the joint that carries it, because engines put a
link's frame at its joint. A joint becomes a sequence of elementary joints, walked from the inboard
to the outboard marker; a joint that the user named from the other end is walked backwards:

    Revolute                revolute
    Prismatic               prismatic
    Screw                   helical
    Cylindrical             revolute, prismatic
    Universal               revolute, revolute
    Planar                  prismatic, prismatic, revolute
    Spherical, Free         themselves
    Fixed                   none
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.bodies.markers import Marker
from dalembert.connections.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint as JointElement,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.system import System
from dalembert.system.topology import TreeJoint

__all__ = ["Array", "Joint", "Link", "links_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Joint:
    """One elementary joint.

    Attributes
    ----------
    name : str
        The joint's, with the coordinate's appended where the joint has several.
    kind : str
        ``"revolute"``, ``"prismatic"``, ``"helical"``, ``"spherical"`` or ``"free"``.
    q, v : slice
        Its place among dalembert's coordinates and speeds.
    axis : (3,)
        Unit vector in link axes, where the kind has one.
    pitch : float, m/rad
        Advance of a helical joint.
    backward : bool
        True for a spherical or free joint whose first marker is the outboard one.
    """

    name: str
    kind: str
    q: slice
    v: slice
    axis: Array
    pitch: float = 0.0
    backward: bool = False


@dataclass(frozen=True, eq=False)
class Link:
    """One body, in the frame of the outboard marker of its joint.

    Attributes
    ----------
    name : str
    parent : int
        Number of the parent link; 0 is ground, links count from 1.
    R, p : (3, 3), (3,) m
        Inboard marker in the frame of the parent link (the link's frame at reference).
    mass, com, inertia : kg, (3,) m, (3, 3) kg m2
        Inertia about the centre of mass; both in link axes.
    body_R, body_p : (3, 3), (3,) m
        dalembert's body frame in the link's frame.
    joints : tuple of Joint
    """

    name: str
    parent: int
    R: Array
    p: Array
    mass: float
    com: Array
    inertia: Array
    body_R: Array
    body_p: Array
    joints: tuple[Joint, ...]


def links_of(system: System, *, loops: bool = False) -> tuple[Link, ...]:
    """Return the links of a system, in the order of its forest; with `loop_connections`, of the tree under its loops.

    Raises
    ------
    ValueError
        If the system has closed loops that were not expected.
    """
    forest = system.forest()
    if forest.loop_constraints and not loops:
        raise ValueError(f"system {system.name!r} has closed loops: {[c.name for c in forest.loop_constraints]}")
    frames = [system.ground.origin]
    links = []
    nq = nv = 0
    for joint, parent in zip(forest.joints, forest.parent, strict=True):
        outboard, body = joint.outboard, joint.outboard.body
        R = outboard.rotation
        links.append(
            Link(
                body.name,
                int(parent),
                *_relative(frames[parent], joint.inboard),
                mass=body.mass,
                com=R.T @ (body.com - outboard.position),
                inertia=R.T @ body.inertia @ R,
                body_R=R.T,
                body_p=-R.T @ outboard.position,
                joints=_joints(joint, nq, nv),
            )
        )
        frames.append(outboard)
        nq += joint.element.nq
        nv += joint.element.nv
    return tuple(links)


def _relative(frame: Marker, marker: Marker) -> tuple[Array, Array]:
    return frame.rotation.T @ marker.rotation, frame.rotation.T @ (marker.position - frame.position)


def _joints(joint: TreeJoint, q: int, v: int) -> tuple[Joint, ...]:
    element = joint.element
    if isinstance(element, Spherical | Free):
        kind = "spherical" if isinstance(element, Spherical) else "free"
        slices = slice(q, q + element.nq), slice(v, v + element.nv)
        return (Joint(joint.name, kind, *slices, axis=np.zeros(3), backward=joint.reversed),)
    steps = _steps(element)
    sign = -1.0 if joint.reversed else 1.0
    return tuple(
        Joint(
            joint.name if element.nv == 1 else f"{joint.name}.{element.coordinates[k]}",
            kind,
            slice(q + k, q + k + 1),
            slice(v + k, v + k + 1),
            sign * np.asarray(axis, dtype=float),
            pitch,
        )
        # the inverse of a product of motions is the product of the inverses in opposite order
        for kind, axis, pitch, k in (steps[::-1] if joint.reversed else steps)
    )


def _steps(element: JointElement) -> list[tuple[str, Any, float, int]]:
    """Return (kind, axis, pitch, number of the coordinate) of each step from the first to the second marker."""
    match element:
        case Fixed():
            return []
        case Revolute(axis=axis):
            return [("revolute", axis, 0.0, 0)]
        case Prismatic(axis=axis):
            return [("prismatic", axis, 0.0, 0)]
        case Screw(axis=axis, pitch=pitch):
            return [("helical", axis, pitch / (2 * math.pi), 0)]
        case Cylindrical(axis=axis):
            return [("revolute", axis, 0.0, 0), ("prismatic", axis, 0.0, 1)]
        case Universal(axis_1=axis_1, axis_2=axis_2):
            return [("revolute", axis_1, 0.0, 0), ("revolute", axis_2, 0.0, 1)]
        case Planar():
            x, y, normal = element.frame().T
            return [("prismatic", x, 0.0, 0), ("prismatic", y, 0.0, 1), ("revolute", normal, 0.0, 2)]
    raise ValueError(f"no elementary joints are known for the joint {element.kind}")
