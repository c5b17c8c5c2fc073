"""Outputs of dry friction and stops at hinges: their efforts, and what sticks or rests on a stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.joint_elements import BY_SIGN
from ...compile.names import full_names
from ...connections.joints import Hinge
from ...model import Conditions, Model
from .motion import Motion
from .output import Output

__all__ = ["DRY_QUANTITIES", "dry_output"]

Array = NDArray[np.float64]

DRY_QUANTITIES = ("friction", "stuck", "stop")
AT = 1e-8  # rad or m: a coordinate that is held so close to a stop is on it


def dry_output(model: Model, hinge: str, element: Hinge, quantity: str, name: str, unit: str) -> Output:
    """Return an output (n, nv): efforts N m or N; 1 while it sticks; -1 or 1 while it is held on a stop."""
    names = model.compiled.names
    cut = hinge in names.cut_v
    first = names.cut_v[hinge].start + model.nv if cut else names.v[hinge].start
    places = np.arange(first, first + element.nv)
    speeds = full_names(hinge, element.speeds)
    labels = element.speeds

    def friction(m: Motion) -> Array:
        effort = m.part("held")[:, places].copy()
        for part, speed in enumerate(speeds):
            if speed in model.compiled.elements.dry:
                effort[:, part] += m.part("forces")[:, model.compiled.elements.dry[speed].measure]
        return effort

    def held(conditions: Conditions) -> Array:
        return np.array([float(place in conditions.locked) for place in places])

    def stuck(m: Motion) -> Array:
        value = np.zeros((len(m), element.nv))
        for rows, conditions in [] if m.conditions is None else m.conditions(m.t):
            sticks = held(conditions)
            dry = [model.compiled.elements.dry.get(speed) for speed in speeds]
            modes = np.array([BY_SIGN if place is None else conditions.parameters[place.mode] for place in dry])
            still = modes == 0.0
            if element.rubs_together:  # a direction may have zeros
                still &= not modes[[place is not None for place in dry]].any()
            value[rows] = np.maximum(sticks, still)
        return value

    def stop(m: Motion) -> Array:
        value = np.zeros((len(m), element.nv))
        if element.nq != element.nv:
            return value
        position = m.part("cut_q")[:, names.cut_q[hinge]] if cut else m.q[:, names.q[hinge]]
        for rows, conditions in [] if m.conditions is None else m.conditions(m.t):
            for limit, side in ((element.lower, -1.0), (element.upper, 1.0)):
                if limit is not None:
                    value[rows] += side * held(conditions) * (np.abs(position[rows] - limit) < AT)
        return value

    values = {"friction": friction, "stuck": stuck, "stop": stop}
    meanings = {
        "friction": f"effort of dry friction and stops at hinge {hinge!r}",
        "stuck": f"1 while hinge {hinge!r} sticks or is held, else 0",
        "stop": f"-1 while hinge {hinge!r} rests on its lower stop, 1 on its upper one, else 0",
    }
    needs = "dynamics" if quantity == "friction" else "speed"
    unit = unit if quantity == "friction" else "1"
    return Output(name, unit, (element.nv,), meanings[quantity], values[quantity], labels=labels, needs=needs)
