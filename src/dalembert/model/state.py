"""State of a model: time, coordinates, velocities, element states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array

__all__ = ["State", "StateLike"]


@dataclass
class State:
    """Time, coordinates and velocities; with an optional leading batch axis.

    Attributes
    ----------
    t : float, s
        (B,) in a batch passed to a control.
    q : (..., nq) rad or m
    v : (..., nv) rad/s or m/s
    x : (..., nx)
        States of active elements and of elements with memory.
    run : int
        Number of the run of an ensemble, in states passed to a control; (B,) in a batch.
    """

    q: Array
    v: Array
    t: float = 0.0
    x: Array = field(default_factory=lambda: np.zeros(0))
    run: int = field(default=0, kw_only=True, repr=False, compare=False)

    def copy(self) -> State:
        """Return the same state with arrays of its own."""
        return State(q=self.q.copy(), v=self.v.copy(), t=self.t, x=self.x.copy(), run=self.run)


StateLike: TypeAlias = State | Mapping[str, Any] | ArrayLike  # a state, start values by name, or coordinates (nq,)
