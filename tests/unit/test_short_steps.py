"""Steps so short that positions change by rounding alone: speeds within them are those of their ends."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize("method", ["radau", "dopri5", "dop853", "alpha"])
def test_speeds_within_a_step_that_is_next_to_nothing(method: str) -> None:
    s = da.System("slide", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("k", da.HingeSpring(stiffness=2.0), "X")
    step = {"step": 1e-13} if method == "alpha" else {"max_step": 1e-13}
    result = da.simulate(s, 4e-13, state={"X": 1.0, "X.speed": 0.01}, method=method, **step)
    between = result.at(np.linspace(0.0, result.t[-1], 23))
    assert np.abs(between["X.speed"] - 0.01).max() < 1e-11


def test_what_reverses_where_a_law_changes_its_branch_keeps_its_energy() -> None:
    """Friction and a law that both turn at the same moment leave steps of 1e-15 s between them."""
    s = da.System("two", gravity=(0, 0, 0))
    first, second = s.body("a", da.box(0.1, 0.1, 0.1, mass=1.0)), s.body("b", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("X", da.Prismatic("x", friction=0.05), s.ground, first)
    s.connect("Y", da.Prismatic("x", friction=0.02), first, second)
    s.connect("k", da.HingeSpring(stiffness=40.0), "X")
    s.connect("c", da.HingeSpring(stiffness=15.0), "Y")
    s.connect("law", da.Element("hinge", "-where(ds > 0, 2, 0.5)*ds", active=True), "X")
    for rtol in (1e-9, 3e-10, 1e-10):
        start = {"X": 1.3, "Y": 0.4, "Y.speed": 0.6}
        runs = [
            da.simulate(s, 1.5, state=start, method=m, rtol=rtol, atol=1e-2 * rtol, times=np.linspace(0, 1.5, 31))
            for m in ("radau", "dop853")
        ]
        assert np.abs(runs[0]["energy.balance"]).max() < 1e-9
        assert np.abs(runs[0].q - runs[1].q).max() < 1e-6
