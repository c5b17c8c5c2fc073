"""Ropes, belts and chains over pulleys and sprockets: elasticity, slack, creep, slip, winding, weight.

The first marker gives the plane, z = 0 of its axes; the further markers, one for each part of the route, are points of
bodies, and the centres of pulleys, whose axes are along z. Between neighbours with the signed radii r1, r2 (positive if
the rope passes counterclockwise about z, zero of a point), the vector d of the centres in the plane, and its rise h

    rho = r2 - r1,   l = sqrt(|d|^2 - rho^2),   e = (l d - rho z x d)/|d|^2,   m = z x e,   c = sqrt(l^2 + h^2)     (1)

are the length l and the direction e of the tangent in the plane, and the length c of the span. With psi the direction
of e, the rope turns on a pulley by the angle of contact theta, psi behind it less psi before it, in its sense.

A section runs from one pulley that grips the rope, or end, to the next; pulleys without friction are within it. It has
the length s, that of its spans with the arcs of those pulleys and half of the arcs of those that grip, and the unloaded
length L. With the speeds w1, w2 of the rope over the pulleys at its ends, its tension and energy are

    T = EA (s/L - 1) + D (s' + w2 - w1)/L  where it is taut and above zero, else 0,   U = EA (s - L)^2 / (2 L)      (2)

A pulley with the angular velocity omega passes rope from the section before it, 1, to that behind it, 2. Its surface
runs, seen from the middle of the arc of contact, at v = r (omega - (psi1' + psi2')/2), and the rope on it at w = v + u
with the slip u. With the strain e1 of the side from which the rope comes, the unloaded length that passes per second is

    L2' = -L1' = (v + u) / (1 + e1)                                                                                 (3)

since rope sticks where it comes on. So a belt creeps: in steady motion speeds are as (1 + e) of the sides from which it
comes (O. Reynolds 1874). It slips where the limit of Euler and Eytelwein is exceeded, in the sense of the larger of

    u = 100 u1 (T2 - E T1)+/T2,    -100 u1 (T1 - E T2)+/T1,     E = exp(mu theta / sin(groove/2))                   (4)

with tensions less the part density (rope speed)^2 that presses on no pulley, so that at the slip u1 the larger tension
exceeds the limit by 1 %; below the limit nothing slips. The power lost is EA v (e2 - e1)^2/(2 (1 + e1)) by creep and
(T2 - T1) u by slip. A pulley at an end is a drum on which the rope winds; it gives L' = v/(1 + e/2) without loss.

On a sprocket with z teeth of the pitch p, R = p/(2 sin(pi/z)), links are chords (polygon action): the arm of the chain
is R cos(f), f from -pi/z to pi/z the angle of the next roller from the place where the chain touches.

The loads are those of (2) by virtual work: T along the spans, and r (T2 - T1) about pulleys. With a density and
gravity, half of the weight of each span acts at either end of it, and T is the mean tension of a section.

Sources: J. N. Fawcett, Chain and belt drives, a review, Shock Vib. Digest 13 (1981) 5-12; R. L. Norton, Machine
Design, ch. 17 (belts); J. E. Shigley, Mechanical Engineering Design, ch. 17 (chains: chordal speed variation).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...arrays import Array
from ...checks import checked, finite_array, finite_number, not_negative, positive, set_fields, whole_number
from ...errors import ModelError
from ...provenance import record_makers
from .element import Element
from .pulley_formulas import Node, route_formulas
from .pulley_layout import Layout, layout_of

__all__ = ["BeltDrive", "ChainDrive", "Pulley", "PulleyRope", "Sprocket"]


@record_makers
@dataclass(frozen=True, eq=False)
class Pulley:
    """Pulley, sheave or drum of a rope or belt, about the z axis of its marker.

    Parameters
    ----------
    radius : float, m
        From its axis to the middle of the rope.
    side : int
        1: the rope passes it counterclockwise about z; -1: clockwise.
    friction : float
        Coefficient of friction of the rope on it. Infinite: the rope does not slip; 0: the rope slides freely and the
        rotation of the body has no effect, as of a sheave without inertia.
    groove : float, rad
        Angle between the flanks of a V groove, which press by 1 / sin(groove/2); pi is a flat face.
    least : float, rad
        The angle of contact counts from this angle to one turn more; add 2 pi for each further turn around it.

    Examples
    --------
    >>> import dalembert as da
    >>> da.Pulley(0.1, -1, friction=0.4).side
    -1
    """

    radius: float
    side: Literal[1, -1] = 1
    friction: float = math.inf
    groove: float = math.pi
    least: float = -0.5

    def __post_init__(self) -> None:
        item = "Pulley"
        set_fields(self, **positive(item, radius=self.radius))
        if finite_number(self.side, item=item, field="side") not in (1.0, -1.0):
            raise ModelError(item, "side", self.side, "use 1, counterclockwise about z, or -1")
        if self.friction != math.inf:
            set_fields(self, **not_negative(item, friction=self.friction))
        set_fields(self, least=finite_number(self.least, item=item, field="least"))
        groove = positive(item, groove=self.groove)["groove"]
        if groove > math.pi:
            raise ModelError(
                item, "groove", groove, "give the angle between the flanks in rad, up to pi of a flat face"
            )


@record_makers
@dataclass(frozen=True, eq=False)
class Sprocket:
    """Sprocket of a roller chain, about the z axis of its marker.

    Parameters
    ----------
    teeth : int
    pitch : float, m
        Of the chain.
    side : int
        1: the chain passes it counterclockwise about z; -1: clockwise.
    phase : float, rad
        Angle of a roller from the x axis of the marker.
    least : float, rad
        As of a `Pulley`.

    Examples
    --------
    >>> import dalembert as da
    >>> round(da.Sprocket(17, 0.0127).radius, 6)
    0.034558
    """

    teeth: int
    pitch: float
    side: Literal[1, -1] = 1
    phase: float = 0.0
    least: float = -0.5

    def __post_init__(self) -> None:
        item = "Sprocket"
        set_fields(self, teeth=whole_number(self.teeth, item=item, field="teeth", least=5))
        set_fields(self, **positive(item, pitch=self.pitch))
        if finite_number(self.side, item=item, field="side") not in (1.0, -1.0):
            raise ModelError(item, "side", self.side, "use 1, counterclockwise about z, or -1")
        for field in ("phase", "least"):
            set_fields(self, **{field: finite_number(getattr(self, field), item=item, field=field)})

    @property
    def radius(self) -> float:
        """Radius of the circle of the rollers, m."""
        return self.pitch / (2 * math.sin(math.pi / self.teeth))


class _OverPulleys(Element):
    """Rope, belt or chain over pulleys: what all of them have in common."""

    is_smooth_at_half_turn: ClassVar[bool] = True
    route: tuple[Any, ...]
    nodes: tuple[Node, ...]
    is_closed: bool

    def _build(
        self,
        route: Any,
        closed: bool,
        numbers: dict[str, float],
        length: float | None,
        tension: float | None,
        positions: Any,
        feed: Any = None,
        gravity: Array | None = None,
    ) -> None:
        item = self.kind
        nodes = _nodes(item, route, closed)
        if len(nodes) > self.most_ports:
            raise ModelError(item, "route", f"{len(nodes)} parts", f"one element has up to {self.most_ports}")
        if closed and not any(node.kind in ("grip", "sprocket") for node in nodes):
            raise ModelError(item, "route", list(route), "one pulley at least must have friction")
        if gravity is not None and sum(node.kind == "drum" for node in nodes) + (feed is not None) > 1:
            raise ModelError(item, "gravity", list(gravity), "a rope with weight is wound up at one end only")
        if feed is not None and nodes[0].kind != "point":
            raise ModelError(item, "feed", feed, "it is paid out at a first end that is a point; turn a drum instead")
        layout = None
        if positions is not None:
            places = finite_array(positions, (len(nodes), len(positions[0])), item=item, field="positions")
            layout = layout_of(nodes, closed, places)
            if layout.fault:
                raise ModelError(item, "positions", places.tolist(), layout.fault)
        numbers["length"] = _unloaded_length(item, numbers["stiffness"], length, tension, layout)
        formulas = route_formulas(nodes, closed, feed is not None, gravity is not None)
        for node in nodes:
            numbers |= node.parameters
        if gravity is not None:
            numbers |= {f"g{axis}": float(g) for axis, g in zip("xyz", gravity, strict=True)}
        super().__init__(
            tuple("place" if node.kind == "point" else "pose" for node in nodes),
            formulas.forces,
            numbers,
            formulas.states,
            formulas.energy,
            definitions=formulas.definitions,
            active=feed is not None,
            inputs={} if feed is None else {"feed": feed},
            signals=formulas.signals,
        )
        set_fields(self, route=tuple(route), nodes=nodes, is_closed=closed)

    def path_length(self, positions: Any) -> float:
        """Return the length, m, of its path for positions (n, 2) or (n, 3) m of its parts in axes of the first marker.

        On sprockets it is that of the links.
        """
        places = finite_array(positions, (len(self.nodes), len(positions[0])), item=self.kind, field="positions")
        layout = layout_of(self.nodes, self.is_closed, places)
        if layout.fault:
            raise ModelError(self.kind, "positions", places.tolist(), layout.fault)
        return layout.length

    def cause_of_failure(self, numbers: Mapping[str, float]) -> str:
        """Return which pulleys overlap, or that the rope is too short or wound up."""
        places = np.array([[numbers[f"{axis}{k + 1}"] for axis in "xyz"] for k in range(len(self.nodes))])
        layout = layout_of(self.nodes, self.is_closed, places, {k: numbers[k] for k in numbers if k[:6] == "radius"})
        if layout.fault:
            return f"has no path: {layout.fault}"
        return (
            f"is stretched to more than twice its unloaded length, or has none left between two of its parts: its path "
            f"is {layout.length:.6g} m long, length = {numbers['length']:.6g} m"
        )


@checked("route", "positions", "feed")
class PulleyRope(_OverPulleys):
    """Rope over any pulleys and sheaves, elastic, slack when it would push; with drums, winches and weight.

    Parameters
    ----------
    route : sequence
        One part for each marker behind the first: ``"point"``, where it is fastened, or passes as through an eye, and
        `Pulley`. A pulley at an end is a drum on which it is wound.
    stiffness : float, N
        EA.
    length : float, m
        Unloaded length between its ends; without what is on drums at first.
    damping : float, N s
        D of (2).
    tension, positions : float, N, and (n, 2) or (n, 3) m
        In place of the length: the tension where the parts have these positions in axes of the first marker. Positions
        alone are checked: pulleys that overlap, a rope that is too short.
    feed : number, law or output
        Speed, m/s, at which a winch at the first end, a point, pays out unloaded rope; negative to haul.
    slip_speed : float, m/s
        u1 of (4), for pulleys with friction.
    density : float, kg/m
        For its weight, and for the force that lifts it off pulleys at speed.
    gravity : (3,) m/s2
        In axes of the first marker, which is fixed then. Left out: no weight.

    Connect it to a marker that gives the plane and to one marker for each part, ``s.connect("rope", da.PulleyRope(
    ["point", da.Pulley(0.2), "point"], ...), s.ground, load, sheave, counterweight)``; axes of pulleys are along the z
    axis of the first marker. Parts of the route that turn together are markers of one body. Points and pulleys may be
    beside the plane: spans rise evenly then, and angles of contact are those in the plane.

    Parameters by name: stiffness, damping, length, slip_speed, density, ``radius2`` of the second part, ``friction2``
    (of the groove, mu / sin(groove/2)). States: unloaded lengths that have passed, n1, ... Signals: ``tension1``, N, of
    each section, ``distance``, m, the length of the path, ``angle2``, rad, the angle of contact at the second part,
    ``slip2``, m/s, of the rope on it. The equations are at the head of `connections.elements.pulleys`.

    Tensions of all sections are equal at the start. The element has no inertia: add density times length to what it
    moves, as armature density * length * radius**2 of a pulley's joint. Not modelled: fleet angles beyond small ones,
    bending stiffness, sag.

    Raises
    ------
    ModelError
        For a route without parts, a rope that is too short, or pulleys that overlap.

    Examples
    --------
    A mass is lifted by a counterweight over a heavy sheave:

    >>> import dalembert as da
    >>> s = da.System("hoist", gravity=(0, -9.81, 0))
    >>> sheave = s.body("sheave", da.cylinder(0.02, 0.1, mass=4.0))
    >>> one, two = s.body("one", mass=3.0, inertia=(1, 1, 1)), s.body("two", mass=5.0, inertia=(1, 1, 1))
    >>> _ = s.connect("axle", da.Revolute("z"), s.ground, sheave)
    >>> _ = s.connect("left", da.Prismatic("y"), s.ground.at(0.1, -1, 0), one)
    >>> _ = s.connect("right", da.Prismatic("y"), s.ground.at(-0.1, -1, 0), two)
    >>> places = [(0.1, -1), (0, 0), (-0.1, -1)]
    >>> rope = da.PulleyRope(["point", da.Pulley(0.1), "point"], 1e6, tension=36.0, positions=places, damping=1e4)
    >>> _ = s.connect("rope", rope, s.ground, one, sheave, two)
    >>> result = da.simulate(s, 0.5)
    >>> round(float(result["left.speed"][-1]), 2)  # (5 - 3)/(5 + 3 + 4/2) g t
    0.98
    """

    def __init__(
        self,
        route: Sequence[Any],
        stiffness: float,
        length: float | None = None,
        *,
        damping: float = 0.0,
        tension: float | None = None,
        positions: Any = None,
        feed: Any = None,
        slip_speed: float = 0.1,
        density: float = 0.0,
        gravity: Sequence[float] | None = None,
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness, slip_speed=slip_speed)
        numbers |= not_negative(item, damping=damping, density=density)
        weight = None if gravity is None else finite_array(gravity, (3,), item=item, field="gravity")
        if weight is not None and density == 0.0:
            raise ModelError(item, "density", density, "a rope with gravity needs one, kg/m")
        self._build(route, False, numbers, length, tension, positions, feed, weight)


@checked("route", "positions")
class BeltDrive(_OverPulleys):
    """Belt around pulleys, flat or V, with creep and slip; or a rope that is closed.

    Parameters
    ----------
    route : sequence of Pulley
        In the order in which the belt passes them; one for each marker behind the first. Sides that differ make a
        crossed belt, or a tensioner on its back.
    stiffness : float, N
        EA.
    length : float, m
        Unloaded length.
    damping : float, N s
        D of (2).
    tension, positions : float, N, and (n, 2) m
        In place of the length: the tension at rest where the centres of the pulleys have these positions in axes of the
        first marker. Positions alone are checked: pulleys that overlap, a belt that is too short.
    slip_speed : float, m/s
        u1 of (4).
    density : float, kg/m
        For the force that lifts the belt off its pulleys at speed.

    Connect it to a marker that gives the plane and to one marker for each pulley, ``s.connect("belt", da.BeltDrive(
    [da.Pulley(0.1, friction=0.3), da.Pulley(0.2, friction=0.3)], ...), housing, motor, fan)``; axes of pulleys are
    along the z axis of the first marker. Parameters, states and signals are as of `PulleyRope`. The equations are at
    the head of `connections.elements.pulleys`.

    Raises
    ------
    ModelError
        For fewer than two pulleys, pulleys that overlap, or a belt that is too short.

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> pulleys = [da.Pulley(0.05, friction=0.3), da.Pulley(0.1, friction=0.3)]
    >>> belt = da.BeltDrive(pulleys, 1e5, tension=200.0, positions=[(0, 0), (0.4, 0)])
    >>> round(belt.parameters["length"], 6)  # 2 sqrt(C^2 - d^2) + pi (R + r) + 2 d asin(d/C), less 0.2 %
    1.274947
    """

    def __init__(
        self,
        route: Sequence[Any],
        stiffness: float,
        length: float | None = None,
        *,
        damping: float = 0.0,
        tension: float | None = None,
        positions: Any = None,
        slip_speed: float = 0.1,
        density: float = 0.0,
    ) -> None:
        numbers = positive(self.kind, stiffness=stiffness, slip_speed=slip_speed)
        numbers |= not_negative(self.kind, damping=damping, density=density)
        if any(isinstance(part, Sprocket) for part in route):
            raise ModelError(self.kind, "route", list(route), "use da.ChainDrive for sprockets")
        self._build(route, True, numbers, length, tension, positions)


@checked("route", "positions")
class ChainDrive(_OverPulleys):
    """Roller chain around sprockets, with polygon action and slack.

    Parameters
    ----------
    route : sequence of Sprocket
        In the order in which the chain passes them; one for each marker behind the first. A `Pulley` with friction 0 is
        a smooth guide or tensioner.
    stiffness : float, N
        EA.
    links : int
        Number of links; the length of the chain is that many pitches. Left out: as many as fit with the positions, an
        even number.
    damping : float, N s
        D of (2).
    positions : (n, 2) m
        Of the centres in axes of the first marker, for the number of links and for checks: sprockets that overlap, a
        chain that is too short.

    Connect it as a `BeltDrive`. Parameters, states and signals are as there; ``length``, m, is that of the whole chain.
    The speed of a chain from a sprocket that turns evenly varies between R omega cos(pi/z) and R omega. Rollers meet
    the teeth without impact, and the chain is straight between sprockets.

    Raises
    ------
    ModelError
        For fewer than two sprockets, different pitches, sprockets that overlap, or a chain that is too short.

    Examples
    --------
    >>> import dalembert as da
    >>> sprockets = [da.Sprocket(17, 0.0127), da.Sprocket(38, 0.0127)]
    >>> chain = da.ChainDrive(sprockets, 5e5, positions=[(0, 0), (0.5, 0)])
    >>> chain.links
    108
    """

    links: int

    def __init__(
        self,
        route: Sequence[Any],
        stiffness: float,
        links: int | None = None,
        *,
        damping: float = 0.0,
        positions: Any = None,
    ) -> None:
        item = self.kind
        numbers = positive(item, stiffness=stiffness, slip_speed=1.0) | not_negative(item, damping=damping, density=0.0)
        pitches = {part.pitch for part in route if isinstance(part, Sprocket)}
        if len(pitches) != 1:
            raise ModelError(item, "pitch", sorted(pitches), "give sprockets of one pitch")
        if any(isinstance(part, Pulley) and part.friction != 0.0 for part in route):
            raise ModelError(item, "route", list(route), "guides of a chain are da.Pulley(radius, side, friction=0)")
        pitch = pitches.pop()
        nodes = _nodes(item, route, True)
        if links is not None:
            links = whole_number(links, item=item, field="links", least=6)
        elif positions is None:
            raise ModelError(item, "links", links, "give the number of links, or the positions of the sprockets")
        else:
            places = finite_array(positions, (len(nodes), len(positions[0])), item=item, field="positions")
            layout = layout_of(nodes, True, places)
            if layout.fault:
                raise ModelError(item, "positions", places.tolist(), layout.fault)
            links = 2 * math.ceil(layout.length / (2 * pitch) - 1e-6)
        self._build(route, True, numbers, links * pitch, None, positions)
        set_fields(self, links=links)


def _nodes(item: str, route: Any, closed: bool) -> tuple[Node, ...]:
    """Return the parts of a route in the form that formulas are built from."""
    known = "da.Pulley(...)" + (" and da.Sprocket(...)" if item == "ChainDrive" else "" if closed else " and 'point'")
    if not isinstance(route, Sequence) or isinstance(route, str) or len(route) < 2:
        raise ModelError(item, "route", route, f"give two parts or more, one for each marker behind the first: {known}")
    nodes: list[Node] = []
    for k, part in enumerate(route):
        number, inner = k + 1, closed or 0 < k < len(route) - 1
        if part == "point" and not closed:
            nodes.append(Node("point", number))
        elif isinstance(part, Sprocket) and closed:
            turn = {"least": part.least, "phase": part.phase}
            nodes.append(Node("sprocket", number, part.side, part.radius, teeth=part.teeth, **turn))
        elif isinstance(part, Pulley):
            friction = part.friction / math.sin(part.groove / 2)
            kind = "grip" if part.friction > 0 else "free"
            nodes.append(Node(kind if inner else "drum", number, part.side, part.radius, friction, part.least))
        else:
            raise ModelError(item, "route", part, f"parts are {known}")
    return tuple(nodes)


def _unloaded_length(
    item: str, stiffness: float, length: float | None, tension: float | None, layout: Layout | None
) -> float:
    """Return the unloaded length, as given or by the tension in a layout."""
    if (length is None) == (tension is None):
        raise ModelError(item, "length", length, "give the unloaded length, or tension= and positions=")
    if length is not None:
        length = positive(item, length=length)["length"]
        if layout is not None and layout.length > 1.2 * length:
            raise ModelError(
                item, "length", length, f"it is too short: the path around its pulleys is {layout.length:.6g} m long"
            )
        return length
    if layout is None:
        raise ModelError(item, "positions", None, "with tension= give positions= of all parts")
    return layout.length / (1 + not_negative(item, tension=tension)["tension"] / stiffness)
