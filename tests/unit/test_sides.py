"""Angles led past a half turn, rollers inside rings: what rows alone cannot tell is kept, or said."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def test_an_angle_led_past_a_half_turn_is_the_same_in_run_residual_and_driven_motion() -> None:
    s = da.System("led crank", gravity=(0, 0, 0))
    crank, coupler, rocker = (
        s.body("crank", da.rod(0.3, 1.0)),
        s.body("coupler", da.rod(1.0, 1.0)),
        s.body("r", da.rod(0.8, 1.0)),
    )
    s.connect("A", da.Revolute("y"), s.ground, crank)
    s.connect("B", da.Revolute("y"), crank.at(0.3, 0, 0), coupler)
    s.connect("C", da.Revolute("y"), coupler.at(1.0, 0, 0), rocker.at(0.8, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.9, 0, 0), rocker)
    s.connect("lean", da.AxisAngle("x", "x", 1.3), s.ground, crank)
    s.drive("lean", speed=2.0)
    s.initial("A", position=1.3)
    model = s.compile()
    result = da.simulate(model, 3.0)
    assert result["A.position"][-1] == pytest.approx(1.3 + 2.0 * 3.0, abs=1e-9)
    assert abs(result["constraints.residual"]).max() < 1e-10
    for t in (0.5, 1.2, 2.0, 2.9):
        motion, state = da.driven_motion(model, t), result.at(t)
        np.testing.assert_allclose(motion.q, state.q, atol=1e-9)
        np.testing.assert_allclose(motion.v, state.v, atol=1e-8)
    assert da.mobility(model, t=2.0).left == 0


def led_arm(law: da.laws.Law) -> da.System:
    s = da.System("led arm")
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("R", da.Revolute("z"), s.ground, arm)
    s.connect("lean", da.AxisAngle("x", "x", 1.2), s.ground, arm)
    s.initial("R", position=1.2)
    s.drive("lean", position=law)
    return s


@pytest.mark.parametrize("method", ["auto", "dopri5", "radau"])
@pytest.mark.parametrize(
    "law",
    [
        da.Polynomial((1.2, 1.0, 0.5)),
        da.Polynomial((1.2, np.pi - 1.2)),
        da.Polynomial((1.2, 0.0, np.pi - 1.2)),
        da.Harmonic(2.0, 1.0, 0.0, 1.2),
        da.Ramp(1.2, 2 * np.pi - 1.2, 2.0),
    ],
)
def test_an_angle_led_through_a_half_turn_goes_on_or_says_why_not(law: da.laws.Law, method: str) -> None:
    try:
        result = da.simulate(led_arm(law), 1.8, method=method)
    except da.IntegrationError as error:
        assert "'lean' leads an angle between two axes" in str(error)
        return
    went_on = np.abs(result["R.position"] - [law(t)[0] for t in result.t]).max() < 1e-6
    assert went_on or any("turned back" in note for note in result.stats.notes)


def ring(inside: bool, start: float) -> da.System:
    s = da.System("ring", gravity=(0, 0, 0))
    roller = s.body("roller", da.cylinder(0.1, 0.02, mass=1.0))
    s.connect("plane", da.Planar("z"), s.ground, roller)
    circle = da.Curve.path([da.Arc((0, 0), 0.5, 0.0, 2 * np.pi)])
    s.connect("ring", da.RollingCam(circle, radius=0.1, inside=inside), s.ground, roller)
    s.initial("plane.x", position=start)
    s.initial("plane.y", speed=1.0)
    return s


@pytest.mark.parametrize(("inside", "radius"), [(True, 0.4), (False, 0.6)])
def test_a_roller_rolls_inside_or_outside_as_it_is_made(inside: bool, radius: float) -> None:
    result = da.simulate(ring(inside, radius), 2.0)
    assert result.stats.notes == []
    places = result["plane.position"]
    np.testing.assert_allclose(np.hypot(places[:, 0], places[:, 1]), radius, atol=1e-10)
    # the centre goes round at 1 m/s; the point of contact rests: the spin follows
    spin = -1.0 / 0.1 if inside else 1.0 / 0.1
    np.testing.assert_allclose(result["plane.angle.speed"], spin, atol=1e-8)
    assert np.arctan2(places[-1, 1], places[-1, 0]) == pytest.approx(np.angle(np.exp(2j / radius)), abs=1e-7)


def test_a_start_on_the_other_side_is_said() -> None:
    result = da.simulate(ring(False, 0.4), 0.1)
    assert any("'ring' was to start inside its profile and starts outside" in note for note in result.stats.notes)
    result = da.simulate(ring(True, 0.6), 0.1)
    assert any("'ring' was to start outside its profile and starts inside" in note for note in result.stats.notes)
    with pytest.raises(da.ModelError, match="flat face"):
        da.CamFollower(da.Curve.path([da.Arc((0, 0), 0.5, 0.0, 2 * np.pi)]), "flat", inside=True)
