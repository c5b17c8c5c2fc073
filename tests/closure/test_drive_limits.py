"""A drive that asks for more than the links can do: the error names drive, time, limit and what is in line there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar, slider_crank

# of the rocker, by the law of cosines: crank 1 and coupler 2.5 folded, rocker 2, ground 2.2 (m)
FOLDED = np.arccos((1.5**2 - 2.2**2 - 2.0**2) / (2 * 2.2 * 2.0))


def limit_in(text: str) -> float:
    found = re.search(r"'D' cannot go beyond ([-\d.e]+) (rad|m): 'A', 'B' and 'C' are stretched or folded", text)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize("law", [{"speed": 1.0}, {"position": da.Polynomial((1.2, 1.0))}], ids=["speed", "position"])
def test_a_rocker_driven_past_its_limit_ends_the_run_there(law: dict) -> None:
    s = four_bar()
    s.drive("D", **law)
    with pytest.raises(da.SingularityError, match=r"at t = 1\.\d+ s the mechanism cannot move on") as caught:
        da.simulate(s, 3.0)
    assert limit_in(str(caught.value)) == pytest.approx(FOLDED, abs=2e-5)
    assert caught.value.result["D.position"][-1] == pytest.approx(FOLDED, abs=1e-6)


def test_driven_motion_names_the_limit_too() -> None:
    s = four_bar()
    s.drive("D", position=da.Polynomial((1.2, 1.0)))
    with pytest.raises(da.AssemblyError, match=r"drives at t = 1\.3 s \('D' 2\.5 rad\)") as caught:
        da.driven_motion(s, 1.3)
    assert limit_in(str(caught.value)) == pytest.approx(FOLDED, abs=2e-5)
    assert "The drive asks for 2.5." in str(caught.value)


def test_a_slider_pushed_past_its_dead_point() -> None:
    s = slider_crank()  # crank 0.2 m, rod 0.6 m
    s.drive("D", speed=-1.0)
    s.initial("A", position=0.5)
    with pytest.raises(da.SingularityError) as caught:
        da.simulate(s, 3.0)
    assert limit_in(str(caught.value)) == pytest.approx(0.4, abs=1e-5)


def test_of_two_drives_the_one_that_asks_too_much_is_named() -> None:
    s = four_bar()
    other = s.body("wheel", da.rod(0.5, 1.0))
    s.connect("W", da.Revolute("y"), s.ground.at(0, 5, 0), other)
    s.drive("W", speed=7.0)
    s.drive("D", speed=1.0)
    with pytest.raises(da.SingularityError, match="'D' cannot go beyond"):
        da.simulate(s, 3.0)
