"""Loops that nearly repeat each other: the misfit and the condition are said, with names."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da


def three_cranks(misfit: float) -> da.System:
    s = da.System("three cranks")
    bar = s.body("bar", da.rod(2.0, 1.0))
    for k, x in enumerate((0.0, 1.0, 2.0)):
        crank = s.body(f"crank{k}", da.rod(0.5, 1.0))
        s.connect(f"low{k}", da.Revolute("y"), s.ground.at(x, 0, 0), crank)
        s.connect(f"high{k}", da.Revolute("y"), crank.at(0.5 + misfit * (k == 2), 0, 0), bar.at(x, 0, 0))
        s.initial(f"low{k}", position=-0.7)
    return s


def test_a_third_crank_that_does_not_quite_fit_is_reported() -> None:
    result = da.simulate(three_cranks(1e-12), 0.3)
    misfit, condition = result.stats.notes
    assert "'high2' impose the same constraint except for 5e-13 m" in misfit
    assert "at t = 0.2631" in condition and "nearly dependent (condition" in condition and "'low1'" in condition
    force = np.abs(result["high2.force"]).max(axis=1)
    assert force.max() > 1e6  # what the notes are about


@pytest.mark.parametrize("misfit", [0.0, 1e-15])
def test_one_that_fits_is_not(misfit: float) -> None:
    assert da.simulate(three_cranks(misfit), 0.3).stats.notes == []


def test_joints_of_a_door_out_of_line_by_a_little_are_reported() -> None:
    """Axes that differ by 1e-11 rad cannot be told apart at rest, but their reactions cannot be trusted."""
    s = da.System("door")
    leaf = s.body("leaf", da.plate(0.9, 2.0, 30.0))
    s.connect("low", da.Revolute("z"), s.ground, leaf)
    s.connect("high", da.Revolute((1e-9, 0, 1)), s.ground.at(0, 0, 1.5), leaf.at(0, 0, 1.5))
    notes = da.simulate(s, 0.1).stats.notes
    assert len(notes) == 1 and "'low' and 'high'" in notes[0]
