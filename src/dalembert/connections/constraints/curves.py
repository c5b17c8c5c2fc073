"""Curves fixed in a marker: splines, functions, polar profiles, lines and arcs.

A curve is smooth: its direction is continuous. Its curvature may jump where segments meet; accelerations jump there
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array
from ...checks import checked, finite_array, finite_number, positive_number, set_fields, set_finite, shape_of
from ...errors import ModelError, UserFunctionError
from ...provenance import record_call, record_makers
from ..laws import as_law
from .piecewise_polynomials import PiecewisePolynomial, hermite_pieces

__all__ = ["Arc", "Curve", "Line"]


COINCIDENCE_TOL = 1e-6  # of the curve's size: points closer than this coincide
TANGENT_TOL = 1e-4  # rad: directions closer than this are equal
ARC_PIECE_ANGLE = 0.05  # rad: quintic pieces of an arc this long are accurate to 1e-13 of its radius


@dataclass(frozen=True, eq=False)
class Line:
    """Straight segment in the plane z = 0, for `Curve.path`.

    Parameters
    ----------
    start, end : (2,) m
    """

    start: Any
    end: Any

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            set_fields(self, **{name: finite_array(getattr(self, name), (2,), item="Line", field=name)})
        if not np.linalg.norm(self.end - self.start):
            raise ModelError("Line", "end", self.end, "it must differ from the start")

    def pieces(self) -> tuple[Array, Array]:
        """Return coefficients (1, 6, 3) and length of the piece."""
        result = np.zeros((1, 6, 3))
        result[0, 0, :2], result[0, 1, :2] = self.start, self.end - self.start
        return result, np.array([np.linalg.norm(self.end - self.start)])


@dataclass(frozen=True, eq=False)
class Arc:
    """Circular segment in the plane z = 0, for `Curve.path`.

    Parameters
    ----------
    centre : (2,) m
    radius : float, m
    start, end : float, rad
        Angles of its ends, seen from the centre and counted from x; it runs counterclockwise if `end` is the larger.
    """

    centre: Any
    radius: float
    start: float
    end: float

    def __post_init__(self) -> None:
        set_fields(self, centre=finite_array(self.centre, (2,), item="Arc", field="centre"))
        set_finite(self, "start", "end", item="Arc")
        set_fields(self, radius=positive_number(self.radius, item="Arc", field="radius"))
        if not 0 < abs(self.end - self.start) <= 2 * math.pi * (1 + 1e-9):
            raise ModelError("Arc", "end", self.end, "it must differ from the start, by one turn at most")

    def pieces(self) -> tuple[Array, Array]:
        """Return coefficients (n, 6, 3) and lengths (n,) of the pieces."""
        count = math.ceil(abs(self.end - self.start) / ARC_PIECE_ANGLE)
        angle, h = np.linspace(self.start, self.end, count + 1), (self.end - self.start) / count
        unit = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
        across = np.column_stack([-unit[:, 1], unit[:, 0], 0 * angle])
        centre, r = np.array([*self.centre, 0.0]), self.radius
        return hermite_pieces(centre + r * unit, r * h * across, -r * h * h * unit), np.full(count, r * abs(h))


@checked("closed")
@record_makers
class Curve:
    """Smooth curve through points: a cubic spline with continuous curvature.

    Parameters
    ----------
    points : (n, 3) or (n, 2) m
        In axes of the marker in which the curve is fixed; two numbers mean the plane z = 0.
    closed : bool
        The last point must then repeat the first, and curvature is continuous there too.

    Attributes
    ----------
    knots : (n + 1,)
        Parameter s at the ends of the pieces: chord length (m) of a spline, angle (rad) of a polar curve, arc length
        (m) of a path.
    closed : bool
    pieces : Pieces

    Other constructors: `Curve.from_function`, `Curve.from_derivatives`, `Curve.polar`, `Curve.path`.

    Raises
    ------
    ModelError
        If there are too few points, neighbours coincide, or the curve does not close.

    Examples
    --------
    >>> angle = np.linspace(0, 2 * np.pi, 25)
    >>> ring = Curve(np.column_stack([np.cos(angle), np.sin(angle)]), closed=True)
    >>> print(np.round(ring(ring.knots[6]), 6) + 0.0)
    [0. 1. 0.]
    """

    pieces: PiecewisePolynomial
    knots: Array

    def __init__(self, points: ArrayLike, *, closed: bool = False) -> None:
        from scipy.interpolate import CubicSpline

        x = _points(points, least=4 if closed else 2)
        size = float(np.ptp(x, axis=0).max())
        if closed:
            gap = float(np.linalg.norm(x[-1] - x[0]))
            if gap > COINCIDENCE_TOL * size:
                raise ModelError(
                    "Curve",
                    "closed",
                    True,
                    f"the profile does not close: the last point is {gap:.3g} m from the first; repeat the first "
                    "point at the end",
                )
            x[-1] = x[0]
        chords = np.linalg.norm(np.diff(x, axis=0), axis=1)
        if (chords <= 1e-9 * size).any():
            k = int(chords.argmin())
            raise ModelError("Curve", "points", f"the same at {k} and {k + 1}", "neighbours must be different points")
        knots = np.concatenate([[0.0], np.cumsum(chords)])
        spline = CubicSpline(knots, x, bc_type="periodic" if closed else "not-a-knot")
        coefficients = np.zeros((len(chords), 6, 3))
        for k in range(len(spline.c)):
            power = len(spline.c) - 1 - k
            coefficients[:, power] = spline.c[k] * chords[:, None] ** power
        self._settle(coefficients, knots, closed)

    @classmethod
    @record_call
    def from_function(
        cls, function: Callable[[float], ArrayLike], a: float, b: float, n: int = 101, *, closed: bool = False
    ) -> Curve:
        """Return the spline through n points of a function.

        Parameters
        ----------
        function : callable
            Of one number; returns a point, (3,) or (2,) m.
        a, b : float
            Range of its argument.
        n : int
            Number of points, evenly spaced in the argument. The error falls with the fourth power of the spacing, that
            of curvature, and so of accelerations, with the second.
        closed : bool
            True if function(b) equals function(a).
        """
        a, b = (finite_number(x, item="Curve", field=name) for x, name in ((a, "a"), (b, "b")))
        if not isinstance(n, (int, np.integer)) or n < 2:
            raise ModelError("Curve", "n", n, "give the number of points, at least 2")
        points: list[Any] = []
        for x in np.linspace(a, b, int(n)):
            try:
                points.append(function(float(x)))
            except Exception as error:
                raise UserFunctionError(f"the function of a curve failed at {x:.6g}: {error!r}") from error
        return cls(points, closed=closed)

    @classmethod
    @record_call
    def from_derivatives(cls, segments: Sequence[Sequence[Any]], *, start: float = 0.0, closed: bool = False) -> Curve:
        """Return the curve through points with given first and second derivatives.

        Parameters
        ----------
        segments : sequence of (span, x, x1, x2)
            Parameter span of the segment, over which its points are evenly spaced; points and derivatives by the
            parameter, (n, 2) or (n, 3) m each. Second derivatives may jump between segments.
        start : float
            Parameter at which the first segment begins.
        closed : bool
            True if the last segment ends where and as the first begins.

        Raises
        ------
        ModelError
            If there is a gap, with its size, or a corner, with its angle.
        """
        item, parts, widths = "Curve.from_derivatives", [], []
        for k, segment in enumerate(_sequence(segments, item, "give (span, x, x1, x2) for each")):
            if len(segment) != 4:
                raise ModelError(item, "segment", k, "give (span, x, x1, x2)")
            span = finite_number(segment[0], item=f"{item}: segment {k}", field="span")
            x, x1, x2 = (_points(rows, least=2) for rows in segment[1:])
            if span <= 0 or not len(x) == len(x1) == len(x2):
                raise ModelError(item, "segment", k, "give a positive span, and as many derivatives as points")
            h = span / (len(x) - 1)
            parts.append(hermite_pieces(x, h * x1, h * h * x2))
            widths.append(np.full(len(x) - 1, h))
        start = finite_number(start, item=item, field="start")
        return cls._joined(item, parts, widths, closed=closed, start=start)

    @classmethod
    @record_call
    def polar(cls, segments: Sequence[tuple[float, Any]], *, start: float = 0.0) -> Curve:
        """Return a closed curve in the plane z = 0 whose radius follows successive laws: a cam profile.

        Parameters
        ----------
        segments : sequence of (angle, law)
            Angle (rad) of the segment, and the radius (m) as a law of the angle within it, from 0: a number for a
            dwell, ``Ramp(r1, r2, angle)`` for a rise or return without acceleration jumps, any other law, or a
            callable. The angles add up to 2 pi.
        start : float, rad
            Angle from x, about z, at which the first segment begins.

        Raises
        ------
        ModelError
            If the radius jumps between segments or the profile does not close, with the gap; if it has a corner, with
            its angle.
        """
        start = finite_number(start, item="Curve.polar", field="start")
        spans, parts, angle = [], [], start
        for k, segment in enumerate(_sequence(segments, "Curve.polar", "give pairs (angle, law)")):
            item = f"Curve.polar: segment {k}"
            if not isinstance(segment, (tuple, list)) or len(segment) != 2:
                raise ModelError(item, "segment", segment, "give a pair (angle, law)")
            span = positive_number(segment[0], item=item, field="angle")
            law = as_law(segment[1], item=item, field="law")
            # an arc needs few pieces, but a rise may be steep
            local = np.linspace(0.0, span, max(48, math.ceil(span / ARC_PIECE_ANGLE)) + 1)
            r, r1, r2 = np.array([law(float(x)) for x in local]).T
            if not np.isfinite([r, r1, r2]).all() or r.min() <= 0:
                raise ModelError(item, "radius", float(r.min()), "it must be positive everywhere")
            unit = np.column_stack([np.cos(angle + local), np.sin(angle + local), 0 * local])
            across = np.column_stack([-unit[:, 1], unit[:, 0], 0 * local])
            h = span / (len(local) - 1)
            slope = h * (r1[:, None] * unit + r[:, None] * across)
            second = h * h * ((r2 - r)[:, None] * unit + 2 * r1[:, None] * across)
            parts.append(hermite_pieces(r[:, None] * unit, slope, second))
            spans.append(np.full(len(local) - 1, h))
            angle += span
        total = math.fsum(float(s.sum()) for s in spans)
        if abs(total - 2 * math.pi) > 1e-9:
            raise ModelError("Curve.polar", "angles", f"{math.degrees(total):.9g} degrees in all", "they add up to 360")
        return cls._joined("Curve.polar", parts, spans, closed=True, start=start)

    @classmethod
    @record_call
    def path(cls, segments: Sequence[Line | Arc], *, closed: bool = True) -> Curve:
        """Return a curve of lines and arcs in the plane z = 0; each segment continues the one before.

        Parameters
        ----------
        segments : sequence of Line and Arc
        closed : bool
            True if the last segment ends where and as the first begins.

        Raises
        ------
        ModelError
            If there is a gap, with its size, or a corner, with its angle.

        Examples
        --------
        A cam with a base circle of 20 mm and a nose of 5 mm around a point 30 mm away, with straight flanks:

        >>> a = np.arccos((0.020 - 0.005) / 0.030)  # where the flanks touch
        >>> touch = [r * np.array([np.cos(a), np.sin(a)]) + [x, 0] for r, x in ((0.02, 0.0), (0.005, 0.03))]
        >>> cam = Curve.path([
        ...     Arc((0.03, 0), 0.005, -a, a),
        ...     Line(touch[1], touch[0]),
        ...     Arc((0, 0), 0.02, a, 2 * np.pi - a),
        ...     Line(touch[0] * [1, -1], touch[1] * [1, -1]),
        ... ])
        >>> cam
        <Curve: closed, plane, 128 pieces>
        """
        known = _sequence(segments, "Curve.path", "give Lines and Arcs")
        for segment in known:
            if not isinstance(segment, (Line, Arc)):
                raise ModelError("Curve.path", "segment", segment, "give Lines and Arcs")
        parts, lengths = zip(*(segment.pieces() for segment in known), strict=True)
        return cls._joined("Curve.path", list(parts), list(lengths), closed=closed)

    def __call__(self, s: ArrayLike, order: int = 0) -> Array:
        """Return the point (..., 3) m at parameter s (...), or a derivative by s."""
        x = np.asarray(s, dtype=float)
        if self.closed:
            x = self.knots[0] + np.mod(x - self.knots[0], self.knots[-1] - self.knots[0])
        k = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        width = np.diff(self.knots)[k]
        u = (x - self.knots[k]) / width
        result = np.zeros((*x.shape, 3))
        for power in range(5, order - 1, -1):
            result = result * u[..., None] + math.perm(power, order) * self.pieces.coefficients[k, power]
        return result / width[..., None] ** order

    @property
    def closed(self) -> bool:
        """True if the curve is closed."""
        return self.pieces.closed

    @property
    def in_plane(self) -> bool:
        """True if the curve lies in the plane z = 0."""
        return not self.pieces.coefficients[:, :, 2].any()

    def __repr__(self) -> str:
        ends, where = ("closed" if self.closed else "open"), ("plane" if self.in_plane else "space")
        return f"<Curve: {ends}, {where}, {len(self.pieces.coefficients)} pieces>"

    def _settle(self, coefficients: Array, knots: Array, closed: bool) -> None:
        self.pieces, self.knots = PiecewisePolynomial(coefficients, bool(closed)), knots
        speed = np.linalg.norm(self.pieces.at(np.linspace(0, 1, 9), 1), axis=2)
        cusp = speed.min(1) <= 1e-6 * speed.max(1)
        if cusp.any():
            place = self.pieces.at([0.5])[int(cusp.argmax()), 0]
            raise ModelError(
                "Curve", "points", f"turning back near {_text(place)}", "a curve has no cusps: round it, or split it"
            )

    @classmethod
    def _joined(cls, item: str, parts: list[Array], widths: list[Array], *, closed: bool, start: float = 0.0) -> Curve:
        """Return the curve of segments, each a chain of pieces; check continuity where they meet."""
        chains = [PiecewisePolynomial(part, False) for part in parts]
        size = float(np.ptp(np.concatenate([chain.box() for chain in chains]), axis=0).max())
        for k in range(len(chains) if closed else len(chains) - 1):
            other = (k + 1) % len(chains)
            last, first = chains[k].at([1.0])[-1, 0], chains[other].at([0.0])[0, 0]
            gap = float(np.linalg.norm(last - first))
            if gap > COINCIDENCE_TOL * size:
                raise ModelError(
                    item,
                    "closed" if other == 0 else "segments",
                    True if other == 0 else f"{k}, {other}",
                    ("the profile does not close: the last point is" if other == 0 else "they do not meet: the end is")
                    + f" {gap:.3g} m from the {'first' if other == 0 else 'start'}",
                )
            before, after = chains[k].at([1.0], 1)[-1, 0], chains[other].at([0.0], 1)[0, 0]
            corner = math.atan2(float(np.linalg.norm(np.cross(before, after))), float(before @ after))
            if corner > TANGENT_TOL:
                raise ModelError(
                    item,
                    "segments",
                    f"{k}, {other}",
                    f"they meet in a corner of {math.degrees(corner):.4g} degrees at {_text(last)}: round it by an "
                    "arc, or let the laws have the same slope there",
                )
        curve = cls.__new__(cls)
        knots = start + np.concatenate([[0.0], np.cumsum(np.concatenate(widths))])
        curve._settle(np.concatenate(parts), knots, closed)
        return curve


def _points(points: Any, *, least: int) -> Array:
    shape = shape_of(points)
    if shape is None or len(shape) != 2 or shape[1] not in (2, 3) or shape[0] < least:
        raise ModelError("Curve", "points", points, f"give {least} points or more, each of two or three numbers")
    x = finite_array(points, shape, item="Curve", field="points")
    return x if shape[1] == 3 else np.column_stack([x, np.zeros(len(x))])


def _sequence(segments: Any, item: str, remedy: str) -> list[Any]:
    if isinstance(segments, (str, bytes)) or not isinstance(segments, Sequence) or not segments:
        raise ModelError(item, "segments", segments, remedy)
    return list(segments)


def _text(point: Array) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in point) + ") m"
