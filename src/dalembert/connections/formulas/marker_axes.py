"""Axes of a marker as formulas of its rotation vector (rx, ry, rz), smooth at half a turn."""

from __future__ import annotations

__all__ = ["marker_axis"]

# sin(angle)/angle and (1 - cos(angle))/angle^2 of the rotation vector, without branches: a wheel passes zero each turn
_TURN = {
    "angle{k}": "sqrt(rx{k}*rx{k} + ry{k}*ry{k} + rz{k}*rz{k} + 1e-24)",
    "sine{k}": "sin(angle{k})/angle{k}",
    "half{k}": "sin(angle{k}/2)/angle{k}",
    "versine{k}": "2*half{k}*half{k}",
}
_AXES = {
    "x": (
        "1 - versine{k}*(ry{k}*ry{k} + rz{k}*rz{k})",
        "sine{k}*rz{k} + versine{k}*rx{k}*ry{k}",
        "-sine{k}*ry{k} + versine{k}*rx{k}*rz{k}",
    ),
    "y": (
        "-sine{k}*rz{k} + versine{k}*rx{k}*ry{k}",
        "1 - versine{k}*(rx{k}*rx{k} + rz{k}*rz{k})",
        "sine{k}*rx{k} + versine{k}*ry{k}*rz{k}",
    ),
    "z": (
        "sine{k}*ry{k} + versine{k}*rx{k}*rz{k}",
        "-sine{k}*rx{k} + versine{k}*ry{k}*rz{k}",
        "1 - versine{k}*(rx{k}*rx{k} + ry{k}*ry{k})",
    ),
}


def marker_axis(axis: str, name: str = "a", measure: int | str = "") -> dict[str, str]:
    """Return definitions of ax, ay, az: an axis of the second marker in axes of the first, by its rotation vector.

    Parameters
    ----------
    axis : str
        ``"x"``, ``"y"`` or ``"z"``.
    name : str
        First letters of the names of the components.
    measure : int
        Number of the measure, for elements with several: ``marker_axis("x", "e", 2)`` defines ex2, ey2, ez2.

    Examples
    --------
    >>> from dalembert.connections.formulas.marker_axes import marker_axis
    >>> marker_axis("z")["az"]
    '1 - versine*(rx*rx + ry*ry)'
    """
    parts = _TURN | dict(zip((f"{name}{i}{{k}}" for i in "xyz"), _AXES[axis], strict=True))
    return {part.format(k=measure): text.format(k=measure) for part, text in parts.items()}
