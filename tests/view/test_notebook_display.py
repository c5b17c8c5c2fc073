"""Plots against outputs and by groups, films for notebooks and files, what notebooks show."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.library.mechanisms import four_bar

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def motion() -> da.Result:
    s = four_bar()
    s.drive("A", speed=3.0)
    return da.simulate(s, 1.0)


def test_an_output_is_plotted_against_another(motion: da.Result) -> None:
    (panel,) = motion.plot("A.effort", against="A.position")
    line = panel.get_lines()[0]
    fine = motion.with_times(np.linspace(0.0, 1.0, 600)) if motion.dense is not None else motion
    assert panel.get_xlabel() == "A.position [rad]" and "A.effort" in panel.get_ylabel()
    assert np.ptp(line.get_xdata()) == pytest.approx(3.0, rel=1e-9)
    assert np.ptp(line.get_ydata()) == pytest.approx(np.ptp(fine["A.effort"]), rel=1e-9)


def test_angles_come_in_degrees_if_asked_for(motion: da.Result) -> None:
    (panel,) = motion.plot("A.speed", against="A.position", degrees=True)
    line = panel.get_lines()[0]
    assert "[deg]" in panel.get_xlabel() and "[deg/s]" in panel.get_ylabel()
    assert line.get_ydata() == pytest.approx(np.degrees(3.0))
    assert np.ptp(line.get_xdata()) == pytest.approx(np.degrees(3.0))


def test_panels_follow_the_grouping_of_the_user(motion: da.Result) -> None:
    panels = motion.plot(("A.position", "B.position"), "rocker.angle")
    assert [len(panel.get_lines()) for panel in panels] == [2, 1]
    (both,) = motion.plot(("A.position", "A.effort"))
    right = [ax for ax in both.figure.axes if ax is not both]
    assert "[rad]" in both.get_ylabel() and len(right) == 1 and "[N m]" in right[0].get_ylabel()


def test_items_that_cannot_be_plotted_are_reported(motion: da.Result) -> None:
    with pytest.raises(da.ModelError, match=r"against.*coupler\.position.*3 components"):
        motion.plot("A.effort", against="coupler.position")
    with pytest.raises(da.ModelError, match="room for two units"):
        motion.plot(("A.position", "A.effort", "A.speed"))
    with pytest.raises(da.ModelError, match="at least one output"):
        motion.plot(("A.position",), ())


@pytest.mark.parametrize("show", [da.System.draw, da.Result.draw, da.Result.animate, da.Result.plot, da.Result.view])
def test_options_are_seen_in_signatures(show: Any) -> None:
    assert inspect.Parameter.VAR_KEYWORD not in {p.kind for p in inspect.signature(show).parameters.values()}


def test_notebooks_show_animations_without_settings(motion: da.Result) -> None:
    moving = motion.animate(fps=5.0)
    page = moving._repr_html_()
    assert page.startswith("<div><iframe srcdoc=") and "data:image/png;base64" in page


def test_notebooks_show_a_sketch_and_a_table(motion: da.Result) -> None:
    page = four_bar()._repr_html_()
    assert "<svg" in page and "<td" in page and "coupler" in page and "Revolute" in page
    page = motion._repr_html_()
    assert "<svg" in page and "largest" in page and "rad" in page


def test_names_cannot_break_out_of_what_notebooks_show() -> None:
    s = da.System("<script>alert(1)</script>")
    s.connect("<b>", da.Revolute("y"), s.ground, s.body("<i>", da.rod(1.0, 1.0)))
    page = s._repr_html_()
    assert "<script>alert" not in page and "<b>" not in page.replace("<br>", "") and "<i>" not in page


def test_a_system_that_cannot_be_assembled_shows_an_error_instead_of_a_sketch() -> None:
    s = da.System("apart")
    one = s.body("one", da.rod(1.0, 1.0))
    s.connect("A", da.Revolute("y"), s.ground, one)
    s.connect("B", da.Revolute("y"), s.ground.at(9, 0, 0), one.at(1, 0, 0))
    assert "no sketch" in s._repr_html_() and "one" in s._repr_html_()


def test_films_and_pictures_are_exported(motion: da.Result, tmp_path: Path) -> None:
    assert motion.export(tmp_path / "a.gif", fps=5.0).read_bytes()[:4] == b"GIF8"
    assert motion.export(tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(da.ModelError, match=r"plots"):
        motion.export(tmp_path / "a.gif", plots=["A.speed"], by="drawing")


def test_ffmpeg_is_given_every_frame_or_missed_by_name(
    motion: da.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(da.errors.MissingPackageError, match="ffmpeg"):
        motion.animate(tmp_path / "a.mp4", fps=5.0)
    if os.name != "posix":
        return
    fake = tmp_path / "ffmpeg"
    fake.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[-1], 'wb').write(sys.stdin.buffer.read())\n")
    fake.chmod(0o755)
    frames = motion.animate(tmp_path / "a.mp4", fps=5.0, size=(3.0, 2.0)).stat().st_size
    assert frames == 6 * 300 * 200 * 4


def test_a_viewer_left_open_ends_quietly() -> None:
    script = (
        "from dalembert.library.mechanisms import four_bar\n"
        "one, two = four_bar().view(open_browser=False), four_bar().play(open_browser=False)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "" and done.stdout == ""


@pytest.mark.parametrize("answer", ["check", "assembly", "modes", "equilibrium"])
def test_results_show_a_sketch_and_their_text(answer: str) -> None:
    s = four_bar()
    s.connect("k", da.TorsionSpring(50.0), "A")
    made = {
        "check": s.check,
        "assembly": lambda: da.assemble(s),
        "modes": lambda: da.modes(s, da.equilibrium(s)),
        "equilibrium": lambda: da.equilibrium(s),
    }
    found: Any = made[answer]()
    page, plain = found._repr_html_(), repr(found)
    assert "<svg" in page and "no sketch" not in page
    words = {"check": "mobility 1", "assembly": "closed to", "modes": "Hz", "equilibrium": "stable"}
    assert words[answer] in page
    assert answer == "equilibrium" or (plain.startswith("<") and "\n" not in plain and len(plain) < 100)


def test_what_a_notebook_shows_leaves_no_figure_open() -> None:
    from matplotlib import pyplot

    pyplot.close("all")
    assert "<svg" in da.modes(four_bar())._repr_html_()
    assert not pyplot.get_fignums()
