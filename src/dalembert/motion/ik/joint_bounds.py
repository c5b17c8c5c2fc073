"""Velocities that may change in a search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays import IndexArray
from ...closure.driven.prescribed_velocities import Prescribed
from ...closure.named_velocities import named_velocities
from ...errors import ModelError
from ...model import Model

__all__ = ["columns_of"]


def columns_of(model: Model, hold: Iterable[str], free: Iterable[str], item: str) -> IndexArray:
    """Return the velocities that may change: not held, no clock, and no mode unless released."""
    moving = ~Prescribed.of(model).clocks
    for name in model.flexible_names:
        moving[model.v_slice(name)] = False
    released = named_velocities(model, free, item=item)
    moving[released.columns] = True
    held = named_velocities(model, hold, item=item)
    if held.cut:
        remedy = "a loop was cut there; hold another joint of the loop, or give limits=... of equal numbers"
        raise ModelError(item, "hold", held.names[len(held.columns)], remedy)
    moving[held.columns] = False
    if not model.nv:
        raise ModelError(item, "system", model.system.name, "it has no joint that can move")
    if not moving.any():
        raise ModelError(item, "hold", list(hold), "everything is held: nothing can move")
    return np.flatnonzero(moving)
