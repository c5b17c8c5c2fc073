"""Small changes along a run: how the state at any time follows the start, and numbers of the model.

A change of the state (q, v, x) has q moved by small motions xi (nv), as `Model.integrate` moves it, speeds by dv and
element states by dx. With y = (xi, dv, dx) and a change dp of numbers it goes on as

    xi' = dv + K(v) xi,   dv' = a_q xi + a_v dv + a_x dx + a_p dp,   dx' likewise                               (1)

with K that of `Hinge.bracket` and exact derivatives of accelerations, loops and all. Changes that obey the loops go on
obeying them: (1) is the derivative of accelerations that do. Over a step it is solved by Gauss's method with five
stages, of order 10 (Hairer, Norsett, Wanner 1993, II.7), at states of the run's dense output:

    y1 = Phi y0 + Gamma dp                                                                                    (2)

Steps of the run are cut so that none is longer than the fastest change takes for a radian: the error of small changes
is not controlled by that of the motion (a pendulum at rest takes six steps in ten seconds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..linear.small_motions import brackets
from ..model import Conditions, Model
from ..result import Result

__all__ = ["Pieces", "pieces_of"]

Array = NDArray[np.float64]

_STAGES = 5
_TURN = 1.0  # rad of the fastest change within a piece; the error is 5!^2 / (10! 11!) = 1e-10 of it to the 11th power
_MOST = 256  # pieces of a step
_ROOM = 4e6  # numbers of matrices that are worked on at once


def _gauss(stages: int) -> tuple[Array, Array, Array]:
    """Return places c, weights b and matrix a of Gauss's method on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(stages)
    c: Array = (x + 1) / 2
    b: Array = w / 2
    powers = c[:, None] ** np.arange(stages)
    integrals = c[:, None] ** np.arange(1, stages + 1) / np.arange(1, stages + 1)
    a = np.asarray(np.linalg.solve(powers.T, integrals.T).T, dtype=np.float64)
    return c, b, a


_C, _B, _A = _gauss(_STAGES)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Maps (2) of pieces of a run, one after the other.

    Attributes
    ----------
    t : (k + 1,) s
        Where pieces begin, and the last ends.
    Phi : (k, n, n), Gamma : (k, n, m)
    half : int
        How many small motions there are, and speeds.
    held : bool
        Whether the fastest change was too fast for pieces to resolve it: it is damped out in the motion, too.
    """

    t: Array
    Phi: Array
    Gamma: Array
    half: int
    held: bool

    def forward(self, start: Array, sent: Array) -> Array:
        """Return changes (k + 1, n, m) at all ends of pieces.

        Parameters
        ----------
        start : (n, m)
            At the start.
        sent : (k, n, m)
            What pieces add: Gamma, or zero in directions that are no numbers.
        """
        y = np.empty((len(self.t), *start.shape))
        y[0] = start
        for k in range(len(self.Phi)):
            y[k + 1] = self.Phi[k] @ y[k] + sent[k]
        return y

    def growth(self) -> float:
        """Return by how much small motions, or speeds, grow at most: the largest entry of their own maps."""
        if not len(self.Phi):
            return 1.0
        whole, most = np.eye(self.Phi.shape[1]), 1.0
        half = self.half
        for Phi in self.Phi:
            whole = Phi @ whole
            for part in (slice(0, half), slice(half, 2 * half)):
                most = max(most, float(np.abs(whole[part, part]).max(initial=0.0)))
        return most


def pieces_of(result: Result, names: Sequence[str], begin: float, end: float, also: Array) -> Pieces:
    """Return the maps of a run from one time to another, with ends of pieces at other times as well."""
    inner = np.concatenate([result.steps, result.breaks, also])
    edges = np.unique(np.concatenate([[begin, end], inner[(inner > begin) & (inner < end)]]))
    edges = edges[np.append(True, np.diff(edges) > 1e-13 * max(abs(begin), abs(end), 1e-3))]
    edges[-1] = end
    parts, fast = _cuts(result, edges)
    t = np.concatenate([np.linspace(a, b, n, endpoint=False) for a, b, n in zip(edges, edges[1:], parts, strict=False)])
    t = np.append(t, end)
    model = result.model
    assert model is not None
    n, m = 2 * model.nv + model.nx, len(names)
    chunk = max(1, int(_ROOM / (_STAGES**2 * n * (n + n + m) + 1)))
    maps = [_maps(result, names, t[k : k + chunk + 1]) for k in range(0, len(t) - 1, chunk)]
    Phi = np.concatenate([part[0] for part in maps]) if maps else np.zeros((0, n, n))
    Gamma = np.concatenate([part[1] for part in maps]) if maps else np.zeros((0, n, m))
    return Pieces(t, Phi, Gamma, model.nv, bool(fast > _MOST))


def _cuts(result: Result, edges: Array) -> tuple[NDArray[np.intp], float]:
    """Return into how many pieces each step is cut, and the largest number that would resolve everything."""
    middle = (edges[1:] + edges[:-1]) / 2
    A, _ = _rates(result, (), middle)
    fastest = np.abs(np.linalg.eigvals(A)).max(axis=1, initial=0.0) if A.shape[1] else np.zeros(len(middle))
    needed = np.ceil(np.diff(edges) * fastest / _TURN)
    return np.clip(needed, 1, _MOST).astype(np.intp), float(needed.max(initial=1.0))


def _maps(result: Result, names: Sequence[str], t: Array) -> tuple[Array, Array]:
    """Return Phi (k, n, n) and Gamma (k, n, m) between the times t (k + 1,)."""
    h = np.diff(t)
    nodes = (t[:-1, None] + h[:, None] * _C).ravel()
    A, B = _rates(result, names, nodes)
    k, n, m = len(h), A.shape[1], B.shape[2]
    A, B, size = A.reshape(k, _STAGES, n, n), B.reshape(k, _STAGES, n, m), _STAGES * n
    system = -np.einsum("k,ij,kinl->kinjl", h, _A, A).reshape(k, size, size)
    system[:, np.arange(size), np.arange(size)] += 1.0
    stages = np.linalg.solve(system, np.concatenate([A, B], axis=3).reshape(k, size, n + m))
    total = np.einsum("k,i,kinl->knl", h, _B, stages.reshape(k, _STAGES, n, n + m))
    return total[:, :, :n] + np.eye(n), total[:, :, n:]


def _rates(result: Result, names: Sequence[str], t: Array) -> tuple[Array, Array]:
    """Return the matrices of (1) at times t (k,): by changes of the state (k, n, n), and of numbers (k, n, m)."""
    at = result.at(t)
    model = result.model
    assert model is not None
    nv, nx = model.nv, model.nx
    A, B = np.zeros((len(t), 2 * nv + nx, 2 * nv + nx)), np.zeros((len(t), 2 * nv + nx, len(names)))
    A[:, :nv, nv : 2 * nv] = np.eye(nv)
    K = brackets(model, at.v)
    if K is not None:
        A[:, :nv, :nv] = K
    for rows, conditions in _conditions(result, model, t):
        d = conditions.model.d_dynamics(
            t[rows], at.q[rows], at.v[rows], at.x[rows], conditions=conditions, parameters=tuple(names)
        )
        for place, by in ((slice(nv, 2 * nv), d.a), (slice(2 * nv, None), d.dx)):
            A[rows, place, :nv], A[rows, place, nv : 2 * nv], A[rows, place, 2 * nv :] = by.q, by.v, by.x
            if names:
                B[rows, place] = by.parameters
    return A, B


def _conditions(result: Result, model: Model, t: Array) -> list[tuple[NDArray[np.intp], Conditions]]:
    if result.conditions is None:
        return [(np.arange(len(t)), model.conditions())]
    return result.conditions(t)
