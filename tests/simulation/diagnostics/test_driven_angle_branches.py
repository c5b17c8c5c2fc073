"""Angles led past a half turn, rollers inside rings: what rows alone cannot tell is kept, or said."""

from __future__ import annotations

from typing import Any

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
    assert da.mobility(model, t=2.0).driven_mobility == 0


def led_arm(law: da.laws.Law, start: float = 1.2, **more: Any) -> da.System:
    s = da.System("led arm")
    arm = s.body("arm", da.rod(length=1.0, mass=1.0))
    s.connect("R", da.Revolute("z"), s.ground, arm)
    s.connect("lean", da.AxisAngle("x", "x", 1.2, **more), s.ground, arm)
    s.initial("R", position=start)
    s.drive("lean", position=law)
    return s


LED = [
    da.Polynomial((1.2, 1.0, 0.5)),
    da.Polynomial((1.2, np.pi - 1.2)),
    da.Polynomial((1.2, 0.0, np.pi - 1.2)),  # a step ends where the axes meet
    da.Polynomial((1.2, -9.0)),
    da.Harmonic(9.0, 3.0, 0.0, 1.2),
    da.Ramp(1.2, 2 * np.pi - 1.2, 2.0),
]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("method", ["auto", "dopri5", "radau", "alpha"])
@pytest.mark.parametrize("law", LED)
def test_an_angle_is_led_through_half_turns_and_whole_ones(law: da.laws.Law, method: str, side: float) -> None:
    model = led_arm(law, side * 1.2).compile()
    result = da.simulate(model, 2.0, method=method)
    wanted = np.array([law(t) for t in result.t])
    assert result.stats.notes == []
    np.testing.assert_allclose(result["R.position"], side * wanted[:, 0], atol=1e-7)
    np.testing.assert_allclose(result["R.speed"], side * wanted[:, 1], atol=1e-6)
    assert np.abs(result["constraints.residual"]).max() < 1e-9
    # the effort goes with the angle: the moment of inertia times its acceleration
    np.testing.assert_allclose(result["lean.effort"], wanted[:, 2] / 3.0, atol=1e-5)
    assert np.abs(result["energy.balance"]).max() < 1e-4
    for t in (0.3, 1.0, 1.7):
        motion = da.driven_motion(model, t)
        assert abs(np.angle(np.exp(1j * (motion.q[0] - side * law(t)[0])))) < 1e-9
        assert motion.v[0] == pytest.approx(side * law(t)[1], abs=1e-9)
        assert motion.a[0] == pytest.approx(side * law(t)[2], abs=1e-8)
    swept = da.kinematics(model, times=np.linspace(0, 2, 41))
    assert np.abs(np.angle(np.exp(1j * (swept.q[:, 0] - side * np.array([law(t)[0] for t in swept.t]))))).max() < 1e-9


def test_many_runs_lead_an_angle_too() -> None:
    law = da.Polynomial((1.2, 4.0))
    model = led_arm(law).compile()
    states = da.State(q=np.full((9, 1), 1.2), v=np.full((9, 1), 4.0))
    runs = da.simulate(model, 2.0, state=states, times=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(runs["R.position"][:, -1], 9.2, atol=1e-8)


def test_a_turn_about_an_axis_is_the_angle_seen_along_it() -> None:
    """A ball joint, where two axes that meet leave the side open; about an axis there is one."""
    s = da.System("ball", gravity=(0, 0, 0))
    arm = s.body("arm", da.box(0.3, 0.2, 0.1, mass=2.0))
    s.connect("S", da.Spherical(), s.ground, arm.at(-0.2, 0.05, 0.1))
    s.connect("lean", da.AxisAngle("x", (1, 0.3, 0.2), 0.4, about=(0.1, 0, 1)), s.ground, arm)
    s.drive("lean", speed=2.0)
    model = s.compile()
    result = da.simulate(model, 2.0)  # later the axis comes to lie along the one that it turns about
    assert abs(result["energy.balance"]).max() < 1e-6 and abs(result["constraints.residual"]).max() < 1e-10
    n = np.array([0.1, 0, 1]) / np.hypot(0.1, 1)
    b = np.array([model.pose("arm", q).rotation @ [1, 0.3, 0.2] for q in result.q])
    x = np.array([1.0, 0, 0]) - n[0] * n
    turned = np.unwrap(np.arctan2(b @ np.cross(n, x), b @ x))
    np.testing.assert_allclose(turned - turned[0], 2.0 * result.t, atol=1e-8)


def test_ambiguous_requests_are_refused_with_a_remedy() -> None:
    with pytest.raises(da.ModelError, match="is parallel to it"):
        da.AxisAngle("z", "x", 0.3, about="z")
    assert da.AxisAngle("x", "x", 7.0, about="z").angle == 7.0


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


def test_a_start_on_the_other_side_is_reported() -> None:
    result = da.simulate(ring(False, 0.4), 0.1)
    assert any("'ring' was to start inside its profile and starts outside" in note for note in result.stats.notes)
    result = da.simulate(ring(True, 0.6), 0.1)
    assert any("'ring' was to start outside its profile and starts inside" in note for note in result.stats.notes)
    with pytest.raises(da.ModelError, match="flat face"):
        da.CamFollower(da.Curve.path([da.Arc((0, 0), 0.5, 0.0, 2 * np.pi)]), "flat", inside=True)
