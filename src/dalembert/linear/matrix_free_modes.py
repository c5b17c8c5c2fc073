"""Matrix-free computation of the lowest modes of large systems.

The core solves (mu - J) [xi; dv; dx] = [r1; r2; r3] by a frontal method over the bodies in O(nb), where J is the
Jacobian of the rates of all small changes. With r1 = 0 and neither damping nor element states, dv = mu xi and

    (K + mu^2 M) xi = M r2                                                                                    (1)

The operator OP = (K + mu^2 M)^-1 M is self-adjoint in the metric of M and has eigenvalues 1 / (omega^2 + mu^2); the
largest ones are the lowest modes. They are found by the Rayleigh-Ritz method in a block Krylov space, orthonormal in M;
the block resolves repeated modes. With damping, gyroscopic terms or element states, Arnoldi's method is applied to
(mu - J)^-1. Products with M come from inverse dynamics, also in O(nb). With loops, all vectors are those of the
independent coordinates: the null space of the rows, which (mu - J)^-1 keeps, is restored after each product.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._core import NewtonFactor
from ..arrays import Array, ComplexArray
from .tangent import Tangent

__all__ = ["LargeSystem", "lowest_damped", "lowest_undamped"]


BLOCK_SIZE = 6  # modes computed beyond the requested ones
MAX_RESTARTS = 30  # of Arnoldi's method; convergence takes at most ten
RITZ_TOL = 1e-8  # residual of a Ritz pair relative to its value, which is then accurate to its square


class LargeSystem:
    """Products with (mu - J)^-1 and M in independent coordinates.

    Parameters
    ----------
    space : Tangent
    mu : float, 1/s
        Shift: not an eigenvalue, of the order of the lowest frequency.
    """

    def __init__(self, space: Tangent, mu: float = 1.0) -> None:
        self.space, self.mu = space, mu
        self._factor: tuple[float, NewtonFactor] | None = None  # of the last shift
        model, s = space.model, space.state
        self._tree = len(space.positions) == model.nv
        self._force = (
            model.inverse_dynamics(s.q, np.zeros(model.nv), np.zeros(model.nv), bare=True) if self._tree else None
        )

    @classmethod
    def can(cls, space: Tangent) -> bool:
        """Return whether the core supports this solution for the space."""
        model, s = space.model, space.state
        turning = space.K is not None and bool(s.v.any())
        if space.conditions is not None or space.inputs is not None or turning or space.ny != space.nz:
            return False
        return NewtonFactor(model, s.q, s.v, s.x, float(s.t), 1.0).regular

    def lift(self, Y: Array) -> Array:
        """Return small motions (k, nv) from independent ones (k, n)."""
        return Y if self._tree else np.asarray(Y @ self.space.Q.T)

    def solve(self, r1: Array, r2: Array, r3: Array, mu: float | None = None) -> tuple[Array, Array, Array]:
        """Return independent motions, velocities and element states for right-hand sides (k, nv), (k, nv), (k, nx)."""
        shift = self.mu if mu is None else mu
        if self._factor is None or self._factor[0] != shift:
            s = self.space.state
            self._factor = shift, NewtonFactor(self.space.model, s.q, s.v, s.x, float(s.t), shift)
        xi, dv, dx = self._factor[1].solve(*(np.ascontiguousarray(r) for r in (r1, r2, r3)))
        return xi[:, self.space.positions], dv[:, self.space.speeds], dx

    def inverse(self, Y: Array, mu: float | None = None) -> Array:
        """Return OP Y of (1) for rows Y (k, n)."""
        lifted = self.lift(Y)
        nx = self.space.model.nx
        return self.solve(np.zeros_like(lifted), lifted, np.zeros((len(Y), nx)), mu)[0]

    def matrix(self) -> Array:
        """Return A (size, size) of the independent states, mu - R^-1, with R from one solution per state.

        Cheaper than all derivatives if loops leave few of many degrees of freedom.
        """
        xi, dv, dx = (np.ascontiguousarray(part.T) for part in self.space.directions)
        R = np.hstack(self.solve(xi, dv, dx)).T
        return np.asarray(self.mu * np.eye(len(R)) - np.linalg.inv(R))

    def mass(self, Y: Array) -> Array:
        """Return M Y for rows (k, n)."""
        space, model = self.space, self.space.model
        if not self._tree:
            return np.asarray(Y @ self._matrix)
        q, still = np.tile(space.state.q, (len(Y), 1)), np.zeros((len(Y), model.nv))
        assert self._force is not None
        return np.asarray(model.inverse_dynamics(q, still, Y, bare=True) - self._force)

    @cached_property
    def _matrix(self) -> Array:
        return self.space.mass_matrix()

    def is_undamped(self) -> bool:
        """Return whether (1) holds: only inertia and symmetric stiffness, tested with a few random motions."""
        if self.space.model.nx:
            return False
        Y = np.random.default_rng(0).normal(size=(2, self.space.ny))
        there, back = self.inverse(Y), self.inverse(Y, -self.mu)
        MY = self.mass(Y)
        size = np.abs(there).max()
        symmetric = abs(MY[0] @ there[1] - MY[1] @ there[0]) <= 1e-7 * np.abs(MY).max() * size * len(Y[0])
        return bool(np.abs(there - back).max() <= 1e-7 * size and symmetric)


def lowest_undamped(system: LargeSystem, count: int) -> tuple[Array, Array] | None:
    """Return omega^2 (count,) 1/s2, lowest first, and motions (n, count), orthonormal in M; None if not converged.

    There is no convergence if hundreds of modes have the same frequency, as in a system with little stiffness.
    """
    n = system.space.ny
    most = min(n, 10 * count + 20 * BLOCK_SIZE)
    count = min(count, n)
    block = min(BLOCK_SIZE, n)
    rng = np.random.default_rng(1)
    V = np.zeros((0, n))
    MV, T = V.copy(), np.zeros((0, 0))
    new = rng.normal(size=(block, n))
    while True:
        new, Mnew = _orthonormal(system, new, V, MV, rng)
        if not len(new):
            break
        images = system.inverse(new)
        V, MV = np.vstack([V, new]), np.vstack([MV, Mnew])
        part = MV @ images.T  # (all, new)
        grown = np.zeros((len(V), len(V)))
        grown[: len(T), : len(T)] = T
        grown[:, len(T) :] = part
        grown[len(T) :, :] = part.T
        T = (grown + grown.T) / 2
        theta, W = np.linalg.eigh(T)
        order = np.argsort(-theta)[:count]
        left = images - (part.T @ V)
        # residuals of Ritz pairs lie in the complement of the last block
        reach = _size(system, left.T @ W[-len(new) :, order]) if len(V) < n else np.zeros(len(order))
        if len(V) >= min(n, count + block) and (reach <= RITZ_TOL * theta[order]).all():
            break
        if len(V) >= most and most < n:
            return None
        new = left
    return 1.0 / theta[order] - system.mu**2, (W[:, order].T @ V).T


def _size(system: LargeSystem, X: Array) -> Array:
    rows = np.ascontiguousarray(X.T)
    return np.asarray(np.sqrt(np.abs((rows * system.mass(rows)).sum(1))))


def _orthonormal(system: LargeSystem, new: Array, V: Array, MV: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Orthonormalize rows in M among themselves and to V; return them and M times them, without dependent ones."""
    for _ in range(2):  # two passes restore orthogonality
        new = new - (new @ MV.T) @ V
        Mnew = system.mass(new)
        gram = new @ Mnew.T
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        keep = values > 1e-24 * max(1e-300, float(values[-1]))
        turn = vectors[:, keep] / np.sqrt(values[keep])
        new, Mnew = turn.T @ new, turn.T @ Mnew
    if len(V) + len(new) > V.shape[1]:
        new, Mnew = new[: V.shape[1] - len(V)], Mnew[: V.shape[1] - len(V)]
    return new, Mnew


def lowest_damped(system: LargeSystem, count: int) -> tuple[ComplexArray, ComplexArray] | None:
    """Return eigenvalues (k,) nearest to the shift, and changes of independent states (size, k).

    None if not converged: a long cantilevered chain has a cluster of eigenvalues in place of lowest ones.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    space = system.space
    n, m, size = space.ny, space.ny + space.nz, space.size

    def product(s: Array) -> Array:
        y, z, x = s[:n], s[n:m], s[m:]
        xi = space.Q @ y if not system._tree else y
        dv = space.V @ z + space.U @ y if not system._tree else z
        found = system.solve(xi[None], dv[None], x[None])
        return np.concatenate([part[0] for part in found])

    operator = LinearOperator((size, size), matvec=product, dtype=float)
    start = np.random.default_rng(1).normal(size=size)
    try:
        values, vectors = eigs(operator, k=min(2 * count, size - 2), which="LM", v0=start, maxiter=MAX_RESTARTS)
    except ArpackNoConvergence:
        return None
    return system.mu - 1.0 / values, vectors
