"""Rigid and compliant contacts in one run."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da

G = 9.81


def rigid_and_compliant() -> da.System:
    """Return a box on the floor, rigid, that carries one on a pad, and a ball on another pad."""
    s = da.System("mixed")
    base, ball, top = (
        s.body("base", da.box(0.2, 0.2, 0.2, mass=1.0)),
        s.body("ball", da.sphere(0.1, mass=1.0)),
        s.body("top", da.box(0.1, 0.1, 0.1, mass=0.5)),
    )
    s.place(base, position=(0, 0, 0.1))
    s.place(ball, position=(1, 0, 0.12))
    s.place(top, position=(0, 0, 0.26))
    s.contact("rigid", da.plane(), base, friction=0.5)
    s.contact("pad", da.plane(), ball, stiffness=1e5, exponent=1.0, restitution=0.3, friction=0.5)
    s.contact("on", base, top, stiffness=2e4, exponent=1.0, restitution=0.3, friction=0.4)
    return s


def check_rest(result: da.Result) -> None:
    # compliant contact comes to rest as its damping allows
    assert result["rigid.force"][-1] == pytest.approx([0, 0, 1.5 * G], abs=2e-3)
    assert result["pad.force"][-1] == pytest.approx([0, 0, G], abs=2e-3)
    assert result["on.force"][-1] == pytest.approx([0, 0, 0.5 * G], abs=2e-3)
    assert result["base.position.z"][-1] == pytest.approx(0.1, abs=1e-9)
    assert result["ball.position.z"][-1] == pytest.approx(0.1 - G / 1e5, abs=1e-7)
    for body in ("base", "ball", "top"):  # loads of compliant contacts are counted once
        assert result[f"{body}.acceleration"][-1] == pytest.approx(np.zeros(3), abs=5e-3)


def test_rigid_contacts_by_events_beside_compliant_ones() -> None:
    result = da.simulate(rigid_and_compliant(), 1.0)
    check_rest(result)
    assert np.abs(result["energy.balance"]).max() < 1e-6


def test_rigid_contacts_by_steps_beside_compliant_ones() -> None:
    live = da.Live(rigid_and_compliant())
    for _ in range(100):
        live.advance(0.01)
    assert live["pad.force"] == pytest.approx([0, 0, G], abs=2e-3)
    result = live.result()
    check_rest(result)
    # explicit midpoints of the force law: second order between impacts of 1 ms steps
    assert np.abs(result["energy.balance"]).max() < 5e-2
