"""Logs of the runs of a batch: what they have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import IndexArray
from ...model import Conditions
from ...result import Periods, Result, single_period

__all__ = ["RunLogs"]


class RunLogs:
    """Changes of conditions in the runs of a batch, some of which were repeated alone.

    Attributes
    ----------
    repeated : dict of int to Result
        Runs that were repeated alone, with conditions of their own.
    """

    repeated: dict[int, Result]

    def periods_of_repeated(self, run: int, base: Conditions) -> Periods:
        """Return the conditions by time of a run that was repeated, from those at its start."""
        return self.repeated[run].conditions or single_period(base)

    @staticmethod
    def spans(run: IndexArray) -> Iterator[tuple[int, int, int]]:
        """Yield the number of each run, its first row and the row after its last, from numbers in order (k,)."""
        numbers, begins = np.unique(run, return_index=True)
        ends = [*begins[1:].tolist(), len(run)]
        yield from zip(numbers.tolist(), begins.tolist(), ends, strict=True)
