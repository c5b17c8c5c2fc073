"""Jacobians of the equations of motion along a run, at Gauss points of blocks of steps.

Between Gauss points the Jacobians are polynomials. In units of the steps of the run the motion is about equally smooth
everywhere, but the Jacobians are not. The decay of their Legendre coefficients in a few probe blocks, spread over the
run, determines the block length nearby. Blocks that are too long are halved.

The adjoint needs the derivatives by parameters only multiplied by a row of weights at each point: they are not formed
(`JacobianBlocks.parameter_products`). Errors are controlled by one combination of the parameters in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array, IndexArray
from ...linear.small_motions import brackets
from ...model import Conditions, Model
from ...model.conditions import parameter_directions
from ...result import Result
from .closed_contacts import closed_contacts
from .intermediate_states import interpolated_states

__all__ = ["NODES", "JacobianBlocks", "ParameterChanges", "blocks_along", "conditions_of", "whole"]


_N_GAUSS_POINTS = 12
_MIN_BLOCK_STEPS = 7  # minimum number of steps of the run in a block
_N_PROBES = 6  # probe blocks
_MAX_LENGTHENING = 2.0  # largest factor by which a block is longer than a probe block
_GROWTH_EXPONENT = (
    9.0  # exponent of the growth of the last coefficients with block length; below the number of Gauss points
)
_MAX_HALVINGS = 6  # maximum number of halvings of a block
_MAX_PRODUCTS = 4_000_000  # products of weights with derivatives by parameters in one call of the core
_COEFFICIENT_TARGET = 0.1  # target of the last coefficients relative to the allowed ones, for longer blocks
NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_N_GAUSS_POINTS)
_LAST = (
    (np.polynomial.legendre.legvander(NODES, _N_GAUSS_POINTS - 1) * (np.arange(_N_GAUSS_POINTS) + 0.5)).T * _WEIGHTS
)[
    # the last two Legendre coefficients, from values at the Gauss points
    -2:
]


@dataclass(frozen=True, eq=False)
class ParameterChanges:
    """Parameters by which a run is differentiated.

    Attributes
    ----------
    names : tuple of str, (m,)
    weights : (m,)
        Of the combination that controls errors.
    combined : bool
        Whether matrices have one column, for this combination, instead of one for each parameter.
    """

    names: tuple[str, ...]
    weights: Array
    combined: bool

    @property
    def columns(self) -> int:
        """Number of columns of the matrices."""
        return min(1, len(self.names)) if self.combined else len(self.names)

    def rows(self, model: Model) -> Array:
        """Return the derivatives (m, n) of all parameters of a model by the named ones."""
        own = [name for name in self.names if name in model.parameter_names]
        if len(own) == len(self.names):
            return parameter_directions(model, self.names, model.parameters, "sensitivity")
        rows = np.zeros((len(self.names), len(model.parameters)))  # numbers of contacts act through closed points
        rows[[name in own for name in self.names]] = parameter_directions(model, own, model.parameters, "sensitivity")
        return rows

    def combination(self, matrices: Array) -> Array:
        """Return the column (..., 1 or 0) of the combination, from the columns of the matrices."""
        return matrices if self.combined or not self.names else (matrices @ self.weights)[..., None]


class JacobianBlocks:
    """Blocks of an interval without discontinuity times, and the Jacobians at their Gauss points.

    Attributes
    ----------
    spans : (b, 2) s
    good : (b,)
        Mask of the blocks in use; the others were too long and have been halved.
    """

    def __init__(self, result: Result, changes: ParameterChanges, edges: Array, rtol: float) -> None:
        self.result, self.changes = result, changes
        self.between = interpolated_states(result, edges)
        self.allowed = float(np.clip(np.sqrt(rtol), 1e-7, 1e-4))
        self.spans, self.good = np.zeros((0, 2)), np.zeros(0, dtype=bool)
        self._sizes: Array | None = None
        model = result.model
        assert model is not None
        rows = (2 if brackets(model, np.zeros(model.nv)) is not None else 1) * model.nv + model.nx
        self._room = np.empty((0, _N_GAUSS_POINTS, rows, 2 * model.nv + model.nx + changes.columns))

    @property
    def matrices(self) -> Array:
        """Matrices (b, s, rows, n + m)."""
        return self._room[: len(self.spans)]

    def add(self, spans: Array, last: bool = False) -> Array:
        """Add blocks, and return their last coefficients relative to the allowed ones, (k,)."""
        first, count = len(self.spans), len(self.spans) + len(spans)
        if count > len(self._room):
            room = np.empty((3 * count, *self._room.shape[1:]))  # untouched memory pages cost nothing
            room[:first] = self._room[:first]
            self._room = room
        t = (spans[:, :1] + np.diff(spans, axis=1) * (NODES + 1) / 2).ravel()
        new = self._room[first:count]
        _evaluate(self.result, self.changes, t, self.between(t), new.reshape(-1, *new.shape[2:]))
        tails, sizes = (np.diff(spans, axis=1) * part for part in _tails(self.result, self.changes, new))
        here = sizes.max(axis=0, initial=0.0)
        self._sizes = here if self._sizes is None else np.maximum(self._sizes, here)
        found: Array = (tails / np.maximum(self.allowed * self._sizes, 1e-300)).max(axis=1, initial=0.0)
        self.spans = np.concatenate([self.spans, spans])
        self.good = np.concatenate([self.good, (found <= 1.0) | last])
        return found

    def parameter_products(self, weights: Array) -> Array:
        """Return the sums (m, r) over all Gauss points of weights times derivatives of rates by the parameters.

        Parameters
        ----------
        weights : (b, s, rows, r)
        """
        model = self.result.model
        assert model is not None
        nv, nx = model.nv, model.nx
        found = np.zeros((len(self.changes.names), weights.shape[3]))
        used = np.flatnonzero(weights.any(axis=(1, 2, 3)))
        if not len(used) or not len(found):
            return found
        spans = self.spans[used]
        t = (spans[:, :1] + np.diff(spans, axis=1) * (NODES + 1) / 2).ravel()
        q, v, x = self.between(t)
        w = weights[used].reshape(len(t), *weights.shape[2:])[:, -(nv + nx) :]
        order = np.argsort(t, kind="stable")
        closed = closed_contacts(self.result)
        for rows, conditions in conditions_of(self.result, model, t[order]):
            mine = order[rows]
            how: dict[str, Any] = {"t": t[mine], "x": x[mine], "conditions": conditions}
            how["directions"] = self.changes.rows(conditions.model)
            if closed is not None and closed.at(t[mine]).any():
                touches = mine[closed.at(t[mine])]
                by_number = closed.rate_derivatives(t[touches], q[touches], v[touches], x[touches], self.changes.names)
                found += np.einsum("krm,krj->mj", by_number[1], w[touches])
                mine = mine[~closed.at(t[mine])]
                if not len(mine):
                    continue
                how |= {"t": t[mine], "x": x[mine]}
            together = max(1, _MAX_PRODUCTS // (len(mine) * len(found)))
            for first in range(0, found.shape[1], together):
                some = w[mine, :, first : first + together].transpose(0, 2, 1)
                each = np.repeat(mine, some.shape[1])  # rows at one state follow each other: it is evaluated once
                how |= {"t": t[each], "x": x[each]}
                flat = some.reshape(-1, nv + nx)
                w_a, w_x = np.ascontiguousarray(flat[:, :nv]), np.ascontiguousarray(flat[:, nv:])
                kind = 6 if some.shape[1] == 1 else 5  # sums over all rows cost less
                (by,) = conditions.model._d_dynamics_products([kind], q[each], v[each], w_a, w_x, **how)
                found[:, first : first + together] += by.reshape(*some.shape[:2], -1).sum(axis=0).T
        return found


def blocks_along(result: Result, changes: ParameterChanges, edges: Array, rtol: float) -> JacobianBlocks:
    """Return the blocks of an interval without discontinuity times.

    Parameters
    ----------
    result : Result
    changes : ParameterChanges
    edges : (j,) s
        Ends of steps, from the begin of the interval to its end.
    rtol : float
        Of the run. The last Legendre coefficients may be as large as its square root. The truncated part is orthogonal
        to polynomials, and the derivatives are nearly polynomial within a block, so the error at its end is about their
        square.
    """
    blocks, count = JacobianBlocks(result, changes, edges, rtol), len(edges) - 1
    if count < _N_PROBES * 2 * _MIN_BLOCK_STEPS:
        todo = _even(edges, 0, count, _MIN_BLOCK_STEPS)
    else:
        begins = np.linspace(0, count - _MIN_BLOCK_STEPS, _N_PROBES).round().astype(int)
        tails = blocks.add(edges[np.stack([begins, begins + _MIN_BLOCK_STEPS], axis=1)])
        stretch = (_COEFFICIENT_TARGET / max(float(np.quantile(tails, 0.75)), 1e-12)) ** (1 / _GROWTH_EXPONENT)
        length = _MIN_BLOCK_STEPS * min(max(stretch, 1.0), _MAX_LENGTHENING)
        rest = [_even(edges, first + _MIN_BLOCK_STEPS, last, length) for first, last in pairwise(begins)]
        todo = np.concatenate([*rest, _halves(blocks.spans[~blocks.good])])
    for halved in range(_MAX_HALVINGS + 1):
        if not len(todo):
            break
        tails = blocks.add(todo, last=halved == _MAX_HALVINGS)
        todo = _halves(todo[tails > 1.0])
    return blocks


def _even(edges: Array, first: int, last: int, length: float) -> Array:
    """Return blocks (b, 2) of about equal length in steps, between two ends of steps."""
    parts = max(1, int(np.ceil((last - first) / length)))
    cuts = edges[np.unique(np.linspace(first, last, parts + 1).round().astype(int))]
    return np.stack([cuts[:-1], cuts[1:]], axis=1)


def _halves(spans: Array) -> Array:
    middle = spans.mean(axis=1)
    return np.concatenate([np.stack([spans[:, 0], middle], axis=1), np.stack([middle, spans[:, 1]], axis=1)])


def whole(matrices: Array, n: int) -> Array:
    """Return A (..., n, n) from matrices stored without their first rows."""
    lead = n - matrices.shape[-2]
    A = np.zeros((*matrices.shape[:-2], n, n))
    A[..., lead:, :] = matrices[..., :n]
    A[..., np.arange(lead), lead + np.arange(lead)] = 1.0
    return A


def _tails(result: Result, changes: ParameterChanges, matrices: Array) -> tuple[Array, Array]:
    """Return the magnitudes of the last Legendre coefficients in each block (b, parts), and of the matrices.

    Parts are derivatives of accelerations and of state rates, each by small motions, velocities, states, parameters.
    """
    model = result.model
    assert model is not None
    nv, nx = model.nv, model.nx
    if not changes.combined:
        n = 2 * nv + nx
        matrices = np.concatenate([matrices[..., :n], changes.combination(matrices[..., n:])], axis=-1)
    rows, width = matrices.shape[2:]
    flat = matrices.reshape(len(matrices), _N_GAUSS_POINTS, -1)
    last = np.abs(np.matmul(_LAST, flat)).max(axis=1).reshape(-1, rows, width)
    sizes = np.abs(matrices[:, ::5]).max(axis=1, initial=0.0)  # at some of the Gauss points
    row = rows - nv - nx
    tails, largest = [], []
    for span in (slice(row, row + nv), slice(row + nv, None)):
        for columns in (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, 2 * nv + nx), slice(2 * nv + nx, None)):
            tails.append(last[:, span, columns].max(axis=(1, 2), initial=0.0))
            largest.append(sizes[:, span, columns].max(axis=(1, 2), initial=0.0))
    return np.stack(tails, axis=1), np.stack(largest, axis=1)


def _evaluate(
    result: Result, changes: ParameterChanges, t: Array, states: tuple[Array, Array, Array], found: Array
) -> None:
    """Fill in the matrices at times t (k,): (k, rows, n + m), without identity rows."""
    q, v, x = states
    model = result.model
    assert model is not None
    nv, nx = model.nv, model.nx
    n = 2 * nv + nx
    K = brackets(model, v)
    lead = 0 if K is None else nv
    if K is not None:
        found[:, :nv] = 0.0
        found[:, :nv, :nv] = K
        found[:, np.arange(nv), nv + np.arange(nv)] = 1.0
    columns = (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, n), slice(n, None))
    order = np.argsort(t, kind="stable")
    for rows, conditions in conditions_of(result, model, t[order]):
        mine: Any = order[rows]
        if len(mine) == len(t) and (np.diff(mine) == 1).all():
            mine = slice(None)
        by = _rate_derivatives(conditions, changes, t[mine], q[mine], v[mine], x[mine])
        for column, (a, dx) in zip(columns, by, strict=False):
            found[mine, lead : lead + nv, column] = a
            found[mine, lead + nv :, column] = dx
    closed = closed_contacts(result)
    touches = np.flatnonzero(closed.at(t)) if closed is not None else np.zeros(0, dtype=np.int64)
    if closed is not None and len(touches):
        of_state, of_number = closed.rate_derivatives(t[touches], q[touches], v[touches], x[touches], changes.names)
        if changes.combined and changes.names:
            of_number = (of_number @ changes.weights)[..., None]
        found[touches, lead:] = np.concatenate([of_state, of_number], axis=2)


def _rate_derivatives(
    conditions: Conditions, changes: ParameterChanges, t: Array, q: Array, v: Array, x: Array
) -> list[tuple[Array, Array]]:
    """Return derivatives of accelerations and of element-state rates by q, v, x and parameters."""
    model = conditions.model
    how: dict[str, Any] = {"t": t, "x": x, "conditions": conditions}
    kinds = [0, 1, 2]
    if changes.names:
        rows = changes.rows(model)
        how["directions"] = (changes.weights @ rows)[None] if changes.combined else rows
        kinds.append(6)
    raw = model._d_dynamics([3 * kind + what for kind in kinds for what in (0, 1)], q, v, **how)
    return list(zip(raw[::2], raw[1::2], strict=True))


def conditions_of(result: Result, model: Model, t: Array) -> list[tuple[IndexArray, Conditions]]:
    """Return index arrays of the ordered times t (k,), each with the conditions at these times."""
    if result.conditions is None:
        return [(np.arange(len(t)), model.conditions())]
    return result.conditions(t)
