"""Solvers of SUNDIALS do not step over what breaks."""

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar

pytest.importorskip("sksundae")


@pytest.mark.parametrize("method", ["cvode", "ida"])
def test_pulses_are_not_stepped_over(method: str) -> None:
    s = da.System("kicked", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("kick", da.Element("joint", "where(t < 5, 0, where(t < 5.05, 100, 0))", active=True), "X")
    s.connect("push", da.Effort(da.laws.Pulse(7.0, duration=0.001, value=1000.0)), "X")
    result = da.simulate(s, 10.0, method=method)
    assert result["X.speed"][-1] == pytest.approx(6.0, abs=1e-9)


@pytest.mark.parametrize("method", ["cvode", "ida"])
def test_a_loop_that_is_struck_moves_as_with_our_own_steps(method: str) -> None:
    s = four_bar()
    crank = next(iter(s.connections))
    s.connect("push", da.Effort(da.laws.Pulse(0.3, duration=0.01, value=50.0)), crank)
    times = np.linspace(0.0, 1.0, 11)
    own, other = (da.simulate(s, 1.0, times=times, method=m, rtol=1e-10, atol=1e-12) for m in ("auto", method))
    assert np.abs(own.q - other.q).max() < 1e-6
