"""Checks of numbers and words that users give: what is refused is refused by name."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError
from .expressions import Expression, plain

__all__ = [
    "a_name",
    "at_least_one",
    "did_you_mean",
    "finite",
    "finite_array",
    "finite_number",
    "not_negative",
    "one_of",
    "positive",
    "shape_of",
]

Matrix = NDArray[np.float64]

_LOW, _HIGH = -math.inf, math.inf
_REAL = (float, int, np.floating, np.integer, Fraction, Decimal)


def finite_array(value: Any, shape: tuple[int, ...], *, item: str, field: str) -> Matrix:
    """Return `value` as a new float64 array of the given shape, or refuse it by name."""
    if _plainly_finite(value, shape):
        return np.array(value, dtype=np.float64)
    count = " by ".join(map(str, shape)) if shape else "one"
    wanted = f"{count} real number{'s' * (shape not in ((), (1,)))}"
    value = _in_si(value)
    try:
        if not (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"):
            elements = np.array(value, dtype=object).flat
            # NumPy would take text, truth values, dates and the real parts of complex numbers
            if any(isinstance(x, bool) or not isinstance(x, _REAL) for x in elements):
                raise ValueError
        array = np.array(value, dtype=np.float64)
        if array.shape != shape:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        if any(isinstance(x, Expression) for x in _entries(value)):
            remedy = "an expression of parameters cannot stand here; give numbers (expression.value is one)"
            raise ModelError(item, field, value, remedy) from None
        raise ModelError(item, field, value, f"give {wanted}") from None
    if not np.isfinite(array).all():
        raise ModelError(item, field, value, "every number must be finite")
    return array


def _entries(value: Any) -> Iterator[Any]:
    """Yield what stands in lists within lists, whatever their lengths."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        for part in value:
            yield from _entries(part)
    else:
        yield value


def _plainly_finite(value: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a value is what most are, a short row of floats or an array of them, and right."""
    if type(value) is np.ndarray:
        return value.dtype == np.float64 and value.shape == shape and bool(np.isfinite(value).all())
    if (type(value) is not list and type(value) is not tuple) or (len(value),) != shape:
        return False
    return all(type(x) is float and _LOW < x < _HIGH for x in value)


def _in_si(value: Any) -> Any:
    """Return quantities with units, such as those of pint, as numbers in SI units and radians; others as they are."""
    if hasattr(value, "to_base_units"):
        return value.to_base_units().magnitude
    if isinstance(value, (list, tuple)) and any(hasattr(each, "to_base_units") for each in value):
        return [_in_si(each) for each in value]
    return value


def a_name(value: Any, *, item: str, field: str = "name") -> str:
    """Return a name: any text that can be written down, not empty, without blanks at its ends."""
    if not isinstance(value, str) or not value.strip() or value != value.strip():
        raise ModelError(item, field, value, "use a non-empty string without blanks at its ends")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ModelError(item, field, value, "it has characters that are none (halves of a pair): leave out") from None
    return value


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of nested numbers, or None if they do not form an array."""
    try:
        return tuple(np.shape(value))
    except (TypeError, ValueError):
        return None


def finite_number(value: Any, *, item: str, field: str) -> float:
    """Return `value` as a finite float, or refuse it by name."""
    if type(value) is float and -math.inf < value < math.inf:
        return value
    return float(finite_array(value, (), item=item, field=field))


def finite(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all finite; expressions of parameters stay what they are."""
    return {
        name: value if _follows(value, item, name) else finite_number(value, item=item, field=name)
        for name, value in numbers.items()
    }


def _follows(value: Any, item: str, field: str) -> bool:
    """Return whether a value is an expression of parameters, whose number is finite."""
    if isinstance(value, Expression):
        finite_number(value.value, item=item, field=field)
    return isinstance(value, Expression)


def not_negative(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none negative."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if plain(value) < 0:
            raise ModelError(item, name, value, "it must not be negative")
    return found


def positive(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all above zero."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if plain(value) <= 0:
            raise ModelError(item, name, value, "it must be above zero")
    return found


def at_least_one(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none below one."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if plain(value) < 1:
            raise ModelError(item, name, value, "it must be 1 or more")
    return found


def one_of(item: str, name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a word if it is allowed."""
    if value not in allowed:
        raise ModelError(item, name, value, f"use {' or '.join(map(repr, allowed))}")
    return str(value)


def did_you_mean(name: str, known: Iterable[str], *, most: int = 3) -> str:
    """Return a question that names what is spelt like `name`, or nothing if nothing is.

    Examples
    --------
    >>> did_you_mean("simulat", ["simulate", "sweep"])
    "did you mean 'simulate'?"
    """
    near = difflib.get_close_matches(name, list(known), most)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""
