"""Named parameters and expressions of them, accepted in place of numbers.

Expressions form an acyclic graph: an expression that occurs in several others is one object and is evaluated once.

A description keeps both the value and the `Expression`, so that a new value of a parameter reaches everything that
depends on it. Functions that take plain numbers only raise an error for an expression; they do not convert it silently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from .errors import ModelError

__all__ = ["Expression", "Parameter", "applied", "expressions_of", "keep_expression", "plain_value", "split"]

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
MAX_DEPTH = 10_000  # nested expressions; more come from an endless loop
MAX_TERMS = 2000  # of an expression written out; shared subexpressions count each time
_SIGNS = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3, "**": 4}


class Expression:
    """Expression of named parameters.

    Arithmetic, powers, and ``np.sin``, ``cos``, ``tan``, ``exp``, ``log``, ``sqrt``, ``arctan``, ``arcsin``, ``arccos``
    of an expression are expressions.

    Attributes
    ----------
    operation : str
    parts : tuple of Expression or float
    value : float
        Value with the described parameter values.
    names : frozenset of str
        Names of its parameters.
    depth : int
        Nesting depth.
    terms : int
        Number of numbers and parameters when written out.

    Raises
    ------
    ModelError
        If expressions are nested more than `MAX_DEPTH` deep.

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
        within = [p for p in parts if isinstance(p, Expression)]
        self.names: frozenset[str] = frozenset().union(*(p.names for p in within))
        self.depth: int = 1 + max((p.depth for p in within), default=0)
        self.terms: int = len(parts) - len(within) + sum(p.terms for p in within) if parts else 1
        if self.depth > MAX_DEPTH:
            names = ", ".join(sorted(self.names)[:4])
            remedy = f"at most {MAX_DEPTH}: start again from a new parameter (s.parameter)"
            raise ModelError(f"expression of {names}", "depth", self.depth, remedy)

    def _graph(self) -> list[Expression]:
        """Return all subexpressions once, each after its parts; this one is last."""
        order: list[Expression] = []
        seen: set[int] = set()
        stack = [(self, False)]
        while stack:
            one, parts_done = stack.pop()
            if parts_done:
                order.append(one)
            elif id(one) not in seen:
                seen.add(id(one))
                stack.append((one, True))
                stack += [(p, False) for p in one.parts if isinstance(p, Expression)]
        return order

    def folded(self, number: Callable[[float], Any], made: Callable[[Expression, list[Any]], Any]) -> Any:
        """Return the result of `made` on this expression and the results of its parts; each is made once.

        Parameters
        ----------
        number : function of a float
            Result for a plain number.
        made : function of an Expression and a list
            Result for an expression, from the results of its parts.
        """
        done: dict[int, Any] = {}
        for one in self._graph():
            done[id(one)] = made(one, [done[id(p)] if isinstance(p, Expression) else number(p) for p in one.parts])
        return done[id(self)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return a flat list of the graph, because copy and pickle recurse deeply otherwise."""
        order = self._graph()
        index = {id(one): k for k, one in enumerate(order)}
        rows = [
            one
            if isinstance(one, Parameter)
            else (one.operation, [(index[id(p)],) if isinstance(p, Expression) else p for p in one.parts])
            for one in order
        ]
        return _from_rows, (rows,)

    # ---- values

    @property
    def value(self) -> float:
        """Value in the description."""
        return self.at({})

    def at(self, values: Mapping[str, float]) -> float:
        """Return the value with other values of some parameters."""
        return self.slope(values, {})[0]

    def slope(self, values: Mapping[str, float], along: Mapping[str, float]) -> tuple[float, float]:
        """Return the value, and its derivative when parameters change at the rates `along`."""

        def made(one: Expression, parts: list[tuple[float, float]]) -> tuple[float, float]:
            if isinstance(one, Parameter):
                return values.get(one.name, one.described), along.get(one.name, 0.0)
            return _value_and_slope(one.operation, parts)

        return self.folded(lambda x: (float(x), 0.0), made)

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
        if name in _FUNCTIONS:  # np.sin(expression) of an array of objects calls expression.sin()
            return lambda: Expression(name, self)
        raise AttributeError(name)

    # ---- conversions that would lose the expression

    def _refuse(self, what: str) -> NoReturn:
        remedy = f"{what} would lose the parameter; use .value for the plain number"
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

    # ---- text

    def _text(self, number: Callable[[float], str], name: Callable[[str], str]) -> str:
        """Return the expression as text."""

        def made(one: Expression, parts: list[tuple[str, int]]) -> tuple[str, int]:
            if isinstance(one, Parameter):
                return name(one.name), 9
            return _text_and_rank(one.operation, parts)

        return str(self.folded(lambda x: (number(x), 9 if x >= 0 else 3), made)[0])

    def written(self, name: Callable[[str], str] = str) -> str:
        """Return text with all digits that reproduces the expression exactly; `name` writes parameters.

        Raises
        ------
        ModelError
            If it has more than `MAX_TERMS` terms.
        """
        if self.terms > MAX_TERMS:
            remedy = f"at most {MAX_TERMS} can be written out: replace a repeated part by a parameter (s.parameter)"
            raise ModelError(f"expression of {', '.join(sorted(self.names)[:4])}", "terms", self.terms, remedy)
        return self._text(repr, name)

    def same_as(self, other: Expression) -> bool:
        """Return whether both are identical, to the last digit."""
        numbers: dict[Any, int] = {}  # equal expressions have equal numbers

        def made(one: Expression, parts: list[Any]) -> int:
            key = (one.name,) if isinstance(one, Parameter) else (one.operation, *parts)
            return numbers.setdefault(key, len(numbers))

        return bool(self.folded(repr, made) == other.folded(repr, made))

    def __str__(self) -> str:
        if self.terms > MAX_TERMS:
            return f"an expression of {', '.join(sorted(self.names)[:4])} with {self.terms} terms"
        return self._text(lambda x: f"{x:.12g}", str)

    def __repr__(self) -> str:
        return f"<{self} = {self.value:.6g}>"


class Parameter(Expression):
    """Named number of a description; returned by ``System.parameter``.

    Attributes
    ----------
    name, unit, meaning : str
    described : float
    """

    def __init__(self, name: str, described: float, unit: str = "", meaning: str = "") -> None:
        super().__init__("parameter")
        self.name, self.described, self.unit, self.meaning = name, described, unit, meaning
        self.names = frozenset((name,))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameter, (self.name, self.described, self.unit, self.meaning)


def _from_rows(rows: list[Any]) -> Expression:
    """Return an expression from the flat list of `Expression.__reduce__`."""
    done: list[Expression] = []
    for row in rows:
        if isinstance(row, Parameter):
            done.append(row)
        else:
            done.append(Expression(row[0], *(done[p[0]] if isinstance(p, tuple) else p for p in row[1])))
    return done[-1]


def _value_and_slope(operation: str, parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the value of an operation and its derivative, from those of its parts."""
    (a, da), (b, db) = parts[0], parts[-1]
    match operation:
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
    function, rate = _FUNCTIONS[operation]
    return function(a), rate(a) * da if da else 0.0


def _text_and_rank(operation: str, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """Return an operation as text, and its operator precedence, from those of its parts."""
    if operation in _FUNCTIONS:
        return f"{operation}({parts[0][0]})", 9
    rank = _SIGNS[operation]
    if operation == "neg":
        return f"-{_bracketed(parts[0], rank)}", rank
    if operation == "**":  # it binds to the right, all others to the left
        return f"{_bracketed(parts[0], rank + 1)}**{_bracketed(parts[1], rank)}", rank
    return f"{_bracketed(parts[0], rank)} {operation} {_bracketed(parts[1], rank + 1)}", rank


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
    """Return a function of an expression, by its NumPy name; None if it is not supported."""
    return Expression(function, argument) if function in _FUNCTIONS else None


def plain_value(value: Any) -> Any:
    """Return the value of an expression; other values unchanged."""
    return value.value if isinstance(value, Expression) else value


def split(value: Any, labels: Iterable[str] = ("",)) -> tuple[Any, dict[str, Expression]]:
    """Return a number, or a flat sequence of them, without expressions, and the expressions by label."""
    if isinstance(value, Expression):
        return value.value, {next(iter(labels)): value}
    if not isinstance(value, (list, tuple)) and getattr(value, "dtype", "") != "O":
        return value, {}
    found = {label: x for label, x in zip(labels, value, strict=False) if isinstance(x, Expression)}
    return ([plain_value(x) for x in value], found) if found else (value, {})


def keep_expression(owner: Any, field: str) -> Any:
    """Return the number of a field of a frozen description; store its expression."""
    value = getattr(owner, field)
    if isinstance(value, Expression):
        object.__setattr__(owner, "expressions", {**getattr(owner, "expressions", {}), field: value})
    return plain_value(value)


def expressions_of(owner: Any) -> dict[str, Expression]:
    """Return the expressions of a part's numbers, by label."""
    return getattr(owner, "expressions", {})
