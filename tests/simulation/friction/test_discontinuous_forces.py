"""Laws that jump where joints have dry friction: both hold together, and let go together."""

from __future__ import annotations

import signal
from math import sqrt
from typing import Any

import numpy as np
import pytest

import dalembert as da

METHODS = ["dop853", "radau"]


def block(law: str, friction: float, *, position: float = 0.0, speed: float = 0.0, push: Any = 0.0) -> da.System:
    s = da.System("block", gravity=(0, 0, 0))
    joint = da.Prismatic("x", friction=friction) if friction else da.Prismatic("x")
    s.connect("X", joint, s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.initial("X", position=position, speed=speed)
    if law:
        s.connect("law", da.Element("joint", law, active=True), "X")
    s.connect("push", da.Effort(push), "X")
    return s


@pytest.mark.parametrize("method", METHODS)
def test_friction_by_a_law_and_by_the_joint_add_up(method: str) -> None:
    pull = da.Harmonic(5.0, 7.0)
    mixed = da.simulate(block("-3*sign(ds)", 1.0, speed=0.5, push=pull), 3.0, method=method, rtol=1e-10, atol=1e-12)
    whole = da.simulate(block("", 4.0, speed=0.5, push=pull), 3.0, method=method, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mixed.q[-1], whole.q[-1], atol=1e-9)
    words, others = ([(e.name, e.t) for e in r.events] for r in (mixed, whole))
    assert [name for name, _ in words] == [name for name, _ in others] and "X sticks" in dict(words)
    np.testing.assert_allclose([t for _, t in words], [t for _, t in others], atol=1e-8)
    assert abs(mixed["energy.balance"]).max() < 1e-9
    assert any("helps friction to hold it" in note for note in mixed.stats.notes)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_law_can_hold_may_change_with_time(method: str) -> None:
    result = da.simulate(block("-(3 - t)*sign(ds)", 1.0, push=2.5), 2.0, method=method)
    assert [e.name for e in result.events] == ["X sticks", "X slips"]
    assert result.events[-1].t == pytest.approx(1.5, abs=1e-8)
    assert result["X.position"][-1] == pytest.approx(0.5**3 / 6, abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_swings_about_a_jump_end_in_finite_time_and_both_hold_then(method: str) -> None:
    """In with 1.5 - 0.5, out with 1.5 + 0.5: every swing is half as far as the one before."""
    pull = da.laws.ZeroOrderHold([0.0, 3.0, 4.0], [0.0, 1.9, 2.1])
    result = da.simulate(block("-1.5*sign(s)", 0.5, position=0.1, push=pull), 5.0, method=method)
    rests = [e.t for e in result.events if e.name == "X sticks"]
    # swings shorter than ten tolerances of 1e-10 m are left out at the end: 1.5 sqrt(2e-9) / (1 - sqrt(0.5)) s
    assert rests[0] == pytest.approx(1.5 * sqrt(0.2) / (1 - sqrt(0.5)), abs=2.4e-4)
    assert abs(result.at(np.array([3.5, 3.99]))["X.position"]).max() < 1e-9
    assert result["X.position"][-1] == pytest.approx(0.05, abs=1e-7)
    assert abs(result["energy.balance"]).max() < 1e-8


def parallelogram(friction: float, law: float) -> da.System:
    s = da.System("parallelogram", gravity=(0, 0, 0))
    left, right = (s.body(name, da.rod(0.5, 1.0, axis="z")) for name in ("left", "right"))
    coupler = s.body("coupler", da.rod(1.0, 2.0))
    s.connect("A", da.Revolute("y", friction=friction), s.ground.at(0, 0, 0), left.at(0, 0, -0.25))
    s.connect("B", da.Revolute("y"), left.at(0, 0, 0.25), coupler.at(-0.5, 0, 0))
    s.connect("C", da.Revolute("y"), coupler.at(0.5, 0, 0), right.at(0, 0, 0.25))
    s.connect("D", da.Revolute("y"), s.ground.at(1, 0, 0), right.at(0, 0, -0.25))
    if law:
        s.connect("brake", da.Element("joint", "-c*sign(ds)", {"c": law}, active=True), "D")
    s.connect("push", da.Effort(da.Harmonic(6.0, 5.0)), "A")
    s.initial("A", speed=1.0)
    return s


@pytest.mark.parametrize("method", METHODS)
def test_a_brake_elsewhere_in_a_loop_helps_to_hold_it(method: str) -> None:
    mixed, whole = (
        da.simulate(parallelogram(*sizes), 2.0, method=method, rtol=1e-9, atol=1e-11)
        for sizes in ((1.0, 3.0), (4.0, 0.0))
    )
    assert abs(mixed["A.position"][-1] - whole["A.position"][-1]) < 1e-8
    assert [e.name for e in mixed.events] == [e.name for e in whole.events] and len(mixed.events) > 3
    assert abs(mixed["energy.balance"]).max() < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_what_sticks_is_let_go_as_a_law_elsewhere_passes_its_jump(method: str) -> None:
    """The law pulls 1.5 N one way, then the other; with 0.3 N besides, friction of 1.5 N holds only the first."""
    s = da.System("two", gravity=(0, 0, 0))
    first, second = (s.body(name, da.box(0.1, 0.1, 0.1, mass=1.0)) for name in ("first", "second"))
    s.connect("X", da.Prismatic("x", friction=1.5), s.ground, first)
    s.connect("Y", da.Prismatic("x", friction=0.1), first, second)
    s.connect("law", da.Element("joint", "-1.5*sign(s)", active=True), "Y")
    s.connect("push", da.Effort(-0.3), "X")
    s.initial("Y", position=0.1)
    passes = sqrt(2 * 0.1 / 1.4)
    result = da.simulate(s, 1.2 * passes, method=method)
    assert [e.name for e in result.events] == ["X sticks", "X slips"]
    assert result.events[-1].t == pytest.approx(passes, abs=1e-8)
    # X: -0.3 - 1.5 + 1.5 of its friction - 0.1 of that of Y, which goes backwards
    assert result["X.acceleration"][-1] == pytest.approx(-0.3 - 1.5 + 1.5 - 0.1, abs=1e-9)
    assert abs(result["energy.balance"]).max() < 1e-9


def test_runs_go_on_and_side_by_side_with_the_same_bits() -> None:
    system = block("-3*sign(ds)", 1.0, speed=0.5, push=da.Harmonic(5.0, 7.0))
    model = system.compile()

    class Press:
        left = 1

        def __call__(self, state: da.State) -> list[float]:
            if state.t > 1.0 and self.left:
                self.left = 0
                signal.raise_signal(signal.SIGINT)
            return [0.0]

    def control() -> da.SampledControl:
        return da.SampledControl(Press(), period=0.1)

    Press.left = 0
    whole = da.simulate(model, 3.0, control=control())
    Press.left = 1
    part = da.simulate(model, 3.0, control=control(), on_error="return")
    assert part.status == "interrupted" and part.t[-1] < 2.0
    Press.left = 0
    rest = da.simulate(model, 3.0, control=control(), resume=part)
    np.testing.assert_array_equal(rest.q, whole.q)
    times = np.linspace(0.0, 3.0, 7)
    start = da.State(whole.q[0], whole.v[0])
    one = da.simulate(model, 3.0, times=times, state=start)
    many = da.simulate(model, 3.0, times=times, state=da.State(np.tile(start.q, (3, 1)), np.tile(start.v, (3, 1))))
    for q in many.q:
        np.testing.assert_array_equal(q, one.q)
