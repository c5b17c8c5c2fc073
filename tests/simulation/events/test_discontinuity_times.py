"""Time is never stepped over: laws, formulas and functions tell where they break, and steps end there."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.connections.laws import discontinuity_times_of
from dalembert.library.mechanisms import slider_crank
from dalembert.simulation import run

METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "dopri5": {},
    "radau": {},
    "rk4": {"fixed_step": 0.3},
    "alpha": {"fixed_step": 0.3},
    "scipy:RK45": {},
    "scipy:LSODA": {},
}


def slide(**initial: float) -> tuple[da.System, da.Body]:
    s = da.System("slide", gravity=(0, 0, 0))
    block = s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0))
    s.connect("X", da.Prismatic("x"), s.ground, block)
    s.initial("X", **initial)
    return s, block


def pushed(law: Any) -> da.System:
    s, _ = slide()
    s.connect("push", da.Effort(law), "X")
    return s


def by_formula(formula: str, **more: Any) -> da.System:
    s, _ = slide()
    s.connect("push", da.Element("joint", formula, active=True, **more), "X")
    return s


@pytest.mark.parametrize("method", METHODS)
def test_a_short_pulse_of_a_formula_is_not_stepped_over(method: str) -> None:
    s = by_formula("where(t < 5, 0, where(t < 5.05, 100, 0))")
    result = da.simulate(s, 10.0, method=method, **METHODS[method])
    # 100 N for 0.05 s on 1 kg; what is left is the rounding of 5.05 - 5
    np.testing.assert_allclose(result["X.speed"][-1], 5.0, rtol=1e-12)
    assert abs(result["energy.balance"]).max() < 1e-10
    assert {5.0, 5.05} <= set(result.t)


FORMULAS = {
    "where(t > 3, where(t > 3.01, 0, 100), 0)": 1.0,
    "50*(sign(t - 3) - sign(t - 3.01))": 1.0,
    "where(abs(2*t - 6) < 0.01, 100, 0)": 1.0,
    "100*max(0, 0.1 - abs(t - 3))": 1.0,
    "where(mod(t, 4) > 3.99, 50, 0)": 1.0,  # at 3.99 and 7.99 s
    "where(floor(t/3) < 1, 0, where(floor(t/3.01) < 1, 100, 0))": 1.0,
    "where(sin(pi*t/2) > 0.9999, 1, 0)": 2 * np.arccos(0.9999) / (np.pi / 2) * 2,  # around 1 and 5 s
    "where(t*t < 9, 0, where(t*t < 9.0601, 100, 0))": 1.0,
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_thresholds_of_time_are_found_in_formulas(formula: str) -> None:
    result = da.simulate(by_formula(formula), 8.0)
    np.testing.assert_allclose(result["X.speed"][-1], FORMULAS[formula], rtol=1e-9)


def test_a_square_wave_has_every_edge() -> None:
    result = da.simulate(by_formula("where(sin(2*pi*50*t) > 0, 1, -1)"), 1.0)
    edges = np.arange(1, 100) / 100
    assert all(np.abs(result.t - edge).min() < 1e-14 for edge in edges)
    # speed rises and falls in triangles of 0.01 s, position by half of each
    np.testing.assert_allclose(result["X.speed"][-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(result["X.position"][-1], 0.005, rtol=1e-10)


def test_tables_over_time_break_at_their_knots() -> None:
    table = da.elements.Table([0.0, 4.0, 4.01, 4.02, 10.0], values=[0.0, 0.0, 200.0, 0.0, 0.0], kind="linear")
    result = da.simulate(by_formula("push(t)", tables={"push": table}), 10.0)
    np.testing.assert_allclose(result["X.speed"][-1], 2.0, rtol=1e-12)


def test_parameters_move_breaks_also_in_ensembles_and_at_events() -> None:
    s = by_formula("where(t < on, 0, where(t < on + long, 100, 0))", parameters={"on": 5.0, "long": 0.05})
    on, long = np.linspace(0.3, 9.0, 11), np.linspace(0.01, 0.2, 11)
    times = np.linspace(0, 10, 21)
    runs = da.simulate(s, 10.0, times=times, parameters={"push.on": on, "push.long": long})
    after = times - on[:, None]
    width = long[:, None]
    right = 50 * np.clip(after, 0, width) ** 2 + 100 * width * np.clip(after - width, 0, None)
    np.testing.assert_allclose(runs["X.position"], right, atol=1e-12)
    earlier = da.Event("earlier", lambda state: state.t - 1.0, action=lambda now: now.set("push.on", 2.0))
    result = da.simulate(s, 10.0, events=earlier)
    np.testing.assert_allclose(result["X.speed"][-1], 5.0, rtol=1e-12)
    np.testing.assert_allclose(result.output("X.speed", times=[2.025]), 2.5, rtol=1e-9)


LAWS = {
    da.laws.LinearInterpolation([0, 1, 1.001, 1.002, 5], [0, 0, 1000, 0, 0]): 1.0,
    da.laws.LinearInterpolation([0, 1, 1, 1.002, 1.002, 5], [0, 0, 500, 500, 0, 0]): 1.0,
    da.laws.ZeroOrderHold([0, 1, 1.002], [0, 500, 0]): 1.0,
    da.laws.Pulse(1.0, 0.002, 500.0): 1.0,
    da.laws.Step(1.0, after=0.25): 1.0,
    da.laws.MonotoneSpline([0, 1, 1.001, 1.002, 5], [0, 0, 1000, 0, 0]): 1.0,
    da.Ramp(0.0, 0.25, 1e-3, 1.0 - 0.5e-3): 1.0,
    da.laws.FunctionLaw(lambda t: 500.0 * (1.0 <= t < 1.002), discontinuity_times=[1.0, 1.002]): 1.0,
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_piecewise_laws_report_their_discontinuity_times(law: Any) -> None:
    result = da.simulate(pushed(law), 5.0)
    np.testing.assert_allclose(result["X.speed"][-1], LAWS[law], rtol=1e-10)
    assert set(discontinuity_times_of(law, 0.0, 5.0)) <= set(result.t)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_core_and_python_agree_about_laws(law: Any) -> None:
    model = pushed(law).compile()
    ends = np.array([0.0, *discontinuity_times_of(law, 0.0, 5.0), 5.0])
    for t in (*((ends[1:] + ends[:-1]) / 2), 0.3, 4.9):
        a = model.forward_dynamics([0.0], [0.0], t=t)
        np.testing.assert_allclose(a, law(t)[0], rtol=1e-13, atol=1e-13)
        if hasattr(law, "integral"):
            from scipy.integrate import quad

            inner = sorted({*ends[ends < t], t, 0.0})
            pieces = [quad(lambda s: law(s)[0], a, b)[0] for a, b in itertools.pairwise(inner)]
            np.testing.assert_allclose(law.integral(t), sum(pieces), atol=1e-9)


def test_a_monotone_curve_does_not_overshoot() -> None:
    law = da.laws.MonotoneSpline([0, 1, 2, 3, 4], [0, 0, 1, 1, 0])
    values = np.array([law(t)[0] for t in np.linspace(0, 4, 401)])
    assert values.min() >= -1e-15 and values.max() <= 1 + 1e-15
    assert da.Spline([0, 1, 2, 3, 4], [0, 0, 1, 1, 0])(0.5)[0] < 0  # as a cubic spline does


def test_loads_inputs_and_functions_of_elements_have_breaks() -> None:
    s, block = slide()
    s.connect("load", da.Load(force=(da.laws.Pulse(3.0, 0.01, 100.0), 0, 0)), block)
    s.connect("in", da.Element("joint", "u", inputs={"u": da.laws.Pulse(5.0, 0.01, 200.0)}, active=True), "X")
    given = da.Element(
        "joint", lambda t, x, v: [300.0 * (7.0 <= t < 7.01)], discontinuity_times=[7.0, 7.01], active=True
    )
    s.connect("own", given, "X")
    result = da.simulate(s, 10.0, times=[0.0, 4.0, 6.0, 10.0])
    np.testing.assert_allclose(result["X.speed"], [0, 1, 3, 6], atol=1e-11)


def test_a_function_may_carry_its_breaks() -> None:
    def kick(t: float) -> float:
        return 100.0 if 5.0 <= t < 5.01 else 0.0

    kick.discontinuity_times = [5.0, 5.01]  # type: ignore[attr-defined]
    np.testing.assert_allclose(da.simulate(pushed(kick), 10.0)["X.speed"][-1], 1.0, rtol=1e-11)


def test_breaks_can_be_given_to_a_run() -> None:
    s, _ = slide()

    def control(state: da.State) -> list[float]:
        return [100.0 if 5.0 <= state.t < 5.01 else 0.0]

    result = da.simulate(s, 10.0, control=control, discontinuity_times=[5.0, 5.01])
    np.testing.assert_allclose(result["X.speed"][-1], 1.0, rtol=1e-11)
    with pytest.raises(da.ModelError, match="increasing order"):
        da.simulate(s, 1.0, discontinuity_times=[2.0, 1.0])


def test_dense_output_keeps_within_breaks() -> None:
    s = by_formula("where(t < 1, 0, where(t < 1.5, 8, 0))")
    exact = np.linspace(0, 3, 301)
    speed = 8 * np.clip(exact - 1, 0, 0.5)
    for times in (None, [0.0, 3.0]):
        result = da.simulate(s, 3.0, times=times)
        np.testing.assert_allclose(result.output("X.speed", times=exact), speed, atol=1e-12)


def test_live_lands_on_breaks_however_it_is_advanced() -> None:
    s = by_formula("where(t < 5, 0, where(t < 5.05, 100, 0))")
    for span in (0.1, 0.37, 5.0, 10.0):
        live = da.Live(s)
        while live.t < 10.0 - 1e-9:
            live.advance(min(span, 10.0 - live.t))
        np.testing.assert_allclose(live["X.speed"], 5.0, rtol=1e-11)


def test_driven_loops_break_at_the_knots_of_their_law() -> None:
    s = slider_crank()
    knots = np.array([0.0, 0.5, 0.6, 0.7, 2.0])
    s.drive("A", position=da.laws.MonotoneSpline(knots, [0.7, 0.7, 1.2, 1.7, 1.7]))
    result = da.simulate(s, 2.0)
    assert set(knots) <= set(result.t)
    assert result["constraints.residual"].max() < 1e-10
    other = da.simulate(s, 2.0, method="radau", times=result.t)
    np.testing.assert_allclose(result["slider.position"], other["slider.position"], atol=1e-9)


@pytest.mark.parametrize(
    ("law", "level"),
    [
        (da.laws.Step(1.0), "position"),
        (da.laws.Pulse(1.0, 0.1), "position"),
        (da.laws.LinearInterpolation([0, 1, 1, 2], [0, 0, 1, 1]), "position"),
    ],
)
def test_drives_whose_position_would_jump_are_refused(law: Any, level: str) -> None:
    s, _ = slide()
    s.drive("X", **{level: law})
    with pytest.raises(da.ModelError, match="would jump"):
        da.simulate(s, 2.0)


@pytest.mark.parametrize(
    ("law", "level", "end", "jumps"),
    [
        (da.laws.LinearInterpolation([0, 1, 2], [0, 1, 1]), "position", 1.0, 1),
        (da.laws.Pulse(1.0, 0.1), "speed", 0.1, 2),
        (da.laws.LinearInterpolation([0, 1, 1, 2], [0, 0, 1, 1]), "speed", 1.0, 1),
    ],
)
def test_drives_whose_speed_jumps_take_impulses(law: Any, level: str, end: float, jumps: int) -> None:
    s, _ = slide()
    s.drive("X", **{level: law})
    result = da.simulate(s, 2.0)
    np.testing.assert_allclose(result["X.position"][-1], end, atol=1e-9)
    assert sum("the speed of a drive jumps" in note for note in result.stats.notes) == jumps


def test_drives_that_are_smooth_enough_run() -> None:
    for level, law, end in (
        ("position", da.laws.MonotoneSpline([0, 1, 2], [0, 1, 1]), 1.0),
        ("speed", da.laws.LinearInterpolation([0, 1, 2], [0, 1, 1]), 1.5),
        ("acceleration", da.laws.Pulse(0.5, 0.01, 100.0), 1.495),
    ):
        s, _ = slide()
        s.drive("X", **{level: law})
        np.testing.assert_allclose(da.simulate(s, 2.0)["X.position"][-1], end, rtol=1e-9)


def test_resumed_runs_land_on_the_same_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    s = by_formula("where(sin(20*t) > 0, 1, -1) - 3*s")
    whole = da.simulate(s, 4.0)
    original = run.Run._take_steps

    def take_steps(self: Any, until: float, steps: int) -> Any:
        self.interrupt.flag.set = self.integrator.t > 1.7
        return original(self, until, steps)

    with monkeypatch.context() as patch:
        patch.setattr(run.Run, "_take_steps", take_steps)
        patch.setattr(run, "MAX_CHUNK_STEPS", 16)
        partial = da.simulate(s, 4.0)
    assert partial.status == "interrupted" and partial.t[-1] < 3.5
    again = da.simulate(s, 4.0, resume=partial)
    np.testing.assert_array_equal(again.q[-1], whole.q[-1])


def test_floor_and_mod_have_derivatives_and_agree_with_numpy() -> None:
    law = da.Element("joint", "-mod(3*s, 0.7) + floor(ds/0.3)")
    s, _ = slide()
    s.connect("law", law, "X")
    model = s.compile()
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 40, 1))
    np.testing.assert_allclose(model.forward_dynamics(q, v)[:, 0], -np.mod(3 * q, 0.7)[:, 0] + np.floor(v / 0.3)[:, 0])
    np.testing.assert_allclose(model.d_dynamics(0.0, q[0], v[0]).a.q, [[-3.0]])


def test_what_a_constraint_holds_takes_impulses_too() -> None:
    s = da.System("crane")
    load = s.body("load", da.sphere(0.1, mass=1.0))
    s.connect("F", da.Free(), s.ground, load)
    s.connect("rope", da.Distance(1.0), s.ground, load)
    s.initial("F", position=[1, 0, 0, 0, 0, 0, -1.0])
    s.drive("rope", speed=da.laws.LinearInterpolation([0, 1, 1.1, 3], [0, 0, 0.5, 0.5]))
    result = da.simulate(s, 2.0)
    np.testing.assert_allclose(result["load.position"][-1], [0, 0, -1.475], atol=1e-8)
    s.drive("rope", speed=da.laws.Step(1.0))
    jumping = da.simulate(s, 2.0)
    np.testing.assert_allclose(jumping["load.position"][-1], [0, 0, -2.0], atol=1e-8)
    assert any("the speed of a drive jumps" in note for note in jumping.stats.notes)


def test_a_spline_breaks_where_its_curve_changes() -> None:
    t = np.linspace(0, 10, 21)
    pulse = da.Spline(t, np.where(t == 5.0, 1.0, 0.0))
    result = da.simulate(pushed(pulse), 10.0)
    np.testing.assert_allclose(result["X.speed"][-1], pulse.integral(10.0), rtol=1e-9)
    assert np.isin([4.5, 5.0, 5.5], result.t).all()
    fine = np.linspace(0, 10, 5001)
    smooth = da.Spline(fine, np.sin(fine))
    assert len(discontinuity_times_of(smooth, 0.0, 10.0)) == 0
    assert da.simulate(pushed(smooth), 10.0).stats.steps < 1000


def test_a_pulse_frees_what_sticks() -> None:
    s = da.System("stuck", gravity=(0, 0, 0))
    s.connect("X", da.Prismatic("x", friction=1.0), s.ground, s.body("block", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("push", da.Effort(da.laws.Pulse(5.0, 0.05, 41.0)), "X")
    result = da.simulate(s, 10.0)
    np.testing.assert_allclose(result.output("X.speed", times=[4.9, 5.05, 6.05]), [0.0, 2.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(result["X.position"][-1], 0.05 + 2.0, rtol=1e-6)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
@pytest.mark.parametrize("before", [1e-4, 2.7e-5, 1e-8, 1e-12, 2e-15, 0.0])
def test_a_pulse_lets_go_what_it_finds_at_rest_however_short_the_step_before(method: str, before: float) -> None:
    """Another block comes to rest just before: what is left of the step is of the order of roundings of time."""
    s = da.System("two blocks", gravity=(0, 0, 0))
    for name, friction in (("X", 2.0), ("Y", 1.0)):
        body = s.body(f"block {name}", da.box(0.1, 0.1, 0.1, mass=1.0))
        s.connect(name, da.Prismatic("x", friction=friction), s.ground, body)
    s.connect("pulse", da.Effort(da.laws.Pulse(0.52, 0.05, 12.0)), "X")
    s.initial("Y", speed=0.52 - before)
    result = da.simulate(s, 0.58, method=method)
    assert {"X sticks", "Y sticks", "X slips"} == {event.name for event in result.events}
    assert next(event.t for event in result.events if event.name == "X slips") == 0.52
    # 10 m/s2 for 0.05 s, then -2 m/s2 for 0.01 s
    assert result["X.position"][-1] == pytest.approx(10 * 0.05**2 / 2 + 0.5 * 0.01 - 0.01**2, abs=1e-12)
    assert result["Y.position"][-1] == pytest.approx((0.52 - before) ** 2 / 2, abs=1e-12)
