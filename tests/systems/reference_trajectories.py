"""Trajectories for tests of results, integrated by SciPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import dalembert as da

Array = NDArray[np.float64]


def trajectory(
    model: da.Model, times: Array | Sequence[float], q: Array | None = None, v: Array | None = None, rtol: float = 1e-11
) -> da.Result:
    """Integrate from the first of the times, and return the states at them, with SciPy's dense output."""
    start = model.initial_state()
    q = start.q if q is None else q
    v = start.v if v is None else v
    nq = model.nq

    def rates(t: float, y: Array) -> Array:
        return np.concatenate([model.coordinate_rates(y[:nq], y[nq:]), model.dynamics(t, y[:nq], y[nq:]).a])

    run = solve_ivp(
        rates, (times[0], times[-1]), [*q, *v], method="DOP853", rtol=rtol, atol=rtol / 10, dense_output=True
    )

    def dense(at: Array) -> tuple[Array, Array, Array]:
        y = run.sol(at).T
        return model.integrate(y[:, :nq], np.zeros(model.nv)), y[:, nq:], np.zeros((len(at), 0))

    return da.Result(model, times, *dense(np.asarray(times)), dense=dense)
