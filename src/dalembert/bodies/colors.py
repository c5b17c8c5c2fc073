"""Colours: red, green, blue and opacity, each from 0 to 1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..checks import finite_array, shape_of
from ..errors import ModelError

__all__ = ["NAMED", "Color", "as_color", "color_text"]

Color = tuple[float, float, float, float]

NAMED = {
    "black": "#000000", "blue": "#0000ff", "brown": "#8b4513", "cyan": "#00ffff", "darkgrey": "#2d2d2d",
    "gold": "#ffd700", "green": "#008000", "grey": "#808080", "indigo": "#4b0082", "magenta": "#ff00ff",
    "orange": "#ff8000", "pink": "#ffc0cb", "purple": "#800080", "red": "#ff0000", "silver": "#c0c0c0",
    "skyblue": "#87ceeb", "steel": "#7d8a96", "turquoise": "#40e0d0", "white": "#ffffff", "wood": "#b58a5a",
    "yellow": "#ffff00",
}  # fmt: skip

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")


def as_color(given: Any, *, item: str) -> Color | None:
    """Return a colour from ``"orange"``, ``"#ff8000"``, ``"#ff800080"``, three or four numbers, or None.

    Raises
    ------
    ModelError
        If it is none of these.

    Examples
    --------
    >>> as_color("#ff0000", item="body")
    (1.0, 0.0, 0.0, 1.0)
    >>> as_color((0.2, 0.4, 0.6), item="body")
    (0.2, 0.4, 0.6, 1.0)
    """
    if given is None:
        return None
    if isinstance(given, str):
        plain = given.strip().lower().replace("gray", "grey").replace(" ", "").replace("_", "")
        text = NAMED.get(plain, plain)
        if _HEX.fullmatch(text) is None:
            raise ModelError(item, "color", given, f"write '#rrggbb', three numbers from 0 to 1, or {', '.join(NAMED)}")
        digits = text[1:] if len(text) > 4 else "".join(2 * digit for digit in text[1:])
        channels = [int(digits[k : k + 2], 16) / 255 for k in range(0, len(digits), 2)]
    else:
        size = np.prod(shape_of(given) or ())
        channels = finite_array(given, (3 if size == 3 else 4,), item=item, field="color").tolist()
        if min(channels) < 0 or max(channels) > 1:
            raise ModelError(item, "color", given, "red, green, blue and opacity lie between 0 and 1")
    red, green, blue, opacity = [*channels, 1.0][:4]
    return red, green, blue, opacity


def color_text(color: Color) -> str:
    """Return a colour as ``"#rrggbb"``, without its opacity."""
    return "#" + "".join(f"{round(255 * min(max(channel, 0.0), 1.0)):02X}" for channel in color[:3])
