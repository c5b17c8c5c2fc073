"""Names of small motions, and their brackets in moving systems."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..connections.joints import Joint
from ..model import Model
from ..model.cache import cached_per_model

__all__ = ["brackets", "small_motion_names"]


@cached_per_model
def _turning(model: Model) -> list[tuple[slice, Joint]]:
    """Return slices and joints whose velocities are not rates of coordinates."""
    plain = Joint.bracket
    return [(model.v_slice(h.name), h.element) for h in model.forest.joints if type(h.element).bracket is not plain]


def brackets(model: Model, v: Array) -> Array | None:
    """Return K (nv, nv) of (4) at velocities v (nv,), or (B, nv, nv) at (B, nv); None if zero for every joint."""
    turning = _turning(model)
    if not turning:
        return None
    K = np.zeros((*v.shape, model.nv))
    for span, joint in turning:
        if v.ndim == 1:
            K[span, span] = joint.bracket(v[span])
        else:
            K[:, span, span] = np.array([joint.bracket(one[span]) for one in v])
    return K


_SMALL = {"wx": "turn_x", "wy": "turn_y", "wz": "turn_z", "vx": "shift_x", "vy": "shift_y", "vz": "shift_z"}


@cached_per_model
def small_motion_names(model: Model) -> tuple[str, ...]:
    """Return the names of small motions (nv): of coordinates, or ``"ball.turn_x"`` in axes of the second marker."""
    names = list(model.speed_names)
    for span, joint in _turning(model):
        owner = names[span.start].rpartition(".")[0]
        for k, kind in zip(range(span.start, span.stop), joint.speeds, strict=True):
            names[k] = f"{owner}.{_SMALL.get(kind, kind)}"
    return tuple(names)
