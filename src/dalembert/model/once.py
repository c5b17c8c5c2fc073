"""What follows from a model alone is worked out once and kept as long as the model lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .model import Model

__all__ = ["once_per_model"]

Value = TypeVar("Value")


def once_per_model(function: Callable[[Model], Value]) -> Callable[[Model], Value]:
    """Return the function with a memory: models do not change, so neither does what it returns."""
    kept: WeakKeyDictionary[Model, Value] = WeakKeyDictionary()

    @wraps(function)
    def remembering(model: Model) -> Value:
        value = kept.get(model)
        if value is None:
            value = kept[model] = function(model)
        return value

    return remembering
