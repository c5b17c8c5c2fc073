"""The mass matrix in compressed rows: the numbers of the dense one, where the tree couples."""

from __future__ import annotations

import numpy as np
import pytest
from systems.flexible_systems import random_flexible_tree

import dalembert as da


def branched(seed: int, count: int) -> da.System:
    """Return a random forest of bodies with joints of several kinds, some with armatures."""
    rng = np.random.default_rng(seed)
    s = da.System("forest")
    bodies = [s.ground]
    kinds = (da.Revolute("y"), da.Prismatic("x"), da.Spherical(), da.Universal("x", "y"), da.Cylindrical("z"))
    for k in range(count):
        body = s.body(f"b{k}", mass=rng.uniform(0.5, 2), com=rng.normal(size=3), inertia=rng.uniform(2, 3, size=3))
        parent = bodies[rng.integers(len(bodies))]
        joint = da.Revolute("z", armature=0.3) if k % 5 == 0 else kinds[rng.integers(len(kinds))]
        ends = (parent.at(*rng.normal(size=3)), body) if k % 3 else (body, parent.at(*rng.normal(size=3)))
        s.connect(f"j{k}", joint, *ends)
        bodies.append(body)
    return s


@pytest.mark.parametrize("seed", range(6))
def test_it_has_the_bits_of_the_dense_matrix(seed: int) -> None:
    model = branched(seed, 3 + 6 * seed).compile()
    rng = np.random.default_rng(seed)
    M = None
    for _ in range(3):
        q = model.random_state(rng).q
        M = model.sparse_mass_matrix(q, out=M)
        np.testing.assert_array_equal(M.toarray(), model.mass_matrix(q))
    assert M is not None
    assert M.has_sorted_indices
    x = rng.normal(size=model.nv)
    np.testing.assert_allclose(model.factor(q).solve(M @ x), x, rtol=1e-9, atol=1e-9)


def test_branches_are_not_coupled() -> None:
    """Of a star of arms, each with two links, only the blocks of the arms are kept."""
    s = da.System("star")
    for k in range(20):
        upper, lower = s.body(f"u{k}", da.rod(length=1, mass=1)), s.body(f"l{k}", da.rod(length=1, mass=1))
        s.connect(f"s{k}", da.Revolute("z"), s.ground, upper)
        s.connect(f"e{k}", da.Revolute("z"), upper.at(1, 0, 0), lower)
    model = s.compile()
    q = model.random_state(np.random.default_rng(0)).q
    M = model.sparse_mass_matrix(q)
    assert M.nnz == 4 * 20
    np.testing.assert_array_equal(M.toarray(), model.mass_matrix(q))


@pytest.mark.parametrize("seed", range(4))
def test_flexible_bodies_couple_their_modes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_flexible_tree(rng, 5).compile()
    q = model.integrate(model.random_state(rng).q, 0.01 * rng.normal(size=model.nv))
    np.testing.assert_array_equal(model.sparse_mass_matrix(q).toarray(), model.mass_matrix(q))


def test_wrong_arguments_are_named() -> None:
    model, other = branched(0, 4).compile(), branched(0, 4).compile()
    q = model.random_state(np.random.default_rng(0)).q
    with pytest.raises(da.ModelError, match="sparse_mass_matrix"):
        model.sparse_mass_matrix(q[1:])
    with pytest.raises(da.ModelError, match="out"):
        model.sparse_mass_matrix(q, out=other.sparse_mass_matrix(q))
