"""Impulses on random trees and closed systems, against maximal coordinates and the theorems of mechanics."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.maximal import RANK, Maximal
from systems.random_loops import ClosedSystem, planar_loop, random_closed_system, random_loop
from systems.random_trees import random_marker, random_state, random_system

import dalembert as da
from dalembert.bodies.body import Body
from dalembert.impulses.contact import Contact, collide
from dalembert.impulses.impact import Impact, impulse

Array = NDArray[np.float64]

SEEDS = range(12)


def closed(seed: int) -> tuple[ClosedSystem, da.Model, Array, np.random.Generator]:
    """A random closed system: grounded or floating, with redundant rows or without."""
    rng = np.random.default_rng(seed)
    kind = seed % 4
    if kind == 0:
        system = random_closed_system(rng, 6, 2)
    elif kind == 1:
        system = random_loop(rng, [da.Revolute] * 7 + [da.Cylindrical], floating=True)
    elif kind == 2:
        system = planar_loop(rng, 5)
    else:
        system = random_closed_system(rng, 4, 2, isolated=3)
    model = system.system.compile()
    return system, model, system.state(model)[0], rng


def poses(system: da.System, model: da.Model, q: Array) -> tuple[Array, Array, list[int]]:
    """Poses of the bodies in the order of the description, and that order in the tree."""
    order = [model.body_names.index(name) for name in system.bodies]
    R, p = model.poses(q)
    return R[order], p[order], order


def oracle(maximal: Maximal, impulses: Array, extra: Array) -> Array:
    """Body velocities (nb, 6) at the mass centres after impulses there, in maximal coordinates.

    All connections hold after, and `extra` rows (k, 6 nb): dU is the shortest in the metric of the masses.
    """
    nb = maximal.nb
    L = np.zeros((6 * nb, 6 * nb))
    for k in range(nb):
        L[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.linalg.cholesky(maximal.inertia[k])
        L[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = np.sqrt(maximal.mass[k]) * np.eye(3)
    rows = np.vstack([maximal.G, extra])
    free = np.linalg.solve(L, impulses.ravel())
    B = np.linalg.solve(L, rows.T)
    push = np.linalg.lstsq(B.T, -(B.T @ free + rows @ maximal.U.ravel()), rcond=RANK)[0]
    U: Array = maximal.U + np.linalg.solve(L.T, free + push).reshape(nb, 6)
    return U


def at_centres(maximal: Maximal, V: Array) -> Array:
    return np.hstack([V[:, :3], V[:, 3:] + np.cross(V[:, :3], maximal.centre)])


def blows(system: da.System, rng: np.random.Generator, count: int = 2) -> dict[da.Marker, Array]:
    """Impulses at random markers of random bodies, some with a moment."""
    bodies = list(system.bodies.values())
    chosen = [random_marker(bodies[int(rng.integers(len(bodies)))], rng) for _ in range(count)]
    return {marker: rng.normal(size=3 if k % 2 else 6) for k, marker in enumerate(chosen)}


def on_centres(system: da.System, maximal: Maximal, given: dict[da.Marker, Array]) -> Array:
    """The same impulses at the mass centres, (nb, 6)."""
    result, names = np.zeros((maximal.nb, 6)), list(system.bodies)
    for marker, value in given.items():
        k = names.index(marker.body.name)
        arm = maximal.R[k] @ marker.position - maximal.centre[k]
        force = value[-3:]
        result[k, 3:] += force
        result[k, :3] += np.cross(arm, force) + (value[:3] if len(value) == 6 else 0.0)
    return result


def check_bodies(impact: Impact, given: dict[da.Marker, Array]) -> None:
    """Momentum of every single body changes by the impulses of its connections and those applied to it."""
    model, system = impact.model, impact.model.system
    R, p, order = poses(system, model, impact.q)
    V = model.velocities(impact.q, impact.delta_v)[order]
    maximal = Maximal(system, R, p, V)
    change = np.hstack(
        [np.einsum("kij,kj->ki", maximal.inertia, maximal.U[:, :3]), maximal.mass[:, None] * maximal.U[:, 3:]]
    )
    passed = on_centres(system, maximal, given)
    names = list(system.bodies)
    ends = {h.name: (h.inboard, h.outboard)[:: -1 if h.reversed else 1] for h in model.forest.joints}
    ends |= {c.name: (c.first, c.second) for c in model.forest.loop_constraints}
    for name, load in impact.reactions.items():
        point = model.pose(ends[name][1], impact.q).position
        for marker, sign in zip(ends[name], (-1.0, 1.0), strict=True):
            if marker.body.name != "ground":
                k = names.index(marker.body.name)
                arm = point - p[k] - maximal.centre[k]
                passed[k] += sign * np.concatenate([load[:3] + np.cross(arm, load[3:]), load[3:]])
    np.testing.assert_allclose(passed, change, atol=1e-8 * max(1.0, np.abs(change).max()))


def size(x: Array) -> float:
    return max(1.0, float(np.abs(x).max(initial=0.0)))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_impulse_on_a_tree_obeys_newton_for_each_body(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, 6, isolated=2)
    model = system.compile()
    q, v = random_state(system, rng)
    given = blows(system, rng, 3)
    impact = impulse(model, q, v, given)
    R, p, order = poses(system, model, q)
    maximal = Maximal(system, R, p, model.velocities(q, v)[order])
    expected = oracle(maximal, on_centres(system, maximal, given), np.zeros((0, 6 * maximal.nb)))
    found = at_centres(maximal, model.velocities(q, impact.v)[order])
    np.testing.assert_allclose(found, expected, atol=1e-9 * size(expected))
    np.testing.assert_allclose(model.mass_matrix(q) @ impact.delta_v, impact.impulse, atol=1e-10 * size(impact.impulse))
    check_bodies(impact, given)
    # work of impulses at the mean speeds is all the energy there is
    assert impact.work == pytest.approx(-impact.energy_loss, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_loops_close_by_their_own_impulses(seed: int) -> None:
    """Speeds that violate the loops, and blows with them: what maximal coordinates make of the same."""
    closed_system, model, q, rng = closed(seed)
    system, v = closed_system.system, rng.normal(size=model.nv)
    given = blows(system, rng)
    impact = impulse(model, q, v, given)
    R, p, order = poses(system, model, q)
    maximal = Maximal(system, R, p, model.velocities(q, v)[order])
    expected = oracle(maximal, on_centres(system, maximal, given), np.zeros((0, 6 * maximal.nb)))
    found = at_centres(maximal, model.velocities(q, impact.v)[order])
    np.testing.assert_allclose(found, expected, atol=1e-7 * size(expected))
    P = model.constraint_jacobian(q)
    np.testing.assert_allclose(P @ impact.v, 0, atol=1e-9 * size(impact.v))
    balance = impact.impulse + P.T @ impact.multipliers
    np.testing.assert_allclose(model.mass_matrix(q) @ impact.delta_v, balance, atol=1e-8 * size(balance))
    check_bodies(impact, given)


@pytest.mark.parametrize("seed", SEEDS)
def test_capture_loses_what_carnot_says_and_no_momentum(seed: int) -> None:
    _, model, q, rng = closed(seed)
    v = rng.normal(size=model.nv)
    impact = impulse(model, q, v)
    jump = impact.delta_v
    carnot = 0.5 * jump @ model.mass_matrix(q) @ jump
    assert impact.energy_loss == pytest.approx(carnot, rel=1e-9)
    assert carnot > 0 or np.abs(model.constraint_jacobian(q) @ v).max(initial=0.0) < 1e-12
    if seed % 4 == 1:  # nothing holds it
        np.testing.assert_allclose(model.momentum(q, impact.v), model.momentum(q, v), atol=1e-9)
    # and the same speeds as the projection that consistent_speeds does
    np.testing.assert_allclose(impact.v, da.consistent_velocities(model, q, v), atol=1e-7 * size(impact.v))


@pytest.mark.parametrize("seed", SEEDS)
def test_locking_any_joint_cut_or_not_agrees_with_maximal_coordinates(seed: int) -> None:
    closed_system, model, q, rng = closed(seed)
    system, v = closed_system.system, rng.normal(size=model.nv)
    names = [name for name, c in system.connections.items() if c.element.nv]
    chosen = [names[int(k)] for k in rng.choice(len(names), min(2, len(names)), replace=False)]
    loop_constraints = [c.name for c in model.forest.loop_constraints]
    if seed % 2 and loop_constraints and loop_constraints[0] not in chosen:
        chosen[0] = loop_constraints[0]
    impact = impulse(model, q, v, lock=chosen)
    R, p, order = poses(system, model, q)
    maximal = Maximal(system, R, p, model.velocities(q, v)[order])
    rows = np.vstack([maximal.relations[name].J for name in chosen])
    expected = oracle(maximal, np.zeros((maximal.nb, 6)), rows)
    found = at_centres(maximal, model.velocities(q, impact.v)[order])
    np.testing.assert_allclose(found, expected, atol=1e-7 * size(maximal.U))
    check_bodies(impact, {})
    jump = impact.delta_v
    assert impact.energy_loss == pytest.approx(0.5 * jump @ model.mass_matrix(q) @ jump, rel=1e-8, abs=1e-10)
    if seed % 4 == 1:
        np.testing.assert_allclose(model.momentum(q, impact.v), model.momentum(q, v), atol=1e-8)
    for name in chosen:  # the effort of a lock is the part of the reaction along the joint's speeds
        x = maximal.relations[name]
        load = np.concatenate([x.R.T @ impact.reactions[name][:3], x.R.T @ impact.reactions[name][3:]])
        np.testing.assert_allclose(x.H.T @ load, impact.efforts[name], atol=1e-7 * size(load))


@pytest.mark.parametrize("seed", SEEDS)
def test_single_speeds_and_joint_impulses_mean_the_same_cut_or_not(seed: int) -> None:
    """An impulse along a joint's speeds is a load between its markers, wherever the loop was cut."""
    closed_system, model, q, rng = closed(seed)
    system, v = closed_system.system, rng.normal(size=model.nv)
    given, extra = {}, np.zeros((len(system.bodies), 6))
    R, p, order = poses(system, model, q)
    maximal = Maximal(system, R, p, model.velocities(q, v)[order])
    for name, c in system.connections.items():
        if c.element.nv:
            given[name] = rng.normal(size=c.element.nv)
            x = maximal.relations[name]
            load = np.linalg.lstsq(x.H.T, given[name], rcond=None)[0]
            extra += (x.J.T @ load).reshape(-1, 6)
    expected = oracle(maximal, extra, np.zeros((0, 6 * maximal.nb)))
    impact = impulse(model, q, v, given)
    found = at_centres(maximal, model.velocities(q, impact.v)[order])
    np.testing.assert_allclose(found, expected, atol=1e-7 * size(expected))
    check_bodies(impact, {})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_joint_that_closes_suddenly_holds_afterwards(seed: int) -> None:
    """The connections of a closed system are given one by one as closing, on the tree without them."""
    closed_system, full, q, rng = closed(seed)
    system = closed_system.system.copy()
    loop_constraints = [system.connections[c.name] for c in full.forest.loop_constraints]
    for c in loop_constraints:
        system.remove(c.name)
    model = system.compile()
    q = closed_system.of(system).state(model)[0]
    v = rng.normal(size=model.nv)
    impact = impulse(model, q, v, close=loop_constraints)
    R, p, order = poses(closed_system.system, model, q)
    maximal = Maximal(closed_system.system, R, p, model.velocities(q, v)[order])
    expected = oracle(maximal, np.zeros((maximal.nb, 6)), np.zeros((0, 6 * maximal.nb)))
    found = at_centres(maximal, model.velocities(q, impact.v)[order])
    np.testing.assert_allclose(found, expected, atol=1e-7 * size(maximal.U))
    assert {c.name for c in loop_constraints} <= set(impact.reactions)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_impulse_is_the_limit_of_a_short_strong_force(seed: int) -> None:
    closed_system, model, q, rng = closed(seed)
    v = closed_system.state(model)[1]
    blow = rng.normal(size=model.nv)
    exact = impulse(model, q, v, tau=blow).v

    def after(duration: float, steps: int = 20) -> Array:
        x, u, h = q, v, duration / steps
        for _ in range(steps):  # the midpoint rule; its error is far below the one looked at
            half = u + h / 2 * model.forward_dynamics(x, u, blow / duration)
            a = model.forward_dynamics(model.integrate(x, h / 2 * u), half, blow / duration)
            x, u = model.integrate(x, h * half), u + h * a
        return u

    long, middle, short = (after(T) for T in (1e-4, 5e-5, 2.5e-5))
    errors = [np.abs(x - exact).max() for x in (long, middle, short)]
    # of first order in the duration
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05) and errors[1] / errors[2] == pytest.approx(2, rel=0.05)
    # with the first order taken out, what is left is of second order
    assert np.abs(2 * short - middle - exact).max() < 0.05 * errors[2]


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_does_as_its_states_do(seed: int) -> None:
    closed_system, model, q, rng = closed(seed)
    body = next(iter(closed_system.system.bodies))
    name = next(n for n, c in closed_system.system.connections.items() if c.element.nv)
    v, blow = rng.normal(size=(3, model.nv)), rng.normal(size=(3, 6))
    contact = Contact("ground", closed_system.system[body].at(0.1, 0.2, 0.3), "x", restitution=0.5)
    together = impulse(model, q, v, {body: blow}, lock=name, contact=contact)
    assert together.v.shape == (3, model.nv)
    for k in range(3):
        alone = impulse(model, q, v[k], {body: blow[k]}, lock=name, contact=contact)
        np.testing.assert_allclose(together.v[k], alone.v, rtol=0, atol=1e-13 * size(alone.v))
        np.testing.assert_allclose(together.multipliers[k], alone.multipliers, atol=1e-12 * size(alone.multipliers))
        np.testing.assert_allclose(together.efforts[name][k], alone.efforts[name], atol=1e-12)
        assert together.energy_loss[k] == pytest.approx(alone.energy_loss, rel=1e-10, abs=1e-12)
        assert together.contacts[contact.name].state[k] == alone.contacts[contact.name].state
        for key, load in alone.reactions.items():
            np.testing.assert_allclose(together.reactions[key][k], load, atol=1e-10 * size(load))


# ---- contacts


@pytest.mark.parametrize("seed", SEEDS)
def test_smooth_contacts_obey_newtons_restitution(seed: int) -> None:
    closed_system, model, q, rng = closed(seed)
    v = closed_system.state(model)[1]
    bodies: list[Body] = list(closed_system.system.bodies.values())
    contacts = []
    for k in range(4):
        i, j = rng.choice(len(bodies), 2, replace=False)
        first = closed_system.system.ground.origin if k % 2 else random_marker(bodies[i], rng)
        contacts.append(
            Contact(first, random_marker(bodies[j], rng), rng.normal(size=3), restitution=rng.random(), name=f"k{k}")
        )
    impact = impulse(model, q, v, contact=contacts)
    np.testing.assert_allclose(model.constraint_jacobian(q) @ impact.v, 0, atol=1e-9 * size(impact.v))
    for c in contacts:
        touch = impact.contacts[c.name]
        assert touch.normal_impulse >= 0 and touch.departure > -1e-9
        axes = model.pose(c.first, q).rotation
        n = axes @ c.normal
        two, one = model.velocity(c.second, q, impact.v), model.velocity(c.first, q, impact.v)
        arm = model.pose(c.second, q).position - model.pose(c.first, q).position
        assert n @ (two[3:] - one[3:] - np.cross(one[:3], arm)) == pytest.approx(touch.departure, abs=1e-9)
    if len([c for c in contacts if impact.contacts[c.name].normal_impulse > 0]) == 1:
        struck = next(c for c in contacts if impact.contacts[c.name].normal_impulse > 0)
        touch = impact.contacts[struck.name]
        assert touch.departure == pytest.approx(-struck.restitution * touch.approach, rel=1e-9)
    assert impact.energy_loss >= -1e-12


@pytest.mark.parametrize("friction", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_impulses_of_contacts_obey_their_laws(seed: int, friction: float) -> None:
    """Restitution zero, one round: (1) to (3) of the contact module, on random systems of any rank."""
    rng = np.random.default_rng(seed)
    count = 1 + seed % 3
    A = rng.normal(size=(3 * count, 3 * count + 2 - 2 * (seed % 2)))
    D, u = A @ A.T, rng.normal(size=(count, 3))
    u[:, 2] = -np.abs(u[:, 2])
    contacts = [Contact("a", "b", friction=friction, name=str(k)) for k in range(count)]
    lam = collide(D, u, contacts, 1e-12)
    after = u + (D @ lam.ravel()).reshape(-1, 3)
    for L, w in zip(lam, after, strict=True):
        assert L[2] >= 0 and w[2] >= -1e-8 and abs(L[2] * w[2]) < 1e-8
        slip = np.linalg.norm(w[:2])
        if slip > 1e-7:
            np.testing.assert_allclose(L[:2], -friction * L[2] * w[:2] / slip, atol=1e-6 * size(lam))
        else:
            assert np.linalg.norm(L[:2]) <= friction * L[2] * (1 + 1e-9) + 1e-12
    assert (lam * (u + after)).sum() <= 1e-10  # twice the gain of energy
