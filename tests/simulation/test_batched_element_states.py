"""Ensembles of elements with states: in lanes as one by one, stiff ones on their own."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.library import chain


def chain_with_states(rate: float) -> da.Model:
    system = chain(4)
    for k, joint in enumerate(list(system.connections)):
        law = da.Element(
            "joint", "-k*(s - m) - u", {"k": 2.0 + k, "r": rate}, {"m": (0.1, "r*(s - m)")}, "k*(s - m)**2/2",
            inputs={"u": f"e{k - 1}.y" if k else 0.1}, signals={"y": "0.2*tanh(m) + 0.1*ds"},
        )  # fmt: skip
        system.connect(f"e{k}", law, joint)
    return system.compile()


@pytest.mark.parametrize(("rate", "implicit"), [(3.0, False), (3e4, True)])
def test_simd_batches_agree_with_single_runs(rate: float, implicit: bool) -> None:
    model = chain_with_states(rate)
    rng = np.random.default_rng(0)
    q, v = 0.5 * rng.normal(size=(7, 4)), 0.5 * rng.normal(size=(7, 4))
    numbers = {"e1.k": np.linspace(1.0, 3.0, 7)}
    times = np.linspace(0.0, 1.0, 5)
    many = da.simulate(model, 1.0, state=da.State(q=q, v=v), parameters=numbers, times=times, rtol=1e-9)
    assert ("radau" in " ".join(many.stats.notes)) == implicit
    for k in range(7):
        one = da.simulate(
            model, 1.0, state=da.State(q=q[k], v=v[k]), parameters={"e1.k": numbers["e1.k"][k]}, times=times, rtol=1e-9
        )
        np.testing.assert_allclose(many.q[k], one.q, atol=2e-7)
        np.testing.assert_allclose(many.x[k], one.x, atol=2e-7)
        np.testing.assert_allclose(many[k]["e2.effort"], one["e2.effort"], atol=1e-5)


@pytest.mark.parametrize("far", [3e5, 1e300])
def test_what_a_run_computes_does_not_depend_on_its_neighbours(far: float) -> None:
    """Angles of many thousand turns go another way through the sine; those beside them do not."""
    model = chain(3).compile()
    starts = np.random.default_rng(0).uniform(-1, 1, (7, model.nq))
    among = np.insert(starts, 3, far, axis=0)
    times = np.linspace(0.0, 0.5, 6)
    alone = da.simulate(model, 0.5, state=da.State(q=starts, v=np.zeros_like(starts)), times=times)
    beside = da.simulate(model, 0.5, state=da.State(q=among, v=np.zeros_like(among)), times=times, on_error="return")
    assert np.array_equal(np.delete(beside.q, 3, axis=0), alone.q)
