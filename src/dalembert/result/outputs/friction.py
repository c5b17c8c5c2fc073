"""Outputs of dry friction and stops at joints: efforts, stick, and contact with stops."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...compile.joint_elements import SIGN_MODE
from ...compile.names import full_names
from ...connections.joints import Joint
from ...model import Conditions, Model
from ...model.drive_targets import driven_speeds
from .motion import Motion
from .output import Output

__all__ = ["FRICTION_QUANTITIES", "friction_output"]


FRICTION_QUANTITIES = ("friction", "stuck", "stop")
STILL = 1e-10  # rad/s or m/s: slower joints stick, in contact by steps, which has velocities of stuck joints to 1e-11
AT_STOP_TOL = 1e-8  # rad or m: a locked coordinate this close to a stop is on it


def friction_output(model: Model, joint: str, element: Joint, quantity: str, name: str, unit: str) -> Output:
    """Return an output (n, nv): efforts N m or N; 1 while it sticks; -1 or 1 while it is on a stop."""
    names = model.compiled.names
    cut = joint in names.cut_v
    first = names.cut_v[joint].start + model.nv if cut else names.v[joint].start
    places = np.arange(first, first + element.nv)
    speeds = full_names(joint, element.speeds)
    labels = element.speeds
    driven = np.zeros(element.nv, dtype=bool) if cut else driven_speeds(model)[places]

    def velocity(m: Motion) -> Array:
        return m.part("cut_v")[:, names.cut_v[joint]] if cut else m.v[:, places]

    def friction(m: Motion) -> Array:
        effort = np.where(driven, 0.0, m.part("constraint_effort")[:, places])  # that of a drive is "effort"
        for part, speed in enumerate(speeds):
            if speed in model.compiled.elements.friction_slots:
                effort[:, part] += m.part("forces")[:, model.compiled.elements.friction_slots[speed].measure]
        return np.asarray(effort + m.joint_efforts[:, places])

    def held(conditions: Conditions) -> Array:
        return np.array([float(place in conditions.locked) for place in places])

    def stuck(m: Motion) -> Array:
        value = np.zeros((len(m), element.nv))
        for rows, conditions in [] if m.conditions is None else m.conditions(m.t):
            sticks = held(conditions)
            if conditions.sampled_loads is not None:
                own = [speed in model.compiled.elements.friction_slots for speed in speeds]
                value[rows] = np.maximum(sticks, own & (np.abs(velocity(m)[rows]) < STILL))
                continue
            dry = [model.compiled.elements.friction_slots.get(speed) for speed in speeds]
            modes = np.array([SIGN_MODE if place is None else conditions.parameters[place.mode] for place in dry])
            still = modes == 0.0
            if element.has_vector_friction:  # components of a direction may be zero
                still &= not modes[[place is not None for place in dry]].any()
            value[rows] = sticks if m.has_joint_rows else np.maximum(sticks, still)
        return np.maximum(value, m.joint_sticks()[:, places]) if m.has_joint_rows else value

    def stop(m: Motion) -> Array:
        value = np.zeros((len(m), element.nv))
        if element.nq != element.nv:
            return value
        position = m.part("cut_q")[:, names.cut_q[joint]] if cut else m.q[:, names.q[joint]]
        for rows, conditions in [] if m.conditions is None else m.conditions(m.t):
            for limit, side in ((element.lower, -1.0), (element.upper, 1.0)):
                if limit is not None:
                    on = held(conditions)
                    if m.has_joint_rows:
                        on = np.maximum(on, m.joint_sticks()[np.ix_(rows, places)])
                    if conditions.sampled_loads is not None:
                        on = np.maximum(on, np.abs(velocity(m)[rows]) < STILL)
                    value[rows] += side * on * (np.abs(position[rows] - limit) < AT_STOP_TOL)
        return value

    values = {"friction": friction, "stuck": stuck, "stop": stop}
    meanings = {
        "friction": f"effort of dry friction and stops at joint {joint!r}",
        "stuck": f"1 while joint {joint!r} sticks or is locked, else 0",
        "stop": f"-1 while joint {joint!r} is on its lower stop, 1 on its upper one, else 0",
    }
    needs = "dynamics" if quantity == "friction" else "speed"
    unit = unit if quantity == "friction" else "1"
    return Output(name, unit, (element.nv,), meanings[quantity], values[quantity], labels=labels, needs=needs)
