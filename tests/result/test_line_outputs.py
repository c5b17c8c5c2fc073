"""Length, rate and tension of elements along lines, loads on first markers, and what is inside chains."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import dalembert as da


def hung() -> da.System:
    s = da.System("hung")
    one, two = (s.body(name, da.box(0.2, 0.1, 0.3, mass=1.0)) for name in ("one", "two"))
    s.connect("F", da.Free(), s.ground, one)
    s.connect("G", da.Free(), s.ground, two)
    s.initial("F", position=(1, 0, 0, 0, 0.1, 0.2, -0.5), speed=(0.3, 0.1, 0.2, 0.0, 0.4, 0.1))
    s.initial("G", position=(1, 0, 0, 0, 0.4, -0.2, -0.9), speed=(0.1, -0.4, 0.2, 0.3, 0.0, 0.1))
    s.connect("line", da.SpringDamper(80.0, 3.0, 0.4), one.at(0.1, 0, 0), two.at(0, 0.05, 0.1))
    s.connect("rubber", da.Bushing([90.0] * 3 + [4.0] * 3, [1.0] * 6), one.at(0, 0.1, 0), two.at(0.1, 0, 0))
    s.connect("rope", da.Cable(200.0, 0.3), s.ground, one)
    return s


def test_outputs_of_a_line_are_length_rate_and_tension() -> None:
    result = da.simulate(hung(), 0.4, rtol=1e-10, atol=1e-12, times=np.linspace(0, 0.4, 401))
    ends = [result["two.at(0, 0.05, 0.1).position"], result["one.at(0.1, 0, 0).position"]]
    length = np.linalg.norm(ends[0] - ends[1], axis=1)
    np.testing.assert_allclose(result["line.length"], length, rtol=1e-12)
    slope = CubicSpline(result.t, length)(result.t, 1)
    np.testing.assert_allclose(result["line.rate"][5:-5], slope[5:-5], atol=1e-5)
    np.testing.assert_allclose(result["line.tension"], 80.0 * (length - 0.4) + 3.0 * result["line.rate"], rtol=1e-9)
    np.testing.assert_allclose(np.abs(result["line.tension"]), result["line.force.norm"], rtol=1e-9)
    assert (result["rope.tension"] >= 0.0).all() and result.describe("line.rate").startswith("line.rate [m/s]")


def test_the_loads_on_both_ends_of_an_element_balance() -> None:
    result = da.simulate(hung(), 0.2, times=[0.1, 0.2])
    for name, first, second in (
        ("line", "one.at(0.1, 0, 0)", "two.at(0, 0.05, 0.1)"),
        ("rubber", "one.at(0, 0.1, 0)", "two.at(0.1, 0, 0)"),
    ):
        r = result[f"{second}.position"] - result[f"{first}.position"]
        np.testing.assert_allclose(result[f"{name}.first_force"], -result[f"{name}.force"], atol=1e-12)
        whole = result[f"{name}.first_moment"] + result[f"{name}.moment"] + np.cross(r, result[f"{name}.force"])
        np.testing.assert_allclose(whole, 0.0, atol=1e-12)
    np.testing.assert_allclose(result["line.first_moment"], 0.0, atol=1e-12)  # it acts along the line


@pytest.mark.parametrize("elbow", [1.0, -1.0])
def test_inner_angles_of_a_chain_and_their_rates_are_those_of_the_same_chain_of_bodies(elbow: float) -> None:
    """A two-bar leg without mass, as a chain and as bodies."""

    def leg(start: da.Result | None) -> da.System:
        s = da.System("leg")
        hip = s.body("hip", da.box(0.2, 0.1, 0.1, mass=2.0))
        s.connect("P", da.Planar("y"), s.ground, hip)
        if start is not None:
            s.initial("P", position=start["P.position"][0], speed=start["P.speed"][0])
            near = {0: [-elbow], 2: [2 * elbow]}
            parts = [da.Revolute("y"), da.bar(0.6), da.Revolute("y"), da.bar(0.5), da.Revolute("y")]
            s.connect("leg", da.KinematicChain(parts, near=near), s.ground, hip)
        else:
            thigh, shank = s.body("thigh"), s.body("shank")
            s.connect("A", da.Revolute("y"), s.ground, thigh)
            s.connect("B", da.Revolute("y"), thigh.at(0.6), shank)
            s.connect("C", da.Revolute("y"), shank.at(0.5), hip)
            s.initial("A", position=-elbow, speed=0.4)
            s.initial("B", position=2 * elbow, speed=-0.3)
            s.initial("C", position=0.2, speed=0.1)
        return s

    times = np.linspace(0.0, 0.3, 7)
    two = da.simulate(leg(None), 0.3, times=times, rtol=1e-10, atol=1e-12)
    one = da.simulate(leg(two), 0.3, times=times, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one["hip.position"], two["hip.position"], atol=1e-8)
    for inner, joint in (("0.angle", "A"), ("2.angle", "B")):
        np.testing.assert_allclose(one[f"leg.{inner}"], two[f"{joint}.position"], atol=1e-7)
        np.testing.assert_allclose(one[f"leg.{inner}.rate"], two[f"{joint}.speed"], atol=1e-6)


def test_momenta_of_bodies_add_up_to_those_of_the_system() -> None:
    result = da.simulate(hung(), 0.3, times=[0.1, 0.3])
    whole = sum(result[f"{name}.momentum"] for name in ("one", "two"))
    np.testing.assert_allclose(whole, result["momentum.linear"], atol=1e-12)
    about = result["center_of_mass"]
    spin = sum(
        result[f"{name}.angular_momentum"] + np.cross(result[f"{name}.position"] - about, result[f"{name}.momentum"])
        for name in ("one", "two")
    )
    np.testing.assert_allclose(spin, result["momentum.angular"], atol=1e-12)
