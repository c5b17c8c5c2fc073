"""Force elements along a path: through points, around cylinders and spheres, as tendons, muscles and cables run.

The law is that of any element which acts along a line; its length is that of the whole path. Between two points the
path is straight. Around a surface it is the shortest line that does not enter it, by points a and b before and behind
it, in the axes of its marker, whose z axis is that of a cylinder. With the distances ra, rb of the points from the axis
of a cylinder, or from the centre of a sphere, and the angle D from a to b:

    la = sqrt(ra^2 - r^2),    lb = sqrt(rb^2 - r^2)           lengths of the tangents                               (1)
    theta = D - atan(la/r) - atan(lb/r)                       angle of contact                                      (2)
    l = sqrt((la + r theta + lb)^2 + (bz - az)^2)             where theta > 0, without the last term for a sphere   (3)
    l = |b - a|                                               elsewhere: the path is off the surface                (4)

(3) is exact for cylinders: unrolled, the path is a straight line. As both have the same gradient at theta = 0, forces
are continuous where the path leaves the surface. Loads on all markers are the tension times the gradient of the length,
so moment arms are exact, and those on a surface are the resultant of its pressure.

Source: B. A. Garner, M. G. Pandy, The obstacle-set method for representing muscle paths in musculoskeletal models,
Comput. Methods Biomech. Biomed. Eng. 3 (2000) 1-30.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...checks import checked, finite_number, positive, set_fields
from ...errors import ModelError
from ...provenance import record_makers
from ...rotation import from_rotation_vector
from ..formulas.expressions import Formula, Program
from ..formulas.program_algebra import ProgramBuilder, Vector, transposed
from .built_in import ForceElement, SpringDamper
from .by_expressions import by_expressions
from .element import Element
from .signals import MEASURES

__all__ = ["AlongPath", "WrapCylinder", "WrapSphere"]

_NEVER = 100.0  # rad: more than any angle of contact


@record_makers
@dataclass(frozen=True, eq=False)
class WrapCylinder:
    """Cylinder around which a path runs, about the z axis of its marker, as long as needed.

    Parameters
    ----------
    radius : float, m
    side : int or None
        1: from the point before it to the point behind it the path runs counterclockwise about the z axis; -1:
        clockwise. None: the shorter way round, on whichever side that is.
    least : float, rad
        With a side: the angle D from the point before it to the point behind it counts from this angle to one turn
        more; 2 pi for a path that makes one turn more than needed.

    Examples
    --------
    >>> import dalembert as da
    >>> da.WrapCylinder(0.02, side=-1).radius
    0.02
    """

    radius: float
    side: Literal[1, -1] | None = None
    least: float = 0.0

    def __post_init__(self) -> None:
        set_fields(self, **positive("WrapCylinder", radius=self.radius))
        set_fields(self, least=finite_number(self.least, item="WrapCylinder", field="least"))
        if self.side is not None and finite_number(self.side, item="WrapCylinder", field="side") not in (1.0, -1.0):
            raise ModelError("WrapCylinder", "side", self.side, "use 1, -1, or None for the shorter way round")


@record_makers
@dataclass(frozen=True, eq=False)
class WrapSphere:
    """Sphere around which a path runs the shortest way, about the origin of its marker.

    Parameters
    ----------
    radius : float, m

    Examples
    --------
    >>> import dalembert as da
    >>> da.WrapSphere(0.02).radius
    0.02
    """

    radius: float

    def __post_init__(self) -> None:
        set_fields(self, **positive("WrapSphere", radius=self.radius))


@checked("route")
class AlongPath(Element):
    """Element that acts along a path through points and around surfaces, as tendons, muscles and cables run.

    Parameters
    ----------
    law : SpringDamper or Element
        Any element along a line: of the library (`Cable`, `SpringDamper`, `HillMuscle`, `MillardMuscle`), or with a law
        of its own, ``da.Element("distance", ...)``. Its ``s`` is the length of the path, m, its force is positive if it
        pushes.
    route : sequence
        One part for each marker, from the first to the last: ``"point"``, `WrapCylinder` or `WrapSphere`. The first
        and the last are points, and so are those before and behind a surface.

    Connect it to one marker for each part of the route, ``s.connect("biceps", da.AlongPath(law, route),
    scapula.at(...), humerus.at(...), radius.at(...))``; for a surface its centre, for a cylinder with the z axis along
    its axis.

    Parameters are those of the law, and ``radius2``, m, of the surface that is the second part, and so on. Signals:
    those of the law, ``tension``, N, ``distance``, m, the length of the path, ``distance_rate``, m/s, and ``angle2``,
    rad, the angle of contact with the surface that is the second part, zero where the path is off it. The equations are
    at the head of `connections.elements.paths`.

    A path has no friction and no mass. Points are not allowed inside of a surface: a run ends there by name.

    See Also
    --------
    moment_arms : derivatives of the length by the coordinates.

    Examples
    --------
    A weight on a cable over a fixed drum:

    >>> import numpy as np
    >>> import dalembert as da
    >>> s = da.System("drum")
    >>> weight = s.body("weight", da.sphere(0.05, mass=2.0))
    >>> _ = s.connect("guide", da.Prismatic("z"), s.ground.at(0.1, 0, 0), weight)
    >>> route = ["point", da.WrapCylinder(0.1, side=-1), "point"]
    >>> cable = da.AlongPath(da.Cable(stiffness=1e4, length=1.81), route)
    >>> drum = s.ground.at(0, 0, 1, rotation=("x", np.pi / 2))
    >>> _ = s.connect("cable", cable, s.ground.at(-0.1, 0, 0.5), drum, weight)
    >>> result = da.simulate(s, 0.5)
    >>> bool(abs(result["energy.balance"]).max() < 1e-6), round(float(result["cable.angle2"][0]), 4)
    (True, 3.1416)
    """

    is_smooth_at_half_turn: ClassVar[bool] = True
    law: ForceElement
    route: tuple[Any, ...]

    def __init__(self, law: ForceElement, route: Sequence[Any]) -> None:
        item = self.kind
        parts = _checked_route(item, route)
        if not isinstance(law, SpringDamper) and not (isinstance(law, Element) and law.measure == "distance"):
            raise ModelError(item, "law", law, "give an element that acts along a line, such as da.Cable(...)")
        along = by_expressions(item, "law", law)
        self._build(along, parts)
        set_fields(self, law=law, route=parts)

    def cause_of_failure(self, numbers: Mapping[str, float]) -> str:
        """Return which points are inside of which surfaces."""
        for k, part in enumerate(self.route):
            if part == "point":
                continue
            R = from_rotation_vector([numbers[f"r{letter}{k}"] for letter in "xyz"])
            for j in (k - 1, k + 1):
                place, center = ([numbers[f"{letter}{i}"] if i else 0.0 for letter in "xyz"] for i in (j, k))
                apart = R.T @ np.subtract(place, center)
                away = float(np.linalg.norm(apart[:2] if isinstance(part, WrapCylinder) else apart))
                if away < (radius := numbers[f"radius{k + 1}"]):
                    return (
                        f"has no path: part {j + 1} of the route is {away:.6g} m from the center of part {k + 1}, "
                        f"inside of this {type(part).__name__} of radius {radius:.6g} m; move the point or give a "
                        "smaller radius"
                    )
        return ""

    def _build(self, law: Element, route: tuple[Any, ...]) -> None:
        item = self.kind
        radii = {f"radius{k + 1}": part.radius for k, part in enumerate(route) if part != "point"}
        parameters = dict(law.parameters) | {name: float(radius) for name, radius in radii.items()}
        path = _Path(route)
        angles = {f"angle{k + 1}": path.angle(k) for k, part in enumerate(route) if part != "point"}
        own = {"tension", "distance", "distance_rate", *radii, *angles}
        if taken := sorted(own & {*law.input_names, *law.unknowns, *law.signals}):
            raise ModelError(item, "law", taken, "the path has these names too: use others in the law")
        graft = _Graft(law, path)
        measured = [3 if part == "point" else 6 for part in route[1:]]
        super().__init__(
            tuple("place" if part == "point" else "pose" for part in route[1:]),
            [Formula(functools.partial(_pull, graft, path, k)) for k in range(sum(measured))],
            parameters,
            {name: (law.starts[name], graft.result(1 + k)) for k, name in enumerate(law.states)},
            graft.result(1 + len(law.states)),
            active=law.active,
            inputs=law.inputs,
            signals={name: graft.result(2 + len(law.states) + k) for k, name in enumerate(law.signals)}
            | {"tension": graft.tension(), "distance": path.length, "distance_rate": path.rate}
            | angles,
            unknowns={name: (graft.start(k), graft.residual(k)) for k, name in enumerate(law.unknowns)},
            tables=law.tables,
        )


class _Graft:
    """Results of a law along a line, in the program of an element in which its length is that of a path."""

    def __init__(self, law: Element, path: _Path) -> None:
        self.law, self.path = law, path
        self._built: tuple[Program, list[int]] | None = None

    def result(self, k: int) -> Formula:
        """Return a result of the law: the force, rates of states, energy, signals."""
        return Formula(functools.partial(self._place, k))

    def tension(self) -> Formula:
        """Return the force by which the path pulls."""
        return Formula(self._tension)

    def _tension(self, program: Program, names: Mapping[str, int]) -> int:
        return ProgramBuilder(program).negate(self._place(0, program, names))

    def residual(self, k: int) -> Formula:
        """Return the residual of an unknown."""
        return self.result(self.law.output_count + k)

    def start(self, k: int) -> Formula:
        """Return the expression of the start of an unknown."""
        count = len(self.law.unknowns)
        return self.result(self.law.output_count + count * (1 + count) + k)

    def _place(self, k: int, program: Program, names: Mapping[str, int]) -> int:
        if self._built is None or self._built[0] is not program:
            law, path = self.law, self.path.results(program, names)
            assert law.program is not None
            given = dict(names) | {"s": path.length, "ds": path.rate}
            inputs = [given[name] for name in (*law.input_names, *law.unknowns)]
            self._built = program, ProgramBuilder(program).graft(law.program, inputs)
        return self._built[1][k]


def _pull(graft: _Graft, path: _Path, k: int, program: Program, names: Mapping[str, int]) -> int:
    """Return a component of the loads: the force along the path times the gradient of its length."""
    force = graft.result(0).build(program, names)
    return ProgramBuilder(program).multiply(force, path.results(program, names).gradient[k])


class _PathResults(NamedTuple):
    """Indices of what a path gives in a program."""

    length: int
    rate: int
    gradient: list[int]  # of the length by the motion of each marker but the first: conjugate to the measured rates
    angles: dict[int, int]


class _Path:
    """Length of a path, its gradient and angles of contact, in the program of an element."""

    def __init__(self, route: tuple[Any, ...]) -> None:
        self.route = route
        self.length = Formula(functools.partial(self._place, "length"))
        self.rate = Formula(functools.partial(self._place, "rate"))
        self._built: tuple[Program, _PathResults] | None = None

    def angle(self, k: int) -> Formula:
        """Return the angle of contact of a part of the route."""
        return Formula(functools.partial(self._angle, k))

    def _angle(self, k: int, program: Program, names: Mapping[str, int]) -> int:
        return self.results(program, names).angles[k]

    def _place(self, what: str, program: Program, names: Mapping[str, int]) -> int:
        place: int = getattr(self.results(program, names), what)
        return place

    def results(self, program: Program, names: Mapping[str, int]) -> _PathResults:
        """Return results in a program; they are added to it once."""
        if self._built is not None and self._built[0] is program:
            return self._built[1]
        on = ProgramBuilder(program)
        count = len(self.route)
        places = [on.null] + [[names[f"{letter}{k}"] for letter in MEASURES["place"][0]] for k in range(1, count)]
        forces, moments = [on.null] * count, [on.null] * count
        lengths: list[int] = []
        angles: dict[int, int] = {}
        for k, part in enumerate(self.route):
            if part != "point":
                turn = on.turn_by_vector([names[f"r{letter}{k}"] for letter in "xyz"])
                ends = [on.apply(transposed(turn), on.difference(places[j], places[k])) for j in (k - 1, k + 1)]
                span = _around(on, part, names[f"radius{k + 1}"], *ends)
                lengths.append(span.length)
                angles[k] = span.angle
                pulls = [on.apply(turn, gradient) for gradient in span.gradients]
                for j, pull in zip((k - 1, k + 1), pulls, strict=True):
                    forces[j] = on.sum(forces[j], pull)
                forces[k] = on.opposite(on.sum(*pulls))
                turns = [on.cross(end, gradient) for end, gradient in zip(ends, span.gradients, strict=True)]
                moments[k] = on.opposite(on.apply(turn, on.sum(*turns)))
            elif k and self.route[k - 1] == "point":
                between = on.difference(places[k], places[k - 1])
                lengths.append(_norm(on, between))
                pull = [on.divide(x, lengths[-1]) for x in between]
                forces[k] = on.sum(forces[k], pull)
                forces[k - 1] = on.difference(forces[k - 1], pull)
        gradient = [
            place
            for k, part in enumerate(self.route[1:], start=1)
            for place in (forces[k] if part == "point" else [*forces[k], *moments[k]])
        ]
        rates = [
            names[f"{letter}{k}"]
            for k, part in enumerate(self.route[1:], start=1)
            for letter in MEASURES["place" if part == "point" else "pose"][1]
        ]
        found = _PathResults(on.total(lengths), on.dot(gradient, rates), gradient, angles)
        self._built = program, found
        return found


def _norm(on: ProgramBuilder, vector: Vector) -> int:
    return on.program.emit("root", on.dot(vector, vector))


class _Span(NamedTuple):
    """Part of a path from one point to another around a surface, in axes of the surface."""

    length: int
    gradients: tuple[Vector, Vector]  # of the length by the places of both points
    angle: int


def _around(on: ProgramBuilder, part: Any, radius: int, a: Vector, b: Vector) -> _Span:
    emit = on.program.emit
    is_cylinder = isinstance(part, WrapCylinder)
    size = 2 if is_cylinder else 3
    squares = [on.dot(p[:size], p[:size]) for p in (a, b)]
    tangents = [emit("root", on.subtract(square, on.multiply(radius, radius))) for square in squares]
    cosine = on.dot(a[:size], b[:size])
    if is_cylinder:
        cross = on.subtract(on.multiply(a[0], b[1]), on.multiply(a[1], b[0]))
        way = on.constant(float(part.side)) if part.side else on.choose(cross, on.zero, on.constant(-1.0), on.one)
        normal = [on.zero, on.zero, way]
        sine = on.multiply(way, cross)
    else:
        product = on.cross(a, b)
        sine = _norm(on, product)
        normal = [on.divide(x, sine) for x in product]
    between = emit("arctangent2", sine, cosine)
    if is_cylinder and part.side:
        below, turn = divmod(part.least + math.pi, 2 * math.pi)  # D from -pi to pi, then from `least`
        between = on.choose(between, on.constant(turn - math.pi), on.add(between, on.constant(2 * math.pi)), between)
        between = on.add(between, on.constant(below * 2 * math.pi))
    angle = on.subtract(between, on.total(emit("arctangent2", tangent, radius) for tangent in tangents))
    length = on.add(on.add(*tangents), on.multiply(radius, angle))
    pulls: list[Vector] = []
    for p, square, tangent, sign in zip((a, b), squares, tangents, (-1.0, 1.0), strict=True):
        flat = [*p[:size], on.zero][:3]
        aside = on.scaled(on.multiply(on.constant(sign), radius), on.cross(normal, flat))
        pulls.append([on.divide(x, square) for x in on.sum(on.scaled(tangent, flat), aside)])
    if is_cylinder:
        rise = on.subtract(b[2], a[2])
        flat_length, length = length, _norm(on, [length, rise, on.zero])
        slope = on.divide(flat_length, length)
        lift = on.divide(rise, length)
        pulls = [
            [*on.scaled(slope, pull[:2]), lift if sign > 0 else on.negate(lift)]
            for pull, sign in zip(pulls, (-1.0, 1.0), strict=True)
        ]
    line = on.difference(b, a)
    # an angle that is no number, of a point inside the surface, stays none
    distance = on.choose(angle, on.constant(_NEVER), _norm(on, line), on.constant(math.nan))
    straight = [on.divide(x, distance) for x in line]

    def choose(wrapped: int, free: int) -> int:
        return on.choose(on.zero, angle, wrapped, free)

    first = [choose(x, on.negate(y)) for x, y in zip(pulls[0], straight, strict=True)]
    second = [choose(x, y) for x, y in zip(pulls[1], straight, strict=True)]
    return _Span(choose(length, distance), (first, second), choose(angle, on.zero))


def _checked_route(item: str, route: Any) -> tuple[Any, ...]:
    known = "'point', da.WrapCylinder(...) and da.WrapSphere(...)"
    if not isinstance(route, Sequence) or isinstance(route, str) or len(route) < 2:
        raise ModelError(item, "route", route, f"give one part for each marker: {known}")
    for part in route:
        if part != "point" and not isinstance(part, (WrapCylinder, WrapSphere)):
            raise ModelError(item, "route", part, f"parts are {known}")
    if len(route) - 1 > Element.most_ports:
        raise ModelError(item, "route", len(route), f"a path has up to {Element.most_ports + 1} parts")
    surfaces = [part != "point" for part in route]
    if surfaces[0] or surfaces[-1]:
        raise ModelError(item, "route", list(route), "a path begins and ends at points")
    if any(a and b for a, b in itertools.pairwise(surfaces)):
        raise ModelError(item, "route", list(route), "give a point between two surfaces")
    return tuple(route)
