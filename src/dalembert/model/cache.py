"""Cache of quantities that depend on a model alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .model import Model

__all__ = ["CACHE_ATTRIBUTE", "cached_per_model"]

Value = TypeVar("Value")

CACHE_ATTRIBUTE = "_worked_out"
"""Attribute of a model with its cache; cached data may refer to the model and are deleted with it."""


def cached_per_model(function: Callable[[Model], Value]) -> Callable[[Model], Value]:
    """Return the function with a cache: models do not change, so neither does its result."""

    @wraps(function)
    def remembering(model: Model) -> Value:
        kept: dict[Callable[..., Any], Any] = model.__dict__.setdefault(CACHE_ATTRIBUTE, {})
        value: Value | None = kept.get(function)
        if value is None:
            value = kept[function] = function(model)
        return value

    return remembering
