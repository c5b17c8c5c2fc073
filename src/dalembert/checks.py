"""Checks of user-supplied numbers and words, with errors that name the item and field."""

from __future__ import annotations

import builtins
import difflib
import functools
import importlib
import inspect
import math
import operator
import os
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import ModelError
from .parameters import Expression, keep_expression, plain_value

__all__ = [
    "LARGEST_SIZE",
    "at_least_one",
    "checked",
    "did_you_mean",
    "finite",
    "finite_array",
    "finite_number",
    "not_negative",
    "one_of",
    "positive",
    "positive_number",
    "random_generator",
    "set_fields",
    "set_finite",
    "shape_of",
    "stacked",
    "valid_name",
    "whole_number",
]


Target = TypeVar("Target", bound=Callable[..., Any])

LARGEST_SIZE = 1e100  # m, rad: squares and cubes of sizes stay numbers
MAX_COMPARED_LENGTH = 80  # characters of a name compared with others; the cost is quadratic
MAX_COMPARED_NAMES = 2000  # names compared; a file may hold any number
_LEAST, _MOST = -1e308, 1e308  # of numbers that are surely finite, also as float64
_REAL = (float, int, np.floating, np.integer, Fraction, Decimal)

NO_EXPRESSION = "an expression of parameters is not allowed here"  # how the remedy of such an error begins


def finite_array(value: Any, shape: tuple[int, ...], *, item: str, field: str) -> Array:
    """Return `value` as a new float64 array of the given shape; raise an error otherwise."""
    if _plainly_finite(value, shape):
        return np.array(value, dtype=np.float64)
    count = " by ".join(map(str, shape)) if shape else "one"
    wanted = f"{count} real number{'s' * (shape not in ((), (1,)))}"
    value = _in_si(_without_units(value, item, field))
    try:
        if not (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"):
            elements = np.array(value, dtype=object).flat
            # NumPy would accept text, booleans, dates and the real parts of complex numbers
            if any(isinstance(x, bool) or not isinstance(x, _REAL) for x in elements):
                raise ValueError
        array = np.array(value, dtype=np.float64)
        if array.shape != shape:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        if any(isinstance(x, Expression) for x in _entries(value)):
            remedy = f"{NO_EXPRESSION}; give numbers (expression.value is one)"
            raise ModelError(item, field, value, remedy) from None
        raise ModelError(item, field, value, f"give {wanted}") from None
    if not np.isfinite(array).all():
        raise ModelError(item, field, value, "every number must be finite")
    return array


def _entries(value: Any) -> Iterator[Any]:
    """Yield the entries of nested lists of any lengths."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        for part in value:
            yield from _entries(part)
    else:
        yield value


def _plainly_finite(value: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a value is a valid short row or array of floats, the common case."""
    if type(value) is np.ndarray:
        return value.dtype == np.float64 and value.shape == shape and bool(np.isfinite(value).all())
    if (type(value) is not list and type(value) is not tuple) or (len(value),) != shape:
        return False
    return all((type(x) is float or type(x) is int) and _LEAST < x < _MOST for x in value)


def _without_units(value: Any, item: str, field: str) -> Any:
    """Return quantities in text, such as ``"100 mm"``, as numbers in SI units and radians, if the field has a unit."""
    if not isinstance(value, (str, list, tuple)):
        return value
    from .argument_units import in_si, may_have_units, unit_of_field

    return in_si(value, unit_of_field(item, field), item=item, field=field) if may_have_units(value) else value


def _in_si(value: Any) -> Any:
    """Return quantities with units, such as those of pint, as numbers in SI units and radians."""
    if hasattr(value, "to_base_units"):
        return value.to_base_units().magnitude
    if isinstance(value, (list, tuple)) and any(hasattr(each, "to_base_units") for each in value):
        return [_in_si(each) for each in value]
    return value


def stacked(value: Any, shape: tuple[int, ...], *, item: str, field: str) -> Array:
    """Return `value` as a float64 array whose last axes have the given shape; raise an error otherwise."""
    remedy = f"give {' by '.join(map(str, shape))} real numbers, or rows of them"
    if not _is_array(value):
        raise ModelError(item, field, value, remedy)
    array = np.asarray(_in_si(value), dtype=np.float64)
    if array.shape[-len(shape) :] != shape:
        raise ModelError(item, field, value, remedy)
    return array


def random_generator(value: Any, *, item: str, field: str) -> np.random.Generator:
    """Return a random generator from a generator, a seed (an integer, not negative) or None."""
    if value is not None and not isinstance(value, np.random.Generator) and not (_is_whole(value) and value >= 0):
        raise ModelError(item, field, value, "give a seed, 0 or more, or a numpy.random.Generator")
    return np.random.default_rng(value)


def valid_name(value: Any, *, item: str, field: str = "name") -> str:
    """Return a valid name: printable text, not empty, without blanks at its ends."""
    if not isinstance(value, str) or not value.strip() or value != value.strip():
        raise ModelError(item, field, value, "use a non-empty string without blanks at its ends")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ModelError(item, field, value, "it has invalid characters (unpaired surrogates): leave out") from None
    return value


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of nested numbers, or None if they do not form an array."""
    try:
        return tuple(np.shape(value))
    except (TypeError, ValueError):
        return None


def finite_number(value: Any, *, item: str, field: str) -> float:
    """Return `value` as a finite float; raise an error otherwise."""
    if type(value) is float and -math.inf < value < math.inf:
        return value
    return float(finite_array(value, (), item=item, field=field))


def positive_number(value: Any, *, item: str, field: str) -> float:
    """Return `value` as a finite float above zero; raise an error otherwise."""
    number = finite_number(value, item=item, field=field)
    if number <= 0:
        raise ModelError(item, field, value, "it must be above zero")
    return number


def finite(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all finite; expressions of parameters are kept."""
    return {
        name: value if _follows(value, item, name) else finite_number(value, item=item, field=name)
        for name, value in numbers.items()
    }


def _follows(value: Any, item: str, field: str) -> bool:
    """Return whether a value is an expression of parameters with a finite value."""
    if isinstance(value, Expression):
        finite_number(value.value, item=item, field=field)
    return isinstance(value, Expression)


def _within(
    item: str, numbers: Mapping[str, Any], is_allowed: Callable[[float], bool], remedy: str
) -> dict[str, float]:
    """Return finite numbers by name, all of them allowed."""
    found = finite(item, **numbers)
    for name, value in found.items():
        if not is_allowed(plain_value(value)):
            raise ModelError(item, name, value, remedy)
    return found


def not_negative(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none negative."""
    return _within(item, numbers, lambda number: number >= 0, "it must not be negative")


def positive(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, all above zero."""
    return _within(item, numbers, lambda number: number > 0, "it must be above zero")


def at_least_one(item: str, **numbers: Any) -> dict[str, float]:
    """Return numbers by name, none below one."""
    return _within(item, numbers, lambda number: number >= 1, "it must be 1 or more")


def whole_number(value: Any, *, item: str, field: str, least: int = 1, remedy: str = "") -> int:
    """Return an integer of at least `least`; raise an error otherwise."""
    if not _is_whole(value) or value < least:
        raise ModelError(item, field, value, remedy or f"give a whole number, {least} or more")
    return operator.index(value)


def set_fields(owner: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass, as its ``__post_init__`` does."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


def set_finite(owner: Any, *names: str, item: str, expressions: bool = False) -> None:
    """Convert fields of a frozen dataclass to finite floats; `expressions` of parameters are allowed and stored."""
    for name in names:
        value = keep_expression(owner, name) if expressions else getattr(owner, name)
        object.__setattr__(owner, name, finite_number(value, item=item, field=name))


def one_of(item: str, name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return a word if it is allowed; raise an error otherwise."""
    if not isinstance(value, str) or value not in allowed:
        *others, last = map(repr, allowed)
        raise ModelError(item, name, value, f"use {', '.join(others)} or {last}" if others else f"use {last}")
    return value


def did_you_mean(name: str, known: Iterable[str], *, most: int = 3) -> str:
    """Return a question that names similarly spelled candidates, or an empty string.

    Examples
    --------
    >>> did_you_mean("simulat", ["simulate", "sweep"])
    "did you mean 'simulate'?"
    """
    if len(name) > MAX_COMPARED_LENGTH:
        return ""
    near = difflib.get_close_matches(name, list(islice(known, MAX_COMPARED_NAMES)), most)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


# ---- arguments against annotations


class _Kind(NamedTuple):
    """Types that an annotation allows, and their description."""

    allows: Callable[[Any], bool]
    words: str
    several: str = ""

    @property
    def plural(self) -> str:
        """Plural description."""
        return self.several or self.words or "values"


def checked(*names: str, item: str | None = None, largest: float = math.inf) -> Callable[[Target], Target]:
    """Return a decorator that raises an error for arguments whose types the annotations exclude.

    It is for arguments that are passed on unchecked to code that can no longer name them. Numbers must not be NaN.
    Entries of lists and tuples, and keys of dicts, are checked where the annotation gives their types. For a name, an
    object with a name, such as a body, is accepted.

    Parameters
    ----------
    names : str
        The arguments to check.
    item : str
        Name of the function or class in errors; its own name if left out.
    largest : float
        Magnitude that single numbers must not exceed, such as that of lengths whose squares are numbers.

    Examples
    --------
    >>> @checked("count")
    ... def repeat(word: str, count: int = 1) -> str:
    ...     return word * count
    >>> repeat("ab", 2)
    'abab'
    >>> repeat("ab", 2.5)
    Traceback (most recent call last):
    dalembert.errors.ModelError: repeat: count is 2.5; give a whole number
    """

    def decorate(target: Target) -> Target:
        if isinstance(target, type):
            init: Callable[..., Any] = getattr(target, "__init__")  # noqa: B009
            setattr(target, "__init__", _checked_call(init, names, item or target.__name__, largest))  # noqa: B010
            return target
        return typing.cast(Target, _checked_call(target, names, item or target.__name__, largest))

    return decorate


def _checked_call(
    function: Callable[..., Any], names: tuple[str, ...], item: str, largest: float
) -> Callable[..., Any]:
    by_name: dict[str, _Kind] = {}
    by_place: list[tuple[int, str, _Kind]] = []

    def check(name: str, value: Any, kind: _Kind) -> None:
        if not kind.allows(value):
            raise ModelError(item, name, value, f"give {kind.words}")
        if largest < math.inf and isinstance(value, (float, int)) and not abs(value) <= largest:
            raise ModelError(item, name, value, f"give {kind.words} of at most {largest:g}")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not by_name:  # annotations may name types that are imported after this module
            kinds = list(_kinds(function, names))
            by_place.extend(sorted((place, name, kind) for name, place, kind in kinds if place < _NO_PLACE))
            by_name.update({name: kind for name, _, kind in kinds})
        for place, name, kind in by_place:
            if place >= len(args):
                break
            check(name, args[place], kind)
        for name, value in kwargs.items():
            if name in by_name:
                check(name, value, by_name[name])
        return function(*args, **kwargs)

    return call


_NO_PLACE = 1000  # index of arguments that are given by name alone


def _kinds(function: Callable[..., Any], names: tuple[str, ...]) -> Iterator[tuple[str, int, _Kind]]:
    """Yield the names of arguments with their indices and allowed types."""
    scope = _Names(getattr(inspect.unwrap(function), "__globals__", {}))
    scope["ArrayLike"] = _Array  # which in unions would be split
    signature = inspect.signature(function).parameters
    order = list(signature)
    for name in names:
        annotation = signature[name].annotation
        given_by_place = signature[name].kind is not inspect.Parameter.KEYWORD_ONLY
        kind = _kind(eval(annotation, {}, scope) if isinstance(annotation, str) else annotation)
        yield name, order.index(name) if given_by_place else _NO_PLACE, kind


class _Array:
    """Stand-in for ArrayLike."""


class _Names(dict[str, Any]):
    """Names of a module, and its imports for type checkers only: from the package, or else anything."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return getattr(importlib.import_module(__package__), name, Any)


def _kind(annotation: Any) -> _Kind:
    """Return the types that an annotation allows."""
    if annotation is None or annotation is types.NoneType:
        return _Kind(lambda value: value is None, "None")
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        parts = typing.get_args(annotation)
        if set(_ARRAY_LIKE) <= set(parts):
            parts = (_Array, *(each for each in parts if each not in _ARRAY_LIKE))
        kinds = [_kind(each) for each in parts]
        words = list(dict.fromkeys(kind.words for kind in kinds if kind.words != "None"))
        return _Kind(lambda value: any(kind.allows(value) for kind in kinds), " or ".join(words))
    origin, parts = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is Literal:
        kinds_of_parts = tuple({type(each) for each in parts})
        return _Kind(lambda value: isinstance(value, kinds_of_parts) and value in parts, " or ".join(map(repr, parts)))
    if origin is np.ndarray:
        return _Kind(_is_array, "real numbers")
    if origin is Callable:
        return _Kind(lambda value: callable(value) and not isinstance(value, type), "a function")
    if isinstance(origin, type) and issubclass(origin, os.PathLike):
        return _Kind(lambda value: isinstance(value, os.PathLike), "a path")
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_kind(parts)
    if (
        isinstance(origin, type)
        and issubclass(origin, Iterable)
        and origin.__module__ in ("collections.abc", "builtins")
    ):
        return _sequence_kind(origin, parts)
    if getattr(origin, "_is_protocol", False):
        members = [member for member in vars(origin) if not member.startswith("_")]
        return _Kind(lambda value: all(hasattr(type(value), m) for m in members), origin.__name__)
    if isinstance(origin, type):
        name = f"{'an' if origin.__name__[0] in 'AEIOU' else 'a'} {origin.__name__}"
        return _Kind(lambda value: isinstance(value, origin), name, f"{origin.__name__} objects")
    return _Kind(lambda value: True, "another")


def _mapping_kind(parts: tuple[Any, ...]) -> _Kind:
    key, value = (_kind(each) for each in parts) if parts else (_PLAIN[Any], _PLAIN[Any])

    def allows(given: Any) -> bool:  # values are named by their keys where they are used
        return isinstance(given, Mapping) and all(key.allows(k) for k in given)

    return _Kind(allows, f"a dict of {key.plural} to {value.plural}", "dicts")


def _sequence_kind(origin: type, parts: tuple[Any, ...]) -> _Kind:
    fixed = origin is tuple and bool(parts) and parts[-1] is not ...
    kinds = [_kind(each) for each in parts if each is not ...]
    names = str in parts
    words = f"a sequence of {kinds[0].plural}" if kinds else "a sequence"
    if fixed:
        words = f"a tuple ({', '.join(kind.words or 'any' for kind in kinds)})"

    def allows(given: Any) -> bool:
        if isinstance(given, str):
            return names or Any in parts
        if isinstance(given, (bytes, type)) or not isinstance(given, Iterable):
            return False
        if ((names or origin is Iterable) and isinstance(given, np.ndarray)) or (
            origin is Sequence and isinstance(given, Mapping)
        ):
            return False
        if not isinstance(given, Collection):
            return True  # an iterator, which a check would exhaust
        if fixed:
            return len(given) == len(kinds) and all(k.allows(each) for k, each in zip(kinds, given, strict=True))
        return not kinds or all(kinds[0].allows(each) or (names and hasattr(each, "name")) for each in given)

    return _Kind(allows, words, words.replace("a ", "", 1).replace("sequence", "sequences", 1))


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_, str, bytes, complex)) or shape_of(value) != ():
        return False
    if isinstance(value, Expression) or hasattr(value, "to_base_units"):
        return True
    try:
        return not math.isnan(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _is_whole(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return -(2**63) <= operator.index(value) < 2**63
    except TypeError:
        return False


def _is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return True
    try:
        found = np.array(_in_si(value), dtype=object)
        return all(isinstance(x, (*_REAL, bool, np.bool_, Expression)) and _is_float(x) for x in found.flat)
    except (TypeError, ValueError, ModelError):  # the last: results that are indexed by names
        return False


def _is_float(value: Any) -> bool:
    try:
        return isinstance(value, Expression) or isinstance(float(value), float)
    except OverflowError:
        return False


_ARRAY_LIKE = typing.get_args(ArrayLike)
_PLAIN: dict[Any, _Kind] = {
    Any: _Kind(lambda value: True, ""),
    object: _Kind(lambda value: True, ""),
    _Array: _Kind(_is_array, "real numbers"),
    ArrayLike: _Kind(_is_array, "real numbers"),
    float: _Kind(_is_number, "a number", "numbers"),
    int: _Kind(_is_whole, "a whole number", "whole numbers"),
    bool: _Kind(lambda value: isinstance(value, (bool, np.bool_)), "True or False"),
    str: _Kind(lambda value: isinstance(value, str), "text", "names"),
}
