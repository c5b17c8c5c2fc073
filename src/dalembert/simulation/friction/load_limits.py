"""Friction that follows the loads of joints: what they are, and how strongly they follow the friction.

While rows stick their loads are known from the motion. While they slide, friction and loads depend on each other,

    f_i = c_i + mu_i N_i(f),     K_ij = mu_i dN_i / df_j                                                             (1)

and the core finds both. Its solution is unique if the gain, the spectral radius of K, is below one. From one on there
may be several, or none: parts that slide jam at once (Painleve 1895).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...connections.elements.signals import Reaction, parts_in
from ...connections.joints import Joint
from ...errors import ModelError, SingularityError
from ...model import Conditions, SelfStress
from ..events.events import EventContext
from .rows import FrictionRows

__all__ = ["Evaluated", "friction_load_gain", "undetermined_friction", "with_fixed_friction", "with_signs"]

Array = NDArray[np.float64]

ONSET = (
    1e-6  # of the speeds that count as rest: by how much rows that begin to slide together are ahead in their direction
)
DIFFERENCE = 1e-4  # of the efforts, in the slopes of (1)


class Evaluated:
    """Accelerations, loads and what holds at a state, under some conditions.

    Attributes
    ----------
    a, loads : (n,)
        Second rates of the rows; what coefficients multiply, N m or N.
    held : (nv + cut_nv,) N m or N
    fits : bool
        Whether friction and loads that fit each other were found.
    """

    def __init__(self, rows: FrictionRows, conditions: Conditions, now: EventContext) -> None:
        model, n = rows.model, len(rows)
        try:
            parts = model.report(["a", "held", "signals"], now.t, now.q, now.v, now.x, conditions=conditions)
        except (ModelError, SingularityError):
            if not rows.loaded.any():
                raise
            self.fits, self.held = False, np.full(model.nv, np.nan)
            self.a = self.loads = np.full(n, np.nan)
            return
        self.fits, self.held = True, parts["held"]
        self.loads = rows.loads(parts["signals"])
        self.a = rows.accelerations(now.q, now.v, parts["a"])


def with_signs(rows: FrictionRows, conditions: Conditions, sign: Array, rest: Array) -> Conditions:
    """Return conditions under which rows slide with signs or directions (n,); where these are zero, without friction.

    `rest` (n,) are speeds that count as none, rad/s or m/s.
    """
    parameters = conditions.parameters.copy()
    given = np.where(rows.alone | (sign > 1.0), sign, ONSET * rest * sign)
    parameters[rows.mode[rows.rubs]] = given[rows.rubs]
    return conditions.changed(parameters=parameters)


def with_fixed_friction(rows: FrictionRows, conditions: Conditions, friction: Array) -> Conditions:
    """Return conditions under which friction (n,) N m or N follows no load."""
    if not rows.loaded.any():
        return conditions
    parameters = conditions.parameters.copy()
    parameters[rows.coefficient[rows.loaded]] = 0.0
    parameters[rows.friction[rows.loaded]] = friction[rows.loaded]
    return conditions.changed(parameters=parameters)


def friction_load_gain(
    rows: FrictionRows, conditions: Conditions, now: EventContext, friction: Array, slides: Sequence[int]
) -> tuple[float, Array]:
    """Return the gain of (1), and the parts (k,) that rows have in it.

    Parameters
    ----------
    conditions : Conditions
        That say which way rows slide.
    friction : (n,) N m or N
    slides : sequence of int, (k,)
        Rows that do.
    """
    if not len(slides):
        return 0.0, np.zeros(0)
    still = with_fixed_friction(rows, conditions, friction)
    mu = np.array([conditions.parameters[rows.coefficient[k]] for k in slides])
    base = Evaluated(rows, still, now).loads
    K = np.zeros((len(slides), len(slides)))
    for j, k in enumerate(slides):
        step = DIFFERENCE * max(float(np.abs(friction).max(initial=0.0)), float(np.abs(base).max(initial=0.0)), 1e-9)
        more = friction.copy()
        more[k] += step
        K[:, j] = mu * (Evaluated(rows, with_fixed_friction(rows, conditions, more), now).loads - base)[slides] / step
    if not np.isfinite(K).all():
        return np.inf, np.ones(len(slides))
    values, vectors = np.linalg.eig(K)
    largest = int(np.abs(values).argmax())
    return float(np.abs(values[largest])), np.abs(vectors[:, largest])


def undetermined_friction(rows: FrictionRows, now: EventContext) -> list[str]:
    """Return the joints whose friction follows loads that the motion does not determine."""
    model = rows.model
    if not model.nc or not rows.loaded.any():
        return []
    markers = model.second_markers
    varies = SelfStress(model, now.q, t=now.t).varies(
        np.array([model.pose(m, now.q).rotation for m in markers.values()])
    )
    found = []
    for joint, marks in zip(markers, varies, strict=True):
        element = model.system.connections[joint].element if joint in model.system.connections else None
        law = getattr(element, "load_friction", None)
        if law is None or not isinstance(element, Joint):
            continue
        efforts = [law.effort(element.presses, element.frame(), turns=unit == "rad") for unit in element.speed_units]
        if any(marks[Reaction(joint, part).number] for effort in efforts for part in parts_in(effort).values()):
            found.append(joint)
    return found
