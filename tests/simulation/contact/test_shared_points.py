"""Compliant contact of solids whose points come and go under load: shares, continuity, energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert import _core

Array = NDArray[np.float64]

HALF = np.array([0.1, 0.12, 0.05]), np.array([0.07, 0.06, 0.05])  # m: of the lower box, of the upper one
DEPTH = 1e-3  # m


def solids(rounding: float) -> tuple[_core.Solid, _core.Solid]:
    s = da.System("pair")
    lower, upper = (s.body(name, da.box(*2 * half, mass=1.0)) for name, half in zip(("a", "b"), HALF, strict=True))
    s.contact("pair", lower, upper, stiffness=1.0, rounding=rounding)
    tables = s.compile().contacts
    assert tables is not None
    return tables.shapes[0].convex.solid, tables.shapes[1].convex.solid


def poses_over(R: Array, x: Array, y: Array) -> Array:
    """Return poses (n, 12) of the upper box whose lowest corner is `DEPTH` below the top of the lower one."""
    corners = np.array([(a, b, -1) for a in (-1, 1) for b in (-1, 1)]) * HALF[1]
    lowest = np.einsum("nij,kj->nki", R, corners)[:, :, 2].min(axis=1)
    p = np.stack([x, y, HALF[0][2] - DEPTH - lowest], axis=1)
    return np.concatenate([R.reshape(-1, 9), p], axis=1)


def loads(pair: tuple[_core.Solid, _core.Solid], poses: Array, exponent: float = 1.0) -> tuple[Array, Array, list[int]]:
    """Return resultants (n, 3), energies (n,) and numbers of points for stiffness 1."""
    n = len(poses)
    law = np.tile([1.0, exponent, 0.0, 0.0, 0.0], (n, 1))
    names, numbers, energies = _core.soft_contact_points(*pair, np.ones(3), law, poses, np.zeros((n, 6)), np.zeros(0))
    owner = names[:, 0].astype(int)
    force = np.zeros((n, 3))
    np.add.at(force, owner, numbers[:, 6:9])
    return force, energies, np.bincount(owner, minlength=n).tolist()


def turned(angle: float, n: int) -> Array:
    return np.tile(Rotation.from_euler("z", angle).as_matrix(), (n, 1, 1))


@pytest.mark.parametrize("rounding", [0.0, 1e-3])
def test_a_corner_that_passes_an_edge_does_not_change_the_force_at_once(rounding: float) -> None:
    """Before shares, each new point brought the force of a whole one: a quarter of that of a face."""
    pair = solids(rounding)
    jumps = []
    for n in (2001, 20001):
        poses = poses_over(turned(0.5, n), np.linspace(-0.02, 0.1, n), np.full(n, 0.01))
        force, _, counts = loads(pair, poses)
        assert {4, 5} <= set(counts)
        jumps.append(np.abs(np.diff(force, axis=0)).max() / force[:, 2].max())
    assert jumps[1] < 0.15 * jumps[0] < 1e-2


def test_crossings_of_nearly_parallel_edges_do_not_count() -> None:
    """Two equal faces, one above the other, cross eight times as soon as one of them turns."""
    s = da.System("equal")
    bodies = [s.body(name, da.box(0.2, 0.2, 0.1, mass=1.0)) for name in "ab"]
    s.contact("pair", *bodies, stiffness=1.0, rounding=0.0)
    tables = s.compile().contacts
    assert tables is not None
    pair = tuple(shape.convex.solid for shape in tables.shapes)
    angles = np.array([0.0, 1e-7, 1e-4, 1e-3, 1e-2])
    poses = [np.append(Rotation.from_euler("z", angle).as_matrix().ravel(), [0, 0, 0.1 - DEPTH]) for angle in angles]
    force, energies, _ = loads(pair, np.array(poses))
    assert force[:, 2] == pytest.approx(4 * DEPTH, rel=0.03)
    assert energies == pytest.approx(4 * DEPTH**2 / 2, rel=0.03)
    assert force[1:4, 2] == pytest.approx(4 * DEPTH, rel=1e-3)


def test_shares_agree_with_numpy() -> None:
    """The oracle: (1) of core/contact/shared_points.hpp for crossings at large angles, where b = 1."""
    pair = solids(0.0)
    radius = 0.2 * HALF[1].min()
    for x in (0.026, 0.03, 0.034):
        R = Rotation.from_euler("zyx", [0.6, 2e-3, 1e-3]).as_matrix()[None]
        law = np.array([[1.0, 1.5, 0.0, 0.0, 0.0]])
        pose = poses_over(R, np.array([x]), np.array([0.02]))
        _, numbers, energy = _core.soft_contact_points(*pair, np.ones(3), law, pose, np.zeros((1, 6)), np.zeros(0))
        place, depth = numbers[:, :3], -numbers[:, 9]
        y = ((place[:, None] - place) ** 2).sum(axis=2) / radius**2
        s = np.minimum(depth / depth[:, None], 1.0)
        near = np.where(y < 1.0, (1.0 - np.minimum(y, 1.0)) ** 3, 0.0) * s**2 * (3.0 - 2.0 * s)
        np.fill_diagonal(near, 1.0)
        assert energy[0] == pytest.approx((depth**2.5 / 2.5 / near.sum(axis=1)).sum(), rel=1e-9)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_box_that_slides_off_another_keeps_its_balance(friction: float) -> None:
    """Elastic and smooth, its energy stays; bristles of points that vanish are released, each with (mu N)^2 / 2 k_t."""
    s = da.System("edge")
    table = da.box(*2 * HALF[0], mass=1.0)
    box = s.body("box", da.box(*2 * HALF[1], mass=1.0))
    s.place(
        box,
        position=(0.03, 0.01, HALF[0][2] + HALF[1][2] - 1e-4),
        rotation=da.bryant(0.0, 0.0, 0.4),
        velocity=(0.8, 0.1, 0),
        angular_velocity=(0, 0, 2.0),
    )
    s.contact("pair", table, box, stiffness=1e5, exponent=1.0, friction=friction, restitution=1.0, rounding=1e-3)
    result = da.simulate(s, 0.25, rtol=1e-8, atol=1e-10)
    kinetic = 0.5 * (0.8**2 + 0.1**2)
    assert {3, 4, 5} <= set(result["pair.points"].astype(int).tolist())
    if friction:
        released = 3 * (friction * result["pair.normal"].max() / 3) ** 2 / (2 * 0.8 * 1e5)
        assert np.abs(result["energy.balance"]).max() < released
    else:
        assert np.abs(result["energy.balance"]).max() < 1e-6 * kinetic
        assert np.ptp(result["energy.total"]) < 1e-6 * kinetic


def test_derivatives_of_shared_points_are_exact() -> None:
    s = da.System("derivatives")
    table = da.box(*2 * HALF[0], mass=1.0)
    box = s.body("box", da.box(*2 * HALF[1], mass=1.0))
    s.contact("pair", table, box, stiffness=1e5, exponent=1.5, friction=0.4, restitution=0.5, rounding=1e-3)
    model = s.compile()
    rng = np.random.default_rng(0)
    R = Rotation.from_euler("zyx", [0.6, 2e-3, 1e-3])
    shared = 0
    for x in (0.028, 0.03, 0.033):
        place = poses_over(R.as_matrix()[None], np.array([x]), np.array([0.02]))[0, 9:]
        q = np.array([*np.roll(R.as_quat(), 1), *place])
        v, z = 1e-2 * rng.normal(size=6), 1e-6 * rng.normal(size=model.nx)
        found = model.d_dynamics(0.0, q, v, z).a

        def slopes(move: object, count: int, step: float, at: tuple[Array, Array, Array] = (q, v, z)) -> Array:
            rows = []
            for d in step * np.eye(count):
                ends = [model.dynamics(0.0, *move(*at, sign * d))[0] for sign in (1, -1)]  # type: ignore[operator]
                rows.append((ends[0] - ends[1]) / (2 * step))
            return np.array(rows).T

        by_q = slopes(lambda q, v, z, d: (model.integrate(q, d), v, z), model.nv, 1e-8)
        by_v = slopes(lambda q, v, z, d: (q, v + d, z), model.nv, 1e-6)
        for exact, given in ((found.q, by_q), (found.v, by_v)):
            np.testing.assert_allclose(exact, given, atol=2e-5 * np.abs(given).max())
        pair = solids(1e-3)
        place = poses_over(R.as_matrix()[None], np.array([x]), np.array([0.02]))
        counts = loads(pair, place)[2]
        shared += counts[0] > 4
    assert shared
