"""Quantities between stored times are included: energies, whole turns, events that come faster than steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems.blocks import sliding_block

import dalembert as da
from dalembert.library import chain


def bouncing() -> da.System:
    s = da.System("stop")
    s.connect("Z", da.Prismatic("z"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.initial("Z", position=1.0)
    s.connect("floor", da.elements.Limits(lower=0.0, upper=5.0, stiffness=1e4, damping=20.0), "Z")
    return s


def test_energies_do_not_depend_on_stored_times() -> None:
    own = da.simulate(bouncing(), 3.0)["energy.dissipated"][-1]
    for count in (301, 31, 11, 4, 2):
        result = da.simulate(bouncing(), 3.0, times=np.linspace(0, 3, count))
        np.testing.assert_allclose(result["energy.dissipated"][-1], own, rtol=1e-6)
        assert abs(result["energy.balance"]).max() < 1e-4  # kinks of the stops, at the tolerance of the run
        part = result.at(np.linspace(0, 3, 5))
        np.testing.assert_allclose(part["energy.dissipated"][-1], own, rtol=1e-6)


def test_energies_of_runs_side_by_side_do_not_depend_on_stored_times() -> None:
    own = da.simulate(bouncing(), 3.0)
    for count in (31, 4):
        runs = da.simulate(bouncing(), 3.0, state={"Z": np.array([1.0, 1.0])}, times=np.linspace(0, 3, count))
        np.testing.assert_allclose(runs["energy.dissipated"][:, -1], own["energy.dissipated"][-1], rtol=1e-6)
        assert abs(runs["energy.balance"]).max() < 1e-4
        np.testing.assert_allclose(runs[1].at(1.234).q, own.at(1.234).q, atol=1e-6)


def test_energies_of_motions_that_make_much_of_rounding_are_those_of_the_run_itself() -> None:
    s = chain(4, axes="y")  # the last digits of a start are everything after 20 s
    s.connect("d", da.TorsionSpring(1.0, 0.002), "joint_2")
    model = s.compile()
    runs = da.simulate(model, 40.0, state=model.random_state(0, size=2), times=np.linspace(0, 40, 9))
    assert abs(runs["energy.balance"]).max() < 1e-4 * abs(runs["energy.kinetic"]).max()


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_energies_in_files_do_not_depend_on_stored_times(suffix: str, tmp_path: Path) -> None:
    result = da.simulate(bouncing(), 3.0, times=np.linspace(0, 3, 4))
    result.save(tmp_path / f"run{suffix}")
    back = da.Result.load(tmp_path / f"run{suffix}", bouncing())
    for name in ("energy.dissipated", "energy.work", "energy.balance"):
        assert np.array_equal(back[name], result[name])


def test_energies_in_files_are_those_of_the_run_also_at_its_own_steps(tmp_path: Path) -> None:
    s = sliding_block(friction=1.0)
    s.connect("law", da.Element("joint", "-3*sign(ds)", active=True), "X")
    s.connect("pull", da.Effort(da.Harmonic(5.0, 7.0)), "X")
    result = da.simulate(s, 2.0)
    result.save(tmp_path / "run.nc")
    back = da.Result.load(tmp_path / "run.nc", s)
    for name in ("energy.dissipated", "energy.work", "energy.balance", "law.effort", "X.friction"):
        assert np.array_equal(back[name], result[name])


def test_energies_count_what_events_change_between_stored_times() -> None:
    def stronger(now: da.EventContext) -> None:
        now.set("floor.damping", 40.0)
        now.impulse("b", force=(0, 0, -1.0))

    event = da.Event("low", "Z.position", 0.5, direction=-1, action=stronger)
    results = [da.simulate(bouncing(), 3.0, events=event, times=times) for times in (None, [0.0, 1.1, 3.0])]
    assert results[0].events
    ends = [result["energy.dissipated"][-1] for result in results]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    for result in results:
        assert abs(result["energy.balance"]).max() < 1e-4


@pytest.mark.parametrize("times", [None, [0.0, 3.0], [0.0, 0.5, 2.5, 3.0]])
def test_angles_count_turns_made_between_times_of_rest(times: Any) -> None:
    s = da.System("spin", gravity=(0, 0, 0))
    s.connect("A", da.Revolute("z"), s.ground, s.body("b", da.box(0.1, 0.1, 0.1, mass=1.0)))
    s.drive("A", position=da.Ramp(0.0, 6 * np.pi + 0.3, 1.0, 1.0))
    result = da.simulate(s, 3.0, times=times)
    np.testing.assert_allclose(result["b.angle"][-1], 6 * np.pi + 0.3, rtol=1e-12)


@pytest.mark.parametrize("frequency", [50.0, 411.0, 2000.0])
def test_events_that_come_faster_than_steps_are_all_found(frequency: float) -> None:
    s = sliding_block()
    s.initial("X", speed=1.0)
    for output in (lambda state: np.sin(frequency * state.t), lambda state: np.sin(frequency * state.q[0])):
        found = [event.t for event in da.simulate(s, 2.0, events=da.Event("zero", output)).events]
        expected = np.arange(1, int(2 * frequency / np.pi) + 1) * np.pi / frequency
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_first_of_fast_events_acts() -> None:
    s = sliding_block()
    s.initial("X", speed=1.0)
    stop = da.Event("zero", lambda state: np.cos(300.0 * state.t), terminal=True)
    np.testing.assert_allclose(da.simulate(s, 2.0, events=stop).t[-1], np.pi / 600, rtol=1e-12)
