"""`simulate`: what it does without being asked, its options, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from systems.smooth_motions import MOTIONS

import dalembert as da
from dalembert.library.mechanisms import bricard, four_bar, governor, slider_crank
from dalembert.simulation.options import make_options


def hanging_pendulum(angle: float = 1.0) -> da.System:
    s = da.System("pendulum")
    bob = s.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    s.connect("A", da.Revolute("y"), s.ground, bob)
    s.initial("A", position=angle)
    return s


def turning_four_bar(speed: float = 6.0) -> da.System:
    s = four_bar()
    s.initial("A", speed=speed)
    return s


# ---- without being asked


def test_it_assembles_runs_and_reports() -> None:
    s = four_bar()
    s.initial("A", position=1.1, speed=2.0)  # the others do not fit
    result = da.simulate(s, 1.0)
    assert result.status == "finished"
    assert (result.t[0], result.t[-1]) == (0.0, 1.0)
    assert result["A.position"][0] == pytest.approx(1.1, abs=1e-12)
    assert result["constraints.residual"].max() < 1e-13
    assert result.stats.method == "dop853"
    assert result.stats.evaluations > result.stats.steps > 5
    assert "steps" in repr(result.stats)


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_four_bar_stays_closed_for_a_thousand_seconds(method: str) -> None:
    result = da.simulate(turning_four_bar(), 1000.0, method=method, rtol=1e-6, atol=1e-8, times=np.arange(0.0, 1001.0))
    assert result["constraints.residual"].max() < 1e-10
    assert result["constraints.velocity_residual"].max() < 1e-10
    assert result.stats.steps > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_a_four_bar_keeps_its_energy_for_a_thousand_seconds(method: str) -> None:
    result = da.simulate(
        turning_four_bar(), 1000.0, method=method, rtol=1e-10, atol=1e-12, times=np.arange(0.0, 1001.0)
    )
    turned = np.abs(result.q).max()  # rad: thousands, whose last digits are worth about 1e-12
    assert result["constraints.residual"].max() < 10 * np.finfo(float).eps * turned
    assert np.ptp(result["energy.total"]) < 1e-4
    assert result["constraints.velocity_residual"].max() < 1e-11


def test_stiffness_is_found_and_reported() -> None:
    result = da.simulate(governor(), 2.0)
    assert result.stats.method == "dop853 then radau"
    assert any("stability limited the explicit steps" in note for note in result.stats.notes)
    smooth = da.simulate(hanging_pendulum(), 20.0)
    assert smooth.stats.method == "dop853"
    assert not smooth.stats.notes


def test_quaternions_stay_of_unit_length() -> None:
    m = MOTIONS["top"]()
    for method, options in (
        ("dop853", {}),
        ("rk4", {"fixed_step": 0.01}),
        ("euler", {"fixed_step": 1e-3}),
        ("alpha", {"fixed_step": 0.01}),
        ("radau", {}),
    ):
        result = da.simulate(m.model, 8.0, state=m.state, method=method, **options)
        assert np.abs(np.linalg.norm(result.q[:, :4], axis=1) - 1).max() < 1e-14


def test_a_body_without_dof_stands_still() -> None:
    s = da.System("fixed")
    s.connect("F", da.Fixed(), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    result = da.simulate(s, 1.0)
    assert result.t[-1] == 1.0
    assert result.q.shape[1] == 0


def test_times_of_the_start_and_negative_ones() -> None:
    s = hanging_pendulum()
    late = da.simulate(s, 7.0, t_start=5.0, times=[5.0, 6.0, 7.0], rtol=1e-11, atol=1e-12)
    early = da.simulate(s, -1.0, t_start=-3.0, times=[-3.0, -2.0, -1.0], rtol=1e-11, atol=1e-12)
    zero = da.simulate(s, 2.0, times=[0.0, 1.0, 2.0], rtol=1e-11, atol=1e-12)
    assert np.abs(late.q - zero.q).max() < 1e-9
    assert np.abs(early.q - zero.q).max() < 1e-9
    assert late.t.tolist() == [5.0, 6.0, 7.0]


def test_chosen_times_agree_with_dense_output() -> None:
    m = MOTIONS["springs_and_loads"]()
    times = np.linspace(0.0, m.span, 40)
    for method in ("dop853", "dopri5", "radau"):
        chosen = da.simulate(m.model, m.span, state=m.state, method=method, times=times)
        dense = da.simulate(m.model, m.span, state=m.state, method=method).at(times)
        assert np.abs(chosen.q - dense.q).max() < 1e-12
        assert np.abs(chosen.v - dense.v).max() < 1e-11


def test_states_between_chosen_times() -> None:
    m = MOTIONS["planar_loop"]()
    coarse = da.simulate(m.model, m.span, times=[0.0, 0.3, m.span], rtol=1e-10, atol=1e-11)
    fine = da.simulate(m.model, m.span, rtol=1e-10, atol=1e-11)
    at = np.linspace(0.0, m.span, 33)
    assert np.abs(coarse.at(at).q - fine.at(at).q).max() < 1e-8
    assert coarse.at(at)["constraints.residual"].max() < 1e-13


# ---- drives


def test_driven_joints_follow_their_laws_exactly() -> None:
    result = da.simulate(MOTIONS["driven_joints"]().model, 1.5)
    t = result.t
    assert np.abs(result["J0.position"] - 0.7 * np.sin(3 * t + 0.4)).max() < 1e-14
    assert np.abs(result["J0.speed"] - 2.1 * np.cos(3 * t + 0.4)).max() < 1e-13
    assert np.abs(result["J1.speed"] - (0.5 * t**3 - 0.2 * t**4)).max() < 1e-12
    assert np.abs(result["J2.acceleration"] - (1 - t) ** 2).max() < 1e-12
    assert np.abs(result["J3.position"] - np.sin(2 * t)).max() < 1e-14
    # a speed that was prescribed is integrated to a position
    start = result["J1.position"][0]
    assert np.abs(result["J1.position"] - start - (t**4 / 8 - t**5 / 25)).max() < 1e-8


def test_driven_rows_follow_their_laws_exactly() -> None:
    result = da.simulate(MOTIONS["driven_rows"]().model, 0.8)
    model = result.model
    assert model is not None
    one, two = model.system.bodies["one"], model.system.bodies["two"]
    r = model.pose(two.at(0, 0.1, 0.2), result.q).position - model.pose(one.at(0.3, 0.2, -0.5), result.q).position
    assert np.abs(np.linalg.norm(r, axis=1) - (1 + 0.3 * np.sin(3 * result.t))).max() < 1e-12
    assert np.abs(result["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_work_of_drives_is_the_energy(method: str) -> None:
    for name in ("driven_joints", "driven_loop", "driven_rows"):
        m = MOTIONS[name]()
        result = da.simulate(m.model, m.span, method=method, rtol=1e-10, atol=1e-11)
        assert np.abs(result["energy.balance"]).max() < 1e-7 * (1 + np.abs(result["energy.work"]).max())


def test_control_acts_and_its_work_is_counted() -> None:
    def control(state: da.State) -> dict[str, float]:
        return {"A": -2.0 * state.q[0] - 0.5 * state.v[0]}

    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 0.5)))
    s.initial("A", position=1.0)
    result = da.simulate(s, 3.0, control=control, rtol=1e-11, atol=1e-12)
    spring = s.copy()
    spring.connect("k", da.TorsionSpring(2.0, 0.5), "A")
    same = da.simulate(spring, 3.0, rtol=1e-11, atol=1e-12)
    assert result.final_state.q == pytest.approx(same.final_state.q, abs=1e-10)
    assert np.abs(result["energy.balance"]).max() < 1e-9
    assert result["energy.work"].max() > 0.3
    array = da.simulate(s, 3.0, control=lambda state: [-2.0 * state.q[0] - 0.5 * state.v[0]], rtol=1e-11, atol=1e-12)
    assert np.array_equal(array.q, result.q)


# ---- Baumgarte


def drift(stabilization: Any, **more: Any) -> float:
    result = da.simulate(turning_four_bar(), 20.0, rtol=1e-6, atol=1e-6, stabilization=stabilization, **more)
    return float(result["constraints.residual"].max())


def test_baumgarte_drifts_less_than_nothing_and_more_than_projection() -> None:
    none, baumgarte, projected = drift((0.0, 0.0)), drift((10.0, 10.0)), drift("projection")
    assert none > 1e-5
    assert baumgarte < 0.1 * none
    assert projected < 1e-12 < baumgarte


def test_baumgarte_brings_a_loop_back() -> None:
    """phi'' + 2 alpha phi' + beta^2 phi = 0: the gap of a loop that starts open by little closes by this law."""
    s = da.System("rope")
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.connect("X", da.Prismatic("x"), s.ground, body)
    s.connect("rope", da.Distance(1.0), s.ground, body)
    model = s.compile()
    options = make_options(model, method="dop853", rtol=1e-11, atol=1e-12, max_step=None, step=None, project=False)
    stepper = options.integrator(model.conditions(stabilization=(2 * 5.0, 5.0**2)))
    stepper.start(0.0, np.array([1.01]), np.zeros(1), np.zeros(0))
    stepper.advance(1.0, 10_000)
    t, q, *_ = stepper.take_records()
    assert np.abs(q[:, 0] - 1 - 0.01 * (1 + 5 * t) * np.exp(-5 * t)).max() < 1e-9


def test_baumgarte_works_with_every_method() -> None:
    exact = da.simulate(turning_four_bar(), 1.0, rtol=1e-11, atol=1e-12).final_state.q
    for method, options in (("dop853", {}), ("dopri5", {}), ("radau", {}), ("rk4", {"fixed_step": 1e-3})):
        result = da.simulate(turning_four_bar(), 1.0, method=method, stabilization=(20.0, 20.0), **options)
        assert np.abs(result.final_state.q - exact).max() < 1e-5


# ---- the start


def test_a_state_off_the_loops_by_little_is_moved_and_reported() -> None:
    model = turning_four_bar().compile()
    state = da.simulate(model, 0.3).final_state
    exact = da.simulate(model, 0.5, state=state)
    assert not exact.stats.notes
    moved = da.simulate(model, 0.5, state=da.State(state.q + 1e-4, state.v))
    assert any("moved onto them" in note for note in moved.stats.notes)
    assert moved["constraints.residual"].max() < 1e-13
    faster = da.simulate(model, 0.5, state=da.State(state.q, state.v + 0.1))
    assert any("velocities did not satisfy" in note for note in faster.stats.notes)
    with pytest.raises(da.AssemblyError, match=r"da\.assemble"):
        da.simulate(model, 0.5, state=da.State(state.q + 0.1, state.v))


def test_a_loop_that_cannot_be_closed_is_refused() -> None:
    with pytest.raises(da.AssemblyError):
        da.simulate(four_bar(1.0, 1.0, 1.0, 9.0), 1.0)


@pytest.mark.parametrize(
    "state",
    [
        da.State(np.zeros(2), np.zeros(1)),
        da.State(np.zeros(1), np.zeros(3)),
        da.State(np.array([math.nan]), np.zeros(1)),
        da.State(np.zeros(1), np.array([math.inf])),
        da.State(np.zeros(1), np.zeros(1), x=np.zeros(2)),
    ],
)
def test_states_that_do_not_fit_are_refused(state: da.State) -> None:
    with pytest.raises(da.ModelError, match="state"):
        da.simulate(hanging_pendulum(), 1.0, state=state)


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"t_end": -1.0}, "after t_start"),
        ({"t_end": 0.0}, "after t_start"),
        ({"t_end": math.nan}, "t_end"),
        ({"t_end": math.inf}, "t_end"),
        ({"t_end": "long"}, "t_end"),
        ({"t_start": math.nan}, "t_start"),
        ({"times": []}, "times"),
        ({"times": [0.5, 0.2]}, "increasing"),
        ({"times": [0.5, 0.5]}, "increasing"),
        ({"times": [0.5, 1.5]}, "from 0 s to 1 s"),
        ({"times": [[0.1, 0.2]]}, "times"),
        ({"times": ["now"]}, "times"),
        ({"times": [math.nan]}, "times"),
        ({"method": "rk45"}, "'dop853'"),
        ({"method": None}, "method"),
        ({"method": 3}, "method"),
        ({"rtol": 0.0}, "rtol"),
        ({"rtol": -1e-3}, "rtol"),
        ({"rtol": math.nan}, "rtol"),
        ({"rtol": "fine"}, "rtol"),
        ({"atol": 2.0}, "atol"),
        ({"atol": np.array([1e-3, 1e-3])}, "atol"),
        ({"max_step": 0.0}, "max_step"),
        ({"max_step": -0.1}, "max_step"),
        ({"max_step": math.nan}, "max_step"),
        ({"method": "rk4"}, "fixed step"),
        ({"method": "rk4", "fixed_step": 0.0}, "step"),
        ({"method": "rk4", "fixed_step": 2.0}, "at most 1 s"),
        ({"method": "rk4", "fixed_step": math.nan}, "step"),
        ({"method": "dop853", "fixed_step": 0.1}, "has step control"),
        ({"fixed_step": 0.1}, "has step control"),
        ({"stabilization": "baumgarte"}, "projection"),
        ({"stabilization": (1.0, math.nan)}, "stabilization"),
        ({"stabilization": (1.0,)}, "stabilization"),
        ({"stabilization": (-1.0, 2.0)}, "stabilization"),
        ({"stabilization": None}, "projection"),
        ({"spectral_radius": 1.5}, "spectral_radius"),
        ({"spectral_radius": "low"}, "spectral_radius"),
        ({"control": 3.0}, "control"),
        ({"on_error": "ignore"}, "on_error"),
        ({"state": 3.0}, "state"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        da.simulate(hanging_pendulum(), **{"t_end": 1.0, **arguments})


def test_numbers_of_numpy_are_numbers() -> None:
    result = da.simulate(
        hanging_pendulum(), np.float64(1.0), rtol=np.float64(1e-6), atol=np.float32(1e-8), max_step=np.int64(1)
    )
    assert result.status == "finished"


def test_a_table_that_is_too_short_is_refused() -> None:
    table = da.Spline(np.linspace(0, 1, 9), np.zeros(9))
    driven = hanging_pendulum()
    driven.drive("A", position=table)
    pushed, loaded = hanging_pendulum(), hanging_pendulum()
    pushed.connect("e", da.Effort(table), "A")
    loaded.connect("f", da.Load(force=(0, table, 0)), loaded.bodies["bob"])
    for s, name in ((driven, "drive 'A'"), (pushed, "effort 'e'"), (loaded, "load 'f'")):
        assert da.simulate(s, 1.0).status == "finished"
        for end, start in ((1.5, 0.0), (1.0, -0.5)):
            with pytest.raises(da.ModelError, match=name):
                da.simulate(s, end, t_start=start)


# ---- users' functions


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4"])
def test_a_control_that_fails_is_named_chained_and_leaves_what_there_is(method: str) -> None:
    def failing(state: da.State) -> list[float]:
        if state.t > 0.5:
            raise ZeroDivisionError("at last")
        return [0.0]

    options: dict[str, Any] = {"fixed_step": 1e-3} if method == "rk4" else {"max_step": 0.01}
    with pytest.raises(da.UserFunctionError, match=r"failing failed at t = 0\.5") as caught:
        da.simulate(hanging_pendulum(), 1.0, method=method, control=failing, **options)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    result = caught.value.result
    assert result.status == "failed"
    assert 0.48 < result.t[-1] <= 0.5
    assert len(result) > 40


@pytest.mark.parametrize("bad", [math.nan, math.inf, "push", [1.0, 2.0], object()])
def test_what_a_control_returns_is_checked(bad: Any) -> None:
    def odd(state: da.State) -> Any:
        return [bad] if state.t > 0.2 and isinstance(bad, (float, str)) else bad if state.t > 0.2 else [0.0]

    with pytest.raises(da.UserFunctionError, match="odd returned") as caught:
        da.simulate(hanging_pendulum(), 1.0, control=odd, max_step=0.01)
    assert 0.15 < caught.value.result.t[-1] <= 0.2


def test_a_control_that_names_no_joint_is_refused() -> None:
    with pytest.raises(da.DalembertError, match="'A'"):
        da.simulate(hanging_pendulum(), 1.0, control=lambda state: {"B": 1.0})


@pytest.mark.parametrize("value", [math.nan, "much", None])
def test_a_law_that_fails_later_is_named(value: Any) -> None:
    def law(t: float) -> Any:
        return 0.0 if t < 0.3 else value

    s = hanging_pendulum()
    s.connect("e", da.Effort(law), "A")
    with pytest.raises(da.UserFunctionError, match="law") as caught:
        da.simulate(s, 1.0, max_step=0.01)
    assert 0.2 < caught.value.result.t[-1] <= 0.3


def test_a_law_that_raises_is_chained() -> None:
    def law(t: float) -> float:
        if t > 0.3:
            raise RuntimeError("worn out")
        return t

    s = hanging_pendulum()
    s.drive("A", position=law)
    with pytest.raises(da.UserFunctionError, match="worn out") as caught:
        da.simulate(s, 1.0, max_step=0.01)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.result.t[-1] <= 0.3


# ---- what cannot go on


def rotor() -> da.System:
    s = da.System("rotor", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    return s


def test_a_force_that_jumps_at_a_time_is_got_over() -> None:
    s = rotor()
    s.connect("e", da.Effort(lambda t: 1.0 if t < 0.3 else -1.0), "A")
    for method in ("dop853", "dopri5", "radau"):
        result = da.simulate(s, 1.0, method=method)
        assert result.final_state.v[0] == pytest.approx(-0.4, abs=1e-6)
        assert result.stats.rejected > 3


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_a_force_without_bound_ends_with_a_hint(method: str) -> None:
    def wall(state: da.State) -> list[float]:
        return [1.0 / max(0.5 - state.t, 1e-300) ** 2]

    with pytest.raises(da.IntegrationError, match=r"no step is small enough.*use an event|not finite") as caught:
        da.simulate(rotor(), 1.0, control=wall, method=method)
    result = caught.value.result
    assert result.status == "failed"
    assert result.t[-1] == pytest.approx(0.5, abs=1e-3)
    early = result.at(0.4)
    assert early.v[0] == pytest.approx(1 / 0.1 - 1 / 0.5, rel=1e-6)


def test_on_error_return_gives_the_part_and_the_reason() -> None:
    def failing(state: da.State) -> list[float]:
        return [math.nan if state.t > 0.5 else 0.0]

    result = da.simulate(hanging_pendulum(), 1.0, control=failing, on_error="return", max_step=0.01)
    assert result.status == "failed"
    assert "failing returned" in result.message
    assert 0.45 < result.t[-1] <= 0.5
    assert result["A.position"].shape == result.t.shape


@pytest.mark.parametrize("method", ["alpha", "euler"])
def test_a_fixed_step_that_is_too_long_is_reported(method: str) -> None:
    m = MOTIONS["rolling_disc"]()
    with pytest.raises(da.IntegrationError, match=r"shorter step|smaller step") as caught:
        da.simulate(m.model, 20.0, state=m.state, method=method, fixed_step=0.5)
    assert caught.value.result.status == "failed"


def test_accelerations_that_are_not_finite_are_named() -> None:
    s = da.System("nothing")
    a = s.body("a", mass=1.0, inertia=(1, 1, 1))
    b = s.body("b", mass=0.0, inertia=(0, 0, 0))
    s.connect("A", da.Revolute("x"), s.ground, a)
    s.connect("B", da.Revolute("x"), a, b)
    with pytest.raises(da.DalembertError, match="B"):
        da.simulate(s, 1.0)


def test_a_mechanism_that_locks_is_reported() -> None:
    """The crank of a double rocker can turn only so far: driven beyond, it has nowhere to go."""
    s = four_bar(2.0, 1.0, 1.0, 2.2, angle=0.3)
    s.drive("A", position=da.Polynomial((0.3, 1.0)))
    with pytest.raises((da.SingularityError, da.IntegrationError)) as caught:
        da.simulate(s, 3.0)
    result = caught.value.result
    assert 0.05 < result.t[-1] < 2.0
    assert result["constraints.residual"].max() < 1e-10


def test_singular_positions_that_can_be_passed_are_passed() -> None:
    s = slider_crank(0.5, 0.5)  # rod as long as the crank
    s.initial("A", speed=3.0)
    result = da.simulate(s, 0.6)
    assert result.status == "finished"
    assert result["constraints.residual"].max() < 1e-12
    energy = result["energy.total"]
    assert np.ptp(energy) < 1e-5


def test_overconstrained_mechanisms_need_no_care() -> None:
    result = da.simulate(bricard(), 3.0)
    assert not result.stats.notes
    assert np.ptp(result["energy.total"]) < 1e-6
