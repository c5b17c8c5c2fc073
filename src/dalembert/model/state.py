"""State of a model: time, coordinates, velocities, element states."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array

__all__ = ["State"]


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
    """

    q: Array
    v: Array
    t: float = 0.0
    x: Array = field(default_factory=lambda: np.zeros(0))
