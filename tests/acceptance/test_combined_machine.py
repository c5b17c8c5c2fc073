"""A driven ball joint, friction, stops, armature, a pulse and sampled control in one machine."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import dalembert as da


def machine() -> da.System:
    """Return an arm with rough joints on a base that is swung about."""
    s = da.System("arm on a swinging base")
    base = s.body("base", da.box(0.3, 0.3, 0.1, mass=3.0))
    arm, tip = s.body("arm", da.rod(0.5, 1.0)), s.body("tip", da.rod(0.3, 0.4))
    s.connect("S", da.Spherical(), s.ground, base)
    swing = da.BryantAngles(da.Harmonic(0.3, 2.0), da.Harmonic(0.2, 3.0, phase=0.5), 0.4)
    s.drive("S", rotation=swing)
    rough = {"friction": 0.3, "static_friction": 0.5, "armature": 0.05}
    stops = {"lower": -1.2, "upper": 1.4, "restitution": 0.3}
    s.connect("A", da.Revolute("y", **rough, **stops, max_effort=2.0), base.at(0.15, 0, 0), arm)
    s.connect("B", da.Revolute("z", friction=0.05, damping=0.02), arm.at(0.5, 0, 0), tip)
    s.connect("kick", da.Effort(da.laws.Pulse(0.7, 0.05, 5.0)), "B")
    return s


class Press:
    """A control that presses Ctrl-C once, at a time."""

    def __init__(self, when: float = np.inf) -> None:
        self.when = when

    def __call__(self, state: da.State) -> dict[str, float]:
        if state.t > self.when:
            self.when = np.inf
            signal.raise_signal(signal.SIGINT)
        return {"A": 3.0 * np.sin(5 * state.t) - 0.5 * state.v[3]}


HOW: dict[str, Any] = {"control_period": 0.01, "rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(scope="module")
def model() -> da.Model:
    return machine().compile()


@pytest.fixture(scope="module")
def result(model: da.Model) -> da.Result:
    return da.simulate(model, 3.0, control=Press(), **HOW)


def test_power_balances_and_notes(result: da.Result) -> None:
    assert np.abs(result["energy.balance"]).max() < 1e-9 * result["energy.kinetic"].max()
    assert result["A.position"].max() < 1.4 + 1e-9
    names = " ".join(event.name for event in result.events)
    assert "A reaches its upper limit" in names and "B reverses" in names
    notes = " ".join(result.stats.notes)
    assert "A reached its upper limit 1.4 rad" in notes and "clipped to its max_effort 2" in notes


def test_methods_agree(model: da.Model, result: da.Result) -> None:
    other = da.simulate(model, 3.0, method="radau", control=Press(), **HOW)
    np.testing.assert_allclose(other.q[-1], result.q[-1], atol=1e-9)
    assert [event.name.split(" with")[0] for event in other.events] == [
        event.name.split(" with")[0] for event in result.events
    ]


def test_many_runs_and_one_that_is_gone_on_with_have_the_same_bits(model: da.Model, result: da.Result) -> None:
    times = np.linspace(0, 3, 31)
    one = da.simulate(model, 3.0, times=times, control=Press(), **HOW)
    start = da.State(q=np.repeat(result.q[:1], 2, axis=0), v=np.repeat(result.v[:1], 2, axis=0))
    many = da.simulate(model, 3.0, times=times, state=start, control=Press(), **HOW)
    assert np.array_equal(many.q[0], one.q) and np.array_equal(many.q[1], one.q)
    press = Press(1.5)
    part = da.simulate(model, 3.0, control=press, on_error="return", **HOW)
    assert part.status == "interrupted"
    whole = da.simulate(model, 3.0, control=press, resume=part, **HOW)
    assert np.array_equal(whole.q[-1], result.q[-1])
    assert [event.name for event in whole.events] == [event.name for event in result.events]
