"""Closing loops of kinematic chains with their inner coordinates among the unknowns.

A chain that is out of reach pulls its ends together along the shortest way, and may come to rest against the other
connections although it could close when bent otherwise. With its coordinates gamma as unknowns, beside q, it is as
any joints in a loop:

    r(q) = 0 of all other rows,     e(q, gamma) = 0 of each chain,     e' = V - Y gamma'                           (1)

solved by steps of Levenberg and Marquardt. It tells where to begin; the loops are closed from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...connections.constraints.chains import KinematicChain
from ..relative_pose import relative

if TYPE_CHECKING:
    from ..loop_solver import LoopSolver

__all__ = ["close_with_chain_unknowns"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

N_STARTS = 4  # of inner coordinates
MAX_ITERATIONS = 60


def close_with_chain_unknowns(closure: LoopSolver, chains: list[Any], guess: Array, free: BoolArray) -> Iterator[Array]:
    """Yield configurations (nq,) that come near to closing, with the free speeds (nv,) moved from a guess (nq,)."""
    rest = np.array([name not in {chain.name for chain in chains} for name in closure.model.constraint_connections])
    for k in range(N_STARTS):
        inner = [chain.element.starts[min(k, len(chain.element.starts) - 1)] for chain in chains]
        yield _ExtendedEquations(closure, chains, free, rest).solved(guess, inner)


class _ExtendedEquations:
    """Equations (1) of a closure."""

    def __init__(self, closure: LoopSolver, chains: list[Any], free: BoolArray, rest: BoolArray) -> None:
        self.closure, self.chains, self.free, self.rest = closure, chains, free, rest
        self.columns = (closure.scales.columns * closure.metric)[free]

    def at(self, q: Array, inner: list[Array]) -> tuple[Array, Array]:
        """Return residual and Jacobian by [x of (1) in `closure`; inner coordinates of all chains]."""
        closure, model, length = self.closure, self.closure.model, self.closure.scales.length
        rest = np.concatenate([self.rest, np.ones(sum(len(held.turns) for held in closure.extra), dtype=bool)])
        values, rows = [closure.residual(q)[rest]], [closure.jacobian(q, self.free)[rest]]
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
        """Return where steps from a guess lead, (nq,)."""
        r, J = self.at(q, inner)
        mu = 1e-3
        for _ in range(MAX_ITERATIONS):
            A = J.T @ J
            size = float(np.trace(A)) / len(A)
            step: Array = np.asarray(-np.linalg.solve(A + mu * size * np.eye(len(A)), J.T @ r), dtype=np.float64)
            step /= max(1.0, float(np.abs(step).max(initial=0.0)))
            trial_q, trial = self._moved(q, inner, step)
            r_trial, J_trial = self.at(trial_q, trial)
            if r_trial @ r_trial < r @ r:
                gained = float(r @ r - r_trial @ r_trial)
                q, inner, r, J, mu = trial_q, trial, r_trial, J_trial, max(0.2 * mu, 1e-10)
                if r @ r < 1e-16 or gained < 1e-9 * float(r @ r):
                    break
            elif mu > 1e8:
                break
            else:
                mu *= 5.0
        return q

    def _moved(self, q: Array, inner: list[Array], step: Array) -> tuple[Array, list[Array]]:
        model = self.closure.model
        move = np.zeros(model.nv)
        move[self.free] = self.columns * step[: len(self.columns)]
        ends = np.cumsum([len(gamma) for gamma in inner])[:-1]
        parts = np.split(step[len(self.columns) :], ends)
        return model.integrate(q, move), [gamma + part for gamma, part in zip(inner, parts, strict=True)]
