"""The compiled constraint rows against slow formulas and against differences in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oracles import constraint_rows as oracle
from systems.contacts.random_contacts import CONTACTS
from systems.random_trees import JOINTS, coin, derivative, hang_on, random_joint, random_marker

import dalembert as da
from dalembert.connections.constraints.geometric import Constraint
from dalembert.connections.joints import Joint

KINDS: dict[str, Callable[[np.random.Generator], Joint | Constraint]] = {
    **{kind.__name__: lambda rng, kind=kind: random_joint(kind, rng) for kind in JOINTS if kind is not da.Free},
    **CONTACTS,
}


def looped_system(kind: str, seed: int) -> da.System:
    """Return a random tree with a loop constraint of the given kind between two bodies, and a few of any kind."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    system = da.System("looped", gravity=rng.normal(size=3))
    placed = [system.ground]
    for k in range(6):
        branch = JOINTS[int(rng.integers(1, len(JOINTS)))]
        parent = placed[int(rng.integers(len(placed)))]
        placed.append(hang_on(system, parent, f"b{k}", branch, rng, backwards=coin(rng)))
    for k, extra in enumerate([kind, list(KINDS)[int(rng.integers(len(KINDS)))], kind]):
        i, j = rng.choice(len(placed), size=2, replace=False)
        ends = random_marker(placed[i], rng), random_marker(placed[j], rng)
        system.connect(f"c{k}", KINDS[extra](rng), *ends)
    return system


@pytest.fixture(params=[(kind, seed) for kind in KINDS for seed in range(4)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request: pytest.FixtureRequest) -> tuple[da.Model, np.ndarray, np.ndarray]:
    kind, seed = request.param
    model = looped_system(kind, seed).compile()
    state = model.random_state(np.random.default_rng(seed))
    return model, state.q, state.v


def test_names_and_sizes(case: tuple[da.Model, np.ndarray, np.ndarray]) -> None:
    model, _, _ = case
    assert model.constraint_names == oracle.names(model)
    assert len(model.constraint_connections) == model.nc == len(model.constraint_names)
    assert all(
        row.startswith(owner + ".")
        for row, owner in zip(model.constraint_names, model.constraint_connections, strict=True)
    )


def test_rows_equal_the_formulas(case: tuple[da.Model, np.ndarray, np.ndarray]) -> None:
    model, q, v = case
    expected = oracle.rows(model, q, v)
    # a few products of rotations: rounding of order 1e-15 on numbers of order 1 to 10
    np.testing.assert_allclose(model.constraint_residual(q), expected.residual, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.constraint_jacobian(q), expected.jacobian, rtol=1e-11, atol=1e-12)
    # squares of speeds up to 30 rad/s at markers that whirl
    scale = 1 + np.abs(expected.bias).max(initial=0.0)
    np.testing.assert_allclose(model.constraint_bias(q, v), expected.bias, rtol=1e-10, atol=1e-12 * scale)


def test_rows_are_rates_of_the_residual(case: tuple[da.Model, np.ndarray, np.ndarray]) -> None:
    model, q, v = case
    a = np.random.default_rng(1).normal(size=model.nv)
    slow = 0.2 * v  # keeps the fifth derivative, and so the error of the differences, small

    def along(t: float) -> np.ndarray:
        # to first order in t: v = slow + a t moves q by slow t + a t^2 / 2
        return model.integrate(q, slow * t + 0.5 * a * t * t)

    rate = derivative(lambda t: model.constraint_residual(model.integrate(q, slow * t)))
    np.testing.assert_allclose(model.constraint_jacobian(q) @ slow, rate, rtol=1e-8, atol=1e-8)
    # integrate() moves at constant speeds: along it the second derivative is the bias alone
    second = derivative(lambda t: model.constraint_jacobian(model.integrate(q, slow * t)) @ slow)
    np.testing.assert_allclose(model.constraint_bias(q, slow), second, rtol=1e-7, atol=1e-7)
    swept = derivative(lambda t: model.constraint_jacobian(along(t)) @ (slow + a * t))
    P, bias = model.constraint_jacobian(q), model.constraint_bias(q, slow)
    np.testing.assert_allclose(P @ a + bias, swept, rtol=1e-7, atol=1e-7)


def test_batch_equals_single(case: tuple[da.Model, np.ndarray, np.ndarray]) -> None:
    model, _, _ = case
    states = model.random_state(np.random.default_rng(2), size=5)
    r, P, b = (
        model.constraint_residual(states.q),
        model.constraint_jacobian(states.q),
        model.constraint_bias(states.q, states.v),
    )
    assert r.shape == (5, model.nc) and P.shape == (5, model.nc, model.nv) and b.shape == (5, model.nc)
    for k in range(5):
        np.testing.assert_allclose(r[k], model.constraint_residual(states.q[k]), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(P[k], model.constraint_jacobian(states.q[k]), rtol=1e-11, atol=1e-12)
        scale = 1 + np.abs(b[k]).max(initial=0.0)
        one = model.constraint_bias(states.q[k], states.v[k])
        np.testing.assert_allclose(b[k], one, rtol=1e-10, atol=1e-12 * scale)
