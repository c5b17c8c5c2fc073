"""Stops, friction and events that contradict each other, pile up, or name what does not exist: errors and notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da


def ball(**data: Any) -> da.System:
    """Return a body of 1 kg on a vertical slide."""
    s = da.System("ball")
    s.connect("A", da.Prismatic("z", **data), s.ground, s.body("P", mass=1.0))
    return s


def geared(first: dict[str, float], second: dict[str, float]) -> da.System:
    """Return two wheels that turn together, with limits each."""
    s = da.System("gears")
    for name, limits in (("A", first), ("B", second)):
        wheel = s.body(f"wheel {name}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        s.connect(name, da.Revolute("z", **limits), s.ground, wheel)
    s.connect("mesh", da.Coupling(1.0, 0.0), "A", "B")
    return s


def test_bounces_that_pile_up_end_at_rest() -> None:
    """The last bounce is at t (1 + e) / (1 - e), t the time of fall."""
    result = da.simulate(ball(lower=-1.0, restitution=0.5), 3.0)
    rest = [e.t for e in result.events if "rests" in e.name]
    assert rest == [pytest.approx(3.0 * np.sqrt(2.0 / 9.81), abs=1e-3)] and len(result.events) < 60
    assert result["A.position"][-1] == -1.0 and result["A.speed"][-1] == 0.0


def test_bounces_by_an_event_that_pile_up_end_with_its_name_and_time() -> None:
    hit = da.Event("hit", "A.position", direction=-1, action="bounce 0.5")
    with pytest.raises(da.IntegrationError, match=r"hit.*t = |t = .*hit") as error:
        da.simulate(ball(), 3.0, state={"A": 1.0}, events=hit)
    assert error.value.result.t[-1] == pytest.approx(3.0 * np.sqrt(2.0 / 9.81), abs=1e-3)


def test_limits_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(da.ModelError, match=r"lower is .*must not exceed the upper limit"):
        ball(lower=1.0, upper=-1.0)


def test_ranges_that_gears_cannot_share_are_refused_at_the_start() -> None:
    system = geared({"lower": -1.0, "upper": -0.5}, {"lower": 0.5, "upper": 1.0})
    with pytest.raises(da.ModelError, match=r"'[AB]': start is .*outside its limits.*stops='off'"):
        da.simulate(system, 1.0)


def test_a_drive_that_presses_a_gear_into_a_stop_goes_on_with_a_note() -> None:
    system = geared({}, {"upper": 0.5})
    system.drive("A", speed=1.0)
    result = da.simulate(system, 1.0)
    assert result.status == "finished" and result["A.position"][-1] == pytest.approx(1.0)
    assert any("B exceeded its upper limit 0.5 rad and reached 1 rad" in note for note in result.notes)


@pytest.mark.parametrize(("action", "words"), [
    ("lock B", r"event 'hit': lock is 'B'; tree joints are 'A'"),
    ("release B", r"event 'hit': release is 'B'; tree joints are 'A'"),
    ("set k.stiffness = 3", r"event 'hit': parameter is 'k.stiffness'"),
    ("switch B off", r"event 'hit': .*'B'"),
    ("jump", r"event 'hit': action is 'jump'; use 'stop'"),
    (da.Lock("B"), r"event 'hit': lock is 'B'"),
    (da.Set("B", 2.0), r"event 'hit': parameter is 'B'"),
])  # fmt: skip
def test_actions_on_missing_names_are_refused_before_the_run(action: Any, words: str) -> None:
    with pytest.raises(da.ModelError, match=words):
        da.simulate(ball(), 1.0, events=da.Event("hit", "A.position", action=action))


def test_an_event_of_a_missing_output_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(da.ModelError, match=r"event 'hit': output is 'Q\.position'; did you mean 'P\.position'"):
        da.simulate(ball(), 1.0, events=da.Event("hit", "Q.position"))


def test_friction_that_no_load_satisfies_jams_with_a_note() -> None:
    """A slide whose mass is far beside its short guide: its friction grows with its own load by a gain above one."""
    s = da.System("slide")
    body = s.body("P", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, 0.3))
    s.connect("A", da.Prismatic("x", load_friction=da.LoadFriction(1.5, half_length=0.05)), s.ground, body)
    s.connect("F", da.Effort(da.Harmonic(200.0, 5.0)), "A")
    s.initial("A", speed=-1.0)
    result = da.simulate(s, 1.0)
    assert result.status == "finished" and result.events[0].t == 0.0
    assert any("A jammed at t = 0 s" in note and "gain of 9" in note for note in result.notes)
