"""Small changes along a run: how the state follows the start and numbers of the model; and the other way round.

A change of the state (q, v, x) has q moved by small motions xi (nv), as `Model.integrate` moves it, speeds by dv and
element states by dx. With y = (xi, dv, dx) and a change dp of numbers it goes on as

    xi' = dv + K(v) xi,   dv' = a_q xi + a_v dv + a_x dx + a_p dp,   dx' likewise                               (1)

with K that of `Hinge.bracket` and exact derivatives of accelerations, loops and all. Changes that obey the loops go on
obeying them: (1) is the derivative of accelerations that do. Slopes l of an output by the state go back as -l' = A^T l.

The matrices of (1) are smooth where the run is. They are evaluated at twelve places of Gauss in each block of a few
steps, and are polynomials in between: blocks are halved until the last Legendre coefficients have died away. Both ways
are then products of small matrices, in the core (`core/steppers/variations.hpp`), the second the transpose of the
first. Their steps are short enough for the fastest change: the error of small changes is not controlled by that of the
motion (a pendulum at rest takes six steps in ten seconds).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Along
from ..linear.small_motions import brackets
from ..model import Conditions, Model
from ..model.conditions import parameter_directions
from ..result import Result
from .between import states_between

__all__ = ["Pieces", "pieces_of"]

Array = NDArray[np.float64]

_PLACES = 12
_GROUP = 7  # steps of the run in a block, to begin with
_HALVED = 6  # times that a block is, at most
_TAIL = 1e-4  # of the matrices, in their last Legendre coefficients; its square goes into changes at the ends of blocks
_TURN = 0.5  # rad of the fastest change within a step: the error is below 1e-9 of that change
_FOLLOWED = 2.0  # the same where the run's own steps are short: what is faster than the motion hardly moves
_MANY = 30  # steps of a run from where they are taken for short
_MOST = 256  # steps of small changes in a step of the run
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_PLACES)
_LAST = ((np.polynomial.legendre.legvander(_NODES, _PLACES - 1) * (np.arange(_PLACES) + 0.5)).T * _WEIGHTS)[
    # the last two Legendre coefficients, from values at the places
    -2:
]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Matrices of (1) along a part of a run without switches.

    Attributes
    ----------
    t : (k,) s
        Where changes are wanted, in order; the last is where the part ends.
    matrices : (b, s, rows, n + m)
        At the places of all blocks: by changes of the state, then of numbers.
    blocks : (b, 2) s
    steps : (j, 2) s
        Begin and length of the steps of small changes.
    block, keep : (j,)
        In which block a step is; where in t its end stands, or -1.
    n : int
        Numbers of a change.
    held : bool
        Whether the fastest change was too fast for steps to resolve it: it is damped out in the motion, too.
    """

    t: Array
    matrices: Array
    blocks: Array
    steps: Array
    block: NDArray[np.int64]
    keep: NDArray[np.int64]
    n: int
    held: bool

    def _along(self, numbers: bool) -> Along:
        matrices = self.matrices if numbers else np.ascontiguousarray(self.matrices[..., : self.n])
        return Along(self.n, matrices, _NODES, self.blocks, self.steps, self.block, self.keep)

    def forward(self, start: Array, numbers: bool = True) -> Array:
        """Return changes (k, n, c) at the times t from those at the begin, (n, c).

        Parameters
        ----------
        start : (n, c)
        numbers : bool
            Whether the first m columns are of numbers that change; else none does.
        """
        count = start.shape[1]
        padded = np.zeros((self.n, -(-count // 8) * 8))  # as the core takes columns at once
        padded[:, :count] = start
        return self._along(numbers).forward(padded)[:, :, :count]

    def backward(self, slopes: Array) -> tuple[Array, Array]:
        """Return slopes of outputs by the state at the begin (n, r), and by numbers (m, r).

        Parameters
        ----------
        slopes : (k, n, r)
            By the state at the times t.
        """
        at_begin, weights = self._along(False).backward(np.ascontiguousarray(slopes))
        B = self.matrices[..., self.n :]
        return at_begin, np.einsum("bsim,bsir->mr", B, weights, optimize=True)


def pieces_of(result: Result, names: Sequence[str], begin: float, end: float, wanted: Array) -> Pieces:
    """Return the matrices of a run from one time to another, and steps with ends at times that are wanted."""
    near = 1e-13 * max(abs(begin), abs(end), 1e-3)
    broken = result.breaks[(result.breaks > begin + near) & (result.breaks < end - near)]
    inner = np.concatenate([result.steps, broken])
    edges = _apart(np.concatenate([[begin, end], inner[(inner > begin) & (inner < end)]]), near, [begin, *broken, end])
    stretches = [begin, *_apart(broken, near), end]
    blocks, matrices = [], []
    for first, last in pairwise(stretches):
        mine = edges[(edges >= first - near) & (edges <= last + near)]
        found = _blocks(result, names, mine)
        blocks.append(found[0])
        matrices.append(found[1])
    spans, every = np.concatenate(blocks), np.concatenate(matrices)
    order = np.argsort(spans[:, 0], kind="stable")
    spans, every = spans[order], every[order]
    model = result.model
    assert model is not None
    n = 2 * model.nv + model.nx
    t = wanted[(wanted > begin + near) & (wanted < end - near)]
    cuts = _apart(np.concatenate([edges, spans[:, 0], t]), near, [begin, *t, end])
    steps, held = _steps(cuts, _fastest(every, n), spans)
    times = np.append(t, end)
    ends = steps.sum(axis=1)
    block = np.clip(np.searchsorted(spans[:, 0], steps[:, 0] + near, side="right") - 1, 0, len(spans) - 1)
    keep = np.full(len(steps), -1, dtype=np.int64)
    for k, time in enumerate(times):
        keep[int(np.abs(ends - time).argmin())] = k
    return Pieces(times, every, spans, steps, block.astype(np.int64), keep, n, held)


def _apart(t: Array, near: float, keep: Sequence[float] | Array = ()) -> Array:
    """Return times in order, one of those that are next to each other; some, which are among them, for certain."""
    t = np.unique(t)
    group = np.cumsum(np.diff(t, prepend=t[:1]) > near)
    found = t[np.unique(group, return_index=True)[1]]
    for time in keep:
        found[group[np.searchsorted(t, time)]] = time
    return np.asarray(found)


def _steps(cuts: Array, fastest: Array, spans: Array) -> tuple[Array, bool]:
    """Return steps (j, 2) between times, short enough for the fastest changes (b,), and whether some are not."""
    h = np.diff(cuts)
    middle = cuts[:-1] + h / 2
    mine = np.clip(np.searchsorted(spans[:, 0], middle, side="right") - 1, 0, len(spans) - 1)
    needed = np.ceil(h * fastest[mine] / (_TURN if len(h) < _MANY else _FOLLOWED))
    parts = np.clip(needed, 1, _MOST).astype(np.intp)
    length = np.repeat(h / parts, parts)
    within = np.arange(len(length)) - np.repeat(np.cumsum(parts) - parts, parts)
    begins = np.repeat(cuts[:-1], parts) + within * length
    return np.ascontiguousarray(np.stack([begins, length], axis=1)), bool(needed.max(initial=1.0) > _MOST)


def _fastest(matrices: Array, n: int) -> Array:
    """Return how fast changes are in each block (b,), rad/s: by the size of the eighth power of its matrix."""
    A = _whole(matrices[:, :: _PLACES - 1], n).reshape(-1, n, n)
    if not n:
        return np.zeros(len(matrices))
    size = np.maximum(np.abs(A).max(axis=(1, 2), initial=0.0), 1e-300)
    power, logarithm = A / size[:, None, None], np.log(size)
    for _ in range(3):
        power = power @ power
        scale = np.maximum(np.abs(power).max(axis=(1, 2)), 1e-300)
        power, logarithm = power / scale[:, None, None], 2 * logarithm + np.log(scale)
    return np.asarray(np.exp(logarithm / 8).reshape(len(matrices), -1).max(axis=1))


def _whole(matrices: Array, n: int) -> Array:
    """Return A (..., n, n) of matrices whose first rows were left out."""
    lead = n - matrices.shape[-2]
    A = np.zeros((*matrices.shape[:-2], n, n))
    A[..., lead:, :] = matrices[..., :n]
    A[..., np.arange(lead), lead + np.arange(lead)] = 1.0
    return A


def _blocks(result: Result, names: Sequence[str], edges: Array) -> tuple[Array, Array]:
    """Return blocks (b, 2) of a stretch without breaks, and the matrices at their places."""
    at = np.unique(np.append(np.arange(0, len(edges) - 1, _GROUP), len(edges) - 1))
    spans = np.stack([edges[at[:-1]], edges[at[1:]]], axis=1)
    between = states_between(result, edges)
    done: list[tuple[Array, Array]] = []
    sizes: Array | None = None
    for halved in range(_HALVED + 1):
        t = (spans[:, :1] + np.diff(spans, axis=1) * (_NODES + 1) / 2).ravel()
        found = _matrices(result, names, t, between(t))
        matrices = found.reshape(len(spans), _PLACES, *found.shape[1:])
        tails, here = _tails(result, matrices)
        sizes = here if sizes is None else np.maximum(sizes, here)
        short: NDArray[np.bool_] = np.asarray((tails > _TAIL * np.maximum(sizes, 1e-300)).any(axis=1))
        if halved == _HALVED:
            short[:] = False
        done.append((spans[~short], matrices[~short]))
        if not short.any():
            break
        middle = spans[short].mean(axis=1)
        spans = np.concatenate(
            [np.stack([spans[short, 0], middle], axis=1), np.stack([middle, spans[short, 1]], axis=1)]
        )
    return np.concatenate([part[0] for part in done]), np.concatenate([part[1] for part in done])


def _tails(result: Result, matrices: Array) -> tuple[Array, Array]:
    """Return how large the last Legendre coefficients are in each block (b, parts), and the matrices at most (parts,).

    Parts are accelerations and rates of states, each by small motions, speeds, states, numbers.
    """
    model = result.model
    assert model is not None
    nv, nx = model.nv, model.nx
    last = np.abs(np.einsum("cs,bsij->bcij", _LAST, matrices)).max(axis=1)
    sizes = np.abs(matrices).max(axis=(0, 1), initial=0.0)
    row = matrices.shape[2] - nv - nx
    tails, largest = [], []
    for rows in (slice(row, row + nv), slice(row + nv, None)):
        for columns in (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, 2 * nv + nx), slice(2 * nv + nx, None)):
            tails.append(last[:, rows, columns].max(axis=(1, 2), initial=0.0))
            largest.append(sizes[rows, columns].max(initial=0.0))
    return np.stack(tails, axis=1), np.array(largest)


def _matrices(result: Result, names: Sequence[str], t: Array, states: tuple[Array, Array, Array]) -> Array:
    """Return the matrices of (1) at times t (k,): (k, rows, n + m); without rows that are the identity."""
    q, v, x = states
    model = result.model
    assert model is not None
    nv, nx = model.nv, model.nx
    n = 2 * nv + nx
    K = brackets(model, v)
    lead = 0 if K is None else nv
    found = np.zeros((len(t), lead + nv + nx, n + len(names)))
    if K is not None:
        found[:, :nv, :nv] = K
        found[:, np.arange(nv), nv + np.arange(nv)] = 1.0
    columns = (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, n), slice(n, None))
    order = np.argsort(t, kind="stable")
    for rows, conditions in conditions_of(result, model, t[order]):
        mine = order[rows]
        by = _rate_derivatives(conditions, names, t[mine], q[mine], v[mine], x[mine])
        for column, (a, dx) in zip(columns, by, strict=False):
            found[mine, lead : lead + nv, column] = a
            found[mine, lead + nv :, column] = dx
    return found


def _rate_derivatives(
    conditions: Conditions, names: Sequence[str], t: Array, q: Array, v: Array, x: Array
) -> list[tuple[Array, Array]]:
    """Return derivatives of accelerations, and of rates of element states, by q, v, x and numbers; nothing else."""
    model = conditions.model
    how: dict[str, Any] = {"t": t, "x": x, "conditions": conditions}
    kinds = [0, 1, 2]
    if names:
        how["directions"] = parameter_directions(model, names, model.parameters, "sensitivity")
        kinds.append(6)
    raw = model._d_dynamics([3 * kind + what for kind in kinds for what in (0, 1)], q, v, **how)
    return list(zip(raw[::2], raw[1::2], strict=True))


def conditions_of(result: Result, model: Model, t: Array) -> list[tuple[NDArray[np.intp], Conditions]]:
    """Return rows of times in order, (k,), and the conditions that held at them."""
    if result.conditions is None:
        return [(np.arange(len(t)), model.conditions())]
    return result.conditions(t)
