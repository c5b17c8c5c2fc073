"""Linkages from a drawing: named points, links, and joints at shared points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.body import Body
from ..bodies.markers import Marker
from ..checks import checked, finite_number
from ..connections.joints import Joint, Prismatic, Revolute
from ..errors import ModelError
from ..rotation import axis_angle
from ..system import System
from .linkage_input import Drawing
from .sketch_solver import closed_drawing

__all__ = ["linkage"]


_ITEM = "linkage"


@checked("sliders", "joints")
def linkage(
    points: Mapping[str, ArrayLike],
    links: Mapping[str, Sequence[str]],
    *,
    ground: Sequence[str] = (),
    sliders: Mapping[str, tuple[str, Any]] | None = None,
    lengths: Mapping[Any, float] | None = None,
    joints: Mapping[str, Joint | tuple[Joint, Any]] | None = None,
    mass: float | Mapping[str, float] | None = None,
    plane: str = "xy",
    gravity: ArrayLike | None = None,
    name: str = "linkage",
) -> System:
    """Build a linkage from a drawing of named points and links.

    Parameters
    ----------
    points : dict of str to (2,) m
        Positions of the points at the start; (3,) m for a linkage in space.
    links : dict of str to sequence of str
        Points of each link, one or more: a sequence of names, or a string of points with one letter each. A point of
        several links is a joint between them; a point of one link alone is a marker.
    ground : sequence of str
        Points that do not move.
    sliders : dict of str to (str, direction)
        Guide and direction of each slider. A sliding point gets a block of its own. A sliding link does not turn on
        its guide. The guide is a link or ``"ground"``; the direction is (2,) in the drawing, or the name of a point of
        the guide on the line of the slide.
    lengths : dict of (str, str) to float, m
        Distances of points of one link, or, by the name of a link of two points, its length. The drawing is then a
        sketch: the linkage takes the nearest position with these distances. Distances that are not given are those of
        the drawing.
    joints : dict of str to Joint or (Joint, position)
        Joints other than revolutes across the plane, with axes in the drawing (world axes). Their coordinates are zero
        in the drawing, or as given with the joint: ``(da.Revolute("y"), 0.3)``. In space every point of several links
        needs one.
    mass : float or dict of str to float
        A number: mass per length, kg/m, of slender rods between successive points of a link (three points and more:
        around them). A dict: mass of links and blocks, kg; others have none. None: bodies without mass, for
        `kinematics`.
    plane : str
        ``"xy"``, ``"xz"`` or ``"yz"``: the plane of the drawing, its first axis to the right.
    gravity : (3,) m/s2
        Default 9.81 downward in the drawing, in space along -z.
    name : str
        Of the system.

    Names, for a point P and links a, b, c in the order in which they are given:

    ============================  ===============================================================================
    body ``a``                    origin at its first point; at angle zero the second one is to the right of it
    marker ``a.P``, ``ground.P``  every point of every link, so that ``"a.P.position"`` is an output
    joint ``P``                   of two links; from ground, or from the first link, to the other
    joints ``P_b``, ``P_c``       of three links and more: from ground, or from the first link, to each other
    joint ``P_slide``             of a sliding point, from the guide to the body ``P_block``, on which links are jointed
    joint ``a_slide``             of a sliding link
    ============================  ===============================================================================

    Angles are counterclockwise in the drawing: that of a joint on ground is the angle of its link from the first axis.
    The coordinate of a slider is its distance from the named point of the guide, positive towards its drawn position.
    With a direction, it is the distance from the projection of the guide's first point (the origin of the drawing, for
    ground) onto the line. In space the axes of bodies are initially parallel to those of the world. Start values are
    guesses that close the loops, so that ``s.initial("A", position=...)`` moves the linkage from the drawing to another
    position.

    Raises
    ------
    ModelError
        If points are missing, coincide within a link or belong to no link; if a link is not connected to ground; if no
        position has the given `lengths`.

    Examples
    --------
    Hoeken's four-bar, whose coupler point P moves nearly on a line for 180 degrees of the crank:

    >>> import dalembert as da
    >>> s = da.linkage(
    ...     {"O": (0, 0), "C": (2, 0), "A": (-1, 0), "B": (0.5, 2), "P": (2, 4)},
    ...     {"crank": "OA", "coupler": "ABP", "rocker": "CB"},
    ...     ground="OC",
    ...     mass=1.0,
    ... )
    >>> list(s.connections), da.mobility(s).mobility
    (['O', 'C', 'A', 'B'], 1)
    """
    if lengths is not None and not isinstance(lengths, Mapping):
        raise ModelError("linkage", "lengths", lengths, "give a dict of links or pairs of points to lengths, m")
    drawing = Drawing.of(points, links, ground, sliders or {}, joints or {}, plane)
    if lengths:
        lines = {p: drawing.direction(p) for p in drawing.sliders if p in drawing.points}
        fixed = {p for link, members in drawing.links.items() for p in members if link == "ground"}
        drawing.points = closed_drawing(drawing.points, drawing.links, fixed, lengths, lines, drawing.sliders)
        drawing.check_links()
    down = -9.81 * drawing.axes[:, -1] if gravity is None else gravity
    system = System(name, gravity=down)
    bodies = _bodies(system, drawing)
    _add_masses(bodies, mass, drawing)
    _connect(system, drawing, bodies)
    return system


@dataclass
class _Placed:
    """Body with its drawn pose: origin (3,), rotation (3, 3), angle rad."""

    body: Body
    origin: Array
    rotation: Array
    angle: float

    def local(self, point: Array) -> Array:
        return np.asarray(self.rotation.T @ (point - self.origin))

    def at(self, point: Array, rotation: Array | None = None) -> Marker:
        """Return the marker at a point of the world, with axes (3, 3) of the world if given."""
        R = None if rotation is None else self.rotation.T @ rotation
        return self.body.at(*self.local(point), rotation=R)


def _bodies(system: System, drawing: Drawing) -> dict[str, _Placed]:
    """Add the bodies of links and blocks, with their markers."""
    E, points = drawing.axes, drawing.points
    placed = {"ground": _Placed(system.ground, np.zeros(3), np.eye(3), 0.0)}
    for link, own in drawing.links.items():
        if link != "ground":
            along = points[own[1]] - points[own[0]] if len(own) > 1 and not drawing.spatial else (1.0, 0.0)
            angle = float(np.arctan2(along[1], along[0]))
            R = np.eye(3) if drawing.spatial else axis_angle(drawing.normal, angle)
            placed[link] = _Placed(system.body(link), E @ points[own[0]], R, angle)
        for p in own:
            placed[link].body.marker(p, *placed[link].local(E @ points[p]))
    for p, (guide, _) in drawing.sliders.items():
        if p in points:
            base = placed[guide]
            placed[f"{p}_block"] = _Placed(system.body(f"{p}_block"), E @ points[p], base.rotation, base.angle)
    return placed


def _connect(system: System, drawing: Drawing, bodies: dict[str, _Placed]) -> None:
    E = drawing.axes
    for p, x in drawing.points.items():
        first, *others = drawing.joined(p)
        for other in others:
            name, joint = (p if len(others) == 1 else f"{p}_{other}"), drawing.joints.get(p)
            if joint is not None:
                element, start = joint
                turn = element.pose(start)[0]
                system.connect(name, element, bodies[first].at(E @ x, np.eye(3)), bodies[other].at(E @ x, turn))
                system.initial(name, position=start, guess=True)
                continue
            ends = (_named(bodies[first], p, E @ x), _named(bodies[other], p, E @ x))
            system.connect(name, Revolute(drawing.normal), *ends)
            angle = math.remainder(bodies[other].angle - bodies[first].angle, 2 * math.pi)
            system.initial(name, position=angle, guess=True)
    for what, (guide, _) in drawing.sliders.items():
        here, along, zero = drawing.reference(what), drawing.direction(what), drawing.zero(what)
        mover = bodies[f"{what}_block" if what in drawing.points else what]
        R = bodies[guide].rotation
        axis = R.T @ (E @ along)
        system.connect(f"{what}_slide", Prismatic(axis), bodies[guide].at(E @ zero), mover.at(E @ here, R))
        system.initial(f"{what}_slide", position=float((here - zero) @ along), guess=True)


def _named(placed: _Placed, p: str, point: Array) -> Marker:
    return placed.body.markers.get(p) or placed.at(point)


def _add_masses(bodies: dict[str, _Placed], mass: Any, drawing: Drawing) -> None:
    if mass is None:
        return
    per_length = None if isinstance(mass, Mapping) else finite_number(mass, item=_ITEM, field="mass")
    if per_length is not None and per_length < 0:
        raise ModelError(_ITEM, "mass", mass, "a mass per length, kg/m, must not be negative")
    if per_length is None:
        for link in mass:
            if link not in bodies or link == "ground":
                raise ModelError(_ITEM, "mass", link, f"it is no body: {', '.join(b for b in bodies if b != 'ground')}")
    for link, placed in bodies.items():
        if link == "ground":
            continue
        own = drawing.links.get(link, ())
        rods = _rods([placed.local(drawing.axes @ drawing.points[p]) for p in own])
        total = sum(float(np.linalg.norm(b - a)) for a, b in rods)
        body = placed.body
        if per_length is not None:
            body.mass = per_length * total
        else:
            body.mass = finite_number(mass.get(link, 0.0), item=f"link {link!r}", field="mass")
        body.validate()
        if rods and body.mass:
            body.com, body.inertia = _of_rods(rods, body.mass / total)


def _rods(points: list[Array]) -> list[tuple[Array, Array]]:
    """Return the rods of a link: around its points, or between the outermost if they are collinear."""
    if len(points) < 3:
        return [(points[0], points[1])] if len(points) == 2 else []
    cloud = np.array(points)
    away = cloud - cloud[0]
    far = away[np.linalg.norm(away, axis=1).argmax()]
    along = far / np.linalg.norm(far)
    travel = away @ along
    if np.linalg.norm(away - np.outer(travel, along), axis=1).max() < 1e-9 * np.linalg.norm(far):
        return [(points[int(travel.argmin())], points[int(travel.argmax())])]
    return list(zip(points, [*points[1:], points[0]], strict=True))


def _of_rods(rods: list[tuple[Array, Array]], per_length: float) -> tuple[Array, Array]:
    """Return centre of mass (3,) m and inertia (3, 3) kg m2 about it of slender rods."""
    masses = [per_length * float(np.linalg.norm(b - a)) for a, b in rods]
    com = sum(m * (a + b) / 2 for m, (a, b) in zip(masses, rods, strict=True)) / sum(masses)
    S = np.zeros((3, 3))
    for m, (a, b) in zip(masses, ((a - com, b - com) for a, b in rods), strict=True):
        S += m / 6 * (2 * np.outer(a, a) + 2 * np.outer(b, b) + np.outer(a, b) + np.outer(b, a))
    return np.asarray(com), np.trace(S) * np.eye(3) - S
