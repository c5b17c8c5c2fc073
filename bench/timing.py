"""Fair timing on a machine that others disturb: interleaved rounds, minima and medians.

Every round runs every contestant once, so that a slow second of the machine hits all of them; the
order moves on by one each round, so that none always follows the same other. The minimum over the
rounds is the time without disturbance, the median tells how much disturbance there was.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter_ns
from typing import TypeVar

__all__ = ["Timing", "race", "seconds"]

Key = TypeVar("Key", bound=Hashable)
Call = Callable[[], object]
Clock = Callable[[], int]


@dataclass(frozen=True)
class Timing:
    """Time of one call, s.

    Attributes
    ----------
    minimum, median : float, s
        Over the rounds.
    number : int
        Calls in each round.
    """

    minimum: float
    median: float
    number: int


def race(
    calls: Mapping[Key, Call], *, rounds: int = 15, slice_time: float = 0.01, clock: Clock = perf_counter_ns
) -> dict[Key, Timing]:
    """Time several calls side by side.

    Parameters
    ----------
    calls : mapping to callables without arguments
    rounds : int
    slice_time : float, s
        How long one contestant runs in one round; the number of calls is calibrated to it.
    clock : function, ns
        ``time.process_time_ns`` where the machine is busy and all run on one thread.
    """
    numbers = {key: _calibrate(call, slice_time) for key, call in calls.items()}
    samples: dict[Key, list[float]] = {key: [] for key in calls}
    order = list(calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for k in range(rounds):
            first = k % len(order)
            for key in order[first:] + order[:first]:
                samples[key].append(seconds(calls[key], numbers[key], clock))
    finally:
        if collecting:
            gc.enable()
    return {key: Timing(min(x), statistics.median(x), numbers[key]) for key, x in samples.items()}


def seconds(call: Call, number: int, clock: Clock = perf_counter_ns) -> float:
    """Return the mean time of `number` calls in a row, s."""
    turns = repeat(None, number)
    start = clock()
    for _ in turns:
        call()
    return (clock() - start) * 1e-9 / number


def _calibrate(call: Call, slice_time: float) -> int:
    """Return how many calls fill `slice_time`; warms the call up on the way."""
    call()
    number = 1
    while True:
        took = seconds(call, number) * number
        if took >= slice_time / 4:
            return max(1, round(number * slice_time / took))
        number *= 4
