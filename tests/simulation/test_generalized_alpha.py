"""Generalised alpha with steps of its own choice: within tolerances, of order two, through loops, drives and states."""

import signal

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.flexible_systems import random_flexible
from systems.pendulums import rod_pendulum
from systems.random_loops import gap, redundant

import dalembert as da
from dalembert.library import chain
from dalembert.library.mechanisms import andrews, four_bar, slider_crank


def top() -> da.System:
    """A free body that spins about an axis between its principal ones."""
    s = da.System("top", gravity=(0, 0, 0))
    s.connect("F", da.Free(), s.ground, s.body("b", da.box(0.1, 0.2, 0.4, mass=1.0)))
    s.initial("F", speed=(1.0, 5.0, 0.1, 0.3, 0, 0))
    return s


def with_state() -> da.System:
    s = sliding_block()
    s.connect("k", da.Element("joint", "-10 * s - p", states={"p": (1.0, "-2 * p + 5 * ds")}, active=True), "X")
    s.initial("X", position=0.3)
    return s


def driven_by_a_loop() -> da.System:
    s = slider_crank()
    s.drive("A", position=da.Polynomial((0.7, 20.0)))
    return s


def driven_in_a_tree() -> da.System:
    s = chain(2, axes="y")
    s.drive("joint_1", position=da.Harmonic(amplitude=0.5, frequency=1.0))
    return s


def flexible() -> da.System:
    s = da.System("flexible")
    arm = s.body("arm", random_flexible(np.random.default_rng(1), nm=2, clamped=True, stiffening=True))
    s.connect("A", da.Revolute("y"), s.ground, arm.at(node=0))
    return s


def skate() -> da.System:
    s = da.System("skate")
    b = s.body("b", da.box(0.3, 0.2, 0.1, mass=1.0))
    s.connect("P", da.Planar("z"), s.ground, b)
    s.connect("S", da.KnifeEdge(), s.ground, b.at(0.1, 0, 0))
    s.initial("P", speed=(1.0, 0.0, 1.0))
    return s


CASES = {
    "pendulum": (rod_pendulum, 2.0),
    "chain": (lambda: chain(3), 1.0),
    "top": (top, 2.0),
    "state": (with_state, 3.0),
    "four-bar": (four_bar, 1.0),
    "andrews": (andrews, 0.03),
    "loop driven": (driven_by_a_loop, 0.5),
    "tree driven": (driven_in_a_tree, 2.0),
    "flexible": (flexible, 0.5),
    "skate": (skate, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_follow_the_tolerance(name: str) -> None:
    """A hundredth of the tolerance makes steps a fifth as long, and errors of order two less than a tenth."""
    make, span = CASES[name]
    m = make().compile()
    exact = da.simulate(m, span, rtol=1e-11, atol=1e-12)
    runs = [da.simulate(m, span, method="alpha", rtol=rtol, atol=1e-2 * rtol) for rtol in (1e-5, 1e-7)]
    errors = [gap(m, exact, run) for run in runs]
    assert errors[1] < 0.1 * errors[0] or errors[1] < 1e-10
    assert errors[1] < 1e-3
    assert runs[0].stats.steps < runs[1].stats.steps < 10 * runs[0].stats.steps
    assert all(run.stats.rejected < 0.25 * run.stats.steps for run in runs)
    middle = 0.37 * span  # states between steps are as good
    assert np.abs(m.difference(exact.at(middle).q, runs[1].at(middle).q)).max() < 1e-3


@pytest.mark.parametrize("seed", range(12))
def test_random_redundant_systems_agree_with_dop853(seed: int) -> None:
    closed = redundant(seed)
    m = closed.system.compile()
    q, v = closed.state(m)
    state = da.State(q=q, v=0.3 * v)
    exact = da.simulate(m, 0.2, state=state, rtol=1e-11, atol=1e-13)
    errors = [
        gap(m, exact, da.simulate(m, 0.2, state=state, method="alpha", rtol=rtol, atol=rtol)) for rtol in (1e-5, 1e-7)
    ]
    assert errors[1] < 1e-4 * (1.0 + np.abs(v).max())
    assert errors[1] < 0.15 * errors[0] or errors[1] < 1e-8


def test_steps_are_short_only_where_it_is_lively() -> None:
    """A stiff spring at the end of a slow fall: steps differ in length by far, and the energy is accounted for."""
    s = da.System("fall")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("stop", da.Limits(-0.5, 10.0, stiffness=1e6, damping=10.0), "P")
    result = da.simulate(s, 0.6, method="alpha", rtol=1e-6, atol=1e-8)
    lengths = np.diff(result.t)
    assert lengths[1:-1].max() > 30 * lengths[1:-1].min()
    assert np.abs(result["energy.balance"]).max() < 1e-2
    assert result.stats.method == "alpha"


def test_stiff_motions_are_damped_with_long_steps() -> None:
    s = da.System("stiff")
    s.connect("P", da.Prismatic("z"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.connect("k", da.JointSpring(stiffness=1e6, damping=2e4), "P")
    result = da.simulate(s, 1.0, method="alpha", rtol=1e-6, atol=1e-8)
    assert result["P.position"][-1] == pytest.approx(-9.81e-6, rel=1e-4)
    assert result.stats.steps < 500


def test_it_goes_on_to_the_same_bits() -> None:
    def press(state: da.State) -> dict[str, float]:
        if state.t > 0.3 and armed:
            armed.clear()
            signal.raise_signal(signal.SIGINT)
        return {}

    armed: list[bool] = []
    m, how = four_bar().compile(), {"method": "alpha", "rtol": 1e-6, "control": press}
    whole = da.simulate(m, 1.0, **how)
    armed.append(True)
    part = da.simulate(m, 1.0, **how)
    assert part.status == "interrupted"
    rest = da.simulate(m, 1.0, **how, resume=part)
    np.testing.assert_array_equal(rest.q, whole.q)
    np.testing.assert_array_equal(rest.t, whole.t)


def test_without_damping_it_is_newmarks_rule() -> None:
    """Spectral radius 1: beta = 1/4, gamma = 1/2, step by step (Slaats 1991, section 1.2), on a nonlinear system."""
    s = da.System("double pendulum")
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(0.7, 2.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)
    s.connect("k", da.TorsionSpring(stiffness=30.0, damping=0.2), "B")
    s.initial("A", position=0.3, speed=1.0)
    model, h, n = s.compile(), 0.01, 50
    result = da.simulate(model, n * h, method="alpha", fixed_step=h, spectral_radius=1.0, rtol=1e-12, atol=1e-12)
    q, v = np.array([0.3, 0.0]), np.array([1.0, 0.0])
    a = model.dynamics(0.0, q, v).a
    for _ in range(n):
        later = a
        for _ in range(30):  # a fixed point: h is short
            later = model.dynamics(0.0, q + h * v + h * h / 4 * (a + later), v + h / 2 * (a + later)).a
        q, v, a = q + h * v + h * h / 4 * (a + later), v + h / 2 * (a + later), later
    assert np.allclose(result.q[-1], q, atol=1e-11) and np.allclose(result.v[-1], v, atol=1e-10)
