"""Units: conversion of ``12 mm``, ``30 deg``, ``5 N/mm`` to SI and radians, and dimensions.

Internally everything is in SI units and radians. Numbers in other units are converted by `si`, or from text in model
files. Outputs are converted by a unit behind their name, ``result["main.position [in]"]``, or by `of_si`.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .checks import checked
from .errors import ModelError

__all__ = ["FREE", "Dimension", "Quantity", "factor", "of_si", "quantity", "same_dimension", "si", "unit_of"]

Dimension = tuple[float, ...]
"""Powers of kg, m, s, A, K, rad and cycles. Cycles keep ``50 Hz`` apart from 50 rad/s."""

_BASES = ("kg", "m", "s", "A", "K", "rad", "cycle")
FREE: Dimension = (0,) * len(_BASES)
_UNITS: dict[str, tuple[float, str]] = {  # in SI, and of which dimension
    "m": (1.0, "m"), "in": (0.0254, "m"), "ft": (0.3048, "m"),
    "g": (1e-3, "kg"), "t": (1e3, "kg"), "lb": (0.45359237, "kg"), "slug": (4.4482216152605 / 0.3048, "kg"),
    "s": (1.0, "s"), "min": (60.0, "s"), "h": (3600.0, "s"),
    "rad": (1.0, "rad"), "deg": (math.pi / 180, "rad"), "rev": (2 * math.pi, "rad"), "rpm": (math.pi / 30, "rad s-1"),
    "Hz": (1.0, "cycle s-1"), "N": (1.0, "kg m s-2"), "lbf": (4.4482216152605, "kg m s-2"),
    "Pa": (1.0, "kg m-1 s-2"), "bar": (1e5, "kg m-1 s-2"), "psi": (6894.757293168361, "kg m-1 s-2"),
    "J": (1.0, "kg m2 s-2"), "W": (1.0, "kg m2 s-3"), "V": (1.0, "kg m2 s-3 A-1"), "A": (1.0, "A"),
    "ohm": (1.0, "kg m2 s-3 A-2"), "H": (1.0, "kg m2 s-2 A-2"), "F": (1.0, "kg-1 m-2 s4 A2"),
    "C": (1.0, "A s"), "T": (1.0, "kg s-2 A-1"), "K": (1.0, "K"), "L": (1e-3, "m3"),
}  # fmt: skip
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "c": 1e-2, "d": 1e-1, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
_PREFIXED = (
    "m", "g", "s", "N", "Pa", "J", "W", "V", "A", "Hz", "bar", "ohm", "H", "rad", "F", "C", "T", "L",
)  # fmt: skip
_FACTOR = re.compile(r"(?P<name>[A-Za-zµμ]+)(\^?(?P<power>-?\d))?")
_QUANTITY = re.compile(
    r"^(?P<number>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)\s+(?P<unit>[A-Za-zµμ1][A-Za-zµμ0-9 */^().-]*)$"
)


class Quantity(NamedTuple):
    """Number in SI units and radians, and its dimension."""

    value: float
    dimension: Dimension


@checked("text")
def quantity(text: str) -> Quantity | None:
    """Return a quantity in SI units and radians; None if the text is not one.

    Units are multiplied by a blank, ``*`` or a dot, and divided after ``/`` (everything behind the first stroke
    divides), with integer powers: ``N m/rad``, ``kg*m^2``, ``m/s2``, ``1/s``.

    Examples
    --------
    >>> [quantity(text).value for text in ("12 mm", "180 deg", "5 N/mm", "3 kg m2")], quantity("y")
    ([0.012, 3.141592653589793, 5000.0, 3.0], None)
    """
    found = _QUANTITY.match(text.strip())
    unit = None if found is None else unit_of(found["unit"])
    return None if found is None or unit is None else Quantity(float(found["number"]) * unit.value, unit.dimension)


@cache
def unit_of(text: str) -> Quantity | None:
    """Return one of a unit as a quantity; None if the unit is unknown."""
    above, *below = text.split("/")
    whole = Quantity(1.0, FREE) if above.strip() == "1" and below else _product(above)
    for part in below:
        divisor = _product(part)
        if whole is None or divisor is None:
            return None
        powers = tuple(a - b for a, b in zip(whole.dimension, divisor.dimension, strict=True))
        whole = Quantity(whole.value / divisor.value, powers)
    return whole


def same_dimension(one: Dimension, other: Dimension) -> bool:
    """Return whether two dimensions are the same, radians aside: N m and N m/rad are.

    An angle and a plain number are the same to mechanics as well; a length and an angle are not.
    """
    for field, value in (("one", one), ("other", other)):
        if not isinstance(value, tuple) or len(value) != len(_BASES):
            raise ModelError("units", field, value, f"give the powers of {', '.join(_BASES)}")
    return one[:5] + one[6:] == other[:5] + other[6:]


@checked("value")
def si(value: ArrayLike, unit: str) -> Any:
    """Return numbers given in a unit, in SI units and radians.

    Examples
    --------
    >>> from dalembert import units
    >>> round(float(units.si(36.0, "in")), 9), round(float(units.si(100.0, "lbf s")), 4)
    (0.9144, 444.8222)
    >>> units.si([240.0, 54.0], "slug in2").round(6)
    array([2.259697, 0.508432])
    """
    return _numbers(value) * _known(unit).value


@checked("value")
def of_si(value: ArrayLike, unit: str) -> Any:
    """Return numbers given in SI units and radians, in another unit: the inverse of `si`."""
    return _numbers(value) / _known(unit).value


def factor(unit: str, of: str, *, item: str) -> float:
    """Return the conversion factor between two units, ``factor("in", "m")``.

    Raises
    ------
    ModelError
        If one is unknown, or their dimensions differ.
    """
    wanted, own = _known(unit, item), _known(of, item)
    turns_alike = wanted.dimension[5] == own.dimension[5] or wanted.value == 1.0  # N m and N m/rad are one
    if not same_dimension(wanted.dimension, own.dimension) or not turns_alike:
        remedy = f"it is in {of} ({dimension_text(own.dimension)}), and that is {dimension_text(wanted.dimension)}"
        raise ModelError(item, "unit", unit, remedy)
    return own.value / wanted.value


def _known(unit: str, item: str = "units") -> Quantity:
    found = unit_of(unit) if isinstance(unit, str) else None
    if found is None:
        raise ModelError(item, "unit", unit, "use units such as mm, in, lbf, slug, deg, rpm, N/mm, lbf in, kg*m^2")
    return found


def _numbers(value: ArrayLike) -> Array:
    return np.asarray(value, dtype=float)


def _product(text: str) -> Quantity | None:
    """Return the product of units, or None if one is unknown."""
    factor, powers = 1.0, FREE
    for part in re.split(r"[\s*.()]+", text.strip()):
        if not part:
            continue
        found = _FACTOR.fullmatch(part)
        unit = None if found is None else _named(found["name"])
        if found is None or unit is None:
            return None
        power = int(found["power"] or 1)
        factor *= unit.value**power
        powers = tuple(a + power * b for a, b in zip(powers, unit.dimension, strict=True))
    return Quantity(factor, powers)


@cache
def _named(name: str) -> Quantity | None:
    if name in _UNITS:
        return Quantity(_UNITS[name][0], _powers(_UNITS[name][1]))
    for prefix, scale in _PREFIXES.items():
        base = name[len(prefix) :]
        if name.startswith(prefix) and base in _PREFIXED:
            return Quantity(scale * _UNITS[base][0], _powers(_UNITS[base][1]))
    return None


def _powers(text: str) -> Dimension:
    found = dict.fromkeys(_BASES, 0)
    for part in text.split():
        match = re.fullmatch(r"([a-zA-Z]+)(-?\d+)?", part)
        assert match is not None
        found[match[1]] += int(match[2] or 1)
    return tuple(found.values())


def dimension_text(dimension: Dimension) -> str:
    """Return a dimension as a product of base units: ``kg m s^-2``; ``1`` for a plain number."""
    parts = [
        f"{base}^{power:g}" if power != 1 else base for base, power in zip(_BASES, dimension, strict=True) if power
    ]
    return " ".join(parts) or "1"
