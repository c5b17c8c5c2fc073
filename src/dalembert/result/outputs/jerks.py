"""Jerks, rates of accelerations, of fully driven motions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import Model
from .frames import frame_of
from .joints import JointOutputs
from .motion import Motion
from .output import Output, vector
from .units import joined, rate_unit

__all__ = ["jerk_of_joint", "jerk_of_point"]

Array = NDArray[np.float64]


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


def jerk_of_point(model: Model, owner: str, name: str) -> Output | None:
    """Return the jerk of a body, marker or point as an output; None if there is none of that name."""
    marker = frame_of(model, owner)
    if marker is None:
        return None

    def value(m: Motion) -> Array:
        return m.along(lambda q, v, a: model.acceleration(marker, q, v, a)[:, 3:])

    return vector(name, "m/s3", f"jerk of {owner!r}, world axes", value, "dynamics")
