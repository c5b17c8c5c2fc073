"""Rigid bodies in natural coordinates: rigidity constraints, body frame, constant mass matrix.

The first point of a body is its origin. The members of the body are its other points, relative to the origin, and its
unit vectors. Independent members form the base e1, e2, e3; every other member m is a linear combination of the base:

    plane             |e1| constant;  m = a e1 + b k x e1                                                         (1)
    collinear         |e1| constant;  m = a e1                                                                    (2)
    coplanar          |e1|, |e2|, e1 . e2 constant;  m = a e1 + b e2                                              (3)
    space             the same with three base members, six rows;  m = a e1 + b e2 + c e3                         (4)

Linear rows avoid dot products of coplanar vectors, which lose rank. A body of n numbers has n - 6 such rows (n - 5 if
collinear, n - 3 in the plane), all independent. Unit norms of vectors are separate rows, because bodies share vectors.

With a complete base any point of a body is r = r0 + c1 e1 + c2 e2 + c3 e3 with constant c; in the plane
r = r0 + c1 e1 + c2 k x e1. Velocities are linear in those of the coordinates, r' = C q', and the mass matrix

    M = integral C^T C dm = m C_g^T C_g + sum p_k D_k^T D_k                                                       (5)

is constant, so that no forces depend on velocities. C_g belongs to the centre of mass, D_k = C(g + n_k) - C_g to the
principal axes n_k of integral r r^T dm = tr(I) / 2 - I = sum p_k n_k n_k^T. Garcia de Jalon and Bayo 1994, chapters 2
and 4, section 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import ModelError
from .terms import Direction, Row, component_of, constant, dot

__all__ = [
    *("BodyFrame", "NaturalBody", "body_coordinates", "body_frame", "mass_matrix", "point_matrix"),
    *("rigid_rows", "unit_row"),
]


APART_TOL = 1e-9  # of the body's size; members closer than this to the span of others are dependent
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """Base of a body, from which any of its points follows.

    Attributes
    ----------
    origin : str or None
        Point that members are relative to; None if the body has vectors alone.
    origin_at : (dim,) m
        Position of the origin in the body.
    base : tuple of Direction
        Independent members: at most one in the plane, at most three in space.
    columns : (dim, k)
        Components of the base members in the body.
    others : tuple of (str, Direction, (dim,))
        Names, directions and components of the remaining members.
    """

    origin: str | None
    origin_at: Array
    base: tuple[Direction, ...]
    columns: Array
    others: tuple[tuple[str, Direction, Array], ...]

    @property
    def complete(self) -> bool:
        """True if the coordinates determine the orientation: one base member in the plane, three in space."""
        return len(self.base) >= (1 if len(self.columns) == 2 else 3)

    def factors(self, r: Array) -> Array:
        """Return c (k,) with r = columns c, for a vector r (dim,) in the body; in the plane c of e1 and k x e1."""
        if len(r) == 2:
            x, y = (float(c) for c in self.columns[:, 0])
            return np.array([x * r[0] + y * r[1], x * r[1] - y * r[0]]) / (x * x + y * y)
        return np.asarray(np.linalg.lstsq(self.columns, r, rcond=None)[0], dtype=np.float64)

    def pose(self, values: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return rotation (dim, dim) and position (dim,) m of the frame, from the values of points and vectors."""
        if len(self.columns) == 3:
            R = np.array([d.value(values) for d in self.base]).T @ np.linalg.inv(self.columns)
        else:
            cosine, sine = self.factors(self.base[0].value(values))  # of the turn that takes e1 of the body there
            R = np.array([[cosine, -sine], [sine, cosine]])
        assert self.origin is not None
        return R, np.asarray(values[self.origin] - R @ self.origin_at)


@dataclass(frozen=True, eq=False)
class NaturalBody:
    """Rigid body: positions of its points and vectors in the body, and its base.

    Attributes
    ----------
    name : str
    points, vectors : dict of str to (dim,) m, and 1
    frame : BodyFrame
    """

    name: str
    points: dict[str, Array]
    vectors: dict[str, Array]
    frame: BodyFrame


def body_frame(
    points: Mapping[str, Array], vectors: Mapping[str, Array], dimension: int, *, item: str = "body"
) -> BodyFrame:
    """Choose a base among the points and unit vectors of a body.

    Parameters
    ----------
    points, vectors : mapping of name to (dimension,) m, and 1
        Fixed in the body, all in one frame.
    dimension : int
        2 or 3.
    item : str
        For messages.

    Raises
    ------
    ModelError
        If two points coincide.
    """
    names = list(points)
    size = max((float(np.linalg.norm(points[a] - points[b])) for a in names for b in names), default=0.0) or 1.0
    for k, a in enumerate(names):
        for b in names[:k]:
            if np.linalg.norm(points[a] - points[b]) < APART_TOL * size:
                raise ModelError(item, "points", (b, a), "two points of a body coincide: use one point for both")
    origin = names[0] if names else None
    at = points[origin] if origin is not None else np.zeros(dimension)
    members = [(name, Direction.along(name), np.asarray(u, dtype=float)) for name, u in vectors.items()]
    seen = [(name, Direction.between(names[0], name), points[name] - at) for name in names[1:]]
    # plane: the longest pair of points; space: vectors first, because their norms are rows already
    members = sorted(seen, key=lambda m: -float(np.linalg.norm(m[2]))) + members if dimension == 2 else members + seen
    base: list[tuple[str, Direction, Array]] = []
    for _ in range(min(len(members), 1 if dimension == 2 else 3)):
        left = [float(np.linalg.norm(_residual(m[2] / np.linalg.norm(m[2]), base))) for m in members]
        if max(left) < APART_TOL:
            break
        # the first member that is clearly independent of the base
        base.append(next(m for m, rest in zip(members, left, strict=True) if rest >= 0.5 * max(left)))
    chosen = {m[0] for m in base}
    others = tuple(m for m in members if m[0] not in chosen)
    columns = np.array([m[2] for m in base]).reshape(-1, dimension).T
    return BodyFrame(origin, at, tuple(m[1] for m in base), columns, others)


def _residual(m: Array, base: list[tuple[str, Direction, Array]]) -> Array:
    """Return the part of m (dim,) outside of the span of the base."""
    if not base:
        return m
    columns = np.array([b[2] for b in base]).T
    return m - columns @ np.linalg.lstsq(columns, m, rcond=None)[0]


def rigid_rows(
    name: str, points: Mapping[str, Array], vectors: Mapping[str, Array], dimension: int
) -> tuple[list[Row], BodyFrame]:
    """Return the rigidity constraints of a body and its base.

    Parameters
    ----------
    name : str
        Of the body.
    points, vectors : mapping of name to (dimension,)
        Positions in the body, all in one frame.
    dimension : int
    """
    frame = body_frame(points, vectors, dimension, item=f"body {name!r}")
    rows: list[Row] = []
    for i, (e, c) in enumerate(zip(frame.base, frame.columns.T, strict=True)):
        if e.power:
            rows.append(_norm_row(name, e, float(c @ c), dimension))
        for f, d in list(zip(frame.base, frame.columns.T, strict=True))[:i]:
            rows.append(_angle_row(name, f, d, e, c, dimension))
    for member, direction, r in frame.others:
        rows += _combination(name, member, direction, frame, r, dimension)
    return rows, frame


def unit_row(vector: str, dimension: int) -> Row:
    """Return the unit-norm constraint of a vector."""
    u = Direction.along(vector)
    return Row(f"{vector}: unit", (*dot(u, u, dimension), *constant(-1.0)), 0)


def _norm_row(name: str, e: Direction, square: float, dimension: int) -> Row:
    _, tip, tail = e.parts[0]
    return Row(f"{name}: |{tail} {tip}|", (*dot(e, e, dimension), *constant(-square)), 2)


def _angle_row(name: str, f: Direction, d: Array, e: Direction, c: Array, dimension: int) -> Row:
    """Return the row for the angle of two base members; for two points, for their distance."""
    if e.power and f.power:
        side = Direction.between(f.parts[0][1], e.parts[0][1])
        return _norm_row(name, side, float((c - d) @ (c - d)), dimension)
    terms = (*dot(f, e, dimension), *constant(-float(c @ d)))
    return Row(f"{name}: {f.label} . {e.label}", terms, e.power + f.power)


def _combination(name: str, member: str, m: Direction, frame: BodyFrame, r: Array, dimension: int) -> list[Row]:
    """Return the rows m - sum c e = 0, one for each component."""
    c = frame.factors(r)
    c = np.where(np.abs(c) < 1e-15 * np.abs(c).max(initial=0.0), 0.0, c)
    rows = []
    for k in range(dimension):
        terms = component_of(m, k)
        if dimension == 2:
            e = frame.base[0]
            terms += component_of(e, k, -c[0]) + component_of(e, 1 - k, c[1] if k == 0 else -c[1])
        else:
            for e, factor in zip(frame.base, c, strict=True):
                terms += component_of(e, k, -factor)
        rows.append(Row(f"{name}: {member}.{AXES[k]}", tuple(t for t in terms if t.factor), m.power))
    return rows


def body_coordinates(body: NaturalBody) -> tuple[str, ...]:
    """Return the points and vectors that determine the pose of the body: origin and base members."""
    names = [body.frame.origin] if body.frame.origin is not None else []
    for e in body.frame.base:
        names += [name for _, tip, tail in e.parts for name in (tail, tip) if name is not None and name not in names]
    return tuple(name for name in names if name is not None)


def _spanned(body: NaturalBody) -> int:
    """Return the dimension; raise if the base is incomplete or there is no origin."""
    if body.frame.origin is None or not body.frame.complete:
        raise ModelError(
            f"body {body.name!r}", "points, vectors", (tuple(body.points), tuple(body.vectors)),
            "a constant mass matrix needs a point and three members that are not coplanar (in the plane, two points): "
            "add a vector out of their plane",
        )  # fmt: skip
    return len(body.frame.columns)


def point_matrix(body: NaturalBody, r: Array) -> Array:
    """Return C (dim, n), by which velocities of `body_coordinates` give that of the point at r (dim,) m of the body."""
    dimension = _spanned(body)
    frame = body.frame
    names = body_coordinates(body)
    c = frame.factors(np.asarray(r, dtype=float) - frame.origin_at)
    C = np.zeros((dimension, dimension * len(names)))
    one = np.eye(dimension)

    def add(name: str | None, block: Array) -> None:
        if name is not None:
            k = names.index(name) * dimension
            C[:, k : k + dimension] += block

    add(frame.origin, one)
    across = np.array([[0.0, -1.0], [1.0, 0.0]])
    for k, e in enumerate(frame.base):
        block = c[0] * one + c[1] * across if dimension == 2 else c[k] * one
        for factor, tip, tail in e.parts:
            add(tip, factor * block)
            add(tail, -factor * block)
    return C


def mass_matrix(body: NaturalBody, mass: float, centre: Array, inertia: Array | float) -> Array:
    """Return M (n, n) of `body_coordinates`, (5).

    Parameters
    ----------
    body : NaturalBody
    mass : float, kg
    centre : (dim,) m
        Centre of mass in the body.
    inertia : float or (3, 3) kg m2
        About the centre of mass, in the axes of the body.
    """
    dimension = _spanned(body)
    g = np.asarray(centre, dtype=float)
    C = point_matrix(body, g)
    M: Array = mass * C.T @ C
    # particles on the principal axes with the same second moments about the centre of mass
    if dimension == 2:
        spread = np.eye(2) * float(np.asarray(inertia)) / 2
    else:
        moment = np.asarray(inertia, dtype=float)
        spread = np.trace(moment) / 2 * np.eye(3) - moment
    values, axes = np.linalg.eigh(spread)
    for value, axis in zip(values, axes.T, strict=True):
        D = point_matrix(body, g + axis) - C
        M = M + value * D.T @ D
    return M
