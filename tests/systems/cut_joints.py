"""Coordinates and rates of a cut joint, given the motion of its second marker in the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.connections.joints import Joint

Array = NDArray[np.float64]

ANY_MOTION = da.CustomJoint(
    ("x", "y", "z", "angle_1", "angle_2", "angle_3"),
    ("x", "y", "z"),
    [("x", "angle_1"), ("y", "angle_2"), ("z", "angle_3")],
)


def cut_model(joint: Joint) -> da.Model:
    """Return a body that can move in any way, by a joint that the tree keeps, with the given joint around it."""
    s = da.System("cut", gravity=(0, 0, 0))
    body = s.body("body", da.box(1, 2, 3, mass=1.0))
    s.connect("any", ANY_MOTION, s.ground, body)
    s.connect("cut", joint, s.ground, body)
    s.connect("hold", da.Effort(0.0), "any.x")  # coordinates that something acts upon stay in the tree
    model = s.compile()
    assert [loop_constraint.name for loop_constraint in model.forest.loop_constraints] == ["cut"]
    return model


def read_by_the_core(joint: Joint, C: Array, c: Array, V: Array, A: Array) -> tuple[Array, Array, Array]:
    """Return coordinates, speeds and accelerations of a cut joint, (n, ...), for poses, velocities, accelerations."""
    model = cut_model(joint)
    q = np.array([[*position, *da.to_bryant(rotation)] for rotation, position in zip(C, c, strict=True)])
    H = [ANY_MOTION.motion(row) for row in q]
    v = np.array([np.linalg.solve(h, row) for h, row in zip(H, V, strict=True)])
    a = np.array([np.linalg.solve(h, row - ANY_MOTION.bias(*at)) for h, row, *at in zip(H, A, q, v, strict=True)])
    return model.cut_motion(q, v, a)
