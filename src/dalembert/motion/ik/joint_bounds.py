"""What may move in a search: not what is held."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...closure.driven.prescribed_velocities import Prescribed
from ...closure.named_velocities import freedoms_of
from ...errors import ModelError
from ...model import Model

__all__ = ["columns_of"]

Places = NDArray[np.intp]


def columns_of(model: Model, hold: Iterable[str], free: Iterable[str], item: str) -> Places:
    """Return the speeds that may move: not those held, clocks, nor modes of flexible bodies that are not set free."""
    moving = ~Prescribed.of(model).clocks
    for name in model.flexible_names:
        moving[model.v_slice(name)] = False
    released = freedoms_of(model, free, item=item)
    moving[released.columns] = True
    held = freedoms_of(model, hold, item=item)
    if held.cut:
        remedy = "a loop was cut there; hold another hinge of the loop, or give limits=... of equal numbers"
        raise ModelError(item, "hold", held.names[len(held.columns)], remedy)
    moving[held.columns] = False
    if not model.nv:
        raise ModelError(item, "system", model.system.name, "no hinge of it can move")
    if not moving.any():
        raise ModelError(item, "hold", list(hold), "everything is held: nothing can move")
    return np.flatnonzero(moving)
