"""Library systems as the base of a model file: ``library: {type: four_bar, crank: 100 mm}``."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ...errors import DalembertError, FileError
from ...system import System
from ...units import quantity
from .expressions import evaluate
from .text import LocatedMapping, SourcePosition

__all__ = ["library_system", "library_systems"]

LARGEST_COUNT = 10_000  # bodies, teeth, windows: a file of a few bytes must not fill the memory


@cache
def library_systems() -> Mapping[str, Callable[..., System]]:
    """Return the functions of the library that build systems, by name."""
    from ... import library

    functions = {name: make for name in library.__all__ if inspect.isfunction(make := getattr(library, name))}
    return {k: make for k, make in functions.items() if inspect.signature(make).return_annotation in ("System", System)}


def library_system(data: LocatedMapping, where: SourcePosition) -> System:
    """Return the library system for a mapping with its name as `type`, and arguments."""
    name = data.get("type")
    if name not in library_systems():
        near = difflib.get_close_matches(str(name), list(library_systems()), 3)
        known = near or list(library_systems())
        raise FileError(str(where), "library", name, f"there are {', '.join(known)}")
    try:
        arguments = {key: _value(value) for key, value in data.items() if key != "type"}
        for key, value in arguments.items():
            if isinstance(value, int) and abs(value) > LARGEST_COUNT:
                remedy = f"a model file permits at most {LARGEST_COUNT}; build larger ones in Python"
                raise FileError(str(where), f"library {name}: {key}", value, remedy)
        return library_systems()[str(name)](**arguments)
    except FileError:
        raise
    except (DalembertError, TypeError, ValueError, AttributeError) as error:
        takes = inspect.signature(library_systems()[str(name)])
        raise FileError(str(where), f"library {name}", dict(data), f"{error}; it takes {takes}") from None


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, dict):
        return {key: _value(each) for key, each in value.items()}
    if isinstance(value, str) and value.startswith("="):
        return evaluate(value[1:], {}).value
    found = quantity(value) if isinstance(value, str) else None
    return value if found is None else found.value
