"""Generalised alpha where connections repeat each other: the motion is that of dop853, to second order of the step."""

import numpy as np
import pytest
from systems.random_loops import gap, redundant

import dalembert as da


@pytest.mark.parametrize("seed", range(30))
def test_loop_constraints_that_can_move_nothing_do_not_matter(seed: int) -> None:
    closed = redundant(seed)
    model = closed.system.compile()
    q, v = closed.state(model)
    state = da.State(q=q, v=0.3 * v)
    exact = da.simulate(model, 0.2, state=state, rtol=1e-11, atol=1e-13)
    errors = [
        gap(model, exact, da.simulate(model, 0.2, state=state, method="alpha", fixed_step=h)) for h in (1e-3, 5e-4)
    ]
    assert errors[0] < 1e-3 * (1.0 + np.abs(v).max())
    assert errors[1] < 0.3 * errors[0] or errors[1] < 1e-8  # a quarter, of a method of order two


def test_welds_that_are_missed_by_rounding() -> None:
    """Two welds between the same bodies, at frames that agree but for a few bits, move as one does."""
    s = da.System("two welds")
    a, b = s.body("a", da.rod(length=1.0, mass=2.0)), s.body("b", da.rod(length=0.7, mass=1.0))
    s.connect("A", da.Revolute("y"), s.ground, a)
    s.connect("F", da.Fixed(), a.at(1.0, 0, 0), b)
    one = da.simulate(s, 1.0, method="alpha", fixed_step=1e-3)
    s.connect("G", da.Fixed(), a.at(1.3, 0.1, 0.2), b.at(0.3 + 3e-16, 0.1, 0.2))
    two = da.simulate(s, 1.0, method="alpha", fixed_step=1e-3)
    np.testing.assert_allclose(two["A.position"], one["A.position"], rtol=0, atol=1e-12)


def test_small_mechanisms_are_held_as_large_ones_are() -> None:
    """Rows of angles and of places differ by the size of the mechanism: neither is lost beside the other."""

    def end(size: float) -> float:
        s = da.System("pendulum of two welds", gravity=(0, 0, -9.81 * size))
        a, b = (s.body(name, da.rod(length=size, mass=1.0)) for name in "ab")
        s.connect("A", da.Revolute("y"), s.ground, a)
        s.connect("B", da.Revolute("y"), a.at(size, 0, 0), b)
        s.connect("C", da.Revolute("y"), b.at(size, 0, 0), s.ground.at(1.2 * size, 0, 0.3 * size))
        s.initial("A", position=0.9, guess=True)
        return float(da.simulate(s, 0.5, method="alpha", fixed_step=1e-3)["A.position"][-1])

    assert end(1e-6) == pytest.approx(end(1.0), abs=1e-7)
