"""Pseudo-arclength continuation of closed configurations with one degree of freedom.

With J the scaled Jacobian (rows, n) of rank n - 1 and n its null vector, |n| = 1, a step of length h is

    predictor   q* = q (+) h n                                                                                      (1)
    corrector   [J; n^T] x = [-r; n . (q* - q)],   shortest x in the sense of least squares                         (2)

The step is halved if the correction is large or the tangent turns much, so that the path does not jump to another
branch. s is the arclength, in rad and in lengths of the mechanism.

Turning points of a coordinate are zeros of its component of n. At a rank drop, the determinant of [B^T J; n^T], with B
an orthonormal basis of the range of J, changes its sign. The smallest singular value that is not always zero, signed by
it, passes linearly through zero there. Redundant rows are allowed throughout.

Allgower and Georg, Numerical Continuation Methods, 1990, chapters 2, 6 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...arrays import Array, BoolArray
from ...model.interpolation import hermite
from ...numerics.rank import numerical_rank, singular_values
from ...numerics.roots import illinois_root
from ..projection import PATH_CLOSED_TOL, Projection, project
from ..scaled_equations import CoordinateMeasure, ExtendedEquations, ScaledEquations
from .solution_path import Path, SolutionPoint

__all__ = ["PathTracer"]


ROUNDOFF_TOL = 1e-14  # largest scaled residual of points next to singular ones, at the level of rounding
SINGULAR_TOL = 1e-7  # singular values below this are zero: closing to 1e-12 leaves 1e-6 in a singular position at worst
BRANCH_JUMP_TOL = 1e-6
TARGET_TURN = 0.12  # rad by which the tangent should turn in a step
MAX_TURN = 0.35
MIN_STEP = 1e-8  # length of a step


class PathTracer:
    """Pseudo-arclength continuation of one-DOF mechanisms.

    Parameters
    ----------
    closed : ScaledEquations
    stops : sequence of CoordinateMeasure
        Coordinates whose stops end a path.
    largest : float
        Largest change of a coordinate in a step, rad or lengths of the mechanism.
    length : float
        Arclength after which a path that has not closed is abandoned.
    """

    def __init__(
        self,
        closed: ScaledEquations,
        stops: Sequence[CoordinateMeasure] = (),
        *,
        largest: float = 0.12,
        length: float = 400.0,
    ) -> None:
        self.closed, self.stops, self.largest, self.length = closed, tuple(stops), largest, length
        self.free = closed.free
        self.n = int(self.free.sum())
        self.reason = ""  # text for a path that has not closed

    # ---- points

    def nullity(self, q: Array) -> int:
        """Return the number of independent motions at q (nq,)."""
        return self.n - numerical_rank(singular_values(self.closed.jacobian(q)[:, self.free]), SINGULAR_TOL)

    def evaluate(self, q: Array, along: Array | None = None) -> SolutionPoint:
        """Return the solution point at q (nq,), its tangent oriented along a given one."""
        J = self.closed.jacobian(q)
        U, s, Vt = np.linalg.svd(J[:, self.free])
        # with n - 1 rows all of them are independent
        sigma = float(s[self.n - 2]) if self.n > 1 and len(s) > self.n - 2 else 0.0 if self.n > 1 else np.inf
        tangent = np.zeros(self.closed.nv)
        if along is not None and sigma < SINGULAR_TOL:
            N = Vt[self.n - 1 - int((s[: self.n - 1] < SINGULAR_TOL).sum()) :]
            inside = N.T @ (N @ along[self.free])
            tangent[self.free] = inside / np.linalg.norm(inside)
        else:
            tangent[self.free] = Vt[self.n - 1]
        if along is not None and tangent @ along < 0:
            tangent = -tangent
        return SolutionPoint(q, tangent, sigma, U[:, : self.n - 1], J)

    def correct(self, q: Array, tangent: Array) -> Projection | None:
        """Return the closed configuration in the plane through q normal to a tangent: (2)."""
        plane = ExtendedEquations(
            self.closed, lambda at: (self.closed.difference(q, at) @ tangent)[None], lambda _: tangent[None]
        )
        return project(plane, q, self.free, accepted=PATH_CLOSED_TOL, max_step=1.0, patience=3)

    def closest(self, q: Array) -> Array | None:
        """Return the closed configuration nearest to a nearly closed one, by shortest steps."""
        found = project(self.closed, q, self.free, tolerance=ROUNDOFF_TOL, accepted=PATH_CLOSED_TOL)
        return None if found is None else found.q

    def advance(self, point: SolutionPoint, h: float) -> SolutionPoint | None:
        """Return the point of the path whose distance along the tangent is h."""
        found = self.correct(self.closed.retract(point.q, h * point.tangent), point.tangent)
        return None if found is None else self.evaluate(found.q, point.tangent)

    # ---- paths

    def trace(self, q: Array, along: Array | None = None) -> Path:
        """Return the path through q (nq,), closed or to both its ends."""
        start = self.evaluate(q, along)
        points, lengths, end, singular = self._run(start)
        if end == "closed":
            return self._path(points, lengths, True, ("", ""), singular)
        back = SolutionPoint(start.q, -start.tangent, start.sigma, start.basis, start.jacobian)
        behind, before, begin, more = self._run(back)
        for point in (*behind, *more):
            point.tangent = -point.tangent
        points = [*behind[:0:-1], *points]
        lengths = [*(-length for length in before[:0:-1]), *lengths]
        return self._path(points, lengths, False, (begin, end), [*more, *singular])

    def follow(self, q: Array, along: Array) -> Path:
        """Return the path from q (nq,) in the direction of a tangent, closed or to its end."""
        points, lengths, end, singular = self._run(self.evaluate(q, along))
        return self._path(points, lengths, end == "closed", ("", "" if end == "closed" else end), singular)

    def _path(
        self,
        points: list[SolutionPoint],
        lengths: list[float],
        closed: bool,
        ends: tuple[str, str],
        singular: list[SolutionPoint],
    ) -> Path:
        s = np.array(lengths) - lengths[0]
        columns = [np.array([getattr(point, name) for point in points]) for name in ("q", "tangent", "sigma")]
        path = Path(columns[0], columns[1], s, columns[2], closed, ends, singular)
        path.singular += self._touching(points, path)
        return path

    def _run(self, start: SolutionPoint) -> tuple[list[SolutionPoint], list[float], str, list[SolutionPoint]]:
        """Step until the path closes or ends.

        Return points, arclengths, the reason of the end, and singular points.
        """
        points, lengths = [start], [0.0]
        singular: list[SolutionPoint] = []
        here, h = start, 0.3 * self._longest(start)
        regular = here  # the last point with a clear rank
        while lengths[-1] < self.length:
            h = min(h, self._longest(here))
            step = self._step(here, h)
            if step is None:
                h *= 0.5
                if h < MIN_STEP:
                    return points, lengths, "it ends in a point beyond which nothing closes", singular
                continue
            point, iterations, turn, arc = step
            stop = self._stopped(here, point, h)
            if stop is not None:
                points.append(stop[0])
                lengths.append(lengths[-1] + float(np.linalg.norm(self.closed.difference(here.q, stop[0].q))))
                return points, lengths, stop[1], singular
            if len(points) > 2 and self._back(start, here, point, h):
                last = self.closed.shift(start.q, point.q)
                lengths.append(lengths[-1] + float(np.linalg.norm(self.closed.difference(here.q, last))))
                points.append(SolutionPoint(last, start.tangent, start.sigma, start.basis, start.jacobian))
                crossing = self._crossing(regular, points[-1])
                singular += [crossing] if crossing is not None else []
                return points, lengths, "closed", singular
            if point.sigma > SINGULAR_TOL:
                crossing = self._crossing(regular, point)
                if crossing is not None and crossing.sigma > BRANCH_JUMP_TOL:
                    h *= 0.5  # no rank drop: the step jumped to a nearby branch
                    if h > MIN_STEP:
                        continue
                elif crossing is not None:
                    singular.append(crossing)
                regular = point
            points.append(point)
            lengths.append(lengths[-1] + arc)
            here = point
            h *= min(1.6, max(0.5, TARGET_TURN / max(turn, 1e-9))) * (0.7 if iterations > 4 else 1.0)
        return points, lengths, f"it has not come back after {self.length:g}{self.reason}", singular

    def _longest(self, point: SolutionPoint) -> float:
        return self.largest / float(np.abs(point.tangent).max())

    def _step(self, here: SolutionPoint, h: float) -> tuple[SolutionPoint, int, float, float] | None:
        """Return the next point, iterations, turn of the tangent and arclength; None if the step is too long."""
        guess = self.closed.retract(here.q, h * here.tangent)
        found = self.correct(guess, here.tangent)
        if found is None:
            return None
        off = float(np.linalg.norm(self.closed.difference(guess, found.q)))
        if off > 0.2 * h:
            return None
        point = self.evaluate(found.q, here.tangent)
        cosine = min(1.0, float(point.tangent @ here.tangent))
        turn = float(np.arccos(max(-1.0, cosine)))
        if turn > MAX_TURN:
            return None
        # the chord of an arc that turns by `turn`
        arc = float(np.hypot(h, off)) * (turn / 2 / np.sin(turn / 2) if turn > 1e-6 else 1.0)
        return point, found.iterations, turn, arc

    def _back(self, start: SolutionPoint, here: SolutionPoint, point: SolutionPoint, h: float) -> bool:
        """Return True if the step from here to a point passes the start in its direction."""
        to, beyond = self.closed.difference(here.q, start.q), self.closed.difference(point.q, start.q)
        if float(np.linalg.norm(to)) > 2.0 * h or point.tangent @ start.tangent < 0.7:
            return False
        ahead = float(to @ here.tangent)
        if ahead < -1e-9 or float(beyond @ point.tangent) > 1e-9:
            return False
        exact = self.correct(self.closed.retract(here.q, ahead * here.tangent), here.tangent)
        if exact is None or float(np.abs(self.closed.difference(exact.q, start.q)).max()) > 1e-6:
            return False
        # a coordinate computed from angles need not return to its value when the angles have turned
        there = self.evaluate(self.closed.shift(start.q, exact.q), here.tangent)
        return (
            float(np.abs(there.tangent - start.tangent).max()) < 1e-4 or min(there.sigma, start.sigma) < BRANCH_JUMP_TOL
        )

    def _stopped(self, here: SolutionPoint, point: SolutionPoint, h: float) -> tuple[SolutionPoint, str] | None:
        """Return the point within a step at which a stop is reached, and the stop."""
        first: tuple[float, SolutionPoint, str] | None = None
        for measure in self.stops:
            value = float(measure.values(point.q))
            for bound, sign, word in ((measure.lower, -1.0, "lower"), (measure.upper, 1.0, "upper")):
                if not sign * (value - bound) > 1e-12 * measure.scale:
                    continue
                found = self.located(here, h, lambda p, m=measure, b=bound: float(m.values(p.q)) - b)  # type: ignore[misc]
                at = point if found is None else found
                distance = float(self.closed.difference(here.q, at.q) @ here.tangent)
                if first is None or distance < first[0]:
                    unit = f" {measure.unit}" if measure.unit else ""
                    first = distance, at, f"{measure.name} is at its {word} stop, {bound:.6g}{unit}"
        return None if first is None else first[1:]

    # ---- special points

    def located(
        self, here: SolutionPoint, h: float, function: Callable[[SolutionPoint], float]
    ) -> SolutionPoint | None:
        """Return the point within a step of length h at which a function of a point vanishes."""
        last: list[SolutionPoint] = []

        def value(length: float) -> float:
            point = self.advance(here, length) if length > 0.0 else here
            if point is None:
                return float("nan")
            last[:] = [point]
            return function(point)

        found = illinois_root(value, 0.0, h)
        if found is None:
            return None
        value(found)
        return last[0]

    def _crossing(self, sound: SolutionPoint, point: SolutionPoint) -> SolutionPoint | None:
        """Return the rank drop between two points, or else the change of branch; None if there is neither."""
        if point.signed(sound, self.free) >= 0:
            return None
        ahead = float(self.closed.difference(sound.q, point.q) @ sound.tangent)
        found = self.located(sound, ahead, lambda p: p.signed(sound, self.free) if p.sigma > 1e-12 else 0.0)
        found = point if found is None else found
        return SolutionPoint(found.q, found.tangent, found.sigma, sound.basis, found.jacobian)

    def _touching(self, points: list[SolutionPoint], path: Path) -> list[SolutionPoint]:
        """Return the points at which the smallest singular value touches zero without a change of sign."""
        found = []
        level = 0.3 * float(np.median(path.sigma)) if len(path) > 4 else 0.0
        known = [point.q for point in path.singular]
        for k in range(1, len(path) - 1):
            if not (path.sigma[k] < level and path.sigma[k - 1] >= path.sigma[k] <= path.sigma[k + 1]):
                continue
            reach = 2.0 * (path.s[k + 1] - path.s[k - 1])
            if any(float(np.linalg.norm(self.closed.difference(q, path.q[k]))) < reach for q in known):
                continue
            point = self._least(points[k - 1], float(path.s[k + 1] - path.s[k - 1]))
            if point is not None and point.sigma < BRANCH_JUMP_TOL:
                found.append(SolutionPoint(point.q, point.tangent, point.sigma, points[k - 1].basis, point.jacobian))
                known.append(point.q)
        return found

    def _least(self, here: SolutionPoint, h: float) -> SolutionPoint | None:
        """Return the point within h with the least smallest singular value, by golden section."""
        golden, low, high = (5**0.5 - 1) / 2, 0.0, h
        best: SolutionPoint | None = None
        for _ in range(50):
            a, b = high - golden * (high - low), low + golden * (high - low)
            one, two = self.advance(here, a), self.advance(here, b)
            if one is None or two is None:
                return best
            best = one if one.sigma < two.sigma else two
            low, high = (low, b) if one.sigma < two.sigma else (a, high)
            if high - low < 1e-9:
                break
        return best

    def strewn(self, path: Path, q: Array) -> BoolArray:
        """Return the mask of configurations (B, nq) on a path, to the accuracy of cubics between its points."""
        closed, on = self.closed, np.zeros(len(q), dtype=bool)
        steps = closed.difference(path.q[:-1], path.q[1:])
        ds = np.diff(path.s)
        for k, one in enumerate(q):
            x = closed.difference(path.q[:-1], one)
            near = np.flatnonzero(np.linalg.norm(x, axis=1) < 1.5 * ds)
            u = np.clip((x[near] * steps[near]).sum(1) / (steps[near] ** 2).sum(1), -0.1, 1.1)
            h, ends = ds[near, None], (steps[near], path.tangents[near + 1])
            for _ in range(4):
                at, slope = hermite(u[:, None], h, (0 * steps[near], path.tangents[near]), ends)
                off = x[near] - at
                u = np.clip(u + (off * slope).sum(1) / (h[:, 0] * (slope**2).sum(1)), -0.1, 1.1)
            on[k] = bool((np.abs(off).max(1, initial=0.0) < 1e-4).any()) if len(near) else False
        return on

    def on(self, path: Path, q: Array, *, candidates: int = 4) -> int | None:
        """Return the index of the path point next to a configuration on the path.

        None if it is not on the path.
        """
        away = self.closed.difference(path.q, q)
        distance = np.linalg.norm(away, axis=1)
        spacing = float(np.diff(path.s).max(initial=self.largest))
        for k in np.argsort(distance)[:candidates]:
            if distance[k] > 1.5 * spacing:
                return None
            if distance[k] < 1e-7:
                return int(k)
            tangent = path.tangents[k]
            found = self.correct(self.closed.retract(path.q[k], float(away[k] @ tangent) * tangent), tangent)
            if found is not None and float(np.abs(self.closed.difference(found.q, q)).max()) < 1e-5:
                return int(k)
        return None

    def refined(self, path: Path, k: int, function: Callable[[SolutionPoint], float]) -> SolutionPoint | None:
        """Return the point between path points k and k + 1 at which a function of a point vanishes."""
        here = self.evaluate(path.q[k], path.tangents[k])
        ahead = float(self.closed.difference(path.q[k], path.q[k + 1]) @ here.tangent)
        return self.located(here, ahead, function)
