"""Hermite interpolation of the states of a run between its steps.

Hermite polynomials of degree 15 through states and rates at the ends of eight steps are mostly more accurate than the
run itself. Where they differ from those through six ends, the steps are repeated for their dense output.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._core import interpolate_steps
from ...arrays import Array, IndexArray
from ...model import Conditions, Model
from ...result import Result
from .closed_contacts import closed_contacts

__all__ = ["interpolated_states"]

States = tuple[Array, Array, Array]

N_NODES, N_CHECK_NODES = (
    8,
    6,
)  # nodes of the polynomial, and of the one it is compared with
INTERPOLATION_RTOL = 1e-8  # difference of the two polynomials; the error of the better one is many times smaller


def interpolated_states(result: Result, edges: Array) -> Callable[[Array], States]:
    """Return a function of times (k,) that returns q, v and x.

    Parameters
    ----------
    result : Result
    edges : (j,) s
        Ends of steps, from the begin of an interval without discontinuity times to its end.
    """
    model = result.model
    assert model is not None

    def dense(t: Array) -> States:
        order = np.argsort(t, kind="stable")
        back = np.argsort(order, kind="stable")
        at = result.at(t[order])
        return at.q[back], at.v[back], at.x[back]

    if len(edges) < N_NODES or closed_contacts(result) is not None:
        return dense
    values, rates = _at_edges(result, model, edges)
    scale = INTERPOLATION_RTOL * (1e-3 + np.abs(values).max(axis=0))
    splits = [model.nq, model.nq + model.nv]

    def between(t: Array) -> States:
        found = interpolate_steps(edges, values, rates, t, N_NODES)
        differs = np.abs(found - interpolate_steps(edges, values, rates, t, N_CHECK_NODES)) > scale
        inaccurate = np.flatnonzero(differs.any(axis=1))
        if len(inaccurate):
            found[inaccurate] = np.concatenate(dense(t[inaccurate]), axis=1)
        q, v, x = np.split(found, splits, axis=1)
        return q, v, x

    return between


def _at_edges(result: Result, model: Model, edges: Array) -> tuple[Array, Array]:
    """Return q, v and x at the ends of steps as one array, and their rates."""
    place = np.clip(np.searchsorted(result.t, edges, side="right") - 1, 0, len(result.t) - 1)
    q, v, x = result.q[place], result.v[place], result.x[place]
    other = np.flatnonzero(result.t[place] != edges)
    if len(other):
        at = result.at(edges[other])
        q[other], v[other], x[other] = at.q, at.v, at.x
    a, dx = np.empty_like(v), np.empty_like(x)
    inside = np.clip(edges, edges[0] + 4e-15 * abs(edges[0]) + 1e-300, edges[-1] - 4e-15 * abs(edges[-1]))
    pairs: list[tuple[IndexArray, Conditions]]
    pairs = [(np.arange(len(edges)), model.conditions())] if result.conditions is None else result.conditions(inside)
    for rows, conditions in pairs:
        found = conditions.model.dynamics(inside[rows], q[rows], v[rows], x[rows], conditions=conditions)
        a[rows], dx[rows] = found.a, found.dx
    return np.concatenate([q, v, x], axis=1), np.concatenate([model.coordinate_rates(q, v), a, dx], axis=1)
