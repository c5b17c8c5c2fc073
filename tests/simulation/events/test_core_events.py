"""Events located by the core against the search in Python, which is the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from systems.random_machines import machine

import dalembert as da
from dalembert.library.mechanisms import four_bar
from dalembert.simulation.events import event_handling
from dalembert.simulation.events.core_events import core_event_table
from dalembert.simulation.events.events import EventFunctions

SMOOTH = {"friction": "off", "stops": "off", "rtol": 1e-9, "atol": 1e-11}


@contextmanager
def located_in_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Python locate all events."""
    with monkeypatch.context() as patch:
        patch.setattr(event_handling, "core_event_table", lambda *_: None)
        yield


def assert_same_events(fast: da.Result, slow: da.Result, tol: float) -> None:
    """Assert the same names in the same order, at the same times and states."""
    assert [e.name for e in fast.events] == [e.name for e in slow.events]
    for mine, other in zip(fast.events, slow.events, strict=True):
        assert mine.t == pytest.approx(other.t, abs=tol)
        assert np.allclose(mine.q, other.q, rtol=0, atol=1e3 * tol)
        assert (mine.message, mine.energy) == (other.message, pytest.approx(other.energy, rel=1e-6, abs=1e-8))


def scalar_outputs(model: da.Model, seed: int) -> list[str]:
    """Return names and formulas of outputs of all kinds that the core has."""
    rng = np.random.default_rng(seed)
    coordinates = [name if "." in name else f"{name}.position" for name in model.coordinate_names]
    speeds = [name if "." in name else f"{name}.speed" for name in model.speed_names]
    bodies = [body.name for body in model.system.bodies.values() if body.name in model.forest.number]
    body, other = rng.choice(bodies, 2)
    q, v = str(rng.choice(coordinates)), str(rng.choice(speeds))
    return [q, v, f"{body}.position.z", f"{other}.velocity.x", f"{body}.velocity.norm", "energy.kinetic"]


@pytest.mark.parametrize("seed", range(8))
def test_random_machines_pass_the_same_events_at_the_same_times(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    system = machine(seed)
    model = system.compile()
    plain = da.simulate(model, 0.4, **SMOOTH)
    events = []
    for k, name in enumerate(scalar_outputs(model, seed)):
        values = plain[name]
        for direction in (-1, 0, 1):
            level = float(np.quantile(values, 0.33 + 0.2 * (direction + 1)))
            events.append(da.Event(f"{name} {direction}", name, level, direction))
            events.append(da.Event(f"double {k} {direction}", f"2*({name}) + 0*t", 2 * level, direction))
    assert core_event_table(EventFunctions(model, events), model) is not None
    fast = da.simulate(model, 0.4, events=events, **SMOOTH)
    with located_in_python(monkeypatch):
        slow = da.simulate(model, 0.4, events=events, **SMOOTH)
    assert fast.events
    assert np.array_equal(fast.t, plain.t)  # recorded events leave the steps as they are
    assert np.array_equal(fast.q, plain.q)
    assert sorted(e.name for e in fast.events) == sorted(e.name for e in slow.events)
    for name in {e.name for e in fast.events}:
        mine, other = ([e.t for e in r.events if e.name == name] for r in (fast, slow))
        assert mine == pytest.approx(other, abs=1e-12)  # a rounding of dense output divided by the speed of passing
    assert [e.t for e in fast.events] == sorted(e.t for e in fast.events)


@pytest.mark.parametrize("seed", range(4))
def test_python_actions_at_events_of_the_core(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = machine(seed).compile()
    name = scalar_outputs(model, seed)[1]
    plain = da.simulate(model, 0.3, **SMOOTH)
    level = float(np.quantile(plain[name], 0.47))

    def halve(now: da.EventContext) -> None:
        now.v *= 0.5

    events = [da.Event("halve", name, level, action=halve), da.Event("seen", name, 0.9 * level)]
    fast = da.simulate(model, 0.3, events=events, **SMOOTH)
    with located_in_python(monkeypatch):
        slow = da.simulate(model, 0.3, events=events, **SMOOTH)
    assert "halve" in [e.name for e in fast.events]
    assert_same_events(fast, slow, 1e-7)


def test_a_fast_output_is_not_missed_between_steps() -> None:
    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("disc", mass=1.0, inertia=(1, 1, 1)))
    s.initial("A", position=0.1, speed=300.0)
    result = da.simulate(s, 1.0, events=da.Event("top", "sin(A.position)", direction=1))
    expected = (2 * np.pi * np.arange(1, 48) - 0.1) / 300.0
    assert np.abs([e.t for e in result.events] - expected[expected < 1.0]).max() < 1e-12


def test_a_cut_joint_passes_its_value_once_in_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    model = four_bar().compile()
    cut = next(c.name for c in model.forest.loop_constraints)
    events = [da.Event("cut", f"{cut}.position", 0.5), da.Event("rate", f"{cut}.speed")]
    assert core_event_table(EventFunctions(model, events), model) is not None
    fast = da.simulate(model, 2.0, events=events)
    with located_in_python(monkeypatch):
        slow = da.simulate(model, 2.0, events=events)
    assert fast.events
    assert_same_events(fast, slow, 1e-12)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("P.positon - 0.3", "P.position"),
        ("P.position + ball.position", "several numbers"),
        ("ball.angle_ - 1", "ball.angle_"),
        ("foo(P.position)", "foo"),
        ("P.position +", "P.position"),
    ],
)
def test_wrong_formulas_name_the_event(output: str, message: str) -> None:
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    with pytest.raises(da.ModelError, match="event 'hit'") as caught:
        da.simulate(s, 1.0, events=da.Event("hit", output))
    assert message in str(caught.value)


def test_an_output_that_is_not_finite_is_an_error_by_name_and_time() -> None:
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    s.initial("P", position=1.0)
    with pytest.raises(da.UserFunctionError, match=r"event 'root'.*nan") as caught:
        da.simulate(s, 1.0, events=da.Event("root", "sqrt(P.position)", 5.0))
    assert 0.2 < caught.value.result.t[-1] < 0.46


def test_a_noisy_formula_is_ignored_with_a_note() -> None:
    s = da.System("ball")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=2.0)))
    s.initial("P", speed=5.0)
    noise = "sign(sin(1e7*P.position)) + 0.5"
    result = da.simulate(s, 1.0, events=da.Event("noise", noise))
    assert any("noise" in note for note in result.notes)
    with pytest.raises(da.IntegrationError, match="chatters"):
        da.simulate(s, 1.0, events=da.Event("noise", noise, terminal=True))
