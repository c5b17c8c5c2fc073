"""Elements, constraints and couplings as figures: lines between ends, patches at a place, curves, arrows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connections.constraints.cams import CamFollower, PointOnCurve
from ..connections.constraints.couplings import Coupling
from ..connections.elements.plain import ForceConnection
from ..connections.hinges import Hinge
from ..model import Model
from ..rotation import unit_vector
from .scene import End
from .solids import turned_z

__all__ = ["CurveFigure", "Figures", "LineFigure", "PatchFigure"]

Array = NDArray[np.float64]

_IN_PIECE = 5  # points of each piece of a curve

# what an element between two markers looks like; any other is a thin line
_LINES = {
    "SpringDamper": "spring",
    "NonlinearSpring": "spring",
    "KelvinVoigt": "spring",
    "Zener": "spring",
    "Maxwell": "spring",
    "GeneralisedMaxwell": "spring",
    "BumpStop": "spring",
    "GasSpring": "cylinder",
    "HydraulicSpring": "cylinder",
    "HydraulicCylinder": "cylinder",
    "Cable": "cable",
    "Ligament": "cable",
    "HillMuscle": "muscle",
    "ElasticBar": "bar",
    "BeamElement": "bar",
    "Distance": "bar",
}
_ROUND = {"TorsionSpring", "HingeSpring", "NonlinearSpring", "KelvinVoigt", "Maxwell", "Zener", "GeneralisedMaxwell"}
_MOTORS = {"DCMotor", "PositionServo", "VelocityServo"}


@dataclass(frozen=True, eq=False)
class LineFigure:
    """Something stretched between two places.

    Attributes
    ----------
    name : str
    look : str
        ``"spring"``, ``"damper"``, ``"both"``, ``"cylinder"``, ``"cable"``, ``"muscle"``, ``"bar"`` or ``"line"``.
    first, second : End
    """

    name: str
    look: str
    first: End
    second: End


@dataclass(frozen=True, eq=False)
class PatchFigure:
    """Something at one place: a plane, a wheel, a ring, a spiral.

    Attributes
    ----------
    name : str
    look : str
        ``"plane"``, ``"disc"``, ``"sphere"``, ``"roller"``, ``"ring"``, ``"bushing"``, ``"spiral"``, ``"motor"``,
        ``"blade"``, ``"rail"``.
    end : End
    axes : (3, 3)
        In the frame that carries it; z is the axis or normal.
    size : (2,) m
        Radius and length where the element has them; zero: as large as the picture makes a symbol.
    """

    name: str
    look: str
    end: End
    axes: Array
    size: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """A curve (k, 3) m in the frame of an end."""

    name: str
    end: End
    points: Array


class Figures:
    """What a picture shows of everything but bodies and hinges.

    Attributes
    ----------
    lines, patches, curves : lists of figures
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.lines: list[LineFigure] = []
        self.patches: list[PatchFigure] = []
        self.curves: list[CurveFigure] = []
        for connection in model.system.connections.values():
            if not isinstance(connection.element, Hinge):
                self._constraint(connection)
        for force in model.system.forces.values():
            self._force(force)
        for coupling in model.system.couplings.values():
            self.patches += self._gears(coupling)

    def _end(self, marker: Any) -> End:
        return End.of(self._model, marker)

    def _patch(
        self, name: str, look: str, marker: Any, axis: Any = "z", size: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        axes = marker.rotation @ turned_z(unit_vector(axis, item=name))
        self.patches.append(PatchFigure(name, look, self._end(marker), axes, size))

    # ---- constraints

    def _constraint(self, connection: Any) -> None:
        name, element, first, second = connection.name, connection.element, connection.first, connection.second
        kind = element.kind
        if kind in ("PointOnPlane", "RollingSphere", "RollingDisc"):
            self._patch(name, "plane", first, element.normal)
        if kind == "RollingSphere":
            self._patch(name, "sphere", second, "z", (element.radius, 0.0))
        elif kind == "RollingDisc":
            self._patch(name, "disc", second, element.axis, (element.radius, 0.0))
        elif kind == "PointOnLine":
            self._patch(name, "rail", first, element.axis)
        elif kind == "Skate":
            self._patch(name, "blade", second, element.side)
        elif isinstance(element, PointOnCurve):
            self._curve(name, element.curve, first)
        elif isinstance(element, CamFollower):
            self._cam(name, element, first, second)
        elif kind not in ("PointOnPlane", "PointOnPoint"):
            look = _LINES.get(kind, "line")
            self.lines.append(LineFigure(name, look, self._end(first), self._end(second)))

    def _curve(self, name: str, curve: Any, marker: Any) -> None:
        end = self._end(marker)
        points = curve.pieces.at(np.linspace(0.0, 1.0, _IN_PIECE)).reshape(-1, 3)
        self.curves.append(CurveFigure(name, end, points @ marker.rotation.T + end.offset))

    def _cam(self, name: str, element: Any, first: Any, second: Any) -> None:
        self._curve(name, element.profile, first)
        if element.radius:
            self._patch(name, "disc", second, "z", (element.radius, 0.0))

    # ---- elements

    def _force(self, force: ForceConnection) -> None:
        element, kind = force.element, force.element.kind
        if force.places:
            self._at_hinge(force)
        elif kind.endswith("PlaneContact"):
            assert force.first is not None and force.second is not None
            self._patch(force.name, "plane", force.first)
            numbers = getattr(element, "parameters", {})
            radius, length = (float(numbers.get(key, 0.0)) for key in ("radius", "length"))
            if radius:
                self._patch(force.name, "roller" if length else "sphere", force.second, "z", (radius, length))
        elif kind == "Bushing":
            self._patch(force.name, "bushing", force.second)
        elif kind == "JournalBearing":
            self._patch(force.name, "ring", force.first)
        elif len(force.ends) > 1 and kind != "SphereSphereContact":
            look = _line_look(force)
            self.lines += [
                LineFigure(force.name, look, self._end(force.ends[0]), self._end(end)) for end in force.ends[1:]
            ]

    def _at_hinge(self, force: ForceConnection) -> None:
        kind = force.element.kind
        look = "spiral" if kind in _ROUND else "motor" if kind in _MOTORS or force.actuates else ""
        for hinge, _ in force.places if look else ():
            axis = getattr(hinge.element, "axis", None)
            if axis is not None and hinge.element.kind in ("Revolute", "Screw", "Cylindrical"):
                self._patch(force.name, look, hinge.first, axis)

    # ---- couplings

    def _gears(self, coupling: Any) -> Iterator[PatchFigure]:
        """Yield the pitch circles of two wheels with parallel axes that a constant ratio couples."""
        if not isinstance(coupling.element, Coupling) or len(coupling.places) != 2:
            return
        hinges = [hinge for hinge, _ in coupling.places]
        axes = [getattr(hinge.element, "axis", None) for hinge in hinges]
        if any(axis is None for axis in axes) or any(h.element.kind != "Revolute" for h in hinges):
            return
        ratio = abs(coupling.element.ratio)
        distance = self._distance(hinges)
        if distance == 0 or ratio == 0:
            return
        total = 1 + ratio if coupling.element.ratio < 0 else abs(1 - ratio)
        if total == 0:
            return
        small = distance / total
        for hinge, axis, radius in zip(hinges, axes, (ratio * small, small), strict=True):
            marker = hinge.second
            axes_of = marker.rotation @ turned_z(np.asarray(axis, dtype=float))
            yield PatchFigure(coupling.name, "disc", self._end(marker), axes_of, (radius, 0.0))

    def _distance(self, hinges: list[Any]) -> float:
        """Return how far apart the axes of two hinges are where they are carried by one body, m."""
        first, second = hinges
        for one in (first.first, first.second):
            for other in (second.first, second.second):
                if one.body is other.body:
                    off = other.position - one.position
                    axis = one.rotation @ np.asarray(first.element.axis, dtype=float)
                    return float(np.linalg.norm(off - (off @ axis) * axis))
        return 0.0


def _line_look(force: ForceConnection) -> str:
    """Return what an element between markers looks like."""
    look = _LINES.get(force.element.kind, "line")
    if force.element.kind != "SpringDamper":
        return look
    stiffness, damping = force.element.stiffness, force.element.damping  # type: ignore[attr-defined]
    spring, damper = (not (np.isscalar(value) and value == 0) for value in (stiffness, damping))
    return "both" if spring and damper else "damper" if damper else "spring"
