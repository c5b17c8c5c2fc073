"""Numbers in inches, slugs and degrees, on the way in and on the way out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from systems.pendulums import rod_pendulum

import dalembert as da
from dalembert.library.mechanisms import slider_crank

# Passerello and Huston 1972: slug, inch, lb s; 1 lb s is 12 slug in/s
POUND = 4.4482216152605  # N, by definition 0.45359237 kg times 9.80665 m/s2


def run() -> da.Result:
    s = slider_crank()
    s.drive("A", position=da.Polynomial((0.7, 6.0)))
    return da.simulate(s, 2.0, times=np.linspace(0.0, 2.0, 41))


def test_a_slug_is_accelerated_a_foot_by_a_pound() -> None:
    assert math.isclose(da.units.si(1.0, "slug ft/s2"), POUND, rel_tol=1e-15)
    assert math.isclose(da.units.si(1.0, "lbf s"), da.units.si(12.0, "slug in/s"), rel_tol=1e-15)
    x = np.array([[1.0, -2.0], [3.0, 0.5]])
    assert np.allclose(da.units.of_si(da.units.si(x, "slug in2"), "slug in2"), x, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "unit", "size"),
    [
        ("D.position", "in", 0.0254),
        ("D.position", "mm", 1e-3),
        ("A", "deg", math.pi / 180),
        ("A.position", "rev", 2 * math.pi),
        ("A.speed", "rpm", math.pi / 30),
        ("D.speed", "ft/min", 0.3048 / 60),
        ("B.force", "lbf", POUND),
        ("B.force.norm", "kN", 1e3),
        ("A.effort", "lbf in", POUND * 0.0254),
        ("rod.position.x", "cm", 1e-2),
        ("energy.work", "kJ", 1e3),
        ("power", "mW", 1e-3),
    ],
)
def test_a_unit_behind_a_name_is_the_unit_of_the_output(name: str, unit: str, size: float) -> None:
    result = run()
    assert np.allclose(result[f"{name} [{unit}]"] * size, result[name], rtol=1e-14, atol=0.0)
    about = result.find_output(f"{name} [{unit}]")
    assert about is not None and about.unit == unit
    assert f"[{unit}" in result.describe(f"{name} [{unit}]")


def test_angles_count_turns_in_any_unit() -> None:
    """The angle of a body is known up to whole turns at a state, and continuous along a run."""
    result = run()
    assert np.allclose(np.radians(result["crank.angle [deg]"]), result["crank.angle"], rtol=1e-14)
    assert result["crank.angle [rev]"][-1] > 1.5
    times = [0.31, 1.97]
    assert np.allclose(np.radians(result.output("crank.angle [deg]", times)), result.output("crank.angle", times))


def test_what_does_not_fit_is_refused_with_what_it_is() -> None:
    result = run()
    for name, message in (
        ("D.position [deg]", r"output 'D.position': unit is 'deg'; it is in m \(m\), and that is rad"),
        ("A [mm]", "it is in rad"),
        ("A.speed [Hz]", "it is in rad/s"),
        ("A.effort [N m/deg]", "it is in N m"),
        ("D.position [furlong]", "use units such as"),
        ("crank.quaternion [deg]", "use units such as"),
    ):
        with pytest.raises(da.ModelError, match=message):
            result[name]
    assert np.array_equal(result["A.effort [N m/rad]"], result["A.effort"])


def test_tables_derivatives_and_linear_systems_have_units(tmp_path: Path) -> None:
    result = run()
    result.to_csv(tmp_path / "run.csv", ["D.position [in]", "B.force [lbf]"])
    heading = (tmp_path / "run.csv").read_text().splitlines()[0]
    assert heading.split(",") == ["t", "D.position [in]", *(f"B.force.{axis} [lbf]" for axis in "xyz")]
    result.to_csv(tmp_path / "units.csv", ["B.force in rod [lbf]"], units=True)
    heading = (tmp_path / "units.csv").read_text().splitlines()[0]
    assert heading.split(",") == ["t [s]", *(f"B.force.{axis} in rod [lbf]" for axis in "xyz")]
    assert np.allclose(result["B.force.z in rod [lbf]"], result["B.force in rod [lbf]"][:, 2])
    s = rod_pendulum()
    s.initial("A", position=1.2)
    linear = da.linearize(s, outputs=["bob.at(1, 0, 0).position.x", "bob.at(1, 0, 0).position.x [in]"])
    assert np.allclose(linear.C[0], 0.0254 * linear.C[1])
    names = ["A.position", "A.position [deg]", "bob.angle", "bob.angle [rev]"]
    found = da.sensitivity(s, names, ["gravity.z"], 0.2, times=[0.1, 0.2])
    assert np.allclose(found[names[0]], np.radians(found[names[1]]))
    assert np.allclose(found[names[2]], 2 * np.pi * found[names[3]])
    assert found.units[names[1]] == "deg" and np.abs(found[names[0]]).max() > 1e-3


def test_plots_are_in_the_unit_asked_for() -> None:
    pytest.importorskip("matplotlib")
    axes = run().plot("D.position [in]", "B.force in rod [lbf]")
    assert [panel.get_ylabel() for panel in axes] == ["D.position [in]", "force [lbf]"]
    assert axes[1].lines[0].get_label().startswith("B.force.x in rod (not unique)")  # a planar loop in space
