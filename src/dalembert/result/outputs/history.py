"""Outputs that a state alone does not tell: sums over time, whole turns, signs of quaternions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...connections.constraints.couplings import CustomCoupling
from ..quadrature import over_intervals
from .motion import Motion
from .output import Output

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["continuous", "work_and_loss"]

Array = NDArray[np.float64]


def work_and_loss(result: Result) -> tuple[Array, Array]:
    """Return the work put in and the energy dissipated since the start, (n,) J each."""
    sums = np.zeros((len(result), 2))
    if _exchanges_power(result):
        rates = _powers(result._motion)
        # below this the power of elements that keep energy is rounding
        rounding = 1e-14 * float(np.abs(result["energy.kinetic"]).max(initial=0.0))
        parts = over_intervals(
            lambda times: _powers(result._motion_at(times)),
            result.t[:-1],
            result.t[1:],
            (rates[:-1], rates[1:]),
            absolute=rounding,
        )
        sums[1:] = np.cumsum(parts, axis=0)
    work, loss = sums[:, 0], sums[:, 1]
    for event in result.events:
        work[max(0, int(np.searchsorted(result.t, event.t, side="right")) - 1) :] += event.energy
    return work, loss


def _powers(motion: Motion) -> Array:
    """Return power put in and power lost, (n, 2) W."""
    return np.column_stack([motion.power, motion.loss])


def _exchanges_power(result: Result) -> bool:
    """Whether anything is there that may bring or take energy: more than bodies, weights and connections at rest."""
    model = result._model()
    acted = bool(model.drives) or len(model.compiled.tables["elements"]) > 0 or bool(model.flexible_names)
    # rows of constraints and couplings may move by themselves
    acted = acted or any(isinstance(coupling.element, CustomCoupling) for coupling in model.forest.couplings)
    return acted or result.conditions is not None or any(not c.element.kernel for c in model.forest.chords)


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


def _rise(result: Result, output: Output, k: int) -> Array:
    """Return about how much an angle grows in each interval, (n - 1,) rad, from its rate."""
    rate = output.rate
    assert rate is not None
    speed, step = rate(result._motion)[:, k], np.diff(result.t)
    rise: Array = step * (speed[1:] + speed[:-1]) / 2
    fast = np.maximum(np.abs(speed[1:]), np.abs(speed[:-1])) * step > 1.0
    if fast.any():

        def at(times: Array) -> Array:
            return rate(result._motion_at(times))[:, [k]]

        begin, end, ends = result.t[:-1][fast], result.t[1:][fast], (speed[:-1][fast, None], speed[1:][fast, None])
        rise[fast] = over_intervals(at, begin, end, ends, relative=0.0, absolute=0.1)[:, 0]
    return rise
