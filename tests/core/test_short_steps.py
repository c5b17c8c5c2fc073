"""Steps so short that positions change by rounding alone: speeds within them are those of their ends."""

from __future__ import annotations

import numpy as np
import pytest
from systems.blocks import sliding_block

import dalembert as da
from dalembert.model.interpolation import interpolate


@pytest.mark.parametrize("method", ["radau", "dopri5", "dop853", "alpha"])
def test_speeds_within_a_step_that_is_next_to_nothing(method: str) -> None:
    s = sliding_block()
    s.connect("k", da.JointSpring(stiffness=2.0), "X")
    step = {"fixed_step": 1e-13} if method == "alpha" else {"max_step": 1e-13}
    result = da.simulate(s, 4e-13, state={"X": 1.0, "X.speed": 0.01}, method=method, **step)
    between = result.at(np.linspace(0.0, result.t[-1], 23))
    assert np.abs(between["X.speed"] - 0.01).max() < 1e-11


@pytest.mark.parametrize("method", ["radau", "dopri5", "dop853", "alpha"])
@pytest.mark.parametrize("length", [3.0, 4.0, 5.5])
def test_speeds_within_such_a_step_of_a_loop(method: str, length: float) -> None:
    """Coordinates that a loop puts in their places have the rounding of its lengths, of many of their own."""
    s = da.System("four bars", gravity=(0, 0, 0))
    a, b, c = (s.body(name, da.rod(1.0, 1.0)) for name in "abc")
    s.connect("A", da.Revolute("z"), s.ground.at(0, 0, 0), a.at(-0.3, 0, 0))
    s.connect("B", da.Revolute("z"), a.at(1.7, 0, 0), b.at(-length / 2, 0.1, 0))
    s.connect("C", da.Revolute("z"), b.at(length / 2, 0.1, 0), c.at(1.9, 0, 0))
    s.connect("D", da.Revolute("z"), c.at(-0.3, 0, 0), s.ground.at(length, 0.4, 0))
    s.initial("A", position=1.1, speed=0.01)
    step = {"fixed_step": 1e-13} if method == "alpha" else {"max_step": 1e-13}
    result = da.simulate(s, 2e-12, method=method, **step)
    between = result.at(np.linspace(0.0, result.t[-1], 201))
    assert np.abs(between.v - result.v[0]).max() < 1e-15  # no acceleration is above 1e-4 rad/s2


def test_stored_states_next_to_each_other() -> None:
    """Ten roundings of a coordinate in 1e-13 s are no speed; what is more than rounding is kept."""
    t, v, a = np.array([0.0, 1e-13]), np.full((2, 1), 0.01), np.zeros((2, 1))
    q = np.array([[0.8], [0.8 + 10 * 2.0**-53]])
    speeds = interpolate(t, q, v, a, np.linspace(0.0, 1e-13, 9), ["A"], ["A"])[1]
    assert np.abs(speeds - 0.01).max() < 1e-15
    moved = interpolate(1e13 * t, np.array([[0.0], [0.5]]), v, a, np.array([0.5]), ["A"], ["A"])[1]
    assert moved[0, 0] == pytest.approx(0.01 + 15 / 8 * (0.5 - 0.01), rel=1e-12)


def test_what_reverses_where_a_law_changes_its_branch_keeps_its_energy() -> None:
    """Friction and a law that both turn at the same moment leave steps of 1e-15 s between them."""
    s = da.System("two", gravity=(0, 0, 0))
    first, second = s.body("a", da.box(0.1, 0.1, 0.1, mass=1.0)), s.body("b", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("X", da.Prismatic("x", friction=0.05), s.ground, first)
    s.connect("Y", da.Prismatic("x", friction=0.02), first, second)
    s.connect("k", da.JointSpring(stiffness=40.0), "X")
    s.connect("c", da.JointSpring(stiffness=15.0), "Y")
    s.connect("law", da.Element("joint", "-where(ds > 0, 2, 0.5)*ds", active=True), "X")
    for rtol in (1e-9, 3e-10, 1e-10):
        start = {"X": 1.3, "Y": 0.4, "Y.speed": 0.6}
        runs = [
            da.simulate(s, 1.5, state=start, method=m, rtol=rtol, atol=1e-2 * rtol, times=np.linspace(0, 1.5, 31))
            for m in ("radau", "dop853")
        ]
        assert np.abs(runs[0]["energy.balance"]).max() < 1e-9
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-6
