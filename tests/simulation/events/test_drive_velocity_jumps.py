"""Driven speeds that jump: refused, carried out as impulses, or smoothed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da

TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}
FAST: dict[str, dict[str, Any]] = {
    "dop853": TIGHT,
    "dopri5": TIGHT,
    "radau": {"rtol": 1e-9, "atol": 1e-9},
    "rk4": {"fixed_step": 1e-3},
}


def step(t: float) -> float:
    return 1.0 if t < 0.3 else 3.0


def ramp(t: float) -> float:
    return t if t < 0.3 else 0.3 + 3.0 * (t - 0.3)


def driven_links(**law: Any) -> da.System:
    """Return two links in a plane without weight; the first is driven."""
    s = da.System("links", gravity=(0, 0, 0))
    first, second = s.body("first", da.box(0.5, 0.1, 0.1, mass=1.0)), s.body("second", da.box(0.5, 0.1, 0.1, mass=1.0))
    s.connect("A", da.Revolute("z"), s.ground, first)
    s.connect("B", da.Revolute("z"), first.at(0.5, 0, 0), second.at(-0.25, 0, 0))
    s.initial("B", position=0.4)
    s.drive("A", **law)
    return s


JUMPING: dict[str, dict[str, Any]] = {
    "speed": {"speed": da.FunctionLaw(step, discontinuity_times=[0.3])},
    "speed with its rate": {"speed": da.FunctionLaw(step, rate=lambda t: 0.0)},
    "position": {"position": da.FunctionLaw(ramp, discontinuity_times=[0.3])},
    "position with its rates": {"position": da.FunctionLaw(ramp, step, lambda t: 0.0)},
}


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("law", JUMPING)
def test_a_jump_is_an_impulse(law: str, method: str) -> None:
    """The free speed jumps as the impulse has no moment about its joint; energy is booked, and said."""
    result = da.simulate(driven_links(**JUMPING[law]), 1.0, method=method, **FAST[method])
    (record,) = [event for event in result.events if event.energy]
    assert abs(record.t - 0.3) < 1e-9
    model = result.model
    k = int(np.searchsorted(result.t, record.t, side="right")) - 1
    before, after = record.v, result.v[k]
    M = model.mass_matrix(record.q)
    assert abs((M @ (after - before))[1]) < 1e-8  # no moment at B
    np.testing.assert_allclose([before[0], after[0]], [1.0, 3.0], atol=1e-6)
    np.testing.assert_allclose(record.energy, 0.5 * (after @ M @ after - before @ M @ before), rtol=1e-6)
    assert abs(result["energy.balance"]).max() < 1e-7
    (note,) = result.stats.notes
    assert "A from 1 to 3" in note
    assert "0.443329 J" in note


def test_smoothing_comes_to_the_impulse_in_the_limit() -> None:
    jump = da.simulate(driven_links(**JUMPING["speed"]), 1.0, **TIGHT)["B"][-1]
    errors = []
    for width in (0.04, 0.02, 0.01):
        result = da.simulate(
            driven_links(speed=da.laws.SmoothedLaw(da.FunctionLaw(step, discontinuity_times=[0.3]), width)),
            1.0,
            **TIGHT,
        )
        assert abs(result["energy.balance"]).max() < 1e-7
        assert not result.stats.notes
        errors.append(abs(result["B"][-1] - jump))
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.2)  # of first order in the width


def test_smoothed_is_the_mean_with_its_rates() -> None:
    for law in (da.laws.SmoothedLaw(step, 0.1), da.laws.SmoothedLaw(da.Harmonic(1.0, 2.0), 0.1)):
        for t in (0.1, 0.27, 0.31, 0.5):
            h = 1e-4
            values = [law(t + k * h)[0] for k in (-1, 0, 1)]
            np.testing.assert_allclose(law(t)[1], (values[2] - values[0]) / (2 * h), atol=1e-6)
    assert da.laws.SmoothedLaw(da.Polynomial((1.0, 2.0)), 0.5)(0.3)[0] == pytest.approx(1.6, abs=1e-12)


def test_in_a_loop_everything_jumps_together() -> None:
    s = da.System("slider crank", gravity=(0, 0, 0))
    crank, rod, slider = (
        s.body(n, da.box(a, 0.05, 0.05, mass=1.0)) for n, a in (("crank", 0.2), ("rod", 0.6), ("s", 0.1))
    )
    s.connect("O", da.Revolute("z"), s.ground, crank.at(-0.1, 0, 0))
    s.connect("P", da.Revolute("z"), crank.at(0.1, 0, 0), rod.at(-0.3, 0, 0))
    s.connect("Q", da.Revolute("z"), rod.at(0.3, 0, 0), slider)
    s.connect("T", da.Prismatic("x"), s.ground, slider)
    s.connect("load", da.Revolute("z"), slider, s.body("bob", da.box(0.3, 0.05, 0.05, mass=0.5)).at(0.1, 0, 0))
    s.initial("O", position=0.7)
    s.drive("O", speed=da.FunctionLaw(lambda t: 2.0 if t < 0.25 else -1.0, discontinuity_times=[0.25]))
    result = da.simulate(s, 0.5, **TIGHT)
    assert abs(result["energy.balance"]).max() < 1e-7
    np.testing.assert_allclose(result["O.speed"][-1], -1.0, atol=1e-12)
    # the only degree of freedom that is not driven, the bob's, gets no moment from the impulse
    record = next(event for event in result.events if event.energy)
    k = int(np.searchsorted(result.t, record.t, side="right")) - 1
    model, after = result.model, result.v[k]
    P = model.constraint_jacobian(record.q)
    impulse = model.mass_matrix(record.q) @ (after - record.v)
    free = [k for k, name in enumerate(model.speed_names) if name != "O"]
    left = impulse[free] - P[:, free].T @ np.linalg.lstsq(P[:, free].T, impulse[free], rcond=None)[0]
    assert abs(left).max() < 1e-8
    assert abs(P @ after).max() < 1e-9


REFUSED: dict[str, dict[str, Any]] = {
    "speed": {"speed": step},
    "position": {"position": ramp},
    "position with its rate": {"position": da.FunctionLaw(ramp, step)},
}


@pytest.mark.parametrize("law", REFUSED)
def test_jumps_that_differences_would_smear_are_refused(law: str) -> None:
    with pytest.raises(da.ModelError, match=r"speed at t = 0.3\d* s is '1.* then 3.*discontinuity_times=\[0.3"):
        da.simulate(driven_links(**REFUSED[law]), 1.0)


def test_refused_velocity_jumps_name_the_reason() -> None:
    s = driven_links(**JUMPING["speed"])
    with pytest.raises(da.ModelError, match="does not support velocity jumps"):
        da.simulate(s, 1.0, method="scipy:RK45")
    with pytest.raises(da.ModelError, match="an ensemble does not"):
        da.simulate(s, 1.0, state=da.State(q=np.tile([0.0, 0.4], (3, 1)), v=np.tile([1.0, 0.0], (3, 1))))


def test_fast_but_smooth_laws_are_let_through() -> None:
    for law in (lambda t: np.sin(40 * t), lambda t: t**3 - t, lambda t: np.tanh(20 * (t - 0.5))):
        assert da.simulate(driven_links(position=law), 1.0).status == "finished"
        assert da.simulate(driven_links(speed=law), 1.0).status == "finished"


def test_live_runs_report_a_drive_that_jumps() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(1.0, 1.0)))
    for laws, said in (
        ({"position": lambda t: 0.0 if t < 0.55 else 1.0}, "it jumps, which takes an infinite force"),
        ({"speed": da.laws.Step(0.55)}, "a live run does not support velocity jumps"),
        ({"position": da.Spline([0.0, 0.2, 0.4, 0.6], [0.0, 1.0, 1.0, 0.0])}, "the run needs"),
    ):
        s.drive("A", **laws)
        live = da.Live(s)
        live.advance(0.5)
        with pytest.raises(da.ModelError, match=said):
            live.advance(0.2)


def test_a_short_run_long_after_zero_meets_its_jump() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(1.0, 3.0)))
    s.drive("A", speed=da.laws.Step(100.0005))
    result = da.simulate(s, 100.001, t_start=100.0)
    assert [note for note in result.stats.notes if "changed the energy by 0.5 J" in note]
