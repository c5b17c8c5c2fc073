"""The plane in which all joints of a system move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..connections.joints import Fixed, Planar, Prismatic, Revolute
from ..errors import ModelError
from ..model import Model
from ..system import System

__all__ = ["plane_of"]

Array = NDArray[np.float64]


def plane_of(system: System, model: Model, q: Array, dimension: int | None) -> Array | None:
    """Return the axes (3, 2) of the plane in which a system is described, or None in space.

    Parameters
    ----------
    q : (nq,)
        A closed configuration.
    dimension : int
        2 or 3; if left out, 2 wherever all joints move in one plane.
    """
    normal = _normal(system, model, q)
    if dimension not in (None, 2, 3):
        raise ModelError("compile", "dimension", dimension, "use 2 or 3")
    if dimension == 2 and normal is None:
        raise ModelError("compile", "dimension", dimension, "the joints do not move in one plane: use 3")
    if normal is None or dimension == 3:
        return None
    x = np.eye(3)[int(np.abs(normal).argmin())]
    if abs(normal[2]) > 0.9999999:
        x = np.array([1.0, 0.0, 0.0])
    x = x - (x @ normal) * normal
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x)])


def _normal(system: System, model: Model, q: Array) -> Array | None:
    """Return the normal of the plane in which all joints move, or None."""
    n: Array | None = None
    slides = []
    for connection in system.connections.values():
        element = connection.element
        R = model.pose(connection.first, q).rotation
        if isinstance(element, (Revolute, Planar)):
            axis = R @ np.asarray(element.axis if isinstance(element, Revolute) else element.normal)
            if n is not None and float(np.linalg.norm(np.cross(n, axis))) > 1e-9:
                return None
            n = axis if n is None else n
        elif isinstance(element, Prismatic):
            slides.append(R @ np.asarray(element.axis))
        elif not isinstance(element, Fixed):
            return None
    if n is None or any(abs(float(n @ s)) > 1e-9 for s in slides):
        return None
    return n
