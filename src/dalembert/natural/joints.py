"""Joints, angles and distances in natural coordinates, as rows in addition to shared points and vectors.

A revolute joint in the plane and a spherical joint are a shared point; a revolute joint in space is a shared point and
a shared vector, or two shared points. Other joints are quadratic rows. A cross product in space has one redundant row,
because the row that can be left out depends on the position; systems are solved in the least-squares sense.

A `direction` is the name of a vector, or a pair of points: from the first to the second. Constants that are not given
are those of the described positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..arrays import Array
from ..checks import finite_number, one_of, positive
from ..errors import ModelError
from .bodies import NaturalBody
from .equations import AXES, Coordinate
from .terms import Direction, Row, Term, component_of, constant, cosine, cross, dot, linear, sine, triple

__all__ = ["Joints"]

DirectionLike = str | tuple[str, str]


class Joints:
    """Joints, angles and distances of a `Mechanism`."""

    dimension: int
    coordinates: dict[str, Coordinate]
    bodies: dict[str, NaturalBody]
    demands: dict[str, int]
    looks: list[tuple[str, str, str, DirectionLike | None]]
    _counted_on: dict[frozenset[str], float]

    def _add(self, rows: list[Row]) -> None:
        raise NotImplementedError

    def _new(self, name: str, kind: str, value: Array, fixed: bool = False) -> None:
        raise NotImplementedError

    def _demand(self, name: str, count: int) -> None:
        """Store the degrees of freedom that a joint removes, for the Gruebler count."""
        self.demands[name] = count

    # -- checked arguments

    def _values(self) -> dict[str, Array]:
        return {name: c.value for name, c in self.coordinates.items()}

    def _point(self, name: str, item: str) -> str:
        found = self.coordinates.get(name) if isinstance(name, str) else None
        if found is None or found.kind != "point":
            known = ", ".join(repr(c.name) for c in self.coordinates.values() if c.kind == "point") or "none so far"
            raise ModelError(item, "point", name, f"name a point of the mechanism: {known}")
        return name

    def _direction(self, given: DirectionLike, item: str) -> Direction:
        if isinstance(given, str):
            found = self.coordinates.get(given)
            if found is None or found.kind != "vector":
                raise ModelError(item, "direction", given, "name a vector, or give a pair of points")
            return Direction.along(given)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise ModelError(item, "direction", given, "name a vector, or give a pair of points")
        tail, tip = (self._point(name, item) for name in given)
        way = Direction.between(tail, tip)
        if not np.linalg.norm(way.value(self._values())) > 0.0:
            raise ModelError(item, "direction", given, "the two points coincide and define no direction")
        return way

    def _shape(self, *directions: Direction) -> list[Array]:
        """Return directions in the body that has all of them; as described if there is none."""
        names = {name for d in directions for _, tip, tail in d.parts for name in (tip, tail) if name is not None}
        for body in self.bodies.values():
            if names <= {*body.points, *body.vectors}:
                return [d.value({**body.points, **body.vectors}) for d in directions]
        return [d.value(self._values()) for d in directions]

    def _sizes(self, *directions: Direction) -> list[float]:
        """Return lengths, of bodies rather than of described positions; bodies added later must agree with them."""
        found = []
        for d in directions:
            size = float(np.linalg.norm(self._shape(d)[0]))
            if d.power and len(d.parts) == 1:
                self._counted_on[frozenset((d.parts[0][1], str(d.parts[0][2])))] = size
            found.append(size)
        return found

    def _scalar(self, name: str, item: str) -> tuple[str, int]:
        """Return the coordinate and component of a scalar such as "psi" or "1.x"."""
        found = self.coordinates.get(name)
        if found is not None and len(found.value) == 1:
            return name, 0
        owner, _, axis = name.rpartition(".") if isinstance(name, str) else ("", "", "")
        if owner in self.coordinates and axis in AXES[: len(self.coordinates[owner].value)] and axis:
            return owner, AXES.index(axis)
        raise ModelError(item, "coordinate", name, "name an angle, a distance, or a component such as '1.x'")

    # -- constant products

    def constant_dot(self, name: str, first: DirectionLike, second: DirectionLike, value: float | None = None) -> None:
        """Keep the scalar product of two directions constant, m2, m or 1.

        The row loses rank where the directions are parallel: use `constant_cross` there.
        """
        item = f"constant_dot {name!r}"
        A, B = self._direction(first, item), self._direction(second, item)
        values = self._values()
        a, b = A.value(values), B.value(values)
        if value is None:
            value = float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b)) * math.prod(self._sizes(A, B))
        kept = value
        self._demand(name, 1)
        terms = (*dot(A, B, self.dimension), *constant(-finite_number(kept, item=item, field="value")))
        self._add([Row(name, terms, A.power + B.power)])

    def constant_cross(
        self, name: str, first: DirectionLike, second: DirectionLike, value: Sequence[float] | float | None = None
    ) -> None:
        """Keep the vector product of two directions constant: one row in the plane, three in space; 0 for parallel."""
        item = f"constant_cross {name!r}"
        A, B = self._direction(first, item), self._direction(second, item)
        size = self.dimension
        components = (2,) if size == 2 else (0, 1, 2)
        a, b = (np.resize(np.append(d.value(self._values()), [0.0] * (3 - size)), 3) for d in (A, B))
        if value is None:
            whole = math.prod(self._sizes(A, B)) / float(np.linalg.norm(a) * np.linalg.norm(b))
            value = [float(x) for x in whole * np.cross(a, b)[list(components)]]
        self._demand(name, self.dimension - 1)
        kept = np.broadcast_to(value, (len(components),))
        rows = []
        for c, k in zip(components, kept, strict=True):
            label = name if size == 2 else f"{name}.{AXES[c]}"
            rows.append(Row(label, (*cross(A, B, c), *constant(-float(k))), A.power + B.power))
        self._add(rows)

    def coincident(self, name: str, first: str, second: str) -> None:
        """Let two points coincide: a spherical joint, in the plane a revolute joint, without a shared point."""
        item = f"coincident {name!r}"
        d = Direction.between(self._point(first, item), self._point(second, item))
        self._demand(name, self.dimension)
        self._add([Row(f"{name}.{AXES[k]}", tuple(component_of(d, k)), 1) for k in range(self.dimension)])

    def combination(self, name: str, direction: DirectionLike, others: Sequence[DirectionLike]) -> None:
        """Keep a direction a constant linear combination of one, two or three others, component by component."""
        item = f"combination {name!r}"
        m, base = self._direction(direction, item), [self._direction(d, item) for d in others]
        values = self._values()
        columns, r = np.array([d.value(values) for d in base]).T, m.value(values)
        c = np.linalg.lstsq(columns, r, rcond=None)[0]
        if float(np.linalg.norm(columns @ c - r)) > 1e-9 * float(np.linalg.norm(r)):
            raise ModelError(item, "others", others, f"{direction!r} is no combination of these as described")
        # the unit norm of a vector is a row already
        self._demand(name, self.dimension - (m.power == 0))
        rows = []
        for k in range(self.dimension):
            terms = component_of(m, k)
            for d, factor in zip(base, c, strict=True):
                terms += component_of(d, k, -float(factor))
            rows.append(Row(f"{name}.{AXES[k]}", tuple(terms), m.power))
        self._add(rows)

    # -- joints

    def slot(self, name: str, pin: str, start: str, along: DirectionLike) -> None:
        """Keep a point on a line through `start`: a slot, a slider on a rod, a cylindrical joint with a shared vector.

        (r_pin - r_start) x d = 0.
        """
        item = f"slot {name!r}"
        d = self._direction(along, item)
        way = Direction.between(self._point(start, item), self._point(pin, item))
        self._demand(name, self.dimension - 1)
        self.looks.append(("slot", pin, start, along))
        components = (2,) if self.dimension == 2 else (0, 1, 2)
        rows = []
        for c in components:
            label = name if self.dimension == 2 else f"{name}.{AXES[c]}"
            rows.append(Row(label, tuple(cross(way, d, c)), way.power + d.power))
        self._add(rows)

    cylindrical = slot

    def prismatic(
        self, name: str, pin: str, start: str, along: DirectionLike, first: DirectionLike, second: DirectionLike
    ) -> None:
        """Add a prismatic joint: one body slides on a line of another without rotation.

        Parameters
        ----------
        name : str
        pin : str
            A point of the sliding body on the line.
        start, along : str, direction
            The line, in the other body.
        first, second : directions
            One in each body, with a constant angle between them; in space both across the line, best perpendicular to
            it. The row uses sine or cosine of the angle, whichever keeps its rank.
        """
        item = f"prismatic {name!r}"
        self.slot(name, pin, start, along)
        a, b = (self._direction(d, item).value(self._values()) for d in (first, second))
        lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
        if self.dimension == 2 and abs(float(a @ b)) > math.sqrt(0.5) * lengths:
            self.constant_cross(f"{name}: angle", first, second)
        elif self.dimension == 2 or abs(float(a @ b)) < 0.99 * lengths:
            self.constant_dot(f"{name}: angle", first, second)
        else:
            raise ModelError(item, "first, second", (first, second), "in space, use directions that are not parallel")

    def universal(self, name: str, first: DirectionLike, second: DirectionLike, angle: float | None = None) -> None:
        """Keep the angle (rad) between the axes of two bodies that share a point constant."""
        if angle is not None:
            item = f"universal {name!r}"
            lengths = self._sizes(*(self._direction(d, item) for d in (first, second)))
            self.constant_dot(name, first, second, math.cos(angle) * math.prod(lengths))
        else:
            self.constant_dot(name, first, second)

    def planar(self, name: str, point: str, start: str, normal: DirectionLike) -> None:
        """Keep a point in a plane through `start`, or parallel to it; bodies that share the normal remain parallel."""
        item = f"planar {name!r}"
        n = self._direction(normal, item)
        d = Direction.between(self._point(start, item), self._point(point, item))
        self._demand(name, 1)
        height = float(d.value(self._values()) @ n.value(self._values()))
        self._add([Row(name, (*dot(d, n, self.dimension), *constant(-height)), 1 + n.power)])

    def helical(self, name: str, pin: str, start: str, along: str, angle: str, pitch: float) -> None:
        """Couple displacement along a shared vector to an angle coordinate, by `pitch` (m per turn)."""
        item = f"helical {name!r}"
        self.slot(name, pin, start, along)
        u = self._direction(along, item)
        d = Direction.between(start, pin)
        psi, _ = self._scalar(angle, item)
        values = self._values()
        self._demand(f"{name}: lead", 1)
        lead = finite_number(pitch, item=item, field="pitch") / (2 * math.pi)
        start_at = float(d.value(values) @ u.value(values)) - lead * float(values[psi][0])
        terms = (*dot(d, u, self.dimension), *linear(psi, 0, -lead), *constant(-start_at))
        self._add([Row(f"{name}: lead", terms, 1)])

    def relation(self, name: str, factors: Mapping[str, float], value: float | None = None) -> None:
        """Keep a linear combination of angles, distances or components such as ``"1.x"`` constant."""
        item = f"relation {name!r}"
        terms: list[Term] = []
        total, power = 0.0, 0
        for coordinate, factor in dict(factors).items():
            owner, component = self._scalar(coordinate, item)
            f = finite_number(factor, item=item, field=f"factors[{coordinate!r}]")
            terms += linear(owner, component, f)
            total += f * float(self.coordinates[owner].value[component])
            power = max(power, self.coordinates[owner].power)
        self._demand(name, 1)
        kept = total if value is None else finite_number(value, item=item, field="value")
        self._add([Row(name, (*terms, *constant(-kept)), power)])

    def gear(self, name: str, first: str, second: str, radii: tuple[float, float], *, inside: bool = False) -> None:
        """Mesh two gear wheels whose angles, relative to the common carrier, are coordinates; radii in m."""
        r = positive(f"gear {name!r}", first=radii[0], second=radii[1])
        self.relation(name, {first: r["first"], second: -r["second"] if inside else r["second"]})

    def rack(self, name: str, distance: str, angle: str, radius: float) -> None:
        """Couple a distance to an angle by `radius` (m per rad): rack and pinion, a wheel on a line."""
        self.relation(name, {distance: 1.0, angle: -finite_number(radius, item=f"rack {name!r}", field="radius")})

    def cable(self, name: str, path: Sequence[str], length: float | None = None) -> None:
        """Add an inextensible cable through points; the inner ones are small pulleys.

        Its length (m) is a coordinate, fixed unless it is driven: ``drive(name, law)`` winds it up. The
        pieces are distances ``name.1``, ``name.2``, ...
        """
        item = f"cable {name!r}"
        if len(path) < 2:
            raise ModelError(item, "path", path, "give two points or more")
        pieces = []
        for k, ends in enumerate(pairwise(path), start=1):
            self.distance(f"{name}.{k}", *ends)
            pieces.append(f"{name}.{k}")
        total = sum(float(self.coordinates[piece].value[0]) for piece in pieces)
        given = total if length is None else positive(item, length=length)["length"]
        self._new(name, "distance", np.array([given]), fixed=True)
        self.relation(f"{name}: length", {**dict.fromkeys(pieces, 1.0), name: -1.0}, 0.0)

    # -- mixed coordinates

    def angle(
        self,
        name: str,
        first: DirectionLike,
        second: DirectionLike,
        *,
        axis: DirectionLike | None = None,
        form: str = "both",
    ) -> None:
        """Add the angle (rad) from one direction to another as a coordinate.

        Parameters
        ----------
        name : str
        first, second : directions
            Of constant length.
        axis : direction
            In space, the axis of rotation; its angles with both directions are constant.
        form : str
            ``"both"``: rows of cosine and sine, of full rank everywhere. ``"switch"``: the one of them that changes
            faster, the cosine from pi/4 to 3 pi/4 and opposite, the sine elsewhere; no redundant row, and full rank.
            ``"cosine"`` alone loses rank at 0 and pi, ``"sine"`` at plus and minus pi/2.
        """
        item = f"angle {name!r}"
        one_of(item, "form", form, ("both", "switch", "cosine", "sine"))
        values = self._values()
        A, B = self._direction(first, item), self._direction(second, item)
        a, b = A.value(values), B.value(values)
        if self.dimension == 2:
            if axis is not None:
                raise ModelError(item, "axis", axis, "in the plane the axis is the normal: leave it out")
            arms, along = math.prod(self._sizes(A, B)), 0.0
            turned = math.atan2(float(a[0] * b[1] - a[1] * b[0]), float(a @ b))
            across = cross(A, B, 2)
        else:
            if axis is None:
                raise ModelError(item, "axis", axis, "in space an angle needs an axis: a vector, or a pair of points")
            E = self._direction(axis, item)
            (size,) = self._sizes(E)
            E = Direction(tuple((f / size, tip, tail) for f, tip, tail in E.parts), 0)
            u = E.value(values)
            u /= np.linalg.norm(u)
            sides, heights = [], []
            for arm in (A, B):
                d, e = self._shape(arm, E)
                self._sizes(arm)
                heights.append(float(d @ e) / float(np.linalg.norm(e)))
                sides.append(math.sqrt(max(0.0, float(d @ d) - heights[-1] ** 2)))
            arms, along = math.prod(sides), math.prod(heights)
            turned = math.atan2(float(u @ np.cross(a, b)), float(a @ b) - float((a @ u) * (b @ u)))
            across = triple(E, A, B)
        if not arms > 1e-9 * float(np.linalg.norm(a) * np.linalg.norm(b)):
            raise ModelError(item, "first, second", (first, second), "one of them is along the axis: there is no angle")
        self._new(name, "angle", np.array([turned]))
        power = A.power + B.power
        by_cosine = Row(f"{name}: cosine", (*dot(A, B, self.dimension), *constant(-along), *cosine(name, -arms)), power)
        by_sine = Row(f"{name}: sine", (*across, *sine(name, -arms)), power)
        if form == "switch":
            by_cosine, by_sine = replace(by_cosine, only=(name, "cosine")), replace(by_sine, only=(name, "sine"))
        both = [by_cosine, by_sine]
        self._add({"both": both, "switch": both, "cosine": [by_cosine], "sine": [by_sine]}[form])

    def distance(self, name: str, first: str, second: str, *, along: str | None = None) -> None:
        """Add the distance (m) between two points as a coordinate; along a vector, with a sign.

        Along a vector the second point remains on the line through the first: r2 - r1 = s u.
        """
        item = f"distance {name!r}"
        d = Direction.between(self._point(first, item), self._point(second, item))
        way = d.value(self._values())
        self.looks.append(("distance", first, second, None))
        if along is None:
            size = float(np.linalg.norm(way))
            if not size > 0.0:
                raise ModelError(item, "points", (first, second), "they coincide: a zero distance has no rate")
            self._new(name, "distance", np.array([size]))
            s = Direction(((1.0, name, None),), 1)
            self._add([Row(f"{name}: length", (*dot(d, d, self.dimension), *dot(s, s, 1, -1.0)), 2)])
            return
        self._demand(name, self.dimension - 1)
        u = self._direction(along, item)
        self._new(name, "distance", np.array([float(way @ u.value(self._values()))]))
        rows = []
        for k in range(self.dimension):
            product = Term("dot", 1, ((name, 0), None, (along, k), None), -1.0)
            rows.append(Row(f"{name}.{AXES[k]}", (*component_of(d, k), product), 1))
        self._add(rows)
