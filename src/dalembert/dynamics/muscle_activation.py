"""Rate limits of muscle activations.

A muscle's activation obeys a' = (u - a)/tau(u, a), u within 0.01 and 1 (see `HillMuscle`). Over a step h, by the
midpoint rule with the mean m of both activations,

    a1 - a0 = h (u - m) / tau,   tau = rise (1/2 + 3/2 m) if u > m, else fall / (1/2 + 3/2 m)                        (1)

so each activation has a lowest and a highest successor, at u = 0.01 and u = 1, and each step gives its excitation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from .actuators import Actuators

__all__ = ["ActivationLimits"]


MIN_ACTIVATION = 0.01  # activation stays positive, so that its rate is defined


@dataclass(frozen=True, eq=False)
class ActivationLimits:
    """Muscles among the actuators: indices (k,), and time constants (k,) s."""

    acting: Actuators
    t: Array
    indices: list[int]
    rise: Array
    fall: Array

    @classmethod
    def of(cls, acting: Actuators, t: Array, item: str) -> ActivationLimits:
        """Return the limits for the muscles among the actuators."""
        muscles = acting.muscles
        if not muscles:
            raise ModelError(item, "activation_dynamics", True, "no activation of a muscle is among the actuators")
        if len(t) > 1 and (np.diff(t) <= 0.0).any():
            raise ModelError(item, "t", t, "times must increase for activations to follow each other")
        indices = [acting.names.index(name) for name in muscles]
        rise, fall = (np.array([m.parameters[part] for m in muscles.values()]) for part in ("rise", "fall"))
        return cls(acting, t, indices, rise, fall)

    def after(self, before: Array, h: float) -> tuple[Array, Array]:
        """Return the lowest and highest values (m,) of all actuators a step h (s) after values (m,)."""
        low, high = np.full(len(self.acting), -np.inf), np.full(len(self.acting), np.inf)
        a0 = before[self.indices]
        low[self.indices], high[self.indices] = self._fallen(a0, h), self._risen(a0, h)
        return low, high

    def _risen(self, a0: Array, h: float) -> Array:
        """Return the a1 of (1) at u = 1: a quadratic in a0 + a1."""
        r = self.rise
        return _root(0.75 * r, r * (0.5 - 1.5 * a0) + 0.5 * h, a0 * r + h) - a0

    def _fallen(self, a0: Array, h: float) -> Array:
        """Return the a1 of (1) at the least u: a quadratic in a0 + a1."""
        f, u = self.fall, MIN_ACTIVATION
        return _root(np.full_like(f, 0.375 * h), f + h * (0.25 - 0.75 * u), 2.0 * a0 * f + 0.5 * h * u) - a0

    def excitations(self, values: Array) -> dict[str, Array]:
        """Return the u of (1) that leads to each sample, (n,) by state; the first is the activation itself."""
        a = values[:, self.indices]
        u = a.copy()
        m, rate = 0.5 * (a[1:] + a[:-1]), np.diff(a, axis=0) / np.diff(self.t)[:, None]
        u[1:] = m + rate * np.where(rate > 0.0, self.rise * (0.5 + 1.5 * m), self.fall / (0.5 + 1.5 * m))
        return {self.acting.names[index]: np.clip(u[:, k], MIN_ACTIVATION, 1.0) for k, index in enumerate(self.indices)}


def _root(a: Array, b: Array, c: Array) -> Array:
    """Return the positive root of a s^2 + b s = c, a and c positive."""
    root = np.sqrt(b * b + 4.0 * a * c)
    return np.where(b > 0.0, 2.0 * c / (b + root), (root - b) / (2.0 * a))
