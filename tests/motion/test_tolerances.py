"""Sensitivity of positions to lengths and places, worst case and statistics."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import andrews, four_bar, slider_crank
from dalembert.motion.tolerance_analysis import Tolerances


def by_differences(report: Tolerances, step: float, row: int = 0) -> np.ndarray:
    """Return the sensitivities (outputs, deviations) by building and assembling the mechanism with deviations."""
    read = report._read
    units = step * np.eye(len(report.amounts))
    return np.array([(read(e, row) - read(-e, row)) / (2 * step) for e in units]).T


def rssr() -> da.System:
    s = da.System("RSSR", gravity=(0, 0, 0))
    crank, rod, rocker = (s.body(n, da.rod(x, 1.0)) for n, x in (("crank", 0.3), ("rod", 1.0), ("rocker", 0.6)))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Spherical(), crank.at(0.3, 0, 0), rod)
    s.connect("C", da.Universal("y", "z"), rod.at(1.0, 0, 0), rocker.at(0.6, 0, 0))
    s.connect("D", da.Revolute("y"), s.ground.at(0.8, 0.2, -0.1), rocker)
    s.initial("A", position=0.4)
    s.initial("D", position=-1.2, guess=True)
    return s


def test_lengths_of_a_slider_crank() -> None:
    angle, a, b = 0.7, 0.2, 0.6
    report = da.tolerances(
        slider_crank(a, b, angle=angle), "slider.position.x", {"crank.length": 1e-4, "rod.length": 2e-4}, hold="A"
    )
    root = np.sqrt(b**2 - (a * np.sin(angle)) ** 2)
    exact = np.array([np.cos(angle) - a * np.sin(angle) ** 2 / root, b / root])
    assert np.abs(report.sensitivities[0, 0] - exact).max() < 1e-12
    assert report.worst[0, 0] == pytest.approx(exact @ [1e-4, 2e-4])
    assert report.rss[0, 0] == pytest.approx(np.hypot(*(exact * [1e-4, 2e-4])))
    assert "crank.length" in str(report) and "root of squares" in str(report)


def test_four_bar_by_all_kinds_of_deviations() -> None:
    s = four_bar(angle=0.9)
    s["coupler"].marker("P", 1.2, 0.5, 0)
    names = (
        "crank.length",
        "coupler.length",
        "rocker.length",
        "ground.A-D",
        "D.ground.y",
        "coupler.P.x",
        "C.coupler.y",
    )
    deviations = dict.fromkeys(names, 1e-3)
    for held in ("A", "D"):  # in the tree, and where the loop is cut
        report = da.tolerances(s, ["coupler.P.position", "rocker.angle", "A", "B", "C", "D"], deviations, hold=held)
        assert np.abs(by_differences(report, 1e-5) - report.sensitivities[0]).max() < 1e-7
        assert np.abs(report.sensitivity(held, "crank.length")).max() < 1e-15


def test_deviations_in_space() -> None:
    names = ("crank.length", "rod.length", "D.ground.x", "B.crank.z", "C.rocker.y")
    turned = ("A.ground.rx", "A.ground.ry", "D.ground.rz", "C.rod.rz", "D.rocker.rx")
    report = da.tolerances(
        rssr(), ["rod.at(0.5, 0.1, 0).position", "D"], dict.fromkeys((*names, *turned), 1e-3), hold="A"
    )
    assert np.abs(by_differences(report, 1e-5) - report.sensitivities[0]).max() < 1e-7


def test_several_loops_and_a_joint_of_three_bodies() -> None:
    report = da.tolerances(
        andrews(),
        ["K3.D.position", "B", "E3"],
        dict.fromkeys(("K2.length", "K5.length", "ground.O-B", "E3.K2.y"), 1e-5),
        hold="O",
    )
    size = np.abs(report.sensitivities).max()
    assert np.abs(by_differences(report, 1e-6) - report.sensitivities[0]).max() < 1e-5 * size
    assert report.sensitivities[0, :, 0].any()  # E3, E4 and E6 move together on K2


def test_a_tree_passes_deviations_on() -> None:
    s = da.System("arm", gravity=(0, 0, 0))
    upper, lower = s.body("upper", da.rod(1.0, 1.0)), s.body("lower", da.rod(0.8, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, upper)
    s.connect("B", da.Revolute("y"), upper.at(1, 0, 0), lower)
    lower.marker("tip", 0.8, 0, 0)
    report = da.tolerances(
        s, "lower.tip.position", {"upper.length": 1e-3, "lower.tip.x": 1e-3, "A.ground.rz": 1e-3}, hold=["A", "B"]
    )
    assert np.allclose(report.sensitivities[0], [[1, 1, 0], [0, 0, 1.8], [0, 0, 0]])


def test_the_length_of_a_bar_between_two_balls() -> None:
    s = da.System("four-bar with a bar", gravity=(0, 0, 0))
    crank, rocker = s.body("crank", da.rod(1.0, 1.0)), s.body("rocker", da.rod(2.0, 1.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("D", da.Revolute("z"), s.ground.at(2.2, 0, 0), rocker)
    s.connect("bar", da.Distance(2.5), crank.at(1, 0, 0), rocker.at(2, 0, 0))
    s.initial("A", position=0.9)
    s.initial("D", position=1.3, guess=True)
    report = da.tolerances(
        s, ["D", "rocker.at(2, 0, 0).position"], {"bar.length": 1e-3, "crank.length": 1e-3}, hold="A"
    )
    assert np.abs(by_differences(report, 1e-5) - report.sensitivities[0]).max() < 1e-7
    links = da.tolerances(four_bar(angle=0.9), "D", {"coupler.length": 1e-3, "crank.length": 1e-3}, hold="A")
    assert np.allclose(links.sensitivities[0, 0], report.sensitivities[0, 0], atol=1e-9)


def test_lengths_of_links_in_planes_beside_each_other() -> None:
    s = da.System("quick return", gravity=(0, 0, 0))
    crank, block, lever = s.body("crank"), s.body("block"), s.body("lever")
    s.connect("A", da.Revolute("z"), s.ground.at(0, 1.0, 0), crank)
    s.connect("B", da.Revolute("z"), crank.at(0.4, 0, 0.3), block.at(0, 0, -0.1))
    s.connect("S", da.Prismatic("x"), lever.at(0, 0, 0.4), block)
    s.connect("D", da.Revolute("z"), s.ground, lever)
    s.initial("A", position=0.3)
    s.initial("D", position=1.2, guess=True)
    s.initial("S", position=1.1, guess=True)
    motion = da.kinematics(s, drive="A", values=[0.3, 1.0])
    report = da.tolerances(motion, "D", {"crank.length": 1e-4, "ground.A-D": 1e-4, "S.block.y": 1e-4})
    pin = np.array([0.4 * np.cos(0.3), 1 + 0.4 * np.sin(0.3)])
    across = np.array([-pin[1], pin[0]]) / (pin @ pin)  # how the angle of the lever follows the pin
    exact = [across @ [np.cos(0.3), np.sin(0.3)], across @ [0.0, 1.0]]
    assert report.sensitivities[0, 0, 0] == pytest.approx(exact[0], abs=1e-10)
    assert report.sensitivities[0, 0, 1] == pytest.approx(exact[1], abs=1e-10)  # D moved down: as if the crank went up
    assert np.abs(by_differences(report, 1e-5) - report.sensitivities[0]).max() < 1e-7
    force = da.transmission_angle(motion, "S", output="D")  # across the lever, whatever the block does
    assert np.abs(force.pressure).max() < 1e-10


def test_along_a_motion() -> None:
    s = slider_crank(0.2, 0.6)
    s.drive("A", speed=1.0)
    result = da.simulate(s, 6.0, times=np.linspace(0, 6, 61))
    report = da.tolerances(result, ["D", "slider.position.x"], {"crank.length": 1e-4, "rod.length": 1e-4})
    angle = result["A"]
    root = np.sqrt(0.36 - (0.2 * np.sin(angle)) ** 2)
    assert np.abs(report.sensitivity("D", "rod.length") - 0.6 / root).max() < 1e-10
    assert np.allclose(report.sensitivities[:, 0], report.sensitivities[:, 1])
    assert np.abs(by_differences(report, 1e-6, row=30) - report.sensitivities[30]).max() < 1e-7


def test_samples_agree_to_first_order() -> None:
    s = four_bar()
    report = da.tolerances(
        s, "rocker.angle", {"crank.length": 1e-3, "coupler.length": 2e-3, "ground.A-D": 1e-3}, hold="A"
    )
    samples = report.sampled(120)
    assert samples.errors.shape == (120, 1)
    assert samples.rss[0] == pytest.approx(report.rss[0, 0], rel=0.2)  # 120 samples
    assert samples.worst[0] == pytest.approx(report.worst[0, 0], rel=1e-3)


def test_what_cannot_be_is_refused() -> None:
    s = four_bar()
    with pytest.raises(da.ModelError, match="still has 1 DOF"):
        da.tolerances(s, "C", {"coupler.length": 1e-3}, hold=())
    with pytest.raises(da.ModelError, match="over-constrained"):
        da.tolerances(s, "C", {"C.coupler.z": 1e-3}, hold="A")
    with pytest.raises(da.ModelError, match="choose a distance such as"):
        da.tolerances(s, "C", {"coupler.width": 1e-3}, hold="A")
    with pytest.raises(da.ModelError, match="has the joints 'B', 'C'"):
        da.tolerances(s, "C", {"coupler.B-D": 1e-3}, hold="A")
    with pytest.raises(da.ModelError, match="give the position of a point"):
        da.tolerances(s, "coupler.velocity", {"coupler.length": 1e-3}, hold="A")
    with pytest.raises(da.ModelError, match="give non-negative numbers"):
        da.tolerances(s, "C", {"coupler.length": -1e-3}, hold="A")
    with pytest.raises(da.ModelError, match="joints at 3 points"):
        da.tolerances(andrews(), "B", {"ground.length": 1e-3}, hold="O")
