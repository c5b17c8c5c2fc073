"""Newton and Euler for each body alone: what loads of connections leave unexplained of a motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dalembert.model import Model

__all__ = ["unexplained"]

Array = NDArray[np.float64]


def unexplained(
    model: Model, q: Array, v: Array, a: Array, F: Mapping[str, Array], loads: Array | None = None
) -> float:
    """Return the largest load that is missing at any body, as a part of the largest load there is.

    Parameters
    ----------
    F : mapping of connection names to (6,) N m and N
        Loads on second markers, world axes.
    loads : (nb, 6) N m and N
        On the bodies, at their origins, in tree order.
    """
    system, on_bodies = model.system, np.zeros((model.nb, 6)) if loads is None else loads
    left: dict[str, tuple[Array, Array]] = {}
    for k, name in enumerate(model.body_names):
        body = system.bodies[name]
        at_com = body.at(*body.com)
        R, p = model.pose(at_com, q)
        w, A = model.velocity(at_com, q, v)[:3], model.acceleration(at_com, q, v, a)
        inertia = R @ body.inertia @ R.T
        force = body.mass * (A[3:] - system.gravity) - on_bodies[k, 3:]
        moment = inertia @ A[:3] + np.cross(w, inertia @ w) - on_bodies[k, :3]
        moment = moment - np.cross(model.pose(body, q).position - p, on_bodies[k, 3:])
        left[name] = (np.concatenate([moment, force]), p)
    size = max(float(np.abs(x).max()) for x, _ in left.values())
    for connection in system.connections.values():
        load = F[connection.name]
        point = model.pose(connection.second, q).position
        size = max(size, float(np.abs(load).max()))
        for marker, sign in ((connection.first, -1.0), (connection.second, 1.0)):
            if marker.body.name != "ground":
                rest, p = left[marker.body.name]
                rest[:3] -= sign * (load[:3] + np.cross(point - p, load[3:]))
                rest[3:] -= sign * load[3:]
    return max(float(np.abs(rest).max()) for rest, _ in left.values()) / max(size, 1e-300)
