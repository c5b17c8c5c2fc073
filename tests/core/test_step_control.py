"""Steps grow again after what made them short: forces that jump where nothing tells the stepper of it."""

from __future__ import annotations

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.pendulums import rod_pendulum
from systems.switching_systems import switching_system

import dalembert as da
from dalembert import _core


def buffer(push: float) -> da.System:
    """A mass that flies against a force which is there, all at once, beyond 0.31 m; only a function knows of it."""
    s = sliding_block()
    s.connect("k", da.Element("joint", lambda t, s, ds: -push if s > 0.31 else 0.0, active=True), "X")
    s.initial("X", position=0.0, speed=1.0)
    return s


@pytest.mark.parametrize("method", ["radau", "dopri5", "dop853"])
@pytest.mark.parametrize("push", [1e3, 1e5])
def test_a_force_that_jumps_unannounced_is_passed_at_any_tolerance(method: str, push: float) -> None:
    """The steps before it have next to no error, and are millions of times as long as the one across it: a forecast
    from these two without bounds is a step of less than a rounding of the time."""
    model = buffer(push).compile()
    for rtol in np.geomspace(1e-9, 1e-4, 6):
        result = da.simulate(model, 0.4, method=method, rtol=rtol)
        back = 0.31 - (0.4 - 0.31 - 2.0 / push)  # it comes back after 2/push, as fast as it came
        assert result["X.speed"][-1] == pytest.approx(-1.0, abs=1e3 * rtol + 1e-6)
        assert result["X.position"][-1] == pytest.approx(back, abs=1e3 * rtol + 1e-6)


def test_a_step_cut_short_by_a_break_does_not_shorten_those_after_it() -> None:
    """Breaks close to each other: what is between them takes a step or two, and what follows the usual ones."""
    s = rod_pendulum()
    s.initial("A", position=0.4)
    plain = da.simulate(s, 2.0, method="radau").stats.steps
    broken = da.simulate(s, 2.0, method="radau", discontinuity_times=[0.5, 0.500001, 1.3, 1.300001]).stats.steps
    assert broken < plain + 25


@pytest.mark.parametrize("exponent", [1.001, 1.1, 1.5])
def test_contacts_by_a_power_of_their_depth_open_and_close_in_implicit_steps(exponent: float) -> None:
    """Where they open, by a rounding too late, depths are below zero, and their powers no numbers."""
    s = da.System("ball")
    s.connect("Z", da.Prismatic("z"), s.ground, s.body("b", mass=1.0))
    s.connect("floor", da.elements.PointPlaneContact(1e5, exponent=exponent), s.ground, s.bodies["b"])
    s.initial("Z", position=0.3)
    model = s.compile()
    for rtol in np.geomspace(1e-9, 1e-5, 9):
        result = da.simulate(model, 2.0, method="radau", rtol=rtol)
        assert np.abs(result["energy.balance"]).max() < 1e-6 + 100 * rtol  # eight impacts of 3 J


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_steps_of_a_given_length_lead_to_the_end_whatever_their_errors(method: str) -> None:
    """A method that is given the length of its steps must not end at the first error above its tolerance."""
    model = da.library.chain(3, axes="y").compile()
    atol = np.full(2 * model.nv + model.nx, 1e-10)
    number = _core.methods.index(method)
    run = _core.Integrator(model, model.conditions(), number, 1e-9, atol, np.inf, 0.02, 0.8, True, False)
    run.start(0.0, np.full(model.nq, 0.5), np.full(model.nv, 3.0), np.zeros(model.nx))
    outcome = run.advance(1.0, 10**6)
    assert (outcome == _core.outcomes["reached"]) == (run.t == 1.0)
    if method != "radau":  # whose equations may have no solution for a step of that length: another outcome
        assert run.t == 1.0 and run.counts[0] == 50


@pytest.mark.parametrize("method", ["dop853", "radau", "alpha"])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_has_reached_a_time_stands_at_it(method: str, seed: int) -> None:
    """Times lie between switches, discontinuities and steps of any length; a pause is not an arrival."""
    system, t_end = switching_system(seed)
    model = system.compile()
    start = da.simulate(model, 1e-6 * t_end).final_state
    atol = np.full(2 * model.nv + model.nx, 1e-8)
    number = _core.methods.index(method)
    run = _core.Integrator(model, model.conditions(), number, 1e-6, atol, np.inf, 0.0, 0.8, True, False)
    run.start(0.0, start.q, start.v, np.zeros(model.nx))
    for until in np.sort(np.random.default_rng(seed).uniform(0.0, 0.3 * t_end, 9)):
        outcome = run.advance(until, 2)
        while outcome == _core.outcomes["paused"]:
            assert run.t <= until
            outcome = run.advance(until, 2)
        assert outcome == _core.outcomes["reached"]
        assert run.t == until
