"""Sequence of control values over time: joint forces and inputs of elements, held or linear between times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array

__all__ = ["ControlSequence"]


class ControlSequence(_core.ControlSequence):
    """Control values of a run, evaluated in the core.

    Attributes
    ----------
    times : (K + 1,) s
        Ends of the K intervals.
    linear : bool
        Linear between the values at both ends of an interval; otherwise constant within each.
    force : sequence of int, (nv,)
        Index of the channel that is the joint force of each degree of freedom; -1: none.
    input : sequence of int
        Index of the channel in place of the law of each input of elements; -1: none.
    parameter : sequence of int
        Index of the channel in place of each parameter of elements; -1: none.
    values : (K, m), or (K + 1, m) if linear
    """

    def __init__(
        self,
        times: Array,
        linear: bool,
        force: Sequence[int],
        input: Sequence[int],
        parameter: Sequence[int],
        values: Array,
    ) -> None:
        super().__init__(times, linear, force, input, parameter, values)
        self.times, self.linear, self.values = times, linear, values
        self.force, self.input, self.parameter = list(force), list(input), list(parameter)

    def with_values(self, values: Array) -> ControlSequence:
        """Return the sequence with other values."""
        own = np.ascontiguousarray(values)
        return ControlSequence(self.times, self.linear, self.force, self.input, self.parameter, own)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return ControlSequence, (self.times, self.linear, self.force, self.input, self.parameter, self.values)
