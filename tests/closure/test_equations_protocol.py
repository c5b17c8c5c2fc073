"""The closure equations as a protocol: each level is the time derivative of the one before it."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.closure import RelativeEquations
from dalembert.library.mechanisms import andrews, bricard, slider_crank


@pytest.mark.parametrize("build", [slider_crank, bricard, andrews])
def test_rates_follow_from_positions(build) -> None:
    s = build()
    model = s.compile()
    e = RelativeEquations(model)
    q = da.assemble(model).q
    v = da.consistent_velocities(model, q, np.random.default_rng(1).normal(size=model.nv))
    a = da.consistent_accelerations(model, q, v, np.zeros(model.nv))
    assert np.allclose(e.jacobian(q, 0.0) @ v, e.velocity_terms(q, 0.0), atol=1e-9)
    assert np.allclose(e.jacobian(q, 0.0) @ a, e.acceleration_terms(q, v, 0.0), atol=1e-6)
    h = 1e-4
    ahead, behind = (e.residual(e.retract(q, s * h * v + 0.5 * h * h * a), s * h) for s in (1.0, -1.0))
    assert np.abs(ahead).max() < 1e-6 and np.abs(behind).max() < 1e-6


def test_drives_are_equations() -> None:
    s = slider_crank()
    crank = next(iter(s.connections))
    s.drive(crank, position=da.Polynomial((0.3, 2.0, 0.5)))
    e = RelativeEquations(s.compile())
    motion = da.driven_motion(s, 0.4)
    assert np.abs(e.residual(motion.q, 0.4)).max() < 1e-12
    assert np.allclose(e.jacobian(motion.q, 0.4) @ motion.v, e.velocity_terms(motion.q, 0.4), atol=1e-12)
    assert np.allclose(e.jacobian(motion.q, 0.4) @ motion.a, e.acceleration_terms(motion.q, motion.v, 0.4), atol=1e-10)
    loose = RelativeEquations(s.compile(), driven=False)
    assert loose.rows == e.rows - 1
