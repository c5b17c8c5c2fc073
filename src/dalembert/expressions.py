"""Named parameters of a description, and expressions of them that stand where numbers stand.

An `Expression` is kept as it was written: a description holds its value, and the expression beside it, so that a new
value of a parameter reaches everything that was made from it. What takes plain numbers only refuses an expression: it
is never turned into a number on the way without a word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from .errors import ModelError

__all__ = ["Expression", "Parameter", "applied", "expressions_of", "keep", "plain", "split"]

_FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "sin": (math.sin, math.cos),
    "cos": (math.cos, lambda x: -math.sin(x)),
    "tan": (math.tan, lambda x: 1.0 + math.tan(x) ** 2),
    "exp": (math.exp, math.exp),
    "log": (math.log, lambda x: 1.0 / x),
    "sqrt": (math.sqrt, lambda x: 0.5 / math.sqrt(x)),
    "arctan": (math.atan, lambda x: 1.0 / (1.0 + x * x)),
    "arcsin": (math.asin, lambda x: 1.0 / math.sqrt(1.0 - x * x)),
    "arccos": (math.acos, lambda x: -1.0 / math.sqrt(1.0 - x * x)),
}
_SIGNS = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}


class Expression:
    """An expression of named parameters: arithmetic, powers, and ``np.sin``, ``cos``, ``tan``, ``exp``, ``log``,
    ``sqrt``, ``arctan``, ``arcsin``, ``arccos`` of it are expressions again.

    Attributes
    ----------
    operation : str
    parts : tuple of Expression or float
    value : float
        With the parameters as they were described.
    names : frozenset of str
        The parameters in it.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("crank")
    >>> length = s.parameter("length", 0.1, unit="m")
    >>> 2 * length + 0.01
    <2 * length + 0.01 = 0.21>
    """

    def __init__(self, operation: str, *parts: Any) -> None:
        self.operation, self.parts = operation, parts
        self.names: frozenset[str] = frozenset().union(*(p.names for p in parts if isinstance(p, Expression)))

    # ---- values

    @property
    def value(self) -> float:
        """The value as described."""
        return self.at({})

    def at(self, values: Mapping[str, float]) -> float:
        """Return the value with other values of some parameters."""
        return self.slope(values, {})[0]

    def slope(self, values: Mapping[str, float], along: Mapping[str, float]) -> tuple[float, float]:
        """Return the value, and its derivative when parameters change by `along`."""
        numbers = [p.slope(values, along) if isinstance(p, Expression) else (float(p), 0.0) for p in self.parts]
        (a, da), (b, db) = numbers[0], numbers[-1]
        match self.operation:
            case "+":
                return a + b, da + db
            case "-":
                return a - b, da - db
            case "*":
                return a * b, da * b + a * db
            case "/":
                return a / b, (da - a / b * db) / b
            case "neg":
                return -a, -da
            case "**":
                power = a**b
                grown = b * a ** (b - 1.0) * da if da else 0.0
                return power, grown + (power * math.log(a) * db if db else 0.0)
        function, rate = _FUNCTIONS[self.operation]
        return function(a), rate(a) * da if da else 0.0

    # ---- arithmetic

    def __add__(self, other: Any) -> Any:
        return _made("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _made("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _made("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _made("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _made("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _made("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _made("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _made("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return _made("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _made("**", other, self)

    def __neg__(self) -> Expression:
        return Expression("neg", self)

    def __pos__(self) -> Expression:
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _FUNCTIONS:  # np.sin(expression) of an array of objects asks for expression.sin()
            return lambda: Expression(name, self)
        raise AttributeError(name)

    # ---- what would lose the expression

    def _refuse(self, what: str) -> NoReturn:
        remedy = f"{what} would forget the parameter; .value is the number, where that is meant"
        raise ModelError("expression", "value", str(self), remedy)

    def __float__(self) -> float:
        self._refuse("a plain number")

    def __int__(self) -> int:
        self._refuse("a whole number")

    def __index__(self) -> int:
        self._refuse("a count, which is fixed when a system is described,")

    def __bool__(self) -> bool:
        self._refuse("a truth value")

    def __lt__(self, other: Any) -> bool:
        self._refuse("a comparison")

    __le__ = __gt__ = __ge__ = __lt__

    # ---- words

    def _text(self, number: Callable[[float], str], name: Callable[[str], str]) -> tuple[str, int]:
        """Return the expression as text, and how tightly that is bound."""
        parts = [
            p._text(number, name) if isinstance(p, Expression) else (number(p), 9 if p >= 0 else 3) for p in self.parts
        ]
        if self.operation in _FUNCTIONS:
            return f"{self.operation}({parts[0][0]})", 9
        rank = _SIGNS[self.operation]
        if self.operation == "neg":
            return f"-{_bracketed(parts[0], rank)}", rank
        if self.operation == "**":  # it binds to the right, all others to the left
            return f"{_bracketed(parts[0], rank + 1)}**{_bracketed(parts[1], rank)}", rank
        return f"{_bracketed(parts[0], rank)} {self.operation} {_bracketed(parts[1], rank + 1)}", rank

    def written(self, name: Callable[[str], str] = str) -> str:
        """Return text with every digit, from which the very same expression follows; `name` writes parameters."""
        return self._text(repr, name)[0]

    def __str__(self) -> str:
        return self._text(lambda x: f"{x:.12g}", str)[0]

    def __repr__(self) -> str:
        return f"<{self} = {self.value:.6g}>"


class Parameter(Expression):
    """A named number of a description; made by ``System.parameter``.

    Attributes
    ----------
    name, unit, meaning : str
    described : float
    """

    def __init__(self, name: str, described: float, unit: str = "", meaning: str = "") -> None:
        super().__init__("parameter")
        self.name, self.described, self.unit, self.meaning = name, described, unit, meaning
        self.names = frozenset((name,))

    def slope(self, values: Mapping[str, float], along: Mapping[str, float]) -> tuple[float, float]:
        """Return the value, and its derivative."""
        return values.get(self.name, self.described), along.get(self.name, 0.0)

    def _text(self, number: Callable[[float], str], name: Callable[[str], str]) -> tuple[str, int]:
        return name(self.name), 9


def _bracketed(part: tuple[str, int], rank: int) -> str:
    return part[0] if part[1] >= rank else f"({part[0]})"


def _made(operation: str, a: Any, b: Any) -> Any:
    for part in (a, b):
        if isinstance(part, bool) or not (isinstance(part, Expression) or hasattr(part, "__float__")):
            return NotImplemented
        if getattr(part, "shape", ()) != ():
            return NotImplemented  # NumPy goes through the array, component by component
    return Expression(operation, *(p if isinstance(p, Expression) else float(p) for p in (a, b)))


def applied(function: str, argument: Expression) -> Expression | None:
    """Return a function of an expression, by the name that NumPy has for it; None if it has none such."""
    return Expression(function, argument) if function in _FUNCTIONS else None


def plain(value: Any) -> Any:
    """Return the value of an expression; anything else as it is."""
    return value.value if isinstance(value, Expression) else value


def split(value: Any, labels: Iterable[str] = ("",)) -> tuple[Any, dict[str, Expression]]:
    """Return a number, or a flat sequence of them, without expressions, and the expressions in it by label."""
    if isinstance(value, Expression):
        return value.value, {next(iter(labels)): value}
    if not isinstance(value, (list, tuple)) and getattr(value, "dtype", "") != "O":
        return value, {}
    found = {label: x for label, x in zip(labels, value, strict=False) if isinstance(x, Expression)}
    return ([plain(x) for x in value], found) if found else (value, {})


def keep(owner: Any, field: str) -> Any:
    """Return the number of a field of a frozen description; an expression of it is kept among its expressions."""
    value = getattr(owner, field)
    if isinstance(value, Expression):
        object.__setattr__(owner, "expressions", {**getattr(owner, "expressions", {}), field: value})
    return plain(value)


def expressions_of(owner: Any) -> dict[str, Expression]:
    """Return the expressions that numbers of a part follow from, by label."""
    found: dict[str, Expression] = getattr(owner, "expressions", {})
    return found
