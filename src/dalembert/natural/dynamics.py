"""Forward dynamics in natural coordinates, with a constant mass matrix.

    M a + J^T lam = Q,   J a = c                                                                                    (1)

By a basis R of the null space of J, J R = 0,

    R^T M R z' = R^T (Q - M S c),   a = S c + R z'                                                                  (2)

or by an augmented Lagrangian, which needs neither the rank nor a basis,

    (M + alpha J^T J) a = Q + alpha J^T c - J^T lam,   lam += alpha (J a - c)                                       (3)

repeated until a converges. Both admit redundant rows. The inertia of driven coordinates is on the right-hand side.
Garcia de Jalon and Bayo 1994, chapters 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, one_of, shape_of
from ..closure import find_position
from ..closure.position_rates import speed_scales
from ..errors import ModelError, SingularityError
from ..motion import FollowedMotion
from ..numerics.rank import ROW_RANK_TOL, STEP_RANK_TOL, minimum_norm_solution, numerical_rank
from .bodies import body_coordinates, mass_matrix, point_matrix
from .motion import NaturalMotion

if TYPE_CHECKING:
    from .mechanism import Mechanism

__all__ = ["NaturalDynamics"]


PENALTY = 1e4  # alpha, relative to the inertia of a row; an iteration reduces the error by about this factor
MAX_ITERATIONS = 100  # of the augmented Lagrangian


class NaturalDynamics:
    """Equations of motion of a mechanism whose bodies have masses.

    Parameters
    ----------
    mechanism : Mechanism
        With `Mechanism.mass` of its bodies.
    gravity : (dim,) m/s2
    forces : callable of t, X, V
        Further generalised forces (N,) on all coordinates, given these and their rates; a force F at a point of a body
        is C^T F with `natural.bodies.point_matrix`.

    Attributes
    ----------
    equations : NaturalEquations
    M : (N, N)
        Constant mass matrix of all coordinates, fixed and driven ones too.
    """

    def __init__(
        self, mechanism: Mechanism, gravity: ArrayLike, forces: Callable[[float, Array, Array], Any] | None = None
    ) -> None:
        g = finite_array(gravity, (mechanism.dimension,), item="dynamics", field="gravity")
        self.mechanism, self.equations = mechanism.copy(), mechanism.equations()
        e = self.equations
        N = sum(len(c.value) for c in e.coordinates)
        self.M, self.weight, self._forces = np.zeros((N, N)), np.zeros(N), forces
        dimension = mechanism.dimension
        for name, (mass, centre, inertia) in mechanism.masses.items():
            body = mechanism.bodies[name]
            places = np.array([e.place(each, k) for each in body_coordinates(body) for k in range(dimension)])
            self.M[np.ix_(places, places)] += mass_matrix(body, mass, centre, inertia)
            self.weight[places] += mass * point_matrix(body, centre).T @ g
        self._u, self._d = e._unknown, e._driven

    @property
    def states(self) -> int:
        """Number of states of force elements."""
        return len(getattr(self._forces, "starts", ()))

    def _given(self, t: float, X: Array, V: Array, x: Array | None) -> Array:
        """Return the further forces Q (N,)."""
        assert self._forces is not None
        found = self._forces(t, X, V, x) if self.states else self._forces(t, X, V)  # type: ignore[call-arg]
        return finite_array(found, self.weight.shape, item="dynamics", field="forces")

    def forces(self, q: Array, v: Array, t: float, x: Array | None = None) -> Array:
        """Return Q (N,): weight, springs and loads, and further forces; x (nx,) are states of force elements."""
        own = self.mechanism.forces
        if self._forces is None and not own:
            return self.weight
        X, V = self.equations.all_values(q, t), self.equations.all_values(v, t, rate=1)
        if own:
            Q = self.weight.copy()
            for force in own.values():
                force.add(Q, self.equations, X, V, t)
            if self._forces is None:
                return Q
            return np.asarray(Q + self._given(t, X, V, x))
        return np.asarray(self.weight + self._given(t, X, V, x))

    def accelerations(
        self, q: ArrayLike, v: ArrayLike, t: float = 0.0, *, x: ArrayLike | None = None, method: str = "R"
    ) -> Array:
        """Return the accelerations a (n,) by (2), ``"R"``, or by (3), ``"augmented"``.

        Parameters
        ----------
        q, v : (n,)
            A closed position and consistent velocities.
        t : float, s
        x : (nx,)
            States of elements; as described if left out.
        method : str

        Raises
        ------
        SingularityError
            If a coordinate that can move has no mass.
        """
        one_of("accelerations", "method", method, ("R", "augmented"))
        e = self.equations
        at, speed = (finite_array(x, (e.nq,), item="accelerations", field=n) for x, n in ((q, "q"), (v, "v")))
        states = None if x is None else finite_array(x, (self.states,), item="accelerations", field="x")
        return self._accelerations(at, speed, t, method, None, states)

    def _accelerations(
        self, at: Array, speed: Array, t: float, method: str, rank: int | None, x: Array | None = None
    ) -> Array:
        """Return a (n,); off closed positions rounding raises the rank of J, which `rank` limits."""
        e = self.equations
        known = e.known(t, third=False)[2]
        M = self.M[np.ix_(self._u, self._u)]
        Q = self.forces(at, speed, t, x)[self._u] - self.M[np.ix_(self._u, self._d)] @ known
        J, c = e.jacobian(at, t), e.acceleration_terms(at, speed, t)
        D = e.column_scales
        S = speed_scales(e, J)[:, None]
        J, c = S * J * D, S[:, 0] * c
        M, Q = D[:, None] * M * D, D * Q
        x = _by_subspace(M, Q, J, c, rank) if method == "R" else _by_penalty(M, Q, J, c)
        return np.asarray(D * x)

    def multipliers(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """Return lam (rows,) of (1), of least norm if rows are redundant."""
        e = self.equations
        at, speed = (finite_array(x, (e.nq,), item="multipliers", field=n) for x, n in ((q, "q"), (v, "v")))
        a = self.accelerations(at, speed, t)
        whole = e.filled(a, e.known(t, third=False)[2], 2)
        left = (self.forces(at, speed, t) - self.M @ whole)[self._u]
        J = e.jacobian(at, t)
        S = speed_scales(e, J)
        lam = S * minimum_norm_solution((S[:, None] * J).T, left, STEP_RANK_TOL, 0.0)
        return np.asarray(lam)

    def energy(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> float:
        """Return kinetic energy and potential energy of weight and springs, J; not that of `forces` and elements."""
        X = self.equations.all_values(np.asarray(q, dtype=float), t)
        V = self.equations.all_values(np.asarray(v, dtype=float), t, rate=1)
        stored = sum(force.energy(self.equations, X) for force in self.mechanism.forces.values())
        return float(0.5 * V @ self.M @ V - self.weight @ X) + stored

    def simulate(
        self,
        times: ArrayLike,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        x: ArrayLike | None = None,
        method: str = "R",
        rtol: float = 1e-9,
    ) -> NaturalMotion:
        """Return the motion at times (k,) s from q and v; positions and velocities are projected at each time.

        Parameters
        ----------
        times : (k,) s
        q : (n,)
            Guess of the first position.
        v : (n,)
            Guess of the first velocities, projected onto the constraints; zero if left out.
        x : (nx,)
            Initial states of force elements; as described if left out. The result has them as ``motion.x``.
        method : str
            ``"R"`` or ``"augmented"``.
        rtol : float
            Relative tolerance of the integrator, DOP853.
        """
        from scipy.integrate import solve_ivp

        e = self.equations
        shape = shape_of(times)
        if shape is None or len(shape) != 1 or not shape[0]:
            raise ModelError("simulate", "times", times, "give one or more times, s")
        ts = finite_array(times, shape, item="simulate", field="times")
        n = e.nq
        at = find_position(e, q, float(ts[0])).q
        speed = e.project_velocities(at, np.zeros(n) if v is None else np.asarray(v, dtype=float), float(ts[0]))

        starts = getattr(self._forces, "starts", np.zeros(0))
        inner = np.array(starts if x is None else finite_array(x, (self.states,), item="simulate", field="x"))
        one_of("simulate", "method", method, ("R", "augmented"))
        rank = e.rank(at, float(ts[0]))

        def slope(t: float, y: Array) -> Array:
            here, pace, inner = y[:n], y[n : 2 * n], y[2 * n :]
            return np.concatenate(
                [pace, self._accelerations(here, pace, t, method, rank, inner), self._state_rates(here, pace, t, inner)]
            )

        rows = [(at, speed, inner)]
        scale = np.concatenate([e.column_scales, e.column_scales, np.maximum(np.abs(inner), 1.0)])
        for begin, end in pairwise(ts):
            y = np.concatenate([at, speed, inner])
            ran = solve_ivp(slope, (begin, end), y, method="DOP853", rtol=rtol, atol=1e-3 * rtol * scale)
            if not ran.success:
                raise SingularityError(f"natural dynamics at t = {ran.t[-1]:.6g} s: {ran.message}")
            at = find_position(e, ran.y[:n, -1], float(end)).q
            speed, inner = e.project_velocities(at, ran.y[n : 2 * n, -1], float(end)), ran.y[2 * n :, -1]
            rows.append((at, speed, inner))
        a = np.array([
            self._accelerations(here, pace, float(t), method, None, states)
            for (here, pace, states), t in zip(rows, ts, strict=True)
        ])  # fmt: skip
        qs, vs, xs = (np.array(part) for part in zip(*rows, strict=True))
        return NaturalMotion(self.mechanism, FollowedMotion(ts, qs, vs, a, None, 0, 0, 0), prescribed=False, states=xs)

    def _state_rates(self, q: Array, v: Array, t: float, x: Array) -> Array:
        if not self.states:
            return np.zeros(0)
        X, V = self.equations.all_values(q, t), self.equations.all_values(v, t, rate=1)
        return np.asarray(self._forces.state_rates(t, X, V, x))  # type: ignore[union-attr]


def _by_subspace(M: Array, Q: Array, J: Array, c: Array, most: int | None = None) -> Array:
    """Return x of (2); the rank of J is `most` at most."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular

    # one factorization, J^T P = Q T: R are the last columns of Q, S c follows from the first
    Q_all, T, order = qr(J.T, pivoting=True)
    rank = numerical_rank(np.abs(np.diag(T)), ROW_RANK_TOL, 0.0)
    rank = rank if most is None else min(rank, most)
    R = Q_all[:, rank:]
    inner = solve_triangular(T[:rank, :rank], c[order[:rank]], trans=1) if rank else np.zeros(0)
    particular = Q_all[:, :rank] @ inner
    try:
        z = cho_solve(cho_factor(R.T @ M @ R), R.T @ (Q - M @ particular)) if R.shape[1] else np.zeros(0)
    except LinAlgError:
        raise SingularityError("a coordinate that can move has no mass: give its body one (Mechanism.mass)") from None
    return np.asarray(particular + R @ z)


def _by_penalty(M: Array, Q: Array, J: Array, c: Array) -> Array:
    """Return x of (3); coordinates are scaled to unit mass."""
    from scipy.linalg import qr, solve_triangular

    heavy = np.sqrt(np.maximum(np.diag(M), 1e-2 * float(np.diag(M).max(initial=0.0)) + 1e-300))
    values, axes = np.linalg.eigh(M / np.outer(heavy, heavy))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
    A = J / heavy
    size = np.linalg.norm(A, axis=1)
    size[size == 0.0] = 1.0
    A, c, alpha = A / size[:, None], c / size, PENALTY
    R = qr(np.vstack([root, np.sqrt(alpha) * A]), mode="r")[0][: len(Q)]
    if float(np.abs(np.diag(R)).min(initial=1.0)) < 1e-9:
        raise SingularityError("a coordinate that can move has no mass: give its body one (Mechanism.mass)")
    lam, x, last = np.zeros(len(c)), np.zeros(len(Q)), np.inf
    for _ in range(MAX_ITERATIONS):
        right = Q / heavy + A.T @ (alpha * c - lam)
        before, x = x, solve_triangular(R, solve_triangular(R, right, trans=1))
        lam = lam + alpha * (A @ x - c)
        change = float(np.abs(x - before).max(initial=0.0)) / max(float(np.abs(x).max(initial=0.0)), 1e-300)
        if change <= 1e-14 or (change < 1e-8 and change > 0.5 * last):  # rounding
            return np.asarray(x / heavy)
        last = change
    raise SingularityError("the augmented Lagrangian does not converge: rows are nearly dependent; use method='R'")
