"""Pictures of what is read off a motion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import bennett, four_bar, slider_crank

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def motion() -> da.Result:
    s = four_bar()
    s["coupler"].marker("P", 0.9, 1.1, 0)
    return da.kinematics(s, drive="A", values=np.linspace(1.0, 1.0 + 2 * np.pi, 91))


@pytest.fixture(scope="module")
def spatial() -> da.Result:
    return da.kinematics(bennett(), drive="A", values=np.linspace(1.0, 1.0 + 2 * np.pi, 61))


PICTURES: dict[str, Callable[[da.Result], object]] = {
    "curve": lambda r: da.coupler_curve(r, "coupler.P"),
    "curve from the crank": lambda r: da.coupler_curve(r, "rocker", relative_to="crank"),
    "centres": da.instant_centres,
    "polodes": lambda r: da.centrodes(r, "coupler"),
    "polodes of moving bodies": lambda r: da.centrodes(r, "rocker", relative_to="crank"),
    "circles": lambda r: da.inflection_circles(r, "coupler"),
    "velocities": lambda r: da.velocity_polygon(r, row=20),
    "accelerations": lambda r: da.acceleration_polygon(r, ["B", "C", "coupler.P"], row=20),
    "angle": lambda r: da.transmission_angle(r, "C", output="D"),
    "ratio": lambda r: da.velocity_ratio(r, "D", "A"),
    "advantage": lambda r: da.mechanical_advantage(r, "D", "A"),
    "tolerances": lambda r: da.tolerances(r, "coupler.P.position", {"crank.length": 1e-4, "coupler.length": 1e-4}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_reach_their_files(name: str, motion: da.Result, tmp_path: Path) -> None:
    reading = PICTURES[name](motion)
    path = tmp_path / "picture.png"
    assert reading.plot(path=path) is not None  # type: ignore[attr-defined]
    image = matplotlib.image.imread(path)
    assert min(image.shape[:2]) > 200 and image[..., :3].min() < 0.5  # something is drawn


def test_pictures_in_space(spatial: da.Result, tmp_path: Path) -> None:
    main, pitch = da.screw_axes(spatial, "link B").plot(path=tmp_path / "axodes.png", row=5)
    assert main.name == "3d" and pitch.get_ylabel() == "pitch [m/rad]"
    main, below = da.coupler_curve(spatial, "link B.at(0.3, 0.2, 0.1)").plot(path=tmp_path / "curve.png")
    assert main.name == "3d" and {"curvature", "torsion"} <= {line.get_label() for line in below.get_lines()}
    with pytest.raises(da.ModelError, match="give view='xy'"):
        da.velocity_polygon(spatial).plot(path=tmp_path / "polygon.png")


def test_the_path_is_drawn_where_it_is(motion: da.Result, tmp_path: Path) -> None:
    curve = da.coupler_curve(motion, "coupler.P")
    main, below = curve.plot(path=tmp_path / "curve.png")
    drawn = np.concatenate([line.get_xydata() for line in main.get_lines() if len(line.get_xdata()) > 100])
    gaps = np.linalg.norm(drawn[None] - curve.points[:, None, :2], axis=2).min(axis=1)
    assert gaps.max() < 0.02  # between two of its points
    assert below.get_xlim()[1] == pytest.approx(curve.length[-1])


def test_the_polodes_touch_at_the_instant_centre(motion: da.Result, tmp_path: Path) -> None:
    polodes = da.centrodes(motion, "coupler")
    row = int(np.nanargmin(np.abs(polodes.fixed).max(axis=1)))
    ax = polodes.plot(path=tmp_path / "polodes.png", row=row)
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    fixed, moving = lines["fixed polode (ground)"], lines["moving polode (coupler)"]
    assert np.allclose(fixed[row], moving[row])


def test_a_bad_option_is_named(motion: da.Result) -> None:
    with pytest.raises(da.ModelError, match="this picture takes"):
        da.centrodes(motion, "coupler").plot(colour="red")
    with pytest.raises(da.ModelError, match="there are"):
        da.tolerances(motion, "D", {"crank.length": 1e-4}).plot(outputs="E")


def test_given_axes_are_drawn_on(motion: da.Result) -> None:
    from matplotlib import pyplot

    for reading in (
        da.coupler_curve(motion, "coupler.P"),
        da.transmission_angle(motion, "C", output="D"),
        da.velocity_polygon(motion),
        da.velocity_ratio(motion, "D", "A"),
        da.tolerances(motion, "D", {"crank.length": 1e-4}),
    ):
        figure, ax = pyplot.subplots()
        assert reading.plot(ax=ax) is ax
        pyplot.close(figure)


def test_a_slide_in_a_polygon_and_bars_at_one_position(tmp_path: Path) -> None:
    s = slider_crank()
    result = da.kinematics(s, drive="A", values=np.linspace(0.5, 1.0, 5))
    _, panel = da.acceleration_polygon(result).plot(path=tmp_path / "polygon.png")
    written = {text.get_text() for text in panel.texts}
    assert "c, d (slider)" in written and not any("ground" in text for text in written)
    report = da.tolerances(s, "D", {"crank.length": 1e-4, "rod.length": 2e-4}, hold="A")
    ax = report.plot(path=tmp_path / "bars.png")
    assert len(ax.patches) == 2
