"""Checks of the numbers that library elements take."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..rotation import finite_number
from .expressions import compile_expressions

__all__ = ["at_least_one", "finite", "mind_expression", "not_negative", "one_of", "positive"]


def finite(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all finite."""
    return {name: finite_number(value, item=item, field=name) for name, value in numbers.items()}


def not_negative(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none negative."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if value < 0:
            raise ModelError(item, name, value, "it must not be negative")
    return found


def positive(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all above zero."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if value <= 0:
            raise ModelError(item, name, value, "it must be above zero")
    return found


def at_least_one(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none below one."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if value < 1:
            raise ModelError(item, name, value, "it must be 1 or more")
    return found


def one_of(item: str, name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a word if it is allowed."""
    if value not in allowed:
        raise ModelError(item, name, value, f"use {' or '.join(map(repr, allowed))}")
    return str(value)


def mind_expression(item: str, field: str, expression: Any, *names: str) -> None:
    """Refuse what is no expression of the given names, default the time."""
    compile_expressions([expression], names or ("t",), item=f"{item}: {field}")
