"""Bifurcations of closed configurations: location and branch directions.

With B a basis of the range of J nearby and g = B^T r (n - 1 equations), a simple bifurcation is a regular solution of

    g + lambda y = 0,    g_q^T y = 0,    y . y = 1                                                                   (1)

with lambda = 0: one equation too few, y. Of the motions x = N a in the null space (n, 2) of J those are tangents of
branches that keep the loops closed to second order,

    a^T A a = 0,     A_ij = y . g_qq [n_i, n_j]                                                                      (2)

two directions if det A < 0, none if det A > 0: an isolated point. If (2) is undecided (det A = 0, or more motions than
two), the closed configurations on a small sphere around the point are searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...numerics.least_squares import levenberg_marquardt
from ...numerics.rank import ROUNDOFF_RANK_TOL, null_space
from ..branch_search import distinct_configurations
from ..scaled_equations import ExtendedEquations
from .arclength import PathTracer
from .solution_path import SolutionPoint

__all__ = ["BifurcationPoint", "locate_bifurcation"]


ZERO_TOL = 1e-6
_N_SPHERE_STARTS = 64


@dataclass(eq=False)
class BifurcationPoint:
    """Configuration at which the rank drops.

    Attributes
    ----------
    q : (nq,) rad or m
    mobility : int
        Independent motions there, to first order.
    directions : (k, nv)
        Scaled, of length 1: tangents of the branches. Two for each branch through the point.
    """

    q: Array
    mobility: int
    directions: Array


def locate_bifurcation(tracer: PathTracer, near: SolutionPoint, *, along: bool = True) -> BifurcationPoint | None:
    """Return the bifurcation next to a point, located to rounding; None if the rank does not drop.

    `along`: the point was found on a path, so that its basis is that of a regular point nearby.
    """
    closed, free = tracer.closed, tracer.free
    q, y = _polished(tracer, near) if along else (near.q, None)
    N = null_space(closed.jacobian(q), ZERO_TOL, free=free)
    mobility = N.shape[1]
    if mobility < 2:
        return None
    found = _second_order(tracer, q, N, near.basis @ y) if mobility == 2 and y is not None else None
    if found is None:
        found = _around(tracer, q, N)
    return BifurcationPoint(q, mobility, found)


def _polished(tracer: PathTracer, near: SolutionPoint) -> tuple[Array, Array | None]:
    """Solve (1) by Newton's method from a point.

    Return q and y, or the point itself and None if that fails.
    """
    closed, free, n = tracer.closed, tracer.free, tracer.n
    B, q, h = near.basis, near.q, 1e-5
    columns = np.flatnonzero(free)
    U = np.linalg.svd(B.T @ near.jacobian[:, free])[0]
    y, lam = U[:, -1], 0.0
    for _ in range(12):
        g, G = B.T @ closed.residual(q), B.T @ closed.jacobian(q)[:, free]
        r = np.concatenate([g + lam * y, G.T @ y, [y @ y - 1.0]])
        sides = np.concatenate([np.eye(closed.nv)[columns] * h, np.eye(closed.nv)[columns] * -h])
        around = closed.jacobian(closed.retract(np.broadcast_to(q, (2 * n, len(q))), sides))[:, :, free]
        bent = np.einsum("krc,r->kc", around[:n] - around[n:], B @ y).T / (2 * h)
        K = np.zeros((2 * n, 2 * n))
        K[: n - 1, :n], K[: n - 1, n], K[: n - 1, n + 1 :] = G, y, lam * np.eye(n - 1)
        K[n - 1 : 2 * n - 1, :n], K[n - 1 : 2 * n - 1, n + 1 :] = bent, G.T
        K[2 * n - 1, n + 1 :] = 2 * y
        x = np.linalg.lstsq(K, -r, rcond=ROUNDOFF_RANK_TOL)[0]
        if float(np.abs(x[:n]).max()) > 0.1:
            return near.q, None
        step = np.zeros(closed.nv)
        step[free] = x[:n]
        q, lam, y = closed.retract(q, step), lam + float(x[n]), y + x[n + 1 :]
        if float(np.abs(x).max()) < 1e-11:
            break
    else:
        return near.q, None
    gone = float(np.abs(closed.difference(near.q, q)).max())
    if gone > 1e-2 or float(np.abs(closed.residual(q)).max()) > 1e-10:
        return near.q, None
    return q, y


def _second_order(tracer: PathTracer, q: Array, N: Array, y: Array) -> Array | None:
    """Return the directions (k, nv) of (2); None where (2) is undecided."""
    one, two = N.T
    a, b, both = (float(y @ tracer.closed.quadratic(q, x)) for x in (one, two, one + two))
    c = 0.5 * (both - a - b)
    size = max(abs(a), abs(b), abs(c))
    if size < 1e-6:
        return None
    discriminant = c * c - a * b
    if abs(discriminant) < 1e-8 * size * size:
        return None
    if discriminant < 0:
        return np.zeros((0, len(one)))
    # a u^2 + 2 c u v + b v^2 = 0, without cancellation
    root = -(c + np.copysign(np.sqrt(discriminant), c))
    directions = [u * one + v * two for u, v in ((root, a), (b, root))]
    return np.array([sign * x / np.linalg.norm(x) for x in directions for sign in (1.0, -1.0)])


def _around(tracer: PathTracer, q: Array, N: Array) -> Array:
    """Return directions (k, nv) to closed configurations on a small sphere around q, found from many starts."""
    radius, random, closed = 0.02, np.random.default_rng(0), tracer.closed

    def beyond(at: Array) -> Array:
        x = closed.difference(q, at)
        return np.asarray((x * x).sum(-1, keepdims=True) / radius - radius)

    sphere = ExtendedEquations(closed, beyond, lambda at: 2 / radius * closed.difference(q, at)[..., None, :])
    kicks = random.normal(size=(_N_SPHERE_STARTS, N.shape[1]))
    kicks *= radius / np.linalg.norm(kicks, axis=1)[:, None]
    starts = sphere.retract(np.broadcast_to(q, (_N_SPHERE_STARTS, len(q))), kicks @ N.T)
    everything = np.arange(closed.rows + 1), np.flatnonzero(tracer.free)
    ends, worst = levenberg_marquardt(sphere, starts, [everything], tolerance=1e-10)
    ends = ends[worst[:, 0] < 1e-10]
    ends = ends[distinct_configurations(sphere, ends)[0]]
    x = sphere.difference(q, ends)
    return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])
