"""A sketch of everything but bodies and hinges, and what all that is put on it share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import Model
from ...rotation import unit_vector
from .attachments import End
from .body_extents import axis_of, covered, thickness
from .figures import ArrowFigure, CurveFigure, LineFigure, PatchFigure
from .solids import turned_z

__all__ = ["Sketch"]

Array = NDArray[np.float64]


class Sketch:
    """Figures of a model, as they are found.

    Attributes
    ----------
    lines, patches, curves, arrows : lists of figures
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.lines: list[LineFigure] = []
        self.patches: list[PatchFigure] = []
        self.curves: list[CurveFigure] = []
        self.arrows: list[ArrowFigure] = []

    def end(self, marker: Any) -> End:
        """Return a marker as an end."""
        return End.of(self._model, marker)

    def patch(
        self, name: str, look: str, marker: Any, axis: Any = "z", size: tuple[float, float] = (0.0, 0.0), **more: Any
    ) -> None:
        """Put a patch at a marker, its z along an axis of that."""
        axes = marker.rotation @ turned_z(unit_vector(axis, item=name))
        self.patches.append(PatchFigure(name, look, self.end(marker), axes, size, **more))

    def ball(self, name: str, look: str, marker: Any, axis: Any, size: tuple[float, float]) -> None:
        """Put what touches about a marker; a ring alone where the body's own shape is as large."""
        self.patch(name, "pitch" if covered(marker, size[0]) else look, marker, axis, size)

    def on_hinge(self, name: str, look: str, hinge: Any, axis: Any) -> None:
        """Put a patch on the pin of a hinge, where that comes out of its bodies."""
        self.patch(name, look, hinge.first, axis, lift=thickness(hinge.first, hinge.second, axis))

    def line(self, name: str, look: str, first: Any, second: Any) -> None:
        """Stretch something between two markers."""
        self.lines.append(LineFigure(name, look, self.end(first), self.end(second)))

    def stops(self, name: str, hinge: Any, coordinate: int, low: float, high: float) -> None:
        """Show between where and where a hinge may be, by the direction in which its body points."""
        axis, turning = axis_of(hinge.element, coordinate)
        pointer = hinge.second.rotation.T @ (hinge.second.body.com - hinge.second.position)
        pointer = pointer - (pointer @ axis) * axis
        length = float(np.linalg.norm(pointer))
        local = turned_z(axis)
        if turning and length > 1e-9:
            x = pointer / length
            local = np.column_stack([x, np.cross(axis, x), axis])
        axes = hinge.first.rotation @ local
        look = "stops" if turning else "ends"
        lift = thickness(hinge.first, hinge.second, axis) if turning else 0.0
        self.patches.append(PatchFigure(name, look, self.end(hinge.first), axes, span=(low, high), lift=lift))
