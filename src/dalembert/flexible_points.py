"""Points of flexible bodies at which nothing is attached: their motion from that of the body frame and the modes.

Nodes that hinges, constraints, elements and named markers use have frames of their own in the core; all others are
computed here, by the same equations (core/flexible.hpp, (1)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bodies.flexible import FlexibleBody
from .bodies.markers import Marker
from .compile_flexible import second_order

if TYPE_CHECKING:
    from .model import Model

__all__ = ["point_acceleration", "point_jacobian", "point_pose", "point_velocity", "second_order_shift"]

Array = NDArray[np.float64]


class _Point(NamedTuple):
    """The point in the world, relative to its body frame, for each of several states.

    rotation : (..., 3, 3), arm : (..., 3) m
    columns : (..., 6, nm), [omega; v] per modal speed
    """

    rotation: Array
    arm: Array
    columns: Array
    theta: Array
    R_B: Array
    p_B: Array


def point_pose(model: Model, marker: Marker, q: ArrayLike) -> tuple[Array, Array]:
    """Return attitude (..., 3, 3) and position (..., 3) m."""
    point = _point(model, marker, np.asarray(q, dtype=float))
    return point.rotation, point.p_B + point.arm


def point_velocity(model: Model, marker: Marker, q: ArrayLike, v: ArrayLike) -> Array:
    """Return [omega; v] (..., 6)."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    point = _point(model, marker, q)
    relative = (point.columns @ v[..., model.v_slice(marker.body.name), None])[..., 0]
    V: Array = model.velocity(marker.body, q, v) + relative
    V[..., 3:] += np.cross(V[..., :3] - relative[..., :3], point.arm)
    return V


def point_jacobian(model: Model, marker: Marker, q: ArrayLike) -> Array:
    """Return J (..., 6, nv)."""
    q = np.asarray(q, dtype=float)
    point = _point(model, marker, q)
    J = model.jacobian(marker.body, q)
    J[..., 3:, :] += np.cross(J[..., :3, :], point.arm[..., :, None], axis=-2)
    J[..., model.v_slice(marker.body.name)] += point.columns
    return J


def point_acceleration(model: Model, marker: Marker, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    """Return [alpha; a] (..., 6)."""
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    point, span = _point(model, marker, q), model.v_slice(marker.body.name)
    V, A = model.velocity(marker.body, q, v), model.acceleration(marker.body, q, v, a)
    w, rate = V[..., :3], v[..., span]
    relative = (point.columns @ rate[..., None])[..., 0]
    bias = _bias(marker, point, rate)
    alpha, acceleration = A[..., :3], A[..., 3:]
    more = (point.columns @ a[..., span, None])[..., 0] + bias
    result = np.empty(np.broadcast_shapes(A.shape, more.shape))
    result[..., :3] = alpha + more[..., :3] + np.cross(w, relative[..., :3])
    result[..., 3:] = acceleration + more[..., 3:] + np.cross(alpha, point.arm)
    result[..., 3:] += np.cross(w, np.cross(w, point.arm) + 2 * relative[..., 3:])
    return result


def second_order_shift(flexible: FlexibleBody) -> dict[int, Array]:
    """Return the second-order displacements (3, nm, nm) of those nodes that have them, by their place in `nodes`."""
    loaded = () if flexible.stiffening is None else flexible.stiffening.load_nodes
    places = [flexible.index(int(node)) for node in loaded]
    return {k: second_order(flexible, flexible.nodes[k]) for k in places}


def _point(model: Model, marker: Marker, q: Array) -> _Point:
    flexible, shape = marker.body.flexible, marker.shape
    assert flexible is not None and shape is not None
    R_B, p_B = model.pose(marker.body, q)
    eta = q[..., model.q_slice(marker.body.name)]
    bend = second_order(flexible, marker.position)
    shift = np.einsum("irs,...s->...ir", bend, eta)
    theta = eta @ shape[:3].T
    local = marker.position + eta @ shape[3:].T + (shift @ eta[..., None])[..., 0] / 2
    S = _skew(theta)
    a, b, _, _ = _series((theta * theta).sum(-1))
    SS = S @ S
    sine = (1 - (theta * theta).sum(-1) * b)[..., None, None]
    R = R_B @ (np.eye(3) + sine * S + a[..., None, None] * SS) @ marker.rotation
    turn = np.eye(3) + a[..., None, None] * S + b[..., None, None] * SS
    angular = (
        turn @ shape[:3]
        if flexible.order != "source"
        else np.broadcast_to(shape[:3], (*S.shape[:-2], *shape[:3].shape))
    )
    columns = np.concatenate([R_B @ angular, R_B @ (shape[3:] + shift)], axis=-2)
    return _Point(R, (R_B @ local[..., None])[..., 0], columns, theta, R_B, p_B)


def _bias(marker: Marker, point: _Point, rate: Array) -> Array:
    """Return what is left of the rates of the relative motion, seen from the body frame, at eta'' = 0, world axes."""
    flexible, shape = marker.body.flexible, marker.shape
    assert flexible is not None and shape is not None
    x, u = point.theta, rate @ shape[:3].T
    _, b, a1, b1 = _series((x * x).sum(-1))
    once, along = np.cross(x, u), 2 * (x * u).sum(-1)
    angular = (a1 * along)[..., None] * once + (b1 * along)[..., None] * np.cross(x, once)
    angular = angular + b[..., None] * np.cross(u, once)
    if flexible.order == "source":
        angular = np.zeros_like(angular)
    linear = np.einsum("irs,...r,...s->...i", second_order(flexible, marker.position), rate, rate)
    both = np.stack(np.broadcast_arrays(angular, linear), axis=-2) @ np.swapaxes(point.R_B, -1, -2)
    return both.reshape(*both.shape[:-2], 6)


def _series(s: Array) -> tuple[Array, Array, Array, Array]:
    """Return (1 - cos x) / x^2 and (x - sin x) / x^3, and their derivatives by s = x^2, |x| < pi."""
    a = b = a1 = b1 = np.zeros_like(s)
    factorial = np.cumprod([1.0, *range(1, 32)])
    for k in reversed(range(14)):
        sign = -1.0 if k % 2 else 1.0
        a1, b1 = a1 * s + a, b1 * s + b
        a, b = a * s + sign / factorial[2 * k + 2], b * s + sign / factorial[2 * k + 3]
    return a, b, a1, b1


def _skew(x: Array) -> Array:
    S = np.zeros((*x.shape[:-1], 3, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -x[..., 2], x[..., 1], -x[..., 0]
    return S - np.swapaxes(S, -1, -2)
