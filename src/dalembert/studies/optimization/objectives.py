"""Objective and constraints as functions of outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import ModelError, UserFunctionError
from .design_variables import as_bounds

__all__ = ["Goal", "as_goals", "slopes"]


DIFFERENCE_STEP = (
    1e-5  # relative, of central differences of functions of outputs: 1e-10 of the third derivative, rounding 1e-11
)


@dataclass(frozen=True)
class Goal:
    """Objective or constraint: a number or an array, computed from outputs.

    Attributes
    ----------
    label : str
    function : function of a dict of outputs and variables, or None
        None for the output of that label itself.
    lower, upper : float
        Bounds of a constraint.
    derivative : function of outputs and their derivatives, or None
        Derivatives (k, n) of the values, from outputs and derivatives (..., n) by label; by differences if None.
    """

    label: str
    function: Callable[[dict[str, Any]], Any] | None = None
    lower: float = -math.inf
    upper: float = math.inf
    derivative: Callable[[Mapping[str, Array], Mapping[str, Array]], Array] | None = None

    def value(self, outputs: Mapping[str, Array]) -> Array:
        """Return the values as a flat array, (k,)."""
        if self.function is None:
            return np.asarray(outputs[self.label], dtype=float).ravel()
        try:
            return np.asarray(self.function(dict(outputs)), dtype=float).ravel()
        except Exception as error:
            raise UserFunctionError(f"the function of {self.label!r} failed: {error}") from error

    @property
    def size(self) -> float:
        """Magnitude of the bounds; 1 if they are zero."""
        return max((abs(b) for b in (self.lower, self.upper) if math.isfinite(b) and b != 0), default=1.0)

    def violation(self, values: Array) -> float:
        """Return the largest violation of the bounds, relative to their magnitude."""
        missed = max(np.max(self.lower - values, initial=0.0), np.max(values - self.upper, initial=0.0))
        return float(missed) / self.size


def as_goals(item: str, labels: tuple[str, ...], wanted: Any, subject_to: Any) -> tuple[Goal, list[Goal]]:
    """Return the objective and the constraints from user arguments; see `optimize`."""
    goal = Goal("objective", wanted) if callable(wanted) else Goal(_label(item, "minimize", wanted, labels))
    constraints = []
    for label, given in (subject_to or {}).items():
        function, bounds = None, given
        if isinstance(given, (tuple, list)) and given and callable(given[0]):
            function, bounds = given[0], given[1:]
        else:
            _label(item, "subject_to", label, labels)
        if np.ndim(bounds) == 0 and bounds is not None:
            bounds = (bounds, bounds)
        remedy = "give (lower, upper), None for no bound, a number for equality, or (function, lower, upper)"
        constraints.append(Goal(str(label), function, *as_bounds(item, f"bounds of {label!r}", bounds, remedy)))
    return goal, constraints


def _label(item: str, field: str, given: Any, labels: tuple[str, ...]) -> str:
    if not isinstance(given, str) or given not in labels:
        known = ", ".join(map(repr, labels))
        raise ModelError(item, field, given, f"give one of the outputs ({known}), or a function of them")
    return str(given)


def slopes(goal: Goal, outputs: Mapping[str, Array], by: Mapping[str, Array], count: int) -> Array:
    """Return derivatives (k, n) of a goal from derivatives (..., n) of outputs."""
    if goal.function is None:
        return np.asarray(by[goal.label], dtype=float).reshape(-1, count)
    if goal.derivative is not None:
        return np.asarray(goal.derivative(outputs, by), dtype=float)
    columns = []
    for k in range(count):
        reach = max(
            float(np.abs(by[label][..., k]).max(initial=0.0)) / (1e-9 + float(np.abs(value).max(initial=0.0)))
            for label, value in outputs.items()
        )
        h = DIFFERENCE_STEP / max(reach, 1e-12)
        up, down = (
            goal.value({label: value + sign * h * by[label][..., k] for label, value in outputs.items()})
            for sign in (1, -1)
        )
        columns.append((up - down) / (2 * h))
    return np.stack(columns, axis=-1)
