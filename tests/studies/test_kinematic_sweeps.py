"""Kinematic sweeps over dimensions: positions of many variants, closed from those of the nominal mechanism."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import dalembert as da


def slider_crank() -> da.System:
    s = da.System("slider-crank")
    r, length = s.parameter("r", 0.3), s.parameter("l", 1.0)
    crank, rod, block = s.body("crank"), s.body("rod"), s.body("block", da.box(0.1, 0.1, 0.1, mass=2.0))
    s.connect("A", da.Revolute("z"), s.ground, crank)
    s.connect("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    s.connect("C", da.Revolute("z"), rod.at(length, 0, 0), block)
    s.connect("D", da.Prismatic("x"), s.ground, block)
    return s


def stroke(r: np.ndarray, length: np.ndarray, angle: float) -> np.ndarray:
    return r * np.cos(angle) + np.sqrt(length**2 - (r * np.sin(angle)) ** 2)


def test_tolerance_samples_are_those_of_the_closed_form() -> None:
    over = {"r": scipy.stats.norm(0.3, 1e-3), "l": scipy.stats.norm(1.0, 2e-3)}
    found = da.sweep(
        slider_crank(), over, samples=600, task="kinematics", drive="A", values=[0.5], outputs="D.position", workers=1
    )
    exact = stroke(found.r.values, found.l.values, 0.5)
    assert np.abs(found["D.position"].values[:, 0] - exact).max() < 1e-14
    sigma = np.hypot(
        1e-3 * (np.cos(0.5) - 0.3 * np.sin(0.5) ** 2 / np.sqrt(1 - (0.3 * np.sin(0.5)) ** 2)),
        2e-3 / np.sqrt(1 - (0.3 * np.sin(0.5)) ** 2),
    )
    assert found["D.position"].values.std() == pytest.approx(sigma, rel=0.02)


def test_every_case_is_the_motion_by_itself_also_far_from_the_nominal_one() -> None:
    """Some rods are too short for the turn: these cases fail as they do by themselves."""
    s, values = slider_crank(), np.linspace(0.2, 2 * np.pi, 9)
    over = {"r": [0.1, 0.3, 0.301, 0.9], "l": [0.5, 1.0, 3.0]}
    outputs = {
        "x": "D.position",
        "speed": "D.speed",
        "top": ("D.effort", "peak"),
        "torque": "A.effort",
        "p": "rod.velocity",
    }
    found = da.sweep(s, over, task="kinematics", drive="A", values=values, outputs=outputs, workers=1)
    model = s.compile()
    for i, r in enumerate(over["r"]):
        for j, length in enumerate(over["l"]):
            if r > length:
                assert found.status.values[i, j] == "failed" and "Error" in found.message.values[i, j]
                continue
            motion = da.kinematics(model.with_parameters({"r": r, "l": length}), drive="A", values=values)
            assert np.allclose(found.x.values[i, j], motion["D.position"], rtol=0, atol=1e-12)
            assert np.allclose(found.speed.values[i, j], motion["D.speed"], rtol=0, atol=1e-11)
            assert np.allclose(found.torque.values[i, j], motion["A.effort"], rtol=0, atol=1e-8)
            assert np.allclose(found.p.values[i, j], motion["rod.velocity"], rtol=0, atol=1e-12)


def test_bits_of_a_case_do_not_depend_on_its_block() -> None:
    settings = {"task": "kinematics", "drive": "A", "values": [0.4, 0.9], "outputs": ("D.position", "final")}
    lengths = np.linspace(0.9, 1.1, 300)
    whole = da.sweep(slider_crank(), {"l": lengths}, workers=1, **settings)
    some = da.sweep(slider_crank(), {"l": lengths[[7, 260]]}, workers=2, **settings)
    assert np.array_equal(some["D.position final"], whole["D.position final"].values[[7, 260]])


def test_angles_of_cut_joints_and_functions_are_as_by_themselves() -> None:
    outputs = {"angle": "rod.angle", "own": lambda motion: motion["D.position"].sum()}
    found = da.sweep(
        slider_crank(), {"l": [0.9, 1.1]}, task="kinematics", drive="A", values=[0.4, 0.9], outputs=outputs
    )
    for k, length in enumerate([0.9, 1.1]):
        motion = da.kinematics(slider_crank().compile().with_parameters({"l": length}), drive="A", values=[0.4, 0.9])
        assert np.array_equal(found.angle.values[k], motion["rod.angle"])
        assert found.own.values[k] == motion["D.position"].sum()
