"""Random scenes: contact by events against steps that become shorter; momentum, energy, no overlap, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from systems.contacts.random_scenes import RandomContactScene, random_contact_scene

import dalembert as da

FEW = 6  # bodies: rarely more than 16 points are closed at once
OVERLAP = {"events": 2e-6, "steps:1e-3": 1e-4, "steps:2.5e-4": 1e-4, "auto": 1e-3}  # m
RISE = {"events": 1e-6, "steps:1e-3": 1e-4, "steps:2.5e-4": 1e-5, "auto": 1e-2}  # of the energy, in a step


def check_laws(scene: RandomContactScene, result: da.Result, model: str) -> None:
    """Assert that shapes do not overlap, energy does not grow, and impulses of the ground change the momentum."""
    assert result.status == "finished"
    for name in scene.contacts:
        assert result[f"{name}.gap"].min() > -OVERLAP[model]
    energy = result["energy.total"]
    assert np.diff(energy).max() < RISE[model] * np.abs(energy).max()
    if model == "events":
        assert np.abs(result["energy.balance"]).max() < 1e-6 * np.abs(energy).max()
    momentum = np.array([result.model.momentum(q, v)[3:] for q, v in zip(result.q, result.v, strict=True)])
    weight = scene.mass * np.array([0.0, 0.0, -9.81]) * (result.t - result.t[0])[:, None]
    expected = momentum[0] + weight + result["planes.impulse"]
    # of contact by events forces between two steps are integrated
    assert momentum == pytest.approx(expected, abs=1e-3 * scene.mass * 9.81 * result.t[-1])


def end_of(scene: RandomContactScene, result: da.Result) -> np.ndarray:
    """Return the last positions of all bodies, m."""
    return np.concatenate([result[f"{name}.position"][-1] for name in scene.system.bodies])


@pytest.mark.parametrize("seed", range(12))
def test_laws_hold_by_events_and_by_steps(seed: int) -> None:
    scene = random_contact_scene(seed, FEW)
    model = scene.system.compile()
    for contact in ("events", "steps:1e-3"):
        check_laws(scene, da.simulate(model, scene.t_end, contact=contact), contact)


def test_energy_balances_where_slip_turns_by_more_than_a_right_angle() -> None:
    """Of a box that lies in a trough: forces in outputs and between steps follow the slip of their own state."""
    scene = random_contact_scene(56)
    result = da.simulate(scene.system, 0.6, contact="events")
    assert np.abs(result["energy.balance"]).max() < 1e-7 * np.abs(result["energy.total"]).max()


def test_steps_approach_events_as_they_become_shorter() -> None:
    """All but motions that amplify differences of their impacts."""
    coarse, fine = [], []
    for seed in range(12):
        scene = random_contact_scene(seed, FEW)
        model = scene.system.compile()
        exact = end_of(scene, da.simulate(model, scene.t_end, contact="events"))
        for contact, found in (("steps:1e-3", coarse), ("steps:2.5e-4", fine)):
            found.append(np.abs(end_of(scene, da.simulate(model, scene.t_end, contact=contact)) - exact).max())
    assert np.median(fine) < 1e-5
    assert np.median(fine) < 0.5 * np.median(coarse)
    assert np.sort(fine)[-3] < 1e-3


@pytest.mark.parametrize("contact", ["events", "steps:1e-3"])
def test_runs_and_ensembles_on_threads_have_the_same_bits(contact: str) -> None:
    scene = random_contact_scene(5, FEW)
    model = scene.system.compile()
    start, times = da.start_state(model), np.linspace(0.0, scene.t_end, 5)
    once, again = (da.simulate(model, scene.t_end, contact=contact, state=start, times=times) for _ in range(2))
    assert np.array_equal(once.q, again.q) and np.array_equal(once.v, again.v)
    both = da.State(np.tile(start.q, (2, 1)), np.tile(start.v, (2, 1)))
    many = da.simulate(model, scene.t_end, contact=contact, state=both, times=times)
    assert isinstance(many, da.Ensemble)
    for k in range(2):
        assert np.array_equal(many.q[k, -1], once.q[-1]) and np.array_equal(many.v[k, -1], once.v[-1])


def momentum_missed(scene: RandomContactScene, contact: str, t_end: float) -> float:
    """Return the largest difference of momentum and impulses, of the impulse of all weights."""
    result = da.simulate(scene.system, t_end, contact=contact)
    momentum = np.array([result.model.momentum(q, v)[3:] for q, v in zip(result.q, result.v, strict=True)])
    weight = scene.mass * np.array([0.0, 0.0, -9.81]) * result.t[:, None]
    missed = momentum - momentum[0] - weight - result["planes.impulse"]
    return float(np.abs(missed).max() / (scene.mass * 9.81 * t_end))


@pytest.mark.parametrize("seed", [7, 9, 14, 19])
def test_free_bodies_by_steps_keep_their_momentum_to_rounding(seed: int) -> None:
    """Also where overlaps are removed, which turns bodies: their axes are those of the velocities."""
    assert momentum_missed(random_contact_scene(seed), "steps", 0.6) < 1e-11


@pytest.mark.parametrize("seed", [26, 34])
def test_momentum_of_bodies_off_their_centres_is_of_first_order(seed: int) -> None:
    """In a step with an impact velocity-dependent forces are those of the velocities before it."""
    coarse, fine = (momentum_missed(random_contact_scene(seed), contact, 0.6) for contact in ("steps", "steps:2.5e-4"))
    assert fine < 0.35 * coarse and coarse < 1e-3


@pytest.mark.parametrize("seed", [61, pytest.param(104, marks=pytest.mark.slow)])
def test_momentum_of_jointed_bodies_is_of_first_order(seed: int) -> None:
    """For the same reason: after an impact, h/2 times the angular velocity of a part of their momentum is missed."""
    coarse, fine = (momentum_missed(random_contact_scene(seed), contact, 0.4) for contact in ("steps", "steps:2.5e-4"))
    assert fine < 0.35 * coarse


@pytest.mark.parametrize("seed", range(3))
def test_compliant_contact_approaches_events_as_it_becomes_stiffer(seed: int) -> None:
    """Restitution depends on the velocity there, so it stays another motion."""
    scene = random_contact_scene(seed, 4)
    exact = end_of(scene, da.simulate(scene.system, 0.3, contact="events"))
    by_steps = end_of(scene, da.simulate(scene.system, 0.3, contact="steps:2.5e-4"))
    assert by_steps == pytest.approx(exact, abs=1e-6)
    errors = []
    for stiffness in (1e4, 1e6):
        soft = random_contact_scene(seed, 4, stiffness)
        errors.append(np.abs(end_of(soft, da.simulate(soft.system, 0.3)) - exact).max())
    assert errors[1] < errors[0] < 0.1


@pytest.mark.parametrize("seed", [4, 10])
def test_jointed_bodies_by_steps_have_the_bits_of_ensembles_and_live_runs(seed: int) -> None:
    scene = random_contact_scene(seed)
    assert "joint0" in scene.system.connections
    model = scene.system.compile()
    start, times = da.start_state(model), np.linspace(0.0, 0.4, 5)
    once = da.simulate(model, 0.4, contact="steps", state=start, times=times)
    both = da.State(np.tile(start.q, (3, 1)), np.tile(start.v, (3, 1)))
    many = da.simulate(model, 0.4, contact="steps", state=both, times=times)
    live = da.Live(model, state=start)
    live.advance(0.4)
    assert all(np.array_equal(run.q, once.q) for run in many)
    assert np.array_equal(live.result().q, da.simulate(model, 0.4, contact="steps", state=start).q)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_scenes_of_many_bodies_run_with_the_model_chosen(seed: int) -> None:
    scene = random_contact_scene(seed)
    result = da.simulate(scene.system, 0.6)
    assert result.status == "finished"
    for name in scene.contacts:
        assert result[f"{name}.gap"].min() > -OVERLAP["auto"]
    energy = result["energy.total"]
    assert np.diff(energy).max() < RISE["auto"] * np.abs(energy).max()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_scenes_of_many_bodies_run_by_steps(seed: int) -> None:
    scene = random_contact_scene(seed)
    result = da.simulate(scene.system, 0.6, contact="steps")
    assert result.status == "finished"
    for name in scene.contacts:
        assert result[f"{name}.gap"].min() > -OVERLAP["auto"]
    energy = result["energy.total"]
    assert np.diff(energy).max() < RISE["steps:1e-3"] * np.abs(energy).max()
