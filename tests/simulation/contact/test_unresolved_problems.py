"""Reference problems without a closed form: the tippe top, and boxes that rattle between two plates."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.tippe_top import TippeTop

import dalembert as da


@pytest.mark.slow
def test_a_tippe_top_inverts() -> None:
    """Its axis is level at 1.645 s; the equations of sliding are integrated independently."""
    top, spin, tilt = TippeTop(), 150.0, 0.3
    exact = top.solve(1.8, spin, tilt)
    s = da.System("tippe top")
    body = s.body("top", mass=top.mass, inertia=(top.across, top.across, top.along))
    body.decorate(da.sphere(top.radius), 0, 0, top.offset)
    place = exact.y[:3, 0]
    s.place("top", position=tuple(place), bryant=(0, tilt, 0), angular_velocity=(0, 0, spin))
    s.contact("floor", da.plane(), body, friction=top.friction)
    result = da.simulate(s, 1.8, contact="events")
    assert result["floor.state"].min() == 2 and result["floor.state"].max() == 2
    height = top.radius - result["top.position"][:, 2]  # of the centre above the centre of mass
    k = int(np.flatnonzero(height < 0.0)[0])
    times = np.linspace(result.t[k - 1], result.t[k], 201)
    found = np.interp(0.0, -(top.radius - result.at(times)["top.position"][:, 2]), times)
    assert exact.t_events[0] == pytest.approx([1.64503915], abs=1e-7)
    assert found == pytest.approx(exact.t_events[0][0], abs=1e-6)
    for t in (0.5, 1.0, 1.5, 1.8):
        at, y = result.at([t]), exact.sol(t)
        assert at["top.position"][0] == pytest.approx(y[:3], abs=1e-6)
        assert at["top.angular_velocity"][0] == pytest.approx(y[15:18], abs=1e-3)
    assert np.abs(result["energy.balance"]).max() < 1e-8


def rattling_boxes() -> da.System:
    """Return two boxes between a floor and a plate that is shaken upwards and downwards, from an inclined start."""
    s = da.System("rattle")
    plate = s.body("plate", da.box(1.0, 1.0, 0.05, mass=1.0))
    s.connect("guide", da.Prismatic("z"), s.ground.at(0, 0, 0.45), plate)
    s.drive("guide", position=da.Harmonic(0.02, 20.0))
    low = s.body("low", da.box(0.2, 0.3, 0.1, mass=1.0))
    high = s.body("high", da.box(0.25, 0.15, 0.12, mass=0.5))
    s.place(low, position=(0, 0, 0.1), bryant=(0.2, 0.1, 0.3), angular_velocity=(1, 2, 0))
    s.place(high, position=(0.05, 0.02, 0.3), bryant=(-0.2, 0.15, 0.1), velocity=(0, 0, 0.5))
    s.contact("all", [da.plane(), plate], [low, high], friction=0.3, restitution=0.5)
    s.contact("pair", low, high, friction=0.2, restitution=0.4)
    return s


def test_boxes_rattle_by_events_and_by_steps() -> None:
    """Until impacts amplify differences: steps are of first order there."""
    t_end = 0.29
    system = rattling_boxes()
    exact = da.simulate(system, t_end, contact="events")
    assert sum("impact" in event.name for event in exact.events) > 50
    assert np.abs(exact["energy.balance"]).max() < 1e-7
    assert min(exact["all.gap"].min(), exact["pair.gap"].min()) > -1e-8
    times = np.linspace(0.0, t_end, 30)
    errors = []
    for step in ("4e-4", "1e-4", "2.5e-5"):
        by_steps = da.simulate(system, t_end, contact=f"steps:{step}")
        errors.append(
            max(
                np.abs(by_steps.at(times)[f"{name}.position"] - exact.at(times)[f"{name}.position"]).max()
                for name in ("low", "high")
            )
        )
    assert errors[2] < errors[1] < errors[0] < 1e-3
    assert errors[2] < 1e-6
