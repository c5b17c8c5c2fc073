"""Variational equations of a run by initial state and parameters, and their adjoint.

A change of the state (q, v, x) moves q by small motions xi (nv), as `Model.integrate` does, velocities by dv and
element states by dx. With y = (xi, dv, dx) and a change dp of parameters it satisfies

    xi' = dv + K(v) xi,   dv' = a_q xi + a_v dv + a_x dx + a_p dp,   dx' likewise                               (1)

with K of `Joint.bracket` and exact derivatives of accelerations, including loops. Changes that satisfy the loop
constraints continue to do so, because (1) is the derivative of accelerations that satisfy them. Derivatives l of an
output by the state satisfy the adjoint equation -l' = A^T l.

The matrices of (1) are smooth where the run is. They are evaluated at Gauss points and are polynomials in between
(`jacobians`). Both directions are products of small matrices in the core (`core/steppers/variational.hpp`), the adjoint
the transpose of the forward one. Error control of the motion does not bound the error of small changes (a pendulum at
rest takes six steps in ten seconds). The steps of the run are therefore divided by an error estimate of the changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..._core import VariationalSystem
from ...arrays import Array
from ...result import Result
from .jacobians import NODES, JacobianBlocks, ParameterChanges, blocks_along, whole

__all__ = ["SmoothSegment", "smooth_segment"]


_MAX_STEP_ANGLE = 4.0  # rad of the fastest change within a step: limit of guaranteed stability
MAX_SUBSTEPS = 256  # steps of the variational equations within one step of the run
_BLOCK_STRIDE = 4  # every fourth block is used to estimate the fastest change


@dataclass(frozen=True, eq=False)
class SmoothSegment:
    """Matrices of (1) along a part of a run without switches.

    Attributes
    ----------
    t : (k,) s
        Output times, in order; the last is the end of the segment.
    changes : ParameterChanges
    stretches : tuple of JacobianBlocks
        Between discontinuity times.
    matrices : (b, s, rows, n + m)
        At the Gauss points of all blocks: by changes of the state, then of parameters, each or combined.
    blocks : (b, 2) s
    steps : (j, 2) s
        Begin and length of the steps of small changes.
    block, keep : (j,)
        Index of the block of a step; index of its end in t, or -1.
    n, split : int
        Number of entries of a change, and of small motions among them.
    held : bool
        Whether the fastest change decays too fast for the steps to resolve it.
    """

    t: Array
    changes: ParameterChanges
    stretches: tuple[JacobianBlocks, ...]
    matrices: Array
    blocks: Array
    steps: Array
    block: NDArray[np.int64]
    keep: NDArray[np.int64]
    n: int
    split: int
    held: bool

    def _along(self, matrices: Array) -> VariationalSystem:
        return VariationalSystem(self.n, self.split, matrices, NODES, self.blocks, self.steps, self.block, self.keep)

    def forward(self, start: Array, weights: Array, rtol: float) -> Array:
        """Propagate changes (n, c) at the begin to changes (k, n, c) at the times t.

        Parameters
        ----------
        start : (n, c)
            The first m columns belong to parameters.
        weights : (j,)
            Weights of the first columns in the combination whose error is controlled.
        rtol : float
            Tolerance of the error of a step, relative to the magnitude of that combination.
        """
        return self._forward(self.matrices, start, weights, rtol)[0]

    def judged(self, start: Array, rtol: float) -> tuple[SmoothSegment, Array]:
        """Return the segment with steps divided as in `forward`, and changes (k, n, c).

        Parameters
        ----------
        start : (n, c)
            The first column is the combination whose error is controlled.
        rtol : float
        """
        column = self.changes.combination(self.matrices[..., self.n :])
        matrices = np.ascontiguousarray(np.concatenate([self.matrices[..., : self.n], column], axis=-1))
        found, parts = self._forward(matrices, start, np.ones(1), rtol)
        return self if (parts == 1).all() else self.divided(parts), found

    def _forward(self, matrices: Array, start: Array, weights: Array, rtol: float) -> tuple[Array, NDArray[np.int64]]:
        count = start.shape[1]
        padded = np.zeros((self.n, -(-count // 8) * 8))  # the core processes eight columns at once
        padded[:, :count] = start
        judged = weights[:0] if self.held else weights
        found, parts = self._along(matrices).forward(padded, judged, rtol)
        return found[:, :, :count], parts

    def divided(self, parts: NDArray[np.int64]) -> SmoothSegment:
        """Return the segment with each step divided into the given number of parts, (j,)."""
        keep = np.full(int(parts.sum()), -1, dtype=np.int64)
        keep[np.cumsum(parts) - 1] = self.keep
        return replace(
            self,
            steps=_divided(self.steps[:, 0], self.steps[:, 1], parts),
            block=np.repeat(self.block, parts),
            keep=keep,
        )

    def backward(self, slopes: Array) -> tuple[Array, Array]:
        """Return derivatives of outputs by the state at the begin (n, r), and by parameters (m, r).

        Parameters
        ----------
        slopes : (k, n, r)
            Derivatives by the state at the times t.
        """
        A = np.ascontiguousarray(self.matrices[..., : self.n])
        at_begin, weights = self._along(A).backward(np.ascontiguousarray(slopes))
        by_parameter, first = np.zeros((len(self.changes.names), slopes.shape[2])), 0
        for blocks in self.stretches:
            last = first + len(blocks.spans)
            by_parameter += blocks.parameter_products(weights[first:last])
            first = last
        return at_begin, by_parameter


def _divided(begins: Array, h: Array, parts: NDArray[np.int64]) -> Array:
    """Divide steps into equal parts; return begins and lengths (j, 2)."""
    length = np.repeat(h / parts, parts)
    within = np.arange(len(length)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.ascontiguousarray(np.stack([np.repeat(begins, parts) + within * length, length], axis=1))


def smooth_segment(
    result: Result, changes: ParameterChanges, begin: float, end: float, wanted: Array, rtol: float
) -> SmoothSegment:
    """Return the segment of a run between two times, with step ends at the output times."""
    near = 1e-13 * max(abs(begin), abs(end), 1e-3)
    broken = result.discontinuity_times[
        (result.discontinuity_times > begin + near) & (result.discontinuity_times < end - near)
    ]
    inner = np.concatenate([result.step_times, broken])
    edges = _apart(np.concatenate([[begin, end], inner[(inner > begin) & (inner < end)]]), near, [begin, *broken, end])
    stretches = [begin, *_apart(broken, near), end]
    found = [
        blocks_along(result, changes, edges[(edges >= first - near) & (edges <= last + near)], rtol)
        for first, last in pairwise(stretches)
    ]
    spans = np.concatenate([blocks.spans for blocks in found])
    every = found[0].matrices if len(found) == 1 else np.concatenate([blocks.matrices for blocks in found])
    good = np.flatnonzero(np.concatenate([blocks.good for blocks in found]))
    order = good[np.argsort(spans[good, 0], kind="stable")]
    begins = spans[order, 0]
    model = result.model
    assert model is not None
    n = 2 * model.nv + model.nx
    t = wanted[(wanted > begin + near) & (wanted < end - near)]
    cuts = _apart(np.concatenate([edges, begins, t]), near, [begin, *t, end])
    steps, held = _steps(cuts, _fastest(every[order[::_BLOCK_STRIDE]], n))
    times = np.append(t, end)
    ends = steps.sum(axis=1)
    block = order[np.clip(np.searchsorted(begins, steps[:, 0] + near, side="right") - 1, 0, len(order) - 1)]
    keep = np.full(len(steps), -1, dtype=np.int64)
    for k, time in enumerate(times):
        keep[int(np.abs(ends - time).argmin())] = k
    return SmoothSegment(
        times, changes, tuple(found), every, spans, steps, block.astype(np.int64), keep, n, model.nv, held
    )


def _apart(t: Array, near: float, keep: Sequence[float] | Array = ()) -> Array:
    """Return sorted times without near duplicates; times in `keep` are always retained."""
    t = np.unique(t)
    group = np.cumsum(np.diff(t, prepend=t[:1]) > near)
    found = t[np.unique(group, return_index=True)[1]]
    for time in keep:
        found[group[np.searchsorted(t, time)]] = time
    return np.asarray(found)


def _steps(cuts: Array, fastest: float) -> tuple[Array, bool]:
    """Return steps (j, 2) between times, limited by the fastest change, rad/s, and whether some exceed the limit."""
    h = np.diff(cuts)
    needed = np.ceil(h * fastest / _MAX_STEP_ANGLE)
    parts = np.clip(needed, 1, MAX_SUBSTEPS).astype(np.int64)
    return _divided(cuts[:-1], h, parts), bool(needed.max(initial=1.0) > MAX_SUBSTEPS)


def _fastest(matrices: Array, n: int) -> float:
    """Estimate the rate of the fastest change, rad/s, from the eighth power of matrices at some Gauss points."""
    if not n or not len(matrices):
        return 0.0
    A = whole(matrices[:, :: len(NODES) - 1], n).reshape(-1, n, n)
    size = np.maximum(np.abs(A).max(axis=(1, 2), initial=0.0), 1e-300)
    power, logarithm = A / size[:, None, None], np.log(size)
    for _ in range(3):
        power = power @ power
        scale = np.maximum(np.abs(power).max(axis=(1, 2)), 1e-300)
        power, logarithm = power / scale[:, None, None], 2 * logarithm + np.log(scale)
    return float(np.exp(logarithm / 8).max())
