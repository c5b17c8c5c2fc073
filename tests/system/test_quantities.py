"""Quantities with units in place of numbers: the same systems, and wrong units refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError


def arm(units: bool) -> da.System:
    """Return a sprung arm on a slider, described with units or in SI."""
    s = da.System("arm")
    if units:
        slider = s.body(
            "slider", mass="500 g", com=("10 mm", 0, "-1 cm"), inertia=("10 kg cm2", "10 kg cm2", "10 kg cm2")
        )
        link = s.body("link", da.rod(length="20 in", mass="2 lb"))
        s.connect("P", da.Prismatic("x", damping="3 N s/mm", lower="-1 ft"), s.ground, slider)
        s.connect("R", da.Revolute("y", friction="5 N cm", upper="120 deg"), slider, link)
        s.connect("k", da.SpringDamper(stiffness="2 N/mm", length="30 cm"), s.ground.at(0, 0, 0.4), link.at(0.4, 0, 0))
        s.initial("R", position="30 deg", speed="60 rpm")
        s.initial("P", position="2 mm")
    else:
        slider = s.body("slider", mass=0.5, com=(0.01, 0, -0.01), inertia=(1e-3, 1e-3, 1e-3))
        link = s.body("link", da.rod(length=0.508, mass=2 * 0.45359237))
        s.connect("P", da.Prismatic("x", damping=3000.0, lower=-0.3048), s.ground, slider)
        s.connect("R", da.Revolute("y", friction=0.05, upper=np.radians(120)), slider, link)
        s.connect("k", da.SpringDamper(stiffness=2000.0, length=0.3), s.ground.at(0, 0, 0.4), link.at(0.4, 0, 0))
        s.initial("R", position=np.pi / 6, speed=2 * np.pi)
        s.initial("P", position=0.002)
    return s


def test_a_system_with_units_moves_as_one_in_si() -> None:
    runs = [da.simulate(arm(units), 0.2, times=[0.0, 0.2]) for units in (True, False)]
    assert runs[0].q == pytest.approx(runs[1].q, rel=1e-9, abs=1e-12)


def test_drives_take_quantities() -> None:
    s = arm(False)
    drive = s.drive("R", speed="3000 rpm")
    assert drive.law(0.0)[0] == pytest.approx(100 * np.pi)
    assert s.drive("P", position="25 mm").law(0.0)[0] == pytest.approx(0.025)


def test_a_model_file_keeps_them(tmp_path) -> None:
    da.save(arm(True), tmp_path / "arm.yaml")
    assert da.load(tmp_path / "arm.yaml").compile().mass_matrix([0.1, 0.2]) == pytest.approx(
        arm(False).compile().mass_matrix([0.1, 0.2])
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.rod(length="20 kg", mass=1.0), "rod.*length.*unit must be m, and this is kg"),
        (lambda: da.Revolute("y", damping="3 N s/m"), "Revolute.*damping.*N m s/rad"),
        (lambda: da.SpringDamper(stiffness="2 mm"), "SpringDamper.*stiffness.*N/m"),
        (lambda: da.System().body("b", mass="2 m"), "body 'b'.*mass.*kg"),
        (lambda: arm(False).drive("P", speed="3000 rpm"), "drive 'P'.*speed.*m/s"),
        (lambda: arm(False).initial("R", position="3 mm"), "initial 'R'.*position.*rad"),
        (lambda: arm(False).initial("R", speed="3 rad"), "initial 'R'.*speed.*rad/s"),
        (lambda: da.JointSpring(stiffness="5 N/mm"), "JointSpring.*stiffness.*depends on what it acts on"),
        (lambda: da.rod(length="20 parsec", mass=1.0), "rod.*length.*one real number"),
    ],
)
def test_wrong_units_are_refused_by_name(make, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        make()
