"""Humanoid with pelvis, waist, two legs and two arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..bodies.body import Body
from ..bodies.shapes import box
from ..connections.joints import Free, Revolute
from ..system import System

__all__ = ["humanoid"]

Vector = tuple[float, float, float]


class _Segment(NamedTuple):
    """Body segment and its joint on the previous segment.

    The joint turns about `axis` at `place` (m) on the carrier; the body is a solid box with edges
    `size` (m) and its centre at `center` (m) from the joint.
    """

    body: str
    joint: str
    axis: str
    place: Vector
    mass: float
    center: Vector
    size: Vector


_PELVIS_MASS, _PELVIS_SIZE = 9.8, (0.18, 0.28, 0.16)

# on the pelvis; the torso is chest, neck and head in one
_TRUNK = (
    _Segment("waist_yaw_link", "waist_yaw", "z", (0, 0, 0.10), 0.8, (0, 0, 0.02), (0.12, 0.12, 0.06)),
    _Segment("waist_roll_link", "waist_roll", "x", (0, 0, 0.04), 0.8, (0, 0, 0), (0.10, 0.12, 0.08)),
    _Segment("torso", "waist_pitch", "y", (0, 0, 0.02), 28.0, (0.01, 0, 0.26), (0.20, 0.32, 0.62)),
)

# the left leg, on the pelvis; the right one is its mirror image in the xz-plane
_LEG = (
    _Segment("hip_pitch_link", "hip_pitch", "y", (0, 0.07, -0.08), 1.4, (0, 0.03, 0), (0.10, 0.08, 0.10)),
    _Segment("hip_roll_link", "hip_roll", "x", (0, 0.03, 0), 1.4, (0.02, 0, -0.02), (0.10, 0.09, 0.10)),
    _Segment("thigh", "hip_yaw", "z", (0, 0, -0.06), 5.5, (0, 0.005, -0.16), (0.13, 0.13, 0.34)),
    _Segment("shank", "knee", "y", (0, 0, -0.36), 3.2, (0.005, 0, -0.17), (0.10, 0.09, 0.36)),
    _Segment("ankle", "ankle_pitch", "y", (0, 0, -0.40), 0.3, (0, 0, 0), (0.05, 0.05, 0.05)),
    _Segment("foot", "ankle_roll", "x", (0, 0, -0.02), 1.0, (0.05, 0, -0.03), (0.25, 0.10, 0.05)),
)

# the left arm, on the torso
_ARM = (
    _Segment("shoulder_pitch_link", "shoulder_pitch", "y", (0, 0.17, 0.40), 0.9, (0, 0.03, 0), (0.09, 0.07, 0.09)),
    _Segment("shoulder_roll_link", "shoulder_roll", "x", (0, 0.05, 0), 0.8, (0, 0, -0.03), (0.08, 0.08, 0.10)),
    _Segment("upper_arm", "shoulder_yaw", "z", (0, 0, -0.08), 1.4, (0, 0, -0.09), (0.09, 0.09, 0.20)),
    _Segment("forearm", "elbow", "y", (0.01, 0, -0.20), 0.9, (0, 0, -0.08), (0.07, 0.07, 0.18)),
    _Segment("wrist_yaw_link", "wrist_yaw", "z", (0, 0, -0.18), 0.3, (0, 0, -0.03), (0.06, 0.06, 0.07)),
    _Segment("wrist_roll_link", "wrist_roll", "x", (0, 0, -0.06), 0.2, (0, 0, 0), (0.05, 0.05, 0.05)),
    _Segment("hand", "wrist_pitch", "y", (0, 0, -0.02), 0.5, (0.01, 0, -0.08), (0.05, 0.09, 0.17)),
)


def humanoid() -> System:
    """Return a humanoid of 75 kg with a free pelvis and 29 joints: 35 degrees of freedom, 30 bodies.

    Each leg has 6 joints (hip 3, knee, ankle 2), each arm 7 (shoulder 3, elbow, wrist 3), the
    waist 3; the head is part of the torso. x points forward, y to the left, z up, and in the
    reference placement it stands upright with its arms down. Names of the two sides begin with
    ``"left_"`` and ``"right_"``; the pelvis hangs on the joint ``"base"``. Segments are solid boxes
    of human proportions.

    Examples
    --------
    >>> from dalembert.library import humanoid
    >>> s = humanoid()
    >>> s, round(sum(body.mass for body in s.bodies.values()), 3)
    (<System 'humanoid': 30 bodies, 30 connections>, 75.0)
    """
    system = System("humanoid")
    pelvis = system.body("pelvis", box(*_PELVIS_SIZE, mass=_PELVIS_MASS))
    system.connect("base", Free(), system.ground, pelvis)
    torso = _limb(pelvis, _TRUNK)
    for side, left in (("left_", 1.0), ("right_", -1.0)):
        _limb(pelvis, _LEG, side, left)
        _limb(torso, _ARM, side, left)
    return system


def _limb(carrier: Body, segments: tuple[_Segment, ...], side: str = "", left: float = 1.0) -> Body:
    """Attach a chain of segments to `carrier`, mirrored if `left` is -1, and return the last body.

    Joint axes are not mirrored: roll and yaw turn right-handed on both sides.
    """
    mirror = np.array([1.0, left, 1.0])
    for segment in segments:
        solid = box(*segment.size, mass=segment.mass)
        system = carrier.system
        body = system.body(side + segment.body, mass=segment.mass, com=segment.center * mirror, inertia=solid.inertia)
        system.connect(side + segment.joint, Revolute(segment.axis), carrier.at(*(segment.place * mirror)), body)
        carrier = body
    return carrier
