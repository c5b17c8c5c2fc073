"""Outputs of runs with friction and stops: energies around impacts, friction of driven joints, work at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from systems.blocks import sliding_block
from systems.pendulums import rod_pendulum
from systems.random_friction_systems import random_friction_system

import dalembert as da
from dalembert.result.outputs import cumulative


def test_energy_balances_in_a_run_that_starts_with_an_impact() -> None:
    s = sliding_block(lower=0.0, upper=1.0, restitution=0.5)
    s.initial("X", position=0.0, speed=-1.0)
    result = da.simulate(s, 0.5)
    assert result["X.speed"] == pytest.approx(0.5, abs=1e-15)
    assert result.events[0].energy == pytest.approx(-0.375, abs=1e-15)  # J: (1 - 0.25) / 2
    assert np.abs(result["energy.balance"]).max() < 1e-15


def test_energy_balances_from_the_first_stored_time_after_an_impact() -> None:
    s = sliding_block(lower=0.0, upper=1.0, restitution=0.5)
    s.initial("X", position=0.2, speed=-1.0)  # reaches its stop at 0.2 s
    result = da.simulate(s, 0.5, times=[0.3, 0.4, 0.5])
    assert len(result.events) == 1 and np.abs(result["energy.balance"]).max() < 1e-15


@pytest.mark.parametrize("loop", [False, True])
def test_friction_of_a_driven_joint_is_without_the_effort_of_the_drive(loop: bool) -> None:
    s = rod_pendulum(friction=1.5)
    if loop:
        other = s.body("other", da.rod(length=1.0, mass=1.0))
        s.connect("B", da.Revolute("y"), s.ground.at(0, 0, 0.5), other)
        s.connect("C", da.constraints.Distance(0.5), s["bob"].at(1, 0, 0), other.at(1, 0, 0))
    s.drive("A", speed=da.Ramp(0.0, -0.4, 0.3))
    result = da.simulate(s, 0.5)
    moving = result["A.speed"] < -1e-9
    assert moving.sum() > 5 and result["A.friction"][moving] == pytest.approx(1.5, abs=1e-12)
    assert np.ptp(result["A.effort"][moving]) > 0.1  # N m: the drive also lifts the rod
    assert np.abs(result["energy.balance"]).max() < 1e-7


def test_rounding_of_the_power_at_rest_is_not_subdivided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law with a jump at zero velocity has a power of rounding where a lock holds its joint."""
    states = 0
    original = cumulative.over_intervals

    def count(rate, *given, **options):  # type: ignore[no-untyped-def]
        def counted(times):  # type: ignore[no-untyped-def]
            nonlocal states
            states += len(times)
            return rate(times)

        return original(counted, *given, **options)

    monkeypatch.setattr(cumulative, "over_intervals", count)
    case = random_friction_system(1)
    result = da.simulate(case.system, case.t_end, **case.options())
    assert np.abs(result["energy.balance"]).max() < 1e-12  # J of 500
    assert states < 100 * len(result.t)


def test_a_lock_on_a_stuck_joint_is_no_slip() -> None:
    s = sliding_block(friction=5.0)
    s.connect("F", da.Effort(2.0), "X")
    events = [
        da.Event("lock", lambda state: state.t - 0.5, action=lambda now: now.lock("X")),
        da.Event("free", lambda state: state.t - 1.0, action=lambda now: now.release("X")),
        da.Event("oil", lambda state: state.t - 1.5, action=lambda now: now.set("X.friction", 1.0)),
    ]
    result = da.simulate(s, 2.0, events=events)
    assert [e.name for e in result.events] == ["X sticks", "lock", "free", "X sticks", "oil", "X slips"]
    assert result["X.position"][-1] == pytest.approx(0.125, abs=1e-12)  # 1 m/s2 for half a second


def test_a_rope_that_a_drive_stretches_is_noted() -> None:
    s = sliding_block()
    s.connect("rope", da.Rope(0.5), s.ground, s["b"])
    s.drive("X", speed=1.0)
    notes = da.simulate(s, 2.0).stats.notes
    assert any("rope exceeded its length 0.5 m and reached 2 m" in note for note in notes), notes


def test_a_law_that_is_not_finite_is_named_beside_friction() -> None:
    s = sliding_block(friction=1.0, lower=-1.0, upper=1.0)
    s.connect("F", da.Element("joint", "10*sin(5*t)*where(t < 1, 1, log(-1.0))", active=True), "X")
    with pytest.raises(da.DalembertError, match=r"at t = 1 s the law of element 'F' is not finite"):
        da.simulate(s, 2.0)


@pytest.mark.parametrize("options", [{}, {"method": "radau"}, {"method": "rk4", "fixed_step": 1e-2}])
def test_a_law_that_is_not_finite_is_named_while_its_joint_sticks(options: dict[str, Any]) -> None:
    s = sliding_block(friction=1.0)
    s.connect("F", da.Element("joint", "k*sqrt(1.5 - t)", {"k": 0.5}, active=True), "X")
    with pytest.raises(da.DalembertError, match=r"at t = 1\.(5|49) s the law of element 'F' is not finite"):
        da.simulate(s, 2.0, **options)
    assert da.simulate(s, 1.499, **options).status == "finished"


def test_a_run_of_an_ensemble_ends_where_a_law_of_a_stuck_joint_is_not_finite() -> None:
    s = sliding_block(friction=1.0)
    s.connect("F", da.Element("joint", "k*sqrt(1.5 - t)", {"k": 0.5}, active=True), "X")
    runs = da.simulate(s, 2.0, parameters={"F.k": [0.0, 0.5]}, times=[0.0, 1.0, 2.0], on_error="return")
    assert [run.status for run in runs] == ["failed", "failed"]
    assert "element 'F' is not finite" in runs[1].message
