"""Operation counts of Jain and Rodriguez, table 1; their inertia and gyroscopic loads by nodes and by orders."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import golden_body, random_deformed_state, random_flexible, random_flexible_tree

import dalembert as da
from dalembert.errors import ModelError
from dalembert.formulations.flop_counts import articulated_count, kernel_count
from dalembert.oracles.flexible_operators import FlexibleOperators
from dalembert.oracles.modal_orders import bias_by_order, mass_by_order, nodal_bias, nodal_mass_matrix

TABLE = {  # bodies, modes: multiplications, additions; 19959 is printed as 19591
    (3, 5): (5223, 4195), (3, 10): (11432, 9677), (3, 15): (18587, 16287),
    (6, 5): (12591, 10075), (6, 10): (27611, 23315), (6, 15): (44846, 39225),
    (9, 5): (19959, 15955), (9, 10): (43790, 36953), (9, 15): (71105, 62163),
}  # fmt: skip


@pytest.mark.parametrize(("shape", "expected"), TABLE.items())
def test_table_1_of_the_source(shape: tuple[int, int], expected: tuple[int, int]) -> None:
    bodies, modes = shape
    assert np.allclose(articulated_count([modes] * bodies), expected, rtol=0, atol=1e-9)


def test_operation_counts_of_source_and_kernels_differ() -> None:
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    link = da.beam(1.0, da.Section.circle(0.01), steel, modes=da.CantileverModes(5))
    s = da.System("three links")
    end = s.ground.origin
    for k in range(3):
        body = s.body(f"b{k}", link)
        s.connect(f"h{k}", da.Revolute("y"), end, body)
        end = body.at(node=10)
    count = da.operation_counts(s)
    assert count.articulated == pytest.approx(TABLE[3, 5])
    assert count.kernel == kernel_count([5, 5, 5], [1, 1, 0]) and "kernel" in str(count)
    # by the square of the modes: with factors of low rank the cube is gone
    per_square = [kernel_count([n] * 9, [1] * 9).total / n**2 for n in (50, 100, 200)]
    assert per_square[2] < per_square[1] < per_square[0]


@pytest.mark.parametrize(
    "body", [golden_body(), golden_body(free=True), random_flexible(np.random.default_rng(3), order="source")]
)
def test_inertia_by_nodes_is_that_by_orders(body: da.FlexibleBody) -> None:
    rng = np.random.default_rng(0)
    eta, rate, w = 0.3 * rng.normal(size=body.nm), rng.normal(size=body.nm), rng.normal(size=3)
    masses, biases = mass_by_order(body, eta), bias_by_order(body, eta, rate, w)
    M, b = nodal_mass_matrix(body, eta), nodal_bias(body, eta, rate, w)
    assert np.abs(sum(masses) - M).max() < 1e-12 * np.abs(M).max()
    assert np.abs(sum(biases) - b).max() < 1e-12 * np.abs(b).max()
    # orders: M^2 sits in the inertia alone, b^3 in the moment alone
    n = body.nm
    assert np.abs(masses[2][:n]).max() < 1e-12 and np.abs(masses[2][n + 3 :]).max() < 1e-12
    assert np.abs(biases[3][:n]).max() < 1e-12 and np.abs(biases[3][n + 3 :]).max() < 1e-12
    again = bias_by_order(body, 2 * eta, 2 * rate, w)
    assert all(np.allclose(again[k], 2**k * biases[k], rtol=1e-9, atol=1e-11) for k in range(4))


def test_orders_of_point_masses_are_the_same_by_either_set_of_integrals() -> None:
    body = random_flexible(np.random.default_rng(1), nm=3, points=True)
    rng = np.random.default_rng(2)
    eta, rate, w = 0.3 * rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    for one, two in zip(
        bias_by_order(body, eta, rate, w), bias_by_order(body, eta, rate, w, source=False), strict=True
    ):
        assert np.allclose(one, two, rtol=0, atol=1e-12)


def test_sums_over_nodes_need_nodes() -> None:
    steel = da.Material(E=210e9, nu=0.3, density=7850)
    with pytest.raises(ModelError, match="lumped"):
        nodal_mass_matrix(da.beam(1.0, da.Section.circle(0.01), steel), np.zeros(6))


@pytest.mark.parametrize("seed", range(4))
def test_composites_and_conjugate_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_flexible_tree(rng, 5)
    model = system.compile()
    q, v = random_deformed_state(model, rng)
    o = FlexibleOperators(system, q, v)
    tau = rng.normal(size=o.nv)
    a, products = o.conjugate_gradients(tau)
    expected = model.forward_dynamics(q, v, tau)
    assert np.abs(a - expected).max() < 1e-6 * np.abs(expected).max() and 0 < products <= 20 * o.nv
    # R(k): the mass of all that a base carries
    for k, parent in enumerate(o.forest.parent):
        if not parent:
            below = [j for j in range(o.nb) if k + 1 in [*o.forest.path(j + 1)]]
            mass = sum(system.bodies[o.forest.bodies[j + 1]].mass for j in below)
            assert np.allclose(o.composites[k][-3:, -3:], mass * np.eye(3), atol=1e-9)
