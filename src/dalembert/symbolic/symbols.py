"""Parameters of a description as SymPy numbers or symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ..errors import ModelError
from ..model import Model
from ..numerics.rational_numbers import as_number
from ..parameters import Expression, Parameter

__all__ = ["Numbers", "plain_symbol"]


def plain_symbol(name: str, *, positive: bool = False) -> Any:
    """Return a real symbol; dots and brackets of names become underscores."""
    clean = name.replace(".", "_").replace("[", "_").replace("]", "")
    return sp.Symbol(clean, real=True, positive=True) if positive else sp.Symbol(clean, real=True)


@dataclass
class Numbers:
    """Symbolic parameters and their values.

    Attributes
    ----------
    wanted : set of str, or None
        None: all named parameters.
    values : dict of Symbol to float
    names : dict of str to Symbol
    follows : dict of str to Expression
        Values that depend on user parameters, by which they are expressed.
    named : dict of str to float
        User parameters.
    """

    wanted: set[str] | None
    values: dict[Any, float] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    follows: dict[str, Expression] = field(default_factory=dict)
    named: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, given: bool | str | Iterable[str], model: Model) -> Numbers:
        """Return the selection of symbols: True for all, names or owners for some."""
        wanted: set[str] | None = {given} if isinstance(given, str) else None
        if not isinstance(given, (bool, str)) and not isinstance(given, Iterable):
            raise ModelError("symbolic_equations", "symbols", given, "give True, False, or names")
        if isinstance(given, bool):
            wanted = None if given else set()
        elif not isinstance(given, str):
            wanted = set(given)
        own, places = model.family.compiled.numbers, model.parameter_names
        follows = {name: own.follows[k] for name, k in places.items() if k in own.follows}
        named = {name: float(model.parameters[places[name]]) for name in own.named}
        return cls(wanted, known=set(named), follows=follows, named=named)

    def __call__(self, name: str, value: float, *, positive: bool = False) -> Any:
        """Return the symbol of a parameter, or its value; zero stays zero."""
        owner = name.partition(".")[0]
        self.known.update((name, owner))
        expression = self.follows.get(name)
        if expression is not None:
            return self._written(expression, requested=self.wanted is None or bool({name, owner} & self.wanted))
        if value == 0.0 or not np.isfinite(value) or (self.wanted is not None and not {name, owner} & self.wanted):
            return as_number(value)
        if name in self.names and self.values[self.names[name]] != float(value):
            return as_number(value)  # the name is already used with another value
        if name not in self.names:
            symbol = plain_symbol(name, positive=positive)
            self.names[name], self.values[symbol] = symbol, float(value)
        return self.names[name]

    def _written(self, part: Expression, *, requested: bool) -> Any:
        """Convert an expression of user parameters to SymPy, with the selected ones as symbols."""

        def made(one: Expression, parts: list[Any]) -> Any:
            if isinstance(one, Parameter):
                if not requested and one.name not in (self.wanted or ()):
                    return as_number(self.named[one.name])
                symbol = self.names.setdefault(one.name, plain_symbol(one.name))
                self.values[symbol] = self.named[one.name]
                return symbol
            return _operation(one.operation, parts[0], parts[-1])

        return part.folded(as_number, made)

    def vector(self, name: str, values: Any) -> Any:
        """Return the vector of three parameters, ``name.x``, ``name.y``, ``name.z``."""
        return sp.Matrix([self(f"{name}.{axis}", float(value)) for axis, value in zip("xyz", values, strict=True)])

    def check_unknown(self) -> None:
        """Raise for names of no parameter."""
        unknown = sorted((self.wanted or set()) - self.known)
        if unknown:
            listed = ", ".join([*self.named, *sorted(name for name in self.known if "." in name)][:20])
            raise ModelError("symbolic_equations", "symbols", unknown[0], f"there are {listed}")


def _operation(operation: str, a: Any, b: Any) -> Any:
    """Apply an operation to SymPy expressions; for one argument, b equals a."""
    match operation:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "neg":
            return -a
        case "**":
            return a**b
    return getattr(sp, {"arctan": "atan", "arcsin": "asin", "arccos": "acos"}.get(operation, operation))(a)
