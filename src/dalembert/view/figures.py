"""Elements, constraints, couplings and drives as figures: lines between ends, patches at a place, curves, arrows.

Hinges have joints of their own (`scene.JointFigure`); what limits, drives or brakes them is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..connections.constraints.cams import CamFollower, PointOnCurve
from ..connections.constraints.couplings import Coupling
from ..connections.constraints.reaches import is_tie
from ..connections.elements.element import Block
from ..connections.elements.plain import ForceConnection, Load
from ..connections.hinges import Hinge
from ..model import Model
from ..recipes import recipe_of
from ..rotation import unit_vector
from .ends import End, Middle, anchor
from .projection import Placement
from .solids import of_body, turned_z

__all__ = ["ARROW", "ArrowFigure", "CurveFigure", "Figures", "LineFigure", "PatchFigure", "thickness"]

Array = NDArray[np.float64]

ARROW = 0.16  # length of a load, of the picture's reach

_IN_PIECE = 5  # points of each piece of a curve
_MOST_POINTS = 160  # of the outline of a cam

# what an element or constraint between two markers looks like; any other is a thin line
_LINES = {
    "SpringDamper": "spring",
    "NonlinearSpring": "spring",
    "KelvinVoigt": "both",
    "Zener": "both",
    "Maxwell": "series",
    "GeneralisedMaxwell": "both",
    "BumpStop": "bumper",
    "GasSpring": "cylinder",
    "HydraulicSpring": "cylinder",
    "HydraulicCylinder": "cylinder",
    "Cable": "cable",
    "Ligament": "cable",
    "HillMuscle": "muscle",
    "ElasticBar": "bar",
    "BeamElement": "beam",
    "Distance": "bar",
    "KinematicChain": "bar",
    "Rope": "cable",
    "InverseSquare": "link",
}
_ROUND = {"TorsionSpring", "HingeSpring", "NonlinearSpring", "KelvinVoigt", "Maxwell", "Zener", "GeneralisedMaxwell"}
_MOTORS = {"DCMotor", "PositionServo", "VelocityServo", "StateSpace", "TransferFunction"}
_BRAKES = {"CoulombFriction", "StribeckFriction", "LuGreFriction", "JointFriction"}
_AXES = {"AxisAngle": ("axis_1", "axis_2"), "Parallel": ("axis_1", "axis_2"), "Perpendicular": ("axis_1", "axis_2")}
_POINTS = ("PointOnPoint", "PointOnPlane", "PointOnLine")  # whose second end is a joint, not a line


@dataclass(frozen=True, eq=False)
class LineFigure:
    """Something stretched between two places.

    Attributes
    ----------
    name : str
    look : str
        ``"spring"``, ``"damper"``, ``"both"``, ``"series"``, ``"bumper"``, ``"cylinder"``, ``"cable"``, ``"muscle"``,
        ``"bar"``, ``"beam"``, ``"line"`` or, for what acts from afar, ``"link"``.
    first, second : End or Middle
    """

    name: str
    look: str
    first: End | Middle
    second: End | Middle


@dataclass(frozen=True, eq=False)
class PatchFigure:
    """Something at one place; `looks` has what each look is made of.

    Attributes
    ----------
    name : str
    look : str
    end : End
    axes : (3, 3)
        In the body that carries it; z is the axis or normal.
    size : (2,) m
        Radius and length where the element has them; zero: as large as the picture makes a symbol.
    span : (2,) rad or m
        From where to where, of stops.
    outline : (k, 2) m or None
        Of a cam or a wheel with teeth.
    lift : float, m
        How far along its axis it stands away, to be seen outside of a body.
    """

    name: str
    look: str
    end: End
    axes: Array
    size: tuple[float, float] = (0.0, 0.0)
    span: tuple[float, float] = (0.0, 0.0)
    outline: Array | None = None
    lift: float = 0.0


@dataclass(frozen=True, eq=False)
class CurveFigure:
    """A curve (k, 3) m in the frame of an end."""

    name: str
    end: End
    points: Array


@dataclass(frozen=True, eq=False)
class ArrowFigure:
    """A load on a marker: ``"force"`` or ``"moment"``, by laws of time, in axes of the world or of its marker."""

    name: str
    kind: str
    end: End
    laws: tuple[Any, ...]
    turning: bool

    def vector(self, t: float) -> Array:
        """Return it at a time (3,), in axes of the world, or of the body that carries it if it turns with that."""
        local = np.array([law(t)[0] for law in self.laws], dtype=float)
        result: Array = self.end.marker.rotation @ local if self.turning else local
        return result

    def seen(self, placement: Placement) -> Array:
        """Return it at the time of a placement, in axes of the world."""
        vector = self.vector(placement.t)
        result: Array = placement.rotation[self.end.number] @ vector if self.turning else vector
        return result


class Figures:
    """What a picture shows of everything but bodies and hinges.

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
        system = model.system
        for connection in system.connections.values():
            if isinstance(connection.element, Hinge):
                self._own_limits(connection)
            elif not is_tie(connection, system.connections):
                self._constraint(connection, connection in (drive.connection for drive in system.drives.values()))
        for force in system.forces.values():
            self._force(force)
        for coupling in system.couplings.values():
            self._coupling(coupling)
        for follower, rule in getattr(system, "mimics", {}).items():
            if follower in system.connections and rule.joint in system.connections:
                self._link(f"{follower}.mimic", [system.connections[name] for name in (rule.joint, follower)])
        for drive in system.drives.values():
            if drive.of_hinge:
                axis, turning = _axis_of(drive.connection.element, getattr(drive, "coordinate", 0))
                self._on_hinge(drive.name, "drive" if turning else "push", drive.connection, axis)

    def _end(self, marker: Any) -> End:
        return End.of(self._model, marker)

    def _patch(
        self, name: str, look: str, marker: Any, axis: Any = "z", size: tuple[float, float] = (0.0, 0.0), **more: Any
    ) -> None:
        axes = marker.rotation @ turned_z(unit_vector(axis, item=name))
        self.patches.append(PatchFigure(name, look, self._end(marker), axes, size, **more))

    def _ball(self, name: str, look: str, marker: Any, axis: Any, size: tuple[float, float]) -> None:
        """Put what touches about a marker; a ring alone where the body's own shape is as large."""
        self._patch(name, "pitch" if _covered(marker, size[0]) else look, marker, axis, size)

    def _on_hinge(self, name: str, look: str, hinge: Any, axis: Any) -> None:
        """Put a patch on the pin of a hinge, where that comes out of its bodies."""
        self._patch(name, look, hinge.first, axis, lift=thickness(hinge.first, hinge.second, axis))

    def _line(self, name: str, look: str, first: Any, second: Any) -> None:
        self.lines.append(LineFigure(name, look, self._end(first), self._end(second)))

    # ---- hinges

    def _own_limits(self, connection: Any) -> None:
        """Show the limits that a hinge of one coordinate has by itself."""
        element = connection.element
        limits = [getattr(element, bound, None) for bound in ("lower", "upper")]
        numbers = [np.asarray(limit, dtype=float).ravel() for limit in limits if limit is not None]
        if element.nv == 1 and numbers:
            low = -np.inf if limits[0] is None else float(np.ravel(limits[0])[0])
            high = np.inf if limits[1] is None else float(np.ravel(limits[1])[0])
            self._stops(connection.name, connection, 0, low, high)

    def _stops(self, name: str, hinge: Any, coordinate: int, low: float, high: float) -> None:
        """Show between where and where a hinge may be, by the direction in which its body points."""
        axis, turning = _axis_of(hinge.element, coordinate)
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
        self.patches.append(PatchFigure(name, look, self._end(hinge.first), axes, span=(low, high), lift=lift))

    # ---- constraints

    def _constraint(self, connection: Any, driven: bool) -> None:
        name, element, first, second = connection.name, connection.element, connection.first, connection.second
        kind = element.kind
        if kind in ("PointOnPlane", "RollingSphere", "RollingDisc"):
            self._patch(name, "plane", first, element.normal)
        if kind == "RollingSphere":
            self._ball(name, "sphere", second, "z", (element.radius, 0.0))
        elif kind == "RollingDisc":
            self._ball(name, "disc", second, element.axis, (element.radius, 0.0))
        elif kind == "PointOnLine":
            self._patch(name, "rail", first, element.axis)
        elif kind == "Skate":
            axes = second.rotation @ _upright(unit_vector(element.side, item=name))
            self.patches.append(PatchFigure(name, "blade", self._end(second), axes))
        elif kind in _AXES:
            for marker, field in zip((first, second), _AXES[kind], strict=True):
                self._patch(name, "axis", marker, getattr(element, field))
            self._line(name, "link", first, second)
        elif isinstance(element, PointOnCurve):
            self._curve(name, element.curve, first)
            self._patch(name, "knot", second)
        elif isinstance(element, CamFollower):
            self._cam(name, element, first, second)
        elif kind not in _POINTS:
            self._line(name, "cylinder" if driven else _LINES.get(kind, "link"), first, second)
            if kind not in ("Distance", "KinematicChain", "Rope"):
                self._patch(name, "law", second)
        if driven and kind != "Distance":
            self._patch(name, "law", second)

    def _curve(self, name: str, curve: Any, marker: Any) -> None:
        end = self._end(marker)
        points = curve.pieces.at(np.linspace(0.0, 1.0, _IN_PIECE)).reshape(-1, 3)
        self.curves.append(CurveFigure(name, end, points @ marker.rotation.T + end.offset))

    def _cam(self, name: str, element: Any, first: Any, second: Any) -> None:
        self._curve(name, element.profile, first)
        points = element.profile.pieces.at(np.linspace(0.0, 1.0, _IN_PIECE + 1)[:-1]).reshape(-1, 3)[:, :2]
        reach = float(np.linalg.norm(points, axis=1).max())
        if not element.inside and not _covered(first, reach):
            every = -(-len(points) // _MOST_POINTS)
            self._profile(name, first, _left_about(points[::every]))
        if element.radius and not _covered(second, element.radius):
            self._patch(name, "disc", second, "z", (element.radius, 0.0))
        elif element.follower == "flat":
            self._patch(name, "face", second)
        elif not element.radius:
            self._patch(name, "knot", second)

    def _profile(self, name: str, marker: Any, outline: Array, look: str = "cam") -> None:
        self.patches.append(PatchFigure(name, look, self._end(marker), marker.rotation, outline=outline))

    # ---- elements

    def _force(self, force: ForceConnection) -> None:
        element, name = force.element, force.name
        kind, numbers = element.kind, getattr(element, "parameters", {})
        if force.places:
            self._at_hinges(force)
        elif isinstance(element, Load):
            for what, laws in (("force", element.force), ("moment", element.moment)):
                if any(not _zero(law) for law in laws):
                    self.arrows.append(ArrowFigure(name, what, self._end(force.ends[0]), laws, element.axes == "body"))
        elif kind.endswith("PlaneContact"):
            radius, length = (float(numbers.get(key, 0.0)) for key in ("radius", "length"))
            self._patch(name, "plane", force.first)
            look = "knot" if not radius else "roller" if length else "sphere"
            self._ball(name, look, force.second, "z", (radius, length))
        elif kind == "SphereSphereContact":
            for end, key in zip(force.ends, ("radius_1", "radius_2"), strict=True):
                self._ball(name, "sphere", end, "z", (float(numbers[key]), 0.0))
        elif kind == "Bushing":
            self._patch(name, "bushing", force.second)
            self._line(name, "link", force.first, force.second)
        elif kind == "JournalBearing":
            self._patch(name, "ring", force.first, "z", (float(numbers["radius"]), float(numbers["length"])))
        elif kind == "TractionFilm":
            self._film(force)
        elif kind in ("Drag", "Field"):
            self._patch(name, "stream", force.second, "z", (_extent(force.second), 0.0))
        elif kind == "Compound":
            self._compound(force)
        elif len(force.ends) > 1:
            for end in force.ends[1:]:
                self._line(name, _line_look(force), force.first, end)
        elif force.ends:
            self._patch(name, "law", force.ends[0])

    def _film(self, force: ForceConnection) -> None:
        """Show the two rollers between which a film is, or the cam's profile and its roller."""
        made = recipe_of(force.element)
        given = {} if made is None else made.arguments
        profile, radius, length = (given.get(key, 0.0) for key in ("profile", "radius", "length"))
        for marker, size in ((force.first, profile), (force.second, radius)):
            if np.isscalar(size) and float(size) and not _covered(marker, float(size)):  # type: ignore[arg-type]
                self._patch(force.name, "disc", marker, "z", (float(size), float(length)))  # type: ignore[arg-type]
        self._line(force.name, "link", force.first, force.second)

    def _compound(self, force: ForceConnection) -> None:
        """Show the members of a compound; its nodes stand between the ends to which they are tied."""
        made = recipe_of(force.element)
        names = [] if made is None else list(made.arguments["ends"])
        ends = dict(zip(names, (self._end(marker) for marker in force.ends), strict=False))
        if made is None or len(ends) < len(force.ends):
            for end in force.ends[1:]:
                self._line(force.name, "line", force.first, end)
            return
        members = made.arguments["members"]
        pairs = [tuple(where) for _, *where in members.values()]
        places: dict[str, End | Middle] = dict(ends)
        for node in {each for pair in pairs for each in pair} - set(ends):
            near = {each for pair in pairs if node in pair for each in pair} & set(ends)
            places[node] = Middle(tuple(ends[each] for each in sorted(near)) or tuple(ends.values()))
        for member, (element, *where) in members.items():
            look = _LINES.get(element.kind, "line")
            first, second = (places[each] for each in where)
            self.lines.append(LineFigure(f"{force.name}.{member}", look, first, second))

    def _at_hinges(self, force: ForceConnection) -> None:
        element, kind = force.element, force.element.kind
        if isinstance(element, Block):
            return
        for hinge, coordinate in force.places:
            axis, turning = _axis_of(hinge.element, coordinate)
            if kind == "Limits":
                self._stops(force.name, hinge, coordinate, element.lower, element.upper)  # type: ignore[attr-defined]
            elif kind in _ROUND and not turning:
                start = anchor(hinge.first, hinge.second, axis, _rest_of(element))
                self._line(force.name, _line_look(force), start, hinge.second)
            else:
                look = "spiral" if kind in _ROUND else "brake" if kind in _BRAKES else "law"
                if kind == "Effort":
                    look = "effort" if turning else "thrust"
                elif kind in _MOTORS or force.actuates:
                    look = "motor"
                self._on_hinge(force.name, look, hinge, axis)

    # ---- couplings

    def _coupling(self, coupling: Any) -> None:
        hinges = [hinge for hinge, _ in coupling.places]
        before = len(self.patches)
        if isinstance(coupling.element, Coupling) and len(hinges) == 2:
            self._wheels(coupling, hinges)
        if len(self.patches) == before:
            self._link(coupling.name, hinges)

    def _link(self, name: str, hinges: list[Any]) -> None:
        """Tie hinges whose motions are bound to each other by thin lines, with a mark at each."""
        for hinge in hinges:
            self._patch(name, "law", hinge.second, _axis_of(hinge.element, 0)[0])
        for one, other in pairwise(hinges):
            self._line(name, "link", one.second, other.second)

    def _wheels(self, coupling: Any, hinges: list[Any]) -> None:
        """Show two wheels, a belt on two pulleys, or a pinion on its rack."""
        made = recipe_of(coupling.element)
        maker, given = ("", {}) if made is None else (made.maker, made.arguments)
        kinds = [hinge.element.kind for hinge in hinges]
        if kinds == ["Revolute", "Prismatic"] and maker == "rack_and_pinion":
            pinion, rack = hinges
            self._wheel(coupling.name, pinion, abs(float(given["radius"])))
            self._patch(coupling.name, "rack", rack.second, rack.element.axis)
        if kinds != ["Revolute", "Revolute"]:
            return
        if maker == "belt":
            radii = [abs(float(given[key])) for key in ("radius_1", "radius_2")]
            for hinge, radius in zip(hinges, radii, strict=True):
                self._wheel(coupling.name, hinge, radius)
            self._belt(coupling.name, hinges, radii, crossed=coupling.element.ratio < 0)
            return
        radii = self._pitch(hinges, coupling.element.ratio)
        for k, (hinge, radius) in enumerate(zip(hinges, radii, strict=False)):
            self._wheel(coupling.name, hinge, radius, float(given.get(f"teeth_{k + 1}", 0)) if maker == "gear" else 0.0)

    def _wheel(self, name: str, hinge: Any, radius: float, teeth: float = 0.0) -> None:
        marker = hinge.second
        if _covered(marker, radius):
            self._patch(name, "pitch", marker, hinge.element.axis, (radius, 0.0))
        elif teeth == round(teeth) and 5 <= abs(teeth) <= 200:
            axes = marker.rotation @ turned_z(unit_vector(hinge.element.axis, item=name))
            outline = _toothed(radius, round(abs(teeth)))
            self.patches.append(PatchFigure(name, "wheel", self._end(marker), axes, (radius, 0.0), outline=outline))
        else:
            self._patch(name, "disc", marker, hinge.element.axis, (radius, 0.0))

    def _pitch(self, hinges: list[Any], ratio: float) -> list[float]:
        """Return the pitch radii, m, of two wheels with parallel axes that one body carries; none for others."""
        total = 1 + abs(ratio) if ratio < 0 else abs(1 - ratio)
        shared = self._carrier(hinges)
        if shared is None or total == 0 or ratio == 0:
            return []
        first, second, axis = shared
        off = second.position - first.position
        distance = float(np.linalg.norm(off - (off @ axis) * axis))
        return [abs(ratio) * distance / total, distance / total] if distance else []

    def _carrier(self, hinges: list[Any]) -> tuple[Any, Any, Array] | None:
        """Return the markers of two hinges on the body that carries both, and the first one's axis in it."""
        one, two = hinges
        for first in (one.first, one.second):
            for second in (two.first, two.second):
                if first.body is second.body:
                    return first, second, first.rotation @ np.asarray(one.element.axis, dtype=float)
        return None

    def _belt(self, name: str, hinges: list[Any], radii: list[float], *, crossed: bool) -> None:
        shared = self._carrier(hinges)
        if shared is None:
            self._line(name, "link", hinges[0].second, hinges[1].second)
            return
        first, second, axis = shared
        off = second.position - first.position
        off = off - (off @ axis) * axis
        distance = float(np.linalg.norm(off))
        signed = radii[0] + radii[1] if crossed else radii[0] - radii[1]
        if distance <= abs(signed):
            return
        x, y = off / distance, np.cross(axis, off / distance)
        lean = np.arccos(signed / distance)  # where the straight runs leave the first pulley
        on = lean - np.pi if crossed else lean
        near = radii[0] * _arc(lean, 2 * np.pi - lean)
        far = radii[1] * _arc(-on, on) + [distance, 0.0]
        flat = np.concatenate([near, far, near[:1]])
        end = self._end(first)
        points = flat[:, :1] * x + flat[:, 1:] * y + end.offset
        self.curves.append(CurveFigure(name, end, points))


def _arc(start: float, end: float) -> Array:
    angle = np.linspace(start, end, 25)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _toothed(radius: float, teeth: int) -> Array:
    """Return the outline (k, 2) of a wheel with straight-sided teeth of the usual height about its pitch circle."""
    module = 2 * radius / teeth
    inner, outer = radius - 1.25 * module, radius + module
    step = 2 * np.pi / teeth
    # foot, flank up, tip, flank down: the tooth is half a step wide at the pitch circle
    angles = np.array([-0.36, -0.14, 0.14, 0.36]) * step
    r = np.array([inner, outer, outer, inner])
    one = np.column_stack([r * np.cos(angles), r * np.sin(angles)])
    turns = np.arange(teeth) * step
    c, s = np.cos(turns), np.sin(turns)
    result: Array = np.einsum("nij,kj->nki", np.moveaxis(np.array([[c, -s], [s, c]]), 2, 0), one).reshape(-1, 2)
    return result


def _left_about(outline: Array) -> Array:
    """Return a closed outline counterclockwise."""
    x, y = outline.T
    return outline if (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() > 0 else outline[::-1]


def thickness(first: Any, second: Any, axis: Any) -> float:
    """Return how far the bodies of two markers reach from them along an axis, m: where something on a pin is seen."""
    found = [0.0]
    for marker in (first, second):
        along = marker.rotation @ np.asarray(axis, dtype=float)
        for solid in () if marker.body.name == "ground" else of_body(marker.body, around=8):
            off = solid.corners - marker.position
            slack = 1e-6 * float(np.ptp(off, axis=0).max())
            if (off.min(axis=0) <= slack).all() and (off.max(axis=0) >= -slack).all():
                far = float(np.abs(off @ along).max())
                across = np.linalg.norm(off - np.outer(off @ along, along), axis=1).max()
                found.append(far if far < across else 0.0)  # a pin along a bar stays short
    return max(found)


def _extent(marker: Any) -> float:
    """Return how far a body's own shape reaches from a marker, m."""
    solids = () if marker.body.name == "ground" else of_body(marker.body, around=8)
    return max((float(np.linalg.norm(s.corners - marker.position, axis=1).max()) for s in solids), default=0.0)


def _covered(marker: Any, radius: float) -> bool:
    """Return whether a body's own shape shows what would be drawn about a marker with a radius, m."""
    return 0 < 0.8 * radius < _extent(marker) < 1.5 * radius


def _axis_of(element: Any, coordinate: int) -> tuple[Array, bool]:
    """Return the axis of a coordinate of a hinge, in marker axes, and whether it is turned about."""
    units = element.coordinate_units
    turning = coordinate >= len(units) or units[coordinate] != "m"
    if element.kind == "Universal":
        return np.asarray((element.axis_1, element.axis_2)[min(coordinate, 1)], dtype=float), True
    axis = getattr(element, "axis", None)
    if axis is None:
        axis = getattr(element, "normal", None)
    axis = np.array([0.0, 0.0, 1.0]) if axis is None else np.asarray(axis, dtype=float)
    if element.kind == "Planar" and not turning:
        axis = turned_z(axis)[:, coordinate % 2]
    return axis, turning


def _rest_of(element: Any) -> float:
    """Return the position at which a spring is relaxed, rad or m; zero where that is no number of its own."""
    rest = getattr(element, "rest", getattr(element, "parameters", {}).get("rest", 0.0))
    return float(rest) if isinstance(rest, int | float) else 0.0


def _upright(side: Array) -> Array:
    """Return the axes (3, 3) of a blade that stands on its edge: along it, up and aside."""
    up = np.eye(3)[2 if abs(side[2]) < 0.9 else 0]
    along = np.cross(up, side)
    along /= np.linalg.norm(along)
    return np.column_stack([along, np.cross(side, along), side])


def _zero(law: Any) -> bool:
    """Return whether a law is the number zero."""
    return getattr(law, "value", None) == 0


def _line_look(force: ForceConnection) -> str:
    """Return what an element between markers looks like."""
    element = force.element
    look = _LINES.get(element.kind, "spring" if force.places else "line")
    if element.kind not in ("SpringDamper", "HingeSpring", "TorsionSpring"):
        return look
    stiffness, damping = element.stiffness, element.damping  # type: ignore[attr-defined]
    spring, damper = (not (np.isscalar(value) and value == 0) for value in (stiffness, damping))
    return "both" if spring and damper else "damper" if damper else "spring"
