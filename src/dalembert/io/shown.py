"""What is drawn of a body, for files: its shape and its pictures, as one list."""

from __future__ import annotations

import numpy as np

from ..bodies.rigid import Body
from ..bodies.visual import Visual

__all__ = ["looks_of"]


def looks_of(body: Body) -> list[Visual]:
    """Return the pictures of a body, that of its shape first; a rod without thickness has none."""
    found = list(body.visuals)
    shape = body.shape
    if shape is None:
        return found
    kind, size = shape.kind, dict(shape.size)
    if kind == "rod":
        if not size["radius"]:
            return found
        kind = "cylinder"
    place = np.zeros(3) if kind == "prism" else np.array(shape.com, dtype=float)
    return [Visual(kind, size, place, np.eye(3), outline=shape.outline), *found]
