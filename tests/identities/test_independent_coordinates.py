"""Small motions in independent coordinates are those of all coordinates.

A change of the whole state y = (xi, dv, dx) obeys y' = F y with the derivatives of accelerations in all coordinates,
loops open or closed. Changes that loops permit are y = D s in independent ones, s' = A s, so that along any motion

    F D = D' + D A
"""

from __future__ import annotations

import numpy as np
import pytest
from systems.random_elements import add_random_elements
from systems.random_loops import ClosedSystem, planar_loop, random_closed_system

import dalembert as da
from dalembert.linear import tangent_space
from dalembert.linear.small_motions import brackets

STEP = 1e-4  # s, of central differences of fourth order


def whole(model: da.Model, s: da.State) -> np.ndarray:
    """Return F."""
    nv = model.nv
    d = model.d_dynamics(s.t, s.q, s.v, s.x)
    K = brackets(model, s.v)
    upper = np.hstack([np.zeros((nv, nv)) if K is None else K, np.eye(nv), np.zeros((nv, model.nx))])
    return np.vstack([upper, np.hstack([d.a.q, d.a.v, d.a.x]), np.hstack([d.dx.q, d.dx.v, d.dx.x])])


@pytest.mark.parametrize("seed", range(8))
def test_both_forms_agree_along_motions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    closed: ClosedSystem = planar_loop(rng, 5) if seed % 4 == 3 else random_closed_system(rng, 5, 2)
    bare = closed.system.compile()
    add_random_elements(closed.system, bare, closed.state(bare)[0], rng, 3)
    model = closed.system.compile()
    q, v = closed.state(model)
    start = da.State(q=q, v=0.3 * v, x=model.element_start_values())
    run = da.simulate(model, 0.02, state=start, rtol=1e-12, atol=1e-13, max_step=1e-3)
    now = run.at(0.01)
    space = tangent_space(model, now)
    chosen = space.coordinate_names

    def directions(t: float) -> np.ndarray:
        speeds = [model.speed_names[k] for k in space.speeds]
        there = tangent_space(model, run.at(t), independent_coordinates=chosen, independent_velocities=speeds)
        return np.vstack(there.directions)

    D = directions(0.01)
    near = [directions(0.01 + k * STEP) for k in (1, -1, 2, -2)]
    rate = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * STEP)
    A = da.linearize(model, now, independent_coordinates=chosen).A
    left, right = whole(model, now) @ D, rate + D @ A
    assert np.abs(left - right).max() < 1e-6 * (1.0 + np.abs(left).max())
