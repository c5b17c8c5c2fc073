"""Laws given as Python functions, compiled by Numba if it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from ...errors import ModelError

__all__ = ["NumbaLaw", "law"]


class NumbaLaw:
    """Function used as a law; see `law`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise ModelError("law", "function", function, "decorate a function")
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = function.__doc__
        self._bound: dict[tuple[int, int], Any] = {}

    def __call__(self, *numbers: float) -> Any:
        """Call the Python function."""
        return self.function(*numbers)

    def bound(self, takes: int, gives: int) -> Any:
        """Return the callable for the core, for a law of so many numbers: compiled, or the plain function."""
        if importlib.util.find_spec("numba") is None:
            return self.function
        if (takes, gives) not in self._bound:
            self._bound[takes, gives] = self._compile(takes, gives)
        return self._bound[takes, gives]

    def _compile(self, takes: int, gives: int) -> Any:
        import numba

        compiled = numba.njit(self.function)
        try:
            compiled.compile((numba.float64,) * takes)
        except numba.core.errors.NumbaError as error:
            reason = str(error).strip().splitlines()[0]
            raise ModelError("law", "function", self.__name__, f"Numba cannot compile it: {reason}") from error
        returned = compiled.overloads[compiled.signatures[0]].signature.return_type
        several = isinstance(returned, numba.types.BaseTuple)
        count = len(returned) if several else 1
        if count not in (gives - 1, gives):
            wanted = f"the law gives {gives - 1} numbers, and the energy if it stores any"
            raise ModelError("law", "function", self.__name__, f"it returns {count}; {wanted}")
        lines = ["def call(given, answer):"]
        lines.append(f"    result = compiled({', '.join(f'given[{k}]' for k in range(takes))})")
        parts = [f"result[{k}]" for k in range(count)] if several else ["result"]
        parts += ["0.0"] * (gives - count)
        lines += [f"    answer[{k}] = {part}" for k, part in enumerate(parts)]
        scope: dict[str, Any] = {"compiled": compiled}
        exec("\n".join(lines), scope)
        return numba.cfunc("void(CPointer(float64), CPointer(float64))")(scope["call"])


def law(function: Callable[..., Any]) -> NumbaLaw:
    """Make a function the law of an `Element`, compiled by Numba if it is installed (``pip install numba``).

    The function takes t, measures, rates, states, parameters and inputs, and returns the results of a law: forces,
    rates of states, optionally the energy, and signals. Compiled, it costs a few nanoseconds more than a law of the
    library; without Numba the Python function is called.

    Examples
    --------
    >>> import math
    >>> import dalembert as da
    >>> @da.law
    ... def spring(t, s, ds, k):
    ...     return -k * math.sinh(s) - 0.1 * ds
    >>> element = da.Element("joint", spring, {"k": 4.0})
    """
    return NumbaLaw(function)
