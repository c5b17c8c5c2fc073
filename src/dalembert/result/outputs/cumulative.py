"""Outputs that depend on the history of a motion: integrals over time, whole turns, signs of quaternions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...connections.constraints.couplings import CustomCoupling
from ...numerics.quadrature import over_intervals
from .contacts import contact_losses
from .motion import Motion
from .output import Output

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["continuous", "work_and_loss"]


REST_ENERGY = 1e-60  # J: less is rounding of a system at rest
SIDE_OFFSET = 4e-15  # relative: distance inside an interval at which its ends are evaluated near jumps, ...
SIDE_FRACTION = 1e-10  # ... and as a fraction of the interval: switching functions are located to rounding of these


def work_and_loss(result: Result) -> tuple[Array, Array]:
    """Return the work supplied and the energy dissipated since the start, (n,) J each."""
    sums = np.zeros((len(result), 2))
    if _exchanges_power(result):
        grid = _Grid(result)
        # below this the power of conservative elements, and of discontinuous ones at rest, is rounding
        kinetic, total = (float(np.abs(result[f"energy.{name}"]).max(initial=0.0)) for name in ("kinetic", "total"))
        rounding = 1e-14 * kinetic + 1e-15 * total + REST_ENERGY
        parts = over_intervals(
            lambda times: _powers(result._motion_at(times)),
            grid.begin,
            grid.end,
            grid.at_ends(_powers),
            absolute=rounding,
        )
        sums[1:] = np.cumsum(grid.gathered(parts), axis=0)
    work, loss = sums[:, 0], sums[:, 1]
    for part in contact_losses(result, uncounted=True):
        loss += part
    for event in result.events:
        after = int(np.searchsorted(result.t, event.t, side="right"))
        there = after > 0 and result.t[after - 1] == event.t  # the last state at that time is after the event
        work[after - there :] += event.energy + event.dissipated
        loss[after - there :] += 0.0 if event.is_exchange else event.dissipated
    return work, loss


class _Grid:
    """Intervals of a result, divided at the ends of steps and at discontinuities.

    Attributes
    ----------
    begin, end : (k,) s
    owner : (k,)
        Index of the interval between stored times that each belongs to.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        t = result.t
        inner = np.concatenate([result.step_times, result.discontinuity_times, [event.t for event in result.events]])
        inner = np.setdiff1d(inner[(inner > t[0]) & (inner < t[-1])], t)
        self.knots = knots = np.sort(np.concatenate([t, inner]), kind="stable")
        self.begin, self.end = knots[:-1], knots[1:]
        self.first = np.searchsorted(knots, t, side="left") + np.arange(len(t)) - np.searchsorted(t, t, side="left")
        self.owner = np.clip(np.searchsorted(self.first, np.arange(len(self.begin)), side="right") - 1, 0, None)

    def at_ends(self, value: Callable[[Motion], Array]) -> tuple[Array, Array]:
        """Return values at beginnings and ends of intervals, (k, m) each, one-sided at jumps."""
        result, knots = self.result, self.knots
        stored = value(result._motion)
        values = np.empty((len(knots), stored.shape[1]))
        values[self.first] = stored
        fresh = np.ones(len(knots), dtype=bool)
        fresh[self.first] = False
        if fresh.any():
            values[fresh] = value(result._motion_at(knots[fresh]))
        sides = values[:-1].copy(), values[1:].copy()
        jumps = np.concatenate([result.discontinuity_times, [event.t for event in result.events]])
        part = SIDE_FRACTION if result.require_model().switching_functions else 0.0
        for out, times, way in ((sides[0], self.begin, 1.0), (sides[1], self.end, -1.0)):
            there = np.isin(times, jumps) & (self.end > self.begin)
            if there.any():
                inside = np.maximum(SIDE_OFFSET * np.abs(times[there]), part * (self.end - self.begin)[there])
                near = times[there] + way * np.maximum(inside, 1e-300)
                out[there] = value(result._motion_at(near))
        return sides

    def gathered(self, parts: Array) -> Array:
        """Return integrals over the intervals between stored times, (n - 1, m)."""
        total = np.zeros((len(self.result.t) - 1, parts.shape[1]))
        np.add.at(total, self.owner, parts)
        return total


def _powers(motion: Motion) -> Array:
    """Return supplied and dissipated power, (n, 2) W."""
    return np.column_stack([motion.power, motion.loss])


def _exchanges_power(result: Result) -> bool:
    """True if any item may supply or dissipate energy: more than bodies, weights and fixed connections."""
    model = result.require_model()
    acted = bool(model.drives) or len(model.compiled.tables["elements"]) > 0 or bool(model.flexible_names)
    # rows of constraints and couplings may be driven
    acted = acted or any(isinstance(coupling.element, CustomCoupling) for coupling in model.forest.couplings)
    return acted or result.conditions is not None or any(not c.element.kernel for c in model.forest.loop_constraints)


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
    """Return the approximate growth of an angle in each interval, (n - 1,) rad, from its rate."""
    rate = output.rate
    assert rate is not None
    grid = _Grid(result)

    def at(times: Array) -> Array:
        return rate(result._motion_at(times))[:, [k]]

    begin, end = grid.at_ends(lambda motion: rate(motion)[:, [k]])
    step = (grid.end - grid.begin)[:, None]
    rise: Array = step * (begin + end) / 2
    fast = (np.maximum(np.abs(begin), np.abs(end)) * step > 1.0)[:, 0]
    if fast.any():
        ends = begin[fast], end[fast]
        rise[fast] = over_intervals(at, grid.begin[fast], grid.end[fast], ends, relative=0.0, absolute=0.1)
    return grid.gathered(rise)[:, 0]
