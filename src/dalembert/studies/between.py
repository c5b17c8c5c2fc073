"""States of a run between its steps, without taking these again.

Polynomials through states and their rates at the ends of eight steps, of degree 15 (Hermite), are mostly closer to the
motion than the run is. Where those through six say otherwise, the run's steps are taken again for their dense output.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..model import Conditions, Model
from ..result import Result

__all__ = ["states_between"]

Array = NDArray[np.float64]
States = tuple[Array, Array, Array]

_MOST, _FEWER = 8, 6  # ends of steps, of the polynomials that are taken and of those that they are compared with
_SAME = 1e-9  # relative difference that is none


def states_between(result: Result, edges: Array) -> Callable[[Array], States]:
    """Return a function of times (k,) that gives q, v and x there.

    Parameters
    ----------
    result : Result
    edges : (j,) s
        Ends of steps, from the begin of a stretch without breaks to its end.
    """
    model = result.model
    assert model is not None

    def dense(t: Array) -> States:
        order = np.argsort(t, kind="stable")
        back = np.argsort(order, kind="stable")
        at = result.at(t[order])
        return at.q[back], at.v[back], at.x[back]

    if len(edges) < _MOST:
        return dense
    values, rates = _at_edges(result, model, edges)
    scale = _SAME * (1e-3 + np.abs(values).max(axis=0))
    splits = [model.nq, model.nq + model.nv]

    def between(t: Array) -> States:
        found = _interpolated(edges, values, rates, t, _MOST)
        apart = np.abs(found - _interpolated(edges, values, rates, t, _FEWER)) > scale
        doubted = np.flatnonzero(apart.any(axis=1))
        if len(doubted):
            found[doubted] = np.concatenate(dense(t[doubted]), axis=1)
        q, v, x = np.split(found, splits, axis=1)
        return q, v, x

    return between


def _at_edges(result: Result, model: Model, edges: Array) -> tuple[Array, Array]:
    """Return q, v and x at the ends of steps, side by side, and their rates."""
    place = np.clip(np.searchsorted(result.t, edges, side="right") - 1, 0, len(result.t) - 1)
    q, v, x = result.q[place], result.v[place], result.x[place]
    other = np.flatnonzero(result.t[place] != edges)
    if len(other):
        at = result.at(edges[other])
        q[other], v[other], x[other] = at.q, at.v, at.x
    a, dx = np.empty_like(v), np.empty_like(x)
    inside = np.clip(edges, edges[0] + 4e-15 * abs(edges[0]) + 1e-300, edges[-1] - 4e-15 * abs(edges[-1]))
    pairs: list[tuple[NDArray[np.intp], Conditions]]
    pairs = [(np.arange(len(edges)), model.conditions())] if result.conditions is None else result.conditions(inside)
    for rows, conditions in pairs:
        found = conditions.model.dynamics(inside[rows], q[rows], v[rows], x[rows], conditions=conditions)
        a[rows], dx[rows] = found.a, found.dx
    return np.concatenate([q, v, x], axis=1), np.concatenate([model.coordinate_rates(q, v), a, dx], axis=1)


def _interpolated(edges: Array, values: Array, rates: Array, t: Array, points: int) -> Array:
    """Return values (k, c) at times t by Hermite's polynomials through the nearest edges."""
    step = np.clip(np.searchsorted(edges, t, side="right") - 1, 0, len(edges) - 2)
    first = np.clip(step - points // 2 + 1, 0, len(edges) - points)
    firsts, which = np.unique(first, return_inverse=True)  # what is of the edges alone serves all times among them
    ends = edges[firsts[:, None] + np.arange(points)]
    unit = ends[:, -1:] - ends[:, :1]
    nodes = ends / unit
    apart = nodes[:, :, None] - nodes[:, None, :] + np.eye(points)
    slope = ((1.0 / apart).sum(axis=2) - 1.0)[which]
    unit = unit[which]
    away = t[:, None] / unit - nodes[which]
    before, after = np.ones_like(away), np.ones_like(away)  # products of those on either side
    np.cumprod(away[:, :-1], axis=1, out=before[:, 1:])
    np.cumprod(away[:, :0:-1], axis=1, out=after[:, -2::-1])
    lagrange = before * after / apart.prod(axis=2)[which]
    mine = first[:, None] + np.arange(points)
    by_value = (1.0 - 2.0 * slope * away) * lagrange**2
    by_rate = away * lagrange**2 * unit
    return np.asarray((by_value[:, None] @ values[mine] + by_rate[:, None] @ rates[mine])[:, 0])
