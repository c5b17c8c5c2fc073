"""Names in expressions of model files: parameters and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...errors import FileError
from ...parameters import Expression
from ...system import System
from ...units import Dimension, quantity, unit_of
from .expressions import Term, evaluate
from .text import LocatedMapping, SourcePosition

__all__ = ["Names"]

_FIELDS = ("value", "unit", "meaning")


class Names(Mapping[str, Term]):
    """Parameters and constants of expressions, evaluated on demand, so that files may define them in any order.

    Parameters
    ----------
    system : System
        System to which independent parameters are added; dependent ones are expressions of them.
    error_location : callable
        ``error_location(where)``, a context that adds the position to errors.
    """

    def __init__(self, system: System, said: Callable[[SourcePosition], Any]) -> None:
        self.system, self.error_location = system, said
        self._given: dict[str, tuple[str, Any, SourcePosition]] = {}
        self._found: dict[str, Term] = {}
        self._pending: list[str] = []

    def declare(self, part: str, name: str, value: Any, where: SourcePosition) -> None:
        """Store the definition of a name; that of the including file takes precedence."""
        before = self._given.get(name)
        if before is not None and before[0] != part:
            raise FileError(str(where), part, name, f"it is one of the {before[0]} already")
        self._given[name] = (part, value, where)

    def define(self) -> None:
        """Evaluate all names."""
        for name in self._given:
            self[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._given

    def __len__(self) -> int:
        return len(self._given)

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __getitem__(self, name: str) -> Term:
        if name in self._found:
            return self._found[name]
        part, value, where = self._given[name]
        if name in self._pending:
            circle = " -> ".join([*self._pending[self._pending.index(name) :], name])
            raise FileError(str(where), part.removesuffix("s"), name, f"it depends on itself: {circle}")
        self._pending.append(name)
        try:
            with self.error_location(where):
                self._found[name] = self._term(part, name, value, where)
        finally:
            self._pending.pop()
        return self._found[name]

    def _term(self, part: str, name: str, value: Any, where: SourcePosition) -> Term:
        words = {"unit": "", "meaning": ""}
        if isinstance(value, LocatedMapping) and part == "parameters" and "value" in value:
            for key in value:
                if key not in _FIELDS:
                    raise FileError(str(value.positions[key]), "key", key, f"a parameter has {', '.join(_FIELDS)}")
            words = {key: str(value.get(key, "")) for key in words}
            value = value["value"]
        term = self._number(part, name, value, where)
        if part == "constants" and isinstance(term.value, Expression):
            remedy = "a constant cannot depend on parameters, which may change: put it under 'parameters'"
            raise FileError(str(where), "constant", name, remedy)
        if part == "constants" or isinstance(term.value, Expression):
            return term
        unit = unit_of(words["unit"]) if words["unit"] else None
        if unit is not None and unit.value != 1.0:
            remedy = f"numbers are in SI units: write 'value: {value} {words['unit']}', and leave the unit out"
            raise FileError(str(where), "unit", words["unit"], remedy)
        given = words["unit"] or (_si_text(value) if term.dimension is not None else "")
        made = self.system.parameter(name, term.value, unit=given, meaning=words["meaning"])
        return Term(made, term.dimension)  # the unit of a parameter is for lists only and implies no dimension

    def _number(self, part: str, name: str, value: Any, where: SourcePosition) -> Term:
        if isinstance(value, str) and value.startswith("=") and value[1:2] not in ("=", "'"):
            return evaluate(value[1:], self)
        found = quantity(value) if isinstance(value, str) else None
        if found is not None:
            return Term(found.value, found.dimension)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            item = f"{part.removesuffix('s')} {name!r}"
            raise FileError(str(where), item, value, "give a number, a quantity or '= expression'")
        return Term(float(value))


_SI = ("m", "kg", "s", "rad", "rad/s", "m/s", "m/s2", "N", "N m", "N/m", "N m/rad", "N s/m", "kg m2", "kg/m3", "Pa",
       "J", "W", "V", "A", "ohm", "H", "Hz", "m2", "m3", "m4", "Pa s")  # fmt: skip


def _si_text(value: Any) -> str:
    """Return the SI unit of a quantity as written, or the usual unit of its dimension."""
    text = str(value).strip().partition(" ")[2].strip()
    unit = unit_of(text) if text and not str(value).startswith("=") else None
    if unit is not None and unit.value == 1.0:
        return text
    return next((name for name in _SI if unit is not None and _dimension(name) == unit.dimension), "")


def _dimension(name: str) -> Dimension | None:
    unit = unit_of(name)
    return None if unit is None else unit.dimension
