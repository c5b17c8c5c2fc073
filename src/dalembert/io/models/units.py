"""Quantities at the edge: ``12 mm``, ``30 deg``, ``5 N/mm``, in SI and radians from here on."""

from __future__ import annotations

import math
import re

__all__ = ["quantity"]

_UNITS = {
    "m": 1.0, "in": 0.0254, "ft": 0.3048,
    "g": 1e-3, "t": 1e3, "lb": 0.45359237,
    "s": 1.0, "min": 60.0, "h": 3600.0,
    "rad": 1.0, "deg": math.pi / 180, "rev": 2 * math.pi, "rpm": math.pi / 30,
    "Hz": 1.0, "N": 1.0, "lbf": 4.4482216152605, "Pa": 1.0, "bar": 1e5, "psi": 6894.757293168361,
    "J": 1.0, "W": 1.0, "V": 1.0, "A": 1.0, "ohm": 1.0, "H": 1.0,
}  # fmt: skip
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}
_PREFIXED = ("m", "g", "s", "N", "Pa", "J", "W", "V", "A", "Hz", "bar", "ohm", "H", "rad")
_FACTOR = re.compile(r"(?P<name>[A-Za-zµ]+)(\^?(?P<power>-?\d))?")
_QUANTITY = re.compile(
    r"^(?P<number>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)\s+(?P<unit>[A-Za-zµ][A-Za-zµ0-9 */^().-]*)$"
)


def quantity(text: str) -> float | None:
    """Return a quantity in SI units and radians; None if the text is none.

    Units are multiplied by a blank, ``*`` or nothing but a dot between them, divided after ``/`` (everything behind the
    first stroke divides), with whole powers: ``N m/rad``, ``kg*m^2``, ``m/s2``.

    Examples
    --------
    >>> quantity("12 mm"), quantity("180 deg"), quantity("5 N/mm"), quantity("3 kg m2"), quantity("y")
    (0.012, 3.141592653589793, 5000.0, 3.0, None)
    """
    found = _QUANTITY.match(text.strip())
    if found is None:
        return None
    above, *below = found["unit"].split("/")
    factor = _product(above)
    for part in below:
        divisor = _product(part)
        factor = None if factor is None or divisor is None else factor / divisor
    return None if factor is None else float(found["number"]) * factor


def _product(text: str) -> float | None:
    """Return the factor of units that are multiplied, or None where one is not known."""
    factor = 1.0
    for part in re.split(r"[\s*.()]+", text.strip()):
        if not part:
            continue
        found = _FACTOR.fullmatch(part)
        scale = None if found is None else _scale(found["name"])
        if found is None or scale is None:
            return None
        factor *= scale ** int(found["power"] or 1)
    return factor


def _scale(name: str) -> float | None:
    if name in _UNITS:
        return _UNITS[name]
    for prefix, scale in _PREFIXES.items():
        base = name[len(prefix) :]
        if prefix and name.startswith(prefix) and base in _PREFIXED:
            return scale * _UNITS[base]
    return None
