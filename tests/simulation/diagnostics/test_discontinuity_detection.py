"""A run that cannot get on says so: what jumps is found and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.blocks import sliding_block

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import slider_crank


def block(law: Any = None, speed: float = 1.0) -> da.System:
    s = sliding_block()
    s.initial("X", speed=speed)
    if law is not None:
        s.connect("law", law, "X")
    return s


def backward(t: float, s: float, ds: float) -> float:
    """Return a force against the motion, by a function whose jumps nobody sees beforehand."""
    return -1.0 if ds > 0 else float(ds < 0)


def homeward(t: float, s: float, ds: float) -> float:
    return -1.0 if s + ds > 0.1 else 1.0


def lowering(t: float, s: float, ds: float, z: float) -> tuple[float, float]:
    return -z, -1.0 if z > 0 else 1.0


CHATTER = {
    "sign": da.Element("joint", backward),
    "where": da.Element("joint", homeward, active=True),
    "slip": da.elements.CoulombFriction(1.0, slip_speed=1e-12),
    "state": da.Element("joint", lowering, states={"z": 1.0}, active=True),
}


@pytest.mark.parametrize("name", ["sign", "where", "slip"])
def test_a_law_that_holds_the_motion_at_a_jump_is_named(name: str) -> None:
    with pytest.raises(da.IntegrationError, match=r"element 'law' jumps to and fro.*sticks") as caught:
        da.simulate(block(CHATTER[name]), 3.0)
    assert caught.value.result is not None
    assert caught.value.result.stats.steps < 20_000
    assert 0.9 < caught.value.result.t[-1] < 1.5  # where it came to the jump


def test_a_state_that_jumps_to_and_fro_is_noticed() -> None:
    with pytest.raises(da.IntegrationError, match="to and fro"):
        da.simulate(block(CHATTER["state"]), 3.0)


def test_implicit_steps_name_it_too() -> None:
    with pytest.raises(da.IntegrationError, match="element 'law' jumps"):
        da.simulate(block(CHATTER["sign"]), 3.0, method="radau")


def test_a_discontinuous_control_gets_the_advice_to_sample() -> None:
    def bang(state: da.State) -> list[float]:
        return [-1.0 if state.q[0] + state.v[0] > 0 else 1.0]

    with pytest.raises(da.IntegrationError, match=r"control bang jumps.*give control_period"):
        da.simulate(block(), 3.0, control=bang)
    result = da.simulate(block(), 3.0, control=bang, control_period=0.01)
    assert result.status == "finished"


def test_noise_is_distinguished_from_a_jump() -> None:
    rng = np.random.default_rng(0)

    def noisy(state: da.State) -> list[float]:
        return [-state.q[0] + 0.1 * rng.normal()]

    with pytest.raises(da.IntegrationError, match=r"control noisy gives other forces.*period"):
        da.simulate(block(), 3.0, control=noisy)


def test_ensembles_do_not_crawl_either() -> None:
    states = da.State(q=np.zeros((5, 1)), v=np.linspace(0.5, 1.0, 5)[:, None])
    runs = da.simulate(block(CHATTER["sign"]), 3.0, state=states)
    assert runs.status == ("failed",) * 5
    assert any("element 'law' jumps" in note for note in runs.stats.notes)


def test_a_live_run_reports_it_too() -> None:
    live = da.Live(block(CHATTER["sign"]))
    with pytest.raises(da.IntegrationError, match="element 'law' jumps"):
        for _ in range(30):
            live.advance(0.1)
    assert live.t > 0.99


def test_it_is_named_in_a_mechanism_with_a_loop() -> None:
    s = slider_crank()
    s.connect("brake", da.Element("joint", lambda t, s, ds: 2 * backward(t, s, ds)), "A")
    s.initial("A", speed=5.0)
    with pytest.raises(da.IntegrationError, match="element 'brake' jumps"):
        da.simulate(s, 20.0)


@pytest.mark.parametrize(
    "law",
    [
        da.Element("joint", "-where(s > 0, 400, 100)*s", energy="where(s > 0, 400, 100)*s**2/2"),
        da.Element("joint", "-50*s - 2*sign(s)", energy="25*s**2 + 2*abs(s)"),  # passed again and again, not held
        da.JointSpring(stiffness=1e6),
    ],
)
def test_what_gets_on_is_left_alone(law: Any) -> None:
    result = da.simulate(block(law), 20.0)
    assert result.status == "finished"
    assert abs(result["energy.balance"]).max() < 1e-4


def test_a_root_at_zero_is_named_where_implicit_steps_cannot_follow_it() -> None:
    """The block comes to rest in a finite time, where the law has no slope."""
    rub = da.Element("joint", "-sign(ds)*sqrt(abs(ds))")
    with pytest.raises(da.IntegrationError, match=r"element 'law' changes the more steeply.*as a root does"):
        da.simulate(block(rub, 0.5), 5.0, method="radau")
    result = da.simulate(block(rub, 0.5), 5.0)
    # ds' = -sqrt(ds): at rest after 2 sqrt(0.5) s, and 2/3 0.5**1.5 m
    assert result["X.position"][-1] == pytest.approx(2 / 3 * 0.5**1.5, abs=1e-6) and result.status == "finished"


@pytest.mark.parametrize("law", ["-sign(s)*sqrt(abs(s))", "-abs(s)**1.5*sign(s)", "-sign(s)*abs(s)**0.5 - 0.1*ds"])
def test_roots_that_are_only_passed_are_no_trouble_to_any_method(law: str) -> None:
    s = block(da.Element("joint", law, active=True))
    ends = [da.simulate(s, 5.0, method=method)["X.position"][-1] for method in ("dop853", "radau", "alpha")]
    assert ends[1] == pytest.approx(ends[0], abs=1e-6) and ends[2] == pytest.approx(ends[0], abs=1e-4)


# ---- what a control keeps to itself


class Held:
    """A sampler by hand: it keeps its last answer until it is asked a period later."""

    def __init__(self) -> None:
        self.t, self.force = -1.0, 0.0

    def __call__(self, state: da.State) -> dict[str, float]:
        if state.t >= self.t + 0.01:
            self.t, self.force = state.t, -5 * float(state.q[0])
        return {"joint_1": self.force}


class Integrating:
    """A controller that sums up what it sees."""

    def __init__(self) -> None:
        self.t, self.sum = 0.0, 0.0

    def __call__(self, state: da.State) -> dict[str, float]:
        self.sum, self.t = self.sum + (state.t - self.t) * float(state.q[0]), state.t
        return {"joint_1": -5 * float(state.q[0]) - 20 * self.sum}


@pytest.mark.parametrize("times", [None, np.linspace(0, 2, 21)])
@pytest.mark.parametrize("control", [Held, Integrating])
def test_a_control_that_keeps_something_to_itself_is_named(control: type, times: np.ndarray | None) -> None:
    result = da.simulate(chain(2, axes="y"), 2.0, control=control(), times=times)
    assert f"control {control.__name__} gives other forces when called again" in "\n".join(result.stats.notes)
    sampled = da.simulate(chain(2, axes="y"), 2.0, control=control(), times=times, control_period=0.01)
    assert sampled.stats.notes == []


RUNS = [
    {"method": "alpha"},
    {"method": "alpha", "fixed_step": 0.01},
    {"method": "rk4", "fixed_step": 0.01},
    {"method": "radau"},
    {"method": "scipy:RK45"},
]


@pytest.mark.parametrize("times", [None, np.linspace(0, 0.5, 6)])
@pytest.mark.parametrize("how", RUNS)
def test_it_is_named_in_all_kinds_of_runs(how: dict, times: np.ndarray | None) -> None:
    result = da.simulate(chain(2, axes="y"), 0.5, control=Held(), times=times, **how)
    assert "control Held gives other forces when called again" in "\n".join(result.stats.notes)


@pytest.mark.parametrize("times", [None, np.linspace(0, 3, 31)])
@pytest.mark.parametrize("how", RUNS)
def test_a_control_that_jumps_is_named_in_all_kinds_of_runs(how: dict, times: np.ndarray | None) -> None:
    def bang(state: da.State) -> list[float]:
        return [-1.0 if state.q[0] + state.v[0] > 0 else 1.0]

    result = da.simulate(block(), 3.0, control=bang, times=times, on_error="return", **how)
    assert "control bang jumps" in "\n".join([result.message, *result.stats.notes])


@pytest.mark.parametrize("method", ["scipy:RK45", "scipy:BDF"])
def test_loose_steps_of_other_packages_over_a_jump_are_reported(method: str) -> None:
    def bang(state: da.State) -> list[float]:
        return [-1.0 if state.q[0] + state.v[0] > 0 else 1.0]

    result = da.simulate(block(), 2.0, control=bang, method=method, rtol=1e-3)  # 0.23; that of BDF goes to 11
    assert any(
        "control bang jumps" in n and f"{method} does not end steps at its jumps" in n for n in result.stats.notes
    )


def test_steps_of_a_fixed_length_over_steep_slopes_are_not_remarked_upon() -> None:
    def steep(state: da.State) -> list[float]:
        return [-float(np.tanh(300 * (state.q[0] - 0.3)))]

    result = da.simulate(block(), 1.0, control=steep, method="rk4", fixed_step=0.01)
    assert result.stats.notes == []


def test_runs_side_by_side_name_it_too() -> None:
    model = chain(2, axes="y").compile()
    states = model.random_state(0, size=3)
    runs = da.simulate(model, 1.0, control=Held(), state=states, times=[0.0, 1.0])
    assert "control Held gives other forces when called again" in "\n".join(runs.stats.notes)


@pytest.mark.parametrize("how", [{}, {"rtol": 1e-3}, {"method": "radau"}, {"method": "alpha"}, {"times": [0.0, 5.0]}])
def test_a_control_of_the_state_alone_is_not_remarked_upon(how: dict) -> None:
    def stiff(state: da.State) -> dict[str, float]:
        return {"joint_1": -5 * float(np.tanh(50 * state.v[0])), "joint_2": float(np.sin(9 * state.t))}

    result = da.simulate(chain(2, axes="y"), 5.0 if "times" in how else 0.5, control=stiff, **how)
    assert "called again" not in "\n".join(result.stats.notes)
