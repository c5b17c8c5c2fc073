"""Builder of figures of constraints, force elements, couplings and drives."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array
from ...connections.joints import Revolute
from ...model import Model
from ...rotation import unit_vector
from .attachments import Attachment
from .body_extents import axis_of, covered, thickness
from .figures import ArrowFigure, CurveFigure, LineFigure, PatchFigure
from .projection import Placement
from .solids import turned_z

__all__ = ["FigureBuilder"]


class FigureBuilder:
    """Figures of a model.

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

    def end(self, marker: Any) -> Attachment:
        """Return the attachment of a marker."""
        return Attachment.of(self._model, marker)

    @cached_property
    def start(self) -> Placement:
        """Placement at the start."""
        return Placement.of(self._model, self._model.initial_state().q)

    def carried(self, marker: Any, point: Array) -> Any:
        """Return the marker at a point of the world at the start that does not turn with a body on a revolute joint."""
        joints = [joint for joint in self._model.system.connections.values() if joint.second.body is marker.body]
        bearing = next((joint.first for joint in joints if isinstance(joint.element, Revolute)), marker)
        origin = replace(bearing, position=np.zeros(3), rotation=np.eye(3), label=None)
        R, p = self.start.marker(self.end(origin).number, origin)
        return replace(origin, position=R.T @ (point - p))

    def patch(
        self, name: str, look: str, marker: Any, axis: Any = "z", size: tuple[float, float] = (0.0, 0.0), **more: Any
    ) -> None:
        """Add a patch at a marker, with z along an axis of the marker."""
        axes = marker.rotation @ turned_z(unit_vector(axis, item=name))
        self.patches.append(PatchFigure(name, look, self.end(marker), axes, size, **more))

    def ball(self, name: str, look: str, marker: Any, axis: Any, size: tuple[float, float]) -> None:
        """Add a contact body at a marker; a ring alone if the body's shape is as large."""
        self.patch(name, "pitch" if covered(marker, size[0]) else look, marker, axis, size)

    def on_joint(self, name: str, look: str, joint: Any, axis: Any) -> None:
        """Add a patch on the pin of a joint, outside of its bodies."""
        self.patch(name, look, joint.first, axis, lift=thickness(joint.first, joint.second, axis))

    def line(self, name: str, look: str, first: Any, second: Any) -> None:
        """Add a line symbol between two markers."""
        self.lines.append(LineFigure(name, look, self.end(first), self.end(second)))

    def stops(self, name: str, joint: Any, coordinate: int, low: float, high: float) -> None:
        """Add the range of a joint, by the direction of its body."""
        axis, turning = axis_of(joint.element, coordinate)
        pointer = joint.second.rotation.T @ (joint.second.body.com - joint.second.position)
        pointer = pointer - (pointer @ axis) * axis
        length = float(np.linalg.norm(pointer))
        local = turned_z(axis)
        if turning and length > 1e-9:
            x = pointer / length
            local = np.column_stack([x, np.cross(axis, x), axis])
        axes = joint.first.rotation @ local
        look = "stops" if turning else "ends"
        lift = thickness(joint.first, joint.second, axis) if turning else 0.0
        self.patches.append(PatchFigure(name, look, self.end(joint.first), axes, span=(low, high), lift=lift))
