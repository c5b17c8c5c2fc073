"""Elements of a URDF document, and the numbers in their attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree.ElementTree import Element

import numpy as np

from ..arrays import Array
from ..checks import did_you_mean
from ..errors import ModelError
from ..rotation import quaternion
from .xml_files import line_of

__all__ = ["child_of", "name_of", "number_of", "numbers_in", "numbers_of", "origin_of", "renamed", "suggestion"]

Vector = tuple[float, float, float]


def name_of(element: Element, attribute: str = "name") -> str:
    return element.get(attribute, "").strip()


def child_of(element: Element, tag: str, *, item: str) -> Element | None:
    """Return the child of that kind, or None; of equal repeated ones the first, others are refused."""
    found = [child for child in element if child.tag == tag]
    if any(_content(other) != _content(found[0]) for other in found[1:]):
        raise ModelError(
            item, tag, f"{len(found)} elements <{tag}>", f"they differ: keep one of them{line_of(found[1])}"
        )
    return found[0] if found else None


def _content(element: Element) -> list[tuple[str, int, dict[str, str]]]:
    return [(part.tag, len(part), part.attrib) for part in element.iter()]


def origin_of(element: Element, *, item: str) -> tuple[Vector, Array | None]:
    """Return the position (m) and rotation of an <origin>; None where there is no rotation."""
    origin = child_of(element, "origin", item=item)
    if origin is None:
        return (0.0, 0.0, 0.0), None
    x, y, z = numbers_of(origin, "xyz", (0.0, 0.0, 0.0), item=item)
    if origin.get("quat_xyzw") is not None:  # since URDF 1.1
        if origin.get("rpy") is not None:
            raise ModelError(item, "origin quat_xyzw", origin.get("quat_xyzw"), "give it or rpy, not both")
        *vector, scalar = numbers_of(origin, "quat_xyzw", (0.0, 0.0, 0.0, 1.0), item=item)
        try:
            return (x, y, z), quaternion(scalar, *vector)
        except ModelError as error:
            raise ModelError(item, "origin quat_xyzw", origin.get("quat_xyzw"), error.remedy) from None
    rpy = numbers_of(origin, "rpy", (0.0, 0.0, 0.0), item=item)
    return (x, y, z), _turn(*rpy) if any(rpy) else None


def _turn(roll: float, pitch: float, yaw: float) -> Array:
    """Return ``euler((roll, pitch, yaw), "xyz")``, expanded for speed: a large robot has thousands of them."""
    cr, sr, cp, sp, cy, sy = (f(angle) for angle in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def number_of(
    element: Element, attribute: str, default: float | None = None, *, item: str, infinite: bool = False
) -> float:
    """Return an attribute as a number; without a default it is required."""
    given = None if default is None else (default,)
    return numbers_of(element, attribute, given, item=item, count=1, infinite=infinite)[0]


def numbers_of(
    element: Element,
    attribute: str,
    default: tuple[float, ...] | None,
    *,
    item: str,
    count: int = 3,
    infinite: bool = False,
) -> tuple[float, ...]:
    """Return an attribute as numbers separated by blanks: as many as the default has, or `count`."""
    text = element.get(attribute)
    field = f"{element.tag} {attribute}"
    count = count if default is None else len(default)
    needed = "one number" if count == 1 else f"{count} numbers separated by blanks"
    if text is None:
        if default is None:
            raise ModelError(item, field, None, f'give {needed}: <{element.tag} {attribute}="..."/>{line_of(element)}')
        return default
    return numbers_in(text, count, item=item, field=field, where=line_of(element), infinite=infinite)


def numbers_in(
    text: str, count: int, *, item: str, field: str, where: str, infinite: bool = False
) -> tuple[float, ...]:
    """Return a number of blank-separated numbers, or raise an error with item, field and position."""
    needed = "one number" if count == 1 else f"{count} numbers separated by blanks"
    words = text.split()
    if len(words) != count:
        raise ModelError(item, field, text, f"give {needed}, not {len(words)}{where}")
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    if not numbers or "_" in text or not text.isascii():  # Python would read 1_000 and digits of other scripts
        raise ModelError(item, field, text, f"give {needed}, with a point for decimals{where}")
    for number in numbers:
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise ModelError(item, field, text, f"every number must be finite{where}")
    return numbers


def renamed(error: ModelError, item: str) -> ModelError:
    """Return the same error about `item`: the name that the file uses."""
    return ModelError(item, error.field, error.value, error.remedy)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a remedy that suggests the names nearest to `name`, or nothing."""
    guess = did_you_mean(name, known)
    return f"; {guess}" if guess else ""
