"""Axes of a marker as formulas of its rotation vector (rx, ry, rz), smooth at half a turn."""

from __future__ import annotations

__all__ = ["marker_axis"]

# sin(angle)/angle and (1 - cos(angle))/angle^2 of the rotation vector, without branches: a wheel passes zero each turn
_TURN = {
    "angle": "sqrt(rx*rx + ry*ry + rz*rz + 1e-24)",
    "sine": "sin(angle)/angle",
    "half": "sin(angle/2)/angle",
    "versine": "2*half*half",
}
_AXES = {
    "x": ("1 - versine*(ry*ry + rz*rz)", "sine*rz + versine*rx*ry", "-sine*ry + versine*rx*rz"),
    "y": ("-sine*rz + versine*rx*ry", "1 - versine*(rx*rx + rz*rz)", "sine*rx + versine*ry*rz"),
    "z": ("sine*ry + versine*rx*rz", "-sine*rx + versine*ry*rz", "1 - versine*(rx*rx + ry*ry)"),
}


def marker_axis(axis: str) -> dict[str, str]:
    """Return definitions of ax, ay, az: an axis of the second marker in axes of the first, by its rotation vector.

    Examples
    --------
    >>> from dalembert.connections.formulas.marker_axes import marker_axis
    >>> marker_axis("z")["az"]
    '1 - versine*(rx*rx + ry*ry)'
    """
    return _TURN | dict(zip(("ax", "ay", "az"), _AXES[axis], strict=True))
