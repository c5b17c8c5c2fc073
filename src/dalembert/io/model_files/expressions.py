"""Expressions in model files: numbers with units, names, + - * / **, and a few functions; no other code.

Dimensions are known for quantities with a unit, and for expressions of them. A number without a unit is in SI and may
have any dimension, so that ``crank + 0.01`` is a length and ``2*crank`` has the dimension that its argument requires.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...checks import did_you_mean
from ...errors import ModelError
from ...parameters import Expression, applied, plain_value
from ...units import FREE, Dimension, dimension_text, same_dimension, unit_of

__all__ = ["FUNCTIONS", "Term", "evaluate", "spelled"]

MAX_LENGTH = 2000  # characters
MAX_DEPTH = 100  # nested brackets, signs and powers
MATH_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "hypot", "radians")
FUNCTIONS: dict[str, Callable[..., float]] = {name: getattr(math, name) for name in MATH_FUNCTIONS}
FUNCTIONS |= {"abs": abs, "min": min, "max": max, "arctan": math.atan, "arcsin": math.asin, "arccos": math.acos}
_OF_PARAMETERS = {"atan": "arctan", "asin": "arcsin", "acos": "arccos"}  # names in NumPy
DIMENSION_PRESERVING = ("abs", "min", "max", "hypot")  # functions whose value has the dimension of their arguments
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|`(?P<quoted>[^`]*)`|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|[-+*/(),^]))"
)
_UNIT = re.compile(r"[ \t]+(?P<first>[A-Za-zµμ]+)(?P<power>\^?-?\d)?(?P<more>([ \t]*[*/][ \t]*[A-Za-zµμ]+(\^?-?\d)?)*)")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


class Term(NamedTuple):
    """Number or expression of parameters, with its dimension; None if it may have any."""

    value: Any
    dimension: Dimension | None = None


def evaluate(text: str, names: Mapping[str, Term]) -> Term:
    """Return the value of an expression, and its dimension if it is known.

    Raises
    ------
    ModelError
        If it has anything but numbers, known names and arithmetic, adds different dimensions, or is not finite.

    Examples
    --------
    >>> evaluate("2*crank + sqrt(4)/4", {"crank": Term(0.1)}).value
    0.7
    """
    if len(text) > MAX_LENGTH:
        raise ModelError("expression", "length", len(text), f"at most {MAX_LENGTH} characters")
    try:
        term = _Parser(text, names).whole()
        number = plain_value(term.value)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        why = "it is too large" if isinstance(error, OverflowError) else str(error)
        raise ModelError("expression", "text", text.strip(), f"it has no value: {why}") from None
    if isinstance(number, complex) or not math.isfinite(number):
        raise ModelError("expression", "text", text.strip(), f"its value is {number}")
    return term if isinstance(term.value, Expression) else Term(float(number), term.dimension)


def spelled(name: str) -> str:
    """Return the name of a parameter in expressions: as it is, or in backticks."""
    if "`" in name:
        raise ModelError(f"parameter {name!r}", "name", name, "a model file cannot name it: leave the backtick out")
    known = name in FUNCTIONS or name in ("pi", "tau")
    return name if _PLAIN_NAME.fullmatch(name) and not known else f"`{name}`"


class _Parser:
    """Recursive-descent parser of expressions; each method parses operators of at least its own precedence."""

    def __init__(self, text: str, names: Mapping[str, Term]) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.names = names
        self.kind, self.token = "", ""
        self._next()

    def whole(self) -> Term:
        term = self._sum()
        if self.kind:
            raise self._wrong(f"{self.token!r} is not expected there")
        return term

    # ---- tokens

    def _next(self) -> None:
        if not self.text[self.place :].strip():
            self.kind = self.token = ""
            return
        found = _TOKEN.match(self.text, self.place)
        if found is None:
            raise self._wrong(f"{self.text[self.place :].strip()[0]!r} has no meaning")
        self.kind, self.place = str(found.lastgroup), found.end()
        self.token = "**" if found[found.lastgroup or 0] == "^" else found[found.lastgroup or 0]

    def _take(self, *signs: str) -> str | None:
        if self.kind != "sign" or self.token not in signs:
            return None
        token = self.token
        self._next()
        return token

    def _wrong(self, why: str) -> ModelError:
        remedy = f"{why}: write numbers, parameters, + - * / ** and functions"
        return ModelError("expression", "text", self.text.strip(), remedy)

    # ---- grammar

    def _sum(self) -> Term:
        left = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            dimension = self._alike(left, right, "add" if sign == "+" else "subtract")
            left = Term(left.value + right.value if sign == "+" else left.value - right.value, dimension)
        return left

    def _product(self) -> Term:
        left = self._signed()
        while sign := self._take("*", "/"):
            right = self._signed()
            dimension = None
            if left.dimension is not None and right.dimension is not None:
                power = 1 if sign == "*" else -1
                dimension = tuple(a + power * b for a, b in zip(left.dimension, right.dimension, strict=True))
            left = Term(left.value * right.value if sign == "*" else left.value / right.value, dimension)
        return left

    def _signed(self) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._wrong("it is nested too deeply")
        try:
            sign = self._take("+", "-")
            if sign is None:
                return self._power()
            term = self._signed()
            return Term(-term.value, term.dimension) if sign == "-" else term
        finally:
            self.depth -= 1

    def _power(self) -> Term:
        base = self._atom()
        if not self._take("**"):
            return base
        power = self._signed()
        if power.dimension not in (None, FREE):
            raise self._wrong(f"a power of {dimension_text(power.dimension or FREE)} has no meaning")
        dimension = None
        if base.dimension is not None and not isinstance(power.value, Expression):
            dimension = tuple(power.value * each for each in base.dimension)
        value = base.value**power.value
        return Term(value, dimension)

    def _atom(self) -> Term:
        kind, token = self.kind, self.token
        if kind == "number":
            return self._number(token)
        if kind == "sign" and token == "(":
            self._next()
            term = self._sum()
            if not self._take(")"):
                raise self._wrong("a bracket is not closed")
            return term
        if kind not in ("name", "quoted"):
            raise self._wrong(f"{token!r} is not expected there" if token else "it ends too soon")
        self._next()
        if kind == "name" and self.kind == "sign" and self.token == "(":
            return self._call(token)
        if kind == "name" and token in ("pi", "tau"):
            return Term(getattr(math, token))
        if token not in self.names:
            known = f"known are {', '.join(map(repr, self.names))}" if self.names else "the file has no parameters"
            raise ModelError("expression", "name", token, did_you_mean(token, self.names, most=2) or known)
        return self.names[token]

    def _number(self, token: str) -> Term:
        """Return a number with the unit that follows it."""
        found = _UNIT.match(self.text, self.place)
        number = float(token)
        if found is None:
            self._next()
            return Term(number)
        first = found["first"] + (found["power"] or "")
        pieces: list[str] = re.findall(r"[*/]\s*[A-Za-zµμ]+(?:\^?-?\d)?", found["more"])
        unit = first
        end = found.end("power") if found["power"] else found.end("first")
        for piece in pieces:
            name = re.sub(r"[*/\s]|\^?-?\d$", "", piece)
            if unit_of(name) is None:
                break
            if name in self.names:
                raise self._wrong(f"{unit}{piece} may be a unit or mean the parameter {name!r}: use brackets or rename")
            unit += piece
            end = self.text.index(piece, end) + len(piece)
        known = unit_of(unit)
        if known is None:
            raise self._wrong(f"{unit!r} is not a unit")
        self.place = end
        self._next()
        return Term(number * known.value, known.dimension)

    def _call(self, name: str) -> Term:
        if name not in FUNCTIONS:
            raise self._wrong(f"there is no function {name!r}")
        self._next()
        given = [self._sum()]
        while self._take(","):
            given.append(self._sum())
        if not self._take(")"):
            raise self._wrong("a bracket is not closed")
        return Term(self._applied(name, given), self._of_call(name, given))

    def _applied(self, name: str, given: list[Term]) -> Any:
        values = [term.value for term in given]
        if not any(isinstance(value, Expression) for value in values):
            return float(FUNCTIONS[name](*values))
        if name == "radians" and len(values) == 1:
            return values[0] * (math.pi / 180)
        if name == "hypot" and len(values) == 2:
            return applied("sqrt", values[0] * values[0] + values[1] * values[1])
        found = applied(_OF_PARAMETERS.get(name, name), values[0]) if len(values) == 1 else None
        if found is None:
            remedy = f"{name} of parameters is not differentiable everywhere: put them under 'constants'"
            raise ModelError("expression", "text", self.text.strip(), remedy)
        return found

    def _of_call(self, name: str, given: list[Term]) -> Dimension | None:
        """Return the dimension of a function's value; refuse arguments of a wrong dimension."""
        if name in (*DIMENSION_PRESERVING, "atan2"):
            dimension = given[0].dimension
            for other in given[1:]:
                dimension = self._alike(Term(0, dimension), other, name)
            return dimension if name in DIMENSION_PRESERVING or dimension is None else FREE
        (term, *_) = given
        if name == "sqrt":
            return None if term.dimension is None else tuple(each / 2 for each in term.dimension)
        if term.dimension is not None and not same_dimension(term.dimension, FREE):
            raise self._wrong(f"{name} of {dimension_text(term.dimension)} has no meaning")
        return None if term.dimension is None else FREE

    def _alike(self, one: Term, other: Term, verb: str) -> Dimension | None:
        if one.dimension is None or other.dimension is None:
            return other.dimension if one.dimension is None else one.dimension
        if not same_dimension(one.dimension, other.dimension):
            operands = f"{dimension_text(one.dimension)} and {dimension_text(other.dimension)}"
            remedy = f"cannot {verb} {operands}: check the units"
            raise ModelError("expression", "text", self.text.strip(), remedy)
        return one.dimension
