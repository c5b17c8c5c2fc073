"""Design variables: names, bounds, start values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...checks import whole_number
from ...errors import ModelError
from ...model import Model
from ...model.conditions import parameter_value

__all__ = ["Variables", "as_bounds", "make_variables", "spread"]


@dataclass(frozen=True, eq=False)
class Variables:
    """Design variables of a search.

    Attributes
    ----------
    names : tuple of str, (n,)
    lower, upper : (n,)
        Bounds; infinite if unbounded.
    start : (n,)
        Initial values of the first search.
    scale : (n,)
        Typical magnitude of a change, for scaling: the width of the bounds, or the size of the value.
    choices : tuple, (n,)
        Values of integer and discrete variables, which are represented by an index; None for real ones.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    start: Array
    scale: Array
    choices: tuple[tuple[Any, ...] | None, ...] = ()

    @property
    def discrete(self) -> BoolArray:
        """Which variables have listed values, (n,); theirs is the index of the value."""
        found = [bool(self.choices) and self.choices[k] is not None for k in range(len(self.names))]
        return np.array(found, dtype=bool)

    def __len__(self) -> int:
        return len(self.names)

    def named(self, x: Array) -> dict[str, Any]:
        """Return values (n,) by name."""
        found: dict[str, Any] = dict(zip(self.names, map(float, x), strict=True))
        for name, listed in zip(self.names, self.choices, strict=False):
            if listed is not None:
                found[name] = listed[min(len(listed) - 1, max(0, round(found[name])))]
        return found

    def position(self, values: Mapping[str, Any]) -> Array:
        """Return the point (n,) of values by name."""
        listed = self.choices or (None,) * len(self)
        pairs = zip(self.names, listed, strict=True)
        return np.array([values[name] if own is None else own.index(values[name]) for name, own in pairs], dtype=float)

    def of_unit_cube(self, u: Array) -> Array:
        """Return the point (n,) of coordinates within the bounds, 0 to 1; listed values have equal parts."""
        inner = np.clip(u, 0.0, 1.0)
        counts = self.upper - self.lower + 1.0
        index = np.minimum(np.floor(inner * counts), counts - 1.0)
        return np.asarray(np.where(self.discrete, index, self.lower + inner * (self.upper - self.lower)))

    def to_unit(self, x: Array) -> Array:
        """Return scaled values: differences from the start in units of the scale."""
        return np.asarray((x - self.start) / self.scale)

    def from_unit(self, z: Array) -> Array:
        """Return unscaled values, clipped to the bounds."""
        x = np.clip(self.start + self.scale * np.asarray(z, dtype=float), self.lower, self.upper)
        return np.asarray(np.where(self.discrete, np.round(x), x))


def make_variables(item: str, over: Any, start: Mapping[str, float] | None, model: Model | None) -> Variables:
    """Return the design variables from user arguments; see `optimize`."""
    if not isinstance(over, Mapping) or not over:
        raise ModelError(item, "over", over, "give a dict of name to (lower, upper)")
    unknown = [name for name in start or {} if name not in over]
    if unknown:
        raise ModelError(item, "start", unknown[0], f"it is none of {', '.join(map(repr, over))}")
    for name in over:
        if not isinstance(name, str) or not name:
            raise ModelError(item, "over", name, "use strings as names")
    choices = [_listed(item, name, given) for name, given in over.items()]
    rows = [
        as_bounds(item, f"bounds of {name!r}", given) if listed is None else (0.0, len(listed) - 1.0)
        for (name, given), listed in zip(over.items(), choices, strict=True)
    ]
    lower, upper = (np.array(column) for column in zip(*rows, strict=True))
    begin = np.array(
        [
            _start(item, name, low, high, start or {}, model)
            if listed is None
            else _first_choice(item, name, listed, start or {}, model)
            for name, (low, high), listed in zip(over, rows, choices, strict=True)
        ]
    )
    width = upper - lower
    size = np.where(np.abs(begin) > 0, np.abs(begin), 1.0)
    scale = np.where(np.isfinite(width) & (width > 0), width, size)
    if not any(choices):
        return Variables(tuple(over), lower, upper, begin, scale)
    scale = np.where([listed is not None for listed in choices], 1.0, scale)
    return Variables(tuple(over), lower, upper, begin, scale, tuple(choices))


def _listed(item: str, name: str, given: Any) -> tuple[Any, ...] | None:
    """Return the values of an integer or discrete variable; None for a real one."""
    if not isinstance(given, (range, set, frozenset)):
        return None
    if not given:
        raise ModelError(item, f"values of {name!r}", given, "give one value at least")
    try:
        return tuple(sorted(given))
    except TypeError:
        return tuple(sorted(given, key=repr))


def _first_choice(
    item: str, name: str, listed: tuple[Any, ...], start: Mapping[str, Any], model: Model | None
) -> float:
    """Return the index of the start: given by the user, else the value of the model, else the middle."""
    if name in start:
        if start[name] not in listed:
            raise ModelError(item, f"start of {name!r}", start[name], f"it is none of {', '.join(map(repr, listed))}")
        return float(listed.index(start[name]))
    if model is not None and name in model.parameter_names:
        value = float(parameter_value(model, name, model.parameters))
        if value in listed:
            return float(listed.index(value))
    return float((len(listed) - 1) // 2)


def as_bounds(
    item: str, field: str, given: Any, remedy: str = "give (lower, upper), None for no bound"
) -> tuple[float, float]:
    """Return the pair (lower, upper), infinite for None."""
    try:
        low, high = given
        low = -math.inf if low is None else float(low)
        high = math.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise ModelError(item, field, given, remedy) from None
    if not low <= high or low == math.inf or high == -math.inf:
        raise ModelError(item, field, given, "they cross: the lower must be below the upper")
    return low, high


def _start(item: str, name: str, low: float, high: float, start: Mapping[str, float], model: Model | None) -> float:
    """Return a start value: given by the user, else the value of the model, else the middle of the bounds."""
    if name in start:
        value = float(start[name])
        if not low <= value <= high:
            raise ModelError(item, f"start of {name!r}", value, f"it lies outside its bounds, {low:.6g} to {high:.6g}")
        return value
    if model is not None and name in model.parameter_names:
        value = float(parameter_value(model, name, model.parameters))
        if low <= value <= high:
            return value
    if math.isfinite(low) and math.isfinite(high):
        return 0.5 * (low + high)
    return min(max(0.0, low), high)


def spread(item: str, variables: Variables, count: int, seed: int) -> Array:
    """Return starts (count, n): the given one, and a Latin hypercube over the bounds."""
    count, seed = whole_number(count, item=item, field="starts"), whole_number(seed, item=item, field="seed", least=0)
    if count == 1:
        return variables.start[None]
    for name, low, high in zip(variables.names, variables.lower, variables.upper, strict=True):
        if not math.isfinite(high - low):
            raise ModelError(item, f"bounds of {name!r}", (low, high), "many starts need finite bounds")
    from scipy.stats import qmc

    drawn = qmc.LatinHypercube(len(variables), seed=np.random.default_rng(seed)).random(count - 1)
    return np.vstack([variables.start, variables.lower + drawn * (variables.upper - variables.lower)])
