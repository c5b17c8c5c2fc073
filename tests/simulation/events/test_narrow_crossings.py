"""Crossings that begin and end within one step: narrow formulas, grazing sums of oscillations, grazed stops."""

from collections.abc import Callable

import numpy as np
import pytest

import dalembert as da


def slide(system: da.System, name: str, **data: float) -> None:
    """Add a body of 1 kg that slides along x."""
    system.connect(name, da.Prismatic("x", **data), system.ground, system.body(name.lower(), da.sphere(0.1, mass=1.0)))


def free_slide() -> da.System:
    """Return a body at 1 m/s without forces: its steps grow to metres."""
    s = da.System("free", gravity=(0, 0, 0))
    slide(s, "A")
    s.initial("A", speed=1.0)
    return s


@pytest.mark.parametrize(("formula", "expected"), [
    ("abs(A.position - 3.3) - 1e-5", [3.3 - 1e-5, 3.3 + 1e-5]),
    ("1e-3 - abs(A.position - 3.3)", [3.299, 3.301]),
    ("(A.position - 3.3)*(A.position - 3.3 - 1e-4)", [3.3, 3.3001]),
    ("exp(-((A.position - 3.7)/1e-4)**2) - 0.5", [3.7 - 1e-4 * np.log(2) ** 0.5, 3.7 + 1e-4 * np.log(2) ** 0.5]),
    ("max(A.position - 3.3, 3.301 - t) - 1e-3", [3.3, 3.301]),
    ("floor(A.position/7.0) - 0.5", [7.0]),
])  # fmt: skip
def test_formulas_that_are_narrow_beside_a_step_are_seen(formula: str, expected: list[float]) -> None:
    result = da.simulate(free_slide(), 10.0, events=da.Event("hit", formula))
    assert result.stats.steps < 10
    np.testing.assert_allclose([event.t for event in result.events], expected, rtol=0, atol=1e-12)


def test_all_crossings_of_a_periodic_formula_are_seen() -> None:
    result = da.simulate(free_slide(), 10.0, events=da.Event("hit", "sin(40*A.position)", value=0.999))
    half = np.pi / 2 - np.arcsin(0.999)
    tops = (np.pi / 2 + 2 * np.pi * np.arange(100)) / 40
    expected = np.sort(np.concatenate([tops - half / 40, tops + half / 40]))
    expected = expected[expected <= 10.0]
    assert len(expected) == 128
    np.testing.assert_allclose([event.t for event in result.events], expected, rtol=0, atol=1e-10)


def test_a_formula_that_varies_too_fast_for_a_step_is_noted() -> None:
    event = da.Event("hit", "sin(1e4*A.position)", direction=1)
    result = da.simulate(free_slide(), 10.0, events=event)
    assert any("'hit'" in note and "max_step" in note for note in result.notes)
    result = da.simulate(free_slide(), 1.0, events=event, max_step=0.02)
    assert len(result.events) == int(1e4 / (2 * np.pi)) and result.notes == []


def test_a_formula_without_a_value_at_the_start_is_named() -> None:
    with pytest.raises(da.UserFunctionError, match=r"event 'hit': its output is -?nan at t = 0 s"):
        da.simulate(free_slide(), 1.0, events=da.Event("hit", "sqrt(A.position - 3)"))


@pytest.mark.parametrize("direction", [-1, 1])
def test_actions_at_narrow_crossings_of_a_direction(direction: int) -> None:
    stop = da.Event("hit", "abs(A.position - 3.3)", value=1e-4, direction=direction, action="stop")
    result = da.simulate(free_slide(), 10.0, events=stop)
    assert result.status == "event"
    assert result.t[-1] == pytest.approx(3.3 + direction * 1e-4, abs=1e-12)


def test_a_formula_that_starts_at_its_value_is_not_found_again() -> None:
    s = free_slide()
    s.initial("A", position=3.3, speed=1.0)
    events = [da.Event(f"{d}", "abs(A.position - 3.3)", direction=d) for d in (-1, 1)]
    assert da.simulate(s, 5.0, events=events).events == []


@pytest.mark.parametrize(
    "output", ["A.speed + B.speed", lambda state: state.v.sum(axis=-1)], ids=["formula", "function"]
)
def test_a_sum_of_speeds_that_grazes_its_value_crosses_it(output: str | Callable[[da.State], float]) -> None:
    """Of two oscillators: near its largest value it is above the level for a small part of a step of 70 ms."""
    s = da.System("two", gravity=(0, 0, 0))
    w, amplitude, phase = np.array([10.095, 1.6468]), np.array([0.9, 0.8]), np.array([0.3, 1.1])
    for k, name in enumerate("AB"):
        slide(s, name)
        s.connect(f"k{name}", da.JointSpring(float(w[k] ** 2)), name)
        position, speed = amplitude[k] * np.cos(phase[k]), -amplitude[k] * w[k] * np.sin(phase[k])
        s.initial(name, position=float(position), speed=float(speed))
    t = np.linspace(0.0, 10.0, 2_000_001)
    total = -(amplitude * w) @ np.sin(np.multiply.outer(w, t) + phase[:, None])
    for part in np.geomspace(1e-6, 1e-2, 9):
        level = float(total.max() - part * np.ptp(total))
        k = np.flatnonzero((total[:-1] < level) & (total[1:] >= level))
        expected = t[k] + (t[1] - t[0]) * (level - total[k]) / (total[k + 1] - total[k])
        event = da.Event("level", output, value=level, direction=1)
        result = da.simulate(s, 10.0, events=event)
        np.testing.assert_allclose([e.t for e in result.events], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_stops_that_an_oscillation_hardly_reaches_are_hit(method: str, rtol: float) -> None:
    w = 7.0
    for part in (1e-1, 1e-2, 1e-3):  # of the amplitude
        for phase in np.arange(0.4, 6.0, 0.4):
            s = da.System("oscillator", gravity=(0, 0, 0))
            slide(s, "A", lower=-1.0 + part, restitution=1.0)
            s.connect("k", da.JointSpring(w**2), "A")
            if np.cos(phase) < -1.0 + part:
                continue
            s.initial("A", position=float(np.cos(phase)), speed=float(-w * np.sin(phase)))
            hit = (np.pi - np.arccos(1.0 - part) - phase) % (2 * np.pi) / w
            result = da.simulate(s, hit + 0.3, method=method, rtol=rtol, atol=1e-2 * rtol)
            assert result.events and result.events[0].t == pytest.approx(hit, abs=max(1e-6, 100 * rtol / part**0.5))
