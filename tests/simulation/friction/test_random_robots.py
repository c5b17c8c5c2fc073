"""Random robots with stops, friction, couplings, ropes and loops: balance, agreement of methods, equal bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from oracles.friction.changes import checked_simulation
from systems.robots.random_robots import random_robot

import dalembert as da

T_END = 0.6
OFF_LIMITS = (2, 4, 24, 29, 37, 49, 52, 54, 59, 62, 69)  # cannot be closed, or start beyond stops
NO_SOLUTION = 14  # of friction by load at rest, in a loop: named
JAM = 47  # the friction of a slide grows without bounds while a rope is taut, as its gain reaches one
STIFF = 68  # goes on with radau
SEEDS = [*(seed for seed in range(30) if seed not in (*OFF_LIMITS, NO_SOLUTION, 19)), STIFF]

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")


def check_robot(seed: int) -> None:
    model = random_robot(seed).compile()
    result = da.simulate(model, T_END)
    exchanged = sum(np.abs(result[f"energy.{name}"]).max() for name in ("kinetic", "work", "dissipated"))
    size = exchanged + np.ptp(result["energy.potential"]) + 1e-12
    assert np.abs(result["energy.balance"]).max() <= 1e-7 * size  # ten times the tolerance of its steps
    other = da.simulate(model, T_END, method="radau" if seed % 2 else "dopri5")
    assert np.abs(model.difference(result.q[-1], other.q[-1])).max() <= 1e-5  # roots of the tolerance at changes
    again = da.simulate(pickle.loads(pickle.dumps(model)), T_END)
    assert np.array_equal(again.q, result.q) and np.array_equal(again.v, result.v)
    start, times = da.start_state(model), np.array([0.0, T_END])
    one = da.simulate(model, T_END, times=times, state=da.State(start.q, start.v))
    two = da.State(np.tile(start.q, (2, 1)), np.tile(start.v, (2, 1)))
    runs = da.simulate(model, T_END, times=times, state=two)
    assert all(np.array_equal(runs.q[k][-1], one.q[-1]) for k in range(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_robots_balance_and_repeat_their_bits(seed: int) -> None:
    check_robot(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [
    19,
    *(seed for seed in range(30, 75) if seed not in (*OFF_LIMITS, JAM, STIFF)),
])  # fmt: skip
def test_more_robots(seed: int) -> None:
    check_robot(seed)


@pytest.mark.parametrize("method", ["auto", "dopri5", "radau"])
def test_friction_that_no_effort_satisfies_is_named(method: str) -> None:
    """By their load, of the slides J1 and J7; which of them, and what else is at rest, differs with the motion."""
    with pytest.raises(da.SingularityError, match=r"friction of ('J[0-9]', )*'J[17]'.* depends on loads so strongly"):
        da.simulate(random_robot(NO_SOLUTION), T_END, method=method)


@pytest.mark.parametrize("method", ["auto", "radau"])
def test_a_slide_jams_where_its_friction_grows_without_bounds(method: str) -> None:
    """Its gain is below one without friction, and reaches one with it: the rope turns the load of the guide."""
    result = checked_simulation(random_robot(JAM), T_END, method=method)
    jam = [event for event in result.events if event.name == "J6 jams"]
    assert len(jam) == 1 and any("J6 jammed" in note for note in result.notes)
    before = result.t < jam[0].t
    assert np.abs(result["J6.friction"][before]).max() > 1e6 * np.abs(result["J6.friction"][before]).min()
    assert np.abs(result["J6.speed"][result.t > jam[0].t][0]) < 1e-9
