"""Campaign of 200 random scenes: events against shorter and shorter steps, and against stiffer and stiffer contact.

A motion is compared until it amplifies small changes of its start, or depends on the tolerances of events.
"""

from __future__ import annotations

import signal

import numpy as np
import pytest
from systems.contacts.random_scenes import LINKS, RandomContactScene, random_contact_scene

import dalembert as da

SEEDS = range(200)
PART = 20  # scenes in a test
T_END = 0.4  # s
TIMES = np.linspace(0.0, T_END, 9)[1:]
CHANGE = 1e-9  # of the start velocities, m/s and rad/s
SENSITIVE = 1e-6  # m: positions that the change moves farther are sensitive
UNDETERMINED = 2e-5  # m: positions that other tolerances move farther

parts = pytest.mark.parametrize("part", range(len(SEEDS) // PART))


def seeds_of(part: int) -> range:
    return SEEDS[part * PART : (part + 1) * PART]


def scene_of(seed: int, stiffness: float | None = None, **numbers: float) -> RandomContactScene:
    """Return the scene of a seed; half of them have joints, some of these loops."""
    links = (None, None, None, *LINKS)[seed // 3 % 6]
    return random_contact_scene(seed, stiffness=stiffness, links=links, **numbers)


def positions(scene: RandomContactScene, result: da.Result, times: np.ndarray) -> np.ndarray:
    """Return positions of all bodies, (n, 3 bodies)."""
    at = result.at(times)
    return np.concatenate([at[f"{name}.position"] for name in scene.system.bodies], axis=1)


def least_gap(scene: RandomContactScene, result: da.Result) -> float:
    return min(float(result[f"{name}.gap"].min()) for name in scene.contacts)


def momentum_missed(scene: RandomContactScene, result: da.Result) -> float:
    """Return what impulses miss of the change of momentum, of the impulse of all weights."""
    momentum = np.array([result.model.momentum(q, v)[3:] for q, v in zip(result.q, result.v, strict=True)])
    weight = scene.mass * np.array([0.0, 0.0, -9.81]) * result.t[:, None]
    missed = momentum - momentum[0] - weight - result["planes.impulse"]
    return float(np.abs(missed).max() / (scene.mass * 9.81 * T_END))


@pytest.mark.slow
@parts
def test_events_obey_the_laws_and_steps_approach_them(part: int) -> None:
    compared, coarse, fine = 0, [], []
    for seed in seeds_of(part):
        scene = scene_of(seed)
        model = scene.system.compile()
        start = da.start_state(model)
        exact = da.simulate(model, T_END, state=start)
        assert exact.status == "finished"
        if any("goes on in steps" in note for note in exact.notes):
            continue
        energy = exact["energy.total"]
        assert least_gap(scene, exact) > -1e-6, seed
        assert np.diff(energy).max() < 1e-8 * np.abs(energy).max(), seed
        assert np.abs(exact["energy.balance"]).max() < 1e-6 * np.abs(energy).max(), seed
        assert momentum_missed(scene, exact) < 1e-3, seed  # forces between steps are integrated by quadrature
        places = positions(scene, exact, TIMES)
        change = CHANGE * np.random.default_rng(seed).normal(size=start.v.shape)
        changed = da.simulate(model, T_END, state=da.State(q=start.q, v=start.v + change))
        tight = da.simulate(model, T_END, state=start, rtol=1e-10, atol=1e-12)
        moved = np.abs(positions(scene, changed, TIMES) - places).max(axis=1) > SENSITIVE
        moved |= np.abs(positions(scene, tight, TIMES) - places).max(axis=1) > UNDETERMINED
        count = len(TIMES) if not moved.any() else int(moved.argmax())
        if not count:
            continue
        compared += 1
        for contact, errors in (("steps:2.5e-4", coarse), ("steps:3e-5", fine)):
            by_steps = da.simulate(model, T_END, state=start, contact=contact, times=TIMES)
            assert least_gap(scene, by_steps) > -1e-4, seed
            found = positions(scene, by_steps, TIMES[:count])
            errors.append(float(np.abs(found - places[:count]).max()))
        assert fine[-1] < 1e-3, seed
    assert compared >= PART - 3
    assert np.median(fine) < 0.3 * np.median(coarse) < 1e-4


def first_impacts(result: da.Result, apart: float) -> tuple[float, int]:
    """Return a time before the first impact that follows another too closely, s, and the number of impacts before."""
    times = np.unique([event.t for event in result.events if event.is_exchange])
    close = np.flatnonzero(np.diff(times) < apart)
    end = T_END
    if len(close):
        k = close[0]
        end = 0.5 * (times[k - 1] + times[k]) if k else 0.5 * times[0]
    elif len(times) and T_END - times[-1] < apart:
        end = times[-1] - 0.5 * apart
    return float(end), int((times < end).sum())


@pytest.mark.slow
@parts
def test_compliant_contact_approaches_events(part: int) -> None:
    """Smooth and elastic: then an impact of one point is the same, whatever the stiffness.

    Errors fall with the time of contact, as the root of the stiffness, but where a second point is nearly as close as
    the first: that takes more stiffness.
    """
    numbers = {"friction": 0.0, "restitution": 1.0, "rounding": 1e-4}
    ratios = []
    for seed in seeds_of(part):
        scene = scene_of(seed, **numbers)
        exact = da.simulate(scene.system, T_END, contact="events")
        end, impacts = first_impacts(exact, 4e-3)
        places = positions(scene, exact, np.array([end]))
        errors = []
        for stiffness in (1e6, 1e8):
            soft = scene_of(seed, stiffness, **numbers)
            result = da.simulate(soft.system, end)
            energy = result["energy.total"]
            # forces jump where the nearest faces change, and of more than 8 points; the balance shows it
            assert np.abs(result["energy.balance"]).max() < 1e-3 * np.abs(energy).max(), seed
            errors.append(float(np.abs(positions(soft, result, np.array([end])) - places).max()))
        if impacts:
            ratios.append(errors[1] / errors[0])
            assert ratios[-1] < 1.0, seed
        else:
            assert max(errors) < 1e-8, seed
    assert len(ratios) >= PART // 2
    assert np.median(ratios) == pytest.approx(0.1, abs=0.02)
    assert (np.array(ratios) < 0.2).mean() >= 0.7


class Key:
    """A control without effect that presses Ctrl-C once, at a time, if it is armed."""

    def __init__(self, t: float) -> None:
        self.t, self.armed = t, False

    def __call__(self, state: da.State) -> dict[str, float]:
        if self.armed and state.t > self.t:
            self.armed = False
            signal.raise_signal(signal.SIGINT)
        return {}


@pytest.mark.slow
@parts
def test_runs_in_two_parts_and_runs_on_threads_have_the_same_bits(part: int) -> None:
    for seed in seeds_of(part)[::4]:
        scene = scene_of(seed)
        model = scene.system.compile()
        start, times = da.start_state(model), np.linspace(0.0, T_END, 5)
        both = da.State(q=np.tile(start.q, (3, 1)), v=np.tile(start.v, (3, 1)))
        for contact in ("auto", "steps:1e-3"):
            once = da.simulate(model, T_END, state=start, contact=contact, times=times)
            many = da.simulate(model, T_END, state=both, contact=contact, times=times)
            assert isinstance(many, da.Ensemble)
            assert all(np.array_equal(run.q, once.q) and np.array_equal(run.v, once.v) for run in many), seed
            key = Key(0.6 * T_END)
            options = {"state": start, "contact": contact, "control": key}
            whole = da.simulate(model, T_END, **options)
            key.armed = True
            first = da.simulate(model, T_END, on_error="return", **options)
            assert first.status == "interrupted" and first.t[-1] < T_END
            rest = da.simulate(model, T_END, resume=first, **options)
            assert np.array_equal(rest.q, whole.q) and np.array_equal(rest.v, whole.v), seed
