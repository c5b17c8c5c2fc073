"""What keeps a body rigid, from the points and unit vectors that are fixed in it.

With the first point as origin, the members of a body are its other points, seen from there, and its vectors. As many of
them as are independent make its base e1, e2, e3:

    in the plane      |e1| constant;  every other member  m = a e1 + b k x e1                                     (1)
    collinear         |e1| constant;  m = a e1                                                                    (2)
    coplanar          |e1|, |e2|, e1 . e2 constant;  m = a e1 + b e2                                              (3)
    in space          the same with three base members, six rows;  m = a e1 + b e2 + c e3                         (4)

Members beyond the base are linear, so that dot products of coplanar vectors, which lose rank, never occur. A set of n
numbers has n - 6 such rows (n - 5 if collinear, n - 3 in the plane), all independent. Unit norms of vectors are not
among them: they are shared. Garcia de Jalon and Bayo 1994, section 3.4 and chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .terms import Direction, Row, component_of, constant, dot

__all__ = ["BodyFrame", "NaturalBody", "body_frame", "rigid_rows", "unit_row"]

Array = NDArray[np.float64]

APART_TOL = 1e-9  # of a body's size: members nearer than this to a combination of others are one
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """A base of a body: where any of its points is in terms of natural coordinates.

    Attributes
    ----------
    origin : str or None
        The point that members are seen from; None if the body has vectors alone.
    origin_at : (dim,) m
        Where it is in the body.
    base : tuple of Direction
        Independent members: up to one in the plane, up to three in space.
    columns : (dim, k)
        Their components in the body.
    others : tuple of (str, Direction, (dim,))
        Names and components of the remaining members.
    """

    origin: str | None
    origin_at: Array
    base: tuple[Direction, ...]
    columns: Array
    others: tuple[tuple[str, Direction, Array], ...]

    def factors(self, r: Array) -> Array:
        """Return c (k,) with r = columns c, for a vector r (dim,) in the body; in the plane c of e1 and k x e1."""
        if len(r) == 2:
            x, y = (float(c) for c in self.columns[:, 0])
            c: Array = np.array([x * r[0] + y * r[1], x * r[1] - y * r[0]]) / (x * x + y * y)
            return c
        return np.asarray(np.linalg.lstsq(self.columns, r, rcond=None)[0], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NaturalBody:
    """A body: where its points and vectors are in it, and its base.

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
    # in the plane the longest pair of points is the base; in space vectors come first, for their norms are there anyway
    members = sorted(seen, key=lambda m: -float(np.linalg.norm(m[2]))) + members if dimension == 2 else members + seen
    base: list[tuple[str, Direction, Array]] = []
    for _ in range(min(len(members), 1 if dimension == 2 else 3)):
        left = [float(np.linalg.norm(_beyond(m[2] / np.linalg.norm(m[2]), base))) for m in members]
        if max(left) < APART_TOL:
            break
        # the first that is well apart from the base
        base.append(next(m for m, rest in zip(members, left, strict=True) if rest >= 0.5 * max(left)))
    chosen = {m[0] for m in base}
    others = tuple(m for m in members if m[0] not in chosen)
    columns = np.array([m[2] for m in base]).reshape(-1, dimension).T
    return BodyFrame(origin, at, tuple(m[1] for m in base), columns, others)


def _beyond(m: Array, base: list[tuple[str, Direction, Array]]) -> Array:
    """Return what base members leave of m."""
    if not base:
        return m
    columns = np.array([b[2] for b in base]).T
    left: Array = m - columns @ np.linalg.lstsq(columns, m, rcond=None)[0]
    return left


def rigid_rows(
    name: str, points: Mapping[str, Array], vectors: Mapping[str, Array], dimension: int
) -> tuple[list[Row], BodyFrame]:
    """Return the rows that keep points and vectors of a body together, and its base.

    Parameters
    ----------
    name : str
        Of the body.
    points, vectors : mapping of name to (dimension,)
        Where they are in the body, all in one frame.
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
    """Return the unit norm of a vector."""
    u = Direction.along(vector)
    return Row(f"{vector}: unit", (*dot(u, u, dimension), *constant(-1.0)), 0)


def _norm_row(name: str, e: Direction, square: float, dimension: int) -> Row:
    _, tip, tail = e.parts[0]
    return Row(f"{name}: |{tail} {tip}|", (*dot(e, e, dimension), *constant(-square)), 2)


def _angle_row(name: str, f: Direction, d: Array, e: Direction, c: Array, dimension: int) -> Row:
    """Return the row for the angle of two base members: of two points, their distance."""
    if e.power and f.power:
        side = Direction.between(f.parts[0][1], e.parts[0][1])
        return _norm_row(name, side, float((c - d) @ (c - d)), dimension)
    terms = (*dot(f, e, dimension), *constant(-float(c @ d)))
    return Row(f"{name}: {f.label} . {e.label}", terms, e.power + f.power)


def _combination(name: str, member: str, m: Direction, frame: BodyFrame, r: Array, dimension: int) -> list[Row]:
    """Return m - sum c e = 0, component by component."""
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
