"""Vectors along the axes of any body or marker, on the way out and on the way in."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def tumbling() -> da.System:
    s = da.System("tumbling")
    base, arm = s.body("base", da.box(0.3, 0.2, 0.1, 2.0)), s.body("arm", da.rod(0.5, 0.4, radius=0.01))
    base.marker("lug", 0.1, 0.05, 0.0, rotation=da.rotation.bryant(0.3, -0.8, 1.1))
    s.connect("H", da.Revolute((1, 2, -1)), "base.lug", arm)
    s.place("base", rotation=da.rotation.bryant(0.2, 0.5, -0.9), velocity=(1, 2, 3), angular_velocity=(4, -3, 2))
    s.initial("H", position=0.4, speed=2.0)
    return s


def test_components_are_along_the_axes_asked_for() -> None:
    result = da.simulate(tumbling(), 0.3, times=np.linspace(0, 0.3, 7))
    for frame in ("base", "arm", "base.lug", "arm.at(0.1, 0, 0)"):
        R = result[f"{frame}.rotation"]
        for name in (
            "arm.velocity",
            "base.angular_velocity",
            "H.force",
            "H.moment",
            "momentum.angular",
            "arm.position",
        ):
            turned = np.stack([A.T @ x for A, x in zip(R, result[name], strict=True)])
            assert np.allclose(result[f"{name} in {frame}"], turned, rtol=1e-13, atol=1e-13)
            assert np.allclose(result[f"{name}.y in {frame}"], turned[:, 1], rtol=1e-13, atol=1e-13)
    assert np.array_equal(result["arm.velocity in ground"], result["arm.velocity"])


def test_a_joint_passes_no_moment_along_its_own_axis() -> None:
    result = da.simulate(tumbling(), 0.3, times=np.linspace(0, 0.3, 7))
    moment = result["H.moment in base.lug"]
    assert np.abs(moment @ np.array([1, 2, -1])).max() < 1e-12 * np.abs(moment).max()
    assert "axes of 'base.lug'" in result.describe("H.moment in base.lug")


def test_units_go_with_axes() -> None:
    result = da.simulate(tumbling(), 0.1, times=[0.0, 0.1])
    assert np.allclose(0.0254 * result["arm.position.z in base [in]"], result["arm.position.z in base"])


def test_speeds_are_given_in_axes_of_the_body_too() -> None:
    world, own = tumbling(), tumbling()
    R = da.rotation.bryant(0.2, 0.5, -0.9)
    v, w = R.T @ [1, 2, 3], R.T @ [4, -3, 2]
    own.place("base", rotation=R, velocity=v, angular_velocity=w, axes="body")
    a, b = (da.start_state(s).v for s in (world, own))
    assert np.allclose(a, b, atol=1e-14)
    assert np.allclose(da.simulate(own, 0.01)["base.angular_velocity in base"][0], w, atol=1e-13)


def test_what_has_no_axes_is_refused_by_name() -> None:
    result = da.simulate(tumbling(), 0.01)
    with pytest.raises(da.ModelError, match="only vectors in world axes"):
        result["base.quaternion in arm"]
    with pytest.raises(da.ModelError, match=r"name is 'nobody\.rotation'"):
        result["arm.velocity in nobody"]
    with pytest.raises(da.ModelError, match="axes is 'body'; give the orientation of the body"):
        s = da.System("stone")
        s.body("stone", mass=1.0)
        s.place("stone", velocity=(1, 0, 0), axes="body")
