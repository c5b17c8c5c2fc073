"""Instant centres, polodes, inflection circles, screw axes."""

from __future__ import annotations

import numpy as np
import pytest
from systems.linkages import trammel, wheel

import dalembert as da
from dalembert.library.mechanisms import bennett, four_bar, parallelogram, slider_crank, spherical_four_bar
from dalembert.motion.geometry.coupler_curves import coupler_curve
from dalembert.rotation import axis_angle


def driven(s: da.System, duration: float = 4.0, rows: int = 241) -> da.Result:
    s.drive("A", speed=da.Polynomial((1.0, 0.1)))
    return da.simulate(s, duration, times=np.linspace(0, duration, rows))


def test_kennedys_three_centres_lie_on_a_line() -> None:
    centres = da.instant_centres(driven(four_bar()))
    assert len(centres) == 6
    names = centres.bodies
    for a, b, c in [(0, 1, 3), (1, 2, 3), (0, 2, 3), (0, 1, 2)]:
        P, Q, R = (centres[names[i], names[j]].point for i, j in ((a, b), (b, c), (a, c)))
        u, w = Q - P, R - P
        size = np.linalg.norm(u, axis=1) * np.linalg.norm(w, axis=1) + 1e-12
        assert (np.linalg.norm(np.cross(u, w), axis=1) / size)[1:].max() < 1e-6


def test_centres_give_the_ratio_of_angular_velocities() -> None:
    result = driven(four_bar())
    x = da.instant_centres(result)["crank", "rocker"].point
    ratio = result["rocker.angular_velocity.z"] / result["crank.angular_velocity.z"]
    assert np.abs(x[:, 1]).max() < 1e-12
    assert np.abs(ratio - x[:, 0] / (x[:, 0] - 2.2)).max() < 1e-12
    pole = da.instant_centres(result)["ground", "coupler"].point  # where crank and rocker meet
    B, C, D = result["coupler.position"], result["coupler.at(2.5, 0, 0).position"], np.array([2.2, 0, 0])
    assert np.abs(np.cross(pole, B)[:, 2]).max() < 1e-9 * np.abs(pole).max()
    assert np.abs(np.cross(pole - D, C - D)[:, 2]).max() < 1e-9 * np.abs(pole).max()


def test_centres_at_infinity_are_reported() -> None:
    centres = da.instant_centres(driven(slider_crank()))
    slide = centres["slider", "ground"]
    assert slide.infinite.all() and np.isnan(slide.point).all()
    assert np.abs(np.abs(slide.direction[:, 1]) - 1).max() < 1e-12  # across the guide
    flat = da.instant_centres(driven(parallelogram(), 1.0))
    assert flat["ground", "coupler"].infinite.all()
    assert flat["crank", "rocker"].infinite.all()
    s = four_bar()
    s.connect("weld", da.Fixed(), s["coupler"], s.body("plate", mass=1.0, inertia=(1, 1, 1)))
    assert da.instant_centres(driven(s))["coupler", "plate"].none.all()


def test_centres_of_bodies_whose_origins_stand_still_at_the_world_s_origin() -> None:
    s = da.System("lever", gravity=(0, 0, 0))
    crank, lever = s.body("crank"), s.body("lever")
    s.connect("D", da.Revolute("z"), s.ground, lever)
    s.connect("A", da.Revolute("z"), s.ground.at(0, 1.0, 0), crank)
    s.connect("S", da.PointOnLine("x"), lever, crank.at(0.4, 0, 0))
    s.initial("A", position=0.3)
    s.initial("D", position=1.2, guess=True)
    motion = da.kinematics(s, drive="A", values=np.linspace(0.3, 1.3, 11))
    centres = da.instant_centres(motion)
    x, y, _ = centres["crank", "lever"].point.T  # on the line of the pivots, where speeds are alike
    assert np.abs(x).max() < 1e-12
    assert np.allclose(y / (y - 1.0), motion["A.speed"] / motion["D.speed"])


def test_centres_where_a_mechanism_turns_back() -> None:
    s = four_bar()
    s.drive("A", position=da.Polynomial((1.0, 0.0, 0.5)))  # at rest at the start
    centres = da.instant_centres(da.simulate(s, 1.0, times=np.linspace(0, 1, 101)))
    pole = centres["ground", "coupler"].point
    assert np.isfinite(pole).all()
    assert np.abs(pole[0] - pole[1]).max() < 0.05 * np.abs(pole[0]).max()


def test_polodes_of_a_trammel_are_cardans_circles() -> None:
    result = da.simulate(trammel(), 5.0, times=np.linspace(0, 5, 181))
    polodes = da.centrodes(result, "rod")
    assert np.abs(np.linalg.norm(polodes.fixed, axis=1) - 1.0).max() < 1e-12
    assert np.abs(np.linalg.norm(polodes.moving - [0.5, 0, 0], axis=1) - 0.5).max() < 1e-12
    circles = da.inflection_circles(result, "rod")
    assert np.abs(circles.diameter - 1.0).max() < 1e-10  # the moving polode itself
    assert np.abs(circles.centre - result["rod.at(0.5, 0, 0).position"]).max() < 1e-10
    speed = np.gradient(polodes.fixed, result.t, axis=0)
    assert np.abs(speed - polodes.pole_velocity)[2:-2].max() < 2e-3


def test_a_wheel_rolls_on_its_track() -> None:
    polodes = da.centrodes(da.simulate(wheel(0.5), 3.0), "disc")
    assert np.abs(polodes.fixed[:, 2]).max() < 1e-12  # the track
    assert np.abs(np.linalg.norm(polodes.moving, axis=1) - 0.5).max() < 1e-12  # the rim
    circles = da.inflection_circles(da.simulate(wheel(0.5), 3.0), "disc")
    assert np.abs(circles.diameter - 0.5).max() < 1e-12


def test_the_moving_polode_rolls_on_the_fixed_one() -> None:
    result = driven(four_bar(), 2.0, 2001)
    polodes = da.centrodes(result, "rocker", relative_to="crank")
    near = np.abs(polodes.fixed).max(axis=1) < 50
    lengths = [
        np.linalg.norm(np.diff(line, axis=0), axis=1)[near[1:] & near[:-1]] for line in (polodes.fixed, polodes.moving)
    ]
    assert len(lengths[0]) > 500
    assert np.abs(lengths[0] / lengths[1] - 1).max() < 1e-3  # as long on either side


def test_points_of_the_inflection_circle_go_straight_on() -> None:
    result = driven(four_bar())
    circles = da.inflection_circles(result, "coupler")
    k = 100
    T, D, P = circles.tangent[k], circles.diameter_vector[k], circles.pole[k]
    R, o = result["coupler.rotation"][k], result["coupler.position"][k]
    for angle in (0.3, 1.4, 2.7):
        x = P + circles.diameter[k] * np.sin(angle) * (np.cos(angle) * T + np.sin(angle) * D / circles.diameter[k])
        curve = coupler_curve(result, result.model.system["coupler"].at(*(R.T @ (x - o))))
        assert abs(curve.curvature[k]) < 1e-9 * np.nanmax(np.abs(curve.curvature))


def test_euler_and_savary_give_the_centre_of_curvature() -> None:
    result = driven(four_bar())
    circles = da.inflection_circles(result, "coupler")
    centres = circles.centre_of_curvature((0.9, 1.1, 0))
    exact = coupler_curve(result, "coupler.at(0.9, 1.1, 0)").centres
    assert np.nanmax(np.abs(centres - exact)) < 1e-9 * np.nanmax(np.abs(exact))
    assert np.abs(circles.centre_of_curvature((0, 0, 0))).max() < 1e-9  # B goes round A
    assert np.abs(circles.centre_of_curvature((2.5, 0, 0)) - [2.2, 0, 0]).max() < 1e-8  # C round D


def test_the_acceleration_pole_has_none() -> None:
    result = driven(four_bar())
    circles = da.inflection_circles(result, "coupler")
    x = circles.acceleration_pole - result["coupler.position"]
    w = result["coupler.angular_velocity"]
    a = (
        result["coupler.acceleration"]
        + np.cross(result["coupler.angular_acceleration"], x)
        + np.cross(w, np.cross(w, x))
    )
    assert np.abs(a).max() < 1e-9


def test_joints_that_go_round_circles_have_stationary_curvature() -> None:
    circles = da.inflection_circles(driven(four_bar(), rows=481), "coupler")
    inner = slice(3, -3)
    for point in ((0, 0, 0), (2.5, 0, 0)):
        x = circles._from_pole(point)
        size = np.linalg.norm(x, axis=1) ** 3 + np.linalg.norm(x, axis=1) * circles.diameter**2
        assert (np.abs(circles.stationary(point)) / size)[inner].max() < 1e-6


def test_points_of_the_cubic_have_stationary_curvature() -> None:
    result = driven(four_bar(), rows=961)
    circles = da.inflection_circles(result, "coupler")
    k = 480
    R, o, body = result["coupler.rotation"][k], result["coupler.position"][k], result.model.system["coupler"]
    curve = circles.stationary_curve(k)
    for m in (40, 130, 300):
        path = coupler_curve(result, body.at(*(R.T @ (curve[m] - o))))
        rate = np.gradient(path.curvature, result.t)
        assert abs(rate[k]) < 2e-3 * np.abs(rate).max()
    ball = coupler_curve(result, body.at(*(R.T @ (circles.ball_point[k] - o))))
    near = ball.curvature[k - 1 : k + 2]
    assert abs(near[1]) < 1e-9 and near[0] * near[2] > 0  # touches zero, and does not pass it


def test_ball_s_point_is_undetermined_where_all_points_go_straight() -> None:
    result = da.simulate(trammel(), 3.0, times=np.linspace(0, 3, 121))
    assert np.isnan(da.inflection_circles(result, "rod").ball_point[3:-3]).all()


def test_screw_axes_are_those_of_the_twist() -> None:
    result = driven(bennett(), 3.0)
    axes = da.screw_axes(result, "link B")
    w, v, o = result["link B.angular_velocity"], result["link B.velocity"], result["link B.position"]
    there = v + np.cross(w, axes.point - o)  # points of the axis move along it
    assert np.abs(there - axes.pitch[:, None] * w).max() < 1e-12
    assert np.abs(np.cross(axes.direction, w)).max() < 1e-12
    assert np.allclose(axes.turning, np.linalg.norm(w, axis=1))
    back = axes.seen.rotation @ axes.moving_point[:, :, None]
    assert np.abs(back[:, :, 0] + o - axes.point).max() < 1e-12


def test_screw_axes_of_joints_and_of_spherical_motion() -> None:
    result = driven(bennett(), 3.0)
    joint = da.screw_axes(result, "link B", relative_to="link A")
    assert np.abs(joint.pitch).max() < 1e-12
    assert np.abs(np.abs(np.einsum("ni,i->n", joint.direction, joint.direction[0])) - 1).max() < 1e-12
    sphere = da.screw_axes(driven(spherical_four_bar(), 2.0), "link B")
    gap = np.cross(sphere.point, sphere.direction)
    assert np.abs(gap).max() < 1e-12 and np.abs(sphere.pitch).max() < 1e-12  # all through the centre
    assert np.abs(sphere.striction)[3:-3].max() < 1e-6


def test_pitch_of_a_screw_and_of_a_slide() -> None:
    s = da.System("nut", gravity=(0, 0, 0))
    nut, block = s.body("nut", mass=1.0, inertia=(1, 1, 1)), s.body("block", mass=1.0, inertia=(1, 1, 1))
    s.connect("S", da.Screw("z", pitch=0.02), s.ground, nut.at(0.3, 0, 0))
    s.connect("P", da.Prismatic("y"), nut, block)
    s.drive("S", speed=2.0)
    s.drive("P", speed=0.5)
    result = da.simulate(s, 1.0, times=np.linspace(0, 1, 11))
    axes = da.screw_axes(result, "nut")
    assert np.allclose(axes.pitch, result["nut.velocity.z"] / 2.0, rtol=1e-12)
    slide = da.screw_axes(result, "block", relative_to="nut")
    assert slide.infinite.all() and np.isinf(slide.pitch).all() and np.allclose(slide.direction, [0, 1, 0])


def test_what_has_no_centre_is_refused() -> None:
    result = driven(bennett(), 1.0, 11)
    with pytest.raises(da.ModelError, match="screw_axes"):
        da.instant_centres(result)
    with pytest.raises(da.ModelError, match="screw_axes"):
        da.centrodes(result, "link B")
    with pytest.raises(da.ModelError, match="another body"):
        da.screw_axes(result, "link B", relative_to="link B")
    with pytest.raises(da.ModelError, match="give two of"):
        da.instant_centres(driven(four_bar(), 1.0, 11))["crank", "wheel"]


def test_nothing_depends_on_how_the_plane_lies_in_space() -> None:
    R, o = axis_angle((1, 2, 3), 1.1), np.array([0.3, -0.2, 0.5])
    s = da.System("tilted four-bar", gravity=(0, 0, 0))
    crank, coupler, rocker = (s.body(name) for name in ("crank", "coupler", "rocker"))
    s.connect("A", da.Revolute("z"), s.ground.at(*o, rotation=R), crank)
    s.connect("B", da.Revolute("z"), crank.at(1.0, 0, 0), coupler)
    s.connect("C", da.Revolute("z"), coupler.at(2.5, 0, 0), rocker.at(2.0, 0, 0))
    s.connect("D", da.Revolute("z"), s.ground.at(*(o + R @ np.array([2.2, 0, 0])), rotation=R), rocker)
    for name, value in (("A", 1.0), ("B", -0.6), ("C", 0.9)):
        s.initial(name, position=value, guess=name != "A")
    values = np.linspace(1.0, 5.0, 121)
    tilted, flat = (da.kinematics(system, drive="A", values=values) for system in (s, four_bar()))
    one, two = (da.inflection_circles(motion, "coupler") for motion in (tilted, flat))
    assert np.allclose((one.pole - o) @ R, two.pole, rtol=1e-9)
    assert np.allclose((one.ball_point - o) @ R, two.ball_point, rtol=1e-6, atol=1e-6)
    angles = [da.transmission_angle(motion, "C", output="D").transmission for motion in (tilted, flat)]
    assert np.allclose(*angles, atol=1e-12)
    off = {"coupler.length": 1e-3, "ground.A-D": 1e-3, "C.rocker.y": 1e-3}
    point = "coupler.at(0.9, 1.1, 0).position"
    errors = [da.tolerances(motion, point, off).sensitivities for motion in (tilted, flat)]
    assert np.allclose(R.T @ errors[0], errors[1], atol=1e-10)
