"""Floating-point numbers as exact SymPy rationals of their decimal form."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

__all__ = ["as_number"]

ROUNDOFF_TOL = 1e-15  # difference from 0 and 1 that is round-off


def as_number(value: float) -> Any:
    """Return a value as an exact rational of its decimal form, 9.81 as 981/100, without round-off of 0 and 1."""
    value = float(value)
    if not np.isfinite(value):
        return sp.oo if value > 0 else -sp.oo
    for near in (0.0, 1.0, -1.0, 0.5, -0.5):
        if abs(value - near) < ROUNDOFF_TOL:
            value = near
    return sp.Rational(repr(value))
