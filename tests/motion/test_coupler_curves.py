"""Paths of points: arc length, curvature, torsion, cusps, inflections, double points, straightness."""

from __future__ import annotations

import numpy as np
import pytest
from systems.linkages import trammel, wheel

import dalembert as da
from dalembert.library.mechanisms import bennett, four_bar, slider_crank
from dalembert.motion.geometry.interpolation import differentiate, extremes, roots


def turn(s: da.System, joint: str = "A", rows: int = 361, speed: float = 1.0) -> da.Result:
    s.drive(joint, speed=speed)
    return da.simulate(s, 2 * np.pi / abs(speed), times=np.linspace(0, 2 * np.pi / abs(speed), rows))


def test_points_of_a_trammel_go_along_lines_circles_and_ellipses() -> None:
    result = da.simulate(trammel(), 5.0, times=np.linspace(0, 5.0, 361))
    circle = da.coupler_curve(result, "rod.at(0.5, 0, 0)")
    assert np.abs(circle.curvature - 2.0).max() < 1e-12
    assert np.abs(circle.centres).max() < 1e-12
    line = da.coupler_curve(result, "rod.at(0.5, 0.5, 0)")  # every point of the circle over the rod
    assert line.straightness().width < 1e-12
    assert np.nanmax(np.abs(line.curvature)) < 1e-6
    assert line.inflections == [] and line.cusps == []
    assert len(line.returns) == 2  # goes back and forth
    ellipse = da.coupler_curve(result, "rod.at(0.2, 0, 0)")
    assert 1 / np.abs(ellipse.curvature).max() == pytest.approx(0.2**2 / 0.8, rel=1e-3)
    x, y, _ = ellipse.points.T
    exact = 0.8 * 0.2 / ((0.8 * y / 0.2) ** 2 + (0.2 * x / 0.8) ** 2) ** 1.5
    assert np.abs(ellipse.curvature - exact).max() < 1e-10 * exact.max()


def test_a_rolling_wheel_draws_cycloids() -> None:
    R = 0.5
    result = da.simulate(wheel(R), 8.0)
    curve = da.coupler_curve(result, "disc.at(0, 0, -0.5)")
    angle = 8.0 + 0.1 * 64
    assert len(curve.cusps) == int(angle / (2 * np.pi))
    assert np.allclose([s.point[0] for s in curve.cusps], 2 * np.pi * R * np.arange(1, 3), atol=1e-8)
    full = 8 * R * np.array([0, 1, 2])
    rest = angle - 4 * np.pi
    assert curve.length[-1] == pytest.approx(full[2] + 4 * R * (1 - np.cos(rest / 2)), rel=1e-9)
    trochoid = da.coupler_curve(result, "disc.at(0, 0, -0.8)")  # beyond the rim: it loops, and crosses itself
    assert trochoid.cusps == [] and len(trochoid.double_points) == 2
    for spot in trochoid.double_points:
        places = [result.output("disc.at(0, 0, -0.8).position", [t])[0] for t in spot.t]
        assert np.abs(places[0] - places[1]).max() < 1e-8
    inner = da.coupler_curve(result, "disc.at(0, 0, -0.2)")
    assert inner.double_points == [] and len(inner.inflections) == 5
    angles = [t + 0.1 * t**2 for spot in inner.inflections for t in spot.t]
    assert np.allclose(np.cos(angles), 0.2 / 0.5, atol=1e-6)  # where the point is on the inflection circle


def test_curvature_and_length_agree_with_the_path_itself() -> None:
    result = turn(four_bar(), rows=1441)
    curve = da.coupler_curve(result, "coupler.at(0.9, 1.1, 0)")
    x, y, _ = curve.points.T
    assert curve.closed
    assert curve.length[-1] == pytest.approx(np.hypot(np.diff(x), np.diff(y)).sum(), rel=1e-5)
    heading = np.unwrap(np.arctan2(curve.tangent[:, 1], curve.tangent[:, 0]))
    assert np.abs(np.gradient(heading, curve.length) - curve.curvature)[2:-2].max() < 2e-3
    assert len(curve.inflections) == 2
    for spot in curve.inflections:
        near = np.abs(curve.t - spot.t[0]).argmin()
        assert abs(curve.curvature[near]) < 0.02
    assert "2 inflections" in repr(curve)


def test_paths_do_not_depend_on_how_fast_they_are_gone_along() -> None:
    s = four_bar()
    s.drive("A", speed=da.Polynomial((1.0, 0.4)))
    other = da.simulate(s, 3.0, times=np.linspace(0, 3, 91))
    angles = other["A"]
    s = four_bar()
    s.drive("A", speed=1.0)
    steady = da.simulate(s, 5.0, times=angles - angles[0])
    point = "coupler.at(0.9, 1.1, 0)"
    one, two = (da.coupler_curve(result, point) for result in (other, steady))
    assert np.abs(one.curvature - two.curvature).max() < 1e-6  # the runs themselves are as good as that
    assert one.length[-1] == pytest.approx(two.length[-1], rel=1e-7)


def test_torsion_of_a_path_in_space() -> None:
    s = da.System("screw", gravity=(0, 0, 0))
    nut = s.body("nut", mass=1.0, inertia=(1, 1, 1))
    s.connect("S", da.Cylindrical("z"), s.ground, nut)
    s.drive("S", speed=[da.Polynomial((2.0, 0.5)), da.Polynomial((0.6, 0.15))])
    r, h = 0.4, 0.3  # helix
    curve = da.coupler_curve(da.simulate(s, 3.0, times=np.linspace(0, 3, 181)), "nut.at(0.4, 0, 0)")
    assert curve.normal is None
    assert np.allclose(curve.curvature, r / (r**2 + h**2), rtol=1e-9)
    assert np.allclose(np.abs(curve.torsion), h / (r**2 + h**2), rtol=1e-6)
    moved = da.coupler_curve(turn(bennett(), rows=721), "link B.at(0.3, 0.2, 0.1)")
    assert moved.normal is None and np.isfinite(moved.torsion).all() and moved.closed


def test_a_path_seen_from_a_moving_body() -> None:
    result = turn(four_bar())
    curve = da.coupler_curve(result, "rocker", relative_to="crank")  # D seen from the crank: a circle about A
    assert np.abs(np.linalg.norm(curve.points, axis=1) - 2.2).max() < 1e-12
    assert np.abs(np.abs(curve.curvature) - 1 / 2.2).max() < 1e-10
    assert curve.length[-1] == pytest.approx(2.2 * 2 * np.pi, rel=1e-9)


def test_straightness_of_a_watt_linkage() -> None:
    s = four_bar(1.0, 0.5, 1.0, np.sqrt(4 + 0.25), angle=np.arctan(0.5 / 2) - 0.2, crossed=True)
    s.drive("A", speed=1.0)
    result = da.simulate(s, 0.4, times=np.linspace(0, 0.4, 41))
    curve = da.coupler_curve(result, "coupler.at(0.25, 0, 0)")
    part = curve.straightness(0.0, 0.4)
    assert part.length > 0.1 and part.width < 1e-3 * part.length
    assert part.width <= 2 * part.deviation + 1e-15
    circle = da.coupler_curve(result, "crank.at(1, 0, 0)")
    sector = circle.straightness()
    angle = sector.length / 2  # sine of half the angle of the arc
    assert sector.width == pytest.approx(1 - np.sqrt(1 - angle**2), rel=1e-3)


def test_a_slider_has_turning_points_and_no_cusps() -> None:
    curve = da.coupler_curve(turn(slider_crank()), "slider")
    assert curve.cusps == [] and curve.inflections == []
    curve = da.coupler_curve(turn(slider_crank()), "rod.at(0.6, 0, 0)")
    assert len(curve.returns) == 2
    assert sorted(s.point[0] for s in curve.returns) == pytest.approx([0.4, 0.8], abs=1e-9)


def test_points_of_the_moving_polode_have_cusps() -> None:
    result = turn(four_bar())
    row = 250
    place = da.centrodes(result, "coupler").moving[row]
    curve = da.coupler_curve(result, result.model.system["coupler"].at(*place))
    assert any(abs(spot.t[0] - result.t[row]) < 1e-6 for spot in curve.cusps)
    assert all(np.isfinite(spot.point).all() for spot in curve.cusps)
    beside = da.coupler_curve(result, result.model.system["coupler"].at(*(place + np.array([0.01, 0, 0]))))
    assert not any(abs(spot.t[0] - result.t[row]) < 1e-2 for spot in beside.cusps)


def test_a_coupler_curve_that_crosses_itself() -> None:
    result = turn(four_bar())
    found = {}
    for x, y in ((1.25, -1.2), (2.0, -1.5), (1.0, -2.0), (0.4, -0.4)):
        point = f"coupler.at({x}, {y}, 0)"
        curve = da.coupler_curve(result, point)
        found[x, y] = len(curve.double_points)
        for spot in curve.double_points:
            early, late = result.output(f"{point}.position", sorted(spot.t))
            assert np.abs(early - late).max() < 1e-7 and abs(spot.t[1] - spot.t[0]) > 0.1
    assert any(found.values())


def test_what_cannot_be_is_refused() -> None:
    result = turn(four_bar(), rows=11)
    with pytest.raises(da.ModelError, match="give a body"):
        da.coupler_curve(result, "couple.P")
    with pytest.raises(da.ModelError, match="give a Result"):
        da.coupler_curve(four_bar(), "coupler")  # type: ignore[arg-type]
    with pytest.raises(da.ModelError, match="give times"):
        da.coupler_curve(result, "coupler").straightness(3.0, 2.0)


def test_markers_keep_all_their_digits() -> None:
    s = four_bar()
    result = turn(s, rows=11)
    third = s["coupler"].at(1 / 3, 2 / 7, 0)
    assert np.abs(da.coupler_curve(result, third).points - result.model.pose(third, result.q).position).max() < 1e-15


def test_the_next_rate_of_a_smooth_function() -> None:
    t = np.sort(np.random.default_rng(1).uniform(0, 3, 60))
    found = differentiate(t, np.sin(t), np.cos(t), -np.sin(t))
    assert np.abs(found + np.cos(t)).max() < 1e-5  # rows that lie close together cost digits
    assert np.abs(differentiate(t, np.sin(t), np.cos(t)) + np.sin(t)).max() < 1e-5
    jump = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 4.0])
    value = np.where(np.arange(6) < 3, jump**3, -(jump**3))
    rate, second = (np.where(np.arange(6) < 3, f, -f) for f in (3 * jump**2, 6 * jump))
    assert np.allclose(differentiate(jump, value, rate, second), [6, 6, 6, -6, -6, -6])


def test_extremes_and_roots_between_rows() -> None:
    t = np.linspace(0, 2 * np.pi, 25)
    found = extremes(t, np.sin(t + 0.1), np.cos(t + 0.1))
    assert (found.least, found.greatest) == pytest.approx((-1, 1), abs=2e-5)
    assert found.t_greatest == pytest.approx(np.pi / 2 - 0.1, abs=1e-3)
    assert extremes(t, np.sin(t + 0.1)).greatest == pytest.approx(1, abs=1e-3)
    assert roots(t, np.sin(t + 0.1), np.cos(t + 0.1)) == pytest.approx([np.pi - 0.1, 2 * np.pi - 0.1], abs=1e-5)
