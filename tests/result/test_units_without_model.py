"""Units where there is no model at hand, and pictures of many runs."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import door


def slide() -> da.System:
    s = da.System("pendulum on a slide")
    cart, rod = s.body("cart", da.box(0.4, 0.2, 0.2, mass=2.0)), s.body("rod", da.rod(length=0.8, mass=1.0))
    s.connect("X", da.Prismatic("x"), s.ground, cart)
    s.connect("A", da.Revolute("y"), cart, rod)
    s.initial("A", position=0.5)
    return s


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_a_result_without_its_model_has_the_units_of_what_it_holds(tmp_path: Path, suffix: str) -> None:
    result = da.simulate(slide(), 0.2)
    outputs = ["rod.velocity", "energy.total"]
    result.save(tmp_path / f"run{suffix}", outputs)
    read = da.Result.load(tmp_path / f"run{suffix}")
    read.save(tmp_path / f"again{suffix}", outputs)
    for one in (read, da.Result.load(tmp_path / f"again{suffix}")):
        assert [one.describe(name) for name in outputs] == [result.describe(name) for name in outputs]
        assert one.find_output("A.position").unit == "rad" and one.find_output("X.speed").unit == "m/s"
        assert one.find_output("q").unit == "m, rad"
        panels = one.plot("rod.velocity", "A.position", "energy.total")
        assert [panel.get_ylabel() for panel in panels] == ["velocity [m/s]", "A.position [rad]", "energy.total [J]"]
        assert [line.get_label() for line in panels[0].get_lines()] == [f"rod.velocity.{axis}" for axis in "xyz"]
        plt.close("all")
    with pytest.raises(da.ModelError, match="load it with model="):
        read.describe("rod.acceleration")


def test_that_loads_are_not_unique_is_kept_too(tmp_path: Path) -> None:
    result = da.simulate(door(), 0.1, times=[0.0, 0.1])
    result.save(tmp_path / "door.nc", ["low.force"])
    text = da.Result.load(tmp_path / "door.nc").describe("low.force")
    assert text == result.describe("low.force") and "not unique" in text


def test_bands_enclose_the_runs_and_lines_are_the_runs() -> None:
    starts = np.linspace(0.2, 0.8, 25)
    runs = da.simulate(slide(), 1.0, times=np.linspace(0.0, 1.0, 11), state={"A": starts})
    (panel,) = runs.plot("A.position")
    values = runs["A.position"]
    assert panel.get_lines()[0].get_ydata() == pytest.approx(np.median(values, axis=0))
    whole = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert (whole.min(), whole.max()) == pytest.approx((values.min(), values.max()))
    panels = runs.plot("A.position", "rod.velocity", show="runs")
    drawn = panels[0].get_lines()
    assert len(drawn) == 26 and drawn[3].get_ydata() == pytest.approx(values[3])
    assert [text.get_text() for text in panels[1].get_legend().get_texts()] == [f"rod.velocity.{k}" for k in "xyz"]
    assert [panel.get_ylabel() for panel in runs.plot()] == ["X [m]", "A [rad]"]
    with pytest.raises(da.ModelError, match="'runs', 'bands'"):
        runs.plot("A.position", show="all")
    plt.close("all")


def test_an_attitude_spline_names_itself() -> None:
    with pytest.raises(da.ModelError, match=r"^AttitudeSpline: .* needs 4 points"):
        da.AttitudeSpline([0, 1, 2], [np.eye(3)] * 3)


def test_an_open_loop_is_named() -> None:
    s = slide()
    s.connect("D", da.Spherical(), s.bodies["rod"].at(0.8, 0, 0), s.ground.at(0.8, 0, 0))
    with pytest.raises(da.AssemblyError, match="'D' is open") as caught:
        da.simulate(s, 0.1, state=da.State(q=[0.5, 0.0], v=[0.0, 0.0]))
    assert "np.str_" not in str(caught.value)
