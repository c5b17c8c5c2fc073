"""Cone problems of contacts in the core, against the conditions of Coulomb's law and readable NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.friction_cones import ConeScene, box_stack, conditions, missed, single_contact, sphere_pyramid

from dalembert import _core

Array = NDArray[np.float64]
Places = NDArray[np.int64]
COLD = np.zeros(0)

# the scenes of contact in one step of 1 ms, by name, with the largest number of Newton steps and ADMM iterations
SCENES: dict[str, tuple[Callable[[], ConeScene], int, int]] = {
    "a box slides": (lambda: box_stack(1, slide=1.0), 4, 0),
    "two boxes, one slips": (lambda: box_stack(2, push=8.0), 8, 0),
    "stack of 5": (lambda: box_stack(5), 12, 0),
    "stack of 10": (lambda: box_stack(10), 12, 5),
    "stack of 10, the top slips": (lambda: box_stack(10, push=6.0), 36, 15),
    "1000 kg on four of 1 kg": (lambda: box_stack(5, masses=[1, 1, 1, 1, 1000]), 12, 5),
    "stack of 25": (lambda: box_stack(25), 36, 15),
    "pyramid of 5 spheres": (lambda: sphere_pyramid(2), 12, 5),
    "pyramid of 30 spheres": (lambda: sphere_pyramid(4), 160, 80),
    "pyramid of 30 spheres, the top slips": (lambda: sphere_pyramid(4, push=20.0), 240, 1280),
}


def solve(scene: ConeScene, start: Array = COLD) -> tuple[Array, Array, float, int, int]:
    lam, u, residual, newton, admm, _ = _core.solve_cone_problem(scene.D, scene.b, scene.mu, start, 1e-12)
    return lam, u, residual, newton, admm


@pytest.mark.parametrize("name", SCENES)
def test_contacts_obey_coulombs_law(name: str) -> None:
    make, most_newton, most_admm = SCENES[name]
    scene = make()
    lam, u, residual, newton, admm = solve(scene)
    assert missed(scene.D, scene.b, scene.mu, lam) <= 1e-12
    assert residual == pytest.approx(
        missed(scene.D, scene.b, scene.mu, lam), abs=1e-14
    )  # rounding of impulses up to 10 N s
    assert _core.cone_residual(scene.D, scene.b, scene.mu, lam) <= 1e-12
    np.testing.assert_allclose(u, scene.D @ lam + scene.b, atol=1e-13)
    # impulses of up to 2 N s, so that a residual of 1e-12 m/s leaves no more than this
    assert max(conditions(scene.D, scene.b, scene.mu, lam).values()) < 1e-10
    assert newton <= most_newton and admm <= most_admm


def test_a_solution_is_its_own_warm_start() -> None:
    scene = box_stack(10, push=6.0)
    lam = solve(scene)[0]
    again, _, _, newton, admm = solve(scene, lam)
    assert newton == admm == 0
    np.testing.assert_array_equal(again, lam)


def test_a_changed_load_takes_few_newton_steps_from_the_last_impulses() -> None:
    scene = box_stack(10)
    lam = solve(scene)[0]
    heavier = ConeScene(scene.D, 1.05 * scene.b, scene.mu, scene.J, scene.P, scene.v, scene.bodies)
    again, _, residual, newton, admm = solve(heavier, lam)
    assert residual <= 1e-12 and newton <= 2 and admm == 0
    np.testing.assert_allclose(again, 1.05 * lam, atol=1e-9)  # shares: proximal term, 1e-8 of the change


def test_a_sliding_box_does_not_leave_the_floor() -> None:
    """The convex relaxation would lift it with mu times its speed, 0.5 m/s here."""
    scene = box_stack(1, slide=1.0)
    lam, u, *_ = solve(scene)
    assert np.abs(u[2::3]).max() < 1e-15
    assert lam[2::3].sum() == pytest.approx(9.81e-3, rel=1e-14)
    assert np.hypot(lam[0::3].sum(), lam[1::3].sum()) == pytest.approx(0.5 * 9.81e-3, rel=1e-12)


def test_redundant_legs_keep_equal_shares() -> None:
    lam = solve(box_stack(1))[0]
    np.testing.assert_allclose(lam[2::3], 9.81e-3 / 4, rtol=1e-6)  # proximal term: 1e-8 of D


def test_frictionless_contacts_are_a_linear_complementarity_problem() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        m = int(rng.integers(1, 6))
        J = rng.normal(size=(3 * m, int(rng.integers(3, 3 * m + 3))))
        D, b = J @ J.T, J @ rng.normal(size=J.shape[1])
        lam, u, residual, *_ = _core.solve_cone_problem(D, b, np.zeros(m), COLD, 1e-12)
        assert residual < 1e-11
        assert np.abs(lam[0::3]).max() == np.abs(lam[1::3]).max() == 0.0
        assert lam[2::3].min() >= -1e-11 and u[2::3].min() >= -1e-11 and abs(lam[2::3] @ u[2::3]) < 1e-10


@pytest.mark.parametrize("rank", [3, 2])
def test_one_contact_is_open_sticks_or_slides(rank: int) -> None:
    rng = np.random.default_rng(rank)
    slides = 0
    for _ in range(200):
        J = rng.normal(size=(3, 3))
        D, b, mu = J @ J.T, rng.normal(size=3), float(rng.uniform(0.05, 1.0))
        if rank == 2:  # nothing moves along the second tangent
            D[1] = D[:, 1] = b[1] = 0.0
        lam, found = _core.solve_one_contact(D, b, mu)
        small = 1e-12 * max(1.0, np.abs(D).max() * np.abs(lam).max())
        assert found and missed(D, b, np.array([mu]), lam) < small
        slides += np.hypot(*lam[:2]) > mu * lam[2] * (1 - 1e-9) and lam[2] > 0.0
    assert slides > 40


def test_one_contact_agrees_with_a_scan_of_all_slip_directions() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        J = rng.normal(size=(3, 6))
        D, b = J @ J.T + np.eye(3), np.array([*rng.normal(size=2), -1.0])
        expected = single_contact(D, b, 0.2)
        np.testing.assert_allclose(_core.solve_one_contact(D, b, 0.2)[0], expected, atol=1e-8)  # width of the scan


def test_a_contact_that_nothing_can_stop_is_reported() -> None:
    assert not _core.solve_one_contact(np.zeros((3, 3)), np.array([0.0, 0.0, -1.0]), 0.5)[1]
    assert (
        _core.solve_cone_problem(np.zeros((3, 3)), np.array([0.0, 0.0, -1.0]), np.array([0.5]), COLD, 1e-12)[2] == 1.0
    )


def blocks(scene: ConeScene) -> tuple[Places, Places, Places, Array, Array]:
    """Rows of each contact on its bodies: block, start, at, J, Y."""
    block = np.array(scene.bodies, dtype=np.int64)
    pieces, at, used = [], np.zeros_like(block), 0
    for i, sides in enumerate(block):
        for side, body in enumerate(sides):
            at[i, side] = used
            if body >= 0:
                pieces.append(scene.J[3 * i : 3 * i + 3, 6 * body : 6 * body + 6])
                used += 18
    masses = [scene.P[6 * body : 6 * body + 6] for sides in block for body in sides if body >= 0]
    J = np.concatenate([piece.ravel() for piece in pieces])
    Y = np.concatenate([(piece * P).ravel() for piece, P in zip(pieces, masses, strict=True)])
    return block.ravel(), np.arange(0, len(scene.v) + 1, 6), at.ravel(), J, Y


@pytest.mark.parametrize("name", ["a box slides", "two boxes, one slips", "pyramid of 5 spheres"])
def test_sweeps_without_a_matrix_reach_the_same_velocities(name: str) -> None:
    scene = SCENES[name][0]()
    lam, v, residual, sweeps, D = _core.sweep_cone_problem(
        *blocks(scene), np.zeros(len(scene.b)), scene.mu, scene.v, 1e-10, 2000
    )
    np.testing.assert_allclose(D, scene.D, atol=1e-12 * np.abs(scene.D).max())
    assert residual <= 1e-10 and missed(scene.D, scene.b, scene.mu, lam) < 2e-10
    np.testing.assert_allclose(v, scene.v + scene.P * (scene.J.T @ lam), atol=1e-12)
    expected = scene.v + scene.P * (scene.J.T @ solve(scene)[0])
    np.testing.assert_allclose(v, expected, atol=1e-7)  # residual times what a sweep leaves
    assert sweeps < 2000


def test_sweeps_on_a_pile_fall_with_their_number() -> None:
    scene = sphere_pyramid(4)
    residuals = [
        _core.sweep_cone_problem(*blocks(scene), np.zeros(len(scene.b)), scene.mu, scene.v, 0.0, most)[2]
        for most in (5, 320)
    ]
    assert residuals[1] < 1e-2 * residuals[0]


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("start", [COLD, np.array([0.0, 0.0, 1.0])], ids=["cold", "warm"])
def test_a_contact_that_separates_has_no_impulse(mu: float, start: Array) -> None:
    lam, u, _, _, admm, _ = _core.solve_cone_problem(
        np.diag([3.5, 3.5, 1.0]), np.array([0.3, 0.0, 2.4]), np.array([mu]), start, 1e-12
    )
    np.testing.assert_allclose(lam, 0.0, atol=1e-12)
    np.testing.assert_allclose(u, [0.3, 0.0, 2.4], atol=1e-12)
    assert admm == 0


def test_rows_of_fixed_bound_obey_dry_friction() -> None:
    """Blocks of negative mu, mixed with contacts: |lam| <= bound, opposite to the velocity where it slides."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        m = int(rng.integers(1, 7))
        J = rng.normal(size=(3 * m, 3 * m + 3))
        mu = np.where(rng.random(m) < 0.5, -rng.uniform(0.1, 2.0, m), rng.uniform(0.0, 0.6, m))
        for i in np.flatnonzero(mu < 0):
            J[3 * i + 1 : 3 * i + 3] = 0.0
        D, b = J @ J.T, rng.normal(size=3 * m)
        b[np.repeat(mu < 0, 3) & np.tile([False, True, True], m)] = 0.0
        lam, u, residual, *_ = _core.solve_cone_problem(D, b, mu, COLD, 1e-11)
        assert residual < 1e-9
        assert u == pytest.approx(D @ lam + b, abs=1e-9)
        for i in range(m):
            part, speed = lam[3 * i : 3 * i + 3], u[3 * i : 3 * i + 3]
            if mu[i] < 0:
                assert abs(part[0]) <= -mu[i] + 1e-9 and (part[1:] == 0.0).all()
                assert abs(speed[0]) < 1e-8 or part[0] == pytest.approx(mu[i] * np.sign(speed[0]), abs=1e-8)
            else:
                assert part[2] >= -1e-9 and speed[2] >= -1e-8 and abs(part[2] * speed[2]) < 1e-8
                assert np.hypot(*part[:2]) <= mu[i] * part[2] + 1e-8


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_friction_with_a_fixed_bound_is_within_a_ball(rows: int) -> None:
    """A block with mu < 0: |lam| <= -mu; u = 0 inside, opposite to lam on the boundary; beside a contact, too."""
    rng = np.random.default_rng(rows)
    for _ in range(40):
        J = rng.normal(size=(6, 7))
        J[3 + rows :] = 0.0
        D, b = J @ J.T, rng.normal(size=6) * (np.arange(6) < 3 + rows)
        mu = np.array([0.5, -(10.0 ** rng.uniform(-2, 1))])
        lam, u, residual, _, _, _ = _core.solve_cone_problem(D, b, mu, COLD, 1e-12)
        assert residual <= 1e-11
        np.testing.assert_allclose(u, D @ lam + b, atol=1e-12)
        size, speed = np.linalg.norm(lam[3:]), np.linalg.norm(u[3:])
        assert size <= -mu[1] * (1 + 1e-12) and not lam[3 + rows :].any()
        if speed > 1e-9:
            assert lam[3:] @ u[3:] == pytest.approx(mu[1] * speed, rel=1e-8)
        assert missed(D[:3, :3], b[:3] + D[:3, 3:] @ lam[3:], mu[:1], lam[:3]) <= 1e-11
