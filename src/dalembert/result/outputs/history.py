"""Outputs that a state alone does not tell: sums over time, whole turns, signs of quaternions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..quadrature import over_intervals
from .motion import Motion
from .output import Output

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["continuous", "work_and_loss"]

Array = NDArray[np.float64]


def work_and_loss(result: Result) -> tuple[Array, Array]:
    """Return the work put in and the energy dissipated since the start, (n,) J each."""
    work = _integral(result, lambda m: m.power)
    for event in result.events:
        work[max(0, int(np.searchsorted(result.t, event.t, side="right")) - 1) :] += event.energy
    return work, _integral(result, lambda m: m.loss)


def continuous(result: Result, output: Output, values: Array) -> Array:
    """Return values (n, ...) with whole turns and signs chosen so that they do not jump."""
    flat = values.reshape(len(values), -1).copy()
    assert output.start is not None
    signs = [k for k, kind in enumerate(output.branch) if kind == "sign"]
    if signs:
        block = np.concatenate([output.start[None, signs], flat[:, signs]])
        flips = np.where((block[1:] * block[:-1]).sum(1) < 0, -1.0, 1.0)
        flat[:, signs] *= np.cumprod(flips)[:, None]
    for k, kind in enumerate(output.branch):
        if kind == "turn":
            rise = np.concatenate([output.start[[k]] - flat[0, k], _rise(result, output, k) - np.diff(flat[:, k])])
            flat[:, k] += 2 * np.pi * np.cumsum(np.round(rise / (2 * np.pi)))
    return flat.reshape(values.shape)


def _integral(result: Result, rate: Callable[[Motion], Array]) -> Array:
    """Return the integral of a rate since the start, (n,)."""

    def at(times: Array) -> Array:
        return rate(result._motion_at(times))

    # below this the power of elements that keep energy is rounding
    rounding = 1e-14 * float(np.abs(result["energy.kinetic"]).max(initial=0.0))
    return np.concatenate([[0.0], np.cumsum(over_intervals(at, result.t[:-1], result.t[1:], absolute=rounding))])


def _rise(result: Result, output: Output, k: int) -> Array:
    """Return about how much an angle grows in each interval, (n - 1,) rad, from its rate."""
    rate = output.rate
    assert rate is not None
    speed, step = rate(result._motion)[:, k], np.diff(result.t)
    rise: Array = step * (speed[1:] + speed[:-1]) / 2
    fast = np.maximum(np.abs(speed[1:]), np.abs(speed[:-1])) * step > 1.0
    if fast.any():

        def at(times: Array) -> Array:
            column: Array = rate(result._motion_at(times))[:, k]
            return column

        rise[fast] = over_intervals(at, result.t[:-1][fast], result.t[1:][fast], relative=0.0, absolute=0.1)
    return rise
