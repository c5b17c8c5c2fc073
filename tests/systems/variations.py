"""Small changes of motions in two ways: by the linear equations along a motion, and by motions of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import dalembert as da
from dalembert.linear import Tangent, tangent_space

Array = NDArray[np.float64]

EXACT = {"rtol": 1e-12, "atol": 1e-13}


def carried(model: da.Model, state: da.State, change: Array, duration: float, steps: int = 60) -> tuple[Array, Tangent]:
    """Return what the linear equations along the motion make of a change of the independent states, and where."""
    space = tangent_space(model, state)
    names = tuple([model.speed_names[k] for k in places] for places in (space.positions, space.speeds))
    times = state.t + np.linspace(0, duration, 2 * steps + 1)
    result = da.simulate(model, duration, state=state, times=times, **EXACT)
    spaces = [_space(model, result, k, names) for k in range(len(times))]
    A = [each.reduce(each.derivatives()) for each in spaces]
    s, h = change, duration / steps
    for k in range(0, 2 * steps, 2):  # Runge and Kutta's fourth order method
        k1 = A[k] @ s
        k2 = A[k + 1] @ (s + h / 2 * k1)
        k3 = A[k + 1] @ (s + h / 2 * k2)
        k4 = A[k + 2] @ (s + h * k3)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return s, spaces[-1]


def _space(model: da.Model, result: da.Result, k: int, names: tuple[list[str], ...]) -> Tangent:
    state = da.State(result.q[k], result.v[k], float(result.t[k]), result.x[k])
    return tangent_space(model, state, independent_coordinates=names[0], independent_velocities=names[1])


def differed(space: Tangent, state: da.State, change: Array, duration: float, eps: float = 1e-4) -> Array:
    """Return the same from motions that start beside the state, read at the end in the coordinates of `space`."""
    model, start = space.model, tangent_space(space.model, state)
    n, m = start.ny, start.ny + start.nz

    def end(size: float) -> Array:
        near = start.neighbour(size * change[:n], size * change[n:m], size * change[m:])
        times = [state.t, state.t + duration]
        result = da.simulate(model, duration, state=near, times=times, **EXACT)
        xi = model.difference(space.state.q, result.q[-1])
        dv = result.v[-1] - space.state.v
        return np.concatenate([xi[space.positions], dv[space.speeds], result.x[-1] - space.state.x])

    near, far = ((end(k * eps) - end(-k * eps)) / (2 * k * eps) for k in (1, 2))
    return np.asarray((4 * near - far) / 3)
