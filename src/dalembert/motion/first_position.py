"""First position of a kinematic motion that cannot be assembled as a regular one.

Closing the loops with drives at their first values may give a singular configuration although a regular one exists, or
the first values may be those of a singular position. The drives are then followed from the start values
(`drive_path`): from the driven coordinates of the assembled start to those at the first time. If the position there is
singular, they are followed to a time a little later, from which the motion is followed back to the first time and
onward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..closure.assembly import assemble
from ..closure.driven.drive_path import leads_positions, led_model
from ..closure.driven.driven_state import driven_positions
from ..connections.drives import Drive
from ..errors import DalembertError
from ..model import Model
from ..model.driven_kinematics import KinematicSweep
from .kinematic_request import KinematicRequest

__all__ = ["Follow", "approached"]

Follow = Callable[[KinematicRequest, Array], KinematicSweep]
"""Function that follows the motion of a request from a first position (nq,)."""

SINGULAR_OFFSET = 0.01  # rad or m; offset of the drives from a singular first position
ROWS = ("t", "q", "v", "a", "slack")


def approached(request: KinematicRequest, follow: Follow) -> KinematicSweep | None:
    """Return the motion with its first position reached from the start values, or None if it is not reached."""
    model, times = request.model, request.times
    if not leads_positions(model):
        return None
    try:
        first = _led(request, float(times[0]), follow)
        if first is not None:
            found = follow(request, first)
            if len(found.t):
                return found
        return _from_beside(request, follow)
    except DalembertError:  # start values that do not close, or laws that end: keep the original error
        return None


def _from_beside(request: KinematicRequest, follow: Follow) -> KinematicSweep | None:
    """Return the motion followed in both directions from a position near a singular first one."""
    times = request.times
    t = float(times[0])
    rates = [abs(drive.law(t)[1]) for drive in request.model.drives]
    if max(rates) == 0.0:
        return None
    near = t + min(SINGULAR_OFFSET / max(rates), 0.25 * float(times[1] - t) if len(times) > 1 else np.inf)
    at = _led(request, near, follow)
    if at is None:
        return None
    back = follow(replace(request, times=np.array([near, t]), corners=[]), at)
    if back.status != "finished":
        return None
    onward = back if len(times) == 1 else follow(replace(request, times=np.array([near, *times[1:]])), at)
    rows: dict[str, Any] = {
        name: np.concatenate([getattr(back, name)[1:], *([getattr(onward, name)[1:]] if len(times) > 1 else [])])
        for name in ROWS
    }
    return replace(onward, **rows)


def _led(request: KinematicRequest, t: float, follow: Follow) -> Array | None:
    """Return the position (nq,) at t reached along the drives from the start values.

    None if it is not reached.
    """
    model = request.model
    driven = led_model(model, _start_values(model), t)
    sweep = follow(KinematicRequest(driven, np.array([0.0, 1.0])), driven_positions(driven, 0.0))
    return sweep.q[-1] if sweep.status == "finished" else None


def _start_values(model: Model) -> dict[str, float]:
    """Return the driven coordinates of the assembled start without drives, by name."""
    described = model.system.copy()
    drives: list[Drive] = list(described.drives.values())
    described.drives.clear()
    free = described.compile()
    q = assemble(free).q
    cut = free.cut_motion(q, np.zeros(free.nv), np.zeros(free.nv))[0]
    values = {}
    for drive in drives:
        name = drive.connection.name
        numbers = q[free.q_slice(name)] if name in free.joint_names else cut[free.compiled.names.cut_q[name]]
        values[drive.name] = float(numbers[drive.coordinate])
    return values
