"""Sizes of efforts on rows of friction and stops, without cancellation."""

from __future__ import annotations

import numpy as np

from dalembert.arrays import Array
from dalembert.errors import ModelError, SingularityError
from dalembert.model import Conditions
from dalembert.simulation.events.events import EventContext
from dalembert.simulation.friction.rows import Response

__all__ = ["effort_sizes"]


def effort_sizes(response: Response, conditions: Conditions, now: EventContext) -> Array:
    """Return the size of efforts on the rows without cancellation, (n,) N m or N.

    With M the mass matrix, no acceleration J_i a exceeds |J_i M^-1/2| |M^1/2 a|. Accelerations are those of gravity
    on all bodies, and those of the trees with all loops open, so that forces which balance each other through a
    loop or within a body are counted. Rounding of an effort is a part of its size.
    """
    model = response.rows.model
    opened = conditions.changed(off=frozenset(model.closure_names)) if model.nc else conditions
    try:
        a = model.report(["a"], now.t, now.q, now.v, now.x, conditions=opened)["a"]
    except (ModelError, SingularityError):  # the trees alone lack inertia
        a = model.report(["a"], now.t, now.q, now.v, now.x, conditions=conditions)["a"]
    fall = np.linalg.norm(model.system.gravity) * np.sqrt(sum(body.mass for body in model.system.bodies.values()))
    size = fall + np.sqrt(max(float(a @ response.jumps.M @ a), 0.0))
    return np.where(response.own > 0, size / np.sqrt(np.where(response.own > 0, response.own, 1.0)), 0.0)
