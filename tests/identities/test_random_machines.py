"""Random machines with everything at once: power balances, methods agree, going on and threads give the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from random_machines import machine, option

import dalembert as da

END = 0.6

SEEDS = [1, 2, 4, 5, 1062, 1010, 10, 1044, 7, 1098]  # trees, planar loops, spatial loops


def names(result: da.Result) -> list[str]:
    return [event.name.split(" with")[0] for event in result.events]


@pytest.mark.parametrize("seed", SEEDS)
def test_power_balances_and_methods_agree(seed: int) -> None:
    model = machine(seed).compile()
    result = da.simulate(model, END, **option(model, seed))
    assert result.status == "finished" and len(result.events) > 2
    scale = 1.0 + result["energy.kinetic"].max() + np.ptp(result["energy.potential"])
    assert np.abs(result["energy.balance"]).max() < 1e-8 * scale
    assert not model.nc or result["constraints.residual"].max() < 1e-10
    other = da.simulate(model, END, method="radau", **option(model, seed))
    assert names(other) == names(result)
    np.testing.assert_allclose(other.q[-1], result.q[-1], atol=1e-6)  # moments of rest differ by roots of tolerances


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_runs_that_go_on_have_the_same_bits(seed: int) -> None:
    model = machine(seed).compile()
    whole = da.simulate(model, END, **option(model, seed))
    asked = option(model, seed, press=0.33)
    part = da.simulate(model, END, on_error="return", **asked)
    assert part.status == "interrupted"
    rest = da.simulate(model, END, resume=part, **asked)
    assert np.array_equal(rest.q, whole.q) and np.array_equal(rest.v, whole.v)
    assert names(rest) == names(whole)


@pytest.mark.parametrize("seed", SEEDS[5:])
def test_many_runs_on_any_threads_have_the_same_bits(seed: int) -> None:
    model = machine(seed).compile()
    times = np.linspace(0, END, 5)
    first = da.simulate(model, 0.01, **option(model, seed))
    start = da.State(first.q[0], first.v[0])
    one = da.simulate(model, END, times=times, state=start, **option(model, seed))
    before = da.threads()
    try:
        for threads in (1, 3):
            da.set_threads(threads)
            both = da.State(np.tile(start.q, (2, 1)), np.tile(start.v, (2, 1)))
            many = da.simulate(model, END, times=times, state=both, **option(model, seed))
            assert np.array_equal(many.q[0], one.q) and np.array_equal(many.v[1], one.v)
    finally:
        da.set_threads(before)
