"""Frames of the kernels and their map to the user's frames.

The kernels use their own frames: frame F of a body is at the outboard end of its joint, frame J at the inboard end,
both rotated so that the joint's axis is local z. `FrameMap` alone converts between these frames and the user's body
frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..connections.constraints.geometric import Constraint
from ..connections.elements.signals import Sensor
from ..connections.joints import Joint
from ..system.topology import Forest, TreeJoint
from .body_layout import BodyLayout, modes_of

__all__ = ["FrameMap", "joint_axes", "row_axes"]


@dataclass(frozen=True, eq=False)
class FrameMap:
    """Poses between the user's frames B and the kernel frames F, for ground (0) and every body.

    Of a flexible body, F of its modal slot is B itself, and F of a node rests parallel to B.

    Attributes
    ----------
    R_FB : (nb + 1, 3, 3)
    p_FB : (nb + 1, 3) m
        The user's body frame in F: ``x_F = R_FB @ x_B + p_FB``. Of a flexible body, in F of the slot at the end of
        its joint, undeformed.
    R_PJ : (nb, 3, 3)
    p_PJ : (nb, 3) m
        The inboard joint frame J in F of the slot that the joint starts from.
    layout : Places
    """

    R_FB: Array
    p_FB: Array
    R_PJ: Array
    p_PJ: Array
    layout: BodyLayout

    @classmethod
    def of(cls, forest: Forest) -> FrameMap:
        """Compute the frames of a forest."""
        nb = forest.nb
        places = BodyLayout(forest, markers_in_use(forest))
        flexible = [False, *(bool(modes_of(forest.system.bodies[name])) for name in forest.bodies[1:])]
        R_FB, p_FB = np.tile(np.eye(3), (nb + 1, 1, 1)), np.zeros((nb + 1, 3))
        R_PJ, p_PJ = np.empty((nb, 3, 3)), np.empty((nb, 3))
        if not nb:
            return cls(R_FB, p_FB, R_PJ, p_PJ, places)
        axes = np.array([joint_axes(joint) for joint in forest.joints])
        inboard = [joint.inboard for joint in forest.joints]
        outboard = [joint.outboard for joint in forest.joints]
        R_FB[1:] = (np.array([marker.rotation for marker in outboard]) @ axes).transpose(0, 2, 1)
        p_FB[1:] = -(R_FB[1:] @ np.array([marker.position for marker in outboard])[:, :, None])[:, :, 0]
        parents = np.asarray(forest.parent)
        R_BJ = np.array([marker.rotation for marker in inboard]) @ axes
        R_PJ[:] = R_FB[parents] @ R_BJ
        p_PJ[:] = (R_FB[parents] @ np.array([marker.position for marker in inboard])[:, :, None])[:, :, 0]
        p_PJ += p_FB[parents]
        for k in np.flatnonzero(np.array(flexible)[parents]).tolist():
            at_node = places.rows[places.inboard[k] - 1].kind == "node"
            R_PJ[k], p_PJ[k] = R_BJ[k], _arm(inboard[k]) if at_node else inboard[k].position
        return cls(R_FB, p_FB, R_PJ, p_PJ, places)

    def to_kernel(self, body: int, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return in F a pose given in the user's frame of body number `body`."""
        R = self.R_FB[body]
        return R @ rotation, R @ position + self.p_FB[body]

    def to_user(self, body: int, rotation: Array, position: Array) -> tuple[Array, Array]:
        """Return in the user's frame of body number `body` a pose given in F."""
        R = self.R_FB[body]
        return R.T @ rotation, R.T @ (position - self.p_FB[body])

    def place(self, marker: Marker, axes: Array | None = None) -> tuple[int, Array, Array]:
        """Return the slot in the core's list that carries a marker, and its pose in F there, rotated by `axes`."""
        rotation = marker.rotation if axes is None else marker.rotation @ axes
        place = self.layout.find(marker)
        kind = self.layout.rows[place - 1].kind if place else "rigid"
        if kind == "node":
            return place, rotation, _arm(marker)
        if kind == "modal":
            return place, rotation, marker.position
        return place, *self.to_kernel(self.layout.forest.number[marker.body.name], rotation, marker.position)

    def ends(
        self, first: Marker, second: Marker, axes: tuple[Array | None, Array | None] = (None, None)
    ) -> dict[str, Any]:
        """Return the fields of a row between two markers: carriers and poses in F, rotated by `axes`."""
        (body_a, R_A, p_A), (body_b, R_B, p_B) = self.place(first, axes[0]), self.place(second, axes[1])
        return {"body_a": body_a, "R_FA": R_A, "p_FA": p_A, "body_b": body_b, "R_FB": R_B, "p_FB": p_B}


def joint_axes(joint: TreeJoint) -> Array:
    """Return the axes (3, 3) of a tree joint in its first marker, local z along its axis."""
    axes = joint.element.frame()
    return axes @ np.array(joint.element.reversal) if joint.reversed else axes


def row_axes(element: Joint | Constraint) -> tuple[Array, Array]:
    """Return the axes (3, 3) in both markers in which the rows of a loop constraint are written."""
    if not isinstance(element, Joint):
        return element.frames()
    axes = element.frame() if element.kernel else np.eye(3)
    return axes, axes


def _arm(marker: Marker) -> Array:
    return np.zeros(3) if marker.arm is None else marker.arm


def markers_in_use(forest: Forest) -> list[Marker]:
    """Return the markers used by loop constraints, force elements and outputs."""
    system = forest.system
    used = [marker for c in forest.loop_constraints for marker in (c.first, c.second)]
    for force in system.forces.values():
        used += force.ends
        sensors = [source for source in getattr(force.element, "inputs", {}).values() if isinstance(source, Sensor)]
        used += [marker for sensor in sensors for marker in (sensor.first, sensor.second)]
    used += [marker for c in forest.joints for marker in (c.inboard, c.outboard)]
    return used + [marker for body in system.bodies.values() for marker in body.markers.values()]
