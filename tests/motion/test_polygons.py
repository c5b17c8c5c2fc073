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
        r = v.points[tip] - v.points[tail]
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


def test_coriolis_acceleration_of_a_block_on_a_lever() -> None:
    s = da.System("quick return", gravity=(0, 0, 0))
    crank, block, lever = s.body("crank"), s.body("block"), s.body("lever")
    s.connect("A", da.Revolute("z"), s.ground.at(0, 1.0, 0), crank)
    s.connect("B", da.Revolute("z"), crank.at(0.4, 0, 0), block)
    s.connect("S", da.Prismatic("x"), lever, block)
    s.connect("D", da.Revolute("z"), s.ground, lever)
    s.initial("A", position=0.3)
    s.initial("D", position=1.2, guess=True)
    s.initial("S", position=1.1, guess=True)
    result = da.kinematics(s, drive="A", values=np.linspace(0.3, 1.3, 11), speed=2.0)
    v, a = da.velocity_polygon(result, row=4), da.acceleration_polygon(result, row=4)
    along = result["lever.rotation"][4, :, 0]
    slip, change = v.edges[-1], a.edges[-1]
    assert (slip.body, slip.tail, slip.tip) == ("S", "S (lever)", "S (block)")
    assert np.allclose(slip.vector, result["S.speed"][4] * along, atol=1e-12)
    assert np.allclose(change.tangential, result["S.acceleration"][4] * along, atol=1e-11)
    coriolis = 2 * result["D.speed"][4] * result["S.speed"][4]
    assert np.allclose(change.normal, coriolis * np.array([-along[1], along[0], 0]), atol=1e-11)
    assert np.linalg.norm(v.vectors["S (lever)"]) == pytest.approx(abs(result["D.speed"][4] * result["S.position"][4]))
    assert np.allclose(a.vectors["S (lever)"] + change.vector, a.vectors["B"], atol=1e-11)


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
    with pytest.raises(da.ModelError, match="choose among"):
        da.velocity_polygon(result).relative("C", "Z")
