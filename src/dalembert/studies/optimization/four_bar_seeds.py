"""Start values of planar four-bars from their polynomial synthesis equations, by many random starts.

Points lie in the complex plane. A coupler point moves from P_0 by d_j. A dyad with its pivot at P_0 + a and its moving
joint at P_0 - z keeps its length if the coupler turns by e = exp(i theta_j):

    Re(conj(d_j - a) z e) = |d_j|^2 / 2 - Re(conj(d_j) a) - Re(conj(a) z)                                          (1)

(1) of both dyads is linear in the cosine and sine of theta_j. Their squares add up to one, which gives one equation for
each point but the first, in the eight unknowns of (a, z) and (b, w) (Roth and Freudenstein 1963; Wampler, Morgan and
Sommese 1992). For links that turn by phi_j and psi_j about pivots at 0 and 1, with initial ends at u and 1 + v, the
coupler has the same length at all positions (Freudenstein 1955):

    |1 + v exp(i psi_j) - u exp(i phi_j)|^2 = s                                                                    (2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, ComplexArray
from ...connections.joints import Revolute
from ...errors import SingularityError
from ...model import Model
from ...numerics.least_squares import VectorProblem, levenberg_marquardt
from .design_variables import Variables
from .levenberg_marquardt import PositionFit, fit_positions, settled
from .linkage_positions import Positions, TargetPoses

__all__ = ["FourBar", "recognised"]


_BATCH_SIZE = 1000  # random starts per batch
_MAX_BATCHES = 10  # maximum number of batches
_STEPS = 120
EXACT_TOL = 1e-10  # largest residual of a solution; central differences converge to it
DUPLICATE_TOL = 1e-5  # of solutions, in units of the extent
MAX_LINK_LENGTH = 50.0  # of the extent of the task; longer links are of no use
MIN_LINK_LENGTH = 1e-3  # of the extent of the task; shorter links are degenerate
_MAX_TRIES = 3  # attempts to find the model parameters of a linkage


@dataclass(frozen=True, eq=False)
class FourBar:
    """Four-bar recognized in a model, with its joints and target poses.

    Attributes
    ----------
    ends : dict of joint to (body, marker)
        A moving body at each of the joints A, B, C, D, and the marker whose position parameters locate the joint on it.
    joints : tuple of str
        A, B, C, D: from the ground along crank, coupler, rocker.
    """

    positions: Positions
    joints: tuple[str, str, str, str]
    ends: dict[str, tuple[int, str]]
    paths: bool

    def begins(
        self, variables: Variables, rng: np.random.Generator, drive: str | None, clean: bool
    ) -> Iterator[PositionFit | None]:
        """Yield parameters and coordinates of four-bars that meet all targets; None if no parameters give the four-bar.

        Four-bars that a drive can take through all positions in order come first; if `clean`, no others are yielded.
        """
        known: list[Array] = []
        for _ in range(_MAX_BATCHES):
            fresh = []
            for x in self._solutions(rng):
                if all(np.abs(x - other).max() > DUPLICATE_TOL for other in known):
                    known.append(x)
                    fresh.append(self._joints(x))
            if not fresh:
                return
            good = [self._passable(joints, drive) for joints in fresh]
            for joints in [j for j, passes in zip(fresh, good, strict=True) if passes]:
                yield self._numbered(joints, variables, rng)
            for joints in [] if clean else [j for j, passes in zip(fresh, good, strict=True) if not passes]:
                yield self._numbered(joints, variables, rng)

    def _solutions(self, rng: np.random.Generator) -> list[Array]:
        """Return solutions of (1) or (2) from a batch of random starts, in units of the extent."""
        if self.paths:
            d = self._points() / self.positions.length
            found = _solved(lambda X: _dyads(X, d[1:] - d[0]), rng.normal(0, 1, (_BATCH_SIZE, 8)))
            return [x for x in found if _is_linkage(x)]
        phi, psi = self._turns()
        begin = np.hstack([rng.normal(0, 2, (_BATCH_SIZE, 4)), rng.uniform(0, 9, (_BATCH_SIZE, 1))])
        found = _solved(lambda X: _couplers(X, phi, psi), begin)
        return [x for x in found if x[4] > MIN_LINK_LENGTH and np.hypot(x[:4:2], x[1:4:2]).min() > MIN_LINK_LENGTH]

    def _points(self) -> ComplexArray:
        values = self.positions.wanted[0].values
        return np.asarray(values[:, 0] + 1j * values[:, 1])

    def _turns(self) -> tuple[Array, Array]:
        """Return in-plane angles of crank and rocker relative to their first ones, (N,)."""
        phi, psi = (self._sense(w) * w.values[:, 0] for w in self.positions.wanted)
        return (phi, psi) if self._first_is_crank() else (psi, phi)

    def _sense(self, w: TargetPoses) -> float:
        """Return 1 or -1: in-plane sense of rotation of a link for an increasing coordinate."""
        if w.kind == "angle":
            return 1.0
        model, body = self.positions.model, self.ends[w.name][0]
        V = model.velocities(np.zeros(model.nq), np.eye(model.nv)[w.column])
        return float(np.sign(V[body, :3] @ self.positions.normal))

    def _first_is_crank(self) -> bool:
        first = self.positions.wanted[0]
        crank = self.positions.model.body_names[self.ends[self.joints[0]][0]]
        return first.name in (f"{crank}.angle", self.joints[0])

    def _joints(self, x: Array) -> ComplexArray:
        """Return the points A, B, C, D at all positions, (4, N)."""
        if self.paths:
            P = self._points()
            a, z, b, w = (x[::2] + 1j * x[1::2]) * self.positions.length
            d = (P - P[0]) / self.positions.length
            turn = _turn(x[None], d)[0]
            return np.array([np.full(len(P), P[0] + a), P - z * turn, P - w * turn, np.full(len(P), P[0] + b)])
        phi, psi = self._turns()
        A, D = self._pivots()
        u, v = (D - A) * (x[:4:2] + 1j * x[1:4:2])
        one = np.ones(len(phi))
        return np.array([A * one, A + u * np.exp(1j * phi), D + v * np.exp(1j * psi), D * one])

    def _pivots(self) -> tuple[complex, complex]:
        """Return the pivots of the model as described; angles alone do not determine them."""
        system, (first, second) = self.positions.model.system, self.positions.plane
        found = []
        for joint in (self.joints[0], self.joints[3]):
            connection = system.connections[joint]
            end = connection.first if connection.first.body.name == "ground" else connection.second
            place = np.asarray(end.position, dtype=float)
            found.append(complex(place[first], place[second]))
        return found[0], found[1]

    def _passable(self, joints: ComplexArray, drive: str | None) -> bool:
        """Return whether a link passes all positions in order and without a dead point in between."""
        A, B, C, D = joints if drive != self.joints[3] else joints[::-1]
        side = np.sign(((C - B).conj() * (D - C)).imag)
        steps = np.angle(np.roll(B - A, -1) / (B - A))
        travels = [np.mod(sign * steps, 2 * np.pi).sum() for sign in (1, -1)]
        return bool((side == side[0]).all() and min(travels) < 3 * np.pi)

    def _numbered(self, joints: ComplexArray, v: Variables, rng: np.random.Generator) -> PositionFit | None:
        """Return the model parameters that put its joints at given points; None if not found."""
        own = self.positions
        at = np.stack([joints.real, joints.imag], axis=-1)
        wanted = [TargetPoses(h, "point", at[k], *self.ends[h]) for k, h in enumerate(self.joints)]
        both = Positions(own.model, own.names, v.scale, [*own.wanted, *wanted], own.plane_name)
        for attempt in range(_MAX_TRIES):
            p = v.start if attempt == 0 else _within(v, rng)
            q = np.tile(own.model.random_state(rng).q, (own.count, 1))
            try:
                q = settled(both, p, q, steps=25)
                fit = fit_positions(both, PositionFit(p, q, np.inf), (v.lower, v.upper), 1.0, 60)
            except (np.linalg.LinAlgError, SingularityError):
                continue
            if fit.cost < 1e-12:
                return fit
        return None


def _within(v: Variables, rng: np.random.Generator) -> Array:
    wide = np.isfinite(v.upper - v.lower)
    low, high = np.where(wide, v.lower, v.start), np.where(wide, v.upper, v.start)
    return np.asarray(low + rng.random(len(v)) * (high - low))


def recognised(positions: Positions) -> FourBar | None:
    """Recognize a four-bar all of whose dimensions are free; None if the model is no such four-bar."""
    model, wanted = positions.model, positions.wanted
    loop = _loop(model)
    if loop is None:
        return None
    joints, bodies, ends = loop
    crank, coupler, rocker = bodies
    if len(wanted) == 1 and wanted[0].kind == "point" and wanted[0].values.shape[1] == 2:
        if wanted[0].body != coupler or len(positions.names) < 9 or not 3 <= positions.count <= 9:
            return None
        return FourBar(positions, joints, ends, True)
    sides = {_side(w, model, joints, (crank, rocker)) for w in wanted}
    if len(wanted) == 2 and sides == {0, 1} and len(positions.names) >= 5 and 3 <= positions.count <= 5:
        return FourBar(positions, joints, ends, False)
    return None


def _side(w: TargetPoses, model: Model, joints: tuple[str, ...], bodies: tuple[int, int]) -> int | None:
    """Return 0 for an angle of the crank, 1 for one of the rocker, None for others."""
    if w.kind == "angle" and w.body in bodies:
        return bodies.index(w.body)
    return {joints[0]: 0, joints[3]: 1}.get(w.name) if w.kind == "joint" else None


def _loop(model: Model) -> tuple[tuple[str, str, str, str], tuple[int, int, int], dict[str, tuple[int, str]]] | None:
    """Return joints and bodies of a four-bar in order from the ground, and a moving end of each joint."""
    connections = model.system.connections
    if len(model.body_names) != 3 or len(connections) != 4:
        return None
    pairs = {}
    for name, c in connections.items():
        if type(c.element) is not Revolute or c.first is None or c.second is None:
            return None
        pairs[name] = (c.first.body.name, c.second.body.name)
    way: list[str] = []
    bodies = ["ground"]
    while len(way) < 4:
        onward = [n for n, pair in pairs.items() if n not in way and bodies[-1] in pair]
        if not onward:
            return None
        way.append(onward[0])
        first, second = pairs[onward[0]]
        bodies.append(second if first == bodies[-1] else first)
    if bodies[-1] != "ground" or len(set(bodies)) != 4:
        return None
    numbers = [list(model.body_names).index(body) for body in bodies[1:4]]
    ends = {}
    for joint in way:
        side = "second" if pairs[joint][0] == "ground" else "first"
        body = pairs[joint][side == "second"]
        ends[joint] = (list(model.body_names).index(body), f"{joint}.{side}")
    return (way[0], way[1], way[2], way[3]), (numbers[0], numbers[1], numbers[2]), ends


def _turn(X: Array, d: ComplexArray) -> ComplexArray:
    """Return exp(i theta_j) by (1), (B, N)."""
    C, S, D = _cosines(X, d)
    with np.errstate(all="ignore"):
        return np.asarray((C + 1j * S) / D)


def _cosines(X: Array, d: ComplexArray) -> tuple[Array, Array, Array]:
    a, z, b, w = (X[:, k : k + 1] + 1j * X[:, k + 1 : k + 2] for k in (0, 2, 4, 6))

    def row(a: ComplexArray, z: ComplexArray) -> tuple[Array, Array, Array]:
        c = (d - a).conj() * z
        return c.real, -c.imag, 0.5 * np.abs(d) ** 2 - (d.conj() * a).real - (a.conj() * z).real

    (p, q, r), (s, t, u) = row(a, z), row(b, w)
    return r * t - u * q, p * u - s * r, p * t - s * q


def _dyads(X: Array, d: ComplexArray) -> Array:
    """Return the residuals of (1), (B, N - 1), for a, z, b, w in X (B, 8)."""
    C, S, D = _cosines(X, d)
    return np.asarray(C * C + S * S - D * D)


def _couplers(X: Array, phi: Array, psi: Array) -> Array:
    """Return the residuals of (2), (B, N), for u, v, s in X (B, 5)."""
    u, v = X[:, :1] + 1j * X[:, 1:2], X[:, 2:3] + 1j * X[:, 3:4]
    return np.asarray(np.abs(1 + v * np.exp(1j * psi) - u * np.exp(1j * phi)) ** 2 - X[:, 4:])


def _is_linkage(x: Array) -> bool:
    """Return whether the two dyads differ and all links have a practical length."""
    a, z, b, w = x[::2] + 1j * x[1::2]
    lengths = np.abs([a - b, z - w, z, w, a + z, b + w])
    return bool(
        lengths[:2].min() > 10 * MIN_LINK_LENGTH and lengths.min() > MIN_LINK_LENGTH and lengths.max() < MAX_LINK_LENGTH
    )


def _solved(residual: Callable[[Array], Array], X: Array) -> list[Array]:
    """Return zeros found from a batch of starts X (B, n)."""
    rows, columns = np.arange(residual(X[:1]).shape[1]), np.arange(X.shape[1])
    problem = VectorProblem(X.shape[1], residual)
    X, worst = levenberg_marquardt(problem, X, [(rows, columns)], tolerance=EXACT_TOL, iterations=_STEPS)
    return list(X[worst[:, 0] <= EXACT_TOL])
