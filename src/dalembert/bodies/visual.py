"""Pictures of a body: boxes, cylinders, spheres and meshes, recorded as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Visual"]


@dataclass(frozen=True, eq=False)
class Visual:
    """A piece of geometry fixed in a body, for pictures and contact; it has no mass.

    Attributes
    ----------
    kind : str
        ``"box"``, ``"cylinder"``, ``"capsule"``, ``"sphere"``, ``"plate"``, ``"tube"``, ``"prism"`` or ``"mesh"``.
    size : dict of str to float
        Lengths in m, named as in `Shape`: box x, y, z; cylinder and capsule length (a capsule's
        without its caps), radius and axis (2: along z); sphere radius; plate x, y, thickness; tube
        length, outer, inner and axis; prism thickness. A mesh has the factors x, y, z by which it is scaled.
    position : (3,) m
        Centre of the geometry (for a mesh its own origin) from the body's origin, in body axes.
    rotation : (3, 3)
        Its axes as columns, in body axes.
    file : str or None
        Where a mesh lies, word for word as the model file has it. It is never opened by loading.
    collision : bool
        True if it describes the surface for contact, False if the looks.
    color : (4,) float or None
        Red, green, blue and opacity, each from 0 to 1; None where the model file gives none.
    name : str or None
    outline : (k, 2) m or None
        Of a prism, in its x-y plane.
    """

    kind: str
    size: dict[str, float]
    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    file: str | None = None
    collision: bool = False
    color: tuple[float, float, float, float] | None = None
    name: str | None = None
    outline: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        size = ", ".join(f"{key}={value:.6g}" for key, value in self.size.items() if key != "axis")
        what = "collision" if self.collision else "visual"
        return f"<Visual {self.kind} ({what}): {size}{'' if self.file is None else f', {self.file!r}'}>"
