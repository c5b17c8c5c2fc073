"""Loads on bodies that are constant between times."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array

__all__ = ["SampledLoads"]


class SampledLoads(_core.SampledLoads):
    """Loads on bodies, constant from one time to the next; none before the first.

    Parameters
    ----------
    times : (n,) s
        In order.
    loads : (n, bodies, 6) N m and N
        [moment; force] on the bodies at their origins, world axes.
    efforts : (n, nv + cut nv) N m or N
        Joint forces; those of cut joints are recorded only, `loads` has what they do.
    """

    def __init__(self, times: Array, loads: Array, efforts: Array) -> None:
        super().__init__(times, loads, efforts)
        self.times, self.loads, self.efforts = times, loads, efforts

    def efforts_at(self, t: Array) -> Array:
        """Return the joint forces at times (k,) s, (k, nv + cut nv)."""
        step = np.searchsorted(self.times, t, side="right") - 1
        return np.where((step >= 0)[:, None], self.efforts[np.maximum(step, 0)], 0.0)

    def __reduce__(self) -> tuple[Any, ...]:
        return SampledLoads, (self.times, self.loads, self.efforts)
