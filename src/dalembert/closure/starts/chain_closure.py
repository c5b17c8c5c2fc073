"""Closure of loops with kinematic chains, with inner coordinates as unknowns.

A chain that is out of reach pulls its ends together along the shortest line. It may stop against the other connections
although it could close in another shape. With its coordinates gamma as additional unknowns it acts like any joints in
a loop:

    r(q) = 0 of all other rows,     e(q, gamma) = 0 of each chain,     e' = V - Y gamma'                           (1)

solved by Levenberg-Marquardt steps. The result is a start from which the loops are closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, BoolArray
from ...connections.constraints.chains import KinematicChain
from ...numerics.least_squares import levenberg_marquardt
from ..relative_pose import relative

if TYPE_CHECKING:
    from ..loop_solver import LoopSolver

__all__ = ["close_with_chain_unknowns"]


N_STARTS = 4  # of inner coordinates
MAX_ITERATIONS = 60


def close_with_chain_unknowns(closure: LoopSolver, chains: list[Any], guess: Array, free: BoolArray) -> Iterator[Array]:
    """Yield nearly closed configurations (nq,), with the free velocities (nv,) moved from a guess (nq,)."""
    rest = np.array([name not in {chain.name for chain in chains} for name in closure.model.constraint_connections])
    for k in range(N_STARTS):
        inner = [chain.element.starts[min(k, len(chain.element.starts) - 1)] for chain in chains]
        yield _ExtendedEquations(closure, chains, free, rest).solved(guess, inner)


class _ExtendedEquations:
    """Equations (1) of a closure."""

    def __init__(self, closure: LoopSolver, chains: list[Any], free: BoolArray, rest: BoolArray) -> None:
        self.closure, self.chains, self.free, self.rest = closure, chains, free, rest
        self.columns = (closure.loops.column_scales * closure.metric)[free]
        self.nv = len(self.columns) + sum(len(chain.element.starts[0]) for chain in chains)
        self._evaluated: dict[bytes, tuple[Array, Array]] = {}  # the last two points: current and trial

    def residual(self, Q: Array) -> Array:
        """Return r (B, rows) of (1) at Q = [q, gamma of all chains] (B, nq + n)."""
        return np.array([self._evaluate(one)[0] for one in Q])

    def jacobian(self, Q: Array) -> Array:
        """Return its derivatives (B, rows, nv) with respect to scaled steps."""
        return np.array([self._evaluate(one)[1] for one in Q])

    def _evaluate(self, Q: Array) -> tuple[Array, Array]:
        """Return residual and Jacobian at Q (nq + n,), which are computed together."""
        key = Q.tobytes()
        if key not in self._evaluated:
            while len(self._evaluated) > 1:
                self._evaluated.pop(next(iter(self._evaluated)))
            self._evaluated[key] = self.at(*self._split(Q))
        return self._evaluated[key]

    def retract(self, Q: Array, x: Array) -> Array:
        """Return the configuration after scaled steps x (B, nv)."""
        model, count = self.closure.model, len(self.columns)
        step = np.zeros((len(Q), model.nv))
        step[:, self.free] = self.columns * x[:, :count]
        return np.hstack([model.integrate(Q[:, : model.nq], step), Q[:, model.nq :] + x[:, count:]])

    def _split(self, Q: Array) -> tuple[Array, list[Array]]:
        nq = self.closure.model.nq
        ends = nq + np.cumsum([len(chain.element.starts[0]) for chain in self.chains])[:-1]
        return Q[:nq], np.split(Q[nq:], ends - nq)

    def at(self, q: Array, inner: list[Array]) -> tuple[Array, Array]:
        """Return residual and Jacobian by [x of (1) in `closure`; inner coordinates of all chains]."""
        closure, model, length = self.closure, self.closure.model, self.closure.loops.length
        rest = np.concatenate([self.rest, np.ones(sum(len(held.turns) for held in closure.extra), dtype=bool)])
        J = closure.jacobian(q)[rest][:, self.free] * closure.metric[self.free]
        values, rows = [closure.residual(q)[rest]], [J]
        sizes = [len(gamma) for gamma in inner]
        blocks = [np.zeros((int(rest.sum()), sum(sizes)))]
        for k, (chain, gamma) in enumerate(zip(self.chains, inner, strict=True)):
            element: KinematicChain = chain.element
            seen = relative(model, chain.first, chain.second, q)
            e, Y = element.error(seen.rotation, seen.position, gamma)
            scale = np.array([element.length] * 3 + [1.0] * 3)[:, None]
            values.append(e / length)
            rows.append(scale * seen.jacobian[:, self.free] * self.columns / length)
            block = np.zeros((6, sum(sizes)))
            block[:, sum(sizes[:k]) : sum(sizes[: k + 1])] = -Y / length
            blocks.append(block)
        return np.concatenate(values), np.hstack([np.vstack(rows), np.vstack(blocks)])

    def solved(self, q: Array, inner: list[Array]) -> Array:
        """Return the configuration (nq,) reached by steps from a guess."""
        Q = np.concatenate([q, *inner])[None]
        everything = np.arange(self.residual(Q).shape[1]), np.arange(self.nv)
        Q, _ = levenberg_marquardt(self, Q, [everything], tolerance=1e-8, iterations=MAX_ITERATIONS)
        return np.asarray(Q[0, : len(q)])
