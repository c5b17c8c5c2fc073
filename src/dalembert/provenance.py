"""Recorded constructor calls of elements, curves and shapes, for model files and scripts.

Dataclasses need no record: their fields are the arguments. Other objects keep the arguments of their constructor.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

__all__ = ["CALL_ATTRIBUTE", "ConstructorCall", "constructor_call", "record_call", "record_makers", "recorded_method"]

Maker = TypeVar("Maker", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


class ConstructorCall(NamedTuple):
    """Name of a constructor, ``"Cable"``, ``"rod"`` or ``"Curve.path"``, and its arguments by name.

    Positional arguments, ``*axes``, are stored under their name as a list.
    """

    maker: str
    arguments: Mapping[str, Any]


CALL_ATTRIBUTE = "_constructor_call"  # attribute that holds the record


def constructor_call(thing: Any) -> ConstructorCall | None:
    """Return the recorded constructor call of an object, or None."""
    return getattr(thing, "__dict__", {}).get(CALL_ATTRIBUTE)


def _keep(thing: Any, call: ConstructorCall) -> None:
    object.__setattr__(thing, CALL_ATTRIBUTE, call)  # descriptions may be frozen


def record_call(maker: Maker) -> Maker:
    """Let a function record its calls in its results; of nested calls the outermost counts."""
    signature = inspect.signature(maker)

    @functools.wraps(maker)
    def remembering(*given: Any, **named: Any) -> Any:
        made = maker(*given, **named)
        _keep(made, ConstructorCall(maker.__qualname__, _bound(signature, given, named)))
        return made

    return remembering  # type: ignore[return-value]


def recorded_method(owner: str) -> Callable[[Maker], Maker]:
    """Record the call of a method that returns a description; the call names its object `owner`."""

    def of(method: Maker) -> Maker:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def remembering(self: Any, *given: Any, **named: Any) -> Any:
            made = method(self, *given, **named)
            _keep(made, ConstructorCall(method.__name__, {owner: self, **_bound(signature, (self, *given), named)}))
            return made

        return remembering  # type: ignore[return-value]

    return of


def record_makers(cls: Class) -> Class:
    """Let a class with its own ``__init__`` record its constructor calls; return it."""
    init = cls.__dict__.get("__init__")
    if init is None:
        return cls
    signature = inspect.signature(init)

    @functools.wraps(init)
    def remembering(self: Any, *given: Any, **named: Any) -> None:
        init(self, *given, **named)
        if type(self) is cls:
            _keep(self, ConstructorCall(cls.__name__, _bound(signature, (self, *given), named)))

    cls.__init__ = remembering  # type: ignore[misc]
    return cls


def _bound(signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    if not given:  # all by name, as from a model file
        return dict(named)
    arguments = dict(signature.bind(*given, **named).arguments)
    for name in ("self", "cls"):
        arguments.pop(name, None)
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= arguments.pop(parameter.name, {})
    return arguments
