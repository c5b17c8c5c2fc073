"""Checks of the parameters, names and tables of user-written formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ...checks import finite_number, set_fields
from ...errors import ModelError
from ...parameters import Expression, plain_value
from .expressions import Formula, Program, add_expression, check_name
from .program_algebra import ProgramBuilder
from .tables import Table

__all__ = [
    "NO_TABLES",
    "TIME",
    "as_parameters",
    "changed",
    "checked_names",
    "checked_parameters",
    "checked_tables",
    "compile_into",
    "uses",
]

TIME = "t"
NO_TABLES: Mapping[str, Table] = MappingProxyType({})


def checked_names(item: str, what: str, names: Any, *, reserved: bool = True) -> tuple[str, ...]:
    """Return names as a tuple; raise `ModelError` if formulas cannot use them."""
    if not isinstance(names, Iterable):
        raise ModelError(item, what, names, "give names that formulas can use")
    listed = (names,) if isinstance(names, str) else tuple(names)
    good = all(isinstance(name, str) and name.isidentifier() for name in listed) and len(set(listed)) == len(listed)
    if not good or (reserved and (TIME in listed or any(name.startswith("_") for name in listed))):
        raise ModelError(item, what, listed, "give different names that formulas can use; t is the time")
    return listed


def changed(item: str, parameters: Mapping[str, float], numbers: Mapping[str, float]) -> dict[str, float]:
    """Return parameters with some of them changed."""
    unknown = sorted(set(numbers) - set(parameters))
    if unknown:
        raise ModelError(item, "parameters", unknown, f"known are {', '.join(parameters) or 'none'}")
    return {**parameters, **numbers}


def checked_parameters(item: str, parameters: Any, owner: Any = None) -> dict[str, float]:
    """Return parameters by name, checked; expressions that they follow from are kept with an owner."""
    if not isinstance(parameters, Mapping):
        raise ModelError(item, "parameters", parameters, "give a dict of numbers by name")
    follow = {str(name): value for name, value in parameters.items() if isinstance(value, Expression)}
    if follow and owner is not None:
        set_fields(owner, expressions=follow)
    return {
        str(name): finite_number(plain_value(value), item=item, field=f"parameter {name!r}")
        for name, value in parameters.items()
    }


def as_parameters(parameters: Mapping[str, float]) -> dict[str, Formula]:
    """Return parameters as definitions of formulas whose values can change after compilation."""

    def number(name: str, value: float) -> Formula:
        return Formula(lambda program, _: program.number(name, value))

    return {name: number(name, value) for name, value in parameters.items()}


def compile_into(
    k: ProgramBuilder,
    formulas: Sequence[Any],
    names: Mapping[str, int],
    definitions: Mapping[str, Any],
    *,
    item: str,
    tables: Mapping[str, Table] = NO_TABLES,
) -> list[int]:
    """Return the indices of formulas in a program that already has named indices."""
    known = dict(names)
    for name, part in definitions.items():
        check_name(name, (*known, *tables), item, "definition")
        known[name] = add_expression(k.program, part, known, tables, f"{item}: definition {name!r}")
    return [add_expression(k.program, formula, known, tables, item) for formula in formulas]


def checked_tables(item: str, tables: Any) -> dict[str, Table]:
    """Return tables by name, checked."""
    if not isinstance(tables, Mapping):
        raise ModelError(item, "tables", tables, "give a dict of da.Table by name")
    for name, table in tables.items():
        if not isinstance(table, Table):
            raise ModelError(item, f"table {name!r}", table, "give a da.Table")
    return dict(tables)


def uses(program: Program, number: int) -> bool:
    """Return whether a program uses an input."""
    return any(row[0] == 1 and row[1] == number for row in program.instructions)
