"""Python functions as formulas: one call with symbolic arguments records the operations.

The function may use arithmetic, NumPy's elementary functions and arrays, loops and other functions, but no comparison
of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError

__all__ = ["Traced", "traced"]

_FUNCTIONS = {
    **{name: name for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "sign": "sign",
    "fabs": "abs",
}


class Traced:
    """Symbolic number: the name of a formula's part, and the list of parts to which it belongs."""

    __array_priority__ = 1000.0

    def __init__(self, name: str, parts: dict[str, str]) -> None:
        self.name, self.parts = name, parts

    def _part(self, formula: str) -> Traced:
        name = f"_{len(self.parts) + 1}"
        self.parts[name] = formula
        return Traced(name, self.parts)

    def _with(self, operator: str, other: Any, *, swapped: bool = False) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            found = np.empty(other.shape, dtype=object)
            for place in np.ndindex(other.shape):
                found[place] = self._with(operator, other[place], swapped=swapped)
            return found
        a, b = self.name, _written(other)
        return self._part(f"{b} {operator} {a}" if swapped else f"{a} {operator} {b}")

    def __add__(self, other: Any) -> Any:
        return self._with("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("/", other, swapped=True)

    def __pow__(self, other: Any) -> Any:
        return self._with("**", other)

    def __rpow__(self, other: Any) -> Any:
        return self._with("**", other, swapped=True)

    def __neg__(self) -> Traced:
        return self._part(f"-{self.name}")

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return self._part(f"abs({self.name})")

    def arctan2(self, other: Any) -> Traced:
        """Return the angle of the point (other, self)."""
        return self._part(f"atan2({self.name}, {_written(other)})")

    def __getattr__(self, name: str) -> Callable[[], Traced]:
        # NumPy calls the method of that name on unknown types
        if name in _FUNCTIONS:
            return lambda: self._part(f"{_FUNCTIONS[name]}({self.name})")
        raise AttributeError(name)

    def __bool__(self) -> bool:
        raise TypeError("a value that decides between branches is not known yet")

    def __float__(self) -> float:
        raise TypeError("a value is not known yet: use NumPy's functions instead of math's")

    def __lt__(self, other: Any) -> bool:
        return bool(self)

    __le__ = __gt__ = __ge__ = __lt__


def traced(function: Callable[..., Any], names: Sequence[str], *, item: str) -> tuple[Any, dict[str, str]]:
    """Return the results of a function of named arguments as formulas, and the parts that they use.

    Raises
    ------
    ModelError
        If the function fails for symbolic arguments.
    """
    parts: dict[str, str] = {}
    try:
        answer = function(*(Traced(name, parts) for name in names))
    except Exception as error:
        remedy = f"it fails with symbolic arguments ({error}); write formulas, or a function without branches"
        raise ModelError(item, "function", getattr(function, "__name__", "function"), remedy) from error
    try:
        return _formulas(answer), parts
    except (TypeError, ValueError):
        name = getattr(function, "__name__", "function")
        raise ModelError(item, f"value of the function {name}", answer, "return formulas of its arguments") from None


def _formulas(answer: Any) -> Any:
    if isinstance(answer, (tuple, list)) or (isinstance(answer, np.ndarray) and answer.ndim):
        return [_formulas(part) for part in answer]
    return _written(answer)


def _written(value: Any) -> str:
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    return value.name if isinstance(value, Traced) else f"({float(value)!r})"
