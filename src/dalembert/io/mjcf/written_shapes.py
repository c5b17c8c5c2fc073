"""Shapes and pictures of bodies as geoms of MJCF."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...bodies.rigid import Body
from ...bodies.visual import Visual
from ...rotation import to_quaternion
from ..shown import looks_of
from ..xml_text import text_of

if TYPE_CHECKING:
    from .writing import Writing

__all__ = ["add_geoms"]

_ALONG_Z = (
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    np.eye(3),
)  # columns: axes of a geom whose z lies along x, y, z of the body


def add_geoms(writing: Writing, element: Element, body: Body) -> None:
    """Add what is drawn of a body; it touches nothing and has no mass."""
    for look in looks_of(body):
        made = _geom(look)
        if made is None:
            writing.left.append(f"body {body.name!r}: the picture of a {look.kind}")
            continue
        kind, size, turn = made
        attributes = {
            "type": kind,
            "size": text_of(size),
            "pos": text_of(look.position),
            "quat": text_of(to_quaternion(look.rotation @ turn)),
            "contype": "0",
            "conaffinity": "0",
            "group": "1",
        }
        if look.color is not None:
            attributes["rgba"] = text_of(look.color)
        SubElement(element, "geom", attributes)


def _geom(look: Visual) -> tuple[str, tuple[float, ...], np.ndarray] | None:
    size = look.size
    if look.kind == "sphere":
        return "sphere", (size["radius"],), np.eye(3)
    if look.kind == "box":
        return "box", (size["x"] / 2, size["y"] / 2, size["z"] / 2), np.eye(3)
    if look.kind == "plate":
        return "box", (size["x"] / 2, size["y"] / 2, size["thickness"] / 2), np.eye(3)
    if look.kind in ("cylinder", "capsule"):
        return look.kind, (size["radius"], size["length"] / 2), _ALONG_Z[int(size["axis"])]
    return None
