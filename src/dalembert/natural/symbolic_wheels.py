"""Rows of wheels as SymPy expressions: contact, and rolling by components; see `wheels` for the equations.

The contact has a closed form on lines, circles, rods, planes and spheres, also where a body carries them. Curves,
cylinders and surfaces given by functions need a numerical solution and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from ..errors import ModelError
from ..numerics.rational_numbers import as_number
from .bodies import NaturalBody, body_coordinates
from .tracks import Circle, Line, Plane, Sphere
from .wheels import PlaneWheel, RodWheel, SpaceWheel

__all__ = ["wheel_rows"]


def wheel_rows(wheel: Any, X: Sequence[Any]) -> tuple[Any, Any]:
    """Return residuals (rows, 1) and gradients (rows, len(X)) of a wheel, for the values X of its coordinates."""
    if isinstance(wheel, SpaceWheel):
        gap, n, slip = _in_space(wheel, X)
    elif isinstance(wheel, RodWheel):
        gap, n, slip = _on_rod(wheel, X)
    elif isinstance(wheel, PlaneWheel):
        gap, n, slip = _in_plane(wheel, X)
    else:
        raise ModelError("symbolic", "rows", type(wheel).__name__, "these rows have no written form")
    J = n.T * slip
    if wheel.rolling:
        J = J.col_join(slip)
    return sp.Matrix([gap, *[0] * (J.rows - 1)]), J


def _refused(wheel: Any, track: Any) -> ModelError:
    remedy = "its contact has no closed form: symbolic rows are for lines, circles, rods, planes and spheres"
    return ModelError(f"wheel {wheel.name!r}", "track", type(track).__name__, remedy)


def _in_plane(wheel: PlaneWheel, X: Sequence[Any]) -> tuple[Any, Any, Any]:
    r, track = as_number(wheel.radius), wheel.track
    centre, rim = sp.Matrix(X[:2]), sp.Matrix(X[2:4])
    R, o = _pose(wheel.carrier, X[4:], 2)
    local = R.T * (centre - o)
    if isinstance(track, Line):
        n = _across(_numbers(track.direction))
        distance = n.dot(local - _numbers(track.point))
    elif isinstance(track, Circle):
        away = local - _numbers(track.centre)
        far, sign = sp.sqrt(away.dot(away)), -1 if track.inside else 1
        n, distance = sign * away / far, sign * (far - as_number(track.radius))
    else:
        raise _refused(wheel, track)
    n = R * n
    P = centre - r * n
    slip = _rim(centre, rim, P)
    if wheel.carrier is not None:
        slip = slip.row_join(-_carried(wheel.carrier, R.T * (P - o), 2))
    return distance - r, n, slip


def _on_rod(wheel: RodWheel, X: Sequence[Any]) -> tuple[Any, Any, Any]:
    centre, rim, first, second = (sp.Matrix(X[k : k + 2]) for k in (0, 2, 4, 6))
    e = second - first
    n = int(wheel.side) * _across(e) / sp.sqrt(e.dot(e))
    r = as_number(wheel.radius)
    P = centre - r * n
    return n.dot(centre - first) - r, n, _rim(centre, rim, P).row_join(-_rim(first, second, P))


def _in_space(wheel: SpaceWheel, X: Sequence[Any]) -> tuple[Any, Any, Any]:
    r, surface = as_number(wheel.radius), wheel.surface
    centre, rim, axis = (sp.Matrix(X[k : k + 3]) for k in (0, 3, 6))
    R, o = _pose(wheel.carrier, X[9:], 3)

    def value(x: Any) -> tuple[Any, Any]:
        """Return distance and normal of a point."""
        local = R.T * (x - o)
        if isinstance(surface, Plane):
            n = _numbers(surface.normal)
            return n.dot(local - _numbers(surface.point)), R * n
        if not isinstance(surface, Sphere):
            raise _refused(wheel, surface)
        away = local - _numbers(surface.centre)
        far, sign = sp.sqrt(away.dot(away)), -1 if surface.inside else 1
        return sign * (far - as_number(surface.radius)), R * (sign * away / far)

    u = axis / sp.sqrt(axis.dot(axis))
    n = value(centre)[1]
    e = n - n.dot(u) * u  # on planes and spheres the point of the rim along -e is the nearest one
    P = centre - r * e / sp.sqrt(e.dot(e))
    gap, n = value(P)
    size = sp.sqrt(n.dot(n)) if wheel.carrier is not None else 1
    d = rim - centre
    spin = axis * axis.cross(d).T / d.dot(d)
    w = (-spin).row_join(spin).row_join(_skew(axis))
    slip = sp.eye(3).row_join(sp.zeros(3, 6)) - _skew(P - centre) * w
    if wheel.carrier is not None:
        slip = slip.row_join(-_carried(wheel.carrier, R.T * (P - o), 3))
    return gap / size, n / size, slip


def _numbers(values: Any) -> Any:
    return sp.Matrix([as_number(float(x)) for x in values])


def _across(x: Any) -> Any:
    return sp.Matrix([-x[1], x[0]])


def _skew(x: Any) -> Any:
    return sp.Matrix([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def _rim(first: Any, second: Any, P: Any) -> Any:
    """Return the matrix (2, 4) by which velocities of two points give that of the point of their body at P."""
    d = second - first
    spin = _across(P - first) * (_across(d) / d.dot(d)).T
    return (sp.eye(2) - spin).row_join(spin)


def _pose(carrier: NaturalBody | None, Y: Sequence[Any], size: int) -> tuple[Any, Any]:
    """Return rotation and position of the body that carries the track; of the world if there is none."""
    if carrier is None:
        return sp.eye(size), sp.zeros(size, 1)
    frame, names = carrier.frame, body_coordinates(carrier)

    def at(name: str) -> Any:
        k = names.index(name) * size
        return sp.Matrix(Y[k : k + size])

    base = [
        sum((as_number(f) * (at(tip) - (at(tail) if tail is not None else sp.zeros(size, 1)))
             for f, tip, tail in e.parts), sp.zeros(size, 1))
        for e in frame.base
    ]  # fmt: skip
    columns = sp.Matrix(size, len(base), [as_number(x) for x in frame.columns.ravel()])
    if size == 3:
        R = sp.Matrix.hstack(*base) * columns.inv()
    else:
        x, y = columns[:, 0]
        e = base[0]
        cosine, sine = (x * e[0] + y * e[1]) / (x * x + y * y), (x * e[1] - y * e[0]) / (x * x + y * y)
        R = sp.Matrix([[cosine, -sine], [sine, cosine]])
    assert frame.origin is not None
    return R, at(frame.origin) - R * _numbers(frame.origin_at)


def _carried(carrier: NaturalBody, place: Any, size: int) -> Any:
    """Return the matrix by which velocities of a body's coordinates give that of its point at `place` in the body."""
    frame, names = carrier.frame, body_coordinates(carrier)
    r = place - _numbers(frame.origin_at)
    columns = sp.Matrix(size, len(frame.base), [as_number(x) for x in frame.columns.ravel()])
    if size == 3:
        blocks = [c * sp.eye(3) for c in columns.inv() * r]
    else:
        x, y = columns[:, 0]
        c = ((x * r[0] + y * r[1]) / (x * x + y * y), (x * r[1] - y * r[0]) / (x * x + y * y))
        blocks = [c[0] * sp.eye(2) + c[1] * sp.Matrix([[0, -1], [1, 0]])]
    C = sp.zeros(size, size * len(names))

    def add(name: str | None, block: Any) -> None:
        if name is not None:
            k = names.index(name) * size
            C[:, k : k + size] += block

    add(frame.origin, sp.eye(size))
    for block, e in zip(blocks, frame.base, strict=True):
        for factor, tip, tail in e.parts:
            add(tip, as_number(factor) * block)
            add(tail, -as_number(factor) * block)
    return C
