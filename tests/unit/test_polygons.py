"""Velocity and acceleration polygons."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar, slider_crank


def driven(s: da.System) -> da.Result:
    s.drive("A", speed=da.Polynomial((2.0, 0.7)))
    return da.simulate(s, 2.0, times=np.linspace(0, 2, 41))


def test_images_are_similar_to_bodies() -> None:
    s = four_bar()
    s["coupler"].marker("P", 0.9, 1.1, 0)
    result = driven(s)
    points = ["A", "B", "C", "D", "coupler.P"]
    v, a = da.velocity_polygon(result, points, row=20), da.acceleration_polygon(result, points, row=20)
    w, e = result["coupler.angular_velocity.z"][20], result["coupler.angular_acceleration.z"][20]
    for tip, tail in (("C", "B"), ("P", "C"), ("B", "P")):
        r = v.places[tip] - v.places[tail]
        assert np.allclose(v.relative(tip, tail), w * np.array([-r[1], r[0], 0]), atol=1e-12)
        assert np.linalg.norm(a.relative(tip, tail)) == pytest.approx(np.hypot(e, w**2) * np.linalg.norm(r))
    assert np.allclose(v.vectors["P"], result["coupler.P.velocity"][20], atol=1e-13)
    assert np.allclose(a.vectors["P"], result["coupler.P.acceleration"][20], atol=1e-12)


def test_arrows_add_up() -> None:
    a = da.acceleration_polygon(driven(four_bar()), t=1.0)
    assert a.row == 20 and set(a.vectors) == set("ABCD")
    for edge in a.edges:
        assert np.allclose(edge.normal + edge.tangential, edge.vector, atol=1e-12)
        assert np.allclose(a.vectors[edge.tail] + edge.vector, a.vectors[edge.tip], atol=1e-12)
        assert abs(edge.normal @ edge.tangential) < 1e-12
    assert {(e.body, e.tail, e.tip) for e in a.edges} == {
        ("crank", "A", "B"),
        ("coupler", "B", "C"),
        ("rocker", "D", "C"),
    }
    assert "acceleration polygon at t = 1 s" in str(a)


def test_a_slide_has_two_points() -> None:
    v = da.velocity_polygon(driven(slider_crank()), row=3)
    assert {"D (ground)", "D (slider)", "A", "B", "C"} == set(v.vectors)
    assert not v.vectors["D (ground)"].any()
    assert np.allclose(v.vectors["D (slider)"], v.vectors["C"])


def test_polygons_of_a_moving_frame() -> None:
    result = driven(four_bar())
    v = da.velocity_polygon(result, row=7, relative_to="crank")
    assert np.linalg.norm(v.vectors["B"]) < 1e-13
    turning = result["rocker.angular_velocity.z"][7] - result["crank.angular_velocity.z"][7]
    gap = v.relative("C", "D")
    assert np.linalg.norm(gap) == pytest.approx(abs(turning) * 2.0)


def test_bad_polygons_are_refused() -> None:
    result = driven(four_bar())
    with pytest.raises(da.ModelError, match="not both"):
        da.velocity_polygon(result, row=1, t=1.0)
    with pytest.raises(da.ModelError, match="give a number from 0 to 40"):
        da.velocity_polygon(result, row=41)
    with pytest.raises(da.ModelError, match="it has"):
        da.velocity_polygon(result).relative("C", "Z")
